"""Where cuts and thresholds are put."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.tuning.ensemble import Pairs, Settings
from sherlock_pg.tuning.figures import (
    MARGIN_Z,
    Aims,
    ClassFigures,
    Figures,
    lower_bound,
    wilson_lower,
)
from sherlock_pg.tuning.thresholds import (
    LOWEST_MEDIUM,
    SMALLEST_STEP,
    Curve,
    choose,
    high_cut,
    limits,
    medium_cut,
    settle,
)

TODAY = Settings((0.25, 0.40, 0.35), 0.80, 0.65, 0.50)


def columns(scores: Sequence[float], labels: Sequence[bool]) -> Pairs:
    """Pairs whose levels all have the score: so has the ensemble, with any weights."""
    return Pairs(
        np.repeat(np.array(scores, dtype=np.float64)[:, None], 3, axis=1),
        np.array(labels, dtype=np.bool_),
        np.full(len(scores), 3, dtype=np.int64),
    )


def curve(duplicates: Sequence[float], distinct: Sequence[float], floor: float = 0.0) -> Curve:
    scores = np.array([*duplicates, *distinct])
    labels = np.array([True] * len(duplicates) + [False] * len(distinct))
    return Curve.of(scores, labels, np.ones(len(scores), dtype=np.bool_), floor=floor)


@pytest.mark.parametrize(
    ("lower", "upper", "current", "expected"),
    [
        (0.60, 0.70, 0.65, 0.65),
        (0.60, 0.70, 0.64, 0.64),
        (0.60, 0.70, 0.61, 0.65),
        (0.6312, 0.7044, 0.9, 0.67),
        (0.6511, 0.6519, 0.9, 0.6515),
        (0.6511, 0.6512, 0.9, 0.6512),
    ],
    ids=[
        "today's",
        "today's beside the middle",
        "today's at the edge",
        "two digits",
        "four",
        "next",
    ],
)
def test_a_threshold_stands_off_both_scores(
    lower: float, upper: float, current: float, expected: float
) -> None:
    assert settle(lower, upper, current) == expected


def test_below_the_lowest_score_todays_threshold_stays() -> None:
    assert settle(0.65, 0.80, 0.65, is_open=True) == 0.65
    assert settle(0.65, 0.80, 0.79, is_open=True) != 0.79


@given(lower=st.integers(0, 9999), width=st.integers(1, 3000), current=st.floats(0, 1))
@settings(max_examples=200)
def test_a_threshold_separates_the_two_scores(lower: int, width: int, current: float) -> None:
    below, above = lower / 10000, min(lower + width, 10000) / 10000
    assert below < settle(below, above, current) <= above


def test_wilson_is_the_textbook_bound() -> None:
    # 268 of 268 is the first to have .99 inside a one-sided 95 % interval.
    assert lower_bound(268, 268) >= 0.99 > lower_bound(267, 267)
    # Brown, Cai and DasGupta: 95 % two-sided for 15 of 20 is .531 to .888.
    bound = wilson_lower(np.array([15.0]), np.array([20.0]), 1.959963984540054)
    assert bound[0] == pytest.approx(0.531299, abs=1e-6)
    assert lower_bound(0, 0) == 0


scores_and_labels = st.lists(
    st.tuples(st.integers(3000, 10000).map(lambda step: step / 10000), st.booleans()),
    min_size=1,
    max_size=60,
)


@given(sample=scores_and_labels)
@settings(max_examples=100)
def test_the_curve_counts_as_one_by_one(sample: list[tuple[float, bool]]) -> None:
    found = curve([s for s, d in sample if d], [s for s, d in sample if not d], floor=0.4)
    cuts = sorted({score for score, _ in sample if score > 0.4})
    assert found.upper.tolist() == cuts
    for position, cut in enumerate(cuts):
        reported = [is_duplicate for score, is_duplicate in sample if score >= cut]
        assert found.true_positives[position] == sum(reported)
        assert found.false_positives[position] == len(reported) - sum(reported)
    assert found.duplicates == sum(is_duplicate for _, is_duplicate in sample)


def test_high_is_the_lowest_cut_that_has_the_margin() -> None:
    found = curve([0.5 + step / 1000 for step in range(400)], [0.55, 0.45, 0.3])
    cut = high_cut(found, 0.99)
    bound = wilson_lower(found.true_positives, found.reported, MARGIN_Z)
    assert bound[cut] >= 0.99
    assert (bound[:cut] < 0.99).all()
    # Two mistakes in 402 are within the margin. Three in 403 are still .993, but not for sure.
    assert found.upper[cut] == 0.45
    assert found.precision[0] > 0.99


def test_high_with_few_labels_takes_what_is_measured() -> None:
    found = curve([0.6, 0.7, 0.8, 0.9], [0.5, 0.65])
    assert found.upper[high_cut(found, 0.99)] == 0.7


def test_high_out_of_reach_is_where_the_precision_is_surest() -> None:
    # A quarter is wrong at .9 and at .8, a half at .7: more pairs of the same share are surer.
    found = curve([0.9, 0.8] * 12 + [0.7] * 12, [0.9, 0.8] * 4 + [0.7] * 12)
    assert found.upper[high_cut(found, 0.99)] == 0.8


def test_gains_count_as_far_as_the_aim_is_met() -> None:
    def worth(true_positives: int, false_positives: int) -> float:
        high = ClassFigures(true_positives, false_positives, 1000)
        return Figures(high, ClassFigures(1000, 0, 1000), high).worth(Aims(0.99, 0.95))

    assert worth(1000, 0) == 2
    assert worth(0, 0) == 1
    # .9 precision is no better than nothing HIGH, whatever the recall; .985 is better.
    assert worth(900, 100) < worth(0, 0) < worth(985, 15)
    # From ten points on, recall is worth nothing.
    assert worth(800, 800) == worth(400, 400) < worth(400, 300)


def test_medium_is_the_highest_cut_that_keeps_the_recall() -> None:
    duplicates = [0.5 + step / 1000 for step in range(400)]
    found = curve(duplicates, [0.1])
    cut = medium_cut(found, 0.95)
    assert found.recall[cut] > 0.95
    assert found.upper[cut] > 0.51
    assert lower_bound(int(found.true_positives[cut]), 400) < 0.96


def test_limits_say_what_no_threshold_mends() -> None:
    pairs = columns([0.9] * 30 + [0.95] * 10, [True] * 30 + [False] * 10)
    pairs.ceiling[:15] = 1
    reach = limits(pairs, TODAY.weights, floor=LOWEST_MEDIUM)
    assert reach.recall == 0.5
    assert reach.precision == 0.6


@given(
    sample=scores_and_labels,
    precision=st.sampled_from([0.5, 0.9, 0.99, 1.0]),
    recall=st.sampled_from([0.5, 0.95, 1.0]),
)
@settings(max_examples=150)
def test_thresholds_always_descend_in_range(
    sample: list[tuple[float, bool]], precision: float, recall: float
) -> None:
    pairs = columns([score for score, _ in sample], [label for _, label in sample])
    found = choose(pairs, TODAY.weights, Aims(precision, recall), TODAY, floor=LOWEST_MEDIUM)
    assert 0 <= found.low < found.medium < found.high <= 1
    assert found.medium >= LOWEST_MEDIUM
    assert round(found.high - found.medium, 4) >= SMALLEST_STEP


def test_easy_data_leaves_an_interval_for_medium() -> None:
    duplicates = [0.70 + step / 1000 for step in range(200)]
    distinct = [0.30 + step / 1000 for step in range(200)]
    pairs = columns([*duplicates, *distinct], [True] * 200 + [False] * 200)
    aims = Aims(0.99, 0.95)
    found = choose(pairs, TODAY.weights, aims, TODAY, floor=LOWEST_MEDIUM)
    figures = Figures.of(pairs.classes(found), pairs.is_duplicate)
    assert figures.high.precision == 1
    assert figures.medium.recall is not None and figures.medium.recall >= 0.95
    assert figures.reached(aims) == 2


@given(sample=scores_and_labels)
@settings(max_examples=60)
def test_reachable_aims_are_reached_as_by_trying_all(sample: list[tuple[float, bool]]) -> None:
    """If some pair of thresholds serves both aims, the chosen ones serve both on the sample."""
    pairs = columns([score for score, _ in sample], [label for _, label in sample])
    aims = Aims(0.9, 0.9)
    cuts = sorted({score for score, _ in sample})

    def reached(high: float, medium: float) -> int:
        tried = Settings(TODAY.weights, high, medium, 0.2)
        return Figures.of(pairs.classes(tried), pairs.is_duplicate).reached(aims)

    is_possible = any(
        reached(high, medium) == 2
        for high, medium in itertools.product(cuts, cuts)
        if high > medium
    )
    found: Any = choose(pairs, TODAY.weights, aims, TODAY, floor=LOWEST_MEDIUM)
    if is_possible:
        assert reached(found.high, found.medium) == 2
