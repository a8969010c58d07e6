"""The proposal for each document type, measured on pairs it was not fitted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from sherlock_pg.detection_config import CollectionConfig, DetectionConfig
from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.tuning import thresholds, weights
from sherlock_pg.tuning.ensemble import Pairs, Ranks, ScoreClass, Settings, ensemble_scores
from sherlock_pg.tuning.families import families, folds
from sherlock_pg.tuning.figures import Aims, Figures

LEAST_LABELS = 20
"""Pairs of either label that a document type needs."""

LEAST_GAIN = 0.01
"""What a proposal must gain on held-out pairs (`Figures.worth`) to be made."""

MOST_MISSED = 0.10
"""A proposal that misses the precision at HIGH by more than this on held-out pairs is not made: it
would only move the class about."""


class Outcome(StrEnum):
    """What becomes of a document type."""

    PROPOSED = "proposed"
    UNCHANGED = "unchanged"
    TOO_FEW = "too few"


@dataclass(frozen=True, slots=True)
class Options:
    """How to calibrate.

    Attributes:
        aims: what is asked for.
        keep_weights: choose thresholds only.
        fold_count: parts, each of which is held out once.
        seed: of the assignment of families to folds.
        sees_all_scores: pairs were labelled whatever their score; false for review decisions, of
            which nothing is known below the lowest score that was reviewed.
    """

    aims: Aims
    keep_weights: bool = False
    fold_count: int = 5
    seed: int = 0
    sees_all_scores: bool = True


@dataclass(frozen=True, slots=True)
class Sample:
    """What a document type has to learn from.

    Attributes:
        doc_types: the types of its documents.
        duplicates: pairs labelled so, without those of equal text.
        distinct: pairs labelled so, without those of equal text.
        same_text: pairs of equal text: EXACT, not part of any figure.
        not_retrieved: pairs that no retrieval brings or whose texts have no score.
        capped: pairs whose conflict caps the class below HIGH.
        family_count: families of documents.
        largest_family: pairs of the largest one.
        disagreeing: pairs that the search reported with another class than is computed here.
    """

    doc_types: tuple[str, ...]
    duplicates: int
    distinct: int
    same_text: int
    not_retrieved: int
    capped: int
    family_count: int
    largest_family: int
    disagreeing: int


@dataclass(frozen=True, slots=True)
class Change:
    """A pair whose class the proposal changes."""

    left: str
    right: str
    kind: str
    is_duplicate: bool
    before: ScoreClass
    after: ScoreClass

    @property
    def is_better(self) -> bool:
        """A duplicate went up, or a distinct pair down."""
        return (self.after > self.before) == self.is_duplicate


@dataclass(frozen=True, slots=True)
class Calibration:
    """Settings that were fitted, and their figures.

    Attributes:
        before: figures of today's settings.
        held_out: figures of pairs that the settings which classified them were not fitted on.
        fitted: figures of the proposal on the pairs that it was fitted on: too good by nature.
        by_fold: what was fitted without each fold: how far it differs is how sure the proposal is.
        limits: the best that any thresholds reach with the proposed weights.
        gain: held-out worth less that of today's settings.
        changes: pairs whose class changes.
    """

    before: Figures
    held_out: Figures
    fitted: Figures
    by_fold: tuple[Settings, ...]
    limits: thresholds.Limits
    gain: float
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed for the document types of one configuration row.

    Attributes:
        config: the row in force.
        outcome: proposed, unchanged or too few.
        reason: why, in words, where nothing is proposed.
        sample: what there was to learn from.
        settings: what is proposed; today's settings where nothing is.
        calibration: the figures; None if there were too few labels.
        hint: what to do where there were too few labels.
    """

    config: DetectionConfig
    outcome: Outcome
    reason: str
    sample: Sample
    settings: Settings
    calibration: Calibration | None = field(default=None)
    hint: str = ""

    @property
    def current(self) -> Settings:
        """Today's settings."""
        return Settings.of(self.config)


def propose(
    pairs: Sequence[ScoredPair], config: CollectionConfig, options: Options
) -> list[Proposal]:
    """Return a proposal for each configuration row that decides on some of the pairs.

    A document type without a row of its own is decided by the row `default`, and calibrated there.
    """
    by_row: dict[str, list[ScoredPair]] = {name: [] for name in config.by_doc_type}
    for pair in pairs:
        by_row[pair.doc_type if pair.doc_type in by_row else "default"].append(pair)
    return [
        _proposal(found, config.by_doc_type[name], options)
        for name, found in by_row.items()
        if found
    ]


def with_proposals(config: CollectionConfig, proposals: Sequence[Proposal]) -> CollectionConfig:
    """Return the configuration with what is proposed put in."""
    rows: Mapping[str, DetectionConfig] = {
        proposal.config.doc_type: replace(
            proposal.config,
            minhash_weight=proposal.settings.weights[0],
            tfidf_weight=proposal.settings.weights[1],
            entity_weight=proposal.settings.weights[2],
            high_threshold=proposal.settings.high,
            medium_threshold=proposal.settings.medium,
            low_threshold=proposal.settings.low,
        )
        for proposal in proposals
        if proposal.outcome is Outcome.PROPOSED
    }
    return replace(config, by_doc_type={**config.by_doc_type, **rows})


def _proposal(
    labelled: Sequence[ScoredPair], config: DetectionConfig, options: Options
) -> Proposal:
    scored = [pair for pair in labelled if not pair.is_same_text]
    pairs = Pairs.of(scored, config.conflict_cap)
    family = families(scored)
    current = Settings.of(config)
    sample = _sample(labelled, scored, pairs, family, current)
    if lack := _too_few(sample, pairs, family, options):
        reason, hint = lack
        return Proposal(config, Outcome.TOO_FEW, reason, sample, current, hint=hint)

    fit = _fitter(options, current, keep_weights=True)
    by_fold, held_out = _cross_validated(pairs, family, fit, options)
    if not options.keep_weights:
        # Other weights have to earn their place on pairs they were not fitted on.
        search = _fitter(options, current, keep_weights=False)
        with_search = _cross_validated(pairs, family, search, options)
        if (
            with_search[1].reached(options.aims) >= held_out.reached(options.aims)
            and with_search[1].worth(options.aims) - held_out.worth(options.aims) >= LEAST_GAIN
        ):
            fit, (by_fold, held_out) = search, with_search
    proposed = fit(pairs)
    classes_before, classes_after = pairs.classes(current), pairs.classes(proposed)
    before = Figures.of(classes_before, pairs.is_duplicate)
    calibration = Calibration(
        before=before,
        held_out=held_out,
        fitted=Figures.of(classes_after, pairs.is_duplicate),
        by_fold=by_fold,
        limits=thresholds.limits(pairs, proposed.weights, floor=_floor(pairs, options, current)),
        gain=held_out.worth(options.aims) - before.worth(options.aims),
        changes=_changes(scored, classes_before, classes_after),
    )
    if proposed == current:
        reason = "today's settings are already the best that were found"
    elif (
        held_out.high.precision is not None
        and held_out.high.precision < options.aims.precision_at_high - MOST_MISSED
    ):
        reason = (
            "the precision at HIGH is out of reach: held-out pairs came to"
            f" {held_out.high.precision:.4f}, {options.aims.precision_at_high:g} is wanted"
        )
    elif calibration.gain < LEAST_GAIN:
        reason = "on held-out pairs the settings that were found are no better than today's"
    else:
        return Proposal(config, Outcome.PROPOSED, "", sample, proposed, calibration)
    return Proposal(
        config, Outcome.UNCHANGED, reason, sample, current, replace(calibration, changes=())
    )


def _fitter(
    options: Options, current: Settings, *, keep_weights: bool
) -> Callable[[Pairs], Settings]:
    def fit(part: Pairs) -> Settings:
        return weights.search(
            part,
            options.aims,
            current,
            floor=_floor(part, options, current),
            keep_weights=keep_weights,
        )

    return fit


def _cross_validated(
    pairs: Pairs, family: Ranks, fit: Callable[[Pairs], Settings], options: Options
) -> tuple[tuple[Settings, ...], Figures]:
    """Return what is fitted without each fold, and the figures of the folds left out."""
    fold = folds(family, options.fold_count, options.seed)
    by_fold = tuple(fit(pairs.part(fold != number)) for number in range(options.fold_count))
    classes = np.zeros(len(pairs), dtype=np.int64)
    for number, settings in enumerate(by_fold):
        classes[fold == number] = pairs.part(fold == number).classes(settings)
    return by_fold, Figures.of(classes, pairs.is_duplicate)


def _sample(
    labelled: Sequence[ScoredPair],
    scored: Sequence[ScoredPair],
    pairs: Pairs,
    family: Ranks,
    current: Settings,
) -> Sample:
    duplicates = int(pairs.is_duplicate.sum())
    now = pairs.classes(current)
    return Sample(
        doc_types=tuple(sorted({pair.doc_type for pair in labelled})),
        duplicates=duplicates,
        distinct=len(pairs) - duplicates,
        same_text=len(labelled) - len(scored),
        not_retrieved=int((pairs.ceiling == ScoreClass.NONE).sum()),
        capped=int(np.isin(pairs.ceiling, (ScoreClass.LOW, ScoreClass.MEDIUM)).sum()),
        family_count=len(set(family.tolist())),
        largest_family=max(Counter(family.tolist()).values(), default=0),
        disagreeing=sum(
            pair.reported != (None if rank == ScoreClass.NONE else ScoreClass(rank).name)
            for pair, rank in zip(scored, now.tolist(), strict=True)
        ),
    )


def _too_few(
    sample: Sample, pairs: Pairs, family: Ranks, options: Options
) -> tuple[str, str] | None:
    """Return what is lacking and what to do about it; None if there is enough to learn from."""
    if min(sample.duplicates, sample.distinct) < LEAST_LABELS:
        return (
            f"{sample.duplicates} duplicates and {sample.distinct} distinct pairs (equal texts not"
            f" counted); at least {LEAST_LABELS} of either are needed",
            f"label at least {LEAST_LABELS} duplicates and {LEAST_LABELS} distinct pairs",
        )
    for label, name in ((True, "duplicates"), (False, "distinct pairs")):
        count = len(set(family[pairs.is_duplicate == label].tolist()))
        if count < options.fold_count:
            return (
                f"the {name} come from {count} unconnected"
                f" {'family' if count == 1 else 'families'} of documents; at least"
                f" {options.fold_count}, one for each fold, are needed to hold any out",
                "pairs that connect families, pairs of distinct documents too, tie them together:"
                " leave some of those out, or label pairs of other documents",
            )
    return None


def _floor(pairs: Pairs, options: Options, current: Settings) -> float:
    """Return the score below which MEDIUM is not put."""
    if options.sees_all_scores:
        return thresholds.LOWEST_MEDIUM
    lowest_seen = float(np.nanmin(ensemble_scores(pairs.levels, current.weights)))
    below_it = round(lowest_seen - thresholds.SMALLEST_STEP, 4)
    return max(thresholds.LOWEST_MEDIUM, min(current.medium, below_it))


def _changes(pairs: Sequence[ScoredPair], before: Ranks, after: Ranks) -> tuple[Change, ...]:
    return tuple(
        Change(
            pair.left, pair.right, pair.kind, pair.is_duplicate, ScoreClass(old), ScoreClass(new)
        )
        for pair, old, new in zip(pairs, before.tolist(), after.tolist(), strict=True)
        if old != new
    )
