"""What the entities of two documents say about each other."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import namedtuple_row

FEW = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


class Case(NamedTuple):
    demandante: str | None = None
    demandado: str | None = None
    cedula: str | None = None
    correo: str | None = None
    radicado: str | None = None
    referencia: str | None = None

    def as_json(self) -> list[dict[str, Any]]:
        """Several values of a role are separated by a bar."""
        return [
            {"role": role, "value": value}
            for role, values in self._asdict().items()
            if values is not None
            for value in values.split("|")
        ]


ANA = Case("Ana María Peña", "Nueva EPS", "52.345.678", "ana@correo.com")
DOCKET = "11001-40-03-022-2023-00123-00"
OTHER_DOCKET = "11001-40-03-022-2023-00999-00"
LUIS = Case("Luis Rojas Díaz", "Nueva E.P.S.", "79.111.222", "luis@correo.com")


def compare(
    conn: psycopg.Connection, left: list[dict[str, Any]], right: list[dict[str, Any]]
) -> Any:
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(
            "select c.* from sherlock.compare_entities(sherlock._entity_profile(%s::jsonb),"
            " sherlock._entity_profile(%s::jsonb), 0.85) as c",
            [json.dumps(left), json.dumps(right)],
        ).fetchone()


def compare_cases(conn: psycopg.Connection, left: Case, right: Case) -> Any:
    return compare(conn, left.as_json(), right.as_json())


def test_same_people(conn: psycopg.Connection) -> None:
    found = compare_cases(
        conn, ANA, Case("PEÑA ANA MARIA", "NUEVA E.P.S. S.A.", "52345678", "ANA@correo.com.")
    )
    assert found.demandante_agrees is True
    assert found.demandado_agrees is True
    assert found.both_parties is True
    assert found.cedula_agrees is True
    assert found.correo_agrees is True
    assert found.radicado_agrees is None
    assert found.referencia_jaccard is None
    assert found.is_comparable is True
    assert found.has_conflict is False
    assert found.differing == []
    assert found.shared == [
        {"role": "demandante", "value": "ana maria pena", "other": "pena ana maria"},
        {"role": "demandado", "value": "nueva eps"},
        {"role": "cedula", "value": "52345678"},
        {"role": "correo", "value": "ana@correo.com"},
    ]


def test_same_template_other_people(conn: psycopg.Connection) -> None:
    found = compare_cases(conn, ANA, LUIS)
    assert (found.demandante_agrees, found.demandado_agrees) == (False, True)
    assert (found.cedula_agrees, found.correo_agrees) == (False, False)
    assert found.both_parties is False
    assert found.is_comparable is True
    assert found.has_conflict is True
    assert found.shared == [{"role": "demandado", "value": "nueva eps"}]
    assert {"role": "cedula", "value": "52345678", "other": "79111222"} in found.differing
    assert [entry["role"] for entry in found.differing] == ["demandante", "cedula", "correo"]


@pytest.mark.parametrize(
    ("left", "right", "has_conflict"),
    [
        pytest.param(ANA, ANA._replace(cedula="52.845.678"), False, id="one digit misread"),
        pytest.param(ANA, ANA._replace(cedula="5.234.678"), False, id="one digit lost"),
        pytest.param(ANA, ANA._replace(cedula="79.111.222"), False, id="same name, other id"),
        pytest.param(
            Case("Juan Pérez", cedula="52345678"),
            Case("Juana Pérez", cedula="79111222"),
            True,
            id="similar name, other id",
        ),
        pytest.param(
            Case("Juan Pérez", cedula="52345678"),
            Case("Juana Pérez", cedula="52345679"),
            False,
            id="similar name, id misread",
        ),
        pytest.param(Case("Juan Pérez"), Case("Juana Pérez"), False, id="similar name, no id"),
        pytest.param(Case("Juan Pérez"), Case("Luis Rojas"), True, id="other name, no id"),
        pytest.param(
            Case("Juan Pérez", cedula="52345678"),
            Case("Luis Rojas"),
            True,
            id="other name, id on one side",
        ),
        pytest.param(
            Case("Juan Pérez", cedula="52345678"),
            Case("Luis Rojas", cedula="52345678"),
            False,
            id="same id, other name",
        ),
        pytest.param(Case(cedula="52345678"), Case(cedula="79111222"), True, id="ids alone"),
        pytest.param(
            Case(cedula="52345678|79111222"),
            Case(cedula="1020345678|79111222"),
            False,
            id="one id of several",
        ),
        pytest.param(
            ANA._replace(radicado="11001400302220230012300"),
            ANA._replace(radicado="11001400302220230099900"),
            False,
            id="other docket",
        ),
        pytest.param(Case(demandado="Sanitas EPS"), Case(demandado="Colpensiones"), False,
                     id="other defendant"),
        pytest.param(Case("M."), Case("L."), False, id="initials"),
        pytest.param(Case(), Case(), False, id="nothing"),
    ],
)  # fmt: skip
def test_conflict(conn: psycopg.Connection, left: Case, right: Case, has_conflict: bool) -> None:
    assert compare_cases(conn, left, right).has_conflict is has_conflict
    assert compare_cases(conn, right, left).has_conflict is has_conflict


def test_a_differing_docket_is_listed(conn: psycopg.Connection) -> None:
    found = compare_cases(
        conn,
        ANA._replace(radicado="11001-40-03-022-2023-00123-00"),
        ANA._replace(radicado="11001400302220230099900"),
    )
    assert found.radicado_agrees is False
    assert found.differing == [
        {"role": "radicado", "value": "110014003022202300123", "other": "110014003022202300999"}
    ]


@pytest.mark.parametrize(
    ("left", "right", "is_comparable"),
    [
        (Case("Juan Pérez", "DIAN"), Case("Luis Rojas", "DIAN"), True),
        (Case("Juan Pérez", "DIAN"), Case("Juan Pérez"), False),
        (Case("Juan Pérez", "DIAN"), Case(demandado="DIAN"), False),
        (Case(cedula="52345678"), Case(cedula="1020345678"), True),
        (Case(correo="a@b.com"), Case(correo="c@d.com"), True),
        (Case(correo="a@b.com"), Case(cedula="52345678"), False),
        (Case(radicado=DOCKET), Case(radicado=DOCKET), True),
        (Case("Juan Pérez", "DIAN", radicado=DOCKET), Case("Juan Pérez", radicado=DOCKET), True),
        (Case(radicado=DOCKET), Case(radicado=OTHER_DOCKET), False),
        (Case("Juan Pérez", radicado=DOCKET), Case("Juan Pérez", radicado=OTHER_DOCKET), False),
        (Case("A.B.C.", "DIAN"), Case("A.B.C.", "DIAN"), False),
        (Case(correo="tutelas@eps.com"), Case(correo="tutelas@eps.com"), False),
        (Case(), ANA, False),
    ],
)  # fmt: skip
def test_comparable(conn: psycopg.Connection, left: Case, right: Case, is_comparable: bool) -> None:
    assert compare_cases(conn, left, right).is_comparable is is_comparable
    assert compare_cases(conn, right, left).is_comparable is is_comparable


def test_any_of_several_parties(conn: psycopg.Connection) -> None:
    found = compare_cases(
        conn,
        Case("Ana Peña|Luis Rojas", "DIAN|ICBF"),
        Case("Rosa Gómez|Luiz Rojas", "Colpensiones|Bienestar Familiar"),
    )
    assert found.both_parties is True
    assert found.shared == [
        {"role": "demandante", "value": "luis rojas", "other": "luiz rojas"},
        {"role": "demandado", "value": "instituto colombiano de bienestar familiar"},
    ]


def test_references_by_jaccard(conn: psycopg.Connection) -> None:
    found = compare_cases(
        conn, Case(referencia="A-100|B-200|C-300"), Case(referencia="a 100|B200|D-400")
    )
    assert found.referencia_jaccard == pytest.approx(2 / 4)
    assert found.shared == [{"role": "referencia", "value": "a100; b200"}]


def test_ids_of_others_count_only_where_there_is_no_other(conn: psycopg.Connection) -> None:
    def profile(*owners: str | None) -> dict[str, Any]:
        numbers = [
            {"role": "cedula", "value": str(52_000_001 + n), "owner": owner}
            for n, owner in enumerate(owners)
        ]
        row = conn.execute(
            "select sherlock._entity_profile(%s::jsonb)", [json.dumps(numbers)]
        ).fetchone()
        assert row is not None
        found: dict[str, Any] = row[0]
        return found

    assert profile("demandado", "demandante", None) == {"cedula": ["52000002", "52000003"]}
    assert profile("demandado", "apoderado") == {"cedula": ["52000001", "52000002"]}


def test_address_of_another_is_not_compared(conn: psycopg.Connection) -> None:
    address = {"role": "correo", "value": "abogado@correo.com", "owner": "apoderado"}
    found = compare(conn, [address], [address])
    assert found.correo_agrees is None
    assert found.is_comparable is False


def test_null_profiles_are_not_comparable(conn: psycopg.Connection) -> None:
    row = conn.execute(
        "select is_comparable, has_conflict, both_parties, shared"
        " from sherlock.compare_entities(null, '{}', 0.85)"
    ).fetchone()
    assert row == (False, False, False, [])


cases = st.builds(
    Case,
    st.sampled_from([None, "Juan Pérez", "Juana Pérez", "Luis Rojas|Juan Perez", "N.N."]),
    st.sampled_from([None, "DIAN", "Nueva EPS|DIAN", "Juzgado 22 Civil", "Juzgado 23 Civil"]),
    st.sampled_from([None, "52345678", "52345679", "1020345678|52345678"]),
    st.sampled_from([None, "ana@correo.com", "luis@correo.com"]),
    st.sampled_from([None, "11001400302220230012300", "11001400302220230099900"]),
    st.sampled_from([None, "A-100", "A-100|B-200"]),
)


@FEW
@given(cases, cases)
def test_agreement_has_no_direction(conn: psycopg.Connection, left: Case, right: Case) -> None:
    there = compare_cases(conn, left, right)
    back = compare_cases(conn, right, left)
    for field in there._fields:
        if field not in ("shared", "differing"):
            assert getattr(there, field) == getattr(back, field), field
    assert [e["role"] for e in there.differing] == [e["role"] for e in back.differing]


@FEW
@given(cases)
def test_a_document_agrees_with_itself(conn: psycopg.Connection, case: Case) -> None:
    found = compare_cases(conn, case, case)
    assert found.has_conflict is False
    assert found.differing == []
    assert False not in (found.cedula_agrees, found.correo_agrees, found.radicado_agrees)


def score(conn: psycopg.Connection, *arguments: bool | float | None) -> float:
    row = conn.execute(
        "select sherlock.entity_score(%s::boolean, %s::boolean, %s::boolean, %s, %s, %s)",
        arguments,
    ).fetchone()
    assert row is not None
    found: float = row[0]
    return found


@pytest.mark.parametrize(
    ("both", "cedula", "correo", "expected"),
    [
        (True, True, True, 1.0),
        (True, True, False, 0.30 / 0.35),
        (True, None, True, 0.25 / 0.35),
        (False, True, True, 0.15 / 0.35),
        (None, None, None, 0.0),
    ],
)
def test_score_is_the_share_of_the_boosts(
    conn: psycopg.Connection,
    both: bool | None,
    cedula: bool | None,
    correo: bool | None,
    expected: float,
) -> None:
    assert score(conn, both, cedula, correo, 0.20, 0.10, 0.05) == pytest.approx(expected)


@FEW
@given(
    st.tuples(*[st.sampled_from([True, False, None])] * 3),
    st.tuples(*[st.floats(0, 1, allow_subnormal=False)] * 3),
)
def test_score_is_a_share(
    conn: psycopg.Connection,
    agrees: tuple[bool | None, ...],
    boosts: tuple[float, ...],
) -> None:
    assert 0 <= score(conn, *agrees, *boosts) <= 1


@pytest.mark.parametrize(
    ("left", "right", "both_parties"),
    [
        pytest.param(Case(), Case(), True, id="no parties"),
        pytest.param(Case("Ana Peña", "DIAN"), Case("Ana Peña"), True, id="no defendant"),
        pytest.param(Case(demandado="DIAN"), Case("Ana Peña", "DIAN"), True, id="no plaintiff"),
        pytest.param(Case("A.B.", "DIAN"), Case("A.B.", "DIAN"), True, id="initials"),
        pytest.param(Case("Ana Peña", "DIAN"), Case("Luis Rey", "DIAN"), False, id="plaintiffs"),
        pytest.param(Case("Ana Peña", "DIAN"), Case("Ana Peña", "ISS"), False, id="defendants"),
        pytest.param(Case("Ana Peña", "DIAN"), Case("Ana Peña", "DIAN"), True, id="same parties"),
    ],
)  # fmt: skip
def test_a_docket_stands_in_for_parties_that_cannot_be_compared(
    conn: psycopg.Connection, left: Case, right: Case, both_parties: bool
) -> None:
    for one, other in ((left, right), (right, left)):
        found = compare_cases(
            conn,
            one._replace(radicado=DOCKET),
            other._replace(radicado=f"{OTHER_DOCKET}|11001400302220230012300"),
        )
        assert found.both_parties is both_parties
        assert found.is_comparable is True
        assert found.radicado_agrees is True


@pytest.mark.parametrize("people", [Case(), Case("Ana Peña"), Case(cedula="52345678"), ANA])
def test_another_docket_changes_nothing(conn: psycopg.Connection, people: Case) -> None:
    without = compare_cases(conn, people, people)
    differing = compare_cases(
        conn, people._replace(radicado=DOCKET), people._replace(radicado=OTHER_DOCKET)
    )
    assert differing.radicado_agrees is False
    for field in ("both_parties", "is_comparable", "has_conflict"):
        assert getattr(differing, field) is getattr(without, field)
