"""Whatever clients, workers and loaders do in whatever order, the queue stays sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEXT = "Acción de tutela de Ana contra NUEVA EPS por la entrega de medicamentos, archivo "
WORKERS = ["w0", "w1"]

# For each rule the rows that break it.
BROKEN = {
    "one open item that is read for each document": """
        select document_id from sherlock.inbox
        where gate = 'new' and state in ('queued', 'leased', 'stored')
        group by document_id having count(*) > 1""",
    "a copy waits for what somebody reads": """
        select i.item_id from sherlock.inbox as i
        where i.state = 'queued' and i.gate = 'hit' and not exists (
            select from sherlock.inbox as o
            where o.document_id = i.document_id and o.gate = 'new'
              and o.state in ('queued', 'leased', 'stored'))""",
    "a pending document is queued or leased": """
        select d.document_id from sherlock.documents as d
        where d.status = 'pending' and not exists (
            select from sherlock.inbox as o
            where o.document_id = d.document_id and o.gate = 'new'
              and o.state in ('queued', 'leased'))""",
    "what ended has an end, and nothing else has": """
        select item_id from sherlock.inbox
        where (state in ('done', 'dead')) <> (finished_at is not null)""",
    "only what is read or judged is leased": """
        select item_id from sherlock.inbox
        where state in ('queued', 'done', 'dead') and num_nonnulls(leased_by, leased_until) > 0""",
    "an item refers to a document that is there": """
        select i.item_id from sherlock.inbox as i
        left join sherlock.documents as d using (document_id)
        where i.document_id is not null and d.document_id is null""",
    "a document that is known is of the item's bytes": """
        select i.item_id from sherlock.inbox as i join sherlock.documents as d using (document_id)
        where (i.sha256, i.file_size_bytes, i.collection_id)
            is distinct from (d.sha256, d.file_size_bytes, d.collection_id)""",
    "a stored item's document was read": """
        select i.item_id from sherlock.inbox as i join sherlock.documents as d using (document_id)
        where i.state = 'stored' and d.status not in ('ok', 'partial')""",
    "hashes are those of the documents": """
        select coalesce(d.document_id, h.document_id) from sherlock.file_hashes as h
        full join sherlock.documents as d
            on (d.document_id, d.sha256, d.file_size_bytes, d.collection_id)
             = (h.document_id, h.sha256, h.file_size_bytes, h.collection_id)
        where d.document_id is null or h.document_id is null""",
    "bytes that are to be read are there": """
        select i.item_id from sherlock.inbox as i
        where i.path is null and i.state in ('queued', 'leased') and not exists (
            select from sherlock.file_contents as f
            where (f.sha256, f.file_size_bytes) = (i.sha256, i.file_size_bytes))""",
    "what was read keeps its text": """
        select document_id from sherlock.documents
        where (status in ('ok', 'partial')) <> (content is not null)""",
    "nobody holds more attempts than there were": """
        select item_id from sherlock.inbox where attempts < 0
           or (state = 'leased' and attempts = 0)""",
}


class Office:
    """Clients, workers and a loader on one database; `pick` chooses among rows."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self.conn = conn

    def rows(self, query: str, *parameters: object) -> list[Any]:
        return self.conn.execute(query, parameters).fetchall()

    def pick(self, number: int, query: str, *parameters: object) -> Any | None:
        rows = self.rows(query, *parameters)
        return rows[number % len(rows)] if rows else None

    def item(self, number: int) -> int | None:
        row = self.pick(number, "select item_id from sherlock.inbox order by item_id")
        return row[0] if row else None

    def document(self, number: int) -> int | None:
        row = self.pick(number, "select document_id from sherlock.documents order by document_id")
        return row[0] if row else None

    def held(self, number: int) -> Any | None:
        """Return an item, its document and its worker; the lease may have lapsed."""
        return self.pick(
            number,
            "select item_id, document_id, leased_by from sherlock.inbox"
            " where state = 'leased' order by item_id",
        )

    def send(self, number: int) -> None:
        self.rows(
            "insert into sherlock.inbox (content, name, priority) values (%s, 'a', %s) returning 1",
            b"file %d" % (number % 3),
            number % 5,
        )

    def send_path(self, number: int) -> None:
        self.rows("insert into sherlock.inbox (path) values (%s) returning 1", f"/p{number % 4}")

    def send_many(self, number: int) -> None:
        for _ in range(3):
            self.send(number)

    def lease(self, number: int) -> None:
        self.rows("select sherlock.lease_items(%s, %s)", WORKERS[number % 2], 1 + number % 3)

    def identify(self, number: int) -> None:
        row = self.pick(
            number,
            "select item_id, leased_by from sherlock.inbox"
            " where state = 'leased' and path is not null order by item_id",
        )
        if row:
            content = b"file %d" % (number % 4)
            self.rows(
                "select sherlock.identify_item(%s, %s, sha256(%s), %s)",
                *row,
                content,
                len(content),
            )

    def store(self, number: int) -> None:
        if (held := self.held(number)) and held[1] is not None:
            self.rows(
                "select sherlock.finish_document(%s, %s, %s, p_content => %s)",
                held[1],
                held[2],
                ("ok", "partial")[number % 2],
                TEXT + str(number),
            )

    def judge(self, number: int) -> None:
        row = self.pick(
            number, "select document_id from sherlock.inbox where state = 'stored' order by item_id"
        )
        if row:
            self.rows("select sherlock.record_detection(%s)", row[0])

    def fail(self, number: int) -> None:
        if (held := self.held(number)) and held[1] is not None:
            self.rows(
                "select sherlock.finish_document(%s, %s, 'failed', p_reason => 'damaged')",
                held[1],
                held[2],
            )

    def retry(self, number: int) -> None:
        if held := self.held(number):
            self.rows("select sherlock.retry_item(%s, %s, 'timeout')", held[0], held[2])
            self.rows("update sherlock.inbox set run_after = clock_timestamp() returning 1")

    def bury(self, number: int) -> None:
        if held := self.held(number):
            self.rows("select sherlock.bury_item(%s, %s, 'timeout')", held[0], held[2])

    def lapse(self, _number: int) -> None:
        self.rows(
            "update sherlock.inbox set leased_until = clock_timestamp() - interval '1 second'"
            " where leased_until is not null returning 1"
        )

    def give_back(self, number: int) -> None:
        self.rows("select sherlock.return_items(%s)", WORKERS[number % 2])

    def claim(self, number: int) -> None:
        content = b"file %d" % (number % 3)
        self.rows(
            "select sherlock.claim_file(sha256(%s), %s, 'default', 'a', '/load/a', %s,"
            " p_retry_failed => %s)",
            content,
            len(content),
            WORKERS[number % 2],
            number % 4 == 0,
        )

    def release(self, number: int) -> None:
        self.rows("select sherlock.release_claims(%s)", WORKERS[number % 2])

    def attach(self, number: int) -> None:
        if (held := self.held(number)) and held[1] is not None:
            self.rows(
                "select sherlock.attach_file(%s, %s, 'b', %s, 1, %s)",
                held[1],
                number % 3,
                b"file %d" % (number % 4),
                held[2] if number % 2 else None,
            )

    def delete(self, number: int) -> None:
        self.rows(
            "delete from sherlock.documents where document_id = %s returning 1",
            self.document(number),
        )

    def withdraw(self, number: int) -> None:
        self.rows("delete from sherlock.inbox where item_id = %s returning 1", self.item(number))

    def reread(self, number: int) -> None:
        if (document_id := self.document(number)) is not None:
            self.rows("select sherlock.reread(%s)", document_id)

    def retry_dead(self, _number: int) -> None:
        self.rows("select sherlock.retry_dead()")

    def drop_contents(self, _number: int) -> None:
        self.rows("select sherlock.drop_file_contents('0')")

    def assert_sound(self, history: list[str]) -> None:
        for rule, query in BROKEN.items():
            assert self.rows(query) == [], (rule, history)


# A claim that is lost, a file that is gone: what a caller is told, and nothing else.
TOLD = {"SH003", "SH054"}
ACTIONS: list[Callable[[Office, int], None]] = [
    Office.send,
    Office.send_path,
    Office.send_many,
    Office.lease,
    Office.identify,
    Office.store,
    Office.judge,
    Office.fail,
    Office.retry,
    Office.bury,
    Office.lapse,
    Office.give_back,
    Office.claim,
    Office.release,
    Office.attach,
    Office.delete,
    Office.withdraw,
    Office.reread,
    Office.retry_dead,
    Office.drop_contents,
]
# Leasing and storing more often: else most sequences never get far.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [*ACTIONS, *[Office.lease, Office.send, Office.identify, Office.store] * 2]
        ),
        st.integers(0, 11),
    ),
    min_size=5,
    max_size=40,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_any_sequence_leaves_the_queue_sound(
    conn: psycopg.Connection, steps: list[tuple[Callable[[Office, int], None], int]]
) -> None:
    office = Office(conn)
    history = []
    with conn.transaction(force_rollback=True):
        for action, number in steps:
            history.append(f"{action.__name__}({number})")
            try:
                with conn.transaction():
                    action(office, number)
            except psycopg.Error as error:
                assert error.sqlstate in TOLD, (error, history)
            office.assert_sound(history)
        drain(office, history)


def drain(office: Office, history: list[str]) -> None:
    """Let a worker read all there is: then nothing is open any more."""
    office.lapse(0)
    office.rows("update sherlock.inbox set run_after = clock_timestamp() returning 1")
    for number in range(100):
        leased = office.rows(
            "select item_id, document_id, state from sherlock.lease_items('last', 1)"
        )
        if not leased:
            break
        item_id, document_id, state = leased[0]
        if state == "leased" and document_id is None:
            content = b"file %d" % (number % 3)
            (document_id,) = office.rows(
                "select sherlock.identify_item(%s, 'last', sha256(%s), %s)", item_id, content, 6
            )[0]
        if document_id is not None:
            if state == "leased":
                office.rows(
                    "select sherlock.finish_document(%s, 'last', 'ok', p_content => %s)",
                    document_id,
                    TEXT,
                )
            office.rows("select sherlock.record_detection(%s)", document_id)
        office.assert_sound(history)
    left = office.rows("select * from sherlock.inbox where state not in ('done', 'dead')")
    assert left == [], history


def test_rules_notice_what_is_broken(conn: psycopg.Connection) -> None:
    """The rules are no empty words: each of these rows breaks one."""
    office = Office(conn)
    for damage in (
        "update sherlock.inbox set finished_at = now()",
        "update sherlock.inbox set leased_by = 'w'",
        "update sherlock.inbox set state = 'done', finished_at = now()",
        "update sherlock.inbox set gate = 'hit'",
        "delete from sherlock.file_hashes",
        "delete from sherlock.file_contents",
    ):
        with conn.transaction(force_rollback=True):
            office.send(0)
            office.assert_sound([])
            office.rows(f"{damage} returning 1")
            with pytest.raises(AssertionError):
                office.assert_sound([damage])
