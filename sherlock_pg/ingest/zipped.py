"""ZIP files, which are also what DOCX and ODT are: opened and read within limits."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason

_MAX_RATIO = 200
_SMALL_BYTES = 16 << 20
_IS_ENCRYPTED = 0x1
_NAME_IS_UTF8 = 0x800
_BROKEN_ZIP = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    IndexError,
    OverflowError,
    RuntimeError,
)


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Open a ZIP file.

    Raises:
        ExtractionFailure: `damaged` if its list of members cannot be read.
    """
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN_ZIP as error:
        raise ExtractionFailure(Reason.DAMAGED, f"not a whole ZIP file: {error}") from error


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, max_bytes: int) -> bytes:
    """Read one member whole.

    Its stated size is judged first and cannot be exceeded then: reading stops there.

    Raises:
        ExtractionFailure: `encrypted`, `too_big` or `damaged`.
    """
    if member.flag_bits & _IS_ENCRYPTED:
        raise ExtractionFailure(Reason.ENCRYPTED, "protected by a password")
    size = member.file_size
    if size > max_bytes:
        raise ExtractionFailure(Reason.TOO_BIG, f"{size} bytes unpacked, the limit is {max_bytes}")
    if size > _SMALL_BYTES and size > _MAX_RATIO * member.compress_size:
        raise ExtractionFailure(
            Reason.TOO_BIG, f"unpacks from {member.compress_size} to {size} bytes, as a bomb does"
        )
    try:
        with archive.open(member) as file:
            content = file.read(max_bytes + 1)
    except NotImplementedError as error:
        raise ExtractionFailure(Reason.UNSUPPORTED_TYPE, str(error)) from error
    except _BROKEN_ZIP as error:
        raise ExtractionFailure(Reason.DAMAGED, f"{type(error).__name__}: {error}") from error
    if len(content) != size:
        raise ExtractionFailure(Reason.DAMAGED, f"holds {len(content)} of {size} bytes")
    return content


def member_name(member: zipfile.ZipInfo) -> str:
    """Give the name of a member as whoever packed it saw it.

    A name without the mark for UTF-8 is taken for UTF-8 all the same if it is that (macOS and
    Linux leave the mark out), otherwise for the code page of Spanish Windows.
    """
    if member.flag_bits & _NAME_IS_UTF8 or member.filename.isascii():
        return member.filename
    try:
        raw = member.filename.encode("cp437")
    except UnicodeEncodeError:
        return member.filename  # from a Unicode extra field
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp850")
