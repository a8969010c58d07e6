"""Logs for a person or for a machine, and how an event is logged with its fields.

Modules log with the standard library, and give what belongs to an event as fields:

    log = logging.getLogger(__name__)
    log.info("document read", extra=fields(document_id=7, name="tutela.pdf", seconds=1.4))

As text that is `INFO sherlock_pg.load: document read document_id=7 name=tutela.pdf seconds=1.4`;
as JSON one line of ASCII, whatever the fields hold:

    {"ts": "2026-03-02T15:04:05.123Z", "level": "INFO", "logger": "sherlock_pg.load",
     "message": "document read", "pid": 71, "document_id": 7, "name": "tutela.pdf", ...}

A plain `extra={...}` does too, except for keys that `logging` keeps for itself, such as `name`.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import numbers
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, TextIO

LogFormat = Literal["text", "json"]

_OWN_LOGGER = "sherlock_pg"
_MAX_DEPTH = 8
_STANDARD_ATTRIBUTES = frozenset(
    {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "fields"}
)


def fields(**values: object) -> dict[str, dict[str, object]]:
    """Return the `extra` of a log call that carries these fields, under any names."""
    return {"fields": values}


@contextlib.contextmanager
def configured(log_format: LogFormat) -> Iterator[None]:
    """Send all log records to stderr in this form while the block runs.

    With `json` nothing else comes out on stderr: lines that something prints there become records
    of `sherlock_pg.stderr`, warnings and errors of threads become records too, and stderr is no
    terminal any more, so that nobody draws a progress bar on it.
    """
    root, own = logging.getLogger(), logging.getLogger(_OWN_LOGGER)
    levels = root.level, own.level
    handler = _StderrHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root.addHandler(handler)
    try:
        with _all_of_stderr() if log_format == "json" else contextlib.nullcontext():
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        own.setLevel(levels[1])


def set_verbosity(log_format: LogFormat, verbosity: int) -> None:
    """Choose what is logged: -1 errors, 0 warnings as text and events as JSON, 1 one step more."""
    usual = (
        (logging.WARNING, logging.INFO) if log_format == "text" else (logging.INFO, logging.DEBUG)
    )
    level = logging.ERROR if verbosity < 0 else usual[min(verbosity, 1)]
    logging.getLogger(_OWN_LOGGER).setLevel(level)
    logging.getLogger().setLevel(max(level, logging.WARNING))


class JsonFormatter(logging.Formatter):
    """A record as one line of ASCII JSON; never fails, whatever is in the record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON: ts, level, logger, message, pid, then its fields."""
        stamp = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = {
            "ts": stamp.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            "pid": record.process,
        }
        if record.exc_info:
            values["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            values["stack"] = record.stack_info
        for name, value in _fields(record).items():
            values[f"field_{name}" if name in values else name] = value
        return json.dumps(_plain(values, _MAX_DEPTH), allow_nan=False)


class TextFormatter(logging.Formatter):
    """A record as level, logger, message and fields for a person; tracebacks below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text; control characters in it are escaped."""
        shown = " ".join(f"{name}={_shown(value)}" for name, value in _fields(record).items())
        line = _printable(f"{record.levelname} {record.name}: {_message(record)} {shown}".rstrip())
        below = [self.formatException(record.exc_info)] if record.exc_info else []
        return "\n".join([line, *below, *([record.stack_info] if record.stack_info else [])])


class _StderrHandler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:
        """Give up on the record: what cannot be written to stderr can be said nowhere else."""


class _LinesToLog(io.TextIOBase):
    """Stands in for stderr: each line that is printed there becomes a log record."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, original: TextIO) -> None:
        self._original = original
        self._log = logging.getLogger(f"{_OWN_LOGGER}.stderr")
        # One unfinished line for each thread, or the words of two would be mixed.
        self._unfinished = threading.local()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """Let subprocesses inherit the real one."""
        return self._original.fileno()

    def write(self, text: str) -> int:
        *lines, rest = (getattr(self._unfinished, "text", "") + text).split("\n")
        self._unfinished.text = rest
        for line in lines:
            self._say(line)
        return len(text)

    def end_line(self) -> None:
        """Log what this thread wrote without an end of line."""
        self._say(getattr(self._unfinished, "text", ""))
        self._unfinished.text = ""

    def _say(self, line: str) -> None:
        if line.strip():
            self._log.info("%s", line.rstrip())


@contextlib.contextmanager
def _all_of_stderr() -> Iterator[None]:
    lines = _LinesToLog(sys.stderr)
    thread_hook = threading.excepthook
    threading.excepthook = _log_thread_error
    logging.captureWarnings(True)
    try:
        with contextlib.redirect_stderr(lines):
            yield
    finally:
        lines.end_line()
        logging.captureWarnings(False)
        threading.excepthook = thread_hook


def _log_thread_error(args: threading.ExceptHookArgs) -> None:
    name = args.thread.name if args.thread is not None else None
    error = args.exc_value or args.exc_type()
    logging.getLogger(_OWN_LOGGER).critical(
        "uncaught error in a thread", exc_info=error, extra=fields(thread=name)
    )


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:
        # A wrong placeholder must not cost the event.
        return f"{record.msg} {_text(record.args)}"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    extra = {
        name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES
    }
    carried = vars(record).get("fields")
    return {**extra, **carried} if isinstance(carried, Mapping) else extra


def _plain(value: object, depth: int) -> Any:
    """Turn anything into what JSON knows."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if depth > 0 and isinstance(value, Mapping):
        return {_text(key): _plain(item, depth - 1) for key, item in value.items()}
    if depth > 0 and isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth - 1) for item in value]
    return _text(value)


def _text(value: object) -> str:
    """Turn anything into text without lone surrogates."""
    if isinstance(value, timedelta):
        return str(value.total_seconds())
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        value = os.fsencode(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "backslashreplace")
    try:
        text = str(value)
    except Exception as error:
        text = f"<{type(value).__name__}: {type(error).__name__}>"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _shown(value: object) -> str:
    plain = _plain(value, _MAX_DEPTH)
    if isinstance(plain, str) and plain and not plain.isspace() and " " not in plain:
        return plain
    return json.dumps(plain, ensure_ascii=False)


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )
