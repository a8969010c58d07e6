"""`sherlock-pg fit`: vocabularies of the TF-IDF level, fitted, watched and rolled back."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import click
import psycopg
from psycopg.rows import dict_row

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted, format_option, write_rows
from sherlock_pg.cli.progress import open_progress

_STATUS_COLUMNS = (
    "collection",
    "model_id",
    "term_count",
    "document_count_at_fit",
    "document_count",
    "growth",
    "drift",
    "without_vector_share",
    "is_refit_proposed",
    "refit_reason",
    "refreshing_pid",
)
_VERSION_COLUMNS = (
    "collection",
    "model_id",
    "status",
    "term_count",
    "fitted_document_count",
    "created_at",
    "activated_at",
    "match_count",
)
_REASONS = {
    "no_vocabulary": "there is none",
    "settings": "the settings of the collection have changed since the fit",
    "growth": "the collection has grown since the fit",
    "drift": "the latest documents use other words than those at the fit",
}

collection_option = click.option(
    "--collection", default="default", show_default=True, help="Collection whose vocabulary it is."
)


@click.group(invoke_without_command=True)
@collection_option
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="Documents that are read for the fit, at most.",
)
@click.option("--if-needed", is_flag=True, help="Only if a new vocabulary is proposed.")
@pass_context
@click.pass_context
def fit(
    ctx: click.Context, context: CliContext, /, collection: str, sample: int, if_needed: bool
) -> None:
    """Fit a new vocabulary for the TF-IDF level and switch to it.

    A new one is proposed at 10 % growth, at drift, or when settings have changed: see fit status.
    load fits by itself only when a collection has doubled. The old vocabulary answers until the
    switch. Stopped with Ctrl-C, a second run goes on; two never run at once.
    """
    if ctx.invoked_subcommand is not None:
        return
    from sherlock_pg.vectorize import lifecycle

    _treat_sigterm_as_interrupt()
    with context.connection(autocommit=True) as conn:
        if if_needed:
            found = lifecycle.proposal(conn, collection)
            if found.reason is None:
                click.echo(f"{collection}: no new vocabulary is needed{_figures(found)}")
                return
            click.echo(f"{collection}: {_REASONS[found.reason]}{_figures(found)}", err=True)
        with open_progress(quiet=context.verbosity < 0) as progress:
            model_id = lifecycle.fit(conn, collection, progress=progress, sample_limit=sample)
        _say_in_use(conn, collection, model_id)


@fit.command()
@click.option("--collection", help="Only this collection. Default: all.")
@click.option("--versions", is_flag=True, help="All versions that are kept, one row each.")
@format_option
@pass_context
def status(
    context: CliContext, /, collection: str | None, versions: bool, output_format: str
) -> None:
    """Say how well each vocabulary still fits, and whether a new one is proposed.

    Measures drift on up to 200 documents of each collection.
    """
    from sherlock_pg.vectorize import lifecycle

    with context.connection(autocommit=True) as conn:
        names = [collection] if collection else _collections(conn)
        for name in names:
            lifecycle.proposal(conn, name)
        query = _VERSIONS if versions else _STATUS
        with conn.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(query, [names]).fetchall()
    write_rows(rows, _VERSION_COLUMNS if versions else _STATUS_COLUMNS, output_format)


@fit.command()
@click.argument("model", type=int, required=False)
@collection_option
@pass_context
def rollback(context: CliContext, /, model: int | None, collection: str) -> None:
    """Go back to the vocabulary that was in use before, or to version MODEL.

    Documents that have arrived since get vectors of it first. Rolled back again, the collection is
    where it was. The versions are listed by: sherlock-pg fit status --versions.
    """
    from sherlock_pg.vectorize import lifecycle

    _treat_sigterm_as_interrupt()
    with context.connection(autocommit=True) as conn:
        with open_progress(quiet=context.verbosity < 0) as progress:
            model_id = lifecycle.roll_back(conn, collection, model, progress=progress)
        _say_in_use(conn, collection, model_id)


_STATUS = "select * from sherlock.vocabulary_status where collection = any(%s) order by collection"
_VERSIONS = """
select c.name as collection, m.model_id, m.status, m.feature_count as term_count,
       m.fitted_document_count, m.created_at, m.activated_at,
       (select count(*) from sherlock.matches as o where o.model_id = m.model_id) as match_count
from sherlock.tfidf_models as m
join sherlock.collections as c using (collection_id)
where c.name = any(%s)
order by c.name, m.model_id
"""


def _collections(conn: psycopg.Connection) -> list[str]:
    rows = conn.execute("select name from sherlock.collections order by name").fetchall()
    return [row[0] for row in rows]


def _say_in_use(conn: psycopg.Connection, collection: str, model_id: int) -> None:
    row = conn.execute(
        "select feature_count, fitted_document_count from sherlock.tfidf_models"
        " where model_id = %s",
        [model_id],
    ).fetchone()
    if row is None:
        raise RuntimeError(f"model {model_id} vanished")
    click.echo(
        f"{collection}: vocabulary {model_id} is in use: {counted(row[0], 'term')},"
        f" fitted on {counted(row[1], 'document')}"
    )


def _figures(found: Any) -> str:
    figures = [
        f"{name} {share:.1%}"
        for name, share in (("growth", found.growth), ("drift", found.drift))
        if share is not None
    ]
    return f" ({', '.join(figures)})" if figures else ""


def _treat_sigterm_as_interrupt() -> None:
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
