"""Numbers and dates of a text in Python, equal to `sherlock._references` in SQL.

The SQL file says what is looked for and why; here the same steps are taken without a round trip
per document, for loading documents in bulk. A property test compares the two.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

_MOST_NUMBERS: Final = 200
_LONGEST_WORD: Final = 200
_LONGEST_NUMBER: Final = 40
_DIGITS: Final = "0123456789"
_OTHER_SPACES: Final = "\n\r\t\f\u00a0"
_BETWEEN: Final = '!"#$%&()*+-/:;<=>?@[\\]^_`{|}~¡¢£§©ª«¬®°±·º»¿‐‑–—“”„•…€№'
_TO_TOKENS: Final = str.maketrans({**dict.fromkeys(_BETWEEN, " "), **dict.fromkeys(",'’´", ".")})
_MISREAD: Final = str.maketrans("OoIiLlZzSsBbGgQq", "0011112255889999")
_WORD_WITH_TWO_DIGITS: Final = re.compile(" ([^ 0-9]*+[0-9][^ 0-9]*+[0-9][^ ]*+)")
"""Begins with a space, because a pattern that begins with a letter of its own is found faster."""
_MAX_CACHED_WORDS: Final = 1 << 14

_MOST_DATES: Final = 100
_MOST_YEARS: Final = 1000
_YEAR: Final = re.compile(rb" (?:19|20)[0-9][0-9](?![^ ])")
_MONTHS: Final = {
    month: number
    for number, month in enumerate(
        (
            "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
            "septiembre", "octubre", "noviembre", "diciembre",
        ),
        1,
    )
} | {"setiembre": 9}  # fmt: skip
_NUMERIC_MONTHS: Final = {str(number): number for number in range(1, 13)}
_FIRST: Final = frozenset({"primero", "1o", "1ro", "1ero", "1er"})
_NUMBER_WORDS: Final = frozenset(
    {
        "de", "del", "ano", "mil", "y", "uno", "un", "dos", "tres", "cuatro", "cinco", "seis",
        "siete", "ocho", "nueve", "diez", "once", "doce", "trece", "catorce", "quince",
        "dieciseis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno", "veintiun",
        "veintidos", "veintitres", "veinticuatro", "veinticinco", "veintiseis", "veintisiete",
        "veintiocho", "veintinueve", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta",
        "ochenta", "noventa", "novecientos",
    }
)  # fmt: skip
_MOST_NUMBER_WORDS: Final = 10
_BEFORE_MONTH: Final = 8


class References(NamedTuple):
    """What tells one matter from another, in the order of the text.

    Attributes:
        numbers: numbers of three digits or more, no years.
        dates: dates.
    """

    numbers: list[str]
    dates: list[datetime.date]


def references(text: str, canonical: bytes) -> References:
    """Return the numbers and dates of a text.

    Args:
        text: the text.
        canonical: its canonical text, UTF-8 encoded.
    """
    # The canonical text has all digits that the text has, and many texts have none.
    if len(canonical) - len(canonical.translate(None, _DIGITS.encode())) < 2:
        return References([], [])
    return References(_number_references(text), _date_references(canonical))


def _number_references(text: str) -> list[str]:
    for space in _OTHER_SPACES:
        text = text.replace(space, " ")
    numbers: dict[str, None] = {}
    for word in dict.fromkeys(_WORD_WITH_TWO_DIGITS.findall(f" {text}")):
        if len(word) > _LONGEST_WORD:
            continue
        for number in _numbers_of_word(word):
            numbers[number] = None
            if len(numbers) == _MOST_NUMBERS:
                return list(numbers)
    return list(numbers)


@lru_cache(_MAX_CACHED_WORDS)
def _numbers_of_word(word: str) -> tuple[str, ...]:
    """Return the numbers of a word; texts of one collection have most of their words in common."""
    return tuple(
        number
        for token in word.translate(_TO_TOKENS).split(" ")
        if len(token.encode("utf-8", "surrogatepass")) >= 3
        for number in _joined_numbers(token)
        if 3 <= len(number) <= _LONGEST_NUMBER and not _is_year(number)
    )


def _joined_numbers(token: str) -> list[str]:
    """Return the numbers of a token; three digits after a mark belong to the number before."""
    numbers: list[str] = []
    is_marked = False
    for part in map(_digits_misread, token.split(".")):
        if (
            is_marked
            and part is not None
            and len(part) == 3
            and len(numbers[-1]) <= _LONGEST_NUMBER - 3
        ):
            numbers[-1] += part
            continue
        is_marked = part is not None and 1 <= len(part) <= 3
        if part is not None:
            numbers.append(part)
    return numbers


def _digits_misread(part: str) -> str | None:
    """Return a part of a word as digits, also where OCR took some for letters; None for others."""
    if not part.strip(_DIGITS):
        return part
    digit_count = sum(part.count(digit) for digit in _DIGITS)
    if digit_count >= 2 and 2 * digit_count >= len(part):
        read = part.translate(_MISREAD)
        if not read.strip(_DIGITS):
            return read
    return None


def _is_year(word: str) -> bool:
    return len(word) == 4 and "1900" <= word <= "2099"


def _date_references(canonical: bytes) -> list[datetime.date]:
    dates: dict[datetime.date, None] = {}
    words: list[str] = []
    spaced = b" " + canonical
    year_at = -1
    before = 0
    for match in islice(_YEAR.finditer(spaced), _MOST_YEARS):
        words = words or canonical.decode().split(" ")
        year_at += spaced.count(b" ", before, match.start() + 1)
        before = match.start() + 1
        date = _date_before(words, year_at)
        if date is not None:
            dates[date] = None
            if len(dates) == _MOST_DATES:
                break
    return list(dates)


def _date_before(words: Sequence[str], year_at: int) -> datetime.date | None:
    """Return the date that ends with a year, read backwards."""

    def word(at: int) -> str | None:
        return words[at] if at >= 0 else None

    at = year_at - 1
    while word(at) in _NUMBER_WORDS and at >= year_at - _MOST_NUMBER_WORDS:
        at -= 1
    month = _MONTHS.get(word(at) or "")
    day: str | None = None
    if month is not None:
        for _ in range(_BEFORE_MONTH):
            at -= 1
            found = word(at)
            day = "1" if found in _FIRST else found
            if day is not None and not day.strip(_DIGITS):
                break
    else:
        day = word(at)
        month_at = at - 1
        while word(month_at) in _NUMBER_WORDS and month_at >= at - _BEFORE_MONTH:
            month_at -= 1
        month = _MONTHS.get(word(month_at) or "")
        if month is None and at == year_at - 1:
            month = _NUMERIC_MONTHS.get((word(at) or "").lstrip("0"))
            day = word(at - 1)
    if month is None or day is None or len(day) > 2 or day.strip(_DIGITS):
        return None
    try:
        return datetime.date(int(words[year_at]), month, int(day))
    except ValueError:  # not every month has a 31st
        return None
