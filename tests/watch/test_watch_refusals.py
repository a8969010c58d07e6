"""What can't be watched, and what is said then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

SETUP = """
create table items (id integer primary key, code text not null, other text, body text, n integer,
                    doc point);
create unique index items_partial on items (code) where id > 0;
create table late (id integer unique deferrable, body text);
alter table late alter column id set not null;
create view items_view as select * from items;
create materialized view items_copy as select * from items;
create table nullable (id integer unique, body text);
create temporary table passing (id integer primary key, body text);
create table parent (id integer primary key, body text);
create table child (primary key (id)) inherits (parent);
create table whole (id integer primary key, body text) partition by range (id);
create table part partition of whole for values from (0) to (10);
create foreign data wrapper nothing;
create server nowhere foreign data wrapper nothing;
create foreign table abroad (id integer not null, body text) server nowhere;
create table mixed (id integer primary key, body text) partition by range (id);
create type pair as (a integer, b integer);
create table by_pair (id pair primary key, body text);
"""


@pytest.fixture
def tables(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute(SETUP)
    return conn


def refused(conn: psycopg.Connection, query: str, *values: Any) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.DatabaseError) as caught, conn.transaction():
        conn.execute(query, values)
    diag = caught.value.diag
    assert diag.message_hint
    return diag


@pytest.mark.parametrize(("arguments", "sqlstate", "message"), [
    ("'items_view', 'id', '{body}'", "SH041", "items_view is a view"),
    ("'items_copy', 'id', '{body}'", "SH041", "is a materialized view"),
    ("'abroad', 'id', '{body}'", "SH041", "is a foreign table"),
    ("'items_pkey', 'id', '{body}'", "SH041", "is no table"),
    ("'passing', 'id', '{body}'", "SH041", "is temporary"),
    ("'parent', 'id', '{body}'", "SH041", "inherits or is inherited"),
    ("'child', 'id', '{body}'", "SH041", "inherits or is inherited"),
    ("'part', 'id', '{body}'", "SH041", "is a partition"),
    ("'pg_class', 'oid', '{relname}'", "SH041", "belongs to the system"),
    ("'information_schema.sql_features', 'feature_id', '{comments}'", "SH041", "system"),
    ("'sherlock.documents', 'document_id', '{content}'", "SH041", "or to sherlock"),
    ("999999999, 'id', '{body}'", "SH041", "no table 999999999"),
    ("null, 'id', '{body}'", "SH041", "no table null"),
    ("'items', 'nope', '{body}'", "SH042", "items has no column nope"),
    ("'items', 'id', '{Body}'", "SH042", 'items has no column "Body"'),
    ("'items', 'id', '{ctid}'", "SH042", "no column ctid"),
    ("'items', 'id', '{body,body}'", "SH042", "named twice"),
    ("'items', '{id,id}'::text[], '{body}'", "SH042", "named twice"),
    ("'items', 'id', '{}'", "SH042", "one column or more"),
    ("'items', 'id', null", "SH042", "one column or more"),
    ("'items', array[]::text[], '{body}'", "SH042", "one column or more"),
    ("'items', null::text, '{body}'", "SH042", "no column null"),
    ("'items', 'id', '{n}'", "SH042", "n is of type integer, which is no text"),
    ("'items', 'id', '{body,doc}'", "SH042", "doc is of type point"),
    ("'by_pair', 'id', '{body}'", "SH042", "can't be part of a watched key"),
    ("'items', 'code', '{body}'", "SH043", "(code) is not a unique key of items"),
    ("'items', array['id', 'code'], '{body}'", "SH043", "(id, code) is not a unique key"),
    ("'late', 'id', '{body}'", "SH043", "(id) is not a unique key"),
    ("'nullable', 'id', '{body}'", "SH043", "id can be null in nullable"),
    ("'items', 'id', '{body}', 'ignore'", "SH049", "unknown p_on_duplicate: ignore"),
    ("'items', 'id', '{body}', null", "SH049", "unknown p_on_duplicate: null"),
    ("'items', 'id', '{body}', 'flag', 'high'", "SH049", "unknown p_min_class: high"),
    ("'items', 'id', '{body}', p_doc_type => null", "SH049", "p_doc_type is missing"),
    ("'items', 'id', '{body}', p_profile => 'law'", "SH006", "unknown profile: law"),
    ("'items', 'id', '{body}', p_scheme => 'word-99'", "SH006", "there is no scheme"),
    ("'items', 'id', '{body}', p_collection => 'default'", "SH049", "profile legal"),
])  # fmt: skip
def test_a_watch_that_makes_no_sense(
    tables: psycopg.Connection, arguments: str, sqlstate: str, message: str
) -> None:
    diag = refused(tables, f"select sherlock.watch({arguments})")
    assert diag.sqlstate == sqlstate, diag.message_primary
    assert message in (diag.message_primary or "")


def test_hints_say_what_to_do_instead(tables: psycopg.Connection) -> None:
    hints = {
        "select sherlock.watch('part', 'id', '{body}')": "select sherlock.watch('whole'",
        "select sherlock.watch('items', 'id', '{n}')": "columns of text: code, other, body",
        "select sherlock.watch('items', '{id,\"code\"}', '{body}')": "p_key => array['id', 'code']",
        "select sherlock.watch('by_pair', 'id', '{body}')": "can be part of a key: body",
        "select sherlock.watch('nullable', 'id', '{body}')": "alter column id set not null",
        "select sherlock.watch('items', 'code', '{body}')": "create unique index on items (code)",
    }
    for query, hint in hints.items():
        assert hint in (refused(tables, query).message_hint or "")


def test_a_partition_abroad(tables: psycopg.Connection) -> None:
    tables.execute("create table mixed2 (id integer, body text) partition by range (id)")
    tables.execute(
        "create foreign table far partition of mixed2 for values from (0) to (10) server nowhere"
    )
    diag = refused(tables, "select sherlock.watch('mixed2', 'id', '{body}')")
    assert (diag.sqlstate, "foreign table" in (diag.message_primary or "")) == ("SH041", True)


@pytest.mark.parametrize("options", [
    "'items', 'id', '{other}'",
    "'items', 'id', '{body,other}'",
    "'items', 'id', '{body}', 'reject'",
    "'items', 'id', '{body}', p_min_class => 'LOW'",
    "'items', 'id', '{body}', p_collection => 'elsewhere'",
    "'items', 'id', '{body}', p_doc_type => 'tutela'",
])  # fmt: skip
def test_watching_again_with_other_options(tables: psycopg.Connection, options: str) -> None:
    tables.execute("select sherlock.watch('items', 'id', '{body}')")
    diag = refused(tables, f"select sherlock.watch({options})")
    assert diag.sqlstate == "SH045"
    assert "sherlock.unwatch('items')" in (diag.message_hint or "")


@pytest.mark.parametrize("query", [
    "select sherlock.unwatch('items')",
    "select sherlock.unwatch(null)",
    "select sherlock.unwatch_by_id(99)",
    "select sherlock.unwatch_by_id(null)",
    "select * from sherlock.watched_duplicates('items')",
    "call sherlock.backfill('items')",
])  # fmt: skip
def test_what_is_not_watched(tables: psycopg.Connection, query: str) -> None:
    diag = refused(tables, query)
    assert diag.sqlstate == "SH046"
    assert "sherlock.watched" in (diag.message_hint or "")


@pytest.mark.parametrize("size", ["0", "100001", "null"])
def test_a_batch_without_sense(tables: psycopg.Connection, size: str) -> None:
    tables.execute("select sherlock.watch('items', 'id', '{body}')")
    assert refused(tables, f"call sherlock.backfill('items', {size})").sqlstate == "SH049"


def test_a_key_that_fits_into_no_index(conn: psycopg.Connection) -> None:
    conn.execute("create table t (k text primary key, body text)")
    conn.execute("select sherlock.watch('t', 'k', '{body}')")
    conn.execute("insert into t values (repeat('k', 2500), 'texto')")
    diag = refused(conn, "insert into t values (repeat('x', 4000), 'texto')")
    assert (diag.sqlstate, "4" in (diag.message_detail or "")) == ("SH048", True)
    # The longest that is let in fits, however badly it compresses.
    conn.execute(
        "insert into t select left(string_agg(md5(g::text), ''), 2580), 'texto'"
        " from generate_series(1, 100) as g"
    )
    assert conn.execute("select count(*) from sherlock.watched_rows").fetchone() == (2,)


@pytest.fixture
def roles(conn: psycopg.Connection) -> Iterator[psycopg.Connection]:
    conn.execute("create role keeper; create role stranger")
    conn.execute("grant usage on schema sherlock to keeper, stranger")
    conn.execute("create schema app authorization keeper; grant usage on schema app to stranger")
    conn.execute("set local role keeper")
    conn.execute("create table app.t (id integer primary key, body text)")
    yield conn
    conn.execute("reset role")


def test_only_the_owner_of_the_table_can_watch_it(roles: psycopg.Connection) -> None:
    roles.execute("set local role stranger")
    diag = refused(roles, "select sherlock.watch('app.t', 'id', '{body}')")
    assert (diag.sqlstate, diag.message_primary) == (
        "SH044", "only its owner can watch app.t, backfill it or end its watch",
    )  # fmt: skip
    assert "as keeper" in (diag.message_hint or "")


@pytest.mark.parametrize(("query", "hint"), [
    ("call sherlock.backfill('app.t')", "as keeper"),
    ("select sherlock.unwatch('app.t')", "as keeper"),
    ("select sherlock.unwatch_by_id(1)", "have its owner run: grant"),
    ("select sherlock.decide(1, 'distinct')", "run: grant select, update on sherlock.review_queue"),
])  # fmt: skip
def test_who_may_do_it(roles: psycopg.Connection, query: str, hint: str) -> None:
    roles.execute("set local role stranger")
    diag = refused(roles, query)
    assert (diag.sqlstate, hint in (diag.message_hint or "")) == ("SH044", True)


def test_row_level_security_that_would_hide_rows(librarian: psycopg.Connection) -> None:
    conn = librarian
    conn.execute(
        "alter table app.t enable row level security;"
        "grant usage on schema app to librarian; grant select on app.t to librarian"
    )
    diag = refused(conn, "select sherlock.watch('app.t', 'id', '{body}')")
    assert (diag.sqlstate, "bypassrls" in (diag.message_hint or "")) == ("SH044", True)
    conn.execute("alter role librarian bypassrls")
    conn.execute("select sherlock.watch('app.t', 'id', '{body}')")


def test_the_scheme_is_that_of_the_collection_unless_one_is_named(
    tables: psycopg.Connection,
) -> None:
    tables.execute("select sherlock.create_scheme('wide', 'word', 3)")
    tables.execute("select sherlock.create_collection('other', 'text', 'wide')")
    tables.execute("select sherlock.watch('items', 'id', '{body}', p_collection => 'other')")
    tables.execute("select sherlock.watch('items', 'id', '{body}', p_collection => 'other')")
    tables.execute("select sherlock.unwatch('items')")
    diag = refused(
        tables,
        "select sherlock.watch('items', 'id', '{body}', p_collection => 'other',"
        " p_scheme => 'word-2')",
    )
    assert (diag.sqlstate, "wide" in (diag.message_hint or "")) == ("SH049", True)
    tables.execute("select sherlock.watch('items', 'id', '{body}')")
    scheme = tables.execute(
        "select s.name from sherlock.collections as c join sherlock.shingle_schemes as s"
        " using (scheme_id) where c.name = 'public.items'"
    ).fetchone()
    assert scheme == ("word-2",)


@pytest.fixture
def librarian(roles: psycopg.Connection) -> psycopg.Connection:
    """Give the schema to a role that is no superuser."""
    roles.execute("reset role")
    roles.execute("create role librarian; grant usage, create on schema sherlock to librarian")
    for kind, query in (
        (
            "table",
            "select oid::regclass::text from pg_class where relkind in ('r', 'p', 'v')"
            " and relnamespace = 'sherlock'::regnamespace",
        ),
        (
            "routine",
            "select oid::regprocedure::text from pg_proc"
            " where pronamespace = 'sherlock'::regnamespace",
        ),
    ):
        for (name,) in roles.execute(query).fetchall():
            roles.execute(f"alter {kind} {name} owner to librarian")
    return roles


def test_an_owner_without_superuser_rights_watches_as_the_hints_say(
    librarian: psycopg.Connection, text_of: Any
) -> None:
    """The schema's owner is a third one, neither the table's owner nor a superuser."""
    conn = librarian
    conn.execute("set local role keeper")
    diag = refused(conn, "select sherlock.watch('app.t', 'id', '{body}')")
    assert diag.sqlstate == "SH044"
    grants = (diag.message_hint or "").split("run: ")[1]
    conn.execute("reset role")
    conn.execute(grants)
    conn.execute("set local role keeper")
    diag = refused(conn, "select sherlock.watch('app.t', 'id', '{body}')")
    assert "librarian, who owns the schema sherlock, can't read app.t" in (
        diag.message_primary or ""
    )
    for grant in (diag.message_hint or "").split(": ")[1].split("; "):
        conn.execute(grant)
    conn.execute("insert into app.t values (1, %s)", [text_of(1)])
    conn.execute("select sherlock.watch('app.t', 'id', '{body}')")
    conn.execute("insert into app.t values (2, %s)", [text_of(1, version=1)])
    conn.execute("update app.t set id = 3 where id = 2")
    pairs = "select key, matched_key, confidence from sherlock.watched_duplicates('app.t')"
    assert conn.execute(pairs).fetchall() == [("3", "1", "HIGH")]
    conn.execute("select sherlock.watch('app.t', 'id', '{body}')")
    conn.execute("truncate app.t")
    assert conn.execute("select sherlock.unwatch('app.t')").fetchone() == (0,)


def test_one_role_owns_the_table_and_the_schema(
    librarian: psycopg.Connection, text_of: Any
) -> None:
    conn = librarian
    conn.execute("alter schema app owner to librarian; alter table app.t owner to librarian")
    conn.execute("grant insert on app.t to stranger")
    conn.execute("set local role librarian")
    conn.execute("select sherlock.watch('app.t', 'id', '{body}', 'reject')")
    conn.execute("set local role stranger")
    conn.execute("insert into app.t values (1, %s)", [text_of(1)])
    assert refused(conn, "insert into app.t values (2, %s)", text_of(1, 1)).sqlstate == "SH040"
    conn.execute("set local role librarian")
    assert conn.execute("select sherlock.unwatch('app.t')").fetchone() == (1,)


def test_a_users_function_does_not_run_with_the_owners_rights(
    librarian: psycopg.Connection,
) -> None:
    """A cast that the table's owner makes is not used on his rows."""
    conn = librarian
    conn.execute("create type app.mood as enum ('glad', 'sad')")
    conn.execute("alter type app.mood owner to keeper; grant create on schema app to keeper")
    conn.execute("grant usage on schema app to librarian; grant select on app.t to librarian")
    conn.execute(
        "create function app.spy(app.mood) returns text language plpgsql as"
        " $$ begin raise exception 'run as %', current_user; end $$;"
        "create function app.spy_json(app.mood) returns json language plpgsql as"
        " $$ begin raise exception 'run as %', current_user; end $$;"
        "alter function app.spy owner to keeper; alter function app.spy_json owner to keeper"
    )
    conn.execute("select sherlock.watch('app.t', 'id', '{body}')")
    conn.execute("set local role keeper")
    conn.execute("create cast (app.mood as text) with function app.spy(app.mood)")
    conn.execute("create cast (app.mood as json) with function app.spy_json(app.mood)")
    conn.execute("alter table app.t alter column body type app.mood using 'glad'::app.mood")
    conn.execute("alter table app.t alter column id type app.mood using 'sad'::app.mood")
    conn.execute("insert into app.t values ('sad', 'glad'), ('glad', null)")
    conn.execute("reset role")
    rows = conn.execute(
        "select row_key, text_sha256 = sha256('glad'), text_sha256 = sha256('')"
        " from sherlock.watched_rows order by 1"
    ).fetchall()
    assert rows == [(["glad"], False, True), (["sad"], True, False)]
