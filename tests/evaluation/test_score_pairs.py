"""Labelled pairs through the real search: the same as asking by hand, and nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from sherlock_pg.errors import ConfigError, UsageError
from sherlock_pg.evaluation.corpus import LabelledCorpus, LabelledDocument, LabelledPair
from sherlock_pg.evaluation.run import SEARCH_LIMIT, Settings, judge_pairs, score_pairs
from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.evaluation.scratch import drop, scratch_collection

FAST = Settings(ner_model="none")


class Interrupted:
    """Progress that is interrupted in a stage, as by Ctrl-C."""

    def __init__(self, stage: str) -> None:
        self._wanted = stage
        self._current = ""

    def stage(self, name: str, total: int) -> None:
        self._current = name

    def step(self, count: int = 1) -> None:
        if self._current == self._wanted:
            raise KeyboardInterrupt


def _connector(url: str) -> Callable[[], psycopg.Connection]:
    return lambda: psycopg.connect(url, autocommit=True)


@pytest.fixture(scope="module")
def scored(evaluation_url: str, corpus: LabelledCorpus) -> list[ScoredPair]:
    with psycopg.connect(evaluation_url, autocommit=True) as conn:
        return score_pairs(conn, corpus, settings=FAST)


def test_pairs_come_in_the_order_of_the_file(
    scored: list[ScoredPair], corpus: LabelledCorpus
) -> None:
    assert [(p.left, p.right, p.is_duplicate, p.kind) for p in scored] == [
        (p.left, p.right, p.is_duplicate, p.kind) for p in corpus.pairs
    ]


def test_the_generated_set_is_told_apart(scored: list[ScoredPair]) -> None:
    """The set is easy: what the samples promise of each kind holds."""
    by_kind = {
        kind: {p.reported for p in scored if p.kind == kind}
        for kind in ("exact_copy", "redated", "unrelated")
    }
    assert by_kind == {"exact_copy": {"EXACT"}, "redated": {"HIGH"}, "unrelated": {None}}
    assert {p.doc_type for p in scored} == {"tutela", "habeas_corpus"}


def test_it_says_what_the_search_and_the_comparison_say(
    evaluation_conn: psycopg.Connection, corpus: LabelledCorpus, scored: list[ScoredPair]
) -> None:
    conn = evaluation_conn
    with scratch_collection(conn) as scratch:
        judge_pairs(conn, scratch, corpus, FAST)
        ids = dict(
            conn.execute(
                "select name, document_id from sherlock.documents where collection_id = %s"
                " order by document_id",
                [scratch.collection_id],
            ).fetchall()
        )
        assert list(ids) == [document.document_id for document in corpus.documents]
        checked = 0
        for pair in scored:
            left, right = ids[pair.left], ids[pair.right]
            compared = {
                level: (score, confidence)
                for level, score, confidence in conn.execute(
                    "select level, score, confidence from sherlock.compare(%s, %s)", [left, right]
                )
            }
            assert compared["final"] == (pair.score, pair.confidence)
            assert [compared[level][0] for level in ("minhash", "tfidf", "entity")] == [
                pair.minhash,
                pair.tfidf,
                pair.entity,
            ]
            classes = set()
            found_by: set[str] = set()
            for asked, other in ((left, right), (right, left)):
                for confidence, levels in conn.execute(
                    "select confidence, evidence -> 'found_by'"
                    " from sherlock.find_duplicates(%s, %s, 'all') where document_id = %s",
                    [asked, SEARCH_LIMIT, other],
                ):
                    classes.add(confidence)
                    found_by |= set(levels)
            ranks = ("EXACT", "HIGH", "MEDIUM", "LOW")
            assert pair.reported == next((name for name in ranks if name in classes), None)
            if pair.reported not in (None, "EXACT"):
                # The retrieval that is asked again here is that of the search.
                assert pair.retrieved_by >= found_by
                checked += 1
            explained = {
                level
                for asked, other in ((left, right), (right, left))
                for (level,) in conn.execute(
                    "select item from sherlock.explain_match(%s, %s)"
                    " where section = 'retrieval' and detail ->> 'reason' = 'retrieved'",
                    [asked, other],
                )
            }
            assert pair.retrieved_by == explained
        assert checked


def test_several_workers_give_the_same(
    evaluation_url: str,
    evaluation_conn: psycopg.Connection,
    corpus: LabelledCorpus,
    scored: list[ScoredPair],
) -> None:
    settings = replace(FAST, workers=3)
    connect = _connector(evaluation_url)
    assert score_pairs(evaluation_conn, corpus, settings=settings, connect=connect) == scored
    with pytest.raises(ValueError, match="open connections"):
        score_pairs(evaluation_conn, corpus, settings=settings)


@pytest.mark.parametrize(
    ("stage", "workers"),
    [("storing", 1), ("fitting the vocabulary", 1), ("comparing", 1), ("searching", 2)],
)
def test_an_interruption_leaves_nothing(
    evaluation_url: str,
    evaluation_conn: psycopg.Connection,
    corpus: LabelledCorpus,
    stage: str,
    workers: int,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        score_pairs(
            evaluation_conn,
            corpus,
            settings=replace(FAST, workers=workers),
            progress=Interrupted(stage),
            connect=_connector(evaluation_url),
        )


def test_a_lost_connection_leaves_nothing(
    evaluation_url: str, evaluation_conn: psycopg.Connection
) -> None:
    connect = _connector(evaluation_url)
    with (
        closing(connect()) as lost,
        pytest.raises(psycopg.OperationalError),
        scratch_collection(lost, reconnect=connect),
    ):
        evaluation_conn.execute("select pg_terminate_backend(%s, 5000)", [lost.info.backend_pid])
        lost.execute("select 1")


def test_what_a_killed_run_left_goes_with_the_next_run(
    evaluation_url: str, evaluation_conn: psycopg.Connection, corpus: LabelledCorpus
) -> None:
    def collections() -> set[str]:
        return {
            name
            for (name,) in evaluation_conn.execute(
                "select name from sherlock.collections where name <> 'default'"
            )
        }

    with (
        closing(_connector(evaluation_url)()) as killed,
        pytest.raises(RuntimeError, match="stays"),
        scratch_collection(killed) as abandoned,
    ):
        judge_pairs(killed, abandoned, corpus, FAST)
        with scratch_collection(evaluation_conn) as other:
            assert collections() == {abandoned.collection, other.collection}
        evaluation_conn.execute("select pg_terminate_backend(%s, 5000)", [killed.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            killed.execute("select 1")
    assert collections() == {abandoned.collection}
    with scratch_collection(evaluation_conn) as third:
        assert collections() == {third.collection}


def test_a_configuration_holds_for_the_evaluation_only(
    evaluation_conn: psycopg.Connection, corpus: LabelledCorpus, scored: list[ScoredPair]
) -> None:
    def in_force() -> list[tuple[object, ...]]:
        return evaluation_conn.execute(
            "select * from sherlock.detection_configs order by config_id"
        ).fetchall()

    before = in_force()
    names = ("default", "tutela", "habeas_corpus")
    thresholds = ", ".join(
        f'"{name}": {{"high": 0.9999, "medium": 0.9998, "low": 0.9997}}' for name in names
    )
    strict = score_pairs(
        evaluation_conn,
        corpus,
        settings=replace(FAST, config_text=f'{{"THRESHOLDS": {{{thresholds}}}}}'),
    )
    assert in_force() == before
    assert [p.score for p in strict] == [p.score for p in scored]
    assert {p.reported for p in strict if p.kind == "redated"} == {None}
    assert {p.reported for p in strict if p.kind == "exact_copy"} == {"EXACT"}


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (Settings(config_text='{"THRESHOLD": 1}'), ConfigError),
        (Settings(scheme="no such"), psycopg.DatabaseError),
        (Settings(like="no such"), psycopg.DatabaseError),
    ],
)
def test_settings_that_do_not_exist_are_refused(
    evaluation_conn: psycopg.Connection,
    corpus: LabelledCorpus,
    settings: Settings,
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        score_pairs(evaluation_conn, corpus, settings=settings)


def test_another_scheme_gives_other_overlaps(
    evaluation_conn: psycopg.Connection, corpus: LabelledCorpus, scored: list[ScoredPair]
) -> None:
    evaluation_conn.execute("select sherlock.create_scheme('evaluated', 'char', 9)")
    try:
        other = score_pairs(evaluation_conn, corpus, settings=replace(FAST, scheme="evaluated"))
    finally:
        evaluation_conn.execute("delete from sherlock.shingle_schemes where name = 'evaluated'")
    assert [p.minhash for p in other] != [p.minhash for p in scored]
    assert [p.tfidf for p in other] == [p.tfidf for p in scored]


def test_more_duplicates_than_a_search_reports_are_all_found(
    evaluation_conn: psycopg.Connection,
) -> None:
    """Ten are reported by default; here one document has fifteen."""
    words = " ".join(f"palabra{n} hecho{n % 17}" for n in range(120))
    documents = [
        LabelledDocument(
            str(n), f"{words} {' '.join(f'fin{n}x{k}' for k in range(5))}", "default", ()
        )
        for n in range(16)
    ]
    pairs = [LabelledPair(one.document_id, "0", True, "copy") for one in documents[1:]]
    found = score_pairs(
        evaluation_conn, LabelledCorpus(tuple(documents), tuple(pairs), frozenset()), settings=FAST
    )
    assert {pair.reported for pair in found} == {"HIGH"}


def test_supplied_entities_are_used_unless_ignored(
    evaluation_conn: psycopg.Connection, corpus: LabelledCorpus, scored: list[ScoredPair]
) -> None:
    supplied = replace(
        corpus,
        documents=tuple(
            replace(document, entities=({"role": "cedula", "value": "79123456"},))
            for document in corpus.documents
        ),
    )
    with_them = score_pairs(evaluation_conn, supplied, settings=FAST)
    assert len({pair.entity for pair in with_them}) == 1
    assert (
        score_pairs(evaluation_conn, supplied, settings=replace(FAST, ignore_entities=True))
        == scored
    )


def test_a_kept_collection_stays_with_its_documents(
    evaluation_conn: psycopg.Connection, corpus: LabelledCorpus
) -> None:
    with scratch_collection(evaluation_conn) as scratch:
        judge_pairs(evaluation_conn, scratch, corpus, FAST)
        with pytest.raises(UsageError, match="already"):
            scratch.keep(evaluation_conn, "default")
        scratch.keep(evaluation_conn, "kept")
    try:
        counted = evaluation_conn.execute(
            "select count(*), count(v.document_id) from sherlock.documents as d"
            " left join sherlock.detections as v using (document_id)"
            " where d.collection_id = sherlock.collection_id('kept')"
        ).fetchone()
        assert counted == (len(corpus.documents), 0)
    finally:
        drop(evaluation_conn, scratch.collection_id)


def test_short_and_empty_texts_have_no_score(evaluation_conn: psycopg.Connection) -> None:
    documents = [
        LabelledDocument("a", "", "default", None),
        LabelledDocument("b", "dos palabras", "default", None),
        LabelledDocument("c", "Dos PALABRAS.", "default", None),
    ]
    pairs = (LabelledPair("b", "a", False, "empty"), LabelledPair("c", "b", True, "same"))
    empty, same = score_pairs(
        evaluation_conn, LabelledCorpus(tuple(documents), pairs, frozenset()), settings=FAST
    )
    assert (empty.score, empty.reported, empty.retrieved_by) == (None, None, frozenset())
    assert (same.score, same.reported, same.is_same_text) == (1.0, "EXACT", True)


def test_a_connection_that_does_not_commit_is_refused(
    conn: psycopg.Connection, corpus: LabelledCorpus
) -> None:
    with pytest.raises(ValueError, match="autocommit"):
        score_pairs(conn, corpus)
