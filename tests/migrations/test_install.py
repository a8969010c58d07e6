"""Installing and upgrading the schema on a real server."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg.conninfo import make_conninfo
from sqlalchemy import create_engine

from sherlock_pg import paths
from sherlock_pg.db import schema
from sherlock_pg.db.connection import connect
from sherlock_pg.db.tables import SCHEMA, metadata
from sherlock_pg.errors import EnvironmentFault, ExitCode, SchemaError, SherlockError


def test_second_upgrade_changes_nothing(
    dump_schema: Callable[[str], str], empty_database_url: str
) -> None:
    assert schema.upgrade(empty_database_url).state is schema.SchemaState.MISSING
    first = dump_schema(empty_database_url)
    assert schema.upgrade(empty_database_url).state is schema.SchemaState.CURRENT
    assert dump_schema(empty_database_url) == first


def test_six_concurrent_installs_give_one_schema(empty_database_url: str) -> None:
    barrier = threading.Barrier(6)

    def install() -> schema.SchemaState:
        barrier.wait()
        return schema.upgrade(empty_database_url).state

    with ThreadPoolExecutor(6) as pool:
        states = [future.result() for future in [pool.submit(install) for _ in range(6)]]
    assert sorted(state.value for state in states) == ["current"] * 5 + ["missing"]
    with psycopg.connect(empty_database_url) as conn:
        assert schema.status(conn).state is schema.SchemaState.CURRENT
        assert conn.execute("select count(*) from sherlock.collections").fetchone() == (1,)


@pytest.mark.parametrize(
    "broken",
    ["select 1; this is not SQL;", "create view sherlock.v as select nothing from nowhere"],
)
def test_broken_sql_file_leaves_nothing_behind(
    empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    files = schema.sql_files()
    bad = tmp_path / "98_broken.sql"
    bad.write_text(broken)
    monkeypatch.setattr(schema, "sql_files", lambda: [*files, bad])
    with pytest.raises(SherlockError) as failure:
        schema.upgrade(empty_database_url)
    assert "98_broken.sql" in str(failure.value)
    with psycopg.connect(empty_database_url) as conn:
        assert schema.status(conn).state is schema.SchemaState.MISSING
        assert conn.execute("select to_regnamespace('sherlock')").fetchone() == (None,)


def test_schema_of_a_newer_program_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        conn.execute("update sherlock.alembic_version set version_num = '9999'")
    with pytest.raises(SchemaError, match="newer than this program") as failure:
        schema.upgrade(database_url)
    assert failure.value.exit_code is ExitCode.ENVIRONMENT
    with psycopg.connect(database_url) as conn, pytest.raises(SchemaError, match="newer"):
        schema.require_current(conn)


def test_missing_and_older_schema_say_what_to_run(
    empty_database_url: str, database_url: str
) -> None:
    with psycopg.connect(empty_database_url) as conn, pytest.raises(SchemaError) as missing:
        schema.require_current(conn)
    assert "missing" in str(missing.value)
    assert missing.value.hint == "run: sherlock-pg db upgrade"
    with psycopg.connect(database_url) as conn:
        conn.execute("update sherlock.alembic_version set version_num = '0001'")
        with pytest.raises(SchemaError, match="older"):
            schema.require_current(conn)
        conn.rollback()


def test_database_that_is_not_utf8_is_refused(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        admin.execute(
            "create database latin1 encoding 'LATIN1' locale_provider libc locale 'C'"
            " template template0"
        )
        try:
            with pytest.raises(EnvironmentFault, match="UTF8 is needed"):
                schema.upgrade(make_conninfo(empty_database_url, dbname="latin1"))
        finally:
            admin.execute("drop database latin1 with (force)")


def test_ordinary_owner_can_install_where_the_extensions_are(empty_database_url: str) -> None:
    """Managed servers: the owner of the database is no superuser, vector is there already."""
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        name = admin.info.dbname
        admin.execute("create role office login password 'office'")
        admin.execute(f"alter database {name} owner to office")
        url = make_conninfo(empty_database_url, user="office", password="office")
        try:
            with pytest.raises(EnvironmentFault, match="extension vector is missing") as failure:
                schema.upgrade(url)
            assert "create extension vector" in failure.value.hint
            admin.execute("create extension vector")
            schema.upgrade(url)
            schema.upgrade(url)
            with psycopg.connect(url) as conn:
                assert schema.status(conn).state is schema.SchemaState.CURRENT
        finally:
            admin.execute("reassign owned by office to current_user")
            admin.execute(f"alter database {name} owner to current_user")
            admin.execute("drop owned by office")
            admin.execute("drop role office")


def test_extensions_in_a_schema_of_their_own(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        admin.execute("create schema extensions")
        admin.execute("create extension vector schema extensions")
        admin.execute("create extension pg_trgm schema extensions")
    schema.upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as conn:
        conn.execute("set search_path = ''")
        found = conn.execute("select * from sherlock.find_duplicates_of_text('hola')").fetchall()
        assert found == []


def test_tables_equal_their_metadata(database_url: str) -> None:
    engine = create_engine("postgresql+psycopg://", creator=lambda: connect(database_url))
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "version_table_schema": SCHEMA,
                "include_name": lambda name, kind, _: kind != "schema" or name == SCHEMA,
            },
        )
        differences = [
            difference
            for difference in compare_metadata(context, metadata)
            if "alembic_version" not in str(difference)
        ]
    engine.dispose()
    assert differences == []


def test_revisions_form_one_line() -> None:
    script = schema._script_directory()
    assert script.get_heads() == [schema.head_revision()]
    revisions = list(script.walk_revisions())
    assert len(revisions) == len({revision.revision for revision in revisions}) >= 2


def test_released_revisions_are_frozen() -> None:
    """A revision that was released is never edited; its hash is recorded at the release."""
    folder = paths.migrations_dir()
    for line in (folder / "frozen.txt").read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        digest, name = line.split()
        actual = hashlib.sha256((folder / "versions" / name).read_bytes()).hexdigest()
        assert actual == digest, f"{name} was edited after its release"


def test_revisions_never_read_the_repeatable_files() -> None:
    for path in (paths.migrations_dir() / "versions").glob("*.py"):
        assert "sql_dir" not in path.read_text()
        assert "read_text" not in path.read_text()
