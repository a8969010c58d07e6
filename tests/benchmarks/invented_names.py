"""Names of people as often as Spanish ones are, and what readers and clerks make of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import accumulate, product


def _listed(words: str) -> list[str]:
    return words.split()


_WOMEN = _listed("""
    maria ana luz sandra martha claudia diana gloria carmen rosa blanca paula andrea angela carolina
    laura natalia daniela valentina yolanda olga esperanza monica adriana patricia leidy jenny
    catalina marcela nancy beatriz liliana margarita juana isabel flor teresa cecilia elizabeth
    johana viviana karen lina yuri alejandra tatiana camila sofia gabriela myriam nubia amparo
    rocio stella doris ingrid paola vanessa ximena zoraida
""")
_MEN = _listed("""
    juan jose luis carlos jorge andres diego oscar john miguel jaime fernando edwin hernan cesar
    william javier pedro fabio alvaro german julio jesus manuel david daniel santiago sebastian
    nelson wilson henry hector mario rafael alejandro gustavo ricardo victor francisco antonio
    mauricio felipe alexander camilo nicolas jhon guillermo orlando rodrigo ivan edgar alfonso
    ramiro gabriel freddy leonardo harold yeison wilmer
""")
_SECOND_WOMEN = _listed("""
    maria fernanda patricia milena marcela isabel del+carmen lucia alejandra cristina cecilia
    elena paola andrea carolina stella liliana esperanza mercedes teresa amparo margarita
    victoria del+pilar camila sofia juliana ines rocio beatriz viviana yaneth
""")
_SECOND_MEN = _listed("""
    carlos alberto antonio enrique eduardo fernando andres david alexander felipe camilo jose
    luis manuel esteban mauricio alfonso arturo humberto ernesto ivan javier orlando augusto
    alejandro sebastian miguel leonardo hernando de+jesus armando
""")
_SURNAMES = _listed("""
    rodriguez gomez gonzalez martinez garcia lopez hernandez sanchez ramirez perez diaz torres
    rojas moreno vargas ortiz jimenez castro gutierrez alvarez valencia munoz ruiz suarez herrera
    romero quintero morales giraldo rivera arias castillo florez mosquera osorio cardenas cardona
    restrepo medina marin ospina mejia parra guerrero velasquez reyes londono rincon cortes salazar
    bedoya zapata acosta duque escobar montoya contreras leon pena guzman mendoza vega delgado
    aguilar fernandez silva beltran nunez bermudez cano correa galvis hoyos mora molina navarro
    pineda pardo quiroga rendon rios sierra soto tovar trujillo uribe vasquez villa zuluaga ardila
    avila barrera bonilla caicedo calderon camacho carvajal de+la+hoz espinosa forero franco
    gaviria henao jaramillo lozano maldonado murillo ochoa orozco pabon palacios patino pinzon
    polo ponce prada ramos robledo rubio salcedo sandoval serrano tapia toro triana usma vanegas
    vera yepes zambrano zuniga
""")
_TAIL_GIVEN, _TAIL_SURNAMES = 1_500, 12_000
_SYLLABLES = [
    consonant + vowel
    for consonant, vowel in product(
        ("b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "y", "ch", "qu", "tr"),
        "aeiou",
    )
]
_ENDINGS = ("", "", "n", "s", "z", "r", "l", "ndo", "rte", "llo", "nez", "rra")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OCR = [
    (written, read)
    for pair in _listed(
        "e:c o:0 l:i i:1 l:1 s:5 z:2 h:b g:q g:9 a:u t:f n:ri m:rn d:cl b:8 u:v n:h r:t"
    )
    for written, read in (pair.split(":"), pair.split(":")[::-1])
    if written.isalpha()
]
_SPELLING = [
    (written, spelt)
    for pair in _listed(
        "z:s c:s s:z v:b b:v ll:y y:ll y:i i:y g:j j:g h: ss:s nn:n th:t qu:k c:k ei:ey"
    )
    for written, spelt in [pair.split(":")]
]


class _Words:
    """Words, the first the most frequent: their frequencies follow Zipf's law."""

    def __init__(self, head: list[str], tail: list[str], flatness: float) -> None:
        self._words = [word.replace("+", " ") for word in head] + tail
        self._weights = list(accumulate((n + flatness) ** -1.15 for n in range(len(self._words))))

    def draw(self, rng: random.Random) -> str:
        return rng.choices(self._words, cum_weights=self._weights)[0]


class Names:
    """Invented people: one or two given names, one or two surnames.

    The head of the frequencies is Colombia's; the tail is made of syllables.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        given = self._tail(_TAIL_GIVEN)
        self._first = [_Words(_WOMEN, given[::2], 2.5), _Words(_MEN, given[1::2], 3)]
        self._second = [_Words(_SECOND_WOMEN, given[::2], 4), _Words(_SECOND_MEN, given[1::2], 4)]
        self._surnames = _Words(_SURNAMES, self._tail(_TAIL_SURNAMES), 7)

    def _tail(self, count: int) -> list[str]:
        words: dict[str, None] = {}
        while len(words) < count:
            syllables = self._rng.choices(_SYLLABLES, k=self._rng.choice((2, 2, 3)))
            words["".join(syllables) + self._rng.choice(_ENDINGS)] = None
        return list(words)

    def draw(self) -> str:
        """Draw a name in its normalised form."""
        rng = self._rng
        sex = rng.randrange(2)
        words = [self._first[sex].draw(rng)]
        if rng.random() < 0.75:
            words.append(self._second[sex].draw(rng))
        words.append(self._surnames.draw(rng))
        if rng.random() < 0.88:
            words.append(self._surnames.draw(rng))
        return " ".join(words)

    def distinct(self, count: int) -> list[str]:
        """Draw this many different names."""
        names: dict[str, None] = {}
        while len(names) < count:
            names[self.draw()] = None
        return list(names)


def _edit(name: str, rng: random.Random) -> str:
    at = rng.randrange(len(name))
    while name[at] == " ":
        at = rng.randrange(len(name))
    kind = rng.randrange(4)
    if kind == 0:
        return name[:at] + rng.choice(_LETTERS) + name[at + 1 :]
    if kind == 1:
        return name[:at] + name[at + 1 :]
    if kind == 2:
        return name[:at] + rng.choice(_LETTERS) + name[at:]
    return name[:at] + name[at : at + 2][::-1] + name[at + 2 :]


def _replace_one(name: str, pairs: list[tuple[str, str]], rng: random.Random) -> str:
    places = [
        (at, written, read)
        for written, read in pairs
        for at in range(len(name))
        if name.startswith(written, at)
    ]
    if not places:
        return name
    at, written, read = rng.choice(places)
    return name[:at] + read + name[at + len(written) :]


def _abbreviate(name: str, rng: random.Random) -> str:
    words = name.split()
    at = rng.randrange(max(len(words) - 2, 1))
    words[at] = words[at][: rng.choice((1, 2))]
    return " ".join(words)


def _without_a_word(name: str, rng: random.Random) -> str:
    words = name.split()
    del words[rng.randrange(len(words))]
    return " ".join(words)


def _with_a_word(name: str, rng: random.Random) -> str:
    words = name.split()
    words.insert(rng.randrange(1, len(words) + 1), rng.choice(_SURNAMES[:60] + _SECOND_MEN[:12]))
    return " ".join(words).replace("+", " ")


def _surnames_first(name: str, _: random.Random) -> str:
    words = name.split()
    return " ".join(words[len(words) // 2 :] + words[: len(words) // 2])


def _lost_space(name: str, rng: random.Random) -> str:
    at = rng.choice([n for n, letter in enumerate(name) if letter == " "])
    return name[:at] + name[at + 1 :]


def _added_space(name: str, rng: random.Random) -> str:
    places = [n for n in range(1, len(name)) if name[n] != " " and name[n - 1] != " "]
    at = rng.choice(places)
    return name[:at] + " " + name[at:]


def _times(
    count: int, change: Callable[[str, random.Random], str]
) -> Callable[[str, random.Random], str]:
    def changed(name: str, rng: random.Random) -> str:
        for _ in range(count):
            name = change(name, rng)
        return name

    return changed


def _ocr(name: str, rng: random.Random) -> str:
    return _replace_one(name, _OCR, rng)


def _spelling(name: str, rng: random.Random) -> str:
    return _replace_one(name, _SPELLING, rng)


CHANGES: dict[str, Callable[[str, random.Random], str]] = {
    "1 letter": _edit,
    "2 letters": _times(2, _edit),
    "3 letters": _times(3, _edit),
    "1 misread": _ocr,
    "2 misread": _times(2, _ocr),
    "3 misread": _times(3, _ocr),
    "spelling": _times(2, _spelling),
    "abbreviated": _abbreviate,
    "word missing": _without_a_word,
    "word added": _with_a_word,
    "surnames first": _surnames_first,
    "surnames first, 1 letter": lambda name, rng: _edit(_surnames_first(name, rng), rng),
    "space lost": _lost_space,
    "space added": _added_space,
    "space lost, 1 letter": lambda name, rng: _edit(_lost_space(name, rng), rng),
    "word missing, 1 letter": lambda name, rng: _edit(_without_a_word(name, rng), rng),
}
"""What becomes of a name, by kind. Not all that comes out is still the same name."""


def changed_names(names: list[str], kind: str, seed: int) -> Iterator[tuple[str, str]]:
    """Give each name with what became of it; those that stay as they are, are left out."""
    rng = random.Random(f"{kind}/{seed}")
    for name in names:
        changed = " ".join(CHANGES[kind](name, rng).split())
        if changed and changed != name:
            yield name, changed
