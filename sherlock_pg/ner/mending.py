"""What layout and scanning did to a text, undone before it is read, with the way back to it.

Composed accents, words divided at the end of a line, blank lines in the middle of a sentence and
marks of footnotes behind names would each stand between a rule and what it looks for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from sherlock_pg.ner.folding import fold
from sherlock_pg.ner.lexicon import ANY_LABEL, INSTITUTION_HEAD

_LETTER = r"[^\W\d_]"
# The rarer character leads each pattern: it is searched for far faster than what surrounds it.
_DIVIDED = re.compile(
    r"(?P<gap>[\-\u00ad\u00ac]"
    rf"(?<={_LETTER}{{2}}.)[ \t]*\n[ \t]{{0,12}})(?P<rest>{_LETTER}{{2,30}})"
)
_BLANK_LINES = re.compile(r"\n[ \t]*\n[ \t\n]{0,12}(?=[^\W\d_])")
_OPEN_WORD = re.compile(r"(?:^|\s)(?:DE|DEL|LA|LAS|LOS|EL|EN|CON|AL|QUE|POR)\Z")
_LABEL_OR_SPEAKER = re.compile(rf"(?:{ANY_LABEL}|YO(?![A-Z]))")
_FOOTNOTE_MARK = re.compile(
    r"\d(?=[ \t]*\n)"
    rf"(?:(?<={_LETTER}{{4}}.)|(?<={_LETTER}\).)|(?<={_LETTER}\.\).))"
)
_SURNAMES_FIELD = re.compile(
    r"(?<=\n)(?P<names>[ \t]*nombres?[ \t]*:[^\n:]{2,40})(?P<field>\n[ \t]*apellidos?[ \t]*:)",
    re.IGNORECASE,
)
_SENTENCE_LINE = 45
"""A shorter line that ends without a full stop is taken for a heading or an item of a form."""


class Mended:
    """A mended text.

    Attributes:
        text: the text without what layout did to it.
    """

    def __init__(self, text: str) -> None:
        self.text, offsets = _compose(text)
        self.text = _FOOTNOTE_MARK.sub(" ", self.text)
        self.text = _SURNAMES_FIELD.sub(
            lambda match: match["names"] + " " * len(match["field"]), self.text
        )
        self.text = _BLANK_LINES.sub(_close_gap, self.text)
        self.text, self._offsets = _join_words(self.text, offsets)

    def source_offset(self, offset: int) -> int:
        """Give the offset in the source of an offset in the mended text."""
        return offset if self._offsets is None else self._offsets[offset]


def _compose(text: str) -> tuple[str, Sequence[int] | None]:
    """Compose combining accents, with the original offset of each character (None if unchanged)."""
    if unicodedata.is_normalized("NFC", text):
        return text, None
    pieces: list[str] = []
    offsets: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and unicodedata.combining(text[end]):
            continue
        piece = unicodedata.normalize("NFC", text[start:end])
        pieces.append(piece)
        offsets.extend([start] * len(piece))
        start = end
    offsets.append(len(text))
    return "".join(pieces), offsets


def _close_gap(match: re.Match[str]) -> str:
    """Make spaces of blank lines where a sentence or a name runs on behind them."""
    gap: str = match.group()
    line = match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()].rstrip()
    if not line:
        return gap
    runs_on = (
        len(line) >= _SENTENCE_LINE
        and match.string[match.end()].islower()
        and (line[-1].isalnum() or line[-1] in ",)")
    )
    if not runs_on and not _OPEN_WORD.search(fold(line[-8:])):
        return gap
    following = fold(match.string[match.end() : match.end() + 40])
    if _LABEL_OR_SPEAKER.match(following) is None:
        return "\n" + " " * (len(gap) - 1)
    return gap


def _join_words(text: str, offsets: Sequence[int] | None) -> tuple[str, Sequence[int] | None]:
    """Join words divided at the end of a line: 'ciuda-' and 'danía'."""
    gaps = [match.span("gap") for match in _DIVIDED.finditer(text) if _is_one_word(match)]
    if not gaps:
        return text, offsets
    kept: list[int] = []
    position = 0
    for start, end in gaps:
        kept.extend(range(position, start))
        position = end
    kept.extend(range(position, len(text)))
    joined = "".join(text[offset] for offset in kept)
    kept.append(len(text))
    return joined, kept if offsets is None else [offsets[offset] for offset in kept]


def _is_one_word(match: re.Match[str]) -> bool:
    rest: str = match["rest"]
    if rest.islower():
        return True
    before = match.string[match.start() - 2 : match.start()]
    return before.isupper() and rest.isupper() and not INSTITUTION_HEAD.match(fold(rest))
