"""The ensemble and its classes over many pairs at once, equal to the SQL functions.

`ensemble_scores` is `sherlock.ensemble_score`, and `Pairs.classes` is `sherlock.classify` followed
by the cap on conflicts. Tests compare both with the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from sherlock_pg.detection_config import DetectionConfig
from sherlock_pg.evaluation.scored import ScoredPair

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ranks = npt.NDArray[np.int64]
Weights = tuple[float, float, float]

LEVELS = ("minhash", "tfidf", "entity")

_DIGITS = 4
_TIE_MARGIN = 1e-6


class ScoreClass(IntEnum):
    """Class of a scored pair, in ascending order. EXACT is equality of texts, never a score."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What calibration may change of a configuration."""

    weights: Weights
    high: float
    medium: float
    low: float

    @classmethod
    def of(cls, config: DetectionConfig) -> Settings:
        """Return the settings of a configuration row."""
        return cls(
            (config.minhash_weight, config.tfidf_weight, config.entity_weight),
            config.high_threshold,
            config.medium_threshold,
            config.low_threshold,
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labelled pairs as columns, without those of equal text.

    Attributes:
        levels: one row a pair: Jaccard, cosine, entity score; NaN where the level is absent.
        is_duplicate: the label.
        ceiling: highest class the pair can be reported with: the cap if it has a conflict, NONE if
            no retrieval brings it or neither text level exists (people alone make no duplicate).
    """

    levels: Floats
    is_duplicate: Bools
    ceiling: Ranks

    @classmethod
    def of(cls, pairs: Sequence[ScoredPair], conflict_cap: str | None) -> Pairs:
        """Make the columns; pairs of equal text must have been taken out before."""
        cap = ScoreClass[conflict_cap] if conflict_cap else ScoreClass.HIGH

        def ceiling(pair: ScoredPair) -> ScoreClass:
            if not pair.retrieved_by or (pair.minhash is None and pair.tfidf is None):
                return ScoreClass.NONE
            return cap if pair.has_conflict else ScoreClass.HIGH

        return cls(
            levels=np.array(
                [(pair.minhash, pair.tfidf, pair.entity) for pair in pairs], dtype=np.float64
            ).reshape(-1, len(LEVELS)),
            is_duplicate=np.array([pair.is_duplicate for pair in pairs], dtype=np.bool_),
            ceiling=np.array([ceiling(pair) for pair in pairs], dtype=np.int64),
        )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.is_duplicate)

    def part(self, chosen: Bools) -> Pairs:
        """Return the pairs for which `chosen` is true."""
        return Pairs(self.levels[chosen], self.is_duplicate[chosen], self.ceiling[chosen])

    def classes(self, settings: Settings) -> Ranks:
        """Return the class of each pair under these settings, as ranks of `ScoreClass`."""
        scores = ensemble_scores(self.levels, settings.weights)
        ranks = np.zeros(len(self), dtype=np.int64)
        for threshold in (settings.low, settings.medium, settings.high):
            ranks += scores >= threshold
        return np.minimum(ranks, self.ceiling)


def ensemble_scores(levels: Floats, weights: Weights) -> Floats:
    """Return the ensemble score of each row of level scores; NaN where no level weighs.

    The sums run in the order of the SQL function: floating-point addition is not associative.
    """
    is_present = ~np.isnan(levels)
    filled = np.where(is_present, levels, 0.0)
    share = np.where(is_present, np.array(weights), 0.0)
    weighted = filled * np.array(weights)
    total = share[:, 0] + share[:, 1] + share[:, 2]
    total[total == 0] = np.nan
    return _rounded((weighted[:, 0] + weighted[:, 1] + weighted[:, 2]) / total)


def _rounded(values: Floats) -> Floats:
    """Round to four digits as `round(value::numeric, 4)` does.

    PostgreSQL turns a double into the numeric of its 15 significant digits and rounds halves up;
    that matters only beside a tie, which is decided in decimal.
    """
    scaled = values * 10**_DIGITS
    rounded: Floats = np.floor(scaled + 0.5) / 10**_DIGITS
    is_near_tie = np.abs(scaled - np.floor(scaled) - 0.5) < _TIE_MARGIN
    for index in np.flatnonzero(is_near_tie):
        exact = Decimal(f"{values[index]:.15g}")
        rounded[index] = float(exact.quantize(Decimal(1).scaleb(-_DIGITS), ROUND_HALF_UP))
    return rounded
