"""Documents out of the database, in one snapshot and in portions that fit into memory."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.rows import class_row, dict_row

from sherlock_pg.export.columns import CONTENT, Column, Row

BATCH_DOCUMENTS = 500
BATCH_WORDS = 1_000_000
"""A portion ends with the document that makes it longer than this."""


class Keep(enum.StrEnum):
    """Which documents are exported."""

    SURVIVORS = "survivors"
    """One of each cluster, and those that are in none."""
    ALL = "all"


@dataclass(frozen=True)
class ClusteringStatus:
    """A row of `sherlock.clustering_status`."""

    state: str
    is_kept: bool | None
    unfollowed_match_count: int
    lost_member_count: int


@dataclass(frozen=True)
class Counts:
    """Documents of a collection.

    Attributes:
        exported: those that the export has.
        left_out: those for which another one survives.
        unread: pending or failed; they have no text.
    """

    exported: int
    left_out: int
    unread: int


@contextlib.contextmanager
def snapshot(conn: psycopg.Connection) -> Iterator[None]:
    """Begin a read-only transaction that sees the database as it is now, to its end."""
    before = conn.isolation_level, conn.read_only
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    conn.read_only = True
    try:
        with conn.transaction():
            yield
    finally:
        conn.isolation_level, conn.read_only = before


def clustering_status(conn: psycopg.Connection, collection: str) -> ClusteringStatus:
    """Return whether the clusters of a collection fit its matches; SH002 if there is none such."""
    conn.execute("select sherlock.collection_id(%s)", [collection])
    with conn.cursor(row_factory=class_row(ClusteringStatus)) as cur:
        row = cur.execute(
            "select state, is_kept, unfollowed_match_count, lost_member_count"
            " from sherlock.clustering_status where collection = %s",
            [collection],
        ).fetchone()
    if row is None:
        raise RuntimeError(f"sherlock.clustering_status has no row of {collection}")
    return row


def count(conn: psycopg.Connection, collection: str, keep: Keep) -> Counts:
    """Count what an export will have and what not."""
    row = conn.execute(
        "select count(*) filter (where is_survivor or %s), count(*)"
        " from sherlock.document_clusters where collection = %s",
        [keep is Keep.ALL, collection],
    ).fetchone()
    unread = conn.execute(
        "select count(*) from sherlock.documents where status in ('pending', 'failed')"
        " and collection_id = sherlock.collection_id(%s)",
        [collection],
    ).fetchone()
    if row is None or unread is None:
        raise RuntimeError("a count gave no row")
    return Counts(exported=row[0], left_out=row[1] - row[0], unread=unread[0])


def read(
    conn: psycopg.Connection, collection: str, keep: Keep, columns: tuple[Column, ...]
) -> Iterator[list[Row]]:
    """Give the documents in the order of their ids, with their texts, in portions."""
    query = sql.SQL(
        "select {} from sherlock.document_clusters as d"
        " where d.collection = %s and (d.is_survivor or %s) order by d.document_id"
    ).format(
        sql.SQL(", ").join(
            sql.Identifier("d", name)
            for name in dict.fromkeys(
                ["document_id", "word_count", *(c.name for c in columns if c is not CONTENT)]
            )
        )
    )
    with conn.cursor(name="sherlock_export", row_factory=dict_row) as cur:
        cur.itersize = BATCH_DOCUMENTS
        batch: list[Row] = []
        words = 0
        for row in cur.execute(query, [collection, keep is Keep.ALL]):
            batch.append(row)
            words += row["word_count"] or 0
            if len(batch) >= BATCH_DOCUMENTS or words >= BATCH_WORDS:
                yield _with_texts(conn, batch)
                batch, words = [], 0
        if batch:
            yield _with_texts(conn, batch)


def _with_texts(conn: psycopg.Connection, rows: list[Row]) -> list[Row]:
    texts: dict[int, str] = dict(
        conn.execute(
            "select document_id, content from sherlock.document_texts(%s)",
            [[row["document_id"] for row in rows]],
        ).fetchall()
    )
    return [{**row, CONTENT.name: texts.get(row["document_id"])} for row in rows]
