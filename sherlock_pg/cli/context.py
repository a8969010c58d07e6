"""What every command shares: the database that is meant, verbosity, an open connection."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import click
import psycopg

from sherlock_pg.db import schema
from sherlock_pg.db.connection import connect, resolve_database_url


@dataclass
class CliContext:
    """Set by the top-level group; commands take it with `@pass_context`."""

    database_url: str | None = None
    verbosity: int = 0

    def conninfo(self) -> str:
        """Return the database in use; starts the embedded server if that is the one."""
        return resolve_database_url(self.database_url)

    @contextlib.contextmanager
    def connection(
        self, *, install: bool = False, autocommit: bool = False
    ) -> Iterator[psycopg.Connection]:
        """Open a connection to a database with the current schema.

        Args:
            install: install the schema where it is missing; never upgrades an older one.
            autocommit: each statement is its own transaction.
        """
        conninfo = self.conninfo()
        if install:
            with connect(conninfo) as probe:
                is_missing = schema.status(probe).state is schema.SchemaState.MISSING
            if is_missing:
                click.echo("installing the sherlock schema", err=True)
                schema.upgrade(conninfo)
        with connect(conninfo, autocommit=autocommit) as conn:
            schema.require_current(conn)
            yield conn


pass_context = click.make_pass_decorator(CliContext, ensure=True)
