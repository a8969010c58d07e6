"""The metadata, and columns that many tables have."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    Text,
    text,
)
from sqlalchemy.sql.schema import SchemaItem

SCHEMA = "sherlock"
MAX_FEATURES = 5000
PROJECTION_BITS = 512
FOLDED_FEATURES = 1000
LETTERS = 26

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    },
)


def document_id_column() -> Column[int]:
    """Return the reference to a document; rows go with it."""
    return Column(
        "document_id",
        BigInteger,
        ForeignKey(f"{SCHEMA}.documents.document_id", ondelete="CASCADE"),
        nullable=False,
        autoincrement=False,
        comment="The document.",
    )


def timestamp_column(name: str, comment: str, *, default: bool = False) -> Column[object]:
    """Return a time with zone; with `default` it is set on insert and never null."""
    return Column(
        name,
        DateTime(timezone=True),
        nullable=not default,
        server_default=text("now()") if default else None,
        comment=comment,
    )


def text_column(
    name: str, comment: str, *, default: str | None = None, null: bool = False
) -> Column[str]:
    """Return a text, not null unless said."""
    return Column(
        name,
        Text,
        nullable=null,
        server_default=None if default is None else text(f"'{default}'"),
        comment=comment,
    )


def integer_column(
    name: str, comment: str, *, default: int | None = None, null: bool = False
) -> Column[int]:
    """Return an integer, not null unless said."""
    return Column(
        name,
        Integer,
        nullable=null,
        server_default=None if default is None else text(str(default)),
        autoincrement=False,
        comment=comment,
    )


def share_column(name: str, comment: str, *, default: str) -> tuple[SchemaItem, SchemaItem]:
    """Return a number from 0 to 1, with its check."""
    return (
        Column(name, Double, nullable=False, server_default=text(default), comment=comment),
        CheckConstraint(f"{name} >= 0 and {name} <= 1", name=name),
    )
