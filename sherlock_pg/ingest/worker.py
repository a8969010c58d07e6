"""The child process: reads requests from stdin, extracts, answers on a private pipe.

Protocol, one JSON value per line. In: `{"path", "options", "without_ocr",
"attachments_into"}`. Out, any number of
`{"progress": [pages, ocr_pages, [in_ocr, ...]]}`, then one of `{"extraction": ...}` and
`{"environment": [message, hint]}`.

The process limits itself before it loads any parser. When stdin ends, the parent is gone or has
let go: the whole process group is killed, tesseract included. (PR_SET_PDEATHSIG would not do: it
fires when the *thread* ends that started the child.)
"""

from __future__ import annotations

import json
import logging
import os
import queue
import resource
import shutil
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, BinaryIO

from sherlock_pg.ingest.extract import Progress, extract_in_process
from sherlock_pg.ingest.model import ExtractOptions

_MAX_WRITTEN_FILE = 2 << 30
_SPARE_CPU_SECONDS = 30


def main() -> None:
    """Serve requests until stdin ends."""
    answers = _private_stdout()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _MAX_WRITTEN_FILE)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    while True:
        _serve(requests.get(), answers)


def _serve(request: dict[str, Any], answers: BinaryIO) -> None:
    options = ExtractOptions.from_values(request["options"])
    _limit(resource.RLIMIT_AS, options.memory_bytes)
    _limit_cpu(options.wall_budget(0, 0))

    def on_progress(progress: Progress) -> None:
        _limit_cpu(options.wall_budget(progress.pages, progress.ocr_pages))
        _answer(answers, {"progress": [progress.pages, progress.ocr_pages, list(progress.in_ocr)]})

    folder = request["attachments_into"]
    try:
        extraction = extract_in_process(
            Path(request["path"]),
            options,
            on_progress=on_progress,
            without_ocr=request["without_ocr"],
            attachments_into=None if folder is None else Path(folder),
        )
    except Exception as error:
        from sherlock_pg.errors import EnvironmentFault

        if not isinstance(error, EnvironmentFault):
            raise
        _answer(answers, {"environment": [str(error), error.hint]})
    else:
        _answer(answers, {"extraction": extraction.to_values()})


def _limit(kind: int, value: int) -> None:
    """Set a soft limit, within what the system allows anyway."""
    _, hard = resource.getrlimit(kind)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (soft, hard))


def _limit_cpu(seconds: float) -> None:
    """Allow so many more seconds of processor time, as a net below the parent's clock."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    _limit(resource.RLIMIT_CPU, used + int(seconds) + _SPARE_CPU_SECONDS)


def _private_stdout() -> BinaryIO:
    """Keep stdout for answers and send what C libraries print there to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _answer(answers: BinaryIO, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value).encode("ascii") + b"\n")
    answers.flush()


def _read_requests(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin.buffer:
        requests.put(json.loads(line))
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
