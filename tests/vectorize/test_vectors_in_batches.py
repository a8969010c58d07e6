"""A fit in Python gives all documents their vectors, those that change meanwhile too."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest

from sherlock_pg.vectorize import lifecycle, tfidf

Session = Any
"""A session of conftest.py."""

DIFFERENT_FROM_SQL = (
    "select v.document_id from sherlock.document_vectors as v"
    " where l2_distance(v.vector, sherlock.tfidf_vector("
    "  v.model_id, sherlock.canonical_text(sherlock.document_text(v.document_id)))) > 1e-6"
)


def vectorized(session: Session) -> list[int]:
    rows = session.conn.execute(
        "select document_id from sherlock.document_vectors order by 1"
    ).fetchall()
    return [row[0] for row in rows]


def test_all_have_the_vectors_of_sql(
    dba: Session, filings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "_BATCH", 10)
    ids = dba.add([*filings, "ñandú"])
    counts: list[int] = []
    assert lifecycle.fit_if_needed(dba.conn, "default", on_vector=counts.append) == 1
    assert counts == [10, 10, 9]
    assert vectorized(dba) == ids
    assert dba.conn.execute(DIFFERENT_FROM_SQL).fetchall() == []
    assert dba.scalar("select count(distinct xmin::text) from sherlock.document_vectors") == 3


def test_rows_of_watched_tables_have_theirs(dba: Session, filings: list[str]) -> None:
    dba.conn.execute("create table public.cartas (id integer primary key, cuerpo text)")
    dba.conn.execute(
        "insert into public.cartas select t.n, t.cuerpo"
        " from unnest(%s::text[]) with ordinality as t (cuerpo, n)",
        [filings],
    )
    dba.conn.execute("select sherlock.watch('public.cartas', 'id', array['cuerpo'])")
    dba.conn.execute("call sherlock.backfill('public.cartas')")
    collection = dba.scalar("select name from sherlock.collections where name <> 'default'")
    lifecycle.fit(dba.conn, collection, progress=lifecycle._Steps(None))
    newest = dba.scalar("select max(model_id) from sherlock.tfidf_models where status = 'active'")
    assert dba.scalar(
        "select count(*) from sherlock.document_vectors where model_id = %s", newest
    ) == len(filings)
    assert dba.conn.execute(DIFFERENT_FROM_SQL).fetchall() == []


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_what_changes_or_goes_after_it_was_read_has_no_vector_of_the_old_text(
    dba: Session,
    filings: list[str],
    other: Session,
    monkeypatch: pytest.MonkeyPatch,
    isolation: str,
) -> None:
    ids = dba.insert(*filings[:4])
    dba.conn.execute(f"set default_transaction_isolation = '{isolation}'".encode())
    transform = tfidf.Vocabulary.transform

    def change_meanwhile(vocabulary: tfidf.Vocabulary, texts: Iterable[str]) -> Any:
        vectors = transform(vocabulary, texts)
        other.conn.execute(
            "update sherlock.documents set content = %s where document_id = %s",
            [filings[4], ids[0]],
        )
        other.conn.execute("delete from sherlock.documents where document_id = %s", [ids[1]])
        other.scalar("select sherlock.vectorize_documents(1, %s)", [ids[2]])
        return vectors

    monkeypatch.setattr(tfidf.Vocabulary, "transform", change_meanwhile)
    assert lifecycle.fit_if_needed(dba.conn, "default") == 1
    assert vectorized(dba) == [ids[0], ids[2], ids[3]]
    assert dba.conn.execute(DIFFERENT_FROM_SQL).fetchall() == []


@pytest.mark.parametrize("statement", [b"select pg_sleep(60)", b"copy pg_class to stdout"])
def test_interrupted_in_the_middle_of_a_statement_it_says_so_and_holds_nothing(
    dba: Session, filings: list[str], database_url: str, statement: bytes
) -> None:
    dba.add(filings)

    class Interrupted(lifecycle._Steps):
        def step(self, count: int = 1) -> None:
            # What a signal leaves that comes between a statement and its result.
            conn.pgconn.send_query(statement)
            raise KeyboardInterrupt

    with psycopg.connect(database_url, autocommit=True) as conn:
        with pytest.raises(KeyboardInterrupt):
            lifecycle.fit(conn, "default", progress=Interrupted(None))
        assert conn.closed
    for _ in range(100):
        if not dba.scalar("select count(*) from pg_locks where locktype = 'advisory'"):
            break
        time.sleep(0.05)
    assert lifecycle.fit(dba.conn, "default", progress=lifecycle._Steps(None)) == 1
