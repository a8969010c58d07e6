"""The rows that a table had before it was watched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

ROWS = 1200


@pytest.fixture
def large(database_url: str, text_of: Any) -> Iterator[psycopg.Connection]:
    """Watch a table with more rows than are judged at once; every hundredth is the same text."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("create table t (id integer primary key, body text, seen boolean)")
        with conn.cursor().copy("copy t (id, body) from stdin") as copy:
            for number in range(ROWS, 0, -1):
                copy.write_row((number, f"{number} renglón corto" if number % 100 else text_of(0)))
        yield conn


def listen(conn: psycopg.Connection) -> list[str]:
    notices: list[str] = []
    conn.add_notice_handler(lambda n: notices.append(f"{n.message_primary} | {n.message_hint}"))
    return notices


def known(conn: psycopg.Connection) -> int:
    row = conn.execute("select count(*) from sherlock.watched_rows").fetchone()
    assert row is not None
    return int(row[0])


def state(conn: psycopg.Connection) -> str:
    row = conn.execute("select state from sherlock.watched").fetchone()
    assert row is not None
    return str(row[0])


def test_a_large_table_is_judged_in_portions(large: psycopg.Connection) -> None:
    notices = listen(large)
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    assert notices == [
        "t is watched; about 1200 rows that are there wait to be judged"
        " | call sherlock.backfill('t')"
    ]
    assert (known(large), state(large)) == (0, "backfilling")
    large.execute("insert into t values (2000, 'uno nuevo')")
    assert known(large) == 1
    notices.clear()
    large.execute("call sherlock.backfill('t', p_batch_size => 500)")
    assert [notice.split(" rows,")[0] for notice in notices[:-1]] == [
        "t: 500 of about 1201", "t: 1000 of about 1201", "t: 1201 of about 1201",
    ]  # fmt: skip
    assert all("rows/s" in notice and "left" in notice for notice in notices[:-1])
    assert "all 1201 rows" in notices[-1]
    assert (known(large), state(large)) == (ROWS + 1, "active")
    # In the order of the key: the first of the copies is the one that the others are copies of.
    exact = large.execute(
        "select count(*), count(distinct key) from sherlock.watched_duplicates('t')"
        " where confidence = 'EXACT' and matched_key = '100'"
    ).fetchone()
    assert exact == (ROWS // 100 - 1, ROWS // 100 - 1)
    portions = large.execute(
        "select count(distinct xmin::text) from sherlock.watched_rows"
    ).fetchone()
    assert portions == (4,)


def test_it_goes_on_where_it_was_interrupted(large: psycopg.Connection, database_url: str) -> None:
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    seen = 0

    def stop(notice: psycopg.errors.Diagnostic) -> None:
        nonlocal seen
        seen += 1
        if seen == 2:
            large.cancel_safe()

    large.add_notice_handler(stop)
    with pytest.raises(psycopg.errors.QueryCanceled):
        large.execute("call sherlock.backfill('t', p_batch_size => 200)")
    large.remove_notice_handler(stop)
    done = known(large)
    assert 400 <= done < ROWS
    assert done % 200 == 0
    assert state(large) == "backfilling"
    before = large.execute("select document_id, xmin::text from sherlock.watched_rows").fetchall()
    large.execute("call sherlock.backfill('t')")
    after = large.execute("select document_id, xmin::text from sherlock.watched_rows").fetchall()
    assert set(before) <= set(after)
    assert (len(after), state(large)) == (ROWS, "active")


def test_others_write_meanwhile(large: psycopg.Connection, database_url: str, text_of: Any) -> None:
    """Rows that come, change, move and go while the portions are judged are known in the end."""
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    errors: list[BaseException] = []

    def write() -> None:
        try:
            with psycopg.connect(database_url, autocommit=True) as writer:
                for number in range(7, ROWS, 40):
                    writer.execute("delete from t where id = %s", [number])
                    writer.execute(
                        "update t set body = %s where id = %s", [f"otro texto {number}", number + 1]
                    )
                    writer.execute("update t set id = -id where id = %s", [number + 2])
                    writer.execute("insert into t values (%s, %s)", [5000 + number, text_of(1)])
        except psycopg.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    large.execute("call sherlock.backfill('t', p_batch_size => 20)")
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    wrong = large.execute(
        "select t.id, w.row_key from t full join sherlock.watched_rows as w"
        " on t.id = (w.row_key ->> 0)::integer"
        " where w.text_sha256 is distinct from sha256(convert_to(t.body, 'UTF8'))"
    ).fetchall()
    assert wrong == []


BACKFILL_ROWS = (
    "select sherlock._backfill_rows(watch_id, sherlock._next_row_keys(watch_id, null, 10), %s)"
    " from sherlock.watches"
)


@pytest.mark.parametrize("change", [
    "update t set body = 'ya es otro' where id = 5",
    "delete from t where id = 5",
    "update t set id = 9000 where id = 5",
])  # fmt: skip
def test_a_row_that_changes_while_its_portion_is_judged(
    large: psycopg.Connection, database_url: str, run_blocked: Callable[..., None], change: str
) -> None:
    """The other session waits for the portion, then sees that the row is known."""
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    with psycopg.connect(database_url) as portion:
        portion.execute(BACKFILL_ROWS, [False])
        run_blocked(lambda: large.execute(change), then=portion.commit)
    rows = large.execute(
        "select w.row_key, w.text_sha256 = sha256(convert_to(t.body, 'UTF8'))"
        " from sherlock.watched_rows as w left join t on t.id = (w.row_key ->> 0)::integer"
    ).fetchall()
    assert {row[1] for row in rows} == {True}
    assert len(rows) == (9 if "delete" in change else 10)


def test_rows_that_another_session_has_locked_are_left_out(
    large: psycopg.Connection, database_url: str, run_blocked: Callable[..., None]
) -> None:
    """Or waited for, if that is asked for."""
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    with psycopg.connect(database_url) as writer:
        writer.execute("update t set body = 'ya es otro' where id = 5")
        assert large.execute(BACKFILL_ROWS, [False]).fetchone() == ([[5]],)
        assert known(large) == 9
        run_blocked(lambda: large.execute(BACKFILL_ROWS, [True]), then=writer.commit)
    rows = large.execute(
        "select w.text_sha256 = sha256(convert_to(t.body, 'UTF8'))"
        " from sherlock.watched_rows as w join t on t.id = (w.row_key ->> 0)::integer"
    ).fetchall()
    assert rows == [(True,)] * 10


def test_composite_keys_go_in_their_order(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            'create table t (a text collate "C", b integer, body text, primary key (a, b))'
        )
        conn.execute(
            "insert into t select chr(97 + n % 7), n, 'texto ' || n from generate_series(1, 1100) n"
        )
        conn.execute("select sherlock.watch('t', array['a', 'b'], array['body'])")
        conn.execute("call sherlock.backfill('t', 90)")
        rows = conn.execute(
            "select array_agg(row_key order by document_id)"
            " = array_agg(row_key order by row_key ->> 0, (row_key ->> 1)::integer)"
            " from sherlock.watched_rows"
        ).fetchone()
        assert rows == (True,)
        assert known(conn) == 1100


def test_rows_of_a_dropped_partition_are_forgotten(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("create table p (id integer primary key, body text) partition by range (id)")
        conn.execute("create table low partition of p for values from (0) to (10)")
        conn.execute("create table high partition of p for values from (10) to (20)")
        conn.execute("select sherlock.watch('p', 'id', array['body'])")
        conn.execute("insert into p values (1, 'uno'), (11, 'once')")
        conn.execute("drop table low")
        conn.execute("call sherlock.backfill('p')")
        assert conn.execute("select row_key from sherlock.watched_rows").fetchall() == [([11],)]
        assert state(conn) == "active"


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_it_waits_for_a_locked_row_without_holding_another(
    large: psycopg.Connection, database_url: str, ending: str
) -> None:
    """Writers that lock rows and then want others are never in a deadlock with it."""
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            large.execute("call sherlock.backfill('t')")
        except psycopg.Error as error:
            errors.append(error)

    with psycopg.connect(database_url) as writer:
        writer.execute("select from t where id in (20, 700) for update")
        writer.execute("update t set body = 'ya es otro' where id = 30")
        thread = threading.Thread(target=work)
        thread.start()
        deadline = time.monotonic() + 60
        while writer.execute("select from pg_locks where not granted").fetchone() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # It holds no row while it waits: this would wait for it.
        writer.execute("set local lock_timeout = '5s'")
        writer.execute("update t set seen = true")
        writer.execute(ending)
    thread.join(timeout=60)
    assert errors == []
    large.execute("select pg_stat_force_next_flush()")
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    assert large.execute(deadlocks).fetchone() == (0,)
    assert (known(large), state(large)) == (ROWS, "active")
    wrong = large.execute(
        "select from t join sherlock.watched_rows as w on t.id = (w.row_key ->> 0)::integer"
        " where w.text_sha256 is distinct from sha256(convert_to(t.body, 'UTF8'))"
    ).fetchall()
    assert wrong == []


def test_in_a_transaction_block(conn: psycopg.Connection) -> None:
    conn.execute("create table t (id integer primary key, body text)")
    conn.execute("select sherlock.watch('t', 'id', array['body'])")
    with pytest.raises(psycopg.errors.InvalidTransactionTermination) as caught:
        conn.execute("call sherlock.backfill('t')")
    assert "autocommit" in (caught.value.diag.message_hint or "")


def test_under_a_stricter_isolation_level(large: psycopg.Connection, database_url: str) -> None:
    """A row that was changed since the call is no serialization failure."""
    large.execute("select sherlock.watch('t', 'id', array['body'])")
    large.execute("set default_transaction_isolation = serializable")
    seen: list[str] = []

    def change(notice: psycopg.errors.Diagnostic) -> None:
        with psycopg.connect(database_url, autocommit=True) as writer:
            writer.execute("update t set body = body || ' ya es otro' where id > 1190")
            writer.execute("insert into t values (%s, 'otra')", [2000 + len(seen)])
        seen.append(notice.message_primary or "")

    large.add_notice_handler(change)
    large.execute("call sherlock.backfill('t', 300)")
    assert len(seen) > 4
    assert state(large) == "active"
