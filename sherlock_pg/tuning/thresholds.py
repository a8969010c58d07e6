"""Thresholds for given weights: from the curve of precision and recall, with a margin.

A threshold stands between two neighbouring scores of the sample, near the middle of the gap, at the
number with the fewest decimals there; today's value is kept if it lies well inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sherlock_pg.tuning.ensemble import (
    Bools,
    Floats,
    Pairs,
    ScoreClass,
    Settings,
    Weights,
    ensemble_scores,
)
from sherlock_pg.tuning.figures import MARGIN_Z, SHORTFALL_COST, Aims, wilson_lower

LOWEST_LOW = 0.20
"""No LOW threshold is proposed below this: nearly every pair of one language would be reported."""

SMALLEST_STEP = 0.01
"""Thresholds are at least this far apart."""

LOWEST_MEDIUM = LOWEST_LOW + SMALLEST_STEP

_PRECISION_SAMPLE = 10


@dataclass(frozen=True, slots=True)
class Curve:
    """What each possible cut reports; cut i reports what scores at least `upper[i]`, ascending.

    Attributes:
        floor: the score above which all cuts are.
        lower: the next score below the cut, or the floor.
        upper: the lowest score that is reported.
        true_positives: duplicates reported.
        false_positives: distinct pairs reported.
        duplicates: all duplicates of the sample.
    """

    floor: float
    lower: Floats
    upper: Floats
    true_positives: Floats
    false_positives: Floats
    duplicates: int

    @classmethod
    def of(
        cls, scores: Floats, is_duplicate: Bools, can_be_reported: Bools, *, floor: float
    ) -> Curve:
        """Sort the sample once and count from above; cuts are above the floor."""
        usable = can_be_reported & ~np.isnan(scores)
        upper, position = np.unique(scores[usable], return_inverse=True)
        labels = is_duplicate[usable]
        duplicates_at = np.bincount(position[labels], minlength=len(upper))
        distinct_at = np.bincount(position[~labels], minlength=len(upper))
        lower = np.concatenate(([-np.inf], upper))[: len(upper)]
        is_allowed = upper > floor
        return cls(
            floor,
            np.maximum(lower, floor)[is_allowed],
            upper[is_allowed],
            np.cumsum(duplicates_at[::-1])[::-1][is_allowed].astype(np.float64),
            np.cumsum(distinct_at[::-1])[::-1][is_allowed].astype(np.float64),
            int(is_duplicate.sum()),
        )

    def __len__(self) -> int:
        """Return the number of cuts."""
        return len(self.upper)

    @property
    def reported(self) -> Floats:
        """Pairs reported at each cut."""
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> Floats:
        """Precision at each cut."""
        return self.true_positives / np.maximum(self.reported, 1)

    @property
    def recall(self) -> Floats:
        """Recall at each cut."""
        return self.true_positives / max(self.duplicates, 1)

    def threshold(self, cut: int, current: float) -> float:
        """Return the number at which to put a cut."""
        lower = float(self.lower[cut])
        return settle(lower, float(self.upper[cut]), current, is_open=lower == self.floor)


@dataclass(frozen=True, slots=True)
class Limits:
    """The best that any thresholds reach with given weights, on the sample.

    Attributes:
        precision: best precision at HIGH of any cut that reports at least ten pairs; None if no
            cut does.
        recall: recall at the lowest cut that is allowed: what is not retrieved, or capped by a
            conflict, is beyond any threshold.
    """

    precision: float | None
    recall: float


def settle(lower: float, upper: float, current: float, *, is_open: bool = False) -> float:
    """Return a threshold in (lower, upper], near the middle, preferring today's value.

    The middle half of the gap is "near"; in a gap without a number of four digits there, the
    threshold is the upper score itself.

    Args:
        lower: score of the last pair that is not reported.
        upper: score of the last pair that is reported.
        current: today's threshold.
        is_open: no pair has the lower score, so that no distance from it is needed.
    """
    quarter = (upper - lower) / 4
    low, high = lower if is_open else lower + quarter, upper - quarter
    if low <= current <= high:
        return current
    middle = (lower + upper) / 2
    for digits in (2, 3, 4):
        rounded = round(middle, digits)
        if low <= rounded <= high:
            return rounded
    return upper


def high_cut(curve: Curve, aim: float) -> int:
    """Choose the cut for HIGH.

    The lowest cut whose precision reaches the aim with a margin (80 % lower bound by Wilson). If
    the sample is too small for that: of the cuts whose measured precision reaches the aim, the one
    with the best lower bound. If none does: of all cuts that one.
    """
    bound = wilson_lower(curve.true_positives, curve.reported, MARGIN_Z)
    has_margin = np.flatnonzero(bound >= aim)
    if has_margin.size:
        return int(has_margin[0])
    is_measured = np.flatnonzero(curve.precision >= aim)
    if is_measured.size:
        return int(is_measured[np.argmax(bound[is_measured])])
    return int(np.argmax(bound))


def medium_cut(curve: Curve, aim: float) -> int:
    """Choose the cut for MEDIUM.

    The highest cut whose recall reaches the aim with a margin (80 % lower bound by Wilson), else
    the highest whose measured recall does. If none does: the best exchange of precision for
    missing recall.
    """
    bound = wilson_lower(
        curve.true_positives, np.full(len(curve), float(curve.duplicates)), MARGIN_Z
    )
    for reaches in (bound >= aim, curve.recall >= aim):
        cuts = np.flatnonzero(reaches)
        if cuts.size:
            return int(cuts[-1])
    return int(np.argmax(curve.precision - SHORTFALL_COST * (aim - curve.recall)))


def choose(
    pairs: Pairs,
    weights: Weights,
    aims: Aims,
    current: Settings,
    *,
    floor: float,
) -> Settings:
    """Return the thresholds that serve the aims with these weights.

    Where one score would serve both aims, the interval between the two cuts becomes MEDIUM. LOW is
    today's, or a step below MEDIUM if that is lower.

    Args:
        pairs: the sample.
        weights: weights of the levels.
        aims: what is asked for.
        current: today's settings.
        floor: MEDIUM is not put below this score.
    """
    high_curve, medium_curve = _curves(pairs, weights, floor)
    high, medium = current.high, current.medium
    if len(high_curve):
        high = high_curve.threshold(high_cut(high_curve, aims.precision_at_high), current.high)
    if len(medium_curve):
        medium = medium_curve.threshold(
            medium_cut(medium_curve, aims.recall_at_medium), current.medium
        )
    if medium > high and _precision_from(high_curve, medium) >= aims.precision_at_high:
        high, medium = medium, high
    medium = min(medium, round(high - SMALLEST_STEP, 4))
    if medium < floor:
        medium = floor
        high = max(high, round(medium + SMALLEST_STEP, 4))
    low = max(min(current.low, round(medium - SMALLEST_STEP, 4)), 0.0)
    return Settings(weights, high, medium, low)


def limits(pairs: Pairs, weights: Weights, *, floor: float) -> Limits:
    """Return the best that any thresholds reach with these weights."""
    high_curve, medium_curve = _curves(pairs, weights, floor)
    precision = high_curve.precision[high_curve.reported >= _PRECISION_SAMPLE]
    return Limits(
        float(precision.max()) if precision.size else None,
        float(medium_curve.recall[0]) if len(medium_curve) else 0.0,
    )


def _curves(pairs: Pairs, weights: Weights, floor: float) -> tuple[Curve, Curve]:
    scores = ensemble_scores(pairs.levels, weights)
    high, medium = (
        Curve.of(scores, pairs.is_duplicate, pairs.ceiling >= lowest, floor=floor)
        for lowest in (ScoreClass.HIGH, ScoreClass.MEDIUM)
    )
    return high, medium


def _precision_from(curve: Curve, threshold: float) -> float:
    cut = int(np.searchsorted(curve.upper, threshold))
    return float(curve.precision[cut]) if cut < len(curve) else 0.0
