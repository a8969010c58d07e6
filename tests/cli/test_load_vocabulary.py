"""What a load does to the vocabulary of a collection that was there before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.vectorize import lifecycle


def write(folder: Path, first: int, count: int) -> Path:
    """Write texts of forty words, each of its own."""
    folder.mkdir()
    for number in range(first, first + count):
        words = " ".join(f"palabra{number}{chr(97 + at)}x" for at in range(26))
        (folder / f"{number}.txt").write_text(f"Oficio general. {words}. Atentamente, la oficina.")
    return folder


def indexes(url: str) -> list[str]:
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "select indexname from pg_indexes"
            " where indexname like 'document_vectors_model_%_sign_bits_idx'"
        ).fetchall()
    return [row[0] for row in rows]


def test_a_new_vocabulary_is_proposed_from_a_tenth_of_growth_on(
    sherlock: Callable[..., Any], tmp_path: Path
) -> None:
    first = sherlock("load", write(tmp_path / "a", 0, 12))
    assert first.code == 0, first.err
    assert "a new vocabulary is proposed" not in first.err
    below = sherlock("load", write(tmp_path / "b", 100, 1))
    assert "a new vocabulary is proposed" not in below.err
    above = sherlock("load", write(tmp_path / "c", 200, 1))
    assert above.code == 0, above.err
    assert "a new vocabulary is proposed (growth)" in above.err
    assert "sherlock-pg fit" in above.err


def test_a_load_without_a_fit_keeps_the_index_of_the_vectors(
    sherlock: Callable[..., Any],
    tmp_path: Path,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sherlock("load", write(tmp_path / "a", 0, 12)).code == 0
    assert indexes(database_url) == []
    monkeypatch.setattr(lifecycle, "_INDEX_FROM", 13)
    assert sherlock("load", write(tmp_path / "b", 100, 1)).code == 0
    assert len(indexes(database_url)) == 1
