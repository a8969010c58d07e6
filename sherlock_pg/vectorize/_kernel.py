"""The inner loops of features in bulk, compiled by numba; `compiled.py` calls them.

Everything stands in this file because numba looks at the file of a function, not at those of the
functions that it calls, to tell whether what it compiled earlier still holds. Arithmetic of 32 bits
is cast back again and again: numba widens it to 64.

Texts are bytes in a row; `ends` holds where each of them ends. Buffers that words are read from
have `SLACK` more bytes than they say, because words are loaded twelve bytes at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from sherlock_pg.vectorize.canonical import ASCII_IMAGES, CONFUSABLES
from sherlock_pg.vectorize.pghash import INITIAL

SLACK: Final = 12
PAGE_BITS: Final = 8
DONE, NO_ROOM, NO_PAGE = 0, 1, 2

_U32 = np.uint32
_INITIAL = np.uint32(INITIAL & 0xFFFFFFFF)
_INITIAL_INT = np.uint32((INITIAL + 4) & 0xFFFFFFFF)
_SLOTS = 128
_SLOT_MASK = np.uint32(_SLOTS - 1)
_SLOT_BITS = np.uint32(7)
_VALUE_BITS = 23
_VALUE_MASK = np.uint32((1 << _VALUE_BITS) - 1)
_EMPTY = np.uint32(0xFFFFFFFF)  # above everything that a slot can keep
_REPETITIVE_FROM = 1000
_SPACE = 0x20
_ASCII = np.frombuffer(ASCII_IMAGES, np.uint8)
_SKELETON = np.arange(256, dtype=np.uint8)
_SKELETON[list(CONFUSABLES)] = list(CONFUSABLES.values())
_R, _I, _N, _M, _C, _D = b"rinmcd"
_TAIL_MASKS = np.frombuffer(
    b"".join((b"\xff" * rest).ljust(12, b"\0") for rest in range(12)), "<u4"
).reshape(12, 3)
_MIN_TOKEN_BYTES, _MAX_TOKEN_BYTES = 2, 100
_GOLDEN = 0x1E3779B97F4A7C15
_ROUNDING = np.float32(1536)

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    """Compile a function when it is first called, and keep the result for later processes.

    numba keeps it in `NUMBA_CACHE_DIR`, else in `__pycache__` beside this file, else in the user's
    cache folder. Where none of them can be written, each process compiles anew.
    """
    try:
        kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        kernel = numba.njit(nogil=True)(function)
    return cast("_Function", kernel)


class Images(NamedTuple):
    """What becomes of characters: images of code points, in pages that are filled when needed.

    Attributes:
        pages: page of each 256 code points; -1 where it is not yet known.
        entries: pages of 256 entries: where the image begins, and below that in 8 bits its length.
        pool: the images, UTF-8 encoded.
    """

    pages: NDArray[np.int32]
    entries: NDArray[np.int32]
    pool: NDArray[np.uint8]


class Dictionary(NamedTuple):
    """The tokens of a TF-IDF vocabulary, and which of them and of their pairs are features.

    Attributes:
        table: open addressing by the token's hash: its number, or -1.
        hashes: of the tokens.
        ends: where the tokens end in `letters`, from 0 on.
        letters: the tokens in a row.
        features: the feature that a token is alone, or -1.
        pair_keys: open addressing: the numbers of two tokens, 32 bits each, or -1.
        pair_features: their features.
        idf: weight of each feature.
    """

    table: NDArray[np.int32]
    hashes: NDArray[np.int64]
    ends: NDArray[np.int32]
    letters: NDArray[np.uint8]
    features: NDArray[np.int32]
    pair_keys: NDArray[np.int64]
    pair_features: NDArray[np.int32]
    idf: NDArray[np.float64]


@_compiled
def _rotate(word: Any, count: Any) -> Any:
    return _U32((word << _U32(count)) | (word >> _U32(32 - count)))


@_compiled
def _mix(a: Any, b: Any, c: Any) -> Any:
    a = _U32(_U32(a - c) ^ _rotate(c, 4))
    c = _U32(c + b)
    b = _U32(_U32(b - a) ^ _rotate(a, 6))
    a = _U32(a + c)
    c = _U32(_U32(c - b) ^ _rotate(b, 8))
    b = _U32(b + a)
    a = _U32(_U32(a - c) ^ _rotate(c, 16))
    c = _U32(c + b)
    b = _U32(_U32(b - a) ^ _rotate(a, 19))
    a = _U32(a + c)
    c = _U32(_U32(c - b) ^ _rotate(b, 4))
    b = _U32(b + a)
    return a, b, c


@_compiled
def _finish(a: Any, b: Any, c: Any) -> Any:
    c = _U32(_U32(c ^ b) - _rotate(b, 14))
    a = _U32(_U32(a ^ c) - _rotate(c, 11))
    b = _U32(_U32(b ^ a) - _rotate(a, 25))
    c = _U32(_U32(c ^ b) - _rotate(b, 16))
    a = _U32(_U32(a ^ c) - _rotate(c, 4))
    b = _U32(_U32(b ^ a) - _rotate(a, 14))
    c = _U32(_U32(c ^ b) - _rotate(b, 24))
    return b, c


@_compiled
def _join(high: Any, low: Any) -> Any:
    return (np.int64(high) << 32) | np.int64(low)


@_compiled
def _fold(value: Any) -> Any:
    return _U32((value ^ (value >> 32) ^ (value >> 63)) & 0xFFFFFFFF)


@_compiled
def _seeded(seed: Any) -> Any:
    """Return the state of a hash of an integer once its seed is mixed in."""
    a = _U32(_INITIAL_INT + _U32((seed >> 32) & 0xFFFFFFFF))
    b = _U32(_INITIAL_INT + _U32(seed & 0xFFFFFFFF))
    return _mix(a, b, _INITIAL_INT)


@_compiled
def _hash_int8(value: Any, seed: Any) -> Any:
    """Hash as `hashint8extended`."""
    a, b, c = _seeded(seed)
    if seed == 0:  # PostgreSQL does not mix a seed of zero in
        a = b = c = _INITIAL_INT
    high, low = _finish(_U32(a + _fold(value)), b, c)
    return _join(high, low)


@_compiled
def _load(text: Any, at: Any) -> Any:
    return _U32(
        _U32(text[at])
        | (_U32(text[at + 1]) << _U32(8))
        | (_U32(text[at + 2]) << _U32(16))
        | (_U32(text[at + 3]) << _U32(24))
    )


@_compiled
def _hash_text(text: Any, start: Any, end: Any) -> Any:
    """Hash bytes as `hashtextextended(text collate "C", 0)`."""
    a = _U32(_INITIAL + _U32(end - start))
    b = a
    c = a
    at = start
    while end - at >= 12:
        a = _U32(a + _load(text, at))
        b = _U32(b + _load(text, at + 4))
        c = _U32(c + _load(text, at + 8))
        a, b, c = _mix(a, b, c)
        at += 12
    rest = end - at
    a = _U32(a + _U32(_load(text, at) & _TAIL_MASKS[rest, 0]))
    b = _U32(b + _U32(_load(text, at + 4) & _TAIL_MASKS[rest, 1]))
    # The lowest byte of c is taken by the length.
    c = _U32(c + _U32(_U32(_load(text, at + 8) & _TAIL_MASKS[rest, 2]) << _U32(8)))
    high, low = _finish(a, b, c)
    return _join(high, low)


@_compiled
def _code_point(text: Any, at: Any) -> Any:
    """Return the code point of the character at a place in UTF-8, and the place after it."""
    code = np.int64(text[at])
    if code < 0x80:
        return code, at + 1
    if code < 0xE0:
        return ((code & 0x1F) << 6) | np.int64(text[at + 1] & 0x3F), at + 2
    code = (code << 12) | (np.int64(text[at + 1] & 0x3F) << 6) | np.int64(text[at + 2] & 0x3F)
    if code < 0xF0000:
        return code & 0xFFFF, at + 3
    return ((code & 0x7FFF) << 6) | np.int64(text[at + 3] & 0x3F), at + 4


@_compiled
def canonicalise(
    source: Any, ends: Any, images: Any, canonical: Any, canonical_ends: Any, word_counts: Any
) -> Any:
    """Write the canonical forms of texts.

    Returns DONE, or what is missing: NO_ROOM in `canonical`, NO_PAGE and which.
    """
    at = 0
    written = 0
    for text in range(len(ends)):
        end = ends[text]
        first = written
        words = 0
        is_apart = True  # the next letter begins a word
        while at < end:
            code = np.int64(source[at])
            if code < 0x80:
                at += 1
                letter = _ASCII[code]
                if letter == _SPACE:
                    is_apart = True
                else:
                    if is_apart:
                        if written > first:
                            canonical[written] = _SPACE
                            written += 1
                        words += 1
                        is_apart = False
                    canonical[written] = letter
                    written += 1
                continue
            code, at = _code_point(source, at)
            page = images.pages[code >> PAGE_BITS]
            if page < 0:
                return NO_PAGE, code >> PAGE_BITS
            entry = images.entries[(np.int64(page) << PAGE_BITS) | (code & 0xFF)]
            length = entry & 0xFF
            if written + length + ends[-1] - at > len(canonical) - SLACK:
                return NO_ROOM, 0
            begin = entry >> 8
            for place in range(begin, begin + length):
                letter = images.pool[place]
                if letter == _SPACE:
                    is_apart = True
                else:
                    if is_apart:
                        if written > first:
                            canonical[written] = _SPACE
                            written += 1
                        words += 1
                        is_apart = False
                    canonical[written] = letter
                    written += 1
        canonical_ends[text] = written
        word_counts[text] = words
    return DONE, 0


@_compiled
def skeletonise(canonical: Any, ends: Any, skeleton: Any, skeleton_ends: Any) -> None:
    """Write the skeletons of canonical texts."""
    at = 0
    written = 0
    for text in range(len(ends)):
        end = ends[text]
        first = written
        while at < end:
            letter = _SKELETON[canonical[at]]
            at += 1
            # Of ri comes n, of rn, also of rri, m, of ci d; no other pairs come of these.
            if letter == _I and written > first:
                if skeleton[written - 1] == _R:
                    written -= 1
                    letter = _N
                elif skeleton[written - 1] == _C:
                    written -= 1
                    letter = _D
            if letter == _N and written > first and skeleton[written - 1] == _R:
                written -= 1
                letter = _M
            skeleton[written] = letter
            written += 1
        skeleton_ends[text] = written


@_compiled
def hash_words(
    words: Any, ends: Any, hashes: Any, word_starts: Any, word_lengths: Any, hash_ends: Any
) -> None:
    """Hash the words of texts, which single spaces separate, and say where they are."""
    begin = 0
    count = 0
    for text in range(len(ends)):
        end = ends[text]
        for at in range(begin, end):
            if words[at] == _SPACE:
                hashes[count] = _hash_text(words, begin, at)
                word_starts[count] = begin
                word_lengths[count] = at - begin
                count += 1
                begin = at + 1
        if begin < end:
            hashes[count] = _hash_text(words, begin, end)
            word_starts[count] = begin
            word_lengths[count] = end - begin
            count += 1
            begin = end
        hash_ends[text] = count


@_compiled
def hash_characters(canonical: Any, ends: Any, hashes: Any, hash_ends: Any) -> None:
    """Hash the characters of texts, by their code points."""
    at = 0
    count = 0
    for text in range(len(ends)):
        while at < ends[text]:
            code, at = _code_point(canonical, at)
            hashes[count] = _hash_int8(code, 0)
            count += 1
        hash_ends[text] = count


@_compiled
def _is_listed(table: Any, absent: Any, key: Any) -> Any:
    at = key & (len(table) - 1)
    while table[at] != absent:
        if table[at] == key:
            return True
        at = (at + 1) & (len(table) - 1)
    return False


@_compiled
def _has_distinct(
    shingles: Any, count: Any, enough: Any, seen: Any, seen_by: Any, asker: Any
) -> Any:
    """Whether so many of the shingles differ; what others have left in `seen` does not count."""
    if count < enough:
        return False
    found = 0
    for number in range(count):
        key = shingles[number]
        at = key & (len(seen) - 1)
        while seen_by[at] == asker and seen[at] != key:
            at = (at + 1) & (len(seen) - 1)
        if seen_by[at] != asker:
            seen_by[at] = asker
            seen[at] = key
            found += 1
            if found == enough:
                return True
    return False


@_compiled
def _throw(slots: Any, hashes: Any, count: Any, round_: Any, empty: Any) -> Any:
    """Let each slot keep the least of what is thrown into it; return how many are empty still."""
    floor = _U32(round_ << _VALUE_BITS)
    for number in range(count):
        slot = hashes[number] & _SLOT_MASK
        value = _U32(floor | (_U32(hashes[number] >> _SLOT_BITS) & _VALUE_MASK))
        if value < slots[slot]:
            if slots[slot] == _EMPTY:
                empty -= 1
            slots[slot] = value
    return empty


@_compiled
def _hash_round(folded: Any, count: Any, round_: Any, hashes: Any) -> None:
    """Hash shingles by the seed of a round; the low half, which is all that is thrown."""
    a, b, c = _seeded(np.int64(round_))
    for number in range(count):
        hashes[number] = _finish(_U32(a + folded[number]), b, c)[1]


@_compiled
def _sign(shingles: Any, count: Any, folded: Any, hashes: Any, slots: Any) -> None:
    slots[:] = _EMPTY
    for number in range(count):
        hashes[number] = _U32(shingles[number] & 0xFFFFFFFF)
    empty = _throw(slots, hashes, count, 0, _SLOTS)
    if empty > 0:
        if count > _REPETITIVE_FROM:
            distinct = np.unique(shingles[:count])
            count = len(distinct)
            for number in range(count):
                folded[number] = _fold(distinct[number])
        else:
            for number in range(count):
                folded[number] = _fold(shingles[number])
    round_ = 1
    while empty > 0 and round_ < _SLOTS:
        _hash_round(folded, count, round_, hashes)
        empty = _throw(slots, hashes, count, round_, empty)
        round_ += 1
    if empty > 0:
        for slot in range(_SLOTS):
            if slots[slot] == _EMPTY:
                _hash_round(folded, count, _SLOTS + slot, hashes)
                least = _VALUE_MASK
                for number in range(count):
                    least = min(least, _U32(hashes[number] >> _SLOT_BITS) & _VALUE_MASK)
                slots[slot] = _U32((_SLOTS + slot) << _VALUE_BITS) | least


@_compiled
def sign(
    units: Any,
    unit_ends: Any,
    width: Any,
    stop_table: Any,
    stop_absent: Any,
    enough: Any,
    counts: Any,
    kept_counts: Any,
    has_enough: Any,
    has_enough_left: Any,
    signatures: Any,
    all_kept: Any,
) -> Any:
    """Make shingles of units, leave boilerplate out, sign what is left where it is enough.

    All that is left goes into `all_kept`, one text after the other; returns how many these are.
    """
    longest = 0
    begin = 0
    for text in range(len(unit_ends)):
        longest = max(longest, unit_ends[text] - begin)
        begin = unit_ends[text]
    shingles = np.empty(longest, np.int64)
    folded = np.empty(longest, np.uint32)
    hashes = np.empty(longest, np.uint32)
    slots = np.empty(_SLOTS, np.uint32)
    seen_size = 16
    while seen_size < 2 * min(enough, longest):
        seen_size *= 2
    seen = np.empty(seen_size, np.int64)
    seen_by = np.full(seen_size, -1, np.int64)
    begin = 0
    all_kept_count = 0
    for text in range(len(unit_ends)):
        length = unit_ends[text] - begin
        count = length - width + 1 if length >= width else min(length, 1)
        for number in range(count):
            shingles[number] = units[begin + number]
        for offset in range(1, min(width, length)):
            for number in range(count):
                shingles[number] = _hash_int8(units[begin + offset + number], shingles[number])
        begin = unit_ends[text]
        counts[text] = count
        has_enough[text] = _has_distinct(shingles, count, enough, seen, seen_by, 2 * text)
        kept = 0
        if len(stop_table) == 0:
            kept = count
        else:
            for number in range(count):
                if not _is_listed(stop_table, stop_absent, shingles[number]):
                    shingles[kept] = shingles[number]
                    kept += 1
        kept_counts[text] = kept
        for number in range(kept):
            all_kept[all_kept_count + number] = shingles[number]
        all_kept_count += kept
        has_enough_left[text] = has_enough[text] and (
            kept == count or _has_distinct(shingles, kept, enough, seen, seen_by, 2 * text + 1)
        )
        if has_enough_left[text]:
            _sign(shingles, kept, folded, hashes, slots)
            for slot in range(_SLOTS):
                signatures[text, slot] = np.int32(slots[slot])
    return all_kept_count


@_compiled
def sketch(signatures: Any, has_signature: Any, sketches: Any) -> None:
    """Write sixteen bits of the hash of each slot."""
    for text in range(len(signatures)):
        if has_signature[text]:
            for slot in range(_SLOTS):
                value = _U32(signatures[text, slot])
                low = _finish(_U32(_INITIAL_INT + value), _INITIAL_INT, _INITIAL_INT)[1]
                sketches[text, 2 * slot] = (low >> _U32(8)) & _U32(0xFF)
                sketches[text, 2 * slot + 1] = low & _U32(0xFF)


@_compiled
def key_bands(
    signatures: Any, has_signature: Any, prefixes: Any, rows_per_band: Any, keys: Any
) -> None:
    """Write the keys of signatures; `prefixes` is what the bands' own hashes are seeded by."""
    for text in range(len(signatures)):
        if has_signature[text]:
            for band in range(len(prefixes)):
                keys[text, band] = prefixes[band]
            for row in range(rows_per_band):
                for band in range(len(prefixes)):
                    slot = np.int64(signatures[text, band * rows_per_band + row])
                    keys[text, band] = _hash_int8(slot, keys[text, band])


@_compiled
def _token(dictionary: Any, words: Any, start: Any, length: Any, hash_: Any) -> Any:
    """Return the number of a token, or -1."""
    at = hash_ & (len(dictionary.table) - 1)
    while dictionary.table[at] >= 0:
        token = dictionary.table[at]
        begin = dictionary.ends[token]
        if dictionary.hashes[token] == hash_ and dictionary.ends[token + 1] - begin == length:
            is_same = True
            for offset in range(length):
                is_same = is_same and dictionary.letters[begin + offset] == words[start + offset]
            if is_same:
                return np.int64(token)
        at = (at + 1) & (len(dictionary.table) - 1)
    return np.int64(-1)


@_compiled
def slot_of_pair(key: Any, size: Any) -> Any:
    """Return where the search for a pair begins in a table of that size."""
    return (((key ^ (key >> 29)) * _GOLDEN) >> 40) & (size - 1)


@_compiled
def _pair(dictionary: Any, key: Any) -> Any:
    """Return the feature of a pair of tokens, or -1."""
    at = slot_of_pair(key, len(dictionary.pair_keys))
    while dictionary.pair_keys[at] >= 0:
        if dictionary.pair_keys[at] == key:
            return dictionary.pair_features[at]
        at = (at + 1) & (len(dictionary.pair_keys) - 1)
    return np.int32(-1)


@_compiled
def vectorise(
    dictionary: Any,
    words: Any,
    hashes: Any,
    word_starts: Any,
    word_lengths: Any,
    word_ends: Any,
    is_indexed: Any,
    row_ends: Any,
    indices: Any,
    values: Any,
) -> Any:
    """Write the TF-IDF vectors of skeletons' words in compressed rows; return their length."""
    frequencies = np.zeros(len(dictionary.idf), np.int32)
    written = 0
    begin = 0
    for text in range(len(word_ends)):
        end = word_ends[text]
        first = written
        if is_indexed[text]:
            before = np.int64(-1)
            for word in range(begin, end):
                length = word_lengths[word]
                if length < _MIN_TOKEN_BYTES or length > _MAX_TOKEN_BYTES:
                    continue
                token = _token(dictionary, words, word_starts[word], length, hashes[word])
                if token >= 0:
                    if dictionary.features[token] >= 0:
                        frequencies[dictionary.features[token]] += 1
                    if before >= 0:
                        pair = _pair(dictionary, (before << 32) | token)
                        if pair >= 0:
                            frequencies[pair] += 1
                before = token
            squares = 0.0
            for feature in range(len(frequencies)):
                frequency = frequencies[feature]
                if frequency > 0:
                    frequencies[feature] = 0
                    weight = np.float32(
                        (1.0 + math.log(float(frequency))) * dictionary.idf[feature]
                    )
                    squares += np.float64(weight) * np.float64(weight)
                    indices[written] = feature
                    values[written] = weight
                    written += 1
            norm = math.sqrt(squares)
            for place in range(first, written):
                values[place] = np.float32(np.float64(values[place]) / norm)
        begin = end
        row_ends[text] = written
    return written


@_compiled
def project(
    row_ends: Any, indices: Any, values: Any, folding: Any, directions: Any, bits: Any
) -> None:
    """Write the sign bits of vectors; `directions` has a row of signs per folded feature.

    Their bytes are a quarter of what floats would take, and reading them is what takes the time.
    """
    size = folding.shape[1]
    folded = np.empty(size, np.float32)
    products = np.empty(directions.shape[1], np.float32)
    begin = 0
    for text in range(len(row_ends)):
        end = row_ends[text]
        if begin < end:
            squares = 0.0
            for place in range(begin, end):
                squares += np.float64(values[place]) * np.float64(values[place])
            norm = math.sqrt(squares)
            folded[:] = np.float32(0)
            for place in range(begin, end):
                block = indices[place] // size
                column = indices[place] - block * size
                value = np.float32(np.float64(values[place]) / norm)
                folded[column] += value * folding[block, column]
            products[:] = np.float32(0)
            for column in range(size):
                value = np.float32(np.float32(folded[column] + _ROUNDING) - _ROUNDING)
                if value != 0:
                    for bit in range(len(products)):
                        products[bit] += value * np.float32(directions[column, bit])
            for bit in range(len(products)):
                if products[bit] > 0:
                    bits[text, bit >> 3] |= np.uint8(0x80 >> (bit & 7))
        begin = end
