"""What became of each page, and what is said about those that were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sherlock_pg.ingest.model import PAGE_SEPARATOR, ExtractedPage, PageMethod
from sherlock_pg.ingest.quality import visible_length
from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.ingest.source import PageInspection, Verdict

LOW_YIELD_CHARS = 200
"""A document is flagged if its scanned pages, and all its pages, give less on average."""

_METHODS = {
    Verdict.NATIVE: PageMethod.NATIVE,
    Verdict.NATIVE_OCR: PageMethod.NATIVE_OCR,
    Verdict.BLANK: PageMethod.BLANK,
    Verdict.FAILED: PageMethod.FAILED,
}


@dataclass(slots=True)
class PageResult:
    """A page when all is done: its entry and its text."""

    number: int
    method: PageMethod
    text: str = ""
    quality: float | None = None
    reason: Reason | None = None
    problem: str = ""

    def entry(self) -> ExtractedPage:
        """Give the page as the extraction lists it."""
        return ExtractedPage(self.number, self.method, len(self.text), self.quality, self.problem)


def add_stamp(ocr_text: str, stamp: str) -> str:
    """Append the native lines of a scan that OCR did not read just the same."""
    found = " ".join(ocr_text.split())
    missed = [line for line in stamp.splitlines() if " ".join(line.split()) not in found]
    return "\n".join([ocr_text, *missed]).strip()


def as_it_is(page: PageInspection) -> PageResult:
    """Take a page that needs no OCR."""
    method = _METHODS[page.verdict]
    reason = None
    if method is PageMethod.FAILED:
        reason = Reason.TOO_BIG if page.problem.startswith(Reason.TOO_BIG) else Reason.DAMAGED
    return PageResult(page.number, method, page.text, page.quality, reason, page.problem)


def has_little_text(results: Sequence[PageResult]) -> bool:
    """Say whether pages hold less text on average than a written page does."""
    visible = sum(visible_length(result.text) for result in results)
    return visible < LOW_YIELD_CHARS * len(results)


def cut_pages(pages: Sequence[ExtractedPage], length: int) -> list[ExtractedPage]:
    """Make the pages fit a text that was cut to `length` characters."""
    cut, start = [], 0
    for page in pages:
        kept = max(0, min(page.char_count, length - start))
        cut.append(replace(page, char_count=kept))
        start += page.char_count + len(PAGE_SEPARATOR)
    return cut


def describe_lost(lost: Sequence[PageResult]) -> str:
    """Say which pages have no text and why, as `pages 3, 4 and 7 more: reason`."""
    by_problem: dict[str, list[int]] = {}
    for result in lost:
        by_problem.setdefault(result.problem, []).append(result.number)
    parts = []
    for problem, numbers in by_problem.items():
        shown = ", ".join(map(str, numbers[:10]))
        more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
        parts.append(f"page{'s' if len(numbers) > 1 else ''} {shown}{more}: {problem}")
    return "; ".join(parts)
