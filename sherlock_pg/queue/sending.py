"""Sending files to the queue, and waiting for what becomes of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import class_row

from sherlock_pg.ingest.files import read_file
from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.load.fingerprint import UnreadableFile, fingerprint
from sherlock_pg.load.walk import storable
from sherlock_pg.queue import leases

_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class SendOptions:
    """How files are sent.

    Attributes:
        collection_id: where they go.
        doc_type: their type, or auto.
        priority: higher ones are read first.
        by_path: send only the path, for workers on this machine.
    """

    collection_id: int
    doc_type: str = "auto"
    priority: int = 0
    by_path: bool = False


@dataclass(frozen=True)
class Sent:
    """What the queue says of a file.

    Attributes:
        file: the path as given.
        item_id: the item; None if the file could not be sent.
        state: queued, leased, stored, done or dead; failed if it could not be sent.
        gate: new, hit, or empty while the bytes are not known.
        document_id: the document with these bytes.
        reason: why it could not be sent or read.
        detail: what was seen, for a person.
    """

    file: str
    item_id: int | None
    state: str
    gate: str = ""
    document_id: int | None = None
    reason: str = ""
    detail: str = ""

    @property
    def is_open(self) -> bool:
        """Say whether it is still to be read or judged."""
        return self.state in ("queued", "leased", "stored")


@dataclass(frozen=True)
class _Row:
    item_id: int
    state: str
    gate: str | None
    document_id: int | None
    reason: str | None
    reason_detail: str | None


def send(conn: psycopg.Connection, path: Path, options: SendOptions) -> Sent:
    """Send one file, committed at once; a file that cannot be read is said to have failed.

    Args:
        conn: a connection in autocommit mode.
        path: the file.
        options: how.
    """
    shown = storable(path)
    absolute = path.absolute()
    is_storable = os.fsencode(absolute) == storable(absolute).encode()
    try:
        if options.by_path and is_storable:
            found = fingerprint(path)
            content, digest, size = None, found.sha256, found.size_bytes
        else:
            # Of a path that is no text, only the bytes can be sent.
            content, digest, size = read_file(path, ExtractOptions().max_file_bytes), None, None
    except UnreadableFile as error:
        return _refused(shown, error.reason, error.detail)
    except ExtractionFailure as error:
        return _refused(shown, error.reason, error.detail)
    except MemoryError:
        return _refused(shown, Reason.TOO_BIG, "not enough memory to send it; use --by-path")
    if size == 0 or content == b"":
        return _refused(shown, Reason.EMPTY_FILE, "")
    with conn.cursor(row_factory=class_row(_Row)) as cursor:
        row = cursor.execute(
            "insert into sherlock.inbox (content, sha256, file_size_bytes, name, path, host,"
            " collection_id, doc_type, priority) values (%b, %b, %s, %s, %s, %s, %s, %s, %s)"
            " returning item_id, state, gate, document_id, reason, reason_detail",
            [
                content,
                digest,
                size,
                storable(path.name),
                storable(absolute),
                leases.host_name() if options.by_path and is_storable else None,
                options.collection_id,
                options.doc_type,
                options.priority,
            ],
        ).fetchone()
    if row is None:
        raise RuntimeError("the item was not inserted")
    return _sent(shown, row)


def wait(
    conn: psycopg.Connection,
    sent: list[Sent],
    on_end: Callable[[Sent], None],
    *,
    poll_seconds: float = _POLL_SECONDS,
) -> None:
    """Wait until all items have ended; each is handed over when it has, in any order.

    Args:
        conn: a connection in autocommit mode.
        sent: what `send` returned; those that have ended are handed over at once.
        on_end: called once for each.
        poll_seconds: how often the queue is asked even if it says nothing.
    """
    open_items: dict[int, Sent] = {}
    for each in sent:
        if each.is_open and each.item_id is not None:
            open_items[each.item_id] = each
        else:
            on_end(each)
    conn.execute("listen sherlock_inbox_done")
    while open_items:
        for row in _ended(conn, list(open_items)):
            known = open_items.pop(row.item_id)
            on_end(_sent(known.file, row))
        if open_items:
            deadline = time.monotonic() + poll_seconds
            while (left := deadline - time.monotonic()) > 0:
                if any(int(n.payload) in open_items for n in _notifies(conn, left)):
                    break
    conn.execute("unlisten sherlock_inbox_done")


def _notifies(conn: psycopg.Connection, seconds: float) -> Iterator[psycopg.Notify]:
    return conn.notifies(timeout=seconds, stop_after=1)


def _ended(conn: psycopg.Connection, item_ids: list[int]) -> list[_Row]:
    with conn.cursor(row_factory=class_row(_Row)) as cursor:
        rows = cursor.execute(
            "select item_id, state, gate, document_id, reason, reason_detail"
            " from sherlock.inbox where item_id = any(%s) order by item_id",
            [item_ids],
        ).fetchall()
    # Withdrawn by somebody: nothing will become of it.
    gone = set(item_ids) - {row.item_id for row in rows}
    return [row for row in rows if row.state in ("done", "dead")] + [
        _Row(item_id, "dead", None, None, "withdrawn", None) for item_id in sorted(gone)
    ]


def _sent(shown: str, row: _Row) -> Sent:
    return Sent(
        shown,
        row.item_id,
        row.state,
        row.gate or "",
        row.document_id,
        row.reason or "" if row.state == "dead" else "",
        row.reason_detail or "" if row.state == "dead" else "",
    )


def _refused(shown: str, reason: Reason, detail: str) -> Sent:
    return Sent(shown, None, "failed", reason=str(reason), detail=detail)
