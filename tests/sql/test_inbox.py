"""The inbox: what a file that is sent becomes, at once and in the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import namedtuple_row

TEXT = (
    "Acción de tutela de Ana Torres contra NUEVA EPS: pide la entrega de los medicamentos que su "
    "médico ordenó hace dos meses, porque sin ellos su salud empeora y la entidad no responde."
)
OTHER_TEXT = (
    "El arrendatario del local comercial solicita la devolución del depósito, pues entregó las "
    "llaves en la fecha acordada y el inventario se firmó sin observaciones de ninguna clase."
)


class Queue:
    """The inbox as its clients and workers see it, on one connection."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self.conn = conn

    def rows(self, query: str, *parameters: object) -> list[Any]:
        with self.conn.cursor(row_factory=namedtuple_row) as cur:
            return cur.execute(query, parameters).fetchall()

    def row(self, query: str, *parameters: object) -> Any:
        (row,) = self.rows(query, *parameters)
        return row

    def send(self, content: bytes | None = b"%PDF a", **columns: object) -> Any:
        values: dict[str, object] = {"content": content, "name": "a.pdf", **columns}
        statement = sql.SQL("insert into sherlock.inbox ({}) values ({}) returning *").format(
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join([sql.Placeholder()] * len(values)),
        )
        with self.conn.cursor(row_factory=namedtuple_row) as cur:
            return cur.execute(statement, list(values.values())).fetchone()

    def lease(self, worker: str = "w", limit: int = 1, **options: Any) -> list[Any]:
        return self.rows(
            "select * from sherlock.lease_items(%s, %s, %s::interval, %s)",
            worker,
            limit,
            options.get("lease", "2 minutes"),
            options.get("host"),
        )

    def store(self, document_id: int, text: str = TEXT, worker: str = "w") -> None:
        self.conn.execute(
            "select sherlock.finish_document(%s, %s, 'ok', p_content => %s)",
            [document_id, worker, text],
        )

    def judge(self, document_id: int) -> None:
        self.conn.execute("select sherlock.record_detection(%s)", [document_id])

    def read(self, document_id: int, text: str = TEXT, worker: str = "w") -> None:
        self.store(document_id, text, worker)
        self.judge(document_id)

    def fail(self, document_id: int, reason: str = "damaged", worker: str = "w") -> None:
        self.conn.execute(
            "select sherlock.finish_document(%s, %s, 'failed', p_reason => %s,"
            " p_reason_detail => 'page 1')",
            [document_id, worker, reason],
        )

    def item(self, item_id: int) -> Any:
        return self.row("select * from sherlock.inbox where item_id = %s", item_id)

    def states(self, *items: Any) -> list[str]:
        return [self.item(item.item_id).state for item in items]

    def document(self, document_id: int) -> Any:
        return self.row("select * from sherlock.documents where document_id = %s", document_id)

    def count(self, table: str) -> int:
        query = sql.SQL("select count(*) from sherlock.{}").format(sql.Identifier(table))
        row = self.conn.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def lapse(self, *items: Any) -> None:
        """Let the leases of items lapse."""
        self.conn.execute(
            "update sherlock.inbox set leased_until = clock_timestamp() - interval '1 second'"
            " where item_id = any(%s)",
            [[item.item_id for item in items]],
        )

    def is_refused(self, sqlstate: str) -> AbstractContextManager[Any]:
        """Expect an error, whatever it undoes."""
        return _Refused(self.conn, sqlstate)


class _Refused:
    def __init__(self, conn: psycopg.Connection, sqlstate: str) -> None:
        self._transaction = conn.transaction()
        self._sqlstate = sqlstate

    def __enter__(self) -> None:
        self._transaction.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._transaction.__exit__(kind, error, trace)
        assert isinstance(error, psycopg.Error), "nothing was refused"
        assert error.sqlstate == self._sqlstate, error
        return True


@pytest.fixture
def queue(conn: psycopg.Connection) -> Queue:
    return Queue(conn)


# Arrival


def test_new_bytes_become_a_pending_document(queue: Queue) -> None:
    item = queue.send(b"%PDF a")
    assert (item.state, item.gate, item.content) == ("queued", "new", None)
    assert item.sha256 == hashlib.sha256(b"%PDF a").digest()
    assert item.file_size_bytes == 6
    document = queue.document(item.document_id)
    assert (document.status, document.name, document.sha256) == ("pending", "a.pdf", item.sha256)
    assert queue.rows("select content from sherlock.file_contents") == [(b"%PDF a",)]


def test_path_alone_waits_for_its_reader(queue: Queue) -> None:
    item = queue.send(None, name=None, path="/in/b c.pdf", host="h")
    assert (item.state, item.gate, item.document_id) == ("queued", None, None)
    assert (item.name, item.path, item.host) == ("b c.pdf", "/in/b c.pdf", "h")
    assert queue.count("documents") == 0


def test_path_with_its_hash_passes_the_gate_at_once(queue: Queue) -> None:
    digest = hashlib.sha256(b"x").digest()
    item = queue.send(None, path="/in/x", sha256=digest, file_size_bytes=1)
    assert (item.state, item.gate) == ("queued", "new")
    assert queue.send(b"x").document_id == item.document_id
    with queue.is_refused("23514"):
        queue.send(None, path="/in/y", sha256=digest)


def test_bytes_with_a_path_are_read_by_any_host(queue: Queue) -> None:
    item = queue.send(b"x", path="/in/x", host="other", sha256=b"\0" * 32, file_size_bytes=9)
    assert item.sha256 == hashlib.sha256(b"x").digest()
    assert item.file_size_bytes == 1
    assert queue.rows("select source_uri from sherlock.document_sources") == [("/in/x",)]
    assert [leased.item_id for leased in queue.lease(host="here")] == [item.item_id]


@pytest.mark.parametrize("columns", [{}, {"path": ""}])
def test_neither_bytes_nor_path_is_refused(queue: Queue, columns: dict[str, object]) -> None:
    with queue.is_refused("SH053"):
        queue.send(None, **columns)
    with queue.is_refused("SH053"):
        queue.conn.execute("select sherlock.enqueue(null, 'a')")


def test_answer_of_the_gate_is_there_at_once(queue: Queue) -> None:
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


def test_enqueue_is_an_insert(queue: Queue) -> None:
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


def test_copies_inside_one_statement(queue: Queue) -> None:
    rows = queue.rows(
        "insert into sherlock.inbox (content, name) values (%s, 'a'), (%s, 'b'), (%s, 'c')"
        " returning *",
        b"x",
        b"y",
        b"x",
    )
    assert [row.gate for row in rows] == ["new", "new", "hit"]
    assert rows[0].document_id == rows[2].document_id


def test_copies_inside_one_copy(queue: Queue) -> None:
    with queue.conn.cursor().copy("copy sherlock.inbox (content, name) from stdin") as copy:
        for number in range(300):
            copy.write_row([b"file %d" % (number % 100), f"{number}.pdf"])
    counts = queue.rows("select gate, state, count(*) from sherlock.inbox group by 1, 2 order by 1")
    assert counts == [("hit", "queued", 200), ("new", "queued", 100)]
    assert queue.count("documents") == queue.count("file_contents") == 100


def test_what_workers_fill_in_is_not_the_senders(queue: Queue) -> None:
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
def test_odd_texts_are_kept(queue: Queue, column: str, value: str) -> None:
    item = queue.send(None, **{"path": "/p", column: value})
    assert getattr(item, column) == value
    (leased,) = queue.lease(limit=5)
    document_id = identify(queue, leased, b"z")
    queue.read(document_id)
    assert queue.item(item.item_id).state == "done"


@pytest.mark.parametrize(
    "columns", [{"ocr": "maybe"}, {"max_attempts": 0}, {"sha256": b"short", "path": "/a",
                                                      "file_size_bytes": 1}]
)  # fmt: skip
def test_values_out_of_range_are_refused(queue: Queue, columns: dict[str, object]) -> None:
    with queue.is_refused("23514"):
        queue.send(None, **{"path": "/a", **columns})


def test_empty_and_large_files(queue: Queue) -> None:
    large = bytes(range(256)) * (20 * 4096)
    for content in (b"", large):
        item = queue.send(content)
        assert (item.gate, item.file_size_bytes) == ("new", len(content))
        kept = queue.row(
            "select content from sherlock.file_contents where sha256 = %s", item.sha256
        )
        assert kept.content == content


def test_sender_needs_no_right_but_to_insert(queue: Queue) -> None:
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


# Leasing


def test_leases_go_by_priority_then_arrival(queue: Queue) -> None:
    items = [queue.send(b"%d" % n, priority=p) for n, p in enumerate([0, 5, 0, 5, -1])]
    order = [items[n].item_id for n in (1, 3, 0, 2, 4)]
    first = queue.lease(limit=2)
    rest = queue.lease(limit=10)
    assert [item.item_id for item in first + rest] == order
    assert {item.state for item in first + rest} == {"leased"}
    assert {item.attempts for item in first + rest} == {1}
    assert queue.lease(limit=10) == []


def test_copies_are_not_leased(queue: Queue) -> None:
    item, _copy = queue.send(), queue.send()
    assert [leased.item_id for leased in queue.lease(limit=5)] == [item.item_id]


def test_path_is_leased_where_it_can_be_read(queue: Queue) -> None:
    here = queue.send(None, path="/a", host="here")
    anywhere = queue.send(None, path="/b")
    there = queue.send(None, path="/c", host="there")

    def leased(host: str | None) -> list[int]:
        return [item.item_id for item in queue.lease(limit=5, host=host)]

    assert leased("here") == [here.item_id, anywhere.item_id]
    assert leased("here") == []
    assert leased(None) == [there.item_id]


def test_item_is_not_leased_before_its_time(queue: Queue) -> None:
    queue.conn.execute(
        "insert into sherlock.inbox (content, run_after) values ('x', now() + interval '1 hour')"
    )
    assert queue.lease() == []


def test_lapsed_lease_is_first_and_the_late_worker_is_refused(queue: Queue) -> None:
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


def test_file_that_kills_its_workers_is_given_up(queue: Queue) -> None:
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


def test_retries_wait_longer_each_time(queue: Queue) -> None:
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


def test_buried_item_takes_its_copies_along(queue: Queue) -> None:
    item, copy = queue.send(), queue.send()
    queue.lease()
    queue.conn.execute("select sherlock.bury_item(%s, 'w', 'missing_file', 'gone')", [item.item_id])
    for dead in (queue.item(item.item_id), queue.item(copy.item_id)):
        assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "missing_file", "gone")
    assert queue.document(item.document_id).status == "failed"


def test_returned_items_are_as_before(queue: Queue) -> None:
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


def test_leases_of_the_dead_are_leased_at_once_and_count(queue: Queue) -> None:
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


def test_verdict_that_is_due_needs_no_path(queue: Queue) -> None:
    item = queue.send(None, path="/a", host="there")
    (leased,) = queue.lease(host="there")
    queue.store(identify(queue, leased, b"a"))
    queue.lapse(item)
    (due,) = queue.lease("other", host="here")
    assert (due.item_id, due.state) == (item.item_id, "stored")


def test_urgent_copy_hastens_what_it_waits_for(queue: Queue) -> None:
    queue.send(b"a", priority=1)
    slow = queue.send(None, path="/b", host="off", sha256=hashlib.sha256(b"b").digest(),
                      file_size_bytes=1)  # fmt: skip
    copy = queue.send(b"b", priority=5)
    assert (copy.state, copy.gate) == ("queued", "hit")
    (first,) = queue.lease(host="here")
    assert (first.item_id, first.priority, first.path) == (slow.item_id, 5, None)


def test_late_low_copy_slows_nothing_down(queue: Queue) -> None:
    item = queue.send(b"a", priority=4)
    queue.send(b"a", priority=-4)
    assert queue.item(item.item_id).priority == 4


# Paths


def identify(queue: Queue, item: Any, content: bytes, worker: str = "w") -> Any:
    return queue.row(
        "select sherlock.identify_item(%s, %s, sha256(%s), %s) as document_id",
        item.item_id,
        worker,
        content,
        len(content),
    ).document_id


def test_identified_path_is_read_or_known(queue: Queue) -> None:
    items = [queue.send(None, path=f"/{n}") for n in range(3)]
    queue.lease(limit=3)
    document_id = identify(queue, items[0], b"x")
    assert document_id is not None
    assert identify(queue, items[1], b"x") is None
    waiting = queue.item(items[1].item_id)
    assert (waiting.state, waiting.gate, waiting.leased_by) == ("queued", "hit", None)
    queue.read(document_id)
    assert identify(queue, items[2], b"x") is None
    assert queue.states(*items) == ["done"] * 3
    sources = queue.rows("select source_uri from sherlock.document_sources order by 1")
    assert sources == [("/0",), ("/1",), ("/2",)]
    with queue.is_refused("SH003"):
        identify(queue, items[0], b"x")


def test_identified_path_of_a_failed_file_is_dead(queue: Queue) -> None:
    bad = queue.send(b"bad")
    queue.lease()
    queue.fail(bad.document_id)
    item = queue.send(None, path="/bad")
    queue.lease()
    assert identify(queue, item, b"bad") is None
    dead = queue.item(item.item_id)
    assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "damaged", "page 1")


def test_next_attempt_at_a_path_may_find_the_same_or_other_bytes(queue: Queue) -> None:
    item = queue.send(None, path="/growing")
    queue.lease()
    first = identify(queue, item, b"half")
    copy = queue.send(b"half")
    assert copy.gate == "hit"
    assert identify(queue, item, b"half") == first
    second = identify(queue, item, b"half and more")
    assert second not in (None, first)
    assert queue.rows("select from sherlock.documents where document_id = %s", first) == []
    # Who waited for the other bytes has them read himself.
    (leased,) = queue.lease("other")
    assert (leased.item_id, leased.gate) == (copy.item_id, "new")
    assert leased.document_id not in (None, second)
    queue.read(second)
    assert queue.item(item.item_id).state == "done"


def test_reread_that_finds_other_bytes_is_a_new_file(queue: Queue) -> None:
    item = queue.send(None, path="/a", host="h")
    queue.lease()
    known = identify(queue, item, b"old")
    queue.read(known)
    item_id = reread(queue, known)
    (leased,) = queue.lease(host="h")
    assert (leased.item_id, leased.path, leased.host) == (item_id, "/a", "h")
    new = identify(queue, leased, b"new")
    assert new not in (None, known)
    assert not queue.item(item_id).is_reread
    assert queue.document(known).content == TEXT


# Ends


def test_copies_end_with_what_they_wait_for(queue: Queue) -> None:
    item = queue.send()
    copies = [queue.send(), queue.send()]
    queue.lease()
    queue.store(item.document_id)
    assert queue.states(item, *copies) == ["stored", "queued", "queued"]
    assert queue.item(item.item_id).stored_at is not None
    queue.judge(item.document_id)
    assert queue.states(item, *copies) == ["done"] * 3
    assert all(queue.item(i.item_id).finished_at for i in [item, *copies])


def test_copies_of_a_file_that_fails_are_dead(queue: Queue) -> None:
    item, copy = queue.send(), queue.send()
    queue.lease()
    queue.fail(item.document_id, "encrypted")
    dead = queue.item(copy.item_id)
    assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "encrypted", "page 1")


def test_judge_missing_completes_too(queue: Queue) -> None:
    item = queue.send()
    queue.lease()
    queue.store(item.document_id)
    queue.conn.execute("select sherlock.judge_missing()")
    assert queue.states(item) == ["done"]


@pytest.mark.parametrize("state", ["queued", "leased", "stored", "done", "dead"])
def test_deleted_document(queue: Queue, state: str) -> None:
    item, copy = queue.send(), queue.send()
    advance(queue, item, state)
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


def advance(queue: Queue, item: Any, state: str) -> None:
    if state == "queued":
        return
    (leased,) = queue.lease()
    assert leased.item_id == item.item_id
    if state == "dead":
        queue.fail(item.document_id)
    elif state != "leased":
        queue.store(item.document_id)
        if state == "done":
            queue.judge(item.document_id)


@pytest.mark.parametrize("state", ["queued", "leased", "stored", "done", "dead"])
def test_withdrawn_item(queue: Queue, state: str) -> None:
    item, copy = queue.send(), queue.send()
    advance(queue, item, state)
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


def test_withdrawn_copy_changes_nothing(queue: Queue) -> None:
    item, copy = queue.send(), queue.send()
    queue.conn.execute("delete from sherlock.inbox where item_id = %s", [copy.item_id])
    assert [leased.item_id for leased in queue.lease()] == [item.item_id]


def test_all_withdrawn_leaves_nothing_pending(queue: Queue) -> None:
    queue.send(b"a"), queue.send(b"a"), queue.send(b"b")
    queue.conn.execute("delete from sherlock.inbox")
    assert queue.count("documents") == queue.count("file_hashes") == 0


def test_withdrawn_retry_leaves_its_copies_with_the_known_reason(queue: Queue) -> None:
    item = failed(queue)
    retry_dead(queue)
    copy = queue.send()
    assert (copy.state, copy.gate) == ("queued", "hit")
    queue.conn.execute("delete from sherlock.inbox where item_id = %s", [item.item_id])
    dead = queue.item(copy.item_id)
    assert (dead.state, dead.reason, dead.reason_detail) == ("dead", "damaged", "page 1")
    assert queue.document(item.document_id).status == "failed"


# Loaders


def claim(queue: Queue, content: bytes, worker: str, **options: object) -> Any:
    return queue.row(
        "select * from sherlock.claim_file(sha256(%s), %s, 'default', 'a', %s, %s,"
        " p_retry_failed => %s, p_host => %s)",
        content,
        len(content),
        options.get("path", "/load/a"),
        worker,
        options.get("retry", False),
        options.get("host", "loader-host"),
    )


def test_loader_takes_back_its_own_and_returns_what_others_sent(queue: Queue) -> None:
    sent = queue.send(b"sent")
    assert claim(queue, b"sent", "loader").outcome == "claimed"
    own = claim(queue, b"own", "loader")
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


def test_next_loader_takes_over_as_its_own(queue: Queue) -> None:
    claim(queue, b"x", "first")
    queue.conn.execute("update sherlock.inbox set leased_until = now() - interval '1 second'")
    assert claim(queue, b"x", "second", path="/load/b").outcome == "claimed"
    assert queue.row("select sherlock.release_claims('second') as n").n == 1
    assert queue.count("documents") == queue.count("inbox") == 0


def test_interrupted_retry_leaves_the_copies_dead(queue: Queue) -> None:
    item = failed(queue)
    assert claim(queue, b"%PDF a", "loader", retry=True).outcome == "claimed"
    copy = queue.send()
    assert copy.state == "queued"
    queue.conn.execute("select sherlock.release_claims('loader')")
    assert queue.states(item, copy) == ["dead", "dead"]
    assert queue.document(item.document_id).status == "failed"


# Reading again


def reread(queue: Queue, document_id: int, ocr: str | None = None, priority: int = 0) -> int:
    return int(
        queue.row(
            "select sherlock.reread(%s, %s, %s) as item_id", document_id, ocr, priority
        ).item_id
    )


def known(queue: Queue, content: bytes = b"%PDF a", text: str = TEXT) -> Any:
    item = queue.send(content)
    queue.lease()
    queue.read(item.document_id, text)
    return item


def failed(queue: Queue, content: bytes = b"%PDF a", reason: str = "damaged") -> Any:
    item = queue.send(content)
    queue.lease()
    queue.fail(item.document_id, reason)
    return item


def retry_dead(queue: Queue, *arguments: object) -> int:
    marks = ", ".join(["%s"] * len(arguments))
    return int(queue.row(f"select sherlock.retry_dead({marks}) as n", *arguments).n)


def test_old_text_stays_until_the_new_one_is_stored(queue: Queue) -> None:
    item = known(queue)
    item_id = reread(queue, item.document_id, "force", 3)
    (leased,) = queue.lease()
    assert (leased.item_id, leased.is_reread, leased.ocr) == (item_id, True, "force")
    assert (leased.priority, leased.path) == (3, None)
    document = queue.document(item.document_id)
    assert (document.status, document.content) == ("ok", TEXT)
    assert queue.send().state == "done"
    queue.store(item.document_id, OTHER_TEXT)
    assert queue.document(item.document_id).content == OTHER_TEXT
    queue.judge(item.document_id)
    assert queue.item(item_id).state == "done"


def test_failing_reread_changes_nothing(queue: Queue) -> None:
    item = known(queue)
    before = queue.document(item.document_id)
    verdict = queue.rows("select * from sherlock.detections")
    for end in ("fail", "bury"):
        item_id = reread(queue, item.document_id)
        queue.lease()
        if end == "fail":
            queue.fail(item.document_id, "timeout")
        else:
            queue.conn.execute("select sherlock.bury_item(%s, 'w', 'timeout')", [item_id])
        dead = queue.item(item_id)
        assert (dead.state, dead.reason) == ("dead", "timeout")
        assert queue.document(item.document_id) == before
    assert queue.rows("select * from sherlock.detections") == verdict


def test_verdicts_against_the_old_text_are_made_again(queue: Queue) -> None:
    first = known(queue, b"a", TEXT)
    second = known(queue, b"b", TEXT + " Firma: Ana Torres.")
    pair = (second.document_id, first.document_id)
    matches = "select document_id, matched_document_id from sherlock.matches"
    assert queue.rows(matches) == [pair]
    reread(queue, first.document_id)
    queue.lease()
    assert queue.rows(matches) == [pair]
    queue.read(first.document_id, OTHER_TEXT)
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


def test_reread_is_queued_once_and_takes_the_latest_choice(queue: Queue) -> None:
    item = known(queue)
    item_id = reread(queue, item.document_id)
    assert reread(queue, item.document_id, "force", 4) == item_id
    assert reread(queue, item.document_id) == item_id
    (leased,) = queue.lease()
    assert (leased.ocr, leased.priority) == ("force", 4)
    assert reread(queue, item.document_id) == item_id
    assert queue.lease() == []


def test_deleted_document_is_not_read_again(queue: Queue) -> None:
    item = known(queue)
    reread(queue, item.document_id)
    queue.conn.execute("delete from sherlock.documents")
    assert queue.lease() == []
    assert queue.states(item) == ["done"]
    assert queue.count("documents") == 0


def test_failed_document_is_read_by_a_reread(queue: Queue) -> None:
    item = failed(queue)
    item_id = reread(queue, item.document_id)
    copy = queue.send()
    assert (copy.state, copy.gate) == ("queued", "hit")
    queue.lease()
    queue.read(item.document_id)
    document = queue.document(item.document_id)
    assert (document.status, document.reason) == ("ok", None)
    assert queue.item(item_id).state == "done"
    assert queue.states(copy) == ["done"]


def test_what_can_not_be_read_again_says_so(queue: Queue) -> None:
    with queue.is_refused("SH001"):
        reread(queue, 1_000_000)
    text_only = queue.row(
        "insert into sherlock.documents (content) values (%s) returning document_id", TEXT
    )
    with queue.is_refused("SH054"):
        reread(queue, text_only.document_id)
    item = known(queue)
    queue.conn.execute("delete from sherlock.file_contents")
    with queue.is_refused("SH054"):
        reread(queue, item.document_id)
    queue.send(path="/now/seen")
    queue.conn.execute("delete from sherlock.file_contents")
    reread(queue, item.document_id)
    (leased,) = queue.lease()
    assert (leased.path, leased.document_id) == ("/now/seen", item.document_id)


def test_dead_items_are_tried_again(queue: Queue) -> None:
    damaged = failed(queue, b"a", "damaged")
    copy = queue.send(b"a")
    slow = failed(queue, b"b", "timeout")
    assert retry_dead(queue, "timeout") == 1
    assert queue.states(damaged, copy, slow) == ["dead", "dead", "queued"]
    assert retry_dead(queue, "timeout") == 0
    queue.conn.execute("select sherlock.create_collection('otra')")
    assert retry_dead(queue, None, "otra") == 0
    assert retry_dead(queue, None, "default") == 1
    # The one that was to be read, not the copy.
    assert queue.states(damaged, copy) == ["queued", "dead"]
    assert retry_dead(queue) == 0
    leased = queue.lease(limit=5)
    assert [(item.item_id, item.attempts) for item in leased] == [
        (damaged.item_id, 1),
        (slow.item_id, 1),
    ]
    queue.read(damaged.document_id)
    assert queue.document(damaged.document_id).status == "ok"
    assert retry_dead(queue, None, None, [copy.item_id]) == 0
    with queue.is_refused("SH002"):
        retry_dead(queue, None, "nada")


def test_failed_reread_is_tried_again(queue: Queue) -> None:
    item = known(queue)
    reread(queue, item.document_id, "force")
    queue.lease()
    queue.fail(item.document_id, "timeout")
    assert retry_dead(queue, "timeout") == 1
    (leased,) = queue.lease()
    assert (leased.ocr, leased.is_reread) == ("force", True)
    queue.fail(item.document_id, "timeout")
    reread(queue, item.document_id)
    queue.lease()
    queue.read(item.document_id)
    assert retry_dead(queue, "timeout") == 0


def test_dead_items_without_a_document_are_tried_again(queue: Queue) -> None:
    item = failed(queue)
    queue.conn.execute("delete from sherlock.documents")
    assert retry_dead(queue) == 1
    (leased,) = queue.lease()
    assert (leased.item_id, leased.gate) == (item.item_id, "new")


def test_dropped_contents(queue: Queue) -> None:
    done = known(queue, b"done")
    queue.send(b"waiting")
    queue.send(b"leased", priority=1)
    queue.lease()
    assert queue.row("select sherlock.drop_file_contents('1 hour') as n").n == 0
    assert queue.row("select sherlock.drop_file_contents('0') as n").n == 1
    kept = queue.rows("select content from sherlock.file_contents order by 1")
    assert kept == [(b"leased",), (b"waiting",)]
    assert queue.document(done.document_id).content == TEXT
    assert queue.send(b"done").state == "done"
    assert queue.count("file_contents") == 3


def test_contents_are_not_dropped_where_senders_are_not_seen(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with Queue(conn).is_refused("SH057"):
            conn.execute("select sherlock.drop_file_contents('0')")


# Attachments


def attach(queue: Queue, document_id: int, ordinal: int, content: bytes, **options: Any) -> Any:
    return queue.row(
        "select * from sherlock.attach_file(%s, %s, %s, %s, %s, %s)",
        document_id,
        ordinal,
        f"{ordinal}.pdf",
        content,
        options.get("depth", 1),
        options.get("worker"),
    )


def links(queue: Queue) -> list[Any]:
    return queue.rows(
        "select document_id, ordinal, attached_document_id, name"
        " from sherlock.document_attachments order by 1, 2"
    )


def test_attachments_are_documents_of_their_own(queue: Queue) -> None:
    queue.conn.execute("select sherlock.create_collection('otra')")
    mail = queue.row(
        "insert into sherlock.inbox (content, collection_id, priority, ocr)"
        " values ('mail', sherlock.collection_id('otra'), 6, 'never') returning *"
    )
    queue.lease()
    queued = attach(queue, mail.document_id, 1, b"one")
    leased = attach(queue, mail.document_id, 2, b"two", worker="w", depth=2)
    copy = attach(queue, mail.document_id, 3, b"one", worker="w")
    assert (queued.state, leased.state, copy.state) == ("queued", "leased", "queued")
    assert (leased.leased_by, leased.attempts, leased.depth) == ("w", 1, 2)
    assert (copy.gate, copy.document_id) == ("hit", queued.document_id)
    for item in (queued, leased, copy):
        assert (item.priority, item.ocr, item.collection_id) == (6, "never", mail.collection_id)
        assert item.parent_document_id == mail.document_id
    assert links(queue) == [
        (mail.document_id, 1, queued.document_id, "1.pdf"),
        (mail.document_id, 2, leased.document_id, "2.pdf"),
        (mail.document_id, 3, queued.document_id, "3.pdf"),
    ]
    queue.read(mail.document_id)
    queue.read(leased.document_id, OTHER_TEXT)
    assert attach(queue, mail.document_id, 2, b"two").state == "done"
    assert len(links(queue)) == 3
    queue.conn.execute(
        "delete from sherlock.documents where document_id = %s", [leased.document_id]
    )
    assert [link.ordinal for link in links(queue)] == [1, 3]
    queue.conn.execute("delete from sherlock.documents where document_id = %s", [mail.document_id])
    assert links(queue) == []
    assert queue.document(queued.document_id).status == "pending"


def test_container_that_contains_itself_ends_with_itself(queue: Queue) -> None:
    quine = queue.send(b"quine.zip")
    queue.lease()
    inner = attach(queue, quine.document_id, 1, b"quine.zip", worker="w")
    assert (inner.gate, inner.state) == ("hit", "queued")
    assert inner.document_id == quine.document_id
    queue.read(quine.document_id)
    assert queue.states(quine, inner) == ["done", "done"]
    queue.conn.execute("delete from sherlock.documents")
    assert links(queue) == []


def test_attachment_of_nothing_is_refused(queue: Queue) -> None:
    with queue.is_refused("SH001"):
        attach(queue, 1_000_000, 1, b"x")


def test_attachments_of_what_is_read_survive_an_interrupted_loader(queue: Queue) -> None:
    read, unread = claim(queue, b"read", "loader"), claim(queue, b"unread", "loader")
    kept = attach(queue, read.document_id, 1, b"a", worker="loader")
    attach(queue, unread.document_id, 1, b"b", worker="loader")
    queue.store(read.document_id, worker="loader")
    queue.conn.execute("select sherlock.release_claims('loader')")
    rows = queue.rows("select document_id, state from sherlock.inbox order by item_id")
    assert rows == [(read.document_id, "stored"), (kept.document_id, "queued")]


# Messages


def test_channels(database_url: str) -> None:
    with (
        psycopg.connect(database_url, autocommit=True) as listener,
        psycopg.connect(database_url, autocommit=True) as conn,
    ):
        listener.execute("listen sherlock_inbox")
        listener.execute("listen sherlock_inbox_done")
        queue = Queue(conn)

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
        assert heard(lambda: reread(queue, document_id)) == [work]
        queue.lease()
        assert heard(lambda: conn.execute("select sherlock.return_items('w')")) == [work]
        assert heard(lambda: items.append(queue.send(b"bad"))) == [work]
        bad = items[-1]
        queue.lease(limit=2)
        ended = [("sherlock_inbox_done", str(bad.item_id))]
        assert heard(lambda: queue.fail(bad.document_id)) == ended
        assert heard(lambda: retry_dead(queue)) == [work]
        assert heard(
            lambda: conn.execute(
                "delete from sherlock.documents where document_id = %s", [bad.document_id]
            )
        ) == [work]
