"""Batches of documents processed again, each committed on its own.

What is done is told by the versions that are stored with each document, so an interrupted run is
gone on with by starting it again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sherlock_pg.load.reading import entity_row
from sherlock_pg.ner.pipeline import PartyExtractor
from sherlock_pg.reprocess.result import Change, Result
from sherlock_pg.reprocess.selection import Selection

log = logging.getLogger(__name__)

BATCH_SIZE = 50
"""Documents of one transaction: few enough that others wait for its locks a moment only."""

_ATTEMPTS = 5
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Found:
    """Entities of one text, with the moment that tells whether the text is still the same."""

    document_id: int
    indexed_at: datetime
    entities: list[dict[str, Any]]
    processing: dict[str, Any]


class Progress(Protocol):
    """What a run tells about how far it is."""

    def step(self, count: int = 1) -> None:
        """Say that documents are done."""


def reprocess_entities(
    conn: psycopg.Connection,
    selection: Selection,
    parties: PartyExtractor,
    result: Result,
    progress: Progress,
) -> None:
    """Look for the entities of documents again, in their stored texts.

    Args:
        conn: a connection in autocommit mode.
        selection: which documents.
        parties: today's rules and model.
        result: is filled while the run goes on.
        progress: is told of each batch.
    """
    for document_ids in batches(conn, selection, result):
        found: list[_Found] = []
        for document_id, indexed_at, text in conn.execute(
            "select d.document_id, d.indexed_at, t.content from sherlock.document_texts(%s) as t"
            " join sherlock.documents as d using (document_id) order by d.document_id",
            [document_ids],
        ).fetchall():
            started = time.perf_counter()
            try:
                entities = parties.extract(text)
            except (ValueError, RuntimeError, RecursionError, MemoryError) as error:
                # The entities that are there stay, and so does their version.
                log.warning("document %s: party extraction failed: %r", document_id, error)
                result.failures.append((document_id, repr(error)))
                continue
            processing = {
                "ner_versions": parties.versions,
                "ner_seconds": round(time.perf_counter() - started, 4),
            }
            rows = [entity_row(entity) for entity in entities]
            found.append(_Found(document_id, indexed_at, rows, processing))
        stored, changes = _retried(conn, partial(_store, conn, found))
        result.add(changes, stored)
        result.overtaken += len(found) - len(stored)
        progress.step(len(document_ids))


def reprocess_features(
    conn: psycopg.Connection, selection: Selection, result: Result, progress: Progress
) -> None:
    """Compute the features of documents again, from their stored texts.

    Args:
        conn: a connection in autocommit mode.
        selection: which documents.
        result: is filled while the run goes on.
        progress: is told of each batch.
    """
    for document_ids in batches(conn, selection, result):
        stored, changes = _retried(conn, partial(_reindex, conn, document_ids))
        result.add(changes, stored)
        result.overtaken += len(document_ids) - len(stored)
        progress.step(len(document_ids))


def batches(conn: psycopg.Connection, selection: Selection, result: Result) -> Iterator[list[int]]:
    """Give the documents of a selection in batches; `result` says how far they are done."""
    while document_ids := selection.ids_after(conn, result.last_id, BATCH_SIZE):
        yield document_ids
        result.last_id = document_ids[-1]


def _store(conn: psycopg.Connection, found: Sequence[_Found]) -> tuple[set[int], list[Change]]:
    """Store the entities of those whose text is still the one that was read."""
    rows = conn.execute(
        "select d.document_id from sherlock.documents as d"
        " join unnest(%s::bigint[], %s::timestamptz[]) as r (document_id, indexed_at)"
        " on r.document_id = d.document_id and r.indexed_at = d.indexed_at"
        " order by d.document_id for no key update of d",
        [[one.document_id for one in found], [one.indexed_at for one in found]],
    ).fetchall()
    kept = {row[0] for row in rows}
    with conn.cursor(row_factory=class_row(Change)) as cur:
        changes = cur.execute(
            "select * from sherlock.replace_entities(%s::bigint[], %s::jsonb[], %s::jsonb[])",
            [
                [one.document_id for one in found if one.document_id in kept],
                [Jsonb(one.entities) for one in found if one.document_id in kept],
                [Jsonb(one.processing) for one in found if one.document_id in kept],
            ],
        ).fetchall()
    return kept, changes


def _reindex(
    conn: psycopg.Connection, document_ids: Sequence[int]
) -> tuple[set[int], list[Change]]:
    """Compute the features of those that are still there."""
    rows = conn.execute(
        "select document_id from sherlock.documents where document_id = any(%s)"
        " order by document_id for no key update",
        [list(document_ids)],
    ).fetchall()
    kept = {row[0] for row in rows}
    with conn.cursor(row_factory=class_row(Change)) as cur:
        changes = cur.execute(
            "select * from sherlock.reindex(%s::bigint[])", [sorted(kept)]
        ).fetchall()
    return kept, changes


def _retried(conn: psycopg.Connection, work: Callable[[], _T]) -> _T:
    """Do the work in a transaction, again where others got in its way."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with conn.transaction():
                return work()
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
            if attempt == _ATTEMPTS:
                raise
            time.sleep(0.1 * attempt)
    raise AssertionError("unreachable")
