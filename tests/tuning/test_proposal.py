"""What is proposed for samples whose best settings are known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from sherlock_pg.detection_config import CollectionConfig
from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.tuning.ensemble import Pairs, ScoreClass
from sherlock_pg.tuning.figures import Aims
from sherlock_pg.tuning.proposal import (
    LEAST_LABELS,
    Options,
    Outcome,
    Proposal,
    propose,
    with_proposals,
)
from sherlock_pg.tuning.weights import GRID_STEP, grid

PairMaker = Callable[..., ScoredPair]
OPTIONS = Options(Aims(0.99, 0.95))


@pytest.fixture
def entities_decide(scored_pair: PairMaker) -> list[ScoredPair]:
    """Give pairs whose texts say nothing of the label, only the entities do."""
    rng = random.Random(5)
    return [
        scored_pair(
            is_duplicate,
            minhash=rng.uniform(0.4, 0.8),
            tfidf=rng.uniform(0.4, 0.8),
            entity=rng.uniform(0.75, 1.0) if is_duplicate else rng.uniform(0.3, 0.6),
        )
        for is_duplicate in [True, False] * 120
    ]


def only(proposals: list[Proposal]) -> Proposal:
    (proposal,) = proposals
    return proposal


def test_the_level_that_separates_gets_the_weight(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    proposal = only(propose(entities_decide, config, OPTIONS))
    assert proposal.outcome is Outcome.PROPOSED
    assert proposal.settings.weights[2] > proposal.current.weights[2]
    assert sum(proposal.settings.weights) == pytest.approx(1, abs=1e-9)
    calibration = proposal.calibration
    assert calibration is not None
    assert calibration.held_out.reached(OPTIONS.aims) == 2
    assert calibration.before.reached(OPTIONS.aims) < 2
    # Nothing of the pairs themselves is read but levels and labels: the order is no matter.
    shuffled = random.Random(1).sample(entities_decide, len(entities_decide))
    assert only(propose(shuffled, config, OPTIONS)).settings == proposal.settings


def test_weights_can_be_kept(entities_decide: list[ScoredPair], config: CollectionConfig) -> None:
    proposal = only(propose(entities_decide, config, replace(OPTIONS, keep_weights=True)))
    assert proposal.settings.weights == proposal.current.weights
    assert proposal.calibration is not None
    assert {found.weights for found in proposal.calibration.by_fold} == {proposal.current.weights}


def test_a_level_that_no_pair_has_keeps_its_weight(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    pairs = [replace(pair, minhash=None) for pair in entities_decide]
    proposal = only(propose(pairs, config, OPTIONS))
    assert proposal.settings.weights[0] == proposal.current.weights[0]


def test_a_level_without_weight_gets_none(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    feeds = replace(
        config.by_doc_type["default"], minhash_weight=0.4, tfidf_weight=0.6, entity_weight=0.0
    )
    proposal = only(
        propose(entities_decide, replace(config, by_doc_type={"default": feeds}), OPTIONS)
    )
    assert proposal.settings.weights[2] == 0


@pytest.mark.parametrize(
    "current",
    [(0.25, 0.40, 0.35), (1 / 3, 1 / 3, 1 / 3), (0.02, 0.49, 0.49), (0.123, 0.877, 0.0)],
)
@pytest.mark.parametrize("absent", [None, 0, 1])
def test_all_weights_of_the_grid_are_valid(
    entities_decide: list[ScoredPair], current: tuple[float, float, float], absent: int | None
) -> None:
    pairs = Pairs.of(entities_decide, None)
    if absent is not None:
        pairs.levels[:, absent] = math.nan
    first, *others = grid(pairs, current)
    assert first == current
    for weights in others:
        # The table's own check.
        assert abs(sum(weights) - 1) < 1e-9
        for level, weight in enumerate(weights):
            if level == absent or current[level] == 0:
                assert weight == current[level]
            else:
                assert weight >= GRID_STEP - 1e-9
    assert len(set(others)) == len(others)
    if absent is None and all(current):
        # Of 20 steps each level has at least one.
        assert len(others) == 171


def test_conflicts_stay_capped(entities_decide: list[ScoredPair], config: CollectionConfig) -> None:
    """Half of the duplicates conflict: no threshold makes them MEDIUM, and that is said."""
    pairs = [
        replace(pair, doc_type="tutela", has_conflict=number % 4 == 0)
        for number, pair in enumerate(entities_decide)
    ]
    assert all(pair.is_duplicate for pair in pairs if pair.has_conflict)
    proposal = only(propose(pairs, config, OPTIONS))
    assert proposal.config.doc_type == "tutela"
    assert proposal.sample.capped == 60
    calibration = proposal.calibration
    assert calibration is not None
    assert calibration.limits.recall == 0.5
    assert calibration.held_out.medium.true_positives <= 60
    assert calibration.held_out.low.true_positives > 60
    for change in calibration.changes:
        if change.left in {pair.left for pair in pairs if pair.has_conflict}:
            assert change.after <= ScoreClass.LOW


def test_equal_texts_are_in_no_figure(
    entities_decide: list[ScoredPair], scored_pair: PairMaker, config: CollectionConfig
) -> None:
    exact = [scored_pair(True, 0.1, is_same_text=True) for _ in range(50)]
    plain = only(propose(entities_decide, config, OPTIONS))
    mixed = only(propose([*entities_decide, *exact], config, OPTIONS))
    assert (mixed.settings, mixed.calibration) == (plain.settings, plain.calibration)
    assert mixed.sample.same_text == 50


def test_what_is_already_best_is_left(scored_pair: PairMaker, config: CollectionConfig) -> None:
    pairs = [scored_pair(True, 0.95) for _ in range(60)]
    pairs += [scored_pair(False, 0.2) for _ in range(60)]
    proposal = only(propose(pairs, config, OPTIONS))
    assert proposal.outcome is Outcome.UNCHANGED
    assert proposal.settings == proposal.current
    assert with_proposals(config, [proposal]) == config


def test_noise_changes_nothing(scored_pair: PairMaker, config: CollectionConfig) -> None:
    """Labels by lot cannot be learnt: on held-out pairs no settings reach the precision."""
    rng = random.Random(3)
    pairs = [
        scored_pair(
            rng.random() < 0.5,
            minhash=rng.uniform(0.3, 1),
            tfidf=rng.uniform(0.3, 1),
            entity=rng.uniform(0.3, 1),
        )
        for _ in range(200)
    ]
    proposal = only(propose(pairs, config, OPTIONS))
    calibration = proposal.calibration
    assert calibration is not None
    assert calibration.held_out.reached(OPTIONS.aims) < 2
    # In the sample some settings look better than they are: that is what is held out for.
    assert calibration.fitted.worth(OPTIONS.aims) > calibration.held_out.worth(OPTIONS.aims)


def test_too_few_labels_leave_a_type_alone(
    entities_decide: list[ScoredPair], scored_pair: PairMaker, config: CollectionConfig
) -> None:
    few = [scored_pair(True, 0.9, doc_type="tutela") for _ in range(LEAST_LABELS - 1)]
    few += [scored_pair(False, 0.3, doc_type="tutela") for _ in range(60)]
    by_type = {
        proposal.config.doc_type: proposal
        for proposal in propose([*entities_decide, *few], config, OPTIONS)
    }
    assert by_type["tutela"].outcome is Outcome.TOO_FEW
    assert "19 duplicates and 60 distinct" in by_type["tutela"].reason
    assert by_type["tutela"].hint == "label at least 20 duplicates and 20 distinct pairs"
    assert by_type["default"].hint == ""
    assert by_type["default"].outcome is Outcome.PROPOSED
    changed = with_proposals(config, list(by_type.values()))
    assert changed.by_doc_type["tutela"] == config.by_doc_type["tutela"]
    assert changed.by_doc_type["default"] != config.by_doc_type["default"]


def test_too_few_families_leave_a_type_alone(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    one_family = [replace(pair, right="the original") for pair in entities_decide]
    proposal = only(propose(one_family, config, OPTIONS))
    assert proposal.outcome is Outcome.TOO_FEW
    assert "come from 1 unconnected family of documents" in proposal.reason
    assert "leave some of those out" in proposal.hint


def test_distinct_pairs_that_tie_families_together_are_told_as_the_cause(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    duplicates, distinct = entities_decide[::2], entities_decide[1::2]
    bridges = [
        replace(pair, left=one.left, right=other.left)
        for pair, (one, other) in zip(distinct, pairwise(duplicates), strict=False)
    ]
    tied = only(propose([*duplicates, *bridges], config, OPTIONS))
    assert tied.outcome is Outcome.TOO_FEW
    assert tied.reason.startswith("the duplicates come from 1 unconnected family of documents")
    assert "distinct documents too, tie them together: leave some of those out" in tied.hint
    loosened = only(propose([*duplicates, *bridges[::2]], config, OPTIONS))
    assert loosened.outcome is Outcome.PROPOSED


def test_types_without_a_row_are_calibrated_with_the_default(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    pairs = [replace(pair, doc_type="contrato") for pair in entities_decide]
    assert only(propose(pairs, config, OPTIONS)).config.doc_type == "default"


def test_reviews_set_no_medium_below_what_was_seen(
    scored_pair: PairMaker, config: CollectionConfig
) -> None:
    pairs = [scored_pair(True, 0.66 + number / 1000) for number in range(100)]
    pairs += [scored_pair(False, 0.66 + number / 1000) for number in range(0, 100, 4)]
    options = replace(OPTIONS, aims=Aims(0.6, 1.0), keep_weights=True, sees_all_scores=False)
    proposal = only(propose(pairs, config, options))
    assert proposal.calibration is not None
    assert all(found.medium >= 0.65 for found in proposal.calibration.by_fold)


def test_the_same_seed_gives_the_same(
    entities_decide: list[ScoredPair], config: CollectionConfig
) -> None:
    options = replace(OPTIONS, keep_weights=True)
    assert propose(entities_decide, config, options) == propose(entities_decide, config, options)
