"""Which documents are meant: filters of a person, and what is out of date."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from sherlock_pg.errors import UsageError


class Kind(enum.StrEnum):
    """What is done again."""

    NER = "ner"
    """Parties and identifiers are looked for in the stored text."""
    FEATURES = "features"
    """Signature, vector, numbers and dates are computed from the stored text."""
    OCR = "ocr"
    """The file is read again by a worker."""


@dataclass(frozen=True)
class Filters:
    """Documents that a person asks for; empty fields ask for nothing.

    Attributes:
        collection: name of their collection.
        doc_type: their type.
        ids: these documents only.
        status: ok, partial or failed.
        reason: reason code of a failed document.
        flag: quality flag.
        before_version: entities found by rules older than this version, or by none.
        since: arrived then or later.
        until: arrived before.
        after_id: documents with a greater id.
        is_all: those that are up to date too.
    """

    collection: str | None = None
    doc_type: str | None = None
    ids: tuple[int, ...] = ()
    status: str | None = None
    reason: str | None = None
    flag: str | None = None
    before_version: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after_id: int | None = None
    is_all: bool = False


@dataclass(frozen=True)
class Selection:
    """Documents that a run is about, as a condition on `documents as d` and `collections as c`."""

    condition: sql.Composable
    parameters: dict[str, Any] = field(default_factory=dict)

    def count(self, conn: psycopg.Connection) -> int:
        """Count the documents."""
        row = conn.execute(
            sql.SQL("select count(*) from {} where {}").format(_FROM, self.condition),
            self.parameters,
        ).fetchone()
        return 0 if row is None else int(row[0])

    def counts(self, conn: psycopg.Connection) -> list[dict[str, Any]]:
        """Count the documents by collection, type, status and what they were processed by."""
        query = sql.SQL(
            "select c.name as collection, d.doc_type, d.status, d.text_state,"
            " d.processing #>> '{{ner_versions,rules}}' as rules_version, d.feature_version,"
            " count(*) as documents from {} where {} group by 1, 2, 3, 4, 5, 6"
            " order by 1, 2, 3, 4, 5, 6"
        ).format(_FROM, self.condition)
        with conn.cursor(row_factory=dict_row) as cur:
            return cur.execute(query, self.parameters).fetchall()

    def ids_after(self, conn: psycopg.Connection, after: int, limit: int) -> list[int]:
        """Return the next documents in the order of their ids."""
        rows = conn.execute(
            sql.SQL(
                "select d.document_id from {} where {} and d.document_id > %(after)s"
                " order by d.document_id limit %(limit)s"
            ).format(_FROM, self.condition),
            {**self.parameters, "after": after, "limit": limit},
        ).fetchall()
        return [row[0] for row in rows]


_FROM = sql.SQL("sherlock.documents as d join sherlock.collections as c using (collection_id)")

_HAS_TEXT = """
d.status in ('ok', 'partial') and d.text_state is not null
and (d.content is not null
     or exists (select from sherlock.watched_rows as w where w.document_id = d.document_id))
"""

_WANTED = {
    # Entities that came with a text are not ours to replace; texts of other profiles have none.
    Kind.NER: f"{_HAS_TEXT} and d.supplied_entities is null"
    " and (c.profile = 'legal' or d.processing ? 'ner_versions')",
    Kind.FEATURES: _HAS_TEXT,
    Kind.OCR: "d.status in ('ok', 'partial', 'failed') and d.sha256 is not null"
    " and not exists (select from sherlock.inbox as i where i.document_id = d.document_id"
    " and i.gate = 'new' and i.state in ('queued', 'leased', 'stored'))",
}

_OUT_OF_DATE = {
    Kind.NER: "d.processing -> 'ner_versions' is distinct from %(ner_versions)s",
    Kind.FEATURES: "(d.feature_version <> sherlock.feature_version()"
    " or (d.text_state = 'excluded') <> sherlock._is_excluded(d.flags, d.accepted_at)"
    " or exists (select from sherlock.document_signatures as s"
    " where s.document_id = d.document_id and s.containment_sample is null))",
    Kind.OCR: "(d.text_state = 'excluded' or d.status = 'failed')",
}

_IS_OLDER = """
coalesce(
    case when d.processing #>> '{ner_versions,rules}' ~ '^[0-9]+([.][0-9]+)*$'
         then string_to_array(d.processing #>> '{ner_versions,rules}', '.')::integer[] end
    < string_to_array(%(before_version)s, '.')::integer[], true)
"""


def unreadable(filters: Filters) -> Selection:
    """Return what `sherlock.unreadable_documents` lists, narrowed by the filters."""
    return _narrowed([_OUT_OF_DATE[Kind.OCR]], filters, {})


def listed(selection: Selection) -> sql.Composed:
    """Return the query that lists a selection as `sherlock.unreadable_documents` does."""
    return sql.SQL(
        "select u.* from sherlock.unreadable_documents as u where u.document_id in ("
        " select d.document_id from {} where {}) order by u.document_id"
    ).format(_FROM, selection.condition)


def select(kind: Kind, filters: Filters, ner_versions: dict[str, str] | None = None) -> Selection:
    """Return the documents that a run is about.

    Args:
        kind: what is to be done again.
        filters: what was asked for.
        ner_versions: of today's rules and model; needed for `Kind.NER`.

    Raises:
        UsageError: a version is no version.
    """
    conditions = [_WANTED[kind]]
    parameters: dict[str, Any] = {}
    if not filters.is_all:
        conditions.append(_OUT_OF_DATE[kind])
        if kind is Kind.NER:
            parameters["ner_versions"] = Jsonb(ner_versions)
    return _narrowed(conditions, filters, parameters)


def _narrowed(conditions: list[str], filters: Filters, parameters: dict[str, Any]) -> Selection:
    if filters.before_version is not None:
        if not all(part.isdecimal() for part in filters.before_version.split(".")):
            raise UsageError(
                f"{filters.before_version!r} is not a version of the rules",
                hint="numbers with dots, for example 3; sherlock-pg reprocess --ner --dry-run "
                "shows which are there",
            )
        conditions.append(_IS_OLDER)
        parameters["before_version"] = filters.before_version
    for name, value, condition in (
        ("collection", filters.collection, "c.name = %(collection)s"),
        ("doc_type", filters.doc_type, "d.doc_type = %(doc_type)s"),
        ("ids", list(filters.ids) or None, "d.document_id = any(%(ids)s)"),
        ("status", filters.status, "d.status = %(status)s"),
        ("reason", filters.reason, "d.reason = %(reason)s"),
        ("flag", filters.flag, "%(flag)s = any(d.flags)"),
        ("since", filters.since, "d.created_at >= %(since)s"),
        ("until", filters.until, "d.created_at < %(until)s"),
        ("after_id", filters.after_id, "d.document_id > %(after_id)s"),
    ):
        if value is not None:
            conditions.append(condition)
            parameters[name] = value
    return Selection(
        sql.SQL(" and ").join(sql.SQL(f"({condition})") for condition in conditions),
        parameters,
    )
