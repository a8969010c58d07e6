"""The queue of files to read, their bytes, and what was attached to what."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    text,
)

from sherlock_pg.db.tables.columns import (
    SCHEMA,
    document_id_column,
    integer_column,
    metadata,
    text_column,
    timestamp_column,
)

inbox = Table(
    "inbox",
    metadata,
    Column(
        "item_id",
        BigInteger,
        Identity(),
        primary_key=True,
        comment="The item; a lower one arrived earlier.",
    ),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id"),
        nullable=False,
        server_default=text("1"),
        comment="The collection it goes to; 1 is the one named default.",
    ),
    text_column("doc_type", "Type of the document; auto: guessed from its text.", default="auto"),
    text_column("name", "File name or another name for people.", null=True),
    Column(
        "content",
        LargeBinary,
        comment="The file's bytes, on insert; they are kept in file_contents, here it is null.",
    ),
    text_column("path", "The file, where the bytes are not given.", null=True),
    text_column("host", "The machine that can read the path; null: every one.", null=True),
    Column("sha256", LargeBinary, comment="SHA-256 of the bytes; null until a path is read."),
    Column("file_size_bytes", BigInteger, comment="Size; null until a path is read."),
    integer_column("priority", "Higher ones are read first.", default=0),
    text_column("ocr", "auto, never or force; null: as the worker is set.", null=True),
    Column(
        "is_reread",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="A document that is known is read again.",
    ),
    text_column(
        "state",
        "queued: to be read. leased: a worker reads it. stored: read, the verdict is due. done: "
        "read and judged, or a copy of such a file. dead: it could not be read, see reason.",
        default="queued",
    ),
    text_column(
        "gate",
        "new: these bytes were not known. hit: they were; while queued, it waits for the reading "
        "of that document and ends with it. Null until the bytes are known.",
        null=True,
    ),
    integer_column("attempts", "How often its reading was begun.", default=0),
    integer_column("max_attempts", "How often it is tried.", default=3),
    timestamp_column("run_after", "It is not read before this time.", default=True),
    text_column("leased_by", "Who reads it now (host, process).", null=True),
    timestamp_column("leased_until", "When the lease lapses and another may read it."),
    Column("document_id", BigInteger, comment="The document with these bytes, once known."),
    Column("parent_document_id", BigInteger, comment="The document that it was attached to."),
    text_column(
        "owner",
        "The loader that put it there for itself: interrupted, it takes it back. Null: whoever "
        "sent it counts on it.",
        null=True,
    ),
    integer_column("depth", "In how many containers it was, one in the other.", default=0),
    text_column("reason", "Reason code of the last attempt that failed.", null=True),
    text_column("reason_detail", "What was seen then, for a person.", null=True),
    timestamp_column("enqueued_at", "When it arrived.", default=True),
    timestamp_column("started_at", "When the last attempt began."),
    timestamp_column("stored_at", "When its text was stored."),
    timestamp_column("finished_at", "When it was done or given up."),
    CheckConstraint("state in ('queued', 'leased', 'stored', 'done', 'dead')", name="state"),
    CheckConstraint("gate in ('new', 'hit')", name="gate"),
    CheckConstraint("ocr in ('auto', 'never', 'force')", name="ocr"),
    CheckConstraint("max_attempts >= 1", name="max_attempts"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("(sha256 is null) = (file_size_bytes is null)", name="file"),
    CheckConstraint("(state = 'leased') <= (leased_until is not null)", name="lease"),
    Index(
        "inbox_queued_idx",
        text("priority desc"),
        "item_id",
        postgresql_where=text("state = 'queued' and gate is distinct from 'hit'"),
    ),
    Index(
        "inbox_leased_idx",
        "leased_until",
        postgresql_where=text("state in ('leased', 'stored')"),
    ),
    Index(
        "inbox_open_idx",
        "document_id",
        unique=True,
        postgresql_where=text("state in ('queued', 'leased', 'stored') and gate = 'new'"),
    ),
    Index(
        "inbox_document_idx",
        "document_id",
        postgresql_where=text("document_id is not null"),
    ),
    Index(
        "inbox_finished_idx",
        "finished_at",
        postgresql_where=text("finished_at is not null"),
    ),
    Index(
        "inbox_waiting_idx",
        "collection_id",
        postgresql_where=text("state = 'queued' and gate = 'hit'"),
    ),
    Index(
        "inbox_dead_idx",
        "collection_id",
        "reason",
        postgresql_where=text("state = 'dead'"),
    ),
    Index(
        "inbox_copies_idx",
        "finished_at",
        postgresql_where=text("gate = 'hit' and state = 'done'"),
    ),
    comment="Files on their way in: one row per file that arrived, copies too.",
)


file_contents = Table(
    "file_contents",
    metadata,
    Column("sha256", LargeBinary, nullable=False, comment="SHA-256 of the bytes."),
    Column("file_size_bytes", BigInteger, nullable=False, comment="Size."),
    Column("content", LargeBinary, nullable=False, comment="The bytes."),
    timestamp_column("created_at", "When they arrived first.", default=True),
    PrimaryKeyConstraint("sha256", "file_size_bytes"),
    comment="The bytes of files that came as bytes, each once; read again from here.",
)


document_attachments = Table(
    "document_attachments",
    metadata,
    document_id_column(),
    integer_column("ordinal", "Place among the attachments, from 1."),
    Column(
        "attached_document_id",
        BigInteger,
        nullable=False,
        comment="The attachment, a document of its own.",
    ),
    text_column("name", "Its name there.", null=True),
    PrimaryKeyConstraint("document_id", "ordinal"),
    Index("document_attachments_attached_idx", "attached_document_id"),
    comment="What a message or an archive contained.",
)
