"""Kills the server, workers, loaders and what they start, again and again, and counts what is left.

Files are sent to the queue and loaded from folders while processes are killed with SIGKILL at
random moments. In the end every file that was acknowledged must have ended in exactly one way, and
nothing may be left over: no lease, no half document, no second verdict, no process, no file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from PIL import Image, ImageDraw, ImageFont

from sherlock_pg.embedded.server import EmbeddedServer

_CONCURRENCY = 2
_WORKERS = 2
_DRAIN_SECONDS = 300.0
_OPEN = "('queued', 'leased', 'stored')"
VICTIMS = ("server", "worker", "loader", "tesseract", "extractor")


@dataclass
class Report:
    """What a run showed.

    Attributes:
        rounds: how many kills there were.
        kills: how many of each victim.
        files: distinct files that were sent or loaded.
        acknowledged: files whose arrival was acknowledged.
        interrupted: dead items, by reason, before they were tried again.
        problems: what must not be; empty if all is well.
        seconds: how long it took.
    """

    rounds: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    files: int = 0
    acknowledged: int = 0
    interrupted: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


class CrashRun:
    """One run, in a folder of its own with a server of its own.

    Args:
        root: an empty folder that other users may enter.
        seed: chooses files, victims and moments.
        say: told what happens.
    """

    def __init__(self, root: Path, seed: int, say: Callable[[str], None]) -> None:
        self._root = root
        self._random = random.Random(seed)
        self._say = say
        self._server = EmbeddedServer(root / "server")
        self._temporary = root / "tmp"
        self._temporary.mkdir()
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PG", "SHERLOCK_"))},
            "SHERLOCK_HOME": str(root / "server"),
            "TMPDIR": str(self._temporary),
        }
        self._workers: list[subprocess.Popen[bytes]] = []
        self._loader: subprocess.Popen[bytes] | None = None
        self._folders: list[Path] = []
        self._sent: dict[str, bytes] = {}
        self._number = 0
        self._texts: list[str] = []

    def run(self, rounds: int) -> Report:
        """Do so many rounds, let the rest be read, and check what there is."""
        started = time.monotonic()
        report = Report(rounds=rounds)
        try:
            self._command("db", "upgrade")
            self._workers = [self._start("worker", *_WORKER) for _ in range(_WORKERS)]
            for number in range(1, rounds + 1):
                self._feed(number)
                victim = self._kill_one()
                report.kills[victim] += 1
                self._say(f"round {number}: {victim}")
                self._revive()
            self._drain()
            with self._connection() as conn:
                report.interrupted = dict(
                    conn.execute(
                        "select reason, count(*) from sherlock.inbox where state = 'dead'"
                        " group by reason"
                    ).fetchall()
                )
            self._command("queue", "retry", "--all")
            self._drain()
            self._stop_workers()
            report.acknowledged = len(self._sent)
            report.files = len(set(self._sent.values()) | set(self._loaded().values()))
            report.problems = list(self._problems())
        finally:
            self._end()
        report.seconds = round(time.monotonic() - started, 1)
        return report

    def _feed(self, number: int) -> None:
        """Send some files to the queue, and have a folder loaded."""
        for _ in range(3):
            name, content = self._file()
            self._send(name, content)
        if number % 3 == 0:
            name = self._random.choice(list(self._sent))
            self._send(f"copia-{number}-{name}", self._content(name))
        folder = self._root / "in" / f"{number:04}"
        folder.mkdir(parents=True)
        for _ in range(3):
            name, content = self._file()
            (folder / name).write_bytes(content)
        self._folders.append(folder)
        if self._loader is None or self._loader.poll() is not None:
            self._loader = self._start("load", "--ner-model", "none", str(folder))

    def _file(self) -> tuple[str, bytes]:
        self._number += 1
        if self._number % 9 == 0:
            return f"{self._number}.png", _scan(self._number)
        if self._texts and self._number % 4 == 0:
            # A new version of an earlier text.
            text = self._random.choice(self._texts) + f" Anexo {self._number}."
        else:
            text = _text(self._number)
            self._texts.append(text)
        return f"{self._number}.txt", text.encode()

    def _send(self, name: str, content: bytes) -> None:
        """Insert until the insert was acknowledged, as a client would."""
        path = self._root / "sent" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        for _ in range(200):
            try:
                with self._connection() as conn:
                    conn.execute(
                        "insert into sherlock.inbox (content, name) values (%s, %s)",
                        [content, name],
                    )
                self._sent[name] = _digest(content)
                return
            except psycopg.OperationalError:
                time.sleep(0.1)
        raise RuntimeError("the server did not come back")

    def _content(self, name: str) -> bytes:
        return (self._root / "sent" / name).read_bytes()

    def _kill_one(self) -> str:
        """Kill something at a random moment; what does not run now is not chosen."""
        time.sleep(self._random.uniform(0.0, 1.0))
        for victim in self._random.sample(VICTIMS, len(VICTIMS)):
            processes = self._processes(victim)
            if processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._random.choice(processes), signal.SIGKILL)
                return victim
        raise RuntimeError("nothing runs")

    def _processes(self, victim: str) -> list[int]:
        if victim == "server":
            return self._postmaster()
        if victim == "worker":
            return [p.pid for p in self._workers if p.poll() is None]
        if victim == "loader":
            loader = self._loader
            return [loader.pid] if loader is not None and loader.poll() is None else []
        mark = b"tesseract" if victim == "tesseract" else b"sherlock_pg.ingest.worker"
        return [pid for pid, command in self._children() if mark in command]

    def _postmaster(self) -> list[int]:
        with contextlib.suppress(OSError, ValueError, IndexError):
            file = self._root / "server" / "data" / "postmaster.pid"
            return [int(file.read_text().splitlines()[0])]
        return []

    def _children(self) -> Iterator[tuple[int, bytes]]:
        """Yield processes that run with this run's folder for temporary files."""
        mark = f"TMPDIR={self._temporary}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    if mark in (entry / "environ").read_bytes():
                        yield int(entry.name), (entry / "cmdline").read_bytes()

    def _revive(self) -> None:
        self._server.start()
        self._workers = [
            process if process.poll() is None else self._start("worker", *_WORKER)
            for process in self._workers
        ]

    def _drain(self) -> None:
        """Let everything that arrived be read."""
        folders = [str(folder) for folder in self._folders]
        done = self._start("load", "--ner-model", "none", *folders).wait(_DRAIN_SECONDS)
        if done not in (0, 1):
            raise RuntimeError(f"load ended with {done}")
        deadline = time.monotonic() + _DRAIN_SECONDS
        with self._connection() as conn:
            while time.monotonic() < deadline:
                # Nobody waits here for pauses to end.
                conn.execute("update sherlock.inbox set run_after = now() where state = 'queued'")
                row = conn.execute(
                    f"select count(*) from sherlock.inbox where state in {_OPEN}"
                ).fetchone()
                if row == (0,):
                    return
                time.sleep(0.2)

    def _stop_workers(self) -> None:
        for process in self._workers:
            process.terminate()
        for process in self._workers:
            process.wait(60)
        # The last one clears up what the killed ones left.
        self._command("worker", "--until-empty", *_WORKER)

    def _problems(self) -> Iterator[str]:
        with self._connection() as conn:
            yield from self._unanswered(conn)
            for what, query in _MUST_BE_EMPTY.items():
                rows = conn.execute(query).fetchall()
                if rows:
                    yield f"{what}: {len(rows)}, e.g. {rows[0]}"
        left = [p.name for p in self._temporary.iterdir()]
        if left:
            yield f"temporary files: {left[:5]}"
        alive = [command for _, command in self._children() if b"postgres" not in command]
        if alive:
            yield f"processes: {alive[:3]}"

    def _unanswered(self, conn: psycopg.Connection) -> Iterator[str]:
        """Compare what was sent and what lies in the folders with what is stored."""
        known = dict(conn.execute("select sha256, status from sherlock.documents").fetchall())
        loaded = self._loaded()
        for name, digest in {**self._sent, **loaded}.items():
            status = known.get(digest)
            if status not in ("ok", "partial"):
                yield f"{name} is {status or 'lost'}"
        foreign = set(known) - set(self._sent.values()) - set(loaded.values())
        if foreign:
            yield f"documents of no file: {len(foreign)}"
        ended: Counter[str] = Counter(
            row[0] for row in conn.execute("select name from sherlock.inbox where owner is null")
        )
        # An insert whose answer was lost is sent again: at least once, and each of them ended.
        missing = [name for name in self._sent if not ended[name]]
        if missing:
            yield f"acknowledged and not in the queue's record: {missing[:5]}"

    def _loaded(self) -> dict[str, bytes]:
        return {
            str(path): _digest(path.read_bytes())
            for folder in self._folders
            for path in folder.iterdir()
        }

    def _connection(self) -> psycopg.Connection:
        return psycopg.connect(self._server.url(), autocommit=True, connect_timeout=5)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self._root / f"{arguments[0]}.log").open("ab")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", "sherlock_pg", *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _command(self, *arguments: str) -> None:
        code = self._start(*arguments).wait(_DRAIN_SECONDS)
        if code not in (0, 1):
            log = (self._root / f"{arguments[0]}.log").read_text(errors="replace")
            raise RuntimeError(f"{arguments[0]} ended with {code}: {log[-2000:]}")

    def _end(self) -> None:
        for process in [*self._workers, *([self._loader] if self._loader else [])]:
            if process.poll() is None:
                process.kill()
            process.wait()
        self._server.stop()


_WORKER = ("--ner-model", "none", "--concurrency", str(_CONCURRENCY), "--nice", "0")

_MUST_BE_EMPTY = {
    "items that have not ended": f"select * from sherlock.inbox where state in {_OPEN}",
    "ended items with a lease, or without an end": (
        "select * from sherlock.inbox where state in ('done', 'dead')"
        " and (leased_by is not null or finished_at is null)"
    ),
    "dead items of documents that were read": (
        "select i.* from sherlock.inbox as i join sherlock.documents as d using (document_id)"
        " where i.state = 'dead' and i.gate = 'new' and d.status in ('ok', 'partial')"
        " and not exists (select from sherlock.inbox as o where o.document_id = i.document_id"
        "  and o.state = 'done')"
    ),
    "documents read by more than one item": (
        "select document_id from sherlock.inbox where gate = 'new' and state = 'done'"
        " and not is_reread group by document_id having count(*) > 1"
    ),
    "documents that are being read": "select * from sherlock.documents where status = 'pending'",
    "documents without a verdict": (
        "select d.document_id, d.name from sherlock.documents as d"
        " where d.status in ('ok', 'partial') and not exists ("
        "  select from sherlock.detections as v where v.document_id = d.document_id)"
    ),
    "verdicts that were given twice": (
        "select c.document_id from sherlock.closed_detections as c"
        " join sherlock.detections as v using (document_id)"
        " where (c.recommended_action, c.confidence, c.best_match_id)"
        "  is not distinct from (v.recommended_action, v.confidence, v.best_match_id)"
        "  and c.closed_reason <> 'rejudged'"
    ),
    "documents without features": (
        "select d.document_id from sherlock.documents as d where d.text_state = 'indexed'"
        " and not exists (select from sherlock.document_signatures as s"
        "  where s.document_id = d.document_id)"
    ),
    "documents that the gate does not know": (
        "select d.document_id from sherlock.documents as d where not exists ("
        " select from sherlock.file_hashes as h where h.document_id = d.document_id)"
    ),
    "hashes of no document": (
        "select h.document_id from sherlock.file_hashes as h where not exists ("
        " select from sherlock.documents as d where d.document_id = h.document_id)"
    ),
    "new versions that no verdict names": (
        "select d.name from sherlock.documents as d where d.content like '% Anexo %.'"
        " and not exists (select from sherlock.matches as m"
        "  where d.document_id in (m.document_id, m.matched_document_id))"
    ),
}


def _text(number: int) -> str:
    words = " ".join(f"palabra{number}{chr(97 + at)}x" for at in range(26))
    return f"Oficio general. {words}. Atentamente, la oficina."


def _scan(number: int) -> bytes:
    """Draw a small page, so that OCR takes part of a second."""
    image = Image.new("L", (1000, 420), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=30)
    for line in range(8):
        words = f"El escrito {number} dice en la línea {line} que el plazo venció"
        draw.text((40, 30 + 45 * line), words, font=font, fill=0)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report as JSON-compatible values."""
    return {
        "rounds": report.rounds,
        "kills": dict(report.kills),
        "files": report.files,
        "acknowledged": report.acknowledged,
        "interrupted": report.interrupted,
        "problems": report.problems,
        "seconds": report.seconds,
    }
