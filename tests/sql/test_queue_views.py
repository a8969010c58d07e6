"""The views of the queue, against items in every state."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

NUMBERS = itertools.count(1)
VIEWS = (
    "queue_status",
    "workers",
    "dead_items",
    "failures_by_day",
    "ingest_throughput",
    "gate_savings",
)
# Expressions, so that ages are exact: now() stands still in a transaction.
TIMES = ("enqueued_at", "started_at", "stored_at", "finished_at", "run_after", "leased_until")


def rows(conn: psycopg.Connection, query: str, *parameters: object) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()


def one(conn: psycopg.Connection, query: str, *parameters: object) -> dict[str, Any]:
    (row,) = rows(conn, query, *parameters)
    return row


def item(conn: psycopg.Connection, collection: str = "default", **values: object) -> int:
    """Add an item with these values; times are given in seconds from now."""
    number = next(NUMBERS)
    row = conn.execute(
        "insert into sherlock.inbox (collection_id, name, path) values"
        " (sherlock.create_collection(%s), %s, %s) returning item_id",
        [collection, f"escrito {number}.pdf", f"/bandeja/{number}.pdf"],
    ).fetchone()
    assert row is not None
    if "file_size_bytes" in values:
        values["sha256"] = number.to_bytes(32)
    assignments = [
        sql.SQL("{} = " + ("now() + make_interval(secs => %s)" if name in TIMES else "%s")).format(
            sql.Identifier(name)
        )
        for name in values
    ]
    if assignments:
        conn.execute(
            sql.SQL("update sherlock.inbox set {} where item_id = %s").format(
                sql.SQL(", ").join(assignments)
            ),
            [*values.values(), row[0]],
        )
    item_id: int = row[0]
    return item_id


def lease(conn: psycopg.Connection, worker: str, seconds: float, **values: object) -> int:
    values = {"state": "leased", "leased_by": worker, "leased_until": seconds, **values}
    return item(conn, **values)  # type: ignore[arg-type]


def document(conn: psycopg.Connection, pages: int | None = None, processing: object = None) -> int:
    row = conn.execute(
        "insert into sherlock.documents (name, status, page_count, processing)"
        " values ('escrito', 'ok', %s, %s) returning document_id",
        [pages, Jsonb(processing)],
    ).fetchone()
    assert row is not None
    document_id: int = row[0]
    return document_id


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_queue_gives_no_rows_but_zeros(conn: psycopg.Connection, view: str) -> None:
    found = rows(conn, f"select * from sherlock.{view}")
    if view == "queue_status":
        (row,) = found
        assert row.pop("collection") == "default"
        assert set(row.values()) == {0, None}
    else:
        assert found == []


def test_status_counts_the_items_of_each_state(conn: psycopg.Connection) -> None:
    item(conn, enqueued_at=-90)
    item(conn, enqueued_at=-30, gate="new")
    item(conn, enqueued_at=-20, run_after=40, attempts=1, reason="timeout")
    item(conn, enqueued_at=-600, gate="hit")
    lease(conn, "a:1:x", 60)
    lease(conn, "a:1:x", 60)
    lease(conn, "b:2:y", 60)
    lease(conn, "c:3:z", -1)
    lease(conn, "d:4:w", 60, state="stored", stored_at=-5)
    lease(conn, "c:3:z", -1, state="stored", stored_at=-4)
    for age in (-10, -100, -4000, -90_000):
        item(conn, state="done", finished_at=age)
    item(conn, state="dead", finished_at=-10, reason="damaged")
    item(conn, state="dead", finished_at=-90_000, reason="damaged")
    item(conn, state="dead", finished_at=-100_000, document_id=document(conn))
    lease(conn, "a:1:x", 60, collection="otra")
    default, other = rows(conn, "select * from sherlock.queue_status order by collection")
    assert default == {
        "collection": "default",
        "queued_count": 4,
        "due_count": 2,
        "backing_off_count": 1,
        "waiting_copy_count": 1,
        "leased_count": 4,
        "stored_count": 2,
        "lapsed_count": 2,
        "worker_count": 3,
        "dead_count": 2,
        "done_last_minute": 1,
        "done_last_hour": 2,
        "done_last_day": 3,
        "dead_last_day": 1,
        "oldest_queued_seconds": 600.0,
        "oldest_stored_seconds": 5.0,
    }
    assert (other["collection"], other["leased_count"], other["worker_count"]) == ("otra", 1, 1)


def test_workers_are_those_that_hold_leases(conn: psycopg.Connection) -> None:
    lease(conn, "a:1:x", 60, started_at=-30)
    lease(conn, "a:1:x", 50, started_at=-10, collection="otra", state="stored")
    lease(conn, "b:2:y", -5, started_at=-300)
    item(conn, state="done", leased_by="c:3:z", leased_until=60)
    alive, dead = rows(
        conn,
        "select worker, host, leased_count, stored_count, lapsed_count, is_alive,"
        " extract(epoch from now() - since)::integer as since,"
        " extract(epoch from leased_until - now())::integer as leased_until, collections"
        " from sherlock.workers order by worker",
    )
    assert alive == {
        "worker": "a:1:x",
        "host": "a",
        "leased_count": 1,
        "stored_count": 1,
        "lapsed_count": 0,
        "is_alive": True,
        "since": 30,
        "leased_until": 60,
        "collections": ["default", "otra"],
    }
    assert (dead["worker"], dead["is_alive"], dead["lapsed_count"]) == ("b:2:y", False, 1)


def test_dead_items_say_what_was_given_up_and_why(conn: psycopg.Connection) -> None:
    item(conn, reason="timeout", run_after=40)
    item(conn, state="dead", reason="damaged", document_id=document(conn))
    dead = item(
        conn,
        state="dead",
        finished_at=-60,
        attempts=3,
        reason="timeout",
        reason_detail="killed after the time limit of 120 s",
    )
    found = one(conn, "select *, now() - dead_since as age from sherlock.dead_items")
    assert found["item_id"] == dead
    assert found["path"].startswith("/bandeja/")
    assert found["age"].total_seconds() == 60
    assert (found["collection"], found["reason"], found["attempts"]) == ("default", "timeout", 3)
    assert found["reason_detail"] == "killed after the time limit of 120 s"


def test_failures_are_counted_by_day_and_reason(conn: psycopg.Connection) -> None:
    conn.execute("set local time zone 'UTC'")
    known = document(conn)
    item(conn, state="dead", reason="damaged", document_id=known, finished_at=-3 * 86_400)
    last = item(conn, state="dead", reason="damaged", document_id=known, finished_at=-3 * 86_400)
    item(conn, state="dead", reason="missing_file", finished_at=0)
    item(conn, state="dead", reason="missing_file", finished_at=0)
    found = rows(
        conn,
        "select current_date - day as days, collection, reason, item_count, file_count,"
        " last_item_id = %s as is_last from sherlock.failures_by_day order by day",
        last,
    )
    assert [tuple(row.values()) for row in found] == [
        (3, "default", "damaged", 2, 1, True),
        (0, "default", "missing_file", 2, 2, False),
    ]


def test_throughput_by_minute(conn: psycopg.Connection) -> None:
    cost = {"extract_seconds": 8.0, "ocr_seconds": 6.0, "ner_seconds": 0.5}
    for processing, wait, busy in ((cost, 10, 4), (None, 20, 6), ({"ner_seconds": "x"}, 30, 20)):
        item(
            conn,
            state="done",
            gate="new",
            document_id=document(conn, 3, processing),
            file_size_bytes=1000,
            enqueued_at=-600 - wait - busy,
            started_at=-600 - busy,
            finished_at=-600,
        )
    copied = document(conn, 5, cost)
    item(conn, state="done", gate="hit", document_id=copied, finished_at=-600, file_size_bytes=9)
    item(conn, state="dead", reason="damaged", finished_at=-600)
    item(conn, state="done", gate="new", finished_at=-3700)
    item(conn)
    found = one(conn, "select * from sherlock.ingest_throughput")
    bucket = found.pop("bucket")
    assert one(conn, "select now() - interval '10 minutes' - %s as age", bucket)["age"].seconds < 60
    assert bucket.second == 0
    assert found == {
        "collection": "default",
        "read_count": 3,
        "gate_hit_count": 1,
        "dead_count": 1,
        "page_count": 9,
        "byte_count": 3000,
        "mean_wait_seconds": 20.0,
        "p95_wait_seconds": pytest.approx(29.0),
        "mean_processing_seconds": 10.0,
        "p95_processing_seconds": pytest.approx(18.6),
        "extract_seconds": 8.0,
        "ocr_seconds": 6.0,
        "ner_seconds": 0.5,
    }


def test_throughput_of_other_spans_and_slices(conn: psycopg.Connection) -> None:
    for age in (10, 20, 90_000, 90_010):
        item(conn, state="done", gate="new", finished_at=-age)
    counts = "select sum(read_count) as n, count(*) as buckets from sherlock.measure_throughput"
    assert one(conn, f"{counts}()")["n"] == 2
    assert one(conn, f"{counts}(now() - interval '2 days', now(), '36500 days')") == {
        "n": 4,
        "buckets": 1,
    }
    until = "now() - interval '15 seconds'"
    assert one(conn, f"{counts}(p_until => {until})")["n"] == 1
    early = f"{counts}('-infinity', now() - interval '90000 seconds')"
    assert one(conn, early)["n"] == 1, "p_until itself is left out"


def test_gate_savings_are_what_the_first_reading_cost(conn: psycopg.Connection) -> None:
    scan = document(conn, 4, {"extract_seconds": 12.5, "ocr_seconds": 10, "ner_seconds": 0.25})
    text = document(conn, None, {})
    item(conn, state="done", gate="new", document_id=scan, finished_at=-50, file_size_bytes=700)
    for _ in range(2):
        item(conn, state="done", gate="hit", document_id=scan, finished_at=-9, file_size_bytes=700)
    item(conn, state="done", gate="hit", document_id=text, finished_at=-9, file_size_bytes=30)
    item(conn, state="dead", gate="hit", document_id=text, finished_at=-9)
    item(conn, gate="hit", document_id=text)
    item(conn, state="done", gate="hit", document_id=text, finished_at=-90_000)
    assert one(conn, "select * from sherlock.gate_savings") == {
        "collection": "default",
        "copy_count": 3,
        "file_count": 2,
        "byte_count": 1430,
        "page_count": 8,
        "extract_seconds": 25.0,
        "ocr_seconds": 20.0,
        "ner_seconds": 0.5,
    }
    longer = one(conn, "select * from sherlock.measure_gate_savings()")
    assert longer["copy_count"] == 4


def test_what_ended_long_ago_is_not_read(conn: psycopg.Connection) -> None:
    """With many old items the views go by indexes, so they can be polled all the time."""
    conn.execute("alter table sherlock.inbox disable trigger user")
    conn.execute(
        "insert into sherlock.inbox (name, path, state, gate, enqueued_at, started_at, finished_at)"
        " select 'viejo', '/viejo', 'done', case when n % 3 = 0 then 'hit' else 'new' end,"
        " t.ended, t.ended, t.ended from generate_series(1, 20000) as n"
        " cross join lateral (select now() - interval '30 days' - n * interval '1 minute' as ended)"
        " as t"
    )
    item(conn)
    lease(conn, "a:1:x", 60)
    item(conn, state="dead", reason="damaged", finished_at=-10)
    item(conn, state="done", gate="hit", document_id=document(conn), finished_at=-10)
    conn.execute("analyze sherlock.inbox")
    for view in VIEWS:
        plan = conn.execute(f"explain (format json) select * from sherlock.{view}").fetchone()
        assert plan is not None
        scans = list(scans_of_inbox(plan[0][0]["Plan"]))
        assert scans, view
        assert {scan["Node Type"] for scan in scans}.isdisjoint({"Seq Scan"}), (view, scans)


def scans_of_inbox(node: dict[str, Any]) -> itertools.chain[dict[str, Any]]:
    own = [node] if node.get("Relation Name") == "inbox" else []
    return itertools.chain(own, *(scans_of_inbox(child) for child in node.get("Plans", [])))
