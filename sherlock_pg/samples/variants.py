"""The kinds of documents derived from one case, and what a detector should say about each."""

from __future__ import annotations

import dataclasses
import datetime
import enum

from sherlock_pg.samples.cases import Case, draw_case
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.filing import Filing, Telling, compose
from sherlock_pg.samples.styles import STYLES
from sherlock_pg.samples.texts import TOPICS


class Kind(enum.StrEnum):
    """What a document is to the original of its case."""

    ORIGINAL = "original"
    EXACT_COPY = "exact_copy"
    CLEAN_SCAN = "clean_scan"
    NOISY_SCAN = "noisy_scan"
    REDATED = "redated"
    REORDERED = "reordered"
    PARAPHRASE = "paraphrase"
    ANNEXED = "annexed"
    NEW_VERSION = "new_version"
    SAME_TEMPLATE_OTHER_PEOPLE = "same_template_other_people"
    SAME_PARTIES_OTHER_CASE = "same_parties_other_case"
    UNRELATED = "unrelated"


NEGATIVE_KINDS = frozenset(
    {Kind.SAME_TEMPLATE_OTHER_PEOPLE, Kind.SAME_PARTIES_OTHER_CASE, Kind.UNRELATED}
)
"""Kinds that look alike, or not at all, but are no duplicate of the original."""

_SAME_WORDS = frozenset({Kind.ORIGINAL, Kind.EXACT_COPY, Kind.CLEAN_SCAN, Kind.NOISY_SCAN})


@dataclasses.dataclass(frozen=True)
class Expectation:
    """The class a detector should give against the original, and those that are acceptable."""

    expected: str
    acceptable: tuple[str, ...]


def expectation(kind: Kind, doc_type: str) -> Expectation:
    """Return what should be found for a document when the original is already stored.

    `NONE` means that no match is reported. A paraphrased habeas corpus may end at LOW, because the
    thresholds of that type are higher.
    """
    match kind:
        case Kind.ORIGINAL | Kind.UNRELATED:
            return Expectation("NONE", ("NONE",))
        case Kind.EXACT_COPY:
            return Expectation("EXACT", ("EXACT",))
        case Kind.CLEAN_SCAN | Kind.NOISY_SCAN | Kind.ANNEXED:
            return Expectation("HIGH", ("HIGH", "MEDIUM"))
        case Kind.REDATED | Kind.REORDERED | Kind.NEW_VERSION:
            return Expectation("HIGH", ("HIGH",))
        case Kind.PARAPHRASE if doc_type == "habeas_corpus":
            return Expectation("MEDIUM", ("HIGH", "MEDIUM", "LOW"))
        case Kind.PARAPHRASE:
            return Expectation("MEDIUM", ("HIGH", "MEDIUM"))
        case Kind.SAME_TEMPLATE_OTHER_PEOPLE:
            return Expectation("NONE", ("NONE", "LOW"))
        case Kind.SAME_PARTIES_OTHER_CASE:
            return Expectation("LOW", ("NONE", "LOW", "MEDIUM"))


def _other_date(case: Case, draw: Draw) -> datetime.date:
    """Return another working day of the same year, one to four weeks away."""
    shift = datetime.timedelta(days=7 * draw.between(1, 4) + draw.between(0, 1))
    date = case.filing_date + shift
    if date.year != case.filing_date.year:
        date = case.filing_date - shift
    return date - datetime.timedelta(days=max(0, date.weekday() - 4))


def _others(draw: Draw, used: tuple[int, ...], available: int) -> tuple[int, ...]:
    """Return as many positions as are used, from those that are not."""
    return tuple(draw.sample([n for n in range(available) if n not in used], len(used)))


def _related_case(seed: int, case: Case, kind: Kind) -> Case:
    """Return the other case that a negative kind is about."""
    case_id = f"{case.case_id}-{kind.value}"
    others = [style for style in STYLES if style is not case.style]
    draw = Draw(seed, case_id, "variant")
    match kind:
        case Kind.SAME_TEMPLATE_OTHER_PEOPLE:
            return draw_case(
                seed, case_id, topic_name=case.topic.name, style=case.style, city=case.city
            )
        case Kind.SAME_PARTIES_OTHER_CASE:
            return draw_case(
                seed,
                case_id,
                topic_name=case.topic.other_case_topic,
                style=draw.choice(others),
                parties_of=case,
            )
        case _:
            topics = [topic for topic in TOPICS if topic != case.topic.name]
            return draw_case(
                seed, case_id, topic_name=draw.choice(topics), style=draw.choice(others)
            )


def make_variant(seed: int, case: Case, kind: Kind) -> tuple[Case, Filing]:
    """Return the text of one kind of document, with the case that it is about."""
    if kind in _SAME_WORDS:
        return case, compose(case)
    if kind in NEGATIVE_KINDS:
        other = _related_case(seed, case, kind)
        return other, compose(other)
    draw = Draw(seed, case.case_id, "variant", kind.value)
    match kind:
        case Kind.REDATED:
            moved = dataclasses.replace(case, filing_date=_other_date(case, draw))
            return moved, compose(moved)
        case Kind.REORDERED:
            return case, compose(case, Telling(shuffle=draw))
        case Kind.ANNEXED:
            return case, compose(case, Telling(annexed=True))
        case Kind.NEW_VERSION:
            return case, compose(case, Telling(extended=True))
        case _:
            style = draw.choice([style for style in STYLES if style is not case.style])
            retold = dataclasses.replace(
                case,
                circumstances=_others(draw, case.circumstances, len(case.frame.circumstances)),
                grounds=_others(draw, case.grounds, len(case.frame.grounds)),
            )
            return retold, compose(retold, Telling(style=style, other_words=True))
