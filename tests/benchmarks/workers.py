"""What a worker does: native documents a second, OCR's share of the CPU, the gate meanwhile.

Prints a table and, as the last line, one JSON object. Runs on an embedded server of its own. A core
second counts wherever it is spent: in the worker, its children and the server.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from common import milliseconds, quantiles, rounded, say, scratch_database

from sherlock_pg.cli.output import write_table
from sherlock_pg.db import calls
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.pdf import draw_pdf
from sherlock_pg.samples.scan import CLEAN, as_pdf, scan_pages
from sherlock_pg.samples.texts import TOPICS

_TESSERACT = """#!/bin/sh
# The real one, with its processor time kept.
{real} "$@"
code=$?
times >> {log}
exit $code
"""


_COLUMNS = ("what", "measured", "unit", "target")


@dataclass(frozen=True)
class Cost:
    """What emptying the queue took: seconds on the clock, and of processors."""

    wall: float
    worker: float
    server: float

    @property
    def cpu(self) -> float:
        """All seconds of processors."""
        return self.worker + self.server


def native_documents(count: int) -> Iterator[bytes]:
    for number in range(count):
        case = draw_case(11, f"native-{number}", topic_name=TOPICS[number % len(TOPICS)])
        yield draw_pdf(compose(case))


def scanned_documents(count: int) -> Iterator[bytes]:
    for number, pdf in enumerate(native_documents(count)):
        yield as_pdf(scan_pages(pdf, CLEAN, Draw("scan", str(number))), CLEAN)


def send(conn: psycopg.Connection, documents: Iterator[bytes], name: str) -> int:
    count = 0
    for count, content in enumerate(documents, 1):
        conn.execute(
            "insert into sherlock.inbox (content, name) values (%s, %s)",
            [content, f"{name}-{count}.pdf"],
        )
    return count


def empty_the_queue(
    conn: psycopg.Connection, url: str, concurrency: int, environment: dict[str, str]
) -> Cost:
    postmaster = _postmaster(conn)
    before, server_before = _children_seconds(), _tree_seconds(postmaster)
    started = time.perf_counter()
    subprocess.run(
        [
            *(sys.executable, "-m", "sherlock_pg", "-q", "worker", "--until-empty"),
            *("--ner-model", "none", "--concurrency", str(concurrency)),
        ],
        env={**os.environ, **environment, "SHERLOCK_DATABASE_URL": url},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - started
    return Cost(wall, _children_seconds() - before, _tree_seconds(postmaster) - server_before)


def ask_the_gate(url: str, is_over: threading.Event, times: list[float]) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        number = 0
        while not is_over.wait(0.02):
            number += 1
            digest = hashlib.sha256(str(number).encode()).digest()
            times.append(milliseconds(lambda d=digest: calls.find_exact(conn, d, 1, "default")))


def measure(native: int, scanned: int, concurrency: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="sherlock-bench-"))
    try:
        with scratch_database() as conn:
            url = conn.info.dsn + f" password={conn.info.password}"
            # So many that the vocabulary is not fitted anew while it is measured.
            first = native + scanned + 1
            say(f"{first} documents and their vocabulary")
            send(conn, native_documents(first), "first")
            empty_the_queue(conn, url, concurrency, {})
            say(f"{native} native documents")
            pages = send(conn, _others(native_documents(first + native), first), "native")
            cost = empty_the_queue(conn, url, concurrency, {})
            figures["native"] = {
                "documents": pages,
                "documents_per_core_second": pages / cost.cpu,
                "documents_per_second": pages / cost.wall,
                "worker_cpu_ms": cost.worker / pages * 1000,
                "server_cpu_ms": cost.server / pages * 1000,
            }
            say(f"{scanned} scans")
            log = folder / "tesseract.log"
            send(conn, scanned_documents(scanned), "scan")
            times: list[float] = []
            is_over = threading.Event()
            asking = threading.Thread(target=ask_the_gate, args=(url, is_over, times))
            asking.start()
            try:
                cost = empty_the_queue(conn, url, concurrency, _counted_tesseract(folder, log))
            finally:
                is_over.set()
                asking.join()
            tesseract = sum(_seconds(line) for line in log.read_text().splitlines())
            row = conn.execute(
                "select sum(page_count) from sherlock.documents where name like 'scan-%'"
            ).fetchone()
            scanned_pages = int(row[0]) if row is not None else 0
            figures["ocr"] = {
                "pages": scanned_pages,
                "pages_per_second": scanned_pages / cost.wall,
                "cpu_seconds_per_page": cost.cpu / scanned_pages,
                "tesseract_share_of_cpu": tesseract / cost.cpu,
                "busy_share_of_cores": cost.cpu / (cost.wall * len(os.sched_getaffinity(0))),
            }
            figures["gate_under_load_ms"] = quantiles(times)
            (left,) = conn.execute(
                "select count(*) from sherlock.inbox where state <> 'done'"
            ).fetchone() or (0,)
            if left:
                raise RuntimeError(f"{left} items were not read")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def _others(documents: Iterator[bytes], skipped: int) -> Iterator[bytes]:
    for number, content in enumerate(documents):
        if number >= skipped:
            yield content


def _counted_tesseract(folder: Path, log: Path) -> dict[str, str]:
    real = shutil.which("tesseract")
    if real is None:
        raise RuntimeError("tesseract is missing: make setup")
    program = folder / "tesseract"
    program.write_text(_TESSERACT.format(real=real, log=log))
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def _seconds(times: str) -> float:
    """Add user and system time as the shell's `times` gives them: 0m1.23s 0m0.04s."""
    total = 0.0
    for part in times.split():
        minutes, seconds = part.rstrip("s").split("m")
        total += 60 * int(minutes) + float(seconds)
    return total


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _postmaster(conn: psycopg.Connection) -> int:
    status = Path(f"/proc/{conn.info.backend_pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


def _tree_seconds(postmaster: int) -> float:
    """Return what the server has used: processes that live, and those that ended."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.name) == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _rows(figures: dict[str, Any]) -> list[tuple[object, ...]]:
    native, ocr, gate = figures["native"], figures["ocr"], figures["gate_under_load_ms"]
    return [
        ("native documents", native["documents_per_core_second"], "/s/core", ">= 40"),
        ("native documents", native["documents_per_second"], "/s", ""),
        ("  worker and its children", native["worker_cpu_ms"], "CPU ms", ""),
        ("  server", native["server_cpu_ms"], "CPU ms", ""),
        ("scanned pages", ocr["pages_per_second"], "/s", ""),
        ("scanned pages", ocr["cpu_seconds_per_page"], "CPU s", ""),
        ("  tesseract's share of the CPU", ocr["tesseract_share_of_cpu"], "", ">= 0.85"),
        ("  cores busy meanwhile", ocr["busy_share_of_cores"], "", ""),
        ("gate meanwhile, p50", gate["p50"], "ms", ""),
        ("gate meanwhile, p95", gate["p95"], "ms", "< 5"),
    ]


def main() -> None:
    """Measure, print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--native", type=int, default=300)
    parser.add_argument("--scanned", type=int, default=20)
    parser.add_argument("--concurrency", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    figures = measure(arguments.native, arguments.scanned, arguments.concurrency)
    write_table(
        [dict(zip(_COLUMNS, map(rounded, row), strict=True)) for row in _rows(figures)],
        list(_COLUMNS),
    )
    print(json.dumps(rounded(figures)))


if __name__ == "__main__":
    main()
