"""Lists of parties: where one ends and the next begins."""

from __future__ import annotations

import re

from sherlock_pg.ner.cleaning import Span, trim
from sherlock_pg.ner.lexicon import (
    DEPENDENCY_HEAD,
    GIVEN_NAMES,
    INSTITUTION_HEAD,
    LEGAL_FORM_END,
    is_person,
    starts_with_given_name,
)

_HARD = re.compile(
    r"\s*;\s*(?:Y\s+)?|\s+\|\s+|\t\s*|\s*\(\s*I{1,3}V?\s*\)\s*|\n\s*(?:[*\-]\s*"
    r"|\(?\d{1,2}\s?[.)\-]+\s*)"
    r"|\s+(?:\d{1,2}|[A-H])\s?[.)]\-?\s+(?=[A-Z])"
)
_SOFT = re.compile(
    r"\s+-\s*|\s*-\s+|\s*,\s*(?:Y\s+|E\s+|ASI\s+COMO\s+)?|\s+(?:Y|E|Y/O)\s+|\s*/\s*|\n\s*"
)
_TITLED = re.compile(
    r"(?:(?:A|CONTRA|EN\s+CONTRA\s+DEL?)\s+)?(?:EL|LA|LOS|LAS|AL|DEL)?\s*(?:SENOR|SR|DR|DON|DONA"
    r"|DOCTOR)"
)
_TITLE_ALONE = re.compile(r"(?:SENOR|SR|DR|DOCTOR)")
_OFFICE = re.compile(
    r"\W*(?:EL\s+|LA\s+)?(?:SENORA?\s+)?"
    r"(?:ALCALD|GOBERNADOR|MINISTR|DIRECTOR|GERENTE|SECRETARI|PRESIDENTE|COMANDANTE|RECTOR|JUEZ"
    r"|JUZGADO)"
)
_OFFICE_HELD = re.compile(
    r"(?:ALCALD(?:E|ESA)|GOBERNADORA?|PERSONER[OA]|REGISTRADORA?|DIRECTORA?|GERENTE|RECTORA?"
    r"|COMANDANTE)\s+(?:(?:GENERAL|MUNICIPAL|DISTRITAL|DEPARTAMENTAL|REGIONAL|LOCAL|NACIONAL)\s+)?"
    r"(?:DEL?|ENCARGAD[OA])\s"
)
_AND_COMPANY = re.compile(r"(?:COMPANIA|CIA)(?![A-Z])")
_PUBLIC_BODY = re.compile(
    r"\W*(?:EL\s+|LA\s+)?(?:ALCALDIA|MUNICIPIO|GOBERNACION|DEPARTAMENTO|DISTRITO|SECRETARIA|JUZGADO"
    r"|SUPERINTENDENCIA|HOSPITAL|CLINICA|NUEVA\s+EPS|COLPENSIONES)(?![A-Z])"
)
_CONTRA = re.compile(r"(?:EN\s+)?CONTRA\s+")
_LOCAL_OFFICE = re.compile(
    r"(?:DIRECCION|SECCIONAL|REGIONAL|OFICINA|TERRITORIAL|SUCURSAL)\s+(?:LOCAL|TERRITORIAL"
    r"|SECCIONAL|REGIONAL|[A-Z]+)\W*$"
)
_SECTIONAL = re.compile(r"(?<=\S)[\s,\-]{1,4}SECCIONAL\s+(?!DE\s)[A-Z ]{3,25}$")
_NATION = re.compile(r"\W*(?:LA\s+)?NACION\b")
_UNKNOWN_HEIRS = re.compile(r"(?:IN)?DETERMINAD[OA]S")
_MANY = 40


def split_parties(folded: str, start: int, end: int) -> list[Span]:
    """Split the raw value of a role into the spans of the single parties."""
    pieces: list[Span] = []
    for hard_start, hard_end in _cut(folded, start, end, list(_HARD.finditer(folded, start, end))):
        boundaries = [match for match in list(_SOFT.finditer(folded, hard_start, hard_end))[:_MANY]]
        kept: list[re.Match[str]] = []
        left_start = hard_start
        for i, boundary in enumerate(boundaries):
            right_end = boundaries[i + 1].start() if i + 1 < len(boundaries) else hard_end
            if _parts(folded, left_start, boundary, right_end, hard_end):
                kept.append(boundary)
                left_start = boundary.end()
        pieces += _cut(folded, hard_start, hard_end, kept)
    return pieces


def _cut(folded: str, start: int, end: int, boundaries: list[re.Match[str]]) -> list[Span]:
    spans = []
    for boundary in boundaries:
        spans.append((start, boundary.start()))
        start = boundary.end()
    spans.append((start, end))
    return [span for span in spans if folded[span[0] : span[1]].strip()]


def _parts(folded: str, left_start: int, boundary: re.Match[str], right_end: int, end: int) -> bool:
    """Tell whether a comma, dash, 'y' or line break stands between two parties."""
    left = folded[left_start : boundary.start()]
    right = folded[boundary.end() : right_end]
    mark = boundary.group().strip()
    if _CONTRA.match(right):
        return True
    if _UNKNOWN_HEIRS.match(right):
        return False
    if _NATION.match(left) and mark in ("-", ",") and not left.rstrip().endswith(")"):
        return False
    if mark == "-":
        return _dash_parts(left, right)
    if mark == "," and _is_surname_first(left, right):
        return False
    if mark.startswith(",") and DEPENDENCY_HEAD.match(right):
        return False
    if _AND_COMPANY.match(right):
        return False
    if LEGAL_FORM_END.search(right) and (
        _PUBLIC_BODY.match(left) or _is_after_legal_form(left, mark, right)
    ):
        return True
    if INSTITUTION_HEAD.match(right):
        return mark != "" or not DEPENDENCY_HEAD.match(right)
    if mark != "," and _OFFICE_HELD.match(right) and INSTITUTION_HEAD.match(left):
        return True
    if _TITLED.match(right):
        return not (mark == "," and _OFFICE.match(left) and _TITLE_ALONE.match(right))
    return _person_follows(folded, left, boundary, end)


def _is_surname_first(left: str, right: str) -> bool:
    """Tell whether a comma stands between the surnames and the given names of one person."""
    trimmed = trim(right, 0, len(right))
    given = right[slice(*trimmed)].split() if trimmed else []
    surnames = left.split()
    return (
        1 <= len(given) <= 3
        and all(word in GIVEN_NAMES for word in given)
        and 1 <= len(surnames) <= 4
        and surnames[0] not in GIVEN_NAMES
        and INSTITUTION_HEAD.match(left) is None
    )


def _is_after_legal_form(left: str, mark: str, right: str) -> bool:
    """Tell whether both sides are names of companies ('A S.A. y B LTDA.')."""
    legal_form = LEGAL_FORM_END.search(right)
    named = legal_form is not None and right[: legal_form.start()].strip() != ""
    return named and mark != "" and LEGAL_FORM_END.search(left) is not None


def _person_follows(folded: str, left: str, boundary: re.Match[str], end: int) -> bool:
    right_span = trim(folded, boundary.end(), _next_boundary(folded, boundary.end(), end))
    if right_span is None:
        return False
    right = folded[slice(*right_span)]
    if not is_person(right):
        return False
    left_span = trim(left, 0, len(left))
    if "\n" in boundary.group() and left_span and _is_wrapped_name(left[slice(*left_span)], right):
        return False
    left_is_person = left_span is not None and is_person(left[slice(*left_span)])
    if left_is_person:
        return True
    return LEGAL_FORM_END.search(left) is not None or starts_with_given_name(right)


def _is_wrapped_name(left: str, right: str) -> bool:
    """Tell whether a line of given names is followed by one of their surnames."""
    return all(word in GIVEN_NAMES for word in left.split()) and not starts_with_given_name(right)


def _next_boundary(folded: str, start: int, end: int) -> int:
    following = _SOFT.search(folded, start, end)
    return following.start() if following else end


def _dash_parts(left: str, right: str) -> bool:
    """Tell whether a dash parts two parties, rather than a name from its acronym or office."""
    words = left.split()
    if DEPENDENCY_HEAD.match(right):
        return False
    alias = right.strip(" .-\n\"'()")
    if len(alias.split()) <= 2 and alias.replace(".", "").replace(" ", "").isalpha():
        initials = "".join(word[0] for word in words if len(word) > 3)
        compact = re.sub(r"[^A-Z]", "", alias)
        if len(alias.split()) == 1 and (len(words) >= 4 or initials.endswith(compact)):
            return False
    if INSTITUTION_HEAD.match(right):
        return True
    return is_person(left) and is_person(alias)


def drop_local_office(folded: str, span: Span) -> Span:
    """Take a local office behind a dash off the name of the institution it belongs to."""
    start, end = span
    suffix = _SECTIONAL.search(folded, start, end)
    if suffix and suffix.start() > start:
        return start, suffix.start()
    dash = folded.rfind(" - ", start, end)
    if dash > start and _LOCAL_OFFICE.match(folded[dash + 3 : end]):
        return start, len(folded[:dash].rstrip())
    return span
