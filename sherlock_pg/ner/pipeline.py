"""The extraction that the product runs: rules first, a model only for what they leave empty."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from sherlock_pg.ner import rules
from sherlock_pg.ner.folding import Excerpt, View
from sherlock_pg.ner.model import AUTO, resolve_model
from sherlock_pg.ner.narrative import is_filing
from sherlock_pg.ner.roles import PARTY_ROLES, Entity

if TYPE_CHECKING:
    from spacy.language import Language


class PartyExtractor:
    """Extracts parties and identifiers from texts.

    spaCy is imported when the first document needs a model, which most filings do not: importing
    it takes seconds, the rules take milliseconds.
    """

    def __init__(self, model: str = AUTO) -> None:
        """Choose the model.

        Args:
            model: "auto" (the best Spanish model that is installed, rules only if there is none),
                "none", the name of an installed package, or the path of a model.

        Raises:
            EnvironmentFault: if a model is named that is not there.
        """
        self._model = resolve_model(model)

    @cached_property
    def _nlp(self) -> Language | None:
        if self._model is None:
            return None
        from sherlock_pg.ner.component import load_pipeline

        return load_pipeline(self._model)

    @property
    def versions(self) -> dict[str, str]:
        """What the result depends on, to be stored beside it: the rules, a model and its spaCy."""
        versions = {"rules": rules.RULES_VERSION}
        if self._model is not None:
            versions["model"] = self._model.label
            versions["spacy"] = importlib.metadata.version("spacy")
        return versions

    def extract(self, text: str) -> list[Entity]:
        """Find the parties and identifiers of a document, ordered by where they stand.

        Raises:
            EnvironmentFault: if a model is needed that cannot be loaded.
        """
        entities = rules.extract(text)
        if self._model is None or not _lacks_a_party(text, entities):
            return entities
        return self._extract_with_model(text)

    def extract_many(self, texts: Iterable[str]) -> Iterator[list[Entity]]:
        """Find the parties and identifiers of many documents, one after another."""
        return map(self.extract, texts)

    def _extract_with_model(self, text: str) -> list[Entity]:
        from sherlock_pg.ner.component import annotate

        assert self._nlp is not None
        excerpt = Excerpt.of(text, rules.HEAD_CHARACTERS, rules.TAIL_CHARACTERS)
        found: list[Entity] = annotate(self._nlp, excerpt.text)._.parties
        return [
            replace(
                entity,
                start=excerpt.source_offset(entity.start),
                end=excerpt.source_offset(entity.end - 1) + 1,
            )
            for entity in found
        ]


def _lacks_a_party(text: str, entities: list[Entity]) -> bool:
    """Tell whether a text speaks of a claim, but a party of it was not found."""
    roles = {entity.role for entity in entities}
    if all(role in roles for role in PARTY_ROLES):
        return False
    excerpt = Excerpt.of(text, rules.HEAD_CHARACTERS, rules.TAIL_CHARACTERS)
    return is_filing(View(excerpt.text))
