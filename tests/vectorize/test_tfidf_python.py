"""Fitting, and vectors in bulk: equal to scikit-learn and to SQL."""

from __future__ import annotations

import random

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector import SparseVector
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from sherlock_pg.errors import SherlockError
from sherlock_pg.vectorize import tfidf
from sherlock_pg.vectorize.canonical import canonical_text, skeleton

CORPUS = [
    canonical_text(text)
    for text in (
        "Señor Juez: la ACCIÓN DE TUTELA contra la EPS por el derecho a la salud.",
        "La acción de tutela procede contra la EPS; el derecho a la salud es fundamental.",
        "Habeas corpus a favor de Ñandú Gómez, detenido en la cárcel de Cúcuta.",
        "東京都 の 裁判所, straße, Ελλάδα, Москва, 한국어 문서",
        "El juzgado 22 y el juzgado 23 de Bogotá: radicado 11001-40-03-022-2021-00123-00",
        "a b c 1 2 3 é x",
    )
]
WORDS = sorted({word for text in CORPUS for word in text.split(" ")})

texts = st.lists(
    st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), st.text(max_size=8)), max_size=60
).map(" ".join)


def in_sql(conn: psycopg.Connection, model_id: int, canonical_texts: list[str]) -> csr_matrix:
    """Return the vectors that SQL computes, 5,000 columns wide."""
    rows = conn.execute(
        "select sherlock.tfidf_vector(%s, t.canonical)::text"
        " from unnest(%s::text[]) with ordinality as t(canonical, position) order by t.position",
        [model_id, canonical_texts],
    ).fetchall()
    vectors = [SparseVector.from_text(row[0]) for row in rows]
    return csr_matrix(
        (
            [value for vector in vectors for value in vector.values()],
            [index for vector in vectors for index in vector.indices()],
            np.cumsum([0, *(len(vector.indices()) for vector in vectors)]),
        ),
        shape=(len(vectors), 5000),
    )


def assert_same(left: csr_matrix, right: csr_matrix) -> None:
    assert left.indptr.tolist() == right.indptr.tolist()
    assert left.indices.tolist() == right.indices.tolist()
    np.testing.assert_allclose(left.data, right.data, rtol=0, atol=1e-6)


def two_byte_tokens(text: str) -> list[str]:
    return [token for token in skeleton(text).split(" ") if len(token.encode()) >= 2]


def sklearn_vectorizer(**options: object) -> TfidfVectorizer:
    return TfidfVectorizer(
        tokenizer=two_byte_tokens,
        token_pattern=None,
        lowercase=False,
        sublinear_tf=True,
        **options,
    )


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 2)])
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sample=st.lists(texts, min_size=1, max_size=8))
def test_python_sql_and_scikit_learn_give_the_same_vectors(
    conn: psycopg.Connection, ngram_range: tuple[int, int], sample: list[str]
) -> None:
    vocabulary = tfidf.fit(CORPUS, ngram_range=ngram_range)
    canonical = [canonical_text(text) for text in sample]
    conn.execute("savepoint before_example")
    model_id = tfidf.store(conn, "default", vocabulary)
    from_sql = in_sql(conn, model_id, canonical)
    conn.execute("rollback to savepoint before_example")
    vectors = vocabulary.transform(canonical)
    reference = sklearn_vectorizer(ngram_range=ngram_range).fit(CORPUS).transform(canonical)
    assert tuple(vectors.shape) == (len(sample), len(vocabulary.terms))
    assert vectors.dtype == np.float32
    assert_same(vectors, from_sql)
    assert_same(vectors, csr_matrix(reference))


def test_a_fit_is_scikit_learns_where_nothing_is_cut_off() -> None:
    vocabulary = tfidf.fit(CORPUS)
    reference = sklearn_vectorizer(ngram_range=(1, 2)).fit(CORPUS)
    assert vocabulary.terms == tuple(reference.get_feature_names_out())
    np.testing.assert_allclose(vocabulary.idf, reference.idf_, rtol=1e-12)
    assert vocabulary.document_count == len(CORPUS)


def test_a_cut_off_fit_keeps_the_most_frequent_terms_with_scikit_learns_weights() -> None:
    vocabulary = tfidf.fit(CORPUS, max_features=7)
    reference = sklearn_vectorizer(ngram_range=(1, 2), vocabulary=vocabulary.terms).fit(CORPUS)
    everything = CountVectorizer(
        tokenizer=two_byte_tokens, token_pattern=None, lowercase=False, ngram_range=(1, 2)
    )
    totals = np.asarray(everything.fit_transform(CORPUS).sum(axis=0)).ravel()
    is_kept = np.isin(everything.get_feature_names_out(), vocabulary.terms)
    assert is_kept.sum() == 7
    assert totals[is_kept].min() >= totals[~is_kept].max()
    np.testing.assert_allclose(vocabulary.idf, reference.idf_, rtol=1e-12)


@pytest.mark.parametrize("max_features", range(1, 30))
def test_a_fit_depends_neither_on_the_order_nor_leaves_a_pair_without_its_tokens(
    max_features: int,
) -> None:
    shuffled = list(CORPUS)
    random.Random(max_features).shuffle(shuffled)
    first = tfidf.fit(CORPUS, max_features=max_features)
    second = tfidf.fit(shuffled, max_features=max_features)
    assert len(first.terms) == max_features
    assert first.terms == second.terms
    assert first.idf.tolist() == second.idf.tolist()
    assert {token for term in first.terms for token in term.split(" ")} <= set(first.terms)


def test_ties_at_the_edge_go_to_shorter_terms_then_to_code_points() -> None:
    corpus = ["zona mano", "ña gato"]
    assert tfidf.fit(corpus, max_features=2).terms == ("gato", "mano")
    assert tfidf.fit(corpus, max_features=5).terms == ("gato", "mano", "zona", "zona mano", "ña")


def test_terms_are_those_of_skeletons() -> None:
    corpus = ["el perro clama", "ei pcrr0 dama"]
    assert tfidf.fit(corpus).terms == ("dama", "pcrro", "pcrro dama")
    assert tfidf.fit(corpus).idf.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("corpus", [[], [""], ["a b c", "x 1"]])
def test_without_any_term_there_is_no_vocabulary(corpus: list[str]) -> None:
    with pytest.raises(tfidf.EmptyVocabulary) as caught:
        tfidf.fit(corpus)
    assert isinstance(caught.value, SherlockError)
    assert caught.value.document_count == len(corpus)
    assert caught.value.hint


@pytest.mark.parametrize("options", [{"max_features": 0}, {"max_features": 5001}])
def test_impossible_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="max_features"):
        tfidf.fit(CORPUS, **options)


@pytest.mark.parametrize("ngram_range", [(0, 1), (2, 1), (1, 3)])
def test_impossible_n_gram_ranges_are_refused(ngram_range: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="ngram_range"):
        tfidf.fit(CORPUS, ngram_range=ngram_range)


def test_no_texts_give_no_vectors() -> None:
    vocabulary = tfidf.fit(CORPUS)
    assert vocabulary.transform([]).shape == (0, len(vocabulary.terms))


def test_a_stored_vocabulary_is_loaded_unchanged(conn: psycopg.Connection) -> None:
    vocabulary = tfidf.fit(CORPUS, max_features=40)
    loaded = tfidf.load(conn, tfidf.store(conn, "default", vocabulary))
    assert loaded.terms == vocabulary.terms
    assert loaded.idf.tolist() == vocabulary.idf.tolist()
    assert loaded.ngram_range == vocabulary.ngram_range
    assert loaded.document_count == vocabulary.document_count


def test_loading_an_unknown_model_is_an_error_with_a_hint(conn: psycopg.Connection) -> None:
    with pytest.raises(SherlockError) as caught:
        tfidf.load(conn, -1)
    assert caught.value.sqlstate == "SH030"
    assert caught.value.hint


def test_sign_bits_are_those_of_sql(conn: psycopg.Connection) -> None:
    random_numbers = random.Random(3)
    sample = [" ".join(random_numbers.choices(WORDS, k=40)) for _ in range(100)]
    vocabulary = tfidf.fit(sample)
    model_id = tfidf.store(conn, "default", vocabulary)
    rows = conn.execute(
        "select sherlock.tfidf_vector(%s, t.canonical)::text,"
        " sherlock.sign_projection(sherlock.tfidf_vector(%s, t.canonical))::text"
        " from unnest(%s::text[]) with ordinality as t(canonical, position) order by t.position",
        [model_id, model_id, sample],
    ).fetchall()
    from_sql = np.array([[bit == "1" for bit in bits] for _, bits in rows])
    vectors = csr_matrix(
        np.array([SparseVector.from_text(text).to_numpy() for text, _ in rows], dtype=np.float32)
    )
    assert (from_sql == tfidf.sign_projection(vectors, tfidf.load_projection(conn))).all()
    from_own_vectors = tfidf.sign_projection(
        vocabulary.transform(sample), tfidf.load_projection(conn)
    )
    assert (from_sql != from_own_vectors).mean() < 0.001


def test_copied_vectors_are_those_of_sql_and_a_second_copy_is_refused(
    conn: psycopg.Connection,
) -> None:
    vocabulary = tfidf.fit(CORPUS[:3])
    model_id = tfidf.store(conn, "default", vocabulary)
    document_ids = [10 + number for number in range(len(CORPUS))]
    vectors = vocabulary.transform(CORPUS)
    projection = tfidf.load_projection(conn)
    tfidf.copy_vectors(conn, model_id, document_ids, vectors, projection)
    with pytest.raises(psycopg.errors.UniqueViolation), conn.transaction():
        tfidf.copy_vectors(conn, model_id, document_ids[:1], vectors[:1], projection)
    rows = conn.execute(
        "select v.document_id,"
        " v.vector::text = sherlock.tfidf_vector(v.model_id, t.canonical)::text,"
        " v.sign_bits is not distinct from sherlock.sign_projection(v.vector),"
        " v.sign_bits is null, v.vector::text = '{}/5000'"
        " from sherlock.document_vectors as v"
        " join unnest(%s::bigint[], %s::text[]) as t(document_id, canonical) using (document_id)"
        " where v.model_id = %s",
        [document_ids, CORPUS, model_id],
    ).fetchall()
    assert len(rows) == len(CORPUS)
    assert all(is_same and has_same_bits for _, is_same, has_same_bits, _, _ in rows)
    assert all(is_bitless == is_empty for _, _, _, is_bitless, is_empty in rows)
    assert any(is_empty for _, _, _, _, is_empty in rows)


def test_copying_needs_one_id_per_vector(conn: psycopg.Connection) -> None:
    vocabulary = tfidf.fit(CORPUS)
    with pytest.raises(ValueError, match="1 document ids for 6 vectors"):
        tfidf.copy_vectors(conn, 1, [1], vocabulary.transform(CORPUS), tfidf.load_projection(conn))


def test_a_run_of_letters_that_no_index_holds_is_no_term(conn: psycopg.Connection) -> None:
    """Left out of the vocabulary, and of the vectors on both sides: its neighbours are adjacent."""
    longest, too_long = "é" * 50, "é" * 50 + "a"
    run = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=30_000)
    text = f"firma {''.join(run)} digital {longest} {too_long} final"
    vocabulary = tfidf.fit([text])
    assert vocabulary.terms == tuple(
        sorted(
            ["tirma", "digitai", longest, "tinai"]
            + ["tirma digitai", f"digitai {longest}", f"{longest} tinai"]
        )
    )
    model_id = tfidf.store(conn, "default", vocabulary)
    vectors = vocabulary.transform([text])
    assert vectors.nnz == 7
    assert_same(vectors, in_sql(conn, model_id, [text]))
    assert_same(vectors, vocabulary.transform([f"firma digital {longest} final"]))
