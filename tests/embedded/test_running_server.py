"""A server that was started before: identity, crashes, ports, locale, stopping."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from sherlock_pg.embedded.account import server_account
from sherlock_pg.embedded.cluster import SETTINGS, SUPERUSER
from sherlock_pg.embedded.server import EmbeddedServer
from sherlock_pg.errors import EnvironmentFault

Ask = Callable[..., str]


def postmaster_pid(server: EmbeddedServer) -> int:
    return int((server.data / "postmaster.pid").read_text(encoding="ascii").split("\n", 1)[0])


@pytest.fixture
def listener(own_server: EmbeddedServer) -> Iterator[socket.socket]:
    """Give a foreign socket that listens on the port of the server, which is stopped."""
    own_server.start()
    own_server.stop()
    with socket.socket() as foreign:
        foreign.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        foreign.bind(("127.0.0.1", own_server.port))
        foreign.listen()
        yield foreign


def test_second_start_changes_nothing(running: EmbeddedServer) -> None:
    before = (running.url(), postmaster_pid(running))
    assert running.start() is False
    assert (running.url(), postmaster_pid(running)) == before


def test_status(running: EmbeddedServer, ask: Ask) -> None:
    status = running.status()
    assert (status.root, status.port) == (running.root, running.port)
    assert status.is_initialised
    assert status.is_running
    assert status.postgresql_version == ask(running, "show server_version")
    offered = "select default_version from pg_available_extensions where name = 'vector'"
    assert status.pgvector_version == ask(running, offered)
    running.stop()
    stopped = running.status()
    assert stopped.is_initialised
    assert not stopped.is_running
    assert stopped.port == status.port
    assert stopped.postgresql_version == status.postgresql_version


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_settings_are_in_force(name: str, running: EmbeddedServer, ask: Ask) -> None:
    assert ask(running, f"show {name}") == SETTINGS[name]


def test_spanish_letters_are_letters(running: EmbeddedServer, ask: Ask) -> None:
    with psycopg.connect(running.url(), autocommit=True) as conn:
        conn.execute("create extension if not exists pg_trgm")
    # Trigrams with letters beyond ASCII are shown as hashes: count them, and compare.
    assert ask(running, "select cardinality(show_trgm('ñ'))") == "2"
    assert ask(running, "select cardinality(show_trgm('PEÑA'))") == "5"
    assert ask(running, "select show_trgm('PEÑA') = show_trgm('peña')") == "True"
    assert ask(running, "select similarity('peña', 'pe a') < 1") == "True"
    assert ask(running, "select lower('ÁÉÍÑ')") == "áéíñ"
    ctype = "select datctype from pg_database where datname = current_database()"
    assert ask(running, ctype) == "C.UTF-8"


@pytest.mark.parametrize("password", ["wrong", ""])
def test_wrong_password_is_refused(password: str, running: EmbeddedServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(running.url(), password=password)


def test_only_loopback_listens(running: EmbeddedServer) -> None:
    listening = "0A"
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if line.split()[3] == listening and int(port, 16) == running.port:
                addresses.add(address)
    loopback = socket.inet_aton("127.0.0.1")
    assert addresses == {f"{int.from_bytes(loopback, 'little'):08X}"}


def test_committed_rows_survive_a_kill(running: EmbeddedServer, ask: Ask) -> None:
    with psycopg.connect(running.url(), autocommit=True) as conn:
        conn.execute("create table survivors as select generate_series(1, 1000) as id")
        os.kill(postmaster_pid(running), signal.SIGKILL)
    assert running.start() is True
    assert ask(running, "select count(*) from survivors") == "1000"


def test_a_surviving_backend_keeps_a_second_server_away(
    running: EmbeddedServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sherlock_pg.embedded.server._CRASH_PATIENCE", 0.5)
    with psycopg.connect(running.url()) as conn:
        backend = conn.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        try:
            os.kill(postmaster_pid(running), signal.SIGKILL)
            with pytest.raises(EnvironmentFault, match="a server works on"):
                running.start()
        finally:
            os.kill(backend, signal.SIGCONT)
    monkeypatch.undo()
    assert running.start() is True


def test_a_process_id_given_to_another_program_is_no_obstacle(running: EmbeddedServer) -> None:
    os.kill(postmaster_pid(running), signal.SIGKILL)
    account = server_account(running.data)
    with subprocess.Popen(
        ["sleep", "60"],
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
    ) as innocent:
        pid_file = running.data / "postmaster.pid"
        lines = pid_file.read_text(encoding="ascii").split("\n")
        pid_file.write_text("\n".join([str(innocent.pid), *lines[1:]]), encoding="ascii")
        try:
            assert not running.is_ready()
            assert running.stop() is False
            assert running.start() is True
            assert innocent.poll() is None
        finally:
            innocent.kill()


def test_a_taken_port_is_left_to_its_new_owner(
    own_server: EmbeddedServer, listener: socket.socket, ask: Ask
) -> None:
    taken = own_server.port
    assert own_server.start() is True
    assert own_server.port != taken
    assert ask(own_server, "show port") == str(own_server.port)
    chosen = own_server.port
    own_server.stop()
    own_server.start()
    assert own_server.port == chosen


def test_another_cluster_on_our_port_is_not_ours(
    running: EmbeddedServer, server: EmbeddedServer, ask: Ask
) -> None:
    running.stop()
    (running.root / "port").write_text(f"{server.port}\n", encoding="ascii")
    assert not running.is_ready()
    assert running.stop() is False
    assert server.is_ready()
    assert running.start() is True
    assert running.port != server.port
    assert Path(ask(running, "show data_directory")) == running.data


def test_a_copy_of_the_folder_is_not_the_original(running: EmbeddedServer, ask: Ask) -> None:
    running.stop()
    copy = EmbeddedServer(running.root.with_name("copy"))
    subprocess.run(["cp", "-a", running.root, copy.root], check=True)
    running.start()
    try:
        assert copy.port == running.port
        assert not copy.is_ready()
        assert copy.start() is True
        assert copy.port != running.port
        assert Path(ask(copy, "show data_directory")) == copy.data
        assert running.is_ready()
    finally:
        copy.stop()
        shutil.rmtree(copy.root)


@pytest.mark.parametrize(
    ("reply", "name"),
    [(b"R" + struct.pack("!ii", 8, 3), "asks for it"), (b"R" + struct.pack("!ii", 8, 0), "trusts")],
)
def test_an_impostor_is_not_told_the_password(
    reply: bytes, name: str, own_server: EmbeddedServer, listener: socket.socket
) -> None:
    received = bytearray()

    def pose_as_postgresql() -> None:
        connection, _ = listener.accept()
        with connection:
            received.extend(connection.recv(10_000))
            connection.sendall(reply + b"Z" + struct.pack("!i", 5) + b"I")
            connection.settimeout(5)
            while data := connection.recv(10_000):
                received.extend(data)

    impostor = threading.Thread(target=pose_as_postgresql)
    impostor.start()
    assert not own_server.is_ready()
    impostor.join()
    password = (own_server.root / "password").read_bytes().strip()
    assert SUPERUSER.encode() in received
    assert password not in received


def test_ctrl_c_in_the_starting_process_leaves_the_server_running(
    running: EmbeddedServer, start_in_child: Callable[..., subprocess.Popen[str]]
) -> None:
    running.stop()
    code = (
        "import sys, time; from pathlib import Path;"
        "from sherlock_pg.embedded.server import EmbeddedServer;"
        "print(EmbeddedServer(Path(sys.argv[1])).start(), flush=True); time.sleep(60)"
    )
    child = start_in_child(running.root, code)
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    os.killpg(child.pid, signal.SIGINT)
    child.communicate()
    assert running.start() is False


def test_stop_ends_open_connections_and_is_repeatable(running: EmbeddedServer) -> None:
    with psycopg.connect(running.url(), autocommit=True) as conn:
        assert running.stop() is True
        with pytest.raises(psycopg.OperationalError):
            conn.execute("select 1")
    assert running.stop() is False
    assert not running.is_ready()


def test_stop_of_a_folder_that_never_was(tmp_path: Path) -> None:
    assert EmbeddedServer(tmp_path / "none").stop() is False
    assert not (tmp_path / "none").exists()


def test_a_lost_port_file_is_explained_while_the_server_runs(
    running: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sherlock_pg.embedded.server._CRASH_PATIENCE", 0.2)
    (running.root / "port").unlink()
    with pytest.raises(EnvironmentFault, match="its port is not known"):
        running.start()
    assert running.stop() is True
    assert running.start() is True


def test_a_lost_password_is_explained(running: EmbeddedServer) -> None:
    password = running.root / "password"
    content = password.read_bytes()
    password.unlink()
    try:
        with pytest.raises(EnvironmentFault, match="password is missing") as fault:
            running.start()
        assert "backup" in fault.value.hint
    finally:
        password.touch(mode=0o600)
        password.write_bytes(content)
    assert running.is_ready()


def test_a_wrong_setting_is_reported_at_once_with_the_log(running: EmbeddedServer) -> None:
    running.stop()
    conf = running.data / "postgresql.conf"
    good = conf.read_bytes()
    conf.write_bytes(good + b"\nshared_buffers = '12 parsecs'\n")
    began = time.monotonic()
    try:
        with pytest.raises(EnvironmentFault, match="12 parsecs"):
            running.start()
    finally:
        conf.write_bytes(good)
    assert time.monotonic() - began < 10
    assert running.start() is True


def test_the_log_is_rotated_when_it_has_grown(
    running: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.stop()
    monkeypatch.setattr("sherlock_pg.embedded.server._LOG_LIMIT_BYTES", 10)
    log = running.root / "server.log"
    before = log.read_bytes()
    running.start()
    assert log.with_suffix(".log.old").read_bytes() == before
    assert b"ready to accept connections" in log.read_bytes()
