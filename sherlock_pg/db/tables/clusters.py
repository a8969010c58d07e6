"""Clusters of documents that match each other."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from sherlock_pg.db.tables.columns import (
    SCHEMA,
    integer_column,
    metadata,
    text_column,
    timestamp_column,
)

clusterings = Table(
    "clusterings",
    metadata,
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="The collection whose documents are clustered.",
    ),
    text_column(
        "mode",
        "principal: each member matches the survivor itself. connected: all that a chain of "
        "matches connects.",
    ),
    text_column("min_class", "Lowest class of the matches that count: EXACT to LOW."),
    text_column(
        "survivor_order",
        "Who survives: the first by this column of sherlock.documents, or by read_quality; asc or "
        "desc.",
    ),
    Column(
        "preferred_ids",
        ARRAY(BigInteger),
        nullable=False,
        server_default=text("'{}'"),
        comment="Documents that survive before all others, the first before the second.",
    ),
    Column(
        "is_kept",
        Boolean,
        nullable=False,
        comment="Clusters follow the matches; else they are as of rebuilt_at.",
    ),
    timestamp_column("rebuilt_at", "When they were last made anew.", default=True),
    timestamp_column("changed_at", "When they last followed matches.", default=True),
    CheckConstraint("mode in ('principal', 'connected')", name="mode"),
    CheckConstraint("min_class in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')", name="min_class"),
    comment="How the documents of a collection are clustered; see sherlock.rebuild_clusters.",
)


cluster_members = Table(
    "cluster_members",
    metadata,
    Column(
        "document_id",
        BigInteger,
        nullable=False,
        autoincrement=False,
        comment="The document; it is in one cluster at most.",
    ),
    integer_column("collection_id", "Its collection."),
    Column("cluster_id", BigInteger, nullable=False, comment="The cluster, named by its survivor."),
    Column(
        "surviving_in",
        BigInteger,
        Computed("case when document_id = cluster_id then cluster_id end", persisted=True),
        comment="Its cluster, if it is the one that survives; else null.",
    ),
    PrimaryKeyConstraint("document_id"),
    UniqueConstraint("surviving_in"),
    # Each cluster has a member that survives; the primary key allows no second one.
    ForeignKeyConstraint(
        ["cluster_id"],
        [f"{SCHEMA}.cluster_members.surviving_in"],
        name="cluster_members_survivor_fkey",
        deferrable=True,
        initially="DEFERRED",
    ),
    Index("cluster_members_cluster_id_idx", "cluster_id"),
    comment="Documents that are in a cluster. Nothing is deleted because of it.",
)


cluster_changes = Table(
    "cluster_changes",
    metadata,
    Column(
        "transaction_id",
        BigInteger,
        nullable=False,
        autoincrement=False,
        comment="Transaction that changed the document's matches.",
    ),
    integer_column("collection_id", "Its collection."),
    Column("document_id", BigInteger, nullable=False, comment="The document."),
    text_column(
        "change",
        "found: matches came only. lost: a match went. rank: its place among survivors changed.",
    ),
    PrimaryKeyConstraint("transaction_id", "collection_id", "document_id"),
    CheckConstraint("change in ('found', 'lost', 'rank')", name="change"),
    prefixes=["UNLOGGED"],
    comment="What clusters follow when a transaction commits, which empties it. Holds nothing that "
    "matters after a crash.",
)
