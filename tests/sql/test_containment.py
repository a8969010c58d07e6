"""Containment: texts inside larger texts, where in them, and that no others are reported."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from sherlock_pg.reprocess.selection import Filters, Kind, select
from sherlock_pg.samples import variants
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.samples.variants import make_variant
from sherlock_pg.vectorize.containment import containment_samples
from sherlock_pg.vectorize.signature import Signer

SYLLABLES = [f"{a}{b}{c}" for a in "bcdfglmprstv" for b in "aeiou" for c in ("", "n", "rno", "ldo")]
Row = dict[str, Any]


def prose(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(2, 3))) for _ in range(words))


def add(conn: psycopg.Connection, *texts: str) -> list[int]:
    """Store and index texts, without judging them."""
    conn.execute("set session_replication_role = replica")
    ids = [
        row[0]
        for text in texts
        for row in conn.execute(
            "insert into sherlock.documents (name, content, doc_type) values (left(%s, 20), %s,"
            " 'default') returning document_id",
            [text, text],
        ).fetchall()
    ]
    conn.execute("reset session_replication_role")
    conn.execute("select sherlock.index_documents(%s)", [ids])
    return ids


def found(conn: psycopg.Connection, call: str, *arguments: object) -> list[Row]:
    with conn.cursor(row_factory=dict_row) as cur:
        return cur.execute(f"select * from sherlock.{call}", arguments).fetchall()


def test_annex_in_a_bundle_both_ways(conn: psycopg.Connection) -> None:
    annex = f"Señor juez:\r\n\n«{prose(1, 60)}»"
    bundle = f"{prose(2, 800)}.\n\nANEXO 1. {annex} Fin\tdel anexo. {prose(3, 5000)}"
    annex_id, bundle_id, _ = add(conn, annex, bundle, prose(4, 900))
    (row,) = found(conn, "find_containers(%s)", annex_id)
    assert (row["document_id"], row["containment"]) == (bundle_id, 1.0)
    assert row["shared_shingles"] == row["shingle_count"] == 61
    assert bundle[row["start_offset"] : row["end_offset"]] == annex
    assert (row["first_word"], row["last_word"]) == (803, 864)
    assert row["sample"] == annex.replace("\r", " ").replace("\n", " ")[:160]
    assert row["hot_keys"] == 0
    assert 0 < row["container_share"] < 0.02
    (back,) = found(conn, "find_contained(%s)", bundle_id)
    assert back == {**row, "document_id": annex_id, "name": annex[:20]}
    assert found(conn, "find_contained(%s)", annex_id) == []
    assert found(conn, "find_containers(%s)", bundle_id) == []
    assert found(conn, "find_containers_of_text(%s)", annex) == [row]
    assert found(conn, "find_contained_in_text(%s)", bundle) == [back]


@given(
    st.integers(0, 10**6),
    st.integers(55, 200),
    st.integers(0, 400),
    st.integers(100, 400),
    st.sampled_from([" ", "\n", "\r\n\t", ". ¡", "\n\n— "]),
    st.floats(0, 0.15),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_part_of_a_whole(
    conn: psycopg.Connection,
    seed: int,
    words: int,
    before: int,
    after: int,
    glue: str,
    changed: float,
) -> None:
    """Of an unchanged part all is found, and its place holds all of it; what changed is missing."""
    part = prose(seed, words)
    rng = random.Random(seed)
    copied = [w if rng.random() >= changed else f"{w}x" for w in part.split()]
    whole = glue.join([prose(seed + 1, before), " ".join(copied), prose(seed + 2, after)])
    with conn.cursor(row_factory=dict_row) as cur:
        measured = cur.execute(
            "select m.containment, m.shared_shingles, m.first_word, m.last_word,"
            " o.start_offset as s, o.end_offset as e from sherlock.shingle_schemes as c"
            " cross join lateral ("
            "   select sherlock.shingles(sherlock.canonical_text(%s), 'word', 2) as part,"
            "   sherlock.shingles(sherlock.canonical_text(%s), 'word', 2) as whole) as t"
            " cross join lateral"
            "   sherlock._measure_containment(c, t.part, t.whole, t.whole, %s) as m"
            " cross join lateral sherlock._word_offsets(%s, m.first_word, m.last_word) as o"
            " where c.name = 'word-2'",
            [part, whole, whole, whole],
        ).fetchone()
    assert measured is not None
    signer = Signer("word", 2)
    inner = set(signer.shingles(part).tolist())
    outer = set(signer.shingles(whole).tolist())
    assert 0 <= measured["containment"] <= 1
    assert measured["containment"] <= round(len(inner & outer) / len(inner), 4)
    place = whole[measured["s"] : measured["e"]]
    if copied == part.split():
        assert measured["containment"] == 1
        assert part in place
        assert len(place.split()) <= words + 4
    else:
        # A changed word takes two shingles along.
        kept = len(inner & set(signer.shingles(" ".join(copied)).tolist()))
        assert measured["shared_shingles"] <= kept + 4
        assert set(place.split()) & set(part.split())
    numbers = place.split()[0], place.split()[-1]
    tokens = conn.execute("select sherlock.tokens(sherlock.canonical_text(%s))", [whole]).fetchone()
    assert tokens is not None
    assert tokens[0][measured["first_word"] - 1] in numbers[0]
    assert tokens[0][measured["last_word"] - 1] in numbers[1]


def test_quoted_in_a_reply(conn: psycopg.Connection) -> None:
    """A filing quoted line by line, with marks and a page number in between."""
    filing = prose(5, 240)
    words = filing.split()
    lines = [f"> {' '.join(words[n : n + 12])}" for n in range(0, len(words), 12)]
    lines.insert(9, "Página 3 de 7")
    reply = f"{prose(6, 200)}\n" + "\n".join(lines) + f"\n{prose(7, 300)}"
    filing_id, reply_id = add(conn, filing, reply)
    (row,) = found(conn, "find_containers(%s)", filing_id)
    assert row["document_id"] == reply_id
    assert row["containment"] > 0.99
    quoted = reply[row["start_offset"] : row["end_offset"]]
    assert quoted == "\n".join(lines).removeprefix("> ")


def test_samples_of_filings_with_annexes(conn: psycopg.Connection) -> None:
    """What the annexed variant contains is its original; what has the same template is not."""
    case = draw_case(1, "caso", topic_name=TOPICS[0])
    texts = {
        kind: make_variant(1, case, kind)[1].text()
        for kind in (
            variants.Kind.ORIGINAL,
            variants.Kind.ANNEXED,
            variants.Kind.SAME_TEMPLATE_OTHER_PEOPLE,
            variants.Kind.UNRELATED,
        )
    }
    ids = dict(zip(texts, add(conn, *texts.values()), strict=True))
    (row,) = found(conn, "find_containers(%s, p_min_size_ratio => 1)", ids[variants.Kind.ORIGINAL])
    assert (row["document_id"], row["containment"]) == (ids[variants.Kind.ANNEXED], 1.0)


@pytest.mark.parametrize("topic", TOPICS)
def test_others_of_the_template_in_a_bundle(conn: psycopg.Connection, topic: str) -> None:
    """A bundle of filings by other people contains theirs, and not one of the same template."""
    cases = [draw_case(2, f"caso{n}", topic_name=topic) for n in range(3)]
    texts = [compose(case).text() for case in cases]
    siblings = [
        make_variant(2, case, variants.Kind.SAME_TEMPLATE_OTHER_PEOPLE)[1].text() for case in cases
    ]
    *ids, bundle_id = add(conn, *texts, "\n\n".join(siblings))
    for document_id in ids:
        assert found(conn, "find_containers(%s)", document_id) == []
    assert found(conn, "find_contained(%s)", bundle_id) == []
    for sibling in siblings:
        (row,) = found(conn, "find_containers_of_text(%s)", sibling)
        assert (row["document_id"], row["containment"]) == (bundle_id, 1.0)


def test_boilerplate_is_left_out(conn: psycopg.Connection) -> None:
    """Texts that share a form with a bundle are not in it once the form does not count."""
    form = prose(8, 300)
    documents = [f"{prose(20 + n, 40)} {form}" for n in range(30)]
    ids = add(conn, *documents, f"{prose(9, 500)} {form} {prose(10, 500)}")
    assert [r["document_id"] for r in found(conn, "find_containers(%s)", ids[0])] == [ids[-1]]
    list_id = conn.execute("select sherlock.learn_boilerplate('default', 0.5)").fetchone()
    assert list_id is not None
    scheme_id = conn.execute(
        "insert into sherlock.shingle_schemes (name, shingle_kind, shingle_width, min_shingles,"
        " stop_list_id, base_scheme_id) select 'distinctive', s.shingle_kind, s.shingle_width,"
        " s.min_shingles, l.stop_list_id, s.scheme_id from sherlock.collections as c"
        " join sherlock.shingle_schemes as s using (scheme_id), sherlock.stop_lists as l"
        " where c.name = 'default' returning scheme_id"
    ).fetchone()
    assert scheme_id is not None
    conn.execute("update sherlock.collections set scheme_id = %s where name = 'default'", scheme_id)
    conn.execute("select sherlock.index_documents(%s)", [ids])
    assert found(conn, "find_containers(%s)", ids[0]) == []
    own = prose(20, 40)
    conn.execute(
        "update sherlock.documents set content = content || %s where document_id = %s",
        [f" {own}", ids[-1]],
    )
    conn.execute("select sherlock.index_documents(%s)", [[ids[-1]]])
    (row,) = found(conn, "find_containers(%s)", ids[0])
    assert row["document_id"] == ids[-1]
    assert row["shingle_count"] < 45


def test_hot_keys_are_capped_and_told(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.shingle_schemes set band_key_limit = 5")
    form = prose(11, 150)
    ids = add(conn, *(f"{prose(100 + n, 120)} {form}" for n in range(12)))
    notices: list[str] = []
    conn.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    rows = found(conn, "find_containers_of_text(%s)", form)
    assert {row["document_id"] for row in rows} <= set(ids[:5])
    assert rows
    assert all(row["hot_keys"] > 3 for row in rows)
    assert any("stands in many documents" in notice for notice in notices)


def test_verdicts_do_not_change(conn: psycopg.Connection) -> None:
    annex = prose(12, 80)
    conn.execute(
        "insert into sherlock.documents (name, content) values ('a', %s), ('b', %s)",
        [annex, f"{prose(13, 900)} {annex} {prose(14, 900)}"],
    )
    before = conn.execute("select confidence, best_match_id from sherlock.detections").fetchall()
    assert before == [(None, None)] * 2
    (row,) = found(conn, "find_containers((select min(document_id) from sherlock.documents))")
    assert row["name"] == "b"
    assert conn.execute("select count(*) from sherlock.matches").fetchone() == (0,)


def test_watched_rows_changed_and_deleted(conn: psycopg.Connection) -> None:
    conn.execute("create table hojas (id integer primary key, texto text)")
    conn.execute("select sherlock.watch('hojas', p_key => 'id', p_text => array['texto'])")
    annex = prose(15, 90)
    conn.execute("insert into hojas values (1, %s), (2, %s)", [annex, f"{prose(16, 400)} {annex}"])
    by_text = "find_containers_of_text(%s, 'public.hojas')"
    (row,) = found(conn, by_text, annex)
    assert (row["name"], row["containment"]) == ("2", 1.0)
    (row,) = found(
        conn,
        "find_containers((select document_id from sherlock.watched_rows where row_key = '[1]'))",
    )
    assert row["name"] == "2"
    conn.execute("update hojas set texto = %s where id = 2", [prose(17, 400)])
    assert found(conn, by_text, annex) == []
    conn.execute("update hojas set texto = texto || %s where id = 2", [f" {annex}"])
    assert len(found(conn, by_text, annex)) == 1
    conn.execute("delete from hojas where id = 2")
    assert found(conn, by_text, annex) == []


def test_documents_indexed_before(conn: psycopg.Connection) -> None:
    """They are counted, searches warn of them, reprocess finds them, and then all is well."""
    annex = prose(18, 90)
    ids = add(conn, annex, f"{prose(19, 400)} {annex}")
    chosen = select(Kind.FEATURES, Filters())
    assert chosen.count(conn) == 0
    conn.execute("update sherlock.document_signatures set containment_sample = null")
    status = "select indexed_count, unsampled_count from sherlock.containment_status"
    assert conn.execute(status).fetchone() == (2, 2)
    notices: list[str] = []
    conn.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    assert found(conn, "find_containers(%s)", ids[0]) == []
    assert notices == ["documents that were indexed before containment was known are not found"]
    assert chosen.ids_after(conn, 0, 10) == ids
    changed = conn.execute("select is_changed from sherlock.reindex(%s)", [ids]).fetchall()
    assert changed == [(False,), (False,)]
    assert conn.execute(status).fetchone() == (2, 0)
    assert len(found(conn, "find_containers(%s)", ids[0])) == 1
    assert len(notices) == 1


def test_short_and_unknown(conn: psycopg.Connection) -> None:
    (short_id,) = add(conn, "dos palabras")
    assert found(conn, "find_containers(%s)", short_id) == []
    assert found(conn, "find_contained_in_text('')") == []
    for call, state in (
        ("find_containers(-1)", "SH001"),
        ("find_contained(null)", "SH001"),
        ("find_containers_of_text('a', 'nada')", "SH002"),
        (f"find_containers({short_id}, p_limit => 0)", "SH013"),
        (f"find_containers({short_id}, 0)", "SH060"),
        (f"find_containers({short_id}, p_min_size_ratio => 0.5)", "SH060"),
    ):
        with pytest.raises(psycopg.Error) as raised, conn.transaction():
            conn.execute(f"select * from sherlock.{call}")
        assert raised.value.sqlstate == state
    conn.execute(
        "update sherlock.documents set text_state = null where document_id = %s", [short_id]
    )
    with pytest.raises(psycopg.Error) as raised, conn.transaction():
        conn.execute("select * from sherlock.find_containers(%s)", [short_id])
    assert raised.value.sqlstate == "SH004"


@given(
    st.lists(st.sampled_from(SYLLABLES[:40]), max_size=120).map(" ".join),
    st.sampled_from([("word", 1), ("word", 2), ("skeleton", 3), ("char", 9)]),
    st.integers(1, 2**31 - 1),
    st.integers(1, 2**31 - 1),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_samples_in_python(
    conn: psycopg.Connection, text: str, kind: tuple[str, int], scheme_id: int, collection_id: int
) -> None:
    row = conn.execute(
        "select sherlock._containment_sample("
        " sherlock.shingles(sherlock.canonical_text(%s), %s, %s), %s, %s, %s)",
        [text, *kind, kind[1], scheme_id, collection_id],
    ).fetchone()
    assert row is not None
    shingles = Signer(*kind).shingles(text)
    sample = containment_samples(
        shingles, np.array([len(shingles)]), kind[1], scheme_id, collection_id
    )[0]
    assert sample.dtype == np.int32
    assert sample.tolist() == row[0]


def test_stored_samples_in_python(conn: psycopg.Connection) -> None:
    text = prose(23, 1000)
    (document_id,) = add(conn, text)
    row = conn.execute(
        "select s.containment_sample, c.shingle_kind, c.shingle_width, c.scheme_id, d.collection_id"
        " from sherlock.document_signatures as s"
        " join sherlock.shingle_schemes as c using (scheme_id)"
        " join sherlock.documents as d using (document_id) where document_id = %s",
        [document_id],
    ).fetchone()
    assert row is not None
    shingles = Signer(row[1], row[2]).shingles(text)
    (sample,) = containment_samples(shingles, np.array([len(shingles)]), row[2], row[3], row[4])
    assert row[0] == sample.tolist()
    assert len(sample) > 40
