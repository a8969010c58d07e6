"""Labelled pairs through the real search: store, fit, ask, compare.

The documents go into a scratch collection by the same SQL as any others, only that no verdicts are
made: features, entities (by the extraction that `sherlock-pg load` runs, unless the file supplies
them) and one vocabulary, fitted on all of them as `load` does for a new collection. Then each
document of a pair is asked for its duplicates in the whole collection, and each pair is compared.

A search reports `max_results` matches, ten by default, but the labelled set may hold more
duplicates of a document than that. So the limit of the call is raised to the most that the search
takes: what is measured is whether the detection finds a pair, not whether it is in the first ten.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.types.json import Jsonb

from sherlock_pg.evaluation.corpus import LabelledCorpus, LabelledDocument, LabelledPair
from sherlock_pg.evaluation.extraction import entity_extraction
from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.evaluation.scratch import Scratch, scratch_collection
from sherlock_pg.vectorize import lifecycle

SEARCH_LIMIT = 1000
"""Matches asked for: the most that the search takes."""

CLASSES = ("EXACT", "HIGH", "MEDIUM", "LOW")
"""Classes, best first."""

_STORE_BATCH = 100
_ASK_BATCH = 20

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Progress(Protocol):
    """What a run tells about how far it is."""

    def stage(self, name: str, total: int) -> None:
        """Say that a stage with so many steps begins."""

    def step(self, count: int = 1) -> None:
        """Say that steps of the stage are done."""


class _Silent:
    def stage(self, name: str, total: int) -> None:
        pass

    def step(self, count: int = 1) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Settings:
    """What an evaluation runs with.

    Attributes:
        like: collection whose profile, scheme, vocabulary limits and configuration apply.
        scheme: another shingle scheme.
        config_text: a configuration file, read over that of `like`.
        ner_model: model of the extraction, as for `sherlock-pg load`.
        ignore_entities: look for entities in the text even where the file supplies them.
        workers: connections used at once; more than one need a way to open them.
    """

    like: str = "default"
    scheme: str | None = None
    config_text: str | None = None
    ner_model: str = "auto"
    ignore_entities: bool = False
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `sherlock.compare` says about the entities of a pair."""

    shared: tuple[Mapping[str, Any], ...]
    differing: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A scored pair with its evidence."""

    scored: ScoredPair
    evidence: Evidence


def score_pairs(
    conn: psycopg.Connection,
    corpus: LabelledCorpus,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    connect: Callable[[], psycopg.Connection] | None = None,
) -> list[ScoredPair]:
    """Store a labelled set in a scratch collection, score its pairs, and drop the collection.

    Args:
        conn: a connection in autocommit mode to a database with the schema.
        corpus: the labelled set.
        settings: what to run with; by default the configuration in force.
        progress: is told how far it is.
        connect: opens further connections in autocommit mode, for more than one worker and for
            cleaning up where `conn` is lost.

    Returns:
        One scored pair for each labelled one, in the same order.
    """
    settings = settings or Settings()
    with scratch_collection(
        conn,
        like=settings.like,
        scheme=settings.scheme,
        config_text=settings.config_text,
        reconnect=connect,
    ) as scratch:
        judged = judge_pairs(conn, scratch, corpus, settings, progress, connect)
    return [pair.scored for pair in judged]


def judge_pairs(
    conn: psycopg.Connection,
    scratch: Scratch,
    corpus: LabelledCorpus,
    settings: Settings,
    progress: Progress | None = None,
    connect: Callable[[], psycopg.Connection] | None = None,
) -> list[JudgedPair]:
    """Store the documents in the collection, and judge each pair; arguments as `score_pairs`."""
    progress = progress or _Silent()
    ids = _store(conn, scratch, corpus.documents, settings, progress)
    progress.stage("fitting the vocabulary", 0)
    lifecycle.fit_if_needed(conn, scratch.collection, on_vector=progress.step)
    with _Workers(conn, settings.workers, connect) as workers:
        answers = _ask(workers, corpus.pairs, ids, progress)
        return _compare(workers, corpus.pairs, ids, answers, progress)


class _Workers:
    """Runs work on several connections; with one worker on the caller's own, in this thread."""

    def __init__(
        self,
        conn: psycopg.Connection,
        count: int,
        connect: Callable[[], psycopg.Connection] | None,
    ) -> None:
        if count > 1 and connect is None:
            raise ValueError("several workers need a way to open connections")
        self._conn = conn
        self._count = count
        self._connect = connect
        self._local = threading.local()
        self._opened: list[psycopg.Connection] = []
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> _Workers:
        if self._count > 1:
            self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="evaluation")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for conn in self._opened:
                with contextlib.suppress(psycopg.Error):
                    conn.cancel_safe()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for conn in self._opened:
            conn.close()

    def map(
        self,
        work: Callable[[psycopg.Connection, Sequence[_Item]], _Result],
        items: Sequence[_Item],
        batch_size: int,
        progress: Progress,
    ) -> Iterator[_Result]:
        """Do the work on batches of the items; results are in the order of the batches."""
        batches = _batches(items, batch_size)
        if self._pool is None:
            for batch in batches:
                yield work(self._conn, batch)
                progress.step(len(batch))
            return
        futures: dict[Future[_Result], Sequence[_Item]] = {
            self._pool.submit(self._run, work, batch): batch for batch in batches
        }
        pending = set(futures)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                # An error ends the run at once, not when it is the batch's turn.
                future.result()
                progress.step(len(futures[future]))
        for future in futures:
            yield future.result()

    def _run(
        self,
        work: Callable[[psycopg.Connection, Sequence[_Item]], _Result],
        batch: Sequence[_Item],
    ) -> _Result:
        conn: psycopg.Connection | None = getattr(self._local, "conn", None)
        if conn is None:
            assert self._connect is not None
            conn = self._local.conn = self._connect()
            self._opened.append(conn)
        return work(conn, batch)


def _store(
    conn: psycopg.Connection,
    scratch: Scratch,
    documents: Sequence[LabelledDocument],
    settings: Settings,
    progress: Progress,
) -> dict[str, int]:
    """Store the documents with entities and features, but no verdicts; return their ids.

    One connection stores them, in the order of the file, so that ids and ties are the same in each
    run; entities are looked for in the texts that follow meanwhile.
    """
    is_supplied = [
        document.entities is not None and not settings.ignore_entities for document in documents
    ]
    texts = [
        document.text
        for document, has_entities in zip(documents, is_supplied, strict=True)
        if not has_entities
    ]
    progress.stage("storing", len(documents))
    ids: dict[str, int] = {}
    workers = min(settings.workers, max(1, len(texts) // _STORE_BATCH))
    with entity_extraction(settings.ner_model, workers) as extraction:
        found = extraction.rows(texts)
        entities = (
            list(document.entities or ()) if has_entities else next(found)
            for document, has_entities in zip(documents, is_supplied, strict=True)
        )
        for batch in _batches(documents, _STORE_BATCH):
            rows = [Jsonb(one) for one in itertools.islice(entities, len(batch))]
            ids |= _stored(conn, scratch, batch, rows)
            progress.step(len(batch))
    return ids


def _stored(
    conn: psycopg.Connection,
    scratch: Scratch,
    documents: Sequence[LabelledDocument],
    entities: Sequence[Jsonb],
) -> dict[str, int]:
    with conn.transaction(), conn.cursor() as cur:
        # A row that comes with a state is not judged when it is inserted.
        cur.execute(
            "insert into sherlock.documents (collection_id, name, doc_type, content, text_state)"
            " select %s, d.name, case d.doc_type when 'auto'"
            "  then sherlock.guess_doc_type(d.content) else d.doc_type end, d.content, 'short'"
            " from unnest(%s::text[], %s::text[], %s::text[]) with ordinality"
            "  as d (name, doc_type, content, ordinal)"
            " order by d.ordinal returning name, document_id",
            [
                scratch.collection_id,
                [document.document_id for document in documents],
                [document.doc_type for document in documents],
                [document.text for document in documents],
            ],
        )
        ids: dict[str, int] = dict(cur.fetchall())
        cur.executemany(
            "select sherlock.store_entities(%s, %s)",
            [
                (ids[document.document_id], of_document)
                for document, of_document in zip(documents, entities, strict=True)
            ],
        )
        cur.execute("select sherlock.index_documents(%s)", [list(ids.values())])
    return ids


def _batches(items: Sequence[_Item], size: int) -> list[Sequence[_Item]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a document's search says about another document."""

    confidence: str | None
    retrieved_by: frozenset[str]


_RETRIEVED = """
    select c.level, c.document_id
    from sherlock.documents as d
    join sherlock.collections as o using (collection_id)
    join sherlock.shingle_schemes as h using (scheme_id)
    cross join lateral sherlock.detection_config(d.collection_id, d.doc_type) as f
    left join sherlock.document_signatures as s
        on s.document_id = d.document_id and s.scheme_id = h.scheme_id
    left join sherlock.document_vectors as v
        on v.document_id = d.document_id
        and v.model_id = sherlock.active_tfidf_model(d.collection_id)
    left join sherlock.entity_profiles as e on e.document_id = d.document_id
    cross join lateral (
        (select 'minhash' as level, b.document_id
         from sherlock.band_candidates(
             sherlock.band_keys(
                 s.signature, h.scheme_id, d.collection_id, h.band_count, h.rows_per_band),
             h.band_key_limit) as b
         where b.document_id <> d.document_id
         order by b.shared_bands desc, b.document_id
         limit f.minhash_candidate_limit)
        union all
        select 'tfidf', n.document_id
        from sherlock.vector_candidates(v.model_id, v.sign_bits, f.tfidf_candidate_limit) as n
        union all
        select 'entities', n.document_id
        from sherlock.entity_candidates(
            d.collection_id, e.profile, f.entity_candidate_limit) as n
        where f.entity_weight > 0
    ) as c
    where d.document_id = %(id)s and d.text_state = 'indexed'
      and c.document_id = any(%(others)s)
"""
"""The candidates that each level brings, by the search's own retrieval functions and limits."""


def _ask(
    workers: _Workers,
    pairs: Sequence[LabelledPair],
    ids: Mapping[str, int],
    progress: Progress,
) -> dict[tuple[int, int], _Answer]:
    """Ask each document of a pair for its duplicates; keep what is said about labelled pairs."""
    others: dict[int, set[int]] = defaultdict(set)
    for pair in pairs:
        others[ids[pair.left]].add(ids[pair.right])
        others[ids[pair.right]].add(ids[pair.left])

    def ask(
        conn: psycopg.Connection, batch: Sequence[tuple[int, set[int]]]
    ) -> dict[tuple[int, int], _Answer]:
        answers: dict[tuple[int, int], _Answer] = {}
        for document_id, wanted in batch:
            reported: dict[int, str] = dict(
                conn.execute(
                    "select document_id, confidence"
                    " from sherlock.find_duplicates(%s, %s, 'all') where document_id = any(%s)",
                    [document_id, SEARCH_LIMIT, list(wanted)],
                ).fetchall()
            )
            levels: dict[int, set[str]] = defaultdict(set)
            for level, other in conn.execute(
                _RETRIEVED, {"id": document_id, "others": list(wanted)}
            ):
                levels[other].add(level)
            for other in wanted:
                answers[document_id, other] = _Answer(reported.get(other), frozenset(levels[other]))
        return answers

    progress.stage("searching", len(others))
    answers: dict[tuple[int, int], _Answer] = {}
    for found in workers.map(ask, list(others.items()), _ASK_BATCH, progress):
        answers |= found
    return answers


def _compare(
    workers: _Workers,
    pairs: Sequence[LabelledPair],
    ids: Mapping[str, int],
    answers: Mapping[tuple[int, int], _Answer],
    progress: Progress,
) -> list[JudgedPair]:
    def compare(conn: psycopg.Connection, batch: Sequence[LabelledPair]) -> list[JudgedPair]:
        return [_compared(conn, pair, ids[pair.left], ids[pair.right], answers) for pair in batch]

    progress.stage("comparing", len(pairs))
    return [
        judged for batch in workers.map(compare, pairs, _ASK_BATCH, progress) for judged in batch
    ]


def _compared(
    conn: psycopg.Connection,
    pair: LabelledPair,
    left: int,
    right: int,
    answers: Mapping[tuple[int, int], _Answer],
) -> JudgedPair:
    rows = conn.execute(
        "select c.level, c.score, c.confidence, c.evidence, d.doc_type"
        " from sherlock.compare(%(left)s, %(right)s) as c"
        " join sherlock.documents as d on d.document_id = %(left)s",
        {"left": left, "right": right},
    ).fetchall()
    score = {level: value for level, value, *_ in rows}
    confidence = {level: value for level, _, value, *_ in rows}
    evidence: dict[str, dict[str, Any]] = {level: value for level, _, _, value, _ in rows}
    there, back = answers[left, right], answers[right, left]
    classes = [answer.confidence for answer in (there, back) if answer.confidence is not None]
    scored = ScoredPair(
        left=pair.left,
        right=pair.right,
        is_duplicate=pair.is_duplicate,
        kind=pair.kind,
        doc_type=rows[0][4],
        minhash=score["minhash"],
        tfidf=score["tfidf"],
        entity=score["entity"],
        score=score["final"],
        is_same_text=evidence["exact"]["same_canonical_text"],
        has_conflict=evidence["entity"]["has_conflict"] or False,
        confidence=confidence["final"],
        reported=min(classes, key=CLASSES.index, default=None),
        retrieved_by=there.retrieved_by | back.retrieved_by,
    )
    entity = evidence["entity"]
    return JudgedPair(
        scored,
        Evidence(tuple(entity["shared"] or ()), tuple(entity["differing"] or ())),
    )
