"""What follows when rows and tables that are watched change."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

INSERT = "insert into public.feed_items (feed_item_id, title, body) values (%s, %s, %s)"
KNOWN = "select row_key ->> 0, document_id from sherlock.watched_rows order by 1"
# What a statement that changes nothing must leave as it is.
VERSIONS = (
    "select 'd', document_id, xmin::text, ctid::text from sherlock.documents union all"
    " select 'w', document_id, xmin::text, ctid::text from sherlock.watched_rows union all"
    " select 'v', document_id, xmin::text, ctid::text from sherlock.detections order by 1, 2"
)


def known(conn: psycopg.Connection) -> dict[str, int]:
    return dict(conn.execute(KNOWN).fetchall())


def state(conn: psycopg.Connection) -> str:
    row = conn.execute("select state from sherlock.watched").fetchone()
    assert row is not None
    return str(row[0])


def test_an_update_of_other_columns_writes_nothing(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [1, "a", text_of(1)])
    conn.execute(INSERT, [2, "b", text_of(1)])
    before = conn.execute(VERSIONS).fetchall()
    conn.execute("update public.feed_items set seen = seen + 1, body = body || ''")
    conn.execute("update public.feed_items set title = null where false")
    assert conn.execute(VERSIONS).fetchall() == before
    assert conn.execute("select count(*) from sherlock.closed_matches").fetchone() == (0,)


def test_a_changed_text_is_judged_anew(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    for number, topic in ((1, 1), (2, 2), (3, 3)):
        conn.execute(INSERT, [number, None, text_of(topic)])
    before = known(conn)
    conn.execute("update public.feed_items set body = %s where feed_item_id = 3", [text_of(1)])
    assert pairs(conn, feed) == {("3", "1", "EXACT")}
    # The older row of a pair changes: the younger one was judged against what is no more.
    conn.execute("update public.feed_items set body = %s where feed_item_id = 1", [text_of(4)])
    assert pairs(conn, feed) == set()
    conn.execute("update public.feed_items set body = %s where feed_item_id = 1", [text_of(2, 1)])
    assert pairs(conn, feed) == {("2", "1", "HIGH")}
    assert known(conn) == before


def test_a_row_keeps_its_document_when_its_key_changes(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    for number in (1, 2, 3):
        conn.execute(INSERT, [number, None, text_of(1, version=number)])
    before = known(conn)
    verdicts = conn.execute("select * from sherlock.detections order by 1").fetchall()
    conn.execute("update public.feed_items set feed_item_id = feed_item_id + 10")
    assert known(conn) == {f"1{key}": document_id for key, document_id in before.items()}
    assert conn.execute("select * from sherlock.detections order by 1").fetchall() == verdicts
    assert ("13", "11", "HIGH") in pairs(conn, feed)
    # Key and text of one row at once.
    conn.execute(
        "update public.feed_items set feed_item_id = 20, body = %s where feed_item_id = 11",
        [text_of(5)],
    )
    assert known(conn)["20"] == before["1"]
    assert pairs(conn, feed) == {("13", "12", "HIGH")}
    names = conn.execute("select array_agg(name order by name) from sherlock.documents").fetchone()
    assert names == (["12", "13", "20"],)


def test_keys_that_move_over_each_other_keep_their_texts(
    conn: psycopg.Connection, text_of: Any
) -> None:
    conn.execute("create table t (id integer primary key, body text)")
    conn.execute("select sherlock.watch('t', 'id', array['body'])")
    for number in (1, 2, 3):
        conn.execute("insert into t values (%s, %s)", [number, text_of(number)])
    # From the highest down, so that no key is there twice.
    conn.execute(
        "update t set id = 4 where id = 3; update t set id = 3 where id = 2;"
        " update t set id = case id when 3 then 30 when 1 then 10 else id end"
    )
    rows = conn.execute(
        "select w.row_key ->> 0, sherlock.document_text(w.document_id), w.text_sha256"
        " = sha256(convert_to(t.body, 'UTF8')) from sherlock.watched_rows as w"
        " join t on t.id = (w.row_key ->> 0)::integer order by 1"
    ).fetchall()
    assert rows == [("10", text_of(1), True), ("30", text_of(2), True), ("4", text_of(3), True)]


def test_rows_that_go_take_their_pairs_along(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    for number in (1, 2, 3):
        conn.execute(INSERT, [number, None, text_of(1, version=number)])
    conn.execute("delete from public.feed_items where feed_item_id = 1")
    assert pairs(conn, feed) == {("3", "2", "HIGH")}
    conn.execute("truncate public.feed_items")
    assert known(conn) == {}
    reasons = conn.execute("select distinct closed_reason from sherlock.closed_matches").fetchall()
    assert reasons == [("deleted",)]
    conn.execute(INSERT, [1, None, text_of(1)])
    assert set(known(conn)) == {"1"}


def test_an_upsert_and_a_merge_are_followed(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [1, None, text_of(1)])
    conn.execute(
        "insert into public.feed_items (feed_item_id, body) values (1, %(old)s), (2, %(new)s)"
        " on conflict (feed_item_id) do update set body = excluded.body",
        {"old": text_of(3), "new": text_of(3, version=1)},
    )
    assert pairs(conn, feed) == {("2", "1", "HIGH")}
    conn.execute(
        "merge into public.feed_items as f using (values (1, null), (2, %(a)s), (3, %(a)s))"
        " as s (id, body) on f.feed_item_id = s.id"
        " when matched and s.body is null then delete"
        " when matched then update set body = s.body"
        " when not matched then insert (feed_item_id, body) values (s.id, s.body)",
        {"a": text_of(4)},
    )
    assert set(known(conn)) == {"2", "3"}
    assert pairs(conn, feed) == {("3", "2", "EXACT")}


def test_a_cascade_is_followed(conn: psycopg.Connection, text_of: Any) -> None:
    conn.execute("create table author (id integer primary key)")
    conn.execute(
        "create table t (id integer primary key, body text,"
        " author integer references author on delete cascade)"
    )
    conn.execute("select sherlock.watch('t', 'id', array['body'])")
    conn.execute("insert into author values (1), (2)")
    conn.execute("insert into t values (1, %s, 1), (2, %s, 2)", [text_of(1), text_of(2)])
    conn.execute("delete from author where id = 1")
    assert set(known(conn)) == {"2"}


@pytest.fixture
def partitioned(conn: psycopg.Connection) -> str:
    conn.execute(
        "create table p (region text, id integer, body text, primary key (region, id))"
        " partition by list (region);"
        "create table p_north partition of p for values in ('north');"
        # Columns in another order, with one that was dropped.
        "create table p_south (gone text, body text, id integer not null, region text not null);"
        "alter table p_south drop column gone;"
        "alter table p attach partition p_south for values in ('south')"
    )
    conn.execute("select sherlock.watch('p', array['region', 'id'], array['body'])")
    return "p"


def test_partitions_are_followed_once_whichever_way_they_are_written(
    conn: psycopg.Connection, partitioned: str, text_of: Any, pairs: Any
) -> None:
    conn.execute(
        "insert into p values ('north', 1, %s), ('south', 1, %s)", [text_of(1), text_of(2)]
    )
    conn.execute("insert into p_south (region, id, body) values ('south', 2, %s)", [text_of(1)])
    assert pairs(conn, partitioned) == {("south, 2", "north, 1", "EXACT")}
    before = dict(
        conn.execute("select row_key ->> 1, document_id from sherlock.watched_rows").fetchall()
    )
    assert len(conn.execute(KNOWN).fetchall()) == 3
    # A row that moves to another partition.
    conn.execute("update p set region = 'north' where id = 2")
    assert pairs(conn, partitioned) == {("north, 2", "north, 1", "EXACT")}
    moved = conn.execute(
        "select document_id from sherlock.watched_rows where row_key = '[\"north\", 2]'"
    ).fetchone()
    assert moved == (before["2"],)
    conn.execute("update p_north set body = %s where id = 1", [text_of(7)])
    assert pairs(conn, partitioned) == set()
    conn.execute("delete from p_north where id = 1")
    conn.execute("truncate p_south")
    keys = conn.execute("select row_key from sherlock.watched_rows").fetchall()
    assert keys == [(["north", 2],)]
    conn.execute("truncate p")
    assert conn.execute("select from sherlock.watched_rows").fetchone() is None
    assert state(conn) == "active"


def test_partitions_that_come_and_go(
    conn: psycopg.Connection, partitioned: str, text_of: Any, pairs: Any
) -> None:
    conn.execute("insert into p values ('south', 1, %s)", [text_of(1)])
    conn.execute("create table p_east (like p including all)")
    conn.execute("insert into p_east values ('east', 1, %s)", [text_of(1)])
    conn.execute("alter table p attach partition p_east for values in ('east')")
    assert state(conn) == "triggers missing"
    conn.execute("select sherlock.watch('p', array['region', 'id'], array['body'])")
    assert state(conn) == "active"
    assert pairs(conn, partitioned) == {("east, 1", "south, 1", "EXACT")}
    conn.execute("alter table p detach partition p_south")
    conn.execute("insert into p_south (region, id, body) values ('south', 9, 'otra cosa')")
    assert state(conn) == "partitions detached"
    conn.execute("select sherlock.watch('p', array['region', 'id'], array['body'])")
    keys = conn.execute("select row_key from sherlock.watched_rows").fetchall()
    assert keys == [(["east", 1],)]
    left = "select count(*) from pg_trigger where tgname ~ '^sherlock_watch'"
    assert conn.execute(left).fetchone() == (4 * 3,)
    assert conn.execute("select sherlock.unwatch('p')").fetchone() == (1,)
    assert conn.execute(left).fetchone() == (0,)


@pytest.mark.parametrize("ending", [
    "alter table p detach partition p_south", "drop table p_south", "drop table p_south cascade",
])  # fmt: skip
def test_nobody_is_refused_because_of_rows_that_went_with_their_partition(
    conn: psycopg.Connection, partitioned: str, text_of: Any, pairs: Any, ending: str
) -> None:
    conn.execute("update sherlock.watches set on_duplicate = 'reject'")
    conn.execute("insert into p values ('south', 1, %s), ('south', 2, 'otra')", [text_of(1)])
    conn.execute(ending)
    conn.execute("insert into p values ('north', 1, %s)", [text_of(1, version=1)])
    assert pairs(conn, partitioned) == set()
    assert conn.execute(
        "select array_agg(row_key order by row_key) from sherlock.watched_rows"
    ).fetchone() == ([["north", 1], ["south", 2]],)
    with pytest.raises(psycopg.DatabaseError, match="near-duplicate of row north, 1 in p"):
        conn.execute("insert into p values ('north', 2, %s)", [text_of(1)])


def test_rows_of_a_dropped_table_refuse_nobody_but_those_alike_do(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    """All match a row that is gone; without it they still match each other."""
    conn.execute("create table archive (feed_item_id integer primary key, title text, body text)")
    watch("archive", p_collection="news")
    watch(feed, p_collection="news", p_on_duplicate="reject")
    conn.execute("insert into archive values (1, null, %s)", [text_of(1)])
    conn.execute("drop table archive")
    insert = (
        "insert into public.feed_items (feed_item_id, body)"
        " select n, %s || ' ' || n from generate_series(1, {}) as n"
    )
    with (
        pytest.raises(psycopg.DatabaseError, match=r"near-duplicate of row \d in feed_items"),
        conn.transaction(),
    ):
        conn.execute(insert.format(3), [text_of(1)])
    conn.execute(insert.format(1), [text_of(1)])
    assert conn.execute("select row_key from sherlock.watched_rows").fetchall() == [([1],)]
    assert conn.execute("select confidence from sherlock.detections").fetchall() == [(None,)]


def test_a_table_that_was_dropped_and_made_again(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    first = watch(feed, p_on_duplicate="reject")
    conn.execute(INSERT, [1, None, text_of(1)])
    notices: list[str] = []
    conn.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary or ""))
    conn.execute("create table t (like public.feed_items including all)")
    conn.execute("drop table public.feed_items; alter table t rename to feed_items")
    watch(feed, p_on_duplicate="reject")
    assert notices == [
        f"the watch {first} of a table that was dropped is ended: 1 rows are forgotten"
    ]
    assert (state(conn), known(conn)) == ("active", {})
    conn.execute(INSERT, [1, None, text_of(1)])


def test_rows_without_a_verdict_are_seen_and_judged(database_url: str, text_of: Any) -> None:
    counts = "select state, unjudged_count from sherlock.watched"
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("create table t (id integer primary key, body text)")
        conn.execute("select sherlock.watch('t', 'id', array['body'])")
        conn.execute("insert into t select n, %s from generate_series(1, 60) as n", [text_of(1)])
        assert conn.execute(counts).fetchone() == ("active", 0)
        # As a deletion does whose matches are too many to be judged again at once.
        conn.execute(
            "select sherlock._close_verdict(document_id, 'deleted') from sherlock.watched_rows"
            " where (row_key ->> 0)::integer > 10"
        )
        assert conn.execute(counts).fetchone() == ("verdicts missing", 50)
        conn.execute("call sherlock.backfill('t', 20)")
        assert conn.execute(counts).fetchone() == ("active", 0)
        exact = conn.execute("select exact_count from sherlock.watched").fetchone()
        assert exact == (59,)


def test_a_renamed_table_is_still_watched(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [1, None, text_of(1)])
    conn.execute("create schema press")
    conn.execute("alter table public.feed_items rename to news")
    conn.execute("alter table public.news set schema press")
    conn.execute("insert into press.news (feed_item_id, body) values (2, %s)", [text_of(1)])
    assert pairs(conn, "press.news") == {("2", "1", "EXACT")}


@pytest.mark.parametrize(("column", "key", "text"), [
    ("body", "feed_item_id", ["title", "cuerpo"]),
    ("feed_item_id", "cuerpo", ["title", "body"]),
])  # fmt: skip
def test_a_renamed_column_is_asked_for(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any,
    column: str, key: str, text: list[str],
) -> None:  # fmt: skip
    watch(feed)
    conn.execute(INSERT, [1, "x", text_of(1)])
    before = known(conn)
    conn.execute(f"alter table public.feed_items rename column {column} to cuerpo")
    assert state(conn) == "columns missing"
    with (
        pytest.raises(psycopg.DatabaseError, match=f"no column {column} any more") as caught,
        conn.transaction(),
    ):
        conn.execute(f"insert into public.feed_items (title, {key}) values ('x', 2)")
    assert caught.value.diag.sqlstate == "SH047"
    assert "p_key => ..." in (caught.value.diag.message_hint or "")
    watch(feed, p_key=key, p_text=text)
    assert state(conn) == "active"
    conn.execute(
        f"insert into public.feed_items ({key}, {text[1]}, title) values (2, %s, 'x')",
        [text_of(1)],
    )
    assert pairs(conn, feed) == {("2", "1", "EXACT")}
    assert known(conn)["1"] == before["1"]
    assert conn.execute("select from sherlock.closed_detections").fetchone() is None


def test_rows_that_changed_while_triggers_were_off_are_found(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    for number in (1, 2, 3):
        conn.execute(INSERT, [number, None, text_of(number)])
    conn.execute("alter table public.feed_items disable trigger user")
    assert state(conn) == "triggers disabled"
    conn.execute("delete from public.feed_items where feed_item_id = 1")
    conn.execute("update public.feed_items set body = %s where feed_item_id = 3", [text_of(2, 1)])
    conn.execute(INSERT, [4, None, text_of(2, version=2)])
    watch(feed)
    assert state(conn) == "active"
    assert set(known(conn)) == {"2", "3", "4"}
    assert pairs(conn, feed) == {("3", "2", "HIGH"), ("4", "2", "HIGH"), ("4", "3", "HIGH")}


def test_a_key_that_went_unseen_can_come_again(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [1, None, text_of(1)])
    conn.execute(INSERT, [2, None, text_of(2)])
    conn.execute("set local session_replication_role = replica")
    conn.execute("delete from public.feed_items where feed_item_id = 2")
    conn.execute("set local session_replication_role = origin")
    conn.execute(INSERT, [2, None, text_of(1)])
    assert pairs(conn, feed) == {("2", "1", "EXACT")}
    conn.execute("set local session_replication_role = replica")
    conn.execute("delete from public.feed_items where feed_item_id = 2")
    conn.execute("set local session_replication_role = origin")
    conn.execute("update public.feed_items set feed_item_id = 2")
    assert pairs(conn, feed) == set()
    assert set(known(conn)) == {"2"}


def test_a_dropped_table_can_be_unwatched(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    watch_id = watch(feed)
    conn.execute(INSERT, [1, None, text_of(1)])
    (document_id,) = known(conn).values()
    conn.execute("drop table public.feed_items")
    assert state(conn) == "table dropped"
    text = conn.execute("select sherlock.document_text(%s)", [document_id]).fetchone()
    assert text == (None,)
    assert conn.execute("select sherlock.unwatch_by_id(%s)", [watch_id]).fetchone() == (1,)
    assert conn.execute("select from sherlock.watched").fetchone() is None
    assert conn.execute("select from sherlock.documents").fetchone() is None


def test_a_trigger_without_its_watch_says_so(
    conn: psycopg.Connection, feed: str, watch: Any
) -> None:
    watch(feed)
    conn.execute("delete from sherlock.watches")
    with pytest.raises(psycopg.DatabaseError, match="there is no watch") as caught:
        conn.execute(INSERT, [1, None, "x"])
    assert caught.value.diag.sqlstate == "SH046"
    assert "drop trigger sherlock_watch_insert on feed_items" in (
        caught.value.diag.message_hint or ""
    )
