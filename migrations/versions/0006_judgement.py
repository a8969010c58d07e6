"""Judgement: the numbers and dates of a text, and whether they are compared.

Locks detection_configs and tfidf_models for a moment.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and the switch."""
    op.create_table(
        "document_references",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "numbers",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="Numbers of three digits or more, no years, in the order of the text.",
        ),
        sa.Column(
            "dates",
            postgresql.ARRAY(sa.Date()),
            nullable=False,
            comment="Dates, in the order of the text.",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("document_references_pkey")),
        schema="sherlock",
        comment="Level 3: what tells one matter from another whatever the words; texts without "
        "have no row.",
    )
    op.add_column(
        "detection_configs",
        sa.Column(
            "use_references",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="Numbers and dates of the texts count: as level 3 where no parties or ids can "
            "be compared, and as a conflict.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "tfidf_models",
        sa.Column(
            "known_numbers",
            postgresql.ARRAY(sa.Text()),
            server_default="{}",
            nullable=False,
            comment="Terms that are numbers of three digits or more, as digits.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "tfidf_models",
        sa.Column(
            "known_number_idf",
            postgresql.ARRAY(sa.Double()),
            server_default="{}",
            nullable=False,
            comment="Their idf, in the same order.",
        ),
        schema="sherlock",
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
