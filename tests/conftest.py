"""Shared fixtures: one embedded server for the run, a template database, clones of it."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from sherlock_pg.embedded.server import EmbeddedServer

_clone_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """Give an embedded PostgreSQL of this test run's own (kept out of the user's)."""
    root = Path(tempfile.mkdtemp(prefix="sherlock-test-"))
    root.chmod(0o711)
    embedded = EmbeddedServer(root / "server")
    embedded.start()
    try:
        with psycopg.connect(embedded.url(), autocommit=True) as conn:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                conn.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(setting)))
            conn.execute("select pg_reload_conf()")
        yield embedded
    finally:
        embedded.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(server: EmbeddedServer) -> str:
    """Give the name of a database with the schema installed once."""
    from sherlock_pg.db import schema

    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("create database sherlock_template")
    schema.upgrade(server.url("sherlock_template"))
    return "sherlock_template"


@pytest.fixture(scope="session")
def shared_url(server: EmbeddedServer, template_database: str) -> str:
    """Give the URL of the database that read-only and rolled-back tests share."""
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL("create database sherlock_shared template {}").format(
                sql.Identifier(template_database)
            )
        )
    return server.url("sherlock_shared")


@pytest.fixture
def conn(shared_url: str) -> Iterator[psycopg.Connection]:
    """Give a connection to the installed schema; whatever the test does is rolled back."""
    with psycopg.connect(shared_url) as connection:
        connection.execute("set plpgsql.extra_errors = 'all'")
        yield connection
        connection.rollback()


@pytest.fixture
def empty_database_url(server: EmbeddedServer) -> Iterator[str]:
    """Give a database without the schema, for tests of installing it."""
    yield from _temporary_database(server, "template1")


@pytest.fixture
def database_url(server: EmbeddedServer, template_database: str) -> Iterator[str]:
    """Give a database of the test's own with the schema installed, for tests that commit."""
    yield from _temporary_database(server, template_database)


def _temporary_database(server: EmbeddedServer, template: str) -> Iterator[str]:
    name = f"t{os.getpid()}_{next(_clone_numbers)}"
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        yield server.url(name)
        admin.execute(
            sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
        )
