"""`sherlock-pg load`: files in, verdicts out."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.load_texts import check_options, load_texts, refuse_bulk_files, text_options
from sherlock_pg.cli.output import counted, csv_text, format_option, printable
from sherlock_pg.cli.progress import open_progress
from sherlock_pg.cli.reading_options import (
    check_doc_type,
    default_workers,
    explain_code,
    open_reader,
    reading_options,
)
from sherlock_pg.errors import EnvironmentFault, ExitCode, UsageError

if TYPE_CHECKING:
    from sherlock_pg.load.outcome import Outcome

_CSV_COLUMNS = (
    "file",
    "status",
    "gate",
    "confidence",
    "action",
    "score",
    "best_match",
    "best_match_id",
    "document_id",
    "doc_type",
    "text_state",
    "reason",
    "flags",
    "detail",
)


@click.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(path_type=Path),
)
@text_options
@reading_options
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=64),
    default=default_workers,
    show_default="one per processor",
    help="Files read at once.",
)
@click.option(
    "--retry-failed", is_flag=True, help="Read files again that failed or were read partly."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Store nothing: compare each file with what is stored, not with each other.",
)
@format_option
@click.pass_context
@pass_context
def load(
    context: CliContext,
    click_context: click.Context,
    /,
    paths: tuple[Path, ...],
    text_fields: tuple[str, ...],
    key: str | None,
    name_field: str | None,
    profile: str | None,
    encoding: str,
    again: bool,
    rejects: Path | None,
    collection: str,
    doc_type: str,
    workers: int,
    retry_failed: bool,
    dry_run: bool,
    output_format: str,
    **reading: Any,
) -> int:
    """Load files and folders, and say of each document whether it is already there.

    Prints one line per document (status, class, action, score, best match) and a summary. Files
    whose bytes are known are not read again. Stopped with Ctrl-C, a second run goes on.

    With --text and --key the files hold many texts, one a row; these are stored with all features,
    many thousand a second, and not judged one by one: all pairs are found afterwards, in SQL.
    """
    from sherlock_pg.load.outcome import summary
    from sherlock_pg.load.walk import walk

    signal.signal(signal.SIGTERM, _interrupt)
    if not any(os.path.lexists(path) for path in paths):
        raise UsageError(f"there is no {printable(str(paths[0]))}")
    check_options(click_context, is_texts=bool(text_fields))
    if text_fields:
        return load_texts(
            context,
            paths,
            collection=collection,
            doc_type=doc_type,
            text_fields=text_fields,
            key=key,
            name_field=name_field,
            profile=profile,
            encoding=encoding,
            again=again,
            rejects=rejects,
            output_format=output_format,
        )
    refuse_bulk_files(paths)
    files = list(walk(paths))
    if not files:
        click.echo("no files found there", err=True)
    outcomes: list[Outcome] = []
    fault: EnvironmentFault | None = None
    started = time.monotonic()

    with open_progress(quiet=context.verbosity < 0) as progress:

        def report(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if output_format == "table":
                if len(outcomes) == 1:
                    click.echo(_HEADER)
                click.echo(line(outcome))

        with open_reader(workers=workers, **reading) as (extractor, reader):
            if dry_run:
                from sherlock_pg.load.preview import Preview

                progress.stage("reading", len(files))
                with context.connection(autocommit=True) as conn:
                    check_doc_type(conn, doc_type)
                    preview = Preview(conn, reader, collection, doc_type)
                    for path in files:
                        report(preview.judge(path))
                        progress.step()
            else:
                from sherlock_pg.load.loader import Loader, LoadOptions

                with context.connection(install=True) as conn:
                    check_doc_type(conn, doc_type)
                loader = Loader(
                    context.conninfo(),
                    LoadOptions(collection, doc_type, workers, retry_failed),
                    extractor,
                    reader,
                )
                resumed = loader.run(files, report, progress)
                fault = loader.environment_fault
                if loader.refit_reason is not None:
                    progress.say(
                        f"a new vocabulary is proposed ({loader.refit_reason}): see "
                        "sherlock-pg fit status, make it with sherlock-pg fit"
                    )
                if resumed:
                    progress.say(
                        f"{counted(resumed, 'document')} of an interrupted run, not among these "
                        "files, read or judged too: see sherlock.latest_verdicts"
                    )

    counts = summary(outcomes, time.monotonic() - started)
    _write_result(outcomes, counts, output_format)
    if fault is not None:
        raise EnvironmentFault(f"{fault}; the files that need it were left out", hint=fault.hint)
    return ExitCode.SOME_FAILED if counts["failed"] else ExitCode.OK


_HEADER = f"{'status':<8} {'class':<6} {'action':<6} {'score':>6}  document"


def line(outcome: Outcome) -> str:
    """Return an outcome as one line of text."""
    score = "" if outcome.score is None else f"{outcome.score:.4f}"
    text = (
        f"{outcome.status:<8} {outcome.confidence or '-':<6} {outcome.action or '-':<6} "
        f"{score:>6}  {printable(outcome.file)}"
    )
    if outcome.best_match:
        text += f"  =  {printable(outcome.best_match)}"
    if outcome.best_match_id is not None:
        text += f" (#{outcome.best_match_id})"
    if outcome.reason:
        text += f"  [{outcome.reason}: {explain_code(outcome.reason)}]"
        if outcome.detail:
            text += f"  ({printable(outcome.detail)})"
    elif outcome.gate == "hit" and outcome.detail:
        text += f"  [{outcome.detail}]"
    notes = [*outcome.flags, *([outcome.text_state] if _is_left_out(outcome) else [])]
    if notes:
        text += f"  [{', '.join(notes)}]"
    return text


def _is_left_out(outcome: Outcome) -> bool:
    return outcome.text_state not in ("", "indexed")


def _write_result(
    outcomes: list[Outcome], counts: dict[str, int | float], output_format: str
) -> None:
    if output_format == "json":
        document = {"documents": [o.as_dict() for o in outcomes], "summary": counts}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))
        return
    if output_format == "csv":
        click.echo(csv_text([o.as_dict() for o in outcomes], _CSV_COLUMNS), nl=False)
    # CSV on stdout is data only; the summary is for the person at the terminal.
    partial = f" ({counts['partial']} partial)" if counts["partial"] else ""
    text = (
        f"{counted(counts['files'], 'file')} in {counts['seconds']} s:"
        f" {counts['new']} new{partial}, {counts['known_bytes']} known by their bytes,"
        f" {counts['failed']} failed;"
        f" {counts['reject']} REJECT, {counts['review']} REVIEW, {counts['accept']} ACCEPT"
    )
    click.echo(text, err=output_format == "csv")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM as Ctrl-C: give the claims back, keep what is done."""
    raise KeyboardInterrupt
