"""The measure of word-likeness and the clean-up of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sherlock_pg.ingest import quality
from sherlock_pg.ingest.quality import (
    GOOD_QUALITY,
    clean_text,
    is_better,
    join_broken_words,
    text_quality,
)

PROSE = (
    "El accionante manifiesta que la entidad promotora de salud negó la autorización del "
    "medicamento ordenado por el médico tratante, con lo cual vulneró su derecho fundamental."
)
SIDEWAYS = (
    "SHANOISNAL4YUd *PUIe[da1 as anb 101033301d e] e1101e3nu eLe ELE TESYE0 1 DD ZONOMMA ZHYVNS "
    "Ad 14H VNVIO 3JU9UIRJUI ue Jua ly SnqISJa 8p 0p13Jap 1U3uBp 8 0139ap"
)


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        PROSE.upper(),
        "The respondent denied the request and the petitioner filed an appeal before the court.",
        "Índice ................................... 4\nHechos relevantes ............ 12\n"
        "Pretensiones de la demanda ............................................... 15",
        "\uf0b7 Copia de la cédula\n\uf0b7 Historia clínica\n\uf0b7 Orden médica del tratante",
        "Ответчик отказал в удовлетворении требования истца о выплате",
        "Valor total 1.234.567,00\n" + "800.123.456-7 45.000 12.345.678\n" * 10 + PROSE,
    ],
)
def test_words_are_good(text):
    assert text_quality(text) >= GOOD_QUALITY


@pytest.mark.parametrize(
    "text",
    [
        SIDEWAYS,
        "".join(chr(ord(c) + 3) if c != " " else c for c in PROSE),
        "(cid:12)(cid:44)(cid:7) " * 20,
        PROSE.replace("ó", "\x01").replace("é", "\x02\x03").replace("a", "\ufffd"),
        "\ue001\ue002\ue003 \ue010\ue011",
    ],
)
def test_what_no_one_can_read_is_bad(text):
    assert text_quality(text) < GOOD_QUALITY


@pytest.mark.parametrize("text", ["", " \n", "Folio 12", "1.234 5.678 " * 50])
def test_too_little_to_judge(text):
    assert text_quality(text) is None


def test_pathological_input_is_linear():
    for text in ("a" * 100_000, "a. " * 50_000, "\x01" * 100_000, "ab\x01" * 40_000):
        text_quality(text)
        clean_text(text)


def test_what_is_remembered_of_words_is_bounded_and_changes_no_measure(monkeypatch):
    monkeypatch.setattr(quality, "_MAX_REMEMBERED_TOKENS", 3)
    remembered = quality._Judgements()
    monkeypatch.setattr(quality, "_judgements", remembered)
    assert text_quality(PROSE) == text_quality(PROSE) == 1.0
    assert 0 < len(remembered) <= 3


@given(st.text(), st.text())
def test_only_one_of_two_readings_is_better(one, other):
    first = (one, text_quality(one))
    second = (other, text_quality(other))
    assert not (is_better(*first, *second) and is_better(*second, *first))


def test_line_end_hyphens_join_words():
    assert clean_text("vulnera\x02\r\nción y autori\ufffezación") == "vulneración y autorización"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("la vulne-\nración del dere-  \n  cho", "la vulneración del derecho"),
        ("la vulne\xad\nración; autori¬\nzación", "la vulneración; autorización"),
        # A dash between words, a list, a name, a number and a docket are no broken words.
        ("la parte -\nque", "la parte -\nque"),
        ("así:\n- uno\n- dos", "así:\n- uno\n- dos"),
        ("Norte-\nSantander", "Norte-\nSantander"),
        ("11001-\n40-03", "11001-\n40-03"),
        ("el ex-alcalde", "el ex-alcalde"),
    ],
)
def test_words_broken_at_line_ends_are_joined(text, expected):
    assert join_broken_words(text) == expected


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_clean_text_can_be_stored_and_is_stable(text):
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert "\r" not in cleaned
    assert clean_text(cleaned) == cleaned
