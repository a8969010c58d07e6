"""The report of an evaluation as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sherlock_pg.evaluation.measures import BINS, THRESHOLD_CLASSES, Measures
from sherlock_pg.evaluation.run import JudgedPair

_BAR = 40


def report(
    measures: Measures, alarms: Sequence[JudgedPair], missed: Sequence[JudgedPair]
) -> Iterator[str]:
    """Yield the lines of the report; names in them are as they stand in the files."""
    yield from _classes(measures)
    yield ""
    yield from _kinds(measures)
    yield ""
    yield "share of the duplicates that the retrieval brings"
    for level, share in measures.candidate_recall.items():
        yield f"  {level:<10}{share:>8.3f}"
    yield ""
    yield from _histogram(measures)
    if alarms:
        yield ""
        yield "false alarms, the worst first"
        for pair in alarms:
            yield from _mistake(pair)
    if missed:
        yield ""
        yield "missed duplicates, the lowest score first"
        for pair in missed:
            yield from _mistake(pair)


def _classes(measures: Measures) -> Iterator[str]:
    yield (
        f"{'reported as':<16}{'precision':>10}{'recall':>8}{'F1':>7}"
        f"{'right':>7}{'wrong':>7}{'missed':>8}"
    )
    for name, score in measures.classes.items():
        yield (
            f"{'>= ' + name:<16}{score.precision:>10.3f}{score.recall:>8.3f}{score.f1:>7.3f}"
            f"{score.tp:>7}{score.fp:>7}{score.fn:>8}"
        )


def _kinds(measures: Measures) -> Iterator[str]:
    width = max(20, *(len(kind.name) + 4 for kind in measures.kinds))
    header = "".join(f"{'>= ' + name:>11}" for name in THRESHOLD_CLASSES)
    for is_duplicate, title in ((True, "duplicates: recall"), (False, "others: false alarms")):
        kinds = [kind for kind in measures.kinds if kind.is_duplicate is is_duplicate]
        if not kinds:
            continue
        yield f"{title:<{width}}{'pairs':>7}{header}"
        for kind in kinds:
            shares = "".join(f"{kind.reported[name]:>11.3f}" for name in THRESHOLD_CLASSES)
            yield f"  {kind.name:<{width - 2}}{kind.pairs:>7}{shares}"


def _histogram(measures: Measures) -> Iterator[str]:
    most = max(1, *(max(bars) for bars in measures.histogram.values()))
    yield f"{'score':<14}{'duplicates':<{_BAR + 8}}others"
    for position in range(BINS):
        cells = "".join(
            f"{bars[position]:>5} {'#' * -(-bars[position] * _BAR // most):<{_BAR}}  "
            for bars in (measures.histogram[True], measures.histogram[False])
        )
        yield f"{position / BINS:.2f} - {(position + 1) / BINS:.2f} {cells}".rstrip()
    if any(measures.without_score.values()):
        yield (
            f"{'no score':<12}{measures.without_score[True]:>5} "
            f"{'':<{_BAR}}  {measures.without_score[False]:>5}"
        )


def _mistake(pair: JudgedPair) -> Iterator[str]:
    scored = pair.scored
    levels = ", ".join(
        f"{level} {'-' if value is None else format(value, '.3f')}"
        for level, value in (
            ("minhash", scored.minhash),
            ("tfidf", scored.tfidf),
            ("entity", scored.entity),
        )
    )
    score = "-" if scored.score is None else f"{scored.score:.4f}"
    yield (
        f"  {scored.reported or '-':<6} {score:>6}  {scored.left}  =  "
        f"{scored.right}  [{scored.kind}]"
    )
    retrieved = ", ".join(sorted(scored.retrieved_by)) or "none"
    conflict = "; identities conflict" if scored.has_conflict else ""
    yield f"           {levels}; retrieved by: {retrieved}{conflict}"
    for name, entities in (("shared", pair.evidence.shared), ("differs", pair.evidence.differing)):
        if entities:
            yield f"           {name}: {'; '.join(_entity(entity) for entity in entities)}"


def _entity(entity: Mapping[str, Any]) -> str:
    text = f"{entity['role']} {entity['value']}"
    if entity.get("other") not in (None, entity["value"]):
        text += f" / {entity['other']}"
    return text
