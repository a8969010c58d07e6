"""Precision, recall and F1 at each class, and what a set of figures is worth for an aim."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sherlock_pg.tuning.ensemble import Bools, Floats, Ranks, ScoreClass

SHORTFALL_COST = 5.0
"""What a missed point of an aim weighs, in points of recall at HIGH or precision at MEDIUM."""

CREDIT_RANGE = 0.10
"""What is gained at a class counts less, the more is missing to its aim; from here on nothing."""

REPORTED_Z = 1.6448536269514722
"""One-sided 95 %, for what is said of a figure."""

MARGIN_Z = 0.8416212335729143
"""One-sided 80 %, for the margin of what is chosen: at 95 % a mistake in a hundred pairs would cost
a tenth of the recall where the sample has some hundreds."""


@dataclass(frozen=True, slots=True)
class Aims:
    """What is asked for.

    Attributes:
        precision_at_high: share of duplicates among the pairs that are HIGH.
        recall_at_medium: share of the duplicates that are MEDIUM or HIGH.
    """

    precision_at_high: float
    recall_at_medium: float


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Counts of the pairs reported with a class or one above it.

    Attributes:
        true_positives: duplicates among them.
        false_positives: distinct pairs among them.
        duplicates: all duplicates, reported or not.
    """

    true_positives: int
    false_positives: int
    duplicates: int

    @property
    def precision(self) -> float | None:
        """Share of duplicates among what was reported; None if nothing was."""
        reported = self.true_positives + self.false_positives
        return self.true_positives / reported if reported else None

    @property
    def recall(self) -> float | None:
        """Share of the duplicates that was reported; None if there are none."""
        return self.true_positives / self.duplicates if self.duplicates else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, as a count; None if there is nothing to count."""
        total = self.true_positives + self.false_positives + self.duplicates
        return 2 * self.true_positives / total if total else None


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures from HIGH up, from MEDIUM up and from LOW up."""

    high: ClassFigures
    medium: ClassFigures
    low: ClassFigures

    @classmethod
    def of(cls, classes: Ranks, is_duplicate: Bools) -> Figures:
        """Count classes against labels."""
        duplicates = int(is_duplicate.sum())

        def at(lowest: ScoreClass) -> ClassFigures:
            is_reported = classes >= lowest
            return ClassFigures(
                int((is_reported & is_duplicate).sum()),
                int((is_reported & ~is_duplicate).sum()),
                duplicates,
            )

        return cls(at(ScoreClass.HIGH), at(ScoreClass.MEDIUM), at(ScoreClass.LOW))

    def reached(self, aims: Aims) -> int:
        """Return how many of the two aims are reached; without HIGH pairs the first is not."""
        return (_or(self.high.precision, 0.0) >= aims.precision_at_high) + (
            _or(self.medium.recall, 0.0) >= aims.recall_at_medium
        )

    def worth(self, aims: Aims) -> float:
        """Return how well the aims are served: 2 is perfect.

        Recall at HIGH and precision at MEDIUM, each as far as the aim at its class is met, less
        five times what is missing to the aims. That nothing is HIGH misses no aim, but has no
        recall either.
        """
        worth = 0.0
        for gained, reached, aim in (
            (self.high.recall, self.high.precision, aims.precision_at_high),
            (self.medium.precision, self.medium.recall, aims.recall_at_medium),
        ):
            missing = max(0.0, aim - _or(reached, 1.0))
            credit = max(0.0, 1 - missing / CREDIT_RANGE)
            worth += credit * _or(gained, 0.0) - SHORTFALL_COST * missing
        return worth


def wilson_lower(successes: Floats, trials: Floats, z: float) -> Floats:
    """Return the one-sided lower bound of a proportion by Wilson; 0 without trials."""
    n = np.maximum(trials, 1)
    share = successes / n
    spread = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    bound: Floats = (share + z * z / (2 * n) - spread) / (1 + z * z / n)
    return np.where(trials > 0, np.clip(bound, 0.0, 1.0), 0.0)


def lower_bound(successes: int, trials: int) -> float:
    """Return the 95 % lower bound of one proportion."""
    bound = wilson_lower(np.array([successes], float), np.array([trials], float), REPORTED_Z)
    return float(bound[0])


def trials_to_be_sure(share: float) -> int | None:
    """Return how many successes without a failure put the 95 % lower bound at a share.

    None for 1: no number of them does.
    """
    return None if share >= 1 else math.ceil(share * REPORTED_Z**2 / (1 - share))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
