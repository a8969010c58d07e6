"""Names: one comparable form, and whether two of them are of the same party."""

from __future__ import annotations

import random

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

FEW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SOUP = (
    "El la los señor Dra. don menor Juan María Pérez Ñáñez de del y Vda. E.P.S. E. P. S. EPS-S "
    "S.A.S. S. A. S.A. Ltda. E.S.P. Cía. & en liquidación Q.E.P.D. Juzgado Sala II Segunda "
    "primero 1º treinta y uno (31) veintidós vigésimo decimotercero No. 022 dos once noventa "
    "Civil de Bogotá D.C. Nueva Sanitas COLPENSIONES ICBF DIAN Nación Ministerio Defensa Policía "
    "Nacional fiduciaria FOMAG Porvenir AFP entidad promotora salud N.N. A. Subsección Juez x"
)
WORDS = SOUP.split()


def normalise(conn: psycopg.Connection, name: str) -> str | None:
    row = conn.execute("select sherlock.normalise_name(%s)", [name]).fetchone()
    assert row is not None
    found: str | None = row[0]
    return found


def agree(conn: psycopg.Connection, left: str, right: str, threshold: float = 0.85) -> bool | None:
    row = conn.execute(
        "select sherlock.names_agree(l.n, sherlock.name_key(l.n), r.n, sherlock.name_key(r.n), %s)"
        " from sherlock.normalise_name(%s) as l (n), sherlock.normalise_name(%s) as r (n)",
        [threshold, left, right],
    ).fetchone()
    assert row is not None
    found: bool | None = row[0]
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("El señor Dr. JUAN PÉREZ (Q.E.P.D.)", "juan perez"),
        ("la ciudadana María Muñoz", "maria munoz"),
        ("menor de edad Ana Ñáñez", "ana nanez"),
        ("Abogada Doña Rosa Vda. de Gómez", "rosa vda de gomez"),
        ("Nueva E.P.S. S.A.", "nueva eps"),
        ("N.E.P.S.", "nueva eps"),
        ("E. P. S. Sanitas S. A. S.", "sanitas eps"),
        ("Entidad Promotora de Salud Sanitas", "sanitas eps"),
        ("Salud Total EPS-S S.A.", "salud total eps"),
        ("Salud Total", "salud total eps"),
        ("Coomeva E.P.S", "coomeva eps"),
        ("IPS Clínica San José Ltda.", "ips clinica san jose"),
        ("Empresa Social del Estado Hospital San Rafael", "ese hospital san rafael"),
        ("Hospital San Rafael de Tunja E.S.E.", "hospital san rafael de tunja ese"),
        ("Aguas Urbes S.A.S. E.S.P.", "aguas urbes"),
        ("Aguas Urbes S. A. E. S. P. en liquidación judicial", "aguas urbes"),
        ("Gómez Ruiz & Cía. S. en C.", "gomez ruiz"),
        ("Transportes Gómez E.U.", "transportes gomez"),
        ("Juzgado Primero Civil del Circuito de Bogotá D.C.",
         "juzgado 1 civil del circuito de bogota"),
        ("JUZGADO 01 CIVIL DEL CIRCUITO DE BOGOTA D. C.",
         "juzgado 1 civil del circuito de bogota"),
        ("Juzgado 1º Civil del Circuito de Bogotá", "juzgado 1 civil del circuito de bogota"),
        ("Juzgado 1° Civil del Circuito de Bogotá", "juzgado 1 civil del circuito de bogota"),
        ("Juzgado No. 022 Penal", "juzgado 22 penal"),
        ("Juzgado Veintidós Penal", "juzgado 22 penal"),
        ("Juzgado Vigésimo Segundo Penal", "juzgado 22 penal"),
        ("Juez Veintidós Penal", "juzgado 22 penal"),
        ("Juzgado Treinta y Uno (31) Laboral", "juzgado 31 laboral"),
        ("Juzgado Trigésimo Primero Laboral", "juzgado 31 laboral"),
        ("Juzgado Diez (10) Laboral", "juzgado 10 laboral"),
        ("Juzgado Ochenta y Nueve Civil", "juzgado 89 civil"),
        ("Juzgado Decimotercero Civil", "juzgado 13 civil"),
        ("Sección Segunda, Subsección A", "seccion 2 subseccion a"),
        ("Sala II de Decisión", "sala 2 de decision"),
        ("Notaría Primera de Cali", "notaria 1 de cali"),
        ("Segundo Pérez", "segundo perez"),
        ("Nación-Ministerio de Defensa Nacional-Policía Nacional", "policia nacional"),
        ("La Nación - Ministerio de Educación", "ministerio de educacion nacional"),
        ("Dian Carolina Ruiz", "dian carolina ruiz"),
        ("S.A.S.", None),
        ("---", None),
        ("", None),
    ],
)  # fmt: skip
def test_normalised_name(conn: psycopg.Connection, name: str, expected: str | None) -> None:
    assert normalise(conn, name) == expected


@pytest.mark.parametrize(
    "spellings",
    [
        ("Colpensiones", "Administradora Colombiana de Pensiones",
         "Administradora Colombiana de Pensiones – COLPENSIONES",
         "ADMINISTRADORA COLOMBIANA DE PENSI0NES COLPENSIONES",
         "ADMINISTRAIORA COLOMBIANA DE PENSIONES COLPENSIONES",
         "Colpensiones - Adrninistradora Colombiana de Penslones"),
        ("ICBF", "I.C.B.F.", "Instituto Colombiano de Bienestar Familiar",
         "Instituto Colombiano de Bienestar Familiar - ICBF"),
        ("INPEC", "Instituto Nacional Penitenciario y Carcelario (INPEC)"),
        ("UGPP", "Unidad Administrativa Especial de Gestión Pensional y Contribuciones "
         "Parafiscales de la Protección Social"),
        ("DIAN", "Dirección de Impuestos y Aduanas Nacionales"),
        ("SENA", "Servicio Nacional de Aprendizaje SENA"),
        ("Nueva EPS", "NUEVA E.P.S. S.A.", "N.E.P.S."),
        ("Policía Nacional", "Policía Nacional de Colombia",
         "La Nación - Ministerio de Defensa Nacional - Policía Nacional"),
        ("Ejército Nacional", "Ejército Nacional de Colombia"),
        ("Registraduría", "Registraduría Nacional del Estado Civil"),
        ("Fiscalía", "Fiscalía General de la Nación"),
        ("ADRES", "Administradora de los Recursos del Sistema General de Seguridad Social en "
         "Salud - ADRES"),
        ("FOMAG", "Fondo Nacional de Prestaciones Sociales del Magisterio",
         "Fiduprevisora S.A. - FOMAG", "Fiduciaria La Previsora S.A."),
        ("Porvenir S.A.", "AFP Porvenir",
         "Sociedad Administradora de Fondos de Pensiones y Cesantías Porvenir S.A."),
    ],
    ids=lambda spellings: spellings[0],
)  # fmt: skip
def test_institutions_have_one_form(conn: psycopg.Connection, spellings: tuple[str, ...]) -> None:
    forms = {normalise(conn, spelling) for spelling in spellings}
    assert len(forms) == 1


@pytest.mark.parametrize(
    "name",
    [
        "Complejo Carcelario La Picota INPEC",
        "Juzgado 5 Laboral contra Colpensiones",
        "Sindicato de Trabajadores de la Administradora Colpensiones",
        "Asociación Colombiana de Pensionados de Colpensiones",
        "Institución Educativa SENA",
        "Asociación de Usuarios del Instituto Colombiano de Bienestar Familiar ICBF Regional Valle",
        "Procuraduría Delegada para la Policía Nacional",
        "Fiscalía 12 Local de Cali",
        "Seguros Generales Sura",
    ],
)
def test_other_parties_are_no_aliases(conn: psycopg.Connection, name: str) -> None:
    normalised = normalise(conn, name)
    assert conn.execute("select sherlock.canonical_text(%s)", [name]).fetchone() == (normalised,)


@FEW
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join))
def test_normalising_twice_changes_nothing(conn: psycopg.Connection, name: str) -> None:
    once = normalise(conn, name)
    assert once is None or normalise(conn, once) == once


@FEW
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_any_text_can_be_a_name(conn: psycopg.Connection, name: str) -> None:
    once = normalise(conn, name)
    assert once is None or (once == once.strip() and "  " not in once)


@FEW
@given(st.permutations(["maria", "de", "la", "cruz", "perez", "gomez", "y"]))
def test_key_is_the_same_in_any_order(conn: psycopg.Connection, words: list[str]) -> None:
    row = conn.execute("select sherlock.name_key(%s)", [" ".join(words)]).fetchone()
    assert row == ("cruz gomez maria perez",)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("RODRIGUEZ ALVAREZ MARIA FERNANDA", "María Fernanda Rodríguez Álvarez"),
        ("María Fernanda Rodríguez", "María Fernanda Rodríguez Paz"),
        ("María de la Cruz Pérez", "Maria Cruz Perez"),
        ("Juan Pérez Gómez", "Juana Pérez Gómez"),
        ("EPS Sanitas", "Sanitas E.P.S. S.A.S."),
        ("Juzgado Primero Civil Municipal", "JUZGADO 1° CIVIL MUNICIPAL"),
        ("Juzgado 22 Civil del Circuito", "Juzgado 22 Civil deI Circuilo"),
        ("Claudia Andrés Córdoba", "ClaudiaAndres Cordoba"),
        ("Rosalba Moreno Ortiz", "Rosalba Rnoreno Ortiz"),
        ("Lucía Gutiérrez Ávila", "Lucia Gutierrcz Avi1a"),
    ],
)
def test_same_party(conn: psycopg.Connection, left: str, right: str) -> None:
    assert agree(conn, left, right) is True


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Juzgado 22 Civil del Circuito de Bogotá", "Juzgado 23 Civil del Circuito de Bogotá"),
        ("Juzgado Primero Penal de Cali", "Juzgado Tercero Penal de Cali"),
        ("Juzgado 2 Civil Municipal de Cali", "Juzgado Civil Municipal de Cali"),
        ("Sección Segunda Subsección A", "Sección Segunda Subsección B"),
        ("Juzgado 5 Civil Municipal de Bogotá", "Juzgado 5 Penal Municipal de Bogotá"),
        ("Establecimiento Penitenciario y Carcelario de Neiva",
         "Establecimiento Penitenciario y Carcelario de Cúcuta"),
        ("María Fernanda Ruiz", "María Fernanda Díaz"),
        ("Claudia Milena Pérez Gutiérrez", "Claudia Milena Pérez Torres"),
        ("N.N.", "NN"),
        ("M.", "M."),
        ("A.A.", "A.A."),
        ("Juan Pérez", "Rosa Elvira Martínez"),
        ("Juan", "Juan Sebastián Pérez Gómez"),
    ],
)  # fmt: skip
def test_other_party(conn: psycopg.Connection, left: str, right: str) -> None:
    assert agree(conn, left, right) is False


def test_the_rules_refuse_what_the_ratio_alone_accepts(conn: psycopg.Connection) -> None:
    row = conn.execute(
        "select sherlock.ratcliff_obershelp("
        "'juzgado 22 civil del circuito de bogota', 'juzgado 23 civil del circuito de bogota'),"
        " sherlock.ratcliff_obershelp('juan perez gomez', 'juana perez gomez')"
    ).fetchone()
    assert row is not None
    assert row == pytest.approx((0.97, 0.97), abs=0.01)


def test_null_is_not_known(conn: psycopg.Connection) -> None:
    row = conn.execute(
        "select sherlock.names_agree(null, null, 'juan', 'juan', 0.85),"
        " sherlock.normalise_name(null), sherlock.name_key(null)"
    ).fetchone()
    assert row == (None, None, None)


@FEW
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    st.sampled_from([0.6, 0.85, 1.0]),
)
@example("Ana Diaz Ruiz", "Ana Diaz Ruis", 0.85)
def test_agreement_has_no_direction(
    conn: psycopg.Connection, left: str, right: str, threshold: float
) -> None:
    assert agree(conn, left, right, threshold) is agree(conn, right, left, threshold)


@FEW
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join))
def test_a_name_agrees_with_itself_unless_it_is_initials(
    conn: psycopg.Connection, name: str
) -> None:
    row = conn.execute(
        "select sherlock.is_initials(n.n), sherlock.name_key(n.n)"
        " from sherlock.normalise_name(%s) as n (n)",
        [name],
    ).fetchone()
    assert row is not None
    is_initials, key = row
    expected = None if key is None else not is_initials
    assert agree(conn, name, name) is expected


NUMBERED_WORDS = st.sampled_from(
    ["juzgado", "22", "22a", "1", "subseccion", "b", "x9", "9x", "a1b", "civil", "01"]
)


@given(*[st.lists(NUMBERED_WORDS, max_size=5).map(" ".join) for _ in range(2)])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_compared_fast_are_the_same_sets(
    conn: psycopg.Connection, left: str, right: str
) -> None:
    row = conn.execute(
        "select sherlock._numbers_agree(%(l)s, %(r)s),"
        " sherlock._numbers_of_name(%(l)s) = sherlock._numbers_of_name(%(r)s)",
        {"l": left, "r": right},
    ).fetchone()
    assert row is not None
    assert row[0] == row[1]


ONE_EDIT = st.tuples(st.integers(0, 60), st.sampled_from(["", "a", "e", "r", " de ", " la "]))


@FEW
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    st.lists(ONE_EDIT, max_size=4),
    st.randoms(use_true_random=False),
    st.sampled_from([0.6, 0.85, 1.0]),
)
@example(["Ana", "Díaz", "Ruiz"], [(3, " de la ")], random.Random(1), 0.85)
def test_letters_rule_out_no_names_that_agree(
    conn: psycopg.Connection,
    words: list[str],
    edits: list[tuple[int, str]],
    shuffler: random.Random,
    threshold: float,
) -> None:
    left = " ".join(words)
    shuffler.shuffle(words)
    right = " ".join(words)
    for at, put in edits:
        right = right[:at] + put + right[at + 1 :]
    row = conn.execute(
        "select sherlock.names_agree(l.n, l.k, r.n, r.k, %(threshold)s),"
        "       sherlock._key_similarity("
        "           l.k, r.k, sherlock._name_letters(l.k), sherlock._name_letters(r.k),"
        "           length(l.n) - length(l.k) + length(r.n) - length(r.k), %(threshold)s),"
        "       similarity(l.k, r.k)"
        " from (select n, sherlock.name_key(n) from sherlock.normalise_name(%(left)s) as n)"
        "       as l (n, k),"
        "      (select n, sherlock.name_key(n) from sherlock.normalise_name(%(right)s) as n)"
        "       as r (n, k)",
        {"left": left, "right": right, "threshold": threshold},
    ).fetchone()
    assert row is not None
    agrees, by_letters, similarity = row
    assert by_letters == similarity if agrees else by_letters in (similarity, None)


def test_letters_rule_out_other_names(conn: psycopg.Connection) -> None:
    row = conn.execute(
        "select sherlock._key_similarity("
        "           l.k, r.k, sherlock._name_letters(l.k), sherlock._name_letters(r.k), 0, 0.85),"
        "       sherlock._key_similarity(l.k, r.k, null, sherlock._name_letters(r.k), 0, 0.85),"
        "       sherlock._name_letters(repeat('abbz', 2) || 'ñ 1')::text"
        " from (values ('gomez juan perez', 'lucia quintero rojas')) as v (l, r),"
        "      lateral (select v.l) as l (k), lateral (select v.r) as r (k)"
    ).fetchone()
    assert row is not None
    assert row[0] is None
    assert row[1] < 0.25
    assert row[2] == "11001111" + "0" * 92 + "1100"
