"""A server with LC_ALL=C judges as any other: nothing depends on its locale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from sherlock_pg.db import schema
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS

NAME = "sherlock_test_locale_judged"


@pytest.fixture
def c_locale_conn(server: Any) -> Iterator[psycopg.Connection]:
    """Give a connection to an installed database whose locale is C."""
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL(
                "create database {} template template0 encoding 'UTF8' locale 'C'"
                " locale_provider 'libc'"
            ).format(sql.Identifier(NAME))
        )
        try:
            schema.upgrade(server.url(NAME))
            with psycopg.connect(server.url(NAME)) as conn:
                yield conn
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(NAME)))


def texts() -> list[str]:
    """Return filings, each again with a misread name and in capitals, and other letters."""
    filings = [
        compose(draw_case(5, f"locale-{number}", topic_name=TOPICS[number])).text()
        for number in range(6)
    ]
    changed = [text.replace("ñ", "n").replace("María", "Marla") for text in filings]
    others = [
        "Ñandú, PINGÜINO, Íñigo; " + " ".join(f"año{number} Ünal" for number in range(30)),
        "ÑANDÚ, pingüino, íñigo: " + " ".join(f"AÑO{number} ÜNAL" for number in range(30)),
        "Ελληνικά ΣΊΣΥΦΟΣ σίσυφος " + " ".join(f"λέξη{number}" for number in range(30)),
        "İstanbul ISPARTA ısparta straße STRASSE " + " ".join(f"kelime{n}" for n in range(30)),
    ]
    return filings + changed + [text.upper() for text in filings] + others


def judged(conn: psycopg.Connection) -> list[Any]:
    """Insert the texts and return all that was found out about them, ids counted from the first."""
    with conn.cursor() as cur:
        cur.executemany(
            "insert into sherlock.documents (content) values (%s)", [(text,) for text in texts()]
        )
    first = "(select min(document_id) from sherlock.documents)"
    return [
        conn.execute(query.format(first=first)).fetchall()
        for query in (
            "select doc_type, text_state, canonical_sha256 from sherlock.documents order by"
            " document_id",
            "select document_id - {first}, role, normalised, name_key, is_comparable"
            ' from sherlock.entities order by document_id, role collate "C", ordinal',
            "select document_id - {first}, matched_document_id - {first}, confidence, final_score,"
            " entity_score from sherlock.matches order by 1, 2",
        )
    ]


def test_verdicts_are_the_same_under_another_locale(
    conn: psycopg.Connection, c_locale_conn: psycopg.Connection
) -> None:
    here, there = judged(conn), judged(c_locale_conn)
    assert len(here[0]) == len(texts())
    assert len(here[2]) >= 12
    assert there == here
