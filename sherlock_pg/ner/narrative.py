"""Parties named in sentences: what a judgment narrates and what a filing says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sherlock_pg.ner.cleaning import Span, is_institution, is_name, trim
from sherlock_pg.ner.folding import View
from sherlock_pg.ner.lexicon import DEFENDANT, GIVEN_NAMES, INSTITUTION_HEAD, PLAINTIFF, is_person
from sherlock_pg.ner.roles import Role
from sherlock_pg.ner.speaker import acts_for
from sherlock_pg.ner.split import split_parties

_MOST_MATCHES = 60
_LONGEST_LEAD = 45

_AGAINST = r"(?:(?:EN\s+)?-?\s?CONTRA(?:\s+DEL?)?|FRENTE\s+AL?|VS\.?|VERSUS)(?:\s?:)?"
_ACTION = (
    r"(?:ACCION(?:ES)?\s+(?:PUBLICA\s+|CONSTITUCIONAL(?:ES)?\s+)?DE\s+(?:TUTELA|HABEAS\s+CORPUS"
    r"|AMPARO|CUMPLIMIENTO|GRUPO|NULIDAD[^.\n;,]{0,50})"
    r"|ACCION\s+(?:CONSTITUCIONAL|POPULAR|EJECUTIVA|ORDINARIA)|TUTELA|H?ABEAS\s+CORPUS"
    r"|AMPARO\s+CONSTITUCIONAL|(?:RECURSO\s+DE|EL)\s+AMPARO|SALVAGUARDA|RESGUARDO"
    r"|INCIDENTE\s+DE\s+DESACATO|DESACATO"
    r"|(?:PROCESO|JUICIO|DEMANDA)(?:\s+(?!DE\b|CONTRA\b)[A-Z]{4,16}){0,4}(?:\s+DE\s+(?:MINIMA"
    r"|MENOR|MAYOR|UNICA|PRIMERA|PERTENENCIA|ALIMENTOS|RESTITUCION|DIVORCIO|RESPONSABILIDAD"
    r"|NULIDAD|REPARACION)(?:\s+[A-Z]{4,16}){0,4})?"
    r"|EJECUTIVO(?:\s+(?:SINGULAR|LABORAL|HIPOTECARIO|MIXTO))?|ORDINARIO\s+LABORAL"
    r"|RECLAMACION(?:\s+DIRECTA)?|PROTECCION\s+CONSTITUCIONAL|SOLICITUD\s+DE\s+(?:TUTELA|AMPARO"
    r"|HABEAS\s+CORPUS)|QUERELLA(?:\s+[A-Z]{4,14})?|LA\s+PRESENTE(?:\s+ACCION)?)"
)
_FILED = (
    r"(?<![A-Z])(?:INSTAURAD|INTERPUEST|PRESENTAD|PROMOVID|INCOAD|FORMULAD|INICIAD|ELEVAD|ADELANTAD|ENTABLAD"
    r"|PROPUEST|IMPETRAD"
    r"|DEDUCID|INVOCAD|RADICAD|PROPICIAD|PLANTEAD)[OA]S?"
)
_FILES = (
    r"(?:INSTAUR(?:O|A|ARON|AN)|INTERPUS(?:O|IERON)|INTERPON(?:E|EN)|PRESENT(?:O|A|ARON|AN|AMOS)"
    r"|FORMUL(?:O|A|ARON|AN)"
    r"|PROM(?:OVIO|UEVE|OVIERON|UEVEN)|INCO(?:O|A|ARON)|RADIC(?:O|A|ARON)|IMPETR(?:O|A)|ENTABL(?:O"
    r"|A)|ACUD(?:IO|E|IERON)"
    r"|DEMAND(?:O|A|ARON)|SOLICIT(?:O|A|ARON)|INVOC(?:O|A)|ELEV(?:O|A)|PID(?:IO|E)|RECLAM(?:O|A)"
    r"|PUSO|PONE|ADELANT(?:O|A))"
)
_SENTENCE = r"[^.;\n]"
_TITLE = (
    r"(?:EL|LA|LOS|LAS)\s+(?:SENOR(?:ES|A|AS)?|CIUDADAN[OA]S?|SRA?S?[.\ue000]?|DOCTORA?|ABOGAD[OA]|MENOR"
    r"|JOVEN"
    r"|ACCIONANTE|DEMANDANTE|ACTORA?|SOCIEDAD|EMPRESA|PERSONER[OA]|DEFENSORA?)"
)


_DEFENDANT = r"(?P<defendant>[^.;\n]{3,300})"
_NARRATIVES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # promovida (a través de apoderado,) por X (en) contra (de) Y
        rf"{_FILED}\s*(?:,[^,.;\n]{{0,80}},|\s(?!POR\b)[^,.;\n]{{1,60}}?)??\s*POR\s+"
        r"(?:SU\s+(?:DEFENSORA?|APODERAD[OA]|ABOGAD[OA]|MADRE|PADRE|ESPOS[OA]|HERMAN[OA])[\s,]+)?"
        rf"(?P<plaintiff>[^\n;.]{{2,260}}?)[\s,]+(?:Y\s+)?{_AGAINST}\s+{_DEFENDANT}",
        # ... y por X contra Y
        rf"\sY\s+POR\s+(?P<plaintiff>[A-Z][^\n;.]{{4,120}}?)[\s,]+{_AGAINST}\s+{_DEFENDANT}",
        # (i) X contra Y; (ii) ...
        rf"\(\s*(?:I{{1,3}}V?|[A-E1-9])\s*\)\s*(?P<plaintiff>[A-Z][^\n;.]{{4,120}}?)[\s,]+{_AGAINST}\s+"
        rf"{_DEFENDANT}",
        # promueve el señor X contra Y
        rf"(?:{_FILED}|{_FILES})\s+(?:{_ACTION}\s+)?(?:POR\s+)?"
        r"(?P<plaintiff>(?:EL|LA|LOS)\s+(?:SENOR(?:ES|A|AS)?|CIUDADAN[OA]S?"
        r"|SOCIEDAD)\s+[^\n.;,]{3,100}?)"
        rf"(?:\s*,{_SENTENCE}{{0,240}}?)?[\s,]+{_AGAINST}\s+{_DEFENDANT}",
        # el señor X, identificado con ..., instauró acción de tutela contra Y
        rf"(?<![A-Z]){_TITLE}\s+(?P<plaintiff>[A-Z][^\n.;,(]{{3,90}}?)\s*(?:[,(]{_SENTENCE}{{0,240}}?)?"
        rf"[\s,)]{_FILES}(?![A-Z])\s+(?:{_SENTENCE}{{0,90}}?\s)?{_ACTION}(?:{_SENTENCE}{{0,80}}?)?"
        rf"[\s,]+{_AGAINST}\s+{_DEFENDANT}",
        # X, en nombre propio, instauró acción de tutela contra Y
        r"(?:^|[.:]\s)\s*(?:\d[\d.]{0,3}[.)\-\s]+)?(?P<plaintiff>[A-Z][^\n.;,:(]{5,90}?)"
        rf"(?:,{_SENTENCE}{{0,200}}?,)?\s{_FILES}(?![A-Z])\s+(?:{_SENTENCE}{{0,60}}?\s)?{_ACTION}"
        rf"(?:{_SENTENCE}{{0,60}}?)?[\s,]+{_AGAINST}\s+{_DEFENDANT}",
        # acción de tutela (No. 12) de X contra Y; acción de tutela - X - contra Y
        rf"(?<![A-Z]){_ACTION}(?:\s+N(?:O|UMERO|RO)?[^\sA-Z]?\s*[\d\-]{{2,25}})?\s*"
        r"(?:DE\s+|DEL\s+SENOR\s+|[:\-]\s*(?:DE\s+)?|PROMOVID[OA]\s+POR\s+)"
        rf"(?P<plaintiff>[A-Z][^\n;:.]{{4,160}}?)[\s\-,]+{_AGAINST}[\s:]+(?P<defendant>[^\n;]{{3,220}})",
        # acción de tutela que instauró X contra Y
        rf"(?<![A-Z]){_ACTION}\s+QUE\s+{_FILES}\s+(?P<plaintiff>[A-Z][^\n;.]{{4,200}}?)"
        rf"[\s,]+{_AGAINST}\s+{_DEFENDANT}",
        # acción de tutela que X (le) instauró contra (a) Y
        rf"(?<![A-Z]){_ACTION}\s+QUE\s+(?P<plaintiff>[A-Z][^\n;.]{{4,160}}?)[\s,]+(?:LE\s+)?{_FILES}\s+"
        rf"(?:{_AGAINST}|AL?)\s+{_DEFENDANT}",
        # (A contra B); y X contra Y
        rf";\s+(?:Y\s+)?(?:POR\s+)?(?P<plaintiff>[A-Z][^\n;.,]{{3,80}}?)[\s,]+{_AGAINST}\s+{_DEFENDANT}",
        # funge como accionante la señora X, ..., y como accionado el Y
        rf"(?<![A-Z])COMO\s+(?:PARTE\s+)?{PLAINTIFF}\s+(?:A\s+)?(?P<plaintiff>[A-Z][^\n;.]{{3,260}}?)"
        rf"[\s,]+(?:Y\s+)?COMO\s+(?:PARTE\s+|ENTIDAD(?:ES)?\s+)?{DEFENDANT}\s+(?:AL?\s+)?{_DEFENDANT}",
        # X vs. Y on a line
        r"^[ \t]*(?:(?:REF(?:ERENCIA)?|ASUNTO|PROCESO|PARTES|RAD(?:ICADO)?)[^\n:]{0,30}:?[ \t]*)?"
        r"(?P<plaintiff>[A-Z][^\n:;\d]{5,100}?)\s+(?:VS\.?|VS\ue000|VERSUS|V\.S\.?|V/S)\s+"
        r"(?P<defendant>[^\n;]{3,160})",
    )
)
_CIRCUMSTANCES_FOLLOW = _NARRATIVES[3:6]
"""Those in which what a party is, and for whom it acts, stands between its name and the verb."""
_IN_FIRST_PERSON = re.compile(
    r"\b(?:instauro|interpongo|presento|formulo|promuevo|demando|solicito|inco[oó]o?|impetro|elevo"
    r"|acudo|invoco)\b"
)
_SIDE_BY_SIDE = re.compile(
    rf"(?:^|[.:]\s)\s*(?P<plaintiff>[A-Z][^\n:;.,\d]{{5,80}}?)\s+{_AGAINST}\s+{_DEFENDANT}",
    re.MULTILINE,
)
_APPOSED = re.compile(
    rf"(?:EL|LA|LOS|LAS)\s+(?:PARTE\s+|ENTIDAD\s+)?(?:(?P<plaintiff>{PLAINTIFF})|{DEFENDANT})\s?,"
    r"\s+(?:(?:EL|LA)\s+)?(?P<name>[A-Z][^,.;\n]{3,100})(?=,)"
)
_AGAINST_APPELLANT = re.compile(
    rf"(?:POR|FORMULO|INTERPUSO|PRESENTO)\s+(?P<defendant>[^\n;.]{{3,160}}?)[\s,]+{_AGAINST}[^;.\n]{{5,300}}?"
    rf"{_ACTION}\s+QUE\s+EN\s+SU\s+CONTRA\s+{_FILES}\s+(?P<plaintiff>[A-Z][^\n;.]{{3,160}})"
)
_PETITIONER = re.compile(
    rf"(?<![A-Z]){_TITLE}\s+(?P<plaintiff>[A-Z][^\n.;,(]{{3,90}}?)\s*(?:[,(]{_SENTENCE}{{0,240}}?)?"
    rf"[\s,)]{_FILES}(?![A-Z])\s+(?:{_SENTENCE}{{0,90}}?\s)?{_ACTION}(?![A-Z])"
)
_DEFENDANTS = (
    re.compile(
        rf"(?<![A-Z]){_ACTION}(?![A-Z]){_SENTENCE}{{0,200}}?[\s\-,:]{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,300}})"
    ),
    re.compile(
        rf"(?<![A-Z])(?:DEMANDO|DEMANDAMOS|DEMANDAR|ACCIONO|ENTUTELO|ENTUTELAR|DIRIJO|DIRIGE"
        rf"|DIRIGIDA|PROMUEVO|INTERPONGO)(?![A-Z])"
        r"(?:\s+EN\s+(?:ACCION\s+DE\s+)?TUTELA)?"
        rf"(?:{_SENTENCE}{{0,90}}?\s{_AGAINST})?\s+(?:A\s+)?(?P<defendant>(?:AL?\s|EL\s|LA\s|LOS\s|LAS\s)?[^.;\n]{{3,200}})"
    ),
)
_WEAK_DEFENDANTS = (
    re.compile(
        r"(?:VULNERAD[OA]S?|AMENAZAD[OA]S?|CONCULCAD[OA]S?|VIOLAD[OA]S?|TRANSGREDID[OA]S?"
        r"|DESCONOCID[OA]S?|QUEBRANTAD[OA]S?"
        r"|VULNERACION[^.;\n]{0,90}?)[^.;\n]{0,60}?\s(?:POR\s+PARTE\s+DEL?"
        r"|POR)\s+(?P<defendant>[^.;\n]{3,160})"
    ),
    re.compile(
        r"(?<![A-Z])(?:ORDENAR|ORDENARLE|ORDENE|ORDENESE|SE\s+ORDENE|CONMINAR|ORDENANDO"
        r"|OBLIGU?E)\s+(?:[A-Z]{4,14}MENTE\s+)?(?P<defendant>AL?\s+[^.;,\n]{3,120}?)"
        r"(?=\s+[A-Z]{2,14}[AEI]R(?:ME|LES?|NOS|L[OA]S?|SE)?(?![A-Z])|\s+QUE\s|[.;,\n]|$)"
    ),
    re.compile(rf"[\s,]{_AGAINST}\s+(?P<defendant>[^.;\n]{{3,160}})"),
    re.compile(
        r"(?<![A-Z])(?:QUE|PUES|PORQUE|POR\s+CUANTO)\s+(?P<defendant>(?:LA|EL|LOS"
        r"|LAS)\s+[^.;,\n]{3,80}?)\s+(?:ME|NOS|NO|SE)\s"
    ),
    re.compile(r"(?<![A-Z])A\s+(?:ORDENES|DISPOSICION)\s+DEL?\s+(?P<defendant>[^.;,\n]{3,120})"),
    re.compile(
        r"(?<![A-Z])(?:RECLUID|DETENID|INTERNAD|PRIVAD)[OA]S?\s+(?:DE\s+LA\s+LIBERTAD\s+)?"
        r"EN\s+(?P<defendant>(?:EL|LA)\s+[^.;,\n]{3,120})"
    ),
)
_FAVOURED = re.compile(r"(?<![A-Z])(?:A|EN)\s+FAVOR\s+DEL?\s+(?P<plaintiff>[A-Z][^.;\n]{3,120})")
_ADDRESSEE = re.compile(
    r"^[ \t]*SENOR(?:ES|AS|A)?[ \t]*[:.,]?[ \t]*\n\s{0,20}(?P<defendant>[^\n]{4,120})"
    r"|^[ \t]*(?:SENORES|DOCTORA?)[ \t]*:?[ \t]+(?P<inline>[A-Z][^\n]{4,120})",
    re.MULTILINE,
)
_COURT = re.compile(
    r"\s*(?:SENOR(?:ES|A)?\s+)?(?:JUE[ZC]|JUZGADO|TRIBUNAL|MAGISTRAD|HONORABLE|H\.|CORTE"
    r"|CONSEJO\s+DE\s+ESTADO|REPARTO|OFICINA\s+JUDICIAL|CENTRO\s+DE\s+SERVICIOS"
    r"|OFICINA\s+DE\s+(?:APOYO|REPARTO)|SALA)"
)
_PETITION = re.compile(r"DERECHO\s+DE\s+PETICION")
_FILING = re.compile(
    r"(?<![A-Z])(?:TUTELA(?:NTE|D[OA]|R)?S?(?![A-Z])|ENTUTEL|DEMANDA(?:NTE|DO|DA|MOS|R)S?(?![A-Z])"
    r"|DEMANDO(?![A-Z])"
    r"|DEMANDAS?\s+(?:EJECUTIV|ORDINARI|VERBAL|LABORAL|DE\s|CONTRA|EN\s+CONTRA|INTERPUEST"
    r"|PRESENTAD|PROMOVID|INSTAURAD)"
    r"|(?:PRESENT|FORMUL|INTERPON|INSTAUR|ADMIT|PROMUEV)[A-Z]{1,4}\s+(?:LA\s+"
    r"|UNA\s+)?(?:PRESENTE\s+)?DEMANDA"
    r"|H?ABEAS|SALVAGUARDA|SOLICITUD\s+DE\s+AMPARO|AMPARO\s+(?:SOLICIT|INVOC|IMPETR|DEPREC)|RESGUARDO\s+CONST|AMPARO\s+CONST|DESACATO|QUERELLA|QUERELLANTE"
    r"|CONVOCANTE"
    r"|VERBAL\s+DE|PROMOVID[OA]S?\s+POR|NULIDAD\s+(?:ABSOLUTA|SIMPLE|ELECTORAL)|NULIDAD\s+Y\s+REST"
    r"|REPARACION\s+DIRECTA|MEDIO\s+DE\s+CONTROL|ORDINARIO\s+LABORAL"
    r"|PROCESO\s+(?:EJECUTIVO|ORDINARIO|VERBAL|DECLARATIVO|MONITORIO)|EJECUTIVO\s+(?:DE|SINGULAR"
    r"|HIPOT|MIXTO|LABORAL|CON)"
    r"|ACCION\s+(?:POPULAR|DE\s+CUMPL|DE\s+GRUPO|CONSTIT)|ACCIONANTE|ACCIONAD|PETICIONARI"
    r"|ACTORA?\s?:|EJECUTANTE|EJECUTAD[OA]"
    r"|DERECHO\s+DE\s+PETICION|LEY\s+1095|DTE\s*[:.]|DD[OA]\s*[:.]|DERECHOS?\s+FUNDAMENTAL)"
)

_COMPLAINT = re.compile(
    r"(?<![A-Z])(?:YO|(?:EL|LA)\s+SUSCRIT[OA])[\s,]+(?P<plaintiff>[A-Z][^\n:;.,\d]{4,80}?)[\s,]+"
    r"(?:(?:CON|IDENTIFIC|CEDULA|C[.\ue000]?\s?C|PORTADOR|MAYOR|VECIN|DOMICILI|RESID|CIUDADAN|COLOMBIAN"
    r"|ACTUANDO|OBRANDO|EN\s|PIDO|SOLICITO|RECLAMO|ACUDO|VENGO|ME\s)"
    rf"{_SENTENCE}{{0,240}}?[\s,])?{_AGAINST}\s+{_DEFENDANT}"
)
"""A claim that bears no name of one: 'Yo, X, con C.C. 1, pido amparo contra Y'."""


def is_filing(view: View) -> bool:
    """Tell whether a text speaks of a claim: invoices and minutes name people, but no parties."""
    return _FILING.search(view.folded) is not None or any(
        _begins_with_a_name(view, match.span("plaintiff"))
        and is_person(view.folded[slice(*match.span("plaintiff"))])
        and _names_an_institution(view, match.span("defendant"))
        for match in _COMPLAINT.finditer(view.flow)
    )


def narrated(view: View) -> Iterator[tuple[Role, Span]]:
    """Give raw values from sentences that name who filed against whom."""
    for regex in _NARRATIVES:
        for match in _overlapping(regex, view.flow):
            plaintiff, defendant = match.span("plaintiff"), match.span("defendant")
            if not _begins_with_a_name(view, plaintiff) or not _begins_with_a_name(view, defendant):
                continue
            if regex in _CIRCUMSTANCES_FOLLOW:
                if _IN_FIRST_PERSON.search(view.text, plaintiff[1], defendant[0]):
                    continue
                plaintiff = acts_for(view, plaintiff[1], defendant[0])[0] or plaintiff
            yield Role.DEMANDANTE, plaintiff
            yield Role.DEMANDADO, defendant
    for match in _overlapping(_AGAINST_APPELLANT, view.flow):
        yield Role.DEMANDANTE, match.span("plaintiff")
        yield Role.DEMANDADO, match.span("defendant")
    for match in _overlapping(_SIDE_BY_SIDE, view.flow):
        plaintiff, defendant = match.span("plaintiff"), match.span("defendant")
        name = view.folded[slice(*plaintiff)]
        if (
            is_person(name)
            and (
                not view.text[slice(*plaintiff)].isupper()
                or not GIVEN_NAMES.isdisjoint(name.split())
            )
            and _begins_with_a_name(view, defendant)
        ):
            yield Role.DEMANDANTE, plaintiff
            yield Role.DEMANDADO, defendant
    for regex in _DEFENDANTS:
        for match in _overlapping(regex, view.flow):
            if _begins_with_a_name(view, match.span("defendant")):
                yield Role.DEMANDADO, match.span("defendant")


def apposed(view: View) -> Iterator[tuple[Role, Span]]:
    """Give raw values that stand beside a word for a party: 'la accionante, señora X, ...'."""
    for match in _APPOSED.finditer(view.flow):
        if _begins_with_a_name(view, match.span("name")):
            yield Role.DEMANDANTE if match["plaintiff"] else Role.DEMANDADO, match.span("name")


def petitioners(view: View) -> Iterator[Span]:
    """Give raw values of those who are said to have filed, without a word of against whom."""
    for match in _overlapping(_PETITIONER, view.flow):
        if _begins_with_a_name(view, match.span("plaintiff")):
            yield match.span("plaintiff")


def appellants(view: View) -> Iterator[Span]:
    """Give raw values of those who contest a decision, mostly the plaintiff of the case."""
    for match in _overlapping(_NARRATIVES[0], view.flow):
        plaintiff, decision = match.span("plaintiff"), match.span("defendant")
        if _begins_with_a_name(view, plaintiff) and not _begins_with_a_name(view, decision):
            yield plaintiff


def favoured(view: View) -> Iterator[Span]:
    """Give raw values of those for whom a habeas corpus is asked by somebody who is not named."""
    for match in _FAVOURED.finditer(view.flow):
        span = match.span("plaintiff")
        if _begins_with_a_name(view, span) and not _names_an_institution(view, span):
            yield span
            return


def _overlapping(regex: re.Pattern[str], flow: str) -> Iterator[re.Match[str]]:
    """Give matches that may begin inside the values of earlier ones, as sentences nest."""
    position = 0
    for _ in range(_MOST_MATCHES):
        match = regex.search(flow, position)
        if match is None:
            return
        yield match
        position = match.start(1) + 1


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


def _names(view: View, span: Span) -> Iterator[Span]:
    """Give the spans of the names that a raw value comes to."""
    for piece in split_parties(view.folded, *span):
        trimmed = trim(view.folded, *piece)
        if trimmed is not None and is_name(view.folded[slice(*trimmed)]):
            yield trimmed


def _is_party(view: View, span: Span) -> bool:
    """Tell whether a name is an institution's, begins with a capital or with a given name."""
    name = view.folded[slice(*span)]
    return is_institution(name) or view.text[span[0]].isupper() or name.split()[0] in GIVEN_NAMES


def _begins_with_a_name(view: View, span: Span) -> bool:
    """Tell whether a raw value begins with a party, rather than with 'el fallo proferido por'."""
    first = next(_names(view, span), None)
    return first is not None and first[0] - span[0] <= _LONGEST_LEAD and _is_party(view, first)


def _names_an_institution(view: View, span: Span) -> bool:
    pieces = split_parties(view.folded, *span)
    trimmed = trim(view.folded, *pieces[0]) if pieces else None
    if trimmed is None:
        return False
    name = view.folded[slice(*trimmed)]
    return is_name(name) and INSTITUTION_HEAD.match(name) is not None and _COURT.match(name) is None
