"""One function per public SQL function, same name, typed rows. The caller owns the transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row, dict_row, scalar_row
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb


@dataclass(frozen=True)
class Claim:
    """Answer of the gate: `outcome` is claimed, exists or busy."""

    document_id: int
    outcome: str
    name: str | None
    status: str
    reason: str | None
    is_judged: bool
    is_same_source: bool


@dataclass(frozen=True)
class Item:
    """A file in the queue: a row of `sherlock.inbox`, without what only people look at."""

    item_id: int
    collection_id: int
    doc_type: str
    name: str | None
    path: str | None
    sha256: bytes | None
    file_size_bytes: int | None
    ocr: str | None
    state: str
    gate: str | None
    document_id: int | None
    depth: int
    attempts: int
    reason: str | None
    enqueued_at: datetime
    started_at: datetime | None


@dataclass(frozen=True)
class ExactHit:
    """The document that has exactly these bytes."""

    document_id: int
    name: str | None
    status: str
    doc_type: str
    created_at: Any


@dataclass(frozen=True)
class Detection:
    """The verdict on a document or text; `candidates` are matches, best first."""

    document_id: int | None
    recommended_action: str
    candidates: list[dict[str, Any]]
    total_checked: int
    high_confidence_count: int
    medium_confidence_count: int
    low_confidence_count: int
    level_scores: dict[str, float]
    short_circuited: bool
    total_latency_ms: float
    hot_band_keys: int


@dataclass(frozen=True)
class FinishedDocument:
    """What a reader hands over; the arguments of `sherlock.finish_document`."""

    document_id: int
    worker: str
    status: str
    content: str | None
    doc_type: str
    entities: list[dict[str, Any]]
    media_type: str | None
    reason: str | None
    reason_detail: str | None
    flags: list[str]
    pages: list[dict[str, Any]]
    processing: dict[str, Any]
    features: dict[str, Any] | None = None


def find_exact(
    conn: psycopg.Connection, sha256: bytes, file_size_bytes: int, collection: str
) -> ExactHit | None:
    """Return the document with exactly these bytes."""
    with conn.cursor(row_factory=class_row(ExactHit)) as cur:
        return cur.execute(
            "select * from sherlock.find_exact(p_sha256 => %s, p_file_size_bytes => %s,"
            " p_collection => %s)",
            [sha256, file_size_bytes, collection],
        ).fetchone()


def claim_file(
    conn: psycopg.Connection,
    *,
    sha256: bytes,
    file_size_bytes: int,
    collection: str,
    name: str,
    source_uri: str,
    worker: str,
    lease: timedelta,
    retry_failed: bool = False,
    host: str | None = None,
) -> Claim:
    """Pass the gate: claim a new file, or learn which document has these bytes."""
    with conn.cursor(row_factory=class_row(Claim)) as cur:
        row = cur.execute(
            "select * from sherlock.claim_file(p_sha256 => %s, p_file_size_bytes => %s,"
            " p_collection => %s, p_name => %s, p_source_uri => %s, p_worker => %s,"
            " p_lease => %s, p_retry_failed => %s, p_host => %s)",
            [
                sha256,
                file_size_bytes,
                collection,
                name,
                source_uri,
                worker,
                lease,
                retry_failed,
                host,
            ],
        ).fetchone()
    if row is None:
        raise RuntimeError("sherlock.claim_file returned no row")
    return row


def renew_claims(conn: psycopg.Connection, worker: str, lease: timedelta) -> int:
    """Prolong the leases of a reader."""
    return _scalar(
        conn, "select sherlock.renew_claims(p_worker => %s, p_lease => %s)", [worker, lease]
    )


def release_claims(conn: psycopg.Connection, worker: str) -> int:
    """Give back what a reader claimed and did not finish."""
    return _scalar(conn, "select sherlock.release_claims(p_worker => %s)", [worker])


def return_items(
    conn: psycopg.Connection, worker: str, item_ids: Sequence[int] | None = None
) -> int:
    """Give back what a worker leased, all of it or these items, for others to read at once."""
    return _scalar(
        conn,
        "select sherlock.return_items(p_worker => %s, p_item_ids => %s)",
        [worker, None if item_ids is None else list(item_ids)],
    )


def expire_leases(conn: psycopg.Connection, worker: str) -> int:
    """Say that a worker is dead: others take what it had leased."""
    return _scalar(conn, "select sherlock.expire_leases(p_worker => %s)", [worker])


def lease_items(
    conn: psycopg.Connection,
    worker: str,
    limit: int,
    lease: timedelta,
    host: str,
    *,
    only_loaders: bool = False,
) -> list[Item]:
    """Lease the next items that this host can read; perhaps only what loaders have left."""
    return _items(
        conn,
        "sherlock.lease_items(p_worker => %s, p_limit => %s, p_lease => %s, p_host => %s,"
        " p_only_loaders => %s)",
        [worker, limit, lease, host, only_loaders],
    )


def identify_item(
    conn: psycopg.Connection, item_id: int, worker: str, sha256: bytes, file_size_bytes: int
) -> int | None:
    """Say what bytes a path holds; return the document to read, or None if they are known."""
    with conn.cursor(row_factory=scalar_row) as cur:
        document_id: int | None = cur.execute(
            "select sherlock.identify_item(p_item_id => %s, p_worker => %s, p_sha256 => %s,"
            " p_file_size_bytes => %s)",
            [item_id, worker, sha256, file_size_bytes],
        ).fetchone()
    return document_id


def retry_item(
    conn: psycopg.Connection,
    item_id: int,
    worker: str,
    reason: str,
    detail: str | None,
    *,
    is_counted: bool = True,
) -> bool:
    """Put an item back to be tried later; False if it was tried often enough."""
    return bool(
        _scalar(
            conn,
            "select sherlock.retry_item(p_item_id => %s, p_worker => %s, p_reason => %s,"
            " p_reason_detail => %s, p_is_counted => %s)::integer",
            [item_id, worker, reason, detail, is_counted],
        )
    )


def bury_item(
    conn: psycopg.Connection, item_id: int, worker: str, reason: str, detail: str | None
) -> None:
    """Give an item up."""
    conn.execute(
        "select sherlock.bury_item(p_item_id => %s, p_worker => %s, p_reason => %s,"
        " p_reason_detail => %s)",
        [item_id, worker, reason, detail],
    )


def attach_file(
    conn: psycopg.Connection,
    *,
    document_id: int,
    ordinal: int,
    name: str,
    content: bytes,
    depth: int,
    worker: str | None,
    lease: timedelta,
) -> Item:
    """Take in a file that was inside a document; with `worker` it is leased to him at once."""
    return _items(
        conn,
        "sherlock.attach_file(p_document_id => %s, p_ordinal => %s, p_name => %s,"
        " p_content => %s, p_depth => %s, p_worker => %s, p_lease => %s)",
        [document_id, ordinal, name, content, depth, worker, lease],
    )[0]


def file_content(conn: psycopg.Connection, sha256: bytes, file_size_bytes: int) -> bytes | None:
    """Return the bytes of a file that came as bytes."""
    with conn.cursor(row_factory=scalar_row, binary=True) as cur:
        content: bytes | None = cur.execute(
            "select content from sherlock.file_contents where sha256 = %s and file_size_bytes = %s",
            [sha256, file_size_bytes],
        ).fetchone()
    return content


def retry_dead(
    conn: psycopg.Connection,
    *,
    reason: str | None = None,
    collection: str | None = None,
    item_ids: Sequence[int] | None = None,
) -> int:
    """Queue items again that were given up, of a document one; return how many."""
    return _scalar(
        conn,
        "select sherlock.retry_dead(p_reason => %s, p_collection => %s, p_item_ids => %s)",
        [reason, collection, None if item_ids is None else list(item_ids)],
    )


def finish_document(conn: psycopg.Connection, finished: FinishedDocument) -> bool:
    """Store what was read of a claimed file, with its features.

    Returns:
        Whether the features that were handed over were all that was needed.
    """
    (are_complete,) = conn.execute(
        "select sherlock.finish_document(p_document_id => %s, p_worker => %s, p_status => %s,"
        " p_content => %s, p_doc_type => %s, p_entities => %s, p_media_type => %s,"
        " p_reason => %s, p_reason_detail => %s, p_flags => %s, p_pages => %s,"
        " p_processing => %s, p_features => %s)",
        [
            finished.document_id,
            finished.worker,
            finished.status,
            finished.content,
            finished.doc_type,
            Jsonb(finished.entities),
            finished.media_type,
            finished.reason,
            finished.reason_detail,
            finished.flags,
            Jsonb(finished.pages),
            Jsonb(finished.processing),
            None if finished.features is None else Jsonb(finished.features),
        ],
    ).fetchone() or (False,)
    return bool(are_complete)


def record_detection(conn: psycopg.Connection, document_id: int) -> Detection:
    """Judge a stored document and store the verdict."""
    return _detection(
        conn, "select * from sherlock.record_detection(p_document_id => %s)", [document_id]
    )


def detect_text(
    conn: psycopg.Connection,
    text: str,
    entities: list[dict[str, Any]],
    *,
    collection: str,
    doc_type: str,
    limit: int | None = None,
) -> Detection:
    """Judge a text that is not stored."""
    return _detection(
        conn,
        "select * from sherlock.detect_text(p_text => %s, p_entities => %s,"
        " p_collection => %s, p_doc_type => %s, p_limit => %s)",
        [text, Jsonb(entities), collection, doc_type, limit],
    )


def find_containers_of_text(
    conn: psycopg.Connection, text: str, *, collection: str
) -> list[dict[str, Any]]:
    """Return larger documents that a text which is not stored stands in, best first."""
    with conn.cursor(row_factory=dict_row) as cur:
        return cur.execute(
            "select * from sherlock.find_containers_of_text(p_text => %s, p_collection => %s)",
            [text, collection],
        ).fetchall()


def create_collection(conn: psycopg.Connection, name: str, profile: str = "legal") -> int:
    """Make a collection, or return the id of the one with this name."""
    return _scalar(
        conn,
        "select sherlock.create_collection(p_name => %s, p_profile => %s)",
        [name, profile],
    )


def collection_id(conn: psycopg.Connection, name: str) -> int:
    """Return the id of a collection; an unknown name raises SQLSTATE SH002."""
    return _scalar(conn, "select sherlock.collection_id(p_collection => %s)", [name])


def active_tfidf_model(conn: psycopg.Connection, collection: int) -> int | None:
    """Return the collection's active model."""
    with conn.cursor(row_factory=scalar_row) as cur:
        value: int | None = cur.execute(
            "select sherlock.active_tfidf_model(p_collection_id => %s)", [collection]
        ).fetchone()
    return value


def drop_tfidf_model(conn: psycopg.Connection, model_id: int) -> None:
    """Drop a retired model with its vectors."""
    conn.execute("select sherlock.drop_tfidf_model(p_model_id => %s)", [model_id])


def _scalar(conn: psycopg.Connection, query: Any, parameters: Sequence[object]) -> int:
    row = conn.execute(query, parameters).fetchone()
    if row is None:
        raise RuntimeError(f"no row from: {query}")
    value: int = row[0]
    return value


def _items(
    conn: psycopg.Connection, source: LiteralString, parameters: Sequence[object]
) -> list[Item]:
    columns = SQL(", ").join(Identifier(field.name) for field in fields(Item))
    query = SQL("select {} from {}").format(columns, SQL(source))
    with conn.cursor(row_factory=class_row(Item)) as cur:
        return cur.execute(query, parameters).fetchall()


def _detection(conn: psycopg.Connection, query: Any, parameters: Sequence[object]) -> Detection:
    with conn.cursor(row_factory=dict_row) as cur:
        row = cur.execute(query, parameters).fetchone()
    if row is None:
        raise RuntimeError(f"no row from: {query}")
    return Detection(**row)
