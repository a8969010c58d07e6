"""Folders for files of one process, and what becomes of those that a killed process left."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

Purpose = Literal["reader", "extract"]


def new_folder(purpose: Purpose) -> Path:
    """Make a folder of this process; whoever asked removes it."""
    return Path(tempfile.mkdtemp(prefix=f"sherlock-{purpose}-{os.getpid()}-"))


def remove_folders_of_the_dead() -> None:
    """Remove the folders of processes on this machine that were killed."""
    for purpose in ("reader", "extract"):
        prefix = f"sherlock-{purpose}-"
        for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            pid = folder.name.removeprefix(prefix).partition("-")[0]
            if pid.isdecimal() and not is_alive(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


def is_alive(pid: int) -> bool:
    """Say whether a process of this machine runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
