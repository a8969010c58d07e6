"""Parties and identifiers by rules: pure functions on a text, without spaCy.

A labelled line ('ACCIONANTE: …') is trusted before a narrating sentence ('tutela promovida por …
contra …'), that before the first person ('…, mayor de edad, … interpongo'), for each role on its
own. Every quantifier in the patterns is bounded, so garbage from a bad scan costs no more than
prose.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from sherlock_pg.ner import ids, mail
from sherlock_pg.ner.cleaning import Span, is_initials, is_institution, is_name, trim
from sherlock_pg.ner.folding import Excerpt, View, fold_name
from sherlock_pg.ner.labels import labelled_values
from sherlock_pg.ner.lexicon import is_person, starts_with_given_name
from sherlock_pg.ner.mending import Mended
from sherlock_pg.ner.narrative import (
    appellants,
    apposed,
    favoured,
    is_filing,
    narrated,
    petitioners,
    weak_defendants,
)
from sherlock_pg.ner.owners import NameIndex
from sherlock_pg.ner.roles import PARTY_ROLES, Entity, Role, Source
from sherlock_pg.ner.speaker import principals, signers, speakers
from sherlock_pg.ner.split import drop_local_office, split_parties

RULES_VERSION = "3"
"""Changes whenever the same text may give other entities; stored beside what was extracted."""

HEAD_CHARACTERS = 12_000
TAIL_CHARACTERS = 4_000
MAX_PARTIES = 12

_HEADING_REACH = 2_500
_SAME_SCAN = 0.9
_SCORES = {Source.LABEL: 0.95, Source.NARRATIVE: 0.85, Source.FIRST_PERSON: 0.75}
_WEAK_SCORE = 0.5
_BLANK = re.compile(r"[ \t]?(?:_{2,}|\.{4,}|X{3,})")
_OTHERS_FOLLOW = (
    r"(?:EN\s+)?REPRESENTACION|REPRESENTAD[OA]S?|REPRESENTANTE|HIJ[OA]S?|AGENTE\s+OFICIOS[OA]"
    r"|CURADORA?"
    r"|APODERAD[OA]S?|FAVOR\s+DE|A\s+TRAVES|POR\s+INTERMEDIO|QUE|PORQUE|VULNER[A-Z]{1,8}"
)
_END_OF_DEFENDANTS = re.compile(rf"(?<![A-Z])(?:{_OTHERS_FOLLOW})(?![A-Z])")
_END_OF_PLAINTIFFS = re.compile(
    rf"(?<![A-Z])(?:{_OTHERS_FOLLOW}|CONTRA|INTERPON[A-Z]{{1,5}}|INSTAUR[A-Z]{{1,4}}"
    rf"|PRESENT[AO])(?![A-Z])"
)
_CAPITALISED_SHARE = 0.5
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
    mended = Mended(excerpt.text)
    view = View(mended.text)
    parties = find_parties(view)
    found = sorted([*parties, *find_identifiers(view, parties)], key=lambda entity: entity.start)
    return [_relocated(entity, mended, excerpt) for entity in found]


def _relocated(entity: Entity, mended: Mended, excerpt: Excerpt) -> Entity:
    start, end = mended.source_offset(entity.start), mended.source_offset(entity.end)
    return replace(
        entity,
        start=excerpt.source_offset(start),
        end=excerpt.source_offset(end - 1) + 1,
    )


def find_parties(view: View) -> list[Entity]:
    """Find plaintiffs and defendants in a text taken as it is."""
    if not is_filing(view):
        return []
    plaintiffs, defendants = _both(view, labelled_values(view), Source.LABEL)
    if not plaintiffs or not defendants or not _are_people(plaintiffs):
        narrated_plaintiffs, narrated_defendants = _both(view, narrated(view), Source.NARRATIVE)
        if narrated_plaintiffs and _all_among(plaintiffs, narrated_defendants):
            plaintiffs = narrated_plaintiffs
        defendants = defendants or narrated_defendants
    apposed_plaintiffs, apposed_defendants = _both(view, apposed(view), Source.NARRATIVE)
    plaintiffs = (
        plaintiffs
        or _parties(view, Role.DEMANDANTE, speakers(view), Source.FIRST_PERSON)
        or apposed_plaintiffs
        or _weak(view, Role.DEMANDANTE, principals(view))
        or _weak(view, Role.DEMANDANTE, petitioners(view))
        or _without(defendants, _weak(view, Role.DEMANDANTE, appellants(view)))
        or _weak(view, Role.DEMANDANTE, signers(view))
        or _weak(view, Role.DEMANDANTE, favoured(view))
    )
    defendants = (
        defendants or apposed_defendants or _weak(view, Role.DEMANDADO, weak_defendants(view))
    )
    return [*plaintiffs, *_without(plaintiffs, defendants)]


def _without(others: list[Entity], entities: list[Entity]) -> list[Entity]:
    """Leave out the entities that others already are."""
    keys = {name_key(other.value) for other in others}
    return [entity for entity in entities if name_key(entity.value) not in keys]


def _both(
    view: View, values: Iterable[tuple[Role, Span]], source: Source
) -> tuple[list[Entity], list[Entity]]:
    """Make the plaintiffs and the defendants of one source."""
    spans: dict[Role, list[Span]] = {role: [] for role in PARTY_ROLES}
    for role, span in values:
        spans[role].append(span)
    return (
        _parties(view, Role.DEMANDANTE, spans[Role.DEMANDANTE], source),
        _parties(view, Role.DEMANDADO, spans[Role.DEMANDADO], source),
    )


def _are_people(entities: list[Entity]) -> bool:
    return all(is_person(fold_name(entity.value)) for entity in entities)


def _all_among(entities: list[Entity], others: list[Entity]) -> bool:
    """Tell whether each of some labelled plaintiffs is narrated as a defendant (or there is none).

    Such a label is not to be trusted: in a second instance it may name who appeals.
    """
    keys = {name_key(other.value) for other in others}
    return all(name_key(entity.value) in keys for entity in entities)


def find_identifiers(view: View, parties: Sequence[Entity]) -> list[Entity]:
    """Find ids, mails, radicados and reference numbers; the parties tell whose they are."""
    names = NameIndex(view, parties)
    return [
        *ids.find_ids(view, names),
        *mail.find_mails(view, names),
        *ids.find_dockets_and_references(view),
    ]


def name_key(value: str) -> str:
    """Reduce a name to what two spellings of it share: lower-case ASCII words."""
    decomposed = unicodedata.normalize("NFKD", value)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _NON_WORD.sub(" ", plain.lower().replace(".", "")).strip()


def party(
    view: View, role: Role, span: Span, source: Source, score: float, *, is_spoken: bool = False
) -> Entity | None:
    """Make the entity of one party from its raw span, or None where the span holds no name.

    Args:
        view: the text.
        role: which party it is.
        span: the raw value.
        source: how it was found.
        score: how far it is trusted.
        is_spoken: whether somebody introduces himself there, so that a name in small letters is
            one too.
    """
    trimmed = trim(view.folded, *span)
    if trimmed is None:
        return None
    start, end = drop_local_office(view.folded, trimmed)
    name = view.folded[start:end]
    if not is_name(name) or _BLANK.match(view.folded, end):
        return None
    if not (
        is_institution(name)
        or starts_with_given_name(name)
        or _is_capitalised(view, start, end)
        or (is_spoken and is_person(name))
    ):
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


def _is_capitalised(view: View, start: int, end: int) -> bool:
    """Tell whether most longer words are capitalised, as in a name and not in a sentence."""
    words: list[str] = re.findall(r"[^\W\d_]{3,}", view.text[start:end])
    words = [word for word in words if word != "del"]
    if not words or (len(words) == 1 and len(words[0]) == 3 and not words[0].isupper()):
        return not words
    return sum(word[0].isupper() for word in words) >= _CAPITALISED_SHARE * len(words)


def _is_acronym(name: str) -> bool:
    """Tell whether a name is initials without dots ('EMCR'), which have hardly a vowel."""
    vowels = sum(char in "AEIOU" for char in name)
    return name.isalpha() and len(name) <= 5 and 3 * vowels < len(name) and not is_institution(name)


def _weak(view: View, role: Role, spans: Iterable[Span]) -> list[Entity]:
    source = Source.FIRST_PERSON if role is Role.DEMANDANTE else Source.NARRATIVE
    return _parties(view, role, spans, source, _WEAK_SCORE)


def _parties(
    view: View, role: Role, spans: Iterable[Span], source: Source, score: float | None = None
) -> list[Entity]:
    """Make entities from raw values, each party once, those near the first mention only."""
    found: list[Entity] = []
    for span in spans:
        known = list(found)
        for piece in _pieces(view, role, span, source):
            is_spoken = (
                source is Source.FIRST_PERSON
                and piece[0] == span[0]
                and view.text[slice(*piece)].islower()
            )
            entity = party(view, role, piece, source, score or _SCORES[source], is_spoken=is_spoken)
            if entity is None or (found and entity.start - found[0].end > _HEADING_REACH):
                continue
            if not any(_same_party(entity, other) for other in found) and not any(
                _misread(entity, other) for other in known
            ):
                found.append(entity)
    return found[:MAX_PARTIES]


def _same_party(entity: Entity, other: Entity) -> bool:
    """Tell whether one name is the other one, or the other one with words left out."""
    words, others = (frozenset(name_key(each.value).split()) for each in (entity, other))
    return not words or words <= others or (others <= words and len(others) >= 2)


def _misread(entity: Entity, other: Entity) -> bool:
    """Tell whether a name of another mention differs only as a bad scan would make it differ."""
    left, right = name_key(entity.value), name_key(other.value)
    if re.findall(r"\d+", left) != re.findall(r"\d+", right):
        return False
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= _SAME_SCAN


def _pieces(view: View, role: Role, span: Span, source: Source) -> list[Span]:
    """Split a raw value; behind a circumstance of a party follow others than parties."""
    pieces = split_parties(view.folded, *span)
    if source is Source.LABEL and role is Role.DEMANDADO:
        return pieces
    end = _END_OF_PLAINTIFFS if role is Role.DEMANDANTE else _END_OF_DEFENDANTS
    kept = pieces[:1]
    for previous, piece in itertools.pairwise(pieces):
        if end.search(view.folded, previous[0], piece[0]) or end.match(view.folded, piece[0]):
            break
        kept.append(piece)
    return kept
