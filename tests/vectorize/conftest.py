"""Filings, documents without features, and sessions for tests of the life of vocabularies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.samples.variants import Kind, make_variant


class Session:
    """A session that commits each statement, with what the server says.

    Attributes:
        conn: the connection.
        said: messages of the last call.
        on_notice: called with each message, while the server goes on working.
    """

    def __init__(self, url: str) -> None:
        self.conn = psycopg.connect(url, autocommit=True)
        self.conn.execute("set plpgsql.extra_errors = 'all'")
        self.said: list[str] = []
        self.on_notice: Callable[[str], None] = lambda _: None
        self.conn.add_notice_handler(self._hear)

    @property
    def pid(self) -> int:
        """Return the process of the session on the server."""
        return self.conn.info.backend_pid

    def refresh(self, arguments: str = "") -> list[str]:
        """Call the procedure and return what it said."""
        return self._call(f"call sherlock.refresh_vocabulary({arguments})")

    def roll_back(self, arguments: str = "") -> list[str]:
        """Call the procedure and return what it said."""
        return self._call(f"call sherlock.roll_back_vocabulary({arguments})")

    def scalar(self, query: str, *parameters: object) -> Any:
        """Return the first column of the first row."""
        row = self.conn.execute(query.encode(), parameters).fetchone()
        assert row is not None
        return row[0]

    def add(self, contents: Sequence[str | None], **options: str) -> list[int]:
        """Insert documents without features."""
        return insert_documents(self.conn, contents, **options)

    def insert(self, *contents: str) -> list[int]:
        """Insert documents as anybody does: they get features and are judged."""
        return [
            self.scalar(
                "insert into sherlock.documents (collection_id, content)"
                " values (sherlock.collection_id('default'), %s) returning document_id",
                content,
            )
            for content in contents
        ]

    def statuses(self) -> dict[int, str]:
        """Return the status of each model."""
        return dict(
            self.conn.execute(
                "select model_id, status from sherlock.tfidf_models order by 1"
            ).fetchall()
        )

    def status(self, collection: str = "default") -> dict[str, Any]:
        """Return the collection's row of the view."""
        with self.conn.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            row = cursor.execute(
                "select * from sherlock.vocabulary_status where collection = %s", [collection]
            ).fetchone()
        assert row is not None
        return row

    def lock_holders(self) -> list[int]:
        """Return the sessions that hold the lock of a vocabulary."""
        rows = self.conn.execute(
            "select pid from pg_locks where locktype = 'advisory' and granted"
            " and classid = sherlock._vocabulary_lock_class()::oid"
        ).fetchall()
        return [row[0] for row in rows]

    def wait_until_waiting(self, pid: int) -> None:
        """Wait until a session waits for a lock."""
        deadline = time.monotonic() + 20
        while not self.scalar("select cardinality(pg_blocking_pids(%s)) > 0", pid):
            assert time.monotonic() < deadline, "it never waited"
            time.sleep(0.02)

    def set_lock_timeout(self, function: str) -> None:
        """Shorten the ten seconds that a function waits for a lock."""
        self.conn.execute(
            f"alter function sherlock.{function}(integer) set lock_timeout = '50ms'".encode()
        )

    def _call(self, statement: str) -> list[str]:
        self.said.clear()
        self.conn.execute(statement.encode())
        return list(self.said)

    def _hear(self, diag: psycopg.errors.Diagnostic) -> None:
        message = f"{diag.severity}: {diag.message_primary}"
        self.said.append(message)
        self.on_notice(message)


def insert_documents(
    conn: psycopg.Connection,
    contents: Sequence[str | None],
    *,
    collection: str = "default",
    state: str = "indexed",
) -> list[int]:
    """Insert documents as the ingest leaves them, but without features: triggers don't fire."""
    conn.execute("set session_replication_role = replica")
    rows = conn.execute(
        "insert into sherlock.documents (collection_id, content, text_state)"
        " select sherlock.collection_id(%s), t.content, %s"
        " from unnest(%s::text[]) with ordinality as t (content, n) order by t.n"
        " returning document_id",
        [collection, state, list(contents)],
    ).fetchall()
    conn.execute("reset session_replication_role")
    return [row[0] for row in rows]


@pytest.fixture
def add() -> Callable[..., list[int]]:
    """Give the function that inserts documents without features."""
    return insert_documents


@pytest.fixture(scope="session")
def filings() -> list[str]:
    """Give the texts of 28 filings: 16 cases, and two variants of every third."""
    cases = [
        draw_case(11, f"caso-{topic}-{number}", topic_name=topic)
        for topic in list(TOPICS)[:8]
        for number in range(2)
    ]
    return [compose(case).text() for case in cases] + [
        make_variant(11, case, kind)[1].text()
        for case in cases[::3]
        for kind in (Kind.PARAPHRASE, Kind.NEW_VERSION)
    ]


@pytest.fixture
def dba(database_url: str) -> Iterator[Session]:
    """Give the session of somebody who has psql."""
    session = Session(database_url)
    yield session
    session.conn.close()


@pytest.fixture
def other(database_url: str) -> Iterator[Session]:
    """Give a second session in the same database."""
    session = Session(database_url)
    yield session
    session.conn.close()
