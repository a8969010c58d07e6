"""The ends of items, of their copies, and of those that are withdrawn or deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest


def test_copies_end_with_what_they_wait_for(queue: Any) -> None:
    item = queue.send()
    copies = [queue.send(), queue.send()]
    queue.lease()
    queue.store(item.document_id)
    assert queue.states(item, *copies) == ["stored", "queued", "queued"]
    assert queue.item(item.item_id).stored_at is not None
    queue.judge(item.document_id)
    assert queue.states(item, *copies) == ["done"] * 3
    assert all(queue.item(i.item_id).finished_at for i in [item, *copies])


def test_copies_of_a_file_that_fails_are_dead(queue: Any) -> None:
    item, copy = queue.send(), queue.send()
    queue.lease()
    queue.fail(item.document_id, "encrypted")
    dead = queue.item(copy.item_id)
    assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "encrypted", "page 1")


def test_judge_missing_completes_too(queue: Any) -> None:
    item = queue.send()
    queue.lease()
    queue.store(item.document_id)
    queue.conn.execute("select sherlock.judge_missing()")
    assert queue.states(item) == ["done"]


@pytest.mark.parametrize("state", ["queued", "leased", "stored", "done", "dead"])
def test_deleted_document(queue: Any, state: str) -> None:
    item, copy = queue.send(), queue.send()
    queue.advance(item, state)
    queue.conn.execute("delete from sherlock.documents")
    after = queue.item(item.item_id)
    assert (after.document_id, after.leased_by, after.leased_until) == (None, None, None)
    assert queue.count("file_hashes") == 0
    if state in ("done", "dead"):
        assert after.state == state
        assert queue.lease() == []
        assert queue.send().gate == "new"
        return
    # Who sent a file that was not read yet still counts on it.
    assert after.state == ("done" if state == "stored" else "queued")
    (leased,) = queue.lease("next", limit=5)
    assert leased.item_id == (copy if state == "stored" else item).item_id
    assert (leased.gate, leased.attempts) == ("new", 1)
    queue.read(leased.document_id, worker="next")
    assert queue.states(item, copy) == ["done", "done"]


@pytest.mark.parametrize("state", ["queued", "leased", "stored", "done", "dead"])
def test_withdrawn_item(queue: Any, state: str) -> None:
    item, copy = queue.send(), queue.send()
    queue.advance(item, state)
    queue.conn.execute("delete from sherlock.inbox where item_id = %s", [item.item_id])
    if state in ("queued", "leased"):
        assert (
            queue.rows("select from sherlock.documents where document_id = %s", item.document_id)
            == []
        )
        (leased,) = queue.lease("next", limit=5)
        assert (leased.item_id, leased.gate) == (copy.item_id, "new")
        with queue.is_refused("SH003"):
            queue.store(item.document_id)
        queue.read(leased.document_id, worker="next")
    assert queue.states(copy) == ["dead" if state == "dead" else "done"]
    assert queue.document(queue.item(copy.item_id).document_id).status == (
        "failed" if state == "dead" else "ok"
    )
    assert queue.lease() == []


def test_withdrawn_copy_changes_nothing(queue: Any) -> None:
    item, copy = queue.send(), queue.send()
    queue.conn.execute("delete from sherlock.inbox where item_id = %s", [copy.item_id])
    assert [leased.item_id for leased in queue.lease()] == [item.item_id]


def test_all_withdrawn_leaves_nothing_pending(queue: Any) -> None:
    queue.send(b"a"), queue.send(b"a"), queue.send(b"b")
    queue.conn.execute("delete from sherlock.inbox")
    assert queue.count("documents") == queue.count("file_hashes") == 0


def test_withdrawn_retry_leaves_its_copies_with_the_known_reason(queue: Any) -> None:
    item = queue.add_failed()
    queue.retry_dead()
    copy = queue.send()
    assert (copy.state, copy.gate) == ("queued", "hit")
    queue.conn.execute("delete from sherlock.inbox where item_id = %s", [item.item_id])
    dead = queue.item(copy.item_id)
    assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "damaged", "page 1")
    assert queue.document(item.document_id).status == "failed"


def test_channels(database_url: str, queue_on: Callable[[psycopg.Connection], Any]) -> None:
    with (
        psycopg.connect(database_url, autocommit=True) as listener,
        psycopg.connect(database_url, autocommit=True) as conn,
    ):
        listener.execute("listen sherlock_inbox")
        listener.execute("listen sherlock_inbox_done")
        queue = queue_on(conn)

        def heard(action: Callable[[], object]) -> list[tuple[str, str]]:
            action()
            listener.execute("select 1")
            notes = listener.notifies(timeout=0)
            return sorted((note.channel, note.payload) for note in notes)

        work = ("sherlock_inbox", "")
        items: list[Any] = []
        assert heard(lambda: items.append(queue.send())) == [work]
        assert heard(lambda: items.append(queue.send())) == []
        queue.lease()
        document_id = items[0].document_id
        assert heard(lambda: queue.store(document_id)) == []
        done = sorted(("sherlock_inbox_done", str(item.item_id)) for item in items)
        assert heard(lambda: queue.judge(document_id)) == done
        assert heard(lambda: queue.send()) == []
        assert heard(lambda: queue.reread(document_id)) == [work]
        queue.lease()
        assert heard(lambda: conn.execute("select sherlock.return_items('w')")) == [work]
        assert heard(lambda: items.append(queue.send(b"bad"))) == [work]
        bad = items[-1]
        queue.lease(limit=2)
        ended = [("sherlock_inbox_done", str(bad.item_id))]
        assert heard(lambda: queue.fail(bad.document_id)) == ended
        assert heard(lambda: queue.retry_dead()) == [work]
        assert heard(
            lambda: conn.execute(
                "delete from sherlock.documents where document_id = %s", [bad.document_id]
            )
        ) == [work]
