"""`sherlock-pg worker`: reads what is in the queue."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from types import FrameType
from typing import Any

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted
from sherlock_pg.cli.reading_options import (
    Seconds,
    default_workers,
    open_reader,
    worker_reading_options,
)
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import ExitCode


@click.command()
@worker_reading_options
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=64),
    default=default_workers,
    show_default="one per processor",
    help="Files read at once.",
)
@click.option("--until-empty", is_flag=True, help="Stop when nothing is due any more.")
@click.option(
    "--grace",
    type=Seconds(min=0),
    default=30.0,
    show_default=True,
    help="Seconds that files being read may take when the worker is told to stop.",
)
@click.option(
    "--nice",
    type=click.IntRange(min=0, max=19),
    default=10,
    show_default=True,
    help="How far reading steps back where others, the database above all, want the processor.",
)
@pass_context
def worker(
    context: CliContext,
    /,
    concurrency: int,
    until_empty: bool,
    grace: float,
    nice: int,
    **reading: Any,
) -> int:
    """Read the files in the queue: text, OCR, parties, then store and judge each.

    Runs until it is stopped: SIGTERM or Ctrl-C lets the files that are being read come to their
    end, a second one drops them, and others read them. Any number of workers, on any machines, may
    work on one database. `sherlock-pg enqueue` and rows of sherlock.inbox are what they read.
    """
    from sherlock_pg.queue import leases
    from sherlock_pg.queue.item import ItemReader
    from sherlock_pg.queue.storing import ThreadConnections
    from sherlock_pg.queue.worker import Worker

    if context.verbosity == 0:
        # A service says what it does; who wants silence asks for it.
        logging.getLogger("sherlock_pg").setLevel(logging.INFO)
    with context.connection(install=True):
        pass
    os.nice(nice)

    def open_connection() -> Any:
        # Asked anew each time: the embedded server is started where it does not run any more.
        return connect(context.conninfo(), autocommit=True)

    with (
        open_reader(workers=concurrency, **reading) as (extractor, reader),
        contextlib.closing(
            ItemReader(ThreadConnections(open_connection), reader, leases.new_reader_name())
        ) as item_reader,
    ):
        service = Worker(
            open_connection,
            extractor,
            item_reader,
            concurrency=concurrency,
            grace_seconds=grace,
        )

        def stop(_signal: int, _frame: FrameType | None) -> None:
            service.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        _warn_of_what_is_missing(reading)
        summary = service.run(until_empty=until_empty)

    outcomes = summary.outcomes
    named = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    click.echo(
        f"{counted(sum(outcomes.values()), 'file')} in {summary.seconds} s"
        + (f": {named}" if named else "")
    )
    return ExitCode.SOME_FAILED if outcomes["failed"] else ExitCode.OK


def _warn_of_what_is_missing(reading: dict[str, Any]) -> None:
    """Say at once that scans will be left to others, and why."""
    from sherlock_pg.ingest.ocr import check_tesseract

    if reading["ocr"] == "never":
        return
    found = check_tesseract(reading["languages"])
    if found.problem:
        logging.getLogger(__name__).warning(
            "scans are left to other workers: %s; %s", found.problem, found.hint
        )
