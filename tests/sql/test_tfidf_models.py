"""The life of TF-IDF models: created, filled, switched, dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

TEXTS = (
    "accion de tutela por el derecho a la salud contra la eps",
    "accion de tutela por el derecho de peticion contra el municipio",
    "habeas corpus a favor del detenido en la carcel",
    "nada conocido aqui",
)
# As texts are read: accion as acdon, tutela as tatda.
TERMS = ["acdon", "acdon dc", "corpas", "dc", "dc tatda", "hahcas", "saiad", "tatda"]
IDF = [1.3, 1.4, 1.9, 1.1, 1.4, 1.9, 1.7, 1.3]

CREATE = "select sherlock.create_tfidf_model(%s, %s, %s, %s, %s, %s)"


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> object:
    row = conn.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


def create_model(conn: psycopg.Connection, collection: str = "default") -> int:
    model_id = scalar(conn, CREATE, collection, TERMS, IDF, 4, 1, 2)
    assert isinstance(model_id, int)
    return model_id


def collection_id(conn: psycopg.Connection, name: str = "default") -> object:
    return scalar(conn, "select collection_id from sherlock.collections where name = %s", name)


def add_documents(
    conn: psycopg.Connection, texts: tuple[str | None, ...] = TEXTS, state: str = "indexed"
) -> list[int]:
    """Insert documents as the ingest leaves them, but without features: triggers don't fire."""
    conn.execute("set session_replication_role = replica")
    rows = conn.execute(
        "insert into sherlock.documents (collection_id, content, text_state)"
        " select %s, t.content, %s from unnest(%s::text[]) as t(content) returning document_id",
        [collection_id(conn), state, list(texts)],
    ).fetchall()
    conn.execute("reset session_replication_role")
    return [row[0] for row in rows]


def fill(conn: psycopg.Connection, model_id: int) -> None:
    while scalar(conn, "select sherlock.vectorize_missing(%s, 3)", model_id):
        pass


def statuses(conn: psycopg.Connection) -> dict[int, str]:
    return dict(conn.execute("select model_id, status from sherlock.tfidf_models").fetchall())


def active(conn: psycopg.Connection) -> object:
    return scalar(conn, "select sherlock.active_tfidf_model(%s)", collection_id(conn))


def vectorised(conn: psycopg.Connection, model_id: int) -> list[int]:
    rows = conn.execute(
        "select document_id from sherlock.document_vectors where model_id = %s order by 1",
        [model_id],
    )
    return [row[0] for row in rows]


@pytest.fixture
def own(database_url: str) -> Iterator[psycopg.Connection]:
    """Give a connection that commits, in a database of the test's own."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set plpgsql.extra_errors = 'all'")
        yield connection


def assert_fails(
    conn: psycopg.Connection, sqlstate: str, query: str, *parameters: object
) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.DatabaseError) as caught, conn.transaction():
        conn.execute(query, parameters)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
    return caught.value.diag


def test_a_new_model_is_building_with_its_features_and_an_empty_partition(
    conn: psycopg.Connection,
) -> None:
    model_id = create_model(conn)
    row = conn.execute(
        "select status, feature_count, fitted_document_count, ngram_min, ngram_max, activated_at"
        " from sherlock.tfidf_models where model_id = %s",
        [model_id],
    ).fetchone()
    assert row == ("building", len(TERMS), 4, 1, 2, None)
    features = conn.execute(
        "select term, idf from sherlock.tfidf_features where model_id = %s order by feature_index",
        [model_id],
    ).fetchall()
    assert features == list(zip(TERMS, IDF, strict=True))
    options = scalar(
        conn,
        "select c.reloptions from pg_class as c join pg_inherits as i on i.inhrelid = c.oid"
        " where i.inhparent = 'sherlock.document_vectors'::regclass and c.relname = %s",
        f"document_vectors_model_{model_id}",
    )
    assert options == ["toast_tuple_target=8160"]
    assert vectorised(conn, model_id) == []
    assert active(conn) is None


@pytest.mark.parametrize(
    ("terms", "idf", "document_count", "ngram_range", "detail"),
    [
        ([], [], 4, (1, 2), "no terms"),
        (None, None, 4, (1, 2), "no terms"),
        (["casa", "dos"], [1.0], 4, (1, 2), "2 terms but 1 weights"),
        (["casa"], None, 4, (1, 2), "1 terms but 0 weights"),
        ([f"t{n}" for n in range(5001)], [1.0] * 5001, 4, (1, 2), "more than 5000"),
        (["casa", "dos", "casa"], [1.0, 1.0, 1.0], 4, (1, 2), "'casa' occurs twice"),
        (["casa", None], [1.0, 1.0], 4, (1, 2), "NULL"),
        (["casa dos mano"], [1.0], 4, (1, 2), "'casa dos mano' is not an n-gram"),
        (["casa dos"], [1.0], 4, (1, 1), "'casa dos' is not an n-gram"),
        (["casa"], [1.0], 4, (2, 2), "'casa' is not an n-gram"),
        (["casa"], [None], 4, (1, 2), "'casa' is null"),
        (["casa"], [0.0], 4, (1, 2), "'casa' is 0"),
        (["casa"], [float("nan")], 4, (1, 2), "'casa' is NaN"),
        (["casa"], [float("inf")], 4, (1, 2), "'casa' is Infinity"),
        (["casa"], [1.0], 0, (1, 2), "number of documents"),
        (["casa"], [1.0], None, (1, 2), "number of documents"),
        (["casa"], [1.0], 4, (0, 2), "1 to 2 tokens"),
        (["casa"], [1.0], 4, (2, 1), "1 to 2 tokens"),
        (["casa"], [1.0], 4, (1, 3), "1 to 2 tokens"),
        (["a" * 101], [1.0], 4, (1, 2), "a token of more than 100 bytes"),
        (["casa " + "é" * 51], [1.0], 4, (1, 2), "a token of more than 100 bytes"),
        (["casa"], [1.0], 4, (1, None), "1 to 2 tokens"),
        (["casa", "perro"], [1.0, 1.0], 4, (1, 2), "'perro' is not in the form that texts are"),
        (["casa perro"], [1.0], 4, (1, 2), "compared in, 'casa pcrro'"),
        (["dama clan"], [1.0], 4, (1, 2), "compared in, 'dama dan'"),
        (["é" * 50 + " perro"], [1.0], 4, (1, 2), "compared in, '" + "é" * 50 + " pcrro'"),
    ],
)
def test_a_vocabulary_that_is_not_valid_is_refused(
    conn: psycopg.Connection,
    terms: list[str | None] | None,
    idf: list[float | None] | None,
    document_count: int | None,
    ngram_range: tuple[int | None, int | None],
    detail: str,
) -> None:
    diag = assert_fails(conn, "SH031", CREATE, "default", terms, idf, document_count, *ngram_range)
    assert diag.message_detail is not None
    assert detail in diag.message_detail


def test_a_model_needs_a_collection(conn: psycopg.Connection) -> None:
    assert_fails(conn, "SH002", CREATE, "no such collection", TERMS, IDF, 4, 1, 2)


@pytest.mark.parametrize(
    "call",
    [
        "build_tfidf_index(-1)",
        "vectorize_documents(-1, '{1}')",
        "vectorize_missing(-1)",
        "activate_tfidf_model(-1)",
        "archive_tfidf_model(-1)",
        "drop_tfidf_model(-1)",
    ],
)
def test_an_unknown_model_is_an_error_everywhere(conn: psycopg.Connection, call: str) -> None:
    assert_fails(conn, "SH030", f"select sherlock.{call}")


@pytest.mark.parametrize(
    "function",
    ["build_tfidf_index", "activate_tfidf_model", "archive_tfidf_model", "drop_tfidf_model"],
)
def test_no_model_is_told_by_name(conn: psycopg.Connection, function: str) -> None:
    with pytest.raises(psycopg.Error, match="there is no TF-IDF model null"):
        conn.execute(f"select sherlock.{function}(null)".encode())


def test_documents_are_vectorised_in_batches_until_none_is_left(conn: psycopg.Connection) -> None:
    document_ids = add_documents(conn)
    add_documents(conn, state="short")
    add_documents(conn, (None,))
    model_id = create_model(conn)
    counts = [scalar(conn, "select sherlock.vectorize_missing(%s, 3)", model_id) for _ in range(3)]
    assert counts == [3, 1, 0]
    assert vectorised(conn, model_id) == document_ids
    rows = conn.execute(
        "select v.document_id,"
        "  v.vector::text = sherlock.tfidf_vector("
        "   v.model_id, sherlock.canonical_text(d.content))::text,"
        "  v.sign_bits is not distinct from sherlock.sign_projection(v.vector),"
        "  v.sign_bits is null"
        " from sherlock.document_vectors as v join sherlock.documents as d using (document_id)"
        " where v.model_id = %s order by 1",
        [model_id],
    ).fetchall()
    assert rows == [(document_id, True, True, False) for document_id in document_ids[:3]] + [
        (document_ids[3], True, True, True)
    ]


def test_only_documents_of_the_models_collection_that_lack_a_vector_are_vectorised(
    conn: psycopg.Connection,
) -> None:
    conn.execute(
        "insert into sherlock.collections (name, scheme_id)"
        " select 'other', scheme_id from sherlock.collections where name = 'default'"
    )
    document_ids = add_documents(conn)
    other_model_id = create_model(conn, "other")
    model_id = create_model(conn)
    query = "select sherlock.vectorize_documents(%s, %s)"
    assert scalar(conn, query, other_model_id, document_ids) == 0
    assert scalar(conn, query, model_id, document_ids[:2]) == 2
    assert scalar(conn, query, model_id, [*document_ids, *document_ids]) == 2
    assert scalar(conn, query, model_id, document_ids) == 0
    assert scalar(conn, query, model_id, []) == 0


def test_the_index_is_built_once_on_the_models_partition(conn: psycopg.Connection) -> None:
    add_documents(conn)
    model_id = create_model(conn)
    create_model(conn)
    fill(conn, model_id)
    for _ in range(2):
        conn.execute("select sherlock.build_tfidf_index(%s)", [model_id])
    rows = conn.execute(
        "select tablename, indexname, indexdef from pg_indexes"
        " where schemaname = 'sherlock' and indexdef ilike '%using ivfflat%'"
    ).fetchall()
    assert [row[:2] for row in rows] == [
        (
            f"document_vectors_model_{model_id}",
            f"document_vectors_model_{model_id}_sign_bits_idx",
        )
    ]
    assert "bit_hamming_ops" in rows[0][2]
    assert "lists='1'" in rows[0][2]


def test_there_are_no_more_lists_than_fit_into_the_memory(conn: psycopg.Connection) -> None:
    model_id = create_model(conn)
    conn.execute(
        "insert into sherlock.document_vectors (document_id, model_id, vector, sign_bits)"
        " select i, %s, '{1:1}/5000', ('x' || repeat(md5(i::text), 4))::bit(512)"
        " from generate_series(1, 8000) as i",
        [model_id],
    )
    # 150 lists and 10,000 samples would need six.
    conn.execute("set local maintenance_work_mem = '4MB'")
    conn.execute("select sherlock.build_tfidf_index(%s)", [model_id])
    rows = conn.execute(
        "select reloptions from pg_class"
        " where relname like 'document_vectors_model_%_sign_bits_idx'"
    ).fetchall()
    assert rows == [(["lists=64"],)]
    for memory, lists in (("64kB", 1), ("64MB", 508), ("256MB", 1016), ("2048GB", 6500)):
        assert scalar(conn, "select sherlock._most_lists(pg_size_bytes(%s))", memory) == lists


def test_lists_that_have_grown_too_long_are_made_anew(conn: psycopg.Connection) -> None:
    model_id = create_model(conn)

    def store(first: int, last: int) -> None:
        conn.execute(
            "insert into sherlock.document_vectors (document_id, model_id, vector, sign_bits)"
            " select i, %s, v.vector, sherlock.sign_projection(v.vector)"
            " from generate_series(%s::bigint, %s::bigint) as i,"
            " sherlock.tfidf_vector(%s, %s) as v (vector)",
            [model_id, first, last, model_id, TERMS[0]],
        )

    def lists() -> list[str]:
        conn.execute("select sherlock.build_tfidf_index(%s)", [model_id])
        rows = conn.execute(
            "select reloptions from pg_class"
            " where relname like 'document_vectors_model_%_sign_bits_idx'"
        ).fetchall()
        return [option for row in rows for option in row[0]]

    store(1, 300)
    assert lists() == ["lists=6"]
    store(301, 899)
    assert lists() == ["lists=6"]
    store(900, 900)
    assert lists() == ["lists=18"]


def test_an_incomplete_model_is_not_activated(conn: psycopg.Connection) -> None:
    add_documents(conn)
    model_id = create_model(conn)
    scalar(conn, "select sherlock.vectorize_missing(%s, 1)", model_id)
    diag = assert_fails(conn, "SH032", "select sherlock.activate_tfidf_model(%s)", model_id)
    assert diag.message_detail == "3 indexed documents have no vector of it"
    assert diag.message_hint is not None
    assert "vectorize_missing" in diag.message_hint
    assert active(conn) is None


def test_texts_that_are_not_stored_only_warn(conn: psycopg.Connection) -> None:
    notices: list[str] = []
    conn.add_notice_handler(lambda diag: notices.append(str(diag.message_primary)))
    add_documents(conn, (None, None))
    model_id = create_model(conn)
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
    assert len(notices) == 1
    assert notices[0].startswith("2 documents whose text is not stored here")
    assert active(conn) == model_id


def test_two_models_live_side_by_side_and_are_switched_back_and_forth(
    own: psycopg.Connection,
) -> None:
    document_ids = add_documents(own)
    first, second = create_model(own), create_model(own)
    fill(own, first)
    own.execute("select sherlock.activate_tfidf_model(%s)", [first])
    assert active(own) == first
    fill(own, second)
    assert statuses(own) == {first: "active", second: "building"}
    assert vectorised(own, first) == vectorised(own, second) == document_ids
    own.execute("select sherlock.activate_tfidf_model(%s)", [second])
    assert statuses(own) == {first: "retired", second: "active"}
    own.execute("select sherlock.activate_tfidf_model(%s)", [second])
    own.execute("select sherlock.activate_tfidf_model(%s)", [first])
    assert statuses(own) == {first: "active", second: "retired"}


def test_the_switch_is_rolled_back_as_a_whole(own: psycopg.Connection) -> None:
    first, second = create_model(own), create_model(own)
    own.execute("select sherlock.activate_tfidf_model(%s)", [first])
    with own.transaction(force_rollback=True):
        own.execute("select sherlock.activate_tfidf_model(%s)", [second])
        assert active(own) == second
    assert statuses(own) == {first: "active", second: "building"}


@pytest.mark.parametrize("status", ["building", "retired"])
def test_dropping_removes_the_model_its_features_and_its_partition(
    own: psycopg.Connection, status: str
) -> None:
    add_documents(own)
    kept, dropped = create_model(own), create_model(own)
    for model_id in (dropped, kept):
        fill(own, model_id)
        if model_id == kept or status == "retired":
            own.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
    assert statuses(own)[dropped] == status
    own.execute("select sherlock.drop_tfidf_model(%s)", [dropped])
    assert statuses(own) == {kept: "active"}
    assert (
        scalar(own, "select count(*) from sherlock.tfidf_features where model_id = %s", dropped)
        == 0
    )
    assert (
        scalar(own, "select to_regclass(%s)", f"sherlock.document_vectors_model_{dropped}") is None
    )
    assert len(vectorised(own, kept)) == len(TEXTS)


@pytest.mark.parametrize("function", ["drop_tfidf_model", "archive_tfidf_model"])
def test_the_active_model_is_not_dropped(conn: psycopg.Connection, function: str) -> None:
    model_id = create_model(conn)
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
    assert_fails(conn, "SH033", f"select sherlock.{function}(%s)", model_id)
    assert active(conn) == model_id


def test_an_archived_model_keeps_its_vocabulary_only(own: psycopg.Connection) -> None:
    add_documents(own)
    model_id = create_model(own)
    fill(own, model_id)
    for _ in range(2):
        own.execute("select sherlock.archive_tfidf_model(%s)", [model_id])
    assert statuses(own) == {model_id: "archived"}
    features = "select count(*) from sherlock.tfidf_features where model_id = %s"
    assert scalar(own, features, model_id) == len(TERMS)
    partition = f"sherlock.document_vectors_model_{model_id}"
    assert scalar(own, "select to_regclass(%s)", partition) is None
    for call in ("activate_tfidf_model(%s)", "build_tfidf_index(%s)", "vectorize_missing(%s)"):
        assert_fails(own, "SH037", f"select sherlock.{call}", model_id)
    own.execute("select sherlock.drop_tfidf_model(%s)", [model_id])
    assert statuses(own) == {}
    assert scalar(own, features, model_id) == 0


def test_a_model_says_what_it_was_fitted_under(conn: psycopg.Connection) -> None:
    add_documents(conn)
    add_documents(conn)
    conn.execute("update sherlock.collections set tfidf_max_features = 700")
    model_id = scalar(conn, CREATE[:-1] + ", 20)", "default", TERMS, IDF, 4, 1, 2)
    row = conn.execute(
        "select sample_limit, max_features, document_count, drift from sherlock.tfidf_models"
        " where model_id = %s",
        [model_id],
    ).fetchone()
    assert row == (20, 700, 8, None)


def test_of_two_activations_at_once_exactly_one_model_stays_active(
    own: psycopg.Connection, database_url: str
) -> None:
    models = [create_model(own) for _ in range(4)]
    barrier = threading.Barrier(len(models))
    failures: list[BaseException] = []

    def switch(model_id: int) -> None:
        try:
            with psycopg.connect(database_url, autocommit=True) as conn:
                barrier.wait(timeout=30)
                for _ in range(10):
                    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=switch, args=[model_id]) for model_id in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    assert sorted(statuses(own).values()) == ["active", "retired", "retired", "retired"]


def test_a_switch_waits_for_documents_that_are_being_written(
    own: psycopg.Connection, database_url: str
) -> None:
    model_id = create_model(own)
    result: list[str | None] = []

    def activate() -> None:
        with psycopg.connect(database_url, autocommit=True) as conn:
            try:
                conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
                result.append("activated")
            except psycopg.DatabaseError as error:
                result.append(error.sqlstate)

    with own.transaction():
        add_documents(own)
        thread = threading.Thread(target=activate)
        thread.start()
        thread.join(timeout=0.5)
        assert result == []
    thread.join(timeout=30)
    assert result == ["SH032"]


def test_readers_are_not_locked_out_while_a_model_is_made_and_indexed(
    own: psycopg.Connection, database_url: str
) -> None:
    add_documents(own)
    first = create_model(own)
    fill(own, first)
    with psycopg.connect(database_url) as reader, own.transaction():
        second = create_model(own)
        fill(own, second)
        own.execute("select sherlock.build_tfidf_index(%s)", [second])
        reader.execute("set lock_timeout = '2s'")
        assert len(vectorised(reader, first)) == len(TEXTS)


def test_overlapping_batches_at_once_store_each_vector_once(
    own: psycopg.Connection, database_url: str
) -> None:
    document_ids = add_documents(own, TEXTS * 25)
    model_id = create_model(own)
    counts: list[object] = []
    barrier = threading.Barrier(3)

    def vectorize(ids: list[int]) -> None:
        with psycopg.connect(database_url, autocommit=True) as conn:
            barrier.wait(timeout=30)
            counts.append(
                scalar(conn, "select sherlock.vectorize_documents(%s, %s)", model_id, ids)
            )

    orders = (document_ids, document_ids[::-1], document_ids[50:] + document_ids[:50])
    threads = [threading.Thread(target=vectorize, args=[order]) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(counts) == 3
    assert sum(count for count in counts if isinstance(count, int)) == len(document_ids)
    assert vectorised(own, model_id) == document_ids
