"""Entities come in as JSON and are stored comparable."""

from __future__ import annotations

import json
import threading
from typing import Any

import psycopg
import pytest

from sherlock_pg.db import schema


def new_document(conn: psycopg.Connection) -> int:
    row = conn.execute(
        "insert into sherlock.documents (collection_id, name)"
        " select collection_id, 'prueba' from sherlock.collections where name = 'default'"
        " returning document_id"
    ).fetchone()
    assert row is not None
    found: int = row[0]
    return found


def store(conn: psycopg.Connection, document_id: int | None, entities: Any) -> int:
    row = conn.execute(
        "select sherlock.store_entities(%s, %s)", [document_id, json.dumps(entities)]
    ).fetchone()
    assert row is not None
    found: int = row[0]
    return found


def stored(conn: psycopg.Connection, document_id: int, columns: str) -> list[tuple[Any, ...]]:
    return conn.execute(
        f"select {columns} from sherlock.entities where document_id = %s order by role, ordinal",
        [document_id],
    ).fetchall()


def test_every_column(conn: psycopg.Connection) -> None:
    document_id = new_document(conn)
    entities = [
        {"role": "demandante", "value": " Dra. Ana María Peña\n", "source": "label",
         "score": 0.95, "start": 10, "end": 30, "owner": None, "is_comparable": True},
        {"role": "cedula", "value": "900.156.264-2", "id_type": "nit", "owner": "demandante"},
    ]  # fmt: skip
    assert store(conn, document_id, entities) == 2
    columns = (
        "role, ordinal, value, normalised, name_key, owner_role, id_type, is_comparable, source,"
        " score, start_offset, end_offset"
    )
    assert stored(conn, document_id, columns) == [
        ("cedula", 1, "900.156.264-2", "900156264", None, "demandante", "NIT", True, "supplied",
         1.0, None, None),
        ("demandante", 1, "Dra. Ana María Peña", "ana maria pena", "ana maria pena", None, None,
         True, "label", 0.95, 10, 30),
    ]  # fmt: skip
    collections = conn.execute(
        "select distinct e.collection_id = d.collection_id from sherlock.entities e"
        " join sherlock.documents d using (document_id) where document_id = %s",
        [document_id],
    ).fetchall()
    assert collections == [(True,)]


def test_repeats_and_empty_values_are_dropped_and_the_rest_is_numbered(
    conn: psycopg.Connection,
) -> None:
    document_id = new_document(conn)
    entities = [
        {"role": "demandado", "value": value}
        for value in ("ZETA LTDA.", "S.A.S.", "Colpensiones", "Zeta", "", "COLPENSIONES", "Alfa")
    ]
    assert store(conn, document_id, entities) == 3
    assert stored(conn, document_id, "ordinal, value, normalised") == [
        (1, "ZETA LTDA.", "zeta"),
        (2, "Colpensiones", "administradora colombiana de pensiones"),
        (3, "Alfa", "alfa"),
    ]


def test_storing_again_replaces(conn: psycopg.Connection) -> None:
    document_id = new_document(conn)
    assert store(conn, document_id, [{"role": "demandante", "value": "Ana Peña"}]) == 1
    assert store(conn, document_id, [{"role": "cedula", "value": "52345678"}]) == 1
    assert stored(conn, document_id, "role, normalised") == [("cedula", "52345678")]
    assert store(conn, document_id, []) == 0
    assert stored(conn, document_id, "role") == []


@pytest.mark.parametrize(
    ("entity", "is_comparable"),
    [
        ({"role": "demandante", "value": "N.N."}, False),
        ({"role": "demandante", "value": "A. A."}, False),
        ({"role": "demandante", "value": "M."}, False),
        ({"role": "demandante", "value": "C.G.A."}, False),
        ({"role": "demandante", "value": "la menor C.G.A."}, False),
        ({"role": "demandante", "value": "EMCR"}, False),
        ({"role": "demandante", "value": "E.P.M."}, True),
        ({"role": "demandado", "value": "ARGOS"}, True),
        ({"role": "demandado", "value": "I.C.B.F."}, True),
        ({"role": "demandante", "value": "Ana C. Peña"}, True),
        ({"role": "demandante", "value": "Ana Peña", "is_comparable": False}, False),
        ({"role": "demandante", "value": "N.N.", "is_comparable": True}, False),
        ({"role": "correo", "value": "j22cmpalbta@cendoj.ramajudicial.gov.co"}, False),
        ({"role": "correo", "value": "notificacionesjudiciales@eps.com.co"}, False),
        ({"role": "correo", "value": "ana@correo.com"}, True),
        ({"role": "cedula", "value": "52345678"}, True),
    ],
    ids=lambda value: value["value"] if isinstance(value, dict) else None,
)
def test_what_tells_documents_apart(
    conn: psycopg.Connection, entity: dict[str, Any], is_comparable: bool
) -> None:
    document_id = new_document(conn)
    assert store(conn, document_id, [entity]) == 1
    assert stored(conn, document_id, "is_comparable") == [(is_comparable,)]


def test_distinct_names_are_kept_for_retrieval(conn: psycopg.Connection) -> None:
    for _ in range(2):
        store(
            conn,
            new_document(conn),
            [
                {"role": "demandante", "value": "Wenceslao Uribe Prueba"},
                {"role": "demandante", "value": "N.N."},
                {"role": "demandado", "value": "Entidad Prueba"},
                {"role": "cedula", "value": "52345678"},
            ],
        )
    names = conn.execute(
        "select role, normalised from sherlock.party_names"
        " where normalised like '%prueba' or normalised in ('nn', '52345678') order by role"
    ).fetchall()
    assert names == [("demandado", "entidad prueba"), ("demandante", "wenceslao uribe prueba")]


def test_stored_and_supplied_entities_have_the_same_profile(conn: psycopg.Connection) -> None:
    document_id = new_document(conn)
    entities = [
        {"role": "demandante", "value": "Luis Rojas"},
        {"role": "demandante", "value": "Ana Peña"},
        {"role": "demandado", "value": "Juzgado Primero Civil"},
        {"role": "cedula", "value": "52.345.678", "owner": "demandado"},
        {"role": "cedula", "value": "79.111.222", "owner": "demandante"},
        {"role": "correo", "value": "ana@correo.com"},
        {"role": "correo", "value": "tutelas@eps.com"},
        {"role": "referencia", "value": "2023-ER-534743"},
    ]
    store(conn, document_id, entities)
    row = conn.execute(
        "select sherlock._entity_profile(%s::bigint), sherlock._entity_profile(%s::jsonb)",
        [document_id, json.dumps(entities)],
    ).fetchone()
    assert row is not None
    assert row[0] == row[1]
    assert row[0] == {
        "demandante": [["luis rojas", "luis rojas"], ["ana pena", "ana pena"]],
        "demandado": [["juzgado 1 civil", "1 civil juzgado"]],
        "cedula": ["79111222"],
        "correo": ["ana@correo.com"],
        "referencia": ["2023er534743"],
    }


def test_a_document_without_entities_has_an_empty_profile(conn: psycopg.Connection) -> None:
    row = conn.execute(
        "select sherlock._entity_profile(%s::bigint), sherlock._entity_profile('[]'::jsonb)",
        [new_document(conn)],
    ).fetchone()
    assert row == ({}, {})


def test_very_long_values_are_stored(conn: psycopg.Connection) -> None:
    document_id = new_document(conn)
    words = " ".join(f"palabra{n}" for n in range(3000))
    entities = [
        {"role": "demandado", "value": words},
        {"role": "referencia", "value": words},
        {"role": "cedula", "value": "12345" * 3000},
    ]
    assert store(conn, document_id, entities) == 3
    assert stored(conn, document_id, "max(length(normalised)) over ()") == [(200,)] * 3


@pytest.mark.parametrize("document_id", [-1, None])
def test_unknown_document(conn: psycopg.Connection, document_id: int | None) -> None:
    with pytest.raises(psycopg.Error) as caught:
        store(conn, document_id, [])
    assert caught.value.sqlstate == "SH001"
    assert caught.value.diag.message_hint


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ({"role": "demandante", "value": "Ana"}, "an array is needed, not object"),
        (None, "an array is needed, not null"),
        (["Ana"], "element 1: an object is needed"),
        ([{"value": "Ana"}], "element 1: role is missing"),
        ([{"role": None, "value": "Ana"}], "element 1: role is missing"),
        ([{"role": "demandante", "value": "Ana"}, {"role": "demandante"}],
         "element 2: value is missing"),
        ([{"role": "cedula", "value": 52345678}], "element 1: value is missing or not a string"),
        ([{"role": "cedula", "value": "1", "score": 2}], "score is not a number from 0 to 1"),
        ([{"role": "cedula", "value": "1", "score": "1"}], "score is not a number from 0 to 1"),
        ([{"role": "cedula", "value": "1", "start": -1}], "start is not a whole number"),
        ([{"role": "cedula", "value": "1", "end": 1.5}], "end is not a whole number"),
        ([{"role": "cedula", "value": "1", "is_comparable": "no"}], "is_comparable is not"),
        ([{"role": "cedula", "value": "1", "owner": 1}], "owner is not a string"),
    ],
)  # fmt: skip
def test_other_shapes_are_refused(conn: psycopg.Connection, entities: Any, message: str) -> None:
    document_id = new_document(conn)
    with pytest.raises(psycopg.Error) as caught:
        store(conn, document_id, entities)
    assert caught.value.sqlstate == "SH021"
    assert message in (caught.value.diag.message_primary or "")
    assert caught.value.diag.message_hint


def test_sql_null_is_refused(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select sherlock.store_entities(%s, null)", [new_document(conn)])
    assert caught.value.sqlstate == "SH021"


def test_unknown_role(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        store(conn, new_document(conn), [{"role": "juez", "value": "Ana"}])
    assert caught.value.sqlstate == "SH020"


def test_sessions_that_bring_the_same_names_do_not_deadlock(database_url: str) -> None:
    """Each adds the same names in the opposite order, in a transaction of several documents."""
    names = [{"role": "demandado", "value": f"Entidad {letter * 3}"} for letter in "abcdefgh"]
    with psycopg.connect(database_url) as conn:
        documents = [new_document(conn) for _ in range(2)]
    barrier = threading.Barrier(2)
    failures: list[BaseException] = []

    def run(document_id: int, entities: list[dict[str, str]]) -> None:
        try:
            with psycopg.connect(database_url) as conn:
                barrier.wait(timeout=30)
                store(conn, document_id, entities)
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=(documents[0], names)),
        threading.Thread(target=run, args=(documents[1], names[::-1])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from sherlock.party_names").fetchone() == (8,)
        assert conn.execute("select count(*) from sherlock.entities").fetchone() == (16,)


def test_letters_of_profiles_are_those_of_the_keys(conn: psycopg.Connection) -> None:
    """Those that the trigger keeps, and those with which the revision fills older rows."""
    document_id = new_document(conn)
    names = ["Juan de la Cruz Gómez", "María Ñáñez", "北京 大学"]
    store(conn, document_id, [{"role": "demandante", "value": name} for name in names])
    query = (
        "select name_letters::text[], array("
        "     select sherlock._name_letters(k.key)::text"
        "     from unnest(name_keys) with ordinality as k (key, position) order by k.position)"
        " from sherlock.entity_profiles where document_id = %s"
    )
    kept, expected = conn.execute(query, [document_id]).fetchone() or (None, None)
    assert kept == expected and len(kept) == len(names)
    conn.execute("update sherlock.entity_profiles set name_letters = '{}'")
    revision = schema._script_directory().get_revision("0015")
    conn.execute(revision.module._FILL)
    assert conn.execute(query, [document_id]).fetchone() == (expected, expected)
