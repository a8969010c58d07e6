"""`sherlock-pg tune`: propose weights and thresholds from labelled pairs or review decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from sherlock_pg import detection_config
from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted, write_table
from sherlock_pg.cli.progress import open_progress
from sherlock_pg.db.connection import connect
from sherlock_pg.detection_config import CollectionConfig
from sherlock_pg.errors import ConfigError, UsageError
from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.tuning import report
from sherlock_pg.tuning.figures import Aims
from sherlock_pg.tuning.proposal import (
    Options,
    Outcome,
    Proposal,
    propose,
    with_proposals,
)
from sherlock_pg.tuning.reviews import read_reviews

_REVIEW_BIAS = (
    "review decisions are a biased sample: only pairs that were reported, as the best match of"
    " their document, were looked at. Recall is that among reported pairs, MEDIUM is not put below"
    " the scores that were seen, and new weights may lift pairs that nobody has seen:"
    " --keep-weights, or a labelled file, is safer"
)
_LABELLED_BIAS = (
    "precision depends on how many distinct pairs the file has, and how hard they are; among all"
    " pairs of a collection it is another"
)
_share = click.FloatRange(0, 1, min_open=True)
_input_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the labels come from.

    Attributes:
        name: reviews or labelled.
        pairs: the labelled pairs.
        sees_all_scores: pairs were labelled whatever their score.
        notes: what to know about them.
    """

    name: str
    pairs: Sequence[ScoredPair]
    sees_all_scores: bool
    notes: tuple[str, ...]


@click.command()
@click.option("--docs", type=_input_file, help="Labelled documents, as for `evaluate`.")
@click.option("--pairs", type=_input_file, help="Labelled pairs of them, as for `evaluate`.")
@click.option(
    "--collection",
    default="default",
    show_default=True,
    help="Collection whose settings are calibrated; without --docs, by its review decisions.",
)
@click.option(
    "--precision-at-high",
    type=_share,
    default=0.99,
    show_default=True,
    help="Aim: share of duplicates among what is HIGH.",
)
@click.option(
    "--recall-at-medium",
    type=_share,
    default=0.95,
    show_default=True,
    help="Aim: share of the duplicates that is at least MEDIUM.",
)
@click.option("--keep-weights", is_flag=True, help="Propose thresholds only.")
@click.option(
    "--folds",
    type=click.IntRange(2, 20),
    default=5,
    show_default=True,
    help="Parts, each of which is held out once.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=6,
    show_default=True,
    help="Pairs to show, per document type, whose class would change.",
)
@click.option(
    "--ner-model",
    help="spaCy model for the entities of --docs, as for `load`.  [default: auto]",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the proposed configuration to this file, for `config import`.",
)
@click.option("--apply", "is_applied", is_flag=True, help="Put what is proposed in force.")
@pass_context
def tune(
    context: CliContext,
    docs: Path | None,
    pairs: Path | None,
    collection: str,
    precision_at_high: float,
    recall_at_medium: float,
    keep_weights: bool,
    folds: int,
    seed: int,
    examples: int,
    ner_model: str | None,
    output: Path | None,
    is_applied: bool,
) -> None:
    """Propose weights and thresholds, per document type, for a stated aim.

    Labels come from the review queue's decisions, or from the files --docs and --pairs. Figures
    after the change are of pairs that were held out. Nothing changes without --apply. The last
    line of the output is JSON.
    """
    if (docs is None) != (pairs is None):
        raise UsageError("--docs and --pairs go together", hint="give both, or neither")
    if ner_model is not None and docs is None:
        raise UsageError("--ner-model is for --docs: review decisions have their entities")
    with context.connection(install=True, autocommit=True) as conn:
        config = detection_config.read(conn, collection)
        if docs is not None and pairs is not None:
            source = _labelled(context, docs, pairs, collection, ner_model or "auto")
        else:
            reviews = read_reviews(conn, collection)
            source = _Source(
                "reviews",
                reviews.pairs,
                False,
                (
                    _REVIEW_BIAS,
                    *_if_any(
                        reviews.without_scores, "decided pair", "no scores any more: left out"
                    ),
                    *_if_any(
                        reviews.older_model,
                        "decided pair",
                        "scores of another vocabulary than today's",
                    ),
                ),
            )
    if not source.pairs:
        raise UsageError(
            f"nobody has decided on a pair of the collection {collection!r} yet",
            hint="decide with sherlock.decide(…), or give labelled files: --docs, --pairs",
        )
    options = Options(
        Aims(precision_at_high, recall_at_medium),
        keep_weights=keep_weights,
        fold_count=folds,
        seed=seed,
        sees_all_scores=source.sees_all_scores,
    )
    proposals = propose(source.pairs, config, options)
    split = (
        f"{folds} folds by document family (documents that pairs connect, so that no document is"
        f" on both sides), seed {seed}"
    )
    click.echo(
        f"{counted(len(source.pairs), 'labelled pair')} from {source.name}; held out: {split}"
    )
    for note in source.notes:
        click.echo(f"note: {note}")
    for proposal in proposals:
        _show(proposal, options, examples)
    proposed = [found for found in proposals if found.outcome is Outcome.PROPOSED]
    if all(found.outcome is Outcome.TOO_FEW for found in proposals):
        raise UsageError(
            "the labels allow no calibration of any document type: "
            + "; ".join(f"{found.config.doc_type}: {found.reason}" for found in proposals),
            hint="; ".join(dict.fromkeys(found.hint for found in proposals)),
        )
    new = with_proposals(config, proposals)
    is_written = output is not None and bool(proposed)
    if output is not None and is_written:
        output.write_text(detection_config.to_json(new), encoding="utf-8")
        click.echo(f"wrote {output}", err=True)
    changed = _apply(context, collection, config, new) if is_applied and proposed else 0
    if is_applied or output is not None:
        click.echo(_what_was_done(changed, len(proposed)), err=True)
    click.echo(
        json.dumps(
            {
                "collection": collection,
                "source": source.name,
                "labelled_pairs": len(source.pairs),
                "aims": {
                    "precision_at_high": precision_at_high,
                    "recall_at_medium": recall_at_medium,
                },
                "keep_weights": keep_weights,
                "split": split,
                "notes": source.notes,
                "doc_types": [
                    report.as_json(found, options.aims, examples=examples) for found in proposals
                ],
                "is_applied": changed > 0,
                "output": str(output) if is_written else None,
            },
            ensure_ascii=False,
        )
    )


def _labelled(
    context: CliContext, docs: Path, pairs: Path, collection: str, ner_model: str
) -> _Source:
    from sherlock_pg.evaluation.corpus import read_corpus
    from sherlock_pg.evaluation.run import Settings, score_pairs

    corpus = read_corpus(docs, pairs)
    conninfo = context.conninfo()
    with (
        open_progress(quiet=context.verbosity < 0) as progress,
        connect(conninfo, autocommit=True) as conn,
    ):
        scored = score_pairs(
            conn,
            corpus,
            settings=Settings(like=collection, ner_model=ner_model),
            progress=progress,
            connect=lambda: connect(conninfo, autocommit=True),
        )
    return _Source("labelled files", scored, True, (_LABELLED_BIAS,))


def _if_any(count: int, noun: str, what: str) -> tuple[str, ...]:
    return (f"{counted(count, noun)} with {what}",) if count else ()


def _apply(
    context: CliContext, collection: str, read: CollectionConfig, new: CollectionConfig
) -> int:
    """Put the configuration in force, unless another one has been meanwhile."""
    with context.connection() as conn:
        if detection_config.read(conn, collection) != read:
            raise ConfigError(
                "the configuration was changed while this ran; nothing was applied",
                hint="run it again",
            )
        return detection_config.write(conn, collection, new)


def _what_was_done(changed: int, proposed: int) -> str:
    if not proposed:
        return "nothing is proposed, so nothing was written"
    return f"{counted(changed, 'change')} in force" if changed else "not in force: see --apply"


def _show(proposal: Proposal, options: Options, examples: int) -> None:
    sample = proposal.sample
    click.echo()
    click.echo(
        f"== {proposal.config.doc_type}: {sample.duplicates} duplicates, {sample.distinct}"
        f" distinct; document families: {sample.family_count}, the largest of"
        f" {counted(sample.largest_family, 'pair')}"
    )
    for line in _sample_lines(proposal):
        click.echo(f"   {line}")
    if proposal.outcome is not Outcome.PROPOSED:
        click.echo(f"   left as it is: {proposal.reason}")
    if proposal.hint:
        click.echo(f"   hint: {proposal.hint}")
    calibration = proposal.calibration
    if calibration is None:
        return
    write_table(report.setting_rows(proposal), report.SETTING_COLUMNS)
    write_table(report.figure_rows(calibration), report.FIGURE_COLUMNS)
    for result in report.aim_results(calibration, options.aims):
        click.echo(report.aim_line(result))
    if proposal.outcome is not Outcome.PROPOSED:
        return
    changes = calibration.changes
    better = sum(change.is_better for change in changes)
    click.echo(
        f"{counted(len(changes), 'pair')} would change class: {better} for the better,"
        f" {len(changes) - better} for the worse"
    )
    if changes:
        write_table(report.change_rows(changes), report.CHANGE_COLUMNS)
    if changes and examples:
        write_table(report.example_rows(changes, examples), report.EXAMPLE_COLUMNS)


def _sample_lines(proposal: Proposal) -> list[str]:
    sample = proposal.sample
    lines = []
    if sample.doc_types != (proposal.config.doc_type,):
        lines.append(f"decides on documents of type {', '.join(sample.doc_types)}")
    if sample.same_text:
        lines.append(
            f"{counted(sample.same_text, 'pair')} of equal text: EXACT whatever the score, in none"
            " of the figures"
        )
    if sample.not_retrieved:
        lines.append(
            f"{counted(sample.not_retrieved, 'pair')} that the search does not find: counted as not"
            " reported, whatever the settings"
        )
    if sample.capped:
        lines.append(
            f"{counted(sample.capped, 'pair')} in conflict: at most"
            f" {proposal.config.conflict_cap}, whatever the settings"
        )
    if sample.disagreeing:
        lines.append(
            f"{counted(sample.disagreeing, 'pair')} that the search reported with another class"
            " than today's settings give"
        )
    return lines
