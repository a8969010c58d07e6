"""A worker: leases files from the queue, reads, stores and judges them until it is told to stop.

The main thread leases and keeps house; files are read by threads, each with a connection of its
own. A database that goes away is waited for. What a worker holds when it is killed lapses, and
others read it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.errors import SherlockError
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.logs import fields
from sherlock_pg.queue import leases
from sherlock_pg.queue.item import ItemReader
from sherlock_pg.queue.storing import OpenConnection
from sherlock_pg.queue.upkeep import Upkeep

log = logging.getLogger(__name__)

_POLL_SECONDS = 5.0
"""How often the queue is looked at without being told: lapsed leases and pauses end silently."""
_RECONNECT_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
_DATABASE_IS_GONE = (psycopg.OperationalError, psycopg.InterfaceError, SherlockError)


@dataclass
class Summary:
    """What a worker did.

    Attributes:
        outcomes: number of items by what became of them: ok, partial, failed, copy, retried, lost.
        seconds: how long it ran.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Worker:
    """Works on the queue.

    Args:
        open_connection: opens a connection to the database, in autocommit mode.
        extractor: the extraction processes; killed when the worker must stop at once.
        item_reader: reads one item.
        concurrency: files read at once.
        grace_seconds: how long files that are being read may go on once `stop` was called.
    """

    def __init__(
        self,
        open_connection: OpenConnection,
        extractor: Extractor,
        item_reader: ItemReader,
        *,
        concurrency: int,
        grace_seconds: float = 30.0,
    ) -> None:
        self.name = item_reader.name
        self._open = open_connection
        self._extractor = extractor
        self._items = item_reader
        self._concurrency = concurrency
        self._grace_seconds = grace_seconds
        self._connections = item_reader.connections
        self._upkeep = Upkeep(open_connection)
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._at_once = threading.Event()
        self._busy: dict[Future[str], int] = {}
        self._busy_lock = threading.Lock()
        self._lost: list[int] = []
        self._may_hold_unknown = False
        self._summary = Summary()

    def stop(self) -> None:
        """Lease nothing more; called a second time, drop what is being read too."""
        if self._stop.is_set():
            self._at_once.set()
        self._stop.set()
        self._wake.set()

    def run(self, *, until_empty: bool = False) -> Summary:
        """Work until `stop` is called, or until nothing is due any more.

        What needs tesseract or a language that is missing is put back for a worker that has it.
        """
        started = time.monotonic()
        with self._open() as conn:
            leases.expire_leases_of_the_dead(conn)
        log.info("worker started", extra=fields(worker=self.name, concurrency=self._concurrency))
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="reader")
        try:
            with leases.renewed(self._open, self.name), self._listening():
                try:
                    self._loop(pool, until_empty=until_empty)
                finally:
                    self._finish(pool)
                if until_empty and not self._stop.is_set():
                    self._upkeep.run()
        finally:
            self._give_back()
            self._summary.seconds = round(time.monotonic() - started, 2)
            log.info(
                "worker stopped",
                extra=fields(
                    worker=self.name, seconds=self._summary.seconds, **self._summary.outcomes
                ),
            )
        return self._summary

    def _loop(self, pool: ThreadPoolExecutor, *, until_empty: bool) -> None:
        failures = 0
        while not self._stop.is_set():
            self._wake.clear()
            try:
                leased = self._lease(pool)
                is_over = (
                    until_empty
                    and not leased
                    and not self._count_busy()
                    and not self._is_anything_due()
                )
                failures = 0
            except _DATABASE_IS_GONE as error:
                # A lease may have been committed whose answer never came.
                self._may_hold_unknown = True
                pause = _RECONNECT_SECONDS[min(failures, len(_RECONNECT_SECONDS) - 1)]
                failures += 1
                log.warning(
                    "the database does not answer: %s", error, extra=fields(retry_seconds=pause)
                )
                self._stop.wait(pause)
                continue
            if is_over:
                return
            self._upkeep.run_if_due(is_idle=not leased and not self._count_busy())
            if not leased:
                self._wake.wait(_POLL_SECONDS)

    def _lease(self, pool: ThreadPoolExecutor) -> int:
        """Lease as many items as are wanted now, and have them read."""
        conn = self._connections.get()
        self._return_what_is_not_read(conn)
        # No more than can be read now: what a killed worker had leased counts as tried.
        wanted = self._concurrency - self._count_busy()
        if wanted <= 0:
            return 0
        items = calls.lease_items(conn, self.name, wanted, leases.LEASE, leases.host_name())
        for item in items:
            self._upkeep.note(item.collection_id)
            future = pool.submit(self._items.process, item)
            with self._busy_lock:
                self._busy[future] = item.item_id
            future.add_done_callback(partial(self._count_outcome, item.item_id))
        return len(items)

    def _return_what_is_not_read(self, conn: psycopg.Connection) -> None:
        """Give items back that nobody reads here: while this worker lives they would not lapse."""
        if self._may_hold_unknown:
            held = conn.execute(
                "select item_id from sherlock.inbox"
                " where state in ('leased', 'stored') and leased_by = %s",
                [self.name],
            ).fetchall()
            with self._busy_lock:
                known = set(self._busy.values())
            calls.return_items(conn, self.name, [row[0] for row in held if row[0] not in known])
            self._may_hold_unknown = False
        with self._busy_lock:
            lost, self._lost = self._lost, []
        if lost:
            calls.return_items(conn, self.name, lost)

    def _count_outcome(self, item_id: int, future: Future[str]) -> None:
        with self._busy_lock:
            self._busy.pop(future, None)
            if not future.cancelled():
                outcome = "lost" if future.exception() else future.result()
                self._summary.outcomes[outcome] += 1
                if outcome == "lost":
                    self._lost.append(item_id)
        self._wake.set()

    def _count_busy(self) -> int:
        with self._busy_lock:
            return len(self._busy)

    def _is_anything_due(self) -> bool:
        row = (
            self._connections.get()
            .execute(
                "select exists (select from sherlock.inbox as i"
                " where i.state = 'queued' and i.gate is distinct from 'hit'"
                " and i.run_after <= clock_timestamp()"
                " and (i.path is null or i.host is null or i.host = %(host)s))"
                " or exists (select from sherlock.inbox as i"
                " where i.state in ('leased', 'stored') and i.leased_until < clock_timestamp()"
                " and (i.path is null or i.host is null or i.host = %(host)s))",
                {"host": leases.host_name()},
            )
            .fetchone()
        )
        return row is not None and bool(row[0])

    def _finish(self, pool: ThreadPoolExecutor) -> None:
        """Let files that are being read come to their end, within the grace time."""
        pool.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + self._grace_seconds
        while (busy := self._snapshot()) and time.monotonic() < deadline:
            if self._at_once.is_set():
                break
            wait(busy, timeout=0.2)
        if self._snapshot():
            self._items.abandon()
            self._extractor.close()
            wait(self._snapshot(), timeout=10)

    def _snapshot(self) -> list[Future[str]]:
        with self._busy_lock:
            return [future for future in self._busy if not future.done()]

    def _give_back(self) -> None:
        self._upkeep.close()
        self._connections.close()
        # Without the database the leases lapse by themselves.
        with contextlib.suppress(*_DATABASE_IS_GONE), self._open() as conn:
            calls.return_items(conn, self.name)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Wake the main thread when something is queued."""
        is_over = threading.Event()

        def listen() -> None:
            while not is_over.is_set():
                try:
                    with self._open() as conn:
                        conn.execute("listen sherlock_inbox")
                        while not is_over.is_set():
                            for _ in conn.notifies(timeout=0.5, stop_after=1):
                                self._wake.set()
                except _DATABASE_IS_GONE:
                    is_over.wait(1)

        thread = threading.Thread(target=listen, name="listen", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(timeout=5)
