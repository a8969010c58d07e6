"""Ids, addresses, dockets and references in comparable form."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FEW = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def entity(
    conn: psycopg.Connection, role: str | None, value: str | None, id_type: str | None = None
) -> str | None:
    row = conn.execute(
        "select sherlock.normalise_entity(%s, %s, %s)", [role, value, id_type]
    ).fetchone()
    assert row is not None
    found: str | None = row[0]
    return found


@pytest.mark.parametrize(
    ("value", "id_type", "expected"),
    [
        ("C.C. No. 52.345.678", "CC", "52345678"),
        ("52 345 678", None, "52345678"),
        ("052.345.678", None, "52345678"),
        ("52'345,678", None, "52345678"),
        ("1O2O345678", "CC", "1020345678"),
        ("1.O2O.345.678", "CC", "1020345678"),
        ("52.34l.678", "CC", "52341678"),
        ("٥٢", None, None),
        ("000", None, None),
        ("99.999.999", None, None),
        ("sin número", None, None),
        ("", None, None),
        ("900.156.264-2", "NIT", "900156264"),
        ("900156264 – 2", "NIT", "900156264"),
        ("NIT 9001562642", "NIT", "900156264"),
        ("900.156.264", "NIT", "900156264"),
        ("52.345.678-1", "NIT", "52345678"),
        ("1.020.345.678-5", "NIT", "1020345678"),
        ("10203456785", "NIT", "1020345678"),
        ("1020345678", "NIT", "1020345678"),
        ("900.156.264-2", "CC", "9001562642"),
        (None, "CC", None),
    ],
)
def test_identity_number(
    conn: psycopg.Connection, value: str | None, id_type: str | None, expected: str | None
) -> None:
    assert entity(conn, "cedula", value, id_type) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Juan.Perez@Correo.com", "juan.perez@correo.com"),
        ("juan.perez @ correo . com.", "juan.perez@correo.com"),
        ("<mailto:juan_perez+1@correo.com.co>", "juan_perez+1@correo.com.co"),
        ("jos\u00e9@correo.com", "jose@correo.com"),
        ("rosa.nanez1955@correo.example", "rosa.nanez1955@correo.example"),
        ("no tiene", None),
        ("juan@correo", None),
        ("@correo.com", None),
        ("a." * 5000, None),
        (None, None),
    ],
)
def test_address(conn: psycopg.Connection, value: str | None, expected: str | None) -> None:
    assert entity(conn, "correo", value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("18993-40-21-009-2015-00191-00", "189934021009201500191"),
        ("18993402100920150019101", "189934021009201500191"),
        ("189934021009201500191", "189934021009201500191"),
        ("Rad. No. 18993 40 21 009 2015 00191 00", "189934021009201500191"),
        ("18993-40-21-OO9-2015-00191-00", "189934021009201500191"),
        ("2015-00191", None),
        ("1" * 24, None),
        ("", None),
        (None, None),
    ],
)
def test_docket(conn: psycopg.Connection, value: str | None, expected: str | None) -> None:
    assert entity(conn, "radicado", value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2023-ER-534743", "2023er534743"),
        ("Resolución N.º 00123/2020", "resolucionno001232020"),
        ("t-123.456", "t123456"),
        ("--", None),
        (None, None),
    ],
)
def test_reference(conn: psycopg.Connection, value: str | None, expected: str | None) -> None:
    assert entity(conn, "referencia", value) == expected


def test_parties_are_normalised_as_names(conn: psycopg.Connection) -> None:
    assert entity(conn, "demandante", "Dra. Ana Peña") == "ana pena"
    assert entity(conn, "demandado", "COLPENSIONES") == "administradora colombiana de pensiones"


@pytest.mark.parametrize("role", ["abogado", "", None])
def test_unknown_role_is_an_error_with_a_hint(conn: psycopg.Connection, role: str | None) -> None:
    with pytest.raises(psycopg.Error) as caught:
        entity(conn, role, "Ana")
    assert caught.value.sqlstate == "SH020"
    assert caught.value.diag.message_hint is not None
    assert "demandante" in caught.value.diag.message_hint


@FEW
@given(st.sampled_from(["cedula", "correo", "referencia"]), TEXT)
def test_normalising_twice_changes_nothing(conn: psycopg.Connection, role: str, value: str) -> None:
    once = entity(conn, role, value)
    assert once is None or entity(conn, role, once) == once


@FEW
@given(
    st.integers(10_000, 99_999_999_999),
    st.sampled_from(["", ".", " ", ","]),
    st.sampled_from(["CC", "CE", "NIT", None]),
)
def test_separators_of_thousands_change_nothing(
    conn: psycopg.Connection, number: int, separator: str, id_type: str | None
) -> None:
    plain = entity(conn, "cedula", str(number), id_type)
    grouped = f"{number:,}".replace(",", separator)
    assert entity(conn, "cedula", grouped, id_type) == plain
    assert plain is None or entity(conn, "cedula", plain, id_type) == plain


@FEW
@given(st.from_regex(r"\A[1-9][0-9]{20,22}\Z"), st.lists(st.integers(1, 20), max_size=6))
def test_docket_is_its_first_21_digits_however_it_is_split(
    conn: psycopg.Connection, digits: str, cuts: list[int]
) -> None:
    parts = [
        digits[start:end]
        for start, end in zip(
            [0, *sorted(set(cuts))], [*sorted(set(cuts)), len(digits)], strict=True
        )
    ]
    assert entity(conn, "radicado", "-".join(parts)) == digits[:21]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("j22cmpalbta@cendoj.ramajudicial.gov.co", True),
        ("reparto@ramajudicial.gov.co", True),
        ("notificacionesjudiciales@nuevaeps.com.co", True),
        ("notif.judicial@banco.com", True),
        ("tutelas@eps.com.co", True),
        ("juridica@hospital.org", True),
        ("juan.perez@dian.gov.co", True),
        ("tutela1@eps.com", False),
        ("juan.perez@gmail.com", False),
        ("juridico2000@gmail.com", False),
        ("ana@gov.com.co", False),
    ],
)
def test_addresses_of_courts_and_institutions(
    conn: psycopg.Connection, address: str, expected: bool
) -> None:
    row = conn.execute("select sherlock.is_institutional_email(%s)", [address]).fetchone()
    assert row == (expected,)
