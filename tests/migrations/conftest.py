"""A database's schema as text."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from sherlock_pg.db.tables import SCHEMA

if TYPE_CHECKING:
    from tests.conftest import Server


@pytest.fixture
def dump_schema(server: Server) -> Callable[..., str]:
    """Give a function that returns the schema of a database as pg_dump writes it."""

    def dump(url: str, *options: str) -> str:
        program = server.binary("pg_dump")
        return subprocess.run(
            [program, "-s", "-O", *options, "-n", SCHEMA, "--restrict-key=x", url],
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    return dump
