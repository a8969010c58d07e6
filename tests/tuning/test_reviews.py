"""Decisions of the review queue as labelled pairs."""

from __future__ import annotations

import psycopg
import pytest

from sherlock_pg.tuning.reviews import read_reviews

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
COLLECTION = "public.t"


@pytest.fixture
def queue(conn: psycopg.Connection) -> psycopg.Connection:
    """Watch a table in which two pairs wait: a changed text and an equal one."""
    conn.execute("create table public.t (id integer primary key, body text)")
    conn.execute("select sherlock.watch('public.t', 'id', array['body'], 'queue')")
    for number, text in enumerate([BASE, f"{BASE} y firmas", OTHER, OTHER.upper()], start=1):
        conn.execute("insert into public.t values (%s, %s)", [number, text])
    return conn


def decide(conn: psycopg.Connection, key: int, decision: str) -> None:
    decided = conn.execute(
        "select sherlock.decide(review_id, %s) from sherlock.open_reviews where key = %s",
        [decision, str(key)],
    ).fetchall()
    assert len(decided) == 1


def test_a_decision_comes_with_the_scores_of_its_pair(queue: psycopg.Connection) -> None:
    decide(queue, 2, "duplicate")
    decide(queue, 4, "distinct")
    reviews = read_reviews(queue, COLLECTION)
    assert reviews.without_scores == 0
    changed, equal = sorted(reviews.pairs, key=lambda pair: pair.is_same_text)
    stored = queue.execute(
        "select document_id::text, matched_document_id::text, minhash_score, final_score"
        " from sherlock.watched_pairs where key = '2'"
    ).fetchone()
    assert (changed.left, changed.right, changed.minhash, changed.score) == stored
    assert changed.is_duplicate and not changed.is_same_text and changed.retrieved_by
    assert changed.confidence == changed.reported == "HIGH"
    assert equal.is_same_text and not equal.is_duplicate


def test_open_and_withdrawn_entries_say_nothing(queue: psycopg.Connection) -> None:
    queue.execute("update public.t set body = %s where id = 2", [f"{OTHER} y otra cosa"])
    states = queue.execute("select distinct decision from sherlock.review_queue").fetchall()
    assert set(states) == {(None,), ("withdrawn",)}
    assert read_reviews(queue, COLLECTION).pairs == []


def test_what_was_decided_on_counts_not_what_the_text_became(queue: psycopg.Connection) -> None:
    decide(queue, 2, "duplicate")
    before = read_reviews(queue, COLLECTION).pairs
    queue.execute("update public.t set body = %s where id = 2", [f"{BASE} y firmas de todos ellos"])
    assert read_reviews(queue, COLLECTION).pairs == before
    now = queue.execute(
        "select minhash_score from sherlock.matches where document_id = %s", [before[0].left]
    ).fetchone()
    assert now is not None and now[0] != before[0].minhash


def test_the_last_decision_counts(queue: psycopg.Connection) -> None:
    decide(queue, 2, "duplicate")
    queue.execute(
        "insert into sherlock.review_queue (document_id, matched_document_id, confidence,"
        " final_score, decision, decided_at)"
        " select document_id, matched_document_id, confidence, final_score, 'distinct',"
        "  decided_at + interval '1 hour' from sherlock.review_queue where decision = 'duplicate'"
    )
    (pair,) = read_reviews(queue, COLLECTION).pairs
    assert not pair.is_duplicate


def test_pairs_without_scores_are_counted(queue: psycopg.Connection) -> None:
    decide(queue, 2, "duplicate")
    queue.execute("delete from sherlock.matches")
    reviews = read_reviews(queue, COLLECTION)
    assert (reviews.pairs, reviews.without_scores) == ([], 1)


def test_another_vocabulary_is_counted(queue: psycopg.Connection) -> None:
    decide(queue, 2, "duplicate")
    assert read_reviews(queue, COLLECTION).older_model == 0
    queue.execute("update sherlock.matches set model_id = 77")
    assert read_reviews(queue, COLLECTION).older_model == 1


def test_other_collections_are_not_read(queue: psycopg.Connection) -> None:
    decide(queue, 2, "duplicate")
    assert read_reviews(queue, "default").pairs == []
