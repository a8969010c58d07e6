"""Which files a list of paths means, and how their names are shown and stored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def walk(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the regular files of the paths, folders recursively, in name order, each once.

    Hidden files and folders inside a given folder are left out; links to folders are followed,
    but no folder is entered twice, so a loop of links ends.
    """
    seen_folders: set[tuple[int, int]] = set()
    seen_files: set[Path] = set()
    for path in paths:
        for file in _walk_one(path, seen_folders):
            if file not in seen_files:
                seen_files.add(file)
                yield file


def _walk_one(path: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    try:
        stat = path.stat()
        if (stat.st_dev, stat.st_ino) in seen:
            return
        seen.add((stat.st_dev, stat.st_ino))
        entries = sorted(path.iterdir(), key=lambda entry: os.fsencode(entry.name))
    except PermissionError:
        # Reported as an unreadable file, like any other thing that cannot be read.
        yield path
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _walk_one(entry, seen)
        elif entry.is_file() or entry.is_symlink():
            yield entry


def storable(path: Path | str) -> str:
    """Return a path as text that PostgreSQL can hold: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
