"""Vocabulary versions: what is proposed, and what can be gone back to.

Adds columns to a table of a few rows and counts the documents of each collection once. Functions
and a view whose arguments or columns change are dropped and made anew.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_STATUS_COMMENT = (
    "building, active (one per collection), retired, or archived: its vocabulary without vectors."
)

_COUNT_DOCUMENTS = """
update sherlock.tfidf_models as m
set document_count = greatest(m.fitted_document_count, (
    select count(*)
    from sherlock.documents as d
    where d.collection_id = m.collection_id
      and d.text_state = 'indexed'
      and d.created_at <= m.created_at))
"""


def upgrade() -> None:
    """Record what a model was fitted under; let models be archived."""
    op.execute("drop view if exists sherlock.vocabulary_status")
    op.execute(
        "drop function if exists sherlock.create_tfidf_model("
        "text, text[], double precision[], integer, integer, integer)"
    )
    op.execute("drop function if exists sherlock._vectorize_batch(integer, bigint, integer)")
    op.execute("drop function if exists sherlock._drop_tfidf_models(integer, text, integer)")
    op.add_column(
        "tfidf_models",
        sa.Column(
            "sample_limit",
            sa.Integer(),
            nullable=True,
            comment="Documents that the fit read at most; null: unknown.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "tfidf_models",
        sa.Column(
            "max_features",
            sa.Integer(),
            nullable=True,
            comment="The collection's limit on features then; null: unknown.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "tfidf_models",
        sa.Column(
            "document_count",
            sa.Integer(),
            nullable=True,
            comment="Indexed documents of the collection then.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "tfidf_models",
        sa.Column(
            "drift",
            sa.Double(),
            nullable=True,
            comment="Loss of known terms in later documents when last measured, 0 to 1; "
            "null: unknown.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "tfidf_models",
        sa.Column(
            "drift_measured_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When that was.",
        ),
        schema="sherlock",
    )
    op.execute(_COUNT_DOCUMENTS)
    op.alter_column("tfidf_models", "document_count", nullable=False, schema="sherlock")
    op.alter_column("tfidf_models", "status", comment=_STATUS_COMMENT, schema="sherlock")
    op.drop_constraint(op.f("tfidf_models_status_check"), "tfidf_models", schema="sherlock")
    op.create_check_constraint(
        op.f("tfidf_models_status_check"),
        "tfidf_models",
        "status in ('building', 'active', 'retired', 'archived')",
        schema="sherlock",
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
