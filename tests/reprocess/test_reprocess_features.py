"""Features computed again, filters, counts, usage."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from sherlock_pg.reprocess import run as batches
from sherlock_pg.reprocess.selection import Filters, Kind, select

Sherlock = Callable[..., Any]
Reprocess = Callable[..., dict[str, Any]]
Rows = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def stored(rows: Rows, tutela: Callable[..., str]) -> list[int]:
    """Give five near copies; the first three were indexed before flags decided."""
    rows(
        "insert into sherlock.documents (name, content, doc_type, created_at)"
        " select 'd' || n, t, case when n = 5 then 'default' else 'tutela' end,"
        " timestamptz '2026-01-01' + n * interval '1 day'"
        " from unnest(%s::text[]) with ordinality as u (t, n)",
        [tutela(date=f"{day} de abril de 2025") for day in range(1, 6)],
    )
    ids = [row[0] for row in rows("select document_id from sherlock.documents order by 1")]
    # As a restored backup of an older version would have it.
    rows("alter table sherlock.documents disable trigger user")
    rows(
        "update sherlock.documents set flags = '{ocr_timeout_pages}', status = 'partial'"
        " where document_id = any(%s)",
        ids[:3],
    )
    rows("alter table sherlock.documents enable trigger user")
    return ids


def states(rows: Rows) -> list[str]:
    return [
        row[0] for row in rows("select text_state from sherlock.documents order by document_id")
    ]


def test_what_flags_keep_out_now_is_found_and_judged_again(
    reprocess: Reprocess, stored: list[int], rows: Rows
) -> None:
    assert states(rows) == ["indexed"] * 5
    result = reprocess("--features")
    assert (result["selected"], result["processed"], result["changed"]) == (3, 3, 3)
    assert result["verdict_changes"] == [{"before": "HIGH", "after": "none", "documents": 3}]
    assert states(rows) == ["excluded"] * 3 + ["indexed"] * 2
    best = rows("select best_match_id from sherlock.detections where document_id = %s", stored[4])
    assert best == [(stored[3],)]
    assert reprocess("--features")["selected"] == 0


def test_features_of_an_older_version_are_computed_again(
    reprocess: Reprocess, stored: list[int], rows: Rows
) -> None:
    reprocess("--features")
    rows(
        "create or replace function sherlock.feature_version()"
        " returns integer language sql immutable return 2"
    )
    rows("select sherlock.reindex(array[%s::bigint])", stored[0])
    result = reprocess("--features")
    assert (result["selected"], result["processed"], result["changed"]) == (4, 4, 0)
    assert rows("select distinct feature_version from sherlock.documents") == [(2,)]


def test_an_interruption_between_batches_keeps_what_is_done(
    sherlock: Sherlock,
    reprocess: Reprocess,
    stored: list[int],
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "BATCH_SIZE", 1)
    reindex = batches._reindex
    calls: list[object] = []

    def interrupted(conn: Any, document_ids: Any) -> Any:
        done = reindex(conn, document_ids)
        calls.append(document_ids)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(batches, "_reindex", interrupted)
    assert sherlock("reprocess", "--features").code == 130
    # The second was computed, not committed.
    assert states(rows)[:3] == ["excluded", "indexed", "indexed"]
    assert reprocess("--features")["processed"] == 2


def test_a_document_that_goes_meanwhile_is_left(
    reprocess: Reprocess, stored: list[int], rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindex = batches._reindex

    def overtaken(conn: Any, document_ids: Any) -> Any:
        rows("delete from sherlock.documents where document_id = %s", stored[1])
        return reindex(conn, document_ids)

    monkeypatch.setattr(batches, "_reindex", overtaken)
    result = reprocess("--features")
    assert (result["selected"], result["processed"], result["overtaken"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"collection": "default"}, [1, 2, 3, 4, 5]),
        ({"collection": "otra"}, []),
        ({"doc_type": "default"}, [5]),
        ({"ids": (2, 4)}, [2, 4]),
        ({"status": "partial"}, [1, 2, 3]),
        ({"status": "failed"}, []),
        ({"reason": "damaged"}, []),
        ({"flag": "ocr_timeout_pages"}, [1, 2, 3]),
        ({"flag": "low_yield"}, []),
        ({"since": "2026-01-04"}, [3, 4, 5]),
        ({"until": "2026-01-04"}, [1, 2]),
        ({"since": "2026-01-03", "until": "2026-01-05", "flag": "ocr_timeout_pages"}, [2, 3]),
        ({"after_id": 3}, [4, 5]),
        ({"before_version": "2.10"}, [1, 2, 4, 5]),
        ({"before_version": "2.9"}, [1, 2, 4, 5]),
        ({"before_version": "2.11"}, [1, 2, 3, 4, 5]),
        ({"before_version": "1.9"}, [1, 4, 5]),
    ],
)
def test_filters(
    stored: list[int], database_url: str, rows: Rows, filters: dict[str, Any], expected: list[int]
) -> None:
    """Documents 2 and 3 were read by rules 1.9 and 2.10, the others by none."""
    import psycopg

    assert stored == [1, 2, 3, 4, 5]
    for document_id, version in ((2, "1.9"), (3, "2.10")):
        rows(
            "update sherlock.documents set processing = jsonb_build_object('ner_versions',"
            " jsonb_build_object('rules', %s::text)) where document_id = %s",
            version,
            document_id,
        )
    selection = select(Kind.NER, Filters(**filters, is_all=True))
    with psycopg.connect(database_url) as conn:
        assert selection.ids_after(conn, 0, 100) == expected
        assert selection.count(conn) == len(expected)
        assert sum(row["documents"] for row in selection.counts(conn)) == len(expected)


def test_dry_run_counts_and_touches_nothing(
    sherlock: Sherlock, stored: list[int], rows: Rows
) -> None:
    ran = sherlock("reprocess", "--features", "--dry-run", "--format", "csv")
    assert ran.code == 0
    (counted,) = csv.DictReader(io.StringIO(ran.out))
    assert (counted["documents"], counted["status"], counted["feature_version"]) == (
        "3",
        "partial",
        "1",
    )
    assert "3 documents, not touched" in ran.err
    assert states(rows) == ["indexed"] * 5
    ran = sherlock("reprocess", "--ner", "--ner-model", "none", "--dry-run", "--format", "json")
    assert sum(row["documents"] for row in json.loads(ran.out)) == 5
    assert rows("select count(*) from sherlock.documents where processing is not null") == [(0,)]


def test_the_table_says_from_which_class_to_which(sherlock: Sherlock, stored: list[int]) -> None:
    ran = sherlock("reprocess", "--features")
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines() if line.strip()]
    assert lines[0] == ["before", "after", "documents"]
    assert ["HIGH", "none", "3"] in lines
    assert "3 changed, 3 verdicts changed" in ran.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "what is to be done again?"),
        (["--features", "--id", "77"], "there is no document 77"),
        (["--features", "--collection", "nada"], "nada"),
        (["--ner", "--before-version", "v3"], "'v3' is not a version"),
        (["--features", "--since", "ayer"], "--since"),
        (["--features", "--status", "bad"], "--status"),
    ],
)
def test_usage_errors(sherlock: Sherlock, args: list[str], message: str) -> None:
    ran = sherlock("reprocess", "--ner-model", "none", *args)
    assert ran.code == 2
    assert message in ran.err


def test_a_missing_model_ends_the_run_before_anything_is_done(
    sherlock: Sherlock, stored: list[int]
) -> None:
    ran = sherlock("reprocess", "--ner", "--ner-model", "es_core_nothing")
    assert ran.code == 3
    assert "es_core_nothing" in ran.err
