"""A watch outlives an upgrade of the schema, and a dump and restore of the database."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import psycopg
import pytest

from sherlock_pg.db import schema


@pytest.fixture
def watched_url(database_url: str, text_of: Any) -> str:
    """Give a database with a watched table whose columns don't have consecutive numbers."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("create schema app")
        conn.execute('create table app."Odd t" (gone text, id integer primary key, body text)')
        conn.execute('alter table app."Odd t" drop column gone')
        conn.execute('insert into app."Odd t" values (1, %s), (2, %s)', [text_of(1), text_of(1)])
        conn.execute("select sherlock.watch('app.\"Odd t\"', 'id', array['body'], 'reject')")
    return database_url


def check(url: str, text: str) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        row = conn.execute(
            "select table_name, state, row_count, exact_count from sherlock.watched"
        ).fetchone()
        assert row == ('app."Odd t"', "active", 2, 1)
        with pytest.raises(psycopg.DatabaseError, match="near-duplicate of row 1 in"):
            conn.execute('insert into app."Odd t" values (3, %s)', [text])
        assert conn.execute("select sherlock.unwatch('app.\"Odd t\"')").fetchone() == (2,)


def test_an_upgrade(watched_url: str, text_of: Any) -> None:
    schema.upgrade(watched_url)
    check(watched_url, text_of(1, version=1))


def test_a_dump_and_restore(
    watched_url: str, empty_database_url: str, server: Any, text_of: Any
) -> None:
    environment = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
    dump = subprocess.run(
        [server.binary("pg_dump"), "--dbname", watched_url],
        check=True, capture_output=True, env=environment,
    )  # fmt: skip
    # pg_dump 18 writes a setting that PostgreSQL before 17 does not know.
    script = dump.stdout.replace(b"SET transaction_timeout = 0;\n", b"")
    restore = subprocess.run(
        [server.binary("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "--dbname", empty_database_url],
        check=False, capture_output=True, input=script, env=environment,
    )  # fmt: skip
    assert restore.returncode == 0, restore.stderr.decode()
    check(empty_database_url, text_of(1, version=1))
