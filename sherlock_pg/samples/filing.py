"""A case put into words: the blocks of a filing, in the order in which they are read."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Callable

from sherlock_pg.samples import spanish
from sherlock_pg.samples.cases import Case
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.styles import SectionName, Style
from sherlock_pg.samples.texts import Unit

_UNCONTRACTED = re.compile(r"\b([Aa]|[Dd]e) el\b")


class BlockKind(enum.Enum):
    """What a block is; decides how it is drawn."""

    LETTERHEAD = "letterhead"
    LINES = "lines"
    REFERENCE = "reference"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    SIGNATURE = "signature"
    PAGE_BREAK = "page_break"


@dataclasses.dataclass(frozen=True)
class Block:
    """One block of text; several lines only where lines are kept apart in print."""

    kind: BlockKind
    text: str


@dataclasses.dataclass(frozen=True)
class Gold:
    """The entities a reader would find in a filing; numbers as digits only."""

    demandante: tuple[str, ...]
    demandado: tuple[str, ...]
    cedula: tuple[str, ...]
    correo: tuple[str, ...]
    radicado: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Filing:
    """A filing as blocks, with its layout and its entities."""

    blocks: tuple[Block, ...]
    style: Style
    gold: Gold

    def text(self) -> str:
        """Return the filing as plain text, ending in a line break."""
        parts = [block.text for block in self.blocks if block.kind is not BlockKind.PAGE_BREAK]
        return "\n\n".join(parts) + "\n"


@dataclasses.dataclass(frozen=True)
class Telling:
    """How a case is told.

    Attributes:
        style: the layout; that of the case's own office if None.
        other_words: take each paragraph's other wording.
        shuffle: a stream that puts facts, claims and proofs in another order.
        extended: claim more than the first version did.
        annexed: add pages of annexes at the end.
    """

    style: Style | None = None
    other_words: bool = False
    shuffle: Draw | None = None
    extended: bool = False
    annexed: bool = False


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def gold_entities(case: Case) -> Gold:
    """Return the entities that every telling of the case contains."""
    people = [case.claimant] + ([case.prisoner] if case.prisoner else [])
    return Gold(
        demandante=(case.claimant.name,),
        demandado=tuple(respondent.name for respondent in case.respondents),
        cedula=tuple(_digits(person.cedula) for person in people),
        correo=(case.claimant.email,),
        radicado=(_digits(case.radicado),),
    )


class _Composer:
    """Puts one case into words in one way."""

    def __init__(self, case: Case, telling: Telling) -> None:
        self._case = case
        self._telling = telling
        self._style = telling.style or case.style
        self._values = case.values()

    def compose(self) -> Filing:
        blocks = self._head()
        paragraphs: dict[SectionName, Callable[[], list[Block]]] = {
            "facts": self._facts,
            "rights": lambda: [self._paragraph("rights", self._case.frame.rights_paragraph)],
            "petitions": self._petitions,
            "grounds": self._grounds,
            "oath": lambda: [self._paragraph("oath", self._case.frame.oath)],
            "proofs": self._proofs,
            "attachments": lambda: [self._paragraph("attach", self._case.frame.attachments)],
            "notifications": lambda: [self._paragraph("notify", self._case.frame.notification)],
        }
        for number, section in enumerate(self._style.order):
            blocks.append(self._heading(number, section))
            blocks += paragraphs[section]()
        blocks += self._signature()
        if self._telling.annexed:
            blocks += self._annex()
        return Filing(tuple(blocks), self._style, gold_entities(self._case))

    def _say(self, key: str, unit: Unit) -> str:
        """Return a unit in this office's usual wording, or in the other one."""
        topic = self._case.topic.name
        usual = Draw("wording", self._case.style.name, topic, key).below(len(unit))
        wording = (usual + 1) % len(unit) if self._telling.other_words else usual
        return self._fill(unit[wording])

    def _fill(self, template: str) -> str:
        """Fill the slots, then contract a el and de el, and drop a second full stop."""
        filled = template.format_map(self._values).replace("..", ".")
        return _UNCONTRACTED.sub(lambda match: f"{match[1]}l", filled)

    def _paragraph(self, key: str, unit: Unit) -> Block:
        return Block(BlockKind.PARAGRAPH, self._say(key, unit))

    def _ordered(self, sentences: list[str]) -> list[str]:
        shuffle = self._telling.shuffle
        return shuffle.shuffled(sentences) if shuffle else sentences

    def _heading(self, number: int, section: SectionName) -> Block:
        title = self._style.headings[section]
        if self._style.headings_numbered:
            title = f"{spanish.ROMAN[number]}. {title}"
        return Block(BlockKind.HEADING, title)

    def _head(self) -> list[Block]:
        case, frame, style = self._case, self._case.frame, self._style
        blocks = []
        if style.letterhead:
            blocks.append(Block(BlockKind.LETTERHEAD, "\n".join(style.letterhead)))
        if style.date_first:
            blocks.append(Block(BlockKind.LINES, self._place_and_date()))
        greeting = "Señora" if case.court.addresses_woman else "Señor"
        court = f"{case.court.title} DE {case.city.name.upper()} (REPARTO)"
        respondents = "\n".join(
            f"{frame.respondent_label}: {respondent.name.upper()}"
            for respondent in case.respondents
        )
        reference = (
            f"REFERENCIA: {frame.title}\n"
            f"{frame.claimant_label}: {case.claimant.name.upper()}\n"
            f"{respondents}\n"
            f"RADICADO: {case.radicado}"
        )
        blocks += [
            Block(BlockKind.LINES, f"{greeting}\n{court}\nE. S. D."),
            Block(BlockKind.REFERENCE, reference),
            self._paragraph("opening", frame.opening),
        ]
        return blocks

    def _place_and_date(self) -> str:
        return f"{self._case.city.name}, {self._values['fecha']}"

    def _items(self, sentences: list[str], *, word: str) -> list[Block]:
        labels: dict[str, Callable[[int], str]] = {
            "number": lambda position: f"{position + 1}.",
            "ordinal": lambda position: f"{spanish.ORDINALS[position].upper()}:",
            "fact": lambda position: f"{word} {position + 1}.",
        }
        label = labels[self._style.item_label]
        return [
            Block(BlockKind.ITEM, f"{label(position)} {sentence}")
            for position, sentence in enumerate(sentences)
        ]

    def _facts(self) -> list[Block]:
        case = self._case
        facts = [self._say(f"facts/{n}", unit) for n, unit in enumerate(case.topic.facts)]
        extra = [self._say(f"details/{n}", case.topic.details[n]) for n in case.details]
        extra += [
            self._say(f"circumstances/{n}", case.frame.circumstances[n]) for n in case.circumstances
        ]
        return self._items(self._ordered([*facts, *extra]), word="Hecho")

    def _petitions(self) -> list[Block]:
        topic = self._case.topic
        claims = [self._say("petitions", unit) for unit in topic.petitions]
        claims = self._ordered(claims)
        if self._telling.extended:
            claims += [self._say("petitions", unit) for unit in topic.extension]
        intro = self._paragraph("petitions", self._case.frame.petitions_intro)
        return [intro, *self._items(claims, word="Pretensión")]

    def _grounds(self) -> list[Block]:
        case = self._case
        own = [
            self._paragraph(f"topic_grounds/{n}", unit) for n, unit in enumerate(case.topic.grounds)
        ]
        common = [self._paragraph(f"grounds/{n}", case.frame.grounds[n]) for n in case.grounds]
        return [*own, *common]

    def _proofs(self) -> list[Block]:
        proofs = [self._fill(proof) for proof in self._case.topic.proofs]
        return self._items(self._ordered(proofs), word="Prueba")

    def _signature(self) -> list[Block]:
        claimant = self._case.claimant
        farewell = self._say("farewell", self._case.frame.farewell)
        lines = [
            claimant.name.upper(),
            f"C.C. No. {claimant.cedula} de {claimant.cedula_city}",
            claimant.email,
        ]
        if not self._style.date_first:
            lines.append(self._place_and_date())
        return [
            Block(BlockKind.PARAGRAPH, farewell),
            Block(BlockKind.SIGNATURE, "\n".join(lines)),
        ]

    def _annex(self) -> list[Block]:
        frame = self._case.frame
        inventory = [self._fill(proof) for proof in self._case.topic.proofs]
        return [
            Block(BlockKind.PAGE_BREAK, ""),
            Block(BlockKind.HEADING, frame.annex_title),
            *(Block(BlockKind.PARAGRAPH, self._fill(text)) for text in frame.annex),
            *self._items(inventory, word="Folio"),
        ]


def compose(case: Case, telling: Telling | None = None) -> Filing:
    """Put a case into words."""
    return _Composer(case, telling or Telling()).compose()
