"""Labelled pairs made to measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sherlock_pg.detection_config import CollectionConfig, DetectionConfig
from sherlock_pg.evaluation.scored import ScoredPair

PairMaker = Callable[..., ScoredPair]


@pytest.fixture
def scored_pair() -> PairMaker:
    """Give a maker of pairs whose levels all have one score; each is a family of its own."""
    number = 0

    def make(is_duplicate: bool, level: float | None = 0.5, **changes: Any) -> ScoredPair:
        nonlocal number
        number += 1
        values: dict[str, Any] = {
            "left": f"later-{number}",
            "right": f"earlier-{number}",
            "is_duplicate": is_duplicate,
            "kind": "made",
            "doc_type": "default",
            "minhash": level,
            "tfidf": level,
            "entity": level,
            "score": level,
            "is_same_text": False,
            "has_conflict": False,
            "confidence": None,
            "reported": None,
            "retrieved_by": frozenset({"minhash"}),
        }
        return ScoredPair(**(values | changes))

    return make


@pytest.fixture
def config() -> CollectionConfig:
    """Give the configuration of a new installation, without habeas corpus."""
    default = DetectionConfig(
        doc_type="default",
        minhash_weight=0.25,
        tfidf_weight=0.40,
        entity_weight=0.35,
        both_parties_boost=0.20,
        cedula_boost=0.10,
        correo_boost=0.05,
        fuzzy_threshold=0.85,
        high_threshold=0.80,
        medium_threshold=0.65,
        low_threshold=0.50,
        minhash_threshold=0.50,
        conflict_cap=None,
        minhash_candidate_limit=64,
        tfidf_candidate_limit=48,
        entity_candidate_limit=50,
        max_results=10,
        use_short_circuit=True,
        use_references=True,
    )
    tutela = DetectionConfig(
        **{
            **default.__dict__,
            "doc_type": "tutela",
            "high_threshold": 0.85,
            "medium_threshold": 0.70,
            "conflict_cap": "LOW",
        }
    )
    return CollectionConfig({"default": default, "tutela": tutela}, 5000, (1, 2))
