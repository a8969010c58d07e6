"""Verdicts on files without storing anything: `match` and `load --dry-run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.ingest.model import MAX_ATTACHMENT_DEPTH
from sherlock_pg.load.fingerprint import Fingerprint, UnreadableFile, fingerprint
from sherlock_pg.load.outcome import Outcome, best_match, from_gate
from sherlock_pg.load.reading import DocumentReader
from sherlock_pg.load.walk import storable


class Preview:
    """Judges files against a collection; writes nothing.

    Args:
        conn: a connection to a database with the current schema.
        reader: reads one file.
        collection: name of a collection; one that does not exist yet is empty.
        doc_type: type of the files, or auto.
        with_containers: look for larger documents that a file stands in, too.
    """

    def __init__(
        self,
        conn: psycopg.Connection,
        reader: DocumentReader,
        collection: str,
        doc_type: str,
        *,
        with_containers: bool = False,
    ) -> None:
        self._conn = conn
        self._is_empty = not _exists(conn, collection)
        self._reader = reader
        self._collection = collection
        self._doc_type = doc_type
        self._with_containers = with_containers
        self._seen: dict[Fingerprint, Outcome] = {}

    def judge(self, path: Path, *, limit: int | None = None) -> Outcome:
        """Return what loading the file would say: gate, then extraction, NER and detection."""
        shown = storable(path)
        try:
            found = fingerprint(path)
        except UnreadableFile as error:
            return Outcome(
                file=shown,
                status="failed",
                gate="new",
                reason=str(error.reason),
                detail=error.detail,
            )
        if (earlier := self._seen.get(found)) is not None:
            return (
                replace(
                    earlier,
                    file=shown,
                    gate="hit",
                    confidence="EXACT",
                    action="REJECT",
                    score=1.0,
                    best_match_id=earlier.document_id,
                    best_match=Path(earlier.file).name,
                    candidates=(),
                )
                if earlier.status != "failed"
                else replace(earlier, file=shown, gate="hit")
            )
        hit = (
            None
            if self._is_empty
            else calls.find_exact(self._conn, found.sha256, found.size_bytes, self._collection)
        )
        if hit is not None and hit.status != "failed":
            return from_gate(shown, hit)
        outcome = self._read(path, shown, found, limit)
        self._seen[found] = outcome
        return outcome

    def _read(self, path: Path, shown: str, found: Fingerprint, limit: int | None) -> Outcome:
        # What is inside a mail or an archive is not compared, and a flag says so.
        reading = self._reader.read(path, found, depth=MAX_ATTACHMENT_DEPTH)
        outcome = Outcome(
            file=shown,
            status=reading.status,
            gate="new",
            reason=reading.reason or "",
            detail=reading.reason_detail or "",
            flags=tuple(reading.flags),
        )
        if reading.content is None:
            return outcome
        if self._is_empty:
            return replace(outcome, action="ACCEPT")
        detection = calls.detect_text(
            self._conn,
            reading.content,
            reading.entities,
            collection=self._collection,
            doc_type=self._doc_type,
            limit=limit,
        )
        return replace(
            outcome,
            text_state=self._text_state(reading.content, reading.flags),
            containers=tuple(
                calls.find_containers_of_text(
                    self._conn, reading.content, collection=self._collection
                )
                if self._with_containers
                else ()
            ),
            **best_match(detection),
        )

    def _text_state(self, text: str, flags: list[str]) -> str:
        """Return what the text would be stored as: indexed, short, empty or excluded."""
        row = self._conn.execute(
            "select sherlock._text_state_of(sherlock.collection_id(%s), %s, %s)",
            [self._collection, text, flags],
        ).fetchone()
        return "" if row is None else str(row[0])


def _exists(conn: psycopg.Connection, collection: str) -> bool:
    row = conn.execute(
        "select exists (select from sherlock.collections where name = %s)", [collection]
    ).fetchone()
    return row is not None and bool(row[0])
