"""Short texts with near copies at known Jaccard levels, drawn from a seed.

Words occur as often as words of a language do. Most texts resemble no other; a family is a text and
copies of it in which single words were replaced, so many as leave the level asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LEVELS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.55, 0.45, 0.4, 0.3)

_VOCABULARY = 40_000
_ZIPF_SHIFT = 2.7
_MEAN_WORDS = 50
_NEAR_COPIES = 0.2
_EXACT_COPIES = 0.03
# Families grow around any earlier text; some around few, so that there are large ones too.
_POPULAR = 0.05
_ONE_POPULAR_IN = 1_000
_CHUNK = 10_000
_ONSETS = ("b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "tr", "pl", "qu")
_VOWELS = ("a", "e", "i", "o", "u", "ía", "ó", "é", "ie", "ue")
_CODAS = ("", "", "n", "s", "r", "l")


def write_corpus(path: Path, rows: int, seed: int) -> None:
    """Write texts as JSON lines.

    Args:
        path: where to; each line is `{"key": "0", "text": …}`, keys counted from 0.
        rows: how many.
        seed: the same seed gives the same texts.
    """
    with path.open("w", encoding="utf-8") as file:
        for key, text in enumerate(_texts(rows, seed)):
            file.write(json.dumps({"key": str(key), "text": text}, ensure_ascii=False) + "\n")


def replaced_words(word_count: int, level: float) -> int:
    """Return how many single words to replace in a text so that `level` of Jaccard is left.

    A word stands in two of the shingles of two words, so that m words leave
    (s - 2m) / (s + 2m) of s shingles.
    """
    shingles = word_count - 1
    return round(shingles * (1 - level) / (2 * (1 + level)))


def _texts(rows: int, seed: int) -> Iterator[str]:
    rng = np.random.default_rng(seed)
    words = _vocabulary(rng)
    weights = np.cumsum(1 / (np.arange(_VOCABULARY) + _ZIPF_SHIFT))
    cut_points = weights / weights[-1]
    originals: list[NDArray[np.int32]] = []
    for start in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - start)
        lengths = np.clip(rng.normal(_MEAN_WORDS, 10, count).astype(int), 25, 80)
        drawn = np.searchsorted(cut_points, rng.random(lengths.sum())).astype(np.int32)
        kinds = rng.random(count)
        for text, kind in zip(np.split(drawn, np.cumsum(lengths)[:-1]), kinds, strict=True):
            is_copy = len(originals) > 100 and kind < _NEAR_COPIES + _EXACT_COPIES
            if not is_copy:
                originals.append(text)
                yield _written(words, text, rng)
                continue
            chosen = int(rng.integers(len(originals)))
            if rng.random() < _POPULAR:
                chosen -= chosen % _ONE_POPULAR_IN
            original = originals[chosen]
            if kind < _NEAR_COPIES:
                level = LEVELS[int(rng.integers(len(LEVELS)))]
                original = _edited(original, level, cut_points, rng)
            yield _written(words, original, rng)


def _edited(
    text: NDArray[np.int32],
    level: float,
    cut_points: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Replace words that have no replaced neighbour, where there are enough of those."""
    inner = np.arange(1, len(text) - 1, 2)
    count = min(replaced_words(len(text), level), len(inner))
    edited = text.copy()
    at = rng.choice(inner, count, replace=False)
    edited[at] = np.searchsorted(cut_points, rng.random(count))
    return edited


def _vocabulary(rng: np.random.Generator) -> list[str]:
    """Draw words that differ in more than their accents; the frequent ones are short."""
    unaccented = str.maketrans("íóé", "ioe")
    seen: set[str] = set()
    words: list[str] = []
    while len(words) < _VOCABULARY:
        syllables = 1 + int(len(words) > 200) + int(rng.integers(3) if len(words) > 200 else 0)
        word = "".join(
            _ONSETS[int(rng.integers(len(_ONSETS)))]
            + _VOWELS[int(rng.integers(len(_VOWELS)))]
            + _CODAS[int(rng.integers(len(_CODAS)))]
            for _ in range(syllables)
        )
        plain = word.translate(unaccented)
        if plain not in seen:
            seen.add(plain)
            words.append(word)
    return words


def _written(words: list[str], text: NDArray[np.int32], rng: np.random.Generator) -> str:
    """Write sentences: the same words may be written with other capitals and points."""
    parts = [words[index] for index in text.tolist()]
    at = 0
    while at < len(parts):
        parts[at] = parts[at].capitalize()
        end = min(at + int(rng.integers(6, 16)), len(parts))
        parts[end - 1] += "."
        at = end
    return " ".join(parts)
