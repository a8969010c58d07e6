"""OCR of selected pages by OCRmyPDF, which is imported only when a page needs it.

A document of native text must load on a machine without tesseract, and OCRmyPDF insists on it
even when it has nothing to do.
"""

from __future__ import annotations

import errno
import importlib.metadata
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.quality import clean_text, is_better, join_broken_words, text_quality
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.source import PageSource

BATCH_PAGES = 4
"""Pages handed to OCRmyPDF at once: what is lost when one of them brings the process down."""

HUNG_AFTER_TIMEOUTS = 3
"""Timeouts in a row after which tesseract is taken to hang and the rest is skipped."""

RETRY_QUALITY = 0.75
"""A page that reads worse is tried once more with its orientation detected: it may lie sideways.

Detecting it on every page costs 0.8 seconds of processor time a page, half as much again.
"""

SKIPPED_PAGE = "[skipped page]"
"""What OCRmyPDF writes in place of the text of a page on which tesseract ran out of time."""

_PROBE_SECONDS = 20.0
_MIN_PAGE_SECONDS = 1.0
_AUTOMATIC_LAYOUT = 3
_AUTOMATIC_LAYOUT_WITH_ORIENTATION = 1
_MAX_IMAGE_MPIXELS = 250


@dataclass(frozen=True, slots=True)
class TesseractCheck:
    """What `check_tesseract` found.

    Attributes:
        path: the program, or None if there is none on PATH.
        version: what it says of itself, for example `5.3.0`.
        languages: installed language packs.
        missing_languages: those that were asked for and are not installed.
        problem: one line on what is wrong, empty if OCR can run.
        hint: the command that puts it right, empty if OCR can run.
    """

    path: str | None
    version: str | None
    languages: tuple[str, ...]
    missing_languages: tuple[str, ...]
    problem: str
    hint: str

    @property
    def is_usable(self) -> bool:
        """Say whether OCR in the languages asked for can run."""
        return not self.problem


class OcrUnavailable(Exception):
    """Tesseract, a language pack or room on the disk is missing; not the fault of any document."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class PageOcr:
    """The outcome for one page: its text, or why there is none."""

    text: str | None
    quality: float | None = None
    reason: Reason | None = None
    detail: str = ""


def check_tesseract(languages: Sequence[str]) -> TesseractCheck:
    """Look whether tesseract and these language packs are installed; never raises."""
    hint = "apt-get install -y " + " ".join(
        ["tesseract-ocr", *(f"tesseract-ocr-{lang.replace('_', '-')}" for lang in languages)]
    )
    path = shutil.which("tesseract")
    if path is None:
        return TesseractCheck(
            None, None, (), tuple(languages), "tesseract is not installed (not on PATH)", hint
        )
    try:
        version_lines = _run(path, "--version")
        language_lines = _run(path, "--list-langs")
    except (OSError, subprocess.SubprocessError) as error:
        problem = f"tesseract does not run: {type(error).__name__}: {error}"
        return TesseractCheck(path, None, (), tuple(languages), problem, hint)
    version = version_lines[0].split()[-1] if version_lines else None
    installed = tuple(line.strip() for line in language_lines[1:] if line.strip())
    missing = tuple(lang for lang in languages if lang not in installed)
    problem = f"tesseract has no language pack for: {', '.join(missing)}" if missing else ""
    return TesseractCheck(path, version, installed, missing, problem, hint if missing else "")


def require_tesseract(languages: tuple[str, ...]) -> str:
    """Give tesseract's version; a success is remembered for the life of the process.

    Raises:
        OcrUnavailable: tesseract or a language pack is missing.
    """
    check = _check_once(languages)
    if not check.is_usable:
        _check_once.cache_clear()
        raise OcrUnavailable(check.problem, check.hint)
    return check.version or "unknown"


def recognise(
    source: PageSource,
    numbers: Sequence[int],
    options: ExtractOptions,
    *,
    seconds_left: Callable[[], float],
    on_batch: Callable[[Sequence[int]], None],
) -> dict[int, PageOcr]:
    """Run OCR over some pages, a few at a time.

    A page on which OCR fails costs only that page. When time gets short the remaining pages are
    given up, so that what was read so far is kept.

    Args:
        source: the document.
        numbers: the pages that need OCR.
        options: languages and time limits.
        seconds_left: says how much time remains for the document.
        on_batch: is told which pages are worked on, before the work.

    Raises:
        OcrUnavailable: tesseract or a language pack is missing.
    """
    require_tesseract(options.languages)
    outcomes: dict[int, PageOcr] = {}
    timeouts_in_a_row = 0
    for start in range(0, len(numbers), BATCH_PAGES):
        batch = numbers[start : start + BATCH_PAGES]
        remaining = seconds_left()
        if timeouts_in_a_row >= HUNG_AFTER_TIMEOUTS or remaining < _MIN_PAGE_SECONDS * len(batch):
            gave_up = PageOcr(None, reason=Reason.TIMEOUT, detail="no time left for OCR")
            outcomes.update(dict.fromkeys(numbers[start:], gave_up))
            break
        on_batch(batch)
        page_seconds = min(options.tesseract_timeout, remaining / len(batch))
        read = _recognise_batch(source, batch, options.languages, page_seconds, _AUTOMATIC_LAYOUT)
        for number in batch:
            is_timeout = read[number].reason is Reason.TIMEOUT
            timeouts_in_a_row = timeouts_in_a_row + 1 if is_timeout else 0
        weak = [number for number in batch if _is_weak(read[number])]
        page_seconds = min(page_seconds, seconds_left() / max(len(weak), 1))
        if weak and page_seconds >= _MIN_PAGE_SECONDS:
            again = _recognise_batch(
                source, weak, options.languages, page_seconds, _AUTOMATIC_LAYOUT_WITH_ORIENTATION
            )
            read.update((number, _better(read[number], again[number])) for number in weak)
        outcomes.update(read)
    on_batch(())
    return outcomes


def _is_weak(page: PageOcr) -> bool:
    return bool(page.text) and (page.quality is None or page.quality < RETRY_QUALITY)


def _better(first: PageOcr, second: PageOcr) -> PageOcr:
    if first.text is None or second.text is None:
        return first
    return second if is_better(second.text, second.quality, first.text, first.quality) else first


def _recognise_batch(
    source: PageSource,
    numbers: Sequence[int],
    languages: tuple[str, ...],
    page_seconds: float,
    layout: int,
) -> dict[int, PageOcr]:
    from ocrmypdf.exceptions import MissingDependencyError

    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="ocr-") as folder:
            pages = Path(folder, "pages.pdf")
            source.write_ocr_input(numbers, pages)
            texts = _run_ocrmypdf(pages, languages, page_seconds, layout)
        if len(texts) != len(numbers):
            raise ExtractionFailure(
                Reason.OCR_ERROR, f"OCR gave {len(texts)} pages of {len(numbers)}"
            )
    except MissingDependencyError as error:
        check = check_tesseract(languages)
        raise OcrUnavailable(str(error) or check.problem, check.hint) from error
    except OcrUnavailable:
        raise
    except Exception as error:  # OCRmyPDF leaks errors of every library below it
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise OcrUnavailable(
                f"no space left in {tempfile.gettempdir()} for OCR",
                "make space there, or set TMPDIR to a folder with more",
            ) from error
        if len(numbers) == 1:
            return {numbers[0]: _failed_page(error)}
        outcomes: dict[int, PageOcr] = {}
        for number in numbers:
            spent = time.monotonic() - started
            alone_seconds = max(_MIN_PAGE_SECONDS, page_seconds - spent / len(numbers))
            outcomes.update(_recognise_batch(source, [number], languages, alone_seconds, layout))
        return outcomes
    return {
        number: PageOcr(
            None, reason=Reason.TIMEOUT, detail=f"tesseract took more than {page_seconds:.0f} s"
        )
        if text.strip() == SKIPPED_PAGE
        else PageOcr(join_broken_words(clean_text(text)), text_quality(text))
        for number, text in zip(numbers, texts, strict=True)
    }


def _run_ocrmypdf(
    pages: Path, languages: tuple[str, ...], page_seconds: float, layout: int
) -> list[str]:
    """Give the text of each page.

    The mode `force` makes a new PDF page of each page image, for nothing. `default` does not, but
    refuses a page with text: pages are copied without, yet it may see some that pdfium does not.
    """
    from ocrmypdf.exceptions import PriorOcrFoundError

    try:
        return _run_ocrmypdf_in_mode("default", pages, languages, page_seconds, layout)
    except PriorOcrFoundError:
        return _run_ocrmypdf_in_mode("force", pages, languages, page_seconds, layout)


def _run_ocrmypdf_in_mode(
    mode: str, pages: Path, languages: tuple[str, ...], page_seconds: float, layout: int
) -> list[str]:
    import ocrmypdf

    sidecar = pages.with_suffix(".txt")
    ocrmypdf.ocr(
        pages,
        "-",
        output_type="none",
        sidecar=sidecar,
        language=list(languages),
        mode=mode,
        jobs=1,
        optimize=0,
        progress_bar=False,
        plugins=["sherlock_pg.ingest.ocr_plugin"],
        pdf_renderer="sandwich",
        tesseract_timeout=page_seconds,
        tesseract_pagesegmode=layout,
        max_image_mpixels=_MAX_IMAGE_MPIXELS,
    )
    return sidecar.read_text(encoding="utf-8").split("\f")


def _failed_page(error: Exception) -> PageOcr:
    if isinstance(error, ExtractionFailure):
        return PageOcr(None, reason=error.reason, detail=error.detail)
    detail = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, MemoryError):
        return PageOcr(None, reason=Reason.MEMORY, detail=detail)
    if type(error).__name__ == "DecompressionBombError":
        return PageOcr(None, reason=Reason.TOO_BIG, detail=detail)
    return PageOcr(None, reason=Reason.OCR_ERROR, detail=detail)


def engine_versions(languages: tuple[str, ...]) -> dict[str, str]:
    """Name the versions of what OCR uses."""
    return {
        "ocrmypdf": importlib.metadata.version("ocrmypdf"),
        "tesseract": require_tesseract(languages),
    }


@lru_cache(maxsize=8)
def _check_once(languages: tuple[str, ...]) -> TesseractCheck:
    return check_tesseract(languages)


def _run(path: str, argument: str) -> list[str]:
    done = subprocess.run(
        [path, argument],
        capture_output=True,
        check=True,
        text=True,
        errors="replace",
        timeout=_PROBE_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    return (done.stdout or done.stderr).splitlines()
