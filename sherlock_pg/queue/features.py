"""Features made beside the text, so that the database need not.

They are what `sherlock.finish_document` takes as p_features. SQL defines them; where the scheme or
the models have changed since, it computes what is needed itself, and says so.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import psycopg

from sherlock_pg.db.tables import MAX_FEATURES
from sherlock_pg.vectorize.features import FeatureMaker, Features, ModelVectors, Scheme
from sherlock_pg.vectorize.references import references

_MAX_MAKERS = 8
"""Collections whose vocabularies are kept, some megabytes each."""


class TextFeatures:
    """Makes features of texts of any collection; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._makers: OrderedDict[int, FeatureMaker] = OrderedDict()

    def make(self, conn: psycopg.Connection, collection_id: int, text: str) -> dict[str, Any]:
        """Make the features of a text.

        Args:
            conn: a connection, asked for what the collection's features are made by.
            collection_id: the collection.
            text: the content as it will be stored.
        """
        with self._lock:
            maker = self._makers.get(collection_id)
            if maker is None:
                maker = _load(conn, collection_id)
                self._makers[collection_id] = maker
            self._makers.move_to_end(collection_id)
            if len(self._makers) > _MAX_MAKERS:
                self._makers.popitem(last=False)
            features = maker.make([text])
        found = references(text, features.canonical[0])
        return {
            **_values(maker.scheme, features),
            "numbers": found.numbers,
            "dates": [date.isoformat() for date in found.dates],
        }

    def forget(self, collection_id: int) -> None:
        """Read anew, the next time, what the collection's features are made by."""
        with self._lock:
            self._makers.pop(collection_id, None)


def _load(conn: psycopg.Connection, collection_id: int) -> FeatureMaker:
    row = conn.execute(
        "select c.name from sherlock.collections as c where c.collection_id = %s", [collection_id]
    ).fetchone()
    if row is None:
        raise RuntimeError(f"collection {collection_id} vanished")
    return FeatureMaker.of_collection(conn, row[0])


def _values(scheme: Scheme, features: Features) -> dict[str, Any]:
    """Return the features of one text as SQL reads them: arrays and bits in their text form."""
    digest = features.canonical_sha256[0]
    is_signed = bool(features.has_signature[0])
    return {
        "scheme_id": scheme.scheme_id,
        "stop_list_id": scheme.stop_list_id,
        "feature_version": scheme.feature_version,
        "canonical": features.canonical[0].decode(),
        "canonical_sha256": None if digest is None else digest.hex(),
        "word_count": int(features.word_counts[0]),
        "text_state": features.text_states[0],
        "shingle_count": int(features.shingle_counts[0]),
        "boilerplate_count": int(features.boilerplate_counts[0]),
        "signature": _array(features.signatures[0].tolist()) if is_signed else None,
        "sketch": f"x{features.sketches[0].tobytes().hex()}" if is_signed else None,
        "band_keys": _array(features.band_keys[0].tolist()) if is_signed else None,
        "containment_sample": _array(features.containment_samples[0].tolist()),
        "vectors": {
            str(model_id): _vector(vectors) for model_id, vectors in features.vectors.items()
        },
    }


def _vector(vectors: ModelVectors) -> dict[str, str | None]:
    # Nine digits tell all numbers of single precision apart.
    entries = map(
        "%d:%.9g".__mod__,
        zip((vectors.indices + 1).tolist(), vectors.values.tolist(), strict=True),
    )
    return {
        "vector": f"{{{','.join(entries)}}}/{MAX_FEATURES}",
        "sign_bits": f"x{vectors.sign_bits[0].tobytes().hex()}" if vectors.has_terms[0] else None,
    }


def _array(numbers: list[int]) -> str:
    return f"{{{','.join(map(str, numbers))}}}"
