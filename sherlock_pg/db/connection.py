"""Connections: which database is meant, and how it is opened."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

from sherlock_pg.embedded.server import EmbeddedServer
from sherlock_pg.errors import DatabaseUnavailable, UsageError, from_psycopg

_LIBPQ_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE", "PGUSER")


def resolve_database_url(explicit: str | None = None) -> str:
    """Return the conninfo of the database that is meant.

    Order: the option, `SHERLOCK_DATABASE_URL`, libpq's `PG*` variables (an empty conninfo lets
    libpq read them), else the embedded server, which is started when it does not run.
    """
    if explicit:
        return explicit
    if from_environment := os.environ.get("SHERLOCK_DATABASE_URL"):
        return from_environment
    if any(os.environ.get(name) for name in _LIBPQ_VARIABLES):
        return ""
    server = embedded_server()
    server.start()
    return server.url()


def embedded_server() -> EmbeddedServer:
    """Return the embedded server of this user (`SHERLOCK_HOME` moves its folder)."""
    home = os.environ.get("SHERLOCK_HOME")
    return EmbeddedServer(Path(home) if home else None)


def connect(conninfo: str, *, autocommit: bool = False) -> psycopg.Connection:
    """Open a connection; a refusal becomes `DatabaseUnavailable` with a hint."""
    try:
        return psycopg.connect(
            conninfo, autocommit=autocommit, connect_timeout=10, application_name="sherlock-pg"
        )
    except psycopg.ProgrammingError as error:
        raise UsageError(
            f"not a database URL: {str(error).strip()}",
            hint="postgresql://user:password@host:port/database",
        ) from error
    except psycopg.OperationalError as error:
        translated = from_psycopg(error)
        if isinstance(translated, DatabaseUnavailable):
            raise translated from error
        raise DatabaseUnavailable(
            f"cannot connect to the database: {translated}", hint=translated.hint
        ) from error
