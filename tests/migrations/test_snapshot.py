"""What an installation makes, compared with a committed text: a change shows in the diff.

Of functions and views the text has what callers see, not the bodies, which are in `sql/`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

SNAPSHOT = Path(__file__).parents[1] / "snapshots" / "schema.sql"
HEADER = (
    "-- Tables, views and signatures that an installation makes. Written by: make schema-snapshot"
)

_ENTRY = re.compile(r"^--\n-- Name: (.*); Type: ([A-Z ]+); Schema: .*\n--\n", re.MULTILINE)
_SHOWN_BY_QUERIES = {"FUNCTION", "PROCEDURE", "AGGREGATE", "VIEW", "MATERIALIZED VIEW"}
_NOISE = re.compile(r"SET |--|\\unrestrict ")

FUNCTIONS = r"""
select concat_ws(
    ' ',
    case p.prokind when 'f' then 'function' when 'p' then 'procedure' when 'a' then 'aggregate' end,
    format('sherlock.%I(%s)', p.proname, pg_get_function_arguments(p.oid)),
    'returns ' || pg_get_function_result(p.oid),
    'language ' || l.lanname,
    case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
    case p.proparallel when 's' then 'parallel safe' when 'r' then 'parallel restricted' end,
    case when p.proisstrict then 'strict' end,
    case when p.prosecdef then 'security definer' end
) || ';'
from pg_proc as p
join pg_language as l on l.oid = p.prolang
where p.pronamespace = 'sherlock'::regnamespace
order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C"
"""
VIEWS = r"""
select format(
    'view sherlock.%I (%s);',
    c.relname,
    string_agg(format(E'\n    %I %s', a.attname, format_type(a.atttypid, a.atttypmod)),
               ',' order by a.attnum) || E'\n'
)
from pg_class as c
join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'sherlock'::regnamespace and c.relkind in ('v', 'm')
group by c.oid, c.relname
order by c.relname collate "C"
"""


def described(dump: str, conn: psycopg.Connection) -> str:
    """Return pg_dump's entries by name, so that a table's are together, then views and functions.

    pg_dump's own order follows dependencies: one new function could move many entries.
    """
    _, *pieces = _ENTRY.split(dump)
    entries = sorted(
        (name, kind, text)
        for name, kind, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
        if kind not in _SHOWN_BY_QUERIES
    )
    blocks = [_without_noise(text) for _, _, text in entries]
    conn.execute("set search_path = ''")
    for query in (VIEWS, FUNCTIONS):
        blocks.append("\n".join(row[0] for row in conn.execute(query)))
    return "\n\n".join([HEADER, *blocks]) + "\n"


def _without_noise(entry: str) -> str:
    return "\n".join(line for line in entry.splitlines() if not _NOISE.match(line)).strip()


def test_schema_is_the_committed_one(
    dump_schema: Callable[..., str], database_url: str, request: pytest.FixtureRequest
) -> None:
    with psycopg.connect(database_url) as conn:
        actual = described(dump_schema(database_url, "-x", "--no-comments"), conn)
    if request.config.getoption("--update-snapshot"):
        SNAPSHOT.write_text(actual, encoding="utf-8")
    committed = SNAPSHOT.read_text(encoding="utf-8")
    changes = list(
        difflib.unified_diff(
            committed.splitlines(), actual.splitlines(), "committed", "installed", lineterm=""
        )
    )
    assert not changes, "\n".join(["the schema changed; if meant: make schema-snapshot", *changes])
