"""PDFs from public bug collections; they stay outside, in the folder SHERLOCK_TORTURE_DIR names."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sherlock_pg.ingest.model import ExtractOptions, Status
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.ingest.reasons import Reason

FOLDER = os.environ.get("SHERLOCK_TORTURE_DIR", "")

pytestmark = [
    pytest.mark.ocr,
    pytest.mark.skipif(not FOLDER, reason="SHERLOCK_TORTURE_DIR is not set"),
]


def agrees(expected, extraction):
    """Say whether the outcome is one that the manifest allows for."""
    if extraction.reason in (Reason.CRASHED, Reason.UNREADABLE):
        return False
    if expected.startswith("native text"):
        return extraction.status in (Status.OK, Status.PARTIAL)
    if expected.startswith("password"):
        return extraction.reason is Reason.ENCRYPTED
    if expected.startswith("reject"):
        # Some of these are a line of text with the name of a PDF: text is what they hold.
        return extraction.status is Status.FAILED or extraction.media_type == "text/plain"
    return True


def test_every_outcome_is_one_the_manifest_allows():
    folder = Path(FOLDER)
    entries = [
        entry for entry in json.loads((folder / "MANIFEST.json").read_text()) if "expect" in entry
    ]
    options = ExtractOptions(wall_seconds=60)
    with Extractor(options, workers=2) as extractor, ThreadPoolExecutor(2) as threads:
        extractions = list(
            threads.map(lambda entry: extractor.extract(folder / entry["file"]), entries)
        )
    wrong = [
        f"{entry['file']}: expected {entry['expect']}, got {extraction.status} {extraction.reason}"
        for entry, extraction in zip(entries, extractions, strict=True)
        if not agrees(entry["expect"], extraction)
    ]
    assert not wrong, "\n".join(wrong)
