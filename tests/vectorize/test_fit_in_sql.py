"""Vocabularies fitted in SQL are those that scikit-learn fits on the same sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize import lifecycle, tfidf
from sherlock_pg.vectorize.canonical import canonical_text

WORDS = (
    "Señor JUEZ de la Acción tutela a b 1 é ñu 22 22 東京都 straße Ελλάδα ﬁrma n.º İstanbul"
    " ٣٤ co\u00adsa e\u0301l x,y,zz"
)
TOO_LONG = ["é" * 50, "é" * 50 + "a", "z" * 101]

Add = Callable[..., list[int]]

texts = st.lists(
    st.one_of(
        st.sampled_from(WORDS.split(" ")),
        st.sampled_from(WORDS.split(" ")[:5]),
        st.sampled_from(TOO_LONG),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
    ),
    max_size=40,
).map(" ".join)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def fit_in_sql(conn: psycopg.Connection, collection: str = "default", **options: int) -> int:
    arguments = {"p_collection": collection, **options}
    return int(
        scalar(
            conn,
            "select sherlock.fit_vocabulary("
            + ", ".join(f"{name} => %s" for name in arguments)
            + ")",
            *arguments.values(),
        )
    )


def sample(conn: psycopg.Connection, limit: int = lifecycle.SAMPLE_LIMIT) -> list[str]:
    """Return the canonical texts that the loader fits a vocabulary of the collection default on."""
    found = lifecycle._sample(conn, scalar(conn, "select sherlock.collection_id('default')"), limit)
    return [canonical_text(text) for text in found]


def model_rows(conn: psycopg.Connection, model_id: int) -> tuple[Any, list[Any]]:
    model = conn.execute(
        "select collection_id, status, feature_count, fitted_document_count, ngram_min, ngram_max"
        " from sherlock.tfidf_models where model_id = %s",
        [model_id],
    ).fetchone()
    features = conn.execute(
        "select feature_index, term, idf from sherlock.tfidf_features where model_id = %s"
        " order by feature_index",
        [model_id],
    ).fetchall()
    return model, features


def assert_same_model(
    conn: psycopg.Connection, model_id: int, vocabulary: tfidf.Vocabulary
) -> None:
    model, features = model_rows(conn, model_id)
    expected_model, expected = model_rows(conn, tfidf.store(conn, "default", vocabulary))
    assert model == expected_model
    assert [row[:2] for row in features] == [row[:2] for row in expected]
    np.testing.assert_allclose(
        [row[2] for row in features], [row[2] for row in expected], rtol=0, atol=1e-12
    )


def set_limits(
    conn: psycopg.Connection, max_features: int, ngram_range: tuple[int, int] = (1, 2)
) -> None:
    conn.execute(
        "update sherlock.collections set tfidf_max_features = %s, tfidf_ngram_min = %s,"
        " tfidf_ngram_max = %s where name = 'default'",
        [max_features, *ngram_range],
    )


def assert_fails(
    conn: psycopg.Connection, sqlstate: str, query: str, *parameters: object
) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.DatabaseError) as caught:
        conn.execute(query.encode(), parameters)
    assert caught.value.sqlstate == sqlstate
    return caught.value.diag


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("max_features", [1, 700, 5000])
def test_on_filings_the_fit_is_the_one_of_python(
    conn: psycopg.Connection,
    add: Add,
    filings: list[str],
    max_features: int,
    ngram_range: tuple[int, int],
) -> None:
    set_limits(conn, max_features, ngram_range)
    add(conn, filings)
    vocabulary = tfidf.fit(sample(conn), max_features=max_features, ngram_range=ngram_range)
    assert vocabulary.document_count == len(filings)
    assert_same_model(conn, fit_in_sql(conn), vocabulary)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    contents=st.lists(texts, min_size=1, max_size=8),
    max_features=st.integers(1, 40),
    ngram_range=st.sampled_from([(1, 1), (1, 2), (2, 2)]),
)
def test_on_any_texts_the_fit_is_the_one_of_python(
    conn: psycopg.Connection,
    add: Add,
    contents: list[str],
    max_features: int,
    ngram_range: tuple[int, int],
) -> None:
    conn.execute("savepoint before_example")
    set_limits(conn, max_features, ngram_range)
    add(conn, contents)
    try:
        vocabulary = tfidf.fit(sample(conn), max_features=max_features, ngram_range=ngram_range)
    except tfidf.EmptyVocabulary:
        assert_fails(conn, "SH034", "select sherlock.fit_vocabulary()")
    else:
        assert_same_model(conn, fit_in_sql(conn), vocabulary)
    conn.execute("rollback to savepoint before_example")


@pytest.mark.parametrize("size", [1, 7, 22, 1000])
def test_a_sample_is_the_one_of_the_loader(conn: psycopg.Connection, add: Add, size: int) -> None:
    # More than are read at a time, so that the portions are seen to make one whole.
    add(conn, [f"documento{number} trata de asunto{number % 7}" for number in range(1100)])
    vocabulary = tfidf.fit(sample(conn, size))
    assert vocabulary.document_count == size
    assert_same_model(conn, fit_in_sql(conn, p_sample=size), vocabulary)


def test_only_indexed_documents_of_the_collection_count(conn: psycopg.Connection, add: Add) -> None:
    conn.execute("select sherlock.create_collection('otra')")
    add(conn, ["tomada casa"])
    add(conn, ["tres"], state="short")
    add(conn, ["patio"], collection="otra")
    add(conn, ["", "a b"])
    vocabulary = tfidf.load(conn, fit_in_sql(conn))
    assert vocabulary.terms == ("casa", "tomada", "tomada casa")
    assert vocabulary.document_count == 3
    assert tfidf.load(conn, fit_in_sql(conn, "otra")).terms == ("patio",)


def test_texts_of_watched_tables_are_read_there(
    conn: psycopg.Connection, filings: list[str]
) -> None:
    conn.execute("create table public.feed_items (id integer primary key, body text)")
    conn.execute("select sherlock.watch('public.feed_items', 'id', array['body'])")
    conn.cursor().executemany(
        "insert into public.feed_items values (%s, %s)", list(enumerate(filings[:5]))
    )
    vocabulary = tfidf.load(conn, fit_in_sql(conn, "public.feed_items"))
    expected = tfidf.fit([canonical_text(text) for text in filings[:5]])
    assert vocabulary.terms == expected.terms
    np.testing.assert_allclose(vocabulary.idf, expected.idf, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("contents", "detail"),
    [
        ([], "indexed documents with a text: 0; with a word of two letters: 0"),
        (["a b 1", "", None], "indexed documents with a text: 2; with a word of two letters: 0"),
    ],
)
def test_nothing_to_fit_on_is_an_error_that_says_so(
    conn: psycopg.Connection, add: Add, contents: list[str | None], detail: str
) -> None:
    add(conn, contents)
    diag = assert_fails(conn, "SH034", "select sherlock.fit_vocabulary()")
    assert diag.message_detail == detail
    assert diag.message_hint


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("select sherlock.fit_vocabulary('ninguna')", "SH002"),
        ("select sherlock.fit_vocabulary('default', 0)", "SH036"),
        ("select sherlock.fit_vocabulary('default', null)", "SH036"),
        ("call sherlock.refresh_vocabulary('ninguna')", "SH002"),
        ("call sherlock.refresh_vocabulary('default', -1)", "SH036"),
        ("call sherlock.refresh_vocabulary('default', p_batch_size => 0)", "SH036"),
        ("call sherlock.refresh_vocabulary('default', p_batch_size => 10001)", "SH036"),
        ("call sherlock.refresh_vocabulary('default', p_batch_size => null)", "SH036"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(
    conn: psycopg.Connection, call: str, sqlstate: str
) -> None:
    assert assert_fails(conn, sqlstate, call).message_hint


def test_the_loader_fits_the_same_vocabulary(
    database_url: str, add: Add, filings: list[str]
) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        add(conn, filings)
        by_loader = lifecycle.fit_if_needed(conn, "default")
        by_sql = scalar(conn, "select sherlock.fit_vocabulary('default')")
        terms = [
            conn.execute(
                "select term, feature_index, idf, term = sherlock.canonical_text(term)"
                " from sherlock.tfidf_features where model_id = %s order by feature_index",
                [model_id],
            ).fetchall()
            for model_id in (by_loader, by_sql)
        ]
    assert len(terms[0]) > 500
    assert terms[0] == terms[1]
    assert all(row[3] for row in terms[0])
