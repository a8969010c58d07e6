"""Sessions at the inbox at the same moment: each file has one reader, and nobody waits forever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

TEXT = "Acción de tutela de Ana contra NUEVA EPS por la entrega de medicamentos."
RETRYABLE = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
ISOLATION_LEVELS = [IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ]

# What never holds: a count of offending rows for each rule.
BROKEN = {
    "a copy waits for what nobody reads": """
        select count(*) from sherlock.inbox as i
        where i.state = 'queued' and i.gate = 'hit' and not exists (
            select from sherlock.inbox as o
            where o.document_id = i.document_id and o.gate = 'new'
              and o.state in ('queued', 'leased', 'stored'))""",
    "a pending document has no reader": """
        select count(*) from sherlock.documents as d
        where d.status = 'pending' and not exists (
            select from sherlock.inbox as o
            where o.document_id = d.document_id and o.gate = 'new'
              and o.state in ('queued', 'leased'))""",
    "a finished item is leased or has no end": """
        select count(*) from sherlock.inbox as i
        where (i.state in ('done', 'dead')) <> (i.finished_at is not null)
           or (i.state in ('done', 'dead') and num_nonnulls(i.leased_by, i.leased_until) > 0)""",
    "hashes and documents differ": """
        select count(*) from sherlock.file_hashes as h
        full join sherlock.documents as d
            on (d.document_id, d.sha256, d.file_size_bytes, d.collection_id)
             = (h.document_id, h.sha256, h.file_size_bytes, h.collection_id)
        where d.document_id is null or (h.document_id is null and d.sha256 is not null)""",
}


class Session:
    """A connection whose transactions are tried again as an application would."""

    def __init__(self, url: str, isolation: IsolationLevel) -> None:
        self.conn = psycopg.connect(url)
        self.conn.isolation_level = isolation
        self.name = f"w{self.conn.info.backend_pid}"

    def run(self, *statements: tuple[str, list[object]]) -> list[Any]:
        while True:
            try:
                with self.conn.transaction():
                    for query, parameters in statements:
                        rows = self.conn.execute(query, parameters).fetchall()
                return rows
            except RETRYABLE:
                continue

    def send(self, content: bytes) -> Any:
        return self.run(
            (
                "insert into sherlock.inbox (content, name) values (%s, 'a')"
                " returning item_id, state, gate, document_id",
                [content],
            )
        )[0]

    def lease(self, limit: int = 1, lease: str = "1 hour") -> list[Any]:
        return self.run(
            (
                "select item_id, state, document_id from sherlock.lease_items(%s, %s, %s)",
                [self.name, limit, lease],
            )
        )

    def finish(self, document_id: int, status: str) -> bool:
        """Store and judge, or fail; False if the lease was lost."""
        content = TEXT if status == "ok" else None
        finish = (
            "select sherlock.finish_document(%s, %s, %s, p_content => %s, p_reason => %s)",
            [document_id, self.name, status, content, None if content else "damaged"],
        )
        try:
            self.run(finish)
        except psycopg.Error as error:
            assert error.sqlstate == "SH003", error
            return False
        if status == "ok":
            try:
                self.run(("select sherlock.record_detection(%s)", [document_id]))
            except psycopg.Error as error:
                assert error.sqlstate == "SH001", error
        return True


class Race:
    """Sessions that act at the same moment, round after round, in a database of their own."""

    def __init__(self, url: str, count: int, isolation: IsolationLevel) -> None:
        self.sessions = [Session(url, isolation) for _ in range(count)]
        self._pool = ThreadPoolExecutor(count)
        self._observer = psycopg.connect(url, autocommit=True)

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for session in self.sessions:
            session.conn.close()
        self._observer.close()

    def run(self, *actions: Callable[[Session], Any]) -> list[Any]:
        """Let session n do action n; return what each gave."""
        barrier = threading.Barrier(len(actions), timeout=30)

        def act(session: Session, action: Callable[[Session], Any]) -> Any:
            barrier.wait()
            return action(session)

        futures = [
            self._pool.submit(act, session, action)
            for session, action in zip(self.sessions, actions, strict=False)
        ]
        return [future.result(60) for future in futures]

    def assert_sound(self) -> None:
        for what, query in BROKEN.items():
            assert self.rows(query) == [(0,)], what

    def rows(self, query: str) -> list[Any]:
        return self._observer.execute(query).fetchall()


@pytest.fixture(params=ISOLATION_LEVELS, ids=lambda level: level.name)
def isolation(request: pytest.FixtureRequest) -> IsolationLevel:
    level: IsolationLevel = request.param
    return level


@pytest.mark.parametrize(("count", "rounds"), [(2, 20), (8, 6)])
def test_same_bytes_are_read_once(
    database_url: str, isolation: IsolationLevel, count: int, rounds: int
) -> None:
    with Race(database_url, count, isolation) as race:
        for number in range(rounds):
            content = b"file %d" % number
            sent = race.run(*[lambda session, c=content: session.send(c)] * count)
            assert sorted(item[2] for item in sent) == ["hit"] * (count - 1) + ["new"]
            assert len({item[3] for item in sent}) == 1
        race.assert_sound()
        assert race.rows("select count(*) from sherlock.file_contents") == [(rounds,)]


@pytest.mark.parametrize("status", ["ok", "failed"])
@pytest.mark.parametrize(("count", "rounds"), [(2, 20), (8, 6)])
def test_copy_that_arrives_while_it_is_finished(
    database_url: str, isolation: IsolationLevel, count: int, rounds: int, status: str
) -> None:
    with Race(database_url, count, isolation) as race:
        reader = race.sessions[0]
        for number in range(rounds):
            content = b"file %d" % number
            reader.send(content)
            ((_, _, document_id),) = reader.lease()
            race.run(
                lambda session, d=document_id: session.finish(d, status),
                *[lambda session, c=content: session.send(c)] * (count - 1),
            )
            race.assert_sound()
        ends = race.rows("select distinct state from sherlock.inbox")
        assert ends == [("done" if status == "ok" else "dead",)]


@pytest.mark.parametrize("ending", ["bury", "withdraw", "release"])
@pytest.mark.parametrize(("count", "rounds"), [(2, 20), (8, 6)])
def test_copy_that_arrives_while_a_retry_ends(
    database_url: str, isolation: IsolationLevel, count: int, rounds: int, ending: str
) -> None:
    """The document is known as failed: ending the retry changes nothing in it."""
    with Race(database_url, count, isolation) as race:
        reader = race.sessions[0]
        for number in range(rounds):
            content = b"file %d" % number
            reader.send(content)
            ((item_id, _, document_id),) = reader.lease()
            assert reader.finish(document_id, "failed")
            reader.run(("select sherlock.retry_dead(p_item_ids => array[%s::bigint])", [item_id]))
            ((item_id, _, _),) = reader.lease()
            if ending == "release":
                reader.run(
                    (
                        "update sherlock.inbox set owner = leased_by where item_id = %s"
                        " returning item_id",
                        [item_id],
                    )
                )
            statement: tuple[str, list[object]] = {
                "bury": ("select sherlock.bury_item(%s, %s, 'timeout')", [item_id, reader.name]),
                "withdraw": (
                    "delete from sherlock.inbox where item_id = %s returning 1",
                    [item_id],
                ),
                "release": ("select sherlock.release_claims(%s)", [reader.name]),
            }[ending]
            race.run(
                lambda session, s=statement: session.run(s),
                *[lambda session, c=content: session.send(c)] * (count - 1),
            )
            race.assert_sound()
            # Copies that came after the end are dead at once: all of them end with it.
            assert race.rows("select count(*) from sherlock.inbox where state <> 'dead'") == [(0,)]


@pytest.mark.parametrize("what", ["item", "document"])
@pytest.mark.parametrize(("count", "rounds"), [(2, 20), (8, 6)])
def test_copy_that_arrives_while_it_is_withdrawn(
    database_url: str, isolation: IsolationLevel, count: int, rounds: int, what: str
) -> None:
    """Whoever sent the bytes has them read, whoever withdraws them."""
    with Race(database_url, count, isolation) as race:
        for number in range(rounds):
            content = b"file %d" % number
            item_id, _, _, document_id = race.sessions[0].send(content)
            race.run(
                lambda session, i=item_id, d=document_id: session.run(
                    (
                        f"delete from sherlock.{'inbox' if what == 'item' else 'documents'}"
                        f" where {what}_id = %s returning 1",
                        [i if what == "item" else d],
                    )
                ),
                *[lambda session, c=content: session.send(c)] * (count - 1),
            )
            race.assert_sound()
            reader = race.sessions[-1]
            for _, _, leased_document_id in reader.lease(limit=2 * count):
                assert reader.finish(leased_document_id, "failed")
            assert race.rows("select count(*) from sherlock.inbox where state <> 'dead'") == [(0,)]


@pytest.mark.parametrize("count", [2, 8])
def test_no_item_has_two_holders(database_url: str, isolation: IsolationLevel, count: int) -> None:
    files = 60
    with Race(database_url, count, isolation) as race:
        for number in range(files):
            race.sessions[0].send(b"file %d" % number)

        def drain(session: Session) -> list[int]:
            held: list[int] = []
            while leased := session.lease(limit=3):
                held += [row[0] for row in leased]
            return held

        held = [item_id for part in race.run(*[drain] * count) for item_id in part]
        # Who skipped what another had locked comes again.
        held += drain(race.sessions[0])
        assert len(held) == len(set(held)) == files
        race.assert_sound()


@pytest.mark.parametrize("rounds", [20])
def test_late_finish_against_the_next_reader(
    database_url: str, isolation: IsolationLevel, rounds: int
) -> None:
    """Of a lapsed lease either the late reader finishes, or the next one gets it; never both."""
    with Race(database_url, 3, isolation) as race:
        late, taker, loader = race.sessions
        for number in range(rounds):
            late.send(b"%d" % number)
            ((item_id, _, document_id),) = late.lease(lease="-1 second")

            def claim(session: Session, number: int = number) -> list[Any]:
                rows = session.run(
                    (
                        "select document_id from sherlock.claim_file(sha256(%s), %s, 'default',"
                        " 'a', '/a', %s) where outcome = 'claimed'",
                        [b"%d" % number, len(b"%d" % number), session.name],
                    )
                )
                return [row[0] for row in rows]

            is_finished, leased, claimed = race.run(
                lambda session, d=document_id: session.finish(d, "ok"),
                lambda session: session.lease(),
                claim,
            )
            readers = [taker] * any(row[1] == "leased" for row in leased) + [loader] * len(claimed)
            assert len(readers) + is_finished <= 1, (is_finished, leased, claimed)
            for reader in readers:
                assert reader.finish(document_id, "ok")
            race.assert_sound()
            # Nobody got it where each saw another's lock.
            while remaining := late.lease():
                assert late.finish(remaining[0][2], "ok")
            assert race.rows(f"select state from sherlock.inbox where item_id = {item_id}") == [
                ("done",)
            ]


def test_retry_against_the_end(database_url: str, isolation: IsolationLevel) -> None:
    """A lapsed item is put back by its late holder while another gives it up as lost."""
    with Race(database_url, 2, isolation) as race:
        late = race.sessions[0]
        for number in range(20):
            late.send(b"%d" % number)
            ((item_id, _, _),) = late.lease()
            late.run(
                (
                    "update sherlock.inbox set leased_until = now() - interval '1 second',"
                    " attempts = max_attempts - %s where item_id = %s returning 1",
                    [number % 2, item_id],
                )
            )

            def retry(session: Session, item_id: int = item_id) -> bool | None:
                try:
                    ((is_queued,),) = session.run(
                        ("select sherlock.retry_item(%s, %s, 'timeout')", [item_id, session.name])
                    )
                except psycopg.Error as error:
                    assert error.sqlstate == "SH003", error
                    return None
                return bool(is_queued)

            is_retried, leased = race.run(retry, lambda session: session.lease())
            assert not (is_retried and leased)
            race.assert_sound()
            late.run(("delete from sherlock.inbox returning 1", []))


@pytest.mark.parametrize("count", [2, 8])
def test_dead_items_are_queued_again_once(
    database_url: str, isolation: IsolationLevel, count: int
) -> None:
    """By whoever asks for it, and however."""
    with Race(database_url, count, isolation) as race:
        reader = race.sessions[0]
        for number in range(12):
            content = b"%d" % number
            reader.send(content)
            ((_, _, document_id),) = reader.lease()
            reader.finish(document_id, "failed")
            for _ in range(2):
                reader.send(content)
            asks: list[tuple[str, list[object]]] = [
                ("select sherlock.retry_dead()", []),
                ("select sherlock.reread(%s)", [document_id]),
            ]
            race.run(*[lambda session, s=asks[n % 2]: session.run(s) for n in range(count)])
            race.assert_sound()
            opened = reader.lease(limit=9)
            assert [row[2] for row in opened] == [document_id]
            assert reader.finish(document_id, "ok")


def test_bytes_are_not_dropped_under_who_sends_them(database_url: str) -> None:
    with Race(database_url, 2, IsolationLevel.READ_COMMITTED) as race:
        for _ in range(60):
            # Known bytes that nothing waits for.
            race.sessions[0].send(b"x")
            race.sessions[0].run(("delete from sherlock.inbox returning 1", []))
            race.run(
                lambda session: session.send(b"x"),
                lambda session: session.run(("select sherlock.drop_file_contents('0')", [])),
            )
            kept = "select count(*) from sherlock.inbox join sherlock.file_contents using (sha256)"
            assert race.rows(kept) == [(1,)]
