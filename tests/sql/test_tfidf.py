"""TF-IDF vectors, sign bits and cosine in SQL."""

from __future__ import annotations

import math
import random

import numpy as np
import psycopg
import pytest
from pgvector import SparseVector

from sherlock_pg.vectorize import tfidf

# As texts are read: perro as pcrro.
TERMS = ("casa", "casa pcrro", "pcrro", "pcrro casa", "東", "東 京")
IDF = (1.5, 3.0, 2.0, 3.5, 4.0, 5.0)


def create_model(
    conn: psycopg.Connection,
    terms: tuple[str, ...] = TERMS,
    idf: tuple[float, ...] = IDF,
    ngram_range: tuple[int, int] = (1, 2),
) -> int:
    vocabulary = tfidf.Vocabulary(terms, np.array(idf), ngram_range, document_count=9)
    return tfidf.store(conn, "default", vocabulary)


def vector_of(conn: psycopg.Connection, model_id: int, canonical: str | None) -> dict[str, float]:
    """Return the weights of a text by term."""
    row = conn.execute(
        "select sherlock.tfidf_vector(%s, %s)::text", [model_id, canonical]
    ).fetchone()
    assert row is not None
    vector = SparseVector.from_text(row[0])
    assert vector.dimensions() == 5000
    return {
        TERMS[index]: value for index, value in zip(vector.indices(), vector.values(), strict=True)
    }


def unit(weights: dict[str, float]) -> dict[str, float]:
    norm = math.sqrt(sum(weight**2 for weight in weights.values()))
    return {term: weight / norm for term, weight in weights.items()}


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> object:
    row = conn.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


def test_weights_are_sublinear_frequency_times_idf_with_length_one(
    conn: psycopg.Connection,
) -> None:
    found = vector_of(conn, create_model(conn), "casa perro casa gato casa")
    expected = unit(
        {
            "casa": (1 + math.log(3)) * 1.5,
            "pcrro": 2.0,
            "casa pcrro": 3.0,
            "pcrro casa": 3.5,
        }
    )
    assert found == pytest.approx(expected, abs=1e-6)


def test_single_ascii_letters_vanish_and_single_han_characters_stay(
    conn: psycopg.Connection,
) -> None:
    found = vector_of(conn, create_model(conn), "casa x perro 7 東 京")
    expected = unit({"casa": 1.5, "casa pcrro": 3.0, "pcrro": 2.0, "東": 4.0, "東 京": 5.0})
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("ngram_range", "kept"),
    [((1, 1), (0, 2, 4)), ((2, 2), (1, 3, 5))],
    ids=["tokens", "pairs"],
)
def test_only_n_grams_of_the_models_range_count(
    conn: psycopg.Connection, ngram_range: tuple[int, int], kept: tuple[int, ...]
) -> None:
    terms = tuple(TERMS[position] for position in kept)
    model_id = create_model(conn, terms, tuple(IDF[position] for position in kept), ngram_range)
    row = scalar(conn, "select sherlock.tfidf_vector(%s, 'casa perro casa')::text", model_id)
    found = SparseVector.from_text(str(row))
    assert {terms[index] for index in found.indices()} == {
        term for term in terms if "東" not in term
    }


@pytest.mark.parametrize("canonical", ["", "gato", "a b c", "perrocasa"])
def test_a_text_without_known_terms_gives_the_empty_vector(
    conn: psycopg.Connection, canonical: str
) -> None:
    model_id = create_model(conn)
    found = scalar(conn, "select sherlock.tfidf_vector(%s, %s)::text", model_id, canonical)
    assert found == "{}/5000"


def test_no_text_or_no_model_gives_null(conn: psycopg.Connection) -> None:
    model_id = create_model(conn)
    assert scalar(conn, "select sherlock.tfidf_vector(%s, null)", model_id) is None
    assert scalar(conn, "select sherlock.tfidf_vector(null, 'casa')") is None


def test_an_unknown_model_is_an_error(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught:
        conn.execute("select sherlock.tfidf_vector(-1, 'casa')")
    assert caught.value.sqlstate == "SH030"
    assert caught.value.diag.message_hint


def test_nothing_depends_on_session_settings(conn: psycopg.Connection) -> None:
    model_id = create_model(conn)
    conn.execute(
        "create temporary table found as"
        " select sherlock.tfidf_vector(%s, '') as vector, ''::text as bits limit 0",
        [model_id],
    )
    insert = (
        "insert into pg_temp.found select v, sherlock.sign_projection(v)::text"
        " from sherlock.tfidf_vector(%s, 'casa perro casa') as v"
    )
    conn.execute(insert, [model_id])
    conn.execute("set local extra_float_digits = -5")
    conn.execute("set local search_path = ''")
    conn.execute(insert, [model_id])
    conn.execute("set local extra_float_digits = 3")
    assert scalar(conn, "select count(distinct (vector::text, bits)) from pg_temp.found") == 1


def test_sign_bits_of_a_vector_without_terms_are_null(conn: psycopg.Connection) -> None:
    model_id = create_model(conn)
    query = "select sherlock.sign_projection(sherlock.tfidf_vector(%s, %s))"
    assert scalar(conn, query, model_id, "gato") is None
    assert scalar(conn, query, model_id, "casa") is not None
    assert scalar(conn, "select sherlock.sign_projection(null)") is None


def test_sign_bits_depend_on_the_direction_only_and_all_matter(conn: psycopg.Connection) -> None:
    conn.execute("set local search_path = sherlock, public")
    single = "select sherlock.sign_projection(('{' || i || ':' || w || '}/5000')::sparsevec)::text"
    bits = {
        weight: conn.execute(
            f"{single} from generate_series(1, 5000, 5) as i, (values (%s)) as t(w) order by i",
            [weight],
        ).fetchall()
        for weight in ("1", "0.25")
    }
    assert bits["1"] == bits["0.25"]
    table = np.array([[bit == "1" for bit in row[0]] for row in bits["1"]])
    assert table.shape == (1000, 512)
    assert np.abs(table.mean(axis=0) - 0.5).max() < 0.1


def test_differing_sign_bits_estimate_the_angle(conn: psycopg.Connection) -> None:
    conn.execute("set local search_path = sherlock, public")
    random_numbers = random.Random(7)
    base = {position: random_numbers.uniform(1, 5) for position in range(1, 4000, 13)}
    for replaced_share in (0.1, 0.3, 0.5):
        other = {
            position + (random_numbers.random() < replaced_share): weight
            for position, weight in base.items()
        }
        texts = [
            "{" + ",".join(f"{key}:{value}" for key, value in vector.items()) + "}/5000"
            for vector in (base, other)
        ]
        row = conn.execute(
            "select sherlock.cosine_score(l, r), sherlock.sign_projection(l)::text,"
            " sherlock.sign_projection(r)::text"
            " from (select %s::sparsevec as l, %s::sparsevec as r) as v",
            texts,
        ).fetchone()
        assert row is not None
        differing = sum(left != right for left, right in zip(row[1], row[2], strict=True))
        assert math.cos(math.pi * differing / 512) == pytest.approx(row[0], abs=0.2)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("{1:3,2:4}/5000", "{1:3,2:4}/5000", 1.0),
        ("{1:3,2:4}/5000", "{1:6,2:8}/5000", 1.0),
        ("{1:1}/5000", "{1:3,2:4}/5000", 0.6),
        ("{1:1}/5000", "{2:1}/5000", 0.0),
        ("{}/5000", "{1:1}/5000", None),
        ("{1:1}/5000", "{}/5000", None),
        ("{}/5000", "{}/5000", None),
        (None, "{1:1}/5000", None),
        ("{1:1}/5000", None, None),
    ],
)
def test_cosine_score(
    conn: psycopg.Connection, left: str | None, right: str | None, expected: float | None
) -> None:
    conn.execute("set local search_path = sherlock, public")
    found = scalar(conn, "select sherlock.cosine_score(%s::sparsevec, %s::sparsevec)", left, right)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-6))


def test_cosine_score_is_inlined(conn: psycopg.Connection) -> None:
    create_model(conn)
    plan = explain(
        conn,
        "select sherlock.cosine_score(v.vector, w.vector)"
        " from sherlock.document_vectors as v, sherlock.document_vectors as w",
    )
    assert "cosine_distance" in plan
    assert "cosine_score" not in plan


def explain(conn: psycopg.Connection, query: str) -> str:
    rows = conn.execute(f"explain (verbose, costs off) {query}")
    return "\n".join(row[0] for row in rows)


def synthetic_texts(family_count: int, family_size: int) -> list[str]:
    """Return families of texts; within a family up to 15 % of the words differ."""
    random_numbers = random.Random(11)
    words = [f"palabra{number}" for number in range(900)]
    popularity = [1 / (rank + 10) for rank in range(len(words))]
    texts = []
    for _ in range(family_count):
        base = random_numbers.choices(words, popularity, k=120)
        for member in range(family_size):
            noise = 0.05 * member
            texts.append(
                " ".join(
                    random_numbers.choice(words) if random_numbers.random() < noise else word
                    for word in base
                )
            )
    return texts


def test_the_index_on_sign_bits_finds_the_near_duplicates(conn: psycopg.Connection) -> None:
    # More lists than a search reads, so that the index can miss some.
    texts = synthetic_texts(family_count=750, family_size=4)
    vocabulary = tfidf.fit(texts)
    model_id = tfidf.store(conn, "default", vocabulary)
    vectors = vocabulary.transform(texts)
    tfidf.copy_vectors(
        conn, model_id, range(1, len(texts) + 1), vectors, tfidf.load_projection(conn)
    )
    conn.execute("select sherlock.build_tfidf_index(%s)", [model_id])
    conn.execute("analyze sherlock.document_vectors")
    conn.execute("set local search_path = sherlock, public")
    conn.execute("set local enable_sort = off")
    index = f"document_vectors_model_{model_id}_sign_bits_idx"
    assert index in explain(
        conn,
        f"select v.document_id from sherlock.document_vectors as v where v.model_id = {model_id}"
        " order by v.sign_bits <~> (select sherlock.sign_projection("
        f"  sherlock.tfidf_vector({model_id}, 'palabra1 palabra2'))) limit 40",
    )
    nearest = (
        "select c.document_id from sherlock.vector_candidates(%(model)s, sherlock.sign_projection("
        "  sherlock.tfidf_vector(%(model)s, %(text)s)), 40) as c"
    )
    queries = range(0, len(texts), 30)
    cosines = (vectors[list(queries)] @ vectors.T).toarray()
    near_count = found_count = 0
    for query, cosine in zip(queries, cosines, strict=True):
        near = {position + 1 for position in np.flatnonzero(cosine >= 0.6)}
        found = {row[0] for row in conn.execute(nearest, {"model": model_id, "text": texts[query]})}
        near_count += len(near)
        found_count += len(near & found)
    assert near_count >= 3 * len(queries)
    assert found_count / near_count >= 0.98
