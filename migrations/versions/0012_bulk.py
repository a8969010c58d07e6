"""Bulk loads: files of many texts, how far each got, keys of their rows, rows that were refused.

New tables only. The code of the release before runs on it.

Revision ID: 0012
Revises: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "bulk_files",
        sa.Column("bulk_file_id", sa.Integer(), sa.Identity(), nullable=False, comment="The file."),
        sa.Column(
            "collection_id",
            sa.Integer(),
            nullable=False,
            comment="The collection that its texts go into.",
        ),
        sa.Column("source_uri", sa.Text(), nullable=False, comment="Path where it was read last."),
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="SHA-256 of its bytes."),
        sa.Column("file_size_bytes", sa.BigInteger(), nullable=False, comment="Its size."),
        sa.Column(
            "options",
            postgresql.JSONB(),
            nullable=False,
            comment="How it is read: format, encoding, fields, type.",
        ),
        _count_column(
            "position",
            "Where the next row begins: the byte of the unpacked file, or the number of the row "
            "in a Parquet file, from 0.",
        ),
        _count_column("line_count", "Lines before that; rows of a Parquet file."),
        _count_column("row_count", "Rows before that; it is the sum of the next three."),
        _count_column("added_count", "Of these, rows that became documents."),
        _count_column("known_count", "Of these, rows whose key was there, with the same text."),
        _count_column("failed_count", "Of these, rows that were refused: see rejected_rows."),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was begun.",
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When rows of it were last stored.",
        ),
        sa.Column(
            "finished_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its end was reached; null: it goes on at position.",
        ),
        sa.CheckConstraint(
            "octet_length(sha256) = 32", name=op.f("bulk_files_sha256_length_check")
        ),
        sa.CheckConstraint(
            "row_count = added_count + known_count + failed_count",
            name=op.f("bulk_files_row_count_check"),
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("bulk_files_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("bulk_file_id", name=op.f("bulk_files_pkey")),
        sa.UniqueConstraint(
            "collection_id",
            "sha256",
            "file_size_bytes",
            "options",
            name=op.f("bulk_files_collection_id_key"),
        ),
        schema="sherlock",
        comment="Files of many texts, one a row, and how far each was loaded; stored with the "
        "texts.",
    )
    op.create_index(
        "bulk_files_source_uri_idx",
        "bulk_files",
        ["collection_id", "source_uri"],
        schema="sherlock",
    )
    op.create_table(
        "document_keys",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Its collection.",
        ),
        sa.Column(
            "key",
            sa.Text(collation="C"),
            nullable=False,
            comment="What identifies it there.",
        ),
        sa.Column(
            "bulk_file_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="File that it came with.",
        ),
        sa.Column(
            "line_number",
            sa.BigInteger(),
            nullable=False,
            comment="Where its row begins, from 1.",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("document_keys_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("document_keys_pkey")),
        sa.UniqueConstraint("collection_id", "key", name=op.f("document_keys_collection_id_key")),
        schema="sherlock",
        comment="The keys that texts of loaded files have in their own system; one each.",
    )
    op.create_table(
        "rejected_rows",
        sa.Column(
            "bulk_file_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The file.",
        ),
        sa.Column(
            "line_number",
            sa.BigInteger(),
            nullable=False,
            comment="Where the row begins, from 1.",
        ),
        sa.Column("key", sa.Text(), nullable=True, comment="Its key, if that could be read."),
        sa.Column("reason", sa.Text(), nullable=False, comment="Why it was refused, as a code."),
        sa.Column("detail", sa.Text(), nullable=False, comment="The same for a person."),
        sa.ForeignKeyConstraint(
            ["bulk_file_id"],
            ["sherlock.bulk_files.bulk_file_id"],
            name=op.f("rejected_rows_bulk_file_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("bulk_file_id", "line_number", name=op.f("rejected_rows_pkey")),
        schema="sherlock",
        comment="Rows of loaded files that became no documents.",
    )


def _count_column(name: str, comment: str) -> sa.Column[int]:
    return sa.Column(
        name, sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment=comment
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
