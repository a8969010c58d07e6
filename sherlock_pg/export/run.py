"""An export from beginning to end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg

from sherlock_pg.errors import UsageError
from sherlock_pg.export.columns import columns
from sherlock_pg.export.reading import (
    ClusteringStatus,
    Keep,
    clustering_status,
    count,
    read,
    snapshot,
)
from sherlock_pg.export.target import open_target
from sherlock_pg.export.writers import Format, open_writer


class Progress(Protocol):
    """Is told how far an export is."""

    def stage(self, name: str, total: int) -> None:
        """Begin."""

    def step(self, count: int = 1) -> None:
        """Say that documents are written."""

    def say(self, message: str) -> None:
        """Show a line of words."""


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        documents: those in the file.
        without_text: of them, those whose row of a watched table is gone or may not be read.
        left_out: those for which another document survives.
        unread: pending and failed ones, which have no text.
    """

    documents: int
    without_text: int
    left_out: int
    unread: int


def export(
    conn: psycopg.Connection,
    path: Path | None,
    *,
    collection: str,
    keep: Keep,
    with_clusters: bool,
    format: Format,
    force: bool,
    progress: Progress,
) -> Exported:
    """Write the documents of a collection to a file; the database is only read.

    All of it is of one moment: what others commit meanwhile is not seen.

    Args:
        conn: a connection that is in no transaction.
        path: the file; None is standard output.
        collection: name of the collection.
        keep: which of its documents.
        with_clusters: with the cluster of each.
        format: form of the file.
        force: a file of that name is replaced.
        progress: is told of each portion.

    Raises:
        UsageError: the file is there, the collection is not, or survivors are asked for and no
            clusters were ever made.
        EnvironmentFault: a package for the format is missing.
    """
    chosen = columns(with_clusters=with_clusters)
    without_text = documents = 0
    with open_target(path, force=force) as stream, snapshot(conn):
        if keep is Keep.SURVIVORS or with_clusters:
            _check(clustering_status(conn, collection), collection, keep, progress)
        counts = count(conn, collection, keep)
        writer = open_writer(format, stream, chosen)
        progress.stage("export", counts.exported)
        for rows in read(conn, collection, keep, chosen):
            writer.write(rows)
            documents += len(rows)
            without_text += sum(row["content"] is None for row in rows)
            progress.step(len(rows))
        writer.close()
    return Exported(documents, without_text, counts.left_out, counts.unread)


def _check(status: ClusteringStatus, collection: str, keep: Keep, progress: Progress) -> None:
    """Refuse to choose survivors where nobody did; warn where the choice is an old one."""
    quoted = "'" + collection.replace("'", "''") + "'"
    rebuild = f"select sherlock.rebuild_clusters({quoted}, p_keep => true)"
    if status.state == "missing":
        message = f"clusters of the collection {collection} were never made"
        if keep is Keep.SURVIVORS:
            raise UsageError(
                f"{message}: no document is known to stand for others",
                hint=f"make them: {rebuild}; or export all documents: --keep all",
            )
        progress.say(f"warning: {message}: each document is one of its own; make them: {rebuild}")
    elif status.state == "stale":
        progress.say(
            f"warning: clusters of the collection {collection} are older than its matches"
            f" ({status.unfollowed_match_count} matches came, {status.lost_member_count} members"
            f" lost theirs); make them anew: {rebuild}"
        )
