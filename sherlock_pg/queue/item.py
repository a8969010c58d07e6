"""One item of the queue: its file is had, read, stored and judged, or put back for later."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import psycopg

from sherlock_pg import scratch
from sherlock_pg.db import calls
from sherlock_pg.errors import DatabaseUnavailable, EnvironmentFault, SherlockError
from sherlock_pg.ingest.pool import ExtractorClosed
from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.load.fingerprint import Fingerprint, UnreadableFile, fingerprint
from sherlock_pg.load.reading import DocumentReader, Reading
from sherlock_pg.logs import fields
from sherlock_pg.queue import storing
from sherlock_pg.queue.features import TextFeatures
from sherlock_pg.queue.storing import ThreadConnections

if TYPE_CHECKING:
    from sherlock_pg.ingest.model import OcrMode

log = logging.getLogger(__name__)

MAY_PASS = frozenset(
    {
        Reason.MISSING_FILE,
        Reason.UNREADABLE,
        Reason.CHANGED_WHILE_READ,
        Reason.TIMEOUT,
        Reason.MEMORY,
        Reason.CRASHED,
        Reason.OCR_ERROR,
    }
)
"""Reasons that another attempt may do away with; the others are final at once."""

_STORE_FOR_SECONDS = 90.0
"""How long a reading is kept while the database is gone; its lease lasts two minutes."""


class ItemReader:
    """Processes leased items; safe to use from several threads.

    Args:
        connections: where each thread has its connection from.
        reader: reads one file.
        name: the name that the items are leased under.
    """

    def __init__(self, connections: ThreadConnections, reader: DocumentReader, name: str) -> None:
        self.connections = connections
        self.name = name
        self.features = TextFeatures()
        self._reader = reader
        self._is_abandoned = threading.Event()
        self._folder = scratch.new_folder("reader")

    def close(self) -> None:
        """Remove the files of this reader."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def abandon(self) -> None:
        """Believe no reading from now on: its process is being killed."""
        self._is_abandoned.set()

    def process(self, item: calls.Item) -> str:
        """Bring a leased item to its end, or put it back.

        Returns:
            What became of it: ok, partial, failed, copy, retried or lost (its lease went to
            another, or it was left to lapse).
        """
        started = time.monotonic()
        try:
            outcome = self._process(item)
        except ExtractorClosed:
            outcome = "lost"
        except Exception as error:
            if _is_left_to_others(error):
                log.warning("item left to others: %s", error, extra=fields(item_id=item.item_id))
                outcome = "lost"
            else:
                # A fault of ours must neither end the worker nor come back for ever.
                log.exception("an item could not be processed", extra=fields(item_id=item.item_id))
                outcome = self._give_up_or_retry(item, "error", f"{type(error).__name__}: {error}")
        log.info(
            "item processed",
            extra=fields(
                item_id=item.item_id,
                document_id=item.document_id,
                name=item.name,
                outcome=outcome,
                attempt=item.attempts,
                seconds=round(time.monotonic() - started, 3),
            ),
        )
        return outcome

    def _process(self, item: calls.Item) -> str:
        if item.state == "stored":
            if item.document_id is None:
                raise RuntimeError(f"stored item {item.item_id} without a document")
            storing.judge(self.connections.get(), item.document_id, name=item.name)
            return "ok"
        try:
            with self.file(item) as (path, known):
                expected = fingerprint(path) if known is None else known
                document_id = item.document_id
                if document_id is None:
                    document_id = calls.identify_item(
                        self.connections.get(),
                        item.item_id,
                        self.name,
                        expected.sha256,
                        expected.size_bytes,
                    )
                    if document_id is None:
                        return "copy"
                reading = self._reader.read(
                    path, expected, ocr=cast("OcrMode | None", item.ocr), depth=item.depth
                )
        except UnreadableFile as error:
            return self._give_up_or_retry(item, str(error.reason), error.detail)
        except EnvironmentFault as fault:
            # Not the file's fault, and perhaps another worker has what this one lacks.
            log.warning("this worker cannot read it: %s; %s", fault, fault.hint, extra=_about(item))
            calls.retry_item(
                self.connections.get(),
                item.item_id,
                self.name,
                "environment",
                f"{fault}; {fault.hint}",
                is_counted=False,
            )
            return "retried"
        if self._is_abandoned.is_set():
            return "lost"
        reading = replace(reading, processing={**reading.processing, **_waited(item)})
        if (
            reading.reason in MAY_PASS
            and reading.status == "failed"
            and calls.retry_item(
                self.connections.get(),
                item.item_id,
                self.name,
                str(reading.reason),
                reading.reason_detail,
            )
        ):
            _log_retry(item, str(reading.reason), reading.reason_detail)
            return "retried"
        return self._store(item, document_id, reading)

    def _store(self, item: calls.Item, document_id: int, reading: Reading) -> str:
        """Store and judge; while the database is gone the reading is kept for a while."""
        deadline = time.monotonic() + _STORE_FOR_SECONDS
        while True:
            try:
                stored = storing.store(
                    self.connections,
                    document_id,
                    reading,
                    reader=self.name,
                    collection_id=item.collection_id,
                    features=self.features,
                    doc_type=item.doc_type,
                    depth=item.depth,
                    is_judged=True,
                    name=item.name,
                )
            except (psycopg.OperationalError, psycopg.InterfaceError, SherlockError) as error:
                if self._is_abandoned.is_set() or time.monotonic() > deadline:
                    log.warning(
                        "what was read could not be stored: %s",
                        error,
                        extra=fields(item_id=item.item_id, document_id=document_id),
                    )
                    return "lost"
                time.sleep(1)
            else:
                return stored.reading.status

    def _give_up_or_retry(self, item: calls.Item, reason: str, detail: str) -> str:
        conn = self.connections.get()
        if calls.retry_item(conn, item.item_id, self.name, reason, detail):
            _log_retry(item, reason, detail)
            return "retried"
        log.warning("given up", extra=_about(item, reason=reason, detail=detail))
        calls.bury_item(conn, item.item_id, self.name, reason, detail)
        return "failed"

    @contextlib.contextmanager
    def file(self, item: calls.Item) -> Iterator[tuple[Path, Fingerprint | None]]:
        """Yield a path with the item's bytes, and what they must be if that is known.

        Raises:
            UnreadableFile: neither the bytes are in the database nor is there a path.
        """
        known = None
        if item.sha256 is not None and item.file_size_bytes is not None:
            known = Fingerprint(item.sha256, item.file_size_bytes)
            content = calls.file_content(self.connections.get(), *_key(known))
            if content is not None:
                path = self._folder / f"{item.item_id}-{threading.get_ident()}"
                try:
                    _write(path, content)
                    del content
                    yield path, known
                finally:
                    path.unlink(missing_ok=True)
                return
        if item.path is None:
            raise UnreadableFile(
                Reason.MISSING_FILE, "its bytes are no longer in the database, and there is no path"
            )
        yield Path(item.path), known


def _is_left_to_others(error: Exception) -> bool:
    """Say whether another worker has the item by now, or the database is gone."""
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | DatabaseUnavailable):
        return True
    return isinstance(error, psycopg.DatabaseError) and error.sqlstate == "SH003"


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write to {path.parent}: {error.strerror or error}",
            hint="make space there, or set TMPDIR to a folder with more",
        ) from error


def _about(item: calls.Item, **more: object) -> dict[str, dict[str, object]]:
    return fields(item_id=item.item_id, document_id=item.document_id, name=item.name, **more)


def _log_retry(item: calls.Item, reason: str, detail: str | None) -> None:
    log.warning("tried again later", extra=_about(item, reason=reason, detail=detail))


def _key(known: Fingerprint) -> tuple[bytes, int]:
    return known.sha256, known.size_bytes


def _waited(item: calls.Item) -> dict[str, float]:
    if item.started_at is None:
        return {}
    return {"queued_seconds": round((item.started_at - item.enqueued_at).total_seconds(), 4)}
