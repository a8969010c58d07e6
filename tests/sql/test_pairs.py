"""All pairs of a collection: those of the search, in ranges, hot keys held, recall measured."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from sherlock_pg.vectorize.canonical import skeleton

WORDS = [f"{a}{b}" for a in "abcdefghijklmnop" for b in ("osto", "inta", "ería", "umbre", "ador")]
SCORES = "confidence, action, final_score, minhash_score, tfidf_score, entity_score, has_conflict"
Pair = tuple[Any, ...]


def text(seed: int, length: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) + rng.choice("abcdefghijkl") for _ in range(length))


def edited(original: str, share: float, seed: int) -> str:
    rng = random.Random(seed)
    words = original.split(" ")
    return " ".join(w if rng.random() >= share else rng.choice(WORDS) for w in words)


def people(number: int) -> list[dict[str, str]]:
    return [
        {"role": "demandante", "value": f"Rosa {WORDS[number].title()} {WORDS[-number].title()}"},
        {"role": "demandado", "value": "NUEVA EPS"},
        {"role": "cedula", "value": str(52_000_000 + 7919 * number), "id_type": "CC"},
    ]


def add(
    conn: psycopg.Connection,
    content: str,
    *,
    entities: list[dict[str, str]] | None = None,
    doc_type: str = "default",
) -> int:
    row = conn.execute(
        "insert into sherlock.documents (doc_type, content, supplied_entities) values (%s, %s, %s)"
        " returning document_id",
        [doc_type, content, Jsonb(entities or [])],
    ).fetchone()
    assert row is not None
    return int(row[0])


def fill(conn: psycopg.Connection) -> None:
    """Families of edited texts of the same and other people, copies, short and odd texts."""
    for family in range(6):
        original = text(family)
        who = people(family + 1)
        doc_type = ("default", "tutela", "habeas_corpus")[family % 3]
        add(conn, original, entities=who, doc_type=doc_type)
        for number, share in enumerate((0.02, 0.1, 0.2, 0.35)):
            variant = edited(original, share, number)
            add(conn, variant, entities=people(family + number % 2 + 1), doc_type=doc_type)
    # Without people the numbers are level 3.
    matter = text(50) + " acta 48213 del 3 de marzo de 2021 y del 5 de mayo de 2021"
    add(conn, matter)
    add(conn, edited(matter, 0.15, 1))
    add(conn, matter.replace("48213", "77310").replace("3 de marzo", "9 de abril"))
    # The same person, whose texts share hardly a word: entities find it, nothing reports it.
    add(conn, text(60), entities=people(3))
    # Copies, one of them of an edited text; texts too short for the sketches.
    add(conn, text(0).upper(), entities=people(1))
    add(conn, edited(text(1), 0.1, 1) + "!", doc_type="tutela")
    add(conn, "Recibido hoy")
    add(conn, "recibido, hoy.")
    add(conn, "…")
    add(conn, "…")


def fit(conn: psycopg.Connection) -> None:
    terms = sorted({w for seed in (*range(6), 50, 60) for w in skeleton(text(seed)).split()})
    model = conn.execute(
        "select sherlock.create_tfidf_model('default', %s, %s, 40, 1, 1)",
        [terms, [1.0 + 0.01 * (n % 7) for n in range(len(terms))]],
    ).fetchone()
    assert model is not None
    conn.execute("select sherlock.vectorize_missing(%s, 1000)", [model[0]])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model[0]])


@pytest.fixture(scope="module")
def corpus_url(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    with clone_database() as url:
        with psycopg.connect(url) as conn:
            fill(conn)
            fit(conn)
        yield url


@pytest.fixture
def corpus(corpus_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(corpus_url) as conn:
        yield conn
        conn.rollback()


def pairs(conn: psycopg.Connection, arguments: str = "", *parameters: object) -> list[Pair]:
    return conn.execute(
        f"select document_id, matched_document_id, {SCORES}"
        f" from sherlock.find_duplicate_pairs({arguments})",
        parameters,
    ).fetchall()


def document_by_document(conn: psycopg.Connection) -> list[Pair]:
    return conn.execute(
        f"select d.document_id, m.document_id, {', '.join('m.' + c for c in SCORES.split(', '))}"
        " from sherlock.documents as d"
        " cross join lateral sherlock.find_duplicates(d.document_id, 1000, 'all') as m"
        " where m.document_id < d.document_id"
    ).fetchall()


def ids(found: list[Pair]) -> set[tuple[int, int]]:
    return {(pair[0], pair[1]) for pair in found}


def test_pairs_and_scores_are_those_of_the_search(corpus: psycopg.Connection) -> None:
    corpus.execute("update sherlock.detection_configs set use_short_circuit = false")
    found = pairs(corpus)
    assert set(found) == set(document_by_document(corpus))
    assert len(found) == len(ids(found)) > 30
    assert {pair[2] for pair in found} == {"EXACT", "HIGH", "MEDIUM", "LOW"}
    assert {pair[8] for pair in found} == {True, False}


def test_pairs_without_a_vocabulary_are_those_of_the_search(corpus: psycopg.Connection) -> None:
    corpus.execute("update sherlock.detection_configs set use_short_circuit = false")
    corpus.execute("update sherlock.tfidf_models set status = 'archived'")
    found = pairs(corpus)
    assert set(found) == set(document_by_document(corpus))
    assert {pair[6] for pair in found} == {None}


def test_documents_with_exact_copies_are_paired_with_the_others_too(
    corpus: psycopg.Connection,
) -> None:
    found, searched = set(pairs(corpus)), set(document_by_document(corpus))
    copied = {pair[0] for pair in searched if pair[2] == "EXACT"}
    copied |= {pair[1] for pair in searched if pair[2] == "EXACT"}
    assert searched < found
    assert {pair[0] for pair in found - searched} <= copied


def test_levels_are_found_by_what_they_compare(corpus: psycopg.Connection) -> None:
    """Level 1 alone, against the band keys themselves and one comparison for each pair."""
    sharing = corpus.execute(
        "select l.document_id, r.document_id, count(*)::integer"
        " from sherlock.band_keys as l join sherlock.band_keys as r using (key)"
        " where r.document_id < l.document_id group by 1, 2"
    ).fetchall()
    expected = {
        (left, right): shared
        for left, right, shared in sharing
        if (row := compared(corpus, left, right))[0] is not None and row[0] != "EXACT"
    }
    rows = corpus.execute(
        "select document_id, matched_document_id, shared_bands, found_by"
        " from sherlock.find_duplicate_pairs(p_levels => '{minhash}') where confidence <> 'EXACT'"
    ).fetchall()
    assert {(left, right): shared for left, right, shared, _ in rows} == expected
    assert {tuple(row[3]) for row in rows} == {("minhash",)}
    assert len(rows) < len(pairs(corpus))


def compared(conn: psycopg.Connection, left: int, right: int) -> tuple[str | None, float | None]:
    row = conn.execute(
        "select confidence, score from sherlock.compare(%s, %s) where level = 'final'",
        [left, right],
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_pairs_go_on_where_they_stopped(corpus: psycopg.Connection) -> None:
    everything = pairs(corpus)
    last, portions = 0, []
    while portion := pairs(corpus, "p_after => %s, p_limit => 3", last):
        assert {p[0] for p in portion}.isdisjoint(p[0] for p in portions)
        assert len(portion) >= 3 or portion[-1] == everything[-1]
        portions += portion
        last = portion[-1][0]
    assert portions == everything
    middle = everything[len(everything) // 2][0]
    halves = pairs(corpus, "p_through => %s", middle) + pairs(corpus, "p_after => %s", middle)
    assert halves == everything


def test_pairs_have_the_score_that_was_asked_for(corpus: psycopg.Connection) -> None:
    everything = pairs(corpus)
    assert pairs(corpus, "p_min_score => 0.7") == [p for p in everything if p[4] >= 0.7]
    lower = pairs(corpus, "p_min_score => 0.3")
    assert [pair for pair in lower if pair[2] is not None] == everything
    below = [pair for pair in lower if pair[2] is None]
    assert below
    assert {pair[3] for pair in below} == {"ACCEPT"}
    for left, right, *_, score, _, _, _, _ in below[:20]:
        assert compared(corpus, left, right) == (None, score)


def test_hot_keys_are_held_and_reported(conn: psycopg.Connection) -> None:
    template = text(7)
    members = [add(conn, edited(template, 0.005, n) + f" anexo{n}") for n in range(40)]
    notices: list[str] = []
    conn.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    complete = pairs(conn)
    assert len(complete) == 40 * 39 / 2
    assert notices == []
    rows = conn.execute(
        "select document_id, matched_document_id, hot_band_keys"
        " from sherlock.find_duplicate_pairs(p_key_limit => 10)"
    ).fetchall()
    (notice,) = notices
    assert notice.startswith("29 documents share a key with more than 10 earlier ones")
    matched: dict[int, list[int]] = {}
    for document, other, hot in rows:
        matched.setdefault(document, []).append(other)
        assert hot == 0 or members.index(document) > 10
    assert {document for document, _, hot in rows if hot} == set(members[11:])
    for position, document in enumerate(members[1:], 1):
        if position <= 10:
            assert sorted(matched[document]) == members[:position]
        else:
            # Different edits leave each pair different keys; none reads more than its own.
            assert members[0] in matched[document]
            assert members[position - 1] in matched[document]
    assert len(rows) < len(complete)


def test_many_copies_of_a_text_are_held_too(conn: psycopg.Connection) -> None:
    members = [add(conn, text(8)) for _ in range(14)]
    rows = conn.execute(
        "select document_id, matched_document_id"
        " from sherlock.find_duplicate_pairs(p_key_limit => 3, p_levels => '{minhash}')"
    ).fetchall()
    assert {other for document, other in rows if document == members[-1]} == {
        members[0],
        *members[-9:-1],
    }


CANDIDATES = "select document_id, matched_document_id, found_by, shared_bands, hot_band_keys"


@pytest.mark.parametrize("levels", [["minhash"], []])
@pytest.mark.parametrize("key_limit", [1, 3, 8, 9, 12, 64])
def test_a_pass_over_all_keys_gives_what_looking_up_each_gives(
    corpus: psycopg.Connection, levels: list[str], key_limit: int
) -> None:
    template = text(9)
    for number in range(25):
        add(corpus, template if number % 3 else edited(template, 0.01, number))
    # The keys of another collection and of a document signed by another scheme are in the pass too.
    corpus.execute("select sherlock.create_collection('other', 'text')")
    corpus.execute(
        "insert into sherlock.documents (collection_id, content)"
        " select sherlock.collection_id('other'), content from sherlock.documents"
    )
    corpus.execute(
        "update sherlock.document_signatures set scheme_id = (select max(scheme_id)"
        " from sherlock.shingle_schemes) where document_id = 3"
    )
    documents = [
        row[0]
        for row in corpus.execute(
            "select document_id from sherlock.documents where collection_id = 1 order by 1"
        ).fetchall()
    ]
    for after, through in ((0, documents[-1]), (documents[9], documents[-8]), (0, documents[2])):
        looked_up = corpus.execute(
            f"{CANDIDATES}, is_capped from sherlock._pair_candidates(1, %s, %s, %s)",
            [[d for d in documents if after < d <= through], levels, key_limit],
        ).fetchall()
        passed = corpus.execute(
            f"{CANDIDATES}, is_capped from sherlock._pair_candidates_by_scan(1, %s, %s, %s, %s)",
            [after, through, levels, key_limit],
        ).fetchall()
        assert passed or (after, through) != (0, documents[-1])
        assert sorted(passed) == sorted(looked_up)


def test_pairs_are_stored_as_matches_and_made_into_clusters(
    clone_database: Callable[[], AbstractContextManager[str]],
) -> None:
    with clone_database() as url, psycopg.connect(url, autocommit=True) as conn:
        fill(conn)
        conn.execute("delete from sherlock.matches")
        conn.execute("call sherlock.store_duplicate_pairs('default', p_batch_size => 7)")
        stored = conn.execute(
            f"select document_id, matched_document_id, {SCORES} from sherlock.matches"
        ).fetchall()
        assert sorted(stored) == sorted(pairs(conn))
        made_by = conn.execute(
            "select distinct config_id is not null, scheme_id is not null, evidence ? 'found_by'"
            " from sherlock.matches"
        ).fetchall()
        assert made_by == [(True, True, True)]
        # Called again it adds what is missing and changes nothing else.
        conn.execute("delete from sherlock.matches where confidence = 'HIGH'")
        conn.execute("update sherlock.matches set final_score = 0.77")
        conn.execute("call sherlock.store_duplicate_pairs('default')")
        scores = dict(
            conn.execute(
                "select confidence = 'HIGH', count(*) filter (where final_score = 0.77)"
                " from sherlock.matches group by 1"
            ).fetchall()
        )
        assert scores[False] == len(stored) - sum(pair[2] == "HIGH" for pair in stored)
        assert len(conn.execute("select from sherlock.matches").fetchall()) == len(stored)
        row = conn.execute("select sherlock.rebuild_clusters('default')").fetchone()
        assert row is not None and row[0] > 3
        with pytest.raises(psycopg.DatabaseError) as failure:
            conn.execute("call sherlock.store_duplicate_pairs('default', p_batch_size => 0)")
        assert failure.value.sqlstate == "SH013"


def test_recall_is_that_of_comparing_all_with_all(corpus: psycopg.Connection) -> None:
    documents = [
        row[0]
        for row in corpus.execute(
            "select document_id from sherlock.documents where text_state = 'indexed' order by 1"
        ).fetchall()
    ]
    truth = {
        (left, right): confidence
        for left in documents
        for right in documents
        if right < left and (confidence := compared(corpus, left, right)[0])
    }
    found = {
        (left, right): set(found_by)
        for left, right, found_by in corpus.execute(
            "select document_id, matched_document_id, found_by from sherlock.find_duplicate_pairs()"
        ).fetchall()
    }
    ranks = ["EXACT", "HIGH", "MEDIUM", "LOW"]
    rows = corpus.execute(
        "select retrieved_by, min_confidence, pair_count, found_count, recall"
        " from sherlock.measure_pair_recall(p_sample => 1000)"
    ).fetchall()
    assert [row[:2] for row in rows] == [
        (way, rank) for way in ("minhash", "tfidf", "entities", "all") for rank in ranks
    ]
    for way, rank, pair_count, found_count, recall in rows:
        wanted = {p for p, c in truth.items() if ranks.index(c) <= ranks.index(rank)}
        got = {p for p in wanted if p in found and (way == "all" or way in found[p])}
        assert (pair_count, found_count) == (len(wanted), len(got))
        assert recall == pytest.approx(len(got) / len(wanted))
    assert len({row[3] for row in rows if row[1] == "LOW"}) > 1


def test_recall_of_a_sample_is_repeatable(corpus: psycopg.Connection) -> None:
    def measured(seed: int) -> list[Any]:
        return corpus.execute(
            "select m::text from sherlock.measure_pair_recall(p_sample => 12, p_seed => %s) as m",
            [seed],
        ).fetchall()

    assert measured(1) == measured(1)
    assert len({str(measured(seed)) for seed in range(1, 5)}) > 1


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("find_duplicate_pairs('nowhere')", "SH002"),
        ("find_duplicate_pairs(p_limit => 0)", "SH013"),
        ("find_duplicate_pairs(p_levels => '{bands}')", "SH058"),
        ("find_duplicate_pairs(p_levels => '{}')", "SH058"),
        ("find_duplicate_pairs(p_key_limit => 0)", "SH059"),
        ("find_duplicate_pairs(p_min_score => 1.5)", "SH060"),
        ("measure_pair_recall('nowhere')", "SH002"),
        ("measure_pair_recall(p_sample => 0)", "SH013"),
        ("measure_pair_recall(p_levels => null)", "SH058"),
        ("measure_pair_recall(p_key_limit => null)", "SH059"),
    ],
)
def test_errors(conn: psycopg.Connection, call: str, code: str) -> None:
    with pytest.raises(psycopg.DatabaseError) as failure:
        conn.execute(f"select * from sherlock.{call}")
    assert failure.value.sqlstate == code
    assert failure.value.diag.message_hint
