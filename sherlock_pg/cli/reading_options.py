"""Options of the commands that read files, and what they become."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
import psycopg

from sherlock_pg.errors import UsageError

if TYPE_CHECKING:
    from sherlock_pg.ingest.model import OcrMode
    from sherlock_pg.ingest.pool import Extractor
    from sherlock_pg.load.reading import DocumentReader

collection_option = click.option(
    "--collection",
    default="default",
    show_default=True,
    help="Documents are compared within a collection only.",
)
doc_type_option = click.option(
    "--doc-type",
    metavar="auto|default|tutela|habeas_corpus|...",
    default="auto",
    show_default=True,
    help="Type that chooses the thresholds: auto reads it from each text; else a type that has "
    "a configuration.",
)


class Seconds(click.FloatRange):
    """A number of seconds: neither nan nor endless."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or refuse it."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number of seconds", param, ctx)
        return number


_READING = (
    click.option(
        "--ocr",
        type=click.Choice(["auto", "never", "force"]),
        default="auto",
        show_default=True,
        help="auto: only pages that need it. never: such pages are skipped. force: all pages.",
    ),
    click.option(
        "--language",
        "languages",
        multiple=True,
        default=("spa",),
        show_default=True,
        help="Tesseract language; may be given several times.",
    ),
    click.option(
        "--ner-model",
        default="auto",
        show_default=True,
        help="spaCy model for parties that the rules leave open: auto, none, a name or a path.",
    ),
    click.option(
        "--timeout",
        type=Seconds(min=1),
        default=120.0,
        show_default=True,
        help="Seconds that a document may take; each page that needs OCR adds 15.",
    ),
    click.option(
        "--max-pages",
        type=click.IntRange(min=1),
        default=2000,
        show_default=True,
        help="Documents with more pages are refused.",
    ),
)


def worker_reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how files are read."""
    for option in reversed(_READING):
        command = option(command)
    return command


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how files are read, where they go and what they are."""
    return collection_option(doc_type_option(worker_reading_options(command)))


def check_doc_type(conn: psycopg.Connection, doc_type: str) -> None:
    """Refuse a document type that has no thresholds: most likely it is misspelt."""
    known = [
        row[0]
        for row in conn.execute(
            "select distinct doc_type from sherlock.detection_configs where is_active order by 1"
        )
    ]
    if doc_type != "auto" and doc_type not in known:
        raise UsageError(
            f"there is no document type {doc_type!r}", hint=f"use auto, {', '.join(known)}"
        )


def default_workers() -> int:
    """Return one reader per processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2


@contextlib.contextmanager
def open_reader(
    *,
    ocr: OcrMode,
    languages: tuple[str, ...],
    ner_model: str,
    timeout: float,
    max_pages: int,
    workers: int,
) -> Iterator[tuple[Extractor, DocumentReader]]:
    """Yield the extractor and the document reader on top of it; kill the children at the end."""
    from sherlock_pg.ingest.model import ExtractOptions
    from sherlock_pg.ingest.pool import Extractor
    from sherlock_pg.load.reading import DocumentReader
    from sherlock_pg.ner.pipeline import PartyExtractor

    parties = PartyExtractor(ner_model)
    options = ExtractOptions(
        ocr=ocr,
        languages=languages,
        wall_seconds=timeout,
        max_pages=max_pages,
    )
    with Extractor(options, workers=workers) as extractor:
        yield extractor, DocumentReader(extractor, parties)


def explain_code(code: str) -> str:
    """Return the sentence a person needs beside a reason or flag, with what to do."""
    from sherlock_pg.ingest.reasons import Flag, Reason, explain

    for kind in (Reason, Flag):
        with contextlib.suppress(ValueError):
            found = explain(kind(code))
            return f"{found.meaning}; {found.advice}" if found.advice else found.meaning
    return {
        "db_error": "the database refused the text; see the detail",
        "environment": "something that reading it needs is missing",
        "worker_lost": "its readers ended without an answer, as often as it is tried; try it again "
        "when you know why",
        "error": "a fault of sherlock-pg; please report it with the log",
        "withdrawn": "somebody took it out of the queue",
        "attachments_left_out": "files inside it were not read",
        "ner_failed": "parties could not be extracted; the text is compared without them",
    }.get(code, code)
