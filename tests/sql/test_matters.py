"""Numbers and dates in the search: equal to sherlock.compare, and what they do to documents."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import Gold
from sherlock_pg.samples.variants import Kind, make_variant

KINDS = [
    Kind.PARAPHRASE, Kind.REDATED, Kind.NEW_VERSION, Kind.SAME_TEMPLATE_OTHER_PEOPLE,
    Kind.SAME_PARTIES_OTHER_CASE,
]  # fmt: skip
TOPICS = ("tutela_salud", "tutela_peticion", "habeas_corpus_captura")
DOC_TYPES = ("acta", "tutela", "habeas_corpus")
ANA = [
    {"role": "demandante", "value": "Ana María Rojas Peña"},
    {"role": "demandado", "value": "Nueva EPS"},
    {"role": "cedula", "value": "52.345.678"},
]
LUIS = [
    {"role": "demandante", "value": "Luis Alberto Cortés Vega"},
    {"role": "demandado", "value": "Nueva EPS"},
    {"role": "cedula", "value": "79.111.222"},
]
MARINA = [
    {"role": "demandante", "value": "Ana Marina Rojas Peña"},
    {"role": "demandado", "value": "Nueva EPS"},
    {"role": "cedula", "value": "79.111.222"},
]
DOCKET = [{"role": "radicado", "value": "11001-40-03-022-2023-00123-00"}]
_NO_DIGITS = str.maketrans("", "", "0123456789")
PAIRS = 200
_serial = itertools.count(1)


def add(
    conn: psycopg.Connection,
    content: str,
    *,
    entities: list[dict[str, Any]] | None = None,
    doc_type: str = "acta",
    collection: str = "default",
) -> int:
    digest = hashlib.sha256(f"{next(_serial)} {content}".encode()).digest()
    row = conn.execute(
        "select document_id from sherlock.claim_file(%s, %s, %s, %s, 'x', 'test')",
        [digest, len(content), collection, digest.hex()[:8]],
    ).fetchone()
    assert row is not None
    conn.execute(
        "select sherlock.finish_document(%s, 'test', 'ok', p_content => %s, p_doc_type => %s,"
        " p_entities => %s)",
        [row[0], content, doc_type, json.dumps(entities or [])],
    )
    document_id: int = row[0]
    return document_id


def duplicates(conn: psycopg.Connection, document_id: int) -> dict[int, dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            "select * from sherlock.find_duplicates(%s)", [document_id]
        ).fetchall()
    return {row["document_id"]: row for row in rows}


def use_vocabulary(conn: psycopg.Connection) -> None:
    row = conn.execute("select sherlock.fit_vocabulary('default')").fetchone()
    assert row is not None
    conn.execute("select sherlock.vectorize_missing(%s, 1000)", [row[0]])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [row[0]])


def act(numbers_seed: int, *, noise: float = 0, noise_seed: int = 0) -> str:
    """Give a text of a template that names nobody: another seed, other numbers and dates."""
    template = random.Random(7)
    words = ["".join(template.choices("abdegmoprstu", k=7)) for _ in range(300)]
    rng = random.Random(numbers_seed)
    for position in range(10, 300, 60):
        words[position] = f"acta {rng.randrange(10**6, 10**7)} del 2591"
        words[position + 9] = (
            f"el {rng.randrange(1, 28)}/{rng.randrange(1, 12)}/{2010 + rng.randrange(10)}"
        )
    spoiled = random.Random(noise_seed)
    return " ".join(
        "xyz" + word[3:] if word.isalpha() and spoiled.random() < noise else word for word in words
    )


def spoiled_entities(gold: Gold, rng: random.Random) -> list[dict[str, Any]]:
    """Give the entities as a bad reader would: roles missing, another docket, a digit misread."""
    rows = []
    for role in ("demandante", "demandado", "cedula", "correo", "radicado"):
        if rng.random() < 0.35:
            continue
        for value in getattr(gold, role):
            if rng.random() < 0.15:
                value = value[:-3] + "".join(rng.sample(value[-3:], 3))
            rows.append({"role": role, "value": value})
    return rows


@pytest.fixture(scope="module")
def corpus_url(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    """Give a database of filings and acts, each under some type, with whole and broken entities."""
    with clone_database() as url:
        with psycopg.connect(url) as conn:
            conn.execute(
                "update sherlock.detection_configs set max_results = 25, low_threshold = 0.3"
            )
            for number, topic in enumerate(TOPICS * 3):
                rng = random.Random(number)
                case = draw_case(5, f"case-{number}", topic_name=topic)
                for kind in [Kind.ORIGINAL, *KINDS]:
                    _, filing = make_variant(5, case, kind)
                    add(
                        conn,
                        filing.text(),
                        entities=spoiled_entities(filing.gold, rng),
                        doc_type=rng.choice([*DOC_TYPES, case.doc_type]),
                    )
            for number in range(8):
                for seed in (1, 2):
                    add(
                        conn,
                        act(number, noise=0.04 * seed, noise_seed=seed),
                        entities=[{"role": "cedula", "value": "52345678"}] * (number == 1),
                        doc_type=DOC_TYPES[(number + seed) % 3],
                    )
            # The same parties in other matters; others in the same.
            for number, people in enumerate(
                (ANA, ANA, ANA, MARINA, LUIS, LUIS, DOCKET, DOCKET, ANA[:2], ANA[:2])
            ):
                for half, doc_type in enumerate(("tutela", "habeas_corpus")):
                    add(
                        conn,
                        act(50 + number // 2, noise=0.01, noise_seed=2 * number + half),
                        entities=people,
                        doc_type=doc_type,
                    )
            # Numbers, dates, or neither.
            for text in ("otra 888888 y más", "el 3/4/2019 y el 5/6/2019", "sin nada"):
                add(conn, act(1, noise=0.05, noise_seed=9).translate(_NO_DIGITS) + text)
        yield url


@pytest.mark.parametrize("use_references", [True, False])
@pytest.mark.parametrize("has_model", [True, False])
def test_search_and_compare_agree(corpus_url: str, use_references: bool, has_model: bool) -> None:
    seen: list[dict[str, Any]] = []
    with psycopg.connect(corpus_url) as conn:
        conn.execute("set plpgsql.extra_errors = 'all'")
        conn.execute("update sherlock.detection_configs set use_references = %s", [use_references])
        if has_model:
            use_vocabulary(conn)
        documents = conn.execute(
            "select document_id, doc_type from sherlock.documents order by 1"
        ).fetchall()
        pairs = [
            (document_id, other_id, doc_type, match)
            for document_id, doc_type in documents
            for other_id, match in duplicates(conn, document_id).items()
        ]
        random.Random(1).shuffle(pairs)
        # Few are capped: all of them, and of the others as many as there is time for.
        pairs.sort(key=lambda pair: "capped_from" not in pair[3]["evidence"])
        assert len(pairs) > PAIRS
        for document_id, other_id, doc_type, match in pairs[:PAIRS]:
            compared = {
                row[0]: row[1:]
                for row in conn.execute(
                    "select level, score, confidence, evidence from sherlock.compare(%s, %s)",
                    [document_id, other_id],
                )
            }
            entity = compared["entity"][2]
            seen.append({**match, "doc_type": doc_type})
            pair = (document_id, other_id, match, compared)
            assert match["minhash_score"] == compared["minhash"][0], pair
            assert match["tfidf_score"] == compared["tfidf"][0], pair
            assert match["entity_score"] == pytest.approx(compared["entity"][0]), pair
            assert match["has_conflict"] is entity["has_conflict"], pair
            assert match["final_score"] == compared["final"][0], pair
            assert match["confidence"] == compared["final"][1], pair
            assert match["evidence"].get("shared", []) == entity["shared"], pair
            assert match["evidence"].get("differing", []) == entity["differing"], pair
            if match["evidence"].get("entity_from") == "numbers":
                assert match["entity_score"] == pytest.approx(entity["numbers"]), pair
        conn.rollback()
    # The corpus is worth its while only if all of this happens in it.
    assert {each["doc_type"] for each in seen} == set(DOC_TYPES)
    assert {each["confidence"] for each in seen} == {"HIGH", "MEDIUM", "LOW"}
    assert {(each["confidence"], each["has_conflict"]) for each in seen} >= {
        ("HIGH", False), ("LOW", False), ("LOW", True), ("MEDIUM", False),
    }  # fmt: skip
    for role in ("fecha", "cedula"):
        assert any(
            "capped_from" in each["evidence"]
            and role in {entry["role"] for entry in each["evidence"]["differing"]}
            for each in seen
        ) or (role == "fecha" and not use_references)
    assert {each["evidence"].get("entity_from") == "numbers" for each in seen} == {
        False, use_references,
    }  # fmt: skip
    assert any(each["entity_score"] is None for each in seen)


def entity_score(conn: psycopg.Connection, document_id: int, other_id: int) -> float | None:
    row = conn.execute(
        "select score from sherlock.compare(%s, %s) where level = 'entity'",
        [document_id, other_id],
    ).fetchone()
    assert row is not None
    score: float | None = row[0]
    return score


def stored(conn: psycopg.Connection) -> dict[int, list[str]]:
    rows = conn.execute("select document_id, numbers from sherlock.document_references").fetchall()
    return dict(rows)


def test_other_numbers_make_less_of_a_copy_than_noise(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.detection_configs set low_threshold = 0.1")
    original = add(conn, act(1))
    noisy = add(conn, act(1, noise=0.03))
    other = add(conn, act(2))
    found = duplicates(conn, original)
    assert found[noisy]["final_score"] > found[other]["final_score"] + 0.2
    assert found[noisy]["confidence"] == "HIGH"
    assert found[noisy]["entity_score"] == 1
    assert found[noisy]["evidence"]["entity_from"] == "numbers"
    assert {entry["role"] for entry in found[noisy]["evidence"]["shared"]} == {"numero", "fecha"}
    # What every act cites is all that the two share.
    assert found[other]["entity_score"] == pytest.approx(1 / 6)
    assert [entry["role"] for entry in found[other]["evidence"]["differing"]] == ["fecha"]


def test_without_references_the_score_is_that_of_the_text(conn: psycopg.Connection) -> None:
    original = add(conn, act(1))
    noisy, other = add(conn, act(1, noise=0.03)), add(conn, act(2))
    use_vocabulary(conn)
    conn.execute("update sherlock.detection_configs set use_references = false")
    for match in (duplicates(conn, original)[each] for each in (noisy, other)):
        assert match["entity_score"] is None
        assert match["has_conflict"] is False
        assert "entity_from" not in match["evidence"]
        assert "shared" not in match["evidence"]
        assert match["evidence"]["absent"] == ["entities"]
        assert match["final_score"] == pytest.approx(
            (0.25 * match["minhash_score"] + 0.4 * match["tfidf_score"]) / 0.65, abs=1e-4
        )


def test_collections_of_texts_take_no_notice(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('noticias', 'text')")
    original = add(conn, act(1), collection="noticias")
    other = add(conn, act(2), collection="noticias")
    before = duplicates(conn, original)[other]
    assert before["entity_score"] is None
    assert "differing" not in before["evidence"]
    conn.execute("update sherlock.detection_configs set use_references = false")
    assert duplicates(conn, original)[other] == before


def test_texts_without_numbers_are_judged_by_their_words(conn: psycopg.Connection) -> None:
    words = act(1).translate(_NO_DIGITS)
    with_number = add(conn, words + " 123456")
    without = add(conn, words + " nada")
    with_dates = add(conn, words + " el 3/4/2019")
    for one, other in itertools.permutations((with_number, without, with_dates), 2):
        assert duplicates(conn, one)[other]["entity_score"] is None
        assert entity_score(conn, one, other) is None


@pytest.mark.parametrize("entities", [[], ANA, [{"role": "cedula", "value": "52345678"}]])
def test_a_text_is_judged_like_a_document(
    conn: psycopg.Connection, entities: list[dict[str, Any]]
) -> None:
    conn.execute("update sherlock.detection_configs set low_threshold = 0.1")
    for seed in (1, 2, 3):
        add(conn, act(seed), entities=ANA if seed == 2 else [])
    text = act(1, noise=0.03)
    with conn.cursor(row_factory=dict_row) as cursor:
        of_text = cursor.execute(
            "select * from sherlock.find_duplicates_of_text(%s, %s, p_doc_type => 'tutela')",
            [text, json.dumps(entities)],
        ).fetchall()
    of_document = duplicates(conn, add(conn, text, entities=entities, doc_type="tutela"))
    assert len(of_text) == 3
    assert of_text == list(of_document.values())


def test_other_matter_of_the_same_parties_is_capped(conn: psycopg.Connection) -> None:
    original = add(conn, act(1), entities=ANA, doc_type="tutela")
    other = add(conn, act(2, noise=0.05), entities=ANA, doc_type="tutela")
    same = add(conn, act(1, noise=0.05), entities=ANA, doc_type="tutela")
    for number in range(8):
        add(conn, act(100 + number, noise=1), doc_type="tutela")
    use_vocabulary(conn)
    found = duplicates(conn, original)
    assert found[same]["confidence"] == "HIGH"
    assert found[same]["has_conflict"] is False
    assert found[other]["minhash_score"] < 0.85
    assert found[other]["has_conflict"] is True
    assert found[other]["confidence"] == "LOW"
    assert found[other]["evidence"]["capped_from"] in ("MEDIUM", "HIGH")
    conn.execute("update sherlock.detection_configs set use_references = false")
    uncapped = duplicates(conn, original)[other]
    assert (uncapped["has_conflict"], uncapped["final_score"]) == (
        False, found[other]["final_score"],
    )  # fmt: skip


def test_nearly_the_same_text_with_other_dates_is_a_new_version(conn: psycopg.Connection) -> None:
    text = act(1).translate(_NO_DIGITS)
    original = add(conn, f"{text} el 1/2/2020 y el 3/4/2020", entities=ANA, doc_type="tutela")
    version = add(conn, f"{text} el 5/6/2021 y el 7/8/2021", entities=ANA, doc_type="tutela")
    match = duplicates(conn, original)[version]
    assert match["minhash_score"] >= 0.85
    assert "fecha" in {entry["role"] for entry in match["evidence"]["differing"]}
    assert match["has_conflict"] is False
    assert match["confidence"] == "HIGH"


def test_a_low_match_says_that_it_conflicts(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.detection_configs set conflict_cap = null, low_threshold = 0.1")
    original = add(conn, act(1), entities=ANA)
    other = add(conn, act(1, noise=0.12), entities=LUIS)
    match = duplicates(conn, original)[other]
    assert match["confidence"] == "LOW"
    assert match["has_conflict"] is True


@pytest.mark.parametrize(
    ("left", "right", "entity"),
    [
        pytest.param(DOCKET, DOCKET, 0.2 / 0.35, id="no parties"),
        pytest.param(DOCKET + ANA[:1], DOCKET + ANA, 0.2 / 0.35, id="no defendant"),
        pytest.param(DOCKET + ANA, DOCKET + LUIS, 0, id="parties come first"),
    ],
)
def test_an_equal_docket_counts_as_both_parties(
    conn: psycopg.Connection,
    left: list[dict[str, Any]],
    right: list[dict[str, Any]],
    entity: float,
) -> None:
    conn.execute("update sherlock.detection_configs set low_threshold = 0.1")
    one = add(conn, act(1), entities=left)
    other = add(conn, act(2), entities=right)
    match = duplicates(conn, one)[other]
    assert match["entity_score"] == pytest.approx(entity)
    assert "entity_from" not in match["evidence"]
    assert entity_score(conn, one, other) == pytest.approx(entity)
    assert entity_score(conn, other, one) == pytest.approx(entity)


def test_another_docket_leaves_the_numbers(conn: psycopg.Connection) -> None:
    one = add(conn, act(1), entities=DOCKET)
    elsewhere = [{"role": "radicado", "value": "05001-31-10-002-2022-00456-00"}]
    other = add(conn, act(1, noise=0.03), entities=elsewhere)
    match = duplicates(conn, one)[other]
    assert match["entity_score"] == 1
    assert match["evidence"]["entity_from"] == "numbers"
    assert match["has_conflict"] is False


def test_references_follow_the_text(conn: psycopg.Connection) -> None:
    with_numbers = "acta 4321 " + act(1).translate(_NO_DIGITS)
    conn.execute("insert into sherlock.documents (content) values (%s)", [with_numbers])
    row = conn.execute("select max(document_id) from sherlock.documents").fetchone()
    assert row is not None
    document_id = row[0]
    assert stored(conn) == {document_id: ["4321"]}
    for _ in range(2):
        conn.execute("select sherlock.index_documents(array[%s::bigint])", [document_id])
        assert stored(conn) == {document_id: ["4321"]}
    change = "update sherlock.documents set content = %s where document_id = %s"
    conn.execute(change, [with_numbers.replace("4321", "8765"), document_id])
    assert stored(conn) == {document_id: ["8765"]}
    conn.execute(change, [with_numbers.translate(_NO_DIGITS), document_id])
    assert stored(conn) == {}
    conn.execute(change, [with_numbers, document_id])
    assert stored(conn) == {document_id: ["4321"]}
    conn.execute("delete from sherlock.documents where document_id = %s", [document_id])
    assert stored(conn) == {}


def test_short_texts_have_no_references(conn: psycopg.Connection) -> None:
    add(conn, "Acta 4321")
    assert stored(conn) == {}


def test_references_follow_a_watched_row(conn: psycopg.Connection) -> None:
    conn.execute("create table actas (id integer primary key, body text)")
    conn.execute("insert into actas values (1, %s)", ["acta 4321 " + act(1)])
    conn.execute("select sherlock.watch('actas', 'id', array['body'])")
    conn.execute("insert into actas values (2, %s)", ["acta 8765 " + act(1)])
    first = {numbers[0] for numbers in stored(conn).values()}
    assert "8765" in first
    conn.execute("update actas set body = %s where id = 2", ["acta 1111 " + act(1)])
    assert "1111" in {numbers[0] for numbers in stored(conn).values()}
    assert "8765" not in {numbers[0] for numbers in stored(conn).values()}
    conn.execute("delete from actas where id = 2")
    assert "1111" not in {numbers[0] for numbers in stored(conn).values()}
