"""`sherlock-pg export`: documents to a file, without the duplicates or with their clusters."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted
from sherlock_pg.cli.progress import open_progress
from sherlock_pg.errors import UsageError
from sherlock_pg.export.reading import Keep
from sherlock_pg.export.writers import Format

_STDOUT = Path("-")


@click.command()
@click.argument(
    "file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default=_STDOUT,
)
@click.option(
    "--collection", default="default", show_default=True, help="Collection that is exported."
)
@click.option(
    "--keep",
    type=click.Choice([str(keep) for keep in Keep]),
    default=str(Keep.SURVIVORS),
    show_default=True,
    help="One document of each cluster and those that are in none, or all documents.",
)
@click.option(
    "--with-clusters",
    is_flag=True,
    help="With each document its cluster, who survives in it, and how similar it is to that one.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice([str(form) for form in Format]),
    help="Form of the file. Default: what FILE ends in, or jsonl.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@pass_context
def export(
    context: CliContext,
    file: Path,
    collection: str,
    keep: str,
    with_clusters: bool,
    file_format: str | None,
    force: bool,
) -> None:
    """Write documents with their texts to FILE (- for stdout); nothing is deleted.

    Which document survives of each cluster, sherlock.rebuild_clusters has chosen. FILE is there
    when all of it is written, or not at all. All documents are of one moment.
    """
    from sherlock_pg.export.run import export as run_export

    path = None if file == _STDOUT else file
    form = Format(file_format) if file_format else _format_of(path)
    if path is None and form is Format.PARQUET and sys.stdout.isatty():
        raise UsageError(
            "Parquet is nothing for a terminal", hint="give the name of a file, or use a pipe"
        )
    signal.signal(signal.SIGTERM, _interrupt)
    with (
        context.connection(autocommit=True) as conn,
        open_progress(quiet=context.verbosity < 0) as progress,
    ):
        done = run_export(
            conn,
            path,
            collection=collection,
            keep=Keep(keep),
            with_clusters=with_clusters,
            format=form,
            force=force,
            progress=progress,
        )
    if context.verbosity < 0:
        return
    said = f"{counted(done.documents, 'document')} written"
    if done.left_out:
        said += f", {done.left_out} left out for which another one survives"
    if done.unread:
        said += f", {done.unread} not read yet or failed"
    click.echo(said, err=True)
    if done.without_text:
        click.echo(
            f"warning: {counted(done.without_text, 'document')} without a text: rows of watched"
            " tables that are gone or that you may not read",
            err=True,
        )


def _format_of(path: Path | None) -> Format:
    """Return the format that a file's name ends in."""
    ending = "" if path is None else path.suffix.lower().removeprefix(".")
    return Format(ending) if ending in list(Format) else Format.JSONL


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM as Ctrl-C: what was written so far is removed."""
    raise KeyboardInterrupt
