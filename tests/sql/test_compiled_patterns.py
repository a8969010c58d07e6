"""How many regular expressions an inserted text makes a session compile: it keeps only 32."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS

KEPT = 32
BUDGET = 26
CASES = Path(__file__).parents[1] / "data" / "parties_cases.jsonl"


def narrated(count: int) -> list[str]:
    """Give texts that tell of their parties in sentences, which takes more patterns than forms."""
    texts = [json.loads(line)["text"] for line in CASES.read_text().splitlines()]
    return [text for text in texts if " contra " in text][:count]


def compiled(conn: psycopg.Connection) -> int:
    """Return how many compiled expressions the session holds."""
    row = conn.execute(
        "select count(*) from pg_backend_memory_contexts where name = 'RegexpMemoryContext'"
    ).fetchone()
    assert row is not None
    count = int(row[0])
    return count


def insert(conn: psycopg.Connection, text: str) -> None:
    conn.execute("insert into sherlock.documents (content) values (%s)", [text])


@pytest.fixture(autouse=True)
def _contexts_are_told(conn: psycopg.Connection) -> None:
    if conn.info.server_version < 160000:
        pytest.skip("before PostgreSQL 16 compiled expressions have no memory context of their own")


def test_forms_are_compiled_for_once(conn: psycopg.Connection) -> None:
    for number in range(3 * len(TOPICS)):
        case = draw_case(11, f"form-{number}", topic_name=TOPICS[number % len(TOPICS)])
        insert(conn, compose(case).text())
    assert 0 < compiled(conn) < KEPT


@pytest.mark.parametrize("text", narrated(30))
def test_a_narrated_text_is_within_the_budget(conn: psycopg.Connection, text: str) -> None:
    insert(conn, text)
    assert 0 < compiled(conn) <= BUDGET
