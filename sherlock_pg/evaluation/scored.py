"""A labelled pair with what the database said about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """One labelled pair, compared by SQL under the configuration in force.

    Attributes:
        left: id of the document that asks (the later one), as in the labelled file.
        right: id of the other document.
        is_duplicate: the label.
        kind: the kind of change, as labelled ("rescan", "other_party").
        doc_type: type of `left`, which chooses weights and thresholds.
        minhash: Jaccard estimate, 0 to 1; None if the level is absent.
        tfidf: cosine, 0 to 1; None if the level is absent.
        entity: entity score, 0 to 1; None if the level is absent.
        score: the ensemble, 0 to 1; None if no level exists.
        is_same_text: equal canonical text, which is EXACT whatever the score.
        has_conflict: both sides name somebody or something, and differ.
        confidence: class of the pair when compared directly: EXACT, HIGH, MEDIUM, LOW or None.
        reported: class under which the search reported the pair; None if it did not.
        retrieved_by: levels whose retrieval brought the pair: "minhash", "tfidf", "entities".
    """

    left: str
    right: str
    is_duplicate: bool
    kind: str
    doc_type: str
    minhash: float | None
    tfidf: float | None
    entity: float | None
    score: float | None
    is_same_text: bool
    has_conflict: bool
    confidence: str | None
    reported: str | None
    retrieved_by: frozenset[str]
