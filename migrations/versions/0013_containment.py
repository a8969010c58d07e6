"""Samples by which texts inside others are found.

A column and two indexes on sherlock.document_signatures; building them reads the table once and
blocks writes to it meanwhile. Documents that are there have no sample until they are indexed again
(sherlock-pg reprocess --features): until then they are found neither as container nor as contained,
and who searches is told. The code of the release before runs on it.

Revision ID: 0013
Revises: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and its indexes."""
    op.add_column(
        "document_signatures",
        sa.Column(
            "containment_sample",
            postgresql.ARRAY(sa.Integer()),
            nullable=True,
            comment="Hashes of one run of words in twelve, by which texts that contain it, or that "
            "it contains, are found; null: indexed before there were any.",
        ),
        schema="sherlock",
    )
    op.create_index(
        "document_signatures_containment_sample_idx",
        "document_signatures",
        ["containment_sample"],
        schema="sherlock",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_index(
        "document_signatures_unsampled_idx",
        "document_signatures",
        ["scheme_id", "document_id"],
        schema="sherlock",
        postgresql_where=sa.text("containment_sample is null"),
    )


def downgrade() -> None:
    """Refuse."""
    raise NotImplementedError("roll forward: restore a backup to go back")
