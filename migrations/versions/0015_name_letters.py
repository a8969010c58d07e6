"""The letters of plaintiffs' names, counted: what a search asks before it compares two names.

Adds a column to the entity profiles and fills it, which rewrites their rows: about a minute for a
million documents. The code of the release before runs on it; what it writes has no letters, and
names without letters are compared as before.

Revision ID: 0015
Revises: 0012
"""

from __future__ import annotations

import pgvector.sqlalchemy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0012"
branch_labels = None
depends_on = None

_FILL = """
update sherlock.entity_profiles as p
set name_letters = array(
    select (
        select string_agg(
            rpad(
                repeat('1', least(length(k.key) - length(replace(k.key, l.letter, '')), 4)),
                4, '0'),
            '' order by l.position)::bit(104)
        from string_to_table('abcdefghijklmnopqrstuvwxyz', null) with ordinality
            as l (letter, position)
        where k.key is not null)
    from unnest(p.name_keys) with ordinality as k (key, position)
    order by k.position)
where p.name_keys <> '{}'
"""


def upgrade() -> None:
    """Add the column and fill it."""
    op.add_column(
        "entity_profiles",
        sa.Column(
            "name_letters",
            postgresql.ARRAY(pgvector.sqlalchemy.BIT(length=104)),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="How often each letter occurs in these: 4 bits each, as many set, at most 4.",
        ),
        schema="sherlock",
    )
    op.execute(_FILL)
