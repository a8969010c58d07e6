"""`sherlock-pg status`: one screen that says how things stand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import counted, duration, file_size, printable, write_table
from sherlock_pg.cli.reading_options import explain_code
from sherlock_pg.db import monitoring

_COLLECTION_COLUMNS = ("collection", "documents", "ok", "partial", "failed", "pending", "newest")
_QUEUE_COLUMNS = ("collection", "due", "backing_off", "copies", "being_read", "to_judge", "dead",
                  "oldest_waits", "done_last_hour", "done_last_day")  # fmt: skip
_HOUR_COLUMNS = ("collection", "read", "gate_hits", "dead", "pages", "size", "wait", "wait_p95",
                 "processing", "processing_p95")  # fmt: skip
_FAILURE_COLUMNS = ("reason", "items", "last", "explanation")
_SAVINGS_COLUMNS = ("collection", "copies", "size", "pages", "extraction", "of_it_ocr")
_VOCABULARY_COLUMNS = ("collection", "vocabulary", "terms", "growth", "drift", "proposal")
_WORKER_COLUMNS = ("worker", "reads", "to_judge", "lapsed", "is_alive", "since")


@click.command()
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the output on stdout.",
)
@pass_context
def status(context: CliContext, output_format: str) -> None:
    """Say how things stand: documents, queue, failures, vocabularies, and what waits for a person.

    Counts all documents; to poll often, use: queue status.
    """
    with context.connection(autocommit=True) as conn:
        found = monitoring.overview(conn)
    if output_format == "json":
        click.echo(json.dumps(found, ensure_ascii=False, indent=2, default=str))
        return
    database = found["database"]
    click.echo(
        f"{printable(database['name'])} on {database['host']}: "
        f"PostgreSQL {database['server_version']}, schema {database['schema_revision']}"
    )
    for title, rows, columns in _sections(found):
        if rows:
            click.echo(f"\n{title}")
            write_table(rows, columns)
        else:
            click.echo(f"\n{title}: none")
    click.echo(f"\nWaiting for a person: {_for_a_person(found['waiting_for_a_person'])}")


def _sections(
    found: Mapping[str, Any],
) -> Iterator[tuple[str, list[dict[str, Any]], Sequence[str]]]:
    yield "Documents", [_collection(row) for row in found["collections"]], _COLLECTION_COLUMNS
    yield "Queue", [_queue(row) for row in found["queue"]], _QUEUE_COLUMNS
    yield "Workers that read", [_worker(row) for row in found["workers"]], _WORKER_COLUMNS
    yield "Last hour", [_hour(row) for row in found["last_hour"]], _HOUR_COLUMNS
    yield (
        "Failures of the last 24 hours",
        [_failure(row) for row in found["failures_last_day"]],
        _FAILURE_COLUMNS,
    )
    yield (
        "Saved by the gate within 24 hours",
        [_savings(row) for row in found["gate_savings_last_day"]],
        _SAVINGS_COLUMNS,
    )
    yield "Vocabularies", [_vocabulary(row) for row in found["vocabularies"]], _VOCABULARY_COLUMNS


def _collection(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "collection": row["collection"],
        "documents": row["document_count"],
        "ok": row["ok_count"],
        "partial": row["partial_count"],
        "failed": row["failed_count"],
        "pending": row["pending_count"],
        "newest": _minute(row["newest_at"]),
    }


def _queue(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "collection": row["collection"],
        "due": row["due_count"],
        "backing_off": row["backing_off_count"],
        "copies": row["waiting_copy_count"],
        "being_read": row["leased_count"],
        "to_judge": row["stored_count"],
        "dead": row["dead_count"],
        "oldest_waits": duration(row["oldest_queued_seconds"]),
        "done_last_hour": row["done_last_hour"],
        "done_last_day": row["done_last_day"],
    }


def _worker(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "worker": row["worker"],
        "reads": row["leased_count"],
        "to_judge": row["stored_count"],
        "lapsed": row["lapsed_count"],
        "is_alive": row["is_alive"],
        "since": _minute(row["since"]),
    }


def _hour(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "collection": row["collection"],
        "read": row["read_count"],
        "gate_hits": row["gate_hit_count"],
        "dead": row["dead_count"],
        "pages": row["page_count"],
        "size": file_size(row["byte_count"]),
        "wait": duration(row["mean_wait_seconds"]),
        "wait_p95": duration(row["p95_wait_seconds"]),
        "processing": duration(row["mean_processing_seconds"]),
        "processing_p95": duration(row["p95_processing_seconds"]),
    }


def _failure(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "reason": row["reason"],
        "items": row["item_count"],
        "last": _minute(row["last_at"]),
        "explanation": explain_code(row["reason"] or ""),
    }


def _savings(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "collection": row["collection"],
        "copies": row["copy_count"],
        "size": file_size(row["byte_count"]),
        "pages": row["page_count"],
        "extraction": duration(row["extract_seconds"]),
        "of_it_ocr": duration(row["ocr_seconds"]),
    }


def _vocabulary(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "collection": row["collection"],
        "vocabulary": row["model_id"],
        "terms": row["term_count"],
        "growth": _percent(row["growth"]),
        "drift": _percent(row["drift"]),
        "proposal": "being refreshed" if row["refreshing_pid"] else row["refit_reason"],
    }


def _for_a_person(counts: Mapping[str, int]) -> str:
    return (
        f"{counted(counts['open_review_count'], 'open review')}, "
        f"{counted(counts['dead_item_count'], 'dead item')}, "
        f"{counted(counts['failed_document_count'], 'document')} that could not be read, "
        f"{counts['partial_document_count']} read partly, "
        f"{counts['badly_read_document_count']} read too badly to be compared"
    )


def _minute(moment: Any) -> str:
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
