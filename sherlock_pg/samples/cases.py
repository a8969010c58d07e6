"""A case: the people, the facts and the numbers that make one filing different from another."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from sherlock_pg.samples import people, spanish
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.people import City, Court, Person
from sherlock_pg.samples.styles import STYLES, Style
from sherlock_pg.samples.texts import (
    Frame,
    Institution,
    Topic,
    load_frame,
    load_institutions,
    load_topic,
)

_FIRST_FILING = datetime.date(2022, 2, 1)
_FILING_DAYS = 1300


@dataclasses.dataclass(frozen=True)
class Respondent:
    """A respondent of a case, with the address for notices."""

    name: str
    article: str
    email: str
    address: str


@dataclasses.dataclass(frozen=True)
class Case:
    """Everything that a filing tells, before it is put into words.

    Dates other than the filing's are kept as days before it, so that another filing date moves
    all of them.
    """

    case_id: str
    topic: Topic
    frame: Frame
    style: Style
    city: City
    court: Court
    claimant: Person
    prisoner: Person | None
    respondents: tuple[Respondent, ...]
    filing_date: datetime.date
    radicado: str
    slot_values: Mapping[str, str]
    days_before: Mapping[str, int]
    details: tuple[int, ...]
    circumstances: tuple[int, ...]
    grounds: tuple[int, ...]

    @property
    def doc_type(self) -> str:
        """The document type: tutela or habeas_corpus."""
        return self.topic.doc_type

    def values(self) -> dict[str, str]:
        """Return the value of every slot a template may name."""
        values = _person_values(self) | _respondent_values(self.respondents)
        values["derechos"] = self.topic.rights
        values["ciudad"] = self.city.name
        values["fecha"] = spanish.spell_date(self.filing_date)
        for slot, days in self.days_before.items():
            date = self.filing_date - datetime.timedelta(days=days)
            values[slot] = spanish.spell_date(date)
        for slot, value in self.slot_values.items():
            values[slot] = value.format_map(values)
        return values


def _person_values(case: Case) -> dict[str, str]:
    person = case.claimant
    court_woman = case.court.addresses_woman
    values = {
        "demandante": person.name,
        "cc": person.cedula,
        "cc_ciudad": person.cedula_city,
        "correo": person.email,
        "direccion": person.address,
        "telefono": person.telephone,
        "o": "a" if person.is_woman else "o",
        "a": "a" if person.is_woman else "",
        "juez": "señora Juez" if court_woman else "señor Juez",
        "al_juez": "a la señora Juez" if court_woman else "al señor Juez",
    }
    if case.prisoner is not None:
        values |= {"detenido": case.prisoner.name, "detenido_cc": case.prisoner.cedula}
    return values


def _respondent_values(respondents: tuple[Respondent, ...]) -> dict[str, str]:
    values = {
        "accionados": spanish.join_with_y(
            [spanish.with_article(each.article, each.name) for each in respondents]
        ),
        "de_accionados": spanish.join_with_y(
            [spanish.with_de(each.article, each.name) for each in respondents]
        ),
        "direccion_accionado": respondents[0].address,
        "correo_accionado": respondents[0].email,
    }
    for number, each in enumerate(respondents, start=1):
        suffix = "" if number == 1 else str(number)
        values[f"accionado{suffix}"] = each.name
        values[f"el_accionado{suffix}"] = spanish.with_article(each.article, each.name)
        values[f"al_accionado{suffix}"] = spanish.with_a(each.article, each.name)
        values[f"del_accionado{suffix}"] = spanish.with_de(each.article, each.name)
    return values


def _draw_respondent(draw: Draw, options: tuple[Institution, ...], city: City) -> Respondent:
    institution = draw.choice(options)
    name = institution.name.format(city=city.name, ordinal=draw.choice(spanish.ORDINALS))
    return Respondent(
        name=name,
        article=institution.article,
        email=f"notificacionesjudiciales@{institution.domain}.example",
        address=people.draw_address(draw),
    )


def _draw_filing_date(draw: Draw) -> datetime.date:
    """Return a working day."""
    date = _FIRST_FILING + datetime.timedelta(days=draw.below(_FILING_DAYS))
    return date - datetime.timedelta(days=max(0, date.weekday() - 4))


def _draw_slot(draw: Draw, spec: Any, claimant: Person, known: Mapping[str, str]) -> str:
    """Return the value of a slot by its specification in the template."""
    match spec:
        case list():
            return str(draw.choice(spec))
        case {"pattern": pattern}:
            return draw.digits(pattern.format_map(known))
        case {"pesos": [low, high]}:
            return spanish.pesos(draw.between(low // 1000, high // 1000) * 1000)
        case {"number": [low, high]}:
            return str(draw.between(low, high))
        case {"person": sex}:
            return people.draw_name(draw, is_woman=sex == "woman")
        case {"relative": "spouse"}:
            return people.draw_name(draw, is_woman=not claimant.is_woman)
        case {"address": True}:
            return people.draw_address(draw)
        case {"hours": [low, high]}:
            return spanish.clock(draw.between(low, high), draw.below(60))
    raise ValueError(f"a slot can't be drawn from {spec!r}")


def draw_case(
    seed: int,
    case_id: str,
    *,
    topic_name: str,
    style: Style | None = None,
    city: City | None = None,
    parties_of: Case | None = None,
) -> Case:
    """Draw a case; the same arguments give the same case everywhere.

    Args:
        seed: the seed of the whole collection.
        case_id: the name of the case in the collection.
        topic_name: one of `texts.TOPICS`.
        style: the firm whose words and layout are used; drawn if not given.
        city: where the case is filed; drawn if not given.
        parties_of: a case whose people, city and respondents are taken over.
    """

    def stream(what: str) -> Draw:
        return Draw(seed, case_id, what)

    topic = load_topic(topic_name)
    frame = load_frame(topic.doc_type)
    style = style or stream("style").choice(STYLES)
    city = parties_of.city if parties_of else city or stream("city").choice(people.CITIES)
    court = people.draw_court(stream("court"), topic.doc_type)
    filing_date = _draw_filing_date(stream("date"))
    if parties_of:
        claimant, prisoner = parties_of.claimant, parties_of.prisoner
    else:
        draw = stream("claimant")
        claimant = people.draw_person(draw, is_woman=bool(draw.below(2)), city=city)
        prisoner = None
        if topic.doc_type == "habeas_corpus":
            prisoner = people.draw_person(stream("prisoner"), is_woman=False, city=city)
    inherited = (
        dict(zip(parties_of.topic.respondents, parties_of.respondents, strict=True))
        if parties_of
        else {}
    )
    institutions = load_institutions()
    respondents = tuple(
        inherited.get(role) or _draw_respondent(stream(f"respondent/{role}"), options, city)
        for role, options in ((role, institutions[role]) for role in topic.respondents)
    )
    slots = dict(frame.slots) | dict(topic.slots)
    days_before = {
        slot: stream(f"slot/{slot}").between(*spec["days"])
        for slot, spec in slots.items()
        if isinstance(spec, dict) and "days" in spec
    }
    known = {"dane": city.dane_code}
    for slot, days in days_before.items():
        known[f"anio_{slot}"] = str((filing_date - datetime.timedelta(days=days)).year)
    slot_values = {
        slot: _draw_slot(stream(f"slot/{slot}"), spec, claimant, known)
        for slot, spec in slots.items()
        if slot not in days_before
    }
    if topic.records:
        slot_values |= stream("record").choice(topic.records)
    return Case(
        case_id=case_id,
        topic=topic,
        frame=frame,
        style=style,
        city=city,
        court=court,
        claimant=claimant,
        prisoner=prisoner,
        respondents=respondents,
        filing_date=filing_date,
        radicado=people.draw_radicado(stream("radicado"), city, court, filing_date.year),
        slot_values=slot_values,
        days_before=days_before,
        details=tuple(stream("details").sample(range(len(topic.details)), topic.details_used)),
        circumstances=tuple(
            stream("circumstances").sample(
                range(len(frame.circumstances)), frame.circumstances_used
            )
        ),
        grounds=tuple(
            Draw(style.name, topic.name, "grounds").sample(
                range(len(frame.grounds)), frame.grounds_used
            )
        ),
    )
