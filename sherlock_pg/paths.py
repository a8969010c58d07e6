"""Where the SQL files and migrations are, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _bundle_dir(name: str) -> Path:
    for candidate in (_PACKAGE / "_bundle" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(
        f"the {name}/ folder is missing beside {_PACKAGE}: the installation is incomplete"
    )


def sql_dir() -> Path:
    """Return the folder of the repeatable SQL files."""
    return _bundle_dir("sql")


def migrations_dir() -> Path:
    """Return the folder of the alembic environment and its revisions."""
    return _bundle_dir("migrations")
