"""PostgreSQL's seeded hash functions in numpy, bit for bit, over whole arrays.

These are Bob Jenkins' lookup3 as PostgreSQL uses it (src/common/hashfn.c) on little-endian
machines. `sherlock.hash_self_test()` checks that a server agrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_U32Array = NDArray[np.uint32]

INITIAL: Final = 0x9E3779B9 + 3923095
"""What the three words of lookup3 begin with, before the length is added; 32 bits count."""

_MASK32: Final = 0xFFFFFFFF
_MASK64: Final = 0xFFFFFFFFFFFFFFFF
_BLOCK: Final = 1 << 14  # elements at once: so few that all work arrays stay in the cache
_CHUNK_BYTES: Final = 12  # lookup3 takes in three words at a time
_MAX_PADDED_BYTES: Final = 1 << 24


def hash_text_extended(texts: Sequence[bytes]) -> NDArray[np.int64]:
    """Hash texts as PostgreSQL's `hashtextextended(text collate "C", 0)`.

    Args:
        texts: UTF-8 encoded texts.

    Returns:
        One hash per text.
    """
    hashes = np.empty(len(texts), np.int64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    chunk_counts = lengths // _CHUNK_BYTES
    for chunk_count in np.unique(chunk_counts):
        members = np.flatnonzero(chunk_counts == chunk_count)
        width = (int(chunk_count) + 1) * _CHUNK_BYTES
        step = max(1, _MAX_PADDED_BYTES // width)
        for start in range(0, len(members), step):
            part = members[start : start + step]
            padded = b"".join([texts[index].ljust(width, b"\0") for index in part.tolist()])
            words = np.frombuffer(padded, "<u4").reshape(len(part), width // 4)
            hashes[part] = _hash_words(words, lengths[part].astype(np.uint32))
    return hashes


def hash_int8_extended(
    values: NDArray[np.int64], seeds: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """Hash integers as PostgreSQL's `hashint8extended(value, seed)`.

    Args:
        values: what is hashed; one-dimensional.
        seeds: one seed for all values, or one for each.

    Returns:
        One hash per value.
    """
    if isinstance(seeds, int):
        seed = np.array([seeds & _MASK64], np.uint64).view(np.int64)
        return hash_int8_by_each(values, seed).reshape(-1)
    values = np.ascontiguousarray(values, np.int64)
    seed_array = np.broadcast_to(np.asarray(seeds, np.int64), values.shape)
    hashes = np.empty(len(values), np.int64)
    state = _State.allocate(min(_BLOCK, len(values)))
    for start in range(0, len(values), _BLOCK):
        block = slice(start, start + _BLOCK)
        _hash_block(state, values[block], seed_array[block], hashes[block])
    return hashes


def hash_int8_by_each(values: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hash integers as PostgreSQL's `hashint8extended(value, seed)`, by every seed.

    Half the time of one hash after the other, because each seed is mixed in only once.

    Args:
        values: what is hashed; one-dimensional.
        seeds: by what.

    Returns:
        One row per seed, of one hash per value.
    """
    values = np.ascontiguousarray(values, np.int64)
    seeded = _State.allocate(len(seeds))
    _mix_seeds(seeded, np.ascontiguousarray(seeds, np.int64))
    hashes = np.empty((len(seeds), len(values)), np.int64)
    step = max(1, _BLOCK // max(1, len(seeds)))
    state = _State.allocate(len(seeds) * min(step, len(values)))
    for start in range(0, len(values), step):
        folded = _fold(values[start : start + step])
        part = state.first(len(seeds) * len(folded))
        shape = (len(seeds), len(folded))
        np.add(seeded.a[:, None], folded, out=part.a.reshape(shape))
        part.b.reshape(shape)[:] = seeded.b[:, None]
        part.c.reshape(shape)[:] = seeded.c[:, None]
        part.finish()
        hashes[:, start : start + step] = _joined(part).reshape(shape)
    return hashes


@dataclass(frozen=True)
class _State:
    """The three words of lookup3 and two work arrays, for in-place arithmetic."""

    a: _U32Array
    b: _U32Array
    c: _U32Array
    work: _U32Array
    rotated: _U32Array

    @classmethod
    def allocate(cls, size: int) -> _State:
        return cls(*(np.empty(size, np.uint32) for _ in range(5)))

    def first(self, size: int) -> _State:
        """Give a view of the first elements."""
        return _State(
            self.a[:size], self.b[:size], self.c[:size], self.work[:size], self.rotated[:size]
        )

    def _rotate(self, word: _U32Array, count: int) -> _U32Array:
        np.left_shift(word, np.uint32(count), out=self.rotated)
        np.right_shift(word, np.uint32(32 - count), out=self.work)
        np.bitwise_or(self.rotated, self.work, out=self.rotated)
        return self.rotated

    def mix(self) -> None:
        """Stir all three words reversibly, as lookup3 does between chunks."""
        a, b, c = self.a, self.b, self.c
        for x, y, z, count in _mix_steps(a, b, c):
            np.subtract(x, z, out=x)
            np.bitwise_xor(x, self._rotate(z, count), out=x)
            np.add(z, y, out=z)

    def finish(self) -> None:
        """Stir all three words irreversibly, as lookup3 does at the end."""
        a, b, c = self.a, self.b, self.c
        for x, y, count in (
            (c, b, 14),
            (a, c, 11),
            (b, a, 25),
            (c, b, 16),
            (a, c, 4),
            (b, a, 14),
            (c, b, 24),
        ):
            np.bitwise_xor(x, y, out=x)
            np.subtract(x, self._rotate(y, count), out=x)


def _mix_steps(
    a: _U32Array, b: _U32Array, c: _U32Array
) -> Iterator[tuple[_U32Array, _U32Array, _U32Array, int]]:
    """Yield (x, y, z, count) of the steps x -= z; x ^= rotate(z, count); z += y."""
    yield a, b, c, 4
    yield b, c, a, 6
    yield c, a, b, 8
    yield a, b, c, 16
    yield b, c, a, 19
    yield c, a, b, 4


def _hash_words(words: NDArray[np.uint32], lengths: _U32Array) -> NDArray[np.int64]:
    """Hash rows of words, each a text padded with zeros to whole chunks plus a last one."""
    state = _State.allocate(len(words))
    np.add(lengths, np.uint32(INITIAL & _MASK32), out=state.a)
    np.copyto(state.b, state.a)
    np.copyto(state.c, state.a)
    last = words.shape[1] - 3
    for column in range(0, last, 3):
        np.add(state.a, words[:, column], out=state.a)
        np.add(state.b, words[:, column + 1], out=state.b)
        np.add(state.c, words[:, column + 2], out=state.c)
        state.mix()
    np.add(state.a, words[:, last], out=state.a)
    np.add(state.b, words[:, last + 1], out=state.b)
    # The lowest byte of c is taken by the length.
    np.add(state.c, words[:, last + 2] << np.uint32(8), out=state.c)
    state.finish()
    return _joined(state)


def _hash_block(
    workspace: _State,
    values: NDArray[np.int64],
    seeds: NDArray[np.int64],
    hashes: NDArray[np.int64],
) -> None:
    state = workspace.first(len(values))
    _mix_seeds(state, seeds)
    np.add(state.a, _fold(values), out=state.a)
    state.finish()
    hashes[:] = _joined(state)


def _mix_seeds(state: _State, seeds: NDArray[np.int64]) -> None:
    """Begin hashes of integers, each by its seed."""
    initial = np.uint32((INITIAL + 4) & _MASK32)
    seed_words = seeds.view(np.uint64)
    np.add((seed_words >> np.uint64(32)).astype(np.uint32), initial, out=state.a)
    np.add(seed_words.astype(np.uint32), initial, out=state.b)
    state.c.fill(initial)
    state.mix()
    unseeded = seeds == 0  # PostgreSQL does not mix a seed of zero in
    if unseeded.any():
        for word in (state.a, state.b, state.c):
            word[unseeded] = initial


def _fold(values: NDArray[np.int64]) -> _U32Array:
    """Fold the high half in such that an int8 hashes like the int4 of the same value."""
    return (values ^ (values >> 32) ^ (values >> 63)).astype(np.uint32)


def _joined(state: _State) -> NDArray[np.int64]:
    hashes = state.b.astype(np.uint64)
    hashes <<= np.uint64(32)
    hashes |= state.c
    return hashes.view(np.int64)
