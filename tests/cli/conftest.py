"""Runs of the command line in this process, against a database of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sherlock_pg.cli.main import run


@dataclass(frozen=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def sherlock(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, database_url: str
) -> Callable[..., Ran]:
    """Give a function that runs a command on a database with the schema."""
    monkeypatch.setenv("SHERLOCK_DATABASE_URL", database_url)

    def run_command(*args: object) -> Ran:
        code = run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command
