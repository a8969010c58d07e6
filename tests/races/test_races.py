"""Sessions that insert the same, or nearly the same, at the same moment: none misses the other."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import psycopg
import pytest
from psycopg import IsolationLevel

READ_COMMITTED = IsolationLevel.READ_COMMITTED
ISOLATION_LEVELS = [
    READ_COMMITTED,
    IsolationLevel.REPEATABLE_READ,
    IsolationLevel.SERIALIZABLE,
]
RETRYABLE = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


def text(trial: int, variant: int) -> str:
    """Return a text of its own trial; variants differ in two words of sixty."""
    words = [f"t{trial}w{n}" for n in range(60)]
    words[20] = f"v{variant}"
    words[40] = f"u{variant}"
    return " ".join(words)


class Session:
    """A connection that inserts when the others do, and tries again as an application would."""

    def __init__(self, url: str, isolation: IsolationLevel, number: int) -> None:
        self.conn = psycopg.connect(url)
        self.conn.isolation_level = isolation
        self.random = random.Random(number)
        self.retries = 0

    def insert(self, barrier: threading.Barrier, statements: list[list[str]]) -> list[int]:
        barrier.wait()
        while True:
            try:
                with self.conn.transaction():
                    ids = []
                    for texts in statements:
                        rows = self.conn.execute(
                            "insert into sherlock.documents (content) values "
                            + ", ".join(["(%s)"] * len(texts))
                            + " returning document_id",
                            texts,
                        ).fetchall()
                        ids += [row[0] for row in rows]
                    if self.random.random() < 0.5:
                        self.conn.execute("select pg_sleep(%s)", [self.random.random() * 0.005])
                return ids
            except RETRYABLE:
                self.retries += 1


def race(
    url: str, isolation: IsolationLevel, statements: list[list[list[list[str]]]]
) -> list[list[int]]:
    """Let session n of each trial run its statements; return the ids that each trial inserted."""
    count = len(statements[0])
    sessions = [Session(url, isolation, number) for number in range(count)]
    inserted = []
    try:
        with ThreadPoolExecutor(count) as pool:
            for trial in statements:
                barrier = threading.Barrier(count, timeout=30)
                futures = [
                    pool.submit(session.insert, barrier, part)
                    for session, part in zip(sessions, trial, strict=True)
                ]
                inserted.append([i for future in futures for i in future.result(60)])
    finally:
        for session in sessions:
            session.conn.close()
    return inserted


def assert_all_pairs(url: str, trials: list[list[int]], confidence: str) -> None:
    """Check that of each trial's documents every pair is stored, the later one first."""
    with psycopg.connect(url) as conn:
        found = {
            (row[0], row[1]): row[2]
            for row in conn.execute(
                "select document_id, matched_document_id, confidence from sherlock.matches"
            )
        }
    for ids in trials:
        missing = [
            pair
            for pair in combinations(sorted(ids), 2)
            if found.get((pair[1], pair[0])) != confidence
        ]
        assert not missing, f"{len(missing)} pairs of {len(ids)} documents are not reported"


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("confidence", ["EXACT", "HIGH"])
@pytest.mark.parametrize(("sessions", "trials"), [(2, 40), (8, 6)])
def test_single_rows(
    database_url: str, isolation: IsolationLevel, confidence: str, sessions: int, trials: int
) -> None:
    statements = [
        [[[text(trial, session if confidence == "HIGH" else 0)]] for session in range(sessions)]
        for trial in range(trials)
    ]
    inserted = race(database_url, isolation, statements)
    assert_all_pairs(database_url, inserted, confidence)


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize(("sessions", "trials"), [(2, 15), (8, 2)])
def test_many_rows(
    database_url: str, isolation: IsolationLevel, sessions: int, trials: int
) -> None:
    """Each session inserts five texts in an order of its own, near copies of the others'."""
    rows = 5
    statements = []
    for trial in range(trials):
        parts = []
        for session in range(sessions):
            texts = [text(trial * rows + row, session) for row in range(rows)]
            random.Random(session).shuffle(texts)
            parts.append([texts])
        statements.append(parts)
    inserted = race(database_url, isolation, statements)
    with psycopg.connect(database_url) as conn:
        topic = dict(
            conn.execute(
                "select document_id, split_part(content, 'w', 1) from sherlock.documents"
            ).fetchall()
        )
    by_topic: dict[str, list[int]] = {}
    for ids in inserted:
        for document_id in ids:
            by_topic.setdefault(topic[document_id], []).append(document_id)
    assert {len(ids) for ids in by_topic.values()} == {sessions}
    assert_all_pairs(database_url, list(by_topic.values()), "HIGH")


def test_statements_in_opposite_order_end_in_a_retryable_error_at_worst(database_url: str) -> None:
    """Two transactions, two statements each, crosswise: one may have to try again."""
    statements = [
        [
            [[text(2 * trial, 1)], [text(2 * trial + 1, 1)]],
            [[text(2 * trial + 1, 2)], [text(2 * trial, 2)]],
        ]
        for trial in range(6)
    ]
    inserted = race(database_url, READ_COMMITTED, statements)
    pairs = []
    for first, second, third, fourth in inserted:
        pairs += [[first, fourth], [second, third]]
    assert_all_pairs(database_url, pairs, "HIGH")


def test_a_loaded_file_and_an_inserted_text(database_url: str) -> None:
    """The loader commits a document before it is judged; the other session inserts meanwhile."""
    with (
        psycopg.connect(database_url, autocommit=True) as loader,
        psycopg.connect(database_url) as client,
    ):
        claim = loader.execute(
            "select document_id from sherlock.claim_file(sha256('a'), 1, 'default', 'a', 'a', 'w')"
        ).fetchone()
        assert claim is not None
        loader.execute(
            "select sherlock.finish_document(%s, 'w', 'ok', p_content => %s)",
            [claim[0], text(1, 1)],
        )
        loader.execute("update sherlock.documents set name = 'stored, not yet judged'")
        inserted = client.execute(
            "insert into sherlock.documents (content) values (%s) returning document_id",
            [text(1, 2)],
        ).fetchone()
        assert inserted is not None
        with ThreadPoolExecutor(1) as pool:
            judged = pool.submit(loader.execute, "select sherlock.record_detection(%s)", [claim[0]])
            client.commit()
            judged.result(30)
    assert_all_pairs(database_url, [[claim[0], inserted[0]]], "HIGH")


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize(("sessions", "trials"), [(2, 20), (8, 4)])
def test_of_near_equal_rows_a_rejecting_table_keeps_one(
    database_url: str, isolation: IsolationLevel, sessions: int, trials: int
) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            "create table notes (id bigint generated always as identity primary key, t text)"
        )
        conn.execute(
            "select sherlock.watch('notes', p_key => 'id', p_text => array['t'],"
            " p_on_duplicate => 'reject')"
        )

    def insert(barrier: threading.Barrier, trial: int, variant: int) -> str:
        with psycopg.connect(database_url) as conn:
            conn.isolation_level = isolation
            conn.execute("select 1")
            conn.rollback()
            barrier.wait()
            while True:
                try:
                    with conn.transaction():
                        conn.execute("insert into notes (t) values (%s)", [text(trial, variant)])
                    return "kept"
                except RETRYABLE:
                    continue
                except psycopg.Error as error:
                    assert error.sqlstate == "SH040", error
                    return "rejected"

    with ThreadPoolExecutor(sessions) as pool:
        for trial in range(trials):
            barrier = threading.Barrier(sessions, timeout=30)
            ends = [pool.submit(insert, barrier, trial, n) for n in range(sessions)]
            assert sorted(end.result(60) for end in ends) == ["kept"] + ["rejected"] * (
                sessions - 1
            )
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from notes").fetchone() == (trials,)
        assert conn.execute("select count(*) from sherlock.matches").fetchone() == (0,)


@pytest.mark.parametrize("change", ["delete", "update"])
@pytest.mark.parametrize(
    "isolation", [READ_COMMITTED, IsolationLevel.REPEATABLE_READ], ids=lambda level: level.name
)
def test_who_judges_against_a_text_that_goes_waits_for_its_end(
    database_url: str, isolation: IsolationLevel, change: str
) -> None:
    session = Session(database_url, isolation, 1)
    with psycopg.connect(database_url) as changer:
        row = changer.execute(
            "insert into sherlock.documents (content) values (%s) returning document_id",
            [text(1, 1)],
        ).fetchone()
        assert row is not None
        changer.commit()
        if change == "delete":
            changer.execute("delete from sherlock.documents")
        else:
            changer.execute("update sherlock.documents set content = %s", [text(2, 1)])
        with ThreadPoolExecutor(1) as pool:
            inserted = pool.submit(session.insert, threading.Barrier(1), [[text(1, 2)]])
            waiting = "select from pg_stat_activity where wait_event_type = 'Lock'"
            deadline = time.monotonic() + 30
            while changer.execute(waiting).fetchone() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not inserted.done()
            changer.commit()
            inserted.result(30)
        assert changer.execute("select count(*) from sherlock.matches").fetchone() == (0,)
    session.conn.close()


def test_an_open_transaction_holds_up_no_other_collection(database_url: str) -> None:
    with (
        psycopg.connect(database_url) as open_one,
        psycopg.connect(database_url, autocommit=True) as other,
    ):
        other.execute("select sherlock.create_collection('otra')")
        rows = [(text(number, 1),) for number in range(200)]
        open_one.cursor().executemany("insert into sherlock.documents (content) values (%s)", rows)
        other.execute("set lock_timeout = '1s'")
        for content in rows[:20]:
            other.execute(
                "insert into sherlock.documents (content, collection_id)"
                " values (%s, sherlock.collection_id('otra'))",
                content,
            )
