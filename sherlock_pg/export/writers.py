"""One writer per format: JSON lines, CSV, Parquet. Rows come in batches, none is kept."""

from __future__ import annotations

import enum
import io
import json
from collections.abc import Sequence
from typing import Any, BinaryIO, Protocol

from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.export.columns import Column, Kind, Row

PARQUET_INSTALL = "pip install 'sherlock-pg[parquet]'"


class Format(enum.StrEnum):
    """Forms of an exported file."""

    JSONL = "jsonl"
    """One JSON object a line, UTF-8."""
    CSV = "csv"
    """With a header line, as PostgreSQL's COPY has it: "" is the empty text, nothing is null."""
    PARQUET = "parquet"


class Writer(Protocol):
    """Writes rows to a stream."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write a batch."""

    def close(self) -> None:
        """Write what ends the file; the stream stays open."""


def open_writer(format: Format, stream: BinaryIO, columns: Sequence[Column]) -> Writer:
    """Return the writer of a format.

    Raises:
        EnvironmentFault: Parquet is asked for and pyarrow is not installed.
    """
    if format is Format.PARQUET:
        return _ParquetWriter(stream, columns)
    if format is Format.CSV:
        return _CsvWriter(stream, columns)
    return _JsonLinesWriter(stream, columns)


class _JsonLinesWriter:
    def __init__(self, stream: BinaryIO, columns: Sequence[Column]) -> None:
        self._stream = stream
        self._columns = columns

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            values = {column.name: self._value(column, row) for column in self._columns}
            self._stream.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")

    def close(self) -> None:
        pass

    def _value(self, column: Column, row: Row) -> Any:
        value = row[column.name]
        return _as_text(column, value) if column.kind is Kind.TIME else value


class _CsvWriter:
    def __init__(self, stream: BinaryIO, columns: Sequence[Column]) -> None:
        self._stream = stream
        self._columns = columns
        self._stream.write(",".join(column.name for column in columns).encode() + b"\n")

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            line = ",".join(self._field(column, row[column.name]) for column in self._columns)
            self._stream.write(line.encode() + b"\n")

    def close(self) -> None:
        pass

    def _field(self, column: Column, value: Any) -> str:
        # Not by the module csv, which before Python 3.12 writes null as it writes the empty text.
        if value is None:
            return ""
        if column.kind in (Kind.INTEGER, Kind.NUMBER):
            return repr(value)
        if column.kind is Kind.BOOLEAN:
            return "true" if value else "false"
        return '"' + str(_as_text(column, value)).replace('"', '""') + '"'


class _ParquetWriter:
    def __init__(self, stream: BinaryIO, columns: Sequence[Column]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError as error:
            raise EnvironmentFault(
                "to write Parquet the package pyarrow is needed", hint=PARQUET_INSTALL
            ) from error
        types = {
            Kind.INTEGER: pyarrow.int64(),
            Kind.NUMBER: pyarrow.float64(),
            Kind.BOOLEAN: pyarrow.bool_(),
            Kind.TEXT: pyarrow.string(),
            Kind.TIME: pyarrow.timestamp("us", tz="UTC"),
            Kind.JSON: pyarrow.string(),
        }
        self._columns = columns
        self._schema = pyarrow.schema([(column.name, types[column.kind]) for column in columns])
        self._table_of = pyarrow.Table.from_pylist
        self._writer = pyarrow.parquet.ParquetWriter(
            _Counted(stream), self._schema, compression="zstd"
        )

    def write(self, rows: Sequence[Row]) -> None:
        values = [
            {
                column.name: _as_text(column, row[column.name])
                if column.kind is Kind.JSON
                else row[column.name]
                for column in self._columns
            }
            for row in rows
        ]
        self._writer.write_table(self._table_of(values, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _Counted(io.RawIOBase):
    """A stream that knows how far it is: Parquet asks, and a pipe does not tell."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position


def _as_text(column: Column, value: Any) -> Any:
    """Return times and JSON as a text; None and texts as they are."""
    if value is None:
        return None
    if column.kind is Kind.TIME:
        return value.isoformat()
    if column.kind is Kind.JSON:
        return json.dumps(value, ensure_ascii=False)
    return value
