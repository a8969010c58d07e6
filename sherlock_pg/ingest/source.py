"""What the readers have in common: inspected pages, input for OCR, and files inside."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sherlock_pg.ingest.quality import clean_text, text_quality
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


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file inside a document, not read yet.

    Attributes:
        name: as it stands there; may be empty or hostile.
        read: gives its bytes, or raises `ExtractionFailure` if they cannot be had or are more
            than the number it is given.
    """

    name: str
    read: Callable[[int], bytes]


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

    @property
    def attached(self) -> Sequence[AttachedFile]:
        """Files inside the document that are documents of their own."""

    def write_ocr_input(self, numbers: Sequence[int], target: Path) -> None:
        """Write a PDF with just these pages, for OCR; raises if one of them is broken."""

    def close(self) -> None:
        """Free what the document holds."""


@dataclass(slots=True)
class TextSource:
    """A document whose text is typed and not printed: one page, and scans pasted into it.

    Attributes:
        text: all of it.
        images: encoded images that are read as pages after the text.
        flags: what opening the document showed.
        loss: what is missing; empty if nothing is.
        engine_versions: libraries that were used.
        attached: files inside.
    """

    text: str
    images: Sequence[bytes] = ()
    flags: Sequence[Flag] = ()
    loss: str = ""
    engine_versions: dict[str, str] = field(default_factory=dict)
    attached: Sequence[AttachedFile] = ()
    pages: Sequence[PageInspection] = field(init=False)

    def __post_init__(self) -> None:
        cleaned = clean_text(self.text)
        verdict = Verdict.NATIVE if cleaned else Verdict.BLANK
        self.pages = [
            PageInspection(1, verdict, cleaned, text_quality(self.text)),
            *(PageInspection(2 + index, Verdict.OCR) for index in range(len(self.images))),
        ]

    def write_ocr_input(self, numbers: Sequence[int], target: Path) -> None:
        """Write these pasted images as a PDF.

        Raises:
            ExtractionFailure: an image is damaged or too big.
        """
        from sherlock_pg.ingest.images import write_image_pages

        write_image_pages((self.images[number - 2] for number in numbers), target)

    def close(self) -> None:
        """Free the images."""
        self.images = ()
