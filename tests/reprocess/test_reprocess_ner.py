"""Entities found again in stored texts: what is out of date, history, verdicts, interruptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.ner import rules
from sherlock_pg.ner.pipeline import PartyExtractor
from sherlock_pg.reprocess import run as batches

Sherlock = Callable[..., Any]
Reprocess = Callable[..., dict[str, Any]]
Rows = Callable[..., list[tuple[Any, ...]]]
Write = Callable[..., Path]

OTHER = {"name": "JAIRO ENRIQUE MOSQUERA LUNA", "cedula": "16.222.333", "defendant": "COLPENSIONES"}
VERSION = (
    "select processing #>> '{ner_versions,rules}' from sherlock.documents order by document_id"
)


@pytest.fixture
def loaded(sherlock: Sherlock, write: Write, rows: Rows) -> list[int]:
    """Give two filings of different people from one template, stored by the loader."""
    write("1.txt")
    second = write("2.txt", date="9 de marzo de 2025", **OTHER)
    assert sherlock("load", "--ner-model", "none", second.parent).code == 0
    return [row[0] for row in rows("select document_id from sherlock.documents order by 1")]


def entities(rows: Rows, document_id: int) -> list[tuple[Any, ...]]:
    return rows(
        "select role, normalised from sherlock.entities where document_id = %s order by 1, 2",
        document_id,
    )


def found_by_old_rules(rows: Rows, document_id: int, of: int) -> None:
    """Make a document as rules of version 2 left it, who took its people for those of another."""
    rows(
        "select r.* from sherlock.replace_entities(%s, ("
        " select jsonb_agg(jsonb_build_object('role', role, 'value', value, 'id_type', id_type))"
        " from sherlock.entities where document_id = %s),"
        ' \'{"ner_versions": {"rules": "2"}}\') as r',
        document_id,
        of,
    )


def test_what_todays_rules_found_is_not_looked_at(reprocess: Reprocess, loaded: list[int]) -> None:
    result = reprocess("--ner")
    assert (result["selected"], result["processed"]) == (0, 0)
    result = reprocess("--ner", "--all")
    assert (result["processed"], result["changed"], result["verdicts_changed"]) == (2, 0, 0)


def test_new_rules_correct_entities_and_verdicts(
    reprocess: Reprocess, loaded: list[int], rows: Rows
) -> None:
    right = entities(rows, loaded[1])
    verdict = "select confidence from sherlock.detections where document_id = %s"
    right_verdict = rows(verdict, loaded[1])
    found_by_old_rules(rows, loaded[1], of=loaded[0])
    wrong_verdict = rows(verdict, loaded[1])
    assert right_verdict != wrong_verdict
    result = reprocess("--ner")
    assert (result["selected"], result["processed"], result["changed"]) == (1, 1, 1)
    assert result["verdict_changes"] == [
        {"before": wrong_verdict[0][0], "after": right_verdict[0][0] or "none", "documents": 1}
    ]
    assert entities(rows, loaded[1]) == right
    assert rows(verdict, loaded[1]) == right_verdict
    assert rows(VERSION) == [(rules.RULES_VERSION,)] * 2
    history = rows(
        "select reading_number, kind, processing #>> '{ner_versions,rules}', content is null,"
        " jsonb_path_exists(entities, '$[*] ? (@.value == \"CARMEN ROSA QUINTERO ARIAS\")')"
        " from sherlock.document_readings where document_id = %s order by 1",
        loaded[1],
    )
    assert history[1] == (2, "ner", "2", True, True)
    assert reprocess("--ner")["selected"] == 0


def test_another_version_without_another_result(
    reprocess: Reprocess, loaded: list[int], rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "RULES_VERSION", "99.1")
    result = reprocess("--ner")
    assert (result["processed"], result["changed"]) == (2, 0)
    assert rows(VERSION) == [("99.1",)] * 2
    assert rows("select count(*) from sherlock.document_readings") == [(0,)]
    assert reprocess("--ner")["processed"] == 0


def test_an_interrupted_run_is_gone_on_with(
    sherlock: Sherlock,
    reprocess: Reprocess,
    write: Write,
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(5):
        folder = write(f"{number}.txt", date=f"{number + 1} de mayo de 2025").parent
    assert sherlock("load", "--ner-model", "none", folder).code == 0
    monkeypatch.setattr(rules, "RULES_VERSION", "99")
    monkeypatch.setattr(batches, "BATCH_SIZE", 2)
    seen: list[str] = []
    extract = PartyExtractor.extract

    def interrupted(self: PartyExtractor, text: str) -> Any:
        seen.append(text)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return extract(self, text)

    monkeypatch.setattr(PartyExtractor, "extract", interrupted)
    ran = sherlock("reprocess", "--ner", "--ner-model", "none")
    assert ran.code == 130
    assert "2 documents done and committed; the same command goes on" in ran.err
    assert [row[0] for row in rows(VERSION)].count("99") == 2
    result = reprocess("--ner")
    assert (result["selected"], result["processed"]) == (3, 3)
    assert rows(VERSION) == [("99",)] * 5


def test_with_all_an_interrupted_run_says_where_to_go_on(
    sherlock: Sherlock,
    reprocess: Reprocess,
    loaded: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "BATCH_SIZE", 1)
    seen: list[str] = []
    extract = PartyExtractor.extract

    def interrupted(self: PartyExtractor, text: str) -> Any:
        seen.append(text)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return extract(self, text)

    monkeypatch.setattr(PartyExtractor, "extract", interrupted)
    ran = sherlock("reprocess", "--ner", "--ner-model", "none", "--all")
    assert ran.code == 130
    assert f"goes on with --after-id {loaded[0]}" in ran.err
    assert reprocess("--ner", "--all", "--after-id", loaded[0])["processed"] == 1


def test_a_text_that_cannot_be_taken_apart_keeps_its_entities(
    reprocess: Reprocess, loaded: list[int], rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = entities(rows, loaded[0])
    monkeypatch.setattr(rules, "RULES_VERSION", "99")
    extract = PartyExtractor.extract

    def broken(self: PartyExtractor, text: str) -> Any:
        if "CARMEN" in text:
            raise ValueError("too odd")
        return extract(self, text)

    monkeypatch.setattr(PartyExtractor, "extract", broken)
    result = reprocess("--ner", code=1)
    assert (result["processed"], result["failed"]) == (1, 1)
    assert result["failures"] == [{"document_id": loaded[0], "error": "ValueError('too odd')"}]
    assert entities(rows, loaded[0]) == before
    assert rows(VERSION)[1] == ("99",)


def test_a_text_that_changes_meanwhile_is_left(
    reprocess: Reprocess,
    loaded: list[int],
    rows: Rows,
    tutela: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rules, "RULES_VERSION", "99")
    extract = PartyExtractor.extract
    changed = tutela(name="ANA LUCÍA PEÑA ROJAS")

    def overtaken(self: PartyExtractor, text: str) -> Any:
        if "CARMEN" in text:
            rows(
                "update sherlock.documents set content = %s where document_id = %s",
                changed,
                loaded[0],
            )
        return extract(self, text)

    monkeypatch.setattr(PartyExtractor, "extract", overtaken)
    result = reprocess("--ner")
    assert (result["processed"], result["overtaken"]) == (1, 1)
    assert ("demandante", "ana lucia pena rojas") in entities(rows, loaded[0])
    # The entities of the new text are SQL's: the next run looks at it.
    assert rows(VERSION)[0] == (None,)
    assert reprocess("--ner")["processed"] == 1
    assert rows(VERSION)[0] == ("99",)


def test_texts_of_plain_sql_get_what_the_python_rules_find(
    reprocess: Reprocess, rows: Rows, tutela: Callable[..., str]
) -> None:
    rows("select sherlock.create_collection('notas', 'text')")
    rows(
        "insert into sherlock.documents (content, supplied_entities, collection_id) values"
        " (%s, null, 1), (%s, '[]', 1), (%s, null, sherlock.collection_id('notas'))",
        *[tutela()] * 3,
    )
    result = reprocess("--ner")
    # Entities that came with a text stay as they came, and notes have none.
    assert (result["selected"], result["processed"]) == (1, 1)
    counts = rows(
        "select d.document_id, count(e.role) from sherlock.documents as d"
        " left join sherlock.entities as e using (document_id) group by 1 order by 1"
    )
    assert [count > 0 for _, count in counts] == [True, False, False]


def test_texts_of_watched_tables_are_read_where_they_are(
    reprocess: Reprocess, rows: Rows, tutela: Callable[..., str]
) -> None:
    rows("create table escritos (escrito_id integer primary key, cuerpo text)")
    rows(
        "select sherlock.watch('escritos', p_key => 'escrito_id', p_text => array['cuerpo'],"
        " p_profile => 'legal')"
    )
    rows("insert into escritos values (1, %s)", tutela())
    assert reprocess("--ner")["processed"] == 1
    assert rows(VERSION) == [(rules.RULES_VERSION,)]


def test_deadlocks_are_tried_again(
    reprocess: Reprocess, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "RULES_VERSION", "99")
    store = batches._store
    attempts: list[int] = []

    def crosswise(conn: psycopg.Connection, found: Any) -> Any:
        attempts.append(len(found))
        if len(attempts) == 1:
            conn.execute("do $$ begin raise sqlstate '40P01'; end $$")
        return store(conn, found)

    monkeypatch.setattr(batches, "_store", crosswise)
    assert reprocess("--ner")["processed"] == 2
    assert attempts == [2, 2]
