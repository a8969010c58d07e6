"""Lines of a text file with their places, and the two formats that are made of them."""

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

from sherlock_pg.bulk.rows import BadRow, DamagedFile, Position, RawRow, Reason
from sherlock_pg.errors import UsageError

MAX_LINE_BYTES: Final = 128 << 20
"""A line of twenty million characters, escaped, is not longer."""

DELIMITERS: Final = (",", "\t", ";", "|")

_BOM: Final = "\ufeff"
_PIECE_BYTES: Final = 1 << 20


class Lines:
    """Lines of a file one by one; knows the place after the last one.

    Args:
        stream: the unpacked file.
        start: where to begin; must be the beginning of a line.
    """

    def __init__(self, stream: IO[bytes], start: Position) -> None:
        self._stream = stream
        self.offset = start.offset
        self.line_count = start.line_count
        try:
            stream.seek(start.offset)
        except (EOFError, zlib.error, OSError) as error:
            raise DamagedFile(_about(error)) from error

    @property
    def position(self) -> Position:
        """The place after the line that was read last."""
        return Position(self.offset, self.line_count)

    def next(self) -> bytes | None:
        """Return the next line with its end, empty at the end of the file; None if it is too long.

        Raises:
            DamagedFile: the file ends in the middle, or cannot be unpacked any further.
        """
        try:
            line = self._stream.readline(MAX_LINE_BYTES)
            self.offset += len(line)
            is_too_long = len(line) == MAX_LINE_BYTES and not line.endswith(b"\n")
            if is_too_long:
                while (piece := self._stream.readline(_PIECE_BYTES)) and self._skip(piece):
                    pass
        except (EOFError, zlib.error, OSError) as error:
            raise DamagedFile(_about(error)) from error
        self.line_count += bool(line)
        return None if is_too_long else line

    def _skip(self, piece: bytes) -> bool:
        self.offset += len(piece)
        return not piece.endswith(b"\n")

    def go_back(self, position: Position) -> None:
        """Read on from an earlier place."""
        self._stream.seek(position.offset)
        self.offset, self.line_count = position.offset, position.line_count


class JsonLines:
    """One JSON object a line; blank lines are nothing.

    Args:
        stream: the unpacked file.
        encoding: of the text; one in which ASCII is ASCII.
    """

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding

    def rows(self, start: Position) -> Iterator[RawRow]:
        """Yield the rows from a position on."""
        lines = Lines(self._stream, start)
        while (line := lines.next()) != b"":
            if line is None or not line.isspace():
                yield RawRow(line, lines.line_count, lines.position)

    def values(self, content: bytes | None) -> Mapping[str, Any]:
        """Return the fields of a row."""
        if content is None:
            raise BadRow(Reason.TOO_LONG, f"the line is longer than {MAX_LINE_BYTES} bytes")
        try:
            text = content.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise BadRow(Reason.ENCODING, str(error)) from error
        try:
            values = json.loads(text.removeprefix(_BOM))
        except (ValueError, RecursionError) as error:
            raise BadRow(Reason.BROKEN, f"not a JSON object: {error}") from error
        if not isinstance(values, dict):
            raise BadRow(Reason.BROKEN, "not a JSON object but another value")
        return values


class Csv:
    """Rows of fields under a line of names; quoted fields may have several lines.

    After a row that cannot be read it goes on with the next line, so that a quote that is not
    closed costs one row and not the rest of the file.

    Args:
        stream: the unpacked file.
        encoding: of the text; one in which ASCII is ASCII.
        needed: names of the columns that tell the delimiter.

    Raises:
        UsageError: the file has not these columns.
    """

    def __init__(self, stream: IO[bytes], encoding: str, needed: Sequence[str]) -> None:
        # One limit for the process; the module's own is lower than a text may be.
        csv.field_size_limit(MAX_LINE_BYTES)
        self._stream = stream
        self._encoding = encoding
        lines = Lines(stream, Position())
        found: dict[str, tuple[list[str], Position]] = {}
        for delimiter in DELIMITERS:
            lines.go_back(Position())
            names = self._names(lines, delimiter)
            if set(needed) <= set(names):
                break
            found[delimiter] = (names, lines.position)
        else:
            names = max((names for names, _ in found.values()), key=len)
            missing = [name for name in needed if name not in names]
            raise UsageError(
                f"the file has no column {', '.join(map(repr, missing))}",
                hint=f"its first line names: {', '.join(map(repr, names[:20]))}",
            )
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1 and name in needed})
            if twice:
                raise UsageError(
                    f"the file has two columns {twice[0]!r}", hint="give one of them another name"
                )
        self._fields = names
        self._delimiter = delimiter
        self._first = lines.position

    def rows(self, start: Position) -> Iterator[RawRow]:
        """Yield the rows from a position on."""
        lines = Lines(self._stream, max(start, self._first, key=lambda at: at.offset))
        parser = self._parser(lines, self._delimiter)
        while True:
            start = lines.position
            try:
                content: Any = next(parser)
            except StopIteration:
                return
            except csv.Error as error:
                content = BadRow(Reason.BROKEN, str(error))
                if lines.line_count > start.line_count + 1:
                    lines.go_back(start)
                    lines.next()
                parser = self._parser(lines, self._delimiter)
            if content != []:
                yield RawRow(content, start.line_count + 1, lines.position)

    def values(self, content: list[str] | BadRow) -> Mapping[str, Any]:
        """Return the fields of a row."""
        if isinstance(content, BadRow):
            raise content
        if len(content) != len(self._fields):
            raise BadRow(
                Reason.BROKEN,
                f"it has {len(content)} fields, the first line of the file {len(self._fields)}",
            )
        return dict(zip(self._fields, content, strict=True))

    def _names(self, lines: Lines, delimiter: str) -> list[str]:
        try:
            names = next(self._parser(lines, delimiter), [])
        except csv.Error:
            return []
        return [name.strip() for name in names]

    def _parser(self, lines: Lines, delimiter: str) -> Iterator[list[str]]:
        return csv.reader(self._decoded(lines), delimiter=delimiter, strict=True)

    def _decoded(self, lines: Lines) -> Iterator[str]:
        while (line := lines.next()) != b"":
            if line is None:
                raise csv.Error(f"a line is longer than {MAX_LINE_BYTES} bytes")
            is_first = lines.offset == len(line)
            # Bytes that are no text become surrogates, and the row that needs them is refused.
            text = line.decode(self._encoding, "surrogateescape")
            yield text.removeprefix(_BOM) if is_first else text


def _about(error: Exception) -> str:
    return str(error) or type(error).__name__
