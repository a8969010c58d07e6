"""The first start: races, kills half-way, leftovers, and folders it cannot work in."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from sherlock_pg.embedded.account import server_account
from sherlock_pg.embedded.server import EmbeddedServer
from sherlock_pg.errors import EnvironmentFault, ExitCode

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

NewServer = Callable[..., EmbeddedServer]
Spawn = Callable[..., subprocess.Popen[str]]
Ask = Callable[..., str]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the awaited state never came"
        time.sleep(0.002)


def test_six_processes_race_to_one_cluster(
    folder: Path, new_server: NewServer, start_in_child: Spawn, ask: Ask
) -> None:
    server = new_server()
    children = [start_in_child(server.root) for _ in range(6)]
    answers = [child.communicate(timeout=120) for child in children]
    assert sorted(out.strip() for out, _ in answers) == ["False"] * 5 + ["True"], answers
    with psycopg.connect(server.url()) as first, psycopg.connect(server.url()) as second:
        query = "select system_identifier from pg_control_system()"
        assert first.execute(query).fetchone() == second.execute(query).fetchone()
    assert not (server.root / "building").exists()


def test_modes_of_what_is_made_and_of_the_folders_above(
    folder: Path, new_server: NewServer
) -> None:
    folder.chmod(0o751)
    above = {path: mode(path) for path in (folder, *folder.parents)}
    server = new_server("new/deep/server")
    previous = os.umask(0o077)
    try:
        assert server.start() is True
    finally:
        os.umask(previous)
    assert {path: mode(path) for path in above} == above
    assert mode(server.root) == (0o711 if os.geteuid() == 0 else 0o700)
    assert mode(server.data) == 0o700
    for name in ("password", "server.log", "port"):
        assert mode(server.root / name) == 0o600
    log_owner = (server.root / "server.log").stat().st_uid
    assert log_owner == server.data.stat().st_uid
    assert (server.root / "password").stat().st_uid == os.geteuid()


@pytest.mark.parametrize("moment", ["building/data/PG_VERSION", "data"])
def test_first_start_killed_then_started(
    moment: str, new_server: NewServer, start_in_child: Spawn, ask: Ask
) -> None:
    server = new_server()
    child = start_in_child(server.root)
    wait_until(lambda: (server.root / moment).exists())
    child.kill()
    child.communicate()
    server.start()
    assert ask(server, "select 1 + 1") == "2"
    assert not (server.root / "building").exists()


def test_leftovers_of_a_killed_start_are_replaced(new_server: NewServer, ask: Ask) -> None:
    server = new_server()
    half_made = server.root / "building" / "data" / "base"
    half_made.mkdir(parents=True)
    server.root.chmod(0o711)
    (half_made.parent / "PG_VERSION").write_text("18\n", encoding="ascii")
    (server.root / "building" / "password").write_text("draft\n", encoding="ascii")
    (server.root / "password").write_text("of a cluster that never was\n", encoding="ascii")
    assert server.start() is True
    assert ask(server, "show server_encoding") == "UTF8"
    assert not (server.root / "building").exists()


def test_a_cluster_of_another_major_version_is_refused(new_server: NewServer) -> None:
    server = new_server()
    server.data.mkdir(parents=True, mode=0o700)
    server.root.chmod(0o711)
    (server.data / "PG_VERSION").write_text("15\n", encoding="ascii")
    account = server_account(server.root / "none")
    if account is not None:
        os.chown(server.data, account.uid, account.gid)
    with pytest.raises(EnvironmentFault, match=r"made by PostgreSQL 15; .* PostgreSQL 18") as fault:
        server.start()
    assert "pg_dump" in fault.value.hint
    assert fault.value.exit_code is ExitCode.ENVIRONMENT
    assert [path.name for path in server.data.iterdir()] == ["PG_VERSION"]


def test_files_of_somebody_else_are_not_overwritten(new_server: NewServer) -> None:
    server = new_server()
    server.data.mkdir(parents=True)
    server.root.chmod(0o711)
    (server.data / "letter.txt").write_text("mine", encoding="ascii")
    account = server_account(server.root / "none")
    if account is not None:
        os.chown(server.data, account.uid, account.gid)
    with pytest.raises(EnvironmentFault, match="holds files but no PostgreSQL cluster"):
        server.start()
    assert (server.data / "letter.txt").read_text(encoding="ascii") == "mine"


@as_root
def test_a_cluster_owned_by_root_is_refused(new_server: NewServer) -> None:
    server = new_server()
    server.data.mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match="belongs to root") as fault:
        server.start()
    assert "chown" in fault.value.hint


@as_root
def test_a_folder_the_account_cannot_enter_is_named_and_left_alone(
    folder: Path, new_server: NewServer
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EnvironmentFault, match=f"cannot enter {closed}$") as fault:
        new_server("closed/server").start()
    assert f"chmod o+x {closed}" in fault.value.hint
    assert mode(closed) == 0o700


def test_an_unwritable_folder_is_explained() -> None:
    with pytest.raises(EnvironmentFault, match="/proc/sherlock-pg") as fault:
        EmbeddedServer(Path("/proc/sherlock-pg")).start()
    assert "SHERLOCK_HOME" in fault.value.hint


def test_a_file_in_place_of_the_folder_is_explained(folder: Path) -> None:
    (folder / "server").write_text("", encoding="ascii")
    with pytest.raises(EnvironmentFault, match="File exists"):
        EmbeddedServer(folder / "server").start()


def test_a_password_without_its_file_is_explained(new_server: NewServer) -> None:
    with pytest.raises(EnvironmentFault, match="no embedded server") as fault:
        new_server().url()
    assert "sherlock-pg server start" in fault.value.hint


def test_another_system_is_refused(new_server: NewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Windows")
    with pytest.raises(EnvironmentFault, match="Linux only, not on Windows") as fault:
        new_server().start()
    assert "--database-url" in fault.value.hint


@as_root
def test_a_full_disk_is_explained_and_leaves_nothing_behind(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=12m,mode=711", "tmpfs", str(disk)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        server = EmbeddedServer(disk / "server")
        with pytest.raises(EnvironmentFault, match="No space left on device") as fault:
            server.start()
        assert "free some space" in fault.value.hint
        assert not (server.root / "building").exists()
        assert not server.data.exists()
        (disk / "ballast").write_bytes(secrets.token_bytes(1))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@as_root
def test_a_machine_without_an_account_or_useradd_is_explained(
    new_server: NewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sherlock_pg.embedded.account._KNOWN_NAMES", ())
    monkeypatch.setattr(shutil, "which", lambda *_args, **_options: None)
    with pytest.raises(EnvironmentFault, match="no account to run the server as") as fault:
        new_server().start()
    assert "--database-url" in fault.value.hint
