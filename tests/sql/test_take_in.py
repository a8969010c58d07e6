"""Texts inserted, changed and deleted by plain SQL, judged in the same transaction."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

LETTER = (
    "Por medio de la presente solicito el reintegro del dinero que el banco descontó de mi cuenta"
    " de ahorros el pasado {day} de marzo, sin autorización y sin aviso, cuando hice una"
    " transferencia desde el teléfono que nunca llegó a su destino; pido además copia de los"
    " registros de la operación y los nombres de los responsables de la oficina {office}"
)
OTHER = (
    "El comité de regantes informa que la siembra de papa comienza en la vereda de arriba cuando"
    " baje el caudal del río, que los turnos se publican en la escuela cada lunes y que quien no"
    " limpie su acequia antes del viernes pierde el turno de esa semana y el de la siguiente"
)


def letter(day: int = 4, office: str = "del centro") -> str:
    return LETTER.format(day=day, office=office)


def insert(conn: psycopg.Connection, *texts: str | None, **columns: Any) -> list[int]:
    """Insert texts in one statement and return the ids."""
    names = ["content", *columns]
    row = f"({', '.join(['%s'] * len(names))})"
    values = [value for text in texts for value in (text, *columns.values())]
    rows = conn.execute(
        f"insert into sherlock.documents ({', '.join(names)})"
        f" values {', '.join([row] * len(texts))} returning document_id",
        values,
    ).fetchall()
    return [row[0] for row in rows]


def verdicts(conn: psycopg.Connection, *document_ids: int) -> list[tuple[str, str | None, Any]]:
    rows = conn.execute(
        "select recommended_action, confidence, best_match_id from sherlock.latest_verdicts"
        " where document_id = any(%s) order by document_id",
        [list(document_ids)],
    ).fetchall()
    return [(row[0], row[1], row[2]) for row in rows]


def test_an_inserted_text_has_its_verdict_in_the_same_transaction(conn: psycopg.Connection) -> None:
    (first,) = insert(conn, letter())
    (second,) = insert(conn, letter(day=9))
    (third,) = insert(conn, letter())
    (last,) = insert(conn, OTHER)
    assert verdicts(conn, first, second, third, last) == [
        ("ACCEPT", None, None),
        ("REVIEW", "HIGH", first),
        ("REJECT", "EXACT", first),
        ("ACCEPT", None, None),
    ]


def test_rows_of_one_statement_are_judged_against_each_other(conn: psycopg.Connection) -> None:
    ids = insert(conn, letter(), OTHER, letter(day=5), OTHER)
    assert verdicts(conn, *ids) == [
        ("ACCEPT", None, None),
        ("ACCEPT", None, None),
        ("REVIEW", "HIGH", ids[0]),
        ("REJECT", "EXACT", ids[1]),
    ]


def test_copy_is_judged_too(conn: psycopg.Connection) -> None:
    with conn.cursor().copy("copy sherlock.documents (name, content) from stdin") as copy:
        for number in range(40):
            copy.write_row((f"c{number}", letter(day=number % 20, office=f"número {number % 20}")))
    rows = conn.execute(
        "select recommended_action, count(*) from sherlock.latest_verdicts"
        " where name like 'c%' and confidence = 'EXACT' group by 1"
    ).fetchall()
    assert rows == [("REJECT", 20)]
    row = conn.execute(
        "select count(*) from sherlock.latest_verdicts where recommended_action is null"
    ).fetchone()
    assert row == (0,)


def test_add_document_returns_what_detect_says(conn: psycopg.Connection) -> None:
    (first,) = insert(conn, letter(), name="primera")
    added = conn.execute(
        "select document_id, recommended_action, candidates from sherlock.add_document(%s, 'otra')",
        [letter(day=12)],
    ).fetchone()
    assert added is not None
    document_id, action, candidates = added
    detected = conn.execute(
        "select recommended_action, candidates from sherlock.detect(%s)", [document_id]
    ).fetchone()
    assert detected == (action, candidates)
    assert [(c["document_id"], c["name"], c["confidence"]) for c in candidates] == [
        (first, "primera", "HIGH")
    ]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n¡…!", "empty"),
        ("dos palabras", "short"),
        ("palabra " * 300, "short"),
        ("我们每天都收到同样的文件所以需要自动比较它们的内容和当事人的姓名", "indexed"),
        ("مرحبا " + " ".join(f"كلمة{n}" for n in range(40)), "indexed"),
        (" ".join(f"😀 {n}" for n in range(40)), "indexed"),
    ],
)
def test_any_text_has_a_verdict(conn: psycopg.Connection, text: str | None, state: str) -> None:
    first, second = insert(conn, text, text)
    row = conn.execute(
        "select array_agg(text_state order by document_id) from sherlock.documents"
        " where document_id in (%s, %s)",
        [first, second],
    ).fetchone()
    assert row == ([state, state],)
    exact = ("REJECT", "EXACT", first)
    nothing = ("ACCEPT", None, None)
    assert verdicts(conn, first, second) == [nothing, nothing if state == "empty" else exact]


def test_composed_and_decomposed_letters_are_the_same_text(conn: psycopg.Connection) -> None:
    ids = insert(conn, letter(office="de Ibagué"), letter(office="de Ibague\u0301"))
    assert verdicts(conn, *ids)[1] == ("REJECT", "EXACT", ids[0])


def test_a_text_of_five_megabytes(conn: psycopg.Connection) -> None:
    words = " ".join(f"palabra{n % 90_000}" for n in range(400_000))
    ids = insert(conn, words, words + " fin")
    assert len(words) > 5_000_000
    assert verdicts(conn, *ids)[1][1] == "HIGH"


def test_entities_are_looked_for_unless_they_are_supplied(conn: psycopg.Connection) -> None:
    text = letter() + " Cédula de ciudadanía No. 52.345.678, correo ana.perez@ejemplo.com."
    supplied = Jsonb([{"role": "demandante", "value": "Rosa Elvira Cuesta"}])
    (found,) = insert(conn, text)
    (given,) = insert(conn, text, supplied_entities=supplied)
    rows = conn.execute(
        "select document_id, role, normalised from sherlock.entities"
        " where document_id in (%s, %s) order by 1, 2",
        [found, given],
    ).fetchall()
    assert rows == [
        (found, "cedula", "52345678"),
        (found, "correo", "ana.perez@ejemplo.com"),
        (given, "demandante", "rosa elvira cuesta"),
    ]


def test_a_collection_of_texts_has_no_entities(conn: psycopg.Connection) -> None:
    row = conn.execute("select sherlock.create_collection('noticias', 'text')").fetchone()
    assert row is not None
    (document_id,) = insert(conn, letter() + " ana@ejemplo.com", collection_id=row[0])
    assert conn.execute(
        "select count(*) from sherlock.entities where document_id = %s", [document_id]
    ).fetchone() == (0,)


def test_the_type_is_guessed_where_none_is_given(conn: psycopg.Connection) -> None:
    text = "Acción de tutela. Señor juez de tutela: " + letter()
    guessed, given = insert(conn, text)[0], insert(conn, text, doc_type="carta")[0]
    rows = conn.execute(
        "select doc_type from sherlock.documents where document_id in (%s, %s) order by 1 desc",
        [guessed, given],
    ).fetchall()
    assert rows == [("tutela",), ("carta",)]


@pytest.mark.parametrize("beginning", [0, 5_980, 5_990, 6_000, 9_000])
def test_a_long_text_gets_the_type_that_its_beginning_announces(
    conn: psycopg.Connection, beginning: int
) -> None:
    """Where the whole is canonical already, as where only the beginning is."""
    text = f"{'Aquí, nada: ' * 750}"[:beginning] + " Acción  de\nTUTELA " + "y más " * 900
    (document_id,) = insert(conn, text)
    row = conn.execute(
        "select d.doc_type, sherlock.guess_doc_type(d.content) from sherlock.documents as d"
        " where d.document_id = %s",
        [document_id],
    ).fetchone()
    expected = "tutela" if beginning < 5_982 else "default"
    assert row == (expected, expected)


def test_an_update_of_the_text_forgets_the_old_one(conn: psycopg.Connection) -> None:
    first, second, third = insert(conn, letter(), letter(day=9), OTHER)
    conn.execute(
        "update sherlock.documents set content = %s where document_id = %s",
        [OTHER + " en la vereda", first],
    )
    assert verdicts(conn, first, second, third) == [
        ("ACCEPT", None, None),
        ("ACCEPT", None, None),
        ("REVIEW", "HIGH", first),
    ]
    rows = conn.execute(
        "select m.document_id from sherlock.find_duplicates_of_text(%s) as m", [letter()]
    ).fetchall()
    assert rows == [(second,)]
    closed = conn.execute(
        "select document_id, matched_document_id, confidence, closed_reason"
        " from sherlock.closed_matches"
    ).fetchall()
    assert closed == [(second, first, "HIGH", "changed")]


def test_an_update_of_anything_else_computes_nothing(conn: psycopg.Connection) -> None:
    (document_id,) = insert(conn, letter())
    query = (
        "select d.indexed_at, v.detected_at, s.ctid from sherlock.documents as d"
        " join sherlock.detections as v using (document_id)"
        " join sherlock.document_signatures as s using (document_id) where document_id = %s"
    )
    before = conn.execute(query, [document_id]).fetchone()
    conn.execute(
        "update sherlock.documents set name = 'x', content = content || '' where document_id = %s",
        [document_id],
    )
    assert conn.execute(query, [document_id]).fetchone() == before


def test_another_type_is_judged_by_its_thresholds(conn: psycopg.Connection) -> None:
    first, second = insert(conn, letter(), letter(day=9), doc_type="default")
    score = conn.execute(
        "select best_score from sherlock.detections where document_id = %s", [second]
    ).fetchone()
    assert score is not None
    assert verdicts(conn, second)[0][1] == "HIGH"
    conn.execute(
        "insert into sherlock.detection_configs (doc_type, high_threshold) values ('severa', %s)",
        [score[0] + 0.0001],
    )
    conn.execute(
        "update sherlock.documents set doc_type = 'severa' where document_id = %s", [second]
    )
    assert verdicts(conn, first, second) == [("ACCEPT", None, None), ("REVIEW", "MEDIUM", first)]


def test_a_document_stays_in_its_collection(conn: psycopg.Connection) -> None:
    insert(conn, letter())
    conn.execute("select sherlock.create_collection('otra')")
    with pytest.raises(psycopg.Error, match="can't move to another collection") as raised:
        conn.execute("update sherlock.documents set collection_id = sherlock.collection_id('otra')")
    assert raised.value.sqlstate == "SH022"


def test_a_deletion_leaves_nothing_behind_and_loses_nothing(conn: psycopg.Connection) -> None:
    first, second, third = insert(conn, letter(), letter(day=9), letter(day=11), name="carta")
    conn.execute("delete from sherlock.documents where document_id = %s", [first])
    assert verdicts(conn, second, third) == [("ACCEPT", None, None), ("REVIEW", "HIGH", second)]
    conn.execute("delete from sherlock.documents where document_id in (%s, %s)", [second, third])
    for table in ("band_keys", "document_signatures", "document_vectors", "entities", "matches"):
        assert conn.execute(f"select count(*) from sherlock.{table}").fetchone() == (0,), table
    closed = conn.execute(
        "select document_id, matched_document_id, confidence, closed_reason, matched_name"
        " from sherlock.closed_matches order by 1, 2"
    ).fetchall()
    assert [row[:4] for row in closed] == [
        (second, first, "HIGH", "deleted"),
        (third, first, "HIGH", "deleted"),
        (third, second, "HIGH", "deleted"),
    ]
    assert [row[4] for row in closed] == ["carta", "carta", "carta"]
    verdict_rows = conn.execute(
        "select document_id, confidence, closed_reason from sherlock.closed_detections"
        " where closed_reason = 'deleted' order by document_id"
    ).fetchall()
    assert verdict_rows == [
        (first, None, "deleted"),
        (second, None, "deleted"),
        (third, "HIGH", "deleted"),
    ]


def test_a_verdict_that_stays_the_same_closes_nothing(conn: psycopg.Connection) -> None:
    (_, second) = insert(conn, letter(), letter(day=9))
    for _ in range(2):
        conn.execute("select sherlock.record_detection(%s)", [second])
    for table in ("closed_matches", "closed_detections"):
        assert conn.execute(f"select count(*) from sherlock.{table}").fetchone() == (0,)


def test_without_a_vocabulary_the_verdict_names_the_absent_level(conn: psycopg.Connection) -> None:
    insert(conn, letter())
    (second,) = insert(conn, letter(day=9))
    row = conn.execute(
        "select evidence -> 'absent' from sherlock.matches where document_id = %s", [second]
    ).fetchone()
    assert row == (["tfidf", "entities"],)


def test_listeners_hear_of_duplicates_once(database_url: str) -> None:
    with (
        psycopg.connect(database_url, autocommit=True) as listener,
        psycopg.connect(database_url, autocommit=True) as conn,
    ):
        listener.execute("listen sherlock_duplicate")
        (first,) = insert(conn, letter())
        (second,) = insert(conn, letter(day=9))
        conn.execute("select sherlock.record_detection(%s)", [second])
        heard = [json.loads(n.payload) for n in listener.notifies(timeout=2, stop_after=2)]
    assert [(h["document_id"], h["confidence"], h["best_match_id"]) for h in heard] == [
        (second, "HIGH", first)
    ]


def test_a_role_that_may_only_insert_is_judged_too(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("drop role if exists sherlock_test_writer")
        conn.execute("create role sherlock_test_writer")
        try:
            conn.execute("grant usage on schema sherlock to sherlock_test_writer")
            conn.execute(
                "grant insert (content, name) on sherlock.documents to sherlock_test_writer"
            )
            conn.execute("set role sherlock_test_writer")
            for day in (1, 2):
                conn.execute(
                    "insert into sherlock.documents (content) values (%s)", [letter(day=day)]
                )
            conn.execute("reset role")
            row = conn.execute("select count(*) from sherlock.matches").fetchone()
            assert row == (1,)
        finally:
            conn.execute("reset role")
            conn.execute("drop owned by sherlock_test_writer")
            conn.execute("drop role sherlock_test_writer")
