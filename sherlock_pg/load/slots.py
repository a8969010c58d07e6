"""Files of a run in their order: what is known of each, and what the database knows of them."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from sherlock_pg.db import calls
from sherlock_pg.load.outcome import Outcome, copy_of_file


@dataclass(frozen=True)
class ReadFile:
    """A file that was read: what is to be said of it, and the files that were inside."""

    outcome: Outcome
    attachments: tuple[calls.Item, ...] = ()


@dataclass
class Slot:
    """A file in order: its outcome is known, or its document is still being read.

    Attributes:
        outcome: what is known of it so far.
        reading: gives the outcome once the file is read.
        copy_of: the reading, in this run, of an earlier file with the same bytes.
        is_attachment: it was inside another file, so it is not one of those to count.
    """

    outcome: Outcome
    reading: Future[ReadFile] | None = None
    copy_of: Future[ReadFile] | None = None
    is_attachment: bool = False

    def settle(self) -> tuple[calls.Item, ...]:
        """Wait for the reading that the outcome depends on; return what was inside the file."""
        if self.reading is not None:
            read = self.reading.result()
            self.outcome = read.outcome
            return read.attachments
        if self.copy_of is not None:
            self.outcome = copy_of_file(self.outcome, self.copy_of.result().outcome)
        return ()


def claim_of(conn: psycopg.Connection, item: calls.Item, document_id: int) -> calls.Claim:
    """Return what the gate said of an attachment whose bytes are known."""
    with conn.cursor(row_factory=class_row(calls.Claim)) as cursor:
        claim = cursor.execute(
            "select d.document_id,"
            " case when d.status = 'pending' then 'busy' else 'exists' end as outcome, d.name,"
            " d.status, d.reason, exists (select from sherlock.detections as v"
            "  where v.document_id = d.document_id) as is_judged, false as is_same_source"
            " from sherlock.documents as d where d.document_id = %s",
            [document_id],
        ).fetchone()
    if claim is None:
        raise RuntimeError(f"the document of attachment {item.item_id} vanished")
    return claim


def clock(conn: psycopg.Connection) -> datetime:
    """Return the time that the database has."""
    row = conn.execute("select clock_timestamp()").fetchone()
    if row is None:
        raise RuntimeError("no clock")
    now: datetime = row[0]
    return now


def is_stored_since(conn: psycopg.Connection, document_id: int, moment: datetime | None) -> bool:
    """Say whether a document was stored at this time or later."""
    row = conn.execute(
        "select from sherlock.documents where document_id = %s and indexed_at >= %s",
        [document_id, moment],
    ).fetchone()
    return row is not None
