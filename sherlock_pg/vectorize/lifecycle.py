"""When a vocabulary is fitted, and the switch from one to the next."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.vectorize import tfidf

SAMPLE_LIMIT = 20_000
"""Documents that a fit reads at most: more change cosines by about 0.001."""

_GROWTH_FACTOR = 2
_BATCH = 500
_INDEX_FROM = 2_000
"""Vectors from which an index answers faster than reading them all."""
_LOCK_CLASS = 0x5348


@dataclass(frozen=True)
class VocabularyState:
    """The active model of a collection, if any, and what it was fitted on."""

    collection_id: int
    model_id: int | None
    fitted_document_count: int
    indexed_document_count: int

    def needs_fit(self, arriving: int = 0) -> bool:
        """Say whether the collection has doubled since the last fit, counting what arrives.

        Doubling keeps the sum of all fits within twice the cost of the last one; from the sample
        limit on, growth alone no longer changes the vocabulary.
        """
        count = self.indexed_document_count + arriving
        if self.model_id is None:
            return count > 0
        if self.fitted_document_count >= SAMPLE_LIMIT:
            return False
        return count >= _GROWTH_FACTOR * self.fitted_document_count


def state(conn: psycopg.Connection, collection: str) -> VocabularyState:
    """Read how a collection stands."""
    row = conn.execute(
        "select c.collection_id, m.model_id, coalesce(m.fitted_document_count, 0),"
        " (select count(*) from sherlock.documents as d"
        "  where d.collection_id = c.collection_id and d.text_state = 'indexed')"
        " from sherlock.collections as c"
        " left join sherlock.tfidf_models as m"
        "   on m.collection_id = c.collection_id and m.status = 'active'"
        " where c.collection_id = sherlock.collection_id(%s)",
        [collection],
    ).fetchone()
    if row is None:
        raise RuntimeError(f"collection {collection!r} vanished")
    return VocabularyState(*row)


def fit_if_needed(
    conn: psycopg.Connection,
    collection: str,
    *,
    on_vector: Callable[[int], None] | None = None,
) -> int | None:
    """Fit a new vocabulary where the collection has outgrown the last one, and switch to it.

    The old model answers until the switch. Two loaders never fit at once: the second waits, and
    then finds nothing to do.

    Args:
        conn: a connection in autocommit mode; batches are committed one by one.
        collection: name of the collection.
        on_vector: called with the number of vectors after each batch.

    Returns:
        The new model, or None if none was needed or possible.
    """
    collection_id = calls.collection_id(conn, collection)
    conn.execute("select pg_advisory_lock(%s, %s)", [_LOCK_CLASS, collection_id])
    try:
        found = state(conn, collection)
        if not found.needs_fit():
            return None
        return _fit_and_switch(conn, collection, found, on_vector)
    finally:
        if not conn.closed and not conn.broken:
            conn.execute("select pg_advisory_unlock(%s, %s)", [_LOCK_CLASS, collection_id])


def _fit_and_switch(
    conn: psycopg.Connection,
    collection: str,
    found: VocabularyState,
    on_vector: Callable[[int], None] | None,
) -> int | None:
    _drop_unfinished(conn, found.collection_id)
    limits = conn.execute(
        "select tfidf_max_features, tfidf_ngram_min, tfidf_ngram_max"
        " from sherlock.collections where collection_id = %s",
        [found.collection_id],
    ).fetchone()
    if limits is None:
        raise RuntimeError(f"collection {collection!r} vanished")
    max_features, ngram_min, ngram_max = limits
    try:
        vocabulary = tfidf.fit(
            _sample(conn, found.collection_id),
            max_features=max_features,
            ngram_range=(ngram_min, ngram_max),
        )
    except tfidf.EmptyVocabulary as error:
        logging.getLogger(__name__).warning("no vocabulary could be fitted: %s", error)
        return None
    with conn.transaction():
        model_id = tfidf.store(conn, collection, vocabulary)
    while True:
        _vectorize_all(conn, model_id, on_vector)
        try:
            with conn.transaction():
                calls.activate_tfidf_model(conn, model_id)
            break
        except psycopg.DatabaseError as error:
            # A document arrived between the last batch and the switch.
            if error.sqlstate != "SH032":
                raise
    _drop_retired(conn, found.collection_id)
    return model_id


def _vectorize_all(
    conn: psycopg.Connection, model_id: int, on_vector: Callable[[int], None] | None
) -> None:
    total = 0
    while added := calls.vectorize_missing(conn, model_id, _BATCH):
        total += added
        if on_vector is not None:
            on_vector(added)
    if total >= _INDEX_FROM:
        calls.build_tfidf_index(conn, model_id)


def _sample(conn: psycopg.Connection, collection_id: int) -> list[str]:
    """Return the canonical texts of a sample, the same one for the same documents."""
    rows = conn.execute(
        "select sherlock.canonical_text(content) from sherlock.document_texts(array("
        " select document_id from sherlock.documents"
        " where collection_id = %s and text_state = 'indexed'"
        " order by hashint8extended(document_id, 1), document_id limit %s))",
        [collection_id, SAMPLE_LIMIT],
    ).fetchall()
    return [row[0] for row in rows]


def _drop_unfinished(conn: psycopg.Connection, collection_id: int) -> None:
    """Drop models of fits that were killed: whoever holds the lock is the only one fitting."""
    for (model_id,) in conn.execute(
        "select model_id from sherlock.tfidf_models"
        " where collection_id = %s and status = 'building'",
        [collection_id],
    ).fetchall():
        calls.drop_tfidf_model(conn, model_id)


def _drop_retired(conn: psycopg.Connection, collection_id: int) -> None:
    """Keep the newest retired model, to go back to; drop the older ones."""
    for (model_id,) in conn.execute(
        "select model_id from sherlock.tfidf_models"
        " where collection_id = %s and status = 'retired'"
        " order by model_id desc offset 1",
        [collection_id],
    ).fetchall():
        calls.drop_tfidf_model(conn, model_id)
