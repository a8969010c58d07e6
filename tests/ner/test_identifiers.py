"""Ids, mails, radicados and reference numbers, with their owners."""

from __future__ import annotations

import pytest

from sherlock_pg.ner import rules
from sherlock_pg.ner.roles import Entity, IdType, Role

HEADING = "ACCIÓN DE TUTELA\nACCIONANTE: ROSA ELENA DÍAZ MORA\nACCIONADO: SANITAS EPS\n\n"


def found(text: str, role: Role) -> list[Entity]:
    return [entity for entity in rules.extract(text) if entity.role is role]


def ids(text: str) -> list[tuple[str, IdType | None]]:
    return [(entity.value, entity.id_type) for entity in found(text, Role.CEDULA)]


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        ("C.C. 52.345.678", "52345678", IdType.CC),
        ("C.C. No. 52.345.678", "52345678", IdType.CC),
        ("C.C.No.52345678", "52345678", IdType.CC),
        ("C. C. # 52.345.678", "52345678", IdType.CC),
        ("CC 52345678", "52345678", IdType.CC),
        ("c.c. N° 52’345.678", "52345678", IdType.CC),
        ("cédula de ciudadanía Nro. 1.020.345.678", "1020345678", IdType.CC),
        ("cedula numero 52 345 678", "52345678", IdType.CC),
        ("identificada con el número 52.345.678", "52345678", IdType.CC),
        ("documento de identidad 52.345.678", "52345678", IdType.CC),
        ("C.C. 52.345. 678", "52345678", IdType.CC),
        ("cédula N0. 1O2O345678", "1020345678", IdType.CC),
        ("cedu1a 1.02O.345.67l", "1020345671", IdType.CC),
        ("cédula de extranjería No. 345.678", "345678", IdType.CE),
        ("C.E. 345678", "345678", IdType.CE),
        ("tarjeta de identidad 1.061.700.412", "1061700412", IdType.TI),
        ("registro civil de nacimiento: 1033512876", "1033512876", IdType.RC),
        ("NUIP 1033512876", "1033512876", IdType.RC),
        ("Permiso por Protección Temporal (PPT) No. 5.118.904", "5118904", IdType.PPT),
        ("PPT 5118904", "5118904", IdType.PPT),
        ("pasaporte No. AV123456", "123456", IdType.PA),
        ("NIT 900.156.264-2", "900156264", IdType.NIT),
        ("N.I.T. 900156264 - 2", "900156264", IdType.NIT),
        ("NIT 8600029644", "860002964", IdType.NIT),
    ],
)
def test_spellings_of_ids(written: str, value: str, kind: IdType) -> None:
    assert ids(f"Comparece con {written} de Cali.") == [(value, kind)]


@pytest.mark.parametrize(
    "written",
    [
        "T.P. No. 123.456 del C.S. de la J.",
        "tarjeta profesional 123.456",
        "celular 310 555 0188",
        "teléfono 6013345566",
        "cédula catastral 010203040506",
        "artículo 2341 del C.C.",
        "C.C. 00000000",
        "C.C. No. 000 de ____",
        "C.C. ____________",
        "$ 52.345.678",
    ],
)
def test_other_numbers_are_no_ids(written: str) -> None:
    assert ids(f"Según {written}, se decide.") == []


def test_two_numbers_behind_one_plural_word() -> None:
    text = "identificados con cédulas Nos. 13.456.789 y 60.345.678 respectivamente"
    assert [value for value, _ in ids(text)] == ["13456789", "60345678"]


@pytest.mark.parametrize(
    ("sentence", "owner"),
    [
        ("ROSA ELENA DÍAZ MORA, identificada con C.C. 52.345.678.", Role.DEMANDANTE),
        ("ROSA ELENA DÍAZ MORA\nC.C. 52.345.678", Role.DEMANDANTE),
        ("Cédula del accionante: 52.345.678", Role.DEMANDANTE),
        ("SANITAS EPS, NIT 800.251.440-6", Role.DEMANDADO),
        ("ROSA ELENA DÍAZ MORA y mi hijo LUIS GIL DÍAZ, C.C. 52.345.678", None),
        ("SANITAS EPS, representada legalmente por JUAN GIL, C.C. 79.345.678", None),
        ("Mi esposo PEDRO LUIS GIL (q.e.p.d.), con C.C. 4.325.118", None),
        ("La abogada ANA LUCÍA PAZ ROA, C.C. 31.345.678 y T.P. 55.221", None),
    ],
)
def test_owner_of_an_id(sentence: str, owner: Role | None) -> None:
    (entity,) = found(HEADING + sentence, Role.CEDULA)
    assert entity.owner is owner


def test_the_only_id_of_a_filing_is_its_plaintiffs() -> None:
    text = HEADING + "Me identifico con la cédula 52.345.678 y pido respeto."
    (entity,) = found(text, Role.CEDULA)
    assert entity.owner is Role.DEMANDANTE


@pytest.mark.parametrize(
    ("line", "value", "owner", "institutional"),
    [
        ("Accionante: rosadiaz@correo.example", "rosadiaz@correo.example", Role.DEMANDANTE, False),
        ("Correo: Flor1980@Correo.Example", "flor1980@correo.example", Role.DEMANDANTE, False),
        (
            "Recibo en rosa @ correo. example. com",
            "rosa@correo.example.com",
            Role.DEMANDANTE,
            False,
        ),
        ("Mi correo rosa©gmail.example", "rosa@gmail.example", Role.DEMANDANTE, False),
        ("Accionado: x@otra.example.", "x@otra.example", Role.DEMANDADO, False),
        (
            "notificaciones@sanitas.example.co",
            "notificaciones@sanitas.example.co",
            Role.DEMANDADO,
            True,
        ),
        ("salud@cauca.gov.co", "salud@cauca.gov.co", Role.DEMANDADO, True),
        (
            "j05cmcali@cendoj.ramajudicial.gov.co",
            "j05cmcali@cendoj.ramajudicial.gov.co",
            None,
            True,
        ),
        ("Mi apoderado judicial: abogado7@bufete.example", "abogado7@bufete.example", None, False),
    ],
)
def test_mails(line: str, value: str, owner: Role | None, institutional: bool) -> None:
    (entity,) = found(f"{HEADING}NOTIFICACIONES\n{line}\n", Role.CORREO)
    assert (entity.value, entity.owner, entity.is_institutional) == (value, owner, institutional)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("11001-40-03-005-2024-00118-00", "11001400300520240011800"),
        ("11001 40 03 005 2024 00118 00", "11001400300520240011800"),
        ("11001400300520240011800", "11001400300520240011800"),
        ("110014003005-2024-00118-00", "11001400300520240011800"),
        ("11001-40-03-005-2024-00118", "110014003005202400118"),
        ("11OO1-40-03-005-2O24-00118-00", "11001400300520240011800"),
    ],
)
def test_radicados(written: str, value: str) -> None:
    assert [entity.value for entity in found(f"Rad. {written} (AC)", Role.RADICADO)] == [value]
    assert not found(f"Rad. {written} (AC)", Role.REFERENCIA)


def test_long_numbers_without_a_year_are_no_radicados() -> None:
    assert found("Cuenta 11001-40-03-005-3024-00118-00", Role.RADICADO) == []


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("Resolución No. 2023-ER-534743", "2023-ER-534743"),
        ("expediente T-2.823.111", "T-2823111"),
        ("póliza N° 1001-44", "1001-44"),
        ("factura FE-10234", "FE-10234"),
        ("contrato 6677889", "6677889"),
        ("comparendo No. 66001000000034511822", "66001000000034511822"),
    ],
)
def test_reference_numbers(written: str, value: str) -> None:
    assert [e.value for e in found(f"Según la {written} de ayer", Role.REFERENCIA)] == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("autorización 5521903. 3. La cirugía", "5521903"),
        ("orden 884512. Ocho días después", "884512"),
        ("la Resolución 2023-ER-916824. 3. Disponer", "2023-ER-916824"),
        ("radicado 2024 - ER - 990168. 2. Ordenar", "2024-ER-990168"),
        ("acta No. 074. Tercero", "074"),
        ("contrato 45678 - Bogotá, D.C.", "45678"),
        ("contrato 45678/ Cali", "45678"),
        ("póliza 1001 - 44. Dos", "1001-44"),
        ("formulario radicado con el número 2024_6506324, al que", "2024_6506324"),
        ("expediente T-2.823.111. Dijo", "T-2823111"),
    ],
)
def test_a_reference_ends_before_the_next_sentence(text: str, value: str) -> None:
    assert [entity.value for entity in found(text, Role.REFERENCIA)] == [value]


def test_laws_years_and_mail_boxes_are_no_references() -> None:
    text = "el Decreto 2591 de 1991, la Ley 1755, el radicado 2024 y la cuenta 12345.ana@x.example"
    assert found(text, Role.REFERENCIA) == []


def test_short_numbers_and_numbers_without_a_word_are_no_references() -> None:
    assert found("la resolución 12, los 4500 pesos y la sala 3", Role.REFERENCIA) == []
