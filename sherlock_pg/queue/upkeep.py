"""What a worker does beside reading: vocabularies are fitted, indexes kept, the dead cleared up."""

from __future__ import annotations

import logging
import threading
import time

import psycopg

from sherlock_pg.db import calls
from sherlock_pg.errors import SherlockError
from sherlock_pg.logs import fields
from sherlock_pg.queue import leases
from sherlock_pg.queue.storing import OpenConnection
from sherlock_pg.vectorize import lifecycle

log = logging.getLogger(__name__)

_IDLE_SECONDS = 2.0
_LONGEST_SECONDS = 60.0


class Upkeep:
    """Keeps house for the collections that a worker fills, in a thread of its own.

    Args:
        open_connection: opens a connection in autocommit mode.
    """

    def __init__(self, open_connection: OpenConnection) -> None:
        self._open = open_connection
        self._lock = threading.Lock()
        self._collection_ids: set[int] = set()
        self._last = time.monotonic()
        self._thread: threading.Thread | None = None

    def note(self, collection_id: int) -> None:
        """Remember that a document came into this collection."""
        with self._lock:
            self._collection_ids.add(collection_id)

    def run_if_due(self, *, is_idle: bool) -> None:
        """Begin, if it is time: soon when nothing else is to be done, else once a minute."""
        if self._thread is not None and self._thread.is_alive():
            return
        age = time.monotonic() - self._last
        with self._lock:
            has_work = bool(self._collection_ids)
        if age >= _LONGEST_SECONDS or (is_idle and has_work and age >= _IDLE_SECONDS):
            self._thread = threading.Thread(target=self.run, name="upkeep", daemon=True)
            self._thread.start()

    def run(self) -> None:
        """Do all that is due now; what fails is tried again the next time."""
        with self._lock:
            collection_ids, self._collection_ids = self._collection_ids, set()
        try:
            with self._open() as conn:
                leases.expire_leases_of_the_dead(conn)
                for collection_id in sorted(collection_ids):
                    self._keep_vocabulary(conn, collection_id)
        except (psycopg.Error, SherlockError) as error:
            log.warning("upkeep was interrupted: %s", error)
            with self._lock:
                self._collection_ids |= collection_ids
        finally:
            self._last = time.monotonic()

    def close(self) -> None:
        """Wait a moment for what is under way; what it leaves unfinished is continued later."""
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _keep_vocabulary(self, conn: psycopg.Connection, collection_id: int) -> None:
        row = conn.execute(
            "select name from sherlock.collections where collection_id = %s", [collection_id]
        ).fetchone()
        if row is None:
            return
        collection = str(row[0])
        found = lifecycle.state(conn, collection)
        if not found.needs_fit():
            lifecycle.keep_index(conn, found)
            return
        model_id = lifecycle.fit_if_needed(conn, collection)
        if model_id is None:
            return
        log.info("vocabulary fitted", extra=fields(collection=collection, model_id=model_id))
        if found.model_id is None:
            self._judge_again(conn, collection_id)

    def _judge_again(self, conn: psycopg.Connection, collection_id: int) -> None:
        """Judge again what was judged before there was a vocabulary, so without level 2."""
        for (document_id,) in conn.execute(
            "select v.document_id from sherlock.detections as v"
            " join sherlock.documents as d using (document_id)"
            " where d.collection_id = %s and d.text_state = 'indexed' order by 1",
            [collection_id],
        ).fetchall():
            try:
                with conn.transaction():
                    calls.record_detection(conn, document_id)
            except psycopg.DatabaseError as error:
                # Deleted or being changed at this moment: whoever does so has it judged.
                log.debug("document %s is not judged again: %s", document_id, error)
