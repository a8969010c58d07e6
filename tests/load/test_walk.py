"""Which files a list of paths means."""

from __future__ import annotations

import os
from pathlib import Path

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
