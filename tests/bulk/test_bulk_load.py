"""Files of texts loaded by the command, as a user does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

Text = Callable[..., str]
WriteLines = Callable[..., Path]
Command = Callable[..., Any]


def counts(url: str) -> dict[str, int]:
    tables = (
        "documents", "document_keys", "document_signatures", "band_keys", "document_vectors",
        "document_references", "rejected_rows", "detections",
    )  # fmt: skip
    with psycopg.connect(url) as conn:
        return {
            table: conn.execute(f"select count(*) from sherlock.{table}").fetchone()[0]  # type: ignore[index]
            for table in tables
        }


def test_load_and_load_again(
    sherlock: Command, database_url: str, write_lines: WriteLines, make_text: Text
) -> None:
    path = write_lines({"id": number, "content": make_text(number)} for number in range(500))
    ran = sherlock("load", path, "--text", "content", "--key", "id", "--collection", "notas")
    assert (ran.code, "500 new, 0 known, 0 failed" in ran.out) == (0, True), ran
    assert "call sherlock.store_duplicate_pairs('notas'); select" in ran.out
    first = counts(database_url)
    assert first["documents"] == first["document_keys"] == first["document_vectors"] == 500
    assert first["band_keys"] == 500 * 32
    assert first["detections"] == 0

    ran = sherlock(
        "load", path, "--text", "content", "--key", "id", "--collection", "notas",
        "--format", "json",
    )  # fmt: skip
    assert ran.code == 0
    summary = json.loads(ran.out)["summary"]
    assert (summary["rows"], summary["new"], summary["known"]) == (500, 0, 500)
    assert counts(database_url) == first


OPTIONS = ("--text", "content", "--key", "id", "--collection", "notas")


def test_rows_that_cannot_be_stored(
    sherlock: Command,
    database_url: str,
    write_lines: WriteLines,
    make_text: Text,
    tmp_path: Path,
) -> None:
    def good(number: int) -> dict[str, Any]:
        return {"id": number, "content": make_text(number)}

    path = write_lines(
        [
            good(1),
            '{"id": 2, "content": "sin cerrar',
            '{"id": 3}',
            {"id": 4, "content": None},
            {"id": 5, "content": "  \n "},
            {"id": 6, "content": 17},
            {"id": None, "content": make_text(7)},
            {"id": "", "content": make_text(7)},
            {"id": 1.5, "content": make_text(7)},
            {"id": True, "content": make_text(7)},
            {"id": "k" * 1001, "content": make_text(7)},
            {"id": "a\0b", "content": make_text(7)},
            good(1),
            b'{"id": 8, "content": "Espa\xf1a"}',
            "[1, 2]",
            "",
            "[" * 100_000,
            {"id": "nul", "content": "a\0b \ud800 " + make_text(9)},
            good(10),
        ]
    )
    rejects = tmp_path / "rejects.jsonl"
    ran = sherlock("load", path, *OPTIONS, "--rejects", rejects)
    assert ran.code == 1
    assert "18 rows" in ran.out
    assert "3 new, 0 known, 15 failed" in ran.out
    listed = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(row["line_number"], row["reason"]) for row in listed] == [
        (2, "broken_row"), (3, "missing_field"), (4, "no_text"), (5, "no_text"),
        (6, "not_a_string"), (7, "bad_key"), (8, "bad_key"), (9, "bad_key"), (10, "bad_key"),
        (11, "bad_key"), (12, "bad_key"), (13, "duplicate_key"), (14, "encoding"),
        (15, "broken_row"), (17, "broken_row"),
    ]  # fmt: skip
    assert listed[2]["key"] == "4"
    assert "line 1 " in listed[11]["detail"]
    with psycopg.connect(database_url) as conn:
        assert conn.execute(
            "select content = 'a' || chr(65533) || 'b ' || chr(65533) || ' ' || %s, flags"
            " from sherlock.documents where name = 'nul'",
            [make_text(9)],
        ).fetchone() == (True, ["repaired"])


def test_a_changed_file_is_noticed_and_adds_what_is_new(
    sherlock: Command, write_lines: WriteLines, make_text: Text
) -> None:
    rows = [{"id": number, "content": make_text(number)} for number in range(30)]
    assert sherlock("load", write_lines(rows), *OPTIONS).code == 0
    rows[3]["content"] = "otro texto bajo la misma clave"
    rows.append({"id": 30, "content": make_text(30)})
    ran = sherlock("load", write_lines(rows), *OPTIONS)
    assert "is another file than the one loaded from there before" in ran.err
    assert "1 new, 29 known, 1 failed" in ran.out
    assert ":4: [other_text]" in ran.out
    assert ran.code == 1


def test_rejects_never_overwrite_a_file(sherlock: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    content = json.dumps({"id": "a", "content": "uno dos tres cuatro cinco"}) + "\n"
    path.write_text(content)
    ran = sherlock("load", path, "--text", "content", "--key", "id", "--rejects", path)
    assert ran.code == 2
    assert "exists" in ran.err
    assert path.read_text() == content
    missing = tmp_path / "nowhere" / "rejects.jsonl"
    ran = sherlock("load", path, "--text", "content", "--key", "id", "--rejects", missing)
    assert (ran.code, "there is no folder" in ran.err) == (2, True)


def test_again_loads_what_was_deleted_and_nothing_twice(
    sherlock: Callable[..., Any], database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "items.jsonl"
    rows = [
        {"id": str(number % 9), "content": " ".join(f"palabra{number}x{at}" for at in range(30))}
        for number in range(10)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    load = ("load", path, "--text", "content", "--key", "id", "--format", "json")
    assert sherlock(*load).code == 1  # the last row has the key of the first
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("delete from sherlock.documents where name in ('2', '7')")
        (summary,) = json.loads(sherlock(*load).out)["files"]
        assert (summary["new"], summary["known"], summary["failed"]) == (0, 9, 1)
        for new, known in ((2, 7), (0, 9)):
            (summary,) = json.loads(sherlock(*load, "--again").out)["files"]
            assert (summary["new"], summary["known"], summary["failed"]) == (new, known, 1)
            assert conn.execute("select count(*) from sherlock.documents").fetchone() == (9,)
            rejected = conn.execute("select line_number, reason from sherlock.rejected_rows")
            assert rejected.fetchall() == [(10, "duplicate_key")]
