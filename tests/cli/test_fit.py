"""`sherlock-pg fit`: fit, status, rollback, and what an interruption leaves."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]

TEXTS = [
    f"la demanda número {number} pide que se pague el salario del mes {number % 7} y la prima"
    f" de servicios del año {number % 11} con intereses"
    for number in range(40)
]


@pytest.fixture
def db(database_url: str) -> Iterator[psycopg.Connection]:
    """Give a connection that commits, to the database of the commands, with forty documents."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        add(conn, TEXTS)
        yield conn


def add(conn: psycopg.Connection, texts: list[str]) -> None:
    conn.cursor().executemany(
        "insert into sherlock.documents (collection_id, content)"
        " values (sherlock.collection_id('default'), %s)",
        [(text,) for text in texts],
    )


def statuses(conn: psycopg.Connection) -> dict[int, str]:
    return dict(conn.execute("select model_id, status from sherlock.tfidf_models").fetchall())


def test_fit_says_what_it_does_on_stderr_and_what_is_in_use_on_stdout(
    sherlock: Sherlock, db: psycopg.Connection
) -> None:
    ran = sherlock("fit")
    assert ran.code == ExitCode.OK, ran.err
    assert ran.err.splitlines() == ["fitting the vocabulary", "vectors: 40"]
    assert ran.out.startswith("default: vocabulary 1 is in use: ")
    assert ran.out.endswith("fitted on 40 documents\n")
    assert statuses(db) == {1: "active"}
    quiet = sherlock("-q", "fit", "--sample", 10)
    assert (quiet.code, quiet.err) == (ExitCode.OK, "")
    assert quiet.out.endswith("fitted on 10 documents\n")


def test_if_needed_fits_only_what_is_proposed(sherlock: Sherlock, db: psycopg.Connection) -> None:
    first = sherlock("fit", "--if-needed")
    assert first.err.splitlines()[0] == "default: there is none"
    second = sherlock("fit", "--if-needed")
    assert second.out == "default: no new vocabulary is needed (growth 0.0%)\n"
    assert second.err == ""
    assert statuses(db) == {1: "active"}
    add(db, [f"{text} otra vez" for text in TEXTS[:4]])
    third = sherlock("fit", "--if-needed")
    assert third.err.splitlines()[0] == (
        "default: the collection has grown since the fit (growth 10.0%)"
    )
    assert statuses(db) == {1: "retired", 2: "active"}


def test_status_says_growth_drift_and_proposal(sherlock: Sherlock, db: psycopg.Connection) -> None:
    (row,) = json.loads(sherlock("fit", "status", "--format", "json").out)
    assert (row["collection"], row["model_id"], row["refit_reason"]) == (
        "default",
        None,
        "no_vocabulary",
    )
    sherlock("fit")
    add(db, [" ".join(f"cosa{n} algo{k}" for k in range(20)) for n in range(30)])
    (row,) = json.loads(sherlock("fit", "status", "--format", "json").out)
    assert row["growth"] == 0.75
    assert row["drift"] > 0.5
    assert row["is_refit_proposed"] is True
    assert row["document_count_at_fit"] == 40
    db.execute("select sherlock.create_collection('otra')")
    rows = list(csv.DictReader(io.StringIO(sherlock("fit", "status", "--format", "csv").out)))
    assert [r["collection"] for r in rows] == ["default", "otra"]
    one = sherlock("fit", "status", "--collection", "otra", "--format", "csv")
    assert [r["collection"] for r in csv.DictReader(io.StringIO(one.out))] == ["otra"]
    assert "refit reason" in sherlock("fit", "status").out


def test_versions_are_listed_and_rolled_back_to(sherlock: Sherlock, db: psycopg.Connection) -> None:
    sherlock("fit")
    sherlock("fit", "--sample", 20)
    ran = sherlock("fit", "status", "--versions", "--format", "json")
    assert [
        (row["model_id"], row["status"], row["fitted_document_count"])
        for row in json.loads(ran.out)
    ] == [(1, "retired", 40), (2, "active", 20)]
    add(db, TEXTS[:3])
    back = sherlock("fit", "rollback")
    assert back.code == ExitCode.OK, back.err
    assert back.out.startswith("default: vocabulary 1 is in use: ")
    assert back.err.splitlines() == ["vectors: 3"]
    assert statuses(db) == {1: "active", 2: "retired"}
    assert sherlock("fit", "rollback", 2).code == ExitCode.OK
    assert statuses(db) == {1: "retired", 2: "active"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rollback"], "has no earlier vocabulary"),
        (["rollback", 7], "vocabulary 7 was never in use"),
        (["--collection", "ninguna"], "no collection"),
        (["status", "--collection", "ninguna"], "no collection"),
        (["--sample", 0], "--sample"),
    ],
)
def test_what_cannot_be_exits_2_with_a_hint(
    sherlock: Sherlock, db: psycopg.Connection, arguments: list[object], message: str
) -> None:
    ran = sherlock("fit", *arguments)
    assert ran.code == ExitCode.USAGE
    assert message in ran.err
    assert ran.out == ""


def test_without_texts_there_is_nothing_to_fit(sherlock: Sherlock, database_url: str) -> None:
    ran = sherlock("fit")
    assert ran.code == ExitCode.SOME_FAILED
    assert "no TF-IDF vocabulary" in ran.err
    assert "hint: add documents" in ran.err
    assert sherlock("fit", "--if-needed").code == ExitCode.OK


def test_while_another_session_is_at_it_fit_is_refused(
    sherlock: Sherlock, db: psycopg.Connection
) -> None:
    db.execute("select sherlock._hold_vocabulary(sherlock.collection_id('default'))")
    for arguments in (["fit"], ["fit", "rollback"]):
        ran = sherlock(*arguments)
        assert ran.code == ExitCode.USAGE
        assert f"process id: {db.info.backend_pid}" in ran.err
        assert "refreshing_pid" in ran.err
    assert statuses(db) == {}


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED),
        (signal.SIGTERM, ExitCode.INTERRUPTED),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_stopped_in_its_vectors_the_old_one_answers_and_a_second_run_goes_on(
    sherlock: Sherlock, db: psycopg.Connection, database_url: str, sent: signal.Signals, code: int
) -> None:
    sherlock("fit")
    # So many that a batch of vectors takes a while; features of level 1 are not needed.
    db.execute("set session_replication_role = replica")
    add(db, [f"{text} más una línea {n}" for n in range(20) for text in TEXTS])
    db.execute("update sherlock.documents set text_state = 'indexed'")
    process = subprocess.Popen(
        [sys.executable, "-m", "sherlock_pg", "fit"],
        env=os.environ | {"SHERLOCK_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: statuses(db) == {1: "active", 2: "building"})
    process.send_signal(sent)
    process.communicate(timeout=30)
    assert process.returncode == code
    wait_until(lambda: not refreshing(db))
    assert statuses(db) == {1: "active", 2: "building"}
    fitted_at = "select created_at from sherlock.tfidf_models where model_id = 2"
    before = db.execute(fitted_at).fetchone()
    ran = sherlock("fit")
    assert ran.code == ExitCode.OK, ran.err
    assert "fitting the vocabulary" not in ran.err
    assert statuses(db) == {1: "retired", 2: "active"}
    assert db.execute(fitted_at).fetchone() == before
    assert db.execute("select without_vector_share from sherlock.vocabulary_status").fetchone() == (
        0,
    )


def refreshing(db: psycopg.Connection) -> bool:
    query = "select from sherlock.vocabulary_status where refreshing_pid is not null"
    return bool(db.execute(query).fetchall())


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
