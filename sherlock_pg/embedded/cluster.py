"""Making the cluster: its settings, locale and authentication."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sherlock_pg.embedded.account import Account, run_as
from sherlock_pg.embedded.binaries import Binaries
from sherlock_pg.errors import EnvironmentFault

SUPERUSER = "postgres"
HOST = "127.0.0.1"

SETTINGS = {
    # Loopback only: the wheel has no TLS, and a socket's path has a length limit.
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    # For an office machine of 4 to 8 GB that also does other work. With PostgreSQL's defaults
    # (128MB, 4MB, 64MB, 1GB) sorting all pairs and building indexes spill to disk.
    "shared_buffers": "256MB",
    "work_mem": "32MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "2GB",
    # Compiling costs more than it saves on queries of a few milliseconds.
    "jit": "off",
    "log_line_prefix": "%m [%p] %u@%d ",
}
"""Written into `postgresql.conf` when the cluster is made; `alter system` changes them."""

_TAIL_CHARACTERS = 1500


def make_cluster(
    binaries: Binaries,
    account: Account | None,
    folder: Path,
    password: str,
    *,
    pass_fds: Sequence[int] = (),
) -> None:
    """Make a cluster in `folder/data`, which the account then owns.

    Args:
        binaries: the programs, which the account can run.
        account: who runs the server; None for the calling user.
        folder: an existing folder of the caller's.
        password: the superuser's.
        pass_fds: descriptors that initdb keeps open until it ends.
    """
    data = folder / "data"
    data.mkdir(mode=0o700)
    handover = folder / "handover"
    handover.touch(mode=0o600)
    handover.write_text(password, encoding="ascii")
    if account is not None:
        for path in (data, handover):
            os.chown(path, account.uid, account.gid)
    command: list[str | Path] = [binaries.program("initdb"), "-D", data, "-U", SUPERUSER]
    command += ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # pg_trgm classifies letters by the C library's LC_CTYPE: under C it would drop ñ.
    command += ["--locale=C", "--lc-ctype=C.UTF-8"]
    command += ["--auth-local=scram-sha-256", "--auth-host=scram-sha-256"]
    command += [f"--pwfile={handover}", "--no-instructions"]
    command += [f"--set={name}={value}" for name, value in SETTINGS.items()]
    done = run_as(account, command, pass_fds=pass_fds)
    if done.returncode != 0:
        raise program_fault("initdb could not make the cluster", done.stdout)


def check_version(data: Path, binaries: Binaries) -> None:
    """Refuse a cluster that another major version of PostgreSQL made."""
    made_by = (data / "PG_VERSION").read_text("ascii").strip()
    version = binaries.version()
    if made_by != version.split(".", 1)[0]:
        raise EnvironmentFault(
            f"the cluster in {data} was made by PostgreSQL {made_by}; "
            f"this installation has PostgreSQL {version}",
            hint="dump it with pg_dump of the release that made it, move the folder aside, "
            "start again and load the dump",
        )


def program_fault(message: str, output: str) -> EnvironmentFault:
    """Return the error for one of PostgreSQL's programs that failed, with the end of its output."""
    tail = output.strip()[-_TAIL_CHARACTERS:]
    if "No space left on device" in tail:
        hint = "free some space, or choose a folder on another disk with SHERLOCK_HOME"
    else:
        hint = "choose another folder with SHERLOCK_HOME, or another server with --database-url"
    return EnvironmentFault(f"{message}:\n{tail}", hint=hint)
