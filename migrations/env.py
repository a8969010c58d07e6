"""Alembic environment: runs on the connection that `sherlock_pg.db.schema.upgrade` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, Engine

from sherlock_pg.db.tables import SCHEMA, metadata


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table_schema=SCHEMA,
        include_schemas=True,
        include_name=lambda name, kind, _parents: kind != "schema" or name == SCHEMA,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


bind = context.config.attributes.get("connection")
if isinstance(bind, Connection):
    _run(bind)
elif isinstance(bind, Engine):
    with bind.begin() as opened:
        _run(opened)
else:
    raise SystemExit("run migrations through: sherlock-pg db upgrade")
