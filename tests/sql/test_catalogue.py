"""What holds for every object of the schema, read from the catalogue."""

from __future__ import annotations

import psycopg
import pytest

from sherlock_pg.db import schema

PUBLIC = "p.pronamespace = 'sherlock'::regnamespace and p.proname !~ '^_'"


def listed(conn: psycopg.Connection, query: str) -> list[str]:
    return [row[0] for row in conn.execute(query).fetchall()]


def test_public_functions_are_documented(conn: psycopg.Connection) -> None:
    r"""What `\df+` shows is a sentence, of trigger functions too."""
    assert listed(conn, f"select p.oid::regprocedure::text from pg_proc p where {PUBLIC}")
    undocumented = listed(
        conn,
        f"select p.oid::regprocedure::text from pg_proc p where {PUBLIC}"
        " and coalesce(obj_description(p.oid, 'pg_proc'), '') !~ '^[A-Z].{18,}[.]$'",
    )
    assert undocumented == []


def test_comments_name_the_errors_that_functions_raise(conn: psycopg.Connection) -> None:
    raised = conn.execute(
        "select p.oid::regprocedure::text, r.code[1],"
        " strpos(coalesce(obj_description(p.oid, 'pg_proc'), ''), r.code[1]) > 0"
        " from pg_proc as p cross join lateral regexp_matches("
        r"   p.prosrc, 'errcode\s*=\s*''(SH\d{3})''', 'g') as r (code)"
        f" where {PUBLIC}"
    ).fetchall()
    assert len(raised) > 10
    assert [f"{function} raises {code}" for function, code, named in raised if not named] == []


def test_comments_name_no_error_that_nothing_raises(conn: psycopg.Connection) -> None:
    invented = listed(
        conn,
        "select p.oid::regprocedure::text || ' names ' || n.code[1]"
        " from pg_proc as p cross join lateral regexp_matches("
        r"   obj_description(p.oid, 'pg_proc'), '(SH\d{3})', 'g') as n (code)"
        f" where {PUBLIC} and not exists (select from pg_proc as q"
        "   where q.pronamespace = 'sherlock'::regnamespace"
        "   and strpos(q.prosrc, quote_literal(n.code[1])) > 0)",
    )
    assert invented == []


def test_relations_types_and_their_columns_are_documented(conn: psycopg.Connection) -> None:
    """Tables, partitioned tables, views and composite types (relkind c)."""
    kinds = listed(
        conn,
        "select distinct relkind::text from pg_class"
        " where relnamespace = 'sherlock'::regnamespace and relname !~ '^_'",
    )
    assert {"r", "p", "v", "c"} <= set(kinds)
    undocumented = listed(
        conn,
        "select c.relname || coalesce('.' || a.attname, '')"
        " from pg_class c"
        " join lateral (select null as attname, 0 as attnum union all"
        "   select attname::text, attnum from pg_attribute"
        "   where attrelid = c.oid and attnum > 0 and not attisdropped) a on true"
        " where c.relnamespace = 'sherlock'::regnamespace"
        " and c.relkind in ('r', 'p', 'v', 'm', 'c') and c.relname !~ '^_'"
        " and c.relname <> 'alembic_version' and not c.relispartition"
        " and coalesce(case when a.attnum > 0 then col_description(c.oid, a.attnum)"
        "   when c.relkind = 'c' then obj_description(c.reltype, 'pg_type')"
        "   else obj_description(c.oid, 'pg_class') end, '') !~ '[.]$'",
    )
    assert undocumented == []


def test_other_public_types_are_documented(conn: psycopg.Connection) -> None:
    undocumented = listed(
        conn,
        "select t.typname::text from pg_type t where t.typnamespace = 'sherlock'::regnamespace"
        " and t.typtype in ('d', 'e', 'r') and t.typname !~ '^_'"
        " and obj_description(t.oid, 'pg_type') is null",
    )
    assert undocumented == []


def test_security_definer_functions_pin_their_search_path(conn: psycopg.Connection) -> None:
    unpinned = listed(
        conn,
        "select p.oid::regprocedure::text from pg_proc p"
        " where p.pronamespace = 'sherlock'::regnamespace and p.prosecdef"
        " and not exists (select from unnest(p.proconfig) as s where s like 'search_path=%')",
    )
    assert unpinned == []


def test_security_definer_functions_are_closed_to_public(conn: psycopg.Connection) -> None:
    open_ones = listed(
        conn,
        "select p.oid::regprocedure::text from pg_proc p"
        " where p.pronamespace = 'sherlock'::regnamespace and p.prosecdef"
        " and (p.proacl is null or exists (select from aclexplode(p.proacl) as a"
        "      where a.grantee = 0 and a.privilege_type = 'EXECUTE'))",
    )
    assert open_ones == []


def test_arguments_are_named_and_prefixed(conn: psycopg.Connection) -> None:
    """An unprefixed argument silently loses to a column of the same name."""
    unprefixed = listed(
        conn,
        "select p.oid::regprocedure::text || ': ' || n.number"
        " from pg_proc p cross join lateral generate_series(1, p.pronargs) as n (number)"
        " where p.pronamespace = 'sherlock'::regnamespace"
        " and coalesce(p.proargnames[n.number], '') !~ '^p_[a-z]'",
    )
    assert unprefixed == []


def test_search_functions_write_nothing(conn: psycopg.Connection) -> None:
    """Searches run on a standby: declared stable, they cannot write."""
    volatile = listed(
        conn,
        "select p.proname::text from pg_proc p where p.pronamespace = 'sherlock'::regnamespace"
        " and p.proname in ('find_duplicates', 'find_duplicates_of_text', 'detect',"
        " 'detect_text', 'compare', 'explain_match', 'find_exact', '_search',"
        " 'band_candidates', 'vector_candidates', 'entity_candidates') and p.provolatile = 'v'",
    )
    assert volatile == []


def test_names_fit_postgresql(conn: psycopg.Connection) -> None:
    """A longer name would have been cut without a word."""
    cut = listed(
        conn,
        "select relname::text from pg_class where relnamespace = 'sherlock'::regnamespace"
        " and octet_length(relname) >= 63",
    )
    assert cut == []


@pytest.mark.parametrize("path", schema.sql_files(), ids=lambda path: path.name)
def test_sql_files_begin_with_what_they_are_for(path: object) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    assert text.startswith("-- "), "a header line says what the file is for"
    assert all(
        len(line) <= 120 for line in text.splitlines() if "U&" not in line and "'" not in line
    )
