"""Invented people, their documents and addresses, and the courts of real cities."""

from __future__ import annotations

import dataclasses

from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.spanish import group_digits, plain_letters

_WOMEN = (
    "Ana", "Blanca", "Carolina", "Diana", "Elvira", "Esperanza", "Gloria", "Inés", "Jazmín",
    "Leonor", "Luz", "Marcela", "Margarita", "María", "Martha", "Nohora", "Olga", "Paola",
    "Rocío", "Rosa", "Sandra", "Yolanda", "Zoraida",
)  # fmt: skip
_WOMEN_SECOND = (
    "Amparo", "Cecilia", "del Carmen", "del Pilar", "Edilma", "Fernanda", "Helena", "Isabel",
    "Liliana", "Lucía", "Mercedes", "Milena", "Patricia", "Stella", "Teresa", "Victoria",
)  # fmt: skip
_MEN = (
    "Álvaro", "Andrés", "Argemiro", "Carlos", "Édgar", "Ernesto", "Fabio", "Germán", "Gustavo",
    "Hernán", "Iván", "Jairo", "Jesús", "Jorge", "José", "Juan", "Luis", "Nelson", "Óscar",
    "Pedro", "Ramiro", "Wilson",
)  # fmt: skip
_MEN_SECOND = (
    "Alberto", "Alonso", "Antonio", "Arturo", "Camilo", "Eduardo", "Emilio", "Enrique", "Felipe",
    "Ignacio", "Leonardo", "Manuel", "Mauricio", "Orlando", "Ricardo", "Sebastián",
)  # fmt: skip
_SURNAMES = (
    "Acevedo", "Arango", "Bedoya", "Benavides", "Buitrago", "Caicedo", "Cárdenas", "Castañeda",
    "Cifuentes", "Correa", "De la Hoz", "Echeverri", "Escobar", "Fajardo", "Galeano", "Guerrero",
    "Hinestroza", "Ibáñez", "Jaramillo", "Ladino", "Londoño", "Mahecha", "Manrique", "Montoya",
    "Mosquera", "Muñoz", "Narváez", "Ocampo", "Ordóñez", "Ospina", "Pabón", "Patiño", "Peñaranda",
    "Ponce de León", "Quiñones", "Rengifo", "Rincón", "Rueda", "Saldarriaga", "San Juan",
    "Sepúlveda", "Tabares", "Tovar", "Urrego", "Valbuena", "Velandia", "Villamil", "Yepes",
    "Zambrano", "Zúñiga",
)  # fmt: skip
_MAIL_DOMAINS = (
    "correo.example.com",
    "buzon.example.org",
    "mensajes.example.net",
    "postal.example.com",
    "miweb.example.org",
)
_STREETS = ("Calle", "Carrera", "Diagonal", "Transversal", "Avenida")
_QUARTERS = (
    "La Esmeralda", "El Recreo", "Villa Luz", "Santa Mónica", "Los Naranjos", "Bellavista",
    "San Antonio", "El Jardín", "La Castellana", "Nueva Granada", "Los Almendros", "Prado Alto",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class City:
    """A city and its code in the national list of municipalities (DANE)."""

    name: str
    dane_code: str


CITIES = (
    City("Bogotá D.C.", "11001"),
    City("Medellín", "05001"),
    City("Cali", "76001"),
    City("Barranquilla", "08001"),
    City("Bucaramanga", "68001"),
    City("Pereira", "66001"),
    City("Manizales", "17001"),
    City("Ibagué", "73001"),
    City("Neiva", "41001"),
    City("Pasto", "52001"),
    City("Popayán", "19001"),
    City("Tunja", "15001"),
    City("Villavicencio", "50001"),
    City("Armenia", "63001"),
    City("Cúcuta", "54001"),
    City("Montería", "23001"),
)


@dataclasses.dataclass(frozen=True)
class Person:
    """A natural person; `cedula` is written with dots, as filings do."""

    name: str
    is_woman: bool
    cedula: str
    cedula_city: str
    email: str
    address: str
    telephone: str


@dataclasses.dataclass(frozen=True)
class Court:
    """The court a filing is addressed to; the codes are those of the docket number."""

    title: str
    entity_code: str
    specialty_code: str
    addresses_woman: bool


_COURT_KINDS = {
    "tutela": (
        ("JUEZ CIVIL MUNICIPAL", "40", "03"),
        ("JUEZ PENAL MUNICIPAL", "40", "09"),
        ("JUEZ LABORAL DEL CIRCUITO", "31", "05"),
        ("JUEZ CIVIL DEL CIRCUITO", "31", "03"),
        ("JUEZ DE FAMILIA DEL CIRCUITO", "31", "10"),
    ),
    "habeas_corpus": (
        ("JUEZ PENAL DEL CIRCUITO", "31", "04"),
        ("JUEZ ADMINISTRATIVO DEL CIRCUITO", "33", "33"),
        ("JUEZ CIVIL DEL CIRCUITO", "31", "03"),
    ),
}


def draw_name(draw: Draw, *, is_woman: bool) -> str:
    """Return a full name: one or two given names and two surnames."""
    first = draw.choice(_WOMEN if is_woman else _MEN)
    second = draw.choice(_WOMEN_SECOND if is_woman else _MEN_SECOND)
    given = first if draw.below(4) == 0 else f"{first} {second}"
    father, mother = draw.shuffled(_SURNAMES)[:2]
    return f"{given} {father} {mother}"


def draw_address(draw: Draw) -> str:
    """Return a street address with its quarter."""
    street = draw.choice(_STREETS)
    main, cross, plate = draw.between(3, 120), draw.between(2, 98), draw.between(4, 99)
    return f"{street} {main} No. {cross}-{plate:02d}, barrio {draw.choice(_QUARTERS)}"


def _draw_cedula(draw: Draw) -> str:
    """Return a citizen's card number: eight digits for the old, 1.0xx.xxx.xxx for the young."""
    if draw.below(2):
        return group_digits(draw.between(10_200_000, 79_900_000))
    return group_digits(draw.between(1_003_100_000, 1_152_900_000))


def draw_person(draw: Draw, *, is_woman: bool, city: City) -> Person:
    """Return a person with a card, an e-mail address, a street address and a telephone."""
    name = draw_name(draw, is_woman=is_woman)
    words = plain_letters(name).split()
    email = f"{words[0]}.{words[-2]}{draw.between(10, 99)}@{draw.choice(_MAIL_DOMAINS)}"
    return Person(
        name=name,
        is_woman=is_woman,
        cedula=_draw_cedula(draw),
        cedula_city=draw.choice(CITIES).name if draw.below(3) == 0 else city.name,
        email=email,
        address=draw_address(draw),
        telephone=draw.digits("300 555 ####"),
    )


def draw_court(draw: Draw, doc_type: str) -> Court:
    """Return a court that hears this type of filing."""
    title, entity_code, specialty_code = draw.choice(_COURT_KINDS[doc_type])
    return Court(title, entity_code, specialty_code, addresses_woman=bool(draw.below(2)))


def draw_radicado(draw: Draw, city: City, court: Court, year: int) -> str:
    """Return a docket number of 23 digits.

    Five digits for the municipality, two for the kind of court, two for its specialty, three for
    the court, four for the year, five for the place in that year's list, two for the instance.
    """
    office = draw.between(1, 48)
    consecutive = draw.between(21, 1290)
    return (
        f"{city.dane_code}-{court.entity_code}-{court.specialty_code}-{office:03d}"
        f"-{year}-{consecutive:05d}-00"
    )
