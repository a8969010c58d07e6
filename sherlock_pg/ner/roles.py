"""What the extraction finds: roles, where a finding comes from, and the finding itself."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(enum.StrEnum):
    """What a finding is in the case."""

    DEMANDANTE = "demandante"
    DEMANDADO = "demandado"
    CEDULA = "cedula"
    CORREO = "correo"
    RADICADO = "radicado"
    REFERENCIA = "referencia"


PARTY_ROLES = (Role.DEMANDANTE, Role.DEMANDADO)


class Source(enum.StrEnum):
    """How a finding was made, from the most to the least trustworthy for a party."""

    LABEL = "label"
    NARRATIVE = "narrative"
    FIRST_PERSON = "first_person"
    MODEL = "model"
    PATTERN = "pattern"


class IdType(enum.StrEnum):
    """Kinds of Colombian identity documents, and the tax number of companies."""

    CC = "CC"
    CE = "CE"
    TI = "TI"
    RC = "RC"
    PA = "PA"
    PPT = "PPT"
    NIT = "NIT"


@dataclass(frozen=True, slots=True)
class Entity:
    """One party or identifier found in a text.

    Attributes:
        role: what it is.
        value: as written, without titles, line breaks and OCR look-alikes; ids and radicados are
            digits only, mails are lower-case.
        start: offset of its first character in the text given.
        end: offset behind its last character.
        source: how it was found.
        score: how far the finding can be trusted, 0..1.
        owner: for ids and mails the party they belong to; None if unknown or somebody else's.
        id_type: for ids their kind.
        is_anonymised: a party that is only initials, which identifies nobody.
        is_institutional: a mail box of a court or an institution rather than of a person.
    """

    role: Role
    value: str
    start: int
    end: int
    source: Source
    score: float
    owner: Role | None = None
    id_type: IdType | None = None
    is_anonymised: bool = False
    is_institutional: bool = False
