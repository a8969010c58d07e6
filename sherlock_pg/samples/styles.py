"""How different offices lay out a filing: paper, type, headings, order of the sections."""

from __future__ import annotations

import dataclasses
from typing import Literal

SectionName = Literal[
    "facts", "rights", "petitions", "grounds", "oath", "proofs", "attachments", "notifications"
]

_USUAL_ORDER: tuple[SectionName, ...] = (
    "facts",
    "rights",
    "petitions",
    "grounds",
    "proofs",
    "oath",
    "attachments",
    "notifications",
)
_RIGHTS_FIRST: tuple[SectionName, ...] = (
    "rights",
    "facts",
    "grounds",
    "petitions",
    "oath",
    "proofs",
    "attachments",
    "notifications",
)
_OATH_LATE: tuple[SectionName, ...] = (
    "facts",
    "grounds",
    "rights",
    "petitions",
    "proofs",
    "attachments",
    "oath",
    "notifications",
)

_USUAL_HEADINGS: dict[SectionName, str] = {
    "facts": "HECHOS",
    "rights": "DERECHOS VULNERADOS",
    "petitions": "PRETENSIONES",
    "grounds": "FUNDAMENTOS DE DERECHO",
    "oath": "JURAMENTO",
    "proofs": "PRUEBAS",
    "attachments": "ANEXOS",
    "notifications": "NOTIFICACIONES",
}
_FORMAL_HEADINGS: dict[SectionName, str] = _USUAL_HEADINGS | {
    "facts": "FUNDAMENTOS FÁCTICOS",
    "rights": "DERECHOS FUNDAMENTALES CUYA PROTECCIÓN SE INVOCA",
    "grounds": "FUNDAMENTOS JURÍDICOS",
    "oath": "DECLARACIÓN BAJO LA GRAVEDAD DEL JURAMENTO",
    "proofs": "MEDIOS DE PRUEBA",
}
_PLAIN_HEADINGS: dict[SectionName, str] = _USUAL_HEADINGS | {
    "rights": "DERECHOS QUE ESTIMO VULNERADOS",
    "petitions": "PETICIONES",
    "grounds": "RAZONES DE DERECHO",
    "proofs": "DOCUMENTOS QUE APORTO COMO PRUEBA",
}


@dataclasses.dataclass(frozen=True)
class Style:
    """The layout and the habits of one office; lengths are in millimetres, type in points."""

    name: str
    letterhead: tuple[str, ...]
    font: Literal["Times", "Helvetica"]
    font_size: float
    line_height: float
    page_size: tuple[float, float]
    margin: float
    headings_centered: bool
    headings_numbered: bool
    headings: dict[SectionName, str]
    order: tuple[SectionName, ...]
    item_label: Literal["number", "ordinal", "fact"]
    date_first: bool


_LETTER = (215.9, 279.4)
_OFICIO = (215.9, 330.2)

STYLES = (
    Style(
        name="ciudadano",
        letterhead=(),
        font="Times",
        font_size=11,
        line_height=4.5,
        page_size=_LETTER,
        margin=20,
        headings_centered=True,
        headings_numbered=False,
        headings=_USUAL_HEADINGS,
        order=_USUAL_ORDER,
        item_label="number",
        date_first=True,
    ),
    Style(
        name="rueda_asociados",
        letterhead=("RUEDA & MAHECHA ASOCIADOS", "Abogados - Derecho constitucional y laboral"),
        font="Helvetica",
        font_size=10,
        line_height=4.3,
        page_size=_LETTER,
        margin=22,
        headings_centered=False,
        headings_numbered=True,
        headings=_FORMAL_HEADINGS,
        order=_RIGHTS_FIRST,
        item_label="ordinal",
        date_first=False,
    ),
    Style(
        name="consultorio_juridico",
        letterhead=("CONSULTORIO JURÍDICO", "Facultad de Derecho - Universidad Central del Valle"),
        font="Times",
        font_size=11.5,
        line_height=4.9,
        page_size=_OFICIO,
        margin=24,
        headings_centered=True,
        headings_numbered=True,
        headings=_FORMAL_HEADINGS,
        order=_OATH_LATE,
        item_label="fact",
        date_first=True,
    ),
    Style(
        name="compacto",
        letterhead=(),
        font="Times",
        font_size=9,
        line_height=3.3,
        page_size=_OFICIO,
        margin=14,
        headings_centered=False,
        headings_numbered=False,
        headings=_PLAIN_HEADINGS,
        order=_USUAL_ORDER,
        item_label="number",
        date_first=False,
    ),
    Style(
        name="litigio",
        letterhead=("OFICINA JURÍDICA SALDARRIAGA", "Litigio y conciliación"),
        font="Times",
        font_size=11.5,
        line_height=4.75,
        page_size=_OFICIO,
        margin=23,
        headings_centered=False,
        headings_numbered=False,
        headings=_PLAIN_HEADINGS,
        order=_OATH_LATE,
        item_label="ordinal",
        date_first=True,
    ),
    Style(
        name="personeria",
        letterhead=("PERSONERÍA MUNICIPAL", "Centro de orientación al ciudadano"),
        font="Helvetica",
        font_size=10,
        line_height=4.4,
        page_size=_LETTER,
        margin=21,
        headings_centered=True,
        headings_numbered=False,
        headings=_USUAL_HEADINGS,
        order=_RIGHTS_FIRST,
        item_label="number",
        date_first=True,
    ),
)


def style_by_name(name: str) -> Style:
    """Return a style by its name."""
    return next(style for style in STYLES if style.name == name)
