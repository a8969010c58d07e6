"""Locks, durable writes and explained errors in the embedded server's folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from sherlock_pg.errors import EnvironmentFault

_POLL_SECONDS = 0.05


@contextlib.contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn an operating-system error in the server's folder into an `EnvironmentFault`."""
    try:
        yield
    except OSError as error:
        where = error.filename or root
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = f"free some space, or choose a folder on another disk than {root}"
        else:
            hint = "run as the user who owns the folder, or choose one of your own"
        raise EnvironmentFault(
            f"the embedded server cannot use {where}: {reason}",
            hint=f"{hint}: SHERLOCK_HOME=FOLDER; or use another server with --database-url",
        ) from error


@contextlib.contextmanager
def exclusive_lock(path: Path, timeout: float) -> Iterator[int]:
    """Hold a file lock; yield its descriptor.

    A child process that inherits the descriptor keeps the lock until it ends itself, whatever
    becomes of its parent.

    Raises:
        EnvironmentFault: somebody else kept the lock for longer than `timeout`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise EnvironmentFault(
                    f"another process has held {path} for {timeout:.0f} s",
                    hint="it is starting or stopping the embedded server: try again later",
                )
            time.sleep(_POLL_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether any living process holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder; remove it afterwards, and before where a killed run left one."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir()
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def write_durably(path: Path, text: str, scratch: Path) -> None:
    """Replace a file (mode 0600) so that a crash leaves its old or its new content, never less."""
    draft = scratch / path.name
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(descriptor)
    rename_durably(draft, path)


def rename_durably(source: Path, target: Path) -> None:
    """Rename, and return when the new name has reached the disk."""
    source.rename(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
