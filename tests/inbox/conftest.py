"""The inbox as its clients and workers see it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import namedtuple_row


class Queue:
    """The inbox on one connection."""

    TEXT = (
        "Acción de tutela de Ana Torres contra NUEVA EPS: pide la entrega de los medicamentos que "
        "su médico ordenó hace dos meses, porque sin ellos su salud empeora y la entidad calla."
    )
    OTHER_TEXT = (
        "El arrendatario del local comercial solicita la devolución del depósito, pues entregó las "
        "llaves en la fecha acordada y el inventario se firmó sin observaciones de ninguna clase."
    )

    def __init__(self, conn: psycopg.Connection) -> None:
        self.conn = conn

    def rows(self, query: str, *parameters: object) -> list[Any]:
        with self.conn.cursor(row_factory=namedtuple_row) as cur:
            return cur.execute(query, parameters).fetchall()

    def row(self, query: str, *parameters: object) -> Any:
        (row,) = self.rows(query, *parameters)
        return row

    def send(self, content: bytes | None = b"%PDF a", **columns: object) -> Any:
        values: dict[str, object] = {"content": content, "name": "a.pdf", **columns}
        statement = sql.SQL("insert into sherlock.inbox ({}) values ({}) returning *").format(
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join([sql.Placeholder()] * len(values)),
        )
        with self.conn.cursor(row_factory=namedtuple_row) as cur:
            return cur.execute(statement, list(values.values())).fetchone()

    def lease(self, worker: str = "w", limit: int = 1, **options: Any) -> list[Any]:
        return self.rows(
            "select * from sherlock.lease_items(%s, %s, %s::interval, %s)",
            worker,
            limit,
            options.get("lease", "2 minutes"),
            options.get("host"),
        )

    def store(self, document_id: int, text: str = TEXT, worker: str = "w") -> None:
        self.conn.execute(
            "select sherlock.finish_document(%s, %s, 'ok', p_content => %s)",
            [document_id, worker, text],
        )

    def judge(self, document_id: int) -> None:
        self.conn.execute("select sherlock.record_detection(%s)", [document_id])

    def read(self, document_id: int, text: str = TEXT, worker: str = "w") -> None:
        self.store(document_id, text, worker)
        self.judge(document_id)

    def fail(self, document_id: int, reason: str = "damaged", worker: str = "w") -> None:
        self.conn.execute(
            "select sherlock.finish_document(%s, %s, 'failed', p_reason => %s,"
            " p_reason_detail => 'page 1')",
            [document_id, worker, reason],
        )

    def item(self, item_id: int) -> Any:
        return self.row("select * from sherlock.inbox where item_id = %s", item_id)

    def states(self, *items: Any) -> list[str]:
        return [self.item(item.item_id).state for item in items]

    def document(self, document_id: int) -> Any:
        return self.row("select * from sherlock.documents where document_id = %s", document_id)

    def count(self, table: str) -> int:
        query = sql.SQL("select count(*) from sherlock.{}").format(sql.Identifier(table))
        row = self.conn.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def lapse(self, *items: Any) -> None:
        """Let the leases of items lapse."""
        self.conn.execute(
            "update sherlock.inbox set leased_until = clock_timestamp() - interval '1 second'"
            " where item_id = any(%s)",
            [[item.item_id for item in items]],
        )

    def is_refused(self, sqlstate: str) -> AbstractContextManager[Any]:
        """Expect an error, whatever it undoes."""
        return _Refused(self.conn, sqlstate)

    def identify(self, item: Any, content: bytes, worker: str = "w") -> Any:
        return self.row(
            "select sherlock.identify_item(%s, %s, sha256(%s), %s) as document_id",
            item.item_id,
            worker,
            content,
            len(content),
        ).document_id

    def advance(self, item: Any, state: str) -> None:
        if state == "queued":
            return
        (leased,) = self.lease()
        assert leased.item_id == item.item_id
        if state == "dead":
            self.fail(item.document_id)
        elif state != "leased":
            self.store(item.document_id)
            if state == "done":
                self.judge(item.document_id)

    def claim(self, content: bytes, worker: str, **options: object) -> Any:
        return self.row(
            "select * from sherlock.claim_file(sha256(%s), %s, 'default', 'a', %s, %s,"
            " p_retry_failed => %s, p_host => %s)",
            content,
            len(content),
            options.get("path", "/load/a"),
            worker,
            options.get("retry", False),
            options.get("host", "loader-host"),
        )

    def reread(self, document_id: int, ocr: str | None = None, priority: int = 0) -> int:
        return int(
            self.row(
                "select sherlock.reread(%s, %s, %s) as item_id", document_id, ocr, priority
            ).item_id
        )

    def add_known(self, content: bytes = b"%PDF a", text: str = TEXT) -> Any:
        item = self.send(content)
        self.lease()
        self.read(item.document_id, text)
        return item

    def add_failed(self, content: bytes = b"%PDF a", reason: str = "damaged") -> Any:
        item = self.send(content)
        self.lease()
        self.fail(item.document_id, reason)
        return item

    def retry_dead(self, *arguments: object) -> int:
        marks = ", ".join(["%s"] * len(arguments))
        return int(self.row(f"select sherlock.retry_dead({marks}) as n", *arguments).n)

    def attach(self, document_id: int, ordinal: int, content: bytes, **options: Any) -> Any:
        return self.row(
            "select * from sherlock.attach_file(%s, %s, %s, %s, %s, %s)",
            document_id,
            ordinal,
            f"{ordinal}.pdf",
            content,
            options.get("depth", 1),
            options.get("worker"),
        )

    def links(self) -> list[Any]:
        return self.rows(
            "select document_id, ordinal, attached_document_id, name"
            " from sherlock.document_attachments order by 1, 2"
        )


class _Refused:
    def __init__(self, conn: psycopg.Connection, sqlstate: str) -> None:
        self._transaction = conn.transaction()
        self._sqlstate = sqlstate

    def __enter__(self) -> None:
        self._transaction.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._transaction.__exit__(kind, error, trace)
        assert isinstance(error, psycopg.Error), "nothing was refused"
        assert error.sqlstate == self._sqlstate, error
        return True


@pytest.fixture
def queue(conn: psycopg.Connection) -> Queue:
    return Queue(conn)


@pytest.fixture
def queue_on() -> type[Queue]:
    """Give the inbox on another connection."""
    return Queue
