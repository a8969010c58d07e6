from __future__ import annotations

import re
from collections.abc import Callable

import pytest


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[start : start + 3]) for start in range(len(words) - 2)}


@pytest.fixture(scope="session")
def jaccard() -> Callable[[str, str], float]:
    """Give the share of word 3-shingles that two texts have in common."""

    def measure(left: str, right: str) -> float:
        ours, theirs = _shingles(left), _shingles(right)
        return len(ours & theirs) / len(ours | theirs)

    return measure
