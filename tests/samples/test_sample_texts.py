"""The words of the sample documents: who is in them, and how much the kinds have in common."""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Callable

import pytest

from sherlock_pg.samples.cases import Case, draw_case
from sherlock_pg.samples.filing import Filing, Gold, Telling, compose
from sherlock_pg.samples.people import CITIES
from sherlock_pg.samples.styles import STYLES
from sherlock_pg.samples.texts import TOPICS, Unit, load_frame, load_topic
from sherlock_pg.samples.variants import NEGATIVE_KINDS, Kind, make_variant

SEED = 5
CASES = [
    draw_case(SEED, f"prueba-{number}", topic_name=topic) for topic in TOPICS for number in range(2)
]


def texts_of(kind: Kind) -> list[tuple[Case, Case, str, str]]:
    """Return (case, the variant's case, original, variant) for every test case."""
    rows = []
    for case in CASES:
        other, filing = make_variant(SEED, case, kind)
        rows.append((case, other, compose(case).text(), filing.text()))
    return rows


def missing_entities(filing: Filing) -> list[str]:
    gold, text = filing.gold, filing.text()
    digits = re.sub(r"(?<=\d)[.\-](?=\d)", "", text)
    missing = [name for name in gold.demandante + gold.demandado if name not in text]
    missing += [mail for mail in gold.correo if mail not in text]
    return missing + [number for number in gold.cedula + gold.radicado if number not in digits]


@pytest.mark.parametrize("kind", list(Kind))
def test_gold_entities_are_in_the_text(kind: Kind) -> None:
    for case in CASES:
        filing = make_variant(SEED, case, kind)[1]
        assert missing_entities(filing) == []


def test_a_habeas_corpus_has_the_cards_of_claimant_and_prisoner() -> None:
    for case in CASES:
        expected = 2 if case.doc_type == "habeas_corpus" else 1
        assert len(set(compose(case).gold.cedula)) == expected


def test_entities_stay_in_every_retelling_and_change_with_the_people() -> None:
    for case in CASES:
        gold = compose(case).gold
        for kind in Kind:
            other: Gold = make_variant(SEED, case, kind)[1].gold
            if kind not in NEGATIVE_KINDS:
                assert other == gold
            elif kind is Kind.SAME_PARTIES_OTHER_CASE:
                assert (other.demandante, other.cedula) == (gold.demandante, gold.cedula)
                assert other.correo == gold.correo
                assert set(other.demandado) & set(gold.demandado)
                assert other.radicado != gold.radicado
            else:
                for role in ("demandante", "cedula", "correo", "radicado"):
                    assert not set(getattr(other, role)) & set(getattr(gold, role))


def test_dockets_have_the_structure_of_the_judiciary() -> None:
    codes = {city.name: city.dane_code for city in CITIES}
    for case in CASES:
        match = re.fullmatch(r"(\d{5})-(\d{2})-(\d{2})-\d{3}-(\d{4})-\d{5}-00", case.radicado)
        assert match is not None
        assert match.group(1) == codes[case.city.name]
        assert match.group(2, 3) == (case.court.entity_code, case.court.specialty_code)
        assert int(match.group(4)) == case.filing_date.year


def test_filings_are_made_on_working_days() -> None:
    assert all(case.filing_date.weekday() < 5 for case in CASES)


@pytest.mark.parametrize(
    ("doc_type", "words"), [("tutela", "acción de tutela"), ("habeas_corpus", "hábeas corpus")]
)
def test_the_type_is_recognisable_by_its_words(doc_type: str, words: str) -> None:
    other = {"tutela": "hábeas corpus", "habeas_corpus": "acción de tutela"}[doc_type]
    of_type = [case for case in CASES if case.doc_type == doc_type]
    assert of_type
    for case in of_type:
        text = compose(case).text().lower()
        assert words in text
        assert other not in text


def test_length_is_that_of_real_filings() -> None:
    for case in CASES:
        assert 600 <= len(compose(case).text().split()) <= 1100


def test_texts_can_be_set_in_the_core_fonts_and_have_no_open_slot() -> None:
    for case in CASES:
        for kind in Kind:
            text = make_variant(SEED, case, kind)[1].text()
            text.encode("latin-1")
            assert not re.search(r"[{}#@](?!\w)|\{|\}|\.\.|  ", text)


def test_prepositions_are_contracted() -> None:
    for case in CASES:
        for telling in (Telling(), Telling(other_words=True)):
            text = compose(case, telling).text()
            assert not re.search(r"\b(de|a) el [A-Z]", text)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (Kind.REDATED, 0.85, 0.99),
        (Kind.REORDERED, 0.80, 0.97),
        (Kind.PARAPHRASE, 0.18, 0.50),
        (Kind.ANNEXED, 0.75, 0.90),
        (Kind.NEW_VERSION, 0.88, 0.99),
        (Kind.SAME_TEMPLATE_OTHER_PEOPLE, 0.35, 0.60),
        (Kind.SAME_PARTIES_OTHER_CASE, 0.02, 0.45),
        (Kind.UNRELATED, 0.00, 0.15),
    ],
)
def test_overlap_of_each_kind_with_the_original(
    kind: Kind, low: float, high: float, jaccard: Callable[[str, str], float]
) -> None:
    overlaps = [jaccard(original, variant) for _, _, original, variant in texts_of(kind)]
    assert low <= min(overlaps)
    assert max(overlaps) <= high


def test_a_paraphrase_overlaps_less_than_another_person_s_filing(
    jaccard: Callable[[str, str], float],
) -> None:
    """The trap: overlap alone ranks the stranger above the same case told again."""

    def median(kind: Kind) -> float:
        return statistics.median(jaccard(left, right) for _, _, left, right in texts_of(kind))

    assert median(Kind.PARAPHRASE) < median(Kind.SAME_TEMPLATE_OTHER_PEOPLE)


def test_redating_changes_dates_and_nothing_else() -> None:
    months = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
    date = re.compile(rf"\d{{1,2}} de (?:{months}|diciembre) de \d{{4}}")
    for case, moved, original, variant in texts_of(Kind.REDATED):
        assert case.filing_date != moved.filing_date
        assert date.sub("", original) == date.sub("", variant)
        before, after = date.findall(original), date.findall(variant)
        changed = [old != new for old, new in zip(before, after, strict=True)]
        assert all(changed)


def test_reordering_keeps_every_word() -> None:
    label = re.compile(r"^(\d+\.|[A-ZÉ ]+:|(?:Hecho|Pretensión|Prueba) \d+\.) ", re.MULTILINE)
    for _, _, original, variant in texts_of(Kind.REORDERED):
        assert original != variant
        ours, theirs = (label.sub("", text).split("\n\n") for text in (original, variant))
        assert sorted(ours) == sorted(theirs)


@pytest.mark.parametrize("kind", [Kind.ANNEXED, Kind.NEW_VERSION])
def test_additions_keep_all_that_was_there(kind: Kind) -> None:
    for _, _, original, variant in texts_of(kind):
        assert set(original.split("\n\n")) <= set((variant + "\n").split("\n\n")) | {
            original.split("\n\n")[-1]
        }
        assert len(variant) > len(original)


def test_same_arguments_give_the_same_text_and_another_seed_another() -> None:
    first = compose(draw_case(1, "a", topic_name="tutela_salud")).text()
    assert first == compose(draw_case(1, "a", topic_name="tutela_salud")).text()
    assert first != compose(draw_case(2, "a", topic_name="tutela_salud")).text()
    assert first != compose(draw_case(1, "b", topic_name="tutela_salud")).text()


def test_every_unit_has_two_wordings_that_use_the_same_slots() -> None:
    slot = re.compile(r"\{(\w+)\}")
    same = {"el_accionado": "accionado", "al_accionado": "accionado", "del_accionado": "accionado"}
    same |= {f"{name}2": "accionado2" for name in same}
    same |= {"de_accionados": "accionados", "juez": "al_juez"}
    free = {"o", "accionado", "accionado2", "accionados", "parentesco", "demandante"}
    for name in TOPICS:
        topic, frame = load_topic(name), load_frame(load_topic(name).doc_type)
        units: list[Unit] = [
            *topic.facts,
            *topic.details,
            *topic.petitions,
            *topic.extension,
            *topic.grounds,
            *frame.circumstances,
            *frame.grounds,
            frame.opening,
            frame.notification,
        ]
        for unit in units:
            first, second = (
                {same.get(found, found) for found in slot.findall(wording)} - free
                for wording in unit
            )
            assert unit[0] != unit[1]
            assert first == second, unit


def test_every_slot_of_a_topic_is_used_by_its_texts() -> None:
    for name in TOPICS:
        topic = load_topic(name)
        units = (*topic.facts, *topic.details, *topic.petitions, *topic.extension)
        said = " ".join(wording for unit in units for wording in unit) + " ".join(topic.proofs)
        for slot in {*topic.slots, *(key for record in topic.records for key in record)}:
            assert f"{{{slot}}}" in said, (name, slot)


def test_every_style_has_all_sections_once() -> None:
    for style in STYLES:
        assert sorted(style.order) == sorted(style.headings)


def test_draws_are_the_same_on_every_machine() -> None:
    """Pinned: a change here changes every collection that users have made."""
    text = compose(draw_case(1, "pinned", topic_name="tutela_pension")).text()
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "e76c971e401961a10b74e7681ff1dc7a825b36d2a75aca432b3978a80e7d96d5"
    )
