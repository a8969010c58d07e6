"""Files of many texts: how far each got, the keys of their rows, the rows that were refused."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
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
from sqlalchemy.dialects.postgresql import JSONB

from sherlock_pg.db.tables.columns import (
    SCHEMA,
    document_id_column,
    integer_column,
    metadata,
    text_column,
    timestamp_column,
)


def _count_column(name: str, comment: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text("0"), comment=comment)


bulk_files = Table(
    "bulk_files",
    metadata,
    Column("bulk_file_id", Integer, Identity(), primary_key=True, comment="The file."),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id", ondelete="CASCADE"),
        nullable=False,
        comment="The collection that its texts go into.",
    ),
    text_column("source_uri", "Path where it was read last."),
    Column("sha256", LargeBinary, nullable=False, comment="SHA-256 of its bytes."),
    Column("file_size_bytes", BigInteger, nullable=False, comment="Its size."),
    Column(
        "options", JSONB, nullable=False, comment="How it is read: format, encoding, fields, type."
    ),
    _count_column(
        "position",
        "Where the next row begins: the byte of the unpacked file, or the number of the row in a "
        "Parquet file, from 0.",
    ),
    _count_column("line_count", "Lines before that; rows of a Parquet file."),
    _count_column("row_count", "Rows before that; it is the sum of the next three."),
    _count_column("added_count", "Of these, rows that became documents."),
    _count_column("known_count", "Of these, rows whose key was there, with the same text."),
    _count_column("failed_count", "Of these, rows that were refused: see rejected_rows."),
    timestamp_column("started_at", "When it was begun.", default=True),
    timestamp_column("updated_at", "When rows of it were last stored.", default=True),
    timestamp_column("finished_at", "When its end was reached; null: it goes on at position."),
    UniqueConstraint("collection_id", "sha256", "file_size_bytes", "options"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("row_count = added_count + known_count + failed_count", name="row_count"),
    Index("bulk_files_source_uri_idx", "collection_id", "source_uri"),
    comment="Files of many texts, one a row, and how far each was loaded; stored with the texts.",
)


document_keys = Table(
    "document_keys",
    metadata,
    document_id_column(),
    integer_column("collection_id", "Its collection."),
    Column("key", Text(collation="C"), nullable=False, comment="What identifies it there."),
    integer_column("bulk_file_id", "File that it came with."),
    Column("line_number", BigInteger, nullable=False, comment="Where its row begins, from 1."),
    PrimaryKeyConstraint("document_id"),
    UniqueConstraint("collection_id", "key"),
    comment="The keys that texts of loaded files have in their own system; one each.",
)


rejected_rows = Table(
    "rejected_rows",
    metadata,
    Column(
        "bulk_file_id",
        Integer,
        ForeignKey(f"{SCHEMA}.bulk_files.bulk_file_id", ondelete="CASCADE"),
        nullable=False,
        autoincrement=False,
        comment="The file.",
    ),
    Column("line_number", BigInteger, nullable=False, comment="Where the row begins, from 1."),
    text_column("key", "Its key, if that could be read.", null=True),
    text_column("reason", "Why it was refused, as a code."),
    text_column("detail", "The same for a person."),
    PrimaryKeyConstraint("bulk_file_id", "line_number"),
    comment="Rows of loaded files that became no documents.",
)
