"""Whose an id or a mail is: the party whose name or label stands nearest before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sherlock_pg.ner.folding import View, collapse_spaces
from sherlock_pg.ner.lexicon import DEFENDANT, PLAINTIFF, is_person
from sherlock_pg.ner.roles import Entity, Role

_REACH = 420
_SOMEBODY_ELSE = re.compile(
    r"(?<![A-Z])(?:REPRESENTAD[OA]\s+(?:LEGALMENTE|JUDICIALMENTE|POR)|REPRESENTANTE\s+LEGAL|REPRESENTACION(?:\s+LEGAL)?\s+DE"
    r"|MENOR(?!(?:ES)?\s+DE\s+EDAD)|MIS?\s+(?:MENOR(?:ES)?|HIJ[OA]S?|MADRE|PADRE|ESPOS[OA]|COMPANER[OA]|HERMAN[OA]|CONYUGE|ABUEL[OA]|SENORA?\s+(?:MADRE|PADRE)|SUEGR[OA]|NIET[OA]|TI[OA]|PRIM[OA]|POBRE|BEBE)"
    r"|COMPANER[OA]\s+PERMANENTE|Q\s?\.?\s?E\s?\.?\s?P\s?\.?\s?D|APODERAD[OA]|ABOGAD[OA]|AGENCIAD[OA]|FALLECID[OA]|CAUSANTE|OFICIOS[OA]\s+(?:DE|DEL)|A\s+FAVOR\s+DE|FAVOR\s+DEL"
    r"|GERENTE|HIJ[OA]\s+DE|VICTIMA|TESTIGO|DEFENSORA?\s+(?:DE|PUBL)|QUIEN\s+EN\s+VIDA|A\s+NOMBRE\s+DE(?!L?\s+ACCIONANTE)|PACIENTE|BENEFICIARI[OA]|NOTARI[OA]|DR\.|DRA\.)(?![A-Z])"
)
_SIGNED = re.compile(r"[\s,.;:()\-]*(?:C\.?\s?C|CEDULA|CC|NIT|C\.E|IDENTIFICA)?[A-Z.\s:°#]{0,40}$")
_ROLE_BEFORE = re.compile(
    rf"(?<![A-Z])(?:(?P<plaintiff>{PLAINTIFF})|(?P<defendant>{DEFENDANT}))(?![A-Z])"
)
_ROLE_BEHIND = re.compile(
    rf"[^\n\d]{{0,30}}?\(?(?:DEL\s+|DE\s+LA\s+|LA\s+|EL\s+)?(?:(?P<plaintiff>{PLAINTIFF})|(?P<defendant>{DEFENDANT}))(?![A-Z])"
)
_ANOTHER_ID = re.compile(r"\d[\d.' ]{4,}\d")
_NAMED_PERSON = re.compile(
    r"(?<![A-Z])[A-Z][A-Z'\-]{2,20}(?:\s(?:DE\s|DEL\s|LA\s)?[A-Z][A-Z'\-]{2,20}){1,4}"
)


class NameIndex:
    """Where the parties of a text are named."""

    def __init__(self, view: View, parties: Sequence[Entity]) -> None:
        self._view = view
        self._text = view.folded
        self.parties = list(parties)
        self._mentions = sorted(self._find_mentions())
        self._plaintiffs = [entity for entity in parties if entity.role is Role.DEMANDANTE]

    def _find_mentions(self) -> list[tuple[int, int, Role]]:
        mentions = []
        for entity in self.parties:
            folded = View(entity.value).folded
            words = re.findall(r"[A-Z0-9]+", folded)
            if not words:
                continue
            pattern = r"[^A-Z0-9]{1,3}".join(map(re.escape, words))
            for match in re.finditer(rf"(?<![A-Z]){pattern}(?![A-Z])", self._text):
                mentions.append((match.end(), match.start(), entity.role))
            if len(words) > 3:
                pattern = r"[^A-Z0-9]{1,3}".join(map(re.escape, words[:3]))
                for match in re.finditer(rf"(?<![A-Z]){pattern}(?![A-Z])", self._text):
                    mentions.append((match.end(), match.start(), entity.role))
        return mentions

    def nearest_before(self, offset: int, reach: int = _REACH) -> tuple[int, Role] | None:
        """Give the end and role of the mention of a party nearest before an offset."""
        nearest = None
        for end, _start, role in self._mentions:
            if end > offset:
                break
            if offset - end <= reach:
                nearest = (end, role)
        return nearest

    def owner_of_id(self, start: int, end: int) -> Role | None:
        """Guess the party to whom the id at a span belongs."""
        behind = _ROLE_BEHIND.match(self._text, end, min(end + 60, self._line_end(end)))
        line_start = self._text.rfind("\n", 0, start) + 1
        if behind and ("(" in behind.group() or " DEL" in behind.group()):
            return _role_of(behind)
        mention = self.nearest_before(start)
        labels = list(_ROLE_BEFORE.finditer(self._text, line_start, start))
        if mention is None or mention[0] < line_start:
            if labels and re.search(
                r"(?:DEL?|DE\s+LA)\s+$", self._text[line_start : labels[-1].start()]
            ):
                return _role_of(labels[-1])
        if mention is None:
            return None
        between = self._text[mention[0] : start]
        if _SOMEBODY_ELSE.search(between) or _ANOTHER_ID.search(between):
            return self._listed_together(between, mention[1])
        if re.search(r"\n[ \t]*\n", between) and not _SIGNED.fullmatch(between):
            return None
        if self._names_another(between):
            return None
        return mention[1]

    def _listed_together(self, between: str, role: Role) -> Role | None:
        """Keep the owner for the second number of 'cédulas Nos. 1 y 2'."""
        if re.search(
            r"C(?:EDULAS|\.?C\.?\s*NOS|C\s*NOS)|IDENTIFICAD[OA]S|RESPECTIVAMENTE", between
        ) and not (_SOMEBODY_ELSE.search(between)):
            return role
        return None

    def _names_another(self, between: str) -> bool:
        """Tell whether a person who is no party is named between a party and an id."""
        for match in _NAMED_PERSON.finditer(between):
            if is_person(match.group()) and _looks_like_given_name(match.group()):
                return True
        return False

    def may_belong_to_plaintiff(self, start: int, end: int) -> bool:
        """Tell whether an id no name stands before may be that of the only plaintiff."""
        if len(self._plaintiffs) != 1 or not is_person(View(self._plaintiffs[0].value).folded):
            return False
        around = self._text[max(0, start - 160) : end]
        sentence = re.split(r"\n\s*\n", around)[-1]
        return not _SOMEBODY_ELSE.search(sentence) and not self._names_another(sentence)

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


def _looks_like_given_name(name: str) -> bool:
    from sherlock_pg.ner.lexicon import starts_with_given_name

    return starts_with_given_name(name)


def _role_of(match: re.Match[str]) -> Role:
    return Role.DEMANDANTE if match["plaintiff"] else Role.DEMANDADO
