"""A few rounds of the crash harness; `make crash-test` does a hundred."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import CrashRun, as_dict


@pytest.fixture
def root() -> Iterator[Path]:
    """Give a folder that the account of the server may enter."""
    folder = Path(tempfile.mkdtemp(prefix="sherlock-crash-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_nothing_is_lost_whatever_is_killed(root: Path) -> None:
    report = CrashRun(root, 11, print).run(rounds=5)
    assert report.problems == [], as_dict(report)
    assert sum(report.kills.values()) == 5
    assert report.files > report.acknowledged > 0
