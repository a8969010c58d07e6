"""`sherlock-pg enqueue` and `sherlock-pg worker`, as they are typed."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.queue.worker import Summary

Sherlock = Callable[..., Any]
Write = Callable[[str, int], Path]
READ = ("worker", "--until-empty", "--ner-model", "none", "--nice", 0)


def files(ran: Any) -> list[tuple[str, str, str]]:
    return [(Path(f["file"]).name, f["state"], f["reason"]) for f in json.loads(ran.out)["files"]]


def test_a_folder_is_sent_read_and_known_from_then_on(
    sherlock: Sherlock, db: psycopg.Connection, write: Write
) -> None:
    folder = write("a.txt", 1).parent
    write("b.txt", 2), write("c.txt", 1)
    sent = sherlock("enqueue", folder)
    assert sent.code == 0, sent.err
    assert sent.out.splitlines()[-1] == "3 files: 3 queued, 0 known by their bytes, 0 failed"
    ran = sherlock(*READ)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("2 files in ")
    again = sherlock("enqueue", folder, "--format", "json")
    assert files(again) == [("a.txt", "done", ""), ("b.txt", "done", ""), ("c.txt", "done", "")]
    assert json.loads(again.out)["summary"]["known_bytes"] == 3
    kept = db.execute(
        "select count(*), bool_and(content is null) from sherlock.inbox, lateral"
        " (select count(*) from sherlock.file_contents) as f"
    ).fetchone()
    assert kept == (6, True)
    assert db.execute("select count(*) from sherlock.file_contents").fetchone() == (2,)


def test_what_cannot_be_sent_is_said_and_the_rest_goes(
    sherlock: Sherlock, db: psycopg.Connection, write: Write
) -> None:
    good = write("bueno.txt", 1)
    (good.parent / "vacío.txt").touch()
    os.mkfifo(good.parent / "tubo")
    missing = good.parent / "no-existe.pdf"
    ran = sherlock("enqueue", good.parent, missing, "--format", "json")
    assert ran.code == 1
    assert ("bueno.txt", "queued", "") in files(ran)
    assert ("vacío.txt", "failed", "empty_file") in files(ran)
    assert ("no-existe.pdf", "failed", "missing_file") in files(ran)
    assert db.execute("select count(*) from sherlock.inbox").fetchone() == (1,)
    table = sherlock("enqueue", missing, good)
    assert "get the document again" in sherlock("enqueue", good.parent / "vacío.txt").out
    assert "[missing_file: " in table.out


@pytest.mark.parametrize("by_path", [False, True])
def test_odd_names_are_sent_as_bytes(
    sherlock: Sherlock, db: psycopg.Connection, tmp_path: Path, text_of: Any, by_path: bool
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / os.fsdecode(b"a\xff.txt")).write_text(text_of(1))
    (folder / "b\nc.txt").write_text(text_of(2))
    sent = sherlock("enqueue", folder, *(["--by-path"] if by_path else []))
    assert sent.code == 0, sent.err
    assert sherlock(*READ).code == 0
    rows = db.execute(
        "select d.name, d.status, f.sha256 is not null from sherlock.documents as d"
        " left join sherlock.file_contents as f using (sha256) order by 1"
    ).fetchall()
    assert rows == [("a\\xff.txt", "ok", True), ("b\nc.txt", "ok", not by_path)]


def test_by_path_keeps_the_bytes_out_of_the_database(
    sherlock: Sherlock, db: psycopg.Connection, write: Write
) -> None:
    path = write("a.txt", 1)
    assert sherlock("enqueue", "--by-path", path).code == 0
    assert db.execute("select count(*) from sherlock.file_contents").fetchone() == (0,)
    row = db.execute("select gate, path, host is not null from sherlock.inbox").fetchone()
    assert row == ("new", str(path), True)
    path.write_text("Otra cosa, que nadie vio cuando se anotó en la cola de la oficina de reparto")
    assert sherlock(*READ).code == 0
    reason = db.execute("select state, reason from sherlock.inbox").fetchone()
    assert reason == ("queued", "changed_while_read")


def test_waiting_gives_the_verdicts(
    sherlock: Sherlock, database_url: str, work: Callable[..., Summary], write: Write, text_of: Any
) -> None:
    first = write("a.txt", 1)
    sherlock("enqueue", first)
    work()
    near = first.parent / "b.txt"
    near.write_text(text_of(1).replace("general", "urgente"))
    write("c.txt", 2)

    def read_when_sent() -> None:
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("listen sherlock_inbox")
            next(conn.notifies(timeout=30, stop_after=1))
        work()

    reading = threading.Thread(target=read_when_sent)
    reading.start()
    ran = sherlock("enqueue", "--wait", first.parent, "--format", "json")
    reading.join()
    assert ran.code == 0, ran.err
    found = {Path(f["file"]).name: f for f in json.loads(ran.out)["files"]}
    assert (found["a.txt"]["confidence"], found["a.txt"]["gate"]) == ("EXACT", "hit")
    assert (found["b.txt"]["confidence"], found["b.txt"]["best_match"]) == ("HIGH", "a.txt")
    assert (found["c.txt"]["action"], found["c.txt"]["state"]) == ("ACCEPT", "done")


def test_waiting_says_when_somebody_withdrew_a_file(
    sherlock: Sherlock, database_url: str, write: Write
) -> None:
    def withdraw() -> None:
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("listen sherlock_inbox")
            next(conn.notifies(timeout=30, stop_after=1))
            conn.execute("delete from sherlock.inbox")

    other = threading.Thread(target=withdraw)
    other.start()
    ran = sherlock("enqueue", "--wait", write("a.txt", 1), "--format", "json")
    other.join()
    assert ran.code == 1
    assert files(ran) == [("a.txt", "dead", "withdrawn")]


def test_priority_and_type_go_with_the_file(
    sherlock: Sherlock, db: psycopg.Connection, write: Write
) -> None:
    sherlock("enqueue", write("luego.txt", 1))
    sherlock("enqueue", write("ya.txt", 2), "--priority", 5, "--doc-type", "tutela")
    leased = db.execute("select name from sherlock.lease_items('w', 1)").fetchone()
    assert leased == ("ya.txt",)
    db.execute("select sherlock.return_items('w')")
    sherlock(*READ)
    types = db.execute("select name, doc_type from sherlock.documents order by 1").fetchall()
    assert types == [("luego.txt", "default"), ("ya.txt", "tutela")]
    wrong = sherlock("enqueue", write("x.txt", 3), "--doc-type", "tutella")
    assert wrong.code == 2
    assert "there is no document type 'tutella'" in wrong.err
