"""Pairs of watched tables that wait for a person."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

BASE = (
    "La junta de acción comunal de la vereda pide al concejo que repare el puente de madera sobre"
    " la quebrada, porque las lluvias de abril se llevaron los estribos y los niños cruzan el agua"
    " para llegar a la escuela, y que mientras tanto se ponga un paso provisional con barandas"
)
OTHER = (
    "El precio de la panela bajó otra vez en la feria del domingo y los dueños de los trapiches"
    " dicen que con lo que pagan por quintal no alcanza para los jornales de la molienda ni para la"
    " leña que ahora toca traer desde el otro lado del páramo en camiones alquilados"
)


@pytest.fixture
def queue(conn: psycopg.Connection) -> psycopg.Connection:
    """Watch a table whose pairs are queued."""
    conn.execute("create table t (id integer primary key, body text)")
    conn.execute("select sherlock.watch('t', 'id', array['body'], 'queue')")
    return conn


def put(conn: psycopg.Connection, number: int, text: str) -> None:
    conn.execute("insert into t values (%s, %s)", [number, text])


def change(conn: psycopg.Connection, number: int, text: str) -> None:
    conn.execute("update t set body = %s where id = %s", [text, number])


def open_pairs(conn: psycopg.Connection) -> list[tuple[str, str, str]]:
    return conn.execute(
        "select key, matched_key, confidence from sherlock.open_reviews order by review_id"
    ).fetchall()


def first_review(conn: psycopg.Connection) -> int:
    row = conn.execute("select min(review_id) from sherlock.open_reviews").fetchone()
    assert row is not None
    return int(row[0])


def decisions(conn: psycopg.Connection) -> list[Any]:
    return [
        row[0]
        for row in conn.execute("select decision from sherlock.review_queue order by review_id")
    ]


def test_a_pair_of_the_class_or_above_is_queued(queue: psycopg.Connection) -> None:
    put(queue, 1, BASE)
    put(queue, 2, OTHER)
    put(queue, 3, BASE + " y firmas")
    put(queue, 4, BASE.upper())
    assert open_pairs(queue) == [("3", "1", "HIGH"), ("4", "1", "EXACT")]
    counted = queue.execute("select open_review_count from sherlock.watched").fetchone()
    assert counted == (2,)


def test_a_pair_below_the_class_is_not(queue: psycopg.Connection) -> None:
    queue.execute("update sherlock.watches set min_class = 'EXACT'")
    put(queue, 1, BASE)
    put(queue, 2, BASE + " y firmas")
    put(queue, 3, BASE)
    assert open_pairs(queue) == [("3", "1", "EXACT")]


def test_rows_that_were_there_are_queued_too(conn: psycopg.Connection) -> None:
    conn.execute("create table t (id integer primary key, body text)")
    put(conn, 1, BASE)
    put(conn, 2, BASE)
    conn.execute("select sherlock.watch('t', 'id', array['body'], 'queue')")
    assert open_pairs(conn) == [("2", "1", "EXACT")]


def test_a_watch_that_flags_queues_nothing(queue: psycopg.Connection) -> None:
    queue.execute("update sherlock.watches set on_duplicate = 'flag'")
    put(queue, 1, BASE)
    put(queue, 2, BASE)
    assert decisions(queue) == []


@pytest.mark.parametrize("decision", ["duplicate", "distinct"])
def test_a_decision_is_stored_with_its_author(queue: psycopg.Connection, decision: str) -> None:
    put(queue, 1, BASE)
    put(queue, 2, BASE)
    queue.execute(
        "select sherlock.decide(%s, %s, p_decided_by => 'ana')", [first_review(queue), decision]
    )
    row = queue.execute(
        "select decision, decided_by, decided_at is not null from sherlock.review_queue"
    ).fetchone()
    assert row == (decision, "ana", True)
    assert open_pairs(queue) == []
    put(queue, 3, BASE)
    queue.execute("select sherlock.decide(%s, %s)", [first_review(queue), decision])
    authors = queue.execute(
        "select decided_by = session_user from sherlock.review_queue order by review_id"
    ).fetchall()
    assert authors == [(False,), (True,)]


@pytest.mark.parametrize("end", [
    "delete from t where id = 1",
    "delete from t where id = 2",
    f"update t set body = '{OTHER}' where id = 1",
    f"update t set body = '{OTHER}' where id = 2",
    "truncate t",
    "select sherlock.unwatch('t')",
])  # fmt: skip
def test_a_pair_that_ends_is_withdrawn(queue: psycopg.Connection, end: str) -> None:
    put(queue, 1, BASE)
    put(queue, 2, BASE)
    review_id = first_review(queue)
    queue.execute(end)
    assert decisions(queue) == ["withdrawn"]
    with pytest.raises(psycopg.DatabaseError, match="withdrawn: its pair ended") as caught:
        queue.execute("select sherlock.decide(%s, 'duplicate')", [review_id])
    assert caught.value.diag.sqlstate == "SH052"


def test_the_next_best_match_takes_its_place(queue: psycopg.Connection) -> None:
    put(queue, 1, BASE)
    put(queue, 2, BASE + " y firmas")
    put(queue, 3, BASE)
    assert open_pairs(queue) == [("2", "1", "HIGH"), ("3", "1", "EXACT")]
    queue.execute("delete from t where id = 1")
    assert open_pairs(queue) == [("3", "2", "HIGH")]
    assert sorted(map(str, decisions(queue))) == ["None", "withdrawn", "withdrawn"]


def test_what_was_decided_is_asked_again_only_if_a_text_changes(queue: psycopg.Connection) -> None:
    put(queue, 1, BASE)
    put(queue, 2, BASE + " y firmas")
    queue.execute("select sherlock.decide(%s, 'distinct')", [first_review(queue)])
    judge = "select sherlock.record_detection(document_id) from sherlock.watched_rows"
    queue.execute(judge)
    assert open_pairs(queue) == []
    change(queue, 1, BASE + " y sellos")
    assert open_pairs(queue) == [("2", "1", "HIGH")]
    assert decisions(queue) == ["distinct", None]


@pytest.mark.parametrize(("arguments", "sqlstate", "message"), [
    ("0, 'duplicate'", "SH050", "no entry 0"),
    ("null, 'duplicate'", "SH050", "no entry null"),
    ("{review}, 'maybe'", "SH051", "unknown decision: maybe"),
    ("{review}, 'withdrawn'", "SH051", "unknown decision: withdrawn"),
    ("{review}, null", "SH051", "unknown decision: null"),
])  # fmt: skip
def test_a_decision_that_makes_no_sense(
    queue: psycopg.Connection, arguments: str, sqlstate: str, message: str
) -> None:
    put(queue, 1, BASE)
    put(queue, 2, BASE)
    query = f"select sherlock.decide({arguments.format(review=first_review(queue))})"
    with pytest.raises(psycopg.DatabaseError, match=message) as caught:
        queue.execute(query)
    assert caught.value.diag.sqlstate == sqlstate
    assert caught.value.diag.message_hint


def test_a_decision_is_not_overwritten(queue: psycopg.Connection) -> None:
    put(queue, 1, BASE)
    put(queue, 2, BASE)
    review_id = first_review(queue)
    queue.execute("select sherlock.decide(%s, 'distinct', 'ana')", [review_id])
    with pytest.raises(psycopg.DatabaseError, match="is decided: distinct, by ana") as caught:
        queue.execute("select sherlock.decide(%s, 'duplicate')", [review_id])
    assert caught.value.diag.sqlstate == "SH052"
