"""The system account the server runs as: PostgreSQL refuses to run as root."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sherlock_pg.errors import EnvironmentFault

_KNOWN_NAMES = ("postgres", "sherlock")
_CREATED_NAME = "sherlock"


@dataclass(frozen=True)
class Account:
    """A system account that root hands the server over to."""

    name: str
    uid: int
    gid: int

    def can_enter(self, folder: Path) -> bool:
        """Return whether the mode of the folder lets this account pass through it."""
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & 0o100)
        if status.st_gid == self.gid:
            return bool(status.st_mode & 0o010)
        return bool(status.st_mode & 0o001)


def server_account(data: Path) -> Account | None:
    """Return the account that runs the server, or None for the calling user.

    A cluster that exists is run by its owner; a new one by `postgres` or, where the machine has
    no such account, by a system account made for it.

    Raises:
        EnvironmentFault: the cluster's owner is not somebody we may run the server as.
    """
    caller = os.geteuid()
    owner = data.stat().st_uid if data.exists() else None
    if caller != 0:
        if owner not in (None, caller):
            raise EnvironmentFault(
                f"the cluster in {data} belongs to {_name_of(owner)}, not to {_name_of(caller)}",
                hint="run as that user, or choose a folder of your own with SHERLOCK_HOME",
            )
        return None
    if owner == 0:
        raise EnvironmentFault(
            f"the cluster in {data} belongs to root, and PostgreSQL refuses to run as root",
            hint=f"give it to the account that should run it: chown -R postgres {data}",
        )
    if owner is not None:
        return Account(_name_of(owner), owner, data.stat().st_gid)
    for name in _KNOWN_NAMES:
        with contextlib.suppress(KeyError):
            return _lookup(name)
    return _create()


def run_as(
    account: Account | None,
    command: Sequence[str | Path],
    *,
    pass_fds: Sequence[int] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program of the server to its end, its output (both streams) captured as text.

    The account's own group only, no supplementary ones; neither the caller's locale nor its
    libpq variables reach the server.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PG"))
    }
    return subprocess.run(
        [str(part) for part in command],
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
        cwd="/",
        env=environment,
        pass_fds=tuple(pass_fds),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _lookup(name: str) -> Account:
    entry = pwd.getpwnam(name)
    return Account(name, entry.pw_uid, entry.pw_gid)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _create() -> Account:
    hint = (
        "PostgreSQL does not run as root: make a system account named postgres, "
        "run sherlock-pg as another user, or use --database-url"
    )
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if useradd is None:
        raise EnvironmentFault(
            "there is no account to run the server as, and no useradd to make one", hint=hint
        )
    made = run_as(
        None,
        [useradd, "--system", "--user-group", "--home-dir", "/nonexistent"]
        + ["--shell", "/usr/sbin/nologin", _CREATED_NAME],
    )
    try:
        return _lookup(_CREATED_NAME)
    except KeyError:
        raise EnvironmentFault(
            f"useradd could not make the account {_CREATED_NAME}: {made.stdout.strip()}", hint=hint
        ) from None
