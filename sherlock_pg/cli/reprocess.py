"""`sherlock-pg reprocess`: stored documents processed again, and what waits for a person."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
import psycopg
from psycopg.rows import dict_row

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import ID, counted, format_option, write_rows, write_table
from sherlock_pg.cli.progress import ProgressReporter, open_progress
from sherlock_pg.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sherlock_pg.reprocess.result import Result
    from sherlock_pg.reprocess.selection import Filters, Selection

_LIST = "list"
_LISTED_COLUMNS = (
    "document_id",
    "name",
    "status",
    "reason",
    "flags",
    "pages",
    "quality",
    "source_uri",
    "since",
    "advice",
)
_COUNTED_COLUMNS = (
    "collection",
    "doc_type",
    "status",
    "text_state",
    "rules_version",
    "feature_version",
    "documents",
)
_FILTERS = (
    click.option("--collection", help="Only this collection. Default: all."),
    click.option("--doc-type", help="Only this type."),
    click.option("--id", "ids", type=ID, multiple=True, help="Only this document; repeatable."),
    click.option(
        "--status", type=click.Choice(["ok", "partial", "failed"]), help="Only this status."
    ),
    click.option("--reason", help="Only failed documents with this reason code."),
    click.option("--flag", help="Only documents with this quality flag."),
    click.option(
        "--before-version",
        metavar="VERSION",
        help="Only entities that rules older than this version found, or none.",
    ),
    click.option("--since", type=click.DateTime(), help="Only what arrived then or later."),
    click.option("--until", type=click.DateTime(), help="Only what arrived before."),
    click.option("--after-id", type=ID, help="Only documents after this one: goes on with --all."),
    click.option("--all", "is_all", is_flag=True, help="Documents that are up to date too."),
)


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.command()
@click.option("--ner", "kind", flag_value="ner", help="Find parties and ids in the stored texts.")
@click.option("--features", "kind", flag_value="features", help="Compute the features.")
@click.option("--ocr", "kind", flag_value="ocr", help="Queue the files; workers read them.")
@click.option("--list", "kind", flag_value=_LIST, help="Show what could not be read well.")
@_filters
@click.option("--dry-run", is_flag=True, help="Only count the documents.")
@click.option(
    "--ner-model",
    default="auto",
    show_default=True,
    help="spaCy model for parties that the rules leave open: auto, none, a name or a path.",
)
@click.option(
    "--ocr-mode",
    type=click.Choice(["auto", "force"]),
    help="With --ocr: pages that need it, or all. Default: as the worker is set.",
)
@click.option(
    "--priority",
    type=click.IntRange(-1000, 1000),
    default=0,
    show_default=True,
    help="With --ocr: higher ones are first.",
)
@format_option
@pass_context
def reprocess(
    context: CliContext,
    /,
    kind: str | None,
    dry_run: bool,
    ner_model: str,
    ocr_mode: str | None,
    priority: int,
    output_format: str,
    **filters: Any,
) -> int:
    """Process stored documents again: one of --ner, --features, --ocr; or --list.

    Without --all only those that need it: entities that other rules or another model found,
    features of older rules, files that were not read well (those that --list shows). What stood
    before is kept (sherlock.document_readings), and what depends on it is judged again. Stopped
    with Ctrl-C, a second run goes on.
    """
    from sherlock_pg.reprocess.requeue import queue_rereads
    from sherlock_pg.reprocess.run import reprocess_entities, reprocess_features
    from sherlock_pg.reprocess.selection import Filters, Kind, select, unreadable

    if kind is None:
        raise UsageError(
            "what is to be done again?",
            hint="one of --ner, --features, --ocr; --list shows what was not read well",
        )
    asked_for = Filters(**filters)
    if kind == _LIST:
        with context.connection() as conn:
            _check(conn, asked_for)
            _write_unreadable(conn, unreadable(asked_for), output_format)
        return ExitCode.OK

    signal.signal(signal.SIGTERM, _interrupt)
    from sherlock_pg.ner.pipeline import PartyExtractor
    from sherlock_pg.reprocess.result import Result

    parties = PartyExtractor(ner_model) if kind == Kind.NER else None
    started = time.monotonic()
    with context.connection(autocommit=True) as conn:
        _check(conn, asked_for)
        selection = select(Kind(kind), asked_for, parties.versions if parties else None)
        if dry_run:
            _write_counts(selection.counts(conn), output_format)
            return ExitCode.OK
        with open_progress(quiet=context.verbosity < 0) as progress:
            conn.add_notice_handler(lambda notice: _say_warning(notice, progress))
            result = Result(Kind(kind), selected=selection.count(conn))
            progress.stage(kind, result.selected)
            with _said_where_it_stopped(result, asked_for, progress):
                if parties is not None:
                    reprocess_entities(conn, selection, parties, result, progress)
                elif result.kind is Kind.FEATURES:
                    reprocess_features(conn, selection, result, progress)
                else:
                    queue_rereads(
                        conn, selection, result, progress, ocr=ocr_mode, priority=priority
                    )
    _write_result(result, time.monotonic() - started, output_format)
    return ExitCode.SOME_FAILED if result.failures or result.without_file else ExitCode.OK


@contextlib.contextmanager
def _said_where_it_stopped(
    result: Result, asked_for: Filters, progress: ProgressReporter
) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        how = "the same command goes on"
        if asked_for.is_all:
            how += f" with --after-id {result.last_id}"
        count = result.processed + result.queued
        progress.say(f"{counted(count, 'document')} done and committed; {how}")
        raise


def _check(conn: psycopg.Connection, filters: Filters) -> None:
    """Refuse names that nothing has: most likely they are misspelt."""
    if filters.collection is not None:
        conn.execute("select sherlock.collection_id(%s)", [filters.collection])
    rows = conn.execute(
        "select i.id from unnest(%s::bigint[]) as i (id) where not exists ("
        " select from sherlock.documents as d where d.document_id = i.id) order by 1",
        [list(filters.ids)],
    ).fetchall()
    if rows:
        raise UsageError(
            f"there is no document {', '.join(str(row[0]) for row in rows)}",
            hint="documents are listed by: select document_id, name from sherlock.documents",
        )


def _write_unreadable(conn: psycopg.Connection, selection: Selection, output_format: str) -> None:
    from sherlock_pg.reprocess.selection import listed

    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(listed(selection), selection.parameters).fetchall()
    write_rows(rows, _LISTED_COLUMNS, output_format)
    excluded = sum(row["text_state"] == "excluded" for row in rows)
    if excluded:
        click.echo(
            f"{counted(excluded, 'document')} that only exact copies match; to let one take part "
            "as it is: select sherlock.accept_reading(document_id)",
            err=True,
        )


def _write_counts(rows: list[dict[str, Any]], output_format: str) -> None:
    write_rows(rows, _COUNTED_COLUMNS, output_format)
    click.echo(
        f"{counted(sum(row['documents'] for row in rows), 'document')}, not touched", err=True
    )


def _write_result(result: Result, seconds: float, output_format: str) -> None:
    values = {**result.as_dict(), "seconds": round(seconds, 2)}
    if output_format == "json":
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
        return
    if result.kind == "ocr":
        _write_queued(result, output_format)
        return
    changes = result.verdict_changes()
    if output_format == "csv":
        write_rows(changes, ("before", "after", "documents"), "csv")
    elif changes:
        write_table(changes, ("before", "after", "documents"))
    for document_id, error in result.failures:
        click.echo(f"document {document_id}: {error}", err=True)
    text = (
        f"{counted(result.processed, 'document')} in {values['seconds']} s:"
        f" {result.changed} changed, {values['verdicts_changed']} verdicts changed"
    )
    if result.overtaken:
        text += f", {result.overtaken} left because they changed meanwhile"
    if result.failures:
        text += f", {len(result.failures)} failed"
    click.echo(text, err=output_format == "csv")


def _write_queued(result: Result, output_format: str) -> None:
    if output_format == "csv":
        missing = [{"document_id": document_id} for document_id in result.without_file]
        write_rows(missing, ("document_id",), "csv")
    elif result.without_file:
        shown = ", ".join(f"#{document_id}" for document_id in result.without_file[:20])
        rest = len(result.without_file) - 20
        click.echo(f"without a file: {shown}{f' and {rest} more' if rest > 0 else ''}", err=True)
    click.echo(
        f"{counted(result.queued, 'document')} queued to be read again,"
        f" {len(result.without_file)} without a file (neither their bytes nor a path with them)",
        err=output_format == "csv",
    )


def _say_warning(notice: psycopg.errors.Diagnostic, progress: ProgressReporter) -> None:
    if notice.severity_nonlocalized == "WARNING":
        progress.say(f"warning: {notice.message_primary}")
        if notice.message_hint:
            progress.say(f"hint: {notice.message_hint}")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM as Ctrl-C: the batch is rolled back, what is done stays."""
    raise KeyboardInterrupt
