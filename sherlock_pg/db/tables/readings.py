"""What stood before a document was read or processed again."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, PrimaryKeyConstraint, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from sherlock_pg.db.tables.columns import (
    SCHEMA,
    document_id_column,
    integer_column,
    metadata,
    text_column,
    timestamp_column,
)

document_readings = Table(
    "document_readings",
    metadata,
    document_id_column(),
    integer_column("reading_number", "1 is the first reading of the document that was replaced."),
    text_column(
        "kind",
        "What replaced it: ner (other entities), features (other features of the same text), ocr "
        "(the file was read again).",
    ),
    timestamp_column("replaced_at", "When it was replaced.", default=True),
    Column(
        "replaced_by",
        Text,
        nullable=False,
        server_default=text("session_user"),
        comment="Database user who replaced it.",
    ),
    text_column("status", "Status of the document then."),
    text_column("reason", "Reason code then.", null=True),
    text_column("reason_detail", "What was seen, for a person.", null=True),
    Column("flags", ARRAY(Text), nullable=False, comment="Quality flags of the extraction."),
    text_column("doc_type", "Type of the document then."),
    text_column("content", "The text, where another took its place; else null.", null=True),
    text_column(
        "text_state",
        "indexed, short, empty or excluded; null if the features had not been computed.",
        null=True,
    ),
    integer_column("feature_version", "Version of the rules that its features were made by."),
    Column(
        "entities",
        JSONB,
        nullable=False,
        comment="Its entities, as sherlock.store_entities takes them.",
    ),
    Column(
        "pages",
        JSONB,
        comment="How its pages were read, where the file was read again: array of {number, method, "
        "char_count, quality}.",
    ),
    Column("processing", JSONB, comment="Seconds per stage and versions of the engines."),
    text_column("accepted_by", "Who had accepted it in spite of its flags.", null=True),
    timestamp_column("accepted_at", "When."),
    PrimaryKeyConstraint("document_id", "reading_number"),
    CheckConstraint("kind in ('ner', 'features', 'ocr')", name="kind"),
    CheckConstraint("reading_number > 0", name="reading_number"),
    comment="Readings of documents that were replaced by later ones, oldest first. They go with "
    f"their document. The present reading is in {SCHEMA}.documents.",
)
