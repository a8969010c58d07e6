"""Seconds and memory of a stage. Runs in either environment, so by the standard library alone."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

THRESHOLD = 0.5
SLOTS = 128
BANDS = 32
ROWS_PER_BAND = 4

Pair = tuple[int, int]


class Stages:
    """Measures stages of a run.

    Attributes:
        wall: seconds of each stage by the clock.
        cpu: seconds of each stage that the process and its threads computed.
    """

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done in the context."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall[name] = time.perf_counter() - wall
        self.cpu[name] = time.process_time() - cpu


def read_texts(corpus: Path) -> list[str]:
    """Read the texts of a corpus in their order."""
    with corpus.open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def peak_mb() -> float:
    """Return the most memory that the process has had.

    Not by getrusage(): that begins with what the process had that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def write_pairs(path: Path, pairs: list[Pair]) -> None:
    """Write pairs for the comparison with the truth."""
    path.write_text("".join(f"{one} {other}\n" for one, other in pairs), encoding="utf-8")


def read_pairs(path: Path) -> set[Pair]:
    """Read what `write_pairs` wrote."""
    with path.open(encoding="utf-8") as file:
        return {(int(one), int(other)) for one, other in map(str.split, file)}
