"""What `load --text` says to what it cannot load."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Text = Callable[..., str]
Command = Callable[..., Any]

LINE = json.dumps({"id": 1, "content": "un texto"}) + "\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.jsonl", LINE, (), "say which field the text is"),
        ("a.csv", "id,content\n", (), "say which field the text is"),
        ("a.jsonl", LINE, ("--text", "content"), "--key is missing"),
        ("a.pdf", "%PDF-1.7", ("--text", "content", "--key", "id"), "is a PDF"),
        ("a.jsonl", "%PDF-1.7", ("--text", "content", "--key", "id"), "is a PDF"),
        ("a.jsonl", LINE, ("--text", "texto", "--key", "id"), "there is no field 'texto'"),
        ("a.csv", "id,body\n1,x\n", ("--text", "content", "--key", "id"), "no column 'content'"),
        ("a.csv", "id,t,t\n1,x,y\n", ("--text", "t", "--key", "id"), "two columns 't'"),
        ("a.jsonl", codecs.BOM_UTF16_LE, ("--text", "t", "--key", "id"), "UTF-16"),
        ("a.jsonl", LINE.encode("utf-16-le"), ("--text", "t", "--key", "id"), "not a text file"),
        ("a.parquet", "PAR2", ("--text", "t", "--key", "id"), "is no Parquet file"),
        ("a.csv.gz", b"\x1f\x8bxx", ("--text", "t", "--key", "id"), "can't be unpacked"),
        ("a.jsonl", LINE, ("--text", "t", "--key", "id", "--ocr", "never"), "--ocr is for doc"),
        ("a.jsonl", LINE, ("--text", "t", "--key", "id", "--dry-run"), "--dry-run is for doc"),
        ("a.txt", "hola", ("--key", "id"), "--key is for files of texts"),
        ("a.jsonl", LINE, ("--text", "t", "--key", "id", "--encoding", "utf-16"), "line by line"),
        ("a.jsonl", LINE, ("--text", "t", "--key", "id", "--encoding", "klingon"), "unknown enc"),
        ("a.jsonl", LINE, ("--text", "content", "--key", "id", "--profile", "text"), "profile"),
        ("a.jsonl", LINE, ("--text", "t", "--key", "id", "--doc-type", "x"), "no document type"),
    ],
)
def test_refused_with_a_message(
    sherlock: Command,
    tmp_path: Path,
    name: str,
    content: str | bytes,
    options: tuple[str, ...],
    message: str,
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = sherlock("load", path, *options)
    assert ran.code == 2
    assert message in ran.err
    assert "hint:" in ran.err


def test_folder_without_such_files(sherlock: Command, tmp_path: Path) -> None:
    ran = sherlock("load", tmp_path, "--text", "content", "--key", "id")
    assert (ran.code, "no file of texts in" in ran.err) == (2, True)


def test_folder_of_files_in_json_and_csv(
    sherlock: Command, tmp_path: Path, make_text: Text
) -> None:
    (tmp_path / "1.ndjson").write_text(json.dumps({"id": "a", "content": make_text(1)}))
    (tmp_path / "2.tsv").write_text(f"id\tcontent\nb\t{make_text(2)}\na\t{make_text(3)}\n")
    (tmp_path / "3.txt").write_text("no es de estos")
    ran = sherlock(
        "load", tmp_path, "--text", "content", "--key", "id", "--collection", "c",
        "--format", "json",
    )  # fmt: skip
    assert ran.code == 1
    said = json.loads(ran.out)
    assert [(f["rows"], f["new"], f["failed"]) for f in said["files"]] == [(1, 1, 0), (2, 1, 1)]
    assert [(r["line_number"], r["reason"]) for r in said["rejected"]] == [(3, "other_text")]
    ran = sherlock(
        "load", tmp_path / "2.tsv", "--text", "content", "--key", "id", "--collection", "c",
        "--format", "csv",
    )  # fmt: skip
    assert ran.out.splitlines()[1].endswith("2.tsv,csv,2,0,1,1,")


def test_parquet_without_pyarrow(
    sherlock: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    ran = sherlock("load", path, "--text", "content", "--key", "id")
    assert ran.code == 3
    assert "sherlock-pg[parquet]" in ran.err
