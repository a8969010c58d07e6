"""`sherlock-pg eval-ner`: measure the party extraction on labelled texts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sherlock_pg.ner.evaluate import Evaluation, evaluate_in_detail, read_records
from sherlock_pg.ner.pipeline import PartyExtractor


@click.command("eval-ner")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--model",
    default="auto",
    show_default=True,
    help="auto, none, the name of an installed spaCy model, or a path to one.",
)
@click.option("--errors", "show_errors", is_flag=True, help="List each wrong and missing value.")
def eval_ner(file: Path, model: str, show_errors: bool) -> None:
    """Measure how well parties, ids and mails are found in the labelled texts of FILE.

    FILE has one JSON object a line: id, text, and the lists demandante, demandado, cedula and
    correo (ids and mails of the plaintiffs). The last line of the output is JSON.
    """
    records = read_records(file)
    evaluation = evaluate_in_detail(records, PartyExtractor(model).extract)
    if show_errors:
        _print_mistakes(evaluation)
    _print_table(evaluation, len(records))
    scores = {role.value: score.as_dict() for role, score in evaluation.scores.items()}
    click.echo(json.dumps(scores, ensure_ascii=False))


def _print_mistakes(evaluation: Evaluation) -> None:
    for mistake in evaluation.mistakes:
        for sign, values in (("+", mistake.superfluous), ("-", mistake.missing)):
            for value in values:
                click.echo(f"{mistake.record_id}  {mistake.role}  {sign} {value}")


def _print_table(evaluation: Evaluation, texts: int) -> None:
    click.echo(f"{texts} texts")
    click.echo(
        f"{'role':<12}{'precision':>10}{'recall':>8}{'F1':>7}{'right':>7}{'wrong':>7}{'missed':>8}"
    )
    for role, score in evaluation.scores.items():
        click.echo(
            f"{role:<12}{score.precision:>10.3f}{score.recall:>8.3f}{score.f1:>7.3f}"
            f"{score.tp:>7}{score.fp:>7}{score.fn:>8}"
        )
