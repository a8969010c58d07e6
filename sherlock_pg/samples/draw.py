"""Random choices that are the same on every machine and Python version."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A stream of choices that belongs to one name.

    Python promises the same sequence for a seed only from `random.Random.random`; `choice`,
    `sample` and `shuffle` may change between versions. So everything here is built on that one
    method. Each thing that is drawn gets a stream of its own, by name: one more slot in a template
    does not change the others.
    """

    def __init__(self, *name: object) -> None:
        self._random = random.Random("/".join(str(part) for part in name)).random

    def below(self, count: int) -> int:
        """Return an integer from 0 to `count` - 1."""
        return int(self._random() * count)

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def uniform(self, low: float, high: float) -> float:
        """Return a number from `low` to `high`."""
        return low + self._random() * (high - low)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return the options in another order (Fisher and Yates)."""
        result = list(options)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Return `count` different options, in the order they have in `options`."""
        chosen = sorted(self.shuffled(range(len(options)))[:count])
        return [options[position] for position in chosen]

    def digits(self, pattern: str) -> str:
        """Fill a pattern: `#` becomes a digit, `@` a capital letter, the rest stays."""
        letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
        filled = []
        for character in pattern:
            if character == "#":
                filled.append(str(self.below(10)))
            elif character == "@":
                filled.append(self.choice(letters))
            else:
                filled.append(character)
        return "".join(filled)
