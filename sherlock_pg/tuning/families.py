"""Families of documents, and folds that no family straddles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.tuning.ensemble import Ranks


def families(pairs: Sequence[ScoredPair]) -> Ranks:
    """Return a number for each pair: documents that pairs connect are one family."""
    parents: dict[str, str] = {}

    def root(document: str) -> str:
        parents.setdefault(document, document)
        while parents[document] != document:
            parents[document] = parents[parents[document]]
            document = parents[document]
        return document

    for pair in pairs:
        parents[root(pair.left)] = root(pair.right)
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(root(pair.left), len(numbers)) for pair in pairs], dtype=np.int64
    )


def folds(family: Ranks, count: int, seed: int) -> Ranks:
    """Return a fold for each pair: whole families, in random order, the largest first.

    Each goes into the fold that has the fewest pairs so far.
    """
    sizes = Counter(family.tolist())
    shuffled = np.random.default_rng(seed).permutation(sorted(sizes)).tolist()
    filled = [0] * count
    fold_of: dict[int, int] = {}
    for name in sorted(shuffled, key=lambda name: -sizes[name]):
        fold_of[name] = filled.index(min(filled))
        filled[fold_of[name]] += sizes[name]
    return np.array([fold_of[name] for name in family.tolist()], dtype=np.int64)
