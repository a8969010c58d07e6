"""`sherlock-pg db`: install, upgrade and inspect the schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import write_table
from sherlock_pg.db import schema
from sherlock_pg.db import script as sql_script
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import ExitCode


@click.group()
def db() -> None:
    """Install, upgrade and inspect the schema."""


@db.command()
@pass_context
def upgrade(context: CliContext) -> None:
    """Install the schema, or bring it up to date.

    One transaction: either all of it is there afterwards or nothing changed.
    """
    before = schema.upgrade(context.conninfo())
    head = schema.head_revision()
    if before.state is schema.SchemaState.MISSING:
        click.echo(f"installed revision {head}")
    elif before.revision == head:
        click.echo(f"already at revision {head}; functions and views were re-created")
    else:
        click.echo(f"upgraded from revision {before.revision} to {head}")


@db.command()
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
)
@pass_context
def status(context: CliContext, output_format: str) -> int:
    """Say whether the schema fits this program; exit 3 if it does not."""
    with connect(context.conninfo()) as conn:
        found = schema.status(conn)
        row = {
            "state": found.state.value,
            "revision": found.revision,
            "program_revision": found.head,
            "database": conn.info.dbname,
            "server": f"{conn.info.server_version // 10000}.{conn.info.server_version % 10000}",
        }
    if output_format == "json":
        click.echo(json.dumps(row))
    else:
        write_table([row], list(row))
    return ExitCode.OK if found.state is schema.SchemaState.CURRENT else ExitCode.ENVIRONMENT


@db.command()
@click.option(
    "--from",
    "from_revision",
    metavar="REVISION",
    help="Upgrade a database at this revision. Default: install where there is no schema.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write. Default: stdout.",
)
def script(from_revision: str | None, output: Path | None) -> None:
    """Write the schema as one SQL script, for psql; needs no database.

    One transaction, like upgrade. Run again, the script only re-creates functions and views.
    """
    text = sql_script.render(from_revision).encode()
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_bytes(text)
