"""RTF documents: what the printed document would say, in its order.

striprtf is not used: it drops text boxes, footnotes, headers and footers, and keeps what tracked
changes have deleted.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

from sherlock_pg.ingest.layout import join_parts
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.source import TextSource

_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})?\x20?"
    r"|\\'(?P<hex>[0-9A-Fa-f]{2})"
    r"|\\(?P<symbol>[^A-Za-z])"
    r"|(?P<brace>[{}])"
    r"|(?P<text>[^\\{}\r\n]+)"
    r"|[\r\n]+"
    r"|\\",
    re.S,
)
_CHARACTERS = {
    "par": "\n",
    "line": "\n",
    "sect": "\n",
    "page": "\n",
    "column": "\n",
    "row": "\n",
    "nestrow": "\n",
    "cell": "\t",
    "nestcell": "\t",
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
}
_SYMBOLS = {"~": " ", "_": "-", "\n": "\n", "\r": "\n", "\\": "\\", "{": "{", "}": "}"}
_HEADERS = frozenset({"header", "headerl", "headerr", "headerf"})
_FOOTERS = frozenset({"footer", "footerl", "footerr", "footerf"})
_LEFT_OUT = frozenset(
    """info stylesheet colortbl pict nonshppict shprslt fldinst annotation atnid atnauthor
    bkmkstart bkmkend xe tc txe rxe sn sv objdata listtable listoverridetable
    revtbl filetbl upr do ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn template operator
    themedata colorschememapping datastore latentstyles rsidtbl generator nesttableprops
    nonesttables background pgptbl mmathPr xmlnstbl""".split()  # noqa: SIM905 - a word list
)
_READ_THOUGH_OPTIONAL = frozenset({"shpinst", "ud", "shptxt"})
"""Destinations that older readers should skip, marked by a star, but that hold shown text."""

_CHARSETS = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    134: "gbk",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
_CHARACTER_SETS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SURROGATES = re.compile("[\ud800-\udfff]+")


def open_rtf(data: bytes) -> TextSource:
    """Open an RTF document.

    Raises:
        ExtractionFailure: `damaged` if nothing but a beginning is left.
    """
    reader = _Reader(data.decode("latin-1"))
    reader.read()
    is_cut_off = reader.depth > 0
    text = join_parts(
        (part.text() for part in reader.headers),
        reader.body.text(),
        (part.text() for part in reader.notes),
        (part.text() for part in reader.footers),
    )
    if is_cut_off and not text.strip():
        raise ExtractionFailure(Reason.DAMAGED, "the file is cut off before its text")
    return TextSource(
        text,
        flags=[Flag.REPAIRED] if is_cut_off else [],
        loss="the file is cut off" if is_cut_off else "",
    )


@dataclass(slots=True)
class _Part:
    """A flow of text: the body, a header, a note."""

    pieces: list[str] = field(default_factory=list)

    def text(self) -> str:
        joined = "".join(self.pieces)
        joined = _SURROGATES.sub(
            lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
            joined,
        )
        return "\n".join(line.rstrip() for line in joined.split("\n"))


@dataclass(slots=True)
class _State:
    """What holds inside a group and ends with it."""

    part: _Part
    is_left_out: bool = False
    is_font_table: bool = False
    is_deleted: bool = False
    is_hidden: bool = False
    font: int | None = None
    fallback_chars: int = 1

    def copy(self) -> _State:
        # A document has a hundred thousand groups: dataclasses.replace takes most of the time.
        return _State(
            self.part,
            self.is_left_out,
            self.is_font_table,
            self.is_deleted,
            self.is_hidden,
            self.font,
            self.fallback_chars,
        )


class _Reader:
    """One pass over the file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.body = _Part()
        self.headers: list[_Part] = []
        self.footers: list[_Part] = []
        self.notes: list[_Part] = []
        self._state = _State(self.body)
        self._outer: list[_State] = []
        self._encoding = "cp1252"
        self._default_font: int | None = None
        self._fonts: dict[int, str] = {}
        self._bytes = bytearray()
        self._skip = 0
        self._is_optional = False

    @property
    def depth(self) -> int:
        """Number of groups that are open."""
        return len(self._outer)

    def read(self) -> None:
        position, end = 0, len(self._source)
        while position < end:
            token = _TOKEN.match(self._source, position)
            if token is None:
                break
            position = token.end()
            kind = token.lastgroup
            if kind == "text":
                self._text(token["text"])
            elif kind == "hex":
                self._byte(int(token["hex"], 16))
            elif kind == "brace":
                self._flush()
                self._skip = 0
                self._is_optional = False
                if token["brace"] == "{":
                    self._outer.append(self._state)
                    self._state = self._state.copy()
                elif self._outer:
                    self._state = self._outer.pop()
                    if not self._outer:
                        break  # what follows the document is not part of it
            elif kind in ("word", "number"):
                number = int(token["number"]) if token["number"] else None
                if token["word"] == "bin":
                    position += max(0, number or 0)
                elif self._skip:
                    self._skip -= 1
                else:
                    self._flush()
                    self._control(token["word"], number)
            elif kind == "symbol":
                self._symbol(token["symbol"])
        self._flush()

    def _text(self, text: str) -> None:
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        if self._is_shown():
            self._bytes += text[skipped:].encode("latin-1")

    def _byte(self, value: int) -> None:
        if self._skip:
            self._skip -= 1
        elif self._is_shown():
            self._bytes.append(value)

    def _symbol(self, symbol: str) -> None:
        if symbol == "*":
            self._is_optional = True
        elif self._skip:
            self._skip -= 1
        elif symbol in _SYMBOLS:
            self._flush()
            self._write(_SYMBOLS[symbol])

    def _is_shown(self) -> bool:
        state = self._state
        return not (state.is_left_out or state.is_font_table or state.is_deleted or state.is_hidden)

    def _write(self, text: str) -> None:
        if self._is_shown():
            self._state.part.pieces.append(text)

    def _flush(self) -> None:
        """Decode the bytes gathered in the code page of their font."""
        if self._bytes:
            font = self._state.font if self._state.font is not None else self._default_font
            encoding = self._encoding if font is None else self._fonts.get(font, self._encoding)
            self._state.part.pieces.append(self._bytes.decode(encoding, "ignore"))
            self._bytes.clear()

    def _control(self, word: str, number: int | None) -> None:
        state = self._state
        is_optional, self._is_optional = self._is_optional, False
        if word in _LEFT_OUT or (is_optional and word not in _READ_THOUGH_OPTIONAL):
            state.is_left_out = True
        elif word == "ud":
            state.is_left_out = False
        elif word in _HEADERS:
            state.part = _begin(self.headers)
        elif word in _FOOTERS:
            state.part = _begin(self.footers)
        elif word == "footnote":
            state.part = _begin(self.notes)
        elif word == "shptxt":
            self._write("\n")
        elif word in _CHARACTERS:
            self._write(_CHARACTERS[word])
        elif word == "u" and number is not None:
            self._write(chr(number & 0xFFFF))
            self._skip = state.fallback_chars
        elif word == "uc":
            state.fallback_chars = max(0, number or 0)
        else:
            self._format(word, number)

    def _format(self, word: str, number: int | None) -> None:
        """Follow what changes how bytes are read or whether they are shown."""
        state = self._state
        if word == "f":
            state.font = number
        elif word == "deff":
            self._default_font = number
        elif word == "fonttbl":
            state.is_font_table = True
        elif word in ("fcharset", "cpg") and state.is_font_table and state.font is not None:
            encoding = _CHARSETS.get(number or 0, "") if word == "fcharset" else f"cp{number}"
            if _is_known(encoding):
                self._fonts[state.font] = encoding
        elif word == "ansicpg" and _is_known(f"cp{number}"):
            self._encoding = f"cp{number}"
        elif word in _CHARACTER_SETS:
            self._encoding = _CHARACTER_SETS[word]
        elif word == "v":
            state.is_hidden = number != 0
        elif word == "deleted":
            state.is_deleted = number != 0
        elif word == "plain":
            state.is_hidden = state.is_deleted = False
            state.font = None


def _begin(parts: list[_Part]) -> _Part:
    parts.append(_Part())
    return parts[-1]


def _is_known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except LookupError:
        return False
    return True
