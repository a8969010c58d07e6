"""What a run did, counted as it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sherlock_pg.reprocess.selection import Kind


@dataclass(frozen=True)
class Change:
    """A row of `sherlock.replace_entities` and `sherlock.reindex`."""

    document_id: int
    is_changed: bool
    confidence_before: str | None
    confidence: str | None
    action_before: str | None
    action: str | None


@dataclass
class Result:
    """What a run did.

    Attributes:
        kind: what was done again.
        selected: documents that were asked for.
        processed: documents that are done and committed.
        changed: of these, documents whose entities or features differ from before.
        overtaken: documents that changed or went meanwhile; left as they are.
        queued: documents that workers will read.
        without_file: documents whose file is not to be found any more.
        failures: documents that could not be processed, with the error.
        last_id: the last document that was looked at.
    """

    kind: Kind
    selected: int = 0
    processed: int = 0
    changed: int = 0
    overtaken: int = 0
    queued: int = 0
    without_file: list[int] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    last_id: int = 0
    _verdicts: dict[int, Change] = field(default_factory=dict)

    def add(self, changes: Iterable[Change], asked_for: set[int]) -> None:
        """Count what became of a committed batch."""
        for change in changes:
            if change.document_id in asked_for:
                self.processed += 1
                self.changed += change.is_changed
            before = self._verdicts.get(change.document_id, change)
            after = replace(
                change,
                confidence_before=before.confidence_before,
                action_before=before.action_before,
            )
            if (after.confidence_before, after.action_before) != (after.confidence, after.action):
                self._verdicts[change.document_id] = after
            else:
                self._verdicts.pop(change.document_id, None)

    def verdict_changes(self) -> list[dict[str, Any]]:
        """Return how many documents went from which class to which; none is no match."""
        counts = Counter(
            (change.confidence_before or "none", change.confidence or "none")
            for change in self._verdicts.values()
        )
        return [
            {"before": before, "after": after, "documents": count}
            for (before, after), count in sorted(counts.items())
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON-compatible values."""
        changes = self.verdict_changes()
        common: dict[str, Any] = {"kind": str(self.kind), "selected": self.selected}
        if self.kind is Kind.OCR:
            return common | {
                "queued": self.queued,
                "without_file": len(self.without_file),
                "without_file_ids": self.without_file,
            }
        return common | {
            "processed": self.processed,
            "changed": self.changed,
            "overtaken": self.overtaken,
            "failed": len(self.failures),
            "failures": [
                {"document_id": document_id, "error": error} for document_id, error in self.failures
            ],
            "verdicts_changed": sum(change["documents"] for change in changes),
            "verdict_changes": changes,
        }
