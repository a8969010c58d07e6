"""Claims on files: whose they are, how they are kept, and what becomes of those of the dead."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from datetime import timedelta

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import SherlockError

LEASE = timedelta(minutes=2)
_RENEW_SECONDS = 20.0


def new_worker_name() -> str:
    """Return a name for a reader on this machine, with its process: host, pid, random part."""
    return f"{_host_prefix()}{os.getpid()}:{uuid.uuid4().hex[:8]}"


@contextlib.contextmanager
def renewed(conninfo: str, worker: str) -> Iterator[None]:
    """Prolong the claims of a reader as long as the block runs, from a thread."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(_RENEW_SECONDS):
            with (
                contextlib.suppress(psycopg.OperationalError, SherlockError),
                connect(conninfo, autocommit=True) as conn,
            ):
                calls.renew_claims(conn, worker, LEASE)

    thread = threading.Thread(target=renew, name="renew-claims", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def release_dead_readers(conn: psycopg.Connection) -> None:
    """Give back at once what readers on this machine claimed that were killed.

    Those of other machines lapse by themselves.
    """
    for (worker,) in conn.execute(
        "select distinct claimed_by from sherlock.documents"
        " where status = 'pending' and starts_with(claimed_by, %s)",
        [_host_prefix()],
    ).fetchall():
        pid = worker.removeprefix(_host_prefix()).partition(":")[0]
        if pid.isdecimal() and not _is_alive(int(pid)):
            calls.release_claims(conn, worker)


def _host_prefix() -> str:
    return f"{socket.gethostname()}:"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
