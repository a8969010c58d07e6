"""How dates, sums, articles and ordinals are written in Colombian filings."""

from __future__ import annotations

import datetime
import unicodedata

MONTHS = (
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
)

ORDINALS = (
    "Primero",
    "Segundo",
    "Tercero",
    "Cuarto",
    "Quinto",
    "Sexto",
    "Séptimo",
    "Octavo",
    "Noveno",
    "Décimo",
    "Undécimo",
    "Duodécimo",
    "Décimo Tercero",
    "Décimo Cuarto",
    "Décimo Quinto",
)

ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def spell_date(date: datetime.date) -> str:
    """Write a date: 7 de marzo de 2024."""
    return f"{date.day} de {MONTHS[date.month - 1]} de {date.year}"


def group_digits(number: int) -> str:
    """Write a number with a dot before each three digits: 1.234.567."""
    return f"{number:,}".replace(",", ".")


def pesos(amount: int) -> str:
    """Write a sum of money: $1.250.000."""
    return f"${group_digits(amount)}"


def clock(hour: int, minute: int) -> str:
    """Write a time of the day, hour from 0 to 23: 10:40 a. m."""
    return f"{(hour - 1) % 12 + 1}:{minute:02d} {'a. m.' if hour < 12 else 'p. m.'}"


def with_article(article: str, name: str) -> str:
    """Write a name with its article: la NUEVA EPS."""
    return f"{article} {name}"


def with_a(article: str, name: str) -> str:
    """Write a name with the preposition a, contracted where Spanish wants it: al Fondo."""
    return f"al {name}" if article == "el" else f"a {article} {name}"


def with_de(article: str, name: str) -> str:
    """Write a name with the preposition de, contracted where Spanish wants it: del Fondo."""
    return f"del {name}" if article == "el" else f"de {article} {name}"


def join_with_y(parts: list[str]) -> str:
    """Write a list: a, b y c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} y {parts[-1]}"


def plain_letters(text: str) -> str:
    """Return the text in lower case and without accents, for e-mail addresses and file names."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))
