"""What a single finding looks like: spans, sources, flags, windows; and no input that hangs."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sherlock_pg.ner import rules
from sherlock_pg.ner.folding import View, collapse_spaces, fold, fold_labels, repair_capitals
from sherlock_pg.ner.roles import Entity, IdType, Role, Source

FILING = """ACCIÓN DE TUTELA
ACCIONANTE: MARÍA INÉS CÓRDOBA
DE LA HOZ
ACCIONADA: NUEVA EPS S.A.

MARÍA INÉS CÓRDOBA DE LA HOZ, identificada con C.C. 32.456.789, acudo ante su Despacho.
"""


def of_role(entities: list[Entity], role: Role) -> list[Entity]:
    return [entity for entity in entities if entity.role is role]


def values(text: str, role: Role) -> list[str]:
    return [entity.value for entity in of_role(rules.extract(text), role)]


def test_spans_point_at_the_values() -> None:
    for entity in rules.extract(FILING):
        written = collapse_spaces(FILING[entity.start : entity.end])
        if entity.role is Role.CEDULA:
            assert "".join(filter(str.isdigit, written)) == entity.value
        else:
            assert repair_capitals(written) == entity.value


def test_wrapped_name_is_one_value() -> None:
    assert values(FILING, Role.DEMANDANTE) == ["MARÍA INÉS CÓRDOBA DE LA HOZ"]


def test_sources_and_scores_rank_label_narrative_first_person() -> None:
    label = of_role(rules.extract(FILING), Role.DEMANDANTE)[0]
    narrative = of_role(
        rules.extract("La tutela promovida por Ana Ruiz Gil contra Sanitas EPS."), Role.DEMANDANTE
    )[0]
    speaker = of_role(
        rules.extract("ANA RUIZ GIL, mayor de edad, interpongo tutela contra Sanitas EPS."),
        Role.DEMANDANTE,
    )[0]
    assert (label.source, narrative.source, speaker.source) == (
        Source.LABEL,
        Source.NARRATIVE,
        Source.FIRST_PERSON,
    )
    assert label.score > narrative.score > speaker.score > 0


def test_combining_accents_give_the_same_names_and_spans_of_the_source() -> None:
    decomposed = unicodedata.normalize("NFD", FILING)
    assert decomposed != FILING
    for entity in of_role(rules.extract(decomposed), Role.DEMANDANTE):
        written = collapse_spaces(decomposed[entity.start : entity.end])
        assert unicodedata.normalize("NFC", written) == entity.value
    assert values(decomposed, Role.DEMANDANTE) == values(FILING, Role.DEMANDANTE)


def test_end_of_a_long_document_is_read_and_its_middle_is_not() -> None:
    middle = "La entidad guardó silencio. " * 1_000
    hidden = "\nEl pasaporte: pasaporte No. 7788991.\n"
    tail = "\nNOTIFICACIONES\nAccionante: minescordoba@correo.example\n"
    text = FILING + middle + hidden + middle + tail
    entities = rules.extract(text)
    mail = of_role(entities, Role.CORREO)[0]
    assert text[mail.start : mail.end] == mail.value == "minescordoba@correo.example"
    assert mail.owner is Role.DEMANDANTE
    assert not any(entity.value == "7788991" for entity in entities)


@pytest.mark.parametrize(
    ("name", "anonymised"),
    [("C.G.A.", True), ("L.M.R.T.", True), ("EMCR", True), ("Luz Mery Gil", False)],
)
def test_initials_are_kept_and_marked(name: str, anonymised: bool) -> None:
    found = of_role(rules.extract(f"Accionante: {name}\nAccionada: Sanitas EPS"), Role.DEMANDANTE)
    assert [(entity.value, entity.is_anonymised) for entity in found] == [(name, anonymised)]


@pytest.mark.parametrize(
    "value", ["M.", "xxxxx", "________", "[NOMBRE]", "N.N.", "......", "<nombre completo>"]
)
def test_placeholders_are_nobody(value: str) -> None:
    assert values(f"ACCIÓN DE TUTELA\nAccionante: {value}\n", Role.DEMANDANTE) == []


def test_company_acronym_is_not_anonymous() -> None:
    found = of_role(rules.extract("Demandante: UGPP\nDemandado: Ana Ruiz"), Role.DEMANDANTE)
    assert [(entity.value, entity.is_anonymised) for entity in found] == [("UGPP", False)]


def test_same_party_named_twice_is_one() -> None:
    text = "Accionado: NUEVA EPS\n\nLa tutela contra la NUEVA EPS.\nAccionado: Nueva E.P.S.\n"
    assert values(text, Role.DEMANDADO) == ["NUEVA EPS"]


def test_heading_of_a_cited_case_far_below_adds_no_party() -> None:
    text = FILING + "Se reitera. " * 400 + "\nAccionante: PEDRO NEL RUIZ OCAMPO\n"
    assert values(text, Role.DEMANDANTE) == ["MARÍA INÉS CÓRDOBA DE LA HOZ"]


def test_plaintiff_is_not_the_defendant_too() -> None:
    text = "Tutela.\nAccionante: COLPENSIONES\nAccionado: COLPENSIONES y JUZGADO 3 CIVIL DE CALI"
    assert values(text, Role.DEMANDADO) == ["JUZGADO 3 CIVIL DE CALI"]


def test_numbers_keep_courts_apart() -> None:
    text = (
        "Accionados: Juzgado 22 Civil del Circuito de Cali y Juzgado 23 Civil del Circuito de Cali"
    )
    assert len(values(text, Role.DEMANDADO)) == 2


def test_empty_and_tiny_texts() -> None:
    for text in ("", " ", "\n", "A", "Accionante:", "ACCIONANTE", "contra", "@", "C.C."):
        assert [e for e in rules.extract(text) if e.role is not Role.REFERENCIA] == []


def pathological_texts() -> dict[str, str]:
    rng = random.Random(1)
    units = [
        *("a.", "_", "1.", "A.B.", "@", "(", "a@", " ", "\n", "\t", "-", "'", ":", ",", "0O1l"),
        *("a.b-c_d%", "12.345.678", "1 ", "C.C. ", "No. ", "JUAN ", "A y ", "cédula de "),
        *("acción de tutela ", "promovida por X ", "apoderado de ", "tutela que X "),
        *("accionante: ", "Accionante\n", "Accionante: A y B, C\n", "ACCIONADO: A - B - "),
        *("tutela el señor Juan Perez ", "tutela contra NUEVA EPS y ", "tutela A vs B "),
        *("JUAN PEREZ mayor de edad tutela ", "tutela identificado con ", "ordene a la EPS "),
        *("tutela JUAN PEREZ C.C. 12.345.678 ", "tutela a1@b.com,", "tutela\nCONTRA\n"),
        *("Ana Ruiz, ", "resolucion No. 1-1-1-", "tutela.\nSeñores\nBANCO X\n"),
    ]
    texts = {unit: unit for unit in units}
    texts["noise"] = "".join(rng.choice("abcdeéÁ .,;\n1234@") for _ in range(16_000))
    texts["heading, then dots"] = FILING + "a." * 8_000
    return {name: (text * (16_000 // len(text) + 1))[:16_000] for name, text in texts.items()}


@pytest.mark.parametrize("text", pathological_texts().values(), ids=repr)
def test_garbage_takes_no_time(text: str) -> None:
    fastest = 1.0
    for _ in range(3):
        started = time.process_time()
        rules.extract(text)
        fastest = min(fastest, time.process_time() - started)
        if fastest < 0.2:
            return
    raise AssertionError(f"{fastest:.2f} s")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "ACCIONANTE",
                    ": ",
                    "\n",
                    "JUAN PÉREZ",
                    " contra ",
                    "NUEVA EPS",
                    " y ",
                    ", ",
                    ".",
                ),
                *(
                    "C.C. ",
                    "12.345.678",
                    "tutela ",
                    "promovida por ",
                    "a@b.co",
                    " ",
                    "(",
                    "ñ",
                    "\r",
                ),
                *("e\u0301", "x", "S.A.S.", " - ", "\x0c", "ß", "ﬁ", "İ", "\u00a0", "𝒜", "0", "l"),
            ]
        ),
        max_size=60,
    ).map("".join)
)
@example("İ" * 50 + "\nAccionante: ANA RUIZ")
def test_any_text_gives_spans_inside_it(text: str) -> None:
    entities = rules.extract(text, head=80, tail=40)
    for entity in entities:
        assert 0 <= entity.start < entity.end <= len(text)
        assert entity.value and 0 <= entity.score <= 1
    assert [e.start for e in entities] == sorted(e.start for e in entities)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_folded_copies_have_the_length_of_the_text(text: str) -> None:
    view = View(text)
    assert len(fold(text)) == len(fold_labels(text)) == len(view.flow) == len(text)


def seconds_of_work(text: str) -> float:
    """Give the processor's time for all of a text, the least of a few runs."""
    runs = []
    for _ in range(3):
        started = time.process_time()
        rules.extract(text, head=len(text), tail=0)
        runs.append(time.process_time() - started)
    return min(runs)


def test_ten_times_the_text_is_not_a_hundred_times_the_work() -> None:
    text = FILING + "La accionada no respondió la petición radicada el 3 de mayo. " * 4_000
    assert seconds_of_work(text[:200_000]) < 30 * seconds_of_work(text[:20_000])


@pytest.mark.parametrize(
    ("text", "plaintiff", "defendant"),
    [
        (
            "Yo, JORGE IVÁN CASTAÑO LÓPEZ, con cédula de ciudadanía 98.765.432, pido amparo "
            "contra SURA EPS",
            "JORGE IVÁN CASTAÑO LÓPEZ",
            "SURA EPS",
        ),
        ("Yo, ANA PÉREZ, con C.C. 52.345.678, contra NUEVA EPS", "ANA PÉREZ", "NUEVA EPS"),
        ("Yo, Ana Pérez, contra la Alcaldía de Cali.", "Ana Pérez", "Alcaldía de Cali"),
        (
            "El suscrito LUIS GIL DÍAZ, mayor de edad, vecino de Cali, en nombre propio, solicito "
            "protección en contra de la EPS SANITAS.",
            "LUIS GIL DÍAZ",
            "EPS SANITAS",
        ),
        (
            "Yo, ANA PÉREZ, con C.C. 52.345.678, apoderada judicial de LUIS GIL DÍAZ, pido amparo "
            "contra NUEVA EPS",
            "LUIS GIL DÍAZ",
            "NUEVA EPS",
        ),
    ],
)
def test_a_claim_needs_no_name_of_one(text: str, plaintiff: str, defendant: str) -> None:
    assert values(text, Role.DEMANDANTE) == [plaintiff]
    assert values(text, Role.DEMANDADO) == [defendant]


@pytest.mark.parametrize(
    "text",
    [
        "Yo, ANA PÉREZ, con C.C. 52.345.678, compré un seguro contra incendio a SEGUROS ALFA.",
        "Yo, ANA PÉREZ, vacunada contra la gripa, autorizo a NUEVA EPS.",
        "Yo, ANA PÉREZ, con C.C. 52.345.678, recibí el pago de NUEVA EPS.",
        "Yo, ANA PÉREZ, jugaré contra el CLUB ALFA.",
        "ANA PÉREZ, con C.C. 52.345.678, ganó un partido contra el CLUB ALFA.",
    ],
)
def test_who_speaks_of_something_else_makes_no_claim(text: str) -> None:
    assert values(text, Role.DEMANDANTE) == values(text, Role.DEMANDADO) == []


def test_tax_number_of_a_company_is_its_own() -> None:
    text = (
        "Demandante: BANCO DEL SINÚ S.A. NIT 860.003.999-1\n"
        "Demandado: PEDRO RUIZ OCHOA C.C. 71.634.905\n"
    )
    found = {
        entity.value: (entity.owner, entity.id_type)
        for entity in of_role(rules.extract(text), Role.CEDULA)
    }
    assert found == {
        "860003999": (Role.DEMANDANTE, IdType.NIT),
        "71634905": (Role.DEMANDADO, IdType.CC),
    }
