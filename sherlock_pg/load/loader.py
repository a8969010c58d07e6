"""Loading files: gate, extraction, NER, storing, and verdicts in the order of the files.

The main thread walks the files, hashes them and passes the gate, so document ids follow the order
of the files. Worker threads read and store. A verdict is made when all earlier files of the run
are stored, so it does not depend on which of them was read faster. Every step is committed on its
own: what is done stays done, and what is not is done by the next run.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import EnvironmentFault, SherlockError
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.load.fingerprint import Fingerprint, UnreadableFile, fingerprint
from sherlock_pg.load.outcome import Outcome, best_match, from_gate
from sherlock_pg.load.reading import DocumentReader
from sherlock_pg.load.slots import ReadFile, Slot, claim_of, clock, is_stored_since
from sherlock_pg.load.walk import storable
from sherlock_pg.queue import leases
from sherlock_pg.queue.item import ItemReader
from sherlock_pg.queue.storing import ThreadConnections, judge, store
from sherlock_pg.vectorize import lifecycle

_CLAIMS_AHEAD = 4
"""Files claimed per worker: enough to keep it busy, few enough to give back."""


class Progress(Protocol):
    """What a run tells about how far it is."""

    def stage(self, name: str, total: int) -> None:
        """Say that a stage with so many steps begins."""

    def step(self, count: int = 1) -> None:
        """Say that steps of the stage are done."""


@dataclass(frozen=True)
class LoadOptions:
    """What a run was asked for.

    Attributes:
        collection: name; made when missing.
        doc_type: type of all documents, or auto to guess it from each text.
        workers: files read at once.
        retry_failed: read again what failed before.
    """

    collection: str = "default"
    doc_type: str = "auto"
    workers: int = 2
    retry_failed: bool = False


class Loader:
    """Loads files into a collection.

    Args:
        conninfo: the database, with the current schema.
        options: what was asked for.
        extractor: the extraction processes; killed when the run is interrupted.
        reader: reads one file with them.
    """

    def __init__(
        self, conninfo: str, options: LoadOptions, extractor: Extractor, reader: DocumentReader
    ) -> None:
        self._conninfo = conninfo
        self._options = options
        self._extractor = extractor
        self._reader = reader
        self._worker = leases.new_reader_name()
        self._stop = threading.Event()
        self._connections = ThreadConnections(self._open)
        self._items: ItemReader
        self._collection_id: int
        self.environment_fault: EnvironmentFault | None = None
        self.refit_reason: str | None = None
        self._handled: set[int] = set()
        self._being_read: dict[int, Future[ReadFile]] = {}
        self._started: datetime | None = None

    def run(
        self, files: Sequence[Path], on_outcome: Callable[[Outcome], None], progress: Progress
    ) -> int:
        """Load the files; outcomes are handed over in the order of the files.

        Returns:
            How many documents of earlier, interrupted runs were read or judged too.

        What some files need and is missing (tesseract, a language) is kept in
        `environment_fault`; those files are not stored. Why a new vocabulary is proposed, if one
        is, in `refit_reason`.

        Raises:
            KeyboardInterrupt: after the claims were given back.
        """
        with self._open() as conn:
            self._started = clock(conn)
            self._items = ItemReader(self._connections, self._reader, self._worker)
            self._collection_id = calls.create_collection(conn, self._options.collection)
            found = lifecycle.state(conn, self._options.collection)
            is_deferred = found.needs_fit(arriving=len(files))
            leases.expire_leases_of_the_dead(conn)
            with leases.renewed(self._open, self._worker), self._cleanup(conn):
                progress.stage("reading", len(files))
                slots = self._read_all(conn, files, progress, None if is_deferred else on_outcome)
                if is_deferred:
                    progress.stage("vocabulary", 0)
                    lifecycle.fit_if_needed(conn, self._options.collection, on_vector=progress.step)
                    progress.stage("judging", len(slots))
                    for slot in slots:
                        on_outcome(self._judged(conn, slot.outcome))
                        progress.step()
                else:
                    lifecycle.keep_index(conn, found)
                self.refit_reason = lifecycle.refit_reason(conn, self._options.collection)
                return self._read_left_over(conn, progress) + self._judge_left_over(conn, progress)

    def _read_all(
        self,
        conn: psycopg.Connection,
        files: Sequence[Path],
        progress: Progress,
        on_outcome: Callable[[Outcome], None] | None,
    ) -> list[Slot]:
        """Read all files; with `on_outcome` judge each as soon as it is its turn."""
        waiting: deque[Slot] = deque()
        done: list[Slot] = []
        free = threading.Semaphore(self._options.workers * _CLAIMS_AHEAD)

        def collect(*, wait: bool) -> None:
            while waiting and (wait or waiting[0].reading is None or waiting[0].reading.done()):
                slot = waiting.popleft()
                attached = slot.settle()
                # In their order, so that of two copies the first is the one that is read.
                inside = [
                    self._take_attachment(conn, slot.outcome.file, item, pool) for item in attached
                ]
                waiting.extendleft(reversed(inside))
                if on_outcome is None:
                    done.append(slot)
                else:
                    on_outcome(self._judged(conn, slot.outcome))
                if not slot.is_attachment:
                    progress.step()

        with ThreadPoolExecutor(self._options.workers, thread_name_prefix="reader") as pool:
            try:
                for path in files:
                    waiting.append(self._pass_gate(conn, path, pool, free))
                    collect(wait=False)
                collect(wait=True)
            except BaseException:
                self._abandon(pool)
                raise
        return done

    def _pass_gate(
        self,
        conn: psycopg.Connection,
        path: Path,
        pool: ThreadPoolExecutor,
        free: threading.Semaphore,
    ) -> Slot:
        shown = storable(path)
        try:
            found = fingerprint(path)
        except UnreadableFile as error:
            return Slot(
                Outcome(
                    file=shown,
                    status="failed",
                    gate="new",
                    reason=str(error.reason),
                    detail=error.detail,
                )
            )
        free.acquire()
        claim = calls.claim_file(
            conn,
            sha256=found.sha256,
            file_size_bytes=found.size_bytes,
            collection=self._options.collection,
            name=storable(path.name),
            source_uri=storable(path.absolute()),
            worker=self._worker,
            lease=leases.LEASE,
            retry_failed=self._options.retry_failed,
            host=leases.host_name(),
        )
        if claim.outcome != "claimed":
            free.release()
            return self._known(conn, shown, claim)
        outcome = Outcome(file=shown, status="pending", gate="new", document_id=claim.document_id)
        future = pool.submit(
            self._read_and_store, nullcontext((path, found)), claim.document_id, outcome
        )
        future.add_done_callback(lambda _: free.release())
        return self._reading(claim.document_id, outcome, future)

    def _take_attachment(
        self, conn: psycopg.Connection, container: str, item: calls.Item, pool: ThreadPoolExecutor
    ) -> Slot:
        """Have a file read that was inside another one; it is leased to this loader."""
        if item.document_id is None:
            raise RuntimeError(f"attachment {item.item_id} without a document")
        shown = f"{container} > {item.name}"
        if item.state != "leased":
            slot = self._known(conn, shown, claim_of(conn, item, item.document_id))
        else:
            outcome = Outcome(
                file=shown, status="pending", gate="new", document_id=item.document_id
            )
            future = pool.submit(
                self._read_and_store,
                self._items.file(item),
                item.document_id,
                outcome,
                depth=item.depth,
            )
            slot = self._reading(item.document_id, outcome, future)
        return replace(slot, is_attachment=True)

    def _known(self, conn: psycopg.Connection, shown: str, claim: calls.Claim) -> Slot:
        """Return the slot of a file whose bytes are known."""
        if claim.document_id in self._handled or (
            claim.outcome == "exists"
            and not claim.is_judged
            and is_stored_since(conn, claim.document_id, self._started)
        ):
            # A copy of an earlier file of this run, or a file that another loader has just
            # stored: its verdict comes with that.
            claim = replace(claim, is_judged=True)
        self._handled.add(claim.document_id)
        return Slot(
            from_gate(shown, claim, claim.reason), copy_of=self._being_read.get(claim.document_id)
        )

    def _reading(self, document_id: int, outcome: Outcome, future: Future[ReadFile]) -> Slot:
        self._being_read[document_id] = future
        self._handled.add(document_id)
        return Slot(outcome, future)

    def _read_and_store(
        self,
        file: AbstractContextManager[tuple[Path, Fingerprint | None]],
        document_id: int,
        outcome: Outcome,
        *,
        depth: int = 0,
    ) -> ReadFile:
        if self._stop.is_set():
            return ReadFile(outcome)
        try:
            with file as (path, expected):
                reading = self._reader.read(path, expected or fingerprint(path), depth=depth)
        except EnvironmentFault as fault:
            # Not the document's fault: it stays unknown, and what can be read goes on.
            self.environment_fault = fault
            return ReadFile(
                replace(
                    outcome,
                    status="failed",
                    document_id=None,
                    reason="environment",
                    detail=str(fault),
                )
            )
        except UnreadableFile as error:
            # The bytes of an attachment are gone; its lease is given back, and whoever comes next
            # says the same of it in the queue.
            return ReadFile(
                replace(
                    outcome,
                    status="failed",
                    document_id=None,
                    reason=error.reason,
                    detail=error.detail,
                )
            )
        if self._stop.is_set():
            # The children were killed under this reading: what it says is not true of the file.
            return ReadFile(outcome)
        stored = store(
            self._connections,
            document_id,
            reading,
            reader=self._worker,
            collection_id=self._collection_id,
            features=self._items.features,
            doc_type=self._options.doc_type,
            depth=depth,
            keeps_attachments=True,
            name=outcome.file,
        )
        reading = stored.reading
        return ReadFile(
            replace(
                outcome,
                status=reading.status,
                reason=reading.reason or "",
                detail=reading.reason_detail or "",
                flags=tuple(reading.flags),
            ),
            stored.attachments,
        )

    def _judged(self, conn: psycopg.Connection, outcome: Outcome) -> Outcome:
        if outcome.gate == "hit" or outcome.status not in ("ok", "partial"):
            return outcome
        if outcome.document_id is None:
            raise RuntimeError(f"no document for {outcome.file}")
        detection = judge(conn, outcome.document_id, name=outcome.file)
        row = conn.execute(
            "select doc_type, text_state from sherlock.documents where document_id = %s",
            [outcome.document_id],
        ).fetchone()
        doc_type, text_state = row if row is not None else ("", "")
        return replace(outcome, doc_type=doc_type, text_state=text_state, **best_match(detection))

    def _read_left_over(self, conn: psycopg.Connection, progress: Progress) -> int:
        """Read what an interrupted run had in hand, as the files inside a mail that it had read."""
        count = 0
        while items := calls.lease_items(
            conn, self._worker, 1, leases.LEASE, leases.host_name(), only_loaders=True
        ):
            if not count:
                progress.stage("reading what an interrupted run left", 0)
            for item in items:
                self._items.process(item)
                progress.step()
                count += 1
        return count

    def _judge_left_over(self, conn: psycopg.Connection, progress: Progress) -> int:
        """Judge documents that an interrupted run stored and did not come to judge.

        Texts that were loaded in bulk, which have keys, are not judged unless somebody asks for it.
        """
        left = conn.execute(
            "select d.document_id from sherlock.documents as d"
            " where d.collection_id = sherlock.collection_id(%s)"
            " and d.status in ('ok', 'partial') and d.text_state is not null"
            " and d.indexed_at < %s and not exists ("
            "  select from sherlock.detections as v where v.document_id = d.document_id)"
            " and not exists ("
            "  select from sherlock.document_keys as k where k.document_id = d.document_id)"
            " order by d.document_id",
            [self._options.collection, self._started],
        ).fetchall()
        if left:
            progress.stage("judging what an interrupted run left", len(left))
        for (document_id,) in left:
            judge(conn, document_id)
            progress.step()
        return len(left)

    def _abandon(self, pool: ThreadPoolExecutor) -> None:
        self._stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        self._extractor.close()

    @contextlib.contextmanager
    def _cleanup(self, conn: psycopg.Connection) -> Iterator[None]:
        """Give the claims back at the end, whatever it is.

        An interruption leaves `conn` in the middle of a query, perhaps of a claim: it is ended
        before the claims are given back, on another connection.
        """
        backend_pid = conn.info.backend_pid
        try:
            yield
        except BaseException:
            conn.close()
            raise
        finally:
            self._connections.close()
            self._items.close()
            # Without the database the claims lapse by themselves.
            with (
                contextlib.suppress(psycopg.OperationalError, SherlockError),
                self._open() as other,
            ):
                if conn.closed:
                    other.execute("select pg_terminate_backend(%s, 5000)", [backend_pid])
                calls.release_claims(other, self._worker)

    def _open(self) -> psycopg.Connection:
        return connect(self._conninfo, autocommit=True)
