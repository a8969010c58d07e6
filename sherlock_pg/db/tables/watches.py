"""Tables of users that are watched."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, REGCLASS

from sherlock_pg.db.tables.columns import (
    SCHEMA,
    document_id_column,
    metadata,
    text_column,
    timestamp_column,
)

watches = Table(
    "watches",
    metadata,
    Column("watch_id", Integer, Identity(), primary_key=True, comment="The watch."),
    Column("relation", REGCLASS, nullable=False, comment="The watched table."),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id"),
        nullable=False,
        comment="The collection that its rows are documents of.",
    ),
    Column("key_columns", ARRAY(Text), nullable=False, comment="Columns that identify a row."),
    Column("text_columns", ARRAY(Text), nullable=False, comment="Columns that make the text."),
    text_column(
        "doc_type", "Type of its documents; auto: guessed from each text.", default="default"
    ),
    text_column("on_duplicate", "flag, queue or reject.", default="flag"),
    text_column("min_class", "Class from which on_duplicate acts: EXACT, HIGH, MEDIUM or LOW."),
    Column(
        "is_backfilled",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="The rows that were there before are documents too.",
    ),
    timestamp_column("created_at", "When the watch began.", default=True),
    UniqueConstraint("relation"),
    CheckConstraint("on_duplicate in ('flag', 'queue', 'reject')", name="on_duplicate"),
    CheckConstraint("min_class in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')", name="min_class"),
    CheckConstraint(
        "cardinality(key_columns) > 0 and cardinality(text_columns) > 0", name="columns"
    ),
    comment="Tables of users whose rows are judged as they come; their text stays where it is.",
)


watched_rows = Table(
    "watched_rows",
    metadata,
    document_id_column(),
    Column(
        "watch_id",
        Integer,
        ForeignKey(f"{SCHEMA}.watches.watch_id"),
        nullable=False,
        comment="The watch.",
    ),
    Column("row_key", JSONB, nullable=False, comment="Values of the key columns, an array."),
    Column(
        "text_sha256",
        LargeBinary,
        nullable=False,
        comment="SHA-256 of the row's text: it is signed again only if this changes.",
    ),
    PrimaryKeyConstraint("document_id"),
    UniqueConstraint("watch_id", "row_key"),
    comment="Which row of a watched table a document is.",
)
