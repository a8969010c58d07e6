"""Folders for files of one process, and what becomes of those that a killed process left."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from sherlock_pg.queue import leases

_PREFIX = "sherlock-reader-"


def new_folder() -> Path:
    """Make a folder of this process; whoever asked removes it."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def remove_folders_of_the_dead() -> None:
    """Remove the folders of processes on this machine that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not leases.is_alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
