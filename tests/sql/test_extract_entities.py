"""Entities that SQL patterns find, and that they are what the Python rules find."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from sherlock_pg.db import schema
from sherlock_pg.load.reading import entity_row
from sherlock_pg.ner import rules
from sherlock_pg.ner.evaluate import evaluate_in_detail, read_records
from sherlock_pg.ner.roles import Entity, IdType, Role, Source
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS

if TYPE_CHECKING:
    from tests.conftest import Server

Entities = list[dict[str, Any]]

STYLES = Path(__file__).parents[1] / "data" / "parties_styles.jsonl"
LEAST_RECALL = 0.35
FILINGS = 80
IDENTIFIERS = ("cedula", "correo", "radicado")
PARTIES = ("demandante", "demandado")
DOCKET = "73001310504520220038900"
CUES = (
    "ACCIONANTE:",
    "Accionados:\n",
    "1. ",
    "Yo, ",
    "MARÍA PÉREZ",
    "Nueva EPS",
    ", mayor de edad, identificada con ",
    "C.C. No. ",
    "NIT",
    "1.020.345.678",
    "900156264-2",
    " y ",
    "acción de tutela",
    " contra ",
    "interpongo ",
    "a@b.co",
    DOCKET,
    "\n",
    "\u0301",
    "\x01",
    "\x02",
    "Resolución No. ",
)


def extract(conn: psycopg.Connection, text: str | None) -> Entities:
    row = conn.execute("select sherlock.extract_entities(%s)", [text]).fetchone()
    assert row is not None
    found: Entities = row[0]
    return found


def values(conn: psycopg.Connection, text: str, role: str) -> list[str]:
    return [entity["value"] for entity in extract(conn, text) if entity["role"] == role]


def normalised(conn: psycopg.Connection, entities: Entities) -> dict[str, set[str]]:
    """Give the comparable values of entities by role."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for role, value in conn.execute(
        "select e ->> 'role', sherlock.normalise_entity(e ->> 'role', e ->> 'value',"
        " e ->> 'id_type') from jsonb_array_elements(%s) as e",
        [Jsonb(entities)],
    ):
        if value is not None:
            found[role].add(value)
    return found


@pytest.mark.parametrize("text", [None, "", " ", "\n", "Hola.", "ACCIONANTE:", "C.C. No."])
def test_nothing(conn: psycopg.Connection, text: str | None) -> None:
    assert extract(conn, text) == []


@pytest.mark.parametrize(
    ("text", "id_type", "value"),
    [
        ("identificado con cédula de ciudadanía No. 52.345.678 de Cali", "CC", "52345678"),
        ("IDENTIFICADA CON CÉDULA DE CIUDADANÍA NÚMERO 1.020.345.678", "CC", "1020345678"),
        ("con C.C. 52.345.678", "CC", "52345678"),
        ("con C.C. N° 52345678.", "CC", "52345678"),
        ("con c.c. nº 52345678,", "CC", "52345678"),
        ("CC 1020345678", "CC", "1020345678"),
        ("CC1020345678", "CC", "1020345678"),
        ("C.C.52.345.678", "CC", "52345678"),
        ("c. c. 52 345 678", "CC", "52345678"),
        ("C.C. 52'345.678", "CC", "52345678"),
        ("cédula: 52.345.678", "CC", "52345678"),
        ("Ced. 52345678", "CC", "52345678"),
        ("identificado con el No. 52.345.678", "CC", "52345678"),
        ("documento de identidad No. 52.345.678", "CC", "52345678"),
        ("cédula de ciudadanía\nNo. 52.345.678", "CC", "52345678"),
        ("C.C. 1.O2O.345.678", "CC", "1020345678"),
        ("cédula de extranjería No. 345678", "CE", "345678"),
        ("C.E. 345.678", "CE", "345678"),
        ("tarjeta de identidad 1.065.114.903", "TI", "1065114903"),
        ("T.I. No. 1065114903", "TI", "1065114903"),
        ("registro civil de nacimiento No. 1033512876", "RC", "1033512876"),
        ("NUIP 1033512876", "RC", "1033512876"),
        ("pasaporte No. AT123456", "PA", "123456"),
        ("PPT No. 4567890", "PPT", "4567890"),
        ("permiso por protección temporal (PPT) No. 4567890", "PPT", "4567890"),
        ("NIT 900.156.264-2", "NIT", "900156264"),
        ("Nit. 900156264-2", "NIT", "900156264"),
        ("N.I.T. No. 860.003.999", "NIT", "860003999"),
    ],
)
def test_id(conn: psycopg.Connection, text: str, id_type: str, value: str) -> None:
    (entity,) = extract(conn, f"El señor {text} vive aquí.")
    assert (entity["role"], entity["id_type"], entity["value"]) == ("cedula", id_type, value)
    assert entity["source"] == "sql"


def test_two_ids_behind_one_word(conn: psycopg.Connection) -> None:
    text = "identificados con cédulas Nos. 1.020.345.678 y 52.345.678, de Cali"
    assert values(conn, text, "cedula") == ["1020345678", "52345678"]


@pytest.mark.parametrize(
    "text",
    [
        "según el artículo 86 de la Constitución y el Decreto 2591 de 1991",
        "Sentencia T-760 de 2008, Ley 1751 de 2015, Ley 100 de 1993",
        "el 29 de octubre de 2024 a las 10:37 a. m., 29/10/2024",
        "celular 300 555 7766, teléfono 601 234 5678",
        "Tel. 3005557766",
        "por $12.320.000 y 1.510 semanas",
        "código 20334956, carné No. 76470636",
        "el Juzgado 31 Civil Municipal de Bogotá",
        "cédula catastral 01020003",
        "cédula de ciudadanía No. 000000",
        "cédula de ciudadanía No. 1234",
        "Carrera 36 No. 61-85, barrio San Antonio",
        "cédula de ciudadanía No. ______ y C.C. XXXXXXX",
        "escríbame a juan @ casa o a @usuario",
    ],
)
def test_no_identifier(conn: psycopg.Connection, text: str) -> None:
    assert extract(conn, text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("correo: Ana.Perez20@Correo.Example.com.", "ana.perez20@correo.example.com"),
        ("(ana_perez@correo.com)", "ana_perez@correo.com"),
        ("ana@correo.com, luis", "ana@correo.com"),
        ("ana @correo .com y", "ana@correo.com"),
        ("CORREO:ANA@CORREO.COM", "ana@correo.com"),
        ("<a+b@sub.entidad.gov.co>", "a+b@sub.entidad.gov.co"),
    ],
)
def test_mail(conn: psycopg.Connection, text: str, value: str) -> None:
    assert values(conn, text, "correo") == [value]


@pytest.mark.parametrize(
    "written",
    [
        "73001-31-05-045-2022-00389-00",
        "73001310504520220038900",
        "73001 31 05 045 2022 00389 00",
        "73001.31.05.045.2022.00389.00",
        "73001 - 31 - 05 - 045 - 2022 - 00389 - 00",
        "730013105045-2022-00389-00",
        "73001-31-05-045-2022-00389",
    ],
)
def test_docket(conn: psycopg.Connection, written: str) -> None:
    (entity,) = extract(conn, f"Rad.: {written} (AC)")
    assert entity["role"] == "radicado"
    assert DOCKET.startswith(entity["value"])


def test_docket_of_no_year(conn: psycopg.Connection) -> None:
    assert values(conn, "Rad. 73001-31-05-045-1722-00389-00", "radicado") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("la Resolución No. 192220 del 4 de diciembre", "192220"),
        ("el oficio SG-9270 del", "SG-9270"),
        ("Referencia: expediente T-2.823.111", "T-2.823.111"),
        ("radicado con el número 2024-ER-990168 en", "2024-ER-990168"),
        ("el pagaré No. P-620175 que firmé", "P-620175"),
        ("Póliza N° 4433221", "4433221"),
        ("la queja número PQR-73-0640270, radicada", "73-0640270"),
        ("el oficio OF-2002 del", "OF-2002"),
        ("la autorización 5521903. 3. La cirugía", "5521903"),
        ("la orden 884512. Ocho", "884512"),
    ],
)
def test_reference(conn: psycopg.Connection, text: str, value: str) -> None:
    assert values(conn, text, "referencia") == [value]


@pytest.mark.parametrize(
    ("text", "plaintiffs", "defendants"),
    [
        (
            "ACCIONANTE: MARÍA PÉREZ GÓMEZ\nACCIONADO: NUEVA EPS S.A.",
            ["MARÍA PÉREZ GÓMEZ"],
            ["NUEVA EPS S.A."],
        ),
        (
            "Demandante: María Pérez Gómez, C.C. 52.345.678\nDemandado: Banco Andino S.A. NIT 1",
            ["María Pérez Gómez"],
            ["Banco Andino S.A."],
        ),
        (
            "Accionante\nMARÍA PÉREZ\nAccionado(s)\nJuzgado 30 Penal de Cali\nDecisión\nAmpara",
            ["MARÍA PÉREZ"],
            ["Juzgado 30 Penal de Cali"],
        ),
        (
            "ACCIONANTE MARÍA PÉREZ GÓMEZ\nACCIONADA  ALCALDÍA DE CALI",
            ["MARÍA PÉREZ GÓMEZ"],
            ["ALCALDÍA DE CALI"],
        ),
        (
            "1. Accionante: María Pérez y otros\n2. Accionado: Sanitas EPS.",
            ["María Pérez"],
            ["Sanitas EPS"],
        ),
        (
            "ACCIONANTES: MARÍA PÉREZ Y JUAN GÓMEZ\n"
            "ACCIONADOS: NUEVA EPS Y ADMINISTRADORA COLOMBIANA DE\nPENSIONES COLPENSIONES",
            ["MARÍA PÉREZ", "JUAN GÓMEZ"],
            ["NUEVA EPS", "ADMINISTRADORA COLOMBIANA DE PENSIONES COLPENSIONES"],
        ),
        (
            "ACCIONADOS:\n- Nueva EPS\n- Alcaldía de Cali\n\nHECHOS",
            [],
            ["Nueva EPS", "Alcaldía de Cali"],
        ),
        (
            "DEMANDADO: MINISTERIO DE VIVIENDA, CIUDAD Y TERRITORIO",
            [],
            ["MINISTERIO DE VIVIENDA, CIUDAD Y TERRITORIO"],
        ),
        (
            "Demandado: Nación - Ministerio de Defensa - Policía Nacional",
            [],
            ["Nación - Ministerio de Defensa - Policía Nacional"],
        ),
        (
            "Accionante: Ana Ruiz actuando en nombre propio  Accionado: EPS Sura",
            ["Ana Ruiz"],
            ["EPS Sura"],
        ),
        (
            "REF. ACCIÓN DE TUTELA de María Pérez contra Nueva EPS",
            ["María Pérez"],
            ["Nueva EPS"],
        ),
        (
            "la acción de tutela promovida por Jairo Cruz contra el Juzgado Sexto Civil de Cali, "
            "a cuyo trámite",
            ["Jairo Cruz"],
            ["Juzgado Sexto Civil de Cali"],
        ),
        (
            "El señor Luis Montoya Barragán, instaura acción de tutela en contra de la Alcaldía "
            "Municipal de Honda, por",
            ["Luis Montoya Barragán"],
            ["Alcaldía Municipal de Honda"],
        ),
        (
            "Yo, María Pérez Gómez, mayor de edad, vecina de Cali, interpongo acción de tutela "
            "contra la EPS Sanitas S.A.S. Los hechos son estos.",
            ["María Pérez Gómez"],
            ["EPS Sanitas S.A.S."],
        ),
        (
            "MARÍA PÉREZ GÓMEZ, identificada con cédula de ciudadanía No. 52.345.678, acudo ante "
            "su despacho para interponer acción de tutela en contra del Hospital San José, que",
            ["MARÍA PÉREZ GÓMEZ"],
            ["Hospital San José"],
        ),
        (
            "Yo, JORGE IVÁN CASTAÑO LÓPEZ, con cédula de ciudadanía 98.765.432, pido amparo "
            "contra SURA EPS",
            ["JORGE IVÁN CASTAÑO LÓPEZ"],
            ["SURA EPS"],
        ),
        (
            "Yo, ANA PÉREZ, con C.C. 52.345.678, contra NUEVA EPS",
            ["ANA PÉREZ"],
            ["NUEVA EPS"],
        ),
        ("Yo, Ana Pérez, contra la Alcaldía de Cali.", ["Ana Pérez"], ["Alcaldía de Cali"]),
        (
            "Acción de tutela de ANA PÉREZ, c.c. 52.345.678, contra NUEVA EPS",
            ["ANA PÉREZ"],
            ["NUEVA EPS"],
        ),
    ],
)
def test_parties(
    conn: psycopg.Connection, text: str, plaintiffs: list[str], defendants: list[str]
) -> None:
    assert values(conn, text, "demandante") == plaintiffs
    assert values(conn, text, "demandado") == defendants


@pytest.mark.parametrize(
    "text",
    [
        # Of labels above their values, none tells which is whose.
        "TUTELA\nACCIONANTE:\nACCIONADO:\nMARÍA PÉREZ\nNUEVA EPS",
        "ACCIONANTE: XXXXX XXXX\nACCIONADO: ______",
        "Accionante: [nombre completo]\nAccionado: ...............",
        "El accionante manifiesta que la accionada no respondió la tutela.",
        "Apoderado del accionante: Luis Ruiz\nCorreo del accionado: x",
        "La tutela procede contra particulares y contra providencias judiciales.",
        "sentencia de tutela contra la cual no procede recurso",
        # A lawyer speaks for somebody else.
        "ANA RUIZ DÍAZ, mayor de edad, identificada con C.C. 1, abogada en ejercicio, obrando como "
        "apoderada judicial de quien se dirá, presento demanda.",
        "Cliente: Juan Camilo Restrepo\nFACTURA DE VENTA",
        # Something else than a claim.
        "Yo, ANA PÉREZ, con C.C. 52.345.678, compré un seguro contra incendio a SEGUROS ALFA.",
        "Yo, ANA PÉREZ, vacunada contra la gripa, autorizo a NUEVA EPS.",
        "Yo, ANA PÉREZ, con C.C. 52.345.678, recibí el pago de NUEVA EPS.",
        "ANA PÉREZ, con C.C. 52.345.678, ganó un partido contra el CLUB ALFA.",
        "JUZGADO 31 CIVIL MUNICIPAL\nACCIÓN DE TUTELA\nBogotá, 3 de mayo de 2024",
    ],
)
def test_no_party(conn: psycopg.Connection, text: str) -> None:
    assert [entity for entity in extract(conn, text) if entity["role"] in PARTIES] == []


@pytest.mark.parametrize(
    ("text", "plaintiffs", "defendants"),
    [
        (
            "Accionante. Ana María Ruiz Gil\nAccionada. Nueva EPS",
            ["Ana María Ruiz Gil"],
            ["Nueva EPS"],
        ),
        (
            "la tutela instaurada por la señora ANA RUIZ GIL, con C.C. 21.743.660, en contra de "
            "METROSALUD E.S.E., que",
            ["ANA RUIZ GIL"],
            ["METROSALUD E.S.E."],
        ),
        (
            "REF: ACCIÓN DE TUTELA de ANA RUIZ GIL contra FONDO NACIONAL DEL AHORRO\n\n"
            "Yo, Ana Ruiz Gil, mayor de edad",
            ["ANA RUIZ GIL"],
            ["FONDO NACIONAL DEL AHORRO"],
        ),
        (
            "Demandado: Electricaribe S.A. E.S.P. en liquidación\nACCIÓN",
            [],
            ["Electricaribe S.A. E.S.P. en liquidación"],
        ),
    ],
)
def test_party_ends_where_its_name_ends(
    conn: psycopg.Connection, text: str, plaintiffs: list[str], defendants: list[str]
) -> None:
    assert values(conn, text, "demandante") == plaintiffs
    assert values(conn, text, "demandado") == defendants


@pytest.mark.parametrize("split", ["dev", "blind"])
def test_drafting_styles_name_few_wrong_parties(conn: psycopg.Connection, split: str) -> None:
    """Patterns alone may miss a party; they may not name a wrong one, nor a wrong owner."""
    lines = [json.loads(line) for line in STYLES.read_text(encoding="utf-8").splitlines()]
    chosen = [line["id"] for line in lines if line["split"] == split]
    records = [record for record in read_records(STYLES) if record.record_id in chosen]
    evaluation = evaluate_in_detail(records, lambda text: _as_entities(extract(conn, text)))
    least = {"demandante": 0.98, "demandado": 0.91, "cedula": 0.98, "correo": 0.93}
    for role, score in evaluation.scores.items():
        assert score.precision >= least.get(role, 0.98), evaluation.mistakes
        assert score.recall >= LEAST_RECALL, (role, score)


def _as_entities(found: Entities) -> list[Entity]:
    return [
        Entity(
            Role(entity["role"]),
            entity["value"],
            entity["start"],
            entity["end"],
            Source.PATTERN,
            1.0,
            owner=Role(entity["owner"]) if "owner" in entity else None,
            id_type=IdType(entity["id_type"]) if "id_type" in entity else None,
        )
        for entity in found
    ]


def test_owners(conn: psycopg.Connection) -> None:
    text = """ACCIONANTE: MARÍA PÉREZ GÓMEZ, C.C. 52.345.678
ACCIONADO: NUEVA EPS S.A. NIT 900.156.264-2

Mi hijo Juan Pérez Ruiz, identificado con tarjeta de identidad No. 1.065.114.903, está enfermo.

Accionante: mpg55@correo.com
Accionada: tutelas@entidad.com
El apoderado: abogado@oficina.com
Juzgado: j01@cendoj.ramajudicial.gov.co
"""
    owners = {entity["value"]: entity.get("owner") for entity in extract(conn, text)}
    assert owners == {
        "MARÍA PÉREZ GÓMEZ": None,
        "NUEVA EPS S.A.": None,
        "52345678": "demandante",
        "900156264": "demandado",
        "1065114903": None,
        "mpg55@correo.com": "demandante",
        "tutelas@entidad.com": "demandado",
        "abogado@oficina.com": None,
        "j01@cendoj.ramajudicial.gov.co": None,
    }


def test_each_value_once(conn: psycopg.Connection) -> None:
    text = "C.C. 52.345.678. " * 3 + "a@b.co " * 3 + f"{DOCKET} " * 2
    found = [(entity["role"], entity["start"]) for entity in extract(conn, text)]
    assert found == [("cedula", 5), ("correo", 51), ("radicado", 72)]


def offsets_point_at_values(conn: psycopg.Connection, text: str) -> None:
    for entity in extract(conn, text):
        there = text[entity["start"] : entity["end"]]
        assert there
        written, value = (
            normalised(conn, [entity | {"value": spelled}]) for spelled in (there, entity["value"])
        )
        assert written == value


def test_offsets_with_combining_accents(conn: psycopg.Connection) -> None:
    text = (
        "Acción de tutela\nACCIONANTE: JOSE\u0301 PE\u0301REZ GO\u0301MEZ\n"
        "ce\u0301dula 52.345.678, a@b.co"
    )
    spans = [text[entity["start"] : entity["end"]] for entity in extract(conn, text)]
    assert spans == ["JOSE\u0301 PE\u0301REZ GO\u0301MEZ", "52.345.678", "a@b.co"]


def test_a_long_text_is_read_at_both_ends(conn: psycopg.Connection) -> None:
    middle = "C.C. 11.222.333 ACCIONANTE: " + "palabra larga, " * 350_000
    text = (
        "TUTELA\nACCIONANTE: ANA RUIZ DÍAZ\n" + "x " * 7_000 + middle + "\nC.C. 52.345.678 a@b.co"
    )
    found = extract(conn, text)
    assert [entity["value"] for entity in found] == ["ANA RUIZ DÍAZ", "52345678", "a@b.co"]
    offsets_point_at_values(conn, text)


@pytest.mark.parametrize(
    "text",
    [
        "A" * 5_000_000,
        "1" * 100_000,
        "1 " * 50_000,
        "a@" * 50_000,
        "a." * 50_000,
        "ACCIONANTE: " * 10_000,
        "C.C. " * 20_000,
        "tutela contra " * 5_000,
        "DEMANDA" + " A, B y C-D" * 5_000,
        ("Yo, Ana Ruiz, mayor de edad, " * 1_000),
    ],
    ids=range(10),
)
def test_work_is_bounded(conn: psycopg.Connection, text: str) -> None:
    conn.execute("set local statement_timeout = '20s'")
    extract(conn, text)


@pytest.fixture(scope="module")
def filings() -> list[tuple[str, Entities]]:
    """Give filings, and what the Python rules find in them."""
    texts = [
        compose(draw_case(3, f"sql-{number}", topic_name=TOPICS[number % len(TOPICS)])).text()
        for number in range(FILINGS)
    ]
    return [(text, [entity_row(entity) for entity in rules.extract(text)]) for text in texts]


def test_python_finds_the_same_identifiers(
    conn: psycopg.Connection, filings: list[tuple[str, Entities]]
) -> None:
    complete = 0
    for text, by_python in filings:
        expected = normalised(conn, by_python)
        found = normalised(conn, extract(conn, text))
        complete += all(expected[role] <= found[role] for role in IDENTIFIERS)
    assert complete >= 0.95 * len(filings)


def test_python_finds_the_same_references(
    conn: psycopg.Connection, filings: list[tuple[str, Entities]]
) -> None:
    """A reference that goes on into the next sentence is equal to nothing."""
    equal = 0
    for text, by_python in filings:
        expected = normalised(conn, by_python)["referencia"]
        found = normalised(conn, extract(conn, text))["referencia"]
        equal += expected == found
    assert equal >= 0.95 * len(filings)


def test_python_finds_no_other_parties(
    conn: psycopg.Connection, filings: list[tuple[str, Entities]]
) -> None:
    found_both = 0
    contradictions = 0
    for text, by_python in filings:
        expected = normalised(conn, by_python)
        found = normalised(conn, extract(conn, text))
        found_both += all(expected[role] and found[role] for role in PARTIES)
        contradictions += any(
            expected[role] != found[role] for role in PARTIES if expected[role] and found[role]
        )
    assert found_both >= 0.9 * len(filings)
    assert contradictions <= 0.02 * len(filings)


def test_offsets_point_at_values(
    conn: psycopg.Connection, filings: list[tuple[str, Entities]]
) -> None:
    for text, _ in filings[:20]:
        offsets_point_at_values(conn, text)


@given(
    st.one_of(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200),
        st.lists(st.sampled_from(CUES), max_size=25).map("".join),
    )
)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_gives_entities_that_can_be_stored(conn: psycopg.Connection, text: str) -> None:
    found = extract(conn, text)
    conn.execute("select sherlock._read_entities(%s)", [Jsonb(found)])
    assert all(0 <= e["start"] < e["end"] <= len(text) for e in found)
    assert all(e["value"].strip() and e["source"] == "sql" for e in found)


@pytest.fixture
def c_locale_conn(server: Server) -> Iterator[psycopg.Connection]:
    """Give a connection to a database whose locale is C."""
    name = sql.Identifier("sherlock_test_locale_c")
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL(
                "create database {} template template0 encoding 'UTF8' locale 'C'"
                " locale_provider 'libc'"
            ).format(name)
        )
        try:
            url = server.url("sherlock_test_locale_c")
            schema.upgrade(url)
            with psycopg.connect(url) as connection:
                yield connection
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(name))


def test_the_same_under_another_locale(
    conn: psycopg.Connection,
    c_locale_conn: psycopg.Connection,
    filings: list[tuple[str, Entities]],
) -> None:
    texts = [text for text, _ in filings[:20]]
    texts += [text.lower() for text in texts[:5]] + [text.upper() for text in texts[5:10]]
    texts.append("Acción de tutela de Ñíñez Çelik contra Ärzte EPS, CÉDULA Nº 52.345.678 ß İ ı")
    for text in texts:
        assert extract(c_locale_conn, text) == extract(conn, text)
