"""The extractor with and without a model, and the spaCy component."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from sherlock_pg.errors import EnvironmentFault, ExitCode
from sherlock_pg.ner import model as model_module
from sherlock_pg.ner import rules
from sherlock_pg.ner.model import resolve_model
from sherlock_pg.ner.pipeline import PartyExtractor
from sherlock_pg.ner.roles import Role, Source

LABELLED = "ACCIÓN DE TUTELA\nAccionante: Ana María Ruiz Gil\nAccionado: Sanitas EPS\n"
UNLABELLED = (
    "Bogotá, mayo de 2021. Se allega el escrito de tutela que suscribe don Carlos Alberto Gómez "
    "Martínez, y en él relata que la cirugía no fue autorizada."
)
INVOICE = "FACTURA DE VENTA No. 1020\nCliente: Carlos Alberto Gómez Martínez\nTotal: $ 20.000\n"


def test_without_a_model_the_rules_decide() -> None:
    extractor = PartyExtractor("none")
    assert extractor.extract(LABELLED) == rules.extract(LABELLED)
    assert extractor.versions == {"rules": rules.RULES_VERSION}


def test_extract_many_keeps_the_order() -> None:
    extractor = PartyExtractor("none")
    texts = [LABELLED, INVOICE, UNLABELLED]
    assert list(extractor.extract_many(texts)) == [extractor.extract(text) for text in texts]


def test_rules_do_not_import_spacy() -> None:
    code = (
        "import sys; from sherlock_pg.ner.pipeline import PartyExtractor; "
        f"found = PartyExtractor().extract({LABELLED!r}); "
        "assert len(found) == 2, found; assert 'spacy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_named_model_that_is_missing() -> None:
    with pytest.raises(EnvironmentFault, match="es_core_news_xxl") as caught:
        PartyExtractor("es_core_news_xxl")
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert "spacy download" in caught.value.hint


@pytest.mark.parametrize("choice", ["", "no/such/folder", "../x", "not-a-package"])
def test_choice_that_names_nothing(choice: str) -> None:
    with pytest.raises(EnvironmentFault):
        resolve_model(choice)


def test_folder_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EnvironmentFault, match=r"meta\.json"):
        resolve_model(str(tmp_path))


def test_auto_without_any_model_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(model_module, "PREFERRED_MODELS", ("es_core_news_nowhere",))
    with caplog.at_level(logging.INFO, logger="sherlock_pg"):
        extractor = PartyExtractor("auto")
        extractor.extract(LABELLED)
        extractor.extract(UNLABELLED)
    assert extractor.versions == {"rules": rules.RULES_VERSION}
    assert len(caplog.records) == 1
    assert "spacy download" in caplog.text


def test_model_that_cannot_be_loaded(tmp_path: Path) -> None:
    meta = {"lang": "es", "name": "broken", "version": "0.1"}
    (tmp_path / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    extractor = PartyExtractor(str(tmp_path))
    assert extractor.versions["model"] == "es_broken 0.1"
    with pytest.raises(EnvironmentFault, match="es_broken"):
        extractor.extract(UNLABELLED)


def test_model_fills_the_role_the_rules_left_empty(model_extractor: PartyExtractor) -> None:
    assert not any(entity.role is Role.DEMANDANTE for entity in rules.extract(UNLABELLED))
    (plaintiff,) = [
        entity for entity in model_extractor.extract(UNLABELLED) if entity.role is Role.DEMANDANTE
    ]
    assert plaintiff.value == "Carlos Alberto Gómez Martínez"
    assert UNLABELLED[plaintiff.start : plaintiff.end] == plaintiff.value
    assert plaintiff.source is Source.MODEL


def test_model_reads_names_in_capitals_and_keeps_offsets_in_a_long_text(
    model_extractor: PartyExtractor,
) -> None:
    shouted = UNLABELLED.replace("Carlos Alberto Gómez Martínez", "CARLOS ALBERTO GÓMEZ MARTÍNEZ")
    text = "Consideraciones. " * 1_500 + shouted
    (plaintiff,) = [
        entity for entity in model_extractor.extract(text) if entity.role is Role.DEMANDANTE
    ]
    assert text[plaintiff.start : plaintiff.end] == "CARLOS ALBERTO GÓMEZ MARTÍNEZ"


def test_model_never_overrules_the_rules(model_extractor: PartyExtractor) -> None:
    assert model_extractor.extract(LABELLED) == rules.extract(LABELLED)


def test_model_makes_no_party_of_an_invoice(model_extractor: PartyExtractor) -> None:
    assert not any(
        entity.role in (Role.DEMANDANTE, Role.DEMANDADO)
        for entity in model_extractor.extract(INVOICE)
    )


def test_versions_name_model_and_spacy(model_extractor: PartyExtractor, small_model: str) -> None:
    versions = model_extractor.versions
    assert versions["model"].startswith(f"{small_model} ")
    assert set(versions) == {"rules", "model", "spacy"}


def test_component_in_a_blank_pipeline() -> None:
    spacy = pytest.importorskip("spacy")
    from sherlock_pg.ner.component import COMPONENT_NAME

    nlp = spacy.blank("es")
    nlp.add_pipe(COMPONENT_NAME)
    doc = nlp(LABELLED)
    assert doc._.parties == rules.extract(LABELLED)
    assert [(span.label_, span.text) for span in doc.spans["parties"]] == [
        ("demandante", "Ana María Ruiz Gil"),
        ("demandado", "Sanitas EPS"),
    ]
    (piped,) = nlp.pipe([LABELLED])
    assert piped._.parties == doc._.parties


def test_component_takes_its_window_from_the_configuration() -> None:
    spacy = pytest.importorskip("spacy")
    from sherlock_pg.ner.component import COMPONENT_NAME

    nlp = spacy.blank("es")
    nlp.add_pipe(COMPONENT_NAME, config={"head": 20, "tail": 0})
    assert nlp("x" * 30 + "\n" + LABELLED)._.parties == []
