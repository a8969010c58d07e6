"""The Docker files: linters, and what must not change unnoticed. No Docker engine is used."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ruamel.yaml import YAML

from sherlock_pg.db import schema
from sherlock_pg.embedded.cluster import HOST, SUPERUSER
from sherlock_pg.embedded.server import EmbeddedServer

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKER = REPOSITORY / "docker"


def run_tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(name)
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, cwd=REPOSITORY
    )


@pytest.fixture(scope="module")
def compose() -> Any:
    return YAML(typ="safe", pure=True).load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    """Give the Dockerfile's instructions with their arguments, continued lines joined."""
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.split("\n"))]


def test_hadolint_has_no_complaint_and_would_have_one(tmp_path: Path) -> None:
    done = run_tool("hadolint", DOCKER / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM debian\nRUN sudo apt-get install nothing\n", encoding="utf-8")
    assert run_tool("hadolint", bad).returncode == 1


def test_compose_file_is_valid_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    check = ("check-jsonschema", "--builtin-schema", "vendor.compose-spec")
    done = run_tool(*check, DOCKER / "compose.yaml")
    assert done.returncode == 0, done.stdout
    bad = tmp_path / "compose.yaml"
    text = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
    bad.write_text(text.replace("healthcheck:", "healthchek:"), encoding="utf-8")
    assert run_tool(*check, bad).returncode == 1


def test_the_program_does_not_run_as_root(instructions: list[tuple[str, str]]) -> None:
    last_stage = max(n for n, (word, _) in enumerate(instructions) if word == "FROM")
    users = [rest for word, rest in instructions[last_stage:] if word == "USER"]
    assert users == ["1000:1000"]
    assert ("ENTRYPOINT", '["sherlock-pg"]') in instructions


def test_no_compiler_is_installed(instructions: list[tuple[str, str]]) -> None:
    commands = " ".join(rest for word, rest in instructions if word == "RUN")
    assert not re.search(r"build-essential|\bgcc\b|\bg\+\+|-dev\b", commands)
    assert "tesseract-ocr-spa" in commands
    for install in re.findall(r"pip install[^&]*", commands):
        assert "--only-binary=:all:" in install


def test_every_copied_path_exists_and_reaches_the_build(
    instructions: list[tuple[str, str]],
) -> None:
    copied = [
        source.rstrip("/")
        for word, rest in instructions
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert copied
    rules = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").split("\n")
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    for source in copied:
        assert (REPOSITORY / source).exists(), source
        is_left_out = False
        for rule in rules:
            if fnmatch.fnmatch(source, rule.removeprefix("!")):
                is_left_out = not rule.startswith("!")
        assert not is_left_out, source


def test_data_volume_is_where_this_major_version_keeps_it(compose: Any) -> None:
    service = compose["services"]["postgres"]
    major = int(re.fullmatch(r"pgvector/pgvector:pg(\d+)", service["image"])[1])  # type: ignore[index]
    assert major >= 18, "before 18 the folder was /var/lib/postgresql/data"
    [volume] = [v for v in service["volumes"] if not v.startswith(".")]
    name, _, target = volume.partition(":")
    assert target == "/var/lib/postgresql"
    assert name in compose["volumes"]


def test_no_password_is_in_the_repository(compose: Any) -> None:
    for service in compose["services"].values():
        for name, value in service["environment"].items():
            if "PASSWORD" in name:
                assert re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", value), name
            else:
                assert not re.search(r"://[^@/]*:[^@/]*@", value), name
    example = (DOCKER / ".env.example").read_text(encoding="utf-8")
    assert dict(re.findall(r"(?m)^(\w+)=(.*)$", example)) == {
        "POSTGRES_PASSWORD": "",
        "SHERLOCK_PASSWORD": "",
    }
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "docker/.env", "docker/inbox/scan.pdf"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ignored.stdout.split() == ["docker/.env", "docker/inbox/scan.pdf"]


def test_the_loader_waits_reads_only_and_has_no_rights(compose: Any) -> None:
    postgres, load = compose["services"]["postgres"], compose["services"]["load"]
    assert "pg_isready" in postgres["healthcheck"]["test"]
    assert load["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert load["command"] == ["load", "/inbox"]
    assert load["volumes"] == ["./inbox:/inbox:ro"]
    assert load["read_only"] is True
    assert load["cap_drop"] == ["ALL"]


def test_ports_are_published_on_loopback_only(compose: Any) -> None:
    published = [port for s in compose["services"].values() for port in s.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_first_start_script_makes_a_database_that_takes_the_schema(
    running: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    superuser = psycopg.conninfo.conninfo_to_dict(running.url())
    awkward = r"it's $HOME \ \"quoted\""
    environment = {
        "PATH": f"{running.binary('psql').parent}:{os.environ['PATH']}",
        "PGHOST": HOST,
        "PGPORT": str(running.port),
        "PGPASSWORD": str(superuser["password"]),
        "POSTGRES_USER": SUPERUSER,
        "SHERLOCK_PASSWORD": awkward,
    }
    script = DOCKER / "initdb" / "10-database.sh"
    assert os.access(script, os.X_OK)
    done = subprocess.run([script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("PGPASSWORD", awkward)
    url = f"postgresql://sherlock_app@{HOST}:{running.port}/sherlock"
    with psycopg.connect(url) as conn:
        rights = conn.execute(
            "select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user"
        )
        assert rights.fetchone() == (False, False, False)
    schema.upgrade(url)
    with psycopg.connect(url) as conn:
        assert schema.status(conn).state is schema.SchemaState.CURRENT
