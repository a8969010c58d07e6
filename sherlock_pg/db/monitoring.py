"""How things stand, read from the views that are made for it: what `status` and `queue` show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from sherlock_pg.db import schema

Row = dict[str, Any]


def queue_status(conn: psycopg.Connection, collection: str | None = None) -> list[Row]:
    """Return the rows of `sherlock.queue_status`."""
    return _rows(
        conn,
        "select * from sherlock.queue_status"
        " where collection = %(collection)s or %(collection)s::text is null order by collection",
        {"collection": collection},
    )


def dead_items(
    conn: psycopg.Connection,
    *,
    reason: str | None = None,
    collection: str | None = None,
    limit: int | None = None,
) -> list[Row]:
    """Return items that were given up, the latest first."""
    return _rows(
        conn,
        "select * from sherlock.dead_items"
        " where (reason = %(reason)s or %(reason)s::text is null)"
        " and (collection = %(collection)s or %(collection)s::text is null)"
        " order by dead_since desc, item_id desc limit %(limit)s",
        {"reason": reason, "collection": collection, "limit": limit},
    )


def overview(conn: psycopg.Connection) -> dict[str, Any]:
    """Return all that one screen shows of a database with the current schema."""
    with conn.transaction():
        conn.execute("set transaction isolation level repeatable read, read only")
        return {
            "database": {
                "name": conn.info.dbname,
                "host": conn.info.host,
                "server_version": conn.info.parameter_status("server_version"),
                "schema_revision": schema.status(conn).revision,
            },
            "collections": _rows(conn, _COLLECTIONS),
            "queue": queue_status(conn),
            "workers": _rows(conn, "select * from sherlock.workers order by worker"),
            "last_hour": _rows(conn, _LAST_HOUR),
            "failures_last_day": _rows(conn, _FAILURES),
            "gate_savings_last_day": _rows(
                conn, "select * from sherlock.gate_savings order by collection"
            ),
            "waiting_for_a_person": _rows(conn, _FOR_A_PERSON)[0],
            "vocabularies": _rows(conn, _VOCABULARIES),
        }


_COLLECTIONS = """
select c.name as collection, c.profile,
       count(d.document_id) as document_count,
       count(*) filter (where d.status = 'ok') as ok_count,
       count(*) filter (where d.status = 'partial') as partial_count,
       count(*) filter (where d.status = 'failed') as failed_count,
       count(*) filter (where d.status = 'pending') as pending_count,
       count(*) filter (where d.text_state = 'indexed') as indexed_count,
       max(d.created_at) as newest_at
from sherlock.collections as c
left join sherlock.documents as d on d.collection_id = c.collection_id
group by c.name, c.profile
order by c.name
"""

# One slice that holds all of the hour, wherever it began.
_LAST_HOUR = """
select t.collection, t.read_count, t.gate_hit_count, t.dead_count, t.page_count, t.byte_count,
       t.mean_wait_seconds, t.p95_wait_seconds, t.mean_processing_seconds,
       t.p95_processing_seconds, t.extract_seconds, t.ocr_seconds, t.ner_seconds
from sherlock.measure_throughput(now() - interval '1 hour', 'infinity', '36500 days') as t
order by t.collection
"""

_FAILURES = """
select i.reason, count(*) as item_count, max(i.dead_since) as last_at
from sherlock.dead_items as i
where i.dead_since > now() - interval '1 day'
group by i.reason
order by item_count desc, i.reason
"""

_FOR_A_PERSON = """
select (select count(*) from sherlock.open_reviews) as open_review_count,
       (select count(*) from sherlock.dead_items) as dead_item_count,
       (select count(*) from sherlock.documents as d where d.status = 'failed')
           as failed_document_count,
       (select count(*) from sherlock.documents as d where d.status = 'partial')
           as partial_document_count,
       (select count(*) from sherlock.documents as d where d.text_state = 'excluded')
           as badly_read_document_count
"""

_VOCABULARIES = """
select v.collection, v.model_id, v.term_count, v.document_count, v.growth, v.drift,
       v.is_refit_proposed, v.refit_reason, v.refreshing_pid
from sherlock.vocabulary_status as v
order by v.collection
"""


def _rows(
    conn: psycopg.Connection,
    query: Any,
    parameters: Mapping[str, Any] | Sequence[Any] | None = None,
) -> list[Row]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()
