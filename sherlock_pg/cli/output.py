"""Rows to stdout as a table, JSON or CSV. Data goes to stdout, words to stderr."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

ID = click.IntRange(1, 2**63 - 1)
"""What an id on the command line may be: PostgreSQL's bigint."""

FORMATS = ("table", "json", "csv")

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Form of the output on stdout.",
)

_STYLES = {
    "REJECT": "bold red",
    "REVIEW": "yellow",
    "ACCEPT": "green",
    "EXACT": "bold red",
    "HIGH": "yellow",
    "MEDIUM": "yellow",
    "failed": "bold red",
    "partial": "yellow",
    "OK": "green",
    "WARNING": "yellow",
    "FAILED": "bold red",
}


def printable(text: str) -> str:
    """Replace control characters and lone surrogates, so that a name cannot steer a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def counted(number: int | float, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration(seconds: float | None) -> str:
    """Return a span of time with the two units that matter, as `2 h 5 min`; "" for none."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if minutes < 60:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"


def file_size(size_bytes: float) -> str:
    """Return a number of bytes with a unit, as `1.5 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} B" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"


def write_rows(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], output_format: str
) -> None:
    """Write rows with these columns to stdout; JSON keeps every key of a row."""
    if output_format == "json":
        click.echo(json.dumps(list(rows), ensure_ascii=False, default=str, indent=2))
    elif output_format == "csv":
        click.echo(csv_text(rows, columns), nl=False)
    else:
        write_table(rows, columns)


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return the rows as CSV with a header line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return buffer.getvalue()


def write_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write the rows as an aligned table; numbers to the right, classes in colour."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = {
        column
        for column in columns
        if any(isinstance(row.get(column), int | float) for row in rows)
    }
    for column in columns:
        table.add_column(
            column.replace("_", " "),
            justify="right" if column in numeric else "left",
            overflow="fold",
        )
    for row in rows:
        cells = [_cell(row.get(column)) for column in columns]
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
    console(sys.stdout).print(table)


def console(stream: Any) -> Console:
    """Return a console that does not cut lines when its stream is not a terminal."""
    is_terminal = stream.isatty()
    return Console(file=stream, width=None if is_terminal else 200, highlight=False)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(item) for item in value)
    return printable(str(value))
