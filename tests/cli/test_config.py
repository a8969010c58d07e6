"""The configuration file: what goes in comes out, and a bad file changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]


def exported(sherlock: Sherlock, *options: str) -> dict[str, Any]:
    ran = sherlock("config", "export", "-", *options)
    assert ran.code == ExitCode.OK, ran.err
    document: dict[str, Any] = json.loads(ran.out)
    return document


def test_export_has_the_documented_shape(sherlock: Sherlock) -> None:
    assert exported(sherlock) == {
        "LEVEL_WEIGHTS": {"minhash": 0.25, "tfidf": 0.4, "entity": 0.35},
        "THRESHOLDS": {
            "default": {"high": 0.8, "medium": 0.65, "low": 0.5},
            "habeas_corpus": {"high": 0.9, "medium": 0.75, "low": 0.6},
            "tutela": {"high": 0.85, "medium": 0.7, "low": 0.5},
        },
        "MINHASH_NUM_PERM": 128,
        "MINHASH_THRESHOLD": 0.5,
        "TFIDF_MAX_FEATURES": 5000,
        "TFIDF_NGRAM_RANGE": [1, 2],
        "ENTITY_BOTH_MATCH_BOOST": 0.2,
        "ENTITY_CEDULA_MATCH_BOOST": 0.1,
        "ENTITY_CORREO_MATCH_BOOST": 0.05,
        "ENTITY_FUZZY_THRESHOLD": 0.85,
        "ENTITY_CONFLICT_CAP": {"default": None, "habeas_corpus": "LOW", "tutela": "LOW"},
        "USE_SHORT_CIRCUIT": True,
        "USE_REFERENCES": True,
        "TOP_K_CANDIDATES": 10,
    }


def test_import_changes_what_the_file_names(
    sherlock: Sherlock, tmp_path: Path, database_url: str
) -> None:
    file = tmp_path / "dedup_config.json"
    file.write_text(
        json.dumps(
            {
                "LEVEL_WEIGHTS": {"minhash": 0.3, "tfidf": 0.5, "entity": 0.2},
                "THRESHOLDS": {"tutela": {"HIGH": 0.9}, "contrato": {"high": 0.95}},
                "TFIDF_MAX_FEATURES": 800,
                "TFIDF_NGRAM_RANGE": [1, 1],
                "USE_SHORT_CIRCUIT": False,
                "USE_REFERENCES": False,
                "TOP_K_CANDIDATES": 3,
            }
        )
    )
    ran = sherlock("config", "import", file)
    assert ran.code == ExitCode.OK, ran.err
    after = exported(sherlock)
    assert after["LEVEL_WEIGHTS"] == {"minhash": 0.3, "tfidf": 0.5, "entity": 0.2}
    assert after["THRESHOLDS"]["tutela"] == {"high": 0.9, "medium": 0.7, "low": 0.5}
    assert after["THRESHOLDS"]["contrato"] == {"high": 0.95, "medium": 0.65, "low": 0.5}
    assert (after["TFIDF_MAX_FEATURES"], after["TFIDF_NGRAM_RANGE"]) == (800, [1, 1])
    assert (after["USE_SHORT_CIRCUIT"], after["USE_REFERENCES"]) == (False, False)
    assert after["TOP_K_CANDIDATES"] == 3
    # The same file again changes nothing, and the rows of before are still there.
    assert "nothing to change" in sherlock("config", "import", file).err
    with psycopg.connect(database_url) as conn:
        own = conn.execute(
            "select doc_type from sherlock.detection_configs"
            " where is_active and collection_id is not null order by 1"
        ).fetchall()
    assert own == [("contrato",), ("default",), ("habeas_corpus",), ("tutela",)]


def test_export_and_import_round_trip(sherlock: Sherlock, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    assert sherlock("config", "export", file).code == ExitCode.OK
    assert "nothing to change" in sherlock("config", "import", file).err


def test_weights_by_document_type(sherlock: Sherlock, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    weights = {"minhash": 0.5, "tfidf": 0.5, "entity": 0}
    file.write_text(json.dumps({"LEVEL_WEIGHTS": {"tutela": weights}}))
    assert sherlock("config", "import", file).code == ExitCode.OK
    after = exported(sherlock)["LEVEL_WEIGHTS"]
    assert after["tutela"] == weights
    assert after["default"] == {"minhash": 0.25, "tfidf": 0.4, "entity": 0.35}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[]", "one JSON object"),
        ('{"LEVEL_WEIGHT": {}}', "unknown key: LEVEL_WEIGHT"),
        ('{"LEVEL_WEIGHTS": {"minhash": 0.5}}', "add up to 1.25"),
        ('{"LEVEL_WEIGHTS": {"minhash": "much"}}', "LEVEL_WEIGHTS.minhash must be a number"),
        ('{"LEVEL_WEIGHTS": {"minhash": NaN, "tfidf": 0.4, "entity": 0.35}}', "number from 0 to 1"),
        ('{"LEVEL_WEIGHTS": 3}', "LEVEL_WEIGHTS must be an object"),
        ('{"THRESHOLDS": {"tutela": {"high": 0.6}}}', "THRESHOLDS of tutela must descend"),
        ('{"THRESHOLDS": {"tutela": {"top": 0.6}}}', "unknown entry top"),
        ('{"MINHASH_NUM_PERM": 64}', "128"),
        ('{"MINHASH_THRESHOLD": 1.5}', "number from 0 to 1"),
        ('{"TFIDF_MAX_FEATURES": 9000}', "whole number from 1 to 5000"),
        ('{"TFIDF_NGRAM_RANGE": [2, 1]}', "TFIDF_NGRAM_RANGE must ascend, but is [2, 1]"),
        ('{"TFIDF_NGRAM_RANGE": [1, 3]}', "TFIDF_NGRAM_RANGE must be a whole number from 1 to 2"),
        ('{"TFIDF_NGRAM_RANGE": null}', "must be two whole numbers, not null"),
        ('{"USE_SHORT_CIRCUIT": "yes"}', "true or false"),
        ('{"USE_REFERENCES": 1}', "USE_REFERENCES must be true or false"),
        ('{"USE_REFERENCES": null}', "USE_REFERENCES must be true or false, not null"),
        ('{"USE_REFERENCES": {"default": true}}', "USE_REFERENCES must be true or false"),
        ('{"TOP_K_CANDIDATES": true}', "whole number from 1 to 100, not true"),
        ('{"TOP_K_CANDIDATES": 5, "TOP_K_CANDIDATES": 6}', 'key "TOP_K_CANDIDATES" occurs twice'),
        ('{"THRESHOLDS": {"carta": {"low": 0.1, "low": 0.2}}}', 'the key "low" occurs twice'),
        ('{"LEVEL_WEIGHTS": {"minhash": 0.3, "MinHash": 0.3}}', "entry minhash occurs twice"),
        ('{"MINHASH_NUM_PERM": null}', "MINHASH_NUM_PERM: null,"),
        ('{"a": "b\0"}', "Invalid control character in line 1, column 9"),
        ('{"ENTITY_CONFLICT_CAP": {"tutela": "EXACT"}}', "HIGH, MEDIUM, LOW or null"),
    ],
)
def test_bad_file_is_explained_and_changes_nothing(
    sherlock: Sherlock, tmp_path: Path, content: str, message: str
) -> None:
    before = exported(sherlock)
    file = tmp_path / "bad.json"
    file.write_text(content)
    ran = sherlock("config", "import", file)
    assert ran.code == ExitCode.USAGE
    assert message in ran.err
    assert exported(sherlock) == before


def test_file_that_is_not_utf8(sherlock: Sherlock, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b'{"a": "\xff"}')
    ran = sherlock("config", "import", tmp_path / "bad.json")
    assert ran.code == ExitCode.USAGE
    assert "UTF-8" in ran.err


def test_unknown_collection(sherlock: Sherlock) -> None:
    ran = sherlock("config", "show", "--collection", "nada")
    assert ran.code == ExitCode.USAGE
    assert "there is no collection 'nada'" in ran.err


def test_show(sherlock: Sherlock) -> None:
    ran = sherlock("config", "show")
    assert ran.code == ExitCode.OK
    assert "high_threshold" in ran.out
    rows = json.loads(sherlock("config", "show", "--format", "json").out)
    assert {row["doc_type"] for row in rows} == {"default", "tutela", "habeas_corpus"}
    assert {row["use_references"] for row in rows} == {True}


def test_references_are_switched_off_and_on_again(sherlock: Sherlock, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    for is_on in (False, True):
        file.write_text(json.dumps({"USE_REFERENCES": is_on}))
        assert sherlock("config", "import", file).code == ExitCode.OK
        assert exported(sherlock)["USE_REFERENCES"] is is_on
        rows = json.loads(sherlock("config", "show", "--format", "json").out)
        assert {row["use_references"] for row in rows} == {is_on}
