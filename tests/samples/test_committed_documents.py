"""The committed collection: small, true to its generator, and what the demo needs."""

from __future__ import annotations

import importlib.metadata
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PIL import Image

from sherlock_pg.samples import committed, generate

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"
SCAN_KINDS = ("clean_scan", "noisy_scan")


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DOCUMENTS / "manifest.json").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def fresh() -> dict[str, bytes]:
    return dict(generate.render_documents(committed.SEED, committed.plan()))


def native_text(content: bytes) -> str:
    document = pypdfium2.PdfDocument(content)
    try:
        return "\f".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()


def picture_sizes(name: str, content: bytes) -> list[tuple[int, int]]:
    if not name.endswith(".pdf"):
        return [Image.open(io.BytesIO(content)).size]
    document = pypdfium2.PdfDocument(content)
    try:
        return [(round(page.get_width()), round(page.get_height())) for page in document]
    finally:
        document.close()


def test_the_folder_holds_exactly_what_is_generated(fresh: dict[str, bytes]) -> None:
    files = [path for path in DOCUMENTS.rglob("*") if path.is_file()]
    assert {path.relative_to(DOCUMENTS).as_posix() for path in files} == set(fresh)


def test_texts_are_equal_to_a_fresh_generation(fresh: dict[str, bytes]) -> None:
    texts = [name for name in fresh if name.endswith(".txt")]
    assert texts
    for name in texts:
        assert (DOCUMENTS / name).read_bytes() == fresh[name], name


def test_manifest_is_equal_to_a_fresh_generation(
    manifest: dict[str, Any], fresh: dict[str, bytes]
) -> None:
    generated = json.loads(fresh["manifest.json"])
    assert manifest["documents"] == generated["documents"]
    assert manifest["seed"] == generated["seed"] == committed.SEED


def test_native_pdfs_are_equal_to_a_fresh_generation(
    manifest: dict[str, Any], fresh: dict[str, bytes]
) -> None:
    """Equal bytes with the fpdf2 that drew them; with another, equal text page by page."""
    same_fpdf2 = manifest["drawn_with"]["fpdf2"] == importlib.metadata.version("fpdf2")
    names = [
        entry["name"]
        for entry in manifest["documents"]
        if entry["name"].endswith(".pdf") and entry["kind"] not in SCAN_KINDS
    ]
    assert names
    for name in names:
        stored = (DOCUMENTS / name).read_bytes()
        assert native_text(stored) == native_text(fresh[name]), name
        assert not same_fpdf2 or stored == fresh[name], name


def test_scans_have_the_size_and_format_of_a_fresh_generation(
    manifest: dict[str, Any], fresh: dict[str, bytes]
) -> None:
    names = [entry["name"] for entry in manifest["documents"] if entry["kind"] in SCAN_KINDS]
    assert {name.rpartition(".")[2] for name in names} == {"pdf", "png"}
    for name in names:
        stored = (DOCUMENTS / name).read_bytes()
        assert stored[:4] == fresh[name][:4]
        assert picture_sizes(name, stored) == picture_sizes(name, fresh[name])


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in DOCUMENTS.rglob("*") if path.is_file()) < 2_000_000


def test_the_manifest_is_consistent(manifest: dict[str, Any]) -> None:
    entries = {entry["name"]: entry for entry in manifest["documents"]}
    assert len(entries) == len(manifest["documents"])
    for name, entry in entries.items():
        assert entry["expected_class"] in entry["acceptable_classes"]
        assert {"EXACT", "HIGH", "MEDIUM", "LOW", "NONE"} >= set(entry["acceptable_classes"])
        assert entry["doc_type"] in {"tutela", "habeas_corpus"}
        assert all(entry["entities"].values())
        for source in {entry["duplicate_of"], entry["derived_from"]} - {None}:
            assert name.startswith("incoming/")
            assert source.startswith("archive/")
            assert source in entries
        if entry["duplicate_of"] is None:
            assert not {"EXACT", "HIGH"} & set(entry["acceptable_classes"])
        else:
            assert entry["entities"] == entries[entry["duplicate_of"]]["entities"]


def test_the_demo_shows_every_verdict(manifest: dict[str, Any]) -> None:
    incoming = [e for e in manifest["documents"] if e["name"].startswith("incoming/")]
    classes = Counter(entry["expected_class"] for entry in incoming)
    assert set(classes) == {"EXACT", "HIGH", "MEDIUM", "LOW", "NONE"}
    archive = [e for e in manifest["documents"] if e["name"].startswith("archive/")]
    assert {entry["expected_class"] for entry in archive} == {"NONE"}
    assert {entry["doc_type"] for entry in archive} == {"tutela", "habeas_corpus"}


def test_the_exact_copy_has_the_bytes_of_its_original(manifest: dict[str, Any]) -> None:
    copies = [entry for entry in manifest["documents"] if entry["kind"] == "exact_copy"]
    assert copies
    for entry in copies:
        copy, original = DOCUMENTS / entry["name"], DOCUMENTS / entry["duplicate_of"]
        assert copy.read_bytes() == original.read_bytes()
