"""Boilerplate: learnt, proposed, put into force, left out the same way in SQL and in Python."""

from __future__ import annotations

import hashlib
import statistics
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from sherlock_pg.errors import UsageError
from sherlock_pg.vectorize.signature import Signer

FORM = (
    "señor juez de reparto en ejercicio del artículo 86 de la constitución política interpongo"
    " acción de tutela contra la entidad accionada por la vulneración de mis derechos fundamentales"
    " a la salud y a la vida digna con fundamento en los hechos que a continuación expongo solicito"
    " señor juez tutelar mis derechos y ordenar a la accionada que en cuarenta y ocho horas"
    " responda"
)
MIN_TEXTS = 20
SIGNER = Signer("skeleton")
"""As the scheme of the collection default signs."""

words = st.lists(
    st.sampled_from(["acción", "de", "tutela", "señor", "juez", "niña", "n1na", "dc"]), max_size=40
)
property_test = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def own_words(seed: str, count: int = 60) -> str:
    """Return words that no other seed has."""
    return " ".join(
        hashlib.sha256(f"{seed} {number}".encode()).hexdigest()[:8] for number in range(count)
    )


def filing(number: int, own: int = 60) -> str:
    return f"{FORM} {own_words(str(number), own)}"


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def store(conn: psycopg.Connection, *texts: str, collection: str = "default") -> list[int]:
    """Store and index texts at once, without a verdict on each."""
    ids = [
        scalar(
            conn,
            "insert into sherlock.documents (collection_id, doc_type, content, text_state)"
            " values (sherlock.collection_id(%s), 'default', %s, 'short') returning document_id",
            collection,
            text,
        )
        for text in texts
    ]
    assert scalar(conn, "select sherlock.index_documents(%s)", ids) == len(texts)
    return ids


def learn(conn: psycopg.Connection, *arguments: object) -> dict[str, Any]:
    with conn.cursor(row_factory=dict_row) as cursor:
        marks = ", ".join(["%s"] * len(arguments))
        found = cursor.execute(
            f"select * from sherlock.learn_boilerplate({marks})".encode(), arguments
        ).fetchone()
    assert found is not None
    return found


def listed(conn: psycopg.Connection, stop_list_id: int) -> dict[int, float]:
    return dict(
        conn.execute(
            "select shingle, document_share from sherlock.stop_shingles where stop_list_id = %s",
            [stop_list_id],
        ).fetchall()
    )


def force(conn: psycopg.Connection, stop_list_id: int) -> str:
    """Give the collection the scheme at once, without the batches that a procedure commits."""
    scheme: str = scalar(conn, "select sherlock._scheme_with_list('default', %s)", stop_list_id)
    conn.execute(
        "update sherlock.collections set scheme_id = (sherlock._scheme(%s)).scheme_id"
        " where name = 'default'",
        [scheme],
    )
    conn.execute(
        "select sherlock.index_documents(array(select document_id from sherlock.documents))"
    )
    return scheme


def signature_rows(conn: psycopg.Connection, ids: list[int]) -> list[tuple[int, int, bool]]:
    return conn.execute(
        "select shingle_count, boilerplate_count, signature is not null"
        " from sherlock.document_signatures where document_id = any(%s) order by document_id",
        [ids],
    ).fetchall()


def status(conn: psycopg.Connection) -> list[tuple[Any, ...]]:
    return conn.execute(
        "select stop_list_id, status, collection, scheme from sherlock.boilerplate_status"
        " order by stop_list_id, collection"
    ).fetchall()


def test_what_most_texts_share_is_learnt(conn: psycopg.Connection) -> None:
    """Of 40 texts 30 share a form, 10 of these an ending too."""
    ending = own_words("ending", 5)
    texts = [filing(number) for number in range(30)] + [own_words(f"x{n}") for n in range(10)]
    texts[:10] = [f"{text} {ending}" for text in texts[:10]]
    store(conn, *texts)
    found = learn(conn, "default", 0.5)
    form = set(SIGNER.shingles(FORM).tolist())
    shares = listed(conn, found["stop_list_id"])
    assert set(shares) == form
    assert set(shares.values()) == {0.75}
    assert (found["text_count"], found["measured_count"]) == (40, 40)
    assert (found["shingle_count"], found["document_share"]) == (len(form), 0.5)
    assert (found["shingle_kind"], found["shingle_width"]) == ("skeleton", 2)
    assert found["learnt_from"] == "default"
    signed = Signer("skeleton", stop_shingles=list(form)).sign(texts)
    assert found["mean_removed_share"] == pytest.approx(
        statistics.fmean(signed.boilerplate_counts / signed.shingle_counts)
    )
    assert found["too_few_count"] == 0


def test_the_share_is_exceeded_not_reached(conn: psycopg.Connection) -> None:
    store(conn, *(filing(number) for number in range(30)), *(own_words(f"x{n}") for n in range(10)))
    assert learn(conn, "default", 0.7499)["shingle_count"] > 0
    with pytest.raises(psycopg.Error) as caught:
        learn(conn, "default", 0.75)
    assert caught.value.sqlstate == "SH026"


def test_copies_and_a_few_versions_are_no_template(conn: psycopg.Connection) -> None:
    """A hundred copies of one filing, and one version less than would count."""
    store(
        conn,
        *[own_words("copied")] * 100,
        *(f"{own_words('versions')} {own_words(str(n), 3)}" for n in range(MIN_TEXTS - 1)),
    )
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        learn(conn, "default", 0.01)
    assert caught.value.sqlstate == "SH026"
    assert caught.value.diag.message_detail == "texts that were read: 20"
    store(conn, f"{own_words('versions')} {own_words('one more', 3)}")
    found = learn(conn, "default", 0.01)
    assert set(listed(conn, found["stop_list_id"])) == set(
        SIGNER.shingles(own_words("versions")).tolist()
    )
    assert found["text_count"] == 21


def test_a_sample_is_read_and_no_more(conn: psycopg.Connection) -> None:
    store(conn, *(filing(number) for number in range(60)))
    first = learn(conn, "default", 0.5, 30)
    assert (first["text_count"], first["measured_count"]) == (30, 30)
    again = learn(conn, "default", 0.5, 30)
    assert listed(conn, again["stop_list_id"]) == listed(conn, first["stop_list_id"])
    assert again["stop_list_id"] != first["stop_list_id"]


def test_each_collection_has_its_own_boilerplate(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
    conn.execute("select sherlock.create_collection('forms', p_scheme => 'char-9')")
    store(conn, *(own_words(f"x{n}") for n in range(MIN_TEXTS)))
    store(conn, *(filing(number) for number in range(MIN_TEXTS)), collection="forms")
    found = learn(conn, "forms", 0.9)
    assert (found["shingle_kind"], found["shingle_width"]) == ("char", 9)
    shared = Signer("char", 9).shingles(f"{FORM} x")[:-1]
    assert set(listed(conn, found["stop_list_id"])) == set(shared.tolist())
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select sherlock._scheme_with_list('default', %s)", [found["stop_list_id"]])
    assert caught.value.sqlstate == "SH028"
    assert "learn_boilerplate('default')" in (caught.value.diag.message_hint or "")


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        (("nowhere",), "SH002"),
        (("default", 0.0), "SH025"),
        (("default", 1.0), "SH025"),
        (("default", None), "SH025"),
        (("default", float("nan")), "SH025"),
        (("default", 0.1, 0), "SH036"),
        (("default", 0.1, None), "SH036"),
        (("default",), "SH026"),
    ],
)
def test_what_cannot_be_learnt_is_refused(
    conn: psycopg.Connection, arguments: tuple[object, ...], sqlstate: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        learn(conn, *arguments)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint


def test_a_proposal_changes_nothing(conn: psycopg.Connection) -> None:
    ids = store(conn, *(filing(number) for number in range(MIN_TEXTS)))
    before = conn.execute("select * from sherlock.document_signatures order by 1").fetchall()
    found = learn(conn, "default", 0.5)
    assert status(conn) == [(found["stop_list_id"], "proposed", None, None)]
    conn.execute("select sherlock.index_documents(%s)", [ids])
    assert (
        before == conn.execute("select * from sherlock.document_signatures order by 1").fetchall()
    )
    conn.execute("delete from sherlock.stop_lists")
    assert scalar(conn, "select count(*) from sherlock.stop_shingles") == 0


def test_a_list_in_use_cannot_be_deleted(conn: psycopg.Connection) -> None:
    store(conn, *(filing(number) for number in range(MIN_TEXTS)))
    force(conn, learn(conn, "default", 0.5)["stop_list_id"])
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        conn.execute("delete from sherlock.stop_lists")


def test_boilerplate_brings_no_candidates(conn: psycopg.Connection) -> None:
    """Filings of one form are candidates of each other; without it copies with edits only."""
    ids = store(conn, *(filing(number, own=25) for number in range(MIN_TEXTS)))
    edited = store(conn, f"{filing(0, own=25)} recibido en secretaría")[0]
    candidates = (
        "select array(select b.document_id"
        " from sherlock.document_signatures as s"
        " join sherlock.documents as d using (document_id)"
        " cross join lateral sherlock.band_candidates("
        "     sherlock.band_keys(s.signature, s.scheme_id, d.collection_id, 32, 4), 200) as b"
        " where s.document_id = %s and b.document_id <> s.document_id order by 1)"
    )
    assert len(scalar(conn, candidates, edited)) > MIN_TEXTS / 2
    found = learn(conn, "default", 0.5)

    def mean_candidates() -> float:
        return statistics.fmean(
            len(scalar(conn, candidates, document_id)) for document_id in [*ids, edited]
        )

    assert found["candidates_with"] == pytest.approx(mean_candidates())
    force(conn, found["stop_list_id"])
    assert found["candidates_without"] == pytest.approx(mean_candidates())
    assert scalar(conn, candidates, edited) == [ids[0]]
    reported = conn.execute(
        "select document_id, minhash_score from sherlock.find_duplicates(%s)", [edited]
    ).fetchall()
    assert [row[0] for row in reported] == [ids[0]]
    distinctive = Signer("skeleton", stop_shingles=SIGNER.shingles(FORM))
    left, right = distinctive.sign(
        [f"{filing(0, own=25)} recibido en secretaría", filing(0, own=25)]
    ).signatures
    assert reported[0][1] == (left == right).mean()


def test_each_document_knows_its_boilerplate(conn: psycopg.Connection) -> None:
    ids = store(
        conn,
        *(filing(number) for number in range(MIN_TEXTS)),
        f"{filing(90)} {FORM}",
        own_words("other"),
        filing(91, own=5),
    )
    force(conn, learn(conn, "default", 0.5)["stop_list_id"])
    form = len(SIGNER.shingles(FORM))
    assert signature_rows(conn, ids[-4:]) == [
        (form + 60, form, True),
        (2 * form + 61, 2 * form, True),
        (59, 0, True),
        (form + 5, form, False),
    ]
    expected = scalar(
        conn,
        "select sum(boilerplate_count)::float8 / sum(shingle_count)"
        " from sherlock.document_signatures",
    )
    assert (
        scalar(conn, "select boilerplate_share from sherlock.extraction_status") == expected > 0.4
    )


def test_nothing_but_boilerplate_is_left_to_the_other_levels(conn: psycopg.Connection) -> None:
    """No signature, no band keys, no Jaccard; exact copies are found, and vectors compare."""
    texts = [filing(number) for number in range(MIN_TEXTS)]
    short = [f"{FORM} expediente {number} de la sala" for number in (7, 8)]
    ids = store(conn, *texts, *short, short[0])
    list_id = learn(conn, "default", 0.5)["stop_list_id"]
    force(conn, list_id)
    first, second, copy = ids[-3:]
    states = conn.execute(
        "select distinct text_state from sherlock.documents where document_id = any(%s)", [ids]
    ).fetchall()
    assert states == [("indexed",)]
    assert (
        scalar(
            conn,
            "select count(*) from sherlock.band_keys where document_id = any(%s)",
            [first, second, copy],
        )
        == 0
    )
    assert scalar(conn, "select sherlock.jaccard_of_documents(%s, %s)", first, second) is None
    assert scalar(conn, "select sherlock.jaccard_of_documents(%s, %s)", first, ids[0]) is None
    found = conn.execute(
        "select document_id, confidence from sherlock.find_duplicates(%s)", [copy]
    ).fetchall()
    assert found == [(first, "EXACT")]
    model_id = scalar(conn, "select sherlock.fit_vocabulary()")
    conn.execute("select sherlock.vectorize_missing(%s, 1000)", [model_id])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
    levels = {
        row[0]: row[1:]
        for row in conn.execute(
            "select level, score, weight from sherlock.compare(%s, %s)", [first, second]
        )
    }
    assert levels["minhash"] == (None, None)
    assert levels["tfidf"][1] == 1
    assert levels["final"][0] == levels["tfidf"][0]
    found = conn.execute(
        "select document_id, minhash_score from sherlock.find_duplicates(%s)", [second]
    ).fetchall()
    assert (first, None) in found
    schemes = conn.execute(
        "select signed_count, unsigned_count, boilerplate_only_count, stop_list_id"
        " from sherlock.schemes where collection = 'default'"
    ).fetchall()
    assert schemes == [(MIN_TEXTS, 0, 3, list_id)]
    assert scalar(conn, "select count(*) from sherlock.plan(p_sample => 100)") > 0


def test_texts_that_are_not_stored_lose_the_same(conn: psycopg.Connection) -> None:
    texts = [*(filing(number) for number in range(MIN_TEXTS)), filing(90, own=5)]
    ids = store(conn, *texts)
    scheme = force(conn, learn(conn, "default", 0.5)["stop_list_id"])
    for document_id, text in zip(ids[-2:], texts[-2:], strict=True):
        stored, sketch = conn.execute(
            "select signature, sketch from sherlock.document_signatures where document_id = %s",
            [document_id],
        ).fetchall()[0]
        query = conn.execute(
            "select q.signature, q.sketch"
            " from sherlock._query_of_text(1, 'default', %s, null) as q",
            [text],
        ).fetchall()[0]
        assert query == (stored, sketch)
    assert stored is None
    # The function that signs any text knows no shortest one.
    of_text = scalar(conn, "select sherlock.signature(%s, %s)", texts[-1], scheme)
    assert of_text == Signer.of_scheme(conn, scheme).sign(texts[-1:]).signatures[0].tolist()
    assert scalar(conn, "select sherlock.signature(%s, %s)", FORM, scheme) is None


@given(documents=st.lists(words.map(" ".join), max_size=6), stopped=words.map(" ".join))
@property_test
def test_signatures_equal_python(
    conn: psycopg.Connection, documents: list[str], stopped: str
) -> None:
    conn.execute("savepoint before")
    stop_shingles = SIGNER.shingles(stopped).tolist()
    list_id = scalar(
        conn,
        "insert into sherlock.stop_lists (shingle_kind, shingle_width, learnt_from,"
        "  document_share, text_count, shingle_count, measured_count, mean_removed_share,"
        "  too_few_count, candidates_with, candidates_without)"
        " values ('skeleton', 2, 'default', 0.5, 1, 1, 1, 0, 0, 0, 0) returning stop_list_id",
    )
    conn.execute(
        "insert into sherlock.stop_shingles"
        " select %s, s, 1 from (select distinct unnest(%s::bigint[])) as t (s)",
        [list_id, stop_shingles],
    )
    scheme = scalar(conn, "select sherlock._scheme_with_list('default', %s)", list_id)
    signed = Signer.of_scheme(conn, scheme).sign(documents)
    rows = conn.execute(
        "select sherlock.signature(d.text, %s),"
        "       cardinality(h.shingles)"
        "           - cardinality(sherlock._distinctive_shingles(h.shingles, %s))"
        " from unnest(%s::text[]) with ordinality as d (text, n)"
        " cross join lateral (select sherlock.shingles("
        "     sherlock.canonical_text(d.text), 'skeleton', 2) as shingles) as h order by d.n",
        [scheme, list_id, documents],
    ).fetchall()
    conn.execute("rollback to before")
    assert [row[0] or [-1] * 128 for row in rows] == signed.signatures.tolist()
    assert [row[1] for row in rows] == signed.boilerplate_counts.tolist()
    kept = [
        [x for x in SIGNER.shingles(document).tolist() if x not in set(stop_shingles)]
        for document in documents
    ]
    assert (signed.shingle_counts - signed.boilerplate_counts).tolist() == list(map(len, kept))
    for shingles, signature in zip(kept, signed.signatures, strict=True):
        expected = scalar(conn, "select sherlock.signature(%s::bigint[])", shingles)
        assert signature.tolist() == (expected or [-1] * 128)


def test_signer_of_an_unknown_scheme_is_refused(conn: psycopg.Connection) -> None:
    with pytest.raises(UsageError) as caught:
        Signer.of_scheme(conn, "nowhere")
    assert caught.value.sqlstate == "SH015"


def test_lookups_do_not_walk_the_list(conn: psycopg.Connection) -> None:
    """Each shingle against each of 50,000 would take minutes, far beyond the timeout."""
    conn.execute("set local statement_timeout = '20s'")
    conn.execute(
        "insert into sherlock.stop_lists overriding system value"
        " values (900, 'word', 2, 'default', 0.5, 1, 1, 1, 0, 0, 0, 0)"
    )
    conn.execute(
        "insert into sherlock.stop_shingles"
        " select 900, hashint8extended(i, 0), 1 from generate_series(1, 50000) as i"
    )
    assert (
        scalar(
            conn,
            "select sum(cardinality(sherlock._distinctive_shingles(t.shingles, 900)))"
            " from (select array_agg(hashint8extended(i, n)) as shingles"
            "       from generate_series(0, 99) as n, generate_series(1, 5000) as i"
            "       group by n) as t",
        )
        == 99 * 5000
    )


def test_in_force_and_back(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        ids = store(conn, *(filing(number) for number in range(MIN_TEXTS)), filing(90, own=5))
        plain = conn.execute("select * from sherlock.document_signatures order by 1").fetchall()
        first = learn(conn, "default", 0.5)["stop_list_id"]
        second = learn(conn, "default", 0.9)["stop_list_id"]
        names = {list_id: f"skeleton-2 without list {list_id}" for list_id in (first, second)}
        conn.execute("call sherlock.use_boilerplate('default', %s)", [first])
        assert status(conn) == [
            (first, "in force", "default", names[first]),
            (second, "proposed", None, None),
        ]
        assert [row[2] for row in signature_rows(conn, ids)] == [True] * MIN_TEXTS + [False]
        # Learnt from whole texts, whatever is in force.
        assert set(listed(conn, learn(conn, "default", 0.5)["stop_list_id"])) == set(
            listed(conn, first)
        )
        conn.execute("call sherlock.use_boilerplate('default', %s)", [second])
        assert status(conn)[:2] == [
            (first, "retired", None, names[first]),
            (second, "in force", "default", names[second]),
        ]
        base = conn.execute(
            "select distinct b.name, b.band_count - s.band_count, b.min_shingles - s.min_shingles"
            " from sherlock.shingle_schemes as s"
            " join sherlock.shingle_schemes as b on b.scheme_id = s.base_scheme_id"
        ).fetchall()
        assert base == [("skeleton-2", 0, 0)]
        conn.execute("call sherlock.use_boilerplate('default', null)")
        assert [row[1] for row in status(conn)[:2]] == ["retired", "retired"]
        assert (
            plain
            == conn.execute("select * from sherlock.document_signatures order by 1").fetchall()
        )
        conn.execute("call sherlock.use_scheme('default', %s)", [names[first]])
        assert status(conn)[0] == (first, "in force", "default", names[first])


def test_documents_without_signature_are_not_signed_again(database_url: str) -> None:
    """A second call finds nothing to do, and does not say that their text is gone."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        store(conn, *(filing(number) for number in range(MIN_TEXTS)), filing(90, own=5))
        found = learn(conn, "default", 0.5)
        assert found["too_few_count"] == 1
        said: list[str] = []
        conn.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        for _ in range(2):
            conn.execute("call sherlock.use_boilerplate('default', %s)", [found["stop_list_id"]])
        scheme = f"skeleton-2 without list {found['stop_list_id']}"
        left = (
            f"1 of {MIN_TEXTS + 1} documents have too little left for level 1 without list"
            f" {found['stop_list_id']}: they are found by their exact text, their vector and their"
            " entities only"
        )
        assert said == [
            f"{MIN_TEXTS + 1} documents signed with scheme {scheme}",
            left,
            f"0 documents signed with scheme {scheme}",
            left,
        ]


def test_a_list_that_leaves_most_without_level_1_is_warned_of(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        store(conn, *(filing(number, own=5) for number in range(MIN_TEXTS)), own_words("other"))
        conn.execute("select sherlock.create_collection('other')")
        store(conn, own_words("elsewhere"), collection="other")
        list_id = learn(conn, "default", 0.5)["stop_list_id"]
        warned: list[tuple[str, str]] = []

        def hear(said: psycopg.errors.Diagnostic) -> None:
            if said.severity == "WARNING":
                warned.append((said.message_primary or "", said.message_hint or ""))

        conn.add_notice_handler(hear)
        conn.execute("call sherlock.use_boilerplate('default', %s)", [list_id])
        ((message, hint),) = warned
        assert message.startswith(
            f"{MIN_TEXTS} of {MIN_TEXTS + 1} documents have too little left for level 1"
        )
        assert "sherlock.use_boilerplate('default', null)" in hint
        assert "larger p_share" in hint
        assert "boilerplate_only_count" in hint
        shown = scalar(
            conn,
            "select boilerplate_only_count from sherlock.schemes where collection = 'default'",
        )
        assert shown == MIN_TEXTS
        warned.clear()
        conn.execute("call sherlock.use_boilerplate('default', null)")
        assert warned == []


def test_use_of_no_list_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        for call, sqlstate in (
            ("use_boilerplate('default', 77)", "SH027"),
            ("use_boilerplate('nowhere', null)", "SH002"),
        ):
            with pytest.raises(psycopg.Error) as caught:
                conn.execute(f"call sherlock.{call}".encode())
            assert caught.value.sqlstate == sqlstate
        conn.execute("begin")
        with pytest.raises(psycopg.errors.InvalidTransactionTermination) as refused:
            conn.execute("call sherlock.use_boilerplate('default', null)")
        assert "sherlock.use_boilerplate()" in (refused.value.diag.message_primary or "")


def test_a_name_that_is_taken_is_refused(conn: psycopg.Connection) -> None:
    store(conn, *(filing(number) for number in range(MIN_TEXTS)))
    list_id = learn(conn, "default", 0.5)["stop_list_id"]
    conn.execute("select sherlock.create_scheme(%s)", [f"skeleton-2 without list {list_id}"])
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select sherlock._scheme_with_list('default', %s)", [list_id])
    assert caught.value.sqlstate == "SH014"


def test_roles_without_rights_are_told_who_may(conn: psycopg.Connection) -> None:
    store(conn, *(filing(number) for number in range(MIN_TEXTS)))
    list_id = learn(conn, "default", 0.5)["stop_list_id"]
    conn.execute("create role boilerplate_reader")
    conn.execute("grant usage on schema sherlock to boilerplate_reader")
    conn.execute("grant select on all tables in schema sherlock to boilerplate_reader")
    conn.execute("set local role boilerplate_reader")
    for query, parameters in (
        (b"select sherlock.learn_boilerplate('default', 0.5)", []),
        (b"select sherlock._scheme_with_list('default', %s)", [list_id]),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught, conn.transaction():
            conn.execute(query, parameters)
        assert "the owner of the schema may" in (caught.value.diag.message_hint or "")


def test_a_pair_is_explained_without_its_boilerplate(conn: psycopg.Connection) -> None:
    texts = [filing(number) for number in range(MIN_TEXTS)]
    ids = store(conn, *texts, f"{texts[0]} recibido", filing(90, own=5))
    list_id = learn(conn, "default", 0.5)["stop_list_id"]
    force(conn, list_id)

    def explained(left: int, right: int) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
        return {
            (row[0], row[1]): (row[2], row[3])
            for row in conn.execute("select * from sherlock.explain_match(%s, %s)", [left, right])
        }

    form = len(SIGNER.shingles(FORM))
    distinct = len(set(SIGNER.shingles(FORM).tolist()))
    near = explained(ids[-2], ids[0])
    percent = round(100 * form / (form + 61))
    assert near["documents", str(ids[-2])][0].endswith(f"words, {percent} % boilerplate")
    assert near["documents", str(ids[-2])][1]["boilerplate_count"] == form
    assert near["text", "boilerplate"][0] == (
        f"{form} of {form + 61} shingles of {ids[-2]} and {form} of {form + 60} of {ids[0]} are on"
        f" list {list_id}"
    )
    assert near["text", "boilerplate"][1]["exact_jaccard_with_it"] == pytest.approx(
        (distinct + 60) / (distinct + 61), abs=1e-4
    )
    assert near["text", "shingles"][1]["exact_jaccard"] == pytest.approx(60 / 61, abs=1e-4)
    assert near["text", "shared passage"][0].startswith("responda ")
    bare = explained(ids[-1], ids[0])
    assert bare["retrieval", "minhash"][1]["reason"] == "boilerplate"
    assert bare["retrieval", "minhash"][0] == (
        f"no: too little of document {ids[-1]} is left without the boilerplate of list {list_id}"
    )
    assert explained(ids[0], ids[-1])["retrieval", "minhash"] == bare["retrieval", "minhash"]
