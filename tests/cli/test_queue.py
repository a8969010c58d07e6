"""`sherlock-pg queue` and `status`, on items in every state."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.cli.output import duration, file_size
from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]


@pytest.fixture
def db(database_url: str) -> Iterator[psycopg.Connection]:
    """Give a connection that commits."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def add(db: psycopg.Connection, name: str, assignments: str, collection: str = "default") -> int:
    """Add an item, and set its columns as SQL says."""
    row = db.execute(
        "insert into sherlock.inbox (collection_id, name, path)"
        " values (sherlock.create_collection(%s), %s, %s) returning item_id",
        [collection, name, f"/bandeja/{name}"],
    ).fetchone()
    assert row is not None
    db.execute(f"update sherlock.inbox set {assignments} where item_id = %s", [row[0]])
    item_id: int = row[0]
    return item_id


def dead(db: psycopg.Connection, name: str, reason: str, collection: str = "default") -> int:
    return add(
        db,
        name,
        f"state = 'dead', reason = '{reason}', reason_detail = 'what was seen', attempts = 3,"
        " finished_at = now()",
        collection,
    )


def states(db: psycopg.Connection) -> dict[int, str]:
    return dict(db.execute("select item_id, state from sherlock.inbox").fetchall())


def test_status_as_table_json_and_csv(sherlock: Sherlock, db: psycopg.Connection) -> None:
    add(db, "a.pdf", "enqueued_at = now() - interval '90 seconds'")
    dead(db, "b.pdf", "damaged")
    add(db, "c.pdf", "priority = 1", "otra")
    table = sherlock("queue", "status")
    assert table.code == ExitCode.OK, table.err
    assert [line.split()[0] for line in table.out.split("\n") if line.strip()][-2:] == [
        "default",
        "otra",
    ]
    default, other = json.loads(sherlock("queue", "status", "--format", "json").out)
    assert (default["queued_count"], default["due_count"], default["dead_count"]) == (1, 1, 1)
    assert default["oldest_queued_seconds"] >= 90
    assert other["queued_count"] == 1
    ran = sherlock("queue", "status", "--collection", "otra", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(ran.out))
    assert (row["collection"], row["queued_count"]) == ("otra", "1")


def test_status_is_shown_again_and_again_until_interrupted(database_url: str) -> None:
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sherlock_pg",
            "queue",
            "status",
            "--watch",
            "1",
            "--format",
            "json",
        ],
        env=os.environ | {"SHERLOCK_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for _ in range(2):
            (row,) = json.loads(process.stdout.readline())
            assert row["queued_count"] == 0
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert err.split() == ["interrupted"]


def test_dead_items_are_listed_with_what_to_do(sherlock: Sherlock, db: psycopg.Connection) -> None:
    dead(db, "a.pdf", "damaged")
    dead(db, "b.pdf", "encrypted")
    last = dead(db, "c.pdf", "encrypted", "otra")
    table = sherlock("queue", "dead")
    assert table.code == ExitCode.OK, table.err
    assert "/bandeja/a.pdf" in table.out
    damaged, encrypted = table.out.splitlines()[-2:]
    assert damaged.startswith("damaged: ")
    assert "remove the password" in encrypted
    found = json.loads(sherlock("queue", "dead", "--reason", "encrypted", "--format", "json").out)
    assert [item["file"] for item in found] == ["/bandeja/c.pdf", "/bandeja/b.pdf"]
    assert found[0]["item_id"] == last
    assert "remove the password" in found[0]["explanation"]
    one = sherlock("queue", "dead", "--limit", 1, "--format", "csv")
    assert len(list(csv.DictReader(io.StringIO(one.out)))) == 1
    assert "more than 1 item" in one.err
    other = sherlock("queue", "dead", "--collection", "otra", "--format", "json")
    assert [item["item_id"] for item in json.loads(other.out)] == [last]


def test_dead_items_are_queued_again(sherlock: Sherlock, db: psycopg.Connection) -> None:
    damaged = dead(db, "a.pdf", "damaged")
    timeout = dead(db, "b.pdf", "timeout")
    other = dead(db, "c.pdf", "timeout", "otra")
    ran = sherlock("queue", "retry", "--reason", "timeout", "--collection", "otra")
    assert (ran.code, ran.out) == (ExitCode.OK, "1 item queued again\n")
    assert states(db) == {damaged: "dead", timeout: "dead", other: "queued"}
    assert sherlock("queue", "retry", "--id", damaged).out == "1 item queued again\n"
    assert states(db) == {damaged: "queued", timeout: "dead", other: "queued"}
    ran = sherlock("queue", "retry", "--id", damaged, "--id", timeout, "--id", 999)
    assert (ran.code, ran.out) == (ExitCode.SOME_FAILED, "1 item queued again\n")
    assert set(states(db).values()) == {"queued"}
    assert sherlock("queue", "retry", "--all").out == "0 items queued again\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["retry"], "which items?"),
        (["retry", "--id", "x"], "--id"),
        (["retry", "--collection", "ninguna"], "no collection"),
        (["status", "--collection", "ninguna"], "no collection"),
        (["dead", "--collection", "ninguna"], "no collection"),
        (["status", "--watch", "0"], "--watch"),
    ],
)
def test_what_cannot_be_exits_2(sherlock: Sherlock, arguments: list[str], message: str) -> None:
    ran = sherlock("queue", *arguments)
    assert ran.code == ExitCode.USAGE
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, ""),
        (0.04, "0.0 s"),
        (59.9, "59.9 s"),
        (61, "1 min"),
        (3599, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (200_000, "2 d 8 h"),
    ],
)
def test_spans_of_time(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB"),
                        (3e15, "3000.0 TB")]
)  # fmt: skip
def test_sizes(size: float, shown: str) -> None:
    assert file_size(size) == shown


def test_json_for_programs_stays_whole_with_odd_names(
    sherlock: Sherlock, db: psycopg.Connection
) -> None:
    name = "año\x1b[2J \n uno.pdf"
    dead(db, name, "damaged")
    assert "\x1b" not in sherlock("queue", "dead").out
    (found,) = json.loads(sherlock("queue", "dead", "--format", "json").out)
    assert Path(found["file"]).name == name
