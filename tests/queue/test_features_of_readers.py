"""Features that a reader hands over are those that SQL computes, or SQL computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from sherlock_pg.queue.features import TextFeatures
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.vectorize import lifecycle

TEXTS = [
    *(compose(draw_case(5, f"c{n}", topic_name=TOPICS[n % len(TOPICS)])).text() for n in range(4)),
    "",
    "¡…!",
    "tres palabras solas",
    "ÑANDÚ y pingüino, " * 60,
    "1234567 铁路 ﬁn 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 " + " ".join(f"desconocida{n}" for n in range(30)),
]
FLAGS: list[list[str]] = [[], ["low_quality"]]

Read = Callable[..., tuple[int, bool]]


@pytest.fixture
def read(conn: psycopg.Connection) -> Read:
    """Give a function that has a text read, and returns its document and the answer."""

    def run(
        text: str, features: dict[str, Any] | None = None, flags: list[str] | None = None
    ) -> tuple[int, bool]:
        row = conn.execute(
            "insert into sherlock.inbox (content, name) values (%s, 'a.txt') returning document_id",
            [f"{text} {conn.execute('select gen_random_uuid()').fetchall()}".encode()],
        ).fetchone()
        assert row is not None
        conn.execute("select sherlock.lease_items('w', 1)")
        answer = conn.execute(
            "select sherlock.finish_document(%s, 'w', 'ok', p_content => %s, p_flags => %s,"
            " p_features => %s)",
            [row[0], text, flags or [], None if features is None else Jsonb(features)],
        ).fetchone()
        assert answer is not None
        return int(row[0]), bool(answer[0])

    return run


def stored(conn: psycopg.Connection, document_id: int) -> list[tuple[Any, ...]]:
    """Return all that is stored of a document, but for vectors within 1e-6 of SQL's."""
    return conn.execute(
        "select d.canonical_sha256, d.word_count, d.text_state, d.feature_version,"
        " d.indexed_at is not null, d.doc_type, s.scheme_id, s.shingle_count, s.boilerplate_count,"
        " s.signature, s.sketch::text, s.containment_sample, r.numbers, r.dates,"
        " array(select b.key from sherlock.band_keys as b where b.document_id = d.document_id"
        "  order by b.key),"
        " array(select v.model_id from sherlock.document_vectors as v"
        "  where v.document_id = d.document_id and l2_distance(v.vector, sherlock.tfidf_vector("
        "   v.model_id, sherlock.canonical_text(d.content))) < 1e-6"
        "  and v.sign_bits is not distinct from sherlock.sign_projection(v.vector)"
        "  order by v.model_id)"
        " from sherlock.documents as d"
        " left join sherlock.document_signatures as s using (document_id)"
        " left join sherlock.document_references as r using (document_id)"
        " where d.document_id = %s",
        [document_id],
    ).fetchall()


def collection_of(conn: psycopg.Connection) -> int:
    (row,) = conn.execute("select sherlock.collection_id('default')").fetchall()
    return int(row[0])


def fit(conn: psycopg.Connection, read: Read) -> None:
    for text in TEXTS[:3]:
        read(text)
    assert lifecycle.fit_if_needed(conn, "default") is not None


@pytest.mark.parametrize("flags", FLAGS)
def test_they_are_those_of_sql(conn: psycopg.Connection, read: Read, flags: list[str]) -> None:
    fit(conn, read)
    makes = TextFeatures()
    for text in TEXTS:
        of_sql, is_complete = read(text, None, flags)
        assert not is_complete
        of_python, is_complete = read(text, makes.make(conn, collection_of(conn), text), flags)
        assert is_complete
        assert stored(conn, of_python) == stored(conn, of_sql)
    states = {stored(conn, document_id)[0][2] for document_id in (of_sql, of_python)}
    assert states == ({"excluded"} if flags else {"indexed"})


def test_vectors_of_models_that_came_since_are_computed_and_others_left_out(
    conn: psycopg.Connection, read: Read
) -> None:
    makes = TextFeatures()
    collection_id = collection_of(conn)
    features = makes.make(conn, collection_id, TEXTS[3])
    assert features["vectors"] == {}
    fit(conn, read)
    document_id, is_complete = read(TEXTS[3], features)
    assert not is_complete
    assert stored(conn, document_id) == stored(conn, read(TEXTS[3])[0])
    makes.forget(collection_id)
    features = makes.make(conn, collection_id, TEXTS[3])
    for text in TEXTS[:3]:
        read(text + " otro final")
    newest = lifecycle.fit_if_needed(conn, "default")
    assert list(features["vectors"]) != [str(newest)]
    document_id, is_complete = read(TEXTS[3], features)
    assert not is_complete
    assert stored(conn, document_id)[0][-1] == [newest]


def test_of_another_scheme_or_other_rules_nothing_is_taken(
    conn: psycopg.Connection, read: Read
) -> None:
    makes = TextFeatures()
    features = makes.make(conn, collection_of(conn), TEXTS[0])
    of_sql = stored(conn, read(TEXTS[0])[0])
    for other in ({"scheme_id": 99}, {"feature_version": 0}, {"stop_list_id": 7}):
        wrong = {**features, **other, "canonical": "nada", "signature": None, "word_count": 1}
        document_id, is_complete = read(TEXTS[0], wrong)
        assert not is_complete
        assert stored(conn, document_id) == of_sql


def test_a_document_that_is_read_again_has_only_the_features_of_the_last_text(
    conn: psycopg.Connection, read: Read
) -> None:
    makes = TextFeatures()
    collection_id = collection_of(conn)
    document_id, _ = read(TEXTS[0], makes.make(conn, collection_id, TEXTS[0]))
    conn.execute("select sherlock.record_detection(%s)", [document_id])
    conn.execute(
        "update sherlock.inbox set state = 'leased', leased_by = 'w',"
        " leased_until = now() + interval '1 hour', finished_at = null where document_id = %s",
        [document_id],
    )
    conn.execute(
        "select sherlock.finish_document(%s, 'w', 'ok', p_content => %s, p_features => %s)",
        [document_id, TEXTS[1], Jsonb(makes.make(conn, collection_id, TEXTS[1]))],
    )
    assert stored(conn, document_id) == stored(conn, read(TEXTS[1])[0])
