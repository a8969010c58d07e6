"""What was read goes into the database: text, entities, attachments, and the verdict."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.load.reading import Reading
from sherlock_pg.logs import fields
from sherlock_pg.queue import leases
from sherlock_pg.queue.features import TextFeatures

log = logging.getLogger(__name__)

OpenConnection = Callable[[], psycopg.Connection]
"""Opens a connection in autocommit mode."""

_MAX_ATTEMPTS = 6
_FIRST_PAUSE_SECONDS = 0.05
_IN_EACH_OTHERS_WAY = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)

T = TypeVar("T")


class ThreadConnections:
    """A connection for each thread that asks, opened anew when it was lost."""

    def __init__(self, open_connection: OpenConnection) -> None:
        self._open = open_connection
        self._local = threading.local()
        self._lock = threading.Lock()
        self._all: list[psycopg.Connection] = []

    def get(self) -> psycopg.Connection:
        """Return the connection of this thread."""
        conn: psycopg.Connection | None = getattr(self._local, "conn", None)
        if conn is None or conn.closed or conn.broken:
            conn = self._local.conn = self._open()
            with self._lock:
                self._all = [known for known in self._all if not known.closed]
                self._all.append(conn)
        return conn

    def close(self) -> None:
        """Close all connections, also those in the middle of a statement."""
        with self._lock:
            for conn in self._all:
                conn.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[psycopg.Connection]:
        """Run a block in a transaction on the connection of this thread."""
        conn = self.get()
        with conn.transaction():
            yield conn


@dataclass(frozen=True)
class Stored:
    """What became of a reading.

    Attributes:
        reading: as it was stored: a text that the database refuses is a failed reading.
        attachments: items of the files that were inside.
        detection: the verdict; None if it was not asked for, or there is nothing to judge.
    """

    reading: Reading
    attachments: tuple[calls.Item, ...] = ()
    detection: calls.Detection | None = None


def store(
    connections: ThreadConnections,
    document_id: int,
    reading: Reading,
    *,
    reader: str,
    collection_id: int,
    features: TextFeatures,
    doc_type: str = "auto",
    depth: int = 0,
    keeps_attachments: bool = False,
    is_judged: bool = False,
    name: str | None = None,
) -> Stored:
    """Store a reading in one transaction, with its attachments, and judge it if asked to.

    Args:
        connections: where the thread's connection comes from.
        document_id: the document that `reader` has leased.
        reading: what was read.
        reader: who read it.
        collection_id: the document's collection.
        features: makes the text's features.
        doc_type: its type, or auto.
        depth: in how many containers it is.
        keeps_attachments: the reader reads the files inside himself; else they are queued.
        is_judged: make the verdict in the same transaction.
        name: of the file, for the log.

    Raises:
        psycopg.DatabaseError: SH003, another reader has the lease by now.
        psycopg.OperationalError: the database is gone.
    """

    def attempt(reading: Reading) -> Stored:
        made = None
        if reading.content is not None:
            made = features.make(connections.get(), collection_id, reading.content)
        with connections.transaction() as conn:
            are_complete = calls.finish_document(
                conn, _finished(document_id, reader, doc_type, reading, made)
            )
            attachments = tuple(
                calls.attach_file(
                    conn,
                    document_id=document_id,
                    ordinal=ordinal,
                    name=attached.name,
                    content=attached.content,
                    depth=depth + 1,
                    worker=reader if keeps_attachments else None,
                    lease=leases.LEASE,
                )
                for ordinal, attached in enumerate(reading.attachments, 1)
            )
            detection = None
            if is_judged and reading.status != "failed":
                detection = calls.record_detection(conn, document_id)
        if made is not None and not are_complete:
            features.forget(collection_id)
        return Stored(reading, attachments, detection)

    try:
        stored = again_if_in_the_way(lambda: attempt(reading))
    except psycopg.DataError as error:
        refused = replace(
            reading,
            status="failed",
            content=None,
            entities=[],
            reason="db_error",
            reason_detail=f"{type(error).__name__}: {error.diag.message_primary}",
            pages=[],
            attachments=(),
        )
        stored = again_if_in_the_way(lambda: attempt(refused))
    log.info(
        "document read",
        extra=fields(
            stage="read",
            document_id=document_id,
            name=name,
            status=stored.reading.status,
            reason=stored.reading.reason,
            detail=stored.reading.reason_detail,
            seconds=stored.reading.processing.get("extract_seconds"),
            worker=reader,
        ),
    )
    if stored.detection is not None:
        _log_verdict(stored.detection, document_id, name)
    return stored


def judge(
    conn: psycopg.Connection, document_id: int, *, name: str | None = None
) -> calls.Detection:
    """Judge a document that was stored before.

    Args:
        conn: a connection in autocommit mode.
        document_id: the document.
        name: of the file, for the log.
    """

    def attempt() -> calls.Detection:
        with conn.transaction():
            return calls.record_detection(conn, document_id)

    detection = again_if_in_the_way(attempt)
    _log_verdict(detection, document_id, name)
    return detection


def again_if_in_the_way(attempt: Callable[[], T]) -> T:
    """Run a transaction, again if another one was in its way (40001, 40P01, 55P03)."""
    for number in range(_MAX_ATTEMPTS - 1):
        try:
            return attempt()
        except _IN_EACH_OTHERS_WAY:
            time.sleep(_FIRST_PAUSE_SECONDS * 2**number)
    return attempt()


def _log_verdict(detection: calls.Detection, document_id: int, name: str | None) -> None:
    log.info(
        "document judged",
        extra=fields(
            stage="judge",
            document_id=document_id,
            name=name,
            action=detection.recommended_action,
            checked=detection.total_checked,
            seconds=round(detection.total_latency_ms / 1000, 4),
        ),
    )


def _finished(
    document_id: int,
    reader: str,
    doc_type: str,
    reading: Reading,
    features: dict[str, Any] | None,
) -> calls.FinishedDocument:
    return calls.FinishedDocument(
        document_id=document_id,
        worker=reader,
        doc_type=doc_type,
        status=reading.status,
        content=reading.content,
        entities=reading.entities,
        media_type=reading.media_type,
        reason=reading.reason,
        reason_detail=reading.reason_detail,
        flags=reading.flags,
        pages=reading.pages,
        processing=reading.processing,
        features=features,
    )
