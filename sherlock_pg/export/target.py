"""Where an export goes: a file that is there whole or not at all, or standard output."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sherlock_pg.errors import UsageError


@contextlib.contextmanager
def open_target(path: Path | None, *, force: bool) -> Iterator[BinaryIO]:
    """Open a file for writing; it gets its name only when all of it is on disk.

    Args:
        path: the file; None is standard output.
        force: a file of that name is replaced.

    Raises:
        UsageError: there is such a file, or something that is no file.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # The file that a link leads to is replaced, not the link.
    target = path.resolve()
    _check(path, target, force=force)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    # Not by tempfile, whose files nobody else may read: the umask decides, as for any other file.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _check(path, target, force=force)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _check(path: Path, target: Path, *, force: bool) -> None:
    if target.exists() and not target.is_file():
        raise UsageError(
            f"{path} is not a file", hint="give the name of a file, or - for standard output"
        )
    if target.exists() and not force:
        raise UsageError(f"{path} is there already", hint="--force replaces it")
