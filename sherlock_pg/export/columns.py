"""What an exported document has: names and kinds of the columns, the same in all formats."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""A document by column name, as the database gave it."""


class Kind(enum.Enum):
    """What a column holds; each may be missing (None)."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    TIME = "time"
    JSON = "json"


@dataclass(frozen=True)
class Column:
    """A column of `sherlock.document_clusters`, or `content`."""

    name: str
    kind: Kind


_PLAIN = (
    Column("document_id", Kind.INTEGER),
    Column("name", Kind.TEXT),
    Column("table_name", Kind.TEXT),
    Column("key", Kind.TEXT),
    Column("row_key", Kind.JSON),
    Column("doc_type", Kind.TEXT),
    Column("created_at", Kind.TIME),
    Column("word_count", Kind.INTEGER),
)
_CLUSTERS = (
    Column("cluster_id", Kind.INTEGER),
    Column("is_survivor", Kind.BOOLEAN),
    Column("survivor_name", Kind.TEXT),
    Column("cluster_size", Kind.INTEGER),
    Column("confidence", Kind.TEXT),
    Column("similarity", Kind.NUMBER),
)
CONTENT = Column("content", Kind.TEXT)


def columns(*, with_clusters: bool) -> tuple[Column, ...]:
    """Return the columns of an export; the text is the last."""
    return (*_PLAIN, *(_CLUSTERS if with_clusters else ()), CONTENT)
