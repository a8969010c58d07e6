"""Images as documents: every frame a page, normalised for OCR."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import img2pdf
import PIL
from PIL import Image, ImageOps

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.sniff import MediaType
from sherlock_pg.ingest.source import AttachedFile, PageInspection, Verdict

MAX_DECODED_PIXELS = 200_000_000
"""An image with more pixels is not decoded at all."""

MAX_OCR_PIXELS = 40_000_000
"""A page image with more pixels is scaled down before OCR (A4 at 600 dpi has 35 million)."""

MIN_PAGE_PIXELS = 400
"""An image inside a document with a shorter side is a logo or a signature, not a page."""

_MAX_OCR_SIDE = 20_000
_MIN_OCR_SIDE = 100
_ASSUMED_PAGE_INCHES = 11.7
_PLAUSIBLE_DPI = (100, 600)
_PAGE_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP")
# Pillow trusts the header of a file: what stands there shows as almost any kind of error.
_BROKEN_IMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
)


def page_pdf(image: Image.Image) -> bytes:
    """Make a one-page PDF of a grey or bilevel image.

    The page size follows from a resolution that is guessed from the pixels, taking the long side
    for that of an A4 sheet: what files claim is often missing or 72.
    """
    dpi = round(
        min(max(max(image.size) / _ASSUMED_PAGE_INCHES, _PLAUSIBLE_DPI[0]), _PLAUSIBLE_DPI[1])
    )
    encoded = io.BytesIO()
    image.save(encoded, "PNG", compress_level=0)
    layout = img2pdf.get_fixed_dpi_layout_fun((dpi, dpi))
    pdf: bytes = img2pdf.convert(encoded.getvalue(), layout_fun=layout)
    return pdf


def fit_for_ocr(image: Image.Image) -> Image.Image:
    """Turn any image upright, flat and grey, and not larger than OCR can use."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode == "1":
        grey = upright
    elif upright.mode.startswith("I"):
        low, high = upright.getextrema()
        scale = 255 / 65535 if float(high) > 255 else 1  # type: ignore[arg-type]
        grey = upright.convert("I").point(lambda value: value * scale).convert("L")
    elif upright.has_transparency_data:
        layer = upright.convert("RGBA")
        paper = Image.new("RGBA", layer.size, "white")
        grey = Image.alpha_composite(paper, layer).convert("L")
    else:
        grey = upright.convert("L")
    shrink = min(
        1.0,
        math.sqrt(MAX_OCR_PIXELS / (grey.width * grey.height)),
        _MAX_OCR_SIDE / max(grey.size),
    )
    if shrink < 1.0:
        size = (max(1, int(grey.width * shrink)), max(1, int(grey.height * shrink)))
        grey = grey.convert("L").resize(size, Image.Resampling.BOX)
    if min(grey.size) < _MIN_OCR_SIDE:
        paper_size = (max(grey.width, _MIN_OCR_SIDE), max(grey.height, _MIN_OCR_SIDE))
        sheet = Image.new("L", paper_size, 255)
        sheet.paste(grey, (0, 0))
        grey = sheet
    return grey


def looks_like_page(data: bytes) -> bool:
    """Say whether an image inside a document may be a page, judged by its header."""
    try:
        with Image.open(io.BytesIO(data), formats=_PAGE_FORMATS) as image:
            return min(image.size) >= MIN_PAGE_PIXELS
    except (*_BROKEN_IMAGE, Image.DecompressionBombError):
        return False


def write_image_pages(images: Iterable[bytes], target: Path) -> None:
    """Write a PDF for OCR with one page for each encoded image.

    Raises:
        ExtractionFailure: an image is damaged or too big.
    """
    _write_pages((_decode(_open(data, _PAGE_FORMATS)) for data in images), target)


class ImageSource:
    """A PNG, JPEG or TIFF file; each frame of a TIFF is a page."""

    def __init__(self, data: bytes, media_type: MediaType, options: ExtractOptions) -> None:
        """Open the image and count its frames.

        Raises:
            ExtractionFailure: `damaged`, `too_big` or `too_many_pages`.
        """
        self.flags: Sequence[Flag] = ()
        self.loss = ""
        self.attached: Sequence[AttachedFile] = ()
        self.engine_versions = {"pillow": PIL.__version__, "img2pdf": img2pdf.__version__}
        self._image = _open(data, (media_type.removeprefix("image/").upper(),))
        try:
            frames = getattr(self._image, "n_frames", 1)
        except _BROKEN_IMAGE as error:
            raise ExtractionFailure(Reason.DAMAGED, f"{type(error).__name__}: {error}") from error
        if frames > options.max_pages:
            raise ExtractionFailure(
                Reason.TOO_MANY_PAGES, f"{frames} frames, the limit is {options.max_pages}"
            )
        self.pages: Sequence[PageInspection] = [
            PageInspection(number, Verdict.OCR) for number in range(1, frames + 1)
        ]

    def write_ocr_input(self, numbers: Sequence[int], target: Path) -> None:
        """Write these frames as a PDF.

        Raises:
            ExtractionFailure: a frame is damaged or too big.
        """
        _write_pages((self._frame(number) for number in numbers), target)

    def _frame(self, number: int) -> Image.Image:
        try:
            self._image.seek(number - 1)
        except _BROKEN_IMAGE as error:
            raise ExtractionFailure(Reason.DAMAGED, f"{type(error).__name__}: {error}") from error
        return _decode(self._image)

    def close(self) -> None:
        """Free the decoded frame."""
        self._image.close()


def _open(data: bytes, formats: tuple[str, ...]) -> Image.Image:
    Image.MAX_IMAGE_PIXELS = MAX_DECODED_PIXELS // 2
    try:
        return Image.open(io.BytesIO(data), formats=formats)
    except Image.DecompressionBombError as error:
        raise ExtractionFailure(Reason.TOO_BIG, str(error)) from error
    except _BROKEN_IMAGE as error:
        raise ExtractionFailure(Reason.DAMAGED, f"{type(error).__name__}: {error}") from error


def _decode(image: Image.Image) -> Image.Image:
    width, height = image.size
    if width * height > MAX_DECODED_PIXELS:
        raise ExtractionFailure(Reason.TOO_BIG, f"frame of {width} x {height} pixels")
    try:
        return fit_for_ocr(image)
    except _BROKEN_IMAGE as error:
        raise ExtractionFailure(Reason.DAMAGED, f"{type(error).__name__}: {error}") from error


def _write_pages(images: Iterable[Image.Image], target: Path) -> None:
    import pikepdf

    with pikepdf.Pdf.new() as pdf:
        for image in images:
            with pikepdf.Pdf.open(io.BytesIO(page_pdf(image))) as page:
                pdf.pages.extend(page.pages)
        pdf.save(target)
