"""`sherlock-pg enqueue`: files into the queue, for workers to read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import psycopg

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted, csv_text, format_option, printable
from sherlock_pg.cli.progress import open_progress
from sherlock_pg.cli.reading_options import (
    check_doc_type,
    collection_option,
    doc_type_option,
    explain_code,
)
from sherlock_pg.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sherlock_pg.queue.sending import Sent

_VERDICT = (
    "select d.name, d.status, v.recommended_action, v.confidence, v.best_score, v.best_match_id,"
    " o.name, (select count(*) from sherlock.document_attachments as a"
    "  where a.document_id = d.document_id) from sherlock.documents as d"
    " left join sherlock.detections as v using (document_id)"
    " left join sherlock.documents as o on o.document_id = v.best_match_id"
    " where d.document_id = %s"
)
_VERDICT_COLUMNS = (
    "document",
    "status",
    "action",
    "confidence",
    "score",
    "best_match_id",
    "best_match",
    "files_inside",
)
_COLUMNS = ("file", "item_id", "state", "gate", "document_id", "reason", "detail")


@click.command()
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@collection_option
@doc_type_option
@click.option(
    "--priority",
    type=click.IntRange(-1000, 1000),
    default=0,
    show_default=True,
    help="Files of a higher one are read first.",
)
@click.option(
    "--by-path",
    is_flag=True,
    help="Send the path and not the bytes: only workers on this machine can read the file then.",
)
@click.option("--wait", "is_waiting", is_flag=True, help="Wait for the verdicts and print them.")
@format_option
@pass_context
def enqueue(
    context: CliContext,
    /,
    paths: tuple[Path, ...],
    collection: str,
    doc_type: str,
    priority: int,
    by_path: bool,
    is_waiting: bool,
    output_format: str,
) -> int:
    """Send files and folders to the queue; workers read them (`sherlock-pg worker`).

    Prints one line per file: what is known by its bytes is answered at once, with the document; the
    rest is queued. Each file is committed on its own, so what was sent when Ctrl-C came is sent.
    """
    from sherlock_pg.db import calls
    from sherlock_pg.load.walk import walk
    from sherlock_pg.queue.sending import SendOptions, send, wait

    if not any(os.path.lexists(path) for path in paths):
        raise UsageError(f"there is no {printable(str(paths[0]))}")
    files = list(walk(paths))
    if not files:
        click.echo("no files found there", err=True)
    results: list[dict[str, Any]] = []

    with (
        open_progress(quiet=context.verbosity < 0) as progress,
        context.connection(install=True, autocommit=True) as conn,
    ):
        check_doc_type(conn, doc_type)
        options = SendOptions(
            collection_id=calls.create_collection(conn, collection),
            doc_type=doc_type,
            priority=priority,
            by_path=by_path,
        )

        def report(sent: Sent) -> None:
            result = asdict(sent)
            if is_waiting:
                result.update(_verdict(conn, sent))
            results.append(result)
            if output_format == "table":
                click.echo(_line(result, with_verdict=is_waiting))

        progress.stage("sending", len(files))
        sent: list[Sent] = []
        for path in files:
            sent.append(send(conn, path, options))
            if not is_waiting:
                report(sent[-1])
            progress.step()
        if is_waiting:
            progress.stage("waiting for workers", len(sent))

            def ended(each: Sent) -> None:
                report(each)
                progress.step()

            wait(conn, sent, ended)

    _write(results, output_format, is_waiting=is_waiting)
    failed = any(result["state"] in ("failed", "dead") for result in results)
    return ExitCode.SOME_FAILED if failed else ExitCode.OK


def _verdict(conn: psycopg.Connection, sent: Sent) -> dict[str, Any]:
    """Return what is known of the document; of a copy, that it is one."""
    row = conn.execute(_VERDICT, [sent.document_id]).fetchone()
    values = dict(zip(_VERDICT_COLUMNS, row or [None] * len(_VERDICT_COLUMNS), strict=True))
    if sent.gate == "hit" and sent.state == "done":
        values.update(
            action="REJECT",
            confidence="EXACT",
            score=1.0,
            best_match_id=sent.document_id,
            best_match=values["document"],
        )
    return values


def _line(result: dict[str, Any], *, with_verdict: bool) -> str:
    text = f"{result['state']:<7} {printable(result['file'])}"
    if with_verdict and result["state"] == "done":
        score = "" if result["score"] is None else f"{result['score']:.4f}"
        text = (
            f"{result['status'] or '-':<8} {result['confidence'] or '-':<6} "
            f"{result['action'] or '-':<6} {score:>6}  {printable(result['file'])}"
        )
        if result["best_match_id"] is not None:
            text += f"  =  {printable(result['best_match'] or '')} (#{result['best_match_id']})"
        if result["files_inside"]:
            text += f"  [{counted(result['files_inside'], 'file')} inside, judged on their own]"
    elif result["gate"] == "hit" and result["state"] == "done":
        text += f"  =  known as #{result['document_id']}"
    elif result["document_id"] is not None:
        text += f"  #{result['document_id']}"
    if result["reason"]:
        text += f"  [{result['reason']}: {explain_code(result['reason'])}]"
        if result["detail"]:
            text += f"  ({printable(result['detail'])})"
    return text


def _write(results: list[dict[str, Any]], output_format: str, *, is_waiting: bool) -> None:
    counts = {
        "files": len(results),
        "queued": _count(results, ("queued", "leased", "stored")),
        "known_bytes": sum(r["gate"] == "hit" and r["state"] == "done" for r in results),
        "done": _count(results, ("done",)),
        "failed": _count(results, ("failed", "dead")),
    }
    if output_format == "json":
        click.echo(json.dumps({"files": results, "summary": counts}, ensure_ascii=False, indent=2))
        return
    if output_format == "csv":
        columns = (*_COLUMNS, *(_VERDICT_COLUMNS if is_waiting else ()))
        click.echo(csv_text(results, columns), nl=False)
    click.echo(
        f"{counted(counts['files'], 'file')}: "
        + (f"{counts['done']} done," if is_waiting else f"{counts['queued']} queued,")
        + f" {counts['known_bytes']} known by their bytes, {counts['failed']} failed",
        err=output_format == "csv",
    )


def _count(results: Iterable[dict[str, Any]], states: tuple[str, ...]) -> int:
    return sum(result["state"] in states for result in results)
