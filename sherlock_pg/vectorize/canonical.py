"""Canonical text in Python, equal to `sherlock.canonical_text` in SQL on every string.

The SQL file documents the steps. Here they are folded into one map from a character to its image,
which is filled as characters are met. Nothing is asked of `unicodedata` but the decomposition of
characters that Unicode 14 assigns, which is stable; everything else comes from the pinned tables.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Final

from sherlock_pg.vectorize import _unicode_tables as tables

_MAX_CACHED_IMAGES: Final = 1 << 16
_MAX_CACHED_RUNS: Final = 1 << 16
_MAX_CACHED_RUN_LENGTH: Final = 8

ASCII_IMAGES: Final = bytes(
    ord(chr(code).lower())
    if code < 0x80 and chr(code).isalnum()
    else code
    if code >= 0x80
    else 0x20
    for code in range(256)
)
CONFUSABLES: Final = str.maketrans("eu0f1ljb8529q", "caotiiihhszgg")
_CONFUSABLE_BYTES: Final = bytes(CONFUSABLES.get(byte, byte) for byte in range(256))
_NON_ASCII_RUN: Final = re.compile(r"[^\x00-\x7f]+")


def canonical_text(text: str) -> str:
    """Return the form of a text that is compared; the same as `sherlock.canonical_text`.

    Unlike PostgreSQL, Python strings may hold NUL and lone surrogates: both are separators.

    Args:
        text: any string.

    Returns:
        Letters and digits in lower case, words separated by single spaces; maybe empty.
    """
    return b" ".join(tokens(text)).decode()


def tokens(text: str) -> list[bytes]:
    """Return the words of a text's canonical form, UTF-8 encoded, in order.

    Args:
        text: any string; it need not be canonical.

    Returns:
        The words; an empty list where the text has no letter or digit.
    """
    if not text.isascii():
        for encoding in _ENCODINGS:
            images = encoding.images_of(text)
            if images is not None:
                return images.split()
        text = _NON_ASCII_RUN.sub(_image_of_match, text)
    return text.encode().translate(ASCII_IMAGES).split()


def skeleton(canonical: str) -> str:
    """Return a canonical text's skeleton, in which characters that OCR confuses are one.

    Equal to `sherlock.skeleton` in SQL.

    Args:
        canonical: a canonical text.

    Returns:
        As many words, each as long or shorter.
    """
    return skeleton_bytes(canonical.encode()).decode()


def skeleton_bytes(canonical: bytes) -> bytes:
    """Return a canonical text's skeleton, both UTF-8 encoded."""
    return (
        canonical.translate(_CONFUSABLE_BYTES)
        .replace(b"ri", b"n")
        .replace(b"rn", b"m")
        .replace(b"ci", b"d")
    )


class _Ranges:
    """A set of code points, as sorted inclusive ranges."""

    def __init__(self, ranges: tuple[tuple[int, int], ...]) -> None:
        self._first = [first for first, _ in ranges]
        self._last = [last for _, last in ranges]

    def __contains__(self, code: int) -> bool:
        index = bisect_right(self._first, code) - 1
        return index >= 0 and code <= self._last[index]


_UNASSIGNED: Final = _Ranges(tables.UNASSIGNED)
_IGNORABLE: Final = _Ranges(tables.IGNORABLE)
_WORD: Final = _Ranges(tables.WORD)
_SOLITARY: Final = _Ranges(tables.SOLITARY)
_FOLDS: Final = dict(zip(tables.FOLD_FROM, tables.FOLD_TO, strict=True)) | tables.FOLD_MULTIPLE


class _Images(dict[int, str]):
    """Map of a code point to what becomes of it, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        image = image_of(code)
        if len(self) < _MAX_CACHED_IMAGES:
            self[code] = image
        return image


_IMAGES: Final = _Images()
_RUN_IMAGES: Final[dict[str, str]] = {}


def image_of(code: int) -> str:
    """Return what becomes of a character, with ASCII left as it is: `ASCII_IMAGES` comes after.

    Args:
        code: its code point; lone surrogates are separators.

    Returns:
        Letters, digits and spaces; spaces at an end separate it from what stands beside it.
    """
    if code in _UNASSIGNED:
        return " "
    return "".join(
        _image_of_decomposed(character) for character in unicodedata.normalize("NFKD", chr(code))
    )


def _image_of_decomposed(character: str) -> str:
    if character.isascii():
        return character
    code = ord(character)
    if code in _IGNORABLE:
        return ""
    if code not in _WORD:
        return " "
    folded = _FOLDS.get(character, character)
    return f" {folded} " if code in _SOLITARY else folded


def _image_of_match(match: re.Match[str]) -> str:
    run = match.group()
    image = _RUN_IMAGES.get(run)
    if image is None:
        image = run.translate(_IMAGES)
        if len(run) <= _MAX_CACHED_RUN_LENGTH and len(_RUN_IMAGES) < _MAX_CACHED_RUNS:
            _RUN_IMAGES[run] = image
    return image


class _Encoding:
    """The images of a text's characters where each of them is one byte, and its image is or none.

    Args:
        name: an encoding of 256 characters, or fewer.
    """

    def __init__(self, name: str) -> None:
        images = bytearray(256)
        dropped = bytearray()
        longer = bytearray()
        for byte in range(256):
            character = bytes([byte]).decode(name, "ignore")
            image = image_of(ord(character)).encode().translate(ASCII_IMAGES) if character else b" "
            if not image:
                dropped.append(byte)
            elif len(image) == 1 or image.isspace():
                images[byte] = image[0]
            else:
                longer.append(byte)
        self._name = name
        self._images = bytes(images)
        self._dropped = bytes(dropped)
        self._longer = re.compile(b"[" + re.escape(bytes(longer)) + b"]")

    def images_of(self, text: str) -> bytes | None:
        """Return the images, or None where a character or its image is no single byte."""
        try:
            encoded = text.encode(self._name)
        except UnicodeEncodeError:
            return None
        if self._longer.search(encoded):
            return None
        return encoded.translate(self._images, self._dropped)


_ENCODINGS: Final = tuple(map(_Encoding, ("latin-1", "cp1252")))
"""Those of most texts: the first is the fastest, the second has typographic quotes and dashes."""
