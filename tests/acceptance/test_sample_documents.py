"""The main job on the committed documents: real PDFs, real OCR, real verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.cli.main import run

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"
MANIFEST = {
    entry["name"]: entry
    for entry in json.loads((DOCUMENTS / "manifest.json").read_text(encoding="utf-8"))["documents"]
}
pytestmark = pytest.mark.ocr

Loaded = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def loaded_url(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    """Give a database of this module's own."""
    with clone_database() as url:
        yield url


@pytest.fixture(scope="module")
def load(loaded_url: str) -> Callable[[str], Loaded]:
    """Give a function that loads a folder and returns the documents by their manifest name."""
    import contextlib
    import io

    def load_folder(name: str) -> Loaded:
        out = io.StringIO()
        arguments = ["--database-url", loaded_url, "load", "--format", "json"]
        with contextlib.redirect_stdout(out):
            code = run([*arguments, str(DOCUMENTS / name)])
        assert code == 0
        documents = json.loads(out.getvalue())["documents"]
        return {str(Path(d["file"]).relative_to(DOCUMENTS)): d for d in documents}

    return load_folder


@pytest.fixture(scope="module")
def loaded(load: Callable[[str], Loaded]) -> Loaded:
    """Load the archive, then what came in."""
    return {**load("archive"), **load("incoming")}


def test_every_document_was_read(loaded: Loaded) -> None:
    named = {name for name in MANIFEST if name.startswith(("archive/", "incoming/"))}
    assert set(loaded) == named
    assert {document["status"] for document in loaded.values()} == {"ok"}


@pytest.mark.parametrize("name", sorted(MANIFEST))
def test_class_is_the_expected_one(loaded: Loaded, name: str) -> None:
    expected = MANIFEST[name]
    document = loaded[name]
    found = document["confidence"] or "NONE"
    assert found in expected["acceptable_classes"], document["candidates"]
    if expected["duplicate_of"] is not None:
        assert document["best_match"] == Path(expected["duplicate_of"]).name
    assert document["doc_type"] == expected["doc_type"] or document["gate"] == "hit"


def test_the_four_use_cases_and_the_hard_negative(loaded: Loaded) -> None:
    """One document of each kind that matters most, by its action."""
    actions = {
        MANIFEST[name]["kind"]: document["action"]
        for name, document in loaded.items()
        if name.startswith("incoming/")
    }
    assert actions["exact_copy"] == "REJECT"
    assert actions["noisy_scan"] == "REVIEW"
    assert actions["redated"] == "REVIEW"
    assert actions["paraphrase"] == "REVIEW"
    assert actions["same_template_other_people"] == "ACCEPT"
    assert actions["original"] == "ACCEPT"


def test_verdicts_in_sql_are_those_that_were_printed(loaded: Loaded, loaded_url: str) -> None:
    with psycopg.connect(loaded_url) as conn:
        for name, document in loaded.items():
            if document["gate"] == "hit":
                continue
            row = conn.execute(
                "select d.recommended_action, d.candidates from sherlock.detect(%s) as d",
                [document["document_id"]],
            ).fetchone()
            assert row is not None
            assert row[0] == document["action"], name
            printed = [(c["document_id"], c["confidence"]) for c in document["candidates"]]
            assert [(c["document_id"], c["confidence"]) for c in row[1]] == printed, name


def test_gold_parties_were_found_in_native_documents(loaded: Loaded, loaded_url: str) -> None:
    with psycopg.connect(loaded_url) as conn:
        for name, document in loaded.items():
            gold = MANIFEST[name]["entities"]
            if "scan" in MANIFEST[name]["kind"] or document["gate"] == "hit":
                continue
            for role in ("demandante", "cedula", "correo", "radicado"):
                missing = conn.execute(
                    "select g.value from unnest(%s::text[]) as g (value)"
                    " where not exists (select from sherlock.entities as e"
                    "  where e.document_id = %s and e.role = %s"
                    "  and e.normalised = sherlock.normalise_entity(%s, g.value))",
                    [gold[role][:1], document["document_id"], role, role],
                ).fetchall()
                assert missing == [], (name, role)


def test_scans_say_how_they_were_read(loaded: Loaded, loaded_url: str) -> None:
    scans = [
        document["document_id"]
        for name, document in loaded.items()
        if "scan" in MANIFEST[name]["kind"]
    ]
    with psycopg.connect(loaded_url) as conn:
        rows = conn.execute(
            "select method, quality from sherlock.document_pages where document_id = any(%s)",
            [scans],
        ).fetchall()
    assert len(rows) >= len(scans) >= 2
    assert {row[0] for row in rows} == {"ocr"}
    assert all(row[1] is None or row[1] > 0.6 for row in rows)


def test_second_load_stops_at_the_gate(loaded: Loaded, load: Callable[[str], Loaded]) -> None:
    again = load("incoming")
    assert {document["gate"] for document in again.values()} == {"hit"}
    assert {document["confidence"] for document in again.values()} == {"EXACT"}
