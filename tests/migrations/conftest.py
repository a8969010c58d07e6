"""A database's schema as text."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from sherlock_pg.db.tables import SCHEMA

if TYPE_CHECKING:
    from tests.conftest import Server

# PostgreSQL up to 17 keeps a column's version among its options, and only its own pg_dump leaves it
# out. The version is another in each database.
_COLUMN_VERSION = re.compile(r"^ALTER TABLE .* SET \(pg_attver=\d+\);\n", re.MULTILINE)


@pytest.fixture
def dump_schema(server: Server) -> Callable[..., str]:
    """Give a function that returns the schema of a database as pg_dump writes it."""

    def dump(url: str, *options: str) -> str:
        program = server.binary("pg_dump")
        dumped = subprocess.run(
            [program, "-s", "-O", *options, "-n", SCHEMA, "--restrict-key=x", url],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return _COLUMN_VERSION.sub("", dumped)

    return dump
