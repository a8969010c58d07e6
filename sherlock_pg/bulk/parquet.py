"""Rows of a Parquet file; needs pyarrow, which comes with the extra `parquet`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sherlock_pg.bulk.rows import BadRow, DamagedFile, Position, RawRow, Reason
from sherlock_pg.errors import EnvironmentFault, UsageError

_ROWS_AT_ONCE: Final = 2000


class Parquet:
    """Rows of a Parquet file, a batch of them in memory at a time.

    Args:
        file: a `pyarrow.parquet.ParquetFile`.
        needed: the columns that are read.
    """

    def __init__(self, file: Any, needed: Sequence[str]) -> None:
        self._file = file
        self._needed = list(needed)

    def rows(self, start: Position) -> Iterator[RawRow]:
        """Yield the rows from a position on."""
        import pyarrow

        number = 0
        groups: list[int] = []
        for group in range(self._file.num_row_groups):
            row_count = self._file.metadata.row_group(group).num_rows
            if not groups and number + row_count <= start.offset:
                number += row_count
            else:
                groups.append(group)
        try:
            batches = self._file.iter_batches(
                batch_size=_ROWS_AT_ONCE, row_groups=groups, columns=self._needed
            )
            for batch in batches:
                skipped = min(max(start.offset - number, 0), batch.num_rows)
                number += skipped
                for values in _values(batch.slice(skipped)):
                    number += 1
                    yield RawRow(values, number, Position(number, number))
        except (pyarrow.ArrowException, OSError) as error:
            raise DamagedFile(f"after row {number}: {error}") from error

    def values(self, content: Mapping[str, Any] | BadRow) -> Mapping[str, Any]:
        """Return the fields of a row."""
        if isinstance(content, BadRow):
            raise content
        return content


def _values(batch: Any) -> list[Any]:
    """Return the rows of a batch; where bytes are no UTF-8, why there is no such row."""
    try:
        rows: list[Any] = batch.to_pylist()
    except UnicodeDecodeError as error:
        if batch.num_rows == 1:
            return [BadRow(Reason.ENCODING, str(error))]
        half = batch.num_rows // 2
        return _values(batch.slice(0, half)) + _values(batch.slice(half))
    return rows


@contextlib.contextmanager
def open_parquet(path: Path, needed: Sequence[str]) -> Iterator[Parquet]:
    """Open a Parquet file for reading rows.

    Raises:
        EnvironmentFault: pyarrow is not installed, or the file cannot be read.
        UsageError: it has not these columns.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise EnvironmentFault(
            f"{path}: Parquet files need pyarrow, which is not installed",
            hint="pip install 'sherlock-pg[parquet]'",
        ) from error
    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise UsageError(f"{path} can't be read as Parquet: {error}") from error
    with file:
        names = file.schema_arrow.names
        missing = [name for name in needed if name not in names]
        if missing:
            raise UsageError(
                f"{path} has no column {', '.join(map(repr, missing))}",
                hint=f"it has: {', '.join(map(repr, names[:20]))}",
            )
        yield Parquet(file, needed)
