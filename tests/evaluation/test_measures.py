"""Measures of scored pairs, against counts made by hand and laws that hold for all."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.evaluation.measures import BINS, false_alarms, is_reported, measure, misses
from sherlock_pg.evaluation.report import report
from sherlock_pg.evaluation.run import Evidence, JudgedPair
from sherlock_pg.evaluation.scored import ScoredPair
from sherlock_pg.evaluation.svg import draw

PAIR = ScoredPair(
    left="b",
    right="a",
    is_duplicate=True,
    kind="rescan",
    doc_type="default",
    minhash=0.5,
    tfidf=0.5,
    entity=None,
    score=0.5,
    is_same_text=False,
    has_conflict=False,
    confidence="LOW",
    reported="LOW",
    retrieved_by=frozenset({"minhash", "tfidf"}),
)
OTHER = replace(PAIR, is_duplicate=False, kind="template")

SET = [
    replace(PAIR, reported="EXACT", score=1.0, is_same_text=True, retrieved_by=frozenset()),
    replace(PAIR, reported="HIGH", score=0.9),
    replace(PAIR, kind="reworded", reported="MEDIUM", score=0.7, retrieved_by=frozenset({"tfidf"})),
    replace(PAIR, kind="reworded", reported=None, score=0.2, retrieved_by=frozenset()),
    replace(OTHER, reported="HIGH", score=0.85),
    replace(OTHER, reported="LOW", score=0.55),
    replace(OTHER, kind="random", reported=None, score=None, retrieved_by=frozenset()),
]

scored_pairs = st.lists(
    st.builds(
        replace,
        st.sampled_from([PAIR, OTHER]),
        is_duplicate=st.booleans(),
        kind=st.sampled_from(["x", "y", "z"]),
        score=st.none() | st.floats(0, 1),
        reported=st.sampled_from([None, "EXACT", "HIGH", "MEDIUM", "LOW"]),
        retrieved_by=st.frozensets(st.sampled_from(["minhash", "tfidf", "entities"])),
    ),
    min_size=1,
    max_size=30,
)


def _judged(pairs: list[ScoredPair]) -> list[JudgedPair]:
    return [JudgedPair(pair, Evidence((), ())) for pair in pairs]


def test_a_set_counted_by_hand() -> None:
    assert measure(SET).as_dict() == {
        "high": {"precision": 0.6667, "recall": 0.5, "f1": 0.5714},
        "medium": {"precision": 0.75, "recall": 0.75, "f1": 0.75},
        "low": {"precision": 0.6, "recall": 0.75, "f1": 0.6667},
        "kinds": {
            "rescan": {"label": 1, "pairs": 2, "high": 1.0, "medium": 1.0, "low": 1.0},
            "reworded": {"label": 1, "pairs": 2, "high": 0.0, "medium": 0.5, "low": 0.5},
            "random": {"label": 0, "pairs": 1, "high": 0.0, "medium": 0.0, "low": 0.0},
            "template": {"label": 0, "pairs": 2, "high": 0.5, "medium": 0.5, "low": 1.0},
        },
        "candidate_recall": {"minhash": 0.25, "tfidf": 0.5, "entities": 0.0, "all": 0.75},
    }


def test_scores_fall_into_bars_and_those_without_are_counted() -> None:
    found = measure(SET)
    assert {bar: n for bar, n in enumerate(found.histogram[True]) if n} == {
        4: 1,
        14: 1,
        18: 1,
        BINS - 1: 1,
    }
    assert sum(found.histogram[False]) == 2
    assert found.without_score == {True: 0, False: 1}


def test_a_name_of_both_labels_is_two_kinds() -> None:
    kinds = measure([PAIR, replace(OTHER, kind="rescan")]).as_dict()["kinds"]
    assert list(kinds) == ["rescan (duplicate)", "rescan (distinct)"]


def test_the_worst_errors_come_first() -> None:
    wrong = [
        replace(OTHER, reported="LOW", score=0.6),
        replace(OTHER, reported="HIGH", score=0.81),
        replace(OTHER, reported="HIGH", score=0.9),
        replace(OTHER, reported=None, score=0.99),
    ]
    assert [p.scored for p in false_alarms(_judged([PAIR, *wrong]))] == [
        wrong[2],
        wrong[1],
        wrong[0],
    ]
    missed = [replace(PAIR, reported=None, score=score) for score in (0.3, None, 0.1)]
    assert [p.scored.score for p in misses(_judged([PAIR, *missed]))] == [None, 0.1, 0.3]


@settings(max_examples=60, deadline=None)
@given(scored_pairs)
def test_kinds_add_up_to_the_whole(pairs: list[ScoredPair]) -> None:
    found = measure(pairs)
    for name, score in found.classes.items():
        reported = {
            label: sum(
                kind.reported[name] * kind.pairs
                for kind in found.kinds
                if kind.is_duplicate is label
            )
            for label in (True, False)
        }
        assert math.isclose(reported[True], score.tp, abs_tol=1e-6)
        assert math.isclose(reported[False], score.fp, abs_tol=1e-6)
        assert score.tp + score.fn == sum(pair.is_duplicate for pair in pairs)
    recalls = [found.classes[name].recall for name in ("HIGH", "MEDIUM", "LOW")]
    assert recalls == sorted(recalls)
    best = max(found.candidate_recall[level] for level in ("minhash", "tfidf", "entities"))
    assert found.candidate_recall["all"] >= best
    assert len(false_alarms(_judged(pairs))) == found.classes["LOW"].fp
    assert len(misses(_judged(pairs))) == found.classes["LOW"].fn


@pytest.mark.parametrize(
    ("reported", "expected"),
    [("EXACT", (True, True, True)), ("MEDIUM", (False, True, True)), (None, (False,) * 3)],
)
def test_a_better_class_counts_too(reported: str | None, expected: tuple[bool, ...]) -> None:
    pair = replace(PAIR, reported=reported)
    assert tuple(is_reported(pair, name) for name in ("HIGH", "MEDIUM", "LOW")) == expected


def test_the_report_shows_the_evidence() -> None:
    pair = replace(OTHER, reported="HIGH", has_conflict=True)
    evidence = Evidence(
        ({"role": "demandante", "value": "ana gil", "other": "anna gil"},),
        ({"role": "radicado", "value": "1", "other": "2"},),
    )
    text = "\n".join(report(measure([pair]), [JudgedPair(pair, evidence)], []))
    assert "minhash 0.500, tfidf 0.500, entity -" in text
    assert "identities conflict" in text
    assert "shared: demandante ana gil / anna gil" in text
    assert "differs: radicado 1 / 2" in text
    assert "missed duplicates" not in text


def test_the_picture_is_xml_whatever_the_kinds_are_called() -> None:
    hostile = '<script>&"\x00\x1b' + "x" * 80
    found = measure([*SET, replace(PAIR, kind=hostile)])
    picture = draw(found, {"HIGH": 0.8, "MEDIUM": 0.65, "LOW": 0.5}, "a < b", "note")
    root = ElementTree.fromstring(picture)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith('<script>&"\ufffd') for text in texts)
    assert "a < b" in texts
    assert "HIGH 0.8" in texts
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    # One bar for each class of each kind, as wide as the share.
    shares = [
        float(element.get("width", "0"))
        for element in root.iter("{http://www.w3.org/2000/svg}rect")
        if element.get("fill") == "#0072b2" and element.get("height") == "17"
    ]
    assert shares == pytest.approx([0, 600, 0])
