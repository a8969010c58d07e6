"""What the gate asks for, and files that cannot be hashed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.load.fingerprint import UnreadableFile, fingerprint


def test_digest_and_size(tmp_path: Path) -> None:
    content = os.urandom(3_000_001)
    (tmp_path / "a.pdf").write_bytes(content)
    found = fingerprint(tmp_path / "a.pdf")
    assert found.sha256 == hashlib.sha256(content).digest()
    assert found.size_bytes == len(content)


def test_missing_file_and_broken_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("nothing", "link", "loop"):
        with pytest.raises(UnreadableFile) as failure:
            fingerprint(tmp_path / name)
        assert failure.value.reason is Reason.MISSING_FILE


def test_named_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(tmp_path / "pipe")
    assert failure.value.reason is Reason.UNREADABLE


def test_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(tmp_path)
    assert failure.value.reason is Reason.UNREADABLE
