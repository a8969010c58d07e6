"""What is sent: new bytes, known ones, paths, and values that are refused."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest


def test_new_bytes_become_a_pending_document(queue: Any) -> None:
    item = queue.send(b"%PDF a")
    assert (item.state, item.gate, item.content) == ("queued", "new", None)
    assert item.sha256 == hashlib.sha256(b"%PDF a").digest()
    assert item.file_size_bytes == 6
    document = queue.document(item.document_id)
    assert (document.status, document.name, document.sha256) == ("pending", "a.pdf", item.sha256)
    assert queue.rows("select content from sherlock.file_contents") == [(b"%PDF a",)]


def test_path_alone_waits_for_its_reader(queue: Any) -> None:
    item = queue.send(None, name=None, path="/in/b c.pdf", host="h")
    assert (item.state, item.gate, item.document_id) == ("queued", None, None)
    assert (item.name, item.path, item.host) == ("b c.pdf", "/in/b c.pdf", "h")
    assert queue.count("documents") == 0


def test_path_with_its_hash_passes_the_gate_at_once(queue: Any) -> None:
    digest = hashlib.sha256(b"x").digest()
    item = queue.send(None, path="/in/x", sha256=digest, file_size_bytes=1)
    assert (item.state, item.gate) == ("queued", "new")
    assert queue.send(b"x").document_id == item.document_id
    with queue.is_refused("23514"):
        queue.send(None, path="/in/y", sha256=digest)


def test_bytes_with_a_path_are_read_by_any_host(queue: Any) -> None:
    item = queue.send(b"x", path="/in/x", host="other", sha256=b"\0" * 32, file_size_bytes=9)
    assert item.sha256 == hashlib.sha256(b"x").digest()
    assert item.file_size_bytes == 1
    assert queue.rows("select source_uri from sherlock.document_sources") == [("/in/x",)]
    assert [leased.item_id for leased in queue.lease(host="here")] == [item.item_id]


@pytest.mark.parametrize("columns", [{}, {"path": ""}])
def test_neither_bytes_nor_path_is_refused(queue: Any, columns: dict[str, object]) -> None:
    with queue.is_refused("SH053"):
        queue.send(None, **columns)
    with queue.is_refused("SH053"):
        queue.conn.execute("select sherlock.enqueue(null, 'a')")


def test_answer_of_the_gate_is_there_at_once(queue: Any) -> None:
    first = queue.send(b"good")
    waiting = queue.send(b"good")
    assert (waiting.state, waiting.gate) == ("queued", "hit")
    queue.lease()
    queue.read(first.document_id)
    known = queue.send(b"good")
    assert (known.state, known.gate, known.document_id) == ("done", "hit", first.document_id)
    assert known.finished_at is not None

    bad = queue.send(b"bad")
    queue.lease()
    queue.fail(bad.document_id)
    again = queue.send(b"bad")
    assert (again.state, again.gate, again.document_id) == ("dead", "hit", bad.document_id)
    assert (again.reason, again.reason_detail) == ("damaged", "page 1")
    assert again.finished_at is not None


def test_enqueue_is_an_insert(queue: Any) -> None:
    queue.conn.execute("select sherlock.create_collection('otra')")
    item = queue.row("select * from sherlock.enqueue(%s, 'a.pdf', 'otra', 'tutela', 7)", b"x")
    assert (item.state, item.gate, item.doc_type, item.priority) == ("queued", "new", "tutela", 7)
    same_bytes = queue.row("select * from sherlock.enqueue(%s, 'a.pdf')", b"x")
    assert same_bytes.gate == "new"
    assert same_bytes.collection_id != item.collection_id
    assert same_bytes.document_id != item.document_id
    assert queue.count("file_contents") == 1
    with queue.is_refused("SH002"):
        queue.conn.execute("select sherlock.enqueue('x', 'a', 'nada')")


def test_copies_inside_one_statement(queue: Any) -> None:
    rows = queue.rows(
        "insert into sherlock.inbox (content, name) values (%s, 'a'), (%s, 'b'), (%s, 'c')"
        " returning *",
        b"x",
        b"y",
        b"x",
    )
    assert [row.gate for row in rows] == ["new", "new", "hit"]
    assert rows[0].document_id == rows[2].document_id


def test_copies_inside_one_copy(queue: Any) -> None:
    with queue.conn.cursor().copy("copy sherlock.inbox (content, name) from stdin") as copy:
        for number in range(300):
            copy.write_row([b"file %d" % (number % 100), f"{number}.pdf"])
    counts = queue.rows("select gate, state, count(*) from sherlock.inbox group by 1, 2 order by 1")
    assert counts == [("hit", "queued", 200), ("new", "queued", 100)]
    assert queue.count("documents") == queue.count("file_contents") == 100


def test_what_workers_fill_in_is_not_the_senders(queue: Any) -> None:
    item = queue.send(
        None, path="/a", state="leased", gate="hit", attempts=3, leased_by="x", is_reread=True,
        leased_until="infinity", reason="r", finished_at="now", started_at="now", stored_at="now",
    )  # fmt: skip
    assert (item.state, item.gate, item.attempts, item.leased_by) == ("queued", None, 0, None)
    assert (item.reason, item.finished_at, item.started_at) == (None, None, None)
    assert (item.stored_at, item.is_reread) == (None, False)


@pytest.mark.parametrize("column", ["name", "doc_type", "path", "host", "owner"])
@pytest.mark.parametrize(
    "value", ["'; drop table x; --", "a\nb\tc\\", "ñ\U0001f600\u202e", " ", "x" * 20_000, "{}%s$1"]
)
def test_odd_texts_are_kept(queue: Any, column: str, value: str) -> None:
    item = queue.send(None, **{"path": "/p", column: value})
    assert getattr(item, column) == value
    (leased,) = queue.lease(limit=5)
    document_id = queue.identify(leased, b"z")
    queue.read(document_id)
    assert queue.item(item.item_id).state == "done"


@pytest.mark.parametrize(
    "columns", [{"ocr": "maybe"}, {"max_attempts": 0}, {"sha256": b"short", "path": "/a",
                                                      "file_size_bytes": 1}]
)  # fmt: skip
def test_values_out_of_range_are_refused(queue: Any, columns: dict[str, object]) -> None:
    with queue.is_refused("23514"):
        queue.send(None, **{"path": "/a", **columns})


def test_empty_and_large_files(queue: Any) -> None:
    large = bytes(range(256)) * (20 * 4096)
    for content in (b"", large):
        item = queue.send(content)
        assert (item.gate, item.file_size_bytes) == ("new", len(content))
        kept = queue.row(
            "select content from sherlock.file_contents where sha256 = %s", item.sha256
        )
        assert kept.content == content


def test_sender_needs_no_right_but_to_insert(queue: Any) -> None:
    known = queue.send(b"secret")
    queue.lease()
    queue.read(known.document_id)
    queue.conn.execute("create role sender")
    queue.conn.execute("grant usage on schema sherlock to sender")
    queue.conn.execute("grant insert on sherlock.inbox to sender")
    queue.conn.execute("set role sender")
    queue.conn.execute("insert into sherlock.inbox (name, content) values ('a', 'x'), ('b', 'x')")
    # What it can't see it can't point at either, and limits are not the sender's to set.
    queue.conn.execute(
        "insert into sherlock.inbox (name, content, path, document_id, gate, state, leased_by,"
        " leased_until, owner, max_attempts, depth, parent_document_id)"
        " values ('c', 'y', '/c', %s, 'new', 'leased', 'me', 'infinity', 'me', 99, -5, %s)",
        [known.document_id, known.document_id],
    )
    # A worker would read it with its own rights.
    with queue.is_refused("SH069"):
        queue.conn.execute("insert into sherlock.inbox (path) values ('/etc/passwd')")
    for refused in ("select * from sherlock.inbox", "select * from sherlock.file_contents"):
        with queue.is_refused("42501"):
            queue.conn.execute(refused)
    queue.conn.execute("reset role")
    rows = queue.rows(
        "select name, state, gate, document_id = %s as is_the_known, leased_by, owner,"
        " max_attempts, depth, parent_document_id from sherlock.inbox where item_id > %s"
        " order by 1",
        known.document_id,
        known.item_id,
    )
    assert rows == [
        ("a", "queued", "new", False, None, None, 3, 0, None),
        ("b", "queued", "hit", False, None, None, 3, 0, None),
        ("c", "queued", "new", False, None, None, 3, 0, None),
    ]


def test_identified_path_is_read_or_known(queue: Any) -> None:
    items = [queue.send(None, path=f"/{n}") for n in range(3)]
    queue.lease(limit=3)
    document_id = queue.identify(items[0], b"x")
    assert document_id is not None
    assert queue.identify(items[1], b"x") is None
    waiting = queue.item(items[1].item_id)
    assert (waiting.state, waiting.gate, waiting.leased_by) == ("queued", "hit", None)
    queue.read(document_id)
    assert queue.identify(items[2], b"x") is None
    assert queue.states(*items) == ["done"] * 3
    sources = queue.rows("select source_uri from sherlock.document_sources order by 1")
    assert sources == [("/0",), ("/1",), ("/2",)]
    with queue.is_refused("SH003"):
        queue.identify(items[0], b"x")


def test_identified_path_of_a_failed_file_is_dead(queue: Any) -> None:
    bad = queue.send(b"bad")
    queue.lease()
    queue.fail(bad.document_id)
    item = queue.send(None, path="/bad")
    queue.lease()
    assert queue.identify(item, b"bad") is None
    dead = queue.item(item.item_id)
    assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "damaged", "page 1")


def test_next_attempt_at_a_path_may_find_the_same_or_other_bytes(queue: Any) -> None:
    item = queue.send(None, path="/growing")
    queue.lease()
    first = queue.identify(item, b"half")
    copy = queue.send(b"half")
    assert copy.gate == "hit"
    assert queue.identify(item, b"half") == first
    second = queue.identify(item, b"half and more")
    assert second not in (None, first)
    assert queue.rows("select from sherlock.documents where document_id = %s", first) == []
    # Who waited for the other bytes has them read himself.
    (leased,) = queue.lease("other")
    assert (leased.item_id, leased.gate) == (copy.item_id, "new")
    assert leased.document_id not in (None, second)
    queue.read(second)
    assert queue.item(item.item_id).state == "done"


def test_reread_that_finds_other_bytes_is_a_new_file(queue: Any) -> None:
    item = queue.send(None, path="/a", host="h")
    queue.lease()
    known = queue.identify(item, b"old")
    queue.read(known)
    item_id = queue.reread(known)
    (leased,) = queue.lease(host="h")
    assert (leased.item_id, leased.path, leased.host) == (item_id, "/a", "h")
    new = queue.identify(leased, b"new")
    assert new not in (None, known)
    assert not queue.item(item_id).is_reread
    assert queue.document(known).content == queue.TEXT
