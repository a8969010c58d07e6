"""Keys by which names that resemble each other are found.

Rewrites sherlock.party_names (one row per distinct name) and locks it meanwhile. The keys of the
names that are there are made by sql/60_triggers/tg_party_names__keys.sql, which fills the table if
it is empty: some minutes for a million names. The code of the release before runs on it, and its
names get keys as well. The index on entities' name_key goes: equal words in any order are a key.

Revision ID: 0011
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Number the names and make the table of their keys."""
    op.drop_index("entities_name_key_idx", table_name="entities", schema="sherlock")
    op.add_column(
        "party_names",
        sa.Column(
            "name_id",
            sa.Integer(),
            sa.Identity(always=True),
            nullable=False,
            comment="Number of the name, for its keys.",
        ),
        schema="sherlock",
    )
    op.create_unique_constraint(
        op.f("party_names_name_id_key"), "party_names", ["name_id"], schema="sherlock"
    )
    op.create_table_comment(
        "party_names",
        "Level 3 retrieval: the distinct names. The trigram index is for searches of your own.",
        schema="sherlock",
    )
    op.create_table(
        "name_keys",
        sa.Column(
            "key",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Hash of collection and part of the name, as sherlock.name_keys has it.",
        ),
        sa.Column(
            "name_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The plaintiff's name in party_names.",
        ),
        sa.PrimaryKeyConstraint("key", "name_id", name=op.f("name_keys_pkey")),
        schema="sherlock",
        comment="Level 3 retrieval: names that share a key may resemble each other; kept by "
        "triggers on party_names.",
    )
