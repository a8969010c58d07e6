"""Which files hold many texts, and how they are opened."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal, cast

from sherlock_pg.bulk.lines import Csv, JsonLines
from sherlock_pg.bulk.rows import RowReader
from sherlock_pg.errors import EnvironmentFault, UsageError
from sherlock_pg.load.walk import walk

Format = Literal["jsonl", "csv", "parquet"]

FORMATS: Final = "JSON lines, CSV or Parquet"

_FORMAT_BY_SUFFIX: Final[dict[str, Format]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
_COMPRESSED_SUFFIX: Final = ".gz"
_GZIP_MAGIC: Final = b"\x1f\x8b"
_PARQUET_MAGIC: Final = b"PAR1"
_OTHERS: Final = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"\xd0\xcf\x11\xe0": "an old office document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"{\\rtf": "an RTF document",
    b"SQLite format 3": "an SQLite database",
}
_WIDE_BOMS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_HEAD_BYTES: Final = 1 << 16
_CHUNK_BYTES: Final = 1 << 20
_ASCII: Final = bytes(range(0x20, 0x7F)) + b"\t\r\n"


@dataclass(frozen=True)
class BulkFile:
    """A file of texts.

    Attributes:
        path: where it is.
        format: how its rows are written.
        is_compressed: it is packed with gzip.
        encoding: of its text; for Parquet always UTF-8.
    """

    path: Path
    format: Format
    is_compressed: bool = False
    encoding: str = "utf-8"

    @contextlib.contextmanager
    def open(self, needed: Sequence[str]) -> Iterator[RowReader]:
        """Open the file for reading rows.

        Args:
            needed: fields that will be asked for.

        Raises:
            UsageError: it has not these columns, or their types are no texts.
            EnvironmentFault: pyarrow is missing for a Parquet file.
        """
        if self.format == "parquet":
            from sherlock_pg.bulk.parquet import open_parquet

            with open_parquet(self.path, needed) as reader:
                yield reader
            return
        with _unpacked(self.path, self.is_compressed) as stream:
            if self.format == "jsonl":
                yield JsonLines(stream, self.encoding)
            else:
                yield Csv(stream, self.encoding, needed)


@dataclass(frozen=True)
class Identity:
    """What tells one content of a file from another."""

    sha256: bytes
    size_bytes: int


def identify(path: Path, on_bytes: Callable[[int], None] = lambda count: None) -> Identity:
    """Hash a file, however large it is.

    Args:
        path: a regular file.
        on_bytes: called with the number of bytes after each piece.
    """
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
            on_bytes(len(chunk))
    return Identity(digest.digest(), size)


def is_bulk_name(path: Path) -> bool:
    """Say whether a file's name is that of a file of many texts."""
    return _format_by_name(path) is not None


def find_files(paths: Iterable[Path], encoding: str) -> list[BulkFile]:
    """Return the files of texts among paths; of folders those whose names say so.

    Raises:
        UsageError: a path is no such file, or an unknown encoding.
    """
    _check_encoding(encoding)
    files: list[BulkFile] = []
    for path in paths:
        if path.is_dir():
            found = [file for file in walk([path]) if is_bulk_name(file)]
            if not found:
                raise UsageError(
                    f"no file of texts in {path}",
                    hint="their names end in .jsonl, .ndjson, .csv, .tsv or .parquet, perhaps "
                    "with .gz behind",
                )
            files += [_recognise(file, encoding) for file in found]
        else:
            files.append(_recognise(path, encoding))
    return list(dict.fromkeys(files))


def _recognise(path: Path, encoding: str) -> BulkFile:
    """Say what a file is by its content, where that leaves it open by its name.

    Raises:
        UsageError: it is missing, or not a file of texts.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is not a regular file", hint="write it to a file first")
        with path.open("rb") as raw:
            is_compressed = raw.read(2) == _GZIP_MAGIC
        with _unpacked(path, is_compressed) as stream:
            head = stream.read(_HEAD_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} can't be unpacked: {error}", hint="pack it again") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    if head.startswith(_PARQUET_MAGIC):
        if is_compressed:
            raise UsageError(f"{path} is a packed Parquet file", hint=f"gunzip {path}")
        return BulkFile(path, "parquet")
    _refuse_other(path, head)
    by_name = _format_by_name(path)
    if by_name == "parquet":
        raise UsageError(f"{path} is no Parquet file", hint="its first bytes are not PAR1")
    if by_name is None:
        by_name = "jsonl" if head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith(b"{") else "csv"
    return BulkFile(path, by_name, is_compressed, encoding)


def _refuse_other(path: Path, head: bytes) -> None:
    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise UsageError(
                f"{path} is {what}: --text is for files of many texts ({FORMATS})",
                hint="documents are loaded without --text",
            )
    if head.startswith(_WIDE_BOMS):
        raise UsageError(
            f"{path} is written in UTF-16 or UTF-32",
            hint=f"make it UTF-8: iconv -f UTF-16 -t UTF-8 {path} > NEW",
        )
    if head.count(0) * 10 > len(head):
        raise UsageError(
            f"{path} is not a text file: {FORMATS} is needed",
            hint="if it is UTF-16 without a mark: iconv -f UTF-16LE -t UTF-8",
        )


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise UsageError(
            f"unknown encoding {encoding!r}", hint="as Python names them: utf-8, latin-1, cp1252"
        ) from error
    if _ASCII.decode(encoding, "replace") != _ASCII.decode():
        raise UsageError(
            f"files can't be read line by line in {encoding}",
            hint="make the file UTF-8 first: iconv -f ENCODING -t UTF-8",
        )


def _format_by_name(path: Path) -> Format | None:
    name = path.name.lower()
    return _FORMAT_BY_SUFFIX.get(Path(name.removesuffix(_COMPRESSED_SUFFIX)).suffix)


@contextlib.contextmanager
def _unpacked(path: Path, is_compressed: bool) -> Iterator[IO[bytes]]:
    try:
        raw = path.open("rb", buffering=_CHUNK_BYTES)
    except OSError as error:
        raise EnvironmentFault(
            f"{path}: {error.strerror or error}", hint=f"user id {os.getuid()} must read it"
        ) from error
    with raw:
        if is_compressed:
            # GzipFile has the methods of a binary stream but not its type.
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast("IO[bytes]", unpacked)
        else:
            yield raw
