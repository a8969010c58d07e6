"""How well the extraction does on labelled texts: precision, recall and F1 by role."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from sherlock_pg.errors import UsageError
from sherlock_pg.ner.roles import Entity, IdType, Role
from sherlock_pg.ner.rules import name_key

NAME_SIMILARITY = 0.85
"""From this ratio on two normalised names are the same party."""

EVALUATED_ROLES = (Role.DEMANDANTE, Role.DEMANDADO, Role.CEDULA, Role.CORREO)
_COUNTED_IDS = (IdType.CC, IdType.CE, IdType.PPT, IdType.PA, IdType.NIT)

Extractor = Callable[[str], Sequence[Entity]]


@dataclass(frozen=True)
class Record:
    """A labelled text.

    Attributes:
        record_id: its name in the file.
        text: the text.
        expected: the values that should be found, by role; ids and mails are the plaintiffs' only.
    """

    record_id: str
    text: str
    expected: Mapping[Role, Sequence[str]]


@dataclass
class RoleScore:
    """Counts of one role over all texts, and the measures that follow from them."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def precision(self) -> float:
        """Share of what was found that is right; 1 if nothing was found."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 1.0

    @property
    def recall(self) -> float:
        """Share of what is there that was found; 1 if nothing is there."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else 1.0

    def as_dict(self) -> dict[str, float]:
        """Give the measures rounded to four digits, with the counts."""
        return {
            "precision": round(self.precision, 4),
            "recall": round(self.recall, 4),
            "f1": round(self.f1, 4),
            "tp": self.tp,
            "fp": self.fp,
            "fn": self.fn,
        }


@dataclass(frozen=True)
class Mistake:
    """What was found and what was expected where the two differ."""

    record_id: str
    role: Role
    superfluous: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass
class Evaluation:
    """The scores by role, and each mistake."""

    scores: dict[Role, RoleScore] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


def evaluate(records: Iterable[Record], extractor: Extractor) -> dict[str, dict[str, float]]:
    """Measure an extractor on labelled texts.

    Args:
        records: the labelled texts.
        extractor: gives the entities of a text.

    Returns:
        Precision, recall, F1 and the counts behind them, by role.
    """
    scores = evaluate_in_detail(records, extractor).scores
    return {role.value: score.as_dict() for role, score in scores.items()}


def evaluate_in_detail(records: Iterable[Record], extractor: Extractor) -> Evaluation:
    """Measure an extractor on labelled texts and keep each mistake it made."""
    evaluation = Evaluation({role: RoleScore() for role in EVALUATED_ROLES})
    for record in records:
        found = values_by_role(extractor(record.text))
        for role, expected in record.expected.items():
            score = evaluation.scores.setdefault(role, RoleScore())
            right, superfluous, missing = _compare(role, found.get(role, []), expected)
            score.tp += right
            score.fp += len(superfluous)
            score.fn += len(missing)
            if superfluous or missing:
                evaluation.mistakes.append(
                    Mistake(record.record_id, role, tuple(superfluous), tuple(missing))
                )
    return evaluation


def values_by_role(entities: Iterable[Entity]) -> dict[Role, list[str]]:
    """Give the values that are compared: of ids and mails only those that are the plaintiffs'."""
    values: dict[Role, list[str]] = {}
    for entity in entities:
        if entity.role in (Role.CEDULA, Role.CORREO) and entity.owner is not Role.DEMANDANTE:
            continue
        if entity.role is Role.CEDULA and entity.id_type not in _COUNTED_IDS:
            continue
        values.setdefault(entity.role, []).append(entity.value)
    return values


def names_match(left: str, right: str) -> bool:
    """Tell whether two spellings of a name are near enough to be the same party."""
    matcher = SequenceMatcher(None, name_key(left), name_key(right), autojunk=False)
    return matcher.ratio() >= NAME_SIMILARITY


def _compare(
    role: Role, found: Sequence[str], expected: Sequence[str]
) -> tuple[int, list[str], list[str]]:
    """Pair found and expected values one to one; give the count of pairs and both rests."""
    missing = list(expected)
    superfluous = []
    right = 0
    for value in found:
        match = next((other for other in missing if _equal(role, value, other)), None)
        if match is None:
            superfluous.append(value)
        else:
            missing.remove(match)
            right += 1
    return right, superfluous, missing


def _equal(role: Role, found: str, expected: str) -> bool:
    if role in (Role.DEMANDANTE, Role.DEMANDADO):
        return names_match(found, expected)
    if role is Role.CORREO:
        return found == expected.lower()
    return found == "".join(char for char in expected if char.isdigit())


def read_records(path: Path) -> list[Record]:
    """Read labelled texts from a JSON Lines file.

    Raises:
        UsageError: if the file cannot be read, or a line is not a labelled text.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {error}", hint="give a UTF-8 file with one JSON object a line"
        ) from error
    records = [
        _record(path, number, line)
        for number, line in enumerate(content.split("\n"), start=1)
        if line.strip()
    ]
    if not records:
        raise UsageError(f"{path} holds no labelled text", hint="give one JSON object a line")
    return records


def _record(path: Path, number: int, line: str) -> Record:
    def wrong(what: str) -> UsageError:
        return UsageError(
            f"{path}, line {number}: {what}",
            hint='a line is {"id": …, "text": …, "demandante": […], "demandado": […], '
            '"cedula": […], "correo": […]}',
        )

    try:
        raw = json.loads(line)
    except json.JSONDecodeError as error:
        raise wrong(f"not JSON: {error.msg} at column {error.colno}") from error
    if not isinstance(raw, dict):
        raise wrong("not a JSON object")
    if not isinstance(raw.get("text"), str):
        raise wrong("'text' is missing or not a string")
    expected: dict[Role, list[str]] = {}
    for role in (*EVALUATED_ROLES, Role.RADICADO):
        if role not in raw and role is Role.RADICADO:
            continue
        values = raw.get(role)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise wrong(f"'{role}' is missing or not a list of strings")
        expected[role] = values
    return Record(str(raw.get("id", number)), raw["text"], expected)
