"""The installation as one SQL script, run by psql as a DBA would."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from alembic import command
from psycopg.conninfo import make_conninfo
from sqlalchemy import create_engine

from sherlock_pg import paths
from sherlock_pg.cli.main import run
from sherlock_pg.db import schema, script
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import ExitCode

if TYPE_CHECKING:
    from tests.conftest import Server

Psql = Callable[..., subprocess.CompletedProcess[str]]

HEAD = schema.head_revision()
KNOWN = [revision.revision for revision in script._revisions()]
OLDER = KNOWN[-2]
TEXT = " ".join(f"palabra{n} hecho{n % 17} derecho{n % 29}" for n in range(60))
STARTING_ROWS = """
select md5(string_agg(r::text, E'\\n' order by r::text)) from (
    select to_jsonb(t) - 'created_at' from sherlock.detection_configs as t
    union all select to_jsonb(t) - 'created_at' from sherlock.collections as t
    union all select to_jsonb(t) - 'created_at' from sherlock.shingle_schemes as t
    union all select to_jsonb(t) from sherlock.tfidf_projection as t
    union all select to_jsonb(t) from sherlock.alembic_version as t
) as r
"""


@pytest.fixture
def psql(server: Server, tmp_path: Path) -> Psql:
    """Give a function that runs a script with psql, as the README says unless told otherwise."""

    def run_script(
        text: str, url: str, *options: str, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "sherlock.sql"
        file.write_bytes(text.encode())
        return subprocess.run(
            [
                server.binary("psql"),
                *(options or ("-X", "-q", "-v", "ON_ERROR_STOP=1")),
                *("-d", url, "-f", file.name),
            ],
            cwd=tmp_path,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            encoding="utf-8",
        )

    return run_script


@pytest.fixture
def clerk_url(empty_database_url: str) -> Iterator[str]:
    """Give an empty database, as its owner: no superuser, and may not create vector."""
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        name = admin.info.dbname
        role = f"{name}_owner"
        admin.execute(f"create role {role} login password 'office'")
        admin.execute(f"alter database {name} owner to {role}")
        try:
            yield make_conninfo(empty_database_url, user=role, password="office")
        finally:
            admin.execute(f"reassign owned by {role} to current_user")
            admin.execute(f"alter database {name} owner to current_user")
            admin.execute(f"drop owned by {role}")
            admin.execute(f"drop role {role}")


@pytest.fixture
def older_url(empty_database_url: str) -> str:
    """Give a database at the revision before the newest, as a release left it."""
    upgrade_to(empty_database_url, OLDER)
    return empty_database_url


def upgrade_to(url: str, revision: str) -> None:
    """Make the tables of a revision, as `schema.upgrade` does."""
    engine = create_engine("postgresql+psycopg://", creator=lambda: connect(url))
    with engine.begin() as connection:
        conn = connection.connection.driver_connection
        assert isinstance(conn, psycopg.Connection)
        conn.execute("create schema sherlock")
        schema.ensure_extensions(conn)
        config = schema.alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def revision_of(url: str) -> str | None:
    with psycopg.connect(url) as conn:
        return schema.status(conn).revision


def starting_rows(url: str) -> tuple[str] | None:
    with psycopg.connect(url) as conn:
        return conn.execute(STARTING_ROWS).fetchone()


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (("-X", "-q", "-v", "ON_ERROR_STOP=1"), {}),
        (("-X", "-v", "ON_ERROR_STOP=1", "-1"), {}),
        (
            ("-X",),
            {"PGCLIENTENCODING": "LATIN1", "PGOPTIONS": "-c standard_conforming_strings=off"},
        ),
    ],
    ids=["as documented", "in psql's own transaction", "other encoding and strings"],
)
def test_script_leaves_what_upgrade_leaves(
    psql: Psql,
    empty_database_url: str,
    database_url: str,
    dump_schema: Callable[..., str],
    options: tuple[str, ...],
    environment: dict[str, str],
) -> None:
    ran = psql(script.render(), empty_database_url, *options, environment=environment)
    assert ran.returncode == 0, ran.stderr
    assert "ERROR" not in ran.stderr
    assert dump_schema(empty_database_url) == dump_schema(database_url)
    assert starting_rows(empty_database_url) == starting_rows(database_url)


def test_documented_call_says_nothing_and_may_run_again(
    psql: Psql, empty_database_url: str, dump_schema: Callable[..., str]
) -> None:
    text = script.render()
    first = psql(text, empty_database_url)
    assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
    with psycopg.connect(empty_database_url) as conn:
        conn.execute("insert into sherlock.documents (content) values (%s)", [TEXT])
    before = dump_schema(empty_database_url)
    again = psql(text, empty_database_url)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert dump_schema(empty_database_url) == before
    with psycopg.connect(empty_database_url) as conn:
        assert conn.execute("select count(*) from sherlock.documents").fetchone() == (1,)


def test_owner_without_superuser_rights_installs_and_inserts(
    psql: Psql, clerk_url: str, empty_database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = psql(script.render(), clerk_url)
    assert refused.returncode == 3
    assert "the extension vector is missing and could not be created" in refused.stderr
    assert "create extension vector" in refused.stderr
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        assert admin.execute("select to_regnamespace('sherlock')").fetchone() == (None,)
        admin.execute("create extension vector")
    done = psql(script.render(), clerk_url)
    assert done.returncode == 0, done.stderr
    assert run(["--database-url", clerk_url, "db", "status", "--format", "json"]) == ExitCode.OK
    assert '"state": "current"' in capsys.readouterr().out
    with psycopg.connect(clerk_url) as conn:
        for _ in range(2):
            conn.execute("insert into sherlock.documents (content) values (%s)", [TEXT])
        verdicts = conn.execute(
            "select recommended_action, confidence from sherlock.latest_verdicts"
            " order by document_id"
        ).fetchall()
    assert verdicts == [("ACCEPT", None), ("REJECT", "EXACT")]


def test_extensions_stay_in_a_schema_of_their_own(
    psql: Psql, empty_database_url: str, dump_schema: Callable[..., str]
) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        admin.execute('create schema "Other one"')
        admin.execute('create extension vector schema "Other one"')
    done = psql(script.render(), empty_database_url)
    assert done.returncode == 0, done.stderr
    by_script = dump_schema(empty_database_url)
    assert schema.upgrade(empty_database_url).state is schema.SchemaState.CURRENT
    assert dump_schema(empty_database_url) == by_script
    with psycopg.connect(empty_database_url) as conn:
        conn.execute("set search_path = ''")
        found = conn.execute("select * from sherlock.find_duplicates_of_text('hola')").fetchall()
    assert found == []


def test_failure_half_way_leaves_nothing(psql: Psql, empty_database_url: str) -> None:
    text = script.render()
    files = [match.start() for match in re.finditer("^-- file ", text, re.MULTILINE)]
    half = files[len(files) // 2]
    broken = text[:half] + "select nothing from nowhere;\n" + text[half:]
    stopped = psql(broken, empty_database_url)
    assert stopped.returncode == 3
    assert "nowhere" in stopped.stderr
    psql(broken, empty_database_url, "-X")
    with psycopg.connect(empty_database_url) as conn:
        assert conn.execute("select to_regnamespace('sherlock')").fetchone() == (None,)
        assert conn.execute("select count(*) from pg_extension").fetchone() == (1,)


def test_scripts_at_the_same_time_take_turns(psql: Psql, empty_database_url: str) -> None:
    text = script.render()
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda _: psql(text, empty_database_url), range(3)))
    assert [(ran.returncode, ran.stderr) for ran in runs] == [(0, "")] * 3
    with psycopg.connect(empty_database_url) as conn:
        assert conn.execute("select count(*) from sherlock.collections").fetchone() == (1,)


def test_upgrade_from_an_older_revision(
    psql: Psql, older_url: str, database_url: str, dump_schema: Callable[..., str]
) -> None:
    text = script.render(OLDER)
    assert f"-- revision {OLDER}:" not in text
    for _ in range(2):
        done = psql(text, older_url)
        assert (done.returncode, done.stderr) == (0, "")
        assert revision_of(older_url) == HEAD
    assert dump_schema(older_url) == dump_schema(database_url)
    assert starting_rows(older_url) == starting_rows(database_url)


def test_from_the_newest_revision_only_the_files_run(psql: Psql, database_url: str) -> None:
    text = script.render(HEAD)
    assert "-- revision " not in text
    with psycopg.connect(database_url) as conn:
        conn.execute("drop view sherlock.latest_verdicts cascade")
    assert psql(text, database_url).returncode == 0
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from sherlock.latest_verdicts").fetchone() == (0,)


@pytest.mark.parametrize(
    ("from_revision", "expected"),
    [
        (None, f"is at revision {OLDER}, and this script installs it"),
        (KNOWN[0], f"is at revision {OLDER}, and this script upgrades one of revision {KNOWN[0]}"),
    ],
)
def test_other_revision_is_refused_and_the_right_call_named(
    psql: Psql, older_url: str, from_revision: str | None, expected: str
) -> None:
    refused = psql(script.render(from_revision), older_url)
    assert refused.returncode == 3
    assert expected in refused.stderr
    assert f'"sherlock-pg db script --from {OLDER}"' in refused.stderr
    assert revision_of(older_url) == OLDER


def test_upgrade_of_nothing_is_refused(psql: Psql, empty_database_url: str) -> None:
    refused = psql(script.render(OLDER), empty_database_url)
    assert refused.returncode == 3
    assert "there is no sherlock schema in this database" in refused.stderr
    assert "without --from" in refused.stderr
    assert revision_of(empty_database_url) is None


@pytest.mark.parametrize("from_revision", [None, OLDER])
def test_schema_of_a_newer_program_is_refused(
    psql: Psql, database_url: str, from_revision: str | None
) -> None:
    with psycopg.connect(database_url) as conn:
        conn.execute("update sherlock.alembic_version set version_num = '9999'")
    refused = psql(script.render(from_revision), database_url)
    assert refused.returncode == 3
    assert f"(revision 9999) is newer than this script (revision {HEAD})" in refused.stderr
    assert revision_of(database_url) == "9999"


def test_database_that_is_not_utf8_is_refused(psql: Psql, empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        name = f"{admin.info.dbname}_latin1"
        admin.execute(
            f"create database {name} encoding 'LATIN1' locale_provider libc locale 'C'"
            " template template0"
        )
        try:
            refused = psql(script.render(), make_conninfo(empty_database_url, dbname=name))
        finally:
            admin.execute(f"drop database {name} with (force)")
    assert refused.returncode == 3
    assert "UTF8 is needed" in refused.stderr


def test_script_depends_on_nothing_of_this_machine() -> None:
    text = script.render()
    assert text == script.render()
    for local in (paths.sql_dir().parent, Path.home(), Path(socket.gethostname())):
        assert f"{local}" not in text
    assert not re.search(r"^\\", text, re.MULTILINE), "commands of psql"


def test_command_writes_the_script(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    assert run(["db", "script"]) == ExitCode.OK
    assert capsysbinary.readouterr().out == script.render().encode()
    file = tmp_path / "sherlock.sql"
    assert run(["db", "script", "--from", OLDER, "--output", str(file)]) == ExitCode.OK
    assert capsysbinary.readouterr().out == b""
    assert file.read_bytes() == script.render(OLDER).encode()


def test_unknown_revision_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "script", "--from", "9999"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert "unknown revision 9999" in err
    assert ", ".join(KNOWN) in err
