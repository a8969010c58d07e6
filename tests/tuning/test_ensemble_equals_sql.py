"""What calibration computes of a pair is what the database would say of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.tuning.ensemble import Pairs, ScoreClass, Settings, ensemble_scores

# PostgreSQL refuses products that underflow; no level and no weight is anywhere near.
share = st.one_of(st.just(0.0), st.floats(1e-9, 1))

# Slots agree in 128ths and boosts in a few steps, so that ties at the fifth digit are common.
level = st.one_of(
    st.none(),
    share,
    st.integers(0, 128).map(lambda slots: slots / 128),
    st.integers(0, 20000).map(lambda step: step / 20000),
    st.sampled_from([0.0, 0.05 / 0.35, 0.1 / 0.35, 0.2 / 0.35, 0.30000000000000004 / 0.35, 1.0]),
)
weight_triple = st.one_of(
    st.tuples(st.integers(0, 20), st.integers(0, 20))
    .filter(lambda pair: sum(pair) <= 20)
    .map(lambda pair: (pair[0] / 20, pair[1] / 20, round(1 - sum(pair) / 20, 2))),
    st.tuples(share, share, share),
)
descending = st.lists(st.integers(1, 9999), min_size=3, max_size=3, unique=True).map(
    lambda steps: [step / 10000 for step in sorted(steps, reverse=True)]
)
levels = st.tuples(level, level, level)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(levels, min_size=1, max_size=60), weights=weight_triple)
def test_scores_equal_the_sql_function(
    conn: psycopg.Connection, rows: list[tuple[Any, Any, Any]], weights: tuple[float, float, float]
) -> None:
    expected = conn.execute(
        "select sherlock.ensemble_score(m, t, e, %s, %s, %s)"
        " from unnest(%s::float8[], %s::float8[], %s::float8[]) with ordinality as l (m, t, e, n)"
        " order by n",
        [*weights, *(list(column) for column in zip(*rows, strict=True))],
    ).fetchall()
    scores = ensemble_scores(np.array(rows, dtype=np.float64), weights)
    # Bit for bit, not nearly: a threshold may be any of these numbers.
    assert [None if math.isnan(score) else score for score in scores.tolist()] == [
        score for (score,) in expected
    ]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(st.tuples(levels, st.booleans()), min_size=1, max_size=40),
    weights=weight_triple,
    thresholds=descending,
    cap=st.sampled_from([None, "HIGH", "MEDIUM", "LOW"]),
    is_on_a_score=st.booleans(),
)
def test_classes_equal_the_sql_functions(
    conn: psycopg.Connection,
    rows: list[tuple[tuple[Any, Any, Any], bool]],
    weights: tuple[float, float, float],
    thresholds: list[float],
    cap: str | None,
    is_on_a_score: bool,
) -> None:
    pairs = [
        ScoredPair(
            left=str(number),
            right="other",
            is_duplicate=True,
            kind="made",
            doc_type="default",
            minhash=of_pair[0],
            tfidf=of_pair[1],
            entity=of_pair[2],
            score=None,
            is_same_text=False,
            has_conflict=has_conflict,
            confidence=None,
            reported=None,
            retrieved_by=frozenset({"tfidf"}),
        )
        for number, (of_pair, has_conflict) in enumerate(rows)
        # The search drops pairs of which neither text level exists.
        if of_pair[0] is not None or of_pair[1] is not None
    ]
    columns = Pairs.of(pairs, cap)
    high, medium, low = thresholds
    if is_on_a_score and pairs:
        # Exactly a score of the sample: the comparison must be >=.
        score = float(ensemble_scores(columns.levels, weights)[0])
        high = score if score > medium else high
    expected = conn.execute(
        "select sherlock._capped_class("
        "  sherlock.classify("
        "    sherlock.ensemble_score(m, t, e, %s, %s, %s), %s::float8, %s::float8, %s::float8),"
        "  case when c then %s::text end)"
        " from unnest(%s::float8[], %s::float8[], %s::float8[], %s::bool[]) with ordinality"
        "  as l (m, t, e, c, n)"
        " order by n",
        [
            *weights,
            high,
            medium,
            low,
            cap,
            [pair.minhash for pair in pairs],
            [pair.tfidf for pair in pairs],
            [pair.entity for pair in pairs],
            [pair.has_conflict for pair in pairs],
        ],
    ).fetchall()
    ranks = columns.classes(Settings(weights, high, medium, low))
    assert [
        None if rank == ScoreClass.NONE else ScoreClass(rank).name for rank in ranks.tolist()
    ] == [name for (name,) in expected]


@pytest.mark.parametrize(
    "changes",
    [{"retrieved_by": frozenset()}, {"minhash": None, "tfidf": None}],
    ids=["not retrieved", "people alone"],
)
def test_what_the_search_does_not_bring_has_no_class(
    scored_pair: Any, changes: dict[str, Any]
) -> None:
    pairs = Pairs.of([scored_pair(True, 1.0, **changes), scored_pair(True, 1.0)], None)
    ranks = pairs.classes(Settings((0.25, 0.4, 0.35), 0.8, 0.65, 0.5))
    assert ranks.tolist() == [ScoreClass.NONE, ScoreClass.HIGH]
