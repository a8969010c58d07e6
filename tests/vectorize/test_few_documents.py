"""A database with few documents, from the first one on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sherlock_pg.vectorize import lifecycle, tfidf

Session = Any
"""A session of conftest.py."""


def search(session: Session, document_id: int) -> list[dict[str, Any]]:
    rows = session.conn.execute(
        "select to_jsonb(f) from sherlock.find_duplicates(%s) as f", [document_id]
    ).fetchall()
    return [row[0] for row in rows]


def test_before_the_first_vocabulary_level_2_is_absent_and_the_others_judge(
    dba: Session, filings: list[str]
) -> None:
    """Filings 0 and 16: a case, and the same case in other words."""
    first, second = dba.insert(filings[0], filings[17])
    (match,) = search(dba, second)
    assert match["document_id"] == first
    assert match["tfidf_score"] is None
    assert match["minhash_score"] > 0.5
    assert dba.status()["refit_reason"] == "no_vocabulary"
    assert dba.status()["is_due"] is True


def test_the_first_document_is_fitted_on_itself(dba: Session, filings: list[str]) -> None:
    (first,) = dba.insert(filings[0])
    dba.refresh()
    vocabulary = tfidf.load(dba.conn, 1)
    assert vocabulary.document_count == 1
    # ln(2 / 2) + 1: in one document no term says more than another.
    np.testing.assert_array_equal(vocabulary.idf, 1)
    assert search(dba, first) == []
    (second,) = dba.insert(filings[17])
    (match,) = search(dba, second)
    assert match["document_id"] == first
    assert 0.5 < match["tfidf_score"] < 1
    (copy,) = dba.insert(filings[0])
    best = search(dba, copy)[0]
    assert (best["document_id"], best["confidence"], best["tfidf_score"]) == (first, "EXACT", 1)


def test_three_documents_have_sensible_scores(dba: Session, filings: list[str]) -> None:
    case, other_case, version = dba.insert(filings[0], filings[9], filings[17])
    dba.refresh()
    vocabulary = tfidf.load(dba.conn, 1)
    # A term of one document counts: there is no lower limit on documents.
    assert {round(float(idf), 6) for idf in vocabulary.idf} == {
        round(float(np.log(4 / (count + 1)) + 1), 6) for count in (1, 2, 3)
    }
    scores = {match["document_id"]: match for match in search(dba, version)}
    assert scores[case]["tfidf_score"] > 0.5
    assert scores[case]["confidence"] in ("HIGH", "MEDIUM")
    unrelated = dba.scalar(
        "select score from sherlock.compare(%s, %s) where level = 'tfidf'", version, other_case
    )
    assert unrelated < scores[case]["tfidf_score"] / 2
    assert other_case not in scores


@pytest.mark.parametrize("count", [1, 2, 3, 5, 20])
def test_at_each_size_a_case_finds_its_other_version(
    dba: Session, filings: list[str], count: int
) -> None:
    """Grown one by one, with a fit where the loader would make one."""
    ids = []
    fits = 0
    for content in filings[: min(count, 16)] + filings[18 : 18 + max(count - 16, 0)]:
        ids += dba.insert(content)
        fits += lifecycle.fit_if_needed(dba.conn, "default") is not None
    assert fits == count.bit_length()
    (version,) = dba.insert(filings[17])
    best = search(dba, version)[0]
    assert best["document_id"] == ids[0]
    assert best["confidence"] in ("HIGH", "MEDIUM")
    assert 0.5 < best["tfidf_score"] < 1
    assert dba.status()["without_vector_share"] == 0


def test_texts_without_a_word_leave_level_2_absent(
    dba: Session, caplog: pytest.LogCaptureFixture
) -> None:
    dba.add(["1 2 3 4 5 6 7 8 9", "a b c"])
    assert lifecycle.fit_if_needed(dba.conn, "default") is None
    assert "no TF-IDF vocabulary" in caplog.text
    assert dba.statuses() == {}
    (document,) = dba.insert("a b c d e f g h i j k l m n o p q r s t u v w x y z")
    assert search(dba, document) == []
