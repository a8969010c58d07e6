"""Logs as JSON: one whole line for each event, whatever happens and whatever is in it."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sherlock_pg.cli.db
from sherlock_pg import logs
from sherlock_pg.cli.main import run
from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]
LONG = " ".join(f"palabra{n} hecho{n % 17} derecho{n % 29}" for n in range(60))

odd_text = st.text(st.characters(exclude_categories=()), max_size=20)
odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | odd_text
    | st.binary(max_size=10)
    | st.datetimes()
    | st.builds(lambda name: Path(os.fsdecode(name)), st.binary(min_size=1, max_size=10))
    | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(odd_text | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


def record(message: object = "said", *args: object, **extra: object) -> logging.LogRecord:
    log = logging.getLogger("sherlock_pg.test")
    return log.makeRecord(log.name, logging.INFO, __file__, 1, message, args, None, extra=extra)


def as_json(written: logging.LogRecord) -> dict[str, Any]:
    line = logs.JsonFormatter().format(written)
    assert line.isascii()
    assert line.isprintable(), "no line ends and no control characters"
    values: dict[str, Any] = json.loads(line)
    json.dumps(values, ensure_ascii=False).encode("utf-8")  # no lone surrogates
    return values


def lines(err: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in err.splitlines()]
    assert all({"ts", "level", "logger", "message", "pid"} <= line.keys() for line in found)
    return found


@settings(max_examples=200)
@given(message=odd_text, values=st.dictionaries(odd_text, odd_values, max_size=4))
def test_any_fields_give_one_line(message: str, values: dict[str, object]) -> None:
    written = as_json(record("%s", message, **logs.fields(**values)))
    assert written["logger"] == "sherlock_pg.test"
    assert len(written) == 5 + len({name.encode("utf-8", "backslashreplace") for name in values})


def test_time_level_and_process_of_a_record() -> None:
    before = datetime.now(UTC)
    written = as_json(record("read %s of %s", 1, 2))
    assert written["ts"].endswith("Z")
    stamp = datetime.fromisoformat(written["ts"])
    assert abs(stamp - before) < timedelta(minutes=1)
    assert (written["level"], written["message"], written["pid"]) == (
        "INFO",
        "read 1 of 2",
        os.getpid(),
    )


def test_fields_keep_their_names_and_types() -> None:
    written = as_json(
        record(
            **logs.fields(
                name="tutela \n uno.pdf",
                document_id=7,
                seconds=1.5,
                share=float("nan"),
                path=Path(os.fsdecode(b"/caja/a\xf1o.pdf")),
                since=timedelta(seconds=90),
                flags=("low_yield",),
                message="another",
            ),
            worker="host:1",
        )
    )
    del written["ts"], written["pid"]
    assert written == {
        "level": "INFO",
        "logger": "sherlock_pg.test",
        "message": "said",
        "worker": "host:1",
        "name": "tutela \n uno.pdf",
        "document_id": 7,
        "seconds": 1.5,
        "share": "nan",
        "path": "/caja/a\\xf1o.pdf",
        "since": "90.0",
        "flags": ["low_yield"],
        "field_message": "another",
    }


def test_a_wrong_placeholder_and_a_broken_object_cost_no_event() -> None:
    class Broken:
        def __str__(self) -> str:
            raise ValueError("no text")

    written = as_json(record("%d files", "many", **logs.fields(what=Broken())))
    assert written["message"] == "%d files ('many',)"
    assert written["what"] == "<Broken: ValueError>"
    circle: list[object] = []
    circle.append(circle)
    assert as_json(record(**logs.fields(circle=circle)))["circle"]


def test_an_exception_is_one_field(capsys: pytest.CaptureFixture[str]) -> None:
    with logs.configured("json"):
        try:
            raise ValueError("two\nlines")
        except ValueError:
            logging.getLogger("sherlock_pg.test").exception("it failed")
    (written,) = lines(capsys.readouterr().err)
    assert written["level"] == "ERROR"
    assert written["exception"].startswith("Traceback")
    assert written["exception"].endswith("ValueError: two\nlines")


def test_what_is_printed_on_stderr_becomes_records(capsys: pytest.CaptureFixture[str]) -> None:
    with logs.configured("json"):
        logs.set_verbosity("json", 0)
        print("first\nsecond ", file=sys.stderr)
        print("\n", file=sys.stderr)
        print("un", "finished", sep="", end="", file=sys.stderr)
        assert not sys.stderr.isatty()
    assert [line["message"] for line in lines(capsys.readouterr().err)] == [
        "first",
        "second",
        "unfinished",
    ]


@pytest.mark.filterwarnings("default")
def test_errors_of_threads_and_warnings_are_records(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise RuntimeError("in a thread")

    with logs.configured("json"):
        thread = threading.Thread(target=fail, name="reader_1")
        thread.start()
        thread.join()
        logging.getLogger("py.warnings").warning("an old function")
    error, warning = lines(capsys.readouterr().err)
    assert (error["level"], error["thread"]) == ("CRITICAL", "reader_1")
    assert "RuntimeError: in a thread" in error["exception"]
    assert (warning["level"], warning["logger"]) == ("WARNING", "py.warnings")


@pytest.mark.parametrize(
    ("log_format", "verbosity", "said"),
    [
        ("text", -1, ["ERROR"]),
        ("text", 0, ["WARNING", "ERROR"]),
        ("text", 1, ["INFO", "WARNING", "ERROR"]),
        ("json", -1, ["ERROR"]),
        ("json", 0, ["INFO", "WARNING", "ERROR"]),
        ("json", 2, ["DEBUG", "INFO", "WARNING", "ERROR"]),
    ],
)
def test_verbosity_chooses_the_levels(
    capsys: pytest.CaptureFixture[str],
    log_format: logs.LogFormat,
    verbosity: int,
    said: list[str],
) -> None:
    log = logging.getLogger("sherlock_pg.test")
    with logs.configured(log_format):
        logs.set_verbosity(log_format, verbosity)
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            log.log(level, "said")
            logging.getLogger("other.library").debug("noise")
    err = capsys.readouterr().err
    if log_format == "json":
        assert [line["level"] for line in lines(err)] == said
    else:
        assert err == "".join(f"{level} sherlock_pg.test: said\n" for level in said)


def test_text_shows_fields_and_escapes_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with logs.configured("text"):
        logging.getLogger("sherlock_pg.test").error(
            "read \x1b[2J", extra=logs.fields(name="año uno.pdf", seconds=0.5, reason=None, host="")
        )
    assert capsys.readouterr().err == (
        'ERROR sherlock_pg.test: read \\x1b[2J name="año uno.pdf" seconds=0.5 reason=null host=""\n'
    )


def test_everything_is_as_before_when_the_block_ends() -> None:
    root, own = logging.getLogger(), logging.getLogger("sherlock_pg")
    before = (list(root.handlers), root.level, own.level, sys.stderr, threading.excepthook)
    with logs.configured("json"):
        logs.set_verbosity("json", 1)
    assert before == (list(root.handlers), root.level, own.level, sys.stderr, threading.excepthook)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nonsense"], ExitCode.USAGE, "No such command 'nonsense'."),
        (["--nonsense"], ExitCode.USAGE, "No such option '--nonsense'."),
        (["load", "--workers", "0", "x"], ExitCode.USAGE, "Invalid value for '--workers'"),
        (["load", "/no/such/folder"], ExitCode.USAGE, "there is no /no/such/folder"),
        (
            ["--database-url", "postgresql://nobody@127.0.0.1:1/none", "db", "status"],
            ExitCode.ENVIRONMENT,
            "cannot reach the database",
        ),
    ],
)
def test_errors_of_commands_are_records(
    capsys: pytest.CaptureFixture[str], args: list[str], code: ExitCode, message: str
) -> None:
    assert run(["--log-format", "json", *args]) == code
    (written,) = lines(capsys.readouterr().err)
    assert message in written["message"]
    assert (written["level"], written["exit_code"]) == ("ERROR", int(code))


def test_an_uncaught_error_is_a_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_conninfo: str) -> None:
        raise RuntimeError("a bug\nof ours")

    monkeypatch.setattr(sherlock_pg.cli.db, "connect", fail)
    monkeypatch.setenv("SHERLOCK_LOG_FORMAT", "json")
    assert run(["--database-url", "postgresql://x/y", "db", "status"]) == ExitCode.SOME_FAILED
    (written,) = lines(capsys.readouterr().err)
    assert written["level"] == "CRITICAL"
    assert written["exception"].endswith("RuntimeError: a bug\nof ours")


def test_load_speaks_json_on_a_terminal_too(database_url: str, tmp_path: Path) -> None:
    """No progress bar, no broken line for a name with odd bytes; data stay on stdout."""
    folder = tmp_path / "bandeja"
    folder.mkdir()
    (folder / "a.txt").write_text(f"Acción de tutela de Ana. {LONG}", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(folder) + b"/a\xf1o\nuno.pdf")).write_bytes(b"%PDF-1.4 nothing")
    terminal, side = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "sherlock_pg", "load", "--format", "json", str(folder)],
        env=os.environ | {"SHERLOCK_DATABASE_URL": database_url, "SHERLOCK_LOG_FORMAT": "json"},
        stdout=subprocess.PIPE,
        stderr=side,
    ) as process:
        os.close(side)
        said = read_all(terminal)
        assert process.stdout is not None
        result = json.loads(process.stdout.read())
    assert process.returncode == ExitCode.SOME_FAILED
    assert result["summary"]["files"] == 2
    written = lines(said.decode("ascii"))
    read = {line["name"]: line for line in written if line["message"] == "document read"}
    assert len(read) == 2
    good, bad = (read[document["file"]] for document in result["documents"])
    assert (good["status"], good["reason"], good["stage"]) == ("ok", None, "read")
    assert (bad["status"], bad["reason"]) == ("failed", "damaged")
    (judged,) = (line for line in written if line["message"] == "document judged")
    assert (judged["document_id"], judged["action"]) == (good["document_id"], "ACCEPT")
    assert 0 < judged["seconds"] < 60


def read_all(terminal: int) -> bytes:
    said = bytearray()
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        said += chunk
    os.close(terminal)
    return bytes(said)
