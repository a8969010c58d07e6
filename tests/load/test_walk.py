"""Which files a list of paths means."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.load.fingerprint import UnreadableFile, fingerprint
from sherlock_pg.load.walk import storable, walk


def names(root: Path, *paths: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in walk(paths)]


def test_folders_are_walked_in_name_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/1.txt", "a.txt", ".hidden", "b/.git/x.txt", "c/d/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert names(tmp_path, tmp_path) == ["a.txt", "b/1.txt", "b/2.txt", "c/d/e.txt"]


def test_a_file_given_twice_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    assert names(tmp_path, tmp_path / "a.txt", tmp_path) == ["a.txt"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "up").symlink_to(tmp_path)
    assert names(tmp_path, tmp_path) == ["in/a.txt"]


def test_a_broken_link_is_kept_to_be_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.pdf").symlink_to(tmp_path / "nowhere")
    assert names(tmp_path, tmp_path) == ["gone.pdf"]


def test_special_files_in_a_folder_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "a.txt").write_text("a")
    assert names(tmp_path, tmp_path) == ["a.txt"]


def test_name_that_is_not_utf8_can_be_stored(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/a\xf1o.txt"
    Path(os.fsdecode(raw)).write_text("a")
    (path,) = walk([tmp_path])
    assert storable(path.name) == "a\\xf1o.txt"
    storable(path).encode("utf-8")


def test_folders_nested_deeper_than_calls_are_walked(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    depth = sys.getrecursionlimit() + 100
    for _ in range(depth):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("a.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    try:
        (found,) = walk([tmp_path])
        assert found.name == "a.txt"
        assert len(found.relative_to(tmp_path).parts) == depth + 1
    finally:
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # shutil.rmtree is a recursion


def test_a_folder_too_deep_for_a_path_is_reported_as_unreadable(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("n" * 200, dir_fd=folder)
        inner = os.open("n" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    (found,) = walk([tmp_path])
    assert len(os.fsencode(found)) > 4_000
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(found)
    assert failure.value.reason is Reason.UNREADABLE
    shutil.rmtree(tmp_path / ("n" * 200))


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o311])
def test_a_folder_without_rights_is_reported_and_the_rest_is_walked(
    open_folder: Path, as_nobody: Callable[[], AbstractContextManager[None]], mode: int
) -> None:
    closed = open_folder / "b"
    closed.mkdir()
    (closed / "1.txt").write_text("1")
    for name in ("a.txt", "c.txt"):
        (open_folder / name).write_text(name)
    closed.chmod(mode)
    with as_nobody():
        found = names(open_folder, open_folder)
        readable = []
        for name in found:
            try:
                fingerprint(open_folder / name)
                readable.append(name)
            except UnreadableFile as failure:
                assert failure.reason is Reason.UNREADABLE
    closed.chmod(0o700)
    assert readable == ["a.txt", "c.txt"]
    assert [name for name in found if name not in readable] in (["b"], ["b/1.txt"])


def test_what_vanishes_during_the_walk_is_left_out(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c/d.txt", "e/f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    walking = walk([tmp_path])
    assert next(walking).name == "a.txt"
    (tmp_path / "b.txt").unlink()
    shutil.rmtree(tmp_path / "c")
    assert [path.name for path in walking] == ["f.txt"]


def test_a_path_with_a_nul_byte_is_reported_and_does_not_end_the_walk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    broken = tmp_path / "b\0c"
    assert list(walk([broken, tmp_path])) == [broken, tmp_path / "a.txt"]
    with pytest.raises(UnreadableFile) as failure:
        fingerprint(broken)
    assert failure.value.reason is Reason.UNREADABLE


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.binary(min_size=1, max_size=255).filter(
            lambda name: not {0, 47} & set(name) and not name.startswith(b".")
        ),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_any_name_that_the_system_takes_is_walked_hashed_and_stored(
    tmp_path: Path, raw_names: list[bytes]
) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        for name in raw_names:
            Path(folder, os.fsdecode(name)).write_bytes(name)
        found = list(walk([Path(folder)]))
        assert [os.fsencode(path.name) for path in found] == sorted(raw_names)
        for path in found:
            assert fingerprint(path).size_bytes == len(os.fsencode(path.name))
            assert "\0" not in storable(path)
            storable(path).encode("utf-8")
