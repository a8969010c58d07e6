"""`sherlock-pg load --text`: files of many texts, one a row."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
import psycopg
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from sherlock_pg.cli.context import CliContext
from sherlock_pg.cli.output import counted, csv_text, duration, printable
from sherlock_pg.cli.reading_options import check_doc_type
from sherlock_pg.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sherlock_pg.bulk.loader import FileOutcome
    from sherlock_pg.bulk.rows import RejectedRow

_SHOWN_REJECTS = 20
_NEXT = "call sherlock.store_duplicate_pairs('{0}'); select sherlock.rebuild_clusters('{0}');"
_SECONDS_BETWEEN_LINES = 15.0
_CSV_COLUMNS = ("file", "format", "rows", "new", "known", "failed", "damage")
_OPTIONS_OF_DOCUMENTS = (
    "ocr",
    "languages",
    "ner_model",
    "timeout",
    "max_pages",
    "workers",
    "retry_failed",
    "dry_run",
)
_OPTIONS_OF_TEXTS = ("key", "name_field", "profile", "encoding", "again", "rejects")


def text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for files of many texts."""
    for option in reversed(_TEXT_OPTIONS):
        command = option(command)
    return command


_TEXT_OPTIONS = (
    click.option(
        "--text",
        "text_fields",
        multiple=True,
        metavar="FIELD",
        help="The paths are files of many texts (JSON lines, CSV, Parquet), one a row, in this "
        "field; given several times, the fields are joined, one paragraph each.",
    ),
    click.option(
        "--key", metavar="FIELD", help="With --text: the field that identifies a row; unique."
    ),
    click.option(
        "--name-field",
        metavar="FIELD",
        help="With --text: a field with a name for people; without it that is the key.",
    ),
    click.option(
        "--profile",
        type=click.Choice(["text", "legal"]),
        help="With --text: what a new collection is: text (no entities; the default) or legal.",
    ),
    click.option(
        "--encoding", default="utf-8", show_default=True, help="With --text: of JSON lines and CSV."
    ),
    click.option(
        "--again",
        is_flag=True,
        help="With --text: read the files from their beginning, though they were loaded before: "
        "for rows whose documents were deleted since.",
    ),
    click.option(
        "--rejects",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        metavar="FILE",
        help="With --text: write the rows that were refused there, as JSON lines.",
    ),
)


def check_options(click_context: click.Context, *, is_texts: bool) -> None:
    """Refuse options that mean nothing for what is loaded."""
    meaningless = _OPTIONS_OF_DOCUMENTS if is_texts else _OPTIONS_OF_TEXTS
    for parameter in click_context.command.params:
        name = parameter.name or ""
        source = click_context.get_parameter_source(name)
        if name in meaningless and source is click.core.ParameterSource.COMMANDLINE:
            option = parameter.opts[0]
            raise UsageError(
                f"{option} is for documents, not for files of texts (--text)"
                if is_texts
                else f"{option} is for files of texts: say with --text which field the text is",
                hint="sherlock-pg load --help",
            )


def refuse_bulk_files(paths: Sequence[Path]) -> None:
    """Refuse files of many texts where they were given as documents."""
    from sherlock_pg.bulk.formats import is_bulk_name

    for path in paths:
        if is_bulk_name(path) and path.is_file():
            raise UsageError(
                f"{path} is a file of many texts: say which field the text is",
                hint=f"sherlock-pg load {path} --text FIELD --key FIELD",
            )


def load_texts(
    context: CliContext,
    paths: Sequence[Path],
    *,
    collection: str,
    doc_type: str,
    text_fields: tuple[str, ...],
    key: str | None,
    name_field: str | None,
    profile: str | None,
    encoding: str,
    again: bool,
    rejects: Path | None,
    output_format: str,
) -> int:
    """Load files of texts; return the exit code."""
    from sherlock_pg.bulk.formats import find_files
    from sherlock_pg.bulk.loader import BulkLoader, BulkOptions
    from sherlock_pg.bulk.rows import FieldMap

    if not key:
        raise UsageError(
            "--key is missing: which field identifies a row?",
            hint="its values must be unique: with them a second load adds nothing",
        )
    files = find_files(paths, encoding)
    fields = FieldMap(text_fields, key, name_field)
    started = time.monotonic()
    outcomes: list[FileOutcome] = []
    with contextlib.ExitStack() as stack:
        rejects_file = None if rejects is None else stack.enter_context(_new_file(rejects))
        conn = stack.enter_context(context.connection(install=True, autocommit=True))
        check_doc_type(conn, doc_type)
        with _open_progress(quiet=context.verbosity < 0) as progress:
            loader = BulkLoader(
                context.conninfo(),
                BulkOptions(fields, collection, profile, doc_type, again),
                progress,
            )
            outcomes.extend(loader.load(file) for file in files)
            refit_reason = loader.finish()
            if refit_reason is not None:
                progress.say(
                    f"a new vocabulary is proposed ({refit_reason}): see sherlock-pg fit status, "
                    "make it with sherlock-pg fit"
                )
        shown = _rejected(conn, outcomes, rejects_file)
    summary = _summary(outcomes, time.monotonic() - started, collection)
    _write(outcomes, shown, summary, output_format)
    is_failed = summary["failed"] or any(outcome.damage for outcome in outcomes)
    return ExitCode.SOME_FAILED if is_failed else ExitCode.OK


def _new_file(path: Path) -> TextIO:
    """Create the file of refused rows; never over another one, which could be what is loaded."""
    try:
        return path.open("x", encoding="utf-8")
    except FileExistsError as error:
        raise UsageError(
            f"{path} exists, and what is in it would be lost",
            hint="name a new file for --rejects, or remove it first",
        ) from error
    except FileNotFoundError as error:
        raise UsageError(f"there is no folder {path.parent}", hint="create it first") from error


def _rejected(
    conn: psycopg.Connection, outcomes: Sequence[FileOutcome], file: TextIO | None
) -> list[dict[str, Any]]:
    """Return the first rows that were refused; write all of them to the file."""
    from sherlock_pg.bulk.files import rejected_rows

    shown: list[dict[str, Any]] = []
    for outcome in outcomes:
        limit = _SHOWN_REJECTS if file is None else None
        for rejected in rejected_rows(conn, outcome.bulk_file_id, limit):
            row = _reject_values(outcome, rejected)
            if len(shown) < _SHOWN_REJECTS:
                shown.append(row)
            if file is not None:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return shown


def _reject_values(outcome: FileOutcome, rejected: RejectedRow) -> dict[str, Any]:
    return {"file": outcome.file, **asdict(rejected)}


def _summary(outcomes: Sequence[FileOutcome], seconds: float, collection: str) -> dict[str, Any]:
    counts = {
        name: sum(getattr(outcome, name) for outcome in outcomes)
        for name in ("rows", "new", "known", "failed")
    }
    return {
        "files": len(outcomes),
        **counts,
        "seconds": round(seconds, 2),
        "next": _NEXT.format(collection.replace("'", "''")),
    }


def _write(
    outcomes: Sequence[FileOutcome],
    rejected: Sequence[dict[str, Any]],
    summary: dict[str, Any],
    output_format: str,
) -> None:
    rows = [
        {name: value for name, value in asdict(outcome).items() if name in _CSV_COLUMNS}
        for outcome in outcomes
    ]
    if output_format == "json":
        document = {"files": rows, "rejected": list(rejected), "summary": summary}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        return
    is_csv = output_format == "csv"
    if is_csv:
        click.echo(csv_text(rows, _CSV_COLUMNS), nl=False)
    else:
        for row in rows:
            click.echo(
                f"{printable(str(row['file']))}: {counted(row['rows'], 'row')}: {row['new']} new, "
                f"{row['known']} known, {row['failed']} failed"
                + (f"  [{printable(str(row['damage']))}]" if row["damage"] else "")
            )
    for row in rejected:
        click.echo(
            f"{printable(row['file'])}:{row['line_number']}: [{row['reason']}] "
            f"{printable(row['detail'])}",
            err=is_csv,
        )
    if summary["failed"] > len(rejected):
        click.echo(
            f"… and {summary['failed'] - len(rejected)} more; all of them: --rejects FILE, or the "
            "table sherlock.rejected_rows",
            err=is_csv,
        )
    rate = summary["rows"] / max(summary["seconds"], 0.01)
    click.echo(
        f"{counted(summary['rows'], 'row')} in {summary['seconds']} s ({rate:.0f}/s): "
        f"{summary['new']} new, {summary['known']} known, {summary['failed']} failed",
        err=is_csv,
    )
    click.echo(f"nothing is judged yet; next: {summary['next']}", err=is_csv)


class _BulkProgress:
    """Shows how far a load is: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self, bar: Progress | None, task: TaskID, *, quiet: bool) -> None:
        self._bar = bar
        self._task = task
        self._quiet = quiet
        self._name = ""
        self._total = 0
        self._done = 0
        self._rows = 0
        self._stage_began = self._line_shown = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage; a total of 0 means that it is not known."""
        self._name, self._total, self._done, self._rows = name, total, 0, 0
        self._stage_began = self._line_shown = time.monotonic()
        if self._bar is not None:
            self._bar.reset(self._task, total=total or None, description=name, words="")
        else:
            self.say(name)

    def step(self, count: int = 1) -> None:
        """Say that steps are done."""
        self._done += count
        if self._bar is not None:
            self._bar.advance(self._task, count)

    def rows(self, count: int) -> None:
        """Say that rows were dealt with, after the steps that they are."""
        self._rows += count
        now = time.monotonic()
        words = (
            f"{counted(self._rows, 'row')}, {self._rows / max(now - self._stage_began, 0.1):.0f}/s"
        )
        if self._bar is not None:
            self._bar.update(self._task, words=words)
        elif now - self._line_shown >= _SECONDS_BETWEEN_LINES:
            self._line_shown = now
            self.say(f"{self._name}: {words}{self._time_left(now)}")

    def say(self, message: str) -> None:
        """Show a line of words."""
        if not self._quiet:
            click.echo(message, err=True)

    def _time_left(self, now: float) -> str:
        if not self._total or not self._done:
            return ""
        left = (now - self._stage_began) * max(self._total - self._done, 0) / self._done
        return f", {self._done / self._total:.0%}, {duration(left)} left"


@contextlib.contextmanager
def _open_progress(*, quiet: bool) -> Iterator[_BulkProgress]:
    if quiet or not sys.stderr.isatty():
        yield _BulkProgress(None, TaskID(0), quiet=quiet)
        return
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    with bar:
        yield _BulkProgress(bar, bar.add_task("", total=None, words=""), quiet=quiet)
