"""Copies of a text, equal to it in length, on which patterns can be simple.

Every copy keeps the offsets of the original, so a match on a copy is a span of the text.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from sherlock_pg.ner.lexicon import ANY_LABEL, MISREAD_LABELS
from sherlock_pg.ner.misread import Vocabulary

PROTECTED_DOT = "\ue000"
"""Stands in the flow for a dot that does not end a sentence."""

_SAME_LENGTH = {
    "\r": " ",
    "\v": "\n",
    "\f": "\n",
    "\x85": "\n",
    "\u2028": "\n",
    "\u2029": "\n",
    "\u00a0": " ",
    "\u2007": " ",
    "\u202f": " ",
    "¡": "I",
    "º": "°",
    "“": '"',
    "”": '"',
    "«": '"',
    "»": '"',
    "’": "'",
    "‘": "'",
    "´": "'",
    "`": "'",
    "‐": "-",
    "‑": "-",
    "–": "-",
    "—": "-",
    "−": "-",
    "•": "*",
    "·": "*",
    "▪": "*",
    "●": "*",
    "\uf0b7": "*",
    "：": ":",
    "©": "@",
}


def _fold_table() -> dict[int, str]:
    table = {code: chr(code - 32) for code in range(ord("a"), ord("z") + 1)}
    for code in range(0x80, 0x250):
        base = unicodedata.normalize("NFD", chr(code))[0].upper()
        if len(base) == 1 and base.isascii():
            table[code] = base
    table.update({ord(char): replacement for char, replacement in _SAME_LENGTH.items()})
    return table


_FOLD = _fold_table()
_FOLD_LATIN = "".join(map(chr, range(256))).translate(_FOLD).encode("latin-1")
_LATIN_OR_NOT = re.compile("[\x00-\xff]+|[^\x00-\xff]+")
_LOOK_ALIKES = str.maketrans({"0": "O", "1": "I", "6": "O", "|": "I", "!": "I"})
_MIXED_WORD = re.compile(
    r"(?<![A-Z0-9|!])(?:[A-Z]{1,30}[0-9|!][A-Z0-9|!]{0,30}|[0-9|!][A-Z]{2}[A-Z0-9|!]{0,30})"
)
_IN_MIXED_WORD = re.compile(r"[0-9|!](?:(?<=[A-Z].)|(?=[A-Z]{2}))")
_CAPITAL = "[A-ZÁÉÍÓÚÑ]"
_SMALL = "[a-záéíóúñ]"
# The confused character leads each pattern: it is searched for far faster than what surrounds it.
_CAPITAL_ELL = re.compile(
    rf"[l|](?:(?<={_CAPITAL}.)(?={_CAPITAL})|(?<={_CAPITAL}{{2}}.)\b"
    rf"|(?<=l)(?<!{_CAPITAL}.)(?<!{_SMALL}.)(?={_CAPITAL}{{2}}))"
)
_CAPITAL_ZERO = re.compile(
    rf"0(?:(?<={_CAPITAL}{{2}}.)|(?<={_CAPITAL}0.)|(?<={_CAPITAL}.)(?=0{_CAPITAL}))"
    rf"(?=0?{_CAPITAL}|\b)"
)
_LOWER_ZERO = re.compile(rf"0(?<={_SMALL}.)(?={_SMALL}|\b)")

_ABBREVIATION = re.compile(
    r"(?<![A-Za-zÁÉÍÓÚÜÑáéíóúüñ])"
    r"(?:(?:[A-ZÑ]\.\s?){1,6}(?=[A-Za-zÑÁÉÍÓÚ,\s\-]|$)"
    r"|(?:[A-Z]\.){1,5}[A-Z]\b"
    r"|(?:Dra?|DRA?|Sra?|SRA?|Sres|Nos?|NOS?|No|Nº|Nro|NRO|Núm|Num|Ltda|LTDA|Cía|CIA|Sec|Art|Lic"
    r"|Ing|[Vv]da|VDA|[cC]\.[cC]|[Nn]it|NIT|n\.|H)\.)"
)
_NUMBER_DOT = re.compile(r"\.(?<=\d.)\s?(?=\d)")
_MAIL_LIKE = re.compile(
    r"(?<![A-Za-z0-9._%+\-])[A-Za-z0-9._%+\-]{1,64}\s?[@©]\s?[A-Za-z0-9.\-]{1,100}"
)
_MAIL_SIGN = re.compile("[@©]")
LONGEST_LOCAL_PART = 64
_STOP_LINE = re.compile(rf"[ \t]*(?:[\d.\-)*]{{1,8}}[ \t]*)?{ANY_LABEL}")
_LEADING_WORD = re.compile(
    r"^[ \t]*(?P<word>[A-Z0-9|!]{8,14}|[A-Z]{2,10} [A-Z]{1,10})(?=\s?[:;])", re.MULTILINE
)
_CUES = Vocabulary(
    (
        *("TUTELA", "HABEAS", "CEDULA", "CIUDADANIA", "IDENTIFICADO", "IDENTIFICADA", "LIBERTAD"),
        *("ACCIONANTE", "ACCIONADO", "ACCIONADA", "DEMANDANTE", "DEMANDADO", "DEMANDADA"),
        *("PROMOVIDA", "INSTAURADA", "INTERPUESTA", "PRESENTADA", "FORMULADA", "INTERPONGO"),
        *("PRIVADO", "PRIVADA", "ESTABLECIMIENTO", "PENITENCIARIO", "JUZGADO"),
        *("SECRETARIA", "ALCALDIA", "HOSPITAL", "MINISTERIO", "INSTITUTO", "MUNICIPIO"),
        *("DEPARTAMENTO", "ADMINISTRADORA", "SUPERINTENDENCIA", "FISCALIA", "GOBERNACION"),
    )
)
"""Words that rules look for and that no other word is a misreading of."""
_ARTICLE_AT_END = (",", " Y", " DE", " DEL", " LA", " LOS", " LAS", " E", " EL", "-")


def fold(text: str) -> str:
    """Fold to upper-case ASCII where the result has the same length, one line break, one dash."""
    # A table of 256 bytes is twenty times as fast as one of characters.
    try:
        return text.encode("latin-1").translate(_FOLD_LATIN).decode("latin-1")
    except UnicodeEncodeError:
        return _LATIN_OR_NOT.sub(_fold_run, text)


def _fold_run(match: re.Match[str]) -> str:
    run: str = match.group()
    return fold(run) if run[0] <= "\xff" else run.translate(_FOLD)


def fold_labels(text: str) -> str:
    """Fold, and read digits inside words as the letters that OCR took them for."""

    def repair(match: re.Match[str]) -> str:
        word = match.group()
        return word if sum(char.isdigit() for char in word) > 2 else word.translate(_LOOK_ALIKES)

    folded = fold(repair_capitals(text))
    if _IN_MIXED_WORD.search(folded):
        folded = _MIXED_WORD.sub(repair, folded)
    return _LEADING_WORD.sub(_repair_label, _CUES.respelled_in_place(folded))


@lru_cache(maxsize=1024)
def fold_name(name: str) -> str:
    """Fold a name as `fold_labels` does; the same few names are asked for again and again."""
    return fold_labels(name)


def _repair_label(match: re.Match[str]) -> str:
    """Read a misread label ('AECIONADO:') as the only label that is one letter or two away."""
    word = match.group("word")
    if " " in word:
        joined = word.replace(" ", "")
        return match.group().replace(word, f"{joined} ") if joined in MISREAD_LABELS else match[0]
    if word in MISREAD_LABELS:
        return match.group()
    best = min(
        (sum(a != b for a, b in zip(word, label, strict=True)), label)
        for label in (*MISREAD_LABELS, "#" * len(word))
        if len(label) == len(word)
    )
    return match.group().replace(word, best[1]) if 0 < best[0] <= 2 else match.group()


def repair_capitals(text: str) -> str:
    """Read l, | and 0 inside words as I and O (or o), where OCR confused them."""
    text = _CAPITAL_ZERO.sub("O", _CAPITAL_ELL.sub("I", text))
    return _LOWER_ZERO.sub("o", text)


def collapse_spaces(text: str) -> str:
    """Replace each run of white space by one space."""
    return " ".join(text.split())


@dataclass(frozen=True)
class View:
    """A text with its folded copies.

    Attributes:
        text: the text itself.
    """

    text: str

    @cached_property
    def plain(self) -> str:
        """The folded text, digits untouched."""
        return fold(self.text)

    @cached_property
    def folded(self) -> str:
        """The folded text with OCR look-alikes inside words repaired."""
        return fold_labels(self.text)

    @cached_property
    def flow(self) -> str:
        """The folded text with wrapped lines joined and dots of abbreviations protected."""
        flow = list(self.folded)
        for match in itertools.chain(
            _ABBREVIATION.finditer(self.text),
            find_around(_MAIL_SIGN, _MAIL_LIKE, self.text, LONGEST_LOCAL_PART + 1),
            _NUMBER_DOT.finditer(self.text),
        ):
            for offset in range(*match.span()):
                if flow[offset] == ".":
                    flow[offset] = PROTECTED_DOT
        lines = self.folded.split("\n")
        start = 0
        for line, following in itertools.pairwise(lines):
            end = start + len(line)
            raw, raw_following = self.text[start:end], self.text[end + 1 : end + 1 + len(following)]
            if _is_wrapped(raw, raw_following, line, following):
                flow[end] = " "
            start = end + 1
        return "".join(flow)

    def value(self, start: int, end: int) -> str:
        """Give a span as it would have been written on one line without OCR errors."""
        return repair_capitals(collapse_spaces(self.text[start:end]))


def find_around(
    sign: re.Pattern[str], pattern: re.Pattern[str], text: str, reach: int
) -> Iterator[re.Match[str]]:
    """Give the matches of a pattern as `finditer` does, looking only where a sign is.

    Args:
        sign: what each match holds once.
        pattern: what is looked for.
        text: where.
        reach: how far before its sign a match can begin.
    """
    position = 0
    while (found := sign.search(text, position)) is not None:
        match = pattern.search(text, max(position, found.start() - reach))
        if match is None:
            return
        yield match
        position = match.end()


def _is_wrapped(line: str, following: str, folded: str, folded_following: str) -> bool:
    """Tell whether a sentence runs on from one line to the next."""
    line, following = line.rstrip(), following.lstrip()
    if not line or not following or line[-1] in ".:":
        return False
    if _STOP_LINE.match(folded) or _STOP_LINE.match(folded_following):
        return False
    return len(line) >= 70 or following[0].islower() or folded.rstrip().endswith(_ARTICLE_AT_END)


@dataclass(frozen=True)
class Excerpt:
    """The beginning and the end of a long text, with the way back to its offsets.

    Attributes:
        text: what is looked at.
        cut: offset in it from which on it comes from the end of the source.
        shift: what has to be added to an offset behind the cut.
    """

    text: str
    cut: int
    shift: int

    @classmethod
    def of(cls, text: str, head: int, tail: int) -> Excerpt:
        """Take the first `head` and the last `tail` characters, parted by an empty line."""
        gap = "\n\n"
        if len(text) <= head + tail + len(gap):
            return cls(text, len(text) + 1, 0)
        cut = head + len(gap)
        return cls(text[:head] + gap + text[len(text) - tail :], cut, len(text) - tail - cut)

    def source_offset(self, offset: int) -> int:
        """Give the offset in the source of an offset in the excerpt."""
        return offset + self.shift if offset >= self.cut else offset
