"""Vocabularies fitted in SQL: equal to the Python fit, and a switch that never leaves a gap."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.samples.variants import Kind, make_variant
from sherlock_pg.vectorize import lifecycle, tfidf
from sherlock_pg.vectorize.canonical import canonical_text

CASES = [draw_case(11, f"caso-{topic}-{number}", topic_name=topic) for topic in TOPICS[:8]
         for number in range(2)]  # fmt: skip
FILINGS = [compose(case).text() for case in CASES] + [
    make_variant(11, case, kind)[1].text()
    for case in CASES[::3]
    for kind in (Kind.PARAPHRASE, Kind.NEW_VERSION)
]
WORDS = (
    "Señor JUEZ de la Acción tutela a b 1 é ñu 22 22 東京都 straße Ελλάδα ﬁrma n.º İstanbul"
    " ٣٤ co\u00adsa e\u0301l x,y,zz"
)
TOO_LONG = ["é" * 50, "é" * 50 + "a", "z" * 101]

texts = st.lists(
    st.one_of(
        st.sampled_from(WORDS.split(" ")),
        st.sampled_from(WORDS.split(" ")[:5]),
        st.sampled_from(TOO_LONG),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
    ),
    max_size=40,
).map(" ".join)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def add(
    conn: psycopg.Connection,
    contents: Sequence[str | None],
    *,
    collection: str = "default",
    state: str = "indexed",
) -> list[int]:
    """Insert documents as the ingest leaves them, but without features: triggers don't fire."""
    conn.execute("set session_replication_role = replica")
    rows = conn.execute(
        "insert into sherlock.documents (collection_id, content, text_state)"
        " select sherlock.collection_id(%s), t.content, %s"
        " from unnest(%s::text[]) with ordinality as t (content, n) order by t.n"
        " returning document_id",
        [collection, state, list(contents)],
    ).fetchall()
    conn.execute("reset session_replication_role")
    return [row[0] for row in rows]


def fit_in_sql(conn: psycopg.Connection, collection: str = "default", **options: int) -> int:
    arguments = {"p_collection": collection, **options}
    return int(
        scalar(
            conn,
            "select sherlock.fit_vocabulary("
            + ", ".join(f"{name} => %s" for name in arguments)
            + ")",
            *arguments.values(),
        )
    )


def sample(conn: psycopg.Connection) -> list[str]:
    """Return the canonical texts that the loader fits a vocabulary of the collection default on."""
    found = lifecycle._sample(conn, scalar(conn, "select sherlock.collection_id('default')"))
    return [canonical_text(text) for text in found]


def model_rows(conn: psycopg.Connection, model_id: int) -> tuple[Any, list[Any]]:
    model = conn.execute(
        "select collection_id, status, feature_count, fitted_document_count, ngram_min, ngram_max"
        " from sherlock.tfidf_models where model_id = %s",
        [model_id],
    ).fetchone()
    features = conn.execute(
        "select feature_index, term, idf from sherlock.tfidf_features where model_id = %s"
        " order by feature_index",
        [model_id],
    ).fetchall()
    return model, features


def assert_same_model(
    conn: psycopg.Connection, model_id: int, vocabulary: tfidf.Vocabulary
) -> None:
    model, features = model_rows(conn, model_id)
    expected_model, expected = model_rows(conn, tfidf.store(conn, "default", vocabulary))
    assert model == expected_model
    assert [row[:2] for row in features] == [row[:2] for row in expected]
    np.testing.assert_allclose(
        [row[2] for row in features], [row[2] for row in expected], rtol=0, atol=1e-12
    )


def set_limits(
    conn: psycopg.Connection, max_features: int, ngram_range: tuple[int, int] = (1, 2)
) -> None:
    conn.execute(
        "update sherlock.collections set tfidf_max_features = %s, tfidf_ngram_min = %s,"
        " tfidf_ngram_max = %s where name = 'default'",
        [max_features, *ngram_range],
    )


def assert_fails(
    conn: psycopg.Connection, sqlstate: str, query: str, *parameters: object
) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.DatabaseError) as caught:
        conn.execute(query.encode(), parameters)
    assert caught.value.sqlstate == sqlstate
    return caught.value.diag


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("max_features", [1, 700, 5000])
def test_on_filings_the_fit_is_the_one_of_python(
    conn: psycopg.Connection, max_features: int, ngram_range: tuple[int, int]
) -> None:
    set_limits(conn, max_features, ngram_range)
    add(conn, FILINGS)
    vocabulary = tfidf.fit(sample(conn), max_features=max_features, ngram_range=ngram_range)
    assert vocabulary.document_count == len(FILINGS)
    assert_same_model(conn, fit_in_sql(conn), vocabulary)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    contents=st.lists(texts, min_size=1, max_size=8),
    max_features=st.integers(1, 40),
    ngram_range=st.sampled_from([(1, 1), (1, 2), (2, 2)]),
)
def test_on_any_texts_the_fit_is_the_one_of_python(
    conn: psycopg.Connection,
    contents: list[str],
    max_features: int,
    ngram_range: tuple[int, int],
) -> None:
    conn.execute("savepoint before_example")
    set_limits(conn, max_features, ngram_range)
    add(conn, contents)
    try:
        vocabulary = tfidf.fit(sample(conn), max_features=max_features, ngram_range=ngram_range)
    except tfidf.EmptyVocabulary:
        assert_fails(conn, "SH034", "select sherlock.fit_vocabulary()")
    else:
        assert_same_model(conn, fit_in_sql(conn), vocabulary)
    conn.execute("rollback to savepoint before_example")


@pytest.mark.parametrize("size", [1, 7, 22, 1000])
def test_a_sample_is_the_one_of_the_loader(
    conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(lifecycle, "SAMPLE_LIMIT", size)
    # More than are read at a time, so that the portions are seen to make one whole.
    add(conn, [f"documento{number} trata de asunto{number % 7}" for number in range(1100)])
    vocabulary = tfidf.fit(sample(conn))
    assert vocabulary.document_count == size
    assert_same_model(conn, fit_in_sql(conn, p_sample=size), vocabulary)


def test_only_indexed_documents_of_the_collection_count(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('otra')")
    add(conn, ["uno dos"])
    add(conn, ["tres"], state="short")
    add(conn, ["cuatro"], collection="otra")
    add(conn, ["", "a b"])
    vocabulary = tfidf.load(conn, fit_in_sql(conn))
    assert vocabulary.terms == ("dos", "uno", "uno dos")
    assert vocabulary.document_count == 3
    assert tfidf.load(conn, fit_in_sql(conn, "otra")).terms == ("cuatro",)


def test_texts_of_watched_tables_are_read_there(conn: psycopg.Connection) -> None:
    conn.execute("create table public.feed_items (id integer primary key, body text)")
    conn.execute("select sherlock.watch('public.feed_items', 'id', array['body'])")
    conn.cursor().executemany(
        "insert into public.feed_items values (%s, %s)", list(enumerate(FILINGS[:5]))
    )
    vocabulary = tfidf.load(conn, fit_in_sql(conn, "public.feed_items"))
    expected = tfidf.fit([canonical_text(text) for text in FILINGS[:5]])
    assert vocabulary.terms == expected.terms
    np.testing.assert_allclose(vocabulary.idf, expected.idf, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("contents", "detail"),
    [
        ([], "indexed documents with a text: 0; with a word of two letters: 0"),
        (["a b 1", "", None], "indexed documents with a text: 2; with a word of two letters: 0"),
    ],
)
def test_nothing_to_fit_on_is_an_error_that_says_so(
    conn: psycopg.Connection, contents: list[str | None], detail: str
) -> None:
    add(conn, contents)
    diag = assert_fails(conn, "SH034", "select sherlock.fit_vocabulary()")
    assert diag.message_detail == detail
    assert diag.message_hint


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("select sherlock.fit_vocabulary('ninguna')", "SH002"),
        ("select sherlock.fit_vocabulary('default', 0)", "SH036"),
        ("select sherlock.fit_vocabulary('default', null)", "SH036"),
        ("call sherlock.refresh_vocabulary('ninguna')", "SH002"),
        ("call sherlock.refresh_vocabulary('default', -1)", "SH036"),
        ("call sherlock.refresh_vocabulary('default', p_batch_size => 0)", "SH036"),
        ("call sherlock.refresh_vocabulary('default', p_batch_size => 10001)", "SH036"),
        ("call sherlock.refresh_vocabulary('default', p_batch_size => null)", "SH036"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(
    conn: psycopg.Connection, call: str, sqlstate: str
) -> None:
    assert assert_fails(conn, sqlstate, call).message_hint


class Session:
    """A session that commits each statement, with what the server says.

    Attributes:
        on_notice: called with each message, while the server goes on working.
    """

    def __init__(self, url: str) -> None:
        self.conn = psycopg.connect(url, autocommit=True)
        self.conn.execute("set plpgsql.extra_errors = 'all'")
        self.said: list[str] = []
        self.on_notice: Callable[[str], None] = lambda _: None
        self.conn.add_notice_handler(self._hear)

    def refresh(self, arguments: str = "") -> list[str]:
        self.said.clear()
        self.conn.execute(f"call sherlock.refresh_vocabulary({arguments})".encode())
        return list(self.said)

    def _hear(self, diag: psycopg.errors.Diagnostic) -> None:
        message = f"{diag.severity}: {diag.message_primary}"
        self.said.append(message)
        self.on_notice(message)


@pytest.fixture
def dba(database_url: str) -> Iterator[Session]:
    """Give the session of somebody who has psql."""
    session = Session(database_url)
    yield session
    session.conn.close()


@pytest.fixture
def other(database_url: str) -> Iterator[psycopg.Connection]:
    """Give a second session in the same database."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


def statuses(conn: psycopg.Connection) -> dict[int, str]:
    return dict(
        conn.execute("select model_id, status from sherlock.tfidf_models order by 1").fetchall()
    )


def without_vector(conn: psycopg.Connection) -> float | None:
    """Return the share of documents without a vector of the active model."""
    share: float | None = scalar(
        conn,
        "select without_vector_share from sherlock.vocabulary_status where collection = 'default'",
    )
    return share


def locks(conn: psycopg.Connection) -> list[int]:
    """Return the sessions that hold the lock of a vocabulary."""
    rows = conn.execute(
        "select pid from pg_locks where locktype = 'advisory' and classid = %s and granted",
        [lifecycle._LOCK_CLASS],
    ).fetchall()
    return [row[0] for row in rows]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def is_waiting(conn: psycopg.Connection, pid: int) -> bool:
    return bool(scalar(conn, "select cardinality(pg_blocking_pids(%s)) > 0", pid))


def set_lock_timeout(conn: psycopg.Connection, function: str) -> None:
    """Shorten the ten seconds that a function waits for a lock."""
    conn.execute(f"alter function sherlock.{function}(integer) set lock_timeout = '50ms'".encode())


def test_a_refresh_fits_fills_and_switches_in_committed_batches(dba: Session) -> None:
    ids = add(dba.conn, FILINGS)
    said = dba.refresh("p_batch_size => 10")
    assert [message.split(", ")[0] for message in said] == [
        "NOTICE: default: model 1 has 5000 terms of 28 documents",
        "NOTICE: default: 10 of 28 documents have a vector of model 1",
        "NOTICE: default: 20 of 28 documents have a vector of model 1",
        "NOTICE: default: 28 of 28 documents have a vector of model 1",
        "NOTICE: default: model 1 is in use",
    ]
    assert statuses(dba.conn) == {1: "active"}
    vectors = dba.conn.execute(
        "select v.document_id, v.vector::text = sherlock.tfidf_vector("
        "  1, sherlock.canonical_text(d.content))::text, v.sign_bits is not null"
        " from sherlock.document_vectors as v join sherlock.documents as d using (document_id)"
        " order by 1"
    ).fetchall()
    assert vectors == [(document_id, True, True) for document_id in ids]
    assert scalar(
        dba.conn, "select count(distinct xmin::text) from sherlock.document_vectors_model_1"
    ) == 3  # fmt: skip
    assert locks(dba.conn) == []


def test_the_loader_and_sql_make_the_same_vocabulary(dba: Session) -> None:
    """Of texts that are canonical; then the loader finds nothing to do."""
    add(dba.conn, [canonical_text(text) for text in FILINGS])
    assert lifecycle.fit_if_needed(dba.conn, "default") == 1
    dba.refresh()
    assert statuses(dba.conn) == {1: "retired", 2: "active"}
    first, second = tfidf.load(dba.conn, 1), tfidf.load(dba.conn, 2)
    assert first.terms == second.terms
    np.testing.assert_allclose(first.idf, second.idf, rtol=0, atol=1e-12)
    assert lifecycle.fit_if_needed(dba.conn, "default") is None


def test_the_newest_retired_model_is_kept(dba: Session) -> None:
    add(dba.conn, ["uno dos tres"])
    for _ in range(4):
        dba.refresh()
    assert statuses(dba.conn) == {3: "retired", 4: "active"}


def test_there_is_an_index_from_as_many_vectors_on_as_in_the_loader(dba: Session) -> None:
    ids = add(dba.conn, [f"texto{number % 9} breve" for number in range(lifecycle._INDEX_FROM)])
    dba.refresh()
    dba.conn.execute("delete from sherlock.documents where document_id = %s", [ids[0]])
    dba.refresh()
    indexed = dba.conn.execute(
        "select tablename from pg_indexes where schemaname = 'sherlock'"
        " and tablename like 'document_vectors_model_%' and indexdef like '%hnsw%'"
    ).fetchall()
    assert indexed == [("document_vectors_model_1",)]
    assert statuses(dba.conn) == {1: "retired", 2: "active"}


def test_a_second_refresh_is_refused_while_the_loader_is_at_it(
    dba: Session, other: psycopg.Connection
) -> None:
    add(dba.conn, ["uno dos tres"])
    collection_id = scalar(other, "select sherlock.collection_id('default')")
    scalar(other, "select pg_advisory_lock(%s, %s)", lifecycle._LOCK_CLASS, collection_id)
    diag = assert_fails(dba.conn, "SH035", "call sherlock.refresh_vocabulary()")
    assert diag.message_detail == f"process id: {other.info.backend_pid}"
    assert diag.message_hint is not None
    assert "vocabulary_status" in diag.message_hint
    holder = "select refreshing_pid from sherlock.vocabulary_status where collection = 'default'"
    assert scalar(dba.conn, holder) == other.info.backend_pid
    assert statuses(dba.conn) == {}
    # Another collection is another lock.
    dba.conn.execute("select sherlock.create_collection('otra')")
    add(dba.conn, ["uno dos"], collection="otra")
    dba.refresh("'otra'")
    scalar(other, "select pg_advisory_unlock(%s, %s)", lifecycle._LOCK_CLASS, collection_id)
    assert scalar(dba.conn, holder) is None
    dba.refresh()
    assert sorted(statuses(dba.conn).values()) == ["active", "active"]


def test_the_loader_waits_and_then_finds_nothing_to_do(
    dba: Session, other: psycopg.Connection
) -> None:
    add(dba.conn, FILINGS)
    results: list[int | None] = []
    loader = threading.Thread(
        target=lambda: results.append(lifecycle.fit_if_needed(other, "default"))
    )

    def start_loader(message: str) -> None:
        if "10 of 28" in message:
            loader.start()

    dba.on_notice = start_loader
    dba.refresh("p_batch_size => 5")
    loader.join(timeout=20)
    assert results == [None]
    assert statuses(dba.conn) == {1: "active"}


def test_interrupted_it_leaves_the_old_model_and_no_lock_and_begins_anew(
    dba: Session, other: psycopg.Connection
) -> None:
    add(dba.conn, FILINGS)
    dba.refresh()
    pid = dba.conn.info.backend_pid
    threads: list[threading.Thread] = []

    def block_and_cancel() -> None:
        with other.transaction():
            other.execute("lock table sherlock.document_vectors in share mode")
            wait_for(lambda: is_waiting(other, pid))
            other.execute("select pg_cancel_backend(%s)", [pid])

    def interrupt(message: str) -> None:
        if "of 28" in message and not threads:
            threads.append(threading.Thread(target=block_and_cancel))
            threads[0].start()

    dba.on_notice = interrupt
    with pytest.raises(psycopg.errors.QueryCanceled):
        dba.refresh("p_batch_size => 2")
    threads[0].join(timeout=20)
    assert statuses(dba.conn) == {1: "active", 2: "building"}
    assert without_vector(dba.conn) == 0
    assert locks(other) == []
    dba.refresh()
    assert statuses(dba.conn) == {1: "retired", 3: "active"}
    assert scalar(dba.conn, "select to_regclass('sherlock.document_vectors_model_2')") is None


def test_a_lock_that_an_interruption_left_is_taken_over_by_the_same_session(dba: Session) -> None:
    add(dba.conn, ["uno dos tres"])
    collection_id = scalar(dba.conn, "select sherlock.collection_id('default')")
    scalar(dba.conn, "select pg_advisory_lock(%s, %s)", lifecycle._LOCK_CLASS, collection_id)
    dba.refresh()
    assert locks(dba.conn) == []


def test_a_failure_gives_the_lock_back(dba: Session, other: psycopg.Connection) -> None:
    assert_fails(dba.conn, "SH034", "call sherlock.refresh_vocabulary()")
    assert locks(other) == []
    add(dba.conn, ["uno dos tres"])
    with dba.conn.transaction(force_rollback=True):
        assert_fails(dba.conn, "2D000", "call sherlock.refresh_vocabulary()")
    assert locks(other) == []
    assert statuses(dba.conn) == {}


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_document_that_was_being_written_all_the_while_gets_its_vector(
    dba: Session, other: psycopg.Connection, isolation: str
) -> None:
    add(dba.conn, FILINGS)
    dba.conn.execute(f"set default_transaction_isolation = '{isolation}'".encode())
    threads: list[threading.Thread] = []
    pid = dba.conn.info.backend_pid

    def commit_once_awaited() -> None:
        wait_for(lambda: is_waiting(other, pid))
        other.execute("commit")

    def finish(message: str) -> None:
        if "28 of 28" in message:
            threads.append(threading.Thread(target=commit_once_awaited))
            threads[0].start()

    dba.on_notice = finish
    other.execute("begin")
    add(other, ["uno dos tres"])
    said = dba.refresh()
    threads[0].join(timeout=20)
    assert "29 of 29 documents" in "".join(said)
    assert statuses(dba.conn) == {1: "active"}
    assert without_vector(dba.conn) == 0


def test_documents_that_arrive_meanwhile_get_vectors_of_both_models(
    dba: Session, other: psycopg.Connection
) -> None:
    add(dba.conn, FILINGS)
    dba.refresh()

    def arrive(message: str) -> None:
        if " of " in message and "vector" in message:
            other.execute(
                "insert into sherlock.documents (collection_id, content)"
                " values (sherlock.collection_id('default'), %s)",
                [f"{FILINGS[0]} {message}"],
            )

    dba.on_notice = arrive
    dba.refresh("p_batch_size => 7")
    assert scalar(dba.conn, "select count(*) from sherlock.document_vectors_model_1") > 28
    assert statuses(dba.conn) == {1: "retired", 2: "active"}
    assert without_vector(dba.conn) == 0


def test_when_writers_never_end_the_old_model_stays(
    dba: Session, other: psycopg.Connection
) -> None:
    add(dba.conn, FILINGS)
    dba.refresh()
    set_lock_timeout(dba.conn, "activate_tfidf_model")
    other.execute("begin")
    other.execute("lock table sherlock.documents in row exclusive mode")
    assert_fails(dba.conn, "55P03", "call sherlock.refresh_vocabulary()")
    assert statuses(dba.conn) == {1: "active", 2: "building"}
    assert locks(dba.conn) == []
    other.execute("commit")
    dba.refresh()
    assert statuses(dba.conn) == {1: "retired", 3: "active"}


def test_retired_models_that_are_being_read_stay_until_the_next_refresh(
    dba: Session, other: psycopg.Connection
) -> None:
    add(dba.conn, ["uno dos tres"])
    dba.refresh()
    dba.refresh()
    set_lock_timeout(dba.conn, "drop_tfidf_model")
    other.execute("begin")
    other.execute("select count(*) from sherlock.document_vectors")
    said = dba.refresh()
    assert "WARNING: default: retired models are still being read and stay" in said
    assert statuses(dba.conn) == {1: "retired", 2: "retired", 3: "active"}
    other.execute("commit")
    dba.refresh()
    assert statuses(dba.conn) == {3: "retired", 4: "active"}


def test_rows_that_are_gone_do_not_keep_the_others_from_their_vectors(dba: Session) -> None:
    dba.conn.execute("create table public.feed_items (id integer primary key, body text)")
    dba.conn.execute("select sherlock.watch('public.feed_items', 'id', array['body'])")
    dba.conn.cursor().executemany(
        "insert into public.feed_items values (%s, %s)", list(enumerate(FILINGS[:8]))
    )
    dba.conn.execute("set session_replication_role = replica")
    dba.conn.execute("delete from public.feed_items where id < 4")
    dba.conn.execute("reset session_replication_role")
    said = dba.refresh("'public.feed_items', p_batch_size => 2")
    assert any(m.startswith("WARNING: 4 documents whose text is not stored here") for m in said)
    row = dba.conn.execute(
        "select fitted_document_count, document_count, growth_ratio, without_vector_share"
        " from sherlock.vocabulary_status where collection = 'public.feed_items'"
    ).fetchone()
    assert row == (4, 8, 2, 0.5)


@pytest.mark.parametrize(
    ("fitted", "documents"),
    [(None, 0), (None, 1), (3, 3), (3, 5), (3, 6), (3, 7), (19_999, 4), (20_000, 4), (1, 0)],
)
def test_a_refresh_is_due_when_the_loader_would_fit(
    conn: psycopg.Connection, fitted: int | None, documents: int
) -> None:
    add(conn, [f"documento{number} uno" for number in range(documents)])
    add(conn, ["corto"], state="short")
    if fitted is not None:
        model_id = scalar(
            conn,
            "select sherlock.create_tfidf_model('default', array['uno'], array[1.0], %s, 1, 2)",
            fitted,
        )
        scalar(conn, "select sherlock.vectorize_missing(%s, 2)", model_id)
        conn.execute(
            "update sherlock.tfidf_models set status = 'active', activated_at = now()"
            " where model_id = %s",
            [model_id],
        )
    found = lifecycle.state(conn, "default")
    row = conn.execute(
        "select model_id, term_count, fitted_document_count, document_count, growth_ratio,"
        " without_vector_share, is_due, refreshing_pid"
        " from sherlock.vocabulary_status where collection = 'default'"
    ).fetchone()
    assert row == (
        found.model_id,
        None if fitted is None else 1,
        fitted,
        documents,
        None if fitted is None else pytest.approx(documents / fitted),
        None if fitted is None or documents == 0 else pytest.approx(1 - 2 / documents),
        found.needs_fit(),
        None,
    )


def test_the_rule_says_no_from_the_loaders_sample_limit_on(conn: psycopg.Connection) -> None:
    """The view has the numbers of the rule in its own words."""
    definition = scalar(conn, "select pg_get_viewdef('sherlock.vocabulary_status'::regclass)")
    assert f">= {lifecycle.SAMPLE_LIMIT})" in definition
    assert f"({lifecycle._GROWTH_FACTOR} * m.fitted_document_count)" in definition


def test_the_loader_fits_the_same_vocabulary(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        add(conn, FILINGS)
        by_loader = lifecycle.fit_if_needed(conn, "default")
        by_sql = scalar(conn, "select sherlock.fit_vocabulary('default')")
        terms = [
            conn.execute(
                "select term, feature_index, idf, term = sherlock.canonical_text(term)"
                " from sherlock.tfidf_features where model_id = %s order by feature_index",
                [model_id],
            ).fetchall()
            for model_id in (by_loader, by_sql)
        ]
    assert len(terms[0]) > 500
    assert terms[0] == terms[1]
    assert all(row[3] for row in terms[0])
