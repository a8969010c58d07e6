"""What a run says about each file, and about all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sherlock_pg.db.calls import Claim, Detection, ExactHit


@dataclass(frozen=True)
class Outcome:
    """One line of the report.

    Attributes:
        file: the path as given.
        document_id: the stored document; for an exact copy, the one that was there.
        status: ok, partial or failed; pending for a copy of a file that is still being read.
        gate: new; hit if the bytes were known and nothing was read; resumed if an interrupted run
            had read the file but not judged it.
        confidence: class of the best match; empty if there is none.
        action: REJECT, REVIEW or ACCEPT; empty for a failed document.
        score: ensemble score of the best match.
        best_match_id: its document.
        best_match: its name.
        doc_type: type that chose the thresholds.
        text_state: indexed, short, empty or excluded.
        reason: reason code of a failed document.
        detail: what was seen, for a person.
        flags: quality flags.
        candidates: all reported matches with scores and evidence.
        containers: larger documents that it stands in, where somebody asked for them.
    """

    file: str
    status: str
    gate: str
    document_id: int | None = None
    confidence: str = ""
    action: str = ""
    score: float | None = None
    best_match_id: int | None = None
    best_match: str = ""
    doc_type: str = ""
    text_state: str = ""
    reason: str = ""
    detail: str = ""
    flags: tuple[str, ...] = ()
    candidates: tuple[dict[str, Any], ...] = field(default=())
    containers: tuple[dict[str, Any], ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON-compatible values."""
        return asdict(self)


def from_gate(file: str, hit: Claim | ExactHit, reason: str | None = None) -> Outcome:
    """Return the outcome of a file whose bytes are known."""
    if hit.status == "failed":
        return Outcome(
            file=file,
            status="failed",
            gate="hit",
            document_id=hit.document_id,
            reason=reason or "",
            detail="known from an earlier run; --retry-failed reads it again",
        )
    if isinstance(hit, Claim) and hit.status != "pending" and not hit.is_judged:
        # Stored by a run that was interrupted before it could judge: this run does.
        return Outcome(file=file, status=hit.status, gate="resumed", document_id=hit.document_id)
    return Outcome(
        file=file,
        status=hit.status,
        gate="hit",
        document_id=hit.document_id,
        confidence="EXACT",
        action="REJECT",
        score=1.0,
        best_match_id=hit.document_id,
        best_match=hit.name or "",
        detail=_about(hit),
    )


def _about(hit: Claim | ExactHit) -> str:
    if hit.status == "pending":
        return "another loader is reading it"
    if isinstance(hit, Claim) and hit.is_same_source:
        return "loaded before from here"
    return ""


def copy_of_file(copy: Outcome, read: Outcome) -> Outcome:
    """Return the outcome of a file whose bytes an earlier file of the same run has."""
    if read.status == "failed":
        return replace(
            copy,
            status="failed",
            confidence="",
            action="",
            score=None,
            best_match_id=None,
            best_match="",
            reason=read.reason,
            detail=f"same bytes as {read.file}",
        )
    return replace(copy, status=read.status, detail="")


def best_match(detection: Detection) -> dict[str, Any]:
    """Return the fields of an outcome that a verdict gives."""
    best: dict[str, Any] = detection.candidates[0] if detection.candidates else {}
    return {
        "confidence": best.get("confidence", ""),
        "action": detection.recommended_action,
        "score": best.get("final_score"),
        "best_match_id": best.get("document_id"),
        "best_match": best.get("name") or "",
        "candidates": tuple(detection.candidates),
    }


def summary(outcomes: Iterable[Outcome], seconds: float) -> dict[str, int | float]:
    """Count the outcomes of a run."""
    listed = list(outcomes)

    def count(**values: str) -> int:
        return sum(
            all(getattr(outcome, name) == value for name, value in values.items())
            for outcome in listed
        )

    return {
        "files": len(listed),
        "new": sum(o.gate != "hit" and o.status in ("ok", "partial") for o in listed),
        "known_bytes": sum(o.gate == "hit" and o.status != "failed" for o in listed),
        "partial": count(status="partial"),
        "failed": count(status="failed"),
        "reject": count(action="REJECT"),
        "review": count(action="REVIEW"),
        "accept": count(action="ACCEPT"),
        "seconds": round(seconds, 2),
    }
