"""Leases on files: whose they are, how they are kept, and what becomes of those of the dead."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.errors import SherlockError
from sherlock_pg.scratch import is_alive

LEASE = timedelta(minutes=2)
_RENEW_SECONDS = 20.0


def host_name() -> str:
    """Return the name of this machine, as items with a path name it."""
    return socket.gethostname()


def new_reader_name() -> str:
    """Return a name for a reader on this machine, with its process: host, pid, random part."""
    return f"{_host_prefix()}{os.getpid()}:{uuid.uuid4().hex[:8]}"


@contextlib.contextmanager
def renewed(open_connection: Callable[[], psycopg.Connection], reader: str) -> Iterator[None]:
    """Prolong the leases of a reader as long as the block runs, from a thread."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(_RENEW_SECONDS):
            with (
                contextlib.suppress(psycopg.OperationalError, SherlockError),
                open_connection() as conn,
            ):
                calls.renew_claims(conn, reader, LEASE)

    thread = threading.Thread(target=renew, name="renew-leases", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def expire_leases_of_the_dead(conn: psycopg.Connection) -> int:
    """Let others read at once what readers on this machine had leased that were killed.

    Leases of other machines lapse by themselves.

    Returns:
        How many leases there were.
    """
    expired = 0
    for (reader,) in conn.execute(
        "select distinct leased_by from sherlock.inbox"
        " where state in ('leased', 'stored') and starts_with(leased_by, %s)"
        " and leased_until > 'epoch'",
        [_host_prefix()],
    ).fetchall():
        pid = reader.removeprefix(_host_prefix()).partition(":")[0]
        if pid.isdecimal() and not is_alive(int(pid)):
            expired += calls.expire_leases(conn, reader)
    return expired


def _host_prefix() -> str:
    return f"{host_name()}:"
