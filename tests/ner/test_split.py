"""Lists of parties: what is split and what stays together."""

from __future__ import annotations

import pytest

from sherlock_pg.ner.folding import View
from sherlock_pg.ner.split import split_parties


@pytest.mark.parametrize(
    "parties",
    [
        ["NUEVA EPS"],
        ["MINISTERIO DE VIVIENDA, CIUDAD Y TERRITORIO"],
        ["MINISTERIO DE COMERCIO, INDUSTRIA Y TURISMO"],
        ["MINISTERIO DE SALUD Y PROTECCIÓN SOCIAL"],
        ["UNIDAD DE GESTIÓN PENSIONAL Y PARAFISCALES - UGPP"],
        ["ADMINISTRADORA COLOMBIANA DE PENSIONES - COLPENSIONES"],
        ["INSTITUTO COLOMBIANO DE BIENESTAR FAMILIAR -ICBF-"],
        ["NACIÓN - MINISTERIO DE DEFENSA - POLICÍA NACIONAL"],
        ["TRIBUNAL ADMINISTRATIVO DEL META, SECCIÓN SEGUNDA"],
        ["POLICÍA NACIONAL - DIRECCIÓN DE SANIDAD"],
        ["Juzgado 3 de Ejecución de Penas y Medidas de Seguridad"],
        ["Empresa de Acueducto, Alcantarillado y Aseo de Yopal"],
        ["HEREDEROS DETERMINADOS E INDETERMINADOS DE JUAN RUIZ"],
        ["NUEVA EPS", "CLÍNICA LA ESTANCIA"],
        ["SANITAS EPS", "COMFAMILIAR"],
        ["ANA RUIZ GIL", "LUIS ARIAS PAZ", "EVA MORA SOTO"],
        ["EXPRESO LOS ANDES S.A.", "SEGUROS LA UNIÓN S.A.", "LUIS PINZÓN ROA"],
        ["Alcaldía de Popayán", "Secretaría de Salud del Cauca", "Asmet Salud EPS S.A.S."],
    ],
)
def test_lists(parties: list[str]) -> None:
    joined = parties[0] if len(parties) == 1 else f"{', '.join(parties[:-1])} y {parties[-1]}"
    if parties == ["SANITAS EPS", "COMFAMILIAR"]:
        joined = " - ".join(parties)
    view = View(joined)
    spans = split_parties(view.folded, 0, len(joined))
    assert [joined[start:end].strip() for start, end in spans] == parties


@pytest.mark.parametrize("mark", ["; ", " | ", "\n- ", " (ii) "])
def test_hard_separators(mark: str) -> None:
    view = View(f"Uno Dos{mark}Tres Cuatro")
    spans = split_parties(view.folded, 0, len(view.text))
    assert [view.text[start:end] for start, end in spans] == ["Uno Dos", "Tres Cuatro"]
