"""Parties named beside a label: 'ACCIONANTE: …', in lines, tables and stacked columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from sherlock_pg.ner.cleaning import Span, trim
from sherlock_pg.ner.folding import View
from sherlock_pg.ner.lexicon import (
    ANY_LABEL,
    DEFENDANT,
    INSTITUTION_HEAD,
    LEGAL_FORM_END,
    PLAINTIFF,
    is_person,
)
from sherlock_pg.ner.roles import Role

_LONGEST_VALUE = 400
_MOST_LABELS = 200

_ROLE_WORD = re.compile(
    rf"(?<![A-Z])(?:(?P<plaintiff>{PLAINTIFF})|(?P<defendant>{DEFENDANT}"
    r"|AUTORIDAD(?:ES)?(?=[ \t]*:)))(?![A-Z])"
    r"(?:\s?\([A-Z]{1,2}\)|\s?/\s?AS?(?![A-Z]))?"
    r"(?:[ \t]+(?:PRINCIPAL(?:ES)?|EN\s+TUTELA|INICIAL|POPULAR(?:ES)?|CONSTITUCIONAL(?:ES)?"
    r"|N[O.°]{0,2}[ \t]*\d|\d)(?![A-Z0-9]))?"
    rf"(?:[ \t]*[/\-][ \t]*(?:{PLAINTIFF}|{DEFENDANT})(?![A-Z]))?"
)
_NOT_THE_PARTY = re.compile(
    r"(?<![A-Z])(?:APODERAD[OA]S?|ABOGAD[OA]S?|REPRESENTANTE|CORREO|E-?MAIL|DIRECCION|CEDULA"
    r"|TELEFONO"
    r"|NOTIFICACION(?:ES)?|DOMICILIO|PRUEBAS|DEMANDA|RESPUESTA|CONTESTACION|FIRMA)"
    r"(?:\s+(?:LEGAL|JUDICIAL|ELECTRONIC[OA]))?(?:\s+(?:DEL?|DE\s+LA|LA|EL|PARTE)){0,3}\s+$"
)
_PLURAL = re.compile(r"S(?:\W|$)|\((?:S|ES|AS|OS)\)")
_NUMBERING = (
    r"[ \t]*(?:[*>|\-][ \t]*)?"
    r"(?:\(?(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,4}|[A-H])[.)°\-]{0,2}[ \t]*-?[ \t]*)?"
)
_LEAD = re.compile(
    rf"{_NUMBERING}(?:(?:NOMBRES?(?:\s+Y\s+APELLIDOS)?(?:\s+COMPLETOS?)?|DATOS|IDENTIFICACION"
    rf"|INDIVIDUALIZACION|CALIDAD)"
    r"\s+(?:DEL?|DE\s+LA|DE\s+LOS|DE\s+LAS)\s+)?(?:EL\s+|LA\s+|LOS\s+|LAS\s+)?"
    r"(?:(?:PARTE|ENTIDAD|ENTIDADES|AUTORIDAD|AUTORIDADES|PERSONA|SUJETO)\s+)?"
)
_SEPARATOR = re.compile(r"[ \t]*(?:[:;.|\-=]+[ \t]*)*")
_INLINE_LABEL = re.compile(rf"(?<![A-Z]){ANY_LABEL}[ \t]*[:|]")
_STOP_LINE = re.compile(rf"{_NUMBERING}{ANY_LABEL}")
_NEW_PARAGRAPH = re.compile(
    r"(?<![A-Z])(?:MAYOR(?:ES)?\s+DE\s+EDAD|IDENTIFICAD[OA@]S?|CIUDADAN[OA]\s|VECIN[OA]\s"
    r"|ABOGAD[OA]\s+EN"
    r"|ACTUANDO|OBRANDO|EN\s+MI\s+CALIDAD|E\.?\s?S\.?\s?D\b|REPUBLICA\s+DE|RAMA\s+JUDICIAL)"
)
_NAMED_FIELD = re.compile(
    rf"{_NUMBERING}(?:NOMBRES?(?:[ \t]+(?:Y|/)[ \t]+APELLIDOS?)?(?:[ \t]+COMPLETOS?)?"
    r"(?:[ \t]+(?:DE[ \t]+LA|O)[ \t]+(?:ENTIDAD|EMPRESA|AUTORIDAD|RAZON[ \t]+SOCIAL|PERSONA))?"
    r"|APELLIDOS?[ \t]+Y[ \t]+NOMBRES?|RAZON[ \t]+SOCIAL|ENTIDAD|AUTORIDAD)"
    r"[ \t]*(?::|$|(?=\n))"
)
_FORM_FIELD = re.compile(
    rf"{_NUMBERING}(?:TIPO|CLASE|NUMERO|DOCUMENTO|CEDULA|CORREO|TELEFONO|CELULAR|DIRECCION|CIUDAD"
    r"|MUNICIPIO|DEPARTAMENTO|EDAD|SEXO|GENERO|FECHA)"
    r"(?:[ \t]+(?:DE|Y|ELECTRONICO|NUMERO)[^\n:]{0,30})?"
    r"[ \t]*(?::|$|(?=\n))"
)
_FORM_HEADING = re.compile(
    rf"{_NUMBERING}(?:DATOS|NOMBRES?|IDENTIFICACION|INDIVIDUALIZACION|INFORMACION)\s"
)
_LONGEST_FORM = 10
_OPEN_END = (",", " Y", " DE", " DEL", " LA", " LOS", "-", " E", ";", " EL", " PARA", " CON")
_INITIALS_END = re.compile(r"(?:[A-Z]\.){2,}$|\b(?:LTDA|DRA?|SRA?)\.$")
_BULLET = re.compile(r"[ \t]*(?:[*\-][ \t]*|\(?(?:\d{1,2}|[A-H])[.)\-]+[ \t]*)")
_SENTENCE_START = re.compile(
    r"(?:Y|O|EN|DEL?|QUE|SE|NO|ES|AL|HA|POR|CON|LE|LO|SU|A|FUE|SOLICIT[AO]|MANIFEST|INTERP|CUENTA"
    r"|TIENE|PIDE|ALEG)(?![A-Z])"
)
_VERSUS = re.compile(
    r"^[ \t]*DE[ \t]*:[ \t]*(?P<plaintiff>[^\n]{3,160})\n(?:[^\n]{0,80}\n){0,2}?"
    r"[ \t]*(?:EN\s+)?(?:CONTRA|VS\.?)(?:[ \t]+DE)?[ \t]*:[ \t]*(?P<defendant>[^\n]{3,200})",
    re.MULTILINE,
)
_AGAINST = re.compile(
    r"^[ \t]*(?:EN\s+)?CONTRA(?:[ \t]+DE)?[ \t]*:[ \t]*(?P<defendant>[^\n]{3,200})", re.MULTILINE
)
_BETWEEN = re.compile(
    r"^[ \t]*(?P<plaintiff>[^\n:]{5,120})\n[ \t]*(?:VS?\.?|VERSUS"
    r"|CONTRA)[ \t]*\n[ \t]*(?P<defendant>[^\n]{3,160})",
    re.MULTILINE,
)


def labelled_values(view: View) -> Iterator[tuple[Role, Span]]:
    """Give the raw values beside labels, in the order of the text."""
    for match in islice(_ROLE_WORD.finditer(view.folded), _MOST_LABELS):
        value = _value_of(view, match)
        if value is not None:
            role = Role.DEMANDANTE if match["plaintiff"] else Role.DEMANDADO
            yield role, value
    for pattern in (_VERSUS, _BETWEEN, _AGAINST):
        for match in pattern.finditer(view.folded):
            for group, role in (("plaintiff", Role.DEMANDANTE), ("defendant", Role.DEMANDADO)):
                if group in pattern.groupindex:
                    yield role, match.span(group)


def _value_of(view: View, label: re.Match[str]) -> Span | None:
    folded = view.folded
    line_start = folded.rfind("\n", 0, label.start()) + 1
    leads = _LEAD.fullmatch(folded, line_start, label.start()) is not None
    separator = _SEPARATOR.match(folded, label.end())
    assert separator is not None
    mark = separator.group().strip()
    if _NOT_THE_PARTY.search(folded, max(line_start, label.start() - 60), label.start()):
        return None
    if not leads and (":" not in mark or folded[label.start() - 1] not in ' \t|,;./-("'):
        return None
    start = separator.end()
    end = min(_line_end(folded, start), start + _LONGEST_VALUE)
    inline = _INLINE_LABEL.search(folded, start, end)
    if inline:
        return (start, inline.start()) if folded[start : inline.start()].strip(" \t/|,-") else None
    capitalised = view.text[label.start()].isupper()
    if not folded[start:end].strip():
        heads = _FORM_HEADING.match(folded, line_start) is not None
        return _value_below(view, end, label) if capitalised or mark or heads else None
    if _is_bare_label(folded[start:end]):
        return None
    if not mark and not _starts_a_value(view, label, start, capitalised):
        return None
    return start, _wrapped_end(view, start, end, _PLURAL.search(label.group()) is not None)


def _starts_a_value(view: View, label: re.Match[str], start: int, capitalised: bool) -> bool:
    """Tell whether a label without a colon is a label at all, rather than a sentence's subject."""
    tabbed = "\t" in view.text[label.end() : start] or "  " in view.text[label.end() : start]
    first = view.text[start]
    if not capitalised or not (first.isupper() or first in '«“"'):
        return False
    return tabbed or _SENTENCE_START.match(view.folded, start) is None


def _line_end(folded: str, start: int) -> int:
    end = folded.find("\n", start)
    return len(folded) if end < 0 else end


def _lines_from(folded: str, start: int, limit: int) -> list[Span]:
    """Give the next lines that are not empty, from the line behind `start` on."""
    lines: list[Span] = []
    position = start
    empty = 0
    while position < len(folded) and len(lines) < limit and empty < 3:
        end = _line_end(folded, position)
        if folded[position:end].strip():
            lines.append((position, end))
            empty = 0
        else:
            empty += 1
        position = end + 1
    return lines


def _value_below(view: View, label_end: int, label: re.Match[str]) -> Span | None:
    """Find the value of a label that stands alone on its line.

    Labels stacked above their values (a table read column by column) take the value at the same
    place in the stack.
    """
    folded = view.folded
    lines = _lines_from(folded, label_end + 1, 16)
    field = _named_field(folded, lines)
    if field is not None:
        return field
    below = 0
    while below < len(lines) and _is_bare_label(folded[slice(*lines[below])]):
        below += 1
    above = _bare_labels_above(folded, folded.rfind("\n", 0, label.start()) + 1)
    values = lines[below : below + above + below + 1]
    is_stack = above + below > 0 and len(values) == above + below + 1
    if is_stack and not any(_STOP_LINE.match(folded, *line) for line in values):
        return values[above]
    if below or not lines or _STOP_LINE.match(folded, *lines[0]):
        return None
    start, end = lines[0]
    if _FORM_FIELD.match(folded, start, end):
        return None
    return start, _wrapped_end(view, start, end, _PLURAL.search(label.group()) is not None)


def _named_field(folded: str, lines: list[Span]) -> Span | None:
    """Find the value of a field for the name in a form whose heading is a party's label."""
    for number, (start, end) in enumerate(lines[:_LONGEST_FORM]):
        field = _NAMED_FIELD.match(folded, start, end)
        if field:
            if folded[field.end() : end].strip():
                return field.end(), end
            return lines[number + 1] if number + 1 < len(lines) else None
        if _ROLE_WORD.search(folded, start, end):
            return None
    return None


def _bare_labels_above(folded: str, line_start: int) -> int:
    count = 0
    while line_start > 0 and count < 8:
        previous_start = folded.rfind("\n", 0, line_start - 1) + 1
        previous = folded[previous_start : line_start - 1]
        if previous.strip():
            if not _is_bare_label(previous):
                break
            count += 1
        line_start = previous_start
    return count


def _is_bare_label(line: str) -> bool:
    match = _STOP_LINE.match(line)
    return match is not None and not line[match.end() :].strip(" \t:.|-")


def _wrapped_end(view: View, start: int, end: int, plural: bool) -> int:
    """Give the end of a value that may run over several lines."""
    folded = view.folded
    limit = min(start + _LONGEST_VALUE, len(folded))
    bulleted = False
    while end < limit:
        next_start, next_end = end + 1, _line_end(folded, end + 1)
        line = folded[next_start:next_end]
        if not line.strip() or _STOP_LINE.match(line):
            break
        if not _continues(view, (start, end), (next_start, next_end), plural, bulleted):
            break
        bulleted = bulleted or _BULLET.match(line) is not None
        end = min(next_end, limit)
    return end


def _continues(view: View, value: Span, line_span: Span, plural: bool, bulleted: bool) -> bool:
    folded = view.folded
    current, line = folded[slice(*value)].rstrip(), folded[slice(*line_span)]
    item = _BULLET.match(line)
    if item and (bulleted or _BULLET.match(current) or plural):
        return _is_party(line, item.end())
    if current.endswith(_OPEN_END):
        return True
    if _NEW_PARAGRAPH.search(line):
        return False
    if current.endswith(".") and not _INITIALS_END.search(current):
        return False
    raw_line = view.text[slice(*line_span)]
    linked = line.lstrip().startswith(("Y ", "DE ", "DEL ", "/ ", "- "))
    last_length = len(current) - max(current.rfind("\n"), 0)
    line_length = value[0] + len(current) - folded.rfind("\n", 0, value[0] + len(current)) - 1
    if view.text[slice(*value)].isupper():
        full = last_length >= 45 or (line_length >= 40 and not is_person(line))
        wrapped = raw_line.isupper() and (full or linked)
    else:
        wrapped = raw_line.lstrip()[:1].islower() and (last_length >= 30 or linked)
    return wrapped or (_lists_another(line) and (plural or _is_above_a_label(folded, line_span[1])))


def _is_above_a_label(folded: str, line_end: int) -> bool:
    """Tell whether only names stand before the next label: then they are values of the last one."""
    for start, end in _lines_from(folded, line_end + 1, 6):
        if _STOP_LINE.match(folded, start, end):
            return True
        if not _lists_another(folded[start:end]):
            return False
    return False


def _lists_another(line: str) -> bool:
    """Tell whether a line of its own is one more party below a plural label."""
    if not 5 <= len(line.strip()) <= 90 or line.rstrip().endswith(":"):
        return False
    if line.rstrip().endswith(".") and not LEGAL_FORM_END.search(line):
        return False
    if re.match(r"\s*(?:JUZGADO|JUEZ|TRIBUNAL|CORTE|CONSEJO|SALA)(?![A-Z])", line):
        return False
    return _is_party(line, 0)


def _is_party(line: str, start: int) -> bool:
    """Tell whether the rest of a line begins with an institution or is a person's name."""
    if INSTITUTION_HEAD.match(line, start):
        return True
    name = trim(line, start, len(line))
    return name is not None and is_person(line[slice(*name)])
