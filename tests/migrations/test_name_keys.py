"""Revision 0011: names that a release before left get their keys."""

from __future__ import annotations

import psycopg
from alembic import command
from sqlalchemy import create_engine

from sherlock_pg.db import schema
from sherlock_pg.db.connection import connect

NAMES = ("ana maria ruiz gomez", "perez perez perez", "luis de la hoz")


def test_names_from_before_get_numbers_and_keys(empty_database_url: str) -> None:
    engine = create_engine("postgresql+psycopg://", creator=lambda: connect(empty_database_url))
    with engine.begin() as connection:
        conn = connection.connection.driver_connection
        assert isinstance(conn, psycopg.Connection)
        conn.execute("create schema sherlock")
        schema.ensure_extensions(conn)
        config = schema.alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0010")
        conn.execute(
            "insert into sherlock.party_names (collection_id, role, normalised)"
            " select 1, r.role, n.name"
            " from unnest(array['demandante', 'demandado']) as r (role),"
            " unnest(%s::text[]) as n (name)",
            [list(NAMES)],
        )
    engine.dispose()
    schema.upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as upgraded:
        numbers = upgraded.execute("select count(distinct name_id) from sherlock.party_names")
        assert numbers.fetchone() == (2 * len(NAMES),)
        for name in NAMES:
            row = upgraded.execute(
                "select array_agg(k.key order by k.key), "
                " (select array_agg(distinct e order by e)"
                "  from unnest(sherlock.name_keys(1, %s)) as e)"
                " from sherlock.party_names as n join sherlock.name_keys as k using (name_id)"
                " where n.role = 'demandante' and n.normalised = %s",
                [name, name],
            ).fetchone()
            assert row is not None
            assert row[0] == row[1]
        strangers = upgraded.execute(
            "select count(*) from sherlock.name_keys where name_id not in"
            " (select name_id from sherlock.party_names where role = 'demandante')"
        )
        assert strangers.fetchone() == (0,)
