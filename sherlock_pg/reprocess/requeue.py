"""Files put into the queue to be read again; workers read them."""

from __future__ import annotations

from pathlib import Path

import psycopg

from sherlock_pg.load.fingerprint import Fingerprint, UnreadableFile, fingerprint
from sherlock_pg.reprocess.result import Result
from sherlock_pg.reprocess.run import Progress, batches
from sherlock_pg.reprocess.selection import Selection


def queue_rereads(
    conn: psycopg.Connection,
    selection: Selection,
    result: Result,
    progress: Progress,
    *,
    ocr: str | None = None,
    priority: int = 0,
) -> None:
    """Queue the files of documents; those whose bytes are nowhere are counted.

    A file is found where its bytes are kept in the database, or where it was seen, if it is still
    there with the same bytes. What a document says now stays until the new reading is stored.

    Args:
        conn: a connection in autocommit mode.
        selection: which documents.
        result: is filled while the run goes on.
        progress: is told of each batch.
        ocr: auto or force; None: as the worker is set.
        priority: higher ones are read first.
    """
    for document_ids in batches(conn, selection, result):
        found = conn.execute(
            "select d.document_id, d.sha256, d.file_size_bytes,"
            " exists (select from sherlock.file_contents as f where f.sha256 = d.sha256"
            "   and f.file_size_bytes = d.file_size_bytes),"
            " array(select s.source_uri from sherlock.document_sources as s"
            "   where s.document_id = d.document_id order by s.seen_at desc, s.source_uri)"
            " from sherlock.documents as d where d.document_id = any(%s) order by 1",
            [document_ids],
        ).fetchall()
        for document_id, sha256, size_bytes, is_kept, paths in found:
            path = None if is_kept else _still_there(paths, Fingerprint(sha256, size_bytes))
            if not is_kept and path is None:
                result.without_file.append(document_id)
                continue
            with conn.transaction():
                row = conn.execute(
                    "select sherlock.reread(%s, %s, %s)", [document_id, ocr, priority]
                ).fetchone()
                if path is not None and row is not None:
                    conn.execute(
                        "update sherlock.inbox set path = %s where item_id = %s and path <> %s",
                        [path, row[0], path],
                    )
            result.queued += 1
        progress.step(len(document_ids))


def _still_there(paths: list[str], expected: Fingerprint) -> str | None:
    """Return the first path where a file with these bytes is."""
    for path in paths:
        try:
            if fingerprint(Path(path)) == expected:
                return path
        except UnreadableFile:
            continue
    return None
