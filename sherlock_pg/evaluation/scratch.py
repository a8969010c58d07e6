"""A collection for the time of an evaluation, of which nothing stays in the database.

It has a name of its own, and its session holds a lock while it is in use. What a killed run left is
known by its free lock, and the next run drops it.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from sherlock_pg import detection_config
from sherlock_pg.db import calls
from sherlock_pg.errors import UsageError

_PREFIX = "sherlock-evaluation-"
_LOCK_CLASS = 0x5345
_DELETE_BATCH = 500


@dataclass
class Scratch:
    """A collection that is dropped at the end unless it is kept.

    Attributes:
        collection: its name.
        collection_id: its id.
        is_kept: it was given a name, and stays.
    """

    collection: str
    collection_id: int
    is_kept: bool = field(default=False, init=False)

    def keep(self, conn: psycopg.Connection, name: str) -> None:
        """Give it a name for good: it is not dropped.

        Raises:
            UsageError: there is a collection of this name.
        """
        try:
            conn.execute(
                "update sherlock.collections set name = %s where collection_id = %s",
                [name, self.collection_id],
            )
        except psycopg.errors.UniqueViolation as error:
            raise _taken(name) from error
        self.collection = name
        self.is_kept = True


def check_name(conn: psycopg.Connection, name: str) -> None:
    """Refuse the name of a collection that is there.

    Raises:
        UsageError: there is one.
    """
    if conn.execute("select from sherlock.collections where name = %s", [name]).fetchone():
        raise _taken(name)


@contextlib.contextmanager
def scratch_collection(
    conn: psycopg.Connection,
    *,
    like: str = "default",
    scheme: str | None = None,
    config_text: str | None = None,
    reconnect: Callable[[], psycopg.Connection] | None = None,
) -> Iterator[Scratch]:
    """Make a collection, and drop it at the end, whatever the end is.

    Args:
        conn: a connection in autocommit mode; it holds the lock.
        like: the collection whose profile, scheme, vocabulary limits and configuration it has.
        scheme: another scheme.
        config_text: a configuration file, read over that of `like`.
        reconnect: opens another connection, to clean up where the first one is lost.

    Raises:
        ConfigError: the configuration is not valid.
        UsageError: there is no such collection or scheme.
    """
    if not conn.autocommit:
        raise ValueError("the connection must be in autocommit mode")
    _drop_abandoned(conn)
    scratch = _create(conn, like, scheme)
    try:
        config = detection_config.read(conn, like)
        if config_text is not None:
            config = detection_config.from_json(config_text, config)
        with conn.transaction():
            detection_config.write(conn, scratch.collection, config)
        yield scratch
    finally:
        if not scratch.is_kept:
            with _usable(conn, reconnect) as usable:
                drop(usable, scratch.collection_id)
        if not conn.closed and not conn.broken:
            conn.execute("select pg_advisory_unlock(%s, %s)", [_LOCK_CLASS, scratch.collection_id])


def drop(conn: psycopg.Connection, collection_id: int) -> None:
    """Drop a collection with all that belongs to it. Its documents must have no verdicts."""
    for (model_id,) in conn.execute(
        "select model_id from sherlock.tfidf_models where collection_id = %s", [collection_id]
    ).fetchall():
        with conn.transaction():
            conn.execute(
                "update sherlock.tfidf_models set status = 'retired' where model_id = %s",
                [model_id],
            )
            calls.drop_tfidf_model(conn, model_id)
    # Features first, set-wise: a document that has none is quick to delete.
    while document_ids := [
        row[0]
        for row in conn.execute(
            "select document_id from sherlock.documents where collection_id = %s"
            " order by document_id limit %s",
            [collection_id, _DELETE_BATCH],
        )
    ]:
        with conn.transaction():
            conn.execute("select sherlock._forget_features(%s)", [document_ids])
            for table in ("entities", "entity_profiles", "documents"):
                conn.execute(
                    sql.SQL("delete from {} where document_id = any(%s)").format(
                        sql.Identifier("sherlock", table)
                    ),
                    [document_ids],
                )
    with conn.transaction():
        for statement in (
            "delete from sherlock.party_names where collection_id = %s",
            "delete from sherlock.judging_locks where collection_id = %s",
            "delete from sherlock.detection_configs where collection_id = %s",
            "delete from sherlock.collections where collection_id = %s",
        ):
            conn.execute(statement, [collection_id])


def _create(conn: psycopg.Connection, like: str, scheme: str | None) -> Scratch:
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    with conn.transaction():
        found = conn.execute(
            "select c.profile, s.name from sherlock.collections as c"
            " join sherlock.shingle_schemes as s using (scheme_id)"
            " where c.collection_id = sherlock.collection_id(%s)",
            [like],
        ).fetchone()
        if found is None:
            raise RuntimeError(f"collection {like!r} vanished")
        profile, scheme_of_like = found
        row = conn.execute(
            "select sherlock.create_collection(p_name => %s, p_profile => %s, p_scheme => %s)",
            [name, profile, scheme or scheme_of_like],
        ).fetchone()
        if row is None:
            raise RuntimeError("sherlock.create_collection returned no row")
        collection_id: int = row[0]
        conn.execute("select pg_advisory_lock(%s, %s)", [_LOCK_CLASS, collection_id])
    return Scratch(name, collection_id)


def _drop_abandoned(conn: psycopg.Connection) -> None:
    """Drop what killed runs left: nobody holds its lock."""
    for (collection_id,) in conn.execute(
        "select collection_id from sherlock.collections where starts_with(name, %s)", [_PREFIX]
    ).fetchall():
        locked = conn.execute(
            "select pg_try_advisory_lock(%s, %s)", [_LOCK_CLASS, collection_id]
        ).fetchone()
        if locked == (True,):
            drop(conn, collection_id)
            conn.execute("select pg_advisory_unlock(%s, %s)", [_LOCK_CLASS, collection_id])


@contextlib.contextmanager
def _usable(
    conn: psycopg.Connection, reconnect: Callable[[], psycopg.Connection] | None
) -> Iterator[psycopg.Connection]:
    """Yield the connection, or another one where an interruption left it in a query."""
    if not conn.closed and conn.info.transaction_status is TransactionStatus.IDLE:
        yield conn
        return
    if reconnect is None:
        raise RuntimeError("the connection was lost, and the evaluation's collection stays")
    conn.close()
    with reconnect() as other:
        yield other


def _taken(name: str) -> UsageError:
    return UsageError(f"there is a collection {name!r} already", hint="choose another name")
