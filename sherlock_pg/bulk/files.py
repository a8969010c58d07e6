"""How far files got: `sherlock.bulk_files`, the keys that are there, the rows that were refused."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sherlock_pg.bulk.formats import BulkFile, Identity
from sherlock_pg.bulk.rows import Position, Reason, RejectedRow, Row
from sherlock_pg.errors import SherlockError
from sherlock_pg.load.walk import storable

_LOCK_CLASS: Final = 21321
_LOCK_ATTEMPTS: Final = 20
_LOCK_PAUSE_SECONDS: Final = 0.25


@dataclass(frozen=True)
class FileState:
    """A row of `sherlock.bulk_files`."""

    bulk_file_id: int
    position: int
    line_count: int
    row_count: int
    added_count: int
    known_count: int
    failed_count: int
    finished_at: datetime | None

    @property
    def next_row(self) -> Position:
        """Where to go on."""
        return Position(self.position, self.line_count)


@dataclass(frozen=True)
class Known:
    """A document that has a key already.

    Attributes:
        document_id: the document.
        bulk_file_id: the file that it came with.
        line_number: its row there.
        text_sha256: SHA-256 of its text; None if it is not stored any more.
    """

    document_id: int
    bulk_file_id: int
    line_number: int
    text_sha256: bytes | None


def register(
    conn: psycopg.Connection,
    collection_id: int,
    file: BulkFile,
    identity: Identity,
    options: dict[str, Any],
) -> FileState:
    """Return how far a file got; one that is not known begins now."""
    with conn.cursor(row_factory=class_row(FileState)) as cursor:
        found = cursor.execute(
            "insert into sherlock.bulk_files as f"
            " (collection_id, source_uri, sha256, file_size_bytes, options)"
            " values (%s, %s, %s, %s, %s)"
            " on conflict (collection_id, sha256, file_size_bytes, options)"
            " do update set source_uri = excluded.source_uri"
            " returning bulk_file_id, position, line_count, row_count, added_count, known_count,"
            " failed_count, finished_at",
            [
                collection_id,
                storable(file.path.absolute()),
                identity.sha256,
                identity.size_bytes,
                Jsonb(options),
            ],
        ).fetchone()
    if found is None:
        raise RuntimeError("no row of sherlock.bulk_files")
    return found


def begin_again(conn: psycopg.Connection, state: FileState) -> None:
    """Forget how far a file got, and which of its rows were refused; its documents stay."""
    with conn.transaction():
        conn.execute(
            "update sherlock.bulk_files set position = 0, line_count = 0, row_count = 0,"
            " added_count = 0, known_count = 0, failed_count = 0, finished_at = null"
            " where bulk_file_id = %s",
            [state.bulk_file_id],
        )
        conn.execute(
            "delete from sherlock.rejected_rows where bulk_file_id = %s", [state.bulk_file_id]
        )


def has_changed(
    conn: psycopg.Connection, collection_id: int, file: BulkFile, identity: Identity
) -> bool:
    """Say whether another content was loaded from this path last time."""
    row = conn.execute(
        "select f.sha256 from sherlock.bulk_files as f"
        " where f.collection_id = %s and f.source_uri = %s order by f.updated_at desc limit 1",
        [collection_id, storable(file.path.absolute())],
    ).fetchone()
    return row is not None and bytes(row[0]) != identity.sha256


def hold(conn: psycopg.Connection, state: FileState, file: BulkFile) -> None:
    """Keep other sessions from loading the same file, as long as the connection lasts.

    Raises:
        SherlockError: another one does already.
    """
    for _ in range(_LOCK_ATTEMPTS):
        row = conn.execute(
            "select pg_try_advisory_lock(%s, %s)", [_LOCK_CLASS, state.bulk_file_id]
        ).fetchone()
        if row is not None and row[0]:
            return
        # The session of a loader that was killed may not have noticed yet.
        time.sleep(_LOCK_PAUSE_SECONDS)
    raise SherlockError(
        f"another session is loading {file.path}",
        hint="wait for it; if it is gone, it will be noticed as soon as its statement has ended",
    )


def let_go(conn: psycopg.Connection, state: FileState) -> None:
    """Let other sessions load the file."""
    conn.execute("select pg_advisory_unlock(%s, %s)", [_LOCK_CLASS, state.bulk_file_id])


def advance(
    conn: psycopg.Connection,
    state: FileState,
    end: Position,
    *,
    added: int,
    known: int,
    rejected: Sequence[RejectedRow],
    is_end: bool,
) -> None:
    """Note that rows were dealt with, in the transaction that stores them."""
    conn.execute(
        "update sherlock.bulk_files set position = %s, line_count = %s,"
        " row_count = row_count + %s, added_count = added_count + %s,"
        " known_count = known_count + %s, failed_count = failed_count + %s,"
        " updated_at = clock_timestamp(),"
        " finished_at = case when %s then clock_timestamp() end"
        " where bulk_file_id = %s",
        [
            end.offset,
            end.line_count,
            added + known + len(rejected),
            added,
            known,
            len(rejected),
            is_end,
            state.bulk_file_id,
        ],
    )
    if rejected:
        with conn.cursor() as cursor:
            cursor.executemany(
                "insert into sherlock.rejected_rows"
                " (bulk_file_id, line_number, key, reason, detail) values (%s, %s, %s, %s, %s)",
                [
                    (state.bulk_file_id, row.line_number, row.key, row.reason, row.detail)
                    for row in rejected
                ],
            )


def rejected_rows(
    conn: psycopg.Connection, bulk_file_id: int, limit: int | None = None
) -> Iterator[RejectedRow]:
    """Yield the rows of a file that were refused, in their order."""
    with conn.transaction(), conn.cursor("rejected", row_factory=class_row(RejectedRow)) as cursor:
        yield from cursor.execute(
            "select line_number, key, reason, detail from sherlock.rejected_rows"
            " where bulk_file_id = %s order by line_number limit %s",
            [bulk_file_id, limit],
        )


def known_keys(
    conn: psycopg.Connection, collection_id: int, keys: Sequence[str]
) -> dict[str, Known]:
    """Return which of these keys documents of the collection have."""
    found = conn.execute(
        "select k.key, k.document_id, k.bulk_file_id, k.line_number"
        " from sherlock.document_keys as k"
        " where k.collection_id = %s and k.key = any(%s)",
        [collection_id, list(keys)],
    ).fetchall()
    if not found:
        return {}
    texts: dict[int, bytes] = dict(
        conn.execute(
            "select t.document_id, sha256(convert_to(t.content, 'UTF8'))"
            " from sherlock.document_texts(%s) as t",
            [[document_id for _, document_id, _, _ in found]],
        ).fetchall()
    )
    return {
        key: Known(document_id, bulk_file_id, line_number, texts.get(document_id))
        for key, document_id, bulk_file_id, line_number in found
    }


def refusal(row: Row, known: Known, bulk_file_id: int) -> RejectedRow | None:
    """Say why a row whose key is there is refused; None if it is the same text from before."""
    if known.bulk_file_id == bulk_file_id and known.line_number != row.line_number:
        return duplicate(row, known.line_number)
    if known.text_sha256 == hashlib.sha256(row.text.encode()).digest():
        return None
    return RejectedRow(
        row.line_number,
        row.key,
        Reason.OTHER_TEXT,
        f"document {known.document_id} has this key and another text; to replace it, delete it "
        "and load the file with --again",
    )


def duplicate(row: Row, first_line: int) -> RejectedRow:
    """Return the refusal of a row whose key an earlier row of the file has."""
    return RejectedRow(
        row.line_number,
        row.key,
        Reason.DUPLICATE_KEY,
        f"the row at line {first_line} has the same key",
    )
