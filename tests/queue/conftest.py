"""Files to queue, and workers that read them with real extraction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from sherlock_pg.db.connection import connect
from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.load.reading import DocumentReader
from sherlock_pg.ner.pipeline import PartyExtractor
from sherlock_pg.queue import leases
from sherlock_pg.queue.item import ItemReader
from sherlock_pg.queue.storing import ThreadConnections
from sherlock_pg.queue.worker import Summary, Worker


@pytest.fixture
def db(database_url: str) -> Iterator[psycopg.Connection]:
    """Give a connection in autocommit mode to a database of the test's own."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def text_of() -> Callable[[int], str]:
    """Give texts of thirty words, each of its own but for a few."""

    def make(number: int) -> str:
        words = " ".join(f"palabra{number}{chr(97 + at)}x" for at in range(26))
        return f"Oficio general. {words}. Atentamente, la oficina."

    return make


@pytest.fixture
def write(tmp_path: Path, text_of: Callable[[int], str]) -> Callable[[str, int], Path]:
    """Give a function that writes such a text into a file."""

    def write_file(name: str, number: int) -> Path:
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of(number), encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def work(database_url: str) -> Callable[..., Summary]:
    """Give a function that lets a worker empty the queue."""

    def run(reader_kind: type[DocumentReader] = DocumentReader, concurrency: int = 2) -> Summary:
        def open_connection() -> psycopg.Connection:
            return connect(database_url, autocommit=True)

        with Extractor(ExtractOptions(), workers=concurrency) as extractor:
            items = ItemReader(
                ThreadConnections(open_connection),
                reader_kind(extractor, PartyExtractor("none")),
                leases.new_reader_name(),
            )
            try:
                worker = Worker(open_connection, extractor, items, concurrency=concurrency)
                return worker.run(until_empty=True)
            finally:
                items.close()

    return run
