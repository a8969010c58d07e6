"""The measuring itself: matching, counts, the file format and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sherlock_pg.cli.eval_ner import eval_ner
from sherlock_pg.errors import UsageError
from sherlock_pg.ner.evaluate import Record, evaluate, names_match, read_records
from sherlock_pg.ner.roles import Entity, IdType, Role, Source

LINE = {
    "id": "x1",
    "text": "Accionante: Ana Ruiz Gil, C.C. 52.345.678\nAccionado: Sanitas EPS\n",
    "demandante": ["ANA RUIZ GIL"],
    "demandado": ["Sanitas E.P.S."],
    "cedula": ["52.345.678"],
    "correo": [],
}


def entity(role: Role, value: str, owner: Role | None = None, kind: IdType | None = None) -> Entity:
    return Entity(role, value, 0, 1, Source.PATTERN, 1.0, owner=owner, id_type=kind)


def write(path: Path, *lines: object) -> Path:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("NUEVA E.P.S", "Nueva EPS", True),
        ("José Núñez", "JOSE NUNEZ", True),
        ("JOSE IGNACIO LOZANO", "J0SE IGNACIO LOZANO", True),
        ("Ana Ruiz", "Luis Arias", False),
    ],
)
def test_names_match(left: str, right: str, same: bool) -> None:
    assert names_match(left, right) is same


def test_counts_and_measures() -> None:
    record = Record(
        "x",
        "",
        {
            Role.DEMANDANTE: ["Ana Ruiz", "Eva Mora"],
            Role.DEMANDADO: [],
            Role.CEDULA: ["1.234.567"],
            Role.CORREO: ["A@b.co"],
        },
    )
    found = [
        entity(Role.DEMANDANTE, "ANA RUIZ"),
        entity(Role.DEMANDANTE, "ANA RUIZ"),
        entity(Role.DEMANDADO, "Nadie SAS"),
        entity(Role.CEDULA, "1234567", Role.DEMANDANTE, IdType.CC),
        entity(Role.CEDULA, "7654321", Role.DEMANDADO, IdType.CC),
        entity(Role.CEDULA, "1098765432", Role.DEMANDANTE, IdType.TI),
        entity(Role.CORREO, "a@b.co", Role.DEMANDANTE),
        entity(Role.CORREO, "c@d.co"),
    ]
    scores = evaluate([record], lambda text: found)
    assert scores["demandante"] == {
        "precision": 0.5, "recall": 0.5, "f1": 0.5, "tp": 1, "fp": 1, "fn": 1,
    }  # fmt: skip
    assert scores["demandado"]["precision"] == 0.0
    assert scores["cedula"]["f1"] == scores["correo"]["f1"] == 1.0
    assert "radicado" not in scores


def test_nothing_expected_and_nothing_found_is_perfect() -> None:
    record = Record("x", "", {Role.DEMANDANTE: []})
    assert evaluate([record], lambda text: [])["demandante"]["f1"] == 1.0


def test_command_ends_with_json(tmp_path: Path) -> None:
    file = write(tmp_path / "labelled.jsonl", LINE, "", LINE | {"demandante": ["Otra Persona"]})
    result = CliRunner().invoke(eval_ner, [str(file), "--model", "none", "--errors"])
    assert result.exit_code == 0, result.output
    scores = json.loads(result.stdout.splitlines()[-1])
    assert scores["demandado"] == {
        "precision": 1.0, "recall": 1.0, "f1": 1.0, "tp": 2, "fp": 0, "fn": 0,
    }  # fmt: skip
    assert scores["demandante"]["f1"] == 0.5
    assert "+ Ana Ruiz Gil" in result.stdout
    assert "- Otra Persona" in result.stdout


def test_radicado_is_measured_where_it_is_labelled(tmp_path: Path) -> None:
    radicado = "11001-40-03-005-2024-00118-00"
    line = LINE | {"text": f"{LINE['text']}Rad. {radicado}", "radicado": [radicado]}
    result = CliRunner().invoke(
        eval_ner, [str(write(tmp_path / "x.jsonl", line)), "--model", "none"]
    )
    assert json.loads(result.stdout.splitlines()[-1])["radicado"]["tp"] == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: not a JSON object"),
        ({"id": 1}, "line 2: 'text'"),
        (LINE | {"cedula": "52345678"}, "line 2: 'cedula'"),
        (LINE | {"demandado": [1]}, "line 2: 'demandado'"),
        ({key: LINE[key] for key in ("id", "text", "demandante")}, "line 2: 'demandado'"),
    ],
)
def test_bad_line_is_named(tmp_path: Path, line: object, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        read_records(write(tmp_path / "bad.jsonl", LINE, line))
    assert caught.value.hint


def test_files_that_hold_nothing_to_measure(tmp_path: Path) -> None:
    for file in (tmp_path / "missing.jsonl", write(tmp_path / "empty.jsonl"), tmp_path):
        with pytest.raises(UsageError):
            read_records(file)
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"text": "\xd1"}\n')
    with pytest.raises(UsageError, match="cannot read"):
        read_records(latin)
