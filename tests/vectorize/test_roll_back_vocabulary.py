"""Back to an earlier vocabulary; old matches, explained by the version that made them."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from sherlock_pg.vectorize import lifecycle

Session = Any
"""A session of conftest.py."""


class Silent:
    """Progress that nobody looks at."""

    def stage(self, name: str, total: int) -> None:
        """Say nothing."""

    def step(self, count: int = 1) -> None:
        """Say nothing."""


def fails(session: Session, sqlstate: str, query: str) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.DatabaseError) as caught:
        session.conn.execute(query)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
    return caught.value.diag


def versions(session: Session, left: int, right: int) -> dict[int, dict[str, Any]]:
    with session.conn.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        rows = cursor.execute(
            "select * from sherlock.compare_versions(%s, %s)", [left, right]
        ).fetchall()
    return {row["model_id"]: row for row in rows}


def stored_match(session: Session, document_id: int) -> tuple[int, int, float]:
    """Return matched document, model and level 2 score of the best match."""
    row = session.conn.execute(
        "select matched_document_id, model_id, tfidf_score from sherlock.matches"
        " where document_id = %s order by final_score desc limit 1",
        [document_id],
    ).fetchone()
    assert row is not None
    return row


@pytest.fixture
def two_versions(dba: Session, filings: list[str]) -> int:
    """Give a match that version 1 made, in a collection that has version 2 since; its document."""
    dba.insert(*filings[:10])
    dba.refresh()
    match = dba.insert(filings[16])[0]
    assert stored_match(dba, match)[1] == 1
    dba.add(filings[10:16])
    dba.refresh()
    assert dba.statuses() == {1: "retired", 2: "active"}
    return match


def test_documents_that_arrived_since_get_vectors_first_and_back_again_it_is_as_before(
    dba: Session, two_versions: int
) -> None:
    assert dba.scalar("select sherlock._without_vector_count(1)") == 6
    said = dba.roll_back("p_batch_size => 4")
    assert [message.split(", ")[0] for message in said] == [
        "NOTICE: default: 4 of 6 documents have got a vector of model 1",
        "NOTICE: default: 6 of 6 documents have got a vector of model 1",
        "NOTICE: default: model 1 is in use",
    ]
    assert dba.statuses() == {1: "active", 2: "retired"}
    assert dba.status()["without_vector_share"] == 0
    assert dba.roll_back() == ["NOTICE: default: model 2 is in use"]
    assert dba.statuses() == {1: "retired", 2: "active"}
    assert dba.lock_holders() == []


def test_python_rolls_back_by_the_same_steps(dba: Session, two_versions: int) -> None:
    assert lifecycle.roll_back(dba.conn, "default", progress=Silent()) == 1
    assert dba.statuses() == {1: "active", 2: "retired"}
    assert dba.status()["without_vector_share"] == 0
    assert lifecycle.roll_back(dba.conn, "default", 2, progress=Silent()) == 2
    assert dba.statuses() == {1: "retired", 2: "active"}
    assert dba.lock_holders() == []


def test_documents_that_arrive_during_a_roll_back_get_vectors_of_both(
    dba: Session, other: Session, two_versions: int, filings: list[str]
) -> None:
    dba.scalar("select sherlock._reopen_tfidf_model(1)")
    arrived = other.insert(filings[20], filings[21])
    for model_id in (1, 2):
        assert dba.scalar(
            f"select count(*) from sherlock.document_vectors_model_{model_id}"
            " where document_id = any(%s)",
            arrived,
        ) == len(arrived)
    assert dba.roll_back()[0].startswith("NOTICE: default: 6 of 6 documents")
    assert dba.statuses() == {1: "active", 2: "retired"}


def test_an_interrupted_roll_back_leaves_all_as_it_was_and_goes_on(
    dba: Session, other: Session, two_versions: int
) -> None:
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
        dba.roll_back("p_batch_size => 2")
    threads[0].join(timeout=20)
    assert dba.statuses() == {1: "building", 2: "active"}
    assert dba.lock_holders() == []
    dba.roll_back()
    assert dba.statuses() == {1: "active", 2: "retired"}


def test_a_refresh_after_an_interrupted_roll_back_keeps_the_earlier_version(
    dba: Session, two_versions: int
) -> None:
    dba.scalar("select sherlock._reopen_tfidf_model(1)")
    assert dba.statuses() == {1: "building", 2: "active"}
    dba.refresh()
    # Version 2 was in use last, so it keeps its vectors; the match that version 1 made names it.
    assert dba.statuses() == {1: "archived", 2: "retired", 3: "active"}


def test_what_was_in_use_last_is_kept_and_not_what_is_newest(
    dba: Session, filings: list[str]
) -> None:
    dba.add(filings[:4])
    dba.refresh()
    dba.refresh()
    dba.roll_back()
    assert dba.statuses() == {1: "active", 2: "retired"}
    dba.refresh()
    assert dba.statuses() == {1: "retired", 3: "active"}


def test_an_old_match_is_explained_by_the_version_that_made_it(
    dba: Session, two_versions: int
) -> None:
    matched, model_id, score = stored_match(dba, two_versions)
    assert model_id == 1
    found = versions(dba, two_versions, matched)
    assert list(found) == [1, 2]
    assert [row["has_made_match"] for row in found.values()] == [True, False]
    assert found[1]["match_score"] == score
    assert found[1]["tfidf_score"] == pytest.approx(score, abs=1e-4)
    assert found[2]["match_score"] is None
    in_force = dba.scalar(
        "select score from sherlock.compare(%s, %s) where level = 'tfidf'", two_versions, matched
    )
    assert found[2]["tfidf_score"] == pytest.approx(in_force, abs=1e-6)
    assert found[1]["tfidf_score"] != found[2]["tfidf_score"]
    assert found[1]["top_shared_terms"]
    # In the other order too.
    assert versions(dba, matched, two_versions)[1]["has_made_match"]


def test_archived_it_still_explains_its_matches_and_can_be_gone_back_to(
    dba: Session, two_versions: int
) -> None:
    matched, _, score = stored_match(dba, two_versions)
    dba.refresh()
    assert dba.statuses() == {1: "archived", 2: "retired", 3: "active"}
    assert dba.scalar("select to_regclass('sherlock.document_vectors_model_1')") is None
    row = versions(dba, two_versions, matched)[1]
    assert (row["status"], row["has_made_match"], row["match_score"]) == ("archived", True, score)
    assert row["tfidf_score"] == pytest.approx(score, abs=1e-4)
    for call in ("activate_tfidf_model(1)", "build_tfidf_index(1)", "vectorize_missing(1)"):
        fails(dba, "SH037", f"select sherlock.{call}")
    dba.roll_back("p_model_id => 1")
    assert dba.statuses() == {1: "active", 3: "retired"}
    assert dba.status()["without_vector_share"] == 0
    # Once no match names it, not even a closed one, its vocabulary goes too.
    dba.conn.execute("delete from sherlock.documents where document_id = %s", [two_versions])
    dba.refresh()
    dba.refresh()
    assert dba.statuses()[1] == "archived"
    assert dba.scalar("select count(*) from sherlock.closed_matches where model_id = 1") == 1
    dba.conn.execute("delete from sherlock.closed_matches")
    dba.refresh()
    assert 1 not in dba.statuses()


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ("", "SH038"),
        ("p_model_id => 1", "SH038"),
        ("p_model_id => 99", "SH038"),
        ("'ninguna'", "SH002"),
        ("p_batch_size => 0", "SH036"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(dba: Session, arguments: str, sqlstate: str) -> None:
    dba.add(["uno dos tres"])
    dba.scalar("select sherlock.fit_vocabulary()")
    if sqlstate == "SH036":
        dba.refresh()
        dba.refresh()
    fails(dba, sqlstate, f"call sherlock.roll_back_vocabulary({arguments})")
    assert dba.lock_holders() == []


def test_roles_without_rights_are_told_who_may(dba: Session, two_versions: int) -> None:
    dba.conn.execute("grant usage on schema sherlock to public")
    dba.conn.execute("set role pg_read_all_data")
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        dba.roll_back()
    assert str(caught.value).startswith("you may not change the vocabulary of a collection: ")
    assert "the owner of the schema may, " in (caught.value.diag.message_hint or "")
    assert dba.lock_holders() == []


def test_in_a_transaction_block_it_is_refused(dba: Session, two_versions: int) -> None:
    with dba.conn.transaction(force_rollback=True):
        fails(dba, "2D000", "call sherlock.roll_back_vocabulary()")
    assert dba.statuses() == {1: "retired", 2: "active"}


def test_versions_are_compared_within_a_collection(dba: Session, filings: list[str]) -> None:
    dba.conn.execute("select sherlock.create_collection('otra')")
    here = dba.insert(filings[0])[0]
    there = dba.add([filings[0]], collection="otra")[0]
    fails(dba, "SH009", f"select * from sherlock.compare_versions({here}, {there})")
    fails(dba, "SH001", f"select * from sherlock.compare_versions({here}, 0)")
