"""Why a document could not be read, and what is worth knowing about one that could.

The codes are part of the stable interface: they are stored with each document and printed by the
command line. `explain` gives the sentence a person needs beside a code.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Reason(enum.StrEnum):
    """Why an extraction failed."""

    MISSING_FILE = "missing_file"
    UNREADABLE = "unreadable"
    EMPTY_FILE = "empty_file"
    CHANGED_WHILE_READ = "changed_while_read"
    UNSUPPORTED_TYPE = "unsupported_type"
    TOO_BIG = "too_big"
    ENCRYPTED = "encrypted"
    DAMAGED = "damaged"
    NO_PAGES = "no_pages"
    TOO_MANY_PAGES = "too_many_pages"
    XFA_FORM = "xfa_form"
    NO_TEXT = "no_text"
    OCR_DISABLED = "ocr_disabled"
    OCR_ERROR = "ocr_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"


class Flag(enum.StrEnum):
    """Something to know about a document whose text was read."""

    REPAIRED = "repaired"
    FORM_FLATTENED = "form_flattened"
    TEXT_LAYER_REPLACED = "text_layer_replaced"
    FAILED_PAGES = "failed_pages"
    OCR_TIMEOUT_PAGES = "ocr_timeout_pages"
    OCR_SKIPPED = "ocr_skipped"
    LOW_YIELD = "low_yield"
    LOW_QUALITY = "low_quality"
    TRUNCATED = "truncated"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a code means, and what to do about it (empty where nothing is to be done)."""

    meaning: str
    advice: str


class ExtractionFailure(Exception):
    """The document cannot be read; carries the reason and one line of detail."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason
        self.detail = detail


_EXPLANATIONS: dict[Reason | Flag, Explanation] = {
    Reason.MISSING_FILE: Explanation(
        "the file does not exist (any more)", "check the path, or run again without it"
    ),
    Reason.UNREADABLE: Explanation(
        "the path is not a regular file that this user may read",
        "check its permissions; folders, pipes and devices cannot be loaded",
    ),
    Reason.EMPTY_FILE: Explanation("the file holds no bytes", "get the document again"),
    Reason.CHANGED_WHILE_READ: Explanation(
        "the file was written to while it was read", "run again when it is complete"
    ),
    Reason.UNSUPPORTED_TYPE: Explanation(
        "the content is none of PDF, PNG, JPEG, TIFF, DOCX, ODT, RTF, HTML, EML, ZIP, plain text",
        "save it as PDF and load that (an old DOC also as DOCX, an Outlook MSG as EML)",
    ),
    Reason.TOO_BIG: Explanation(
        "the file, an image in it or what it unpacks to is larger than the limit",
        "split the file into smaller ones, or scan it again at 200 to 300 dpi",
    ),
    Reason.ENCRYPTED: Explanation(
        "the document needs a password to be opened", "remove the password and load it again"
    ),
    Reason.DAMAGED: Explanation(
        "the content is broken beyond repair, or was cut off", "get the document again"
    ),
    Reason.NO_PAGES: Explanation("the PDF has no pages", "get the document again"),
    Reason.TOO_MANY_PAGES: Explanation(
        "the document has more pages than the limit", "raise --max-pages, or split it"
    ),
    Reason.XFA_FORM: Explanation(
        "the PDF is a dynamic XFA form; its pages exist only inside Adobe Reader",
        "print it to PDF from Adobe Reader and load that",
    ),
    Reason.NO_TEXT: Explanation(
        "all of it was read and it holds no text",
        "if it should hold text, get the file again; if it is a scan, scan it again, darker",
    ),
    Reason.OCR_DISABLED: Explanation(
        "all text is in scanned pages and OCR is switched off", "load it with --ocr auto"
    ),
    Reason.OCR_ERROR: Explanation(
        "OCR failed on every page that needed it", "see the detail; open the file and scan it again"
    ),
    Reason.TIMEOUT: Explanation(
        "reading took longer than the time limit", "raise --timeout and retry the failed ones"
    ),
    Reason.MEMORY: Explanation(
        "reading needed more memory than one document may take",
        "split the file into smaller ones, or scan it again at 200 to 300 dpi",
    ),
    Reason.CRASHED: Explanation(
        "the extraction process ended unexpectedly",
        "retry the failed ones; if it happens again, report it with the detail",
    ),
    Flag.REPAIRED: Explanation(
        "the file was damaged; what could be recovered was read",
        "if pages are missing, get the document again",
    ),
    Flag.FORM_FLATTENED: Explanation("values of form fields are part of the text", ""),
    Flag.TEXT_LAYER_REPLACED: Explanation(
        "a text layer was unreadable; OCR of the page image took its place", ""
    ),
    Flag.FAILED_PAGES: Explanation(
        "some pages could not be read; their text is missing", "look at these pages in the file"
    ),
    Flag.OCR_TIMEOUT_PAGES: Explanation(
        "OCR of some pages ran out of time; their text is missing",
        "raise --timeout and load it again",
    ),
    Flag.OCR_SKIPPED: Explanation(
        "some pages are scans and OCR is switched off; their text is missing",
        "load it with --ocr auto",
    ),
    Flag.LOW_YIELD: Explanation(
        "there is very little text, and it comes from scanned pages",
        "check the scan: is it upright, sharp, dark enough?",
    ),
    Flag.LOW_QUALITY: Explanation(
        "much of the text does not look like words", "scan it again at 200 to 300 dpi"
    ),
    Flag.TRUNCATED: Explanation("the text was longer than the limit; its end is missing", ""),
    Flag.CONTAINER: Explanation("an archive; its files are the documents", ""),
}


def explain(code: Reason | Flag) -> Explanation:
    """Say what a reason or flag means and what to do about it."""
    return _EXPLANATIONS[code]
