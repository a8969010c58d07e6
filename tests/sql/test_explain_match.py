"""Why a pair is reported, or why not: every reason on documents that have it."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize.canonical import skeleton

NAMES = itertools.count(1)
VOCABULARY = [f"{a}{b}" for a in "bcdfghjlmnprstvz" for b in ("osto", "inta", "umbre", "ador")]


def text(seed: int, length: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(f"{rng.choice(VOCABULARY)}{rng.randrange(40)}" for _ in range(length))


def edited(original: str, share: float, seed: int = 1) -> str:
    rng = random.Random(seed)
    return " ".join(
        word if rng.random() >= share else f"cambio{rng.randrange(9999)}"
        for word in original.split(" ")
    )


def person(name: str, cedula: str, correo: str = "") -> list[dict[str, str]]:
    rows = [
        {"role": "demandante", "value": name},
        {"role": "demandado", "value": "NUEVA EPS"},
        {"role": "cedula", "value": cedula, "owner": "demandante"},
    ]
    return [*rows, {"role": "correo", "value": correo}] if correo else rows


ANA = person("Ana María Rojas Peña", "52.345.678", "ana.rojas@ejemplo.co")
LUIS = person("Luis Alberto Cortés Vega", "79.111.222")


def add(
    conn: psycopg.Connection,
    content: str,
    entities: list[dict[str, str]] | None = None,
    *,
    collection: str = "default",
    flags: tuple[str, ...] = (),
) -> int:
    name = f"escrito {next(NAMES)}"
    row = conn.execute(
        "select document_id from sherlock.claim_file(%s, 1, %s, %s, 'x', 'test')",
        [hashlib.sha256(name.encode()).digest(), collection, name],
    ).fetchone()
    assert row is not None
    conn.execute(
        "select sherlock.finish_document(%s, 'test', 'ok', p_content => %s, p_entities => %s,"
        " p_doc_type => 'default', p_flags => %s)",
        [row[0], content, json.dumps(entities or []), list(flags)],
    )
    document_id: int = row[0]
    return document_id


@dataclass(frozen=True)
class Row:
    section: str
    item: str
    value: str
    detail: dict[str, Any]


@dataclass(frozen=True)
class Explanation:
    rows: list[Row]

    def one(self, section: str, item: str) -> Row:
        (row,) = [r for r in self.rows if r.section == section and r.item == item]
        return row

    def values(self, section: str, item: str) -> list[str]:
        return [r.value for r in self.rows if r.section == section and r.item == item]

    @property
    def report(self) -> Row:
        return next(r for r in self.rows if r.section == "report")

    @property
    def reason(self) -> str:
        return str(self.report.detail["reason"])

    @property
    def retrieval(self) -> dict[str, str]:
        """The reason code of each level."""
        return {
            r.item: r.detail["reason"]
            for r in self.rows
            if r.section == "retrieval" and "reason" in r.detail
        }


def explain(
    conn: psycopg.Connection, document_id: int, other_id: int, scope: str = "all"
) -> Explanation:
    rows = conn.execute(
        "select section, item, value, detail from sherlock.explain_match(%s, %s, p_scope => %s)",
        [document_id, other_id, scope],
    ).fetchall()
    explanation = Explanation([Row(*row) for row in rows])
    assert all(row.value and row.detail is not None for row in explanation.rows)
    said = explanation.report.value.startswith("yes")
    assert said == (other_id in found(conn, document_id, scope)), explanation.report
    assert said == (explanation.reason == "reported")
    verdict = explanation.one("report", f"stored verdict on {document_id}")
    stored = conn.execute(
        "select 1 from sherlock.matches where document_id = %s and matched_document_id = %s",
        [document_id, other_id],
    ).fetchone()
    assert verdict.value.startswith("yes") == (stored is not None)
    assert (verdict.detail["reason"] == "reported") == (stored is not None)
    return explanation


def found(conn: psycopg.Connection, document_id: int, scope: str = "all") -> dict[int, Any]:
    rows = conn.execute(
        "select document_id, evidence from sherlock.find_duplicates(%s, p_scope => %s)",
        [document_id, scope],
    ).fetchall()
    return dict(rows)


def activate_model(conn: psycopg.Connection, words: list[str]) -> int:
    terms = sorted({skeleton(word) for word in words})
    row = conn.execute(
        "select sherlock.create_tfidf_model('default', %s, %s, 10, 1, 1)",
        [terms, [1.0] * len(terms)],
    ).fetchone()
    assert row is not None
    conn.execute("select sherlock.vectorize_missing(%s, 100000)", [row[0]])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [row[0]])
    model_id: int = row[0]
    return model_id


def test_reported_pair_with_all_that_speaks_for_it(conn: psycopg.Connection) -> None:
    original = text(1)
    changed = original.split(" ")
    changed[60:62] = ["veintidós", "ácido"]
    first = add(conn, original, ANA)
    second = add(conn, " ".join(changed), ANA)
    model_id = activate_model(conn, original.split(" "))
    conn.execute("select sherlock.record_detection(%s)", [second])
    explanation = explain(conn, second, first)

    sections = [section for section, _ in itertools.groupby(r.section for r in explanation.rows)]
    assert sections == [
        "report", "documents", "scores", "retrieval", "entities", "text", "settings"
    ]  # fmt: skip
    assert explanation.report.value.startswith("yes: number 1, HIGH, score 0.9")
    assert explanation.retrieval == dict.fromkeys(("minhash", "tfidf", "entities"), "retrieved")
    for level in ("minhash", "tfidf", "entity"):
        score, weight, product = (
            float(part)
            for part in explanation.one("scores", level).value.replace("=", "*").split("*")
        )
        assert product == pytest.approx(score * weight, abs=2e-4)
    assert explanation.one("scores", "minhash").detail["threshold"] == 0.5
    assert explanation.one("entities", "shared cedula").value == "52345678"
    passages = explanation.values("text", "shared passage")
    assert len(passages) == 2
    assert original.startswith(passages[0].removesuffix(" ..."))
    words = original.split(" ")
    assert explanation.values("text", f"only in {second}") == [
        f"{words[59]} veintidos acido {words[62]}"
    ]
    assert explanation.values("text", f"only in {first}") == [" ".join(words[59:63])]
    assert explanation.one("text", "shingles").detail["exact_jaccard"] == pytest.approx(
        116 / 122, abs=0.001
    )
    stored = explanation.one("report", f"stored verdict on {second}")
    assert stored.value.startswith("yes: HIGH")
    assert stored.detail["model_id"] == model_id
    assert explanation.one("settings", "model").detail == {"model_id": model_id}


def test_conflict_tells_the_class_before_it(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.detection_configs set conflict_cap = 'LOW'")
    original = text(2)
    first = add(conn, original, person("Juan Pérez Gómez", "52.345.678"))
    second = add(conn, edited(original, 0.01), person("Juana Pérez Gómez", "79.111.222"))
    explanation = explain(conn, second, first)
    final = explanation.one("scores", "final")
    assert "LOW, lowered from" in final.value
    assert final.detail["uncapped_class"] in ("MEDIUM", "HIGH")
    assert final.detail["confidence"] == "LOW"
    assert explanation.one("entities", "differing cedula").value == "79111222 <> 52345678"
    shared = explanation.one("entities", "shared demandante").value
    assert shared == "juana perez gomez ~ juan perez gomez"


def test_nothing_in_common_is_retrieved_by_no_level(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(3), ANA), add(conn, text(4), LUIS)
    explanation = explain(conn, second, first)
    assert explanation.reason == "not_retrieved"
    assert explanation.retrieval == {
        "minhash": "no_shared_band",
        "tfidf": "no_model",
        "entities": "no_shared_entity",
    }
    assert explanation.values("text", "shared passage") == []
    assert explanation.one("scores", "tfidf").value == "absent"


def test_documents_without_entities_and_without_vector(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(5), ANA), add(conn, text(6))
    activate_model(conn, ["salud", "pensión"])
    assert explain(conn, second, first).retrieval["tfidf"] == "no_vector"
    assert explain(conn, second, first).retrieval["entities"] == "no_entities"
    conn.execute(
        "update sherlock.detection_configs set minhash_weight = 0.4, tfidf_weight = 0.6,"
        " entity_weight = 0"
    )
    assert explain(conn, first, second).retrieval["entities"] == "no_weight"


def test_below_low(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(7), ANA), add(conn, edited(text(8), 0.1), ANA[:1])
    explanation = explain(conn, second, first)
    assert explanation.reason == "below_low"
    assert explanation.retrieval["entities"] == "retrieved"
    assert "below LOW (0.5)" in explanation.report.value
    assert "below LOW" in explanation.one("scores", "final").value


def test_hot_key_hides_a_document(conn: psycopg.Connection) -> None:
    original = text(9)
    crowd = [add(conn, edited(original, 0.01, seed)) for seed in range(8)]
    query = add(conn, edited(original, 0.01, 50))
    conn.execute("update sherlock.shingle_schemes set band_key_limit = 3")
    hidden = [other for other in crowd if other not in found(conn, query)]
    assert hidden
    explanation = explain(conn, query, hidden[-1])
    assert explanation.reason == "not_retrieved"
    assert explanation.retrieval["minhash"] == "hot_key_limit"
    hot = explanation.one("retrieval", "hot keys").detail
    assert hot["cut_keys"] == hot["hot_keys"]
    seen = explain(conn, query, crowd[0])
    assert seen.reason == "reported"
    assert set(seen.one("retrieval", "hot keys").detail["cut_keys"]) < set(hot["hot_keys"]) | set(
        seen.one("retrieval", "hot keys").detail["hot_keys"]
    )
    # With a limit that holds them all, the same document is found.
    conn.execute("update sherlock.shingle_schemes set band_key_limit = 100")
    assert explain(conn, query, hidden[-1]).retrieval["minhash"] == "retrieved"


def test_lost_band_keys_are_told(conn: psycopg.Connection) -> None:
    original = text(10)
    first, second = add(conn, original), add(conn, edited(original, 0.02))
    conn.execute("delete from sherlock.band_keys where document_id = %s", [first])
    explanation = explain(conn, second, first)
    assert explanation.reason == "not_retrieved"
    assert explanation.retrieval["minhash"] == "keys_not_stored"
    conn.execute("select sherlock.index_documents(array[%s])", [first])
    assert explain(conn, second, first).reason == "reported"


def test_candidate_limits_of_each_level(conn: psycopg.Connection) -> None:
    original = text(11)
    activate_model(conn, original.split(" "))
    crowd = [add(conn, f"{original} otrosí {seed}", ANA) for seed in range(6)]
    far = add(conn, edited(original, 0.15, 77), ANA)
    query = add(conn, original, ANA)
    assert explain(conn, query, far).retrieval == dict.fromkeys(
        ("minhash", "tfidf", "entities"), "retrieved"
    )
    conn.execute(
        "update sherlock.detection_configs set minhash_candidate_limit = 2,"
        " tfidf_candidate_limit = 3, entity_candidate_limit = 4"
    )
    explanation = explain(conn, query, far)
    assert explanation.reason == "not_retrieved"
    assert explanation.retrieval == {
        "minhash": "minhash_candidate_limit",
        "tfidf": "tfidf_candidate_limit",
        "entities": "entity_candidate_limit",
    }
    assert explanation.one("retrieval", "minhash").detail["rank"] == len(crowd) + 1
    # The document itself is the nearest of its vectors.
    assert explanation.one("retrieval", "tfidf").detail["rank"] == len(crowd) + 2


def test_below_the_first_results(conn: psycopg.Connection) -> None:
    original = text(12)
    for seed in range(4):
        add(conn, f"{original} otrosí {seed}", ANA)
    last = add(conn, edited(original, 0.12, 99), ANA)
    query = add(conn, original, ANA)
    conn.execute("update sherlock.detection_configs set max_results = 3")
    explanation = explain(conn, query, last)
    assert explanation.reason == "max_results"
    assert explanation.report.value == "no: number 5, and the first 3 are reported"
    assert explanation.report.detail == {"reason": "max_results", "rank": 5, "limit": 3}


def test_copies_beyond_the_first_results(conn: psycopg.Connection) -> None:
    copies = [add(conn, text(13)) for _ in range(4)]
    near = add(conn, edited(text(13), 0.02))
    conn.execute("update sherlock.detection_configs set max_results = 2")
    beyond = explain(conn, copies[0], copies[-1])
    assert beyond.reason == "max_results"
    assert beyond.report.detail["rank"] == 3
    assert beyond.one("scores", "exact").value == "the same text"
    assert explain(conn, copies[0], near).reason == "short_circuit"
    assert explain(conn, copies[0], copies[1]).report.value.startswith("yes: number 1, EXACT")


def test_later_documents_are_outside_of_scope_earlier(conn: psycopg.Connection) -> None:
    original = text(14)
    first, second = add(conn, original, ANA), add(conn, edited(original, 0.02), ANA)
    conn.execute("select sherlock.record_detection(%s)", [first])
    explanation = explain(conn, first, second, "earlier")
    assert explanation.reason == "later"
    assert explanation.retrieval["minhash"] == explanation.retrieval["entities"] == "later"
    assert "arrived later" in explanation.one("report", f"stored verdict on {first}").value
    assert explain(conn, first, second).reason == "reported"
    assert explain(conn, second, first, "earlier").reason == "reported"


@pytest.mark.parametrize("flags", [(), ("low_quality",)])
@pytest.mark.parametrize("is_query", [True, False])
def test_texts_that_only_match_exactly(
    conn: psycopg.Connection, flags: tuple[str, ...], is_query: bool
) -> None:
    content = text(15) if flags else "solicito cita médica"
    poor = add(conn, content, flags=flags)
    good = add(conn, edited(content, 0.02) if flags else text(15), ANA)
    query, other = (poor, good) if is_query else (good, poor)
    explanation = explain(conn, query, other)
    assert explanation.reason == "text_state"
    assert ("excluded" if flags else "short") in explanation.report.value
    assert explanation.retrieval["minhash"] == "text_state"
    assert explanation.one("scores", "final").value == "absent"


def test_text_without_a_letter_still_reads(conn: psycopg.Connection) -> None:
    empty, other = add(conn, "…"), add(conn, text(16))
    explanation = explain(conn, empty, other)
    assert explanation.reason == "text_state"
    assert explanation.one("text", "shingles").value.startswith("0 shared, 0 only in")
    assert "empty (no letter or digit in it); it matches nothing" in explanation.report.value


def test_texts_without_words_are_not_said_to_differ(conn: psycopg.Connection) -> None:
    first, second = add(conn, "😀 😀"), add(conn, "😀 😀")
    explanation = explain(conn, second, first)
    assert explanation.one("scores", "exact").value == (
        f"no words to compare: document {second} has no letter or digit"
    )
    assert explanation.reason == "text_state"


def test_what_makes_a_long_text_short_is_told(conn: psycopg.Connection) -> None:
    spam, other = add(conn, "spam " * 500), add(conn, text(15))
    explanation = explain(conn, spam, other)
    state = "short (different shingles: 1, and 20 are needed)"
    assert state in explanation.report.value
    shown = explanation.one("documents", str(spam))
    assert shown.value.endswith(state)
    assert shown.detail["word_count"] == 500
    assert explanation.one("documents", str(other)).value.endswith("indexed, 120 words")


def stored_reason(conn: psycopg.Connection, document_id: int, other_id: int) -> str:
    """Return the reason that the stored verdict lacks the pair, the same in both scopes."""
    reasons = {
        str(
            explain(conn, document_id, other_id, scope)
            .one("report", f"stored verdict on {document_id}")
            .detail["reason"]
        )
        for scope in ("all", "earlier")
    }
    (reason,) = reasons
    return reason


def test_why_a_stored_verdict_lacks_a_pair(conn: psycopg.Connection) -> None:
    original = text(60)
    near = add(conn, edited(original, 0.03))
    copies = [add(conn, original) for _ in range(3)]
    unlike = add(conn, text(61))
    last = add(conn, edited(original, 0.02, 9))
    assert stored_reason(conn, last, near) == "no_verdict"
    for document_id in (near, *copies, unlike, last):
        conn.execute("select sherlock.record_detection(%s)", [document_id])
    assert stored_reason(conn, last, near) == "reported"
    assert stored_reason(conn, near, last) == "later"
    assert stored_reason(conn, last, last) == "same_document"
    assert stored_reason(conn, last, unlike) == "not_retrieved"
    # The search ended with the copies; the query that found none went on.
    assert stored_reason(conn, copies[1], near) == "short_circuit"
    assert stored_reason(conn, copies[0], near) == "reported"

    conn.execute("select sherlock.create_collection('otra')")
    elsewhere = add(conn, original, collection="otra")
    assert stored_reason(conn, last, elsewhere) == "other_collection"
    assert stored_reason(conn, copies[1], elsewhere) == "other_collection"

    conn.execute("update sherlock.detection_configs set max_results = 1")
    conn.execute("select sherlock.record_detection(%s)", [last])
    assert "max_results" in {stored_reason(conn, last, other) for other in (near, *copies)}
    conn.execute("update sherlock.detection_configs set max_results = 50")
    changed = {stored_reason(conn, last, other) for other in (near, *copies)}
    assert changed == {"reported", "changed_since"}

    twin = add(conn, edited(text(63), 0.02))
    conn.execute("select sherlock.record_detection(%s)", [twin])
    conn.execute("alter table sherlock.documents disable trigger user")
    conn.execute(
        "update sherlock.documents set content = %s where document_id = %s", [text(63), unlike]
    )
    conn.execute("alter table sherlock.documents enable trigger user")
    conn.execute("select sherlock.index_documents(array[%s])", [unlike])
    assert stored_reason(conn, twin, unlike) == "judged_before"


def test_without_a_model_level_2_is_absent_of_copies_too(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(64), ANA), add(conn, text(64), ANA)
    explanation = explain(conn, second, first)
    assert explanation.one("scores", "exact").value == "the same text"
    assert explanation.one("scores", "tfidf").value == "absent"
    assert explanation.one("settings", "model").value == "none yet"


@pytest.mark.parametrize("call", ["explain_match", "compare"])
def test_without_a_configuration_no_reason_is_given(conn: psycopg.Connection, call: str) -> None:
    first, second = add(conn, text(65)), add(conn, text(65))
    conn.execute("update sherlock.detection_configs set is_active = false")
    with pytest.raises(psycopg.DatabaseError) as caught:
        conn.execute(f"select * from sherlock.{call}(%s, %s)".encode(), [second, first])
    assert caught.value.sqlstate == "SH024"
    assert caught.value.diag.message_hint


def test_text_that_is_stored_elsewhere(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(17), ANA), add(conn, edited(text(17), 0.02), ANA)
    conn.execute("alter table sherlock.documents disable trigger user")
    conn.execute("update sherlock.documents set content = null where document_id = %s", [first])
    conn.execute("alter table sherlock.documents enable trigger user")
    explanation = explain(conn, second, first)
    assert explanation.reason == "reported"
    assert explanation.one("text", "shingles").value.startswith(f"the text of document {first}")


def test_other_collection_and_the_document_itself(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('otra')")
    first, elsewhere = add(conn, text(18)), add(conn, text(18), collection="otra")
    explanation = explain(conn, first, elsewhere)
    assert explanation.reason == "other_collection"
    assert explanation.retrieval == {}
    assert explanation.one("text", "shingles").detail["exact_jaccard"] == 1
    assert explain(conn, first, first).reason == "same_document"


def test_estimate_that_gave_up_too_early(conn: psycopg.Connection) -> None:
    original = text(19)
    first, second = add(conn, original), add(conn, edited(original, 0.02))
    conn.execute(
        "update sherlock.document_signatures set sketch = ~sketch where document_id = %s", [first]
    )
    explanation = explain(conn, second, first)
    assert explanation.reason == "estimated_below_low"
    assert explanation.retrieval["minhash"] == "retrieved"


def test_passages_of_characters(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.shingle_schemes set shingle_kind = 'char', shingle_width = 5")
    original = "abcdefghij" * 2 + " klmnopqrstu vwxyz 0123456789 ñandú"
    first = add(conn, original)
    second = add(conn, original.replace("vwxyz", "vwXXz"))
    explanation = explain(conn, second, first)
    assert explanation.values("text", "shared passage")[0].startswith("abcdefghijabcdefghij klm")
    assert explanation.values("text", f"only in {first}") == [" vwxyz 01"]
    assert explanation.values("text", f"only in {second}") == [" vwxxz 01"]


def test_long_passages_are_cut_and_repeats_shown_once(conn: psycopg.Connection) -> None:
    phrase = text(20, 30)
    first = add(conn, f"{phrase} uno {phrase} dos {phrase}")
    second = add(conn, f"{phrase} tres {text(21, 40)}")
    explanation = explain(conn, second, first)
    passages = explanation.values("text", "shared passage")
    assert len(passages) == len(set(passages)) == 1
    assert passages[0] == phrase[:90] + " ..."
    back = explain(conn, first, second).values("text", "shared passage")
    assert back == passages


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    words=st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=40),
    others=st.lists(st.sampled_from(["a", "b", "c", "d", "x"]), max_size=40),
    kind=st.sampled_from(["word", "skeleton", "char"]),
    width=st.integers(3, 4),
)
def test_passages_are_what_they_say(
    conn: psycopg.Connection, words: list[str], others: list[str], kind: str, width: int
) -> None:
    """Against sets of n-grams made here: counts, exact Jaccard, where each passage stands."""

    def grams(units: list[str]) -> list[tuple[str, ...]]:
        count = max(len(units) - width + 1, 1) if units else 0
        return [tuple(units[i : i + width]) for i in range(count)]

    units = [(list(" ".join(w)) if kind == "char" else w) for w in (words, others)]
    mine, theirs = (grams([skeleton(w) for w in u] if kind == "skeleton" else u) for u in units)
    with conn.transaction(force_rollback=True):
        ids = [
            row[0]
            for content in (words, others)
            for row in conn.execute(
                "insert into sherlock.documents (collection_id, content, text_state)"
                " select collection_id, %s, 'indexed' from sherlock.collections"
                " where name = 'default' returning document_id",
                [" ".join(content)],
            ).fetchall()
        ]
        rows = conn.execute(
            "select t.item, t.value, t.detail from sherlock.shingle_schemes as s,"
            " sherlock._explain_texts(%s, %s, jsonb_populate_record(s, %s)) as t"
            " where s.scheme_id = 1",
            [*ids, json.dumps({"shingle_kind": kind, "shingle_width": width})],
        ).fetchall()
    counts = rows[0][1]
    assert counts == (
        f"{len(set(mine) & set(theirs))} shared, {len(set(mine) - set(theirs))} only in {ids[0]},"
        f" {len(set(theirs) - set(mine))} only in {ids[1]}"
    )
    joint = "" if kind == "char" else " "
    for item, value, detail in rows[1:]:
        side = 1 if item == f"only in {ids[1]}" else 0
        own, other = (mine, theirs) if side == 0 else (theirs, mine)
        begin = detail["begins_at"] - 1
        run = own[begin : begin + detail["shingles"]]
        assert all((gram in set(other)) == (item == "shared passage") for gram in run)
        span = units[side][begin : begin + detail["shingles"] + width - 1]
        assert value.removesuffix(" ...") == joint.join(span)[:90]


def test_explanations_agree_with_the_search(conn: psycopg.Connection) -> None:
    """On a mixed corpus under tight limits: every pair, both scopes, what found it."""
    rng = random.Random(5)
    people = [ANA, LUIS, person("Rosa Elena Díaz Mora", "41.222.333"), []]
    originals = [text(seed) for seed in range(30, 33)]
    ids = [
        add(conn, edited(rng.choice(originals), rng.choice((0, 0.02, 0.2)), seed), who)
        for seed in range(9)
        for who in [rng.choice(people)]
    ]
    activate_model(conn, " ".join(originals).split(" "))
    conn.execute("update sherlock.shingle_schemes set band_key_limit = 2")
    conn.execute(
        "update sherlock.detection_configs set minhash_candidate_limit = 2,"
        " tfidf_candidate_limit = 3, entity_candidate_limit = 2, max_results = 1"
    )
    reasons = set()
    for query, other in itertools.permutations(ids, 2):
        for scope in ("all", "earlier"):
            explanation = explain(conn, query, other, scope)
            reasons.add(explanation.reason)
            matched = found(conn, query, scope).get(other)
            if matched is not None and "canonical_text" not in matched["found_by"]:
                retrieved = {k for k, v in explanation.retrieval.items() if v == "retrieved"}
                assert set(matched["found_by"]) == retrieved
    assert {"reported", "later", "not_retrieved", "max_results"} <= reasons


def test_answer_does_not_change(conn: psycopg.Connection) -> None:
    first, second = add(conn, text(40), ANA), add(conn, edited(text(40), 0.05), ANA)
    assert explain(conn, second, first) == explain(conn, second, first)


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ("{0}, -1", "SH001"),
        ("-1, {0}", "SH001"),
        ("{0}, null", "SH001"),
        ("{0}, {0}, 'later'", "SH005"),
        ("{0}, {1}", "SH008"),
        ("{1}, {0}", "SH008"),
        ("{0}, {2}", "SH004"),
    ],
)
def test_errors(conn: psycopg.Connection, arguments: str, sqlstate: str) -> None:
    good = add(conn, text(41))
    pending = conn.execute(
        "select document_id from sherlock.claim_file(%s, 1, 'default', 'y', 'y', 'test')",
        [hashlib.sha256(b"pending").digest()],
    ).fetchone()
    bare = add(conn, text(42))
    conn.execute("update sherlock.documents set text_state = null where document_id = %s", [bare])
    assert pending is not None
    with pytest.raises(psycopg.DatabaseError) as failure:
        conn.execute(
            f"select * from sherlock.explain_match({arguments.format(good, pending[0], bare)})"
        )
    assert failure.value.sqlstate == sqlstate
    assert failure.value.diag.message_hint
