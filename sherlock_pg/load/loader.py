"""Loading files: gate, extraction, NER, storing, and verdicts in the order of the files.

The main thread walks the files, hashes them and passes the gate, so document ids follow the order
of the files. Worker threads read and store. A verdict is made when all earlier files of the run
are stored, so it does not depend on which of them was read faster. Every step is committed on its
own: what is done stays done, and what is not is done by the next run.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
from sherlock_pg.load.outcome import Outcome, best_match, copy_of_file, from_gate
from sherlock_pg.load.reading import DocumentReader, Reading
from sherlock_pg.load.walk import storable
from sherlock_pg.logs import fields
from sherlock_pg.queue import leases
from sherlock_pg.vectorize import lifecycle

log = logging.getLogger(__name__)

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


@dataclass
class _Slot:
    """A file in order: its outcome is known, or its document is still being read.

    Attributes:
        outcome: what is known of it so far.
        reading: gives the outcome once the file is read.
        copy_of: the reading, in this run, of an earlier file with the same bytes.
    """

    outcome: Outcome
    reading: Future[Outcome] | None = None
    copy_of: Future[Outcome] | None = None

    def settle(self) -> None:
        """Wait for the reading that the outcome depends on."""
        if self.reading is not None:
            self.outcome = self.reading.result()
        elif self.copy_of is not None:
            self.outcome = copy_of_file(self.outcome, self.copy_of.result())


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
        self._local = threading.local()
        self._connections: list[psycopg.Connection] = []
        self.environment_fault: EnvironmentFault | None = None
        self.refit_reason: str | None = None
        self._handled: set[int] = set()
        self._being_read: dict[int, Future[Outcome]] = {}
        self._started: datetime | None = None

    def run(
        self, files: Sequence[Path], on_outcome: Callable[[Outcome], None], progress: Progress
    ) -> int:
        """Load the files; outcomes are handed over in the order of the files.

        Returns:
            How many documents of earlier, interrupted runs were judged too.

        What some files need and is missing (tesseract, a language) is kept in
        `environment_fault`; those files are not stored. Why a new vocabulary is proposed, if one
        is, in `refit_reason`.

        Raises:
            KeyboardInterrupt: after the claims were given back.
        """
        with connect(self._conninfo, autocommit=True) as conn:
            self._started = _now(conn)
            calls.create_collection(conn, self._options.collection)
            found = lifecycle.state(conn, self._options.collection)
            is_deferred = found.needs_fit(arriving=len(files))
            leases.return_items_of_the_dead(conn)
            with leases.renewed(self._conninfo, self._worker), self._cleanup(conn):
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
                return self._judge_left_over(conn, progress)

    def _read_all(
        self,
        conn: psycopg.Connection,
        files: Sequence[Path],
        progress: Progress,
        on_outcome: Callable[[Outcome], None] | None,
    ) -> list[_Slot]:
        """Read all files; with `on_outcome` judge each as soon as it is its turn."""
        waiting: deque[_Slot] = deque()
        done: list[_Slot] = []
        free = threading.Semaphore(self._options.workers * _CLAIMS_AHEAD)

        def collect(*, wait: bool) -> None:
            while waiting and (wait or waiting[0].reading is None or waiting[0].reading.done()):
                slot = waiting.popleft()
                slot.settle()
                if on_outcome is None:
                    done.append(slot)
                else:
                    on_outcome(self._judged(conn, slot.outcome))
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
    ) -> _Slot:
        shown = storable(path)
        try:
            found = fingerprint(path)
        except UnreadableFile as error:
            return _Slot(
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
            if claim.document_id in self._handled or (
                claim.outcome == "exists"
                and not claim.is_judged
                and _is_stored_since(conn, claim.document_id, self._started)
            ):
                # A copy of an earlier file of this run, or a file that another loader has just
                # stored: its verdict comes with that.
                claim = replace(claim, is_judged=True)
            self._handled.add(claim.document_id)
            return _Slot(
                from_gate(shown, claim, claim.reason),
                copy_of=self._being_read.get(claim.document_id),
            )
        outcome = Outcome(file=shown, status="pending", gate="new", document_id=claim.document_id)
        future = pool.submit(self._read_and_store, path, found, claim.document_id, outcome)
        future.add_done_callback(lambda _: free.release())
        self._being_read[claim.document_id] = future
        self._handled.add(claim.document_id)
        return _Slot(outcome, future)

    def _read_and_store(
        self, path: Path, expected: Fingerprint, document_id: int, outcome: Outcome
    ) -> Outcome:
        if self._stop.is_set():
            return outcome
        try:
            reading = self._reader.read(path, expected)
        except EnvironmentFault as fault:
            # Not the document's fault: it stays unknown, and what can be read goes on.
            self.environment_fault = fault
            return replace(
                outcome, status="failed", document_id=None, reason="environment", detail=str(fault)
            )
        if self._stop.is_set():
            # The children were killed under this reading: what it says is not true of the file.
            return outcome
        try:
            self._store(document_id, reading)
        except psycopg.DataError as error:
            reading = Reading(
                status="failed",
                content=None,
                entities=[],
                media_type=reading.media_type,
                reason="db_error",
                reason_detail=f"{type(error).__name__}: {error.diag.message_primary}",
                flags=reading.flags,
                pages=[],
            )
            self._store(document_id, reading)
        log.info(
            "document read",
            extra=fields(
                stage="read",
                document_id=document_id,
                name=outcome.file,
                status=reading.status,
                reason=reading.reason,
                detail=reading.reason_detail,
                seconds=reading.processing.get("extract_seconds"),
                worker=self._worker,
            ),
        )
        return replace(
            outcome,
            status=reading.status,
            reason=reading.reason or "",
            detail=reading.reason_detail or "",
            flags=tuple(reading.flags),
        )

    def _store(self, document_id: int, reading: Reading) -> None:
        conn = self._thread_connection()
        with conn.transaction():
            calls.finish_document(
                conn,
                calls.FinishedDocument(
                    document_id=document_id,
                    worker=self._worker,
                    doc_type=self._options.doc_type,
                    status=reading.status,
                    content=reading.content,
                    entities=reading.entities,
                    media_type=reading.media_type,
                    reason=reading.reason,
                    reason_detail=reading.reason_detail,
                    flags=reading.flags,
                    pages=reading.pages,
                    processing=reading.processing,
                ),
            )

    def _judged(self, conn: psycopg.Connection, outcome: Outcome) -> Outcome:
        if outcome.gate == "hit" or outcome.status not in ("ok", "partial"):
            return outcome
        if outcome.document_id is None:
            raise RuntimeError(f"no document for {outcome.file}")
        with conn.transaction():
            detection = calls.record_detection(conn, outcome.document_id)
        log.info(
            "document judged",
            extra=fields(
                stage="judge",
                document_id=outcome.document_id,
                name=outcome.file,
                action=detection.recommended_action,
                checked=detection.total_checked,
                seconds=round(detection.total_latency_ms / 1000, 4),
                worker=self._worker,
            ),
        )
        row = conn.execute(
            "select doc_type, text_state from sherlock.documents where document_id = %s",
            [outcome.document_id],
        ).fetchone()
        doc_type, text_state = row if row is not None else ("", "")
        return replace(outcome, doc_type=doc_type, text_state=text_state, **best_match(detection))

    def _judge_left_over(self, conn: psycopg.Connection, progress: Progress) -> int:
        """Judge documents that an interrupted run stored and did not come to judge."""
        left = conn.execute(
            "select d.document_id from sherlock.documents as d"
            " where d.collection_id = sherlock.collection_id(%s)"
            " and d.status in ('ok', 'partial') and d.text_state is not null"
            " and d.indexed_at < %s and not exists ("
            "  select from sherlock.detections as v where v.document_id = d.document_id)"
            " order by d.document_id",
            [self._options.collection, self._started],
        ).fetchall()
        if left:
            progress.stage("judging what an interrupted run left", len(left))
        for (document_id,) in left:
            with conn.transaction():
                calls.record_detection(conn, document_id)
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
            for connection in self._connections:
                connection.close()
            # Without the database the claims lapse by themselves.
            with (
                contextlib.suppress(psycopg.OperationalError, SherlockError),
                connect(self._conninfo, autocommit=True) as other,
            ):
                if conn.closed:
                    other.execute("select pg_terminate_backend(%s, 5000)", [backend_pid])
                calls.release_claims(other, self._worker)

    def _thread_connection(self) -> psycopg.Connection:
        conn: psycopg.Connection | None = getattr(self._local, "conn", None)
        if conn is None or conn.closed:
            conn = self._local.conn = connect(self._conninfo, autocommit=True)
            self._connections.append(conn)
        return conn


def _now(conn: psycopg.Connection) -> datetime:
    row = conn.execute("select clock_timestamp()").fetchone()
    if row is None:
        raise RuntimeError("no clock")
    now: datetime = row[0]
    return now


def _is_stored_since(conn: psycopg.Connection, document_id: int, moment: datetime | None) -> bool:
    row = conn.execute(
        "select from sherlock.documents where document_id = %s and indexed_at >= %s",
        [document_id, moment],
    ).fetchone()
    return row is not None
