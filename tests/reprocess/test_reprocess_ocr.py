"""Files queued to be read again, and what becomes of the reading that they replace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sherlock = Callable[..., Any]
Rows = Callable[..., list[tuple[Any, ...]]]
Write = Callable[..., Path]

QUEUE = (
    "select document_id, state, is_reread, ocr, priority, path from sherlock.inbox"
    " where state = 'queued' order by document_id"
)


@pytest.fixture
def loaded(sherlock: Sherlock, write: Write, rows: Rows) -> dict[str, int]:
    """Give four files that were loaded, one of them damaged, by name."""
    for number in range(1, 4):
        folder = write(f"{number}.txt", date=f"{number} de julio de 2025").parent
    write("4.pdf", b"%PDF-1.7\nnada")
    assert sherlock("load", "--ner-model", "none", folder).code == 1
    return dict(rows("select name, document_id from sherlock.documents"))


def queue(sherlock: Sherlock, *args: object, code: int = 0) -> tuple[int, list[int]]:
    ran = sherlock("reprocess", "--ocr", "--format", "json", *args)
    assert ran.code == code, ran.err
    result = json.loads(ran.out)
    assert result["without_file"] == len(result["without_file_ids"])
    return result["queued"], result["without_file_ids"]


def test_only_what_was_not_read_well_is_queued(
    sherlock: Sherlock, loaded: dict[str, int], rows: Rows
) -> None:
    assert queue(sherlock) == (1, [])
    assert [row[:5] for row in rows(QUEUE)] == [(loaded["4.pdf"], "queued", True, None, 0)]
    # What waits is not queued twice.
    assert queue(sherlock) == (0, [])


def test_all_with_a_mode_and_a_priority(
    sherlock: Sherlock, loaded: dict[str, int], rows: Rows
) -> None:
    args = ("--all", "--status", "ok", "--ocr-mode", "force", "--priority", 7)
    assert queue(sherlock, *args) == (3, [])
    assert [row[1:5] for row in rows(QUEUE)] == [("queued", True, "force", 7)] * 3


def test_files_that_are_gone_or_others_now_are_counted(
    sherlock: Sherlock, loaded: dict[str, int], rows: Rows, write: Write
) -> None:
    write("1.txt").unlink()
    write("2.txt", date="otro día")
    copy = write("copia de 3.txt", date="3 de julio de 2025")
    rows(
        "insert into sherlock.document_sources (document_id, source_uri, seen_at)"
        " values (%s, %s, now() - interval '1 year')",
        loaded["3.txt"],
        str(copy),
    )
    write("3.txt", date="otro día").unlink()
    missing = [loaded["1.txt"], loaded["2.txt"]]
    assert queue(sherlock, "--all", "--status", "ok", code=1) == (1, missing)
    assert [(row[0], row[5]) for row in rows(QUEUE)] == [(loaded["3.txt"], str(copy))]
    ran = sherlock("reprocess", "--ocr", "--all", "--id", loaded["1.txt"])
    assert f"without a file: #{loaded['1.txt']}" in ran.err


def test_bytes_that_the_database_keeps_need_no_path(
    sherlock: Sherlock, rows: Rows, tutela: Callable[..., str]
) -> None:
    rows(
        "select sherlock.enqueue(convert_to(%s, 'UTF8'), 'a.txt')",
        tutela(),
    )
    ((document_id,),) = rows("select document_id from sherlock.lease_items('w')")
    rows("select sherlock.finish_document(%s, 'w', 'ok', p_content => %s)", document_id, tutela())
    rows("select sherlock.record_detection(%s)", document_id)
    assert queue(sherlock, "--all") == (1, [])
    assert rows(QUEUE)[0][5] is None


def test_texts_without_a_file_are_not_asked_for(
    sherlock: Sherlock, rows: Rows, tutela: Callable[..., str]
) -> None:
    rows("insert into sherlock.documents (content) values (%s)", tutela())
    assert queue(sherlock, "--all") == (0, [])


def test_a_second_reading_replaces_the_first_and_keeps_it(
    sherlock: Sherlock,
    loaded: dict[str, int],
    rows: Rows,
    read_queued: Callable[[], list[int]],
) -> None:
    """The first reading is made the worse one by hand: it lost the beginning."""
    document_id = loaded["3.txt"]
    rows(
        "update sherlock.documents set content = 'ilegible', flags = '{low_yield}'"
        " where document_id = %s",
        document_id,
    )
    verdict = "select confidence, best_match_id from sherlock.detections where document_id = %s"
    assert rows(verdict, document_id) == [(None, None)]
    assert queue(sherlock, "--status", "ok") == (1, [])
    # A worker is reading it: what it says stays.
    assert rows("select content from sherlock.documents where document_id = %s", document_id) == [
        ("ilegible",)
    ]
    assert read_queued() == [document_id]
    assert rows(verdict, document_id)[0][0] == "HIGH"
    state = "select text_state, flags from sherlock.documents where document_id = %s"
    assert rows(state, document_id) == [("indexed", [])]
    history = rows(
        "select kind, content, text_state, flags from sherlock.document_readings"
        " where document_id = %s order by reading_number desc limit 1",
        document_id,
    )
    assert history == [("ocr", "ilegible", "excluded", ["low_yield"])]
    assert rows("select state from sherlock.inbox where is_reread") == [("done",)]


def test_a_failed_file_that_fails_again_keeps_both_reasons(
    sherlock: Sherlock,
    loaded: dict[str, int],
    rows: Rows,
    read_queued: Callable[[], list[int]],
) -> None:
    rows("update sherlock.documents set reason = 'timeout' where status = 'failed'")
    assert queue(sherlock, "--reason", "timeout") == (1, [])
    assert read_queued() == [loaded["4.pdf"]]
    now = "select status, reason from sherlock.documents where document_id = %s"
    assert rows(now, loaded["4.pdf"]) == [("failed", "damaged")]
    assert rows("select kind, status, reason, content from sherlock.document_readings") == [
        ("ocr", "failed", "timeout", None)
    ]
