"""`sherlock-pg server`, `url` and `psql`: the embedded server, and the database in use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from urllib.parse import quote, urlencode

import click
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from rich import box
from rich.console import Console
from rich.table import Table

import sherlock_pg
from sherlock_pg.db.connection import embedded_server, resolve_database_url
from sherlock_pg.errors import UsageError

_PSQL_WITHOUT_BODIES = 16
_URL_SCHEMES = ("postgresql://", "postgres://")


@click.group()
def server() -> None:
    """Start, stop and look at the embedded PostgreSQL.

    It starts by itself when a command needs it and keeps running. SHERLOCK_HOME moves its folder.
    """


@server.command()
def start() -> None:
    """Start the embedded server; the first start makes its cluster."""
    embedded = embedded_server()
    was_started = embedded.start()
    click.echo(
        f"{'started' if was_started else 'already running'} on port {embedded.port}", err=True
    )


@server.command()
def stop() -> None:
    """Stop the embedded server, ending open connections."""
    was_running = embedded_server().stop()
    click.echo("stopped" if was_running else "was not running", err=True)


@server.command()
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
def status(output_format: str) -> None:
    """Show whether the embedded server runs, where, and which versions."""
    found = embedded_server().status()
    fields: dict[str, str | int | bool | None] = {
        "is_running": found.is_running,
        "is_initialised": found.is_initialised,
        "port": found.port,
        "folder": str(found.root),
        "postgresql_version": found.postgresql_version,
        "pgvector_version": found.pgvector_version,
        "sherlock_pg_version": sherlock_pg.__version__,
    }
    if output_format == "json":
        click.echo(json.dumps(fields, indent=2))
        return
    table = Table(box=box.SIMPLE, show_header=False)
    for name, value in fields.items():
        table.add_row(name.replace("_", " "), _shown(value))
    Console(soft_wrap=True).print(table)


@click.command()
@click.pass_context
def url(ctx: click.Context) -> None:
    """Print the URL of the database in use, password included.

    It is that of --database-url, SHERLOCK_DATABASE_URL or the PG* variables, else that of the
    embedded server, which is started when it does not run.
    """
    click.echo(as_url(resolve_database_url(ctx.obj.database_url)))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def psql(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Open psql on the database in use; ARGUMENTS after `--` are psql's own.

    Example: sherlock-pg psql -- -c 'select version()'
    """
    conninfo = _parsed(resolve_database_url(ctx.obj.database_url))
    program = _psql_program()
    environment = dict(os.environ)
    # Other users can read the arguments of a process, but not its environment.
    password = conninfo.pop("password", None)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    target = ["--dbname", make_conninfo("", **conninfo)] if conninfo else []
    os.execve(program, [program, *target, *arguments], environment)


def _psql_program() -> str:
    """Prefer psql on the PATH, which has readline, unless it is so old that it prints bodies."""
    found = shutil.which("psql")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
        number = re.search(r"(\d+)", version.stdout)
        if number is not None and int(number[1]) >= _PSQL_WITHOUT_BODIES:
            return found
    return str(embedded_server().binary("psql"))


def as_url(conninfo: str) -> str:
    """Return a connection string as a URL; an empty one stands for libpq's `PG*` variables.

    Whatever has no place of its own in a URL goes into its query part, as libpq reads it.
    """
    if conninfo.startswith(_URL_SCHEMES):
        return conninfo
    parameters = {name: str(value) for name, value in _parsed(conninfo).items()}
    if not conninfo:
        parameters = _from_environment()
    user = quote(parameters.pop("user", ""), safe="")
    if password := parameters.pop("password", ""):
        user = f"{user}:{quote(password, safe='')}"
    host = parameters.get("host", "")
    address = ""
    if host and not host.startswith(("/", "@")) and "," not in host:
        host = parameters.pop("host")
        port = parameters.pop("port", "")
        address = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    database = quote(parameters.pop("dbname", ""), safe="")
    query = f"?{urlencode(parameters, quote_via=quote)}" if parameters else ""
    return f"postgresql://{f'{user}@' if user else ''}{address}/{database}{query}"


def _parsed(conninfo: str) -> dict[str, str | int | None]:
    try:
        return dict(conninfo_to_dict(conninfo))
    except psycopg.Error as error:
        raise UsageError(
            f"this is not a connection string: {str(error).strip()}",
            hint="use postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        ) from error


def _from_environment() -> dict[str, str]:
    """Return what libpq takes from its variables and the service file, less its own defaults."""
    return {
        option.keyword.decode(): option.val.decode()
        for option in psycopg.pq.Conninfo.get_defaults()
        if option.val is not None and option.val != option.compiled
    }


def _shown(value: str | int | bool | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
