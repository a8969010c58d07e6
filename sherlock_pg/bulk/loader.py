"""Loading files of texts: read, made ready in this thread, stored by another, batch by batch.

While the server takes in one batch, the next one is made. Each batch is one transaction that also
says how far the file got, so what is committed is never done again, whoever is killed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

import psycopg
from psycopg.sql import SQL, Identifier

from sherlock_pg.bulk import files
from sherlock_pg.bulk.files import FileState
from sherlock_pg.bulk.formats import BulkFile, Identity, identify
from sherlock_pg.bulk.prepare import Prepared, prepare
from sherlock_pg.bulk.rows import (
    BadRow,
    DamagedFile,
    FieldMap,
    Position,
    Reason,
    RejectedRow,
    Row,
    RowReader,
)
from sherlock_pg.bulk.sample import Sample
from sherlock_pg.bulk.store import KeysTaken, Outdated, store
from sherlock_pg.db import calls
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import UsageError
from sherlock_pg.vectorize import lifecycle
from sherlock_pg.vectorize.features import FeatureMaker

_BATCH_ROWS: Final = 10_000
"""Others who change the scheme or the vocabulary wait ten seconds for a batch, not longer."""
_BATCH_ROWS_WITH_ENTITIES: Final = 500
_BATCH_CHARACTERS: Final = 16_000_000
_COMPILED_FROM_BYTES: Final = 8_000_000
"""Less is done before the kernel is loaded."""
_ANALYZE_FROM: Final = 1000
_CANCEL_SECONDS: Final = 5
_TABLES: Final = (
    "documents",
    "document_keys",
    "document_signatures",
    "band_keys",
    "document_references",
    "document_vectors",
    "entities",
)


class Progress(Protocol):
    """What a load tells about how far it is."""

    def stage(self, name: str, total: int) -> None:
        """Say that a stage with so many steps begins; 0: not known."""

    def step(self, count: int = 1) -> None:
        """Say that steps of the stage are done."""

    def rows(self, count: int) -> None:
        """Say that rows were dealt with."""

    def say(self, message: str) -> None:
        """Show a line of words."""


@dataclass(frozen=True)
class BulkOptions:
    """What a load was asked for.

    Attributes:
        fields: which fields are the key, the text and the name.
        collection: name; made when missing.
        profile: of the collection, legal or text; None for that which it has, or text.
        doc_type: type of all texts, or auto to guess it from each.
        is_again: read files from their beginning, however far they got before.
    """

    fields: FieldMap
    collection: str = "default"
    profile: str | None = None
    doc_type: str = "auto"
    is_again: bool = False


@dataclass(frozen=True)
class FileOutcome:
    """What became of a file: its rows are the sum of new, known and failed.

    Attributes:
        file: its path.
        format: jsonl, csv or parquet.
        bulk_file_id: its row of `sherlock.bulk_files`.
        rows: its rows, as far as it was read.
        new: rows that became documents in this run.
        known: rows whose documents were there.
        failed: rows that were refused, in this run or an earlier one.
        damage: why it could not be read to its end; empty if it was.
    """

    file: str
    format: str
    bulk_file_id: int
    rows: int
    new: int
    known: int
    failed: int
    damage: str = ""


@dataclass
class _Batch:
    """Rows that are stored together.

    Attributes:
        start: where it begins in the file.
        end: where it ends.
        row_count: its rows.
        rows: those that may be stored.
        rejected: those that were refused.
        is_end: the file ends there.
    """

    start: Position
    end: Position
    row_count: int = 0
    characters: int = 0
    rows: list[Row] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    is_end: bool = False


@dataclass
class _Ready:
    """A batch whose documents are made."""

    batch: _Batch
    prepared: Prepared | None
    known: int
    rejected: list[RejectedRow]


class BulkLoader:
    """Loads files of texts into a collection.

    Args:
        conninfo: the database, with the current schema.
        options: what was asked for.
        progress: told of stages and rows.
    """

    def __init__(self, conninfo: str, options: BulkOptions, progress: Progress) -> None:
        self._conninfo = conninfo
        self._options = options
        self._progress = progress
        self._collection_id = 0
        self._finds_entities = False
        self._is_large = False
        self._maker: FeatureMaker
        self._added = 0

    def load(self, file: BulkFile) -> FileOutcome:
        """Load what is not there of a file.

        Raises:
            UsageError: it has not the fields that were asked for, or the collection is of another
                profile.
            SherlockError: another session is loading it.
        """
        with self._open() as conn, self._open() as storing_conn:
            self._make_collection(conn)
            status = file.path.stat()
            self._progress.stage(f"{file.path.name}: its hash", status.st_size)
            identity = identify(file.path, self._progress.step)
            if files.has_changed(conn, self._collection_id, file, identity):
                self._progress.say(
                    f"{file.path} is another file than the one loaded from there before: it is "
                    "read from its beginning, and texts whose keys are there are not stored again"
                )
            with file.open(self._options.fields.needed) as reader:
                state = files.register(
                    conn, self._collection_id, file, identity, self._file_options(file)
                )
                files.hold(storing_conn, state, file)
                if self._options.is_again:
                    files.begin_again(conn, state)
                # As it is now that nobody else changes it.
                state = files.register(
                    conn, self._collection_id, file, identity, self._file_options(file)
                )
                if state.finished_at is not None:
                    return _outcome(file, state, state)
                if state.row_count:
                    self._progress.say(
                        f"{file.path}: goes on after line {state.line_count}, where an earlier "
                        "run was stopped"
                    )
                self._fit(conn, file, reader, state, identity)
                self._is_large = identity.size_bytes >= _COMPILED_FROM_BYTES
                self._maker = self._new_maker(conn)
                damage = self._store_all(conn, storing_conn, file, reader, state)
                end = files.register(
                    conn, self._collection_id, file, identity, self._file_options(file)
                )
            if not damage and file.path.stat().st_mtime_ns != status.st_mtime_ns:
                damage = "the file changed while it was read: load it again"
        self._added += end.added_count - state.added_count
        return _outcome(file, state, end, damage)

    def finish(self) -> str | None:
        """Build the index of the vectors and gather statistics, once all files are loaded.

        Returns:
            Why a new vocabulary is proposed, if one is.
        """
        with self._open() as conn:
            found = lifecycle.state(conn, self._options.collection)
            if self._added:
                self._progress.stage("index", 0)
                lifecycle.keep_index(conn, found)
            if self._added >= _ANALYZE_FROM:
                self._progress.stage("statistics", 0)
                for table in _TABLES:
                    conn.execute(SQL("analyze {}").format(Identifier("sherlock", table)))
            return lifecycle.refit_reason(conn, self._options.collection)

    def _make_collection(self, conn: psycopg.Connection) -> None:
        wanted = self._options.profile
        collection_id = calls.create_collection(
            conn, self._options.collection, profile=wanted or "text"
        )
        row = conn.execute(
            "select profile from sherlock.collections where collection_id = %s", [collection_id]
        ).fetchone()
        if row is None:
            raise RuntimeError(f"collection {self._options.collection!r} vanished")
        self._collection_id, profile = collection_id, row[0]
        if wanted is not None and profile != wanted:
            raise UsageError(
                f"the collection {self._options.collection!r} has the profile {profile}",
                hint="leave --profile out, or choose another --collection",
            )
        self._finds_entities = profile == "legal"

    def _file_options(self, file: BulkFile) -> dict[str, Any]:
        fields = self._options.fields
        return {
            "format": file.format,
            "encoding": file.encoding,
            "text": list(fields.text),
            "key": fields.key,
            "name": fields.name,
            "doc_type": self._options.doc_type,
        }

    def _fit(
        self,
        conn: psycopg.Connection,
        file: BulkFile,
        reader: RowReader,
        state: FileState,
        identity: Identity,
    ) -> None:
        """Fit a vocabulary on a sample of the file, if the collection needs one for it."""
        found = lifecycle.state(conn, self._options.collection)
        if not found.needs_fit(arriving=identity.size_bytes):
            return
        self._progress.stage(f"{file.path.name}: sample for the vocabulary", 0)
        sample = Sample(
            reader,
            self._options.fields,
            state.next_row,
            lifecycle.SAMPLE_LIMIT,
            identity.sha256,
            lambda position: None,
        )
        lifecycle.fit_for_arriving(
            conn,
            self._options.collection,
            sample.row_count,
            sample.canonical_texts(),
            progress=self._progress,
        )

    def _store_all(
        self,
        conn: psycopg.Connection,
        storing_conn: psycopg.Connection,
        file: BulkFile,
        reader: RowReader,
        state: FileState,
    ) -> str:
        """Store all rows from where the file got to; return why it could not be read further."""
        total = file.path.stat().st_size if not file.is_compressed else 0
        self._progress.stage(file.path.name, total)
        self._progress.rows(state.row_count)
        batches = _Batches(
            reader,
            self._options.fields,
            state.next_row,
            _BATCH_ROWS_WITH_ENTITIES if self._finds_entities else _BATCH_ROWS,
        )
        waiting: tuple[_Ready, Future[None]] | None = None
        with ThreadPoolExecutor(1, thread_name_prefix="store") as pool:
            try:
                for batch in batches:
                    _check_fields(batch)
                    before = waiting[0].batch if waiting is not None else None
                    ready = self._make_ready(conn, batch, state, before)
                    if waiting is not None:
                        self._settle(conn, storing_conn, state, *waiting)
                    if ready.prepared is not None and ready.prepared.maker is not self._maker:
                        ready = self._make_ready(conn, batch, state, None)
                    waiting = ready, pool.submit(self._store, storing_conn, state, ready)
                if waiting is not None:
                    self._settle(conn, storing_conn, state, *waiting)
            except BaseException:
                # The thread ends with its statement; what it has not committed is not stored.
                with contextlib.suppress(psycopg.Error):
                    storing_conn.cancel_safe(timeout=_CANCEL_SECONDS)
                raise
        return batches.damage

    def _make_ready(
        self,
        conn: psycopg.Connection,
        batch: _Batch,
        state: FileState,
        before: _Batch | None,
    ) -> _Ready:
        """Find out which rows of a batch are new, and make these.

        Args:
            conn: a connection in autocommit mode.
            batch: the batch.
            state: the file.
            before: the batch before it, if that is not committed yet.
        """
        lines = {} if before is None else {row.key: row.line_number for row in before.rows}
        known_keys = files.known_keys(conn, self._collection_id, [row.key for row in batch.rows])
        rejected = list(batch.rejected)
        new: list[Row] = []
        known = 0
        for row in batch.rows:
            first_line = lines.setdefault(row.key, row.line_number)
            if first_line != row.line_number:
                rejected.append(files.duplicate(row, first_line))
            elif (there := known_keys.get(row.key)) is not None:
                refusal = files.refusal(row, there, state.bulk_file_id)
                if refusal is None:
                    known += 1
                else:
                    rejected.append(refusal)
            else:
                new.append(row)
        prepared = None
        if new:
            document_ids, indexed_at = _new_ids(conn, len(new))
            prepared = prepare(
                new,
                document_ids,
                self._maker,
                doc_type=self._options.doc_type,
                bulk_file_id=state.bulk_file_id,
                indexed_at=indexed_at,
            )
        return _Ready(batch, prepared, known, rejected)

    def _store(self, conn: psycopg.Connection, state: FileState, ready: _Ready) -> None:
        store(
            conn,
            self._options.collection,
            state,
            ready.prepared,
            ready.batch.end,
            known=ready.known,
            rejected=ready.rejected,
            is_end=ready.batch.is_end,
            finds_entities=self._finds_entities,
        )

    def _settle(
        self,
        conn: psycopg.Connection,
        storing_conn: psycopg.Connection,
        state: FileState,
        ready: _Ready,
        stored: Future[None],
    ) -> None:
        """Wait until a batch is stored; make it anew where something changed meanwhile."""
        try:
            stored.result()
        except (Outdated, KeysTaken) as change:
            is_stored = False
            while not is_stored:
                if isinstance(change, Outdated):
                    self._maker = self._new_maker(conn)
                ready = self._make_ready(conn, ready.batch, state, None)
                with contextlib.suppress(Outdated, KeysTaken):
                    self._store(storing_conn, state, ready)
                    is_stored = True
        batch = ready.batch
        self._progress.step(batch.end.offset - batch.start.offset)
        self._progress.rows(batch.row_count)

    def _new_maker(self, conn: psycopg.Connection) -> FeatureMaker:
        return FeatureMaker.of_collection(conn, self._options.collection, bulk=self._is_large)

    def _open(self) -> psycopg.Connection:
        return connect(self._conninfo, autocommit=True)


class _Batches:
    """Cuts the rows of a file into batches; the last one may be empty.

    Attributes:
        damage: why the file could not be read to its end; empty if it was.
    """

    def __init__(
        self, reader: RowReader, fields: FieldMap, start: Position, most_rows: int
    ) -> None:
        self._reader = reader
        self._fields = fields
        self._start = start
        self._most_rows = most_rows
        self.damage = ""

    def __iter__(self) -> Iterator[_Batch]:
        batch = _Batch(self._start, self._start)
        try:
            for raw in self._reader.rows(self._start):
                if batch.row_count == self._most_rows or batch.characters > _BATCH_CHARACTERS:
                    yield batch
                    batch = _Batch(batch.end, batch.end)
                batch.row_count += 1
                batch.end = raw.end
                try:
                    values = self._reader.values(raw.content)
                    row = self._fields.row(raw.line_number, values)
                except BadRow as bad:
                    batch.rejected.append(
                        RejectedRow(raw.line_number, bad.key, bad.reason, bad.detail)
                    )
                else:
                    batch.rows.append(row)
                    batch.characters += len(row.text)
        except DamagedFile as error:
            self.damage = str(error)
        batch.is_end = not self.damage
        yield batch


def _check_fields(batch: _Batch) -> None:
    """Refuse a file of which not one of the first rows has the fields: the options are wrong."""
    if batch.start.line_count or batch.rows or not batch.rejected:
        return
    if all(row.reason == Reason.MISSING_FIELD for row in batch.rejected):
        raise UsageError(
            f"none of the first {batch.row_count} rows can be used: {batch.rejected[0].detail}",
            hint="--text and --key name fields of the file",
        )


def _new_ids(conn: psycopg.Connection, count: int) -> tuple[list[int], datetime]:
    row = conn.execute(
        "select array_agg(nextval("
        " pg_get_serial_sequence('sherlock.documents', 'document_id'))), clock_timestamp()"
        " from generate_series(1, %s)",
        [count],
    ).fetchone()
    if row is None:
        raise RuntimeError("no ids")
    document_ids, now = row
    return sorted(document_ids), now


def _outcome(file: BulkFile, before: FileState, after: FileState, damage: str = "") -> FileOutcome:
    new = 0 if before is after else after.added_count - before.added_count
    return FileOutcome(
        file=str(file.path),
        format=file.format,
        bulk_file_id=after.bulk_file_id,
        rows=after.row_count,
        new=new,
        known=after.row_count - after.failed_count - new,
        failed=after.failed_count,
        damage=damage,
    )
