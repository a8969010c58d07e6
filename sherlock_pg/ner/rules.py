"""Parties and identifiers by rules: pure functions on a text, without spaCy.

A labelled line ('ACCIONANTE: …') is trusted before a narrating sentence ('tutela promovida por … contra
…'), that before the first person ('…, mayor de edad, … interpongo'), for each role on its own. Every
quantifier in the patterns is bounded, so garbage from a bad scan costs no more than prose.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sherlock_pg.ner import ids, mail
from sherlock_pg.ner.cleaning import Span, is_initials, is_name, trim
from sherlock_pg.ner.folding import Excerpt, View, compose
from sherlock_pg.ner.labels import labelled_values
from sherlock_pg.ner.lexicon import INSTITUTION, is_person
from sherlock_pg.ner.narrative import is_filing, narrated, weak_defendants
from sherlock_pg.ner.roles import Entity, Role, Source
from sherlock_pg.ner.speaker import principals, signers, speakers
from sherlock_pg.ner.split import drop_local_office, split_parties

RULES_VERSION = "1"
"""Changes whenever the same text may give other entities; stored beside what was extracted."""

HEAD_CHARACTERS = 12_000
TAIL_CHARACTERS = 4_000
MAX_PARTIES = 12

_HEADING_REACH = 2_500
_SCORES = {Source.LABEL: 0.95, Source.NARRATIVE: 0.85, Source.FIRST_PERSON: 0.75}
_WEAK_SCORE = 0.5
_BLANK = re.compile(r"[ \t]?(?:_{2,}|\.{4,}|X{3,})")
_NON_WORD = re.compile(r"[^a-z0-9]+")


def extract(text: str, head: int = HEAD_CHARACTERS, tail: int = TAIL_CHARACTERS) -> list[Entity]:
    """Find the parties of a filing and the identifiers in it.

    Args:
        text: the text of the document; offsets of the result refer to it.
        head: how many characters of the beginning are looked at.
        tail: how many characters of the end are looked at (notifications, signature).

    Returns:
        The entities, each value once per role, ordered by where they stand.
    """
    excerpt = Excerpt.of(text, head, tail)
    composed, offsets = compose(excerpt.text)
    view = View(composed)
    parties = find_parties(view)
    found = sorted([*parties, *find_identifiers(view, parties)], key=lambda entity: entity.start)
    return [_relocated(entity, offsets, excerpt) for entity in found]


def _relocated(entity: Entity, offsets: Sequence[int] | None, excerpt: Excerpt) -> Entity:
    start, last = entity.start, entity.end - 1
    end = last + 1
    if offsets is not None:
        start, end = offsets[start], offsets[end]
    return replace(
        entity,
        start=excerpt.source_offset(start),
        end=excerpt.source_offset(end - 1) + 1,
    )


def find_parties(view: View) -> list[Entity]:
    """Find plaintiffs and defendants in a text taken as it is."""
    if not is_filing(view):
        return []
    values: dict[Role, dict[Source, list[Span]]] = {
        role: {source: [] for source in _SCORES} for role in (Role.DEMANDANTE, Role.DEMANDADO)
    }
    for role, span in labelled_values(view):
        values[role][Source.LABEL].append(span)
    for role, span in narrated(view):
        values[role][Source.NARRATIVE].append(span)
    values[Role.DEMANDANTE][Source.FIRST_PERSON].extend(speakers(view))

    plaintiffs = _best(view, Role.DEMANDANTE, values[Role.DEMANDANTE])
    if not plaintiffs:
        plaintiffs = _weak(view, Role.DEMANDANTE, principals(view)) or _weak(
            view, Role.DEMANDANTE, signers(view)
        )
    plaintiff_keys = {name_key(entity.value) for entity in plaintiffs}
    defendants = [
        entity
        for entity in _best(view, Role.DEMANDADO, values[Role.DEMANDADO])
        or _weak(view, Role.DEMANDADO, weak_defendants(view))
        if name_key(entity.value) not in plaintiff_keys
    ]
    return [*plaintiffs, *defendants]


def find_identifiers(view: View, parties: Sequence[Entity]) -> list[Entity]:
    """Find ids, mails, radicados and reference numbers; the parties tell whose they are."""
    return [
        *ids.find_ids(view, parties),
        *mail.find_mails(view, parties),
        *ids.find_radicados(view),
        *ids.find_references(view),
    ]


def name_key(value: str) -> str:
    """Reduce a name to what two spellings of it share: lower-case ASCII words."""
    decomposed = unicodedata.normalize("NFKD", value)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _NON_WORD.sub(" ", plain.lower().replace(".", "")).strip()


def party(view: View, role: Role, span: Span, source: Source, score: float) -> Entity | None:
    """Make the entity of one party from its raw span, or None where the span holds no name."""
    trimmed = trim(view.folded, *span)
    if trimmed is None:
        return None
    start, end = drop_local_office(view.folded, trimmed)
    name = view.folded[start:end]
    if not is_name(name) or _BLANK.match(view.folded, end):
        return None
    return Entity(
        role,
        view.value(start, end),
        start,
        end,
        source,
        score,
        is_anonymised=is_initials(name) or (role is Role.DEMANDANTE and _is_acronym(name)),
    )


def _is_acronym(name: str) -> bool:
    return (
        name.isalpha()
        and len(name) <= 5
        and not INSTITUTION.search(name)
        and not re.search(r"[AEIOU][^AEIOU][AEIOU]|[^AEIOU][AEIOU][^AEIOU][^AEIOU]?$", name)
    )


def _best(view: View, role: Role, values: dict[Source, list[Span]]) -> list[Entity]:
    """Take the parties of the most trusted source that has any."""
    for source, score in _SCORES.items():
        found = _parties(view, role, values[source], source, score)
        if found:
            return found
    return []


def _weak(view: View, role: Role, spans: Iterable[Span]) -> list[Entity]:
    source = Source.FIRST_PERSON if role is Role.DEMANDANTE else Source.NARRATIVE
    return _parties(view, role, spans, source, _WEAK_SCORE)


def _parties(
    view: View, role: Role, spans: Iterable[Span], source: Source, score: float
) -> list[Entity]:
    """Make entities from raw values, each party once, those near the first mention only."""
    found: list[Entity] = []
    keys: list[frozenset[str]] = []
    for span in spans:
        for piece in _pieces(view, role, span, source):
            entity = party(view, role, piece, source, score)
            if entity is None or (found and entity.start - found[0].end > _HEADING_REACH):
                continue
            words = frozenset(name_key(entity.value).split())
            if words and not any(_same_words(words, key) for key in keys):
                found.append(entity)
                keys.append(words)
    return found[:MAX_PARTIES]


def _pieces(view: View, role: Role, span: Span, source: Source) -> list[Span]:
    """Split a raw value; what follows the first circumstance of a person is not a list any more."""
    pieces = split_parties(view.folded, *span)
    if source is Source.LABEL and role is Role.DEMANDADO:
        return pieces
    kept: list[Span] = []
    for piece in pieces:
        if kept and _ends_list(view.folded, kept[-1], piece):
            break
        kept.append(piece)
    return kept


_KIN = re.compile(
    r"(?<![A-Z])(?:REPRESENTACION|REPRESENTAD[OA]|HIJ[OA]S?|AGENTE\s+OFICIOS[OA]|APODERAD[OA]|FAVOR\s+DE|CURADORA?|A\s+TRAVES|POR\s+INTERMEDIO|QUE|PORQUE|VULNER)(?![A-Z])"
)


def _ends_list(folded: str, previous: Span, piece: Span) -> bool:
    return _KIN.search(folded, previous[0], piece[0]) is not None


def _same_words(left: frozenset[str], right: frozenset[str]) -> bool:
    """Tell whether one name is the other one, or the other one with words left out."""
    return left <= right or (right <= left and len(right) >= 2)


def is_person_name(value: str) -> bool:
    """Tell whether a value has the shape of a person's name."""
    return is_person(View(value).folded)
