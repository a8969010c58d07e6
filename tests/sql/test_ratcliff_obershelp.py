"""The ratio in SQL is difflib's, to the last bit."""

from __future__ import annotations

from difflib import SequenceMatcher

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BATCH = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NAMES = (
    "maria fernanda rodriguez alvarez",
    "juzgado 22 civil del circuito de bogota",
    "administradora colombiana de pensiones",
    "juan perez",
)


def difflib_ratio(left: str, right: str) -> float:
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def differences(
    conn: psycopg.Connection, pairs: list[tuple[str, str]]
) -> list[tuple[str, str, float, float]]:
    rows = conn.execute(
        "select p.l, p.r, sherlock.ratcliff_obershelp(p.l, p.r)"
        " from unnest(%s::text[], %s::text[]) as p (l, r)",
        [[left for left, _ in pairs], [right for _, right in pairs]],
    ).fetchall()
    assert len(rows) == len(pairs)
    return [
        (left, right, ratio, difflib_ratio(left, right))
        for left, right, ratio in rows
        if ratio != difflib_ratio(left, right)
    ]


@st.composite
def edited_names(draw: st.DrawFn) -> tuple[str, str]:
    original = draw(st.sampled_from(NAMES))
    characters = list(original)
    for _ in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, len(characters)))
        match draw(st.integers(0, 2)):
            case 0:
                characters[at : at + 1] = draw(st.sampled_from("aeiourn ñ1"))
            case 1:
                characters.insert(at, draw(st.sampled_from("aeiourn ñ1")))
            case _:
                del characters[at : at + 1]
    return original, "".join(characters)


def words(alphabet: str) -> st.SearchStrategy[str]:
    return st.text(alphabet, max_size=40)


@BATCH
@given(st.lists(edited_names(), min_size=1, max_size=40))
def test_edited_names(conn: psycopg.Connection, pairs: list[tuple[str, str]]) -> None:
    assert differences(conn, pairs) == []


@pytest.mark.parametrize("alphabet", ["ab", "abc", "abcd"])
@BATCH
@given(st.data())
def test_small_alphabets_full_of_ties(
    conn: psycopg.Connection, alphabet: str, data: st.DataObject
) -> None:
    pairs = data.draw(
        st.lists(st.tuples(words(alphabet), words(alphabet)), min_size=1, max_size=40)
    )
    assert differences(conn, pairs) == []


@BATCH
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_characters(conn: psycopg.Connection, pairs: list[tuple[str, str]]) -> None:
    assert differences(conn, pairs) == []


def test_only_the_first_200_characters_count(conn: psycopg.Connection) -> None:
    left, right = "maria perez " * 40, "maria gomez " * 40
    assert differences(conn, [(left[:200], right[:200])]) == []
    row = conn.execute("select sherlock.ratcliff_obershelp(%s, %s)", [left, right]).fetchone()
    assert row == (difflib_ratio(left[:200], right[:200]),)
    row = conn.execute("select sherlock.matching_characters(%s, %s)", [left, left]).fetchone()
    assert row == (200,)


@pytest.mark.parametrize(
    ("left", "right", "ratio"),
    [("", "", 1.0), ("", "a", 0.0), (None, "a", None), ("a", None, None)],
)
def test_edges(
    conn: psycopg.Connection, left: str | None, right: str | None, ratio: float | None
) -> None:
    row = conn.execute(
        "select sherlock.ratcliff_obershelp(%s::text, %s::text)", [left, right]
    ).fetchone()
    assert row == (ratio,)


@BATCH
@given(st.lists(edited_names(), min_size=1, max_size=40), st.sampled_from([0.6, 0.85, 0.95]))
def test_giving_up_early_never_changes_the_answer(
    conn: psycopg.Connection, pairs: list[tuple[str, str]], threshold: float
) -> None:
    rows = conn.execute(
        "select p.l, p.r, sherlock._ratio_reaches(p.l, p.r, %s)"
        " from unnest(%s::text[], %s::text[]) as p (l, r)",
        [threshold, [left for left, _ in pairs], [right for _, right in pairs]],
    ).fetchall()
    for left, right, reaches in rows:
        best = max(difflib_ratio(left, right), difflib_ratio(right, left))
        assert reaches is (best >= threshold), (left, right, best)
