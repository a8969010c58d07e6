"""The sample of a text by which containment is found, as `sherlock._containment_sample` makes it.

Of a text without its boilerplate, each shingle whose hash is divisible by `SAMPLE_RATE` is chosen,
whichever text it stands in, so a passage brings its sample along. What is stored in
`sherlock.document_signatures.containment_sample` is, for each, the upper half of a hash of it and
the shingle that begins where it ends, seeded by scheme and collection; distinct and ascending.
Every indexed document has a sample, if only an empty one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sherlock_pg.vectorize.pghash import hash_int8_extended

SAMPLE_RATE: Final = 12


def containment_sample(
    kept_shingles: NDArray[np.int64], width: int, scheme_id: int, collection_id: int
) -> NDArray[np.int32]:
    """Return the sample of a text.

    Args:
        kept_shingles: the text's shingles in their order, repeats included, boilerplate left out.
        width: words or characters in a shingle.
        scheme_id: the scheme of the shingles.
        collection_id: the collection of the document.
    """
    chosen = np.flatnonzero(kept_shingles[:-width] % SAMPLE_RATE == 0)
    runs = hash_int8_extended(kept_shingles[chosen + width], kept_shingles[chosen])
    seed = hash_int8_extended(
        np.array([collection_id]), hash_int8_extended(np.array([scheme_id]), 0)
    )
    keys = hash_int8_extended(runs, np.repeat(seed, len(runs))) >> 32
    return np.unique(keys).astype(np.int32)
