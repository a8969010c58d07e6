"""Plaintiffs in the first person: 'X, mayor de edad, identificado con …, interpongo …'."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sherlock_pg.ner.cleaning import Span, is_institution, is_name, trim
from sherlock_pg.ner.folding import View
from sherlock_pg.ner.lexicon import GIVEN_NAMES, is_person, starts_with_given_name
from sherlock_pg.ner.split import split_parties

_INTRODUCTION = re.compile(
    r"(?<![A-Z])(?:MAYOR(?:ES)?\s+(?:DE\s+EDAD|Y\s+VECIN)|(?:LEGALMENTE\s+"
    r"|DEBIDAMENTE\s+)?IDENTIFICAD[OA@]S?|IDENTIFICAD|IDENTIFICO|ME\s+IDENTIFICO|CIUDADAN[OA]S?\s"
    r"|(?:CON|DE|TENGO|PORTADOR[A]?\s+DE\s+LA|TITULAR\s+DE\s+LA)\s+(?:C[.\ue000]?\s?C(?![A-Z])|CEDULA"
    r"|DOCUMENTO\s+DE\s+IDENT|NUMERO\s+DE\s+CEDULA|CC(?![A-Z]))"
    r"|CEDULAD[OA]|CEDULA\s+(?:DE\s+CIU|N|\d)|C[.\ue000]\s?C[.\ue000]|CC(?![A-Z])|COLOMBIAN[OA]S?\s?,|VECIN[OA]S?\s|ABOGAD[OA]S?(?![A-Z])"
    r"|DOMICILIAD[OA]|PRIVAD[OA]\s+DE\s+LA|EN\s+MI\s+(?:CALIDAD|CONDICION|PROPIO)|EN\s+(?:CALIDAD|CONDICION"
    r"|NOMBRE)|OBRANDO|ACTUANDO"
    r"|COMPAREZCO|ACUDO|ME\s+DIRIJO|ME\s+PERMITO|INTERPONGO|INSTAURO|PROMUEVO|PRESENTO|FORMULO"
    r"|SOLICITO|VENGO|MANIFIESTO|POR\s+MEDIO|MEDIANTE|A\s+TRAVES|RESIDENTE\s|NACIONAL\s+VENEZ"
    r"|HABITANTE|PENSIONAD[OA]\s|RECLUID[OA]|PERSONER[OA]\s|VIVO\s)"
)
_SENTENCE_BREAK = re.compile(r"[\n:;]|\.\s")
_SELF_NAMED = re.compile(
    r"(?<![A-Z])(?:YO|NOSOTR[OA]S|(?:EL|LA|LOS|LAS)\s+SUSCRIT[OA]S?|QUIEN\s+SUSCRIBE|ME\s+LLAMO"
    r"|MI\s+NOMBRE\s+ES|SOY|LOS\s+ABAJO\s+FIRMANTES|(?:ACUDO|OCURRO|RECURRO"
    r"|ME\s+DIRIJO)\s+A(?:NTE)?\s+(?:USTED(?:ES)?|SU\s+DESPACHO)|(?:ANTE\s+(?:USTED"
    r"|SU\s+DESPACHO)\s+)?(?:COMPARECE|ACUDE|CONCURRE))"
    r"[\s,:]+(?P<plaintiff>[A-Z][^\n;:0-9]{5,160})"
)
_FIRST_PERSON = re.compile(
    r"(?<![A-Z])(?:(?:ME|NOS)\s+(?:PERMIT|DIRIJ|DIRIG|IDENTIF|PRESENT)|INTERPONGO|INTERPONEMOS"
    r"|INSTAURO|INSTAURAMOS|PROMUEVO|PROMOVEMOS|FORMULO|FORMULAMOS|PRESENTO"
    r"|PRESENTAMOS|MANIFIEST[OA]|MANIFESTAMOS|ACUDO|ACUDIMOS|SOLICITO|SOLICITAMOS|ANTE\s+(?:USTED"
    r"|SU\s+(?:DESPACHO|SENORIA)|EL\s+DESPACHO)|NOMBRE\s+PROPIO|CAUSA\s+PROPIA|INVOCO|DEMANDO"
    r"|DEMANDAMOS"
    r"|COMPAREZCO|COMPARECE|VENGO|VENIMOS|PIDO|PEDIMOS|MI\s|MIS\s|NUESTR[OA]S?\s|ENTUTELO|PONGO"
    r"|PROMUEVE|INSTAURA|INTERPONE|ACUDE|CONCURRO|IMPETRO|ELEVO|CONFIERO|OTORGO|CONFERIMOS|OTORGAMOS"
    r"|(?:FORMULA|PRESENTA|DEMANDA|SOLICITA|INVOCA|IMPETRA|INCOA|INCOO)N?(?![A-Z]))"
)
_LAWYER = re.compile(
    r"(?<![A-Z])(?:APODERAD[OA]S?(?:\s+(?:JUDICIAL(?:ES)?|ESPECIAL|GENERAL|PRINCIPAL"
    r"|DE\s+CONFIANZA|SUPLENTE|SUSTITUT[OA]|LEGAL))*|(?:MANDATARI[OA]|VOCER[OA])(?:\s+JUDICIAL)?"
    r"|DEFENSORA?(?:\s+(?:DE\s+CONFIANZA|PUBLIC[OA]|CONTRACTUAL|TECNIC[OA]))?"
    r"|REPRESENTANTE\s+(?:LEGAL|JUDICIAL)(?:\s+(?:SUPLENTE|PRINCIPAL))?|GERENTE(?:\s+(?:GENERAL"
    r"|Y\s+REPRESENTANTE\s+LEGAL))?|EN\s+(?:NOMBRE\s+Y\s+)?REPRESENTACION)\s+"
    r"(?:DEL\s+|DE\s+|DE\s+LA\s+)(?P<principal>[^\n;]{4,160})"
    r"|(?<![A-Z])PODER(?:\s+[A-Z,]{1,12}){0,5}\s+(?:CONFERIDO|OTORGADO)\s+POR\s+"
    r"(?P<grantor>[^\n;]{4,160})"
)
_OWN_CAUSE = re.compile(
    r"(?<![A-Z])(?:EN\s+(?:MI\s+)?(?:NOMBRE\s+PROPIO|PROPIO\s+NOMBRE|CAUSA\s+PROPIA)"
    r"|A\s+NOMBRE\s+PROPIO|EN\s+MI\s+PROPIO)"
)
_ACTS_FOR = re.compile(
    r"(?<![A-Z])(?:APODERAD[OA]S?\s|PODER(?=\s+[A-Z ,]{0,60}POR\s)"
    r"|DEFENSORA?\s+(?:DE|PUBLIC|CONTR|TECN)|MANDATARI[OA])"
)
_VOCATIVE = re.compile(
    r"(?:(?:RESPETAD[OA]|HONORABLE|DISTINGUID[OA])\s+)?(?:SENORA?\s*(?:\([A-Z]{1,2}\)\s*)?)?JUE[ZC][A-Z]{0,2}"
    r"(?:\s+[A-Z]+){0,6}\s*[,.:]\s*"
)
_THIRD_PERSON = re.compile(
    r"(?:EL|LA|LOS|LAS)\s+(?:SENOR(?:ES|A|AS)?|CIUDADAN[OA]S?|DOCTORA?|ACCIONAD|MENOR)"
)
_RELATED = re.compile(
    r"(?<![A-Z])(?:HIJ[OA]S?|MENOR(?:ES)?|ESPOS[OA]|COMPANER[OA]|MADRE|PADRE|HERMAN[OA]|ABUEL[OA]"
    r"|REPRESENTAD[OA]|APODERAD[OA]|GERENTE|AGENTE|FAVOR|CONTRA|REPRESENTACION|REPRESENTANTE"
    r"|SOBRIN[OA]|NIET[OA])(?![A-Z])"
)
_CO_PLAINTIFF = re.compile(
    r"(?:,?\s+Y|,)\s+(?P<plaintiff>[A-Z][A-Z' \-]{5,70}?)\s*,?\s+(?:MAYOR|TAMBIEN|IDENTIFICAD"
    r"|CON\s+C|CEDULAD|C[.\ue000]\s?C|CC(?![A-Z]))"
)
_SIGNATURE = re.compile(
    r"(?:ATENTAMENTE|CORDIALMENTE|RESPETUOSAMENTE|DEL\s+SENOR\s+JUEZ|DE\s+USTED(?:ES)?|ATTE|FIRMA"
    r"|GRACIAS|CON\s+RESPETO)[^\n]{0,40}[,.:]?[ \t]*\n\s{0,80}"
    r"(?:[_\-]{3,60}\s{1,20})?(?:\(?F(?:D?O|IRMADO|DA)\.?\)?:?[ \t]*)?"
    r"(?P<plaintiff>[A-Z][^\n:;0-9]{5,80})(?=\n|$|\s+C\.?C)"
)
_SENTENCE_LIMIT = 700
_LONGEST_NAMES = 220


def speakers(view: View) -> Iterator[Span]:
    """Give raw values of plaintiffs from sentences in which they introduce themselves."""
    flow = view.flow
    checked: set[int] = set()
    for match in _INTRODUCTION.finditer(flow):
        start = _sentence_start(flow, match.start())
        if start is None or start in checked:
            continue
        checked.add(start)
        yield from _introduced(view, start, match.start())
    for match in _SELF_NAMED.finditer(flow):
        cue = _INTRODUCTION.search(flow, *match.span("plaintiff"))
        start = match.start("plaintiff")
        end = cue.start() if cue else match.end()
        spoken = cue is not None and _is_lower_case_name(view, (start, end))
        if start not in checked and (spoken or _is_someone(view, (start, end))):
            yield from _for_whom(view, (start, end))


def signers(view: View) -> Iterator[Span]:
    """Give raw values of plaintiffs from the signature, good where nothing else names one."""
    if _ACTS_FOR.search(view.folded):
        return
    for match in _SIGNATURE.finditer(view.folded):
        span = match.span("plaintiff")
        if _is_someone(view, span) and is_person(_trimmed(view, span) or ""):
            yield span


def principals(view: View) -> Iterator[Span]:
    """Give raw values of those for whom a lawyer acts, good where nobody speaks for himself."""
    for match in _LAWYER.finditer(view.flow):
        if _ACTS_FOR.match(view.flow, match.start()):
            yield match.span("principal" if match["principal"] else "grantor")


def _sentence_start(flow: str, offset: int) -> int | None:
    """Give where the sentence or line around an offset begins, if that is near."""
    window_start = max(0, offset - _LONGEST_NAMES)
    breaks = list(_SENTENCE_BREAK.finditer(flow, window_start, offset))
    if breaks:
        return breaks[-1].end()
    return 0 if window_start == 0 else None


def _introduced(view: View, start: int, end: int) -> Iterator[Span]:
    flow = view.flow
    while start < end and flow[start] in ' \t,.-*"(':
        start += 1
    vocative = _VOCATIVE.match(flow, start, end)
    if vocative:
        start = vocative.end()
    if start >= end or _THIRD_PERSON.match(flow, start) or not _is_someone(view, (start, end)):
        return
    if not _FIRST_PERSON.search(flow, end, end + _SENTENCE_LIMIT):
        return
    yield from _for_whom(view, (start, end))


def _for_whom(view: View, speaker: Span) -> Iterator[Span]:
    """Give the speaker, or the one for whom the speaker acts as a lawyer or officer."""
    flow = view.flow
    limit = speaker[1] + _SENTENCE_LIMIT
    principal, is_lawyer = acts_for(view, speaker[1], limit)
    if principal is not None:
        yield principal
    if principal is not None or is_lawyer:
        return
    yield speaker
    rest = flow[speaker[1] : limit].split("\n")[0]
    for other in _CO_PLAINTIFF.finditer(rest):
        if _RELATED.search(rest, 0, other.start()):
            break
        span = (speaker[1] + other.start("plaintiff"), speaker[1] + other.end("plaintiff"))
        if is_person(view.folded[slice(*span)]) and (
            view.text[span[0]].isupper() or starts_with_given_name(view.folded[slice(*span)])
        ):
            yield span


def acts_for(view: View, start: int, end: int) -> tuple[Span | None, bool]:
    """Find for whom somebody acts whose circumstances stand in a span.

    Returns:
        The raw value of the client or company, if it is named, and whether a lawyer acts.
    """
    if _OWN_CAUSE.search(view.flow, start, end):
        return None, False
    acting = _LAWYER.search(view.flow, start, end)
    if acting is None:
        return None, False
    principal = acting.span("principal" if acting["principal"] else "grantor")
    name = _trimmed(view, principal)
    is_lawyer = _ACTS_FOR.match(view.flow, acting.start()) is not None
    return (principal if name and (is_lawyer or is_institution(name)) else None), is_lawyer


def _trimmed(view: View, span: Span) -> str | None:
    pieces = split_parties(view.folded, *span)
    trimmed = trim(view.folded, *pieces[0]) if pieces else None
    if trimmed is None or not is_name(view.folded[slice(*trimmed)]):
        return None
    return view.folded[slice(*trimmed)]


def _is_lower_case_name(view: View, span: Span) -> bool:
    """Tell whether a raw value is a name in small letters: 'yo, edilma castro, con cedula'."""
    trimmed = trim(view.folded, *span)
    if trimmed is None or trimmed[0] - span[0] > 2:
        return False
    name = view.folded[slice(*trimmed)]
    return view.text[slice(*trimmed)].islower() and is_name(name) and is_person(name)


def _is_someone(view: View, span: Span) -> bool:
    """Tell whether a raw value begins with the name of a person or of a company."""
    pieces = split_parties(view.folded, *span)
    trimmed = trim(view.folded, *pieces[0]) if pieces else None
    if trimmed is None:
        return False
    name = view.folded[slice(*trimmed)]
    if trimmed[0] - span[0] > 40 or not is_name(name):
        return False
    capitalised = view.text[trimmed[0]].isupper()
    if is_person(name):
        return capitalised or name.split()[0] in GIVEN_NAMES
    return capitalised and is_institution(name) and view.text[slice(*trimmed)].isupper()
