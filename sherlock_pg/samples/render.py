"""From a filing to the bytes of a file: native PDF, text, or a scan in one of several formats."""

from __future__ import annotations

import enum

from PIL import Image

from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.samples import scan
from sherlock_pg.samples.cases import Case
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.filing import Filing
from sherlock_pg.samples.scan import ScanLevel
from sherlock_pg.samples.variants import Kind

try:
    from sherlock_pg.samples import pdf
except ModuleNotFoundError as error:
    if error.name != "fpdf":
        raise
    raise EnvironmentFault(
        "the samples are drawn with fpdf2, which is not installed",
        hint="pip install 'sherlock-pg[dev]'",
    ) from error


class Format(enum.StrEnum):
    """A file format, by its extension."""

    PDF = "pdf"
    TXT = "txt"
    PNG = "png"
    TIFF = "tiff"


SCAN_LEVELS = {Kind.CLEAN_SCAN: scan.CLEAN, Kind.NOISY_SCAN: scan.NOISY}


def _scanned(seed: int, case: Case, filing: Filing, kind: Kind) -> list[Image.Image]:
    stamp = pdf.draw_stamp(
        [
            "RECIBIDO",
            f"OFICINA JUDICIAL - {case.city.name.upper()}",
            f"{case.filing_date:%d.%m.%Y}",
        ]
    )
    draw = Draw(seed, case.case_id, "scan", kind.value)
    return scan.scan_pages(pdf.draw_pdf(filing), SCAN_LEVELS[kind], draw, stamp=stamp)


def _as_image_file(pages: list[Image.Image], level: ScanLevel, file_format: Format) -> bytes:
    match file_format:
        case Format.TIFF:
            return scan.as_tiff(pages, level)
        case Format.PNG if len(pages) == 1:
            return scan.as_png(pages[0], level)
        case Format.PDF:
            return scan.as_pdf(pages, level)
    raise ValueError(f"{len(pages)} pages can't be written as {file_format}")


def render_file(seed: int, case: Case, filing: Filing, kind: Kind, file_format: Format) -> bytes:
    """Return the bytes of a document.

    Args:
        seed: the seed of the collection; decides the marks of the scanner.
        case: the case that the filing is about.
        filing: the words and the layout.
        kind: scans are rendered and degraded, everything else is native.
        file_format: PNG holds one page, TIFF and PNG only scans, text no scan.
    """
    if kind in SCAN_LEVELS:
        pages = _scanned(seed, case, filing, kind)
        return _as_image_file(pages, SCAN_LEVELS[kind], file_format)
    if file_format is Format.TXT:
        return filing.text().encode()
    if file_format is Format.PDF:
        return pdf.draw_pdf(filing)
    raise ValueError(f"a document of kind {kind} can't be written as {file_format}")
