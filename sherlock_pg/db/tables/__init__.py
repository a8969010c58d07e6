"""The tables: columns, constraints, indexes and their comments.

Revisions in `migrations/` are derived from this metadata, and a test compares the two. Rules that
hold for all of them: `document_id` leads every per-document table; per-document tables join each
other only on it; no foreign key by candidate; small configuration tables are joined freely.
"""

from sherlock_pg.db.tables import (
    bulk,
    clusters,
    documents,
    inbox,
    judgement,
    levels,
    readings,
    watches,
)
from sherlock_pg.db.tables.columns import (
    FOLDED_FEATURES,
    MAX_FEATURES,
    PROJECTION_BITS,
    SCHEMA,
    metadata,
)

__all__ = [
    "FOLDED_FEATURES",
    "MAX_FEATURES",
    "PROJECTION_BITS",
    "SCHEMA",
    "bulk",
    "clusters",
    "documents",
    "inbox",
    "judgement",
    "levels",
    "metadata",
    "readings",
    "watches",
]
