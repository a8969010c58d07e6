"""Words that OCR misread, recognised by their shape."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PAIRS = (("RN", "M"), ("RI", "N"), ("CL", "D"), ("VV", "W"), ("II", "U"))
_ALIKE = str.maketrans("E0G1JT|!FUYK6S5B8", "COCIIIIIIAVROZZRR")
"""Letters and digits that scanners take for one another, each as one of them."""
_ALIKE_SMALL = str.maketrans("EOGLIJTFAUN", "CCCIIIIIAAA")
_LABEL = re.compile(r"[A-Z0-9|]+")
_PIECE = re.compile(r"[01|]?[A-Z](?:[A-Z0-9|]*[A-Z|])?")
_CUE_WORD = re.compile(r"(?<![A-Z0-9])[A-Z]{6,15}(?![A-Z0-9])")
_MOST_KEPT = 50_000


def shape(word: str) -> str:
    """Reduce an upper-case word to what a bad scan leaves of it."""
    for written, meant in _PAIRS:
        word = word.replace(written, meant)
    return word.translate(_ALIKE).translate(_ALIKE_SMALL)


class Vocabulary:
    """Words that may have been misread.

    Args:
        words: upper-case words.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._cues: dict[str, str] = {}
        self._by_shape = {shape(word): word for word in sorted(self._words)}

    def respelled(self, text: str) -> str:
        """Spell the words of a text, parted by digits or punctuation, as the vocabulary does."""
        return _PIECE.sub(self._respelled_piece, _LABEL.sub(self._respelled_piece, text))

    def respelled_in_place(self, text: str) -> str:
        """Spell the words of a text as the vocabulary does where that keeps their length."""
        # Few words are misread, so few texts need more than a look at their words.
        if all(self._respelled_cue(word) == word for word in set(_CUE_WORD.findall(text))):
            return text
        return _CUE_WORD.sub(lambda match: self._respelled_cue(match.group()), text)

    def _respelled_cue(self, word: str) -> str:
        known = self._cues.get(word)
        if known is None:
            meant = self._respelled_word(word)
            known = meant if len(meant) == len(word) else word
            if len(self._cues) < _MOST_KEPT:
                self._cues[word] = known
        return known

    def _respelled_piece(self, match: re.Match[str]) -> str:
        return self._respelled_word(match.group())

    def _respelled_word(self, word: str) -> str:
        return word if word in self._words else self._by_shape.get(shape(word), word)
