"""`sherlock-pg queue`: how the queue stands, what was given up, and to try that again."""

from __future__ import annotations

import json
import sys
import time

import click
import psycopg

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import ID, counted, format_option, printable, write_rows
from sherlock_pg.cli.reading_options import explain_code
from sherlock_pg.db import calls, monitoring
from sherlock_pg.errors import ExitCode, UsageError

STATUS_COLUMNS = (
    "collection",
    "queued_count",
    "due_count",
    "backing_off_count",
    "waiting_copy_count",
    "leased_count",
    "stored_count",
    "lapsed_count",
    "worker_count",
    "dead_count",
    "done_last_minute",
    "done_last_hour",
    "done_last_day",
    "oldest_queued_seconds",
)
_DEAD_COLUMNS = ("item_id", "collection", "file", "reason", "attempts", "dead_since", "detail")

collection_option = click.option("--collection", help="Only this collection. Default: all.")
reason_option = click.option("--reason", metavar="CODE", help="Only items with this reason.")


@click.group()
def queue() -> None:
    """Look after the queue of files that wait to be read."""


@queue.command()
@collection_option
@click.option(
    "--watch",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="Show it again every so many seconds, until Ctrl-C; as JSON one line each time.",
)
@format_option
@pass_context
def status(
    context: CliContext, /, collection: str | None, watch: int | None, output_format: str
) -> None:
    """Say what waits, who reads, what was done of late and what was given up."""
    with context.connection(autocommit=True) as conn:
        _check_collection(conn, collection)
        while True:
            rows = monitoring.queue_status(conn, collection)
            if watch is None:
                write_rows(rows, STATUS_COLUMNS, output_format)
                return
            if output_format == "json":
                click.echo(json.dumps(rows, default=str))
            else:
                if sys.stdout.isatty():
                    click.clear()
                write_rows(rows, STATUS_COLUMNS, output_format)
            sys.stdout.flush()
            time.sleep(watch)


@queue.command()
@reason_option
@collection_option
@click.option(
    "--limit",
    type=click.IntRange(1, 2**31 - 1),
    default=100,
    show_default=True,
    help="Items at most.",
)
@format_option
@pass_context
def dead(
    context: CliContext,
    /,
    reason: str | None,
    collection: str | None,
    limit: int,
    output_format: str,
) -> None:
    """List items that were given up, the latest first, and what each reason means."""
    with context.connection(autocommit=True) as conn:
        _check_collection(conn, collection)
        # One more, to know whether there are more.
        found = monitoring.dead_items(conn, reason=reason, collection=collection, limit=limit + 1)
    rows = [
        {
            **row,
            "file": row["path"] or row["name"],
            "detail": row["reason_detail"],
            "explanation": explain_code(row["reason"] or ""),
        }
        for row in found[:limit]
    ]
    write_rows(rows, _DEAD_COLUMNS, output_format)
    if output_format == "table":
        for code in sorted({row["reason"] or "" for row in rows}):
            click.echo(f"{printable(code)}: {explain_code(code)}")
    if len(found) > limit:
        click.echo(f"there are more than {counted(limit, 'item')}: see --limit", err=True)


@queue.command()
@reason_option
@collection_option
@click.option("--id", "item_ids", type=ID, multiple=True, help="Only this item; can be repeated.")
@click.option("--all", "is_all", is_flag=True, help="All items that were given up.")
@pass_context
def retry(
    context: CliContext,
    /,
    reason: str | None,
    collection: str | None,
    item_ids: tuple[int, ...],
    is_all: bool,
) -> int:
    """Queue items again that were given up; of several with the same bytes one.

    Exits 1 if fewer than were asked for by --id could be queued.
    """
    if not (is_all or reason or collection or item_ids):
        raise UsageError(
            "which items?", hint="give --reason, --collection, --id or --all; see: queue dead"
        )
    with context.connection(autocommit=True) as conn:
        _check_collection(conn, collection)
        count = calls.retry_dead(
            conn, reason=reason, collection=collection, item_ids=item_ids or None
        )
    click.echo(f"{counted(count, 'item')} queued again")
    return ExitCode.SOME_FAILED if count < len(set(item_ids)) else ExitCode.OK


def _check_collection(conn: psycopg.Connection, collection: str | None) -> None:
    """Refuse the name of a collection that is not there."""
    if collection is not None:
        calls.collection_id(conn, collection)
