"""Files that are read again, or tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg


def test_old_text_stays_until_the_new_one_is_stored(queue: Any) -> None:
    item = queue.add_known()
    item_id = queue.reread(item.document_id, "force", 3)
    (leased,) = queue.lease()
    assert (leased.item_id, leased.is_reread, leased.ocr) == (item_id, True, "force")
    assert (leased.priority, leased.path) == (3, None)
    document = queue.document(item.document_id)
    assert (document.status, document.content) == ("ok", queue.TEXT)
    assert queue.send().state == "done"
    queue.store(item.document_id, queue.OTHER_TEXT)
    assert queue.document(item.document_id).content == queue.OTHER_TEXT
    queue.judge(item.document_id)
    assert queue.item(item_id).state == "done"


def test_failing_reread_changes_nothing(queue: Any) -> None:
    item = queue.add_known()
    before = queue.document(item.document_id)
    verdict = queue.rows("select * from sherlock.detections")
    for end in ("fail", "bury"):
        item_id = queue.reread(item.document_id)
        queue.lease()
        if end == "fail":
            queue.fail(item.document_id, "timeout")
        else:
            queue.conn.execute("select sherlock.bury_item(%s, 'w', 'timeout')", [item_id])
        dead = queue.item(item_id)
        assert (dead.state, dead.reason) == ("dead", "timeout")
        assert queue.document(item.document_id) == before
    assert queue.rows("select * from sherlock.detections") == verdict


def test_verdicts_against_the_old_text_are_made_again(queue: Any) -> None:
    first = queue.add_known(b"a", queue.TEXT)
    second = queue.add_known(b"b", queue.TEXT + " Firma: Ana Torres.")
    pair = (second.document_id, first.document_id)
    matches = "select document_id, matched_document_id from sherlock.matches"
    assert queue.rows(matches) == [pair]
    queue.reread(first.document_id)
    queue.lease()
    assert queue.rows(matches) == [pair]
    queue.read(first.document_id, queue.OTHER_TEXT)
    assert queue.rows(matches) == []
    closed = queue.rows(
        "select document_id, matched_document_id, closed_reason from sherlock.closed_matches"
    )
    assert closed == [(*pair, "changed")]
    verdict = queue.row(
        "select recommended_action from sherlock.detections where document_id = %s",
        second.document_id,
    )
    assert verdict.recommended_action == "ACCEPT"


def test_reread_is_queued_once_and_takes_the_latest_choice(queue: Any) -> None:
    item = queue.add_known()
    item_id = queue.reread(item.document_id)
    assert queue.reread(item.document_id, "force", 4) == item_id
    assert queue.reread(item.document_id) == item_id
    (leased,) = queue.lease()
    assert (leased.ocr, leased.priority) == ("force", 4)
    assert queue.reread(item.document_id) == item_id
    assert queue.lease() == []


def test_deleted_document_is_not_read_again(queue: Any) -> None:
    item = queue.add_known()
    queue.reread(item.document_id)
    queue.conn.execute("delete from sherlock.documents")
    assert queue.lease() == []
    assert queue.states(item) == ["done"]
    assert queue.count("documents") == 0


def test_failed_document_is_read_by_a_reread(queue: Any) -> None:
    item = queue.add_failed()
    item_id = queue.reread(item.document_id)
    copy = queue.send()
    assert (copy.state, copy.gate) == ("queued", "hit")
    queue.lease()
    queue.read(item.document_id)
    document = queue.document(item.document_id)
    assert (document.status, document.reason) == ("ok", None)
    assert queue.item(item_id).state == "done"
    assert queue.states(copy) == ["done"]


def test_what_can_not_be_read_again_says_so(queue: Any) -> None:
    with queue.is_refused("SH001"):
        queue.reread(1_000_000)
    text_only = queue.row(
        "insert into sherlock.documents (content) values (%s) returning document_id", queue.TEXT
    )
    with queue.is_refused("SH054"):
        queue.reread(text_only.document_id)
    item = queue.add_known()
    queue.conn.execute("delete from sherlock.file_contents")
    with queue.is_refused("SH054"):
        queue.reread(item.document_id)
    queue.send(path="/now/seen")
    queue.conn.execute("delete from sherlock.file_contents")
    queue.reread(item.document_id)
    (leased,) = queue.lease()
    assert (leased.path, leased.document_id) == ("/now/seen", item.document_id)


def test_dead_items_are_tried_again(queue: Any) -> None:
    damaged = queue.add_failed(b"a", "damaged")
    copy = queue.send(b"a")
    slow = queue.add_failed(b"b", "timeout")
    assert queue.retry_dead("timeout") == 1
    assert queue.states(damaged, copy, slow) == ["dead", "dead", "queued"]
    assert queue.retry_dead("timeout") == 0
    queue.conn.execute("select sherlock.create_collection('otra')")
    assert queue.retry_dead(None, "otra") == 0
    assert queue.retry_dead(None, "default") == 1
    # The one that was to be read, not the copy.
    assert queue.states(damaged, copy) == ["queued", "dead"]
    assert queue.retry_dead() == 0
    leased = queue.lease(limit=5)
    assert [(item.item_id, item.attempts) for item in leased] == [
        (damaged.item_id, 1),
        (slow.item_id, 1),
    ]
    queue.read(damaged.document_id)
    assert queue.document(damaged.document_id).status == "ok"
    assert queue.retry_dead(None, None, [copy.item_id]) == 0
    with queue.is_refused("SH002"):
        queue.retry_dead(None, "nada")


def test_failed_reread_is_tried_again(queue: Any) -> None:
    item = queue.add_known()
    queue.reread(item.document_id, "force")
    queue.lease()
    queue.fail(item.document_id, "timeout")
    assert queue.retry_dead("timeout") == 1
    (leased,) = queue.lease()
    assert (leased.ocr, leased.is_reread) == ("force", True)
    queue.fail(item.document_id, "timeout")
    queue.reread(item.document_id)
    queue.lease()
    queue.read(item.document_id)
    assert queue.retry_dead("timeout") == 0


def test_dead_items_without_a_document_are_tried_again(queue: Any) -> None:
    item = queue.add_failed()
    queue.conn.execute("delete from sherlock.documents")
    assert queue.retry_dead() == 1
    (leased,) = queue.lease()
    assert (leased.item_id, leased.gate) == (item.item_id, "new")


def test_dropped_contents(queue: Any) -> None:
    done = queue.add_known(b"done")
    queue.send(b"waiting")
    queue.send(b"leased", priority=1)
    queue.lease()
    assert queue.row("select sherlock.drop_file_contents('1 hour') as n").n == 0
    assert queue.row("select sherlock.drop_file_contents('0') as n").n == 1
    kept = queue.rows("select content from sherlock.file_contents order by 1")
    assert kept == [(b"leased",), (b"waiting",)]
    assert queue.document(done.document_id).content == queue.TEXT
    assert queue.send(b"done").state == "done"
    assert queue.count("file_contents") == 3


def test_contents_are_not_dropped_where_senders_are_not_seen(
    database_url: str, queue_on: Callable[[psycopg.Connection], Any]
) -> None:
    with psycopg.connect(database_url) as conn:
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with queue_on(conn).is_refused("SH057"):
            conn.execute("select sherlock.drop_file_contents('0')")
