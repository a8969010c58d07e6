"""A load that is killed goes on where the last committed batch ended."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.bulk import loader

Text = Callable[..., str]
WriteLines = Callable[..., Path]
Command = Callable[..., Any]

SMALL_BATCHES = (
    "from sherlock_pg.bulk import loader; loader._BATCH_ROWS = 25;"
    "from sherlock_pg.cli.main import main; main()"
)
OPTIONS = ("--text", "content", "--key", "id", "--collection", "notas")


@pytest.mark.parametrize("victim", ["loader", "backend"])
def test_killed_in_the_middle(
    sherlock: Command, database_url: str, write_lines: WriteLines, make_text: Text, victim: str
) -> None:
    count = 1000
    path = write_lines({"id": number, "content": make_text(number)} for number in range(count))
    child = subprocess.Popen(
        [sys.executable, "-c", SMALL_BATCHES, "load", str(path), *OPTIONS],
        env={**os.environ, "SHERLOCK_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with psycopg.connect(database_url, autocommit=True) as conn:
        while child.poll() is None and not _rows(conn):
            time.sleep(0.02)
        if victim == "loader":
            child.send_signal(signal.SIGKILL)
        else:
            conn.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'sherlock-pg' and datname = current_database()"
            )
        _, err = child.communicate(timeout=60)
        assert child.returncode == (-signal.SIGKILL if victim == "loader" else 3), err
        before = _rows(conn)
        assert 0 < before < count
        assert _consistent(conn) == before

        ran = sherlock("load", path, *OPTIONS)
        assert ran.code == 0, ran.err
        assert f"{count - before} new, {before} known, 0 failed" in ran.out
        assert _rows(conn) == _consistent(conn) == count


def test_goes_on_in_a_packed_csv_after_an_error_of_ours(
    sherlock: Command,
    database_url: str,
    make_text: Text,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "textos.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("id;title;content\r\n")
        for number in range(200):
            file.write(f'{number};"línea ""uno""\nlínea dos";{make_text(number)}\r\n')
    monkeypatch.setattr(loader, "_BATCH_ROWS", 30)
    calls = 0
    real = loader.store

    def fail_at_third(*args: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        real(*args, **options)

    monkeypatch.setattr(loader, "store", fail_at_third)
    options = ("--text", "title", *OPTIONS)
    assert sherlock("load", path, *options).code == 130
    with psycopg.connect(database_url, autocommit=True) as conn:
        assert _rows(conn) == 60
        ran = sherlock("load", path, *options)
        assert ran.code == 0
        assert "goes on after line 121" in ran.err
        assert "140 new, 60 known, 0 failed" in ran.out
        assert _rows(conn) == 200
        assert conn.execute(
            "select content from sherlock.documents where name = '150'"
        ).fetchone() == (f'línea "uno"\nlínea dos\n\n{make_text(150)}',)
        assert conn.execute(
            "select line_number from sherlock.document_keys where key = '150'"
        ).fetchone() == (302,)


def test_a_full_disk_of_the_server_ends_the_run(
    sherlock: Command,
    database_url: str,
    write_lines: WriteLines,
    make_text: Text,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_lines({"id": number, "content": make_text(number)} for number in range(100))
    with psycopg.connect(database_url, autocommit=True) as conn:
        # As the server says it, in the middle of a COPY.
        conn.execute(
            "create function full_disk() returns trigger language plpgsql as $$ begin"
            " raise exception using errcode = 'disk_full', message = 'no space left on device';"
            " end $$;"
            "create trigger full_disk before insert on sherlock.band_keys for each row"
            " when (new.document_id % 100 = 60) execute function full_disk()"
        )
        monkeypatch.setattr(loader, "_BATCH_ROWS", 30)
        ran = sherlock("load", path, *OPTIONS)
        assert ran.code == 3
        assert "no space left on device" in ran.err
        assert "hint: the database server's disk is full" in ran.err
        before = _rows(conn)
        assert 0 < before < 100
        conn.execute("drop trigger full_disk on sherlock.band_keys")
        ran = sherlock("load", path, *OPTIONS)
        assert f"{100 - before} new, {before} known, 0 failed" in ran.out
        assert _rows(conn) == _consistent(conn) == 100


def test_two_loaders_of_one_file(
    sherlock: Command, database_url: str, write_lines: WriteLines, make_text: Text
) -> None:
    path = write_lines({"id": number, "content": make_text(number)} for number in range(5))
    assert sherlock("load", path, *OPTIONS).code == 0
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("update sherlock.bulk_files set finished_at = null")
        conn.execute("select pg_advisory_lock(21321, bulk_file_id) from sherlock.bulk_files")
        ran = sherlock("load", path, *OPTIONS)
    assert ran.code == 1
    assert "another session is loading" in ran.err


def _rows(conn: psycopg.Connection) -> int:
    row = conn.execute("select coalesce(sum(row_count), 0) from sherlock.bulk_files").fetchone()
    assert row is not None
    return int(row[0])


def _consistent(conn: psycopg.Connection) -> int:
    """Return how many documents there are, each with all that belongs to it and nothing else."""
    row = conn.execute(
        "select (select count(*) from sherlock.documents),"
        " (select count(*) from sherlock.document_keys), (select count(*) from"
        " sherlock.document_signatures), (select count(*) from sherlock.document_vectors),"
        " (select count(*) / 32 from sherlock.band_keys), (select count(distinct document_id) from"
        " sherlock.band_keys), (select sum(row_count) from sherlock.bulk_files)"
    ).fetchone()
    assert row is not None
    assert len(set(row)) == 1, row
    return int(row[0])
