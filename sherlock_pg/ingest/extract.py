"""One document from file to text, in this process; `pool` runs it in limited children."""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sherlock_pg.ingest.attachments import describe_failures, unpack
from sherlock_pg.ingest.files import read_file
from sherlock_pg.ingest.kinds import open_source
from sherlock_pg.ingest.model import (
    PAGE_SEPARATOR,
    Extraction,
    ExtractOptions,
    PageMethod,
    Status,
)
from sherlock_pg.ingest.ocr import OcrUnavailable, PageOcr, engine_versions, recognise
from sherlock_pg.ingest.pages import (
    PageResult,
    add_stamp,
    as_it_is,
    cut_pages,
    describe_lost,
    has_little_text,
)
from sherlock_pg.ingest.quality import GOOD_QUALITY, MIN_JUDGED_CHARS, is_better
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.sniff import MediaType, sniff
from sherlock_pg.ingest.source import PageInspection, PageSource, Verdict

_SHARE_OF_TIME_FOR_OCR = 0.8
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
    attachments_into: Path | None = None,
) -> Extraction:
    """Read the text of a document. A bad document gives a failed `Extraction`, not an exception.

    Nothing limits this process: use `pool.Extractor` for documents from outside, which can ask
    for any amount of memory and time.

    Args:
        path: the file.
        options: limits and choices.
        on_progress: is told about pages and OCR as the work goes on.
        without_ocr: pages to give up on because OCR of them brought down a process before.
        attachments_into: folder that gets the files inside the document; None to list them only.

    Raises:
        EnvironmentFault: a page needs OCR and tesseract or a language pack is missing.
    """
    started, cpu_started = time.monotonic(), _cpu_seconds()
    reader = _Reader(path, options, started, on_progress, frozenset(without_ocr), attachments_into)
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
class _Reader:
    """The reading of one document; keeps what is known about it in case it fails."""

    path: Path
    options: ExtractOptions
    started: float
    on_progress: Callable[[Progress], None]
    without_ocr: frozenset[int]
    attachments_into: Path | None
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
        source = open_source(data, media_type, self.options)
        try:
            self.versions.update(source.engine_versions)
            self._add_flags(source.flags)
            attachments, lost = unpack(source.attached, self.options, self.attachments_into)
            if lost and not attachments and Flag.CONTAINER in self.flags:
                raise lost[0]
            loss = "; ".join(filter(None, (source.loss, describe_failures(lost))))
            extraction = self._finish(self._read_pages(source), loss)
            return replace(extraction, attachments=attachments)
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

    def _read_pages(self, source: PageSource) -> list[PageResult]:
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
                results.append(as_it_is(page))
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

    def _after_ocr(self, page: PageInspection, outcome: PageOcr) -> PageResult:
        """Choose between the page's own text and what OCR found."""
        if outcome.text is None:
            if outcome.reason is Reason.TIMEOUT:
                self._add_flags([Flag.OCR_TIMEOUT_PAGES])
                method = PageMethod.SKIPPED
            else:
                method = PageMethod.FAILED
            return PageResult(
                page.number, method, page.text, page.quality, outcome.reason, outcome.detail
            )
        quality = outcome.quality
        if page.verdict is Verdict.OCR_STAMP:
            return PageResult(
                page.number, PageMethod.OCR, add_stamp(outcome.text, page.text), quality
            )
        if page.verdict is Verdict.OCR_JUNK:
            if (
                not is_better(outcome.text, quality, page.text, page.quality)
                and self.options.ocr != "force"
            ):
                return PageResult(page.number, PageMethod.NATIVE, page.text, page.quality)
            self._add_flags([Flag.TEXT_LAYER_REPLACED])
        return PageResult(page.number, PageMethod.OCR, outcome.text, quality)

    def _without_ocr(self, page: PageInspection) -> PageResult:
        """Take what a page gives when OCR is switched off."""
        if page.verdict is Verdict.OCR_JUNK:
            return PageResult(page.number, PageMethod.NATIVE, page.text, page.quality)
        self._add_flags([Flag.OCR_SKIPPED])
        return PageResult(
            page.number,
            PageMethod.SKIPPED,
            page.text,
            page.quality,
            Reason.OCR_DISABLED,
            "a scan, and OCR is switched off",
        )

    def _finish(self, results: Sequence[PageResult], loss: str = "") -> Extraction:
        text = PAGE_SEPARATOR.join(result.text for result in results)
        lost = [
            result for result in results if result.method in (PageMethod.FAILED, PageMethod.SKIPPED)
        ]
        if any(result.method is PageMethod.FAILED for result in lost):
            self._add_flags([Flag.FAILED_PAGES])
        if not text.strip() and Flag.CONTAINER not in self.flags:
            reason = next((result.reason for result in lost if result.reason), Reason.NO_TEXT)
            detail = describe_lost(lost)
            if reason is Reason.NO_TEXT and Flag.REPAIRED in self.flags:
                reason, detail = Reason.DAMAGED, "no text could be recovered"
            failed = self.failed(reason, detail)
            return replace(failed, pages=tuple(result.entry() for result in results))
        self._flag_weak_text(results)
        pages = [result.entry() for result in results]
        if len(text) > self.options.max_text_chars:
            text = text[: self.options.max_text_chars]
            pages = cut_pages(pages, len(text))
            self._add_flags([Flag.TRUNCATED])
        return Extraction(
            Status.PARTIAL if lost or loss else Status.OK,
            None,
            _one_line("; ".join(filter(None, (loss, describe_lost(lost))))),
            text,
            tuple(pages),
            tuple(self.flags),
            self.media_type,
            self.sha256,
            engine_versions=self.versions,
        )

    def _flag_weak_text(self, results: Sequence[PageResult]) -> None:
        read = [result for result in results if result.method in _READ]
        scanned = [result for result in read if result.method is PageMethod.OCR]
        # A scanned identity card among pages full of text does not make the document a poor one.
        if scanned and has_little_text(scanned) and has_little_text(read):
            self._add_flags([Flag.LOW_YIELD])
        # What nobody scanned or drew is what stands there, however odd its words.
        drawn = results if self.media_type == MediaType.PDF else scanned
        judged = [(result.quality, len(result.text)) for result in drawn]
        weight = sum(chars for quality, chars in judged if quality is not None)
        if weight >= MIN_JUDGED_CHARS:
            mean = sum(q * chars for q, chars in judged if q is not None) / weight
            if mean < GOOD_QUALITY:
                self._add_flags([Flag.LOW_QUALITY])

    def _add_flags(self, flags: Iterable[Flag]) -> None:
        self.flags.extend(flag for flag in flags if flag not in self.flags)


def _one_line(detail: str) -> str:
    return " ".join(detail.split())[:500]


def _cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
