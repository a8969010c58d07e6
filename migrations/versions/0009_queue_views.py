"""Indexes for the views that watch the queue.

Each reads the inbox once and blocks writes to it meanwhile; they hold only items that wait as
copies, are dead, or were answered by the gate. The code of the release before runs on it.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the indexes."""
    op.create_index(
        "inbox_waiting_idx",
        "inbox",
        ["collection_id"],
        schema="sherlock",
        postgresql_where=sa.text("state = 'queued' and gate = 'hit'"),
    )
    op.create_index(
        "inbox_dead_idx",
        "inbox",
        ["collection_id", "reason"],
        schema="sherlock",
        postgresql_where=sa.text("state = 'dead'"),
    )
    op.create_index(
        "inbox_copies_idx",
        "inbox",
        ["finished_at"],
        schema="sherlock",
        postgresql_where=sa.text("gate = 'hit' and state = 'done'"),
    )


def downgrade() -> None:
    """Refuse."""
    raise NotImplementedError("roll forward: restore a backup to go back")
