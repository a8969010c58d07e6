"""The spaCy component `sherlock_parties`; importing this module registers it.

In a pipeline without named entity recognition it applies the rules; behind a recogniser it also
fills a party role that the rules left empty, with a name that stands beside a cue of filing. It
writes `doc.spans["parties"]` (labels are roles) and `doc._.parties` (a list of entities).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import spacy
from spacy.language import Language
from spacy.tokens import Doc, SpanGroup

from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.ner import rules
from sherlock_pg.ner.cleaning import Span
from sherlock_pg.ner.folding import View
from sherlock_pg.ner.lexicon import is_person
from sherlock_pg.ner.model import Model
from sherlock_pg.ner.narrative import is_filing
from sherlock_pg.ner.roles import PARTY_ROLES, Entity, Role, Source

COMPONENT_NAME = "sherlock_parties"

_MODEL_SCORE = 0.5
_UNUSED_PIPES = ("morphologizer", "parser", "attribute_ruler", "lemmatizer")
_OLDER_MODEL_WARNING = r"\[W095\]"

_SHOUTED = re.compile(r"[A-ZÁÉÍÓÚÜÑ]{3,}(?![a-záéíóúüñ])")
_FILING_VERB = re.compile(
    r"INSTAUR|INTERPON|INTERPUS|PROMUEV|PROMOV|PRESENT[AO]|SOLICIT|DEMAND|ACUD|COMPAREC|SUSCRI"
    r"|RECLAMA|INVOC"
)
_IDENTIFIED = re.compile(r"[\s,]{0,4}(?:C\.?\s?C|CEDULA|IDENTIFICAD|MAYOR\s+DE\s+EDAD|CON\s+C)")
_OPPOSED = re.compile(
    r"(?:CONTRA|EN\s+CONTRA\s+DEL?|FRENTE\s+A|ORDENE\s+A|DEMANDO\s+A|VULNERAD[OA]S?\s+POR"
    r"|ACCIONAD[OA]S?|DEMANDAD[OA]S?|PASIVA)\W{0,3}(?:EL|LA|LOS|LAS)?\W{0,2}$"
)
_CUE_REACH = 60


def soften(text: str) -> str:
    """Write words of capitals with one capital: the models were trained on running text."""
    return _SHOUTED.sub(lambda match: match.group()[0] + match.group()[1:].lower(), text)


@Language.factory(
    COMPONENT_NAME, default_config={"head": rules.HEAD_CHARACTERS, "tail": rules.TAIL_CHARACTERS}
)
def create_parties_component(nlp: Language, name: str, head: int, tail: int) -> PartiesComponent:
    """Make the component; spaCy calls this."""
    return PartiesComponent(head, tail)


class PartiesComponent:
    """Writes the parties and identifiers of a document into it."""

    def __init__(self, head: int, tail: int) -> None:
        self.head = head
        self.tail = tail

    def __call__(self, doc: Doc) -> Doc:
        """Find the entities of a document and write them into it."""
        text: str = doc._.source_text or doc.text
        entities = rules.extract(text, self.head, self.tail)
        if doc.has_annotation("ENT_IOB"):
            entities = fill_empty_roles(text, entities, _recognised(doc))
        doc._.parties = entities
        spans = (
            doc.char_span(
                entity.start, entity.end, label=entity.role.value, alignment_mode="expand"
            )
            for entity in entities
        )
        doc.spans["parties"] = SpanGroup(doc, spans=[span for span in spans if span is not None])
        return doc


def _register_extensions() -> None:
    for name, default in (("parties", []), ("source_text", None)):
        if not Doc.has_extension(name):
            Doc.set_extension(name, default=default)


_register_extensions()


def load_pipeline(model: Model) -> Language:
    """Load a pretrained model with the component behind its recogniser.

    Raises:
        EnvironmentFault: if the installed spaCy cannot load the model.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_OLDER_MODEL_WARNING, category=UserWarning)
        try:
            nlp = spacy.load(model.name, exclude=_UNUSED_PIPES)
        except Exception as error:
            raise EnvironmentFault(
                f"spaCy {spacy.about.__version__} cannot load the model {model.label}: {error}",
                hint=f"install one made for it: python -m spacy download {model.name}",
            ) from error
    nlp.add_pipe(COMPONENT_NAME, last=True)
    return nlp


def annotate(nlp: Language, text: str) -> Doc:
    """Run a pipeline whose recogniser sees a softened text, while the rules see the text itself."""
    doc = nlp.make_doc(soften(text))
    doc._.source_text = text
    return nlp(doc)


def _recognised(doc: Doc) -> list[tuple[str, Span]]:
    return [(span.label_, (span.start_char, span.end_char)) for span in doc.ents]


def fill_empty_roles(
    text: str, entities: list[Entity], recognised: list[tuple[str, Span]]
) -> list[Entity]:
    """Fill the party roles that the rules left empty with recognised names beside a cue.

    Without a cue a recogniser would make a party of the first name of every invoice.

    Args:
        text: the text that the offsets refer to.
        entities: what the rules found.
        recognised: labels and spans of the names a model recognised.
    """
    empty = [role for role in PARTY_ROLES if not any(entity.role is role for entity in entities)]
    view = View(text)
    if not empty or not is_filing(view):
        return entities
    candidates = {Role.DEMANDANTE: _plaintiffs, Role.DEMANDADO: _defendants}
    filled: list[Entity] = []
    for role in empty:
        for span in candidates[role](view, recognised):
            party = rules.party(view, role, span, Source.MODEL, _MODEL_SCORE)
            if party is not None and not _is_taken(party, [*entities, *filled]):
                filled.append(party)
                break
    if not filled:
        return entities
    parties = [entity for entity in entities if entity.role in PARTY_ROLES] + filled
    found = [*parties, *rules.find_identifiers(view, parties)]
    return sorted(found, key=lambda entity: entity.start)


def _is_taken(party: Entity, others: list[Entity]) -> bool:
    key = rules.name_key(party.value)
    return any(rules.name_key(other.value) == key for other in others)


def _plaintiffs(view: View, recognised: list[tuple[str, Span]]) -> Iterator[Span]:
    folded = view.folded
    for label, (start, end) in recognised:
        if label not in ("PER", "PERSON") or not is_person(folded[start:end]):
            continue
        before = folded[max(0, start - _CUE_REACH) : start]
        if _IDENTIFIED.match(folded, end) or _FILING_VERB.search(
            before + "\n" + folded[end : end + _CUE_REACH]
        ):
            yield start, end


def _defendants(view: View, recognised: list[tuple[str, Span]]) -> Iterator[Span]:
    for _, (start, end) in recognised:
        if _OPPOSED.search(view.folded[max(0, start - _CUE_REACH) : start]):
            yield start, end
