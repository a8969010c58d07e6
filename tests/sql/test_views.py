"""The views that reviewers, DBAs and BI tools read, against what the tables hold."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

NAMES = itertools.count(1)


def person(name: str, cedula: str) -> list[dict[str, str]]:
    return [
        {"role": "demandante", "value": name},
        {"role": "demandado", "value": "NUEVA EPS"},
        {"role": "cedula", "value": cedula},
    ]


def text(seed: int, length: int = 80) -> str:
    rng = random.Random(seed)
    return " ".join(f"palabra{rng.randrange(5000)}" for _ in range(length))


def claim(conn: psycopg.Connection, collection: str = "default") -> int:
    number = next(NAMES)
    row = conn.execute(
        "select document_id from sherlock.claim_file(%s, 1, %s, %s, %s, 'test')",
        [
            hashlib.sha256(f"vista {number}".encode()).digest(),
            collection,
            f"escrito {number}",
            f"/escritos/{number}.pdf",
        ],
    ).fetchone()
    assert row is not None
    document_id: int = row[0]
    return document_id


def add(
    conn: psycopg.Connection,
    content: str | None,
    *,
    collection: str = "default",
    status: str = "ok",
    reason: str | None = None,
    flags: tuple[str, ...] = (),
    pages: list[dict[str, Any]] | None = None,
    processing: dict[str, Any] | None = None,
    entities: list[dict[str, str]] | None = None,
) -> int:
    document_id = claim(conn, collection)
    conn.execute(
        "select sherlock.finish_document(%s, 'test', %s, p_content => %s, p_doc_type => 'default',"
        " p_reason => %s, p_flags => %s, p_pages => %s, p_processing => %s, p_entities => %s)",
        [
            document_id,
            status,
            content,
            reason,
            list(flags),
            json.dumps(pages or []),
            json.dumps(processing or {}),
            json.dumps(entities or []),
        ],
    )
    return document_id


def rows(conn: psycopg.Connection, query: str, *parameters: object) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()


def page(number: int, method: str, quality: float | None = None) -> dict[str, Any]:
    return {"number": number, "method": method, "char_count": 100, "quality": quality}


@pytest.fixture
def limit_of_three(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("update sherlock.shingle_schemes set band_key_limit = 3")
    return conn


def test_hot_band_keys_are_those_that_reach_the_limit(limit_of_three: psycopg.Connection) -> None:
    conn = limit_of_three
    copies = [add(conn, f"{text(1)} {suffix}") for suffix in ("uno", "dos", "tres", "cuatro")]
    for _ in range(2):
        add(conn, text(2))
    counted = rows(
        conn,
        "select key, count(*) as document_count, min(document_id) as first_document_id"
        " from sherlock.band_keys group by key having count(*) >= 3 order by key",
    )
    hot = rows(conn, "select * from sherlock.hot_band_keys order by key")
    assert hot
    for row, expected in zip(hot, counted, strict=True):
        assert {name: row[name] for name in expected} == expected
        assert row["unread_count"] == row["document_count"] - 3
        assert (row["collection"], row["band_key_limit"]) == ("default", 3)
        assert row["first_document_id"] in copies
    bands = rows(
        conn,
        "select array_position(sherlock.band_keys(s.signature, c.scheme_id, c.collection_id,"
        " c.band_count, c.rows_per_band), h.key) as band, h.band as shown, d.name,"
        " h.first_document_name"
        " from sherlock.hot_band_keys h join sherlock.documents d"
        " on d.document_id = h.first_document_id"
        " join (select * from sherlock.collections join sherlock.shingle_schemes using (scheme_id))"
        " c using (collection_id) join sherlock.document_signatures s"
        " on s.document_id = d.document_id and s.scheme_id = c.scheme_id",
    )
    assert all(row["band"] == row["shown"] for row in bands)
    assert all(row["name"] == row["first_document_name"] for row in bands)


def test_hot_keys_say_whose_they_are(limit_of_three: psycopg.Connection) -> None:
    """Two collections with schemes of their own: each key under its own limit and names."""
    conn = limit_of_three
    conn.execute(
        "insert into sherlock.shingle_schemes (name, shingle_kind, shingle_width, min_shingles,"
        " band_key_limit) values ('otro', 'char', 9, 20, 5)"
    )
    conn.execute("select sherlock.create_collection('otra')")
    conn.execute(
        "update sherlock.collections set scheme_id ="
        " (select scheme_id from sherlock.shingle_schemes where name = 'otro') where name = 'otra'"
    )
    for number in range(4):
        add(conn, f"{text(3)} {number}")
        add(conn, f"{text(3)} {number}", collection="otra")
    in_default = rows(conn, "select distinct collection, scheme from sherlock.hot_band_keys")
    assert [row["collection"] for row in in_default] == ["default"]
    for number in range(4, 6):
        add(conn, f"{text(3)} {number}", collection="otra")
    owners = rows(
        conn,
        "select collection, scheme, min(document_count) as least from sherlock.hot_band_keys"
        " group by 1, 2 order by 1",
    )
    assert [(row["collection"], row["scheme"]) for row in owners][1] == ("otra", "otro")
    assert [row["least"] >= limit for row, limit in zip(owners, (3, 5), strict=True)] == [True] * 2


def test_hot_band_keys_are_what_the_search_counts(limit_of_three: psycopg.Connection) -> None:
    conn = limit_of_three
    for number in range(5):
        add(conn, f"{text(4)} {number}")
    query = add(conn, f"{text(4)} final")
    told = rows(
        conn,
        "select document_id, (evidence -> 'hot_band_keys')::integer as hot"
        " from sherlock.find_duplicates(%s) order by 1",
        query,
    )
    # Of the query's hot keys, those by which a document is among the first three.
    counted = rows(
        conn,
        "select k.document_id, nullif(count(*) filter (where h.key is not null), 0) as hot"
        " from sherlock.band_keys q"
        " cross join lateral (select * from sherlock.band_keys k where k.key = q.key"
        "   order by k.document_id limit 3) k"
        " left join sherlock.hot_band_keys h on h.key = q.key"
        " where q.document_id = %s and k.document_id <> q.document_id group by 1 order by 1",
        query,
    )
    assert told == counted
    assert len([row for row in told if row["hot"]]) >= 3


def test_extraction_status_adds_up(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('leídos')")
    add(
        conn,
        text(5),
        collection="leídos",
        pages=[page(1, "native", 0.9), page(2, "ocr", 0.7), page(3, "blank")],
        processing={"extract_seconds": 2.5, "ner_seconds": 0.25},
    )
    add(
        conn,
        text(6),
        collection="leídos",
        pages=[page(1, "native", 0.8)],
        processing={"extract_seconds": 0.5, "ner_seconds": "unknown"},
    )
    add(conn, "corto", collection="leídos", processing={"extract_seconds": None})
    add(conn, text(7), collection="leídos", flags=("low_quality",), pages=[page(1, "native_ocr")])
    add(
        conn,
        text(8),
        collection="leídos",
        status="partial",
        reason="page_limit",
        pages=[page(1, "native"), page(2, "skipped"), page(3, "failed")],
    )
    add(conn, None, collection="leídos", status="failed", reason="encrypted")
    claim(conn, "leídos")
    status = {
        (row["status"], row["reason"], *row["flags"]): row
        for row in rows(
            conn, "select * from sherlock.extraction_status where collection = 'leídos'"
        )
    }
    assert set(status) == {
        ("ok", None),
        ("ok", None, "low_quality"),
        ("partial", "page_limit"),
        ("failed", "encrypted"),
        ("pending", None),
    }
    good = status["ok", None]
    assert (good["document_count"], good["indexed_count"], good["page_count"]) == (3, 2, 4)
    assert (good["native_pages"], good["ocr_pages"], good["blank_pages"]) == (2, 1, 1)
    assert good["average_quality"] == pytest.approx(0.8)
    assert good["extract_seconds"] == pytest.approx(3.0)
    assert good["extract_seconds_with_ocr"] == pytest.approx(2.5)
    assert good["ner_seconds"] == pytest.approx(0.25)
    poor = status["ok", None, "low_quality"]
    assert (poor["native_ocr_pages"], poor["indexed_count"]) == (1, 0)
    assert poor["average_quality"] is poor["extract_seconds"] is None
    cut = status["partial", "page_limit"]
    assert (cut["skipped_pages"], cut["failed_pages"], cut["page_count"]) == (1, 1, 3)
    assert status["pending", None]["page_count"] == 0
    totals = rows(
        conn,
        "select (select sum(document_count) from sherlock.extraction_status)"
        " = (select count(*) from sherlock.documents) as documents,"
        " (select sum(page_count) from sherlock.extraction_status)"
        " = (select count(*) from sherlock.document_pages) as pages",
    )
    assert totals == [{"documents": True, "pages": True}]


def test_pairs_and_verdicts_have_what_a_reviewer_asks_for(conn: psycopg.Connection) -> None:
    conn.execute("update sherlock.detection_configs set conflict_cap = 'LOW'")
    juan, juana = (
        person("Juan Pérez Gómez", "52.345.678"),
        person("Juana Pérez Gómez", "79.111.222"),
    )
    first = add(conn, text(9), entities=juan)
    second = add(conn, f"{text(9)} otrosí", entities=juan)
    third = add(conn, f"{text(9)} además", entities=juana)
    for document_id in (first, second, third):
        conn.execute("select sherlock.record_detection(%s)", [document_id])
    conn.execute(
        "insert into sherlock.document_sources (document_id, source_uri, seen_at)"
        " values (%s, '/antes.pdf', '2020-01-01'), (%s, '/despues.pdf', '2999-01-01')",
        [first, first],
    )
    pairs = {
        (row["document_id"], row["matched_document_id"]): row
        for row in rows(conn, "select * from sherlock.duplicate_pairs")
    }
    pair = pairs[second, first]
    assert pair["matched_source_uri"] == "/antes.pdf"
    assert pair["source_uri"].startswith("/escritos/")
    assert (pair["word_count"], pair["matched_word_count"]) == (81, 80)
    assert pair["matched_doc_type"] == "default"
    assert pair["uncapped_confidence"] is None
    made_by = rows(
        conn,
        "select config_id, scheme_id, model_id from sherlock.matches"
        " where document_id = %s and matched_document_id = %s",
        second,
        first,
    )
    assert [{name: pair[name] for name in made_by[0]}] == made_by
    capped = pairs[third, first]
    assert capped["confidence"] == "LOW" != capped["uncapped_confidence"]
    verdicts = {
        row["document_id"]: row for row in rows(conn, "select * from sherlock.latest_verdicts")
    }
    assert verdicts[first]["source_uri"] == "/antes.pdf"
    assert verdicts[first]["best_match_has_conflict"] is None
    assert verdicts[second]["best_match_has_conflict"] is False
    assert verdicts[third]["best_match_has_conflict"] is True
    counts = ("high_confidence_count", "medium_confidence_count", "low_confidence_count")
    assert [verdicts[third][name] for name in counts] == [0, 0, 2]
    assert verdicts[second]["word_count"] == 81


def test_documents_without_verdict_are_listed(conn: psycopg.Connection) -> None:
    pending = claim(conn)
    failed = add(conn, None, status="failed", reason="encrypted")
    listed = {
        row["document_id"]: row
        for row in rows(
            conn, "select * from sherlock.latest_verdicts where recommended_action is null"
        )
    }
    assert listed[pending]["status"] == "pending"
    assert listed[failed]["reason"] == "encrypted"


def test_manual_has_every_public_object(conn: psycopg.Connection) -> None:
    expected = rows(
        conn,
        "select p.proname::text as name, obj_description(p.oid, 'pg_proc') as description"
        " from pg_proc p where p.pronamespace = 'sherlock'::regnamespace and p.proname !~ '^_'"
        " union all select c.relname::text, obj_description(c.oid, 'pg_class') from pg_class c"
        " where c.relnamespace = 'sherlock'::regnamespace and c.relkind in ('r', 'p', 'v')"
        " and c.relname !~ '^_|^alembic_version$' and not c.relispartition",
    )
    manual = rows(conn, "select * from sherlock.manual")
    assert len(manual) > 100
    assert sorted((row["name"], row["description"].replace("\n", " ")) for row in manual) == sorted(
        (row["name"], " ".join(row["description"].split())) for row in expected
    )
    for row in manual:
        assert max(map(len, row["description"].split("\n"))) <= 80
        assert row["arguments"] is not None or row["kind"] in ("view", "table")
        assert row["result"] is not None or row["kind"] == "procedure"
    kinds = [kind for kind, _ in itertools.groupby(row["kind"] for row in manual)]
    assert kinds == ["procedure", "function", "aggregate", "view", "table", "trigger function"]


def test_manual_reads_well(conn: psycopg.Connection) -> None:
    (entry,) = rows(conn, "select * from sherlock.manual where name = 's_curve'")
    assert entry["kind"] == "function"
    assert entry["arguments"] == "p_band_count integer,\np_rows_per_band integer"
    assert entry["result"].startswith("TABLE(jaccard double precision,\nprobability")
    assert entry["description"].startswith("The S-curve of a division into bands: ")
    (entry,) = rows(conn, "select * from sherlock.manual where name = 'hot_band_keys'")
    assert (entry["kind"], entry["arguments"]) == ("view", None)
    assert entry["result"].startswith("key,\nband,\n")
