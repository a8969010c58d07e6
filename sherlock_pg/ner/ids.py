"""Numbers that identify: documents of identity, radicados of courts, references of acts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sherlock_pg.ner.folding import View
from sherlock_pg.ner.lexicon import DEFENDANT, PLAINTIFF
from sherlock_pg.ner.owners import NameIndex
from sherlock_pg.ner.roles import Entity, IdType, Role, Source

_DIGIT = r"[0-9OILSB|]"
"""A digit, or a letter that OCR reads for one (in folded text)."""
_GROUP_MARK = r"(?:\s?[.']\s?|,|\s)"
_NUMBER = rf"(?P<number>{_DIGIT}{{1,3}}(?:{_GROUP_MARK}{_DIGIT}{{3}}){{1,3}}|{_DIGIT}{{5,11}})"
_NUMBER_SIGN = (
    r"[\s:;.\-\#(]{0,4}(?:(?:N(?:[O0°]S?|ROS?|UM(?:ERO)?S?)?|[°])(?![A-Z])[\s.:°\#]{0,4}){0,2}"
)
_KINDS = (
    (IdType.NIT, r"N\.?\s?I\.?\s?T\.?"),
    (IdType.CE, r"CEDULAS?\s+DE\s+EXTRANJERIA|C\.?\s?E\.?"),
    (IdType.TI, r"TARJETAS?\s+DE\s+IDENTIDAD|T\.?\s?I\.?"),
    (IdType.RC, r"REGISTROS?\s+CIVIL(?:ES)?(?:\s+DE\s+NACIMIENTO)?|N\.?U\.?I\.?P\.?|R\.?C\.?"),
    (
        IdType.PPT,
        r"(?:PERMISO\s+(?:POR|DE|ESPECIAL\s+DE)\s+(?:PROTECCION\s+TEMPORAL"
        r"|PERMANENCIA)\s*)?\(?P\.?(?:P\.?T|E\.?P)\.?\)?|PERMISO\s+(?:POR|DE"
        r"|ESPECIAL\s+DE)\s+(?:PROTECCION\s+TEMPORAL|PERMANENCIA)",
    ),
    (IdType.PA, r"PASAPORTE"),
    (
        IdType.CC,
        r"C(?:EDU[LI1]AS?|ED\.?)(?!\s+(?:CATASTRAL|PROFESIONAL|REAL"
        r"|MILITAR))(?:\s+DE\s+C(?:IUDADANIA|IU|\.))?"
        r"|C[.,]?\s?C[.,]?|C\.\s?DE\s?C\.?|DOCUMENTOS?(?:\s+DE\s+IDENTI(?:DAD|FICACION))"
        r"|(?<=NUMERO DE )DOCUMENTO|D\.\s?I\."
        r"|IDENTIFICAD[OA]S?\s+CON(?:\s+EL)?|IDENTIFICACION|CEDULAD[OA]",
    ),
)
_ID = re.compile(
    r"(?<![A-Z0-9.])(?:"
    + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS)
    + rf")(?:\s?\(?C\.?C\.?\)?)?(?:\s+DEL?\s+(?:{PLAINTIFF}"
    rf"|{DEFENDANT}))?(?:\s+DE\s+[A-Z]{{4,12}})?{_NUMBER_SIGN}(?:[A-HJKMNP-Z]{{1,3}})?{_NUMBER}(?:\s?-\s?(?P<check>\d))?(?!{_DIGIT})"
)
_ONE_MORE = re.compile(rf"\s?(?:,|Y|E)\s(?:{_NUMBER_SIGN})?{_NUMBER}(?!{_DIGIT})")
_LETTERS_TO_DIGITS = str.maketrans({"O": "0", "I": "1", "L": "1", "|": "1", "S": "5", "B": "8"})
_MISREAD_DIGITS = 4
_LENGTHS = {
    IdType.NIT: (8, 11),
    IdType.CE: (5, 10),
    IdType.TI: (8, 11),
    IdType.RC: (7, 11),
    IdType.PPT: (5, 10),
    IdType.PA: (5, 11),
    IdType.CC: (5, 10),
}
_CHECK_WEIGHTS = (3, 7, 13, 17, 19, 23, 29, 37, 41, 43)

_GAP = r"[ \t.\-]{0,3}"
_RADICADO = re.compile(
    rf"(?P<number>{_DIGIT}(?<!{_DIGIT}{{2}}){_DIGIT}{_GAP}{_DIGIT}{{3}}{_GAP}{_DIGIT}{{2}}{_GAP}{_DIGIT}{{2}}{_GAP}{_DIGIT}{{3}}{_GAP}[12]{_DIGIT}{{3}}"
    rf"{_GAP}{_DIGIT}{{5}}(?:{_GAP}{_DIGIT}{{2}})?)(?!{_DIGIT})"
)
_RADICADO_LENGTHS = (21, 23)

_REFERENCE_CUE = (
    r"(?:ACTO\s+ADMINISTRATIVO|ACTO|ACTA|RESOLUCION(?:ES)?|CONTRATO|CONVENIO|POLIZA"
    r"|FACTURA(?:\s+ELECTRONICA)?(?:\s+DE\s+VENTA)?|EXPEDIENTE|EXP\.?"
    r"|OFICIO|COMPARENDO|RADICADO|RADICACION|RAD\.?|MATRICULA(?:\s+INMOBILIARIA)?|PAGARE|LETRA"
    r"|ESCRITURA(?:\s+PUBLICA)?|CREDITO|OBLIGACION"
    r"|PETICION|PQRS?D?|SINIESTRO|LICENCIA|ORDEN|AUTORIZACION|CASO"
    r"|SPOA|NOTICIA\s+CRIMINAL|PROCESO|CUENTA)"
)
"""What a number stands behind that few filings share; laws and decrees are cited in most."""
_MORE_OF_REFERENCE = (
    r"(?:[._]\d[A-Z0-9]{0,11}"
    r"|\s?[\-/]\s?(?:[A-Z]{1,4}\s?[\-/]\s?)?[A-Z]{0,6}\d[A-Z0-9]{0,11})"
)
"""What goes on with a reference: a dot right before a digit, a dash before a part with a digit.

Letters alone are a part between two dashes ('2023-ER-916824'); else they begin the next sentence.
"""
_REFERENCE = re.compile(
    rf"(?<![A-Z])(?P<cue>{_REFERENCE_CUE})(?![A-Z])(?:\s+CON)?(?:\s+EL)?{_NUMBER_SIGN}"
    rf"(?P<number>[A-Z]{{0,5}}(?:\s?-\s?)?\d[A-Z0-9]{{0,24}}{_MORE_OF_REFERENCE}{{0,5}})"
    r"(?![A-Z0-9]|[A-Z0-9._\-]{0,40}@)"
)
_DIGITS_IN_REFERENCE = 3
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_REFERENCES = 60


@dataclass(frozen=True)
class _Number:
    kind: IdType
    digits: str
    start: int
    end: int


def find_ids(view: View, owners: NameIndex) -> list[Entity]:
    """Find documents of identity and tax numbers, each with its kind and guessed owner."""
    best: dict[tuple[IdType, str], Entity] = {}
    for number in _numbers(view.plain):
        owner = owners.owner_of_id(number.start, number.end, number.kind is not IdType.NIT)
        entity = Entity(
            Role.CEDULA,
            number.digits,
            number.start,
            number.end,
            Source.PATTERN,
            0.9 if owner else 0.6,
            owner=owner,
            id_type=number.kind,
        )
        key = (number.kind, number.digits)
        if key not in best or (best[key].owner is None and owner is not None):
            best[key] = entity
    return _give_the_only_one_away(list(best.values()), owners)


def _give_the_only_one_away(found: list[Entity], owners: NameIndex) -> list[Entity]:
    """Take the only personal id of a filing as its only plaintiff's, unless it is another's."""
    personal = [entity for entity in found if entity.id_type in (IdType.CC, IdType.CE, IdType.PPT)]
    if len(personal) != 1 or personal[0].owner is not None:
        return found
    only = personal[0]
    if not owners.may_belong_to_plaintiff(only.start, only.end):
        return found
    owned = Entity(
        only.role,
        only.value,
        only.start,
        only.end,
        only.source,
        0.5,
        owner=Role.DEMANDANTE,
        id_type=only.id_type,
    )
    return [owned if entity is only else entity for entity in found]


def _numbers(plain: str) -> Iterator[_Number]:
    for match in _ID.finditer(plain):
        kind = next(kind for kind, _ in _KINDS if match[kind])
        digits = _digits_of(kind, match["number"], match["check"])
        if digits is None:
            continue
        yield _Number(kind, digits, *match.span("number"))
        position = match.end()
        for _ in range(8):
            another = _ONE_MORE.match(plain, position)
            if another is None:
                break
            digits = _digits_of(kind, another["number"], None)
            if digits is None or len(digits) < 6:
                break
            yield _Number(kind, digits, *another.span("number"))
            position = another.end()


def _digits_of(kind: IdType, written: str, check: str | None) -> str | None:
    """Give the digits of a number as written, or None where it cannot be an id of its kind."""
    if sum(char.isdigit() for char in written) < 4:
        return None
    if sum(char.isalpha() for char in written) > _MISREAD_DIGITS:
        return None
    digits = re.sub(r"\D", "", written.translate(_LETTERS_TO_DIGITS))
    if (
        kind is IdType.NIT
        and check is None
        and len(digits) == 10
        and _check_digit(digits[:9]) == int(digits[9])
    ):
        digits = digits[:9]
    shortest, longest = _LENGTHS[kind]
    if not shortest <= len(digits) <= longest or len(set(digits)) == 1:
        return None
    return digits


def _check_digit(digits: str) -> int:
    """Compute the check digit of a tax number (modulo 11, as the DIAN defines it)."""
    remainder = sum(int(d) * w for d, w in zip(reversed(digits), _CHECK_WEIGHTS, strict=False)) % 11
    return remainder if remainder < 2 else 11 - remainder


def find_dockets_and_references(view: View) -> list[Entity]:
    """Find numbers of cases, and of acts, contracts, policies and the like that are none."""
    dockets = list(_RADICADO.finditer(view.plain))
    return [
        *_radicados(dockets),
        *_references(view, [match.span() for match in dockets]),
    ]


def _radicados(dockets: Sequence[re.Match[str]]) -> list[Entity]:
    """Give the 21 or 23 digits under which courts file a case."""
    found: dict[str, Entity] = {}
    for match in dockets:
        digits = re.sub(r"\D", "", match["number"].translate(_LETTERS_TO_DIGITS))
        if len(digits) in _RADICADO_LENGTHS and digits[12:14] in ("19", "20"):
            found.setdefault(
                digits,
                Entity(Role.RADICADO, digits, *match.span("number"), Source.PATTERN, 0.95),
            )
    return list(found.values())


def _references(view: View, dockets: Sequence[tuple[int, int]]) -> list[Entity]:
    """Find numbers of acts, contracts, policies and the like, next to the word for them."""
    found: dict[str, Entity] = {}
    for match in _REFERENCE.finditer(view.plain):
        start, end = match.span("number")
        value = _reference_value(match["number"])
        if value is None or any(left < end and start < right for left, right in dockets):
            continue
        found.setdefault(value, Entity(Role.REFERENCIA, value, start, end, Source.PATTERN, 0.7))
        if len(found) == _MAX_REFERENCES:
            break
    return list(found.values())


def _reference_value(written: str) -> str | None:
    compact = re.sub(r"\s", "", written)
    compact = re.sub(r"(?<=\d)\.(?=\d{3}(?!\d))", "", compact).strip(".-/")
    if sum(char.isdigit() for char in compact) < _DIGITS_IN_REFERENCE or _YEAR.fullmatch(compact):
        return None
    return compact
