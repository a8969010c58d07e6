"""From one vocabulary to the next in SQL: a switch that never leaves a gap."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import psycopg
import pytest

from sherlock_pg.vectorize import lifecycle, tfidf
from sherlock_pg.vectorize.canonical import canonical_text

Session = Any
"""A session of conftest.py."""


def assert_fails(session: Session, sqlstate: str, query: str) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.DatabaseError) as caught:
        session.conn.execute(query)
    assert caught.value.sqlstate == sqlstate
    return caught.value.diag


def test_a_refresh_fits_fills_and_switches_in_committed_batches(
    dba: Session, filings: list[str]
) -> None:
    ids = dba.add(filings)
    said = dba.refresh("p_batch_size => 10")
    assert [message.split(", ")[0] for message in said] == [
        "NOTICE: default: model 1 has 5000 terms of 28 documents",
        "NOTICE: default: 10 of 28 documents have got a vector of model 1",
        "NOTICE: default: 20 of 28 documents have got a vector of model 1",
        "NOTICE: default: 28 of 28 documents have got a vector of model 1",
        "NOTICE: default: model 1 is in use",
    ]
    assert dba.statuses() == {1: "active"}
    vectors = dba.conn.execute(
        "select v.document_id, v.vector::text = sherlock.tfidf_vector("
        "  1, sherlock.canonical_text(d.content))::text, v.sign_bits is not null"
        " from sherlock.document_vectors as v join sherlock.documents as d using (document_id)"
        " order by 1"
    ).fetchall()
    assert vectors == [(document_id, True, True) for document_id in ids]
    assert dba.scalar("select count(distinct xmin::text) from sherlock.document_vectors_model_1"
    ) == 3  # fmt: skip
    assert dba.lock_holders() == []


def test_the_loader_and_sql_make_the_same_vocabulary(dba: Session, filings: list[str]) -> None:
    """Of texts that are canonical; then the loader finds nothing to do."""
    dba.add([canonical_text(text) for text in filings])
    assert lifecycle.fit_if_needed(dba.conn, "default") == 1
    dba.refresh()
    assert dba.statuses() == {1: "retired", 2: "active"}
    first, second = tfidf.load(dba.conn, 1), tfidf.load(dba.conn, 2)
    assert first.terms == second.terms
    np.testing.assert_allclose(first.idf, second.idf, rtol=0, atol=1e-12)
    assert lifecycle.fit_if_needed(dba.conn, "default") is None


def test_the_newest_retired_model_is_kept(dba: Session) -> None:
    dba.add(["uno dos tres"])
    for _ in range(4):
        dba.refresh()
    assert dba.statuses() == {3: "retired", 4: "active"}


def test_there_is_an_index_from_as_many_vectors_on_as_in_the_loader(dba: Session) -> None:
    ids = dba.add([f"texto{number % 9} breve" for number in range(lifecycle._INDEX_FROM)])
    dba.refresh()
    dba.conn.execute("delete from sherlock.documents where document_id = %s", [ids[0]])
    dba.refresh()
    indexed = dba.conn.execute(
        "select tablename from pg_indexes where schemaname = 'sherlock'"
        " and tablename like 'document_vectors_model_%' and indexdef like '%ivfflat%'"
    ).fetchall()
    assert indexed == [("document_vectors_model_1",)]
    assert dba.statuses() == {1: "retired", 2: "active"}


def test_a_second_refresh_is_refused_while_the_loader_is_at_it(
    dba: Session, other: Session
) -> None:
    dba.add(["uno dos tres"])
    collection_id = other.scalar("select sherlock.collection_id('default')")
    other.scalar("select pg_advisory_lock(%s, %s)", lifecycle._LOCK_CLASS, collection_id)
    diag = assert_fails(dba, "SH035", "call sherlock.refresh_vocabulary()")
    assert diag.message_detail == f"process id: {other.pid}"
    assert diag.message_hint is not None
    assert "vocabulary_status" in diag.message_hint
    holder = "select refreshing_pid from sherlock.vocabulary_status where collection = 'default'"
    assert dba.scalar(holder) == other.pid
    assert dba.statuses() == {}
    # Another collection is another lock.
    dba.conn.execute("select sherlock.create_collection('otra')")
    dba.add(["uno dos"], collection="otra")
    dba.refresh("'otra'")
    other.scalar("select pg_advisory_unlock(%s, %s)", lifecycle._LOCK_CLASS, collection_id)
    assert dba.scalar(holder) is None
    dba.refresh()
    assert sorted(dba.statuses().values()) == ["active", "active"]


def test_the_loader_waits_and_then_finds_nothing_to_do(
    dba: Session, filings: list[str], other: Session
) -> None:
    dba.add(filings)
    results: list[int | None] = []
    loader = threading.Thread(
        target=lambda: results.append(lifecycle.fit_if_needed(other.conn, "default"))
    )

    def start_loader(message: str) -> None:
        if "10 of 28" in message:
            loader.start()

    dba.on_notice = start_loader
    dba.refresh("p_batch_size => 5")
    loader.join(timeout=20)
    assert results == [None]
    assert dba.statuses() == {1: "active"}


def refresh_interrupted(dba: Session, other: Session, arguments: str = "p_batch_size => 2") -> None:
    """Refresh, and cancel it in its second batch."""
    threads: list[threading.Thread] = []

    def block_and_cancel() -> None:
        with other.conn.transaction():
            other.conn.execute("lock table sherlock.document_vectors in share mode")
            other.wait_until_waiting(dba.pid)
            other.conn.execute("select pg_cancel_backend(%s)", [dba.pid])

    def interrupt(message: str) -> None:
        if "have got a vector" in message and not threads:
            threads.append(threading.Thread(target=block_and_cancel))
            threads[0].start()

    dba.on_notice = interrupt
    with pytest.raises(psycopg.errors.QueryCanceled):
        dba.refresh(arguments)
    threads[0].join(timeout=20)
    dba.on_notice = lambda _: None


def test_interrupted_it_leaves_the_old_model_and_no_lock_and_goes_on(
    dba: Session, filings: list[str], other: Session
) -> None:
    dba.add(filings)
    dba.refresh()
    refresh_interrupted(dba, other)
    assert dba.statuses() == {1: "active", 2: "building"}
    assert dba.status()["without_vector_share"] == 0
    assert dba.lock_holders() == []
    stored = "select array_agg(distinct xmin::text) from sherlock.document_vectors_model_2"
    before = dba.scalar(stored)
    fitted_at = dba.scalar("select created_at from sherlock.tfidf_models where model_id = 2")
    missing = dba.scalar("select sherlock._without_vector_count(2)")
    assert 0 < missing < len(filings)
    said = dba.refresh()
    assert said[0] == "NOTICE: default: model 2 was left unfinished and is continued"
    assert said[1].startswith(f"NOTICE: default: {missing} of {missing} documents have got")
    assert dba.statuses() == {1: "retired", 2: "active"}
    assert set(before) < set(dba.scalar(stored))
    assert fitted_at == dba.scalar(
        "select created_at from sherlock.tfidf_models where model_id = 2"
    )


@pytest.mark.parametrize("reason", ["sample", "terms", "n-grams", "growth"])
def test_another_fit_than_the_interrupted_one_begins_anew(
    dba: Session, filings: list[str], other: Session, reason: str
) -> None:
    dba.add(filings)
    refresh_interrupted(dba, other)
    arguments = ""
    match reason:
        case "sample":
            arguments = "p_sample => 10"
        case "terms":
            dba.conn.execute("update sherlock.collections set tfidf_max_features = 700")
        case "n-grams":
            dba.conn.execute("update sherlock.collections set tfidf_ngram_max = 1")
        case "growth":
            dba.add(filings[:3])
    dba.refresh(arguments)
    assert dba.statuses() == {2: "active"}
    assert dba.scalar("select to_regclass('sherlock.document_vectors_model_1')") is None
    assert dba.status()["refit_reason"] is None


def test_the_loader_continues_what_sql_left_and_the_other_way_round(
    dba: Session, filings: list[str], other: Session
) -> None:
    dba.add(filings)
    refresh_interrupted(dba, other)
    assert lifecycle.fit_if_needed(other.conn, "default") == 1
    assert dba.statuses() == {1: "active"}

    class Interrupted(Exception):
        pass

    class StopAtVectors:
        def stage(self, name: str, total: int) -> None:
            if name == "vectors":
                raise Interrupted

        def step(self, count: int = 1) -> None:
            pass

    with pytest.raises(Interrupted):
        lifecycle.fit(other.conn, "default", progress=StopAtVectors())
    assert dba.statuses() == {1: "active", 2: "building"}
    assert dba.lock_holders() == []
    assert "model 2 was left unfinished and is continued" in dba.refresh()[0]
    assert dba.statuses() == {1: "retired", 2: "active"}


def test_the_python_fit_is_refused_while_another_session_is_at_it(
    dba: Session, filings: list[str], other: Session
) -> None:
    class Silent:
        def stage(self, name: str, total: int) -> None:
            pass

        def step(self, count: int = 1) -> None:
            pass

    dba.add(filings)
    dba.scalar("select sherlock._hold_vocabulary(sherlock.collection_id('default'))")
    for call in (lifecycle.fit, lifecycle.roll_back):
        with pytest.raises(psycopg.DatabaseError) as caught:
            call(other.conn, "default", progress=Silent())
        assert caught.value.sqlstate == "SH035"
    assert dba.statuses() == {}
    assert dba.lock_holders() == [dba.pid]


def test_level_2_answers_at_every_moment(dba: Session, filings: list[str], other: Session) -> None:
    """Searches that never stop, while the vocabulary changes to the next and back."""
    document_ids = dba.insert(*filings[:16], *filings[16:20])
    dba.refresh()
    scores: set[float | None] = set()
    failures: list[BaseException] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                rows = other.conn.execute(
                    "select tfidf_score from sherlock.find_duplicates(%s)", [document_ids[-1]]
                ).fetchall()
                scores.update(row[0] for row in rows) if rows else scores.add(None)
        except BaseException as error:
            failures.append(error)

    searcher = threading.Thread(target=search)
    searcher.start()
    dba.add(filings[20:])
    for _ in range(3):
        dba.refresh("p_batch_size => 5")
        dba.roll_back("p_batch_size => 5")
    stop.set()
    searcher.join(timeout=20)
    assert failures == []
    assert len(scores) > 1
    assert None not in scores


def test_a_lock_that_an_interruption_left_is_taken_over_by_the_same_session(dba: Session) -> None:
    dba.add(["uno dos tres"])
    collection_id = dba.scalar("select sherlock.collection_id('default')")
    dba.scalar("select pg_advisory_lock(%s, %s)", lifecycle._LOCK_CLASS, collection_id)
    dba.refresh()
    assert dba.lock_holders() == []


def test_a_failure_gives_the_lock_back(dba: Session, other: Session) -> None:
    assert_fails(dba, "SH034", "call sherlock.refresh_vocabulary()")
    assert dba.lock_holders() == []
    dba.add(["uno dos tres"])
    with dba.conn.transaction(force_rollback=True):
        assert_fails(dba, "2D000", "call sherlock.refresh_vocabulary()")
    assert dba.lock_holders() == []
    assert dba.statuses() == {}


@pytest.mark.parametrize("role", ["pg_read_all_data", "pg_write_all_data"])
def test_roles_without_rights_are_told_who_may(dba: Session, role: str) -> None:
    dba.add(["uno dos tres"])
    dba.conn.execute("grant usage on schema sherlock to public")
    dba.conn.execute("grant select on all tables in schema sherlock to public")
    dba.conn.execute(f"set role {role}".encode())
    for query in ("call sherlock.refresh_vocabulary()", "select sherlock.fit_vocabulary()"):
        told = assert_fails(dba, "42501", query)
        assert told.message_primary == (
            "you may not change the vocabulary of a collection: permission denied for function"
            " create_tfidf_model"
        )
        hint = told.message_hint or ""
        assert hint.startswith("the owner of the schema may, ")
        assert hint.endswith("executing its functions")
        assert dba.lock_holders() == []


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_document_that_was_being_written_all_the_while_gets_its_vector(
    dba: Session, filings: list[str], other: Session, isolation: str
) -> None:
    dba.add(filings)
    dba.conn.execute(f"set default_transaction_isolation = '{isolation}'".encode())
    threads: list[threading.Thread] = []
    pid = dba.pid

    def commit_once_awaited() -> None:
        other.wait_until_waiting(pid)
        other.conn.execute("commit")

    def finish(message: str) -> None:
        if "28 of 28" in message:
            threads.append(threading.Thread(target=commit_once_awaited))
            threads[0].start()

    dba.on_notice = finish
    other.conn.execute("begin")
    other.add(["uno dos tres"])
    said = dba.refresh()
    threads[0].join(timeout=20)
    assert [m for m in said if "1 of 1 documents have got a vector of model 1" in m]
    assert dba.statuses() == {1: "active"}
    assert dba.status()["without_vector_share"] == 0


def test_documents_that_arrive_meanwhile_get_vectors_of_both_models(
    dba: Session, filings: list[str], other: Session
) -> None:
    dba.add(filings)
    dba.refresh()

    def arrive(message: str) -> None:
        if " of " in message and "vector" in message:
            other.conn.execute(
                "insert into sherlock.documents (collection_id, content)"
                " values (sherlock.collection_id('default'), %s)",
                [f"{filings[0]} {message}"],
            )

    dba.on_notice = arrive
    dba.refresh("p_batch_size => 7")
    assert dba.scalar("select count(*) from sherlock.document_vectors_model_1") > 28
    assert dba.statuses() == {1: "retired", 2: "active"}
    assert dba.status()["without_vector_share"] == 0


def test_when_writers_never_end_the_old_model_stays(
    dba: Session, filings: list[str], other: Session
) -> None:
    dba.add(filings)
    dba.refresh()
    dba.set_lock_timeout("activate_tfidf_model")
    other.conn.execute("begin")
    other.conn.execute("lock table sherlock.documents in row exclusive mode")
    assert_fails(dba, "55P03", "call sherlock.refresh_vocabulary()")
    assert dba.statuses() == {1: "active", 2: "building"}
    assert dba.lock_holders() == []
    other.conn.execute("commit")
    dba.refresh()
    assert dba.statuses() == {1: "retired", 2: "active"}


def test_retired_models_that_are_being_read_stay_until_the_next_refresh(
    dba: Session, other: Session
) -> None:
    dba.add(["uno dos tres"])
    dba.refresh()
    dba.refresh()
    dba.set_lock_timeout("drop_tfidf_model")
    other.conn.execute("begin")
    other.conn.execute("select count(*) from sherlock.document_vectors")
    said = dba.refresh()
    assert "WARNING: default: retired models are still being read and stay" in said
    assert dba.statuses() == {1: "retired", 2: "retired", 3: "active"}
    other.conn.execute("commit")
    dba.refresh()
    assert dba.statuses() == {3: "retired", 4: "active"}
