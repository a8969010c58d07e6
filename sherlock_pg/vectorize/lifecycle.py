"""When a vocabulary is fitted, and the switch from one to the next and back.

`sherlock.refresh_vocabulary` and `sherlock.roll_back_vocabulary` take the same steps in SQL, under
the same lock: the two never work on one collection at once, and either continues what the other
left unfinished.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, LiteralString, Protocol, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row
from psycopg.sql import SQL

from sherlock_pg.db import calls
from sherlock_pg.vectorize import tfidf
from sherlock_pg.vectorize.canonical import canonical_text

SAMPLE_LIMIT = 20_000
"""Documents that a fit reads unless told otherwise: more change cosines by about 0.001."""

_GROWTH_FACTOR = 2
_BATCH = 500
_INDEX_FROM = 2_000
"""Vectors from which an index answers faster than reading them all."""
_LOCK_CLASS = 0x5348
_MAX_ATTEMPTS = 5
_CANCEL_SECONDS = 5
_IN_EACH_OTHERS_WAY = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.UniqueViolation,
)

T = TypeVar("T")


class Progress(Protocol):
    """What a fit tells about how far it is."""

    def stage(self, name: str, total: int) -> None:
        """Say that a stage with so many steps begins; 0: not known."""

    def step(self, count: int = 1) -> None:
        """Say that steps of the stage are done."""


class _Steps:
    """Progress for who only counts vectors."""

    def __init__(self, on_vector: Callable[[int], None] | None) -> None:
        self._on_vector = on_vector

    def stage(self, name: str, total: int) -> None:
        """Stages are the caller's."""

    def step(self, count: int = 1) -> None:
        """Pass the number of vectors on."""
        if self._on_vector is not None:
            self._on_vector(count)


@dataclass(frozen=True)
class VocabularyState:
    """The active model of a collection, if any, and the collection's size then and now.

    `is_weighted` is false where level 2 counts for nothing: documents of the default type are then
    compared without it.
    """

    collection_id: int
    model_id: int | None
    fitted_document_count: int
    document_count_at_fit: int
    document_count: int
    is_weighted: bool

    def needs_fit(self, arriving: int = 0) -> bool:
        """Say whether the collection has doubled since the last fit, counting what arrives.

        Doubling keeps the sum of all fits within twice the cost of the last one; from the sample
        limit on, growth alone no longer changes the vocabulary. A new one is proposed earlier than
        that (`proposal`), and made only when somebody asks for it.
        """
        count = self.document_count + arriving
        if not self.is_weighted:
            return False
        if self.model_id is None:
            return count > 0
        if self.fitted_document_count >= SAMPLE_LIMIT:
            return False
        return count >= _GROWTH_FACTOR * self.document_count_at_fit


@dataclass(frozen=True)
class Proposal:
    """How well a collection's vocabulary still fits, as `sherlock.vocabulary_status` says.

    Attributes:
        model_id: the version in use; None if there is none.
        growth: how many more documents there are than at the fit, as a share.
        drift: how much less of the latest documents the vocabulary knows, as a share.
        reason: no_vocabulary, settings, growth or drift; None if no new one is proposed.
    """

    model_id: int | None
    growth: float | None
    drift: float | None
    reason: str | None


def state(conn: psycopg.Connection, collection: str) -> VocabularyState:
    """Read how large a collection is, and was at the last fit."""
    with conn.cursor(row_factory=class_row(VocabularyState)) as cursor:
        found = cursor.execute(
            "select c.collection_id, m.model_id,"
            " coalesce(m.fitted_document_count, 0) as fitted_document_count,"
            " coalesce(m.document_count, 0) as document_count_at_fit,"
            " sherlock._indexed_document_count(c.collection_id) as document_count,"
            " coalesce((sherlock.detection_config(c.collection_id, 'default')).tfidf_weight, 1) > 0"
            "   as is_weighted"
            " from sherlock.collections as c"
            " left join sherlock.tfidf_models as m"
            "   on m.collection_id = c.collection_id and m.status = 'active'"
            " where c.collection_id = sherlock.collection_id(%s)",
            [collection],
        ).fetchone()
    if found is None:
        raise RuntimeError(f"collection {collection!r} vanished")
    return found


def refit_reason(conn: psycopg.Connection, collection: str) -> str | None:
    """Say why a new vocabulary is proposed by what is known, without measuring the drift anew."""
    row = conn.execute(
        "select refit_reason from sherlock.vocabulary_status"
        " where collection = %s and model_id is not null",
        [collection],
    ).fetchone()
    reason: str | None = None if row is None else row[0]
    return reason


def proposal(conn: psycopg.Connection, collection: str) -> Proposal:
    """Measure the drift of a collection's vocabulary and say whether a new one is proposed.

    Reads the texts of two hundred documents at most.
    """
    calls.collection_id(conn, collection)
    conn.execute("select * from sherlock.measure_vocabulary_drift(%s)", [collection])
    with conn.cursor(row_factory=class_row(Proposal)) as cursor:
        found = cursor.execute(
            "select model_id, growth, drift, refit_reason as reason"
            " from sherlock.vocabulary_status where collection = %s",
            [collection],
        ).fetchone()
    if found is None:
        raise RuntimeError(f"collection {collection!r} vanished")
    return found


def fit(
    conn: psycopg.Connection,
    collection: str,
    *,
    progress: Progress,
    sample_limit: int = SAMPLE_LIMIT,
) -> int:
    """Fit a new vocabulary with scikit-learn, give all documents vectors of it, and switch to it.

    The old one answers until the switch. A fit that was interrupted is continued if it is the same
    one: same sample limit and settings, and the collection has not grown by 10 % since.

    Args:
        conn: a connection in autocommit mode; batches are committed one by one.
        collection: name of the collection.
        progress: told of stages and vectors.
        sample_limit: documents that the fit reads at most.

    Returns:
        The new model.

    Raises:
        EmptyVocabulary: no text has a term.
        psycopg.DatabaseError: SH035, another session is at it; SH002, no such collection.
    """
    collection_id = calls.collection_id(conn, collection)
    conn.execute("select sherlock._hold_vocabulary(%s)", [collection_id])
    with _released(conn, collection_id):
        return _fit_and_switch(conn, collection, collection_id, sample_limit, progress)


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
    with _released(conn, collection_id):
        if not state(conn, collection).needs_fit():
            return None
        try:
            return _fit_and_switch(conn, collection, collection_id, SAMPLE_LIMIT, _Steps(on_vector))
        except tfidf.EmptyVocabulary as error:
            logging.getLogger(__name__).warning("no vocabulary could be fitted: %s", error)
            return None


def fit_for_arriving(
    conn: psycopg.Connection,
    collection: str,
    arriving: int,
    canonical_texts: Iterable[str],
    *,
    progress: Progress,
) -> int | None:
    """Fit a vocabulary before many documents arrive, on a sample of them and of those there.

    So their vectors can be stored with them. Nothing is done where those that arrive don't outgrow
    the vocabulary in use.

    Args:
        conn: a connection in autocommit mode; batches are committed one by one.
        collection: name of the collection.
        arriving: how many documents arrive.
        canonical_texts: a sample of their canonical texts, in any order.
        progress: told of stages and vectors.

    Returns:
        The new model, or None if none was needed or possible.
    """
    collection_id = calls.collection_id(conn, collection)
    conn.execute("select pg_advisory_lock(%s, %s)", [_LOCK_CLASS, collection_id])
    with _released(conn, collection_id):
        found = state(conn, collection)
        if not found.needs_fit(arriving):
            return None
        count = found.document_count + arriving
        sample_size = min(SAMPLE_LIMIT, count)
        sample = [*_sample(conn, collection_id, sample_size * found.document_count // count)]
        sample += islice(canonical_texts, sample_size - len(sample))
        _call(conn, "_set_aside_vocabularies(%s, %s)", collection_id, None)
        progress.stage("fitting the vocabulary", 0)
        try:
            model_id = _fit(conn, collection, sample, SAMPLE_LIMIT)
        except tfidf.EmptyVocabulary as error:
            logging.getLogger(__name__).warning("no vocabulary could be fitted: %s", error)
            return None
        # The sample stands for those that arrive: they are no growth since the fit.
        conn.execute(
            "update sherlock.tfidf_models set document_count = greatest(document_count, %s)"
            " where model_id = %s",
            [count, model_id],
        )
        _complete_and_switch(conn, collection_id, model_id, progress)
        return model_id


def roll_back(
    conn: psycopg.Connection,
    collection: str,
    model_id: int | None = None,
    *,
    progress: Progress,
) -> int:
    """Go back to a vocabulary that was in use before: to this one, or to the last one.

    Documents that have arrived since get vectors of it first; both answer until the switch.

    Returns:
        The model that is in use now.

    Raises:
        psycopg.DatabaseError: SH038, there is no such earlier vocabulary; SH035, another session
            is at it; SH002, no such collection.
    """
    collection_id = calls.collection_id(conn, collection)
    conn.execute("select sherlock._hold_vocabulary(%s)", [collection_id])
    with _released(conn, collection_id):
        (target,) = _call(conn, "_check_earlier_vocabulary(%s, %s)", collection, model_id)
        _call(conn, "_set_aside_vocabularies(%s, %s)", collection_id, target)
        _call(conn, "_reopen_tfidf_model(%s)", target)
        _complete_and_switch(conn, collection_id, target, progress)
        return int(target)


@contextlib.contextmanager
def _released(conn: psycopg.Connection, collection_id: int) -> Iterator[None]:
    """Give the lock of the vocabulary back at the end; a lost connection has done so itself.

    A connection that an interruption left in the middle of a statement is closed, and with it the
    lock is gone: it takes no other statement, and its refusal would hide the interruption.
    """
    try:
        yield
    finally:
        if conn.info.transaction_status is TransactionStatus.ACTIVE:
            with contextlib.suppress(psycopg.Error):
                conn.cancel_safe(timeout=_CANCEL_SECONDS)
            conn.close()
        elif not conn.closed and not conn.broken:
            conn.execute("select sherlock._release_vocabulary(%s)", [collection_id])


def _fit_and_switch(
    conn: psycopg.Connection,
    collection: str,
    collection_id: int,
    sample_limit: int,
    progress: Progress,
) -> int:
    (unfinished,) = _call(conn, "_unfinished_vocabulary(%s, %s)", collection_id, sample_limit)
    _call(conn, "_set_aside_vocabularies(%s, %s)", collection_id, unfinished)
    if unfinished is None:
        progress.stage("fitting the vocabulary", 0)
        model_id = _fit(conn, collection, _sample(conn, collection_id, sample_limit), sample_limit)
    else:
        model_id = int(unfinished)
    _complete_and_switch(conn, collection_id, model_id, progress)
    return model_id


def _fit(
    conn: psycopg.Connection, collection: str, canonical_texts: Iterable[str], sample_limit: int
) -> int:
    limits = conn.execute(
        "select tfidf_max_features, tfidf_ngram_min, tfidf_ngram_max"
        " from sherlock.collections where collection_id = sherlock.collection_id(%s)",
        [collection],
    ).fetchone()
    if limits is None:
        raise RuntimeError(f"collection {collection!r} vanished")
    max_features, ngram_min, ngram_max = limits
    vocabulary = tfidf.fit(
        canonical_texts,
        max_features=max_features,
        ngram_range=(ngram_min, ngram_max),
    )
    with conn.transaction():
        return tfidf.store(conn, collection, vocabulary, sample_limit=sample_limit)


def _complete_and_switch(
    conn: psycopg.Connection, collection_id: int, model_id: int, progress: Progress
) -> None:
    while True:
        _vectorize_all(conn, model_id, progress)
        try:
            _call(conn, "activate_tfidf_model(%s)", model_id)
            break
        except psycopg.DatabaseError as error:
            # A document arrived between the last batch and the switch.
            if error.sqlstate != "SH032":
                raise
    try:
        _call(conn, "_clear_old_vocabularies(%s)", collection_id)
    except psycopg.errors.LockNotAvailable:
        logging.getLogger(__name__).warning(
            "retired vocabularies are still being read and stay; the next fit drops them"
        )


def _vectorize_all(conn: psycopg.Connection, model_id: int, progress: Progress) -> None:
    (missing,) = _call(conn, "_without_vector_count(%s)", model_id)
    progress.stage("vectors", missing)
    if missing:
        vocabulary, projection = tfidf.load(conn, model_id), tfidf.load_projection(conn)
        after = 0
        while batch := _next_texts(conn, model_id, after):
            _store_vectors(conn, model_id, batch, vocabulary, projection)
            after = batch[-1].document_id
            progress.step(len(batch))
    if _needs_index(conn, model_id):
        progress.stage("index", 0)
        _call(conn, "build_tfidf_index(%s)", model_id)


@dataclass(frozen=True)
class _Text:
    """A document that needs a vector; its text, None if it is gone, and since when it has it."""

    document_id: int
    indexed_at: datetime | None
    content: str | None


def _next_texts(conn: psycopg.Connection, model_id: int, after: int) -> list[_Text]:
    with conn.cursor(row_factory=class_row(_Text)) as cursor:
        return cursor.execute(
            "select * from sherlock._next_without_vector(%s, %s, %s) order by document_id",
            [model_id, after, _BATCH],
        ).fetchall()


def _store_vectors(
    conn: psycopg.Connection,
    model_id: int,
    batch: Sequence[_Text],
    vocabulary: tfidf.Vocabulary,
    projection: tfidf.Projection,
) -> None:
    """Give documents their vectors, but for those whose text changed since it was read.

    These have got a vector of the new text from whoever changed it, as a model is told of that is
    being built.
    """
    texts = [text for text in batch if text.content is not None]
    vectors = vocabulary.transform(canonical_text(text.content or "") for text in texts)

    def attempt() -> None:
        with conn.transaction():
            unchanged = {
                row[0]
                for row in conn.execute(
                    "select * from sherlock._hold_without_vector(%s, %s, %s)",
                    [
                        model_id,
                        [text.document_id for text in texts],
                        [text.indexed_at for text in texts],
                    ],
                )
            }
            kept = [number for number, text in enumerate(texts) if text.document_id in unchanged]
            tfidf.copy_vectors(
                conn,
                model_id,
                [texts[number].document_id for number in kept],
                vectors[kept],
                projection,
            )

    _again(attempt)


def keep_index(conn: psycopg.Connection, found: VocabularyState) -> None:
    """Build the index of the vectors in use anew where a collection has outgrown it."""
    if found.model_id is not None and _needs_index(conn, found.model_id):
        _call(conn, "build_tfidf_index(%s)", found.model_id)


def _needs_index(conn: psycopg.Connection, model_id: int) -> bool:
    row = conn.execute(
        "select count(*) from sherlock.document_vectors where model_id = %s", [model_id]
    ).fetchone()
    return row is not None and row[0] >= _INDEX_FROM


def _call(conn: psycopg.Connection, call: LiteralString, *parameters: object) -> tuple[Any, ...]:
    """Call a function of the schema, again if a lock was not to be had, and return its row."""
    query = SQL("select * from sherlock.") + SQL(call)
    row = _again(lambda: conn.execute(query, parameters).fetchone())
    if row is None:
        raise RuntimeError(f"no row from {call}")
    return row


def _again(attempt: Callable[[], T]) -> T:
    """Run a transaction, again if another one was in its way."""
    for _ in range(_MAX_ATTEMPTS - 1):
        with contextlib.suppress(*_IN_EACH_OTHERS_WAY):
            return attempt()
    return attempt()


def _sample(conn: psycopg.Connection, collection_id: int, sample_limit: int) -> list[str]:
    """Return the canonical texts of a sample, the same one for the same documents."""
    rows = conn.execute(
        "select content from sherlock.document_texts(array("
        " select document_id from sherlock.documents"
        " where collection_id = %s and text_state = 'indexed'"
        " order by hashint8extended(document_id, 1), document_id limit %s))",
        [collection_id, sample_limit],
    ).fetchall()
    return [canonical_text(row[0]) for row in rows]
