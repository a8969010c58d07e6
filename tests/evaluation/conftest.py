"""A small labelled set of our own, and a count of all that the database holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from sherlock_pg.evaluation.corpus import LabelledCorpus, read_corpus
from sherlock_pg.samples.generate import plan_collection
from sherlock_pg.samples.variants import NEGATIVE_KINDS, Kind

SEED = 7
CASES = 3
KINDS = (
    Kind.EXACT_COPY,
    Kind.REDATED,
    Kind.REORDERED,
    Kind.PARAPHRASE,
    Kind.ANNEXED,
    Kind.SAME_TEMPLATE_OTHER_PEOPLE,
    Kind.SAME_PARTIES_OTHER_CASE,
    Kind.UNRELATED,
)


@dataclass(frozen=True)
class LabelledFiles:
    """The two files of a labelled set."""

    docs: Path
    pairs: Path


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def write_lines() -> Callable[[Path, Iterable[dict[str, Any]]], None]:
    """Give a function that writes objects as JSON Lines."""
    return _write_lines


@pytest.fixture(scope="session")
def labelled_files(tmp_path_factory: pytest.TempPathFactory) -> LabelledFiles:
    """Give the files of a generated set: each variant is paired with the original of its case."""
    folder = tmp_path_factory.mktemp("labelled")
    files = LabelledFiles(folder / "docs.jsonl", folder / "pairs.jsonl")
    documents = plan_collection(SEED, CASES, KINDS)
    _write_lines(
        files.docs,
        (
            {"id": one.name, "text": one.filing.text(), "doc_type": one.case.doc_type}
            for one in documents
        ),
    )
    _write_lines(
        files.pairs,
        (
            {
                "a": one.derived_from,
                "b": one.name,
                "label": int(one.kind not in NEGATIVE_KINDS),
                "kind": one.kind.value,
            }
            for one in documents
            if one.derived_from is not None
        ),
    )
    return files


@pytest.fixture(scope="session")
def corpus(labelled_files: LabelledFiles) -> LabelledCorpus:
    """Give the generated set."""
    return read_corpus(labelled_files.docs, labelled_files.pairs)


@pytest.fixture(scope="session")
def evaluation_url(
    clone_database: Callable[[], AbstractContextManager[str]],
) -> Iterable[str]:
    """Give a database that the tests of this folder share: nothing may stay in it."""
    with clone_database() as url:
        yield url


def _count_rows(conn: psycopg.Connection) -> dict[str, int]:
    """Count the rows of each table of the schema, partitions too."""
    tables = conn.execute(
        "select relname from pg_class"
        " where relnamespace = 'sherlock'::regnamespace and relkind in ('r', 'p') order by 1"
    ).fetchall()
    return {
        name: conn.execute(
            sql.SQL("select count(*) from {}").format(sql.Identifier("sherlock", name))
        ).fetchone()[0]
        for (name,) in tables
    }


@pytest.fixture
def evaluation_conn(evaluation_url: str) -> Iterable[psycopg.Connection]:
    """Give a connection to it in autocommit mode; afterwards the database holds what it held."""
    with psycopg.connect(evaluation_url, autocommit=True) as conn:
        before = _count_rows(conn)
        yield conn
    with psycopg.connect(evaluation_url, autocommit=True) as conn:
        assert _count_rows(conn) == before
