"""`sherlock-pg evaluate`: how well the detection does on labelled pairs."""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import printable
from sherlock_pg.cli.progress import ProgressReporter, open_progress
from sherlock_pg.cli.reading_options import default_workers
from sherlock_pg.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from sherlock_pg.detection_config import CollectionConfig
    from sherlock_pg.evaluation.measures import Measures
    from sherlock_pg.evaluation.run import JudgedPair

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("docs", type=_FILE, metavar="DOCS.jsonl")
@click.argument("pairs", type=_FILE, metavar="PAIRS.jsonl")
@click.option(
    "--collection",
    default="default",
    show_default=True,
    help="Collection whose profile, scheme and configuration are measured; it is not touched.",
)
@click.option(
    "--config", type=_FILE, help="Configuration to measure, as `config export` writes it."
)
@click.option("--scheme", help="Shingle scheme to measure instead of the collection's.")
@click.option(
    "--ignore-entities",
    is_flag=True,
    help="Look for the parties in the texts even where DOCS supplies them.",
)
@click.option(
    "--ner-model",
    default="auto",
    show_default=True,
    help="spaCy model for parties that the rules leave open: auto, none, a name or a path.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=64),
    default=default_workers,
    show_default="one per processor",
    help="Connections that search at once.",
)
@click.option("--keep", metavar="NAME", help="Keep the documents as a collection of this name.")
@click.option(
    "--limit-errors",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="False alarms and missed duplicates shown, of each at most.",
)
@click.option("--errors-jsonl", type=_OUTPUT, help="Write all errors with their evidence.")
@click.option(
    "--svg",
    type=_OUTPUT,
    help="Write a picture: scores of both labels, thresholds, recall by kind.",
)
@pass_context
def evaluate(
    context: CliContext,
    /,
    docs: Path,
    pairs: Path,
    collection: str,
    config: Path | None,
    scheme: str | None,
    ignore_entities: bool,
    ner_model: str,
    workers: int,
    keep: str | None,
    limit_errors: int,
    errors_jsonl: Path | None,
    svg: Path | None,
) -> None:
    """Measure the detection on labelled pairs of documents.

    DOCS.jsonl has one document a line: id, text, and optionally doc_type (or type) and entities.
    PAIRS.jsonl has one pair a line: a and b (ids), label (1: duplicates, 0: not) and kind. Both may
    be compressed with gzip.

    The documents are stored in a collection of their own, which is dropped at the end, and go
    through the same search as any others, in both directions of a pair. The list that a search
    gives is not cut at max_results here. The last line of the output is JSON.
    """
    from sherlock_pg import detection_config
    from sherlock_pg.db.connection import connect
    from sherlock_pg.evaluation import measures as measuring
    from sherlock_pg.evaluation import run
    from sherlock_pg.evaluation.corpus import read_corpus
    from sherlock_pg.evaluation.report import report
    from sherlock_pg.evaluation.scratch import check_name, scratch_collection

    signal.signal(signal.SIGTERM, _interrupt)
    for output in (errors_jsonl, svg):
        if output is not None and not output.parent.is_dir():
            raise UsageError(f"there is no folder {output.parent}", hint="make it first")
    corpus = read_corpus(docs, pairs)
    settings = run.Settings(
        like=collection,
        scheme=scheme,
        config_text=None if config is None else _read(config),
        ner_model=ner_model,
        ignore_entities=ignore_entities,
        workers=workers,
    )
    with (
        context.connection(install=True, autocommit=True) as conn,
        open_progress(quiet=context.verbosity < 0) as bar,
    ):
        if corpus.ignored_roles and not ignore_entities:
            ignored = ", ".join(sorted(corpus.ignored_roles))
            bar.say(printable(f"entities that are not compared: {ignored}"))
        if keep is not None:
            check_name(conn, keep)
        open_connection = partial(connect, context.conninfo(), autocommit=True)
        with (
            scratch_collection(
                conn,
                like=settings.like,
                scheme=settings.scheme,
                config_text=settings.config_text,
                reconnect=open_connection,
            ) as scratch,
            _Pace(bar) as pace,
        ):
            in_force = detection_config.read(conn, scratch.collection)
            judged = run.judge_pairs(conn, scratch, corpus, settings, pace, open_connection)
            if keep is not None:
                scratch.keep(conn, keep)
                bar.say(printable(f"kept as collection {keep}"))
    measured = measuring.measure([pair.scored for pair in judged])
    alarms = measuring.false_alarms(judged)
    missed = measuring.misses(judged)
    if errors_jsonl is not None:
        _write_errors(errors_jsonl, [*alarms, *missed])
    if svg is not None:
        title = f"{len(judged)} labelled pairs of {len(corpus.documents)} documents"
        svg.write_text(_picture(measured, judged, in_force, title), encoding="utf-8")
    for line in report(measured, alarms[:limit_errors], missed[:limit_errors]):
        click.echo(printable(line))
    click.echo()
    click.echo(json.dumps(measured.as_dict(), ensure_ascii=False))


class _Pace:
    """Shows progress, and says after each stage how long it took and how fast it was."""

    def __init__(self, bar: ProgressReporter) -> None:
        self._bar = bar
        self._name = ""
        self._done = 0
        self._started = 0.0

    def __enter__(self) -> _Pace:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._end()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self._end()
        self._name, self._done, self._started = name, 0, time.monotonic()
        self._bar.stage(name, total)

    def step(self, count: int = 1) -> None:
        """Say that steps are done."""
        self._done += count
        self._bar.step(count)

    def _end(self) -> None:
        if self._name:
            seconds = max(time.monotonic() - self._started, 0.001)
            self._bar.say(
                f"{self._name}: {self._done} in {seconds:.1f} s ({self._done / seconds:.0f}/s)"
            )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text") from error


def _write_errors(file: Path, mistakes: Iterable[JudgedPair]) -> None:
    with file.open("w", encoding="utf-8") as out:
        for pair in mistakes:
            row = {
                **dataclasses.asdict(pair.scored),
                "retrieved_by": sorted(pair.scored.retrieved_by),
                "shared": pair.evidence.shared,
                "differing": pair.evidence.differing,
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def _picture(
    measured: Measures, judged: Sequence[JudgedPair], in_force: CollectionConfig, title: str
) -> str:
    from sherlock_pg.evaluation.svg import draw

    ((doc_type, count),) = Counter(pair.scored.doc_type for pair in judged).most_common(1)
    rows = in_force.by_doc_type
    row = rows.get(doc_type, rows["default"])
    thresholds = {
        "HIGH": row.high_threshold,
        "MEDIUM": row.medium_threshold,
        "LOW": row.low_threshold,
    }
    note = f"thresholds of {doc_type}, the type of {count} of the {len(judged)} pairs"
    return draw(measured, thresholds, title, note)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM as Ctrl-C: the collection is dropped."""
    raise KeyboardInterrupt
