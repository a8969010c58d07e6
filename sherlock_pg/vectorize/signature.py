"""Signatures of many texts at once: what the SQL functions of the same names compute, in numpy.

`sherlock.shingles`, `sherlock.signature`, `sherlock.signature_sketch` and `sherlock.band_keys`
define the results and document the scheme; here they come out bit for bit the same, for loading
documents in bulk.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np
import psycopg
from numpy.typing import ArrayLike, NDArray

from sherlock_pg.errors import UsageError, from_psycopg
from sherlock_pg.vectorize.canonical import skeleton_bytes, tokens
from sherlock_pg.vectorize.pghash import (
    hash_int8_by_each,
    hash_int8_extended,
    hash_text_extended,
)

if TYPE_CHECKING:
    from sherlock_pg.vectorize.compiled import CompiledSigner

_log = logging.getLogger(__name__)

SLOT_COUNT: Final = 128
_SLOT_BITS: Final = 7
_VALUE_BITS: Final = 23
_VALUE_MASK: Final = (1 << _VALUE_BITS) - 1
_EMPTY: Final = 1 << 31  # above everything that a slot can keep

_WIDTHS: Final = {"word": range(1, 10), "skeleton": range(1, 10), "char": range(3, 17)}
_BATCH_BYTES: Final = 1 << 21
_MAX_CACHED_TOKENS: Final = 1 << 19
_MAX_CACHED_TOKEN_BYTES: Final = 64
_HASHES_AT_ONCE: Final = 1 << 14
_REPETITIVE_FROM: Final = 1000  # a text of more distinct shingles is done after few rounds


def has_kernel() -> bool:
    """Whether there is numba, which compiles the kernel (the optional dependency `fast`).

    A numba that cannot be imported, as where numpy is newer than it knows, is as good as none; the
    log says so.
    """
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        importlib.import_module("numba")
    except ImportError as error:
        _log.warning(
            "numba is installed but cannot be used, so signatures take six times as long: %s", error
        )
        return False
    return True


class Signed(NamedTuple):
    """Signatures of texts, one row of 128 slots for each, and what they were made of.

    Attributes:
        signatures: a row of -1, which stands for SQL's null, where no shingle was left to sign.
        shingle_counts: shingles of each text, repeats and boilerplate included.
        boilerplate_counts: how many of these were left out, repeats included.
    """

    signatures: NDArray[np.int32]
    shingle_counts: NDArray[np.int64]
    boilerplate_counts: NDArray[np.int64]


class SignedEnough(NamedTuple):
    """Signatures of texts, and whether the texts have enough different shingles.

    Attributes:
        signed: the signatures.
        has_enough: which texts have enough different shingles.
        has_enough_left: which texts still have without their boilerplate.
    """

    signed: Signed
    has_enough: NDArray[np.bool_]
    has_enough_left: NDArray[np.bool_]


class Signer:
    """Signs texts by shingles of one kind and width.

    Hashes of words are kept from call to call, half a million at most, so use one signer for
    many texts. Not safe for use by several threads.

    Args:
        kind: "word", "skeleton" (words as OCR confuses them) or "char".
        width: how many words (1 to 9) or characters (3 to 16) make a shingle.
        stop_shingles: boilerplate: shingles that are left out before signing.
        bulk: thousands of texts will follow: worth the second that loading the compiled kernel
            takes where numba is installed (half a minute the first time, for compiling).

    Raises:
        UsageError: there are no such shingles (SQLSTATE SH010, as in SQL).
    """

    def __init__(
        self,
        kind: str = "word",
        width: int = 2,
        stop_shingles: ArrayLike = (),
        *,
        bulk: bool = False,
    ) -> None:
        if width not in _WIDTHS.get(kind, ()):
            raise UsageError(
                f"no such shingles: kind {kind!r}, width {width}",
                hint="use kind word or skeleton with a width of 1 to 9, or char with a width of 3 "
                "to 16",
                sqlstate="SH010",
            )
        self.kind = kind
        self.width = width
        self._stop_shingles = np.unique(np.asarray(stop_shingles, np.int64))
        self._token_hashes: dict[bytes, int] = {}
        self._compiled: CompiledSigner | None = None
        if bulk and has_kernel():
            from sherlock_pg.vectorize.compiled import CompiledSigner

            self._compiled = CompiledSigner(kind, width, self._stop_shingles)

    @classmethod
    def of_scheme(
        cls, conn: psycopg.Connection, name: str = "word-2", *, bulk: bool = False
    ) -> Self:
        """Return a signer that signs as `sherlock.signature(text, name)` does.

        Args:
            conn: a database with the schema; the scheme and its list of boilerplate are read once.
            name: the scheme.
            bulk: whether thousands of texts will follow; see above.

        Raises:
            UsageError: there is no such scheme (SH015).
        """
        try:
            kind, width, stop_shingles = conn.execute(
                "select s.shingle_kind, s.shingle_width, array("
                "    select b.shingle from sherlock.stop_shingles as b"
                "    where b.stop_list_id = s.stop_list_id)"
                " from sherlock._scheme(%s) as s",
                [name],
            ).fetchall()[0]
        except psycopg.Error as error:
            raise from_psycopg(error) from error
        return cls(kind, width, stop_shingles, bulk=bulk)

    def sign(self, texts: Sequence[str]) -> Signed:
        """Sign texts.

        Args:
            texts: the texts, not necessarily canonical.

        Returns:
            One signature per text; whether enough is left to compare by is the scheme's to say.
        """
        if self._compiled is not None:
            return self._compiled.sign(texts)
        canonical = [b" ".join(tokens(text)) for text in texts]
        return self.sign_enough(canonical, 1).signed

    def sign_enough(
        self,
        texts: Sequence[bytes],
        min_shingles: int,
        on_kept: Callable[[NDArray[np.int64], NDArray[np.int64]], None] | None = None,
    ) -> SignedEnough:
        """Sign canonical texts, and say which of them have enough shingles to be compared by.

        Args:
            texts: the canonical texts, UTF-8 encoded.
            min_shingles: how many different shingles are enough, as the scheme says; at least 1.
            on_kept: is given the shingles of some texts in a row, boilerplate left out, and how
                many each text has; the texts of the next call follow.

        Returns:
            One signature per text, those with too few shingles included.
        """
        signatures = np.full((len(texts), SLOT_COUNT), -1, np.int32)
        counts = np.zeros(len(texts), np.int64)
        kept_counts = np.zeros(len(texts), np.int64)
        has_enough = np.zeros(len(texts), np.bool_)
        has_enough_left = np.zeros(len(texts), np.bool_)
        for batch in _batches(texts):
            shingles, counts[batch] = self._shingles(texts[batch])
            has_enough[batch] = _have_distinct(shingles, counts[batch], min_shingles)
            kept, kept_counts[batch] = self._distinctive(shingles, counts[batch])
            has_enough_left[batch] = (
                has_enough[batch]
                if kept is shingles
                else _have_distinct(kept, kept_counts[batch], min_shingles)
            )
            signed = np.flatnonzero(kept_counts[batch]) + batch.start
            signatures[signed] = _sketch(kept, kept_counts[signed])
            if on_kept is not None:
                on_kept(kept, kept_counts[batch])
        return SignedEnough(
            Signed(signatures, counts, counts - kept_counts), has_enough, has_enough_left
        )

    def shingles(self, text: str) -> NDArray[np.int64]:
        """Return a text's shingles, in order, as `sherlock.shingles` does for its canonical text.

        Args:
            text: a text, not necessarily canonical.

        Returns:
            The 64-bit hashes; empty for a text without a letter or digit.
        """
        return self._shingles([b" ".join(tokens(text))])[0]

    def band_keys(
        self,
        signatures: NDArray[np.int32],
        scheme_id: int,
        collection_id: int,
        band_count: int,
        rows_per_band: int,
    ) -> NDArray[np.int64]:
        """Return the keys under which signatures are found, as `sherlock.band_keys` does.

        Args:
            signatures: one row of 128 slots per text.
            scheme_id: the scheme that the signatures belong to.
            collection_id: the collection that the texts belong to.
            band_count: how many bands.
            rows_per_band: how many slots make a band.

        Returns:
            One row of `band_count` keys per signature.

        Raises:
            UsageError: more slots than a signature has (SH011), or a row that is no signature
                (SH012), such as that of a text without shingles.
        """
        _check_signatures(signatures)
        if band_count < 1 or rows_per_band < 1 or band_count * rows_per_band > SLOT_COUNT:
            raise UsageError(
                f"no such bands: {band_count} of {rows_per_band} rows each",
                hint="the product of the two must be 1 to 128, the number of slots",
                sqlstate="SH011",
            )
        keys = np.tile(band_prefixes(scheme_id, collection_id, band_count), len(signatures))
        bands = signatures[:, : band_count * rows_per_band].reshape(-1, rows_per_band)
        for row in range(rows_per_band):
            keys = hash_int8_extended(bands[:, row].astype(np.int64), keys)
        return keys.reshape(len(signatures), band_count)

    def sketches(self, signatures: NDArray[np.int32]) -> list[bytes]:
        """Return the sketches of signatures, as `sherlock.signature_sketch` does.

        Args:
            signatures: one row of 128 slots per text.

        Returns:
            256 bytes per signature: PostgreSQL's bit(2048), most significant bit first.

        Raises:
            UsageError: a row is no signature (SH012), such as that of a text without shingles.
        """
        _check_signatures(signatures)
        hashes = hash_int8_extended(signatures.reshape(-1).astype(np.int64), 0)
        bits = hashes.astype(np.uint16).astype(">u2").reshape(signatures.shape)
        return [row.tobytes() for row in bits]

    def _shingles(self, texts: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shingles of all texts in a row, and how many each text has."""
        units, lengths = _char_units(texts) if self.kind == "char" else self._word_units(texts)
        counts = np.where(lengths >= self.width, lengths - self.width + 1, np.minimum(lengths, 1))
        first_units = np.cumsum(lengths) - lengths
        first_shingles = np.cumsum(counts) - counts
        starts = np.arange(counts.sum()) + np.repeat(first_units - first_shingles, counts)
        widths = np.repeat(np.minimum(lengths, self.width), counts)
        shingles = units[starts]
        for offset in range(1, self.width):
            longer = np.flatnonzero(widths > offset)
            shingles[longer] = hash_int8_extended(units[starts[longer] + offset], shingles[longer])
        return shingles, counts

    def _distinctive(
        self, shingles: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what is not boilerplate, as `_shingles` does."""
        if len(self._stop_shingles) == 0:
            return shingles, counts
        is_kept = ~np.isin(shingles, self._stop_shingles)
        owners = np.repeat(np.arange(len(counts)), counts)
        return shingles[is_kept], np.bincount(owners[is_kept], minlength=len(counts))

    def _word_units(self, texts: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        words: list[bytes] = []
        lengths = np.empty(len(texts), np.int64)
        for index, text in enumerate(texts):
            found = (text if self.kind == "word" else skeleton_bytes(text)).split()
            lengths[index] = len(found)
            words += found
        hashes = self._token_hashes
        unknown = list(set(words).difference(hashes))
        hashes.update(zip(unknown, hash_text_extended(unknown).tolist(), strict=True))
        units = np.fromiter(map(hashes.__getitem__, words), np.int64, len(words))
        for word in unknown:
            if len(word) > _MAX_CACHED_TOKEN_BYTES:
                del hashes[word]
        if len(hashes) > _MAX_CACHED_TOKENS:
            hashes.clear()
        return units, lengths


def band_prefixes(scheme_id: int, collection_id: int, band_count: int) -> NDArray[np.int64]:
    """Return what the slots of each band are hashed on, so that other bands' keys differ."""
    prefix = hash_int8_extended(
        np.array([collection_id]), hash_int8_extended(np.array([scheme_id]), 0)
    )
    return hash_int8_extended(np.arange(band_count), prefix)


def _char_units(texts: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    canonical = [text.decode() for text in texts]
    lengths = np.fromiter(map(len, canonical), np.int64, len(canonical))
    codes = np.frombuffer("".join(canonical).encode("utf-32-le"), "<u4").astype(np.int64)
    return hash_int8_extended(codes, 0), lengths


def _batches(texts: Sequence[bytes]) -> Iterator[slice]:
    """Cut the texts into runs of bounded length, so that work arrays stay small."""
    start = size = 0
    for index, text in enumerate(texts):
        if size and size + len(text) > _BATCH_BYTES:
            yield slice(start, index)
            start, size = index, 0
        size += len(text)
    if start < len(texts):
        yield slice(start, len(texts))


def _check_signatures(signatures: NDArray[np.int32]) -> None:
    if signatures.ndim != 2 or signatures.shape[1] != SLOT_COUNT or (signatures < 0).any():
        raise UsageError(
            "not signatures: rows of 128 slots are needed, none of them negative",
            hint="leave out the texts without shingles: those with a count of 0",
            sqlstate="SH012",
        )


def _sketch(shingles: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sketch sets of shingles that stand in a row, `counts` each, none of them empty."""
    slots = np.full((len(counts), SLOT_COUNT), _EMPTY, np.int64)
    owners = np.repeat(np.arange(len(counts)), counts)
    _throw(slots, owners, shingles, 0)
    is_distinct = False
    first_round = 1
    while first_round < SLOT_COUNT:
        unfinished = (slots == _EMPTY).any(axis=1)
        needed = unfinished[owners]
        owners, shingles = owners[needed], shingles[needed]
        if len(shingles) == 0:
            return slots
        if not is_distinct and (counts[unfinished] > _REPETITIVE_FROM).any():
            owners, shingles = _distinct(owners, shingles)
            is_distinct = True
        # Small batches take several rounds at once: numpy's cost per call would prevail.
        rounds = np.arange(
            first_round,
            min(SLOT_COUNT, first_round + max(1, _HASHES_AT_ONCE // len(shingles))),
        )
        _throw(slots, owners, hash_int8_by_each(shingles, rounds), rounds[:, None])
        first_round += len(rounds)
    _fill(slots, owners, shingles)
    return slots


def _have_distinct(
    shingles: NDArray[np.int64], counts: NDArray[np.int64], enough: int
) -> NDArray[np.bool_]:
    """Return which of the sets of shingles that stand in a row have enough different ones."""
    has_enough = counts >= enough
    starts = np.cumsum(counts) - counts
    # Most have enough among their first ones.
    width = 2 * enough
    long = np.flatnonzero(counts >= width)
    first = np.sort(shingles[starts[long, None] + np.arange(width)], axis=1)
    is_sure = (first[:, 1:] != first[:, :-1]).sum(axis=1) + 1 >= enough
    unsure = has_enough.copy()
    unsure[long[is_sure]] = False
    for text in np.flatnonzero(unsure):
        own = shingles[starts[text] : starts[text] + counts[text]]
        has_enough[text] = len(np.unique(own)) >= enough
    return has_enough


def _throw(
    slots: NDArray[np.int64],
    owners: NDArray[np.int64],
    hashes: NDArray[np.int64],
    rounds: NDArray[np.int64] | int,
) -> None:
    """Let each slot keep the least of what is thrown into it."""
    cells = owners * SLOT_COUNT + (hashes & (SLOT_COUNT - 1))
    values = (rounds << _VALUE_BITS) | ((hashes >> _SLOT_BITS) & _VALUE_MASK)
    np.minimum.at(slots.reshape(-1), cells.reshape(-1), values.reshape(-1))


def _distinct(
    owners: NDArray[np.int64], shingles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.lexsort((shingles, owners))
    owners, shingles = owners[order], shingles[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (shingles[1:] != shingles[:-1]) | (owners[1:] != owners[:-1])
    return owners[is_new], shingles[is_new]


def _fill(slots: NDArray[np.int64], owners: NDArray[np.int64], shingles: NDArray[np.int64]) -> None:
    """Fill the slots that no round has hit: each by a round of its own."""
    for owner in np.flatnonzero((slots == _EMPTY).any(axis=1)):
        own = shingles[owners == owner]
        empty = np.flatnonzero(slots[owner] == _EMPTY)
        rounds = SLOT_COUNT + empty
        hashes = hash_int8_by_each(own, rounds)
        values = ((hashes >> _SLOT_BITS) & _VALUE_MASK).min(axis=1)
        slots[owner, empty] = (rounds << _VALUE_BITS) | values
