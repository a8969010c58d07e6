"""Entities of many texts, by the extraction that `sherlock-pg load` runs, on several processors."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from sherlock_pg.load.reading import entity_row
from sherlock_pg.ner.pipeline import PartyExtractor

_parties: PartyExtractor | None = None
"""The extraction of a child process."""


class EntityExtraction:
    """Looks for entities in the background.

    Args:
        pool: does the work: processes, or one thread.
        parties: the extraction, if the work is done in this process.
    """

    def __init__(self, pool: Executor, parties: PartyExtractor | None) -> None:
        self._pool = pool
        self._parties = parties

    def rows(self, texts: list[str]) -> Iterator[list[dict[str, Any]]]:
        """Give the entities of each text as `sherlock.store_entities` takes them, in order."""
        if self._parties is None:
            return self._pool.map(_rows_in_child, texts, chunksize=4)
        parties = self._parties
        return self._pool.map(lambda text: _rows(parties, text), texts)


@contextlib.contextmanager
def entity_extraction(model: str, workers: int) -> Iterator[EntityExtraction]:
    """Open an extraction; with one worker it is a thread, with more they are processes.

    Raises:
        EnvironmentFault: a model is named that is not there.
    """
    parties = PartyExtractor(model)
    pool: Executor
    if workers == 1:
        pool = ThreadPoolExecutor(1, thread_name_prefix="entities")
        extraction = EntityExtraction(pool, parties)
    else:
        pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_child,
            initargs=(model,),
        )
        extraction = EntityExtraction(pool, None)
    try:
        yield extraction
    finally:
        # What is begun ends by itself; after an error nothing else is begun.
        pool.shutdown(wait=True, cancel_futures=True)


def _start_child(model: str) -> None:
    global _parties
    # Ctrl-C goes to all processes of a terminal: the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _parties = PartyExtractor(model)


def _rows_in_child(text: str) -> list[dict[str, Any]]:
    assert _parties is not None
    return _rows(_parties, text)


def _rows(parties: PartyExtractor, text: str) -> list[dict[str, Any]]:
    return [entity_row(entity) for entity in parties.extract(text)]
