"""What the gate asks for, and files that cannot be hashed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
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


def test_a_file_without_read_permission_is_unreadable(
    open_folder: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    path = open_folder / "a.pdf"
    path.write_bytes(b"a")
    path.chmod(0)
    with as_nobody(), pytest.raises(UnreadableFile) as failure:
        fingerprint(path)
    assert failure.value.reason is Reason.UNREADABLE


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/tty", "/proc/self"])
def test_devices_are_unreadable(path: str) -> None:
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(Path(path))
    assert failure.value.reason is Reason.UNREADABLE


@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/self/maps", "/proc/meminfo"])
def test_a_file_that_hides_its_size_is_no_document(path: str) -> None:
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(Path(path))
    assert failure.value.reason is Reason.CHANGED_WHILE_READ


def test_a_file_without_end_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.pdf").open("wb") as file:
        file.truncate(1 << 40)  # without blocks on the disk
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(tmp_path / "a.pdf")
    assert failure.value.reason is Reason.TOO_BIG


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite"])
def test_a_file_that_changes_while_it_is_hashed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(bytes(3_000_000))
    read = os.read

    def read_and_change(handle: int, count: int) -> bytes:
        data = read(handle, count)
        with path.open("r+b") as file:
            if change == "shrink":
                file.truncate(2_000_000)
            else:
                file.seek(0, os.SEEK_END if change == "grow" else os.SEEK_SET)
                file.write(bytes(2_000_000))
        os.utime(path)  # the clock of a file system ticks slowly
        return data

    monkeypatch.setattr(os, "read", read_and_change)
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(path)
    assert failure.value.reason is Reason.CHANGED_WHILE_READ
