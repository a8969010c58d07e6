"""A progress bar on stderr, only where a person looks at it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class ProgressReporter:
    """Shows stages and their steps; silent without a bar."""

    def __init__(self, bar: Progress | None, *, quiet: bool) -> None:
        self._bar = bar
        self._quiet = quiet
        self._task = None if bar is None else bar.add_task("", total=None)

    def stage(self, name: str, total: int) -> None:
        """Begin a stage; a total of 0 means that it is not known."""
        if self._bar is not None and self._task is not None:
            self._bar.reset(self._task, total=total or None, description=name)
        elif not self._quiet:
            click.echo(f"{name}: {total}" if total else name, err=True)

    def step(self, count: int = 1) -> None:
        """Say that steps are done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)

    def say(self, message: str) -> None:
        """Show a line of words."""
        if not self._quiet:
            click.echo(message, err=True)


@contextlib.contextmanager
def open_progress(*, quiet: bool) -> Iterator[ProgressReporter]:
    """Yield a reporter; the bar goes away at the end."""
    if quiet or not sys.stderr.isatty():
        yield ProgressReporter(None, quiet=quiet)
        return
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        # Lines that go to the same terminal are shown above the bar; a file gets them as they are.
        redirect_stdout=sys.stdout.isatty(),
    )
    with bar:
        yield ProgressReporter(bar, quiet=quiet)
