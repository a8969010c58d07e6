"""Watching a table: its rows are judged in the transaction that writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

INSERT = "insert into public.feed_items (feed_item_id, title, body) values (%s, %s, %s)"


def scalar(conn: psycopg.Connection, query: str, *values: Any) -> Any:
    row = conn.execute(query, values).fetchone()
    assert row is not None
    return row[0]


def watched(conn: psycopg.Connection, *columns: str) -> Any:
    row = conn.execute(f"select {', '.join(columns)} from sherlock.watched").fetchone()
    assert row is not None
    return row if len(columns) > 1 else row[0]


def test_an_insert_is_judged_in_its_own_transaction(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [1, "uno", text_of(1)])
    conn.execute(INSERT, [2, "dos", text_of(2)])
    conn.execute(INSERT, [3, "uno", text_of(1, version=2)])
    conn.execute(INSERT, [4, "UNO", text_of(1)])
    assert {("3", "1", "HIGH"), ("4", "1", "EXACT")} <= pairs(conn, feed)
    assert not any("2" in pair[:2] for pair in pairs(conn, feed))
    assert watched(conn, "state", "row_count", "exact_count", "high_count") == ("active", 4, 1, 1)


def test_the_text_is_not_copied_but_can_be_read(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [7, "Título", text_of(1)])
    document_id = scalar(conn, "select document_id from sherlock.watched_rows")
    row = conn.execute(
        "select content, name, sherlock.document_text(document_id), text_state, status"
        " from sherlock.documents where document_id = %s",
        [document_id],
    ).fetchone()
    assert row == (None, "7", f"Título\n\n{text_of(1)}", "indexed", "ok")


def test_rows_of_one_statement_are_judged_against_each_other(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    with conn.cursor().copy("copy public.feed_items (feed_item_id, body) from stdin") as copy:
        for number in range(1100):
            copy.write_row((number, text_of(1, number) if number % 500 == 99 else f"nota {number}"))
    assert {pair[:2] for pair in pairs(conn, feed)} == {
        ("599", "99"), ("1099", "99"), ("1099", "599"),
    }  # fmt: skip
    assert watched(conn, "row_count") == 1100


def test_rows_that_are_there_are_judged_at_once_if_they_are_few(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    for number, version in ((2, 0), (1, 1), (3, 2)):
        conn.execute(INSERT, [number, None, text_of(1, version)])
    watch(feed, p_on_duplicate="reject", p_min_class="LOW")
    # In the order of the key, and what is there is flagged, never rejected.
    assert {("2", "1", "HIGH"), ("3", "1", "HIGH"), ("3", "2", "HIGH")} == pairs(conn, feed)
    assert watched(conn, "state") == "active"


def test_a_key_is_given_as_text_or_as_array(conn: psycopg.Connection) -> None:
    conn.execute("create table a (id integer primary key, t text)")
    conn.execute("create table b (x integer, y integer, t text, primary key (x, y))")
    conn.execute("select sherlock.watch('a', p_key => 'id', p_text => array['t'])")
    conn.execute("select sherlock.watch('b', p_key => array['y', 'x'], p_text => array['t'])")
    conn.execute("select sherlock.unwatch('a')")
    conn.execute("select sherlock.watch('a', array['id'], '{t}')")
    conn.execute("insert into b values (1, 2, 'una')")
    assert scalar(conn, "select row_key from sherlock.watched_rows") == [2, 1]


def test_watching_twice_with_the_same_options_does_nothing(
    conn: psycopg.Connection, feed: str, watch: Any
) -> None:
    notices: list[str] = []
    conn.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary or ""))
    first = watch(feed)
    triggers = "select array_agg(oid order by oid) from pg_trigger where tgname ~ 'sherlock_watch'"
    before = scalar(conn, triggers)
    assert watch(feed) == first
    assert scalar(conn, triggers) == before
    assert len(before) == 4
    assert any("already" in notice for notice in notices)


def test_rejecting_is_like_a_unique_constraint(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    watch(feed, p_on_duplicate="reject")
    conn.execute(INSERT, [1, None, text_of(1)])
    with pytest.raises(psycopg.DatabaseError) as caught, conn.transaction():
        conn.execute(INSERT, [2, None, text_of(1, version=1)])
    diag = caught.value.diag
    assert diag.sqlstate == "SH040"
    assert diag.message_primary == "near-duplicate of row 1 in feed_items"
    assert (diag.schema_name, diag.table_name) == ("public", "feed_items")
    assert diag.constraint_name == "sherlock_near_unique"
    assert diag.message_detail is not None
    assert "row 2 in feed_items: class HIGH, score 0.9" in diag.message_detail
    assert "shingles" in diag.message_detail
    assert diag.message_hint is not None
    assert "min_class = 'EXACT'" in diag.message_hint
    assert scalar(conn, "select count(*) from public.feed_items") == 1
    assert watched(conn, "row_count") == 1

    conn.execute("update sherlock.watches set min_class = 'EXACT'")
    conn.execute(INSERT, [2, None, text_of(1, version=1)])
    with pytest.raises(psycopg.DatabaseError, match="near-duplicate of row") as caught:
        conn.execute(INSERT, [3, None, text_of(1)])
    assert "on_duplicate = 'flag'" in (caught.value.diag.message_hint or "")


def test_two_alike_rows_of_one_statement_are_rejected(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    watch(feed, p_on_duplicate="reject")
    with pytest.raises(psycopg.DatabaseError, match="near-duplicate of row 5 in"):
        conn.execute(
            "insert into public.feed_items (feed_item_id, body) values (5, %s), (6, %s)",
            [text_of(1), text_of(1, version=1)],
        )


@pytest.mark.parametrize("changed", [1, 2])
def test_an_update_that_makes_two_rows_alike_is_rejected(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, changed: int
) -> None:
    """Whichever of the two is the older row."""
    watch(feed, p_on_duplicate="reject")
    conn.execute(INSERT, [1, None, text_of(1)])
    conn.execute(INSERT, [2, None, text_of(2)])
    with pytest.raises(psycopg.DatabaseError, match=f"near-duplicate of row {3 - changed} in"):
        conn.execute(
            "update public.feed_items set body = %s where feed_item_id = %s",
            [text_of(3 - changed, version=1), changed],
        )


def test_a_refusal_says_nothing_of_the_other_row_but_what_agrees(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    """Its key only to those who may read the whole table; values of its entities to nobody."""
    watch(feed, p_on_duplicate="reject", p_min_class="LOW", p_profile="legal")
    parties = "ACCIONANTE: {}, C.C. 43.567.890. ACCIONADO: {}. Acción de tutela. "
    conn.execute(INSERT, [987, None, parties.format("Rosa Quintero", "Nueva EPS") + text_of(1)])
    conn.execute("create role reporter; grant insert on public.feed_items to reporter")

    def refuse() -> tuple[str, str]:
        with pytest.raises(psycopg.DatabaseError) as caught, conn.transaction():
            conn.execute("set local role reporter")
            text = parties.format("Luis Andrade", "Nueva EPS") + text_of(1)
            conn.execute(INSERT, [2, None, text])
        assert caught.value.diag.sqlstate == "SH040"
        return caught.value.diag.message_primary or "", caught.value.diag.message_detail or ""

    message, detail = refuse()
    assert message == "near-duplicate of a row in feed_items"
    assert detail.startswith("row 2 in feed_items: class ")
    assert "same cedula" in detail
    assert "different demandante" in detail
    assert not any(value in detail for value in ("987", "43567890", "43.567", "Rosa", "ROSA"))
    conn.execute("grant select on public.feed_items to reporter")
    assert refuse()[0] == "near-duplicate of row 987 in feed_items"
    conn.execute("alter table public.feed_items enable row level security")
    conn.execute("create policy own on public.feed_items with check (true)")
    assert refuse()[0] == "near-duplicate of a row in feed_items"


def test_tables_of_one_collection_are_compared(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    conn.execute(
        "create table public.archive (feed_item_id text primary key, title text, body text)"
    )
    watch(feed, p_collection="news")
    watch("public.archive", p_collection="news")
    conn.execute("insert into public.archive values ('x', null, %s)", [text_of(1)])
    conn.execute(INSERT, [1, None, text_of(1)])
    row = conn.execute(
        "select key, matched_table_name, matched_key from sherlock.watched_duplicates(%s)", [feed]
    ).fetchone()
    assert row == ("1", "archive", "x")
    assert conn.execute("select from sherlock.watched_duplicates('archive')").fetchone() is None


def test_the_profile_and_the_type_are_those_asked_for(
    conn: psycopg.Connection, feed: str, watch: Any
) -> None:
    watch(feed, p_profile="legal", p_doc_type="auto")
    conn.execute(
        INSERT,
        [
            1,
            "ACCIÓN DE TUTELA",
            "ACCIONANTE: Rosa Elvira Quintero Mejía, C.C. 43.567.890. ACCIONADO: Nueva EPS S.A. "
            "Acción de tutela para que se protejan mis derechos a la salud y a la vida digna, que "
            "la entidad accionada vulnera al negar los medicamentos que ordenó el médico tratante.",
        ],
    )
    assert scalar(conn, "select doc_type from sherlock.documents where name = '1'") == "tutela"
    assert scalar(conn, "select count(*) from sherlock.entities where role = 'cedula'") == 1
    assert watched(conn, "profile", "collection", "doc_type") == (
        "legal", "public.feed_items", "auto",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "scheme", "is_found"),
    [
        ({"p_profile": "legal"}, "skeleton-2", True),
        ({}, "word-2", False),
        ({"p_profile": "legal", "p_scheme": "word-2"}, "word-2", False),
        ({"p_profile": "text", "p_scheme": "skeleton-2"}, "skeleton-2", True),
    ],
)
def test_the_usual_scheme_of_the_profile_decides_whether_a_bad_scan_is_found(
    conn: psycopg.Connection,
    feed: str,
    watch: Any,
    text_of: Any,
    options: dict[str, str],
    scheme: str,
    is_found: bool,
) -> None:
    watch(feed, **options)
    assert scheme == scalar(
        conn,
        "select s.name from sherlock.collections c join sherlock.shingle_schemes s"
        " using (scheme_id) where c.name = %s",
        feed,
    )
    scan = text_of(1).translate(str.maketrans("eolt", "c01f"))
    conn.execute(INSERT, [1, "uno", text_of(1)])
    conn.execute(INSERT, [2, "uno", scan])
    rows = conn.execute(
        "select key, matched_key, confidence from sherlock.watched_duplicates(%s)", [feed]
    ).fetchall()
    assert rows == ([("2", "1", "HIGH")] if is_found else [])


def test_a_listener_hears_of_a_duplicate(database_url: str, text_of: Any) -> None:
    with (
        psycopg.connect(database_url, autocommit=True) as listener,
        psycopg.connect(database_url, autocommit=True) as writer,
    ):
        listener.execute("listen sherlock_duplicate")
        writer.execute("create table t (id integer primary key, body text)")
        writer.execute("select sherlock.watch('t', 'id', array['body'])")
        writer.execute("insert into t values (1, %s)", [text_of(1)])
        writer.execute("insert into t values (2, %s)", [text_of(1, version=1)])
        heard = [json.loads(n.payload) for n in listener.notifies(timeout=10, stop_after=1)]
    assert [message["confidence"] for message in heard] == ["HIGH"]


def test_writers_need_no_rights_on_the_schema(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any, pairs: Any
) -> None:
    watch(feed)
    conn.execute("create role reporter")
    conn.execute("grant select, insert, update, delete, truncate on public.feed_items to reporter")
    conn.execute("set local role reporter")
    conn.execute("set local search_path = ''")
    conn.execute(INSERT, [1, None, text_of(1)])
    conn.execute(INSERT, [2, None, text_of(1)])
    conn.execute(INSERT, [3, None, text_of(2)])
    conn.execute("update public.feed_items set body = %s where feed_item_id = 3", [text_of(1, 1)])
    conn.execute("delete from public.feed_items where feed_item_id = 2")
    conn.execute("reset role")
    assert pairs(conn, feed) == {("3", "1", "HIGH")}
    conn.execute("set local role reporter")
    conn.execute("truncate public.feed_items")
    conn.execute("reset role")
    assert watched(conn, "row_count") == 0


def test_unwatching_forgets_the_rows_and_leaves_the_table(
    conn: psycopg.Connection, feed: str, watch: Any, text_of: Any
) -> None:
    watch(feed)
    conn.execute(INSERT, [1, None, text_of(1)])
    conn.execute(INSERT, [2, None, text_of(1)])
    assert scalar(conn, "select sherlock.unwatch(%s)", feed) == 2
    assert scalar(conn, "select count(*) from public.feed_items") == 2
    assert scalar(conn, "select count(*) from sherlock.watched") == 0
    assert scalar(conn, "select count(*) from sherlock.matches") == 0
    closed = "select closed_reason, name from sherlock.closed_matches"
    assert conn.execute(closed).fetchall() == [("deleted", "2")]
    conn.execute(INSERT, [3, None, text_of(1)])
    assert scalar(conn, "select count(*) from sherlock.watched_rows") == 0
    watch(feed)
    assert watched(conn, "state", "row_count", "exact_count") == ("active", 3, 2)


def test_sessions_with_other_settings_see_the_same_key(
    conn: psycopg.Connection, text_of: Any
) -> None:
    conn.execute("create table t (at timestamptz, of interval, b bytea, during tstzrange,"
                 " price money, body text, primary key (at, of, b, during, price))")  # fmt: skip
    conn.execute("select sherlock.watch('t', array['at', 'of', 'b', 'during', 'price'], '{body}')")
    conn.execute("set local timezone = 'America/Bogota'")
    conn.execute(
        "insert into t values ('2026-03-08 12:00-05', '1 day 2 hours', '\\x00ff',"
        " '[2026-01-01 00:00Z, 2026-02-01 00:00Z)', 12.5, %s)",
        [text_of(1)],
    )
    before = scalar(conn, "select row_key from sherlock.watched_rows")
    for setting, value in (
        ("timezone", "Asia/Tokyo"), ("datestyle", "German"), ("intervalstyle", "iso_8601"),
        ("bytea_output", "escape"), ("extra_float_digits", "0"),
    ):  # fmt: skip
        conn.execute("select set_config(%s, %s, true)", [setting, value])
    conn.execute("update t set body = %s", [text_of(2)])
    rows = conn.execute("select row_key, text_sha256 from sherlock.watched_rows").fetchall()
    assert [row[0] for row in rows] == [before]
    assert scalar(
        conn, "select sherlock.document_text(document_id) from sherlock.watched_rows"
    ) == text_of(2)
    conn.execute("delete from t")
    assert scalar(conn, "select count(*) from sherlock.watched_rows") == 0


def test_two_sessions_cannot_both_insert_what_is_unique(
    database_url: str, text_of: Any, run_blocked: Callable[..., Any]
) -> None:
    with psycopg.connect(database_url) as first, psycopg.connect(database_url) as second:
        first.execute("create table t (id integer primary key, body text)")
        first.execute("select sherlock.watch('t', 'id', array['body'], 'reject')")
        first.commit()
        first.execute("insert into t values (1, %s)", [text_of(1)])
        with pytest.raises(psycopg.DatabaseError, match="near-duplicate of row 1 in t"):
            run_blocked(
                lambda: second.execute("insert into t values (2, %s)", [text_of(1, version=1)]),
                then=first.commit,
            )
