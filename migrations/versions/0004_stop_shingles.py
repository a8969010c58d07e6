"""Boilerplate: versioned lists of shingles that a scheme leaves out.

The new tables are empty and no scheme has a list, so nothing that is stored changes. Locks
`shingle_schemes` and `document_signatures` for a moment; the check on `document_signatures` reads
it once.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for the lists, for schemes that have one, for documents that are nothing else."""
    op.create_table(
        "stop_lists",
        sa.Column("stop_list_id", sa.Integer(), sa.Identity(), nullable=False, comment="The list."),
        sa.Column(
            "shingle_kind",
            sa.Text(),
            nullable=False,
            comment="word or char: it fits schemes of this kind and width only.",
        ),
        sa.Column(
            "shingle_width",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Tokens (word) or characters (char) in a shingle.",
        ),
        sa.Column(
            "learnt_from",
            sa.Text(),
            nullable=False,
            comment="Name that the collection had from whose texts it was learnt.",
        ),
        sa.Column(
            "document_share",
            sa.Double(),
            nullable=False,
            comment="A shingle is on the list if more than this share of the texts has it.",
        ),
        sa.Column(
            "text_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Texts that it was learnt from; of exact copies one counts.",
        ),
        sa.Column(
            "shingle_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Shingles on the list.",
        ),
        sa.Column(
            "measured_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Texts on which its effect was measured when it was learnt.",
        ),
        sa.Column(
            "mean_removed_share",
            sa.Double(),
            nullable=False,
            comment="Of these, the mean share of a text's shingles that is on the list.",
        ),
        sa.Column(
            "too_few_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Of these, texts with too few other shingles to be signed.",
        ),
        sa.Column(
            "candidates_with",
            sa.Double(),
            nullable=False,
            comment="Mean number of candidates of level 1 for a text with its boilerplate.",
        ),
        sa.Column(
            "candidates_without",
            sa.Double(),
            nullable=False,
            comment="The same without the shingles of the list.",
        ),
        sa.Column(
            "learnt_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was learnt.",
        ),
        sa.CheckConstraint(
            "shingle_kind in ('word', 'skeleton', 'char')",
            name=op.f("stop_lists_shingle_kind_check"),
        ),
        sa.CheckConstraint(
            "document_share > 0 and document_share < 1",
            name=op.f("stop_lists_document_share_check"),
        ),
        sa.PrimaryKeyConstraint("stop_list_id", name=op.f("stop_lists_pkey")),
        schema="sherlock",
        comment="Level 1: versions of what counts as boilerplate. Never changed once learnt, "
        "because stored signatures rely on it.",
    )
    op.create_table(
        "stop_shingles",
        sa.Column(
            "stop_list_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The list.",
        ),
        sa.Column(
            "shingle",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The shingle, as sherlock.shingles makes it.",
        ),
        sa.Column(
            "document_share",
            sa.Float(),
            nullable=False,
            comment="Share of the texts that have it.",
        ),
        sa.ForeignKeyConstraint(
            ["stop_list_id"],
            ["sherlock.stop_lists.stop_list_id"],
            name=op.f("stop_shingles_stop_list_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("stop_list_id", "shingle", name=op.f("stop_shingles_pkey")),
        schema="sherlock",
        comment="Level 1: the shingles of each list of boilerplate.",
    )
    op.add_column(
        "shingle_schemes",
        sa.Column(
            "stop_list_id",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Shingles of this list are left out of signatures; null: none are.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "shingle_schemes",
        sa.Column(
            "base_scheme_id",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="The same scheme without a list; null: this one has none.",
        ),
        schema="sherlock",
    )
    op.create_foreign_key(
        op.f("shingle_schemes_stop_list_id_fkey"),
        "shingle_schemes",
        "stop_lists",
        ["stop_list_id"],
        ["stop_list_id"],
        source_schema="sherlock",
        referent_schema="sherlock",
    )
    op.create_foreign_key(
        op.f("shingle_schemes_base_scheme_id_fkey"),
        "shingle_schemes",
        "shingle_schemes",
        ["base_scheme_id"],
        ["scheme_id"],
        source_schema="sherlock",
        referent_schema="sherlock",
    )
    op.create_unique_constraint(
        op.f("shingle_schemes_base_scheme_id_key"),
        "shingle_schemes",
        ["base_scheme_id", "stop_list_id"],
        schema="sherlock",
    )
    op.create_check_constraint(
        op.f("shingle_schemes_stop_list_check"),
        "shingle_schemes",
        "(stop_list_id is null) = (base_scheme_id is null)",
        schema="sherlock",
    )
    op.add_column(
        "document_signatures",
        sa.Column(
            "boilerplate_count",
            sa.Integer(),
            server_default=sa.text("0"),
            autoincrement=False,
            nullable=False,
            comment="Shingles left out of the signature: those on the scheme's list.",
        ),
        schema="sherlock",
    )
    op.alter_column(
        "document_signatures",
        "signature",
        nullable=True,
        comment="128 slots; null: without the boilerplate too little is left.",
        existing_comment="128 slots.",
        schema="sherlock",
    )
    op.alter_column("document_signatures", "sketch", nullable=True, schema="sherlock")
    op.create_check_constraint(
        op.f("document_signatures_sketch_check"),
        "document_signatures",
        "(signature is null) = (sketch is null)",
        schema="sherlock",
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
