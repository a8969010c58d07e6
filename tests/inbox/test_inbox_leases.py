"""Leases: who gets what, and what becomes of it when he does not end it."""

from __future__ import annotations

import hashlib
from typing import Any


def test_leases_go_by_priority_then_arrival(queue: Any) -> None:
    items = [queue.send(b"%d" % n, priority=p) for n, p in enumerate([0, 5, 0, 5, -1])]
    order = [items[n].item_id for n in (1, 3, 0, 2, 4)]
    first = queue.lease(limit=2)
    rest = queue.lease(limit=10)
    assert [item.item_id for item in first + rest] == order
    assert {item.state for item in first + rest} == {"leased"}
    assert {item.attempts for item in first + rest} == {1}
    assert queue.lease(limit=10) == []


def test_copies_are_not_leased(queue: Any) -> None:
    item, _copy = queue.send(), queue.send()
    assert [leased.item_id for leased in queue.lease(limit=5)] == [item.item_id]


def test_path_is_leased_where_it_can_be_read(queue: Any) -> None:
    here = queue.send(None, path="/a", host="here")
    anywhere = queue.send(None, path="/b")
    there = queue.send(None, path="/c", host="there")

    def leased(host: str | None) -> list[int]:
        return [item.item_id for item in queue.lease(limit=5, host=host)]

    assert leased("here") == [here.item_id, anywhere.item_id]
    assert leased("here") == []
    assert leased(None) == [there.item_id]


def test_item_is_not_leased_before_its_time(queue: Any) -> None:
    queue.conn.execute(
        "insert into sherlock.inbox (content, run_after) values ('x', now() + interval '1 hour')"
    )
    assert queue.lease() == []


def test_lapsed_lease_is_first_and_the_late_worker_is_refused(queue: Any) -> None:
    slow = queue.send(b"slow")
    queue.lease("late")
    queue.send(b"urgent", priority=9)
    queue.lapse(slow)
    (again,) = queue.lease("w")
    assert (again.item_id, again.attempts, again.leased_by) == (slow.item_id, 2, "w")
    with queue.is_refused("SH003"):
        queue.store(slow.document_id, worker="late")
    for call in ("retry_item(%s, 'late', 'timeout')", "bury_item(%s, 'late', 'timeout')"):
        with queue.is_refused("SH003"):
            queue.conn.execute(f"select sherlock.{call}", [slow.item_id])
    queue.read(slow.document_id)
    assert queue.item(slow.item_id).state == "done"


def test_file_that_kills_its_workers_is_given_up(queue: Any) -> None:
    item = queue.send(b"bomb")
    copy = queue.send(b"bomb")
    for attempt in (1, 2, 3):
        (leased,) = queue.lease()
        assert leased.attempts == attempt
        queue.lapse(leased)
    assert queue.lease() == []
    for dead in (queue.item(item.item_id), queue.item(copy.item_id)):
        assert (dead.state, dead.reason, dead.leased_by) == ("dead", "worker_lost", None)
        assert dead.finished_at is not None
    document = queue.document(item.document_id)
    assert (document.status, document.reason) == ("failed", "worker_lost")


def test_retries_wait_longer_each_time(queue: Any) -> None:
    item = queue.send(max_attempts=12)
    for attempt, seconds in enumerate([10, 40, 160, 640, 2560, 3600, 3600, 3600, 3600, 3600, 3600]):
        (leased,) = queue.lease()
        assert leased.attempts == attempt + 1
        retried = queue.row(
            "select sherlock.retry_item(%s, 'w', 'timeout', 'page 3') as is_queued", item.item_id
        )
        assert retried.is_queued
        waiting = queue.row(
            "select state, leased_by, reason, reason_detail,"
            " extract(epoch from run_after - clock_timestamp())::float as seconds"
            " from sherlock.inbox where item_id = %s",
            item.item_id,
        )
        assert waiting[:4] == ("queued", None, "timeout", "page 3")
        assert seconds - 5 < waiting.seconds <= seconds
        assert queue.lease() == []
        queue.conn.execute("update sherlock.inbox set run_after = clock_timestamp()")
    queue.lease()
    last = queue.row("select sherlock.retry_item(%s, 'w', 'timeout') as is_queued", item.item_id)
    assert not last.is_queued
    assert queue.item(item.item_id).state == "leased"


def test_buried_item_takes_its_copies_along(queue: Any) -> None:
    item, copy = queue.send(), queue.send()
    queue.lease()
    queue.conn.execute("select sherlock.bury_item(%s, 'w', 'missing_file', 'gone')", [item.item_id])
    for dead in (queue.item(item.item_id), queue.item(copy.item_id)):
        assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "missing_file", "gone")
    assert queue.document(item.document_id).status == "failed"


def test_returned_items_are_as_before(queue: Any) -> None:
    items = [queue.send(b"a"), queue.send(b"b"), queue.send(b"c")]
    queue.lease("w", limit=2)
    queue.lease("other")
    queue.store(items[0].document_id)
    assert queue.row("select sherlock.return_items('w') as n").n == 1
    assert queue.states(*items) == ["stored", "queued", "leased"]
    assert queue.item(items[1].item_id).attempts == 0
    leased = queue.lease("next", limit=5)
    assert [(item.item_id, item.state, item.attempts) for item in leased] == [
        (items[0].item_id, "stored", 1),
        (items[1].item_id, "leased", 1),
    ]
    queue.judge(items[0].document_id)
    done = queue.item(items[0].item_id)
    assert (done.state, done.leased_by, done.leased_until) == ("done", None, None)


def test_leases_of_the_dead_are_leased_at_once_and_count(queue: Any) -> None:
    items = [queue.send(b"a"), queue.send(b"b")]
    queue.lease("dead", limit=2)
    queue.store(items[0].document_id, worker="dead")
    assert queue.row("select sherlock.expire_leases('dead') as n").n == 2
    assert queue.states(*items) == ["stored", "leased"]
    leased = queue.lease("next", limit=5)
    assert [(item.item_id, item.attempts) for item in leased] == [
        (items[0].item_id, 1),
        (items[1].item_id, 2),
    ]


def test_verdict_that_is_due_needs_no_path(queue: Any) -> None:
    item = queue.send(None, path="/a", host="there")
    (leased,) = queue.lease(host="there")
    queue.store(queue.identify(leased, b"a"))
    queue.lapse(item)
    (due,) = queue.lease("other", host="here")
    assert (due.item_id, due.state) == (item.item_id, "stored")


def test_urgent_copy_hastens_what_it_waits_for(queue: Any) -> None:
    queue.send(b"a", priority=1)
    slow = queue.send(None, path="/b", host="off", sha256=hashlib.sha256(b"b").digest(),
                      file_size_bytes=1)  # fmt: skip
    copy = queue.send(b"b", priority=5)
    assert (copy.state, copy.gate) == ("queued", "hit")
    (first,) = queue.lease(host="here")
    assert (first.item_id, first.priority, first.path) == (slow.item_id, 5, None)


def test_late_low_copy_slows_nothing_down(queue: Any) -> None:
    item = queue.send(b"a", priority=4)
    queue.send(b"a", priority=-4)
    assert queue.item(item.item_id).priority == 4


def test_loader_takes_back_its_own_and_returns_what_others_sent(queue: Any) -> None:
    sent = queue.send(b"sent")
    assert queue.claim(b"sent", "loader").outcome == "claimed"
    own = queue.claim(b"own", "loader")
    waiting = queue.send(None, path="/copy", sha256=hashlib.sha256(b"own").digest(),
                         file_size_bytes=3)  # fmt: skip
    assert queue.row("select sherlock.release_claims('loader') as n").n == 2
    assert (
        queue.rows("select from sherlock.documents where document_id = %s", own.document_id) == []
    )
    # The bytes that came are in the database: no other host is tied to the loader's path.
    returned = queue.item(sent.item_id)
    assert (returned.state, returned.attempts, returned.path) == ("queued", 0, None)
    leased = queue.lease(limit=5, host="elsewhere")
    assert [item.item_id for item in leased] == [sent.item_id, waiting.item_id]


def test_next_loader_takes_over_as_its_own(queue: Any) -> None:
    queue.claim(b"x", "first")
    queue.conn.execute("update sherlock.inbox set leased_until = now() - interval '1 second'")
    assert queue.claim(b"x", "second", path="/load/b").outcome == "claimed"
    assert queue.row("select sherlock.release_claims('second') as n").n == 1
    assert queue.count("documents") == queue.count("inbox") == 0


def test_interrupted_retry_leaves_the_copies_dead(queue: Any) -> None:
    item = queue.add_failed()
    assert queue.claim(b"%PDF a", "loader", retry=True).outcome == "claimed"
    copy = queue.send()
    assert copy.state == "queued"
    queue.conn.execute("select sherlock.release_claims('loader')")
    assert queue.states(item, copy) == ["dead", "dead"]
    assert queue.document(item.document_id).status == "failed"
