"""Which pairs really resemble each other: exact Jaccard of sampled texts with all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

_WORD = re.compile(r"\w+")
_CHUNK = 100

Pair = tuple[int, int]


@dataclass(frozen=True)
class Agreement:
    """How the pairs found agree with those that there are.

    Attributes:
        precision: share of the pairs found whose exact Jaccard is the threshold or more.
        recall: share of the pairs with that Jaccard that were found.
        pairs: how many there are.
    """

    precision: float
    recall: float
    pairs: int


def true_pairs(
    texts: Sequence[str], sample_size: int, threshold: float, seed: int
) -> tuple[frozenset[int], frozenset[Pair]]:
    """Compare sampled texts with all texts.

    Args:
        texts: all texts; a pair is named by their positions, the lesser first.
        sample_size: how many are sampled.
        threshold: least Jaccard of the sets of their shingles of two words.
        seed: of the sample.

    Returns:
        The sample, and the pairs that one of it is in.
    """
    matrix = _shingle_matrix(texts)
    sizes = np.diff(matrix.indptr)
    transposed = matrix.T.tocsr()
    sample = np.sort(np.random.default_rng(seed).choice(len(texts), sample_size, replace=False))
    pairs: set[Pair] = set()
    for start in range(0, len(sample), _CHUNK):
        rows = sample[start : start + _CHUNK]
        shared = (matrix[rows] @ transposed).tocoo()
        lefts, rights = rows[shared.row], shared.col
        unions = sizes[lefts] + sizes[rights] - shared.data
        is_pair = (shared.data >= threshold * unions) & (lefts != rights)
        pairs.update(
            (min(pair), max(pair))
            for pair in zip(lefts[is_pair].tolist(), rights[is_pair].tolist(), strict=True)
        )
    return frozenset(sample.tolist()), frozenset(pairs)


def agreement(found: set[Pair], sample: frozenset[int], truth: frozenset[Pair]) -> Agreement:
    """Compare pairs found with the true ones, of sampled texts only."""
    of_sample = {pair for pair in found if pair[0] in sample or pair[1] in sample}
    both = len(of_sample & truth)
    return Agreement(both / max(1, len(of_sample)), both / max(1, len(truth)), len(truth))


def _shingle_matrix(texts: Sequence[str]) -> csr_array:
    numbers: dict[str, int] = {}
    indices: list[int] = []
    ends = [0]
    for text in texts:
        words = _WORD.findall(text.lower())
        shingles = {f"{one} {other}" for one, other in zip(words, words[1:], strict=False)}
        indices += [numbers.setdefault(shingle, len(numbers)) for shingle in shingles]
        ends.append(len(indices))
    return csr_array(
        (np.ones(len(indices), np.int32), np.array(indices, np.int32), np.array(ends)),
        shape=(len(texts), len(numbers)),
    )
