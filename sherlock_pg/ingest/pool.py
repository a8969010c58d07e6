"""A pool of limited, killable child processes that turn files into text."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sherlock_pg import scratch
from sherlock_pg.errors import EnvironmentFault, ExitCode, SherlockError
from sherlock_pg.ingest.extract import Progress
from sherlock_pg.ingest.model import Extraction, ExtractOptions, OcrMode, Status
from sherlock_pg.ingest.reasons import Reason

DOCUMENTS_PER_CHILD = 250
"""A child is replaced after so many documents: parsers may leak; 600 native PDFs left nothing."""

_MAX_ANSWER_BYTES = 1 << 30
_STDERR_TAIL_BYTES = 4000
_HARMLESS = frozenset(
    {
        Reason.MISSING_FILE,
        Reason.UNREADABLE,
        Reason.EMPTY_FILE,
        Reason.UNSUPPORTED_TYPE,
        Reason.CHANGED_WHILE_READ,
    }
)
"""Failures before any parser ran; the child is as good as new after them."""

_HEAP_CORRUPTION = re.compile(rb"^(malloc|free|realloc|corrupted|double free|munmap_chunk)", re.M)
_OUT_OF_MEMORY = re.compile(rb"MemoryError|bad_alloc|[Oo]ut of memory|Cannot allocate memory")


class ExtractorClosed(SherlockError):
    """The extractor was closed, so the document was not read; nothing is known about it."""

    exit_code = ExitCode.INTERRUPTED


class Extractor:
    """Extracts documents in child processes, each in its own session and under limits.

    The children live on from document to document, because starting one costs a quarter of a
    second and loading OCRmyPDF a whole one. A child is replaced after `DOCUMENTS_PER_CHILD`
    documents and after a document that was not read without trouble. `extract` may be called
    from several threads; at most `workers` documents are worked on at a time.

    Example:
        with Extractor(ExtractOptions(), workers=2) as extractor:
            extraction = extractor.extract(Path("tutela.pdf"))
    """

    def __init__(self, options: ExtractOptions, workers: int = 1) -> None:
        """Prepare the pool; children start when they are needed.

        Args:
            options: limits and choices for all documents.
            workers: how many children may run at the same time.
        """
        if workers < 1:
            raise ValueError("workers must be at least 1")
        self.options = options
        self._slots = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._is_closed = False
        scratch.remove_folders_of_the_dead()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def extract(
        self, path: Path, attachments_into: Path | None = None, ocr: OcrMode | None = None
    ) -> Extraction:
        """Read the text of a document; waits while all children are busy.

        A document that brings its child down while OCR works on some pages is read once more
        without OCR of these pages.

        Args:
            path: the file.
            attachments_into: an empty folder that gets the files inside a mail or archive, named
                0001, 0002 and so on (`Attachment.file`); None to have them listed only. After a
                failure it may hold some.
            ocr: another choice for this document than that of the options.

        Raises:
            EnvironmentFault: tesseract or a language pack is missing.
            ExtractorClosed: `close` was called meanwhile.
        """
        with self._slots:
            started = time.monotonic()
            options = self.options if ocr is None else replace(self.options, ocr=ocr)
            extraction, in_ocr = self._attempt(path, options, attachments_into, ())
            if in_ocr and extraction.reason in (Reason.CRASHED, Reason.MEMORY):
                extraction, _ = self._attempt(path, options, attachments_into, in_ocr)
        return replace(extraction, seconds=round(time.monotonic() - started, 4))

    def close(self) -> None:
        """Kill all children, also those at work; their callers get `ExtractorClosed`."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for child in self._busy:
                child.kill()  # the thread that waits for it clears up
        for child in idle:
            child.dispose()

    def _attempt(
        self,
        path: Path,
        options: ExtractOptions,
        attachments_into: Path | None,
        without_ocr: Collection[int],
    ) -> tuple[Extraction, tuple[int, ...]]:
        child = self._take()
        is_reusable = False
        try:
            extraction, in_ocr = child.extract(path, options, attachments_into, without_ocr)
            is_reusable = (
                extraction.status is Status.OK or extraction.reason in _HARMLESS
            ) and child.documents < DOCUMENTS_PER_CHILD
        finally:
            self._give_back(child, is_reusable)
        if self._is_closed and extraction.reason is Reason.CRASHED:
            raise ExtractorClosed("stopped while reading a document")
        return extraction, in_ocr

    def _take(self) -> _Child:
        with self._lock:
            if self._is_closed:
                raise ExtractorClosed("the extractor is closed")
            child = self._idle.pop() if self._idle else None
            if child is not None and not child.is_alive():
                child.dispose()
                child = None
            child = child or _Child()
            self._busy.add(child)
            return child

    def _give_back(self, child: _Child, is_reusable: bool) -> None:
        with self._lock:
            self._busy.discard(child)
            if is_reusable and not self._is_closed:
                self._idle.append(child)
                return
        child.dispose()


class _Child:
    """One child process with a session, a folder for temporary files and two pipes."""

    def __init__(self) -> None:
        self.documents = 0
        self._folder = scratch.new_folder("extract")
        self._log = self._folder / "stderr.log"
        environment = {
            **os.environ,
            "TMPDIR": str(self._folder),
            "OMP_THREAD_LIMIT": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-X", "faulthandler", "-m", "sherlock_pg.ingest.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                    bufsize=0,
                )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._unread = bytearray()

    def is_alive(self) -> bool:
        # WNOWAIT: once reaped, the number could belong to another process group.
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, options) is None
        except ChildProcessError:
            return False

    def extract(
        self,
        path: Path,
        options: ExtractOptions,
        attachments_into: Path | None,
        without_ocr: Collection[int],
    ) -> tuple[Extraction, tuple[int, ...]]:
        """Have the child read a document.

        Returns:
            The extraction, and the pages OCR was at work on if the child did not survive it.
        """
        self.documents += 1
        started = time.monotonic()
        deadline = started + options.wall_budget(0, 0)
        request = {
            "path": _absolute(path),
            "options": options.to_values(),
            "without_ocr": list(without_ocr),
            "attachments_into": None if attachments_into is None else _absolute(attachments_into),
        }
        progress = Progress(0, 0)
        try:
            self._send(request)
            while True:
                answer = json.loads(self._read_line(deadline))
                if "progress" in answer:
                    pages, ocr_pages, in_ocr = answer["progress"]
                    progress = Progress(pages, ocr_pages, tuple(in_ocr))
                    deadline = started + options.wall_budget(pages, ocr_pages)
                elif "environment" in answer:
                    message, hint = answer["environment"]
                    raise EnvironmentFault(message, hint=hint)
                else:
                    return Extraction.from_values(answer["extraction"]), ()
        except TimeoutError:
            limit = deadline - started
            reason, detail = Reason.TIMEOUT, f"killed after the time limit of {limit:.0f} s"
        except (EOFError, BrokenPipeError):
            reason, detail = self._cause_of_death()
        return Extraction(Status.FAILED, reason, detail), progress.in_ocr

    def kill(self) -> None:
        """Kill the process and all that it started."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def dispose(self) -> None:
        """Kill the process, and remove its pipes and temporary files."""
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode("ascii") + b"\n")

    def _read_line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                raise TimeoutError
            chunk = os.read(descriptor, 1 << 20)
            if not chunk or searched > _MAX_ANSWER_BYTES:
                raise EOFError
            self._unread += chunk
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def _cause_of_death(self) -> tuple[Reason, str]:
        self.kill()  # what it started; it has ended itself, or does now
        code = self._process.wait()
        said = b""
        with contextlib.suppress(OSError):
            said = self._log.read_bytes()[-_STDERR_TAIL_BYTES:]
        if code >= 0:
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            reason = Reason.MEMORY if _OUT_OF_MEMORY.search(said) else Reason.CRASHED
            return reason, f"exit code {code}: {''.join(last)}"
        name = signal.Signals(-code).name
        if -code == signal.SIGXCPU:
            return Reason.TIMEOUT, "killed by the limit of processor time"
        # pdfium aborts when an allocation fails; the C library does on a corrupt heap, but says so.
        is_memory = -code == signal.SIGABRT and not _HEAP_CORRUPTION.search(said)
        return Reason.MEMORY if is_memory or _OUT_OF_MEMORY.search(said) else Reason.CRASHED, name


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links
