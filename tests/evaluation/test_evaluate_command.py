"""`sherlock-pg evaluate`: report, last line, files, exit codes, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psycopg
import pytest

from sherlock_pg.cli.main import run
from sherlock_pg.errors import ExitCode


@pytest.fixture
def evaluate(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    evaluation_url: str,
    evaluation_conn: psycopg.Connection,
) -> Callable[..., tuple[int, str, str]]:
    """Give a function that runs the command; nothing may stay in the database."""
    monkeypatch.setenv("SHERLOCK_DATABASE_URL", evaluation_url)

    def run_command(*args: object) -> tuple[int, str, str]:
        before = signal.getsignal(signal.SIGTERM)
        try:
            code = run(["evaluate", *map(str, args)])
        finally:
            signal.signal(signal.SIGTERM, before)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_command


def test_the_last_line_is_json_and_files_are_written(
    evaluate: Callable[..., tuple[int, str, str]], labelled_files: Any, tmp_path: Path
) -> None:
    svg, errors = tmp_path / "picture.svg", tmp_path / "errors.jsonl"
    code, out, err = evaluate(
        labelled_files.docs,
        labelled_files.pairs,
        *("--ner-model", "none", "--workers", 2, "--svg", svg, "--errors-jsonl", errors),
    )
    assert code == ExitCode.OK, err
    measured = json.loads(out.splitlines()[-1])
    assert list(measured) == ["high", "medium", "low", "kinds", "candidate_recall"]
    assert list(measured["candidate_recall"]) == ["minhash", "tfidf", "entities", "all"]
    assert measured["kinds"]["exact_copy"] == {
        "label": 1,
        "pairs": 3,
        "high": 1.0,
        "medium": 1.0,
        "low": 1.0,
    }
    assert "/s)" in err
    ElementTree.parse(svg)
    rows = [json.loads(line) for line in errors.read_text(encoding="utf-8").splitlines()]
    alarms = sum(
        round(kind["low"] * kind["pairs"])
        for kind in measured["kinds"].values()
        if not kind["label"]
    )
    assert sum(not row["is_duplicate"] for row in rows) == alarms
    assert all(row["shared"] is not None and row["tfidf"] is not None for row in rows)


def test_unknown_ids_are_a_usage_error(
    evaluate: Callable[..., tuple[int, str, str]],
    labelled_files: Any,
    tmp_path: Path,
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"a": "x", "b": "y", "label": 1, "kind": "k"}\n', encoding="utf-8")
    code, out, err = evaluate(labelled_files.docs, pairs)
    assert (code, out) == (ExitCode.USAGE, "")
    assert "line 1: there is no document 'x'" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scheme", "no such"), "there is no scheme"),
        (("--collection", "no such"), "there is no collection"),
        (("--keep", "default"), "there is a collection 'default' already"),
        (("--svg", "/no/such/folder/x.svg"), "there is no folder"),
    ],
)
def test_bad_options_are_usage_errors(
    evaluate: Callable[..., tuple[int, str, str]],
    labelled_files: Any,
    options: tuple[str, ...],
    message: str,
) -> None:
    code, out, err = evaluate(labelled_files.docs, labelled_files.pairs, *options)
    assert (code, out) == (ExitCode.USAGE, "")
    assert message in err
    assert "hint:" in err


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_leaves_nothing(
    evaluation_url: str,
    evaluation_conn: psycopg.Connection,
    labelled_files: Any,
    signal_number: int,
) -> None:
    command = [sys.executable, "-m", "sherlock_pg", "evaluate", "--ner-model", "none"]
    with subprocess.Popen(
        [*command, str(labelled_files.docs), str(labelled_files.pairs)],
        env={**os.environ, "SHERLOCK_DATABASE_URL": evaluation_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        seen = ""
        for line in process.stderr:
            seen += line
            if line.startswith("searching"):
                process.send_signal(signal_number)
                break
        out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED, seen + err
    assert (out, err.splitlines()[-1]) == ("", "interrupted")
