"""The formulas of the ensemble: weights, absent levels, classes, configurations."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# No level is ever nearly 0: PostgreSQL raises an error where a product underflows.
level = st.one_of(st.none(), st.just(0.0), st.floats(1e-12, 1))
within = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def ensemble(conn: psycopg.Connection, *levels: float | None, weights: tuple[float, ...]) -> float:
    row = conn.execute(
        "select sherlock.ensemble_score(%s, %s, %s, %s, %s, %s)", [*levels, *weights]
    ).fetchone()
    assert row is not None
    return row[0]


@within
@given(
    minhash=level,
    tfidf=level,
    entity=level,
    split=st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)),
)
def test_score_is_the_weighted_mean_of_the_levels_that_exist(
    conn: psycopg.Connection,
    minhash: float | None,
    tfidf: float | None,
    entity: float | None,
    split: tuple[float, float],
) -> None:
    low, high = sorted(split)
    weights = (low, high - low, 1 - high)
    present = [
        (score, weight)
        for score, weight in zip((minhash, tfidf, entity), weights, strict=True)
        if score is not None
    ]
    score = ensemble(conn, minhash, tfidf, entity, weights=weights)
    total = sum(weight for _, weight in present)
    if total == 0:
        assert score is None
        return
    expected = sum(value * weight for value, weight in present) / total
    assert score == pytest.approx(expected, abs=0.5001e-4)
    assert 0 <= score <= 1
    assert score == float(Decimal(str(score)).quantize(Decimal("0.0001"), ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("minhash", "tfidf", "entity", "score"),
    [
        (0.92, 0.75, 1.0, 0.88),  # date changed, all entities
        (0.392, 0.68, 1.0, 0.72),  # paraphrase of the same case
        (0.57, 0.70, 0.0, 0.4225),  # same template, other people
        (1.0, 1.0, 1.0, 1.0),
        (0.8, 0.8, None, 0.8),  # no comparable entity: the texts alone decide
    ],
)
def test_known_cases(
    conn: psycopg.Connection, minhash: float, tfidf: float, entity: float | None, score: float
) -> None:
    found = ensemble(conn, minhash, tfidf, entity, weights=(0.25, 0.40, 0.35))
    assert found == pytest.approx(score)


@pytest.mark.parametrize(
    ("doc_type", "thresholds"),
    [
        ("default", (0.80, 0.65, 0.50)),
        ("tutela", (0.85, 0.70, 0.50)),
        ("habeas_corpus", (0.90, 0.75, 0.60)),
        ("something else", (0.80, 0.65, 0.50)),
    ],
)
def test_class_begins_at_its_threshold(
    conn: psycopg.Connection, doc_type: str, thresholds: tuple[float, float, float]
) -> None:
    for name, threshold in zip(("HIGH", "MEDIUM", "LOW"), thresholds, strict=True):
        at, below = conn.execute(
            "select sherlock.classify(%(at)s, c.high_threshold, c.medium_threshold,"
            " c.low_threshold), sherlock.classify(%(at)s - 0.0001, c.high_threshold,"
            " c.medium_threshold, c.low_threshold)"
            " from sherlock.detection_config(1, %(doc_type)s) as c",
            {"at": threshold, "doc_type": doc_type},
        ).fetchone() or (None, None)
        assert at == name
        assert below != name


def test_actions(conn: psycopg.Connection) -> None:
    rows = conn.execute(
        "select c, sherlock.recommended_action(c)"
        " from unnest(array['EXACT', 'HIGH', 'MEDIUM', 'LOW', null, 'foo', 'exact']) as c"
    ).fetchall()
    assert dict(rows) == {
        "EXACT": "REJECT",
        "HIGH": "REVIEW",
        "MEDIUM": "REVIEW",
        "LOW": "ACCEPT",
        None: "ACCEPT",
        "foo": None,
        "exact": None,
    }


@pytest.mark.parametrize(
    ("confidence", "cap", "capped"),
    [
        ("HIGH", "MEDIUM", "MEDIUM"),
        ("HIGH", "LOW", "LOW"),
        ("MEDIUM", "LOW", "LOW"),
        ("LOW", "MEDIUM", "LOW"),
        ("MEDIUM", "HIGH", "MEDIUM"),
        ("HIGH", None, "HIGH"),
        (None, "LOW", None),
    ],
)
def test_cap_never_raises_a_class(
    conn: psycopg.Connection, confidence: str | None, cap: str | None, capped: str | None
) -> None:
    row = conn.execute("select sherlock._capped_class(%s, %s)", [confidence, cap]).fetchone()
    assert row == (capped,)


def test_configuration_of_the_collection_comes_before_the_general_one(
    conn: psycopg.Connection,
) -> None:
    conn.execute("select sherlock.create_collection('noticias', 'text')")
    row = conn.execute(
        "select c.minhash_weight, c.tfidf_weight, c.entity_weight"
        " from sherlock.detection_config(sherlock.collection_id('noticias'), 'default') as c"
    ).fetchone()
    assert row == (0.40, 0.60, 0.0)
    # A type of its own in the general rows is more specific than the collection's default.
    row = conn.execute(
        "select c.high_threshold"
        " from sherlock.detection_config(sherlock.collection_id('noticias'), 'tutela') as c"
    ).fetchone()
    assert row == (0.85,)


@pytest.mark.parametrize(
    "change",
    [
        "minhash_weight = 0.5",
        "high_threshold = 0.6",
        "low_threshold = -0.1",
        "conflict_cap = 'EXACT'",
        "max_results = 0",
        "both_parties_boost = 0, cedula_boost = 0, correo_boost = 0",
    ],
)
def test_invalid_configuration_is_refused_by_the_table(
    conn: psycopg.Connection, change: str
) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute(f"update sherlock.detection_configs set {change} where doc_type = 'default'")
