"""Features in bulk by the compiled kernel; equal to those that `features.py` makes without it.

Importing this module imports numba, which is an optional dependency, and loads or compiles what
is called: a second where an earlier process has compiled it, half a minute where none has.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sherlock_pg.db.tables import PROJECTION_BITS
from sherlock_pg.vectorize import _kernel, tfidf
from sherlock_pg.vectorize.canonical import ASCII_IMAGES, image_of
from sherlock_pg.vectorize.features import (
    SKETCH_BYTES,
    Features,
    ModelVectors,
    Scheme,
    text_states,
)
from sherlock_pg.vectorize.pghash import hash_text_extended
from sherlock_pg.vectorize.signature import SLOT_COUNT, Signed, band_prefixes

_CHUNK_CHARACTERS: Final = 1 << 18  # so few that what one step writes the next finds in the cache
_PAGE: Final = 1 << _kernel.PAGE_BITS
_PAGE_COUNT: Final = 0x110000 >> _kernel.PAGE_BITS


class CompiledSigner:
    """Signs texts as `signature.Signer` describes; threads may share one.

    Args:
        kind: "word", "skeleton" or "char".
        width: words or characters in a shingle.
        stop_shingles: boilerplate.
    """

    def __init__(self, kind: str, width: int, stop_shingles: ArrayLike) -> None:
        self._kind = kind
        self._width = width
        self._stop_table, self._stop_absent = _stop_table(
            np.unique(np.asarray(stop_shingles, np.int64))
        )
        self._images = _Images()

    def sign(self, texts: Sequence[str]) -> Signed:
        """Sign texts; see `Signer.sign`."""
        made = _Made.empty(len(texts), band_count=0)
        for chunk in _chunks(texts):
            part = made.part(chunk)
            self.sign_canonical(self.canonicalise(texts[chunk], part), 1, part)
        return Signed(
            made.signatures,
            made.shingle_counts.astype(np.int64),
            (made.shingle_counts - made.kept_counts).astype(np.int64),
        )

    def canonicalise(self, texts: Sequence[str], part: _Made) -> _Buffer:
        """Return the canonical texts, and write how many words each of them has."""
        return self._images.canonicalise(texts, part.word_counts)

    def sign_canonical(
        self, canonical: _Buffer, min_shingles: int, part: _Made, skeletons: _Words | None = None
    ) -> NDArray[np.int64]:
        """Write shingle counts, and the signatures of texts with enough different shingles.

        Returns the shingles of all texts in a row, boilerplate left out.

        Args:
            canonical: the texts.
            min_shingles: how many are enough.
            part: what is written.
            skeletons: the words of the texts' skeletons, where the caller has them already.
        """
        if self._kind == "char":
            hashes, ends = canonical.hash_characters()
        else:
            words = canonical.hash_words() if self._kind == "word" else skeletons
            hashes, _, _, ends = words or canonical.skeletons().hash_words()
        kept = np.empty(len(hashes), np.int64)
        kept_count = _kernel.sign(
            hashes,
            ends,
            self._width,
            self._stop_table,
            self._stop_absent,
            min_shingles,
            part.shingle_counts,
            part.kept_counts,
            part.has_enough,
            part.has_signature,
            part.signatures,
            kept,
        )
        return kept[:kept_count]


class CompiledMaker:
    """Makes features as `features.FeatureMaker` describes; threads may share one.

    Args:
        scheme: how texts are signed.
        stop_shingles: its boilerplate.
        models: vocabularies of the models in use.
        projection: the projection that gives sign bits.
    """

    def __init__(
        self,
        scheme: Scheme,
        stop_shingles: ArrayLike,
        models: Mapping[int, tfidf.Vocabulary],
        projection: tfidf.Projection,
    ) -> None:
        self._scheme = scheme
        self._signer = CompiledSigner(scheme.shingle_kind, scheme.shingle_width, stop_shingles)
        self._prefixes = band_prefixes(scheme.scheme_id, scheme.collection_id, scheme.band_count)
        self._dictionaries = {
            model_id: _dictionary(vocabulary) for model_id, vocabulary in models.items()
        }
        self._folding = np.ascontiguousarray(projection.folding, np.float32)
        self._directions = np.ascontiguousarray(projection.directions.T, np.int8)

    def make(self, texts: Sequence[str], is_excluded: NDArray[np.bool_]) -> Features:
        """Make the features of texts; see `FeatureMaker.make`."""
        made = _Made.empty(len(texts), self._scheme.band_count)
        canonical: list[bytes] = []
        samples: list[NDArray[np.int32]] = []
        vectors: dict[int, list[ModelVectors]] = {model_id: [] for model_id in self._dictionaries}
        for chunk in _chunks(texts):
            part = made.part(chunk)
            read = self._signer.canonicalise(texts[chunk], part)
            canonical += read.texts()
            skeletons = read.skeletons() if self._dictionaries else None
            words = skeletons.hash_words() if skeletons is not None else None
            kept = self._signer.sign_canonical(read, self._scheme.min_shingles, part, words)
            samples += self._scheme.containment_samples(kept, part.kept_counts)
            part.has_signature[:] &= ~is_excluded[chunk]
            part.signatures[~part.has_signature] = -1
            _kernel.sketch(part.signatures, part.has_signature, part.sketches)
            _kernel.key_bands(
                part.signatures,
                part.has_signature,
                self._prefixes,
                self._scheme.rows_per_band,
                part.band_keys,
            )
            if skeletons is not None and words is not None:
                is_indexed = part.has_enough & ~is_excluded[chunk]
                for model_id, dictionary in self._dictionaries.items():
                    vectors[model_id].append(
                        self._vectorise(dictionary, skeletons, words, is_indexed)
                    )
        return Features(
            canonical=canonical,
            canonical_sha256=[
                hashlib.sha256(text).digest() if text else None for text in canonical
            ],
            word_counts=made.word_counts,
            text_states=text_states(made.shingle_counts, made.has_enough, is_excluded),
            shingle_counts=made.shingle_counts,
            boilerplate_counts=made.shingle_counts - made.kept_counts,
            has_signature=made.has_signature,
            signatures=made.signatures,
            sketches=made.sketches,
            band_keys=made.band_keys,
            containment_samples=samples,
            vectors={model_id: _concatenated(parts) for model_id, parts in vectors.items()},
        )

    def _vectorise(
        self,
        dictionary: _kernel.Dictionary,
        skeletons: _Buffer,
        words: _Words,
        is_indexed: NDArray[np.bool_],
    ) -> ModelVectors:
        most = 2 * len(words.hashes)
        row_ends = np.zeros(len(skeletons.ends) + 1, np.int64)
        indices = np.empty(most, np.int32)
        values = np.empty(most, np.float32)
        bits = np.zeros((len(skeletons.ends), PROJECTION_BITS // 8), np.uint8)
        count = _kernel.vectorise(
            dictionary, skeletons.letters, *words, is_indexed, row_ends[1:], indices, values
        )
        _kernel.project(row_ends[1:], indices, values, self._folding, self._directions, bits)
        return ModelVectors(row_ends, indices[:count], values[:count], bits)


class _Made(NamedTuple):
    """What the kernel writes, a row or element per text."""

    word_counts: NDArray[np.int32]
    shingle_counts: NDArray[np.int32]
    kept_counts: NDArray[np.int32]
    has_enough: NDArray[np.bool_]
    has_signature: NDArray[np.bool_]
    signatures: NDArray[np.int32]
    sketches: NDArray[np.uint8]
    band_keys: NDArray[np.int64]

    @classmethod
    def empty(cls, count: int, band_count: int) -> _Made:
        return cls(
            np.zeros(count, np.int32),
            np.zeros(count, np.int32),
            np.zeros(count, np.int32),
            np.zeros(count, np.bool_),
            np.zeros(count, np.bool_),
            np.full((count, SLOT_COUNT), -1, np.int32),
            np.zeros((count, SKETCH_BYTES), np.uint8),
            np.zeros((count, band_count), np.int64),
        )

    def part(self, chunk: slice) -> _Made:
        """Give a view of some texts."""
        return _Made(
            self.word_counts[chunk],
            self.shingle_counts[chunk],
            self.kept_counts[chunk],
            self.has_enough[chunk],
            self.has_signature[chunk],
            self.signatures[chunk],
            self.sketches[chunk],
            self.band_keys[chunk],
        )


class _Words(NamedTuple):
    """The words of texts in a row."""

    hashes: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ends: NDArray[np.int64]


class _Buffer(NamedTuple):
    """Canonical texts or skeletons in a row."""

    letters: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def empty(cls, size: int, count: int) -> _Buffer:
        # Zeros, not garbage, because words are loaded with what stands behind them.
        return cls(np.zeros(size + _kernel.SLACK, np.uint8), np.zeros(count, np.int64))

    @property
    def size(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def texts(self) -> list[bytes]:
        joined = self.letters[: self.size].tobytes()
        ends = self.ends.tolist()
        return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def skeletons(self) -> _Buffer:
        skeletons = _Buffer.empty(self.size, len(self.ends))
        _kernel.skeletonise(self.letters, self.ends, *skeletons)
        return skeletons

    def hash_words(self) -> _Words:
        most = self.size // 2 + len(self.ends)
        words = _Words(
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(len(self.ends), np.int64),
        )
        _kernel.hash_words(self.letters, self.ends, *words)
        return words

    def hash_characters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        hashes = np.empty(self.size, np.int64)
        ends = np.empty(len(self.ends), np.int64)
        _kernel.hash_characters(self.letters, self.ends, hashes, ends)
        return hashes, ends


class _Images:
    """The images of characters, as `canonical.image_of` gives them, filled page by page.

    Threads may use it together: what one of them reads by, no other changes.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], int] = {}
        self._filling = threading.Lock()
        self._images = _kernel.Images(
            np.full(_PAGE_COUNT, -1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint8)
        )
        self._fill(0)

    def canonicalise(self, texts: Sequence[str], word_counts: NDArray[np.int32]) -> _Buffer:
        """Return the canonical texts, and write how many words each of them has."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        source = np.frombuffer(b"".join(encoded), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        size = len(source) + len(source) // 8
        while True:
            canonical = _Buffer.empty(size, len(texts))
            status, page = _kernel.canonicalise(
                source, ends, self._images, canonical.letters, canonical.ends, word_counts
            )
            if status == _kernel.DONE:
                return canonical
            if status == _kernel.NO_PAGE:
                self._fill(page)
            else:
                size *= 2

    def _fill(self, page: int) -> None:
        codes = range(page * _PAGE, (page + 1) * _PAGE)
        images = tuple(image_of(code).encode().translate(ASCII_IMAGES) for code in codes)
        with self._filling:
            pages, entries, pool = self._images
            if images not in self._known:  # most pages without letters are alike
                self._known[images] = len(self._known)
                lengths = np.fromiter(map(len, images), np.int64, _PAGE)
                starts = len(pool) + np.cumsum(lengths) - lengths
                entries = np.concatenate([entries, (starts << 8 | lengths).astype(np.int32)])
                pool = np.concatenate([pool, np.frombuffer(b"".join(images), np.uint8)])
            pages = pages.copy()
            pages[page] = self._known[images]
            self._images = _kernel.Images(pages, entries, pool)


def _chunks(texts: Sequence[str]) -> Iterator[slice]:
    """Cut the texts into runs of bounded length."""
    start = size = 0
    for index, length in enumerate(map(len, texts)):
        if size and size + length > _CHUNK_CHARACTERS:
            yield slice(start, index)
            start, size = index, 0
        size += length
    if start < len(texts):
        yield slice(start, len(texts))


def _concatenated(parts: Sequence[ModelVectors]) -> ModelVectors:
    lengths = [np.diff(part.row_ends) for part in parts]
    return ModelVectors(
        row_ends=np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum(),
        indices=np.concatenate([np.zeros(0, np.int32), *(part.indices for part in parts)]),
        values=np.concatenate([np.zeros(0, np.float32), *(part.values for part in parts)]),
        sign_bits=np.concatenate(
            [np.zeros((0, PROJECTION_BITS // 8), np.uint8), *(part.sign_bits for part in parts)]
        ),
    )


def _stop_table(shingles: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return an open-addressing table of shingles, and what stands in its empty places."""
    if len(shingles) == 0:
        return shingles, 0
    listed = set(shingles.tolist())
    absent = next(key for key in range(len(listed) + 1) if key not in listed)
    table = [absent] * _table_size(len(listed))
    for shingle in listed:
        table[_free_place(table, absent, shingle & (len(table) - 1))] = shingle
    return np.array(table, np.int64), absent


def _dictionary(vocabulary: tfidf.Vocabulary) -> _kernel.Dictionary:
    """Arrange a vocabulary for looking up.

    A term of one token is a feature where n-grams begin at 1, one of two where they end at 2; terms
    that no text can have are kept out.
    """
    ngram_min, ngram_max = vocabulary.ngram_range
    numbers: dict[bytes, int] = {}
    alone: dict[int, int] = {}
    pairs: dict[int, int] = {}
    for feature, term in enumerate(vocabulary.terms):
        own = [numbers.setdefault(token, len(numbers)) for token in term.encode().split(b" ")]
        if len(own) == ngram_min == 1:
            alone[own[0]] = feature
        elif len(own) == ngram_max == 2:
            pairs[own[0] << 32 | own[1]] = feature
    tokens = list(numbers)
    hashes = hash_text_extended(tokens)
    table = [-1] * _table_size(len(tokens))
    for number, hash_ in enumerate(hashes.tolist()):
        table[_free_place(table, -1, hash_ & (len(table) - 1))] = number
    pair_keys = [-1] * _table_size(len(pairs))
    pair_features = [-1] * len(pair_keys)
    for pair, feature in pairs.items():
        place = _free_place(pair_keys, -1, int(_kernel.slot_of_pair(pair, len(pair_keys))))
        pair_keys[place], pair_features[place] = pair, feature
    return _kernel.Dictionary(
        table=np.array(table, np.int32),
        hashes=hashes,
        ends=np.cumsum([0, *map(len, tokens)], dtype=np.int32),
        letters=np.frombuffer(b"".join(tokens) or b"\0", np.uint8),
        features=np.array([alone.get(number, -1) for number in range(len(tokens))], np.int32),
        pair_keys=np.array(pair_keys, np.int64),
        pair_features=np.array(pair_features, np.int32),
        idf=np.asarray(vocabulary.idf, np.float64),
    )


def _table_size(count: int) -> int:
    """Return the size of a table that is at most half full: a power of two."""
    return 1 << (2 * max(1, count) - 1).bit_length()


def _free_place(table: list[int], absent: int, place: int) -> int:
    while table[place] != absent:
        place = (place + 1) & (len(table) - 1)
    return place
