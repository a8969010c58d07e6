"""What the PDF and the image reader have in common: inspected pages, and input for OCR."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sherlock_pg.ingest.reasons import Flag


class Verdict(enum.Enum):
    """What is to be done with a page."""

    NATIVE = "its text is good"
    NATIVE_OCR = "an earlier OCR left a good text layer"
    BLANK = "nothing is drawn"
    OCR = "an image or outlines, no text"
    OCR_STAMP = "a scan with a few native characters: OCR, and keep them"
    OCR_JUNK = "the text layer is unreadable: OCR, and replace it if that is better"
    FAILED = "the page cannot be read"

    @property
    def needs_ocr(self) -> bool:
        """Say whether the page image holds text that only OCR can get."""
        return self in (Verdict.OCR, Verdict.OCR_STAMP, Verdict.OCR_JUNK)


@dataclass(frozen=True, slots=True)
class PageInspection:
    """One page before OCR.

    Attributes:
        number: counted from 1.
        verdict: what is to be done with it.
        text: its native text, cleaned.
        quality: of that text.
        raster_dpi: resolution at which the page is to be rendered before OCR, or None to hand
            its content over as it is.
        problem: why it failed.
    """

    number: int
    verdict: Verdict
    text: str = ""
    quality: float | None = None
    raster_dpi: float | None = None
    problem: str = ""


class PageSource(Protocol):
    """An opened document whose pages have been inspected."""

    @property
    def pages(self) -> Sequence[PageInspection]:
        """The pages in order."""

    @property
    def flags(self) -> Sequence[Flag]:
        """What opening the document showed."""

    @property
    def loss(self) -> str:
        """What is missing of the document beside the pages that failed; empty if nothing is."""

    @property
    def engine_versions(self) -> dict[str, str]:
        """Libraries that were used to open it."""

    def write_ocr_input(self, numbers: Sequence[int], target: Path) -> None:
        """Write a PDF with just these pages, for OCR; raises if one of them is broken."""

    def close(self) -> None:
        """Free what the document holds."""
