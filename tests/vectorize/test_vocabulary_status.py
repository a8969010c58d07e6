"""When a new vocabulary is proposed, and when the loader makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.vectorize import lifecycle

Add = Callable[..., list[int]]


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def status(conn: psycopg.Connection) -> dict[str, Any]:
    with conn.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(
            "select * from sherlock.vocabulary_status where collection = 'default'"
        ).fetchone()
    assert row is not None
    return row


def activate(
    conn: psycopg.Connection, *, fitted_documents: int = 1, documents: int | None = None
) -> int:
    """Make a vocabulary of two words the active one, fitted on so many of so many documents."""
    model_id: int = scalar(
        conn,
        "select sherlock.create_tfidf_model("
        "'default', array['casa', 'tomada'], array[1.0, 1.0], %s, 1, 2)",
        fitted_documents,
    )
    conn.execute(
        "update sherlock.tfidf_models set status = 'active', activated_at = now(),"
        " document_count = coalesce(%s, document_count) where model_id = %s",
        [documents, model_id],
    )
    return model_id


def filings(topics: list[str], count: int, *, seed: int) -> list[str]:
    return [
        compose(draw_case(seed, f"caso-{number}", topic_name=topics[number % len(topics)])).text()
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("at_fit", "now", "reason", "is_due"),
    [
        (None, 0, None, False),
        (None, 1, "no_vocabulary", True),
        (1, 0, None, False),
        (1, 1, None, False),
        (1, 2, "growth", True),
        (3, 4, "growth", False),
        (10, 10, None, False),
        (10, 11, "growth", False),
        (10, 20, "growth", True),
        (21, 23, None, False),
        (20, 22, "growth", False),
        (70, 77, "growth", False),
    ],
)
def test_a_new_one_is_proposed_at_ten_percent_and_made_by_the_loader_at_double(
    conn: psycopg.Connection,
    add: Add,
    at_fit: int | None,
    now: int,
    reason: str | None,
    is_due: bool,
) -> None:
    add(conn, [f"documento{number} uno" for number in range(now)])
    add(conn, ["corto"], state="short")
    if at_fit is not None:
        activate(conn, documents=at_fit)
    found = status(conn)
    assert (found["refit_reason"], found["is_refit_proposed"]) == (reason, reason is not None)
    assert found["is_due"] is is_due
    assert lifecycle.state(conn, "default").needs_fit() is is_due
    assert found["document_count_at_fit"] == at_fit
    assert found["document_count"] == now
    assert found["growth"] == (None if at_fit is None else (now - at_fit) / at_fit)


def test_a_sample_is_not_taken_for_growth(conn: psycopg.Connection, add: Add) -> None:
    """What counts is how many documents there were, not how many of them were read."""
    add(conn, [f"documento{number} uno" for number in range(40)])
    activate(conn, fitted_documents=4)
    assert status(conn)["growth"] == 0
    assert status(conn)["refit_reason"] is None
    assert not lifecycle.state(conn, "default").needs_fit()
    assert not lifecycle.state(conn, "default").needs_fit(arriving=39)
    assert lifecycle.state(conn, "default").needs_fit(arriving=40)


def test_where_level_2_has_no_weight_nothing_is_fitted(conn: psycopg.Connection) -> None:
    assert lifecycle.state(conn, "default").needs_fit(arriving=1000)
    conn.execute(
        "update sherlock.detection_configs"
        " set minhash_weight = minhash_weight + tfidf_weight, tfidf_weight = 0"
    )
    assert not lifecycle.state(conn, "default").needs_fit(arriving=1000)


@pytest.mark.parametrize(("fitted", "is_due"), [(19_999, True), (20_000, False)])
def test_from_the_sample_limit_on_growth_is_proposed_but_never_made_by_the_loader(
    conn: psycopg.Connection, add: Add, fitted: int, is_due: bool
) -> None:
    assert lifecycle.SAMPLE_LIMIT == 20_000
    add(conn, [f"documento{number} uno" for number in range(4)])
    activate(conn, fitted_documents=fitted, documents=2)
    assert status(conn)["refit_reason"] == "growth"
    assert status(conn)["is_due"] is is_due
    assert lifecycle.state(conn, "default").needs_fit() is is_due


@pytest.mark.parametrize(
    "change", ["tfidf_max_features = 700", "tfidf_ngram_max = 1", "tfidf_ngram_min = 2"]
)
def test_changed_settings_are_a_reason(conn: psycopg.Connection, add: Add, change: str) -> None:
    add(conn, ["casa tomada"])
    activate(conn)
    assert status(conn)["refit_reason"] is None
    conn.execute(f"update sherlock.collections set {change} where name = 'default'".encode())
    assert status(conn)["refit_reason"] == "settings"


def test_the_share_without_a_vector_is_told(conn: psycopg.Connection, add: Add) -> None:
    ids = add(conn, [f"documento{number} uno" for number in range(8)])
    model_id = activate(conn)
    scalar(conn, "select sherlock.vectorize_documents(%s, %s)", model_id, ids[:6])
    assert status(conn)["without_vector_share"] == 0.25


def drift(database_url: str, add: Add, earlier: list[str], later: list[str]) -> dict[str, Any]:
    """Fit on some filings, add others, measure; with the row of the view afterwards."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        add(conn, earlier)
        lifecycle.fit_if_needed(conn, "default")
        add(conn, later)
        with conn.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            measured = cursor.execute(
                "select * from sherlock.measure_vocabulary_drift()"
            ).fetchone()
        assert measured is not None
        assert status(conn)["drift"] == measured["drift"]
        assert (status(conn)["drift_measured_at"] is None) is False
        # Growth is a reason of its own; here it is to be drift alone.
        conn.execute("update sherlock.tfidf_models set document_count = 10000")
        return measured | status(conn)


def test_filings_of_the_same_kinds_do_not_drift(database_url: str, add: Add) -> None:
    topics = ["tutela_salud", "tutela_pension"]
    found = drift(database_url, add, filings(topics, 60, seed=1), filings(topics, 40, seed=2))
    assert found["drift"] < 0.05
    assert found["refit_reason"] is None
    assert (found["earlier_document_count"], found["later_document_count"]) == (60, 40)


def test_filings_of_another_kind_are_drift_and_a_reason(database_url: str, add: Add) -> None:
    found = drift(
        database_url,
        add,
        filings(["tutela_salud", "tutela_pension"], 60, seed=1),
        filings(["habeas_corpus_captura"], 40, seed=2),
    )
    assert found["drift"] > 0.2
    assert found["drift"] == pytest.approx(
        1 - found["later_known_share"] / found["earlier_known_share"]
    )
    assert (found["refit_reason"], found["is_refit_proposed"]) == ("drift", True)


def test_the_known_share_is_that_of_words_and_pairs(conn: psycopg.Connection, add: Add) -> None:
    earlier, later = "casa tomada", "casa ancha casa tomada"
    add(conn, [earlier] * 30)
    activate(conn)
    conn.execute("update sherlock.documents set created_at = now() - interval '1 hour'")
    conn.execute("update sherlock.tfidf_models set created_at = now() - interval '1 minute'")
    add(conn, [later] * 30)
    row = conn.execute(
        "select earlier_known_share, later_known_share, drift"
        " from sherlock.measure_vocabulary_drift()"
    ).fetchone()
    # Two of three terms (one pair), and three of seven (three pairs, none known).
    assert row == pytest.approx((2 / 3, 3 / 7, 1 - (3 / 7) / (2 / 3)))


def test_of_few_documents_no_drift_is_told(conn: psycopg.Connection, add: Add) -> None:
    add(conn, ["casa tomada"] * 30)
    activate(conn)
    conn.execute("update sherlock.documents set created_at = now() - interval '1 hour'")
    conn.execute("update sherlock.tfidf_models set created_at = now() - interval '1 minute'")
    add(conn, ["algo distinto"] * 29)
    measure = "select drift from sherlock.measure_vocabulary_drift()"
    assert scalar(conn, measure) is None
    add(conn, ["algo distinto"])
    assert scalar(conn, measure) == 1
    assert status(conn)["drift"] == 1


def test_without_a_vocabulary_there_is_nothing_to_measure(conn: psycopg.Connection) -> None:
    assert conn.execute("select * from sherlock.measure_vocabulary_drift()").fetchall() == []
    assert lifecycle.proposal(conn, "default") == lifecycle.Proposal(None, None, None, None)


def test_roles_without_rights_are_told_who_may(conn: psycopg.Connection, add: Add) -> None:
    add(conn, ["casa tomada"])
    activate(conn)
    conn.execute("set local role pg_read_all_data")
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        conn.execute("select * from sherlock.measure_vocabulary_drift()")
    assert str(caught.value).startswith("you may not keep the drift of a vocabulary: ")
    assert "the owner of the schema may, " in (caught.value.diag.message_hint or "")


@pytest.mark.parametrize(
    ("arguments", "sqlstate"), [("'ninguna'", "SH002"), ("'default', 0", "SH036")]
)
def test_what_cannot_be_is_refused_with_a_hint(
    conn: psycopg.Connection, arguments: str, sqlstate: str
) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught:
        conn.execute(f"select * from sherlock.measure_vocabulary_drift({arguments})".encode())
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
