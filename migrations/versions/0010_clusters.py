"""Clusters: which documents belong together, and which of them survives.

New tables only; nothing is clustered until sherlock.rebuild_clusters is called. The code of the
release before runs on it.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "clusterings",
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The collection whose documents are clustered.",
        ),
        sa.Column(
            "mode",
            sa.Text(),
            nullable=False,
            comment="principal: each member matches the survivor itself. connected: all that a "
            "chain of matches connects.",
        ),
        sa.Column(
            "min_class",
            sa.Text(),
            nullable=False,
            comment="Lowest class of the matches that count: EXACT to LOW.",
        ),
        sa.Column(
            "survivor_order",
            sa.Text(),
            nullable=False,
            comment="Who survives: the first by this column of sherlock.documents, or by "
            "read_quality; asc or desc.",
        ),
        sa.Column(
            "preferred_ids",
            postgresql.ARRAY(sa.BigInteger()),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="Documents that survive before all others, the first before the second.",
        ),
        sa.Column(
            "is_kept",
            sa.Boolean(),
            nullable=False,
            comment="Clusters follow the matches; else they are as of rebuilt_at.",
        ),
        sa.Column(
            "rebuilt_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When they were last made anew.",
        ),
        sa.Column(
            "changed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When they last followed matches.",
        ),
        sa.CheckConstraint(
            "mode in ('principal', 'connected')", name=op.f("clusterings_mode_check")
        ),
        sa.CheckConstraint(
            "min_class in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')",
            name=op.f("clusterings_min_class_check"),
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("clusterings_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", name=op.f("clusterings_pkey")),
        schema="sherlock",
        comment="How the documents of a collection are clustered; see sherlock.rebuild_clusters.",
    )
    op.create_table(
        "cluster_members",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document; it is in one cluster at most.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Its collection.",
        ),
        sa.Column(
            "cluster_id",
            sa.BigInteger(),
            nullable=False,
            comment="The cluster, named by its survivor.",
        ),
        sa.Column(
            "surviving_in",
            sa.BigInteger(),
            sa.Computed("case when document_id = cluster_id then cluster_id end", persisted=True),
            nullable=True,
            comment="Its cluster, if it is the one that survives; else null.",
        ),
        sa.ForeignKeyConstraint(
            ["cluster_id"],
            ["sherlock.cluster_members.surviving_in"],
            name="cluster_members_survivor_fkey",
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("cluster_members_pkey")),
        sa.UniqueConstraint("surviving_in", name=op.f("cluster_members_surviving_in_key")),
        schema="sherlock",
        comment="Documents that are in a cluster. Nothing is deleted because of it.",
    )
    op.create_index(
        "cluster_members_cluster_id_idx", "cluster_members", ["cluster_id"], schema="sherlock"
    )
    op.create_table(
        "cluster_changes",
        sa.Column(
            "transaction_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="Transaction that changed the document's matches.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Its collection.",
        ),
        sa.Column("document_id", sa.BigInteger(), nullable=False, comment="The document."),
        sa.Column(
            "change",
            sa.Text(),
            nullable=False,
            comment="found: matches came only. lost: a match went. rank: its place among survivors "
            "changed.",
        ),
        sa.CheckConstraint(
            "change in ('found', 'lost', 'rank')", name=op.f("cluster_changes_change_check")
        ),
        sa.PrimaryKeyConstraint(
            "transaction_id",
            "collection_id",
            "document_id",
            name=op.f("cluster_changes_pkey"),
        ),
        prefixes=["UNLOGGED"],
        schema="sherlock",
        comment="What clusters follow when a transaction commits, which empties it. Holds nothing "
        "that matters after a crash.",
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
