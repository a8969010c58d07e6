"""Proposals as rows for people and as one JSON object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sherlock_pg.tuning.ensemble import LEVELS, ScoreClass, Settings
from sherlock_pg.tuning.figures import Aims, ClassFigures, Figures, lower_bound, trials_to_be_sure
from sherlock_pg.tuning.proposal import Calibration, Change, Proposal

SETTING_COLUMNS = ("setting", "today", "proposed", "over_folds")
FIGURE_COLUMNS = (
    "from_class",
    *(
        f"{when} {figure}"
        for when in ("today", "held out", "fitted")
        for figure in ("P", "R", "F1")
    ),
)
CHANGE_COLUMNS = ("before", "after", "duplicates", "distinct")
EXAMPLE_COLUMNS = ("label", "kind", "before", "after", "judged", "left", "right")


def setting_rows(proposal: Proposal) -> list[dict[str, Any]]:
    """Return old and new weights and thresholds, and how far those of the folds differ."""
    by_fold = proposal.calibration.by_fold if proposal.calibration else ()
    spread = [_flat(settings) for settings in by_fold]
    today, proposed = _flat(proposal.current), _flat(proposal.settings)
    return [
        {
            "setting": name,
            "today": today[name],
            "proposed": proposed[name],
            "over_folds": _range([settings[name] for settings in spread]),
        }
        for name in today
    ]


def figure_rows(calibration: Calibration) -> list[dict[str, Any]]:
    """Return precision, recall and F1 from each class up: today, held out, fitted."""
    sources = (calibration.before, calibration.held_out, calibration.fitted)
    rows = []
    for name in ("high", "medium", "low"):
        shares = [
            share for figures in sources for share in _shares(getattr(figures, name)).values()
        ]
        rows.append(dict(zip(FIGURE_COLUMNS, [name.upper(), *shares], strict=True)))
    return rows


def aim_results(calibration: Calibration, aims: Aims) -> list[dict[str, Any]]:
    """Return what became of each aim.

    An aim is reached if the held-out pairs reach it, for sure if the 95 % lower bound does too.
    """
    held_out, limits = calibration.held_out, calibration.limits
    high, medium = held_out.high, held_out.medium
    results = []
    for name, aim, value, price, hits, trials, best in (
        (
            "precision_at_high",
            aims.precision_at_high,
            high.precision,
            {"recall": high.recall},
            high.true_positives,
            high.true_positives + high.false_positives,
            limits.precision,
        ),
        (
            "recall_at_medium",
            aims.recall_at_medium,
            medium.recall,
            {"precision": medium.precision},
            medium.true_positives,
            medium.duplicates,
            limits.recall,
        ),
    ):
        bound = lower_bound(hits, trials)
        results.append(
            {
                "aim": name,
                "wanted": aim,
                "held_out": value,
                "at_the_price_of": price,
                "lower_bound": bound,
                "is_reached": value is not None and value >= aim,
                "is_sure": bound >= aim,
                "best_possible": best,
            }
        )
    return results


def aim_line(result: dict[str, Any]) -> str:
    """Return one aim in words."""
    ((price, paid),) = result["at_the_price_of"].items()
    line = (
        f"{result['aim'].replace('_', ' ')}: wanted {result['wanted']:g}, held out"
        f" {_words(result['held_out'])} (95 % lower bound {result['lower_bound']:.4f}), with"
        f" {price} {_words(paid)}: "
    )
    if not result["is_reached"]:
        return (
            f"{line}NOT REACHED; the best of any threshold, with these weights and on the pairs"
            f" they were fitted on: {_words(result['best_possible'])}"
        )
    if result["is_sure"]:
        return f"{line}reached"
    needed = trials_to_be_sure(result["wanted"])
    if needed is None:
        return f"{line}reached, but no number of pairs makes sure of all"
    return f"{line}reached, but not for sure; that takes at least {needed} pairs without a mistake"


def _words(share: float | None) -> str:
    return "unknown (too few pairs)" if share is None else f"{share:.4f}"


def change_rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return how many pairs go from which class to which."""
    counts = Counter((change.before, change.after, change.is_duplicate) for change in changes)
    moves = sorted({(before, after) for before, after, _ in counts}, reverse=True)
    return [
        {
            "before": _name(before),
            "after": _name(after),
            "duplicates": counts[before, after, True],
            "distinct": counts[before, after, False],
        }
        for before, after in moves
    ]


def example_rows(changes: Sequence[Change], count: int) -> list[dict[str, Any]]:
    """Return some of the pairs whose class changes, worse ones and better ones in turn.

    Of either the furthest moves come first.
    """
    ordered = sorted(changes, key=lambda change: -abs(change.after - change.before))
    worse = [change for change in ordered if not change.is_better]
    better = [change for change in ordered if change.is_better]
    share = min(len(better), max(count // 2, count - len(worse)))
    return [
        {
            "label": "duplicate" if change.is_duplicate else "distinct",
            "kind": change.kind,
            "before": _name(change.before),
            "after": _name(change.after),
            "judged": "better" if change.is_better else "worse",
            "left": change.left,
            "right": change.right,
        }
        for change in [*worse[: count - share], *better[:share]]
    ]


def as_json(proposal: Proposal, aims: Aims, *, examples: int) -> dict[str, Any]:
    """Return a proposal as an object for JSON."""
    result: dict[str, Any] = {
        "doc_type": proposal.config.doc_type,
        "outcome": proposal.outcome.value,
        "reason": proposal.reason or None,
        "hint": proposal.hint or None,
        "conflict_cap": proposal.config.conflict_cap,
        "sample": asdict(proposal.sample),
        "today": _flat(proposal.current),
        "proposed": _flat(proposal.settings),
    }
    if (calibration := proposal.calibration) is not None:
        changes = calibration.changes
        result |= {
            "figures": {
                "today": _figures(calibration.before),
                "held_out": _figures(calibration.held_out),
                "fitted": _figures(calibration.fitted),
            },
            "held_out_gain": round(calibration.gain, 6),
            "by_fold": [_flat(settings) for settings in calibration.by_fold],
            "aims": aim_results(calibration, aims),
            "changed_pairs": len(changes),
            "better_pairs": sum(change.is_better for change in changes),
            "changes": change_rows(changes),
            "examples": example_rows(changes, examples),
        }
    return result


def _flat(settings: Settings) -> dict[str, float]:
    return {
        **{
            f"{level}_weight": weight
            for level, weight in zip(LEVELS, settings.weights, strict=True)
        },
        "high_threshold": settings.high,
        "medium_threshold": settings.medium,
        "low_threshold": settings.low,
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        name: {**asdict(at), **_shares(at)}
        for name, at in (
            ("HIGH", figures.high),
            ("MEDIUM", figures.medium),
            ("LOW", figures.low),
        )
    }


def _shares(figures: ClassFigures) -> dict[str, float | None]:
    return {"precision": figures.precision, "recall": figures.recall, "f1": figures.f1}


def _range(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _name(rank: ScoreClass) -> str:
    return "not reported" if rank is ScoreClass.NONE else rank.name
