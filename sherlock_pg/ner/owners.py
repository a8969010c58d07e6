"""Whose an id or a mail is: the party whose name or label stands nearest before it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from sherlock_pg.ner.folding import View, collapse_spaces
from sherlock_pg.ner.lexicon import DEFENDANT, GIVEN_NAMES, INSTITUTION, PLAINTIFF, is_person
from sherlock_pg.ner.roles import Entity, Role

_REACH = 420
_MISREAD_REACH = 160
_SAME_NAME = 0.75
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


class NameIndex:
    """Where the parties of a text are named."""

    def __init__(self, view: View, parties: Sequence[Entity]) -> None:
        self._view = view
        self._text = view.folded
        self.parties = list(parties)
        self._mentions = sorted(self._find_mentions(self.parties))
        self._people = sorted(
            self._find_mentions([each for each in self.parties if not _is_company(each)])
        )
        self._folded_names = [(View(entity.value).folded, entity.role) for entity in parties]
        self._plaintiffs = [entity for entity in parties if entity.role is Role.DEMANDANTE]

    def _find_mentions(self, parties: Sequence[Entity]) -> Iterator[tuple[int, Role]]:
        """Give the end of each mention of a party, by the first three words of a long name too."""
        for entity in parties:
            words = re.findall(r"[A-Z0-9]+", View(entity.value).folded)
            for spelled in (words, words[:3] if len(words) > 3 else []):
                if not spelled:
                    continue
                pattern = r"[^A-Z0-9]{1,3}".join(map(re.escape, spelled))
                for match in re.finditer(rf"(?<![A-Z]){pattern}(?![A-Z])", self._text):
                    yield match.end(), entity.role

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
        for folded, role in self._folded_names:
            matcher = SequenceMatcher(None, folded, name, autojunk=False)
            if matcher.real_quick_ratio() >= _SAME_NAME and matcher.ratio() >= _SAME_NAME:
                return role
        return None

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
        if len(self._plaintiffs) != 1 or not is_person(View(self._plaintiffs[0].value).folded):
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
            for word in re.findall(r"[A-Z]{4,}", View(collapse_spaces(entity.value)).folded)
        }

    def compact_names(self, role: Role) -> list[str]:
        """Give the names of a role without spaces or punctuation."""
        return [
            re.sub(r"[^A-Z0-9]", "", View(entity.value).folded)
            for entity in self.parties
            if entity.role is role
        ]


def _nearest(
    mentions: Sequence[tuple[int, Role]], offset: int, reach: int
) -> tuple[int, Role] | None:
    before = bisect_right(mentions, offset, key=lambda mention: mention[0]) - 1
    if before < 0 or offset - mentions[before][0] > reach:
        return None
    return mentions[before]


def _is_company(entity: Entity) -> bool:
    return INSTITUTION.search(View(entity.value).folded) is not None


def _is_shouted_or_titled(name: str) -> bool:
    """Tell whether the first two words of a name are capitalised."""
    words = name.split()[:2]
    return len(words) == 2 and all(word[0].isupper() for word in words)


def _role_of(match: re.Match[str]) -> Role:
    return Role.DEMANDANTE if match["plaintiff"] else Role.DEMANDADO
