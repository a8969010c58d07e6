"""Canonical text and shingles in SQL: examples, errors, and equality with Python."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize.canonical import canonical_text, tokens
from sherlock_pg.vectorize.signature import Signer

KNOWN_ANSWERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "signature_known_answers.json").read_text("utf-8")
)
KINDS = [("word", 1), ("word", 2), ("word", 3), ("word", 4), ("word", 6), ("word", 9)]
KINDS += [("skeleton", 1), ("skeleton", 2), ("skeleton", 9)]
KINDS += [("char", 3), ("char", 4), ("char", 5), ("char", 9), ("char", 16)]

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
spanish = st.text("aábcdeéfghiíñoóuúüÁÉÍÓÚÑÜABC0123 ,.;:¿?¡!«»“”—-_'\n\t\u0301\u0303º", max_size=80)
mixed = st.lists(
    st.one_of(
        any_text,
        spanish,
        st.text("北京大学カタカナひらกขພາ ", max_size=8),
        st.text("ΑΣΆσςЖёԱա ", max_size=8),
        st.sampled_from(
            ["👨\u200d👩", "\u00ad", "\u200b", "\ufeff", "1\ufe0f\u20e3", "ß", "ẞ", "İı"]
        ),
    ),
    max_size=4,
).map("".join)
property_test = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def canonical_in_sql(conn: psycopg.Connection, texts: list[str]) -> list[str]:
    return column(
        conn,
        "select sherlock.canonical_text(t.text)"
        " from unnest(%s::text[]) with ordinality as t (text, n) order by t.n",
        [texts],
    )


def column(conn: psycopg.Connection, query: str, parameters: list[object]) -> list[Any]:
    return [row[0] for row in conn.execute(query, parameters).fetchall()]


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


@given(texts=st.lists(mixed, max_size=20))
@property_test
def test_canonical_text_equals_python(conn: psycopg.Connection, texts: list[str]) -> None:
    assert canonical_in_sql(conn, texts) == [canonical_text(text) for text in texts]


def test_every_character_equals_python(conn: psycopg.Connection) -> None:
    codes = [code for code in range(1, 0x32000) if not 0xD800 <= code <= 0xDFFF]
    codes += range(0xE0000, 0xE0200)
    codes += range(0x32000, 0x110000, 97)
    # Few distinct characters take the short way through the function, many the long one.
    latin = [f"Á{chr(code)}b, {chr(code)}" for code in codes if code < 0x2100]
    crowds = [
        "x".join(map(chr, codes[start : start + 1000])) for start in range(0, len(codes), 1000)
    ]
    for texts in (latin, crowds):
        found = canonical_in_sql(conn, texts)
        wrong = [
            text for text, got in zip(texts, found, strict=True) if got != canonical_text(text)
        ]
        assert wrong == []


def test_canonical_text_of_nothing(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.canonical_text(null)") is None
    assert canonical_in_sql(conn, ["", "  ", "¡...!"]) == ["", "", ""]


def test_composed_and_decomposed_texts_are_equal(conn: psycopg.Connection) -> None:
    text = "La acción del niño: ¿pingüino? ÁÉÍÓÚ Ñandú — “cédula” n.º 5"
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert len(set(forms)) > 1
    assert canonical_in_sql(conn, forms) == [
        "la accion del nino pinguino aeiou nandu cedula n o 5"
    ] * len(forms)


def test_canonical_text_does_not_depend_on_the_collation(conn: psycopg.Connection) -> None:
    text = "TÍTULO Iİı ΣΑΣ straße, áé — n.º 5"
    collations = column(
        conn,
        "select quote_ident(c.collname) from pg_collation as c"
        " where c.collencoding in (-1, pg_char_to_encoding('UTF8'))",
        [],
    )
    assert '"C"' in collations
    for collation in collations:
        found = scalar(conn, f"select sherlock.canonical_text(%s collate {collation})", text)
        assert (collation, found) == (collation, canonical_text(text))


def test_search_path_does_not_matter(conn: psycopg.Connection) -> None:
    conn.execute("set local search_path = ''")
    text = "Acción Σ 北京"
    assert scalar(
        conn,
        "select sherlock.band_keys(sherlock.signature(%s, 'char', 5), 1, 1, 32, 4)",
        text,
    )


def test_functions_can_be_generated_columns(conn: psycopg.Connection) -> None:
    conn.execute(
        "create temporary table letters (content text, signature integer[]"
        " generated always as (sherlock.signature(content, 'word', 2)) stored)"
    )
    conn.execute("insert into letters values ('Señor Juez de tutela')")
    assert scalar(conn, "select signature = sherlock.signature(content, 'word', 2) from letters")


@given(texts=st.lists(mixed, min_size=1, max_size=10))
@property_test
def test_tokens_equal_python(conn: psycopg.Connection, texts: list[str]) -> None:
    for text, canonical in zip(texts, canonical_in_sql(conn, texts), strict=True):
        assert scalar(conn, "select sherlock.tokens(%s)", canonical) == [
            token.decode() for token in tokens(text)
        ]


@given(texts=st.lists(mixed, min_size=1, max_size=6), kind=st.sampled_from(KINDS))
@property_test
def test_shingles_equal_python(
    conn: psycopg.Connection, texts: list[str], kind: tuple[str, int]
) -> None:
    signer = Signer(*kind)
    for text in texts:
        assert scalar(
            conn, "select sherlock.shingles(sherlock.canonical_text(%s), %s, %s)", text, *kind
        ) == (signer.shingles(text).tolist())


@pytest.mark.parametrize(("kind", "width"), KINDS)
def test_number_of_shingles(conn: psycopg.Connection, kind: str, width: int) -> None:
    for count in (0, 1, width - 1, width, width + 1, 3 * width):
        units = ["z"] * count if kind == "char" else ["ab"] * count
        canonical = ("" if kind == "char" else " ").join(units)
        shingles = scalar(conn, "select sherlock.shingles(%s, %s, %s)", canonical, kind, width)
        assert len(shingles) == (0 if count == 0 else max(1, count - width + 1))
        assert len(set(shingles)) <= 1


def test_shingles_of_null(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.shingles(null, 'word', 3)") is None


def test_shingles_are_ordered_runs(conn: psycopg.Connection) -> None:
    of = "select sherlock.shingles(%s, 'word', 2)"
    assert scalar(conn, of, "a b c a b") == [
        scalar(conn, of, pair)[0] for pair in ("a b", "b c", "c a", "a b")
    ]
    assert scalar(conn, of, "a b") != scalar(conn, of, "b a")


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("word", 0),
        ("word", 10),
        ("skeleton", 0),
        ("skeleton", 10),
        ("char", 2),
        ("char", 17),
        ("palabra", 3),
        (None, 3),
        ("word", None),
    ],
)
def test_unknown_shingles_are_refused(
    conn: psycopg.Connection, kind: str | None, width: int | None
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select sherlock.shingles('a b c', %s, %s)", [kind, width])
    assert caught.value.sqlstate == "SH010"
    assert "kind word" in (caught.value.diag.message_hint or "")


def test_long_texts_take_linear_time(conn: psycopg.Connection) -> None:
    """Quadratic work on 400,000 characters would take minutes, far beyond the timeout."""
    conn.execute("set local statement_timeout = '20s'")
    text = "la acción de tutela " * 20_000
    for kind, width in (("char", 9), ("word", 3), ("skeleton", 3)):
        found = scalar(
            conn,
            "select cardinality(sherlock.shingles(sherlock.canonical_text(%s), %s, %s))",
            text,
            kind,
            width,
        )
        assert found == len(Signer(kind, width).shingles(text))


def test_known_hashes(conn: psycopg.Connection) -> None:
    for token, expected in KNOWN_ANSWERS["text_hashes"].items():
        assert scalar(conn, 'select hashtextextended(%s::text collate "C", 0)', token) == expected
    for value, seed, expected in KNOWN_ANSWERS["int8_hashes"]:
        assert (
            scalar(conn, "select hashint8extended(%s::bigint, %s::bigint)", value, seed) == expected
        )


def test_hash_self_test_passes_here_and_notices_another_hash(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.hash_self_test()") is True
    definition = scalar(
        conn, "select pg_get_functiondef('sherlock.hash_self_test()'::regprocedure)"
    )
    answer = str(abs(KNOWN_ANSWERS["text_hashes"]["demanda"]))
    assert answer in definition
    conn.execute(definition.replace(answer, str(int(answer) + 1)))
    assert scalar(conn, "select sherlock.hash_self_test()") is False
