"""Texts and helpers of the tests of watched tables."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import psycopg
import pytest
from psycopg import sql

WORDS = (
    "vereda acequia siembra concejo alcalde regalía puente lluvia cosecha mercado escuela turno"
    " informe reunión vecino camino carretera hospital maestro jornal finca bodega panela café"
    " trapiche molino feria plaza domingo semana caudal río quebrada monte potrero ganado leche"
    " queso quintal arroba saco bulto precio compra venta deuda banco crédito cuota plazo firma"
    " notaría lindero escritura herencia pleito juez fallo recurso tutela petición respuesta"
    " oficina ventanilla turista guía sendero mirador páramo laguna frailejón niebla ruana"
)


class TextOf(Protocol):
    """Makes a text."""

    def __call__(self, topic: int, version: int = 0) -> str:
        """Return a text; two versions of a topic are near-duplicates, two topics are not."""


class Pairs(Protocol):
    """Reads the pairs of a watched table."""

    def __call__(self, conn: psycopg.Connection, table: str) -> set[tuple[str, str, str]]:
        """Return the pairs as (key, key of the match, class)."""


@pytest.fixture(scope="session")
def text_of() -> TextOf:
    """Give a maker of texts."""

    def make(topic: int, version: int = 0) -> str:
        words = random.Random(topic).choices(WORDS.split(), k=80)
        if version:
            words[-1] = f"versión{version}"
        return " ".join(words)

    return make


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    """Give a reader of pairs."""

    def read(conn: psycopg.Connection, table: str) -> set[tuple[str, str, str]]:
        rows = conn.execute(
            "select key, matched_key, confidence from sherlock.watched_duplicates(%s)", [table]
        )
        return {(row[0], row[1], row[2]) for row in rows}

    return read


@pytest.fixture
def feed(conn: psycopg.Connection) -> str:
    """Make a table of texts that has no rows yet; give its name."""
    conn.execute(
        "create table public.feed_items ("
        " feed_item_id bigint primary key, title text, body text, seen integer default 0)"
    )
    return "public.feed_items"


@pytest.fixture
def watch(conn: psycopg.Connection) -> Callable[..., int]:
    """Give a shortcut to `sherlock.watch` for a table like `feed`."""

    def call(table: str, **options: Any) -> int:
        arguments = {"p_table": table, "p_key": "feed_item_id", "p_text": ["title", "body"]}
        arguments |= options
        row = conn.execute(
            sql.SQL("select sherlock.watch({})").format(
                sql.SQL(", ").join(
                    sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
                    for name in arguments
                )
            ),
            arguments,
        ).fetchone()
        assert row is not None
        return int(row[0])

    return call


@pytest.fixture(scope="session")
def run_blocked() -> Callable[..., None]:
    """Give a way to run a statement that waits for another session, and what ends the waiting."""

    def run(statement: Callable[[], object], *, then: Callable[[], object]) -> None:
        errors: list[BaseException] = []

        def work() -> None:
            try:
                statement()
            except psycopg.Error as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.3)
        assert thread.is_alive(), "it did not wait"
        then()
        thread.join(timeout=20)
        assert not thread.is_alive()
        if errors:
            raise errors[0]

    return run
