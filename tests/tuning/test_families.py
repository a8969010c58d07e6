"""No document stands on both sides of a split."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.tuning.families import families, folds


def pair(left: int, right: int) -> ScoredPair:
    values: dict[str, Any] = dict.fromkeys(
        ("minhash", "tfidf", "entity", "score", "confidence", "reported")
    )
    return ScoredPair(
        left=str(left),
        right=str(right),
        is_duplicate=True,
        kind="made",
        doc_type="default",
        is_same_text=False,
        has_conflict=False,
        retrieved_by=frozenset(),
        **values,
    )


edges = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=50)


@given(edges=edges, count=st.integers(2, 6), seed=st.integers(0, 3))
@settings(max_examples=100)
def test_documents_stay_together(edges: list[tuple[int, int]], count: int, seed: int) -> None:
    pairs = [pair(left, right) for left, right in edges]
    family = families(pairs)
    fold = folds(family, count, seed)
    fold_of: dict[str, set[int]] = {}
    for one, number in zip(pairs, fold.tolist(), strict=True):
        for document in (one.left, one.right):
            fold_of.setdefault(document, set()).add(number)
    assert all(len(numbers) == 1 for numbers in fold_of.values())


def test_families_are_the_connected_components() -> None:
    family = families([pair(1, 2), pair(3, 4), pair(5, 6), pair(2, 3)]).tolist()
    assert family[0] == family[1] == family[3] != family[2]


def test_folds_are_even_and_follow_the_seed() -> None:
    family = np.arange(100)
    first = folds(family, 5, seed=7)
    assert np.bincount(first).tolist() == [20] * 5
    assert folds(family, 5, seed=7).tolist() == first.tolist()
    assert folds(family, 5, seed=8).tolist() != first.tolist()
