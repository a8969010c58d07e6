"""`sherlock-pg match`: the verdict on a file, without storing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.load import line
from sherlock_pg.cli.output import format_option, printable, write_rows
from sherlock_pg.cli.reading_options import check_doc_type, open_reader, reading_options
from sherlock_pg.errors import ExitCode

_COLUMNS = (
    "document_id",
    "name",
    "confidence",
    "action",
    "final_score",
    "minhash_score",
    "tfidf_score",
    "entity_score",
    "has_conflict",
)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@reading_options
@click.option(
    "--limit", type=click.IntRange(1, 100), default=None, help="Candidates shown, at most."
)
@format_option
@pass_context
def match(
    context: CliContext,
    /,
    file: Path,
    collection: str,
    doc_type: str,
    limit: int | None,
    output_format: str,
    **reading: Any,
) -> int:
    """Say whether FILE is already there, without storing anything."""
    from sherlock_pg.load.preview import Preview

    with (
        context.connection(autocommit=True) as conn,
        open_reader(workers=1, **reading) as (_, reader),
    ):
        check_doc_type(conn, doc_type)
        preview = Preview(conn, reader, collection, doc_type, with_containers=True)
        outcome = preview.judge(file, limit=limit)
    candidates = list(outcome.candidates) or _exact_copy(outcome.as_dict())
    if output_format == "json":
        click.echo(json.dumps(outcome.as_dict(), ensure_ascii=False, indent=2, default=str))
    elif output_format == "csv":
        write_rows(candidates, _COLUMNS, output_format)
    else:
        click.echo(line(outcome))
        if candidates:
            write_rows(candidates, _COLUMNS, output_format)
        for container in outcome.containers:
            click.echo(
                f"contained in {printable(container['name'] or '')} (#{container['document_id']}):"
                f" {container['containment']:.2f} of it,"
                f" words {container['first_word']}–{container['last_word']}"
            )
    return ExitCode.SOME_FAILED if outcome.status == "failed" else ExitCode.OK


def _exact_copy(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the document with the same bytes as the one candidate that there is."""
    if outcome["best_match_id"] is None:
        return []
    return [
        {
            "document_id": outcome["best_match_id"],
            "name": outcome["best_match"],
            "confidence": outcome["confidence"],
            "action": outcome["action"],
            "final_score": outcome["score"],
        }
    ]
