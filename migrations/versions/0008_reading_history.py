"""Reading history: what stood before a document was processed again, and who accepted a reading.

Adds columns with constant defaults, so no row is written. The index on documents reads them once.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the history, and columns for the version of the features and for the acceptance."""
    op.execute("drop function if exists sherlock._text_state(integer, integer, text[])")
    op.add_column(
        "documents",
        sa.Column(
            "feature_version",
            sa.Integer(),
            server_default=sa.text("1"),
            autoincrement=False,
            nullable=False,
            comment="Version of the rules that its features were made by; see "
            "sherlock.feature_version().",
        ),
        schema="sherlock",
    )
    op.add_column(
        "documents",
        sa.Column(
            "accepted_by",
            sa.Text(),
            nullable=True,
            comment="Who accepted its reading in spite of its flags.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "documents",
        sa.Column(
            "accepted_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When; null: nobody did.",
        ),
        schema="sherlock",
    )
    op.create_check_constraint(
        op.f("documents_accepted_check"),
        "documents",
        "(accepted_by is null) = (accepted_at is null)",
        schema="sherlock",
    )
    op.create_index(
        "documents_excluded_idx",
        "documents",
        ["collection_id", "document_id"],
        schema="sherlock",
        postgresql_where=sa.text("text_state = 'excluded'"),
    )
    _create_document_readings()


def _create_document_readings() -> None:
    op.create_table(
        "document_readings",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "reading_number",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="1 is the first reading of the document that was replaced.",
        ),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="What replaced it: ner (other entities), features (other features of the same "
            "text), ocr (the file was read again).",
        ),
        sa.Column(
            "replaced_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was replaced.",
        ),
        sa.Column(
            "replaced_by",
            sa.Text(),
            server_default=sa.text("session_user"),
            nullable=False,
            comment="Database user who replaced it.",
        ),
        sa.Column("status", sa.Text(), nullable=False, comment="Status of the document then."),
        sa.Column("reason", sa.Text(), nullable=True, comment="Reason code then."),
        sa.Column(
            "reason_detail", sa.Text(), nullable=True, comment="What was seen, for a person."
        ),
        sa.Column(
            "flags",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="Quality flags of the extraction.",
        ),
        sa.Column("doc_type", sa.Text(), nullable=False, comment="Type of the document then."),
        sa.Column(
            "content",
            sa.Text(),
            nullable=True,
            comment="The text, where another took its place; else null.",
        ),
        sa.Column(
            "text_state",
            sa.Text(),
            nullable=True,
            comment="indexed, short, empty or excluded; null if the features had not been "
            "computed.",
        ),
        sa.Column(
            "feature_version",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Version of the rules that its features were made by.",
        ),
        sa.Column(
            "entities",
            postgresql.JSONB(),
            nullable=False,
            comment="Its entities, as sherlock.store_entities takes them.",
        ),
        sa.Column(
            "pages",
            postgresql.JSONB(),
            nullable=True,
            comment="How its pages were read, where the file was read again: array of {number, "
            "method, char_count, quality}.",
        ),
        sa.Column(
            "processing",
            postgresql.JSONB(),
            nullable=True,
            comment="Seconds per stage and versions of the engines.",
        ),
        sa.Column(
            "accepted_by",
            sa.Text(),
            nullable=True,
            comment="Who had accepted it in spite of its flags.",
        ),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True, comment="When."),
        sa.CheckConstraint(
            "kind in ('ner', 'features', 'ocr')", name=op.f("document_readings_kind_check")
        ),
        sa.CheckConstraint(
            "reading_number > 0", name=op.f("document_readings_reading_number_check")
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("document_readings_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "document_id", "reading_number", name=op.f("document_readings_pkey")
        ),
        schema="sherlock",
        comment="Readings of documents that were replaced by later ones, oldest first. They go "
        "with their document. The present reading is in sherlock.documents.",
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
