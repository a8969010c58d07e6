"""Which files a list of paths means, and how their names are shown and stored."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path


def walk(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the regular files of the paths, folders recursively, in name order, each once.

    Hidden files and folders inside a given folder are left out; links to folders are followed,
    but no folder is entered twice, so a loop of links ends. What cannot be looked at (a folder
    that may not be read, a broken link, a path that is too long) is yielded like a file, so that
    it gets reported as one that cannot be read.
    """
    seen_folders: set[tuple[int, int]] = set()
    seen_files: set[Path] = set()
    for path in paths:
        for file in _walk_one(path, seen_folders):
            if file not in seen_files:
                seen_files.add(file)
                yield file


def _walk_one(given: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    pending = [given]  # not a recursion: folders can be nested deeper than calls
    while pending:
        path = pending.pop()
        try:
            status = path.stat()
            if not stat.S_ISDIR(status.st_mode):
                if path is given or stat.S_ISREG(status.st_mode) or path.is_symlink():
                    yield path
                continue
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = sorted(path.iterdir(), key=lambda e: os.fsencode(e.name), reverse=True)
        except (OSError, ValueError):
            if path is given or not _has_vanished(path):
                yield path
            continue
        pending.extend(entry for entry in entries if not entry.name.startswith("."))


def _has_vanished(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def storable(path: Path | str) -> str:
    """Return a path as text that PostgreSQL can hold: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
