"""Numbers and dates in Python are those of SQL."""

from __future__ import annotations

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize.canonical import canonical_text
from sherlock_pg.vectorize.references import references

_WORDS = [
    "de", "del", "5", "05", "31", "30", "29", "primero", "1o", "mayo", "febrero", "setiembre",
    "diciembre", "dos", "mil", "veintiuno", "2021", "1999", "2100", "1899", "3/4/2020",
    "12.345.678", "1'234,567", "2O25", "IO7", "l2B", "100", "99", "1.000.000.000", "12.34.567",
    "00123", "ciento", "ano", "días", "(2019)", "T-123.456", "n°4567", "45.67,890", "٣٤٥",
    "2024-05-06", "123456789012345678901234567",
    "123.456.789.123.456.789.123.456.789.123.456.789.123.456.789", "habeas", "ñu", "1.2.3.4",
    "12O4S", ".", "..", ",12,",
]  # fmt: skip
_TEXTS = st.one_of(
    st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join),
    st.lists(
        st.tuples(
            st.sampled_from(_WORDS), st.sampled_from([" ", "\n", "\u00a0", ".", ",", "-", ""])
        )
    ).map(lambda parts: "".join(word + space for word, space in parts)),
    st.text(
        st.one_of(
            st.characters(codec="utf-8", exclude_characters="\0"),
            st.sampled_from("0123456789OlSB.,' \n-/\u00a0de°º٣４"),
        ),
        max_size=300,
    ),
)


@given(st.lists(_TEXTS, min_size=1, max_size=50))
@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_equal_to_sql(conn: psycopg.Connection, texts: list[str]) -> None:
    canonical = [canonical_text(text) for text in texts]
    rows = conn.execute(
        "select (r.r).numbers, (r.r).dates from unnest(%s::text[], %s::text[])"
        " with ordinality as t (content, canonical, position)"
        " cross join lateral (select sherlock._references(t.content, t.canonical) as r) as r"
        " order by t.position",
        [texts, canonical],
    ).fetchall()
    assert [tuple(references(t, c.encode())) for t, c in zip(texts, canonical, strict=True)] == rows


def test_many_numbers_and_dates(conn: psycopg.Connection) -> None:
    texts = [
        " ".join(str(1000 + n * 7) for n in range(400)),
        " ".join(f"{n % 28 + 1} de marzo de {1900 + n % 190}" for n in range(1500)),
        "9" * 41 + " " + "8" * 40 + " " + "7" * 201,
    ]
    for text in texts:
        canonical = canonical_text(text)
        row = conn.execute(
            "select r.numbers, r.dates from sherlock._references(%s, %s) as r", [text, canonical]
        ).fetchone()
        assert tuple(references(text, canonical.encode())) == row
