"""Workers on a real queue: what they do with good files, bad files, and files they can't have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg import scratch
from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.load.fingerprint import Fingerprint
from sherlock_pg.load.reading import DocumentReader, Reading
from sherlock_pg.queue.worker import Summary

Work = Callable[..., Summary]
TextOf = Callable[[int], str]


def enqueue(db: psycopg.Connection, content: str | bytes, name: str, **columns: Any) -> int:
    data = content.encode() if isinstance(content, str) else content
    row = db.execute(
        "insert into sherlock.inbox (content, name, priority, max_attempts)"
        " values (%s, %s, %s, %s) returning item_id",
        [data, name, columns.get("priority", 0), columns.get("max_attempts", 3)],
    ).fetchone()
    assert row is not None
    return int(row[0])


def items(db: psycopg.Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        "select name, state, gate, reason from sherlock.inbox order by item_id"
    ).fetchall()


def test_queued_bytes_are_read_stored_and_judged(
    db: psycopg.Connection, work: Work, text_of: TextOf
) -> None:
    enqueue(db, text_of(1), "a.txt")
    enqueue(db, text_of(1), "copia.txt")
    enqueue(db, text_of(2), "b.txt")
    near = text_of(1).replace("general", "urgente")
    enqueue(db, near, "parecido.txt")
    summary = work()
    assert summary.outcomes == {"ok": 3}
    assert items(db) == [
        ("a.txt", "done", "new", None),
        ("copia.txt", "done", "hit", None),
        ("b.txt", "done", "new", None),
        ("parecido.txt", "done", "new", None),
    ]
    found = db.execute(
        "select name, best_match_name, confidence from sherlock.latest_verdicts"
        " where best_match_name is not null"
    ).fetchall()
    # Whichever was read later is the one that names the other.
    assert found == [("parecido.txt", "a.txt", "HIGH")]
    known = db.execute(
        "insert into sherlock.inbox (content, name) values (%s, 'otra vez.txt')"
        " returning state, gate, document_id",
        [text_of(2).encode()],
    ).fetchone()
    assert known is not None and known[:2] == ("done", "hit")
    waited = db.execute(
        "select bool_and((processing ->> 'queued_seconds')::float8 >= 0) from sherlock.documents"
    ).fetchone()
    assert waited == (True,)


def test_first_vocabulary_is_fitted_and_what_was_judged_without_is_judged_again(
    db: psycopg.Connection, work: Work, text_of: TextOf
) -> None:
    for number in range(6):
        enqueue(db, text_of(number), f"{number}.txt")
    enqueue(db, text_of(0).replace("general", "urgente"), "parecido.txt")
    work()
    levels = db.execute("select m.tfidf_score is not null from sherlock.matches as m").fetchall()
    assert levels == [(True,)]


def test_paths_are_hashed_by_the_worker(
    db: psycopg.Connection, work: Work, write: Callable[[str, int], Path]
) -> None:
    first, copy = write("a.txt", 1), write("b.txt", 1)
    for path in (first, copy):
        db.execute("insert into sherlock.inbox (path) values (%s)", [str(path)])
    elsewhere = db.execute(
        "insert into sherlock.inbox (path, host) values (%s, 'otra-máquina') returning item_id",
        [str(first)],
    ).fetchone()
    work(concurrency=1)
    assert items(db) == [
        ("a.txt", "done", "new", None),
        ("b.txt", "done", "hit", None),
        ("a.txt", "queued", None, None),
    ]
    assert elsewhere is not None
    sources = db.execute("select source_uri from sherlock.document_sources order by 1").fetchall()
    assert sources == [(str(first),), (str(copy),)]


def test_reasons_that_may_pass_are_tried_again_and_others_are_final(
    db: psycopg.Connection, work: Work, tmp_path: Path
) -> None:
    missing = tmp_path / "luego.txt"
    db.execute("insert into sherlock.inbox (path, max_attempts) values (%s, 2)", [str(missing)])
    enqueue(db, b"%PDF-1.7\nnada", "roto.pdf")
    summary = work()
    assert summary.outcomes == {"retried": 1, "failed": 1}
    assert items(db) == [
        ("luego.txt", "queued", None, "missing_file"),
        ("roto.pdf", "dead", "new", "damaged"),
    ]
    pause = db.execute(
        "select run_after - clock_timestamp() between '5 seconds' and '10 seconds'"
        " from sherlock.inbox where name = 'luego.txt'"
    ).fetchone()
    assert pause == (True,)
    db.execute("update sherlock.inbox set run_after = now() where state = 'queued'")
    work()
    assert items(db)[0] == ("luego.txt", "dead", None, "missing_file")
    missing.write_text("Oficio sobre el agua que llegó tarde a la carpeta compartida de la oficina")
    assert db.execute("select sherlock.retry_dead('missing_file')").fetchone() == (1,)
    work()
    assert items(db)[0] == ("luego.txt", "done", "new", None)


def test_what_this_worker_lacks_is_left_to_others(
    db: psycopg.Connection, work: Work, text_of: TextOf
) -> None:
    class NoTesseract(DocumentReader):
        def read(self, path: Path, expected: Fingerprint, **how: Any) -> Reading:
            raise EnvironmentFault("tesseract is not installed", hint="apt-get install …")

    enqueue(db, text_of(1), "escaneo.txt")
    assert work(NoTesseract).outcomes == {"retried": 1}
    assert items(db) == [("escaneo.txt", "queued", "new", "environment")]
    # However often it comes to workers that lack something, it was not tried.
    for _ in range(4):
        db.execute("update sherlock.inbox set run_after = now()")
        assert work(NoTesseract).outcomes == {"retried": 1}
    assert db.execute("select attempts from sherlock.inbox").fetchone() == (0,)
    db.execute("update sherlock.inbox set run_after = now()")
    assert work().outcomes == {"ok": 1}


def test_a_fault_of_ours_ends_neither_the_worker_nor_the_item(
    db: psycopg.Connection, work: Work, text_of: TextOf
) -> None:
    class Faulty(DocumentReader):
        def read(self, path: Path, expected: Fingerprint, **how: Any) -> Reading:
            if b"palabra1ax" in path.read_bytes():
                raise ZeroDivisionError("division by zero")
            return super().read(path, expected, **how)

    enqueue(db, text_of(1), "a.txt", max_attempts=1)
    enqueue(db, text_of(2), "b.txt")
    assert work(Faulty, concurrency=1).outcomes == {"failed": 1, "ok": 1}
    assert items(db) == [("a.txt", "dead", "new", "error"), ("b.txt", "done", "new", None)]
    status = db.execute("select status, reason from sherlock.documents order by 1").fetchall()
    assert status == [("failed", "error"), ("ok", None)]


def test_deleted_under_the_worker_is_read_as_a_new_one(
    db: psycopg.Connection, database_url: str, work: Work, text_of: TextOf
) -> None:
    class Deleting(DocumentReader):
        is_first = True

        def read(self, path: Path, expected: Fingerprint, **how: Any) -> Reading:
            if Deleting.is_first:
                Deleting.is_first = False
                with psycopg.connect(database_url, autocommit=True) as other:
                    other.execute("delete from sherlock.documents")
            return super().read(path, expected, **how)

    enqueue(db, text_of(1), "a.txt")
    outcomes = work(Deleting, concurrency=1).outcomes
    assert outcomes["ok"] == 1
    assert items(db) == [("a.txt", "done", "new", None)]
    assert db.execute("select count(*) from sherlock.documents").fetchone() == (1,)


def start_worker(url: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sherlock_pg", "worker", "--ner-model", "none", *options]
    return subprocess.Popen(
        command,
        env={**os.environ, "SHERLOCK_DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(db: psycopg.Connection, condition: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if db.execute(f"select {condition}").fetchone() == (True,):
            return
        time.sleep(0.02)
    raise AssertionError(f"never came true: {condition}")


DONE = "(select count(*) from sherlock.inbox where state = 'done')"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_told_to_stop_it_ends_what_it_reads_and_leaves_the_rest(
    db: psycopg.Connection, database_url: str, text_of: TextOf, name: str
) -> None:
    process = start_worker(database_url)
    # It waits for work and is woken.
    wait_until(db, "exists (select from pg_stat_activity where query = 'listen sherlock_inbox')")
    for number in range(120):
        enqueue(db, text_of(number), f"{number}.txt")
    wait_until(db, f"{DONE} >= 3")
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    counts = dict(
        db.execute("select state, count(*) from sherlock.inbox group by state").fetchall()
    )
    assert set(counts) == {"done", "queued"}
    assert f"{counts['done']} ok" in out
    assert db.execute("select sum(attempts) from sherlock.inbox").fetchone() == (counts["done"],)


def test_what_a_killed_worker_had_is_read_at_once_by_the_next(
    db: psycopg.Connection, database_url: str, work: Work, text_of: TextOf
) -> None:
    for number in range(60):
        enqueue(db, text_of(number), f"{number}.txt")
    process = start_worker(database_url, "--concurrency", "4")
    wait_until(db, f"{DONE} >= 3")
    process.kill()
    process.communicate()
    held = db.execute("select count(*) from sherlock.inbox where state = 'leased'").fetchone()
    assert held is not None and held[0] > 0, "the worker was killed too late"
    work()
    assert db.execute(f"select {DONE}").fetchone() == (60,)
    judged = db.execute(
        "select count(*), count(v.document_id) from sherlock.documents"
        " left join sherlock.detections as v using (document_id)"
    ).fetchone()
    assert judged == (60, 60)
    left = [p.name for p in Path(tempfile.gettempdir()).glob(f"sherlock-*-{process.pid}-*")]
    assert left == []


def test_what_killed_processes_left_in_the_temporary_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in ("reader", "extract"):
        (tmp_path / f"sherlock-{name}-{ended.pid}-abc" / "0001").mkdir(parents=True)
    own = scratch.new_folder("extract")
    others = [tmp_path / "sherlock-extract-x", tmp_path / f"otra-{ended.pid}-a"]
    for folder in others:
        folder.mkdir()
    scratch.remove_folders_of_the_dead()
    assert sorted(tmp_path.iterdir()) == sorted([own, *others])


@pytest.mark.parametrize(
    "fault", [ZeroDivisionError("division by zero"), psycopg.errors.UniqueViolation("twice")]
)
def test_a_verdict_that_always_fails_is_given_up(
    db: psycopg.Connection,
    work: Work,
    text_of: TextOf,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
) -> None:
    enqueue(db, text_of(1), "a.txt", max_attempts=1)
    item = db.execute("select item_id from sherlock.lease_items('w', 1)").fetchone()
    assert item is not None
    db.execute(
        "select sherlock.finish_document(document_id, 'w', 'ok', %s) from sherlock.inbox",
        [text_of(1)],
    )
    db.execute("select sherlock.expire_leases('w')")

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("sherlock_pg.queue.storing.calls.record_detection", fail)
    summary = work(concurrency=1)
    assert summary.outcomes["failed"] == 1
    assert items(db) == [("a.txt", "dead", "new", "error")]
    # What was read stays, and can be judged by another version.
    assert db.execute("select status from sherlock.documents").fetchone() == ("ok",)


def test_load_reads_what_an_interrupted_load_left(
    db: psycopg.Connection,
    sherlock: Callable[..., Any],
    write: Callable[[str, int], Path],
    text_of: TextOf,
) -> None:
    """A container was stored, then the loader was killed: its attachment is in the queue."""
    db.execute(
        "insert into sherlock.inbox (content, name, owner) values (%s, 'anexo.txt', 'x')",
        [text_of(1).encode()],
    )
    enqueue(db, text_of(2), "de-otro.txt")
    ran = sherlock("load", write("c.txt", 3), "--ner-model", "none")
    assert ran.code == 0, ran.err
    assert "1 document of an interrupted run" in ran.err
    assert items(db)[:2] == [
        ("anexo.txt", "done", "new", None),
        ("de-otro.txt", "queued", "new", None),
    ]


def test_no_room_for_the_bytes_is_not_the_fault_of_the_file(
    db: psycopg.Connection, work: Work, text_of: TextOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    enqueue(db, text_of(1), "a.txt")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", refuse)
        assert work(concurrency=1).outcomes == {"retried": 1}
    detail = db.execute("select reason, reason_detail from sherlock.inbox").fetchone()
    assert detail is not None and detail[0] == "environment"
    assert "TMPDIR" in detail[1]


def test_a_worker_says_at_once_that_it_cannot_read_scans(
    sherlock: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = sherlock("worker", "--until-empty", "--nice", 0, "--ner-model", "none")
    assert ran.code == 0
    assert "tesseract is not installed" in ran.err
    assert "apt-get install" in ran.err


@pytest.mark.parametrize("value", ["nan", "inf", "0", "x"])
def test_a_time_limit_is_a_number(sherlock: Callable[..., Any], value: str) -> None:
    for command in (("worker", "--timeout", value), ("load", "x", "--timeout", value)):
        ran = sherlock(*command)
        assert ran.code == 2, ran.err


def test_a_lease_whose_answer_was_lost_is_given_back(
    db: psycopg.Connection, work: Work, text_of: TextOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was killed after it had committed the lease: nobody knows of the item."""
    from sherlock_pg.db import calls

    lease_items = calls.lease_items
    is_first = True

    def lose_the_first_answer(*arguments: Any, **options: Any) -> list[calls.Item]:
        nonlocal is_first
        leased = lease_items(*arguments, **options)
        if is_first and leased:
            is_first = False
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return leased

    monkeypatch.setattr("sherlock_pg.queue.worker.calls.lease_items", lose_the_first_answer)
    enqueue(db, text_of(1), "a.txt")
    enqueue(db, text_of(2), "b.txt")
    assert work().outcomes == {"ok": 2}
    assert {row[1] for row in items(db)} == {"done"}
