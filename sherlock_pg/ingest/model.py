"""What goes into an extraction and what comes out of it; plain values that cross processes."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from sherlock_pg.ingest.reasons import Flag, Reason

PAGE_SEPARATOR = "\n\n"
"""Stands between the texts of two pages in `Extraction.text`."""

MAX_ATTACHMENT_DEPTH = 4
"""How deep a caller should follow attachments of attachments; the file itself has depth 0."""

OcrMode = Literal["auto", "never", "force"]


class Status(enum.StrEnum):
    """How far the reading of a document got."""

    OK = "ok"
    """Every page was read, and there is text."""
    PARTIAL = "partial"
    """There is text, but pages failed, ran out of time, were skipped or are missing."""
    FAILED = "failed"
    """There is no text; `Extraction.reason` says why."""


class PageMethod(enum.StrEnum):
    """Where the text of a page comes from."""

    NATIVE = "native"
    """The page's own text."""
    NATIVE_OCR = "native_ocr"
    """An invisible text layer that an earlier OCR put over the page image."""
    OCR = "ocr"
    """Our OCR, with native stamp lines kept after it."""
    BLANK = "blank"
    """Nothing is drawn on the page."""
    FAILED = "failed"
    """The page could not be read."""
    SKIPPED = "skipped"
    """The page needs OCR but got none: switched off, or out of time."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """Limits and choices for one extraction; the same for all documents of a run.

    Attributes:
        ocr: `auto` reads scans and unreadable text layers by OCR, `never` skips them, `force`
            reads every page that is not blank by OCR.
        languages: tesseract language packs, most likely first.
        wall_seconds: real time that every document gets, however small; its whole limit is this
            plus `seconds_per_page` for each page plus `seconds_per_ocr_page` for each page that
            needs OCR (`wall_budget`).
        seconds_per_page: added to that limit for each page.
        seconds_per_ocr_page: added to that limit for each page that needs OCR.
        tesseract_timeout: most seconds tesseract may take for one page.
        max_pages: a document with more pages is refused.
        max_file_bytes: a larger file is refused.
        max_text_chars: a longer text is cut, with the flag `truncated`.
        memory_bytes: address space of the child process and of each tesseract.
        max_attachments: a mail or archive with more files inside is refused.
        max_attachment_bytes: so is one whose files have more bytes together, unpacked.
    """

    ocr: OcrMode = "auto"
    languages: tuple[str, ...] = ("spa",)
    wall_seconds: float = 120.0
    seconds_per_page: float = 0.1
    seconds_per_ocr_page: float = 15.0
    tesseract_timeout: float = 60.0
    max_pages: int = 2000
    max_file_bytes: int = 512 << 20
    max_text_chars: int = 20_000_000
    memory_bytes: int = 2 << 30
    max_attachments: int = 1000
    max_attachment_bytes: int = 256 << 20

    def wall_budget(self, pages: int, ocr_pages: int) -> float:
        """Give the time limit of a document with so many pages, in seconds."""
        return (
            self.wall_seconds
            + pages * self.seconds_per_page
            + ocr_pages * self.seconds_per_ocr_page
        )

    def to_values(self) -> dict[str, Any]:
        """Give the options as JSON-compatible values."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """Restore what `to_values` gave."""
        return cls(**{**values, "languages": tuple(values["languages"])})


@dataclass(frozen=True, slots=True)
class ExtractedPage:
    """One page of a document.

    Attributes:
        number: counted from 1.
        method: where the text comes from.
        char_count: length of the page's part of `Extraction.text`.
        quality: share of word-like text, 0..1; None where there is too little to judge.
        problem: what went wrong on a failed or skipped page.
    """

    number: int
    method: PageMethod
    char_count: int
    quality: float | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file inside a document, which is a document of its own.

    Attributes:
        name: as the mail or archive gives it, made storable; for showing, not for opening.
        media_type: what its content is; empty where that cannot be read.
        size_bytes: its length.
        file: name of the file that holds its bytes in the folder given to the extraction; None
            if none was given.
    """

    name: str
    media_type: str
    size_bytes: int
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of a document, and how it was got.

    A document without any text is `failed`: with `no_text` when everything in it was read (its
    pages are blank, or OCR ran and found nothing), with `ocr_disabled` when only the skipped OCR
    could tell, otherwise with what kept its pages from being read. The exception is a container
    (flag `container`): an archive has no text of its own, and is ok if its files could be had.

    Attributes:
        status: ok, partial or failed.
        reason: why it failed; None otherwise.
        detail: one line for the log, naming exceptions and pages.
        text: the pages' texts joined by `PAGE_SEPARATOR`; never holds NUL or surrogates.
        pages: one entry per page, in order; empty where the document could not be opened.
        flags: what else to know, without repetitions.
        media_type: what the content is, empty where that is unknown.
        sha256: of the bytes that were read, in hexadecimal; empty where none were.
        seconds: wall-clock time.
        cpu_seconds: processor time including tesseract; 0 where the process had to be killed.
        ocr_seconds: of the wall-clock time, what OCR took; 0 where the process had to be killed.
        engine_versions: libraries and programs that had a part in it.
        attachments: files inside that are documents of their own, in order.
    """

    status: Status
    reason: Reason | None = None
    detail: str = ""
    text: str = ""
    pages: tuple[ExtractedPage, ...] = ()
    flags: tuple[Flag, ...] = ()
    media_type: str = ""
    sha256: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    ocr_seconds: float = 0.0
    engine_versions: dict[str, str] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()

    def page_texts(self) -> Iterator[str]:
        """Give the text of each page, in order."""
        start = 0
        for page in self.pages:
            yield self.text[start : start + page.char_count]
            start += page.char_count + len(PAGE_SEPARATOR)

    def to_values(self) -> dict[str, Any]:
        """Give the extraction as JSON-compatible values."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "pages": [[p.number, p.method, p.char_count, p.quality, p.problem] for p in self.pages],
            "attachments": [[a.name, a.media_type, a.size_bytes, a.file] for a in self.attachments],
        }

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """Restore what `to_values` gave, also after a round trip through JSON."""
        reason = values["reason"]
        return cls(
            **{
                **values,
                "status": Status(values["status"]),
                "reason": None if reason is None else Reason(reason),
                "flags": tuple(Flag(flag) for flag in values["flags"]),
                "pages": tuple(
                    ExtractedPage(number, PageMethod(method), chars, quality, problem)
                    for number, method, chars, quality, problem in values["pages"]
                ),
                "attachments": tuple(Attachment(*each) for each in values["attachments"]),
            }
        )

    def to_json(self) -> str:
        """Give the extraction as one line of ASCII JSON."""
        return json.dumps(self.to_values())

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Restore what `to_json` gave."""
        return cls.from_values(json.loads(line))
