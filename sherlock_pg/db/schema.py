"""Installing and upgrading the schema: revisions, then every file of `sql/`, in one transaction."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from sherlock_pg import paths
from sherlock_pg.db.connection import connect
from sherlock_pg.db.tables import SCHEMA
from sherlock_pg.errors import EnvironmentFault, SchemaError, SherlockError, from_psycopg

MIN_SERVER_VERSION = 150000
MIN_PGVECTOR = (0, 7)
EXTENSIONS = ("vector", "pg_trgm")
LOCK_TIMEOUT = "10s"
LOCK_NAME = "sherlock_pg.upgrade"

log = logging.getLogger(__name__)


class SchemaState(enum.Enum):
    """How the schema in the database relates to this program."""

    MISSING = "missing"
    OUTDATED = "outdated"
    CURRENT = "current"
    TOO_NEW = "too new"


@dataclass(frozen=True)
class SchemaStatus:
    """Revision in the database, revision of this program, and what follows from the two."""

    state: SchemaState
    revision: str | None
    head: str


def head_revision() -> str:
    """Return the newest revision that this program knows."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise SchemaError("no revisions found: the installation is incomplete")
    return head


def alembic_config() -> Config:
    """Return the configuration of the alembic environment in `migrations/`."""
    config = Config()
    config.set_main_option("script_location", str(paths.migrations_dir()))
    return config


def status(conn: psycopg.Connection) -> SchemaStatus:
    """Compare the schema in the database with this program."""
    head = head_revision()
    found = conn.execute("select to_regclass('sherlock.alembic_version') is not null").fetchone()
    if found is None or not found[0]:
        return SchemaStatus(SchemaState.MISSING, None, head)
    row = conn.execute("select version_num from sherlock.alembic_version").fetchone()
    revision = None if row is None else str(row[0])
    if revision is None:
        return SchemaStatus(SchemaState.MISSING, None, head)
    if revision == head:
        return SchemaStatus(SchemaState.CURRENT, revision, head)
    known = {script.revision for script in _script_directory().walk_revisions()}
    state = SchemaState.OUTDATED if revision in known else SchemaState.TOO_NEW
    return SchemaStatus(state, revision, head)


def require_current(conn: psycopg.Connection) -> None:
    """Raise `SchemaError` unless the schema is exactly the one this program was made for."""
    found = status(conn)
    if found.state is SchemaState.CURRENT:
        return
    if found.state is SchemaState.TOO_NEW:
        raise _too_new(found)
    what = "is missing" if found.state is SchemaState.MISSING else "is older than this program"
    raise SchemaError(
        f"the sherlock schema {what} in this database", hint="run: sherlock-pg db upgrade"
    )


def upgrade(conninfo: str, *, on_file: Callable[[Path], None] | None = None) -> SchemaStatus:
    """Install or upgrade the schema; the only way in.

    One transaction under one advisory lock: either all of it is there afterwards or nothing
    changed. A second call changes nothing.

    Args:
        conninfo: the database, as a URL or a libpq conninfo string.
        on_file: called with each SQL file before it is run.

    Returns:
        What was there before.

    Raises:
        SchemaError: the schema was made by a newer program.
        EnvironmentFault: the server or an extension does not fit.
    """
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connect(conninfo), poolclass=NullPool
    )
    try:
        with engine.begin() as sa_connection:
            return _upgrade_in_transaction(sa_connection, on_file)
    except DBAPIError as error:
        if not isinstance(error.orig, psycopg.Error):
            raise
        raise _translated(error.orig) from error
    except psycopg.Error as error:
        raise _translated(error) from error


def check_server(conn: psycopg.Connection) -> None:
    """Refuse a server that is too old, or one whose databases are not UTF-8."""
    version = conn.info.server_version
    if version < MIN_SERVER_VERSION:
        raise EnvironmentFault(
            f"PostgreSQL {version // 10000} is too old: 15 or newer is needed",
            hint="upgrade the server, or leave --database-url out to use the embedded one",
        )
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise EnvironmentFault(
            f"the database's encoding is {encoding}: UTF8 is needed",
            hint="createdb --encoding=UTF8 --template=template0 NAME",
        )


def ensure_extensions(conn: psycopg.Connection) -> list[str]:
    """Create the extensions where they are missing; return the schemas they live in."""
    for name in EXTENSIONS:
        row = conn.execute("select 1 from pg_extension where extname = %s", [name]).fetchone()
        if row is not None:
            continue
        try:
            with conn.transaction():
                # Without a schema it would go into the first of the search path, which for a role
                # named sherlock is our own.
                conn.execute(
                    sql.SQL("create extension if not exists {} {}").format(
                        sql.Identifier(name),
                        sql.SQL("schema public" if _has_public(conn) else ""),
                    )
                )
        except (
            psycopg.errors.InsufficientPrivilege,
            psycopg.errors.FeatureNotSupported,
            psycopg.errors.UndefinedFile,
        ) as error:
            raise EnvironmentFault(
                f"the extension {name} is missing and could not be created: "
                f"{error.diag.message_primary}",
                hint=f"have an administrator run in this database: create extension {name}",
            ) from error
    rows = conn.execute(
        "select e.extname, e.extversion, n.nspname from pg_extension e"
        " join pg_namespace n on n.oid = e.extnamespace where e.extname = any(%s)",
        [list(EXTENSIONS)],
    ).fetchall()
    for name, version, _ in rows:
        if name == "vector" and parse_version(version) < MIN_PGVECTOR:
            raise EnvironmentFault(
                f"pgvector {version} is too old: 0.7 or newer is needed",
                hint="install a newer pgvector on the server, then: alter extension vector update",
            )
    return sorted({schema for _, _, schema in rows})


def _has_public(conn: psycopg.Connection) -> bool:
    row = conn.execute("select to_regnamespace('public') is not null").fetchone()
    return row is not None and bool(row[0])


def parse_version(version: str) -> tuple[int, ...]:
    """Return a dotted version as numbers; what is not a number ends it."""
    numbers: list[int] = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def sql_files() -> list[Path]:
    """Return the files of `sql/` in the order in which they run."""
    root = paths.sql_dir()
    return sorted(root.glob("*/*.sql"), key=lambda path: path.relative_to(root).parts)


def _upgrade_in_transaction(
    sa_connection: Connection, on_file: Callable[[Path], None] | None
) -> SchemaStatus:
    conn = sa_connection.connection.driver_connection
    if not isinstance(conn, psycopg.Connection):
        raise TypeError(f"psycopg connection expected, got {type(conn).__name__}")
    check_server(conn)
    conn.execute(sql.SQL("set local lock_timeout = {}").format(sql.Literal(LOCK_TIMEOUT)))
    conn.execute("set local client_min_messages = warning")
    conn.execute("select pg_advisory_xact_lock(hashtext(%s))", [LOCK_NAME])
    before = status(conn)
    if before.state is SchemaState.TOO_NEW:
        raise _too_new(before)
    conn.execute("create schema if not exists sherlock")
    schemas = ensure_extensions(conn)
    conn.execute(
        sql.SQL("set local search_path = {}").format(
            sql.SQL(", ").join(
                sql.Identifier(name) for name in dict.fromkeys(["pg_catalog", *schemas, "pg_temp"])
            )
        )
    )
    config = alembic_config()
    config.attributes["connection"] = sa_connection
    command.upgrade(config, "head")
    _apply_sql(conn, on_file)
    _check_hashes(conn)
    return before


def _apply_sql(conn: psycopg.Connection, on_file: Callable[[Path], None] | None) -> None:
    for path in sql_files():
        if on_file is not None:
            on_file(path)
        try:
            # Without parameters psycopg sends the file as it is: many statements, % and : intact.
            conn.cursor().execute(path.read_bytes())
        except psycopg.Error as error:
            error.add_note(f"in {path.parent.name}/{path.name}")
            raise


def _check_hashes(conn: psycopg.Connection) -> None:
    """Refuse a server whose hashes differ: its signatures would fit no other server's."""
    row = conn.execute("select sherlock.hash_self_test()").fetchone()
    if row is None or not row[0]:
        raise EnvironmentFault(
            "this server's hash functions give other values than PostgreSQL's on little-endian "
            "machines",
            hint="use a server on x86-64 or ARM64",
        )


def _translated(error: psycopg.Error) -> SherlockError:
    translated = from_psycopg(error)
    for note in getattr(error, "__notes__", ()):
        translated.args = (f"{translated} [{note}]",)
    return translated


def _script_directory() -> ScriptDirectory:
    return ScriptDirectory.from_config(alembic_config())


def _too_new(found: SchemaStatus) -> SchemaError:
    return SchemaError(
        f"the {SCHEMA} schema in this database (revision {found.revision}) is newer than this "
        f"program (revision {found.head})",
        hint="upgrade the program: pip install --upgrade sherlock-pg",
    )
