"""Readers may hand features over with what they read.

sherlock.finish_document gets another argument and an answer, so the one before is dropped. Takes no
longer than that.

Revision ID: 0016
Revises: 0011
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the function; the code that follows makes the new one."""
    op.execute(
        "drop function if exists sherlock.finish_document("
        "bigint, text, text, text, text, jsonb, text, text, text, text[], jsonb, jsonb)"
    )
