"""Verdicts: what the limit cuts, which entities of a text are refused, what a deletion changes."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest


def letter(seed: int) -> str:
    """Return a text that shares next to nothing with the same letter of another seed."""
    return " ".join(
        hashlib.sha256(f"{seed} {position}".encode()).hexdigest()[:8] for position in range(60)
    )


def add(conn: psycopg.Connection, content: str, collection: str = "default") -> int:
    """Store a document of its own bytes and return its id."""
    count = conn.execute("select count(*) from sherlock.documents").fetchone()
    digest = hashlib.sha256(f"{count} {content}".encode()).digest()
    row = conn.execute(
        "select document_id from sherlock.claim_file(%s, %s, %s, 'carta.txt', 'x', 'test')",
        [digest, len(content), collection],
    ).fetchone()
    assert row is not None
    conn.execute(
        "select sherlock.finish_document(%s, 'test', 'ok', p_content => %s)", [row[0], content]
    )
    document_id: int = row[0]
    return document_id


def copies(conn: psycopg.Connection, count: int, seed: int = 1) -> list[int]:
    """Store copies of one text, each judged, and return their ids."""
    document_ids = [add(conn, letter(seed)) for _ in range(count)]
    for document_id in document_ids:
        conn.execute("select sherlock.record_detection(%s)", [document_id])
    return document_ids


def verdict(conn: psycopg.Connection, document_id: int) -> tuple[Any, ...] | None:
    return conn.execute(
        "select recommended_action, best_match_id, high_confidence_count"
        " from sherlock.detections where document_id = %s",
        [document_id],
    ).fetchone()


def matched(conn: psycopg.Connection, document_id: int) -> list[int]:
    rows = conn.execute(
        "select matched_document_id from sherlock.matches where document_id = %s order by 1",
        [document_id],
    ).fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("limit", "listed", "counted"), [(None, 10, 10), (0, 0, 10), (3, 3, 10), (11, 11, 11)]
)
def test_the_limit_cuts_the_list_and_not_the_verdict(
    conn: psycopg.Connection, limit: int | None, listed: int, counted: int
) -> None:
    document_ids = [add(conn, letter(1)) for _ in range(13)]
    row = conn.execute(
        "select recommended_action, jsonb_array_length(candidates), high_confidence_count"
        " from sherlock.detect(%s, %s)",
        [document_ids[-1], limit],
    ).fetchone()
    assert row == ("REJECT", listed, counted)
    rows = conn.execute(
        "select document_id from sherlock.find_duplicates(%s, %s)", [document_ids[-1], limit]
    ).fetchall()
    assert [found for (found,) in rows] == document_ids[:listed]


@pytest.mark.parametrize("text", ["corto", letter(1)])
@pytest.mark.parametrize(
    ("entities", "sqlstate"),
    [
        ("{}", "SH021"),
        ('[{"role": "demandante"}]', "SH021"),
        ('[{"role": "nadie", "value": "Ana"}]', "SH020"),
    ],
)
@pytest.mark.parametrize("function", ["detect_text", "find_duplicates_of_text"])
def test_entities_of_a_text_are_read_however_short_it_is(
    conn: psycopg.Connection, function: str, text: str, entities: str, sqlstate: str
) -> None:
    with pytest.raises(psycopg.DatabaseError) as failure:
        conn.execute(f"select * from sherlock.{function}(%s, %s)", [text, entities])
    assert failure.value.sqlstate == sqlstate


@pytest.mark.parametrize("text", ["corto", letter(1)])
def test_no_entities_are_an_empty_array(conn: psycopg.Connection, text: str) -> None:
    first = add(conn, text)
    for entities in (None, "[]"):
        rows = conn.execute(
            "select document_id, confidence from sherlock.find_duplicates_of_text(%s, %s)",
            [text, entities],
        ).fetchall()
        assert rows == [(first, "EXACT")]


def test_a_deleted_document_is_nobodys_match(conn: psycopg.Connection) -> None:
    first, second, third = copies(conn, 3)
    assert verdict(conn, third) == ("REJECT", first, 2)
    conn.execute("delete from sherlock.documents where document_id = %s", [first])
    assert verdict(conn, second) == ("ACCEPT", None, 0)
    assert matched(conn, second) == []
    assert verdict(conn, third) == ("REJECT", second, 1)
    assert matched(conn, third) == [second]


def test_a_later_document_that_goes_changes_nothing(conn: psycopg.Connection) -> None:
    first, second, third = copies(conn, 3)
    unchanged = conn.execute(
        "select * from sherlock.detections where document_id < %s order by document_id", [third]
    ).fetchall()
    conn.execute("delete from sherlock.documents where document_id = %s", [third])
    after = conn.execute("select * from sherlock.detections order by document_id").fetchall()
    assert after == unchanged
    assert matched(conn, second) == [first]


def test_documents_that_go_together_are_not_judged(conn: psycopg.Connection) -> None:
    document_ids = copies(conn, 4)
    bystander = copies(conn, 1, seed=2)[0]
    conn.execute("delete from sherlock.documents where document_id = any(%s)", [document_ids])
    assert verdict(conn, bystander) == ("ACCEPT", None, 0)
    for table in ("matches", "detections"):
        rows = conn.execute(
            f"select document_id from sherlock.{table} where document_id <> %s", [bystander]
        ).fetchall()
        assert rows == [], table


def test_of_many_documents_some_are_judged_again_and_a_warning_tells_of_the_others(
    conn: psycopg.Connection,
) -> None:
    first, *others = copies(conn, 7)
    warnings: list[str] = []
    conn.add_notice_handler(lambda notice: warnings.append(notice.message_hint or ""))
    conn.execute("delete from sherlock.matches where matched_document_id = %s", [first])
    conn.execute("select sherlock._rejudge(%s, 'deleted', 4)", [others])
    assert verdict(conn, others[3]) == ("REJECT", first, 4)
    assert [verdict(conn, document_id) for document_id in others[4:]] == [None, None]
    assert warnings == ["judge them, until it returns 0: select sherlock.judge_missing('default')"]
    assert conn.execute("select sherlock.judge_missing('default')").fetchone() == (2,)
    assert conn.execute("select sherlock.judge_missing('default')").fetchone() == (0,)
    assert [verdict(conn, document_id) for document_id in others[4:]] == [
        ("REJECT", first, 5),
        ("REJECT", first, 6),
    ]


def test_without_a_configuration_nothing_is_judged(conn: psycopg.Connection) -> None:
    (document_id,) = copies(conn, 1)
    conn.execute("update sherlock.detection_configs set is_active = false")
    with pytest.raises(psycopg.Error, match="no configuration is in force") as raised:
        conn.execute("select * from sherlock.detect(%s)", [document_id])
    assert raised.value.sqlstate == "SH024"
