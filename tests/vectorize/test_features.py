"""Features in bulk: what SQL stores for the same texts, by every path."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector import SparseVector

from sherlock_pg.errors import UsageError
from sherlock_pg.vectorize import tfidf
from sherlock_pg.vectorize.canonical import canonical_text
from sherlock_pg.vectorize.features import FEATURE_VERSION, FeatureMaker, Features

FORM = (
    "Señor JUEZ de reparto: en ejercicio del artículo 86 de la Constitución Política interpongo"
    " acción de tutela contra la entidad accionada, por la vulneración de mis derechos a la salud"
)
WORDS = sorted(set(FORM.split(" "))) + ["niña", "n1na", "rrri", "clrn", "北京大学", "ﬁn", "Ⅷ", "x"]
SCHEMES = {"default": None, "chars": "char-9", "words": "word-2"}

property_test = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
in_database = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map(lambda words: f"{FORM} {' '.join(words)}"),
    st.text(in_database, max_size=60),
    st.just(FORM),
)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
def collections(conn: psycopg.Connection, filings: list[str]) -> psycopg.Connection:
    """Give a database with collections of several schemes, boilerplate and models."""
    conn.execute("select sherlock.create_scheme('char-9', 'char', 9, 25, 5, 12)")
    for name, scheme in SCHEMES.items():
        if scheme is not None:
            conn.execute("select sherlock.create_collection(%s, p_scheme => %s)", [name, scheme])
        vocabulary = tfidf.fit(map(canonical_text, [*filings, *WORDS]), max_features=900)
        tfidf.store(conn, name, vocabulary)
    tfidf.store(conn, "default", tfidf.fit(map(canonical_text, [FORM, *WORDS]), ngram_range=(2, 2)))
    return conn


def use_boilerplate(conn: psycopg.Connection, collection: str, text: str) -> None:
    """Make a list of a text's shingles and let the collection use it."""
    stop_list_id = scalar(
        conn,
        "insert into sherlock.stop_lists (shingle_kind, shingle_width, learnt_from, document_share,"
        " text_count, shingle_count, measured_count, mean_removed_share, too_few_count,"
        " candidates_with, candidates_without)"
        " select s.shingle_kind, s.shingle_width, c.name, 0.5, 1, 1, 1, 0.5, 0, 1, 1"
        " from sherlock.collections as c join sherlock.shingle_schemes as s using (scheme_id)"
        " where c.name = %s returning stop_list_id",
        collection,
    )
    conn.execute(
        "insert into sherlock.stop_shingles (stop_list_id, shingle, document_share)"
        " select distinct %(list)s, h.shingle, 1 from sherlock.collections as c"
        " join sherlock.shingle_schemes as s using (scheme_id)"
        " cross join unnest(sherlock.shingles(sherlock.canonical_text(%(text)s), s.shingle_kind,"
        "     s.shingle_width)) as h (shingle)"
        " where c.name = %(collection)s",
        {"list": stop_list_id, "text": text, "collection": collection},
    )
    name = scalar(conn, "select sherlock._scheme_with_list(%s, %s)", collection, stop_list_id)
    conn.execute(
        "update sherlock.collections set scheme_id = (sherlock._scheme(%s)).scheme_id"
        " where name = %s",
        [name, collection],
    )


def index_in_sql(
    conn: psycopg.Connection, collection: str, contents: Sequence[str], flags: Sequence[list[str]]
) -> list[int]:
    conn.execute("set session_replication_role = replica")
    rows = conn.execute(
        "insert into sherlock.documents (collection_id, content, text_state, flags)"
        " select sherlock.collection_id(%s), t.content, 'short',"
        "     string_to_array(t.flags, ' ')"
        " from unnest(%s::text[], %s::text[]) with ordinality as t (content, flags, n)"
        " order by t.n returning document_id",
        [collection, list(contents), [" ".join(own) for own in flags]],
    ).fetchall()
    conn.execute("reset session_replication_role")
    ids = [row[0] for row in rows]
    assert scalar(conn, "select sherlock.index_documents(%s)", ids) == len(ids)
    return ids


def assert_stored(conn: psycopg.Connection, ids: list[int], features: Features) -> None:
    """Compare features with what SQL has stored for the same texts."""
    rows = conn.execute(
        "select d.canonical_sha256, d.word_count, d.text_state, s.shingle_count,"
        "     s.boilerplate_count, s.signature, s.sketch::text,"
        "     array(select b.key from sherlock.band_keys as b"
        "           where b.document_id = d.document_id order by b.key),"
        "     s.containment_sample"
        " from sherlock.documents as d left join sherlock.document_signatures as s"
        " using (document_id) where d.document_id = any (%s) order by d.document_id",
        [ids],
    ).fetchall()
    is_indexed = features.is_indexed.tolist()
    assert [row[0] for row in rows] == features.canonical_sha256
    assert [row[1] for row in rows] == features.word_counts.tolist()
    assert [row[2] for row in rows] == features.text_states
    for number, row in enumerate(rows):
        has_row, is_signed = row[3] is not None, row[5] is not None
        assert (has_row, is_signed) == (is_indexed[number], features.has_signature[number])
        if has_row:
            assert row[3] == features.shingle_counts[number]
            assert row[4] == features.boilerplate_counts[number]
            assert row[8] == features.containment_samples[number].tolist()
        assert (row[5] or [-1] * 128) == features.signatures[number].tolist()
        sketch = int(row[6] or "0", 2).to_bytes(256, "big")
        assert sketch == features.sketches[number].tobytes()
        keys = features.band_keys[number].tolist()
        assert row[7] == (sorted(set(keys)) if is_signed else [])
        assert is_signed or not any(keys)
    for model_id, made in features.vectors.items():
        stored = conn.execute(
            "select v.vector::text, v.sign_bits::text from unnest(%s::bigint[])"
            " with ordinality as d (document_id, n)"
            " left join sherlock.document_vectors as v"
            " on v.document_id = d.document_id and v.model_id = %s order by d.n",
            [ids, model_id],
        ).fetchall()
        assert [vector is not None for vector, _ in stored] == is_indexed
        for number, (text, bits) in enumerate(stored):
            row = slice(made.row_ends[number], made.row_ends[number + 1])
            vector = SparseVector.from_text(text or "{}/5000")
            assert made.indices[row].tolist() == vector.indices()
            np.testing.assert_allclose(made.values[row], vector.values(), rtol=0, atol=1e-6)
            assert made.has_terms[number] == (bits is not None)
            assert int(bits or "0", 2).to_bytes(64, "big") == made.sign_bits[number].tobytes()


@pytest.mark.parametrize("collection", SCHEMES)
def test_features_are_what_sql_stores(collections: psycopg.Connection, collection: str) -> None:
    @property_test
    @given(contents=st.lists(texts, max_size=8), has_boilerplate=st.booleans())
    def check(contents: list[str], has_boilerplate: bool) -> None:
        collections.execute("savepoint before_example")
        if has_boilerplate:
            use_boilerplate(collections, collection, FORM)
        flags: list[list[str]] = [[] for _ in contents]
        if len(contents) > 2:
            flags[1:3] = [["ocr"], ["ocr", "low_quality"]]
        ids = index_in_sql(collections, collection, contents, flags)
        for bulk in (False, True):
            maker = FeatureMaker.of_collection(collections, collection, bulk=bulk)
            assert len(maker.model_ids) == (2 if collection == "default" else 1)
            features = maker.make(contents, ["low_quality" in own for own in flags])
            assert_stored(collections, ids, features)
        collections.execute("rollback to savepoint before_example")

    check()


def test_filings_have_all_features(collections: psycopg.Connection, filings: list[str]) -> None:
    maker = FeatureMaker.of_collection(collections, "default", bulk=True)
    features = maker.make(filings)
    assert_stored(
        collections, index_in_sql(collections, "default", filings, [[]] * len(filings)), features
    )
    assert features.has_signature.all()
    assert features.canonical == [canonical_text(text).encode() for text in filings]
    assert features.canonical_sha256 == [
        hashlib.sha256(text).digest() for text in features.canonical
    ]
    assert features.vectors[maker.model_ids[0]].has_terms.all()
    again = maker.make(filings[:3])
    assert again.signatures.tolist() == features.signatures[:3].tolist()


def test_no_texts_have_no_features(collections: psycopg.Connection) -> None:
    features = FeatureMaker.of_collection(collections, "default").make([])
    assert features.signatures.shape == (0, 128)
    assert features.sketches.shape == (0, 256)
    assert features.band_keys.shape[0] == 0
    assert [len(made.row_ends) for made in features.vectors.values()] == [1, 1]


def test_the_version_of_the_rules_is_that_of_sql(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.feature_version()") == FEATURE_VERSION


def test_a_maker_knows_when_it_is_out_of_date(collections: psycopg.Connection) -> None:
    maker = FeatureMaker.of_collection(collections, "default")
    others = FeatureMaker.of_collection(collections, "words")
    assert maker.is_current(collections, "default")
    assert not maker.is_current(collections, "words")
    tfidf.store(collections, "default", tfidf.fit(["uno dos tres"]))
    assert not maker.is_current(collections, "default")
    use_boilerplate(collections, "words", FORM)
    assert not others.is_current(collections, "words")


def test_an_unknown_collection_is_an_error_with_a_hint(conn: psycopg.Connection) -> None:
    with pytest.raises(UsageError) as caught:
        FeatureMaker.of_collection(conn, "nadie")
    assert caught.value.sqlstate == "SH002"
    assert "create_collection" in caught.value.hint
