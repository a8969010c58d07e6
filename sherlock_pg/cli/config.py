"""`sherlock-pg config`: show, export and import the detection configuration."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from sherlock_pg import detection_config
from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted, format_option, write_rows
from sherlock_pg.errors import ConfigError

_collection_option = click.option(
    "--collection",
    default="default",
    show_default=True,
    help="Collection whose settings are meant.",
)


@click.group()
def config() -> None:
    """Weights, thresholds and limits: show, export, import."""


@config.command()
@_collection_option
@format_option
@pass_context
def show(context: CliContext, collection: str, output_format: str) -> None:
    """Show the configuration in force, one row per document type."""
    with context.connection(install=True) as conn:
        current = detection_config.read(conn, collection)
    rows = [asdict(row) for row in current.by_doc_type.values()]
    if output_format == "table":
        # Settings downwards, document types across: twenty columns do not fit a terminal.
        types = list(current.by_doc_type)
        rows = [
            {
                "setting": name,
                **{doc_type: row[name] for doc_type, row in zip(types, rows, strict=True)},
            }
            for name in rows[0]
            if name != "doc_type"
        ]
        rows.append(
            {"setting": "tfidf_max_features", **dict.fromkeys(types, current.tfidf_max_features)}
        )
        rows.append(
            {"setting": "tfidf_ngram_range", **dict.fromkeys(types, current.tfidf_ngram_range)}
        )
        write_rows(rows, ["setting", *types], output_format)
        return
    write_rows(rows, list(rows[0]), output_format)


@config.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@_collection_option
@pass_context
def export(context: CliContext, file: Path, collection: str) -> None:
    """Write the configuration to FILE (- for stdout) in the shape of dedup_config.json."""
    with context.connection(install=True) as conn:
        text = detection_config.to_json(detection_config.read(conn, collection))
    if str(file) == "-":
        click.echo(text, nl=False)
    else:
        file.write_text(text, encoding="utf-8")
        click.echo(f"wrote {file}", err=True)


@config.command("import")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@_collection_option
@pass_context
def import_(context: CliContext, file: Path, collection: str) -> None:
    """Read FILE (- for stdin) and put it in force; a bad file changes nothing."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text") from error
    with context.connection(install=True) as conn:
        current = detection_config.read(conn, collection)
        changed = detection_config.write(
            conn, collection, detection_config.from_json(text, current)
        )
    click.echo(
        f"{counted(changed, 'change')} in force" if changed else "nothing to change", err=True
    )
