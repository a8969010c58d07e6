"""Collections and documents."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from sherlock_pg.db.tables.columns import (
    MAX_FEATURES,
    SCHEMA,
    document_id_column,
    integer_column,
    metadata,
    text_column,
    timestamp_column,
)

collections = Table(
    "collections",
    metadata,
    Column("collection_id", Integer, Identity(), primary_key=True, comment="The collection."),
    text_column("name", "Name, unique; what --collection takes."),
    text_column(
        "profile",
        "legal: texts with parties, three levels. text: no entities, levels 1 and 2 only.",
        default="legal",
    ),
    Column(
        "scheme_id",
        Integer,
        ForeignKey(f"{SCHEMA}.shingle_schemes.scheme_id"),
        nullable=False,
        comment="Scheme that its documents are signed with.",
    ),
    integer_column(
        "tfidf_max_features", "Features that a fit keeps, at most.", default=MAX_FEATURES
    ),
    integer_column("tfidf_ngram_min", "Shortest n-gram of the vocabulary, in tokens.", default=1),
    integer_column("tfidf_ngram_max", "Longest n-gram of the vocabulary, in tokens.", default=2),
    timestamp_column("created_at", "When the collection was made.", default=True),
    timestamp_column(
        "scheme_changed_at",
        "When a move to another scheme began; null: none is under way.",
    ),
    UniqueConstraint("name"),
    CheckConstraint("profile in ('legal', 'text')", name="profile"),
    CheckConstraint(f"tfidf_max_features between 1 and {MAX_FEATURES}", name="tfidf_max_features"),
    CheckConstraint(
        "tfidf_ngram_min >= 1 and tfidf_ngram_max between tfidf_ngram_min and 2",
        name="tfidf_ngram_range",
    ),
    comment="Sets of documents that are compared with each other, and only with each other.",
)


documents = Table(
    "documents",
    metadata,
    Column("document_id", BigInteger, Identity(), primary_key=True, comment="The document."),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id"),
        nullable=False,
        server_default=text("1"),
        comment="The collection it belongs to; 1 is the one named default.",
    ),
    text_column(
        "doc_type",
        "default, tutela, habeas_corpus or a type of your own; auto until it is guessed from the "
        "text.",
        default="auto",
    ),
    text_column("name", "File name or another name for people.", null=True),
    Column("sha256", LargeBinary, comment="SHA-256 of the file's bytes; null for texts."),
    Column("file_size_bytes", BigInteger, comment="Size of the file; null for texts."),
    text_column("media_type", "Type by content, e.g. application/pdf.", null=True),
    text_column(
        "status",
        "pending: not read yet. ok: all of it read. partial: some pages are missing. "
        "failed: see reason.",
        default="ok",
    ),
    text_column("reason", "Reason code of a failed or partial document.", null=True),
    text_column("reason_detail", "What was seen, for a person.", null=True),
    Column(
        "flags",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="Quality flags of the extraction, e.g. low_yield, repaired.",
    ),
    text_column(
        "content", "The text; null until read, and where the text lives elsewhere.", null=True
    ),
    Column(
        "supplied_entities",
        JSONB,
        comment="Entities that came with an inserted text, as sherlock.store_entities takes them; "
        "null: they are looked for in the text.",
    ),
    Column(
        "canonical_sha256",
        LargeBinary,
        comment="SHA-256 of the canonical text; equal and not empty means same text.",
    ),
    text_column(
        "text_state",
        "indexed: takes part in all levels. short, empty: matches exactly only. excluded: too "
        "badly read for the fuzzy levels. Null until the features are computed.",
        null=True,
    ),
    integer_column("word_count", "Tokens of the canonical text.", null=True),
    integer_column("page_count", "Pages of the file.", null=True),
    Column("processing", JSONB, comment="Seconds per stage and versions of the engines."),
    timestamp_column("created_at", "When the document arrived.", default=True),
    timestamp_column("indexed_at", "When its features were last computed."),
    integer_column(
        "feature_version",
        "Version of the rules that its features were made by; see sherlock.feature_version().",
        default=1,
    ),
    text_column("accepted_by", "Who accepted its reading in spite of its flags.", null=True),
    timestamp_column("accepted_at", "When; null: nobody did."),
    CheckConstraint("status in ('pending', 'ok', 'partial', 'failed')", name="status"),
    CheckConstraint("text_state in ('indexed', 'short', 'empty', 'excluded')", name="text_state"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("octet_length(canonical_sha256) = 32", name="canonical_sha256_length"),
    CheckConstraint("(sha256 is null) = (file_size_bytes is null)", name="file"),
    CheckConstraint("(accepted_by is null) = (accepted_at is null)", name="accepted"),
    Index(
        "documents_canonical_sha256_idx",
        "collection_id",
        "canonical_sha256",
        "document_id",
        postgresql_where=text("canonical_sha256 is not null"),
    ),
    Index(
        "documents_unfinished_idx",
        "collection_id",
        "document_id",
        postgresql_where=text("status in ('pending', 'failed')"),
    ),
    Index(
        "documents_excluded_idx",
        "collection_id",
        "document_id",
        postgresql_where=text("text_state = 'excluded'"),
    ),
    comment="One row per distinct file or text.",
)


file_hashes = Table(
    "file_hashes",
    metadata,
    Column("sha256", LargeBinary, nullable=False, comment="SHA-256 of the file's bytes."),
    Column("file_size_bytes", BigInteger, nullable=False, comment="Size of the file."),
    integer_column("collection_id", "The collection."),
    Column("document_id", BigInteger, nullable=False, comment="The document with these bytes."),
    PrimaryKeyConstraint("sha256", "file_size_bytes", "collection_id"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("file_size_bytes >= 0", name="file_size_bytes"),
    comment="The gate before OCR: which document has these bytes.",
)


document_sources = Table(
    "document_sources",
    metadata,
    document_id_column(),
    text_column("source_uri", "Path or address where the file was seen."),
    timestamp_column("seen_at", "When it was seen there first.", default=True),
    PrimaryKeyConstraint("document_id", "source_uri"),
    comment="Every place where a document's file was seen.",
)


document_pages = Table(
    "document_pages",
    metadata,
    document_id_column(),
    integer_column("page_number", "Page, from 1."),
    text_column("method", "native, native_ocr, ocr, blank, skipped or failed."),
    integer_column("char_count", "Characters read on the page."),
    Column("quality", Float, comment="Share of word-like characters, 0 to 1; null if unknown."),
    PrimaryKeyConstraint("document_id", "page_number"),
    comment="How each page of a document was read.",
)
