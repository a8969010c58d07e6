"""Every command: help, exit codes, output on stdout, words on stderr."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.cli.main import _COMMANDS, run
from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]

LONG = " ".join(f"palabra{n} hecho{n % 17} derecho{n % 29}" for n in range(60))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with an original, an exact copy and a near copy."""
    root = tmp_path / "bandeja"
    root.mkdir()
    (root / "a.txt").write_text(f"Acción de tutela de Ana. {LONG}", encoding="utf-8")
    (root / "b.txt").write_bytes((root / "a.txt").read_bytes())
    (root / "c.txt").write_text(f"Acción de tutela de Ana. {LONG} Anexo uno.", encoding="utf-8")
    return root


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == ExitCode.OK
    assert "Usage: sherlock-pg" in capsys.readouterr().out


def test_readme_names_every_command() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for command in _COMMANDS:
        assert f"sherlock-pg {command}" in readme, command
    for code in ExitCode:
        assert f"| {code.value} |" in readme, code.name


def test_help_is_quick_to_import() -> None:
    """Heavy libraries are imported by the commands that need them, not by --help."""
    script = (
        "import sys; from sherlock_pg.cli.main import run; run(['--help']);"
        "print([m for m in ('spacy', 'sklearn', 'ocrmypdf', 'pypdfium2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_load_prints_a_line_per_document_and_a_summary(sherlock: Sherlock, folder: Path) -> None:
    ran = sherlock("load", folder)
    assert ran.code == ExitCode.OK, ran.err
    lines = ran.out.splitlines()
    assert len(lines) == 5
    assert lines[0].split() == ["status", "class", "action", "score", "document"]
    assert lines[1].split()[:3] == ["ok", "-", "ACCEPT"]
    assert lines[2].split()[:4] == ["ok", "EXACT", "REJECT", "1.0000"]
    assert lines[3].split()[:3] == ["ok", "HIGH", "REVIEW"]
    assert "=  a.txt (#" in lines[3]
    assert lines[4].startswith("3 files in ")
    assert "2 new, 1 known by their bytes" in lines[4]


def test_load_as_json_and_csv(sherlock: Sherlock, folder: Path) -> None:
    as_json = json.loads(sherlock("load", "--format", "json", folder).out)
    assert [d["confidence"] for d in as_json["documents"]] == ["", "EXACT", "HIGH"]
    assert as_json["documents"][2]["candidates"][0]["minhash_score"] > 0.9
    assert as_json["summary"]["files"] == 3
    ran = sherlock("load", "--format", "csv", folder)
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["gate"] for row in rows] == ["hit"] * 3
    assert "3 known by their bytes" in ran.err


def test_load_exits_1_if_a_document_failed(sherlock: Sherlock, folder: Path) -> None:
    (folder / "d.pdf").write_bytes(b"")
    ran = sherlock("load", folder)
    assert ran.code == ExitCode.SOME_FAILED
    assert "[empty_file: " in ran.out
    assert "1 failed" in ran.out


def test_dry_run_stores_nothing(sherlock: Sherlock, folder: Path, database_url: str) -> None:
    ran = sherlock("load", "--dry-run", folder)
    assert ran.code == ExitCode.OK, ran.err
    assert ran.out.splitlines()[2].split()[:3] == ["ok", "EXACT", "REJECT"]
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from sherlock.documents").fetchone() == (0,)
        assert conn.execute("select count(*) from sherlock.file_hashes").fetchone() == (0,)


def test_dry_run_into_a_new_collection(sherlock: Sherlock, folder: Path) -> None:
    ran = sherlock("load", "--dry-run", "--collection", "nueva", folder)
    assert ran.code == ExitCode.OK, ran.err
    assert ran.out.splitlines()[1].split()[:3] == ["ok", "-", "ACCEPT"]


def test_missing_path_among_others_is_reported_as_a_failed_file(
    sherlock: Sherlock, folder: Path
) -> None:
    ran = sherlock("load", folder / "a.txt", folder / "nothing.pdf")
    assert ran.code == ExitCode.SOME_FAILED
    assert "[missing_file: " in ran.out
    assert "1 new" in ran.out


def test_full_disk_and_unwritable_file_are_errors_without_a_traceback(
    folder: Path, database_url: str, sherlock: Sherlock
) -> None:
    command = f"{sys.executable} -m sherlock_pg --database-url {database_url} load {folder}"
    done = subprocess.run(
        ["bash", "-c", f"{command} > /dev/full"], capture_output=True, text=True, check=False
    )
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "Traceback" not in done.stderr
    ran = sherlock("config", "export", "/proc/nothing.json")
    assert ran.code == ExitCode.ENVIRONMENT
    assert "error: /proc/nothing.json" in ran.err


def test_something_that_is_no_url_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--database-url", "notaurl", "db", "status"]) == ExitCode.USAGE
    assert "not a database URL" in capsys.readouterr().err


def test_match_gives_the_verdict_without_storing(
    sherlock: Sherlock, folder: Path, database_url: str
) -> None:
    sherlock("load", folder / "a.txt")
    near = json.loads(sherlock("match", "--format", "json", folder / "c.txt").out)
    assert (near["confidence"], near["action"], near["best_match"]) == ("HIGH", "REVIEW", "a.txt")
    same = json.loads(sherlock("match", "--format", "json", folder / "b.txt").out)
    assert (same["confidence"], same["gate"]) == ("EXACT", "hit")
    table = sherlock("match", folder / "c.txt")
    assert table.code == ExitCode.OK
    assert "HIGH" in table.out
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from sherlock.documents").fetchone() == (1,)


def test_match_names_what_a_file_is_contained_in(sherlock: Sherlock, folder: Path) -> None:
    others = " ".join(f"prueba{n} anexa{n % 13}" for n in range(400))
    bundle = folder / "paquete.txt"
    bundle.write_text(f"{others} {(folder / 'a.txt').read_text()} {others}", encoding="utf-8")
    sherlock("load", bundle)
    ran = sherlock("match", folder / "a.txt")
    assert ran.out.splitlines()[-1] == "contained in paquete.txt (#1): 1.00 of it, words 801–985"
    as_json = json.loads(sherlock("match", "--format", "json", folder / "a.txt").out)
    assert as_json["containers"][0]["first_word"] == 801
    assert as_json["action"] == "ACCEPT"


def test_match_of_an_unreadable_file_exits_1(sherlock: Sherlock, tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.4 nothing")
    ran = sherlock("match", tmp_path / "x.pdf")
    assert ran.code == ExitCode.SOME_FAILED
    assert "damaged" in ran.out


@pytest.mark.parametrize(
    "args",
    [
        ["load"],
        ["load", "/no/such/folder"],
        ["load", "--workers", "0", "/tmp"],
        ["nonsense"],
        ["load", "--doc-type", "novela", "/etc/hostname"],
        ["match", "/tmp"],
        ["config", "import", "/no/such/file"],
    ],
)
def test_wrong_usage_exits_2(sherlock: Sherlock, args: list[str]) -> None:
    ran = sherlock(*args)
    assert ran.code == ExitCode.USAGE
    assert "Usage:" in ran.err or "rror:" in ran.err


def test_unreachable_database_exits_3_with_a_hint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = run(["--database-url", "postgresql://nobody@127.0.0.1:1/none", "db", "status"])
    captured = capsys.readouterr()
    assert code == ExitCode.ENVIRONMENT
    assert "cannot" in captured.err
    assert "hint: " in captured.err
    assert "Traceback" not in captured.err


def test_command_on_a_database_without_the_schema_says_what_to_run(
    empty_database_url: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code = run(["--database-url", empty_database_url, "match", str(folder / "a.txt")])
    captured = capsys.readouterr()
    assert code == ExitCode.ENVIRONMENT
    assert "sherlock-pg db upgrade" in captured.err


def test_load_installs_the_schema_on_an_empty_database(
    empty_database_url: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code = run(["--database-url", empty_database_url, "load", str(folder)])
    captured = capsys.readouterr()
    assert code == ExitCode.OK, captured.err
    assert "installing the sherlock schema" in captured.err
    assert "3 files" in captured.out


def test_db_status_and_upgrade(empty_database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = ["--database-url", empty_database_url]
    assert run([*url, "db", "status"]) == ExitCode.ENVIRONMENT
    assert "missing" in capsys.readouterr().out
    assert run([*url, "db", "upgrade"]) == ExitCode.OK
    assert "installed revision" in capsys.readouterr().out
    assert run([*url, "db", "upgrade"]) == ExitCode.OK
    assert "already at revision" in capsys.readouterr().out
    assert run([*url, "db", "status", "--format", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["state"] == "current"


def test_doctor_finds_everything_in_order(sherlock: Sherlock) -> None:
    ran = sherlock("doctor", "--format", "json")
    checks = {check["check"]: check for check in json.loads(ran.out)}
    assert ran.code == ExitCode.OK, ran.out
    assert {
        "database connection",
        "server",
        "extension vector",
        "extension pg_trgm",
        "locale",
        "schema",
        "hash functions",
        "tesseract",
        "NER model",
    } <= set(checks)
    assert {check["result"] for check in checks.values()} <= {"OK", "WARNING"}


def test_doctor_says_what_is_missing(
    empty_database_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code = run(["--database-url", empty_database_url, "doctor", "--format", "json"])
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)}
    assert code == ExitCode.ENVIRONMENT
    assert checks["schema"]["result"] == "FAILED"
    assert "db upgrade" in checks["schema"]["hint"]
    assert checks["tesseract"]["result"] == "WARNING"
    assert "apt-get install" in checks["tesseract"]["hint"]


def test_doctor_without_a_database(capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    code = run(["--database-url", url, "doctor", "--format", "json"])
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)}
    assert code == ExitCode.ENVIRONMENT
    assert checks["database connection"]["result"] == "FAILED"
    assert "tesseract" in checks


def test_output_cut_by_its_reader_is_no_error(folder: Path, database_url: str) -> None:
    command = (
        f"{sys.executable} -m sherlock_pg --database-url {database_url} load {folder} | head -n 1;"
        " exit ${PIPESTATUS[0]}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("status")
    assert "Traceback" not in done.stderr
    assert done.returncode in (ExitCode.OK, ExitCode.SOME_FAILED)


def test_file_names_cannot_steer_the_terminal(sherlock: Sherlock, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31mrojo\n.txt").write_text(LONG)
    ran = sherlock("load", tmp_path)
    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == 3
