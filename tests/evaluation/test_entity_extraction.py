"""Entities in the background: processes find what a thread finds, and the end is quick."""

from __future__ import annotations

import time

import pytest

from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.evaluation.corpus import LabelledCorpus
from sherlock_pg.evaluation.extraction import entity_extraction


def test_processes_find_what_a_thread_finds(corpus: LabelledCorpus) -> None:
    texts = [document.text for document in corpus.documents]
    with entity_extraction("none", 1) as one, entity_extraction("none", 2) as two:
        alone, together = list(one.rows(texts)), list(two.rows(texts))
    assert together == alone
    assert all(any(row["role"] == "demandante" for row in rows) for rows in alone)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_ends_it_before_all_is_read(corpus: LabelledCorpus, workers: int) -> None:
    texts = [document.text for document in corpus.documents] * 400
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), entity_extraction("none", workers) as extraction:
        next(extraction.rows(texts))
        raise KeyboardInterrupt
    assert time.monotonic() - started < 30


def test_a_model_that_is_not_there_is_named_at_once() -> None:
    with pytest.raises(EnvironmentFault), entity_extraction("no_such_model", 2):
        pass
