"""The wheel, built and installed offline: what is in it is enough to install and search."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ("sql/*/*.sql", "migrations/*.py", "migrations/*.mako", "migrations/versions/*.py")
WHERE = "from sherlock_pg import paths; print(paths.sql_dir(), paths.migrations_dir(), sep='\\n')"
TEXT = """REFERENCIA: ACCIÓN DE TUTELA
ACCIONANTE: MARTA LUCÍA OSPINA VÉLEZ
ACCIONADO: SALUD TOTAL EPS

MARTA LUCÍA OSPINA VÉLEZ, identificada con cédula de ciudadanía No. 43.111.222, solicito que se
ordene la entrega del medicamento que el médico tratante formuló hace tres meses.
"""

Run = Callable[..., str]


def pip(*arguments: str | Path) -> None:
    """Run pip without network and without its configuration."""
    subprocess.run(
        [sys.executable, "-m", "pip", "--isolated", "--quiet", "--no-cache-dir", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    (built,) = folder.glob("sherlock_pg-*.whl")
    return built


@pytest.fixture(scope="module")
def run_installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Install the wheel apart; give a function that runs its program, outside the checkout."""
    site = tmp_path_factory.mktemp("site")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    pip("install", "--no-index", "--no-deps", "--no-compile", "--target", site, wheel)

    def python(*arguments: str | Path) -> str:
        ran = subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=elsewhere,
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    for folder in python("-c", WHERE).splitlines():
        assert Path(folder).is_relative_to(site)
    return functools.partial(python, site / "bin" / "sherlock-pg")


def test_wheel_holds_every_sql_file_and_migration(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        shipped = {
            name.removeprefix("sherlock_pg/_bundle/"): archive.read(name)
            for name in names
            if name.startswith("sherlock_pg/_bundle/")
        }
    expected = {
        str(path.relative_to(ROOT)): path.read_bytes()
        for pattern in SHIPPED
        for path in ROOT.glob(pattern)
    }
    assert len(expected) > 30
    assert {name: shipped.get(name) for name in expected} == expected
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_installed_wheel_makes_the_schema_and_finds_a_copy(
    run_installed: Run, empty_database_url: str, tmp_path: Path
) -> None:
    database = ["--database-url", empty_database_url]
    first, copy = tmp_path / "tutela.txt", tmp_path / "copia.txt"
    first.write_text(TEXT, encoding="utf-8")
    copy.write_text(TEXT.replace("\n", "\r\n"), encoding="utf-8", newline="")
    run_installed(*database, "load", "--ner-model", "none", first)
    found = json.loads(
        run_installed(*database, "match", "--ner-model", "none", "--format", "json", copy)
    )
    assert (found["confidence"], found["action"]) == ("EXACT", "REJECT")
