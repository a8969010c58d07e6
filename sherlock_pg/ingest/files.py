"""Reading a file from disk that may be anything, and may be written to meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a regular file whole, and make sure it stood still meanwhile.

    Raises:
        ExtractionFailure: `missing_file`, `unreadable`, `empty_file`, `too_big` or
            `changed_while_read`.
    """
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ExtractionFailure(Reason.MISSING_FILE) from error
    except (OSError, ValueError) as error:
        raise ExtractionFailure(Reason.UNREADABLE, str(error)) from error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise ExtractionFailure(Reason.UNREADABLE, "not a regular file")
        if before.st_size > max_bytes:
            raise ExtractionFailure(
                Reason.TOO_BIG, f"{before.st_size} bytes, the limit is {max_bytes}"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(before.st_size + 1)
        after = os.fstat(descriptor)
    except OSError as error:
        raise ExtractionFailure(Reason.UNREADABLE, str(error)) from error
    finally:
        os.close(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or (
        len(data) != after.st_size
    ):
        raise ExtractionFailure(Reason.CHANGED_WHILE_READ)
    return data
