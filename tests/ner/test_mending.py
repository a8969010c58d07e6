"""Layout and misreadings undone: what is read, and the way back to the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.ner import rules
from sherlock_pg.ner.mending import Mended
from sherlock_pg.ner.misread import Vocabulary, shape
from sherlock_pg.ner.roles import Role


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("la ciuda-\ndanía", "la ciudadanía"),
        ("CÓR-\n  DOBA, mayor", "CÓRDOBA, mayor"),
        ("MINISTERIO DE DEFENSA-\nPOLICÍA NACIONAL", "MINISTERIO DE DEFENSA-\nPOLICÍA NACIONAL"),
        ("SANITAS -\nComfamiliar", "SANITAS -\nComfamiliar"),
        ("Accionado: JUZGADO DE\n\n\nBARBOSA", "Accionado: JUZGADO DE\n  BARBOSA"),
        ("Ana Ruiz Gil1\nLuis Paz2\n", "Ana Ruiz Gil1\nLuis Paz2\n"),
        ("Ana Ruiz Londoño1\nX", "Ana Ruiz Londoño \nX"),
        ("Nombres: Ana\nApellidos: Ruiz", "Nombres: Ana\nApellidos: Ruiz"),
        ("\nNombres: Ana\nApellidos: Ruiz", "\nNombres: Ana            Ruiz"),
        ("JUEZ MUNICIPAL\n\nyo, ana ruiz", "JUEZ MUNICIPAL\n\nyo, ana ruiz"),
        ("cafe\u0301", "café"),
    ],
)
def test_mended_text(text: str, mended: str) -> None:
    assert Mended(text).text == mended


def test_sentence_runs_on_behind_blank_lines() -> None:
    line = "identificada como aparece al pie de su firma, actuando en nombre"
    assert Mended(f"{line}\n\n\npropio").text == f"{line}\n  propio"
    assert Mended(f"{line}.\n\n\npropio").text == f"{line}.\n\n\npropio"


def test_divided_name_keeps_its_span_of_the_source() -> None:
    text = "ACCIONANTE: LEONIDAS BEJARANO CÓR-\nDOBA\nACCIONADO: NUEVA EPS\n"
    (plaintiff,) = [e for e in rules.extract(text) if e.role is Role.DEMANDANTE]
    assert plaintiff.value == "LEONIDAS BEJARANO CÓRDOBA"
    assert text[plaintiff.start : plaintiff.end] == "LEONIDAS BEJARANO CÓR-\nDOBA"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "DE", "-", "\n", " ", "\u0301", "Córdoba", "1", ":", "nombres: x"]),
        max_size=40,
    ).map("".join)
)
def test_offsets_rise_and_end_where_the_source_ends(text: str) -> None:
    mended = Mended(text)
    offsets = [mended.source_offset(i) for i in range(len(mended.text) + 1)]
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(text)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("CORRCO.EXARNPLE.0RG", "CORREO.EXAMPLE.ORG"),
        ("GMAI1", "GMAIL"),
        ("GRNAIL", "GMAIL"),
        ("ECLWIN.88", "EDWIN.88"),
        ("MELINA", "MELINA"),
        ("TUTELAS", "TUTELAS"),
    ],
)
def test_respelled(written: str, meant: str) -> None:
    vocabulary = Vocabulary(("CORREO", "EXAMPLE", "ORG", "GMAIL", "EDWIN"))
    assert vocabulary.respelled(written) == meant


def test_known_words_stay_whatever_their_shape() -> None:
    assert shape("MAIL") == shape("MALL")
    assert Vocabulary(("MAIL", "MALL")).respelled("MALL.MAIL") == "MALL.MAIL"


@pytest.mark.parametrize(
    ("misread", "address"),
    [
        ("carlos.puiacios39@eorreo.examp1e.org", "carlos.palacios39@correo.example.org"),
        ("carlos.palacios39@gmai1.com", "carlos.palacios39@gmail.com"),
        ("carlitos39@correo.example", "carlitos39@correo.example"),
    ],
)
def test_misread_address_of_a_named_plaintiff(misread: str, address: str) -> None:
    text = f"Accionante: CARLOS PALACIOS ROA\nAccionada: NUEVA EPS\nCorreo: {misread}\n"
    assert [e.value for e in rules.extract(text) if e.role is Role.CORREO] == [address]


def test_a_surname_that_looks_like_a_cue_stays_as_it_is() -> None:
    """A bad scan leaves the same of Ordóñez as of 'órdenes', which no rule may read into it."""
    assert shape("ORDONEZ") == shape("ORDENES")
    address = "hernan.ordonez85@correo.example.com"
    text = f"Accionante: HERNÁN ORDÓÑEZ GALEANO\nAccionada: NUEVA EPS\nCorreo: {address}\n"
    assert [e.value for e in rules.extract(text) if e.role is Role.CORREO] == [address]
