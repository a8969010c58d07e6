"""Names, types and texts that are out of the ordinary."""

from __future__ import annotations

import unicodedata
from typing import Any

import psycopg
import pytest
from psycopg import sql

ODD_NAMES = [
    "CamelCase",
    "with space",
    'with "quotes"',
    "it's",
    "ñandú_ελληνικά_日本語",
    '"; drop table x; --"',
    "50%s %I $1",
    "new_rows",
    "row_key",
    "select",
    "t",
    "v",
    "x" * 63,
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_will_do(conn: psycopg.Connection, text_of: Any, pairs: Any, name: str) -> None:
    """For the schema, the table, a column of the key and the columns of the text."""
    conn.execute("create table x (id integer)")
    quoted = sql.Identifier(name)
    column = sql.Identifier(name[:60] + "2")
    table = sql.Identifier(name, name)
    conn.execute(sql.SQL("create schema {}").format(quoted))
    conn.execute(
        sql.SQL("create table {} ({} text not null, {} text, id integer, unique (id, {}),"
                " check (id is not null))").format(table, quoted, column, quoted)
    )  # fmt: skip
    conn.execute(sql.SQL("alter table {} alter column id set not null").format(table))
    relation = conn.execute("select %s::regclass::text", [table.as_string(conn)]).fetchone()
    assert relation is not None
    conn.execute(
        "select sherlock.watch(%s, %s::text[], %s)",
        [relation[0], [name, "id"], [name[:60] + "2", name]],
    )
    # psycopg reads a percent sign as the beginning of a placeholder.
    insert = f"insert into {table.as_string(conn).replace('%', '%%')} values (%s, %s, %s)"
    conn.execute(insert, ["a", text_of(1), 1])
    conn.execute(insert, ["a", text_of(1, version=1), 2])
    conn.execute(sql.SQL("update {} set id = 3 where id = 2").format(table))
    assert pairs(conn, relation[0]) == {("a, 3", "a, 1", "HIGH")}
    texts = conn.execute(
        "select sherlock.document_text(document_id) from sherlock.watched_rows order by row_key"
    ).fetchall()
    assert texts == [(f"{text_of(1)}\n\na",), (f"{text_of(1, version=1)}\n\na",)]
    conn.execute(sql.SQL("delete from {} where id = 1").format(table))
    conn.execute(sql.SQL("truncate {}").format(table))
    assert conn.execute("select sherlock.unwatch(%s)", [relation[0]]).fetchone() == (0,)
    assert conn.execute("select to_regclass('x') is not null").fetchone() == (True,)


def test_two_schemas_have_a_table_of_the_same_name(
    conn: psycopg.Connection, text_of: Any, pairs: Any
) -> None:
    for schema in ("first", "second"):
        conn.execute(f"create schema {schema}")
        conn.execute(f"create table {schema}.t (id integer primary key, body text)")
        conn.execute("select sherlock.watch(%s, 'id', array['body'])", [f"{schema}.t"])
        conn.execute(f"insert into {schema}.t values (1, %s), (2, %s)", [text_of(1)] * 2)
    assert pairs(conn, "first.t") == pairs(conn, "second.t") == {("2", "1", "EXACT")}
    collections = conn.execute("select collection from sherlock.watched order by 1").fetchall()
    assert collections == [("first.t",), ("second.t",)]


@pytest.mark.parametrize(("key_type", "first", "second"), [
    ("uuid", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "6f9619ff-8b86-d011-b42d-00cf4fc964fe"),
    ("bigint", "9223372036854775807", "-9223372036854775808"),
    ("numeric", "12345678901234567890.1200", "0.5"),
    ("text", "it's \"x\" \\ ñ 日本", ""),
    ("character(12)", "abc", "abd"),
    ("date", "2024-02-29", "0044-03-15 BC"),
    ("timestamptz", "2026-11-01 01:30:00.123456-05", "infinity"),
    ("timestamp", "2026-11-01 01:30", "-infinity"),
    ("double precision", "0.1", "NaN"),
    ("boolean", "true", "false"),
    ("inet", "10.0.0.1/24", "::1"),
    ("int4range", "[1,5)", "empty"),
    ("text[]", "{a,NULL,\"b,c\"}", "{}"),
    ("jsonb", '{"a": [1, 2]}', '"x"'),
    ("bytea", "\\x00ff", "\\x"),
    ("mood", "glad", "it's \"sad\""),
    ("code", "A-1", "B-2"),
])  # fmt: skip
def test_keys_of_any_type(
    conn: psycopg.Connection, text_of: Any, key_type: str, first: str, second: str
) -> None:
    conn.execute("""create type mood as enum ('glad', 'it''s "sad"')""")
    conn.execute("create domain code as text check (value ~ '^[A-Z]-[0-9]$')")
    conn.execute(f"create table t (k {key_type} primary key, body text)")
    conn.execute(
        f"insert into t values ('{first.replace(chr(39), chr(39) * 2)}', %s)", [text_of(1)]
    )
    conn.execute("select sherlock.watch('t', 'k', array['body'])")
    conn.execute(
        f"insert into t values ('{second.replace(chr(39), chr(39) * 2)}', %s)", [text_of(2)]
    )
    texts = "select sherlock.document_text(document_id) from sherlock.watched_rows order by 1"
    assert sorted(conn.execute(texts).fetchall()) == sorted([(text_of(1),), (text_of(2),)])
    conn.execute("update t set body = %s", [text_of(3)])
    assert conn.execute(texts).fetchall() == [(text_of(3),)] * 2
    conn.execute(f"delete from t where k = '{first.replace(chr(39), chr(39) * 2)}'")
    assert len(conn.execute(texts).fetchall()) == 1
    # Everything is known: nothing is left to add or to forget.
    before = conn.execute("select * from sherlock.watched_rows").fetchall()
    conn.execute("select sherlock._backfill_rows("
                 " watch_id, sherlock._next_row_keys(watch_id, null, 10), true),"
                 " sherlock._finish_backfill(watch_id) from sherlock.watches")  # fmt: skip
    assert conn.execute("select * from sherlock.watched_rows").fetchall() == before


ODD_TEXTS = {
    "null": None,
    "empty": "",
    "blank": " \t\n",
    "punctuation": "... --- ¿¡!",
    "two words": "Buenos días",
    "one token repeated": "hola " * 3000,
    "chinese": "市议会批准了连接村庄与市中心的新道路建设资金来自特许权使用费以及中央政府的拨款" * 2,
    "arabic": "وافق المجلس البلدي على بناء طريق جديد بين القرية ووسط المدينة بتمويل من العائدات",
    "emoji": "🎉🎊 fiesta 👩‍👩‍👧‍👦 en la plaza 🇨🇴 " * 5,
    "combined": unicodedata.normalize("NFD", "Inspección, petición, resolución, acción y más") * 3,
    "control": "a\x01b\x7f\u200b\ufeff" * 10,
    "long word": "x" * 100_000,
}


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_any_text_will_do(conn: psycopg.Connection, name: str) -> None:
    conn.execute("create table t (id integer primary key, body text, note varchar(20))")
    conn.execute("select sherlock.watch('t', 'id', array['body', 'note'])")
    conn.execute("insert into t values (1, %s, null), (2, %s, null)", [ODD_TEXTS[name]] * 2)
    states = conn.execute("select text_state from sherlock.documents order by 1").fetchall()
    is_empty = name in ("null", "empty", "blank", "punctuation")
    assert states[0] == states[1]
    assert (states[0] == ("empty",)) is is_empty
    found = conn.execute("select confidence from sherlock.watched_pairs").fetchall()
    assert found == ([] if is_empty else [("EXACT",)])
    assert conn.execute(
        "select count(*) from sherlock.watched_rows as w"
        " join t on t.id = (w.row_key ->> 0)::integer"
        " where sherlock.document_text(w.document_id) = coalesce(t.body, '')"
    ).fetchone() == (2,)  # fmt: skip


def test_composed_and_decomposed_are_the_same_text(conn: psycopg.Connection, pairs: Any) -> None:
    conn.execute("create table t (id integer primary key, body text)")
    conn.execute("select sherlock.watch('t', 'id', array['body'])")
    text = "La acción de tutela protegió el derecho de petición según la resolución"
    for number, form in ((1, "NFC"), (2, "NFD")):
        conn.execute(
            "insert into t values (%s, %s)",
            [number, unicodedata.normalize(form, text)],
        )
    assert pairs(conn, "t") == {("2", "1", "EXACT")}


def test_a_text_of_five_megabytes(conn: psycopg.Connection, text_of: Any) -> None:
    conn.execute("create table t (id integer primary key, body text)")
    conn.execute("select sherlock.watch('t', 'id', array['body'])")
    long_text = "\n".join(text_of(number) for number in range(9500))
    assert len(long_text) > 5_000_000
    conn.execute("insert into t values (1, %s)", [long_text])
    row = conn.execute("select text_state, word_count from sherlock.documents").fetchone()
    assert row == ("indexed", 9500 * 80)


@pytest.mark.parametrize("kind", ["stored", "virtual"])
def test_generated_columns_are_texts_too(
    conn: psycopg.Connection, text_of: Any, pairs: Any, kind: str
) -> None:
    if kind == "virtual" and conn.info.server_version < 180000:
        pytest.skip("virtual columns came with PostgreSQL 18")
    conn.execute(
        'create table t (id integer primary key, body text, "Shouted" text generated always as'
        f" (upper(body) || ' ' || id) {kind})"
    )
    conn.execute("select sherlock.watch('t', 'id', array['Shouted'])")
    conn.execute("insert into t (id, body) values (1, %s), (2, %s)", [text_of(1), text_of(1)])
    conn.execute("update t set body = %s where id = 2", [text_of(1, version=1)])
    assert pairs(conn, "t") == {("2", "1", "HIGH")}
    rows = conn.execute(
        "select w.text_sha256 = sha256(convert_to(t.\"Shouted\", 'UTF8')),"
        ' sherlock.document_text(w.document_id) = t."Shouted"'
        " from sherlock.watched_rows as w join t on t.id = (w.row_key ->> 0)::integer"
    ).fetchall()
    assert rows == [(True, True)] * 2


def test_columns_of_other_kinds_of_text(conn: psycopg.Connection) -> None:
    conn.execute("create table t (id integer primary key, a varchar(9), b char(4), c json, d name)")
    conn.execute("select sherlock.watch('t', 'id', array['a', 'b', 'c', 'd'])")
    conn.execute("insert into t values (1, 'uno', 'dos', '{\"x\": 1}', 'tres')")
    text = conn.execute(
        "select sherlock.document_text(document_id) from sherlock.watched_rows"
    ).fetchone()
    assert text == ('uno\n\ndos\n\n{"x": 1}\n\ntres',)
