"""The templates: what each topic says, in two wordings, and which details it can have.

The texts are TOML files beside this module. A *unit* is one paragraph in two wordings, which say
the same with the same slots: the first and the second telling of one story.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import tomllib
from collections.abc import Mapping
from typing import Any

Unit = tuple[str, ...]
"""One paragraph, in each of its wordings."""


@dataclasses.dataclass(frozen=True)
class Institution:
    """An authority or company that can be sued."""

    name: str
    article: str
    domain: str


@dataclasses.dataclass(frozen=True)
class Frame:
    """What all filings of one type say around the facts."""

    title: str
    claimant_label: str
    respondent_label: str
    circumstances_used: int
    grounds_used: int
    opening: Unit
    rights_paragraph: Unit
    petitions_intro: Unit
    oath: Unit
    notification: Unit
    attachments: Unit
    farewell: Unit
    circumstances: tuple[Unit, ...]
    grounds: tuple[Unit, ...]
    annex_title: str
    annex: tuple[str, ...]
    slots: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Topic:
    """One kind of complaint: its facts, claims, legal grounds and the values of its slots."""

    name: str
    doc_type: str
    rights: str
    respondents: tuple[str, ...]
    other_case_topic: str
    details_used: int
    facts: tuple[Unit, ...]
    details: tuple[Unit, ...]
    petitions: tuple[Unit, ...]
    extension: tuple[Unit, ...]
    grounds: tuple[Unit, ...]
    proofs: tuple[str, ...]
    slots: Mapping[str, Any]
    records: tuple[Mapping[str, str], ...]


TOPICS = (
    "tutela_salud",
    "tutela_pension",
    "tutela_peticion",
    "tutela_educacion",
    "tutela_minimo_vital",
    "tutela_fotomulta",
    "habeas_corpus_captura",
    "habeas_corpus_prolongacion",
    "habeas_corpus_terminos",
)


def _load(name: str) -> dict[str, Any]:
    folder = importlib.resources.files("sherlock_pg.samples") / "texts"
    return tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))


def _frozen(value: Any) -> Any:
    """Return lists as tuples, all the way down."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


@functools.cache
def load_frame(doc_type: str) -> Frame:
    """Return the frame of a document type."""
    raw = _load(f"frame_{doc_type}")
    return Frame(**{key: _frozen(value) for key, value in raw.items()})


@functools.cache
def load_topic(name: str) -> Topic:
    """Return a topic by its name, one of `TOPICS`."""
    raw = {"records": []} | _load(name)
    return Topic(name=name, **{key: _frozen(value) for key, value in raw.items()})


@functools.cache
def load_institutions() -> Mapping[str, tuple[Institution, ...]]:
    """Return the institutions by the role they can play."""
    return {
        role: tuple(Institution(**entry) for entry in entries)
        for role, entries in _load("institutions").items()
    }
