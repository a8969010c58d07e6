"""Searching and judging on stored documents: what is found, what never is, and in which order."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import psycopg
import pytest

WORDS = [f"{a}{b}" for a in "abcdefghijklmnop" for b in ("osto", "inta", "ería", "umbre", "ador")]
TUTELA = "Señor juez: acción de tutela. "


def text(seed: int, length: int = 200, *, prefix: str = "") -> str:
    rng = random.Random(seed)
    return prefix + " ".join(rng.choice(WORDS) + str(rng.randrange(40)) for _ in range(length))


def edited(original: str, share: float, seed: int = 1) -> str:
    rng = random.Random(seed)
    return " ".join(
        word if rng.random() >= share else f"cambio{rng.randrange(9999)}"
        for word in original.split(" ")
    )


def add(
    conn: psycopg.Connection,
    content: str | None,
    *,
    entities: list[dict[str, Any]] | None = None,
    collection: str = "default",
    doc_type: str = "auto",
    flags: list[str] | None = None,
) -> int:
    digest = hashlib.sha256((content or "").encode() + random.randbytes(8)).digest()
    row = conn.execute(
        "select document_id from sherlock.claim_file(%s, %s, %s, %s, 'x', 'test')",
        [digest, len(content or ""), collection, f"doc-{digest.hex()[:6]}"],
    ).fetchone()
    assert row is not None
    conn.execute(
        "select sherlock.finish_document(%s, 'test', 'ok', p_content => %s, p_doc_type => %s,"
        " p_entities => %s, p_flags => %s)",
        [row[0], content, doc_type, json.dumps(entities or []), flags or []],
    )
    document_id: int = row[0]
    return document_id


def found(conn: psycopg.Connection, document_id: int, scope: str = "all") -> dict[int, str]:
    rows = conn.execute(
        "select document_id, confidence from sherlock.find_duplicates(%s, p_scope => %s)",
        [document_id, scope],
    ).fetchall()
    return dict(rows)


def detect(conn: psycopg.Connection, document_id: int) -> dict[str, Any]:
    row = conn.execute("select to_jsonb(d) from sherlock.detect(%s) as d", [document_id]).fetchone()
    assert row is not None
    detection: dict[str, Any] = row[0]
    return detection


def people(
    name: str, cedula: str, correo: str = "", defendant: str = "NUEVA EPS"
) -> list[dict[str, Any]]:
    rows = [
        {"role": "demandante", "value": name},
        {"role": "demandado", "value": defendant},
        {"role": "cedula", "value": cedula, "id_type": "CC", "owner": "demandante"},
    ]
    if correo:
        rows.append({"role": "correo", "value": correo, "owner": "demandante"})
    return rows


ANA = people("Ana María Rojas Peña", "52.345.678", "ana.rojas@ejemplo.co")
LUIS = people("Luis Alberto Cortés Vega", "79.111.222", "lcortes@ejemplo.co")


def test_same_words_in_other_clothes_are_exact(conn: psycopg.Connection) -> None:
    original = "La señora PEÑA pidió, el 3 de marzo, su medicina. " * 10
    first = add(conn, original)
    second = add(conn, original.upper().replace(",", "\n").replace("Ñ", "N\u0303"))
    assert found(conn, second) == {first: "EXACT"}
    detection = detect(conn, second)
    assert detection["recommended_action"] == "REJECT"
    assert detection["short_circuited"] is True
    assert detection["candidates"][0]["final_score"] == 1.0
    assert detection["high_confidence_count"] == 1


def test_never_itself(conn: psycopg.Connection) -> None:
    document_id = add(conn, text(1))
    assert found(conn, document_id) == {}
    detection = detect(conn, document_id)
    assert detection["recommended_action"] == "ACCEPT"
    assert detection["candidates"] == []


def test_the_later_of_two_copies_is_the_duplicate(conn: psycopg.Connection) -> None:
    original = text(2)
    first = add(conn, original, entities=ANA)
    second = add(conn, edited(original, 0.01), entities=ANA)
    assert detect(conn, second)["recommended_action"] == "REVIEW"
    assert detect(conn, first)["recommended_action"] == "ACCEPT"
    assert found(conn, first) == {second: "HIGH"}
    assert found(conn, first, scope="earlier") == {}


def test_conflicting_identities_cap_the_class(conn: psycopg.Connection) -> None:
    """One letter apart, another identity number: another person, whatever the names say."""
    original = text(3, prefix=TUTELA)
    juan = people("Juan Pérez Gómez", "52.345.678")
    first = add(conn, original, entities=juan)
    same_person = add(conn, edited(original, 0.01, seed=2), entities=juan)
    other_person = add(
        conn, edited(original, 0.01, seed=3), entities=people("Juana Pérez Gómez", "79.111.222")
    )
    assert detect(conn, same_person)["candidates"][0]["confidence"] == "HIGH"
    candidates = {c["document_id"]: c for c in detect(conn, other_person)["candidates"]}
    capped = candidates[first]
    assert capped["has_conflict"] is True
    assert capped["confidence"] == "LOW"
    assert capped["evidence"]["capped_from"] in ("MEDIUM", "HIGH")
    assert "cedula" in {item["role"] for item in capped["evidence"]["differing"]}
    assert detect(conn, other_person)["recommended_action"] == "ACCEPT"
    conn.execute("update sherlock.detection_configs set conflict_cap = null")
    assert detect(conn, other_person)["recommended_action"] == "REVIEW"


def test_same_template_of_other_people_is_not_held_back(conn: psycopg.Connection) -> None:
    original = text(31, prefix=TUTELA)
    add(conn, original, entities=ANA)
    other = add(conn, edited(original, 0.2), entities=LUIS)
    assert detect(conn, other)["recommended_action"] == "ACCEPT"


@pytest.mark.parametrize("content", ["", "   \n\t ", "¡…!", None])
def test_empty_texts_match_nothing(conn: psycopg.Connection, content: str | None) -> None:
    add(conn, content)
    second = add(conn, content)
    if content is None:
        with pytest.raises(psycopg.DatabaseError) as failure:
            found(conn, second)
        assert failure.value.sqlstate in ("SH004", "SH008")
        return
    assert found(conn, second) == {}
    row = conn.execute(
        "select text_state from sherlock.documents where document_id = %s", [second]
    ).fetchone()
    assert row == ("empty",)


def test_short_texts_match_exactly_only(conn: psycopg.Connection) -> None:
    first = add(conn, "Solicito cita médica")
    near = add(conn, "Solicito cita médica urgente")
    same = add(conn, "SOLICITO CITA MEDICA")
    assert found(conn, near) == {}
    assert found(conn, same) == {first: "EXACT"}


def test_people_alone_make_no_duplicate_of_a_short_text(conn: psycopg.Connection) -> None:
    short = add(conn, "Solicito cita médica", entities=ANA)
    long = add(conn, text(31), entities=ANA)
    assert found(conn, long) == {}
    assert found(conn, short) == {}


def test_badly_read_texts_stay_out_of_the_fuzzy_levels(conn: psycopg.Connection) -> None:
    original = text(4)
    add(conn, original)
    bad = add(conn, edited(original, 0.02), flags=["low_quality"])
    assert found(conn, bad) == {}
    row = conn.execute(
        "select text_state from sherlock.documents where document_id = %s", [bad]
    ).fetchone()
    assert row == ("excluded",)


def test_collections_do_not_see_each_other(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('otra')")
    original = text(5)
    add(conn, original)
    elsewhere = add(conn, original, collection="otra")
    assert found(conn, elsewhere) == {}
    again = add(conn, edited(original, 0.01), collection="otra")
    assert set(found(conn, again)) == {elsewhere}


def test_collection_without_entities_is_not_capped_by_their_absence(
    conn: psycopg.Connection,
) -> None:
    conn.execute("select sherlock.create_collection('noticias', 'text')")
    original = text(6)
    first = add(conn, original, collection="noticias")
    second = add(conn, edited(original, 0.005), collection="noticias")
    assert found(conn, second) == {first: "HIGH"}


def test_limit_order_and_ties(conn: psycopg.Connection) -> None:
    original = text(7)
    copies = [add(conn, edited(original, 0.01, seed=n), entities=ANA) for n in range(15)]
    query = add(conn, edited(original, 0.01, seed=99), entities=ANA)
    rows = conn.execute(
        "select document_id, final_score from sherlock.find_duplicates(%s)", [query]
    ).fetchall()
    assert len(rows) == 10
    assert {row[0] for row in rows} <= set(copies)
    assert rows == sorted(rows, key=lambda row: (-row[1], row[0]))
    three = conn.execute(
        "select document_id, final_score from sherlock.find_duplicates(%s, 3)", [query]
    ).fetchall()
    assert three == rows[:3]


def test_hot_band_keys_are_capped_and_said(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.shingle_schemes set band_key_limit = 5")
    original = text(8)
    for number in range(8):
        add(conn, edited(original, 0.002, seed=number))
    query = add(conn, edited(original, 0.002, seed=50))
    rows = conn.execute(
        "select evidence -> 'hot_band_keys' from sherlock.find_duplicates(%s)", [query]
    ).fetchall()
    assert rows
    assert all(row[0] is not None and row[0] > 0 for row in rows)


def test_results_do_not_depend_on_settings(conn: psycopg.Connection) -> None:
    original = text(9)
    add(conn, original, entities=people("Ana Maria Rojas Pena", "111"))
    query = add(conn, edited(original, 0.2), entities=people("Ana Maria Rojas Penas", "222"))
    before = found(conn, query)
    conn.execute("select '[1]'::vector, show_trgm('a')")
    conn.execute("set local pg_trgm.similarity_threshold = 0.99")
    conn.execute("set local ivfflat.probes = 3")
    conn.execute("set local search_path = ''")
    assert found(conn, query) == before
    assert conn.execute("show pg_trgm.similarity_threshold").fetchone() == ("0.99",)
    assert conn.execute("show ivfflat.probes").fetchone() == ("3",)


def test_text_that_is_not_stored_is_judged_like_one_that_is(conn: psycopg.Connection) -> None:
    original = text(10, prefix=TUTELA)
    add(conn, original, entities=ANA)
    add(conn, text(11), entities=LUIS)
    near = edited(original, 0.03)
    as_text = conn.execute(
        "select document_id, final_score, confidence from sherlock.find_duplicates_of_text(%s, %s)",
        [near, json.dumps(ANA)],
    ).fetchall()
    stored = add(conn, near, entities=ANA)
    as_document = conn.execute(
        "select document_id, final_score, confidence from sherlock.find_duplicates(%s)", [stored]
    ).fetchall()
    assert as_text == as_document
    assert len(as_text) == 1


def test_verdict_is_stored_with_what_made_it(conn: psycopg.Connection) -> None:
    original = text(12, prefix=TUTELA)
    first = add(conn, original, entities=ANA)
    second = add(conn, edited(original, 0.01), entities=ANA)
    for document_id in (first, second):
        conn.execute("select sherlock.record_detection(%s)", [document_id])
    verdicts = conn.execute(
        "select document_id, recommended_action, confidence, best_match_id"
        " from sherlock.latest_verdicts where document_id in (%s, %s) order by 1",
        [first, second],
    ).fetchall()
    assert verdicts == [(first, "ACCEPT", None, None), (second, "REVIEW", "HIGH", first)]
    pair = conn.execute(
        "select m.matched_document_id, c.doc_type, s.name, m.final_score"
        " from sherlock.matches m join sherlock.detection_configs c using (config_id)"
        " join sherlock.shingle_schemes s using (scheme_id)"
        " where m.document_id = %s",
        [second],
    ).fetchone()
    best = detect(conn, second)["candidates"][0]
    assert pair == (first, "tutela", "skeleton-2", best["final_score"])
    # A second verdict replaces the first.
    conn.execute("select sherlock.record_detection(%s)", [second])
    assert conn.execute(
        "select count(*) from sherlock.matches where document_id = %s", [second]
    ).fetchone() == (1,)


def test_slowly_read_document_is_still_found_by_a_faster_later_one(
    conn: psycopg.Connection,
) -> None:
    original = text(13)
    slow = conn.execute(
        "select document_id from sherlock.claim_file(%s, 1, 'default', 'slow', 'x', 'test')",
        [hashlib.sha256(b"slow").digest()],
    ).fetchone()
    assert slow is not None
    fast = add(conn, edited(original, 0.01), entities=ANA)
    conn.execute("select sherlock.record_detection(%s)", [fast])
    conn.execute(
        "select sherlock.finish_document(%s, 'test', 'ok', p_content => %s, p_entities => %s)",
        [slow[0], original, json.dumps(ANA)],
    )
    conn.execute("select sherlock.record_detection(%s)", [slow[0]])
    rows = conn.execute(
        "select document_id, matched_document_id from sherlock.matches"
        " where document_id in (%s, %s)",
        [fast, slow[0]],
    ).fetchall()
    assert rows == [(fast, slow[0])]


def test_new_text_replaces_the_features_of_the_old(conn: psycopg.Connection) -> None:
    old, new = text(14), text(15)
    document_id = add(conn, old)
    conn.execute(
        "update sherlock.documents set content = %s where document_id = %s", [new, document_id]
    )
    conn.execute("select sherlock.index_documents(array[%s::bigint])", [document_id])
    of_old = conn.execute("select * from sherlock.find_duplicates_of_text(%s)", [old]).fetchall()
    of_new = conn.execute(
        "select document_id from sherlock.find_duplicates_of_text(%s)", [new]
    ).fetchall()
    assert of_old == []
    assert of_new == [(document_id,)]
    keys = conn.execute(
        "select count(*) from sherlock.band_keys where document_id = %s", [document_id]
    ).fetchone()
    assert keys == (32,)


def test_deleted_document_leaves_nothing(conn: psycopg.Connection) -> None:
    document_id = add(conn, text(16), entities=ANA)
    conn.execute("select sherlock.record_detection(%s)", [document_id])
    conn.execute("delete from sherlock.documents where document_id = %s", [document_id])
    tables = conn.execute(
        "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = 'sherlock'::regnamespace and c.relkind in ('r', 'p')"
        " and a.attname = 'document_id' and not c.relispartition"
        # What was reported once is kept as history.
        " and c.relname not in ('closed_matches', 'closed_detections', 'review_queue')"
    ).fetchall()
    assert len(tables) >= 9
    for (table,) in tables:
        left = conn.execute(
            f"select count(*) from sherlock.{table} where document_id = %s", [document_id]
        ).fetchone()
        assert left == (0,), table


def test_compare_says_what_the_search_says(conn: psycopg.Connection) -> None:
    original = text(17, prefix=TUTELA)
    first = add(conn, original, entities=ANA)
    second = add(conn, edited(original, 0.05), entities=people("Ana María Rojas Peña", "52345678"))
    rows = conn.execute(
        "select level, score, weight, weighted_score, confidence, evidence"
        " from sherlock.compare(%s, %s)",
        [second, first],
    ).fetchall()
    levels = {row[0]: row for row in rows}
    assert list(levels) == ["exact", "minhash", "tfidf", "entity", "final"]
    best = detect(conn, second)["candidates"][0]
    assert levels["final"][1] == best["final_score"]
    assert levels["final"][4] == best["confidence"]
    assert levels["minhash"][1] == best["minhash_score"]
    assert levels["entity"][1] == pytest.approx(best["entity_score"])
    assert sum(row[3] or 0 for row in rows[:-1]) == pytest.approx(levels["final"][1], abs=1e-4)
    assert {"role": "cedula", "value": "52345678"} in levels["entity"][5]["shared"]


def test_compare_of_the_same_text_is_exact(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(18)), add(conn, text(18).upper())
    rows = conn.execute("select level, confidence from sherlock.compare(%s, %s)", [first, second])
    assert ("final", "EXACT") in rows.fetchall()


def test_errors_say_what_to_do(conn: psycopg.Connection) -> None:
    document_id = add(conn, text(19))
    conn.execute("select sherlock.create_collection('otra')")
    elsewhere = add(conn, text(19), collection="otra")
    for statement, sqlstate in (
        ("select * from sherlock.find_duplicates(-1)", "SH001"),
        ("select * from sherlock.find_duplicates(null)", "SH001"),
        ("select * from sherlock.detect(-1)", "SH001"),
        (f"select * from sherlock.find_duplicates({document_id}, p_scope => 'x')", "SH005"),
        ("select * from sherlock.find_duplicates_of_text('a', p_collection => 'nada')", "SH002"),
        (f"select * from sherlock.compare({document_id}, {elsewhere})", "SH009"),
        (f"select * from sherlock.detect({document_id}, -1)", "SH013"),
        (f"select * from sherlock.detect({document_id}, 1001)", "SH013"),
        (f"select * from sherlock.find_duplicates({document_id}, -1)", "SH013"),
        ("select * from sherlock.find_duplicates_of_text('a', p_limit => -1)", "SH013"),
        ("select sherlock.create_collection(' ')", "SH006"),
        ("select sherlock.create_collection('x', 'y')", "SH006"),
    ):
        with pytest.raises(psycopg.DatabaseError) as failure, conn.transaction():
            conn.execute(statement)
        assert failure.value.sqlstate == sqlstate, statement
        assert failure.value.diag.message_hint, statement
