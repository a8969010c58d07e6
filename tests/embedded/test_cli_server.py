"""`sherlock-pg server`, `url` and `psql`, in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import sherlock_pg
from sherlock_pg.cli import main
from sherlock_pg.cli.context import CliContext
from sherlock_pg.cli.server import as_url, psql, url
from sherlock_pg.cli.server import server as server_commands
from sherlock_pg.embedded.cluster import SUPERUSER
from sherlock_pg.embedded.server import EmbeddedServer
from sherlock_pg.errors import ExitCode, UsageError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _embedded_server_in_use(own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the module's server the embedded one, and the database in use."""
    for name in list(os.environ):
        if name.startswith(("PG", "SHERLOCK_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SHERLOCK_HOME", str(own_server.root))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give a function that runs the program; returns exit code, standard output and error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main.run(list(arguments))
        return code, *capsys.readouterr()

    return call


def test_start_status_stop(run: Run, own_server: EmbeddedServer) -> None:
    _, before, _ = run("server", "status", "--format", "json")
    nothing_yet = {"is_running": False, "is_initialised": False, "port": None}
    assert nothing_yet.items() <= json.loads(before).items()
    started = run("server", "start")
    assert started == (ExitCode.OK, "", f"started on port {own_server.port}\n")
    assert run("server", "start")[2] == f"already running on port {own_server.port}\n"
    status = json.loads(run("server", "status", "--format", "json")[1])
    assert status["is_running"] is True
    assert status["port"] == own_server.port
    assert status["folder"] == str(own_server.root)
    assert status["sherlock_pg_version"] == sherlock_pg.__version__
    _, table, _ = run("server", "status")
    assert f"{own_server.port}" in table
    assert str(own_server.root) in table
    assert run("server", "stop") == (ExitCode.OK, "", "stopped\n")
    assert run("server", "stop") == (ExitCode.OK, "", "was not running\n")


def test_url_starts_the_embedded_server(run: Run, own_server: EmbeddedServer) -> None:
    own_server.stop()
    code, out, _ = run("url")
    assert (code, out) == (ExitCode.OK, f"{own_server.url()}\n")
    assert own_server.is_ready()


def test_a_fault_is_a_message_with_a_hint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHERLOCK_HOME", "/proc/none")
    code, out, err = run("server", "start")
    assert (code, out) == (ExitCode.ENVIRONMENT, "")
    assert "/proc/none" in err
    assert "SHERLOCK_HOME" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("with_system_psql", [True, False])
def test_psql_runs_on_the_database_in_use(
    with_system_psql: bool, running: EmbeddedServer, tmp_path: Path
) -> None:
    if with_system_psql and shutil.which("psql") is None:
        pytest.skip("there is no psql on the PATH here")
    query = "select current_user, current_setting('port')"
    program = str(Path(sys.executable).with_name("sherlock-pg"))
    done = subprocess.run(
        [program, "psql", "--", "-XAtc", query, "-c", "select nonsense"],
        env=dict(os.environ) | ({} if with_system_psql else {"PATH": str(tmp_path)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{SUPERUSER}|{running.port}\n"
    assert 'column "nonsense" does not exist' in done.stderr
    assert done.returncode == 1


def test_psql_gets_the_password_by_its_environment_only(
    running: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, list[str], dict[str, str]]] = []

    def record(program: str, arguments: list[str], environment: dict[str, str]) -> None:
        calls.append((program, arguments, environment))

    monkeypatch.setattr(os, "execve", record)
    context = CliContext(database_url=running.url())
    result = CliRunner().invoke(psql, ["-c", "select 1"], obj=context, catch_exceptions=False)
    assert result.exit_code == 0
    [(program, arguments, environment)] = calls
    password = conninfo_to_dict(running.url())["password"]
    assert environment["PGPASSWORD"] == password
    assert not [argument for argument in arguments if str(password) in argument]
    assert arguments[0] == program
    assert arguments[-2:] == ["-c", "select 1"]


def test_psql_leaves_libpq_variables_to_libpq(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda _program, arguments, _env: calls.append(arguments))
    monkeypatch.setenv("PGHOST", "db.example")
    CliRunner().invoke(psql, ["--", "-l"], obj=CliContext(), catch_exceptions=False)
    assert [arguments[1:] for arguments in calls] == [["-l"]]


def test_url_of_the_option_and_of_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(option: str | None) -> str:
        found = CliRunner().invoke(
            url, [], obj=CliContext(database_url=option), catch_exceptions=False
        )
        return found.output.strip()

    monkeypatch.setenv("SHERLOCK_DATABASE_URL", "postgresql://of-the-variable/a")
    assert printed("postgresql://of-the-option/b") == "postgresql://of-the-option/b"
    assert printed("host=h port=5 dbname=d user=u password=p/w") == "postgresql://u:p%2Fw@h:5/d"
    assert printed(None) == "postgresql://of-the-variable/a"
    monkeypatch.delenv("SHERLOCK_DATABASE_URL")
    for name, value in {"PGHOST": "/run/pg", "PGUSER": "ana", "PGPASSWORD": "a b"}.items():
        monkeypatch.setenv(name, value)
    assert conninfo_to_dict(printed(None)) == {"host": "/run/pg", "user": "ana", "password": "a b"}


def test_not_a_connection_string() -> None:
    with pytest.raises(UsageError, match="not a connection string") as error:
        as_url("nonsense")
    assert error.value.hint.startswith("use postgresql://")


_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries(
        {"host": st.sampled_from(["h", "10.0.0.1", "::1", "/run/pg", "a,b", "@abstract"])},
        optional={
            "port": st.integers(1, 65535).map(str),
            "user": _texts,
            "password": _texts,
            "dbname": _texts.filter(lambda name: "=" not in name),
            "application_name": _texts,
        },
    )
)
def test_a_url_says_the_same_as_its_connection_string(parameters: dict[str, str]) -> None:
    assert conninfo_to_dict(as_url(make_conninfo("", **parameters))) == parameters


def test_every_command_is_described() -> None:
    for command in (*server_commands.commands.values(), server_commands, url, psql):
        assert command.get_short_help_str(), command.name
