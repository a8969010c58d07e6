"""The sample of a text by which containment is found, as `sherlock._containment_sample` makes it.

Of a text without its boilerplate, each shingle whose hash is divisible by `SAMPLE_RATE` is chosen,
whichever text it stands in, so a passage brings its sample along. What is stored in
`sherlock.document_signatures.containment_sample` is, for each, the upper half of a hash of it and
the shingle that begins where it ends, seeded by scheme and collection; distinct and ascending.
Every indexed document has a sample, if only an empty one.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sherlock_pg.vectorize.pghash import hash_int8_extended

SAMPLE_RATE: Final = 12

_LOWEST: Final = 1 << 31


def containment_samples(
    kept_shingles: NDArray[np.int64],
    counts: NDArray[np.integer[Any]],
    width: int,
    scheme_id: int,
    collection_id: int,
) -> list[NDArray[np.int32]]:
    """Return the samples of texts.

    Args:
        kept_shingles: the shingles of all texts in a row, in their order, repeats included,
            boilerplate left out.
        counts: how many of them each text has.
        width: words or characters in a shingle.
        scheme_id: the scheme of the shingles.
        collection_id: the collection of the documents.
    """
    ends = np.cumsum(counts, dtype=np.int64)
    chosen = np.flatnonzero(kept_shingles % SAMPLE_RATE == 0)
    owners = np.searchsorted(ends, chosen, side="right")
    is_followed = chosen + width < ends[owners]
    chosen, owners = chosen[is_followed], owners[is_followed]
    runs = hash_int8_extended(kept_shingles[chosen + width], kept_shingles[chosen])
    seed = hash_int8_extended(
        np.array([collection_id]), hash_int8_extended(np.array([scheme_id]), 0)
    )
    keys = hash_int8_extended(runs, np.repeat(seed, len(runs))) >> 32
    # Ascending by text, then by key: what is added makes the keys positive.
    distinct = np.unique(owners << 32 | keys + _LOWEST)
    samples = ((distinct & 0xFFFFFFFF) - _LOWEST).astype(np.int32)
    begins = np.searchsorted(distinct >> 32, np.arange(len(ends) + 1)).tolist()
    return [samples[begin:end] for begin, end in itertools.pairwise(begins)]
