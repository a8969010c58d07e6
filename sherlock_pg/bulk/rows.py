"""Rows of a file of texts: where they stand, and what of them is stored."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from sherlock_pg.ingest.model import ExtractOptions

MAX_TEXT_CHARS: Final = ExtractOptions().max_text_chars
"""A longer text is cut, as that of a document is."""

MAX_KEY_BYTES: Final = 1000
"""What fits into an index."""

_PARAGRAPH: Final = "\n\n"
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_BYTES_AS_SURROGATES: Final = re.compile("[\udc80-\udcff]")


class Reason(enum.StrEnum):
    """Why a row was refused."""

    BROKEN = "broken_row"
    ENCODING = "encoding"
    TOO_LONG = "too_long"
    MISSING_FIELD = "missing_field"
    NO_TEXT = "no_text"
    NOT_A_STRING = "not_a_string"
    BAD_KEY = "bad_key"
    DUPLICATE_KEY = "duplicate_key"
    OTHER_TEXT = "other_text"


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two rows of a file.

    Attributes:
        offset: the byte of the unpacked file, or the row of a Parquet file, from 0.
        line_count: lines before it; rows of a Parquet file.
    """

    offset: int = 0
    line_count: int = 0


class RawRow(NamedTuple):
    """A row as it stands in the file.

    Attributes:
        content: what `values` of the reader takes, or why there is no such row.
        line_number: where it begins, from 1.
        end: where the next row begins.
    """

    content: Any
    line_number: int
    end: Position


class BadRow(Exception):
    """A row that is refused.

    Attributes:
        reason: why.
        detail: the same for a person.
        key: the row's key, where it could be read.
    """

    def __init__(self, reason: Reason, detail: str, key: str | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.key = key


class DamagedFile(Exception):
    """A file that cannot be read any further; the rows before are good."""


class RowReader(Protocol):
    """Reads the rows of a file, from any place between two of them."""

    def rows(self, start: Position) -> Iterator[RawRow]:
        """Yield the rows from a position on.

        Raises:
            DamagedFile: the file ends in the middle, or cannot be unpacked any further.
        """

    def values(self, content: Any) -> Mapping[str, Any]:
        """Return the fields of a row.

        Raises:
            BadRow: it is not a row of such a file.
        """


@dataclass(frozen=True, slots=True)
class Row:
    """A text that may be stored.

    Attributes:
        line_number: where it begins in the file, from 1.
        key: what identifies it in the collection.
        name: a name for people.
        text: the text.
        flags: `truncated` for a text that was cut, `repaired` for one with characters that the
            database cannot hold.
    """

    line_number: int
    key: str
    name: str
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that was refused, as `sherlock.rejected_rows` has it."""

    line_number: int
    key: str | None
    reason: str
    detail: str


@dataclass(frozen=True)
class FieldMap:
    """Which fields of a row are its key, its text and its name.

    Attributes:
        text: fields that are the text, one paragraph each, as `sherlock.watch` joins columns.
        key: the field that identifies a row.
        name: the field with a name for people; None for the key.
    """

    text: tuple[str, ...]
    key: str
    name: str | None = None

    @property
    def needed(self) -> list[str]:
        """All fields that are read."""
        return list(dict.fromkeys([*self.text, self.key, *([self.name] if self.name else [])]))

    def row(self, line_number: int, values: Mapping[str, Any]) -> Row:
        """Return what of a row is stored.

        Raises:
            BadRow: it has no usable key or text.
        """
        key = _key(values, self.key)
        try:
            text, flags = _storable(self._text(values))
            name = self._name(values) if self.name else None
        except BadRow as bad:
            bad.key = key
            raise
        return Row(line_number, key, name or key, text, flags)

    def _text(self, values: Mapping[str, Any]) -> str:
        parts = []
        for field in self.text:
            if field not in values:
                raise BadRow(Reason.MISSING_FIELD, f"there is no field {field!r}")
            value = values[field]
            if value is None:
                continue
            if not isinstance(value, str):
                raise BadRow(
                    Reason.NOT_A_STRING, f"field {field!r} is {_kind(value)}, not a string"
                )
            parts.append(value)
        text = parts[0] if len(parts) == 1 else _PARAGRAPH.join(parts)
        if not text or text.isspace():
            raise BadRow(Reason.NO_TEXT, "the text is empty" if parts else "the text is null")
        return text

    def _name(self, values: Mapping[str, Any]) -> str | None:
        value = values.get(str(self.name))
        if value is None or value == "":
            return None
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise BadRow(
                Reason.NOT_A_STRING, f"field {self.name!r} is {_kind(value)}, not a string"
            )
        return _storable(str(value))[0]


def _key(values: Mapping[str, Any], field: str) -> str:
    if field not in values:
        raise BadRow(Reason.MISSING_FIELD, f"there is no field {field!r}")
    value = values[field]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadRow(
            Reason.BAD_KEY, f"the key is {_kind(value)}: a string or a whole number is needed"
        )
    key = str(value)
    if not key:
        raise BadRow(Reason.BAD_KEY, "the key is empty")
    if not _is_storable(key):
        raise BadRow(Reason.BAD_KEY, "the key has NUL or half a character in it")
    if len(key.encode()) > MAX_KEY_BYTES:
        raise BadRow(Reason.BAD_KEY, f"the key is longer than {MAX_KEY_BYTES} bytes")
    return key


def _storable(text: str) -> tuple[str, tuple[str, ...]]:
    flags: tuple[str, ...] = ()
    if not _is_storable(text):
        if _BYTES_AS_SURROGATES.search(text):
            raise BadRow(Reason.ENCODING, "it has bytes that are no text in the file's encoding")
        text = _UNSTORABLE.sub("\ufffd", text)
        flags = ("repaired",)
    if len(text) > MAX_TEXT_CHARS:
        text = text[:MAX_TEXT_CHARS]
        flags += ("truncated",)
    return text, flags


def _is_storable(text: str) -> bool:
    # Many times as fast as the pattern.
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a number", dict: "an object"}
    return kinds.get(type(value), "an array" if isinstance(value, list) else type(value).__name__)
