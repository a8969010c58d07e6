"""The rules on labelled filings: accuracy may not fall below what was reached."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sherlock_pg.ner import rules
from sherlock_pg.ner.evaluate import Record, evaluate_in_detail
from sherlock_pg.ner.roles import PARTY_ROLES, Role

AIMS = {
    Role.DEMANDANTE: 0.95,
    Role.DEMANDADO: 0.97,
    Role.CEDULA: 0.97,
    Role.CORREO: 0.99,
}

REACHED_ON_UNTUNED = {
    Role.DEMANDANTE: 0.75,
    Role.DEMANDADO: 0.90,
    Role.CEDULA: 0.80,
    Role.CORREO: 0.95,
}
"""Just below what was measured once; the aims are not reached there (see tests/README.md)."""

REACHED_ON_DEV_STYLES = {
    Role.DEMANDANTE: 0.98,
    Role.DEMANDADO: 0.98,
    Role.CEDULA: 0.98,
    Role.CORREO: 0.98,
    Role.RADICADO: 0.98,
}
REACHED_ON_BLIND_STYLES = {
    Role.DEMANDANTE: 0.89,
    Role.DEMANDADO: 0.95,
    Role.CEDULA: 0.93,
    Role.CORREO: 0.98,
    Role.RADICADO: 0.98,
}
"""Just below what was measured; of "blind" only the scores were ever looked at."""


def assert_reaches(records: list[Record], least: dict[Role, float]) -> None:
    evaluation = evaluate_in_detail(records, rules.extract)
    missed = {
        role.value: score.as_dict()
        for role, score in evaluation.scores.items()
        if score.f1 < least.get(role, 0.99)
    }
    assert not missed, evaluation.mistakes


def test_development_texts(dev_records: list[Record]) -> None:
    assert_reaches(dev_records, AIMS)


def test_cases_the_rules_were_written_against(
    records_of_split: Callable[[str], list[Record]],
) -> None:
    records = records_of_split("tuned")
    assert len(records) >= 40
    assert_reaches(records, AIMS)


def test_cases_the_rules_were_not_written_against(
    records_of_split: Callable[[str], list[Record]],
) -> None:
    records = records_of_split("untuned")
    assert len(records) >= 12
    assert_reaches(records, REACHED_ON_UNTUNED)


@pytest.mark.parametrize(
    ("split", "texts", "least"),
    [("dev", 90, REACHED_ON_DEV_STYLES), ("blind", 30, REACHED_ON_BLIND_STYLES)],
)
def test_drafting_styles(
    styles_of_split: Callable[[str], list[Record]],
    split: str,
    texts: int,
    least: dict[Role, float],
) -> None:
    records = styles_of_split(split)
    assert len(records) >= texts
    assert_reaches(records, least)


def test_documents_without_a_claim_have_no_parties(
    records_of_split: Callable[[str], list[Record]],
) -> None:
    others = [
        record
        for record in (*records_of_split("tuned"), *records_of_split("untuned"))
        if not any(record.expected.values())
    ]
    assert len(others) >= 6
    for record in others:
        found = [entity for entity in rules.extract(record.text) if entity.role in PARTY_ROLES]
        assert not found, record.record_id


def test_a_letter_lost_to_the_scanner_keeps_the_party(dev_records: list[Record]) -> None:
    """Swap the letters that OCR confuses in every label; the names must still be found."""
    record = next(record for record in dev_records if record.record_id == "d07_dash_entities")
    scanned = record.text.replace("ACCIONANTE", "ACCI0NANTE").replace("ACCIONADO", "ACC1ONAD0")
    assert scanned != record.text
    assert_reaches([Record("scanned", scanned, record.expected)], dict.fromkeys(AIMS, 1.0))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\u2028"])
def test_line_ends_do_not_matter(dev_records: list[Record], line_end: str) -> None:
    records = [
        Record(record.record_id, record.text.replace("\n", line_end), record.expected)
        for record in dev_records
    ]
    assert_reaches(records, AIMS)
