"""Canonical text in Python: examples, what holds for every string, and the pinned tables."""

from __future__ import annotations

import importlib.util
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize import _unicode_tables as tables
from sherlock_pg.vectorize.canonical import canonical_text, tokens

GENERATOR = Path(__file__).parents[1] / "tools" / "generate_unicode_tables.py"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (" \t\r\n...—¡¿!? ", ""),
        ("Señor JUEZ:  la acción, n.º 5", "senor juez la accion n o 5"),
        ("snake_case y guion-bajo", "snake case y guion bajo"),
        ("STRASSE straße STRAẞE", "strasse strasse strasse"),
        ("ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"),
        ("İIıi", "iiıi"),
        ("ﬁrma ½ x² Ⅷ №", "firma 1 2 x2 viii no"),
        ("北京大学 ok 東京", "北 京 大 学 ok 東 京"),
        ("مَرْحَبًا", "مرحبا"),
        ("हिन्दी", "हिनदी"),
        ("docu\u00admento de\u200bmanda \ufeffx", "documento demanda x"),
        ("1\ufe0f\u20e3 👨\u200d👩\u200d👧 listo ❤\ufe0f", "1 listo"),
        ("a\x00b\ud800c", "a b c"),
        ("x\U0001ccd6y\ue000z", "x y z"),
    ],
)
def test_examples(text: str, canonical: str) -> None:
    assert canonical_text(text) == canonical


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_canonical_text_is_a_fixed_point(text: str) -> None:
    canonical = canonical_text(text)
    assert canonical_text(canonical) == canonical
    assert "  " not in canonical
    assert canonical == canonical.strip(" ")
    assert [token.decode() for token in tokens(text)] == canonical.split()


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_texts_are_mapped_piece_by_piece(left: str, right: str) -> None:
    assert tokens(f"{left} {right}") == tokens(left) + tokens(right)


@given(st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cn", "Co", "Cs"])))
@settings(max_examples=300, deadline=None)
def test_normalisation_form_and_case_do_not_matter(text: str) -> None:
    assert canonical_text(unicodedata.normalize("NFC", text)) == canonical_text(
        unicodedata.normalize("NFD", text)
    )


def test_case_does_not_matter_in_spanish() -> None:
    text = "La acción del niño pingüino: ¿qué ÁRBOL, Ñandú?"
    assert canonical_text(text.upper()) == canonical_text(text) == canonical_text(text.lower())


def test_tables_are_sorted_and_disjoint_where_they_must_be() -> None:
    for ranges in (tables.UNASSIGNED, tables.IGNORABLE, tables.WORD, tables.SOLITARY):
        flat = [code for pair in ranges for code in pair]
        assert flat == sorted(flat)
        assert flat[0] >= 0x80
    members = [
        {code for first, last in ranges for code in range(first, last + 1)}
        for ranges in (tables.UNASSIGNED, tables.IGNORABLE, tables.WORD)
    ]
    assert not members[0] & members[1]
    assert not members[0] & members[2]
    assert not members[1] & members[2]
    assert set(map(ord, tables.FOLD_FROM)) <= members[2]


@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0",
    reason="the generator reads Unicode 14 from Python 3.11",
)
def test_generated_files_are_what_the_generator_writes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = load_generator().main(["--check"])
    assert (status, capsys.readouterr().err) == (0, "")


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_unicode_tables", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
