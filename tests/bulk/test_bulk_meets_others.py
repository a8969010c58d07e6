"""What other sessions do while a file is loaded is noticed before anything wrong is stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.bulk import loader

Text = Callable[..., str]
WriteLines = Callable[..., Path]
Command = Callable[..., Any]
Meanwhile = Callable[[Callable[[psycopg.Connection], None]], None]

OPTIONS = ("--text", "content", "--key", "id", "--collection", "notas")
COUNT = 100


@pytest.fixture
def path(write_lines: WriteLines, make_text: Text) -> Path:
    return write_lines(
        {"id": f"n{number}", "content": make_text(number)} for number in range(COUNT)
    )


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch, database_url: str) -> Meanwhile:
    """Give a function that has something done when the second batch is ready to be stored."""

    def arrange(act: Callable[[psycopg.Connection], None]) -> None:
        real, calls = loader.store, 0

        def store(*args: Any, **options: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == 2:
                with psycopg.connect(database_url, autocommit=True) as conn:
                    act(conn)
            real(*args, **options)

        monkeypatch.setattr(loader, "_BATCH_ROWS", 40)
        monkeypatch.setattr(loader, "store", store)

    return arrange


def scalar(conn: psycopg.Connection, query: str) -> Any:
    row = conn.execute(query).fetchone()  # type: ignore[arg-type]
    assert row is not None
    return row[0]


def test_another_scheme(
    sherlock: Command, database_url: str, path: Path, meanwhile: Meanwhile
) -> None:
    meanwhile(lambda conn: conn.execute("call sherlock.use_scheme('notas', 'skeleton-2')") and None)
    assert sherlock("load", path, *OPTIONS).code == 0
    with psycopg.connect(database_url) as conn:
        assert (
            scalar(
                conn,
                "select count(*) from sherlock.document_signatures as s"
                " join sherlock.shingle_schemes using (scheme_id) where name = 'skeleton-2'",
            )
            == COUNT
        )
        assert scalar(
            conn,
            "select count(*) from sherlock.documents as d join sherlock.document_signatures as s"
            " using (document_id) where s.signature"
            " = sherlock.signature(d.content, 'skeleton-2')",
        ) == COUNT  # fmt: skip
        assert scalar(conn, "select count(*) from sherlock.band_keys") == 32 * COUNT


def test_another_vocabulary(
    sherlock: Command, database_url: str, path: Path, meanwhile: Meanwhile
) -> None:
    meanwhile(lambda conn: conn.execute("call sherlock.refresh_vocabulary('notas')") and None)
    assert sherlock("load", path, *OPTIONS).code == 0
    with psycopg.connect(database_url) as conn:
        assert (
            scalar(
                conn,
                "select count(*) from sherlock.document_vectors as v"
                " join sherlock.tfidf_models as m using (model_id) where m.status = 'active'",
            )
            == COUNT
        )
        assert scalar(conn, "select count(*) from sherlock.tfidf_models") == 2


def test_keys_that_another_loader_stores(
    sherlock: Command, database_url: str, path: Path, meanwhile: Meanwhile, make_text: Text
) -> None:
    def take_keys(conn: psycopg.Connection) -> None:
        for number, text in ((41, make_text(41)), (42, "otro texto")):
            conn.execute(
                "with d as (insert into sherlock.documents (collection_id, content)"
                " values (sherlock.collection_id('notas'), %s) returning *)"
                " insert into sherlock.document_keys"
                " (document_id, collection_id, key, bulk_file_id, line_number)"
                " select document_id, collection_id, %s, 0, 1 from d",
                [text, f"n{number}"],
            )

    meanwhile(take_keys)
    ran = sherlock("load", path, *OPTIONS)
    assert ran.code == 1
    assert f"{COUNT - 2} new, 1 known, 1 failed" in ran.out
    assert ":43: [other_text]" in ran.out
    with psycopg.connect(database_url) as conn:
        assert scalar(conn, "select count(*) from sherlock.documents") == COUNT


def test_a_deleted_document_gives_its_key_back(
    sherlock: Command, database_url: str, path: Path, write_lines: WriteLines, make_text: Text
) -> None:
    assert sherlock("load", path, *OPTIONS).code == 0
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("delete from sherlock.documents where name = 'n7'")
        again = write_lines([{"id": "n7", "content": make_text(7)}], "again.jsonl")
        assert "1 new, 0 known" in sherlock("load", again, *OPTIONS).out
        assert scalar(conn, "select count(*) from sherlock.band_keys") == 32 * COUNT


def test_judged_afterwards(
    sherlock: Command, database_url: str, write_lines: WriteLines, make_text: Text
) -> None:
    texts = [make_text(1), make_text(2), make_text(1).replace("mayo", "junio"), make_text(2)]
    path = write_lines({"id": number, "content": text} for number, text in enumerate(texts))
    assert sherlock("load", path, *OPTIONS).code == 0
    with psycopg.connect(database_url, autocommit=True) as conn:
        found = conn.execute(
            "select d.name, m.name, p.confidence from sherlock.find_duplicate_pairs('notas') as p"
            " join sherlock.documents as d using (document_id)"
            " join sherlock.documents as m on m.document_id = p.matched_document_id order by 1"
        ).fetchall()
        assert found == [("2", "0", "HIGH"), ("3", "1", "EXACT")]
        assert scalar(conn, "select sherlock.judge_missing('notas')") == 4
        conn.execute(
            "insert into sherlock.documents (collection_id, content)"
            " values (sherlock.collection_id('notas'), %s)",
            [texts[0]],
        )
        assert (
            scalar(conn, "select count(*) from sherlock.detections where confidence = 'EXACT'") == 2
        )
