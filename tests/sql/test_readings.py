"""Readings replaced by others: history, verdicts made again, flags that decide, a person's word."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from sherlock_pg.ingest.reasons import Flag, Reason, explain

DECIDING = ["low_yield", "low_quality", "ocr_timeout_pages"]

TUTELA = (
    "Señor juez de tutela, yo, {name}, con cédula de ciudadanía {cedula}, instauro acción de tutela"
    " contra {entity} porque desde el {day} de febrero no autoriza las sesiones de hemodiálisis con"
    " transporte que el médico tratante ordenó por insuficiencia renal crónica en estadio cuatro;"
    " presenté derecho de petición y la respuesta fue que no había agenda disponible en Armenia,"
    " y he sido hospitalizada dos veces por edema pulmonar mientras esperaba la respuesta"
)
PEOPLE = [
    {"role": "demandante", "value": "Carmen Rosa Quintero Arias"},
    {"role": "demandado", "value": "Nueva EPS"},
    {"role": "cedula", "value": "41.555.777", "id_type": "CC", "owner": "demandante"},
]
OTHERS = [
    {"role": "demandante", "value": "Jairo Enrique Mosquera Luna"},
    {"role": "demandado", "value": "Colpensiones"},
    {"role": "cedula", "value": "16.222.333", "id_type": "CC", "owner": "demandante"},
]
BARE = Jsonb([])


def tutela(day: int = 4) -> str:
    return TUTELA.format(name="la suscrita", cedula="arriba citada", entity="la entidad", day=day)


def insert(conn: psycopg.Connection, text: str | None, **columns: Any) -> int:
    names = ["content", *columns]
    row = conn.execute(
        f"insert into sherlock.documents ({', '.join(names)})"
        f" values ({', '.join(['%s'] * len(names))}) returning document_id",
        [text, *columns.values()],
    ).fetchone()
    assert row is not None
    return int(row[0])


def value(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query, parameters).fetchone()
    return None if row is None else row[0]


def verdict(conn: psycopg.Connection, document_id: int) -> tuple[Any, ...] | None:
    return conn.execute(
        "select confidence, best_match_id from sherlock.detections where document_id = %s",
        [document_id],
    ).fetchone()


def readings(conn: psycopg.Connection, document_id: int) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=psycopg.rows.dict_row) as cur:
        return cur.execute(
            "select * from sherlock.document_readings where document_id = %s"
            " order by reading_number",
            [document_id],
        ).fetchall()


def replace(
    conn: psycopg.Connection, *entities: tuple[int, list[dict[str, Any]]]
) -> list[tuple[Any, ...]]:
    return conn.execute(
        "select document_id, is_changed, confidence_before, confidence, action_before, action"
        " from sherlock.replace_entities(%s, %s::jsonb[], %s::jsonb[])",
        [
            [document_id for document_id, _ in entities],
            [Jsonb(found) for _, found in entities],
            [Jsonb({"ner_versions": {"rules": "9"}}) for _ in entities],
        ],
    ).fetchall()


@pytest.fixture
def pair(conn: psycopg.Connection) -> tuple[int, int]:
    """Give two tutelas from one template that were stored without their parties."""
    first = insert(conn, tutela(4), doc_type="tutela", supplied_entities=BARE)
    second = insert(conn, tutela(9), doc_type="tutela", supplied_entities=BARE)
    return first, second


def test_replaced_entities_are_kept_and_verdicts_made_again(
    conn: psycopg.Connection, pair: tuple[int, int]
) -> None:
    first, second = pair
    assert verdict(conn, second) == ("HIGH", first)
    replace(conn, (first, PEOPLE))
    rows = replace(conn, (second, OTHERS))
    # Other people with the same text: level 3 is 0 where it was absent.
    assert rows == [(second, True, "HIGH", None, "REVIEW", "ACCEPT")]
    assert verdict(conn, second) == (None, None)
    (old,) = readings(conn, second)
    assert (old["reading_number"], old["kind"], old["entities"]) == (1, "ner", [])
    assert (old["content"], old["text_state"], old["status"]) == (None, "indexed", "ok")
    assert old["replaced_by"] == value(conn, "select session_user")
    assert (
        value(
            conn,
            "select processing -> 'ner_versions' ->> 'rules' from sherlock.documents"
            " where document_id = %s",
            second,
        )
        == "9"
    )
    closed = conn.execute(
        "select confidence, closed_reason from sherlock.closed_detections where document_id = %s",
        [second],
    ).fetchall()
    assert closed == [("HIGH", "rejudged")]


def test_documents_that_were_judged_against_it_are_judged_again(
    conn: psycopg.Connection, pair: tuple[int, int]
) -> None:
    first, second = pair
    replace(conn, (second, OTHERS))
    rows = replace(conn, (first, PEOPLE))
    assert rows == [
        (first, True, None, None, "ACCEPT", "ACCEPT"),
        (second, False, "HIGH", None, "REVIEW", "ACCEPT"),
    ]


def test_the_same_entities_leave_no_history_but_a_new_version(
    conn: psycopg.Connection, pair: tuple[int, int]
) -> None:
    first, _ = pair
    replace(conn, (first, PEOPLE))
    judged_at = value(
        conn, "select detected_at from sherlock.detections where document_id = %s", first
    )
    shifted = [{**entity, "start": 7, "end": 9, "source": "rules"} for entity in PEOPLE]
    assert [row[1] for row in replace(conn, (first, shifted))] == [False]
    assert len(readings(conn, first)) == 1
    assert judged_at == value(
        conn, "select detected_at from sherlock.detections where document_id = %s", first
    )
    starts = conn.execute(
        "select distinct start_offset from sherlock.entities where document_id = %s", [first]
    ).fetchall()
    assert starts == [(7,)]


def test_history_can_be_put_back(conn: psycopg.Connection, pair: tuple[int, int]) -> None:
    first, _ = pair
    replace(conn, (first, PEOPLE))
    stored = "select value, normalised, id_type, owner_role, is_comparable from sherlock.entities"
    before = conn.execute(f"{stored} where document_id = %s order by 1", [first]).fetchall()
    replace(conn, (first, OTHERS))
    assert value(
        conn,
        "select sherlock.replace_entities(document_id, entities) from sherlock.document_readings"
        " where document_id = %s and reading_number = 2",
        first,
    )
    after = conn.execute(f"{stored} where document_id = %s order by 1", [first]).fetchall()
    assert after == before
    assert [r["reading_number"] for r in readings(conn, first)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("ids", "entities", "code"),
    [
        ([1, 2], [[]], "SH055"),
        ([1, 1], [[], []], "SH055"),
        ([999_999], [[]], "SH001"),
    ],
)
def test_replacing_refuses_what_does_not_fit(
    conn: psycopg.Connection, ids: list[int], entities: list[Any], code: str
) -> None:
    with pytest.raises(psycopg.Error) as failure:
        conn.execute(
            "select * from sherlock.replace_entities(%s::bigint[], %s::jsonb[])",
            [ids, [Jsonb(e) for e in entities]],
        )
    assert failure.value.sqlstate == code
    assert failure.value.diag.message_hint


def test_history_goes_with_its_document(conn: psycopg.Connection, pair: tuple[int, int]) -> None:
    first, _ = pair
    replace(conn, (first, PEOPLE))
    conn.execute("delete from sherlock.documents where document_id = %s", [first])
    assert readings(conn, first) == []


def test_reindexing_what_is_current_changes_nothing(
    conn: psycopg.Connection, pair: tuple[int, int]
) -> None:
    rows = conn.execute("select * from sherlock.reindex(%s)", [list(pair)]).fetchall()
    assert rows == [
        (pair[0], False, None, None, "ACCEPT", "ACCEPT"),
        (pair[1], False, "HIGH", "HIGH", "REVIEW", "REVIEW"),
    ]
    assert readings(conn, pair[1]) == []


def test_reindexing_by_another_rule_keeps_the_reading_and_judges_again(
    conn: psycopg.Connection, pair: tuple[int, int]
) -> None:
    """The rule that changes is a list of what is left out of the fuzzy levels."""
    first, second = pair
    conn.execute(
        "update sherlock.documents set flags = '{repaired}' where document_id = %s", [first]
    )
    conn.execute(
        "create or replace function sherlock._is_excluded("
        " p_flags text[], p_accepted_at timestamptz)"
        " returns boolean language sql immutable return p_flags && array['repaired']"
    )
    conn.execute(
        "create or replace function sherlock.feature_version()"
        " returns integer language sql immutable return 2"
    )
    rows = conn.execute("select * from sherlock.reindex(%s)", [[first]]).fetchall()
    assert rows == [
        (first, True, None, None, "ACCEPT", "ACCEPT"),
        (second, False, "HIGH", None, "REVIEW", "ACCEPT"),
    ]
    (old,) = readings(conn, first)
    assert (old["kind"], old["text_state"], old["feature_version"]) == ("features", "indexed", 1)
    assert (
        value(conn, "select feature_version from sherlock.documents where document_id = %s", first)
        == 2
    )


@pytest.mark.parametrize("flag", DECIDING)
def test_a_badly_read_text_is_matched_by_exact_copies_only(
    conn: psycopg.Connection, flag: str
) -> None:
    people = Jsonb(PEOPLE)
    first = insert(conn, tutela(4), flags=[flag], supplied_entities=people)
    near = insert(conn, tutela(9), supplied_entities=people)
    copy = insert(conn, tutela(4), supplied_entities=people)
    bad_near = insert(conn, tutela(12), flags=["repaired", flag], supplied_entities=people)
    assert (
        value(conn, "select text_state from sherlock.documents where document_id = %s", first)
        == "excluded"
    )
    assert verdict(conn, near) == (None, None)
    assert verdict(conn, copy) == ("EXACT", first)
    assert verdict(conn, bad_near) == (None, None)
    found = conn.execute(
        "select document_id from sherlock.find_duplicates_of_text(%s, %s)", [tutela(9), people]
    ).fetchall()
    assert {row[0] for row in found} == {near}


@pytest.mark.parametrize("flag", [flag for flag in Flag if flag not in DECIDING])
def test_other_flags_keep_nothing_out(conn: psycopg.Connection, flag: str) -> None:
    first = insert(conn, tutela(4), flags=[str(flag)])
    assert verdict(conn, insert(conn, tutela(9))) == ("HIGH", first)


@pytest.mark.parametrize(
    ("text", "state"), [("dos palabras", "short"), ("", "empty"), (tutela(4), "indexed")]
)
def test_a_flag_goes_before_length_and_acceptance_before_the_flag(
    conn: psycopg.Connection, text: str, state: str
) -> None:
    document_id = insert(conn, text, flags=["low_yield"])
    kept_out = "select text_state from sherlock.documents where document_id = %s"
    assert value(conn, kept_out, document_id) == "excluded"
    assert value(conn, "select sherlock.accept_reading(%s)", document_id) == state
    assert value(conn, kept_out, document_id) == state


@pytest.mark.parametrize("flag", DECIDING)
def test_a_person_accepts_a_reading_and_takes_it_back(conn: psycopg.Connection, flag: str) -> None:
    first = insert(conn, tutela(4), flags=[flag])
    second = insert(conn, tutela(9))
    listed = "select advice from sherlock.unreadable_documents where document_id = %s"
    assert value(conn, listed, first) == explain(Flag(flag)).advice
    assert value(conn, "select sherlock.accept_reading(%s, 'ana')", first) == "indexed"
    assert verdict(conn, second) == ("HIGH", first)
    assert value(conn, listed, first) is None
    assert (
        value(
            conn,
            "select accepted_by from sherlock.documents where document_id = %s and accepted_at"
            " > now()",
            first,
        )
        == "ana"
    )
    with pytest.raises(psycopg.Error, match="accepted by ana") as failure, conn.transaction():
        conn.execute("select sherlock.accept_reading(%s)", [first])
    assert failure.value.sqlstate == "SH056"
    assert value(conn, "select sherlock.accept_reading(%s, p_withdraw => true)", first) == (
        "excluded"
    )
    assert verdict(conn, second) == (None, None)
    history = readings(conn, first)
    assert [(r["kind"], r["text_state"]) for r in history] == [
        ("features", "excluded"),
        ("features", "indexed"),
    ]


def test_what_can_not_be_accepted(conn: psycopg.Connection) -> None:
    good = insert(conn, tutela(4))
    failed = insert(conn, None, status="failed", reason="damaged")
    for document_id, code in ((good, "SH056"), (failed, "SH008"), (999_999, "SH001")):
        with pytest.raises(psycopg.Error) as failure, conn.transaction():
            conn.execute("select sherlock.accept_reading(%s)", [document_id])
        assert failure.value.sqlstate == code
        assert failure.value.diag.message_hint


def test_the_list_says_what_is_wrong_where_and_what_to_do(conn: psycopg.Connection) -> None:
    document_id = insert(conn, tutela(4), flags=["ocr_timeout_pages"], status="partial", name="a")
    conn.execute(
        "insert into sherlock.document_pages (document_id, page_number, method, char_count,"
        " quality) values (%(id)s, 1, 'native', 300, 1), (%(id)s, 2, 'skipped', 0, null),"
        " (%(id)s, 3, 'ocr', 900, 0.2), (%(id)s, 4, 'blank', 0, null)",
        {"id": document_id},
    )
    conn.execute(
        "insert into sherlock.document_sources (document_id, source_uri) values (%s, '/in/a.pdf')",
        [document_id],
    )
    failed = insert(conn, None, status="failed", reason="damaged", name="b")
    rows = conn.execute(
        "select document_id, name, status, text_state, reason, flags, pages,"
        " round(quality::numeric, 2)::float, source_uri, advice"
        " from sherlock.unreadable_documents order by document_id"
    ).fetchall()
    assert rows == [
        (
            document_id, "a", "partial", "excluded", None, ["ocr_timeout_pages"], [2, 3], 0.4,
            "/in/a.pdf", explain(Flag.OCR_TIMEOUT_PAGES).advice,
        ),
        (
            failed, "b", "failed", None, "damaged", [], None, None, None,
            explain(Reason.DAMAGED).advice,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("code", [*Reason, *(Flag(flag) for flag in DECIDING)])
def test_sql_and_the_command_line_give_the_same_advice(
    conn: psycopg.Connection, code: Reason | Flag
) -> None:
    assert value(conn, "select sherlock._reading_advice(%s)", str(code)) == explain(code).advice


def test_flags_that_plain_sql_sets_later_take_effect(conn: psycopg.Connection) -> None:
    first = insert(conn, tutela(4))
    second = insert(conn, tutela(9))
    change = "update sherlock.documents set flags = %s where document_id = %s"
    conn.execute(change, [["repaired"], first])
    assert readings(conn, first) == []
    conn.execute(change, [["repaired", "low_quality"], first])
    assert verdict(conn, second) == (None, None)
    conn.execute(change, [[], first])
    assert verdict(conn, second) == ("HIGH", first)
    assert [(r["text_state"], r["flags"]) for r in readings(conn, first)] == [
        ("indexed", ["repaired"]),
        ("excluded", ["repaired", "low_quality"]),
    ]
