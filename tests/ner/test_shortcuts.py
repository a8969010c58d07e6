"""What is looked for in a faster way is what the plain way finds."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sherlock_pg.ner import folding, mail, owners
from sherlock_pg.ner.folding import LONGEST_LOCAL_PART, find_around, fold

_TEXTS = st.text("ABEaeÁéñºß09 .,-@©\n“–Ā\ud800\U0001f600", max_size=120)
_WORDS = st.lists(st.text("AB0", min_size=1, max_size=3), max_size=4)
_NAMES = st.text("AEIRN .", max_size=24)


@settings(max_examples=200)
@given(_TEXTS)
def test_folding_by_bytes_is_folding_by_characters(text: str) -> None:
    assert fold(text) == "".join(char.translate(folding._FOLD) for char in text)


@settings(max_examples=200)
@given(st.text("AB0 .@©", max_size=200))
@example("A" * LONGEST_LOCAL_PART + " @ B.CO," + "A" * (LONGEST_LOCAL_PART + 1) + "@B.CO")
@example("A@B.CO@C.CO @ D.CO A@ B.CO")
def test_what_stands_around_a_sign_is_what_the_pattern_finds(text: str) -> None:
    for sign, pattern in (
        (mail._SIGN, mail._ADDRESS),
        (folding._MAIL_SIGN, folding._MAIL_LIKE),
    ):
        found = find_around(sign, pattern, text, LONGEST_LOCAL_PART + 1)
        assert [match.span() for match in found] == [
            match.span() for match in pattern.finditer(text)
        ]


@settings(max_examples=500)
@given(st.text("AB0 .", max_size=60), _WORDS)
@example("A A A A A A", ["A", "A"])
@example("0A. B0 AA B A   B A    B", ["A", "B"])
def test_words_are_found_where_their_pattern_is(text: str, words: list[str]) -> None:
    pattern = rf"(?<![A-Z]){'[^A-Z0-9]{1,3}'.join(words)}(?![A-Z])"
    expected = [match.end() for match in re.finditer(pattern, text)] if words else []
    assert list(owners._spelled(text, words)) == expected


@settings(max_examples=300)
@given(_NAMES, _NAMES)
@example("MARIA RENE ANAIR", "MARIA RENE ANAlR")
def test_names_resemble_by_their_ratio(name: str, other: str) -> None:
    ratio = SequenceMatcher(None, name, other, autojunk=False).ratio()
    assert owners._Name(name).resembles(other) == (ratio >= owners._SAME_NAME)


@settings(max_examples=200)
@given(st.text("A1|! ", max_size=40))
def test_a_text_without_mixed_words_holds_none(text: str) -> None:
    if folding._MIXED_WORD.search(text):
        assert folding._IN_MIXED_WORD.search(text)
