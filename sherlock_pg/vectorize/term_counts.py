"""Terms of a sample, counted in arrays: the same counts as scikit-learn's `CountVectorizer`.

That one makes a string and an entry of a dictionary for each of the millions of pairs of words that
occur once; a fit on 20,000 texts took most of its time there.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class TermCounts:
    """How often the n-grams of texts occur.

    Args:
        texts: the tokens of each text.
        ngram_range: shortest and longest n-gram, in tokens; the longest is 2.

    Attributes:
        document_count: how many texts there were.
    """

    def __init__(self, texts: Iterable[Sequence[str]], ngram_range: tuple[int, int]) -> None:
        number_of: defaultdict[str, int] = defaultdict()
        number_of.default_factory = number_of.__len__
        numbers = array("q")
        lengths = array("q")
        for tokens in texts:
            numbers.extend(map(number_of.__getitem__, tokens))
            lengths.append(len(tokens))
        self._words = list(number_of)
        self.document_count = len(lengths)
        occurring = np.array(numbers, np.int64)
        owners = np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))
        is_pair = owners[1:] == owners[:-1]
        codes, code_owners = [occurring[:0]], [owners[:0]]
        if ngram_range[0] == 1:
            codes.append(occurring)
            code_owners.append(owners)
        if ngram_range[1] == 2:
            # Above all words, so that a code tells which of the two it is.
            first, second = occurring[:-1][is_pair] + 1, occurring[1:][is_pair]
            codes.append(first * len(self._words) + second)
            code_owners.append(owners[1:][is_pair])
        self._owners = np.concatenate(code_owners)
        self._codes, self._columns, self._frequencies = np.unique(
            np.concatenate(codes), return_inverse=True, return_counts=True
        )

    def __len__(self) -> int:
        """Return how many different terms there are."""
        return len(self._codes)

    def most_frequent(self, limit: int) -> tuple[list[str], csr_matrix]:
        """Return the most frequent terms in code point order, and how often each text has each.

        Where terms are equally frequent at the limit, shorter n-grams go before longer ones, then
        smaller terms in code point order.
        """
        from scipy.sparse import csr_matrix

        if len(self) > limit:
            least = np.partition(self._frequencies, -limit)[-limit]
            candidates = np.flatnonzero(self._frequencies >= least)
        else:
            candidates = np.arange(len(self))
        terms = {column: self._term(int(self._codes[column])) for column in candidates.tolist()}
        ranked = sorted(
            terms,
            key=lambda column: (
                -self._frequencies[column],
                terms[column].count(" "),
                terms[column],
            ),
        )
        kept = sorted(ranked[:limit], key=terms.__getitem__)
        places: NDArray[np.int64] = np.full(len(self), -1)
        places[kept] = np.arange(len(kept))
        columns = places[self._columns]
        is_kept = columns >= 0
        counts = csr_matrix(
            (np.ones(is_kept.sum()), (self._owners[is_kept], columns[is_kept])),
            shape=(self.document_count, len(kept)),
        )
        counts.sum_duplicates()
        return [terms[column] for column in kept], counts

    def _term(self, code: int) -> str:
        word_count = len(self._words)
        if code < word_count:
            return self._words[code]
        first, second = divmod(code, word_count)
        return f"{self._words[first - 1]} {self._words[second]}"
