"""Triggers of the user that write to the watched table themselves."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

TRIGGER = (
    "create function {name}() returns trigger language plpgsql as"
    " $$ begin {body} return null; end $$;"
    "create trigger {name} after {event} on t for each row execute function {name}()"
)
TEXT = (
    "create function text_of(topic text) returns text language sql immutable return ("
    " select string_agg(md5(topic || n), ' ' order by n) from generate_series(1, 60) as n)"
)


@pytest.fixture
def watched(conn: psycopg.Connection) -> psycopg.Connection:
    """Watch a table whose columns have names that statements of the trigger could use as well."""
    conn.execute(TEXT)
    conn.execute("create table t (position integer primary key, content text, row_key text)")
    conn.execute("select sherlock.watch('t', 'position', array['content', 'row_key'])")
    return conn


def add_trigger(conn: psycopg.Connection, event: str, body: str, name: str = "fix") -> None:
    conn.execute(TRIGGER.format(name=name, event=event, body=body))


def check(conn: psycopg.Connection, keys: set[int]) -> None:
    """Check that what is known is what the table has."""
    rows = conn.execute(
        "select coalesce(t.position, (w.row_key ->> 0)::integer),"
        "       w.text_sha256 = sha256(convert_to(concat_ws(E'\\n\\n', t.content, t.row_key),"
        "       'UTF8')) from t full join sherlock.watched_rows as w"
        " on w.row_key = jsonb_build_array(t.position)"
    ).fetchall()
    assert dict(rows) == dict.fromkeys(keys, True)


def exact_pairs(conn: psycopg.Connection) -> list[tuple[str, str]]:
    return conn.execute(
        "select key, matched_key from sherlock.watched_duplicates('t')"
        " where confidence = 'EXACT' order by 1, 2"
    ).fetchall()


def test_a_trigger_that_replaces_the_text(watched: psycopg.Connection) -> None:
    add_trigger(
        watched, "insert or update",
        "if new.content like 'RAW%' then"
        "  update t set content = text_of(new.position::text) where position = new.position;"
        " end if;",
    )  # fmt: skip
    watched.execute("insert into t values (1, 'RAW ' || text_of('x')), (2, 'RAW ' || text_of('x'))")
    watched.execute("insert into t values (3, 'RAW ' || text_of('x'))")
    check(watched, {1, 2, 3})
    assert exact_pairs(watched) == []
    watched.execute("update t set content = 'RAW ' || text_of('y')")
    check(watched, {1, 2, 3})
    assert exact_pairs(watched) == []
    watched.execute("update t set content = text_of('1') where position = 3")
    assert exact_pairs(watched) == [("3", "1")]


def test_a_trigger_that_gives_another_key(watched: psycopg.Connection) -> None:
    add_trigger(
        watched, "insert or update",
        "if new.position < 100 then"
        "  update t set position = new.position + 100 where position = new.position;"
        " end if;",
    )  # fmt: skip
    watched.execute("insert into t values (1, text_of('a')), (2, text_of('b'))")
    check(watched, {101, 102})
    watched.execute("update t set position = 3 where position = 101")
    check(watched, {102, 103})
    watched.execute("insert into t values (4, text_of('a'))")
    assert exact_pairs(watched) == [("104", "103")]


def test_a_key_and_a_text_that_change_one_after_the_other(watched: psycopg.Connection) -> None:
    watched.execute("insert into t values (1, text_of('a')), (2, text_of('b'))")
    document = "select document_id from sherlock.watched_rows where row_key = %s"
    before = watched.execute(document, ["[1]"]).fetchone()
    add_trigger(
        watched, "update of position",
        "update t set content = text_of('b') where position = new.position;",
    )  # fmt: skip
    watched.execute("update t set position = 9 where position = 1")
    check(watched, {2, 9})
    assert watched.execute(document, ["[9]"]).fetchone() == before
    assert exact_pairs(watched) == [("2", "9")]


def test_a_trigger_that_deletes_or_brings_back(watched: psycopg.Connection) -> None:
    add_trigger(
        watched, "insert",
        "if new.row_key = 'no' then delete from t where position = new.position; end if;",
    )  # fmt: skip
    watched.execute("insert into t values (1, text_of('a'), ''), (2, text_of('b'), 'no')")
    check(watched, {1})
    add_trigger(
        watched, "delete",
        "insert into t values (old.position, text_of('back'));", name="keep",
    )  # fmt: skip
    watched.execute("delete from t")
    check(watched, {1})
    add_trigger(
        watched, "update",
        "if new.position <> old.position then"
        "  insert into t values (old.position, text_of('left'));"
        " end if;",
        name="leave",
    )  # fmt: skip
    watched.execute("update t set position = 5")
    check(watched, {1, 5})


def test_rows_of_a_large_statement_stay_in_its_order(watched: psycopg.Connection) -> None:
    watched.execute(
        "insert into t select n, 'renglón ' || n / 2 from generate_series(1200, 1, -1) as n"
    )
    order: Any = watched.execute(
        "select array_agg((row_key ->> 0)::integer order by document_id) from sherlock.watched_rows"
    ).fetchone()
    assert order[0] == list(range(1200, 0, -1))
