"""Weights: every point of a grid on the simplex, each with its best thresholds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from sherlock_pg.tuning import thresholds
from sherlock_pg.tuning.ensemble import Pairs, Settings, Weights
from sherlock_pg.tuning.figures import Aims, Figures

GRID_STEP = 0.05
"""Step of the grid, and the least weight of a level that is searched: an entity level without
weight would also lift the cap on conflicts."""

CHANGE_COST = 0.1
"""What changed weights must earn: moving .05 from one level to another costs .01, one point of
recall at HIGH or precision at MEDIUM."""


def grid(pairs: Pairs, current: Weights) -> Iterator[Weights]:
    """Give today's weights, then all others of the grid that add up to 1.

    A level without weight today, or that no pair of the sample has, keeps its weight: the sample
    says nothing about it.
    """
    yield current
    free = [
        level
        for level, weight in enumerate(current)
        if weight > 0 and not np.isnan(pairs.levels[:, level]).all()
    ]
    if len(free) < 2:
        return
    total = sum(current[level] for level in free)
    steps = range(1, int(total / GRID_STEP) + 1)
    for units in itertools.product(steps, repeat=len(free) - 1):
        shares = [round(unit * GRID_STEP, 2) for unit in units]
        rest = round(total - sum(shares), 10)
        if rest < GRID_STEP:
            continue
        weights = list(current)
        for level, share in zip(free, [*shares, rest], strict=True):
            weights[level] = share
        yield weights[0], weights[1], weights[2]


def search(
    pairs: Pairs, aims: Aims, current: Settings, *, floor: float, keep_weights: bool
) -> Settings:
    """Return the settings that serve the aims best on the sample.

    Best is `Figures.worth`, less the cost of changed weights.
    """
    candidates = [current.weights] if keep_weights else grid(pairs, current.weights)
    best, best_value = current, -np.inf
    for weights in candidates:
        settings = thresholds.choose(pairs, weights, aims, current, floor=floor)
        figures = Figures.of(pairs.classes(settings), pairs.is_duplicate)
        value = figures.worth(aims) - CHANGE_COST * _distance(weights, current.weights)
        if value > best_value:
            best, best_value = settings, value
    return best


def _distance(left: Weights, right: Weights) -> float:
    return sum(abs(a - b) for a, b in zip(left, right, strict=True))
