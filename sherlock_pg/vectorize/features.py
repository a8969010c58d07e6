"""All features of many texts at once: what `sherlock._index_canonical_texts` stores.

For whoever stores documents with their features instead of leaving these to SQL:

    maker = FeatureMaker.of_collection(conn, "default", bulk=True)
    features = maker.make(texts)

SQL defines every value; a property test compares them. What a maker has read of the collection can
change: `is_current` says, in the transaction that stores, whether features are still the ones that
SQL would compute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import psycopg
from numpy.typing import ArrayLike, NDArray
from psycopg.rows import class_row

from sherlock_pg.errors import from_psycopg
from sherlock_pg.vectorize import tfidf
from sherlock_pg.vectorize.canonical import tokens
from sherlock_pg.vectorize.containment import containment_samples
from sherlock_pg.vectorize.signature import Signer, has_kernel

if TYPE_CHECKING:
    from sherlock_pg.vectorize.compiled import CompiledMaker

FEATURE_VERSION: Final = 1
"""The rules that features are made by here; `sherlock.feature_version()` must be the same."""

SKETCH_BYTES: Final = 256
"""Bytes of a signature's sketch."""


@dataclass(frozen=True)
class Scheme:
    """What of a collection and its scheme decides how texts are signed.

    Attributes:
        collection_id: the collection.
        scheme_id: its scheme.
        shingle_kind: "word", "skeleton" or "char".
        shingle_width: words or characters in a shingle.
        band_count: bands of a signature, each of which gives a key.
        rows_per_band: slots in a band.
        min_shingles: different shingles that a text must have to be compared by them.
        stop_list_id: the list of boilerplate that is left out; None for none.
        feature_version: the rules that the database's features are made by.
    """

    collection_id: int
    scheme_id: int
    shingle_kind: str
    shingle_width: int
    band_count: int
    rows_per_band: int
    min_shingles: int
    stop_list_id: int | None
    feature_version: int

    @classmethod
    def of_collection(cls, conn: psycopg.Connection, collection: str) -> Self:
        """Read the scheme of a collection.

        Raises:
            UsageError: there is no such collection (SH002).
        """
        try:
            with conn.cursor(row_factory=class_row(cls)) as cursor:
                return cursor.execute(
                    "select c.collection_id, s.scheme_id, s.shingle_kind, s.shingle_width,"
                    " s.band_count, s.rows_per_band, s.min_shingles, s.stop_list_id,"
                    " sherlock.feature_version() as feature_version"
                    " from sherlock.collections as c"
                    " join sherlock.shingle_schemes as s using (scheme_id)"
                    " where c.collection_id = sherlock.collection_id(%s)",
                    [collection],
                ).fetchall()[0]
        except psycopg.Error as error:
            raise from_psycopg(error) from error

    def containment_samples(
        self, kept_shingles: NDArray[np.int64], counts: NDArray[np.integer[Any]]
    ) -> list[NDArray[np.int32]]:
        """Return the samples of texts by which containment is found.

        Args:
            kept_shingles: shingles of all texts in a row, boilerplate left out.
            counts: how many of them each text has.
        """
        return containment_samples(
            kept_shingles, counts, self.shingle_width, self.scheme_id, self.collection_id
        )


@dataclass(frozen=True, eq=False)
class ModelVectors:
    """Vectors of texts under one TF-IDF model, in compressed rows, and their sign bits.

    Row i is `indices[row_ends[i]:row_ends[i + 1]]` with `values` alike. It is empty for a text that
    is not indexed, for which nothing is stored, and for one without a known term, for which SQL
    stores the empty vector and no sign bits.

    Attributes:
        row_ends: where rows begin and end, one more than there are texts; int64.
        indices: features in ascending order, from 0 (SQL's sparsevec counts from 1 in its text
            form, from 0 in its binary form); int32.
        values: the weights; each row has length 1; float32.
        sign_bits: 64 bytes per text, PostgreSQL's bit(512), most significant bit first; zeros
            where the row is empty.
    """

    row_ends: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    sign_bits: NDArray[np.uint8]

    @property
    def has_terms(self) -> NDArray[np.bool_]:
        """Which rows are not empty."""
        return np.diff(self.row_ends) > 0


@dataclass(frozen=True, eq=False)
class Features:
    """Features of texts, everything in their order, one row or element for each.

    Attributes:
        canonical: the canonical texts, UTF-8 encoded.
        canonical_sha256: their SHA-256; None for an empty one.
        word_counts: words of the canonical texts; int32.
        text_states: "indexed", "short", "empty" or "excluded", as in `sherlock.documents`. Only an
            indexed text has a row in `sherlock.document_signatures`, keys, references and vectors.
        shingle_counts: shingles, repeats and boilerplate counted; int32.
        boilerplate_counts: how many of these stand on the scheme's list; int32.
        has_signature: which texts have a signature, sketch and band keys: those that are indexed
            and of which enough is left without the boilerplate.
        signatures: 128 slots; -1 where there is none; int32.
        sketches: 256 bytes, PostgreSQL's bit(2048), most significant bit first; zeros where
            there is none.
        band_keys: the keys under which the text is found; zeros where there is none; int64.
        containment_samples: the samples by which containment is found; int32, ascending.
        vectors: by model, active and building ones.
    """

    canonical: list[bytes]
    canonical_sha256: list[bytes | None]
    word_counts: NDArray[np.int32]
    text_states: list[str]
    shingle_counts: NDArray[np.int32]
    boilerplate_counts: NDArray[np.int32]
    has_signature: NDArray[np.bool_]
    signatures: NDArray[np.int32]
    sketches: NDArray[np.uint8]
    band_keys: NDArray[np.int64]
    containment_samples: list[NDArray[np.int32]]
    vectors: dict[int, ModelVectors]

    @property
    def is_indexed(self) -> NDArray[np.bool_]:
        """Which texts are indexed."""
        return np.array([state == "indexed" for state in self.text_states], np.bool_)


class FeatureMaker:
    """Makes the features of a collection's documents.

    Hashes of words are kept from call to call, so use one maker for many texts. Threads may share a
    maker that is compiled, and run at the same time; without the kernel give each thread its own.

    Args:
        scheme: how texts are signed.
        stop_shingles: the scheme's boilerplate.
        models: vocabularies of the models in use.
        projection: the projection that gives sign bits.
        bulk: whether to use the compiled kernel where numba is installed; see `of_collection`.
    """

    def __init__(
        self,
        scheme: Scheme,
        stop_shingles: ArrayLike,
        models: Mapping[int, tfidf.Vocabulary],
        projection: tfidf.Projection,
        *,
        bulk: bool = False,
    ) -> None:
        self.scheme = scheme
        self._models = dict(models)
        self._projection = projection
        self._signer = Signer(scheme.shingle_kind, scheme.shingle_width, stop_shingles)
        self._compiled: CompiledMaker | None = None
        if bulk and has_kernel():
            from sherlock_pg.vectorize.compiled import CompiledMaker

            self._compiled = CompiledMaker(scheme, stop_shingles, models, projection)

    @classmethod
    def of_collection(
        cls, conn: psycopg.Connection, collection: str, *, bulk: bool = False
    ) -> Self:
        """Read what features of a collection's documents are made by.

        Args:
            conn: a connection to a database with the schema.
            collection: name of the collection.
            bulk: thousands of texts will follow: worth the second that loading the compiled kernel
                takes where numba is installed (half a minute the first time, for compiling).

        Raises:
            UsageError: there is no such collection (SH002).
        """
        scheme = Scheme.of_collection(conn, collection)
        try:
            stop_shingles = conn.execute(
                "select s.shingle from sherlock.stop_shingles as s where s.stop_list_id = %s",
                [scheme.stop_list_id],
            ).fetchall()
            models = {
                model_id: tfidf.load(conn, model_id)
                for model_id in _model_ids(conn, scheme.collection_id)
            }
            projection = tfidf.load_projection(conn)
        except psycopg.Error as error:
            raise from_psycopg(error) from error
        return cls(scheme, [shingle for (shingle,) in stop_shingles], models, projection, bulk=bulk)

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled kernel makes the features."""
        return self._compiled is not None

    @property
    def model_ids(self) -> list[int]:
        """Models that vectors are made for, ascending."""
        return sorted(self._models)

    def is_current(self, conn: psycopg.Connection, collection: str) -> bool:
        """Whether SQL would make features of the collection as this maker does.

        A scheme's boilerplate and a model's vocabulary never change; which scheme the collection
        has, and which models, does. Lock the collection's row `for share` or `for key share`
        before, and the answer holds until the transaction ends.

        Raises:
            UsageError: there is no such collection any more (SH002).
        """
        return (
            Scheme.of_collection(conn, collection) == self.scheme
            and _model_ids(conn, self.scheme.collection_id) == self.model_ids
        )

    def make(self, texts: Sequence[str], is_excluded: Sequence[bool] | None = None) -> Features:
        """Make the features of texts.

        Args:
            texts: the documents' contents; not necessarily canonical.
            is_excluded: which of them are kept out of the fuzzy levels, as
                `sherlock._is_excluded(flags, accepted_at)` tells; None for none of them.

        Returns:
            All features but the references; `Features` tells which of them are stored.
        """
        excluded = np.zeros(len(texts), np.bool_)
        if is_excluded is not None:
            excluded[:] = is_excluded
        if self._compiled is not None:
            return self._compiled.make(texts, excluded)
        canonical = [b" ".join(tokens(text)) for text in texts]
        samples: list[NDArray[np.int32]] = []

        def add_samples(kept: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
            samples.extend(self.scheme.containment_samples(kept, counts))

        signed, has_enough, has_enough_left = self._signer.sign_enough(
            canonical, self.scheme.min_shingles, add_samples
        )
        states = text_states(signed.shingle_counts, has_enough, excluded)
        is_indexed = has_enough & ~excluded
        has_signature = is_indexed & has_enough_left
        signatures = np.where(has_signature[:, None], signed.signatures, np.int32(-1))
        return Features(
            canonical=canonical,
            canonical_sha256=[
                hashlib.sha256(text).digest() if text else None for text in canonical
            ],
            word_counts=np.array(
                [text.count(b" ") + 1 if text else 0 for text in canonical], np.int32
            ),
            text_states=states,
            shingle_counts=signed.shingle_counts.astype(np.int32),
            boilerplate_counts=signed.boilerplate_counts.astype(np.int32),
            has_signature=has_signature,
            signatures=signatures,
            sketches=self._sketches(signatures, has_signature),
            band_keys=self._band_keys(signatures, has_signature),
            containment_samples=samples,
            vectors={
                model_id: self._vectors(vocabulary, canonical, is_indexed)
                for model_id, vocabulary in self._models.items()
            },
        )

    def _sketches(
        self, signatures: NDArray[np.int32], has_signature: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        sketches = np.zeros((len(signatures), SKETCH_BYTES), np.uint8)
        joined = b"".join(self._signer.sketches(signatures[has_signature]))
        sketches[has_signature] = np.frombuffer(joined, np.uint8).reshape(-1, SKETCH_BYTES)
        return sketches

    def _band_keys(
        self, signatures: NDArray[np.int32], has_signature: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        scheme = self.scheme
        keys = np.zeros((len(signatures), scheme.band_count), np.int64)
        keys[has_signature] = self._signer.band_keys(
            signatures[has_signature],
            scheme.scheme_id,
            scheme.collection_id,
            scheme.band_count,
            scheme.rows_per_band,
        )
        return keys

    def _vectors(
        self, vocabulary: tfidf.Vocabulary, canonical: list[bytes], is_indexed: NDArray[np.bool_]
    ) -> ModelVectors:
        rows = vocabulary.rows(
            text.decode() if indexed else ""
            for text, indexed in zip(canonical, is_indexed, strict=True)
        )
        bits = tfidf.signs_of_rows(rows, self._projection)
        return ModelVectors(
            row_ends=rows.row_ends,
            indices=rows.columns,
            values=rows.weights,
            sign_bits=np.packbits(bits, axis=1),
        )


def _model_ids(conn: psycopg.Connection, collection_id: int) -> list[int]:
    rows: list[tuple[Any, ...]] = conn.execute(
        "select m.model_id from sherlock.tfidf_models as m"
        " where m.collection_id = %s and m.status in ('active', 'building') order by m.model_id",
        [collection_id],
    ).fetchall()
    return [model_id for (model_id,) in rows]


def text_states(
    shingle_counts: NDArray[np.integer[Any]],
    has_enough: NDArray[np.bool_],
    is_excluded: NDArray[np.bool_],
) -> list[str]:
    """Return `Features.text_states`, as `sherlock._text_state` gives it."""
    states = np.select(
        [is_excluded, shingle_counts == 0, ~has_enough],
        ["excluded", "empty", "short"],
        "indexed",
    )
    return [str(state) for state in states.tolist()]
