"""Whose an id or a mail is: the party whose name or label stands nearest before it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from string import ascii_uppercase, digits

from sherlock_pg.ner.folding import View, collapse_spaces, fold_name
from sherlock_pg.ner.lexicon import DEFENDANT, GIVEN_NAMES, INSTITUTION, PLAINTIFF, is_person
from sherlock_pg.ner.roles import Entity, Role

_REACH = 420
_MISREAD_REACH = 160
_SAME_NAME = 0.75
_CAPITALS = frozenset(ascii_uppercase)
_WORD_CHARACTERS = _CAPITALS | frozenset(digits)
_LONGEST_GAP = 3
_SOMEBODY_ELSE = re.compile(
    r"(?<![A-Z])(?:REPRESENTAD[OA]\s+(?:LEGALMENTE|JUDICIALMENTE|POR)|REPRESENTANTE\s+LEGAL"
    r"|REPRESENTACION(?:\s+LEGAL)?\s+DE"
    r"|MENOR(?!(?:ES)?\s+DE\s+EDAD)|MIS?\s+(?:MENOR(?:ES)?|HIJ[OA]S?|MADRE|PADRE|ESPOS[OA]"
    r"|COMPANER[OA]|HERMAN[OA]|CONYUGE|ABUEL[OA]|SENORA?\s+(?:MADRE|PADRE)|SUEGR[OA]|NIET[OA]"
    r"|TI[OA]|PRIM[OA]|POBRE|BEBE)"
    r"|COMPANER[OA]\s+PERMANENTE|Q\s?\.?\s?E\s?\.?\s?P\s?\.?\s?D|(?:SU|MI|DE|UN|UNA"
    r"|DEL)\s+(?:APODERAD[OA]|ABOGAD[OA])|AGENCIAD[OA]|FALLECID[OA]|CAUSANTE|OFICIOS[OA]\s+(?:DE"
    r"|DEL)|A\s+FAVOR\s+DE|FAVOR\s+DEL"
    r"|GERENTE|HIJ[OA]\s+DE|LA\s+VICTIMA|TESTIGO|DEFENSORA?\s+(?:DE|PUBL)|QUIEN\s+EN\s+VIDA"
    r"|A\s+NOMBRE\s+DE(?!L?\s+ACCIONANTE)|PACIENTE|BENEFICIARI[OA]|NOTARI[OA]|DR\.|DRA\.)(?![A-Z])"
)
_SIGNED = re.compile(
    r"[\s,.;:()\-]*(?:CON\s+)?(?:LA\s+|EL\s+)?"
    r"(?:C\.?\s?C|CEDULA(?:\s+DE\s+CIUDADANIA)?|NIT|C\.\s?E|IDENTIFICA(?:CION|D[OA]\s+CON))?"
    r"[\s.,:°\#]*(?:N[O0]?S?|NUMERO)?[\s.:°\#]*"
)
_ROLE_BEFORE = re.compile(
    rf"(?<![A-Z])(?:(?P<plaintiff>{PLAINTIFF})|(?P<defendant>{DEFENDANT}))(?![A-Z])"
)
_ROLE_BEHIND = re.compile(
    rf"[^\n\d]{{0,30}}?\(?(?:DEL\s+|DE\s+LA\s+|LA\s+|EL\s+)?(?:(?P<plaintiff>{PLAINTIFF})"
    rf"|(?P<defendant>{DEFENDANT}))(?![A-Z])"
)
_PROFESSIONAL_CARD = re.compile(
    r"T\.?\s?P\.?[^\d\n]{0,12}\d[\d.\-]{2,9}|TARJETA\s+PROFESIONAL[^\d\n]{0,12}\d[\d.\-]{2,9}"
)
_IS_A_LAWYER = re.compile(r"(?<![A-Z])(?:APODERAD[OA]|T\.\s?P\.|TARJETA\s+PROFESIONAL)")
_OWN_CAUSE = re.compile(r"(?:NOMBRE\s+PROPIO|PROPIO\s+NOMBRE|CAUSA\s+PROPIA)")
_BELONGING = re.compile(
    r"(?:C\.?\s?C\.?|CEDULA(?:\s+DE\s+CIUDADANIA)?|IDENTIFICACION|DOCUMENTO|NIT|NUMERO)\s+(?:DEL?"
    r"|DE\s+LA)\s+$"
)
_IDENTIFIES = re.compile(r"\s+SE\s+IDENTIFICA|\s*,?\s+(?:ES\s+)?(?:IDENTIFICAD|PORTADOR|TITULAR)")
_ANOTHER_ID = re.compile(r"\d[\d.' ]{4,}\d")
_NAMED_PERSON = re.compile(
    r"(?<![A-Z])[A-Z][A-Z0-9'\-]{2,20}(?:\s(?:DE\s|DEL\s|LA\s){0,2}[A-Z][A-Z0-9'\-]{2,20}){1,4}"
)


class _Name:
    """A folded name that others are compared with."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._places: dict[str, int] = {}
        for place, char in enumerate(name):
            self._places[char] = self._places.get(char, 0) | 1 << place

    def resembles(self, name: str) -> bool:
        """Tell whether a bad scan may have turned the one into the other."""
        if name == self._name:
            return True
        needed = _SAME_NAME * (len(self._name) + len(name)) / 2
        if min(len(self._name), len(name)) < needed or self._longest_common(name) < needed:
            return False
        return SequenceMatcher(None, self._name, name, autojunk=False).ratio() >= _SAME_NAME

    def _longest_common(self, name: str) -> int:
        """Give the length of the longest common subsequence: no ratio is above what it allows.

        One bit for each place of the name (Hyyrö 2004), cleared where the subsequence grows.
        """
        everywhere = (1 << len(self._name)) - 1
        row = everywhere
        for char in name:
            hits = row & self._places.get(char, 0)
            row = (row + hits | row - hits) & everywhere
        return len(self._name) - row.bit_count()


class NameIndex:
    """Where the parties of a text are named."""

    def __init__(self, view: View, parties: Sequence[Entity]) -> None:
        self._view = view
        self._text = view.folded
        self.parties = list(parties)
        self._mentions: list[tuple[int, Role]] = []
        self._people: list[tuple[int, Role]] = []
        for entity in parties:
            mentions = [(end, entity.role) for end in _mentions(self._text, entity.value)]
            self._mentions += mentions
            if not _is_company(entity):
                self._people += mentions
        self._mentions.sort()
        self._people.sort()
        self._names = [(_Name(fold_name(entity.value)), entity.role) for entity in parties]
        self._plaintiffs = [entity for entity in parties if entity.role is Role.DEMANDANTE]
        self._alike: dict[str, Role | None] = {}

    def nearest_before(self, offset: int, reach: int = _REACH) -> tuple[int, Role] | None:
        """Give the end and role of the mention of a party nearest before an offset."""
        return _nearest(self._mentions, offset, reach)

    def owner_of_id(self, start: int, end: int, is_personal: bool) -> Role | None:
        """Guess the party to whom the id at a span belongs; a personal one is a person's."""
        behind = _ROLE_BEHIND.match(self._text, end, min(end + 60, self._line_end(end)))
        line_start = self._text.rfind("\n", 0, start) + 1
        if behind and ("(" in behind.group() or " DEL" in behind.group()):
            return _role_of(behind)
        mention = max(
            filter(
                None,
                (
                    _nearest(self._people if is_personal else self._mentions, start, _REACH),
                    self._misread_before(start),
                ),
            ),
            default=None,
        )
        labels = list(_ROLE_BEFORE.finditer(self._text, max(line_start, start - 80), start))
        if labels and (mention is None or mention[0] < labels[-1].start()):
            lead = self._text[line_start : labels[-1].start()]
            if _BELONGING.search(lead) or _IDENTIFIES.match(self._text, labels[-1].end(), start):
                return _role_of(labels[-1])
        if mention is None:
            return None
        between = _PROFESSIONAL_CARD.sub("", self._text[mention[0] : start])
        if _SOMEBODY_ELSE.search(between) or _ANOTHER_ID.search(between):
            return self._listed_together(between, mention[1])
        if re.search(r"\n[ \t]*\n", between) and not _SIGNED.fullmatch(between):
            return None
        if self._names_another(mention[0], start):
            return None
        return mention[1]

    def _listed_together(self, between: str, role: Role) -> Role | None:
        """Keep the owner for the second number of 'cédulas Nos. 1 y 2'."""
        if re.search(
            r"C(?:EDULAS|\.?C\.?\s*NOS|C\s*NOS)|IDENTIFICAD[OA]S|RESPECTIVAMENTE", between
        ) and not (_SOMEBODY_ELSE.search(between)):
            return role
        return None

    def _names_another(self, start: int, end: int) -> bool:
        """Tell whether a person who is no party is named in a span."""
        for match in _NAMED_PERSON.finditer(self._text, start, end):
            name = match.group()
            for word in re.finditer(r"[A-Z]+", name):
                if word.group() in GIVEN_NAMES and _is_shouted_or_titled(
                    self._view.text[match.start() + word.start() : match.end()]
                ):
                    given = name[word.start() :]
                    if is_person(given) and self._party_like(given) is None:
                        return True
                    break
        return False

    def _party_like(self, name: str) -> Role | None:
        """Give the role of the party whose name a bad scan may have turned into this one."""
        if name not in self._alike:
            self._alike[name] = next(
                (role for party, role in self._names if party.resembles(name)), None
            )
        return self._alike[name]

    def _misread_before(self, start: int) -> tuple[int, Role] | None:
        """Give the end and role of the last name near before an id that resembles a party's."""
        window_start = max(0, start - _MISREAD_REACH)
        for match in reversed(list(_NAMED_PERSON.finditer(self._text, window_start, start))):
            role = self._party_like(match.group())
            if role is not None:
                lead = self._text[max(0, match.start() - 40) : match.start()]
                return None if _SOMEBODY_ELSE.search(lead) else (match.end(), role)
        return None

    def may_belong_to_plaintiff(self, start: int, end: int) -> bool:
        """Tell whether an id no name stands before may be that of the only plaintiff."""
        if len(self._plaintiffs) != 1 or not is_person(fold_name(self._plaintiffs[0].value)):
            return False
        window_start = max(0, start - 160)
        paragraphs = list(re.finditer(r"\n\s*\n", self._text[window_start:start]))
        if paragraphs:
            window_start += paragraphs[-1].end()
        behind = self._text[end : end + 160].split("\n\n")[0]
        if _IS_A_LAWYER.search(behind) and not _OWN_CAUSE.search(behind):
            return False
        return not (
            _SOMEBODY_ELSE.search(self._text, window_start, end)
            or self._names_another(window_start, end)
        )

    def _line_end(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        return len(self._text) if end < 0 else end

    def plaintiff_words(self) -> set[str]:
        """Give the longer words of the plaintiffs' names."""
        return self._words(Role.DEMANDANTE)

    def defendant_words(self) -> set[str]:
        """Give the longer words of the defendants' names."""
        return self._words(Role.DEMANDADO)

    def _words(self, role: Role) -> set[str]:
        return {
            word
            for entity in self.parties
            if entity.role is role
            for word in re.findall(r"[A-Z]{4,}", fold_name(collapse_spaces(entity.value)))
        }

    def compact_names(self, role: Role) -> list[str]:
        """Give the names of a role without spaces or punctuation."""
        return [
            re.sub(r"[^A-Z0-9]", "", fold_name(entity.value))
            for entity in self.parties
            if entity.role is role
        ]


def _mentions(text: str, name: str) -> Iterator[int]:
    """Give the end of each mention of a party, by the first three words of a long name too."""
    words = re.findall(r"[A-Z0-9]+", fold_name(name))
    # Where the first words are not, the whole name is not either.
    beginning = list(_spelled(text, words[:3]))
    if beginning and len(words) > 3:
        yield from _spelled(text, words)
    yield from beginning


def _spelled(text: str, words: Sequence[str]) -> Iterator[int]:
    """Give the end of each place where words stand one after the other.

    One to three other characters part them. There is no pattern for it: to compile one for each
    name costs more than all the rest.
    """
    if not words:
        return
    longest = max(words, key=len)
    place = words.index(longest)
    taken = 0
    at = text.find(longest)
    while at >= 0:
        start = _start_of(text, at, words[:place])
        if start >= taken and (start == 0 or text[start - 1] not in _CAPITALS):
            end = _end_of(text, at + len(longest), words[place + 1 :])
            if end >= 0 and text[end : end + 1] not in _CAPITALS:
                yield end
                taken = end
        at = text.find(longest, at + 1)


def _start_of(text: str, at: int, words: Sequence[str]) -> int:
    """Give where words that stand right before an offset begin, or -1."""
    for word in reversed(words):
        gap = at
        while gap > 0 and at - gap < _LONGEST_GAP and text[gap - 1] not in _WORD_CHARACTERS:
            gap -= 1
        if gap == at or not text.endswith(word, 0, gap):
            return -1
        at = gap - len(word)
    return at


def _end_of(text: str, at: int, words: Sequence[str]) -> int:
    """Give where words that stand right behind an offset end, or -1."""
    for word in words:
        gap = at
        while text[gap : gap + 1] not in _WORD_CHARACTERS and gap - at < _LONGEST_GAP:
            gap += 1
        if gap == at or not text.startswith(word, gap):
            return -1
        at = gap + len(word)
    return at


def _nearest(
    mentions: Sequence[tuple[int, Role]], offset: int, reach: int
) -> tuple[int, Role] | None:
    before = bisect_right(mentions, offset, key=lambda mention: mention[0]) - 1
    if before < 0 or offset - mentions[before][0] > reach:
        return None
    return mentions[before]


def _is_company(entity: Entity) -> bool:
    return INSTITUTION.search(fold_name(entity.value)) is not None


def _is_shouted_or_titled(name: str) -> bool:
    """Tell whether the first two words of a name are capitalised."""
    words = name.split()[:2]
    return len(words) == 2 and all(word[0].isupper() for word in words)


def _role_of(match: re.Match[str]) -> Role:
    return Role.DEMANDANTE if match["plaintiff"] else Role.DEMANDADO
