"""From scored pairs to measures: by class, by kind of change, of the retrieval; the worst errors.

A pair counts as predicted at a class when the search reported it with that class or a better one,
whichever of its two documents was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sherlock_pg.evaluation.run import CLASSES, JudgedPair
from sherlock_pg.evaluation.scored import ScoredPair

THRESHOLD_CLASSES = ("HIGH", "MEDIUM", "LOW")
"""Classes from which a pair counts as predicted."""

RETRIEVALS = ("minhash", "tfidf", "entities")
"""Levels that bring candidates."""

BINS = 20
"""Bars of a histogram of scores from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Counts at one class, and the measures that follow from them; as those of `eval-ner`.

    Attributes:
        tp: duplicates that were reported.
        fp: others that were reported.
        fn: duplicates that were not.
    """

    tp: int
    fp: int
    fn: int

    @property
    def precision(self) -> float:
        """Share of what was reported that is a duplicate; 1 if nothing was reported."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 1.0

    @property
    def recall(self) -> float:
        """Share of the duplicates that was reported; 1 if there are none."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else 1.0


@dataclass(frozen=True, slots=True)
class KindScore:
    """One kind of change.

    Attributes:
        name: as labelled.
        is_duplicate: the label.
        pairs: how many there are.
        reported: share reported at each class or better: recall of duplicates, rate of false alarms
            of others.
    """

    name: str
    is_duplicate: bool
    pairs: int
    reported: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measures:
    """All that is measured of a labelled set.

    Attributes:
        classes: by class.
        kinds: duplicates first, each group in the order of the names.
        candidate_recall: share of the duplicates that each level's retrieval brought, and all of
            them together; `all` counts equal texts too, which need no retrieval.
        histogram: by label the number of pairs by score, `BINS` bars from 0 to 1.
        without_score: by label the number of pairs that no level could compare.
    """

    classes: Mapping[str, ClassScore]
    kinds: Sequence[KindScore]
    candidate_recall: Mapping[str, float]
    histogram: Mapping[bool, Sequence[int]]
    without_score: Mapping[bool, int]

    def as_dict(self) -> dict[str, Any]:
        """Give the measures rounded to four digits, in the shape of the command's last line."""
        # A name that stands for both labels is two kinds.
        names = [kind.name for kind in self.kinds]
        return {
            **{
                name.lower(): {
                    "precision": round(score.precision, 4),
                    "recall": round(score.recall, 4),
                    "f1": round(score.f1, 4),
                }
                for name, score in self.classes.items()
            },
            "kinds": {
                kind.name
                if names.count(kind.name) == 1
                else f"{kind.name} ({'duplicate' if kind.is_duplicate else 'distinct'})": {
                    "label": int(kind.is_duplicate),
                    "pairs": kind.pairs,
                    **{name.lower(): round(share, 4) for name, share in kind.reported.items()},
                }
                for kind in self.kinds
            },
            "candidate_recall": {
                level: round(share, 4) for level, share in self.candidate_recall.items()
            },
        }


def is_reported(pair: ScoredPair, at_least: str) -> bool:
    """Tell whether the search reported a pair with this class or a better one."""
    return pair.reported is not None and CLASSES.index(pair.reported) <= CLASSES.index(at_least)


def measure(pairs: Sequence[ScoredPair]) -> Measures:
    """Measure a scored set."""
    duplicates = [pair for pair in pairs if pair.is_duplicate]
    others = [pair for pair in pairs if not pair.is_duplicate]
    kinds = sorted({(not pair.is_duplicate, pair.kind) for pair in pairs})
    return Measures(
        classes={name: _class_score(duplicates, others, name) for name in THRESHOLD_CLASSES},
        kinds=[
            _kind_score(name, [p for p in (others if is_other else duplicates) if p.kind == name])
            for is_other, name in kinds
        ],
        candidate_recall={
            **{
                level: _share(level in pair.retrieved_by for pair in duplicates)
                for level in RETRIEVALS
            },
            "all": _share(pair.is_same_text or bool(pair.retrieved_by) for pair in duplicates),
        },
        histogram={True: _histogram(duplicates), False: _histogram(others)},
        without_score={
            True: sum(pair.score is None for pair in duplicates),
            False: sum(pair.score is None for pair in others),
        },
    )


def false_alarms(pairs: Iterable[JudgedPair]) -> list[JudgedPair]:
    """Return pairs that were reported but are no duplicates: best class first, then best score."""
    wrong = [
        pair for pair in pairs if not pair.scored.is_duplicate and pair.scored.reported is not None
    ]
    wrong.sort(
        key=lambda pair: (
            CLASSES.index(pair.scored.reported or CLASSES[-1]),
            -(pair.scored.score or 0),
        )
    )
    return wrong


def misses(pairs: Iterable[JudgedPair]) -> list[JudgedPair]:
    """Return duplicates that were not reported, the lowest score first."""
    missed = [pair for pair in pairs if pair.scored.is_duplicate and pair.scored.reported is None]
    missed.sort(key=lambda pair: -1 if pair.scored.score is None else pair.scored.score)
    return missed


def _class_score(
    duplicates: Sequence[ScoredPair], others: Sequence[ScoredPair], name: str
) -> ClassScore:
    found = sum(is_reported(pair, name) for pair in duplicates)
    wrong = sum(is_reported(pair, name) for pair in others)
    return ClassScore(tp=found, fp=wrong, fn=len(duplicates) - found)


def _kind_score(name: str, pairs: Sequence[ScoredPair]) -> KindScore:
    return KindScore(
        name=name,
        is_duplicate=pairs[0].is_duplicate,
        pairs=len(pairs),
        reported={
            at_least: _share(is_reported(pair, at_least) for pair in pairs)
            for at_least in THRESHOLD_CLASSES
        },
    )


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 1.0


def _histogram(pairs: Sequence[ScoredPair]) -> list[int]:
    bars = [0] * BINS
    for pair in pairs:
        if pair.score is not None:
            bars[min(int(pair.score * BINS), BINS - 1)] += 1
    return bars
