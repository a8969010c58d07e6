"""PDF pages: their native text, and the verdict which of them need OCR."""

from __future__ import annotations

import contextlib
import ctypes
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from sherlock_pg.ingest.damage import describe_loss, is_cut_off
from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.quality import GOOD_QUALITY, clean_text, text_quality, visible_length
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.source import AttachedFile, PageInspection, Verdict

SCAN_COVER = 0.5
"""Share of a page that images must cover for it to count as a scan."""

STAMP_CHARS = 180
"""A scan with fewer native characters holds a stamp, not its text."""

OUTLINE_PATHS = 20
"""A page without text but with more paths than this may hold text drawn as outlines."""

_MAX_IMAGE_BYTES = 400_000_000
_MAX_COPIED_PIXELS = 40_000_000
_MAX_RENDERED_PIXELS = 25_000_000
_RASTER_DPI = (150.0, 300.0)
_MAX_COPIED_DPI = 400.0
_MAX_SURVEYED_OBJECTS = 20_000
_MIN_SHARE_FOR_RESOLUTION = 0.1
_MAX_FORM_DEPTH = 3
_MAX_ANNOTATIONS = 2_000
_XFA_PLACEHOLDER_CHARS = 600
_PRINTED_ANNOTATIONS = frozenset(
    {pdfium_c.FPDF_ANNOT_WIDGET, pdfium_c.FPDF_ANNOT_FREETEXT, pdfium_c.FPDF_ANNOT_STAMP}
)

_BUFFER_NAME = re.compile(r"^stream <[^>]*>: ")

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class PageContent:
    """What is drawn on a page.

    Attributes:
        width_points: page width.
        height_points: page height.
        image_cover: share of the page under images, 0..1.
        image_dpi: highest resolution among the images that matter.
        images: number of images.
        largest_image_bytes: decoded size of the largest image.
        paths: number of path objects.
        visible_texts: number of text objects that are drawn.
        invisible_texts: number of text objects in render mode 3, as OCR programs write them.
    """

    width_points: float
    height_points: float
    image_cover: float = 0.0
    image_dpi: float = 0.0
    images: int = 0
    largest_image_bytes: int = 0
    paths: int = 0
    visible_texts: int = 0
    invisible_texts: int = 0

    @property
    def is_scan(self) -> bool:
        """Say whether images cover most of the page."""
        return self.image_cover >= SCAN_COVER


def judge(text: str, quality: float | None, content: PageContent) -> Verdict:
    """Decide what is to be done with a page.

    Args:
        text: its native text, cleaned.
        quality: `text_quality` of that text as it came from the PDF.
        content: what is drawn on it.
    """
    if not text:
        has_picture = content.images > 0 or content.paths > OUTLINE_PATHS
        # Objects without any readable text are glyphs that no font mapping explains.
        return Verdict.OCR if has_picture or content.visible_texts else Verdict.BLANK
    if content.is_scan and visible_length(text) < STAMP_CHARS:
        return Verdict.OCR_STAMP
    if quality is not None and quality < GOOD_QUALITY:
        return Verdict.OCR_JUNK
    if content.is_scan and content.invisible_texts > content.visible_texts:
        return Verdict.NATIVE_OCR
    return Verdict.NATIVE


def raster_resolution(content: PageContent) -> float | None:
    """Choose at which resolution a page is rendered before OCR.

    A plain scan of usual size is handed to OCR as it is, at its own resolution. Anything else is
    rendered here, because OCRmyPDF would take pages with text or paths at 400 dpi (oversampling
    a noisy scan quadruples its error rate) and huge pages at any cost.

    Returns:
        Dots per inch, or None to hand the page over as it is.
    """
    square_inches = max(content.width_points * content.height_points / 72**2, 1e-6)
    is_plain = (
        content.is_scan
        and not content.visible_texts
        and not content.invisible_texts
        and not content.paths
        and content.image_dpi <= _MAX_COPIED_DPI
        and square_inches * content.image_dpi**2 <= _MAX_COPIED_PIXELS
    )
    if is_plain:
        return None
    low, high = _RASTER_DPI
    wanted = min(max(content.image_dpi, low), high) if content.is_scan else high
    return min(wanted, math.sqrt(_MAX_RENDERED_PIXELS / square_inches))


class PdfSource:
    """An opened PDF; the bytes stay in memory, so that later writes to the file don't matter."""

    def __init__(self, data: bytes, options: ExtractOptions) -> None:
        """Open the PDF, repairing it if need be, and inspect each page.

        Raises:
            ExtractionFailure: `encrypted`, `damaged`, `no_pages`, `too_many_pages`, `xfa_form`.
        """
        self.engine_versions = {
            "pypdfium2": str(pdfium.version.PYPDFIUM_INFO),
            "pdfium": str(pdfium.version.PDFIUM_INFO),
        }
        self.flags: list[Flag] = []
        self.attached: Sequence[AttachedFile] = ()
        if is_cut_off(data):
            self.flags.append(Flag.REPAIRED)  # pdfium rebuilds what it can, silently
        self._pdf = self._open(data)
        try:
            if len(self._pdf) > options.max_pages:
                raise ExtractionFailure(
                    Reason.TOO_MANY_PAGES,
                    f"{len(self._pdf)} pages, the limit is {options.max_pages}",
                )
            form_type = self._pdf.get_formtype()
            if form_type != pdfium_c.FORMTYPE_NONE:
                self._pdf.init_forms()
            self.pages: Sequence[PageInspection] = [
                self._inspect(number) for number in range(1, len(self._pdf) + 1)
            ]
            is_damaged = Flag.REPAIRED in self.flags
            self.loss = describe_loss(data, self.pages) if is_damaged else ""
            if form_type == pdfium_c.FORMTYPE_XFA_FULL and (
                sum(visible_length(page.text) for page in self.pages) < _XFA_PLACEHOLDER_CHARS
            ):
                raise ExtractionFailure(Reason.XFA_FORM, "dynamic XFA form (NeedsRendering)")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the document."""
        self._pdf.close()

    def write_ocr_input(self, numbers: Sequence[int], target: Path) -> None:
        """Write these pages as a PDF of their own.

        Copying drops signatures, tags, forms and encryption, each of which stops OCRmyPDF.

        Raises:
            ExtractionFailure: an image on a page is too big to be decoded.
        """
        from sherlock_pg.ingest.images import fit_for_ocr, page_pdf

        subset = pdfium.PdfDocument.new()
        with contextlib.closing(subset):
            for number in numbers:
                inspection = self.pages[number - 1]
                if inspection.raster_dpi is None:
                    subset.import_pages(self._pdf, pages=[number - 1])
                    continue
                with contextlib.closing(self._pdf[number - 1]) as page:
                    bitmap = page.render(scale=inspection.raster_dpi / 72, grayscale=True)
                    image = fit_for_ocr(bitmap.to_pil())
                with contextlib.closing(pdfium.PdfDocument(page_pdf(image))) as rendered:
                    subset.import_pages(rendered)
            subset.save(target)

    def _open(self, data: bytes) -> pdfium.PdfDocument:
        try:
            pdf = pdfium.PdfDocument(data)
            if len(pdf):
                return pdf
            pdf.close()
        except pdfium.PdfiumError:
            # Its error code says nothing: for some files pdfium leaves that of the last failure.
            pass
        return self._open_repaired(data)

    def _open_repaired(self, data: bytes) -> pdfium.PdfDocument:
        import pikepdf

        self.engine_versions["pikepdf"] = pikepdf.__version__
        repaired = io.BytesIO()
        try:
            with pikepdf.Pdf.open(io.BytesIO(data), suppress_warnings=True) as pdf:
                pages = len(pdf.pages)
                is_broken = bool(pdf.get_warnings())
                pdf.save(repaired)
        except pikepdf.PasswordError as error:
            raise ExtractionFailure(Reason.ENCRYPTED, _describe(error)) from error
        except (pikepdf.PdfError, RuntimeError, ValueError, KeyError, TypeError) as error:
            if "encrypt" in str(error):
                raise ExtractionFailure(Reason.ENCRYPTED, _describe(error)) from error
            raise ExtractionFailure(Reason.DAMAGED, _describe(error)) from error
        if not pages:
            if is_broken:
                raise ExtractionFailure(Reason.DAMAGED, "no page could be recovered")
            raise ExtractionFailure(Reason.NO_PAGES)
        try:
            pdf = pdfium.PdfDocument(repaired.getvalue())
        except pdfium.PdfiumError as error:
            raise ExtractionFailure(Reason.DAMAGED, str(error)) from error
        if Flag.REPAIRED not in self.flags:
            self.flags.append(Flag.REPAIRED)
        return pdf

    def _inspect(self, number: int) -> PageInspection:
        try:
            page = self._pdf[number - 1]
        except pdfium.PdfiumError as error:
            return PageInspection(number, Verdict.FAILED, problem=str(error))
        try:
            page = self._flattened(page, number)
            raw_text = _page_text(page)
            text = clean_text(raw_text)
            quality = text_quality(raw_text)
            content = _survey(page)
        except pdfium.PdfiumError as error:
            return PageInspection(number, Verdict.FAILED, problem=str(error))
        finally:
            page.close()
        verdict = judge(text, quality, content)
        if content.largest_image_bytes > _MAX_IMAGE_BYTES and verdict.needs_ocr:
            problem = f"{Reason.TOO_BIG}: an image of {content.largest_image_bytes >> 20} MiB"
            return PageInspection(number, Verdict.FAILED, text, quality, problem=problem)
        return PageInspection(number, verdict, text, quality, raster_resolution(content))

    def _flattened(self, page: pdfium.PdfPage, number: int) -> pdfium.PdfPage:
        """Draw form fields and stamps into the page, since they are not part of its text."""
        if not _has_printed_annotations(page):
            return page
        flattened = pdfium_c.FPDFPage_Flatten(page, pdfium_c.FLAT_NORMALDISPLAY)
        if flattened != pdfium_c.FLATTEN_SUCCESS:
            return page
        if Flag.FORM_FLATTENED not in self.flags:
            self.flags.append(Flag.FORM_FLATTENED)
        page.close()
        return self._pdf[number - 1]


def _has_printed_annotations(page: pdfium.PdfPage) -> bool:
    for index in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        subtype = pdfium_c.FPDFAnnot_GetSubtype(annotation)
        pdfium_c.FPDFPage_CloseAnnot(annotation)
        if subtype in _PRINTED_ANNOTATIONS:
            return True
    return False


def _page_text(page: pdfium.PdfPage) -> str:
    with contextlib.closing(page.get_textpage()) as text_page:
        try:
            text: str = text_page.get_text_range()
        except RecursionError:  # pypdfium2 skips leading unmapped characters one by one
            text = text_page.get_text_bounded()
        return text


def _survey(page: pdfium.PdfPage) -> PageContent:
    """Count what is drawn on a page, looking into form objects."""
    width, height = page.get_size()
    content = PageContent(width, height)
    page_box = page.get_bbox()
    texts: list[Any] = []
    get_type = pdfium_c.FPDFPageObj_GetType
    left_over = _MAX_SURVEYED_OBJECTS
    containers: list[tuple[Any, Callable[[Any, int], Any], int, Matrix, int]] = [
        (
            page.raw,
            pdfium_c.FPDFPage_GetObject,
            pdfium_c.FPDFPage_CountObjects(page),
            _IDENTITY,
            0,
        )
    ]
    while containers:
        container, get_object, count, matrix, depth = containers.pop()
        count = min(count, left_over)
        left_over -= count
        for index in range(count):
            item = get_object(container, index)
            kind = get_type(item)
            if kind == pdfium_c.FPDF_PAGEOBJ_TEXT:
                texts.append(item)
            elif kind == pdfium_c.FPDF_PAGEOBJ_PATH:
                content.paths += 1
            elif kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
                _add_image(content, item, matrix, page_box)
            elif kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < _MAX_FORM_DEPTH:
                containers.append(
                    (
                        item,
                        pdfium_c.FPDFFormObj_GetObject,
                        max(pdfium_c.FPDFFormObj_CountObjects(item), 0),
                        _multiply(_matrix(item), matrix),
                        depth + 1,
                    )
                )
    if content.is_scan:
        content.invisible_texts = sum(
            pdfium_c.FPDFTextObj_GetTextRenderMode(item) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE
            for item in texts
        )
    content.visible_texts = len(texts) - content.invisible_texts
    return content


def _add_image(content: PageContent, item: Any, matrix: Matrix, page_box: Box) -> None:
    left, bottom, right, top = page_box
    x0, y0, x1, y1 = _bounds(item, matrix)
    covered = max(0.0, min(x1, right) - max(x0, left)) * max(0.0, min(y1, top) - max(y0, bottom))
    share = covered / max((right - left) * (top - bottom), 1e-6)
    content.image_cover = min(1.0, content.image_cover + share)
    columns, rows = ctypes.c_uint(), ctypes.c_uint()
    pdfium_c.FPDFImageObj_GetImagePixelSize(item, columns, rows)
    pixels = columns.value * rows.value
    metadata = pdfium_c.FPDF_IMAGEOBJ_METADATA()
    pdfium_c.FPDFImageObj_GetImageMetadata(item, None, metadata)
    content.images += 1
    content.largest_image_bytes = max(
        content.largest_image_bytes, pixels * max(metadata.bits_per_pixel, 1) // 8
    )
    if share > _MIN_SHARE_FOR_RESOLUTION:
        shown = max((x1 - x0) * (y1 - y0), 1e-6)
        content.image_dpi = max(content.image_dpi, 72 * math.sqrt(pixels / shown))


def _matrix(item: Any) -> Matrix:
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(item, matrix):
        return _IDENTITY
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _multiply(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    p, q, r, s, t, u = outer
    return (
        a * p + b * r,
        a * q + b * s,
        c * p + d * r,
        c * q + d * s,
        e * p + f * r + t,
        e * q + f * s + u,
    )


def _bounds(item: Any, matrix: Matrix) -> Box:
    """Give left, bottom, right and top of an object on the page."""
    edges = [ctypes.c_float() for _ in range(4)]
    if not pdfium_c.FPDFPageObj_GetBounds(item, *edges):
        return 0.0, 0.0, 0.0, 0.0
    x0, y0, x1, y1 = (edge.value for edge in edges)
    if matrix == _IDENTITY:
        return x0, y0, x1, y1
    a, b, c, d, e, f = matrix
    corners = [
        (a * x + c * y + e, b * x + d * y + f) for x, y in ((x0, y0), (x0, y1), (x1, y0), (x1, y1))
    ]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _describe(error: Exception) -> str:
    """Name an error of pikepdf without the address of the buffer it was reading."""
    return f"{type(error).__name__}: {_BUFFER_NAME.sub('', str(error))}"
