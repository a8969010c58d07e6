"""`sherlock-pg status`: one screen, after a real load and with things that went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.cli.main import run
from sherlock_pg.db.schema import head_revision
from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]
LONG = " ".join(f"palabra{n} hecho{n % 17} derecho{n % 29}" for n in range(60))


def test_an_empty_database_is_well(sherlock: Sherlock) -> None:
    table = sherlock("status")
    assert table.code == ExitCode.OK, table.err
    assert f"schema {head_revision()}" in table.out.splitlines()[0]
    assert "Workers that read: none" in table.out
    assert "Waiting for a person: 0 open reviews, 0 dead items" in table.out
    found = json.loads(sherlock("status", "--format", "json").out)
    assert found["database"]["schema_revision"] == head_revision()
    assert set(found["waiting_for_a_person"].values()) == {0}
    (collection,) = found["collections"]
    assert collection["document_count"] == 0


def test_after_a_load_it_says_what_is_there(
    sherlock: Sherlock, tmp_path: Path, database_url: str
) -> None:
    folder = tmp_path / "bandeja"
    folder.mkdir()
    (folder / "a.txt").write_text(f"Acción de tutela de Ana. {LONG}", encoding="utf-8")
    (folder / "c.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert sherlock("load", folder).code == ExitCode.SOME_FAILED
    (folder / "b.txt").write_bytes((folder / "a.txt").read_bytes())
    assert sherlock("load", folder / "b.txt").code == ExitCode.OK
    found = json.loads(sherlock("status", "--format", "json").out)
    (collection,) = found["collections"]
    assert (collection["ok_count"], collection["failed_count"]) == (1, 1)
    assert found["waiting_for_a_person"]["failed_document_count"] == 1
    (hour,) = found["last_hour"]
    assert (hour["read_count"], hour["gate_hit_count"], hour["dead_count"]) == (1, 1, 1)
    assert hour["byte_count"] == (folder / "a.txt").stat().st_size
    assert hour["extract_seconds"] > 0
    (failure,) = found["failures_last_day"]
    assert (failure["reason"], failure["item_count"]) == ("damaged", 1)
    (saved,) = found["gate_savings_last_day"]
    assert (saved["copy_count"], saved["byte_count"]) == (1, hour["byte_count"])
    assert saved["extract_seconds"] == hour["extract_seconds"]
    table = sherlock("status").out
    assert "damaged" in table
    assert "1 document that could not be read" in table
    with psycopg.connect(database_url) as conn:
        stages = conn.execute(
            "select processing from sherlock.documents where status = 'ok'"
        ).fetchone()
    assert stages is not None
    assert stages[0]["ocr_seconds"] == 0
    assert {"extract_seconds", "extract_cpu_seconds", "ner_seconds"} <= stages[0].keys()
    assert 0 < stages[0]["store_seconds"] < 60


def test_a_database_without_the_schema_exits_3(
    empty_database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--database-url", empty_database_url, "status"]) == ExitCode.ENVIRONMENT
    assert "sherlock-pg db upgrade" in capsys.readouterr().err
