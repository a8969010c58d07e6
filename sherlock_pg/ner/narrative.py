"""Parties named in sentences: what a judgment narrates and what a filing says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sherlock_pg.ner.cleaning import Span, is_institution, is_name, trim
from sherlock_pg.ner.folding import View
from sherlock_pg.ner.lexicon import GIVEN_NAMES, is_person
from sherlock_pg.ner.roles import Role
from sherlock_pg.ner.split import split_parties

_AGAINST = r"(?:(?:EN\s+)?-?\s?CONTRA(?:\s+DEL?)?|FRENTE\s+AL?|VS\.?|VERSUS)"
_ACTION = (
    r"(?:ACCION(?:ES)?\s+(?:PUBLICA\s+|CONSTITUCIONAL(?:ES)?\s+)?DE\s+(?:TUTELA|HABEAS\s+CORPUS|AMPARO|CUMPLIMIENTO|GRUPO|NULIDAD[^.\n;,]{0,50})"
    r"|ACCION\s+(?:CONSTITUCIONAL|POPULAR|EJECUTIVA|ORDINARIA)|TUTELA|H?ABEAS\s+CORPUS|AMPARO(?:\s+CONSTITUCIONAL)?|INCIDENTE\s+DE\s+DESACATO|DESACATO"
    r"|(?:PROCESO|JUICIO|DEMANDA)(?:\s+(?!DE\b|CONTRA\b)[A-Z]{4,16}){0,4}(?:\s+DE\s+(?:MINIMA|MENOR|MAYOR|UNICA|PRIMERA|PERTENENCIA|ALIMENTOS|RESTITUCION|DIVORCIO|RESPONSABILIDAD|NULIDAD|REPARACION)(?:\s+[A-Z]{4,16}){0,4})?"
    r"|EJECUTIVO(?:\s+(?:SINGULAR|LABORAL|HIPOTECARIO|MIXTO))?|ORDINARIO\s+LABORAL|RECLAMACION|PROTECCION\s+CONSTITUCIONAL|SOLICITUD\s+DE\s+(?:TUTELA|AMPARO|HABEAS\s+CORPUS)|QUERELLA(?:\s+[A-Z]{4,14})?|LA\s+PRESENTE(?:\s+ACCION)?)"
)
_FILED = (
    r"(?:INSTAURAD|INTERPUEST|PRESENTAD|PROMOVID|INCOAD|FORMULAD|INICIAD|ELEVAD|ADELANTAD|ENTABLAD|PROPUEST|IMPETRAD"
    r"|DEDUCID|INVOCAD|RADICAD|PROPICIAD|PLANTEAD)[OA]S?"
)
_FILES = (
    r"(?:INSTAUR(?:O|A|ARON|AN|AMOS)|INTERPUS(?:O|IERON)|INTERPON(?:E|EN|GO|EMOS)|PRESENT(?:O|A|ARON|AN|AMOS)|FORMUL(?:O|A|ARON|AN)"
    r"|PROM(?:OVIO|UEVE|OVIERON|UEVEN|UEVO)|INCO(?:O|A|ARON)|RADIC(?:O|A|ARON)|IMPETR(?:O|A)|ENTABL(?:O|A)|ACUD(?:IO|E|IERON)"
    r"|DEMAND(?:O|A|ARON)|SOLICIT(?:O|A|ARON)|INVOC(?:O|A)|ELEV(?:O|A)|PID(?:IO|E)|RECLAM(?:O|A)|PUSO|PONE|ADELANT(?:O|A))"
)
_SENTENCE = r"[^.;\n]"
_TITLE = r"(?:EL|LA|LOS|LAS)\s+(?:SENOR(?:ES|A|AS)?|CIUDADAN[OA]S?|SRA?S?\.?|DOCTORA?|ABOGAD[OA]|MENOR|JOVEN|ACCIONANTE|DEMANDANTE|ACTORA?|SOCIEDAD|EMPRESA|PERSONERA?O?|DEFENSORA?)"


@dataclass(frozen=True)
class _Pattern:
    regex: re.Pattern[str]
    needs_capital: bool = True


_NARRATIVES = (
    _Pattern(
        re.compile(
            rf"{_FILED}\s*(?:,[^,.;\n]{{0,80}},|\s(?!POR\b)[^,.;\n]{{1,60}}?)??\s*POR\s+(?P<plaintiff>[^\n;]{{2,260}}?)"
            rf"[\s,]+(?:Y\s+)?{_AGAINST}\s+(?P<defendant>[^.\n;]{{3,300}})"
        )
    ),
    _Pattern(
        re.compile(
            rf"(?:{_FILED}|PROMUEVE|INSTAURA|INTERPONE|FORMULA|PRESENTA|INSTAURO|PROMOVIO|INTERPUSO)\s+(?:POR\s+)?(?P<plaintiff>(?:EL|LA|LOS)\s+(?:SENOR(?:ES|A|AS)?|CIUDADAN[OA]S?|SOCIEDAD)"
            rf"\s+[^\n.;,]{{3,100}}?)\s*,?(?:{_SENTENCE}{{0,120}}?,)?\s+{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,200}})"
        )
    ),
    _Pattern(
        re.compile(
            rf"(?<![A-Z]){_TITLE}\s+(?P<plaintiff>[A-Z][^\n.;,(]{{3,90}}?)\s*(?:[,(]{_SENTENCE}{{0,240}}?)?[\s,)]{_FILES}(?![A-Z])\s+"
            rf"(?:{_SENTENCE}{{0,90}}?\s)?{_ACTION}(?:{_SENTENCE}{{0,80}}?)?[\s,]+{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,260}})"
        )
    ),
    _Pattern(
        re.compile(
            rf"(?:^|\n|[.:]\s)\s*(?:\d[\d.]{{0,3}}[.)\-\s]+)?(?P<plaintiff>[A-Z][^\n.;,:(]{{5,90}}?)(?:,{_SENTENCE}{{0,200}}?,)?\s{_FILES}(?![A-Z])\s+"
            rf"(?:{_SENTENCE}{{0,60}}?\s)?{_ACTION}(?:{_SENTENCE}{{0,60}}?)?[\s,]+{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,260}})"
        )
    ),
    _Pattern(
        re.compile(
            rf"(?<![A-Z]){_ACTION}\s*(?:DE\s+|DEL\s+SENOR\s+|[:\-]\s*(?:DE\s+)?|PROMOVID[OA]\s+POR\s+)(?P<plaintiff>[A-Z][^\n;:]{{4,160}}?)"
            rf"[\s\-,]+{_AGAINST}[\s:]+(?P<defendant>[^\n;]{{3,220}})"
        )
    ),
)
_VERSUS = re.compile(
    r"^[ \t]*(?:(?:REF(?:ERENCIA)?|ASUNTO|PROCESO|RAD(?:ICADO)?)[^\n:]{0,30}:?[ \t]*)?(?P<plaintiff>[A-Z][^\n:;\d]{5,100}?)\s+(?:VS\.?|VERSUS|V\.S\.?|V/S)\s+(?P<defendant>[^\n;]{3,160})",
    re.MULTILINE,
)
_DEFENDANTS = (
    re.compile(
        rf"(?<![A-Z]){_ACTION}(?![A-Z]){_SENTENCE}{{0,200}}?[\s\-,:]{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,300}})"
    ),
    re.compile(
        rf"(?<![A-Z])(?:DEMANDO|DEMANDAMOS|DEMANDAR|ACCIONO|ENTUTELO|ENTUTELAR|DIRIJO|DIRIGE|DIRIGIDA|PROMUEVO|INTERPONGO)(?![A-Z])(?:{_SENTENCE}{{0,90}}?\s{_AGAINST})?\s+(?:A\s+)?(?P<defendant>(?:AL?\s|EL\s|LA\s|LOS\s|LAS\s)?[^.;\n]{{3,200}})"
    ),
)
_WEAK_DEFENDANTS = (
    re.compile(
        rf"(?:VULNERAD[OA]S?|AMENAZAD[OA]S?|CONCULCAD[OA]S?|VIOLAD[OA]S?|TRANSGREDID[OA]S?|DESCONOCID[OA]S?|QUEBRANTAD[OA]S?|VULNERACION[^.;\n]{{0,90}}?)[^.;\n]{{0,60}}?\s(?:POR\s+PARTE\s+DEL?|POR)\s+(?P<defendant>[^.;\n]{{3,160}})"
    ),
    re.compile(
        r"(?<![A-Z])(?:ORDENAR|ORDENARLE|ORDENE|ORDENESE|SE\s+ORDENE|CONMINAR|ORDENANDO|OBLIGU?E)\s+(?:[A-Z]{4,14}MENTE\s+)?(?P<defendant>AL?\s+[^.;,\n]{3,120})"
    ),
    re.compile(rf"[\s,]{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,160}})"),
)
_ADDRESSEE = re.compile(
    r"^[ \t]*SENOR(?:ES|AS|A)?[ \t]*[:.,]?[ \t]*\n\s{0,20}(?P<defendant>[^\n]{4,120})|^[ \t]*(?:SENORES|DOCTORA?)[ \t]*:?[ \t]+(?P<inline>[A-Z][^\n]{4,120})",
    re.MULTILINE,
)
_COURT = re.compile(
    r"\s*(?:SENOR(?:ES|A)?\s+)?(?:JUE[ZC]|JUZGADO|TRIBUNAL|MAGISTRAD|HONORABLE|H\.|CORTE|CONSEJO\s+DE\s+ESTADO|REPARTO|OFICINA\s+JUDICIAL|CENTRO\s+DE\s+SERVICIOS|OFICINA\s+DE\s+(?:APOYO|REPARTO)|SALA)"
)
_PETITION = re.compile(r"DERECHO\s+DE\s+PETICION")
_FILING = re.compile(
    r"(?<![A-Z])(?:TUTELA|ENTUTEL|DEMANDA(?:NTE|DO|DA|MOS|R)?S?(?![A-Z])|DEMANDO(?![A-Z])|ABEAS\s+CORPUS|HABEAS|DERECHO\s+DE\s+PETICION|AMPARO\s+CONST|DESACATO|QUERELLA"
    r"|PETICIONARI|ACCIONAD|CONVOCANTE|TUTELANTE|EJECUTANTE|ACCION\s+(?:POPULAR|DE\s+CUMPL|DE\s+GRUPO|CONSTIT)|ACCIONANTE|EJECUTIVO|DERECHOS?\s+FUNDAMENTAL)"
)


def is_filing(view: View) -> bool:
    """Tell whether a text speaks of a claim at all: an invoice or minutes name people, not parties."""
    return _FILING.search(view.folded) is not None


def narrated(view: View) -> Iterator[tuple[Role, Span]]:
    """Give raw values from sentences that name who filed against whom."""
    flow = view.flow
    for pattern in _NARRATIVES:
        for match in pattern.regex.finditer(flow):
            if not _is_capitalised(view, match.start("plaintiff")):
                continue
            plaintiffs = _names(view, match.span("plaintiff"))
            if not plaintiffs:
                continue
            yield Role.DEMANDANTE, match.span("plaintiff")
            yield Role.DEMANDADO, match.span("defendant")
    for match in _VERSUS.finditer(flow):
        yield Role.DEMANDANTE, match.span("plaintiff")
        yield Role.DEMANDADO, match.span("defendant")
    for regex in _DEFENDANTS:
        for match in regex.finditer(flow):
            if _names_a_party(view, match.span("defendant")):
                yield Role.DEMANDADO, match.span("defendant")


def weak_defendants(view: View) -> Iterator[Span]:
    """Give raw values that are only good where nothing else names a defendant, best kind first."""
    if _PETITION.search(view.folded):
        for match in _ADDRESSEE.finditer(view.folded):
            group = "defendant" if match["defendant"] else "inline"
            if not _COURT.match(view.folded, match.start(group)):
                yield match.span(group)
    for regex in _WEAK_DEFENDANTS:
        found = False
        for match in regex.finditer(view.flow):
            if _names_an_institution(view, match.span("defendant")):
                found = True
                yield match.span("defendant")
        if found:
            return


def _is_capitalised(view: View, offset: int) -> bool:
    return view.text[offset].isupper()


def _names(view: View, span: Span) -> list[str]:
    """Give the folded names that a raw value would come to."""
    names = []
    for piece in split_parties(view.folded, *span):
        trimmed = trim(view.folded, *piece)
        if trimmed is not None and is_name(name := view.folded[slice(*trimmed)]):
            names.append(name)
    return names


def _names_a_party(view: View, span: Span) -> bool:
    for piece in split_parties(view.folded, *span):
        trimmed = trim(view.folded, *piece)
        if trimmed is None:
            continue
        name = view.folded[slice(*trimmed)]
        if is_name(name) and (
            is_institution(name)
            or (
                is_person(name)
                and (_is_capitalised(view, trimmed[0]) or name.split()[0] in GIVEN_NAMES)
            )
            or _is_capitalised(view, trimmed[0])
        ):
            return True
    return False


def _names_an_institution(view: View, span: Span) -> bool:
    pieces = split_parties(view.folded, *span)
    trimmed = trim(view.folded, *pieces[0]) if pieces else None
    if trimmed is None:
        return False
    name = view.folded[slice(*trimmed)]
    return is_name(name) and is_institution(name) and _COURT.match(name) is None
