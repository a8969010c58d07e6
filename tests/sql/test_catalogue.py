"""What holds for every object of the schema, read from the catalogue."""

from __future__ import annotations

import psycopg
import pytest

from sherlock_pg.db import schema

PUBLIC = "p.pronamespace = 'sherlock'::regnamespace and p.proname !~ '^_'"


def listed(conn: psycopg.Connection, query: str) -> list[str]:
    return [row[0] for row in conn.execute(query).fetchall()]


def test_public_functions_are_documented(conn: psycopg.Connection) -> None:
    assert listed(conn, f"select p.oid::regprocedure::text from pg_proc p where {PUBLIC}")
    undocumented = listed(
        conn,
        f"select p.oid::regprocedure::text from pg_proc p where {PUBLIC}"
        " and coalesce(length(obj_description(p.oid, 'pg_proc')), 0) < 20",
    )
    assert undocumented == []


def test_tables_views_and_their_columns_are_documented(conn: psycopg.Connection) -> None:
    undocumented = listed(
        conn,
        "select c.relname || coalesce('.' || a.attname, '')"
        " from pg_class c"
        " join lateral (select null as attname, 0 as attnum union all"
        "   select attname::text, attnum from pg_attribute"
        "   where attrelid = c.oid and attnum > 0 and not attisdropped) a on true"
        " where c.relnamespace = 'sherlock'::regnamespace and c.relkind in ('r', 'p', 'v')"
        " and c.relname <> 'alembic_version' and not c.relispartition"
        " and col_description(c.oid, a.attnum) is null"
        " and (a.attnum > 0 or obj_description(c.oid, 'pg_class') is null)",
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


def test_arguments_are_prefixed(conn: psycopg.Connection) -> None:
    """An unprefixed argument silently loses to a column of the same name."""
    unprefixed = listed(
        conn,
        "select p.oid::regprocedure::text || ': ' || n.name"
        " from pg_proc p cross join lateral unnest(p.proargnames[1:p.pronargs]) as n (name)"
        " where p.pronamespace = 'sherlock'::regnamespace and n.name !~ '^p_'",
    )
    assert unprefixed == []


def test_search_functions_write_nothing(conn: psycopg.Connection) -> None:
    """Searches run on a standby: declared stable, they cannot write."""
    volatile = listed(
        conn,
        "select p.proname::text from pg_proc p where p.pronamespace = 'sherlock'::regnamespace"
        " and p.proname in ('find_duplicates', 'find_duplicates_of_text', 'detect',"
        " 'detect_text', 'compare', 'find_exact', '_search', 'band_candidates',"
        " 'vector_candidates', 'entity_candidates') and p.provolatile = 'v'",
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
