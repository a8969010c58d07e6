"""One document from file to text, in this process; `pool` runs it in limited children."""

from __future__ import annotations

import hashlib
import os
import resource
import stat
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sherlock_pg.ingest.model import (
    PAGE_SEPARATOR,
    ExtractedPage,
    Extraction,
    ExtractOptions,
    PageMethod,
    Status,
)
from sherlock_pg.ingest.ocr import OcrUnavailable, PageOcr, engine_versions, recognise
from sherlock_pg.ingest.quality import (
    GOOD_QUALITY,
    MIN_JUDGED_CHARS,
    clean_text,
    is_better,
    text_quality,
    visible_length,
)
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.sniff import MediaType, sniff
from sherlock_pg.ingest.source import PageInspection, PageSource, Verdict
from sherlock_pg.ingest.text import decode_text

LOW_YIELD_CHARS = 200
"""A document is flagged if its scanned pages, and all its pages, give less on average."""

_SHARE_OF_TIME_FOR_OCR = 0.8
_METHODS = {
    Verdict.NATIVE: PageMethod.NATIVE,
    Verdict.NATIVE_OCR: PageMethod.NATIVE_OCR,
    Verdict.BLANK: PageMethod.BLANK,
    Verdict.FAILED: PageMethod.FAILED,
}
_READ = (PageMethod.NATIVE, PageMethod.NATIVE_OCR, PageMethod.OCR)


@dataclass(frozen=True, slots=True)
class Progress:
    """What the child tells its parent while it works.

    Attributes:
        pages: number of pages in the document.
        ocr_pages: number of them that need OCR.
        in_ocr: pages that OCR works on now; lost if the process ends here.
    """

    pages: int
    ocr_pages: int
    in_ocr: tuple[int, ...] = ()


def _ignore(progress: Progress) -> None:
    pass


def extract_in_process(
    path: Path,
    options: ExtractOptions,
    *,
    on_progress: Callable[[Progress], None] = _ignore,
    without_ocr: Collection[int] = (),
) -> Extraction:
    """Read the text of a document. A bad document gives a failed `Extraction`, not an exception.

    Nothing limits this process: use `pool.Extractor` for documents from outside, which can ask
    for any amount of memory and time.

    Args:
        path: the file.
        options: limits and choices.
        on_progress: is told about pages and OCR as the work goes on.
        without_ocr: pages to give up on because OCR of them brought down a process before.

    Raises:
        EnvironmentFault: a page needs OCR and tesseract or a language pack is missing.
    """
    started, cpu_started = time.monotonic(), _cpu_seconds()
    reader = _Reader(path, options, started, on_progress, frozenset(without_ocr))
    try:
        extraction = reader.read()
    except ExtractionFailure as error:
        extraction = reader.failed(error.reason, error.detail)
    except MemoryError:
        extraction = reader.failed(Reason.MEMORY, "MemoryError")
    except OcrUnavailable as error:
        # Imported here because it brings psycopg: a third of a second in each child.
        from sherlock_pg.errors import EnvironmentFault

        raise EnvironmentFault(str(error), hint=error.hint) from error
    except Exception as error:
        extraction = reader.failed(Reason.CRASHED, f"{type(error).__name__}: {error}")
    return replace(
        extraction,
        seconds=round(time.monotonic() - started, 4),
        cpu_seconds=round(_cpu_seconds() - cpu_started, 4),
        ocr_seconds=round(reader.ocr_seconds, 4),
    )


@dataclass(slots=True)
class _PageResult:
    """A page when all is done: its entry and its text."""

    number: int
    method: PageMethod
    text: str = ""
    quality: float | None = None
    reason: Reason | None = None
    problem: str = ""

    def entry(self) -> ExtractedPage:
        return ExtractedPage(self.number, self.method, len(self.text), self.quality, self.problem)


@dataclass(slots=True)
class _Reader:
    """The reading of one document; keeps what is known about it in case it fails."""

    path: Path
    options: ExtractOptions
    started: float
    on_progress: Callable[[Progress], None]
    without_ocr: frozenset[int]
    media_type: str = ""
    sha256: str = ""
    flags: list[Flag] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    ocr_seconds: float = 0.0

    def read(self) -> Extraction:
        data = read_file(self.path, self.options.max_file_bytes)
        self.sha256 = hashlib.sha256(data).hexdigest()
        media_type = sniff(data)
        self.media_type = media_type
        if media_type is MediaType.TEXT:
            raw_text = decode_text(data)
            text = clean_text(raw_text)
            method = PageMethod.NATIVE if text else PageMethod.BLANK
            return self._finish([_PageResult(1, method, text, text_quality(raw_text))])
        source = _open_source(data, media_type, self.options)
        try:
            self.versions.update(source.engine_versions)
            self._add_flags(source.flags)
            return self._finish(self._read_pages(source), source.loss)
        finally:
            source.close()

    def failed(self, reason: Reason, detail: str) -> Extraction:
        return Extraction(
            Status.FAILED,
            reason,
            _one_line(detail),
            flags=tuple(self.flags),
            media_type=self.media_type,
            sha256=self.sha256,
            engine_versions=self.versions,
        )

    def _read_pages(self, source: PageSource) -> list[_PageResult]:
        pages = source.pages
        mode = self.options.ocr
        wanted = [
            page.number
            for page in pages
            if page.verdict.needs_ocr
            or (mode == "force" and page.verdict in (Verdict.NATIVE, Verdict.NATIVE_OCR))
        ]
        outcomes: dict[int, PageOcr] = {}
        if mode != "never":
            crashed = PageOcr(
                None, reason=Reason.CRASHED, detail="OCR of this page ended the process"
            )
            outcomes.update((number, crashed) for number in wanted if number in self.without_ocr)
            outcomes.update(
                self._run_ocr(source, [number for number in wanted if number not in outcomes])
            )
        results = []
        for page in pages:
            if page.number in outcomes:
                results.append(self._after_ocr(page, outcomes[page.number]))
            elif page.number in wanted:
                results.append(self._without_ocr(page))
            else:
                results.append(_as_it_is(page))
        return results

    def _run_ocr(self, source: PageSource, numbers: Sequence[int]) -> dict[int, PageOcr]:
        total = len(source.pages)
        self.on_progress(Progress(total, len(numbers)))
        if not numbers:
            return {}
        deadline = self.started + _SHARE_OF_TIME_FOR_OCR * self.options.wall_budget(
            total, len(numbers)
        )
        ocr_started = time.monotonic()
        try:
            outcomes = recognise(
                source,
                numbers,
                self.options,
                seconds_left=lambda: deadline - time.monotonic(),
                on_batch=lambda batch: self.on_progress(
                    Progress(total, len(numbers), tuple(batch))
                ),
            )
        finally:
            self.ocr_seconds = time.monotonic() - ocr_started
        self.versions.update(engine_versions(self.options.languages))
        return outcomes

    def _after_ocr(self, page: PageInspection, outcome: PageOcr) -> _PageResult:
        """Choose between the page's own text and what OCR found."""
        if outcome.text is None:
            if outcome.reason is Reason.TIMEOUT:
                self._add_flags([Flag.OCR_TIMEOUT_PAGES])
                method = PageMethod.SKIPPED
            else:
                method = PageMethod.FAILED
            return _PageResult(
                page.number, method, page.text, page.quality, outcome.reason, outcome.detail
            )
        quality = outcome.quality
        if page.verdict is Verdict.OCR_STAMP:
            return _PageResult(
                page.number, PageMethod.OCR, add_stamp(outcome.text, page.text), quality
            )
        if page.verdict is Verdict.OCR_JUNK:
            if (
                not is_better(outcome.text, quality, page.text, page.quality)
                and self.options.ocr != "force"
            ):
                return _PageResult(page.number, PageMethod.NATIVE, page.text, page.quality)
            self._add_flags([Flag.TEXT_LAYER_REPLACED])
        return _PageResult(page.number, PageMethod.OCR, outcome.text, quality)

    def _without_ocr(self, page: PageInspection) -> _PageResult:
        """Take what a page gives when OCR is switched off."""
        if page.verdict is Verdict.OCR_JUNK:
            return _PageResult(page.number, PageMethod.NATIVE, page.text, page.quality)
        self._add_flags([Flag.OCR_SKIPPED])
        return _PageResult(
            page.number,
            PageMethod.SKIPPED,
            page.text,
            page.quality,
            Reason.OCR_DISABLED,
            "a scan, and OCR is switched off",
        )

    def _finish(self, results: Sequence[_PageResult], loss: str = "") -> Extraction:
        text = PAGE_SEPARATOR.join(result.text for result in results)
        lost = [
            result for result in results if result.method in (PageMethod.FAILED, PageMethod.SKIPPED)
        ]
        if any(result.method is PageMethod.FAILED for result in lost):
            self._add_flags([Flag.FAILED_PAGES])
        if not text.strip():
            reason = next((result.reason for result in lost if result.reason), Reason.NO_TEXT)
            detail = _describe(lost)
            if reason is Reason.NO_TEXT and Flag.REPAIRED in self.flags:
                reason, detail = Reason.DAMAGED, "no text could be recovered"
            failed = self.failed(reason, detail)
            return replace(failed, pages=tuple(result.entry() for result in results))
        self._flag_weak_text(results)
        pages = [result.entry() for result in results]
        if len(text) > self.options.max_text_chars:
            text = text[: self.options.max_text_chars]
            pages = _cut(pages, len(text))
            self._add_flags([Flag.TRUNCATED])
        return Extraction(
            Status.PARTIAL if lost or loss else Status.OK,
            None,
            _one_line("; ".join(filter(None, (loss, _describe(lost))))),
            text,
            tuple(pages),
            tuple(self.flags),
            self.media_type,
            self.sha256,
            engine_versions=self.versions,
        )

    def _flag_weak_text(self, results: Sequence[_PageResult]) -> None:
        read = [result for result in results if result.method in _READ]
        scanned = [result for result in read if result.method is PageMethod.OCR]
        # A scanned identity card among pages full of text does not make the document a poor one.
        if scanned and _has_little_text(scanned) and _has_little_text(read):
            self._add_flags([Flag.LOW_YIELD])
        if self.media_type == MediaType.TEXT:
            # Nobody scanned or drew it: what stands there is the text, however odd its words.
            return
        judged = [(result.quality, len(result.text)) for result in results]
        weight = sum(chars for quality, chars in judged if quality is not None)
        if weight >= MIN_JUDGED_CHARS:
            mean = sum(q * chars for q, chars in judged if q is not None) / weight
            if mean < GOOD_QUALITY:
                self._add_flags([Flag.LOW_QUALITY])

    def _add_flags(self, flags: Iterable[Flag]) -> None:
        self.flags.extend(flag for flag in flags if flag not in self.flags)


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a regular file whole, and make sure it stood still meanwhile.

    Raises:
        ExtractionFailure: `missing_file`, `unreadable`, `empty_file`, `too_big` or
            `changed_while_read`.
    """
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ExtractionFailure(Reason.MISSING_FILE) from error
    except (OSError, ValueError) as error:
        raise ExtractionFailure(Reason.UNREADABLE, str(error)) from error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise ExtractionFailure(Reason.UNREADABLE, "not a regular file")
        if before.st_size > max_bytes:
            raise ExtractionFailure(
                Reason.TOO_BIG, f"{before.st_size} bytes, the limit is {max_bytes}"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(before.st_size + 1)
        after = os.fstat(descriptor)
    except OSError as error:
        raise ExtractionFailure(Reason.UNREADABLE, str(error)) from error
    finally:
        os.close(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or (
        len(data) != after.st_size
    ):
        raise ExtractionFailure(Reason.CHANGED_WHILE_READ)
    return data


def add_stamp(ocr_text: str, stamp: str) -> str:
    """Append the native lines of a scan that OCR did not read just the same."""
    found = " ".join(ocr_text.split())
    missed = [line for line in stamp.splitlines() if " ".join(line.split()) not in found]
    return "\n".join([ocr_text, *missed]).strip()


def _open_source(data: bytes, media_type: MediaType, options: ExtractOptions) -> PageSource:
    if media_type is MediaType.PDF:
        from sherlock_pg.ingest.pdf import PdfSource

        return PdfSource(data, options)
    from sherlock_pg.ingest.images import ImageSource

    return ImageSource(data, media_type, options)


def _as_it_is(page: PageInspection) -> _PageResult:
    method = _METHODS[page.verdict]
    reason = None
    if method is PageMethod.FAILED:
        reason = Reason.TOO_BIG if page.problem.startswith(Reason.TOO_BIG) else Reason.DAMAGED
    return _PageResult(page.number, method, page.text, page.quality, reason, page.problem)


def _has_little_text(results: Sequence[_PageResult]) -> bool:
    visible = sum(visible_length(result.text) for result in results)
    return visible < LOW_YIELD_CHARS * len(results)


def _cut(pages: Sequence[ExtractedPage], length: int) -> list[ExtractedPage]:
    cut, start = [], 0
    for page in pages:
        kept = max(0, min(page.char_count, length - start))
        cut.append(replace(page, char_count=kept))
        start += page.char_count + len(PAGE_SEPARATOR)
    return cut


def _describe(lost: Sequence[_PageResult]) -> str:
    """Say which pages have no text and why, as `pages 3, 4 and 7 more: reason`."""
    by_problem: dict[str, list[int]] = {}
    for result in lost:
        by_problem.setdefault(result.problem, []).append(result.number)
    parts = []
    for problem, numbers in by_problem.items():
        shown = ", ".join(map(str, numbers[:10]))
        more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
        parts.append(f"page{'s' if len(numbers) > 1 else ''} {shown}{more}: {problem}")
    return "; ".join(parts)


def _one_line(detail: str) -> str:
    return " ".join(detail.split())[:500]


def _cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
