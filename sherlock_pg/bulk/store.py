"""A batch of texts goes into the tables, with how far the file got, in one transaction.

The rows come with their features, so the triggers that compute these leave them alone (see
`sherlock.tg_documents__take_in`); foreign keys and unique keys are checked as ever. Nothing is
judged, so no locks for judging are taken: whoever judges the documents later finds their pairs with
what others stored meanwhile, because `sherlock._judge` judges later documents that match again.
"""

from __future__ import annotations

from typing import Final

import psycopg

from sherlock_pg.bulk import files
from sherlock_pg.bulk.files import FileState
from sherlock_pg.bulk.prepare import Prepared
from sherlock_pg.bulk.rows import Position, RejectedRow
from sherlock_pg.db.binary_rows import copy_rows

_MAX_ATTEMPTS: Final = 5


class Outdated(Exception):
    """The scheme or the vocabularies of the collection changed since the features were made."""


class KeysTaken(Exception):
    """Another session stored documents with keys of the batch meanwhile."""


def store(
    conn: psycopg.Connection,
    collection: str,
    state: FileState,
    prepared: Prepared | None,
    end: Position,
    *,
    known: int,
    rejected: list[RejectedRow],
    is_end: bool,
    finds_entities: bool,
) -> None:
    """Store a batch and how far the file got; commits.

    Args:
        conn: a connection in autocommit mode.
        collection: name of the collection.
        state: the file.
        prepared: the documents, if there are any.
        end: where the batch ends in the file.
        known: rows of the batch that are there already.
        rejected: rows of the batch that were refused.
        is_end: the file ends there.
        finds_entities: look for entities in the texts, as the collection's profile asks for.

    Raises:
        Outdated: nothing was stored; make the features again.
        KeysTaken: nothing was stored; look again which keys are there.
    """
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            with conn.transaction():
                if prepared is not None:
                    _copy_all(conn, collection, prepared)
                    if finds_entities:
                        _find_entities(conn, prepared)
                files.advance(
                    conn,
                    state,
                    end,
                    added=0 if prepared is None else len(prepared.document_ids),
                    known=known,
                    rejected=rejected,
                    is_end=is_end,
                )
            return
        except psycopg.errors.UniqueViolation as error:
            if error.diag.table_name == "document_keys":
                raise KeysTaken from error
            raise
        except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
            if attempt == _MAX_ATTEMPTS:
                raise


def _copy_all(conn: psycopg.Connection, collection: str, prepared: Prepared) -> None:
    # Whoever moves the collection to another scheme or vocabulary waits for this lock before he
    # looks which documents lack what.
    conn.execute("lock table sherlock.documents in row exclusive mode")
    if not prepared.maker.is_current(conn, collection):
        raise Outdated
    copy_rows(
        conn,
        "sherlock.documents (document_id, collection_id, doc_type, name, flags, content,"
        " canonical_sha256, text_state, word_count, indexed_at, feature_version)",
        prepared.documents,
    )
    copy_rows(
        conn,
        "sherlock.document_keys (document_id, collection_id, key, bulk_file_id, line_number)",
        prepared.keys,
    )
    copy_rows(
        conn,
        "sherlock.document_signatures (document_id, scheme_id, shingle_count, boilerplate_count,"
        " signature, sketch, containment_sample)",
        prepared.signatures,
    )
    copy_rows(conn, "sherlock.band_keys (key, document_id)", prepared.band_keys)
    copy_rows(
        conn, "sherlock.document_references (document_id, numbers, dates)", prepared.references
    )
    copy_rows(
        conn,
        "sherlock.document_vectors (document_id, model_id, vector, sign_bits)",
        prepared.vectors,
    )


def _find_entities(conn: psycopg.Connection, prepared: Prepared) -> None:
    # All are looked for before any is stored, as in sherlock._take_in.
    conn.execute(
        "with found as materialized ("
        "  select d.document_id, sherlock.extract_entities(d.content) as entities"
        "  from sherlock.documents as d where d.document_id = any(%s)),"
        " ordered as materialized ("
        "  select f.document_id, f.entities from found as f"
        "  where f.entities <> '[]' order by f.document_id)"
        " select count(sherlock.store_entities(o.document_id, o.entities)) from ordered as o",
        [list(prepared.document_ids)],
    )
