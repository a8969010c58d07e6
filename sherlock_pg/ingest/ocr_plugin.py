"""A plugin for OCRmyPDF: only what the text of a page needs.

OCRmyPDF's own engine has tesseract write the position of each word, to lay the text over the page
image of a new PDF, and packs page images tightly. Nobody here reads that PDF, and an image is
read once: this took a sixth of the processor time of a page.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from subprocess import PIPE, STDOUT, CalledProcessError, TimeoutExpired
from typing import Any

import pypdfium2 as pdfium
from ocrmypdf import hookimpl
from ocrmypdf.builtin_plugins.tesseract_ocr import TesseractOcrEngine
from ocrmypdf.exceptions import SubprocessOutputError
from ocrmypdf.helpers import Resolution
from ocrmypdf.subprocess import run

from sherlock_pg.ingest.ocr import SKIPPED_PAGE

_POINTS_PER_INCH = 72
_EMPTY_PAGE = b"Empty page!!"


class TextEngine(TesseractOcrEngine):
    """Tesseract for the renderer `sandwich`, with a text file but without a PDF."""

    @staticmethod
    def generate_pdf(input_file: Path, output_pdf: Path, output_text: Path, options: Any) -> None:
        """Recognise a page image; see `ocrmypdf.pluginspec.OcrEngine`.

        Raises:
            SubprocessOutputError: tesseract failed; the message is the end of what it said.
        """
        settings = options.tesseract
        command = [
            "tesseract",
            *("-l", "+".join(options.languages)),
            *("--psm", str(settings.pagesegmode)),
            str(input_file),
            str(output_text.with_suffix("")),
            "txt",
        ]
        # An empty file tells OCRmyPDF that there is no text to be laid over the page.
        output_pdf.write_bytes(b"")
        try:
            run(
                command,
                stdout=PIPE,
                stderr=STDOUT,
                timeout=settings.timeout,
                check=True,
                env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            )
        except TimeoutExpired:
            output_text.write_text(SKIPPED_PAGE, encoding="utf-8")
        except CalledProcessError as error:
            if _EMPTY_PAGE not in error.output:
                said = error.output.decode(errors="replace").strip()
                raise SubprocessOutputError(f"exit code {error.returncode}: {said}") from error
            output_text.write_text("", encoding="utf-8")


@hookimpl
def get_ocr_engine(options: Any) -> TextEngine:
    """Take the place of OCRmyPDF's own engine."""
    return TextEngine()


@hookimpl
def rasterize_pdf_page(
    input_file: Path,
    output_file: Path,
    raster_dpi: Resolution[float],
    pageno: int,
    page_dpi: Resolution[float],
) -> Path:
    """Render a page in grey; there is one thread, since pdfium bears no more (`jobs=1`)."""
    with (
        contextlib.closing(pdfium.PdfDocument(input_file)) as pdf,
        contextlib.closing(pdf[pageno - 1]) as page,
    ):
        page.set_cropbox(*page.get_mediabox())
        bitmap = page.render(scale=raster_dpi.to_scalar() / _POINTS_PER_INCH, grayscale=True)
        with contextlib.closing(bitmap):
            bitmap.to_pil().save(
                output_file, "PNG", compress_level=0, dpi=(float(page_dpi.x), float(page_dpi.y))
            )
    return output_file
