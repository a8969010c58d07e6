"""Turns PDF pages into what a scanner or a telephone makes of the paper."""

from __future__ import annotations

import dataclasses
import io

import img2pdf
import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from sherlock_pg.samples.draw import Draw

_POINTS_PER_INCH = 72
_BICUBIC = Image.Resampling.BICUBIC


@dataclasses.dataclass(frozen=True)
class ScanLevel:
    """How bad a scan is.

    Attributes:
        dpi: resolution.
        rotation: least and greatest skew in degrees, to either side.
        blur: radius of the blur in pixels.
        noise: standard deviation of the grey noise, 0 to 255.
        shade: how much darker one side of the page is, 0 to 255.
        specks: share of pixels that are dirt.
        quality: JPEG quality.
        stamped: whether the first page bears the registry's stamp.
    """

    dpi: int
    rotation: tuple[float, float]
    blur: float
    noise: float
    shade: float
    specks: float
    quality: int
    stamped: bool


CLEAN = ScanLevel(
    dpi=200,
    rotation=(0.1, 0.4),
    blur=0.4,
    noise=2,
    shade=6,
    specks=0,
    quality=40,
    stamped=False,
)
NOISY = ScanLevel(
    dpi=200,
    rotation=(0.5, 1.4),
    blur=0.75,
    noise=6,
    shade=34,
    specks=0.00015,
    quality=30,
    stamped=True,
)


def _render(pdf: bytes, dpi: int) -> list[Image.Image]:
    document = pypdfium2.PdfDocument(pdf)
    try:
        pages = []
        for page in document:
            bitmap = page.render(scale=dpi / _POINTS_PER_INCH, grayscale=True)
            pages.append(bitmap.to_pil().convert("L"))
            page.close()
        return pages
    finally:
        document.close()


def _stamp(image: Image.Image, stamp: Image.Image, draw: Draw) -> Image.Image:
    """Press a stamp onto the upper right of a page; ink only darkens."""
    turned = stamp.rotate(draw.uniform(-5, 5), expand=True, fillcolor=255, resample=_BICUBIC)
    left = image.width - turned.width - draw.between(40, 110)
    ink = Image.new("L", image.size, 255)
    ink.paste(turned.point(lambda grey: 255 - (255 - grey) * 6 // 10), (left, draw.between(40, 90)))
    darkest = np.minimum(np.asarray(image), np.asarray(ink))
    return Image.fromarray(darkest)


def _degrade(image: Image.Image, level: ScanLevel, draw: Draw) -> Image.Image:
    side = 1 if draw.below(2) else -1
    angle = side * draw.uniform(*level.rotation)
    image = image.rotate(angle, resample=_BICUBIC, fillcolor=250)
    image = image.filter(ImageFilter.GaussianBlur(level.blur))
    random = np.random.Generator(np.random.PCG64(draw.below(2**31)))
    grey = np.asarray(image, dtype=np.float32)
    height, width = grey.shape
    ramp = np.linspace(0, level.shade, width, dtype=np.float32)
    grey = grey - (ramp if draw.below(2) else ramp[::-1])
    grey = grey + level.noise * random.standard_normal((height, width), dtype=np.float32)
    dirt = random.random((height, width), dtype=np.float32) < level.specks
    grey[dirt] = 60
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))


def scan_pages(
    pdf: bytes, level: ScanLevel, draw: Draw, *, stamp: bytes | None = None
) -> list[Image.Image]:
    """Return the pages of a PDF as grey images, degraded.

    Args:
        pdf: the document that lies on the scanner.
        level: how bad the scan is.
        draw: the stream of this scan; two scans of one paper need two streams.
        stamp: a PDF with the stamp, used if the level asks for one.
    """
    pages = _render(pdf, level.dpi)
    if level.stamped and stamp is not None:
        pages[0] = _stamp(pages[0], _render(stamp, level.dpi)[0], draw)
    return [_degrade(page, level, draw) for page in pages]


def as_pdf(pages: list[Image.Image], level: ScanLevel) -> bytes:
    """Return a PDF that holds nothing but JPEG pictures of the pages."""
    pictures = []
    for page in pages:
        buffer = io.BytesIO()
        page.save(buffer, "JPEG", quality=level.quality, dpi=(level.dpi, level.dpi))
        pictures.append(buffer.getvalue())
    pdf: bytes = img2pdf.convert(pictures, engine=img2pdf.Engine.internal, nodate=True)
    return pdf


def as_tiff(pages: list[Image.Image], level: ScanLevel) -> bytes:
    """Return a TIFF of several pages in black and white, as fax machines and copiers write it."""
    bitonal = [page.point(lambda grey: 255 * (grey > 150)).convert("1") for page in pages]
    buffer = io.BytesIO()
    bitonal[0].save(
        buffer,
        "TIFF",
        save_all=True,
        append_images=bitonal[1:],
        compression="group4",
        dpi=(level.dpi, level.dpi),
    )
    return buffer.getvalue()


def as_png(page: Image.Image, level: ScanLevel) -> bytes:
    """Return a PNG of one page in sixteen greys."""
    buffer = io.BytesIO()
    sixteen = page.point(lambda grey: grey // 16 * 17).quantize(16)
    sixteen.save(buffer, "PNG", dpi=(level.dpi, level.dpi), optimize=True)
    return buffer.getvalue()
