"""The skeleton of a text, in which what OCR confuses is one: SQL equals Python; who reads it."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.errors import UsageError
from sherlock_pg.vectorize.canonical import canonical_text, skeleton
from sherlock_pg.vectorize.signature import Signer

WORDS = (
    "acción tutela derecho salud juzgado municipal radicado entidad demandante médico cirugía orden"
    " fecha respuesta petición término autorización contrato cláusula fiscal proceso reliquidación"
    " pensión vejez semanas cotizadas resolución recurso apelación expediente sentencia causal"
    " notificación personal inmueble arriendo canon mora firma notaría escritura copia barrio calle"
    " 2019 2021 45 118 2591 306 15 30 1085 560"
)
MISREAD = {
    "rn": "m", "m": "rn", "cl": "d", "d": "cl", "ri": "n", "n": "ri", "e": "c", "c": "e",
    "a": "u", "u": "a", "o": "0", "0": "o", "t": "f", "f": "t", "i": "l", "l": "1", "1": "l",
    "j": "i", "h": "b", "b": "8", "8": "b", "s": "5", "5": "s", "z": "2", "2": "z", "g": "9",
    "9": "q", "q": "g",
}  # fmt: skip
"""What a reader of images takes each for: the pairs that the comment of the function names."""

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
confusable = st.text("eu0f1ljb8529qcaotihszgrnmd ", max_size=40)
texts = st.lists(st.one_of(any_text, confusable), max_size=5).map("".join).map(canonical_text)
property_test = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def letter(seed: int, length: int = 150) -> str:
    return " ".join(random.Random(seed).choices(WORDS.split(), k=length))


def misread(text: str, share: float, seed: int = 1, *, lost_share: float = 0) -> str:
    """Return the text as from a bad scan: so many of its words have one character misread.

    Of those, `lost_share` lose it instead, which no skeleton mends.
    """
    rng = random.Random(seed)

    def spoilt(word: str) -> str:
        places = [
            (start, part)
            for part in MISREAD
            for start in range(len(word))
            if word.startswith(part, start)
        ]
        if not places or rng.random() >= share:
            return word
        start, part = rng.choice(places)
        read = "" if rng.random() < lost_share else MISREAD[part]
        return word[:start] + read + word[start + len(part) :]

    return " ".join(map(spoilt, text.split(" ")))


def add(conn: psycopg.Connection, content: str, collection: str = "default") -> int:
    document_id: int = scalar(
        conn,
        "select document_id from sherlock.add_document("
        "  %s, p_collection => %s, p_doc_type => 'default')",
        content,
        collection,
    )
    return document_id


def use_model(conn: psycopg.Connection) -> None:
    """Give the collection default a vocabulary of its documents, with vectors."""
    model_id = scalar(conn, "select sherlock.fit_vocabulary('default')")
    conn.execute("select sherlock.vectorize_missing(%s, 1000)", [model_id])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])


def compared(conn: psycopg.Connection, left: int, right: int) -> dict[str, tuple[Any, ...]]:
    """Return score, class and evidence of each level."""
    rows = conn.execute(
        "select level, score, confidence, evidence from sherlock.compare(%s, %s)", [left, right]
    )
    return {row[0]: row[1:] for row in rows}


@given(canonical=texts)
@property_test
def test_sql_equals_python(conn: psycopg.Connection, canonical: str) -> None:
    assert scalar(conn, "select sherlock.skeleton(%s)", canonical) == skeleton(canonical)


@given(canonical=texts)
@property_test
def test_twice_is_once_and_word_by_word(conn: psycopg.Connection, canonical: str) -> None:
    once = scalar(conn, "select sherlock.skeleton(%s)", canonical)
    assert scalar(conn, "select sherlock.skeleton(%s)", once) == once
    words, read = canonical.split(" "), once.split(" ")
    assert read == [skeleton(word) for word in words]
    assert all(0 < len(short) <= len(word) for word, short in zip(words, read, strict=True) if word)
    assert canonical_text(once) == once


def test_no_text_has_none(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.skeleton(null)") is None
    assert scalar(conn, "select sherlock.skeleton('')") == ""


@pytest.mark.parametrize(("read", "misread_as"), MISREAD.items())
def test_what_is_confused_is_one(conn: psycopg.Connection, read: str, misread_as: str) -> None:
    for before, after in (("", ""), ("ca", "so"), ("p", "p")):
        pair = [before + read + after, before + misread_as + after]
        found = [scalar(conn, "select sherlock.skeleton(%s)", word) for word in pair]
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("modern", "modem"),
        ("clan", "dan"),
        ("martinez", "martlne2"),
        ("tutela", "tutcla"),
        ("juzgado", "luz9ad0"),
        ("marino", "rnanno"),
        ("2019 1085", "zo1g lo8s"),
        ("derecho", "clerecbo"),
    ],
)
def test_scans_of_one_word_are_the_same_word(
    conn: psycopg.Connection, left: str, right: str
) -> None:
    assert skeleton(left) == skeleton(right)
    assert scalar(conn, "select sherlock.jaccard(%s, %s, 'skeleton', 1)", left, right) == 1
    assert scalar(conn, "select sherlock.jaccard(%s, %s, 'word', 1)", left, right) < 1


@pytest.mark.parametrize(
    ("left", "right"),
    [("casa", "caso"), ("norte", "sur"), ("3", "4"), ("2021", "2027"), ("pago", "pego1")],
)
def test_other_words_stay_other_words(conn: psycopg.Connection, left: str, right: str) -> None:
    assert scalar(conn, "select sherlock.jaccard(%s, %s, 'skeleton', 1)", left, right) == 0


@given(canonical=texts, width=st.integers(1, 9))
@property_test
def test_shingles_are_those_of_the_words_of_the_skeleton(
    conn: psycopg.Connection, canonical: str, width: int
) -> None:
    found, of_skeleton = conn.execute(
        "select sherlock.shingles(%(text)s, 'skeleton', %(width)s),"
        "       sherlock.shingles(sherlock.skeleton(%(text)s), 'word', %(width)s)",
        {"text": canonical, "width": width},
    ).fetchall()[0]
    assert found == of_skeleton
    assert found == Signer("skeleton", width).shingles(canonical).tolist()
    assert found == Signer("word", width).shingles(skeleton(canonical)).tolist()


@pytest.mark.parametrize("width", [0, 10])
def test_widths_are_those_of_words(conn: psycopg.Connection, width: int) -> None:
    with pytest.raises(psycopg.Error) as in_sql:
        conn.execute("select sherlock.shingles('a b c', 'skeleton', %s)", [width])
    with pytest.raises(UsageError) as in_python:
        Signer("skeleton", width)
    assert in_sql.value.sqlstate == in_python.value.sqlstate == "SH010"
    assert str(in_python.value) == f"no such shingles: kind 'skeleton', width {width}"
    assert in_sql.value.diag.message_primary == (
        f"no such shingles: kind 'skeleton', width '{width}'"
    )
    hint = "use kind word or skeleton with a width of 1 to 9, or char with a width of 3 to 16"
    assert in_sql.value.diag.message_hint == in_python.value.hint == hint


def test_two_schemes_of_words_are_there(conn: psycopg.Connection) -> None:
    rows = conn.execute(
        "select name, shingle_kind, shingle_width, band_count, rows_per_band, min_shingles,"
        " band_key_limit, normaliser_version, slot_count"
        " from sherlock.shingle_schemes order by scheme_id"
    ).fetchall()
    assert [row[:3] for row in rows] == [("word-2", "word", 2), ("skeleton-2", "skeleton", 2)]
    assert rows[0][3:] == rows[1][3:]


@pytest.mark.parametrize(
    ("arguments", "scheme"),
    [
        ("'otra'", "skeleton-2"),
        ("'otra', 'legal'", "skeleton-2"),
        ("'otra', 'text'", "word-2"),
        ("'otra', 'legal', 'word-2'", "word-2"),
        ("'otra', 'text', 'skeleton-2'", "skeleton-2"),
        ("'otra', 'text', null", "word-2"),
        ("'default'", "skeleton-2"),
    ],
)
def test_the_usual_scheme_of_a_profile(
    conn: psycopg.Connection, arguments: str, scheme: str
) -> None:
    collection_id = scalar(conn, f"select sherlock.create_collection({arguments})")
    found = scalar(
        conn,
        "select s.name from sherlock.collections c join sherlock.shingle_schemes s"
        " using (scheme_id) where c.collection_id = %s",
        collection_id,
    )
    assert found == scheme


def test_copies_are_exact_by_what_they_say_not_by_their_skeleton(conn: psycopg.Connection) -> None:
    """At levels 1 and 2 the same, and still not the same text."""
    original = letter(1)
    scan = original.replace("derecho", "dcrecho")
    assert scan != original
    assert skeleton(canonical_text(scan)) == skeleton(canonical_text(original))
    first, second, copy = add(conn, original), add(conn, scan), add(conn, original.upper())
    use_model(conn)
    levels = compared(conn, second, first)
    assert levels["exact"][0] == 0
    assert levels["exact"][2]["same_canonical_text"] is False
    assert levels["minhash"][0] == levels["tfidf"][0] == pytest.approx(1)
    assert levels["final"][1] == "HIGH"
    assert compared(conn, copy, first)["final"][1] == "EXACT"
    hashes = conn.execute(
        "select canonical_sha256 from sherlock.documents where document_id = any(%s)"
        " order by document_id",
        [[first, second, copy]],
    ).fetchall()
    assert hashes[0] == hashes[2] != hashes[1]
    for document_id, classes in (
        (first, {copy: "EXACT"}),
        (second, {first: "HIGH", copy: "HIGH"}),
    ):
        found = conn.execute(
            "select document_id, confidence from sherlock.find_duplicates(%s)", [document_id]
        ).fetchall()
        assert dict(found) == classes


def test_terms_are_shown_as_the_text_spells_them(conn: psycopg.Connection) -> None:
    """In the left text's spelling, of the first place where the term stands in it."""
    rest = letter(7, 30)
    first = add(conn, f"El perro clama: pcrro dama en modern. {rest}")
    second = add(conn, f"Ei pcrro dama en modem. {rest}")
    model_id = scalar(
        conn,
        "select sherlock.create_tfidf_model('default', %s, %s, 2, 1, 2)",
        ["pcrro", "pcrro dama", "dama", "modcm"],
        [5.0, 4.0, 3.0, 2.0],
    )
    conn.execute("select sherlock.vectorize_missing(%s, 10)", [model_id])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
    spellings = {
        (left, right): compared(conn, left, right)["tfidf"][2]["top_shared_terms"]
        for left, right in ((first, second), (second, first))
    }
    assert spellings == {
        (first, second): ["perro", "perro clama", "clama", "modern"],
        (second, first): ["pcrro", "pcrro dama", "dama", "modem"],
    }


def test_passages_are_shown_as_the_texts_spell_them(conn: psycopg.Connection) -> None:
    original = canonical_text(letter(3, 60))
    scan = misread(original, 0.5)
    assert scan != original
    first = add(conn, f"{original} perro mayor")
    second = add(conn, f"{scan} gato menor")
    passages: dict[str, dict[str, str]] = {}
    for left, right in ((first, second), (second, first)):
        rows = conn.execute(
            "select item, value from sherlock.explain_match(%s, %s) where section = 'text'",
            [left, right],
        ).fetchall()
        passages[str(left)] = dict(rows)
    shown = {side: found["shared passage"] for side, found in passages.items()}
    assert shown == {
        str(first): f"{original[:90]} ...",
        str(second): f"{scan[:90]} ...",
    }
    last = original.split(" ")[-1], scan.split(" ")[-1]
    for found in passages.values():
        assert found[f"only in {first}"] == f"{last[0]} perro mayor"
        assert found[f"only in {second}"] == f"{last[1]} gato menor"


@pytest.mark.parametrize("seed", range(5))
def test_a_bad_scan_is_nearer_than_by_plain_words(conn: psycopg.Connection, seed: int) -> None:
    conn.execute("select sherlock.create_collection('plain', 'legal', 'word-2')")
    original = letter(seed)
    scan = misread(original, 0.3, seed, lost_share=0.2)
    jaccard: dict[str, float] = {}
    for collection in ("default", "plain"):
        first, second = add(conn, original, collection), add(conn, scan, collection)
        other = add(conn, letter(seed + 100), collection)
        found: dict[int, float] = dict(
            conn.execute(
                "select document_id, minhash_score from sherlock.find_duplicates(%s)", [second]
            ).fetchall()
        )
        assert other not in found
        jaccard[collection] = compared(conn, second, first)["minhash"][0]
        if collection == "default":
            assert found == {first: jaccard["default"]}
    assert jaccard["default"] > 0.65
    assert jaccard["plain"] < 0.5
