"""SHA-256 and size of a file: what the gate asks for."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.reasons import Reason

_MAX_BYTES = ExtractOptions().max_file_bytes
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Fingerprint:
    """What identifies a file's bytes."""

    sha256: bytes
    size_bytes: int


class UnreadableFile(Exception):
    """A file that cannot even be hashed.

    Attributes:
        reason: the reason code.
        detail: what the system said.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def fingerprint(path: Path) -> Fingerprint:
    """Hash a regular file.

    Raises:
        UnreadableFile: it is missing, not a regular file, may not be read, is larger than any
            document may be (hashing an endless one has no end), or changed meanwhile.
    """
    try:
        # Without O_NONBLOCK the opening of a named pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise UnreadableFile(Reason.UNREADABLE, str(error)) from error
    except OSError as error:
        is_missing = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        raise UnreadableFile(
            Reason.MISSING_FILE if is_missing else Reason.UNREADABLE, _strerror(error)
        ) from error
    try:
        return _hash(handle)
    except OSError as error:
        raise UnreadableFile(Reason.UNREADABLE, _strerror(error)) from error
    finally:
        os.close(handle)


def _hash(handle: int) -> Fingerprint:
    before = os.fstat(handle)
    if not stat.S_ISREG(before.st_mode):
        raise UnreadableFile(Reason.UNREADABLE, "not a regular file")
    if before.st_size > _MAX_BYTES:
        raise UnreadableFile(Reason.TOO_BIG, f"{before.st_size} bytes, the limit is {_MAX_BYTES}")
    digest = hashlib.sha256()
    size = 0
    # One byte more than there were: a file that grows as fast as it is read has no end.
    while chunk := os.read(handle, min(_CHUNK_BYTES, before.st_size + 1 - size)):
        digest.update(chunk)
        size += len(chunk)
    after = os.fstat(handle)
    if size != after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise UnreadableFile(Reason.CHANGED_WHILE_READ, "the file changed while it was read")
    return Fingerprint(digest.digest(), size)


def _strerror(error: OSError) -> str:
    return error.strerror or str(error)
