"""What the benchmarks share: a scratch database, timing, rounding."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from sherlock_pg.db import schema
from sherlock_pg.embedded.server import EmbeddedServer

BATCH = 250


@contextlib.contextmanager
def scratch_database() -> Iterator[psycopg.Connection]:
    """Yield a connection to a new database on a new server, and remove both."""
    root = Path(tempfile.mkdtemp(prefix="sherlock-bench-"))
    root.chmod(0o711)
    server = EmbeddedServer(root / "server")
    try:
        server.start()
        schema.upgrade(server.url())
        with psycopg.connect(server.url(), autocommit=True) as conn:
            yield conn
    finally:
        server.stop()
        shutil.rmtree(root, ignore_errors=True)


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def quantiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
    }


def milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return round(value, 4) if isinstance(value, float) else value
