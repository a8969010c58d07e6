"""Mail addresses and whose they are."""

from __future__ import annotations

import re

from sherlock_pg.ner.folding import LONGEST_LOCAL_PART, View, find_around, fold_name
from sherlock_pg.ner.lexicon import DEFENDANT, PLAINTIFF, is_person
from sherlock_pg.ner.misread import Vocabulary, shape
from sherlock_pg.ner.owners import NameIndex
from sherlock_pg.ner.roles import Entity, Role, Source

_TOP_DOMAINS = r"(?:COM|CO|ORG|NET|EDU|GOV|GOB|ES|MIL|INFO|EXAMPLE|LEGAL|ABOGADO)"
_ADDRESS = re.compile(
    r"(?<![A-Z0-9._%+\-])(?P<local>[A-Z0-9][A-Z0-9._%+\-]{0,63})\s?@\s?"
    rf"(?P<domain>[A-Z0-9\-]{{1,63}}(?:(?:\."
    rf"|\s?\.\s?(?={_TOP_DOMAINS}(?![A-Z0-9])))[A-Z0-9\-]{{1,63}}){{1,6}})"
)
_SIGN = re.compile("@")
_INSTITUTIONAL_BOX = re.compile(
    r"NOTIFIC|TUTELAS?|JURIDIC|ATENCION|CONTACTO|SERVICIO|PQR|DEFENSAJUD|PROCESOSJUD|BUZON"
    r"|CORRESPONDENCIA"
    r"|SECRETARIA|INFO(?![A-Z])|ASUNTOSLEGALES|REQUERIMIENTOS|VENTANILLA|GESTION|DESPACHO|ALCALDIA"
    r"|J\d{2}"
)
_COURT_DOMAIN = re.compile(
    r"(?:[A-Z0-9\-]{1,40}\.)?(?:RAMAJUDICIAL|CORTECONSTITUCIONAL|CONSEJODEESTADO|CORTESUPREMA)\."
)
_STATE_DOMAIN = re.compile(r"\.(?:GOV|MIL|GOB)(?:\.|$)")
_CUE = re.compile(
    rf"(?<![A-Z])(?:(?P<plaintiff>{PLAINTIFF}|(?:LA\s+)?PARTE\s+ACTORA|AGENTE\s+OFICIOS[OA]"
    rf"|PODERDANTES?|MI\s+(?:MANDANTE|REPRESENTAD[OA]|PROHIJAD[OA]|DEFENDID[OA]))"
    rf"|(?P<defendant>{DEFENDANT}|VINCULAD[OA]S?|ENTIDAD(?:ES)?)"
    rf"|(?P<lawyer>APODERAD[OA]S?(?:\s+(?:JUDICIAL|DE\s+LA|DEL|PARTE)){{0,3}}(?:\s+(?:{PLAINTIFF}"
    rf"|{DEFENDANT}))?|ABOGAD[OA]S?|(?:LA|EL)\s+SUSCRIT[OA](?:\s+(?:APODERAD[OA]|ABOGAD[OA]))?"
    rf"|DEFENSORA?|MI\s+OFICINA)|(?P<court>JUZGADO|DESPACHO|TRIBUNAL|SECRETARIA\s+DEL\s+JUZGADO)"
    r"|(?P<speaker>(?:YO\s+)?RECIB(?:O|IRE|IREMOS)|MI\s+CORREO|MIS\s+CORREOS|MI\s+EMAIL|MI\s+MAIL"
    r"|MI\s+DIRECCION))(?![A-Z])"
)
_ACTS_FOR = re.compile(
    r"(?<![A-Z])(?:APODERAD[OA]\s+(?:JUDICIAL|ESPECIAL|GENERAL|DE\s|DEL\s)|T\.\s?P\."
    r"|TARJETA\s+PROFESIONAL|DEFENSORA?\s+DE\s+CONFIANZA)"
)
_THE_WRITER = ("LA SUSCRITA", "EL SUSCRITO")
_SITES = Vocabulary(
    (
        *("COM", "ORG", "NET", "EDU", "GOV", "GMAIL", "HOTMAIL", "OUTLOOK", "YAHOO", "ICLOUD"),
        *("LIVE", "MSN", "CORREO", "MAIL", "EMAIL", "EXAMPLE", "RAMAJUDICIAL", "CENDOJ"),
        *("NOTIFICACIONES", "NOTIFICACIONESJUDICIALES"),
    )
)
_CONTEXT_LINES = 6
_CONTEXT_CHARACTERS = 300


def find_mails(view: View, index: NameIndex) -> list[Entity]:
    """Find mail addresses, each once however it was read, with the party they seem to belong to."""
    matches = list(find_around(_SIGN, _ADDRESS, view.plain, LONGEST_LOCAL_PART + 1))
    if not matches:
        return []
    by_lawyer = _ACTS_FOR.search(view.folded) is not None
    names = Vocabulary(index.plaintiff_words())
    found: dict[str, Entity] = {}
    for match in matches:
        start, end = match.span()
        while end > start and view.plain[end - 1] in ".-":
            end -= 1
        address = re.sub(r"\s", "", view.plain[start:end])
        local, _, domain = address.partition("@")
        local, domain = names.respelled(local), _SITES.respelled(domain)
        address = f"{local}@{domain}"
        is_court = _COURT_DOMAIN.match(domain) is not None
        owner = None if is_court else _owner(view, index, match, local, domain, by_lawyer)
        institutional = is_court or _is_institutional(local, domain)
        entity = Entity(
            Role.CORREO,
            address.lower(),
            start,
            end,
            Source.PATTERN,
            0.9 if owner else 0.6,
            owner=owner,
            is_institutional=institutional,
        )
        reading = shape(re.sub(r"[@.]", "", address))
        known = found.get(reading)
        if known is None or (known.owner is None and owner is not None):
            found[reading] = entity
    return list(found.values())


def _is_institutional(local: str, domain: str) -> bool:
    return _STATE_DOMAIN.search(domain) is not None or _INSTITUTIONAL_BOX.match(local) is not None


def _owner(
    view: View,
    index: NameIndex,
    match: re.Match[str],
    local: str,
    domain: str,
    by_lawyer: bool,
) -> Role | None:
    """Decide by the words before the address, then by its own words, then by what is usual."""
    cue, is_near = _cue_before(view, match.start(), by_lawyer)
    if cue is not None and is_near:
        return cue if isinstance(cue, Role) else None
    if not index.parties:
        return None
    own_words = _by_own_words(index, local, domain)
    if own_words is not None:
        return own_words
    mention = index.nearest_before(match.start(), 160)
    if mention is not None and "\n\n" not in view.folded[mention[0] : match.start()]:
        return mention[1]
    if cue is not None:
        return cue if isinstance(cue, Role) else None
    plaintiffs = [entity for entity in index.parties if entity.role is Role.DEMANDANTE]
    if _is_institutional(local, domain):
        if plaintiffs and all(not is_person(fold_name(entity.value)) for entity in plaintiffs):
            return None if _STATE_DOMAIN.search(domain) else Role.DEMANDANTE
        return Role.DEMANDADO
    if not plaintiffs or by_lawyer:
        return None
    return Role.DEMANDANTE


def _by_own_words(index: NameIndex, local: str, domain: str) -> Role | None:
    site = domain.split(".")[0]
    if len(site) >= 4:
        for role in (Role.DEMANDADO, Role.DEMANDANTE):
            if any(
                site in name or (len(name) >= 4 and name in site)
                for name in index.compact_names(role)
            ):
                return role
    letters = re.sub(r"[^A-Z]", "", local)
    if any(word in letters for word in index.plaintiff_words()):
        return Role.DEMANDANTE
    if any(word in letters for word in index.defendant_words()):
        return Role.DEMANDADO
    return None


def _cue_before(view: View, start: int, by_lawyer: bool) -> tuple[Role | str | None, bool]:
    """Give the last cue before an address, and whether it stands on the same line."""
    window_start = max(0, start - _CONTEXT_CHARACTERS)
    lines = view.folded[window_start:start].split("\n")[-_CONTEXT_LINES:]
    for distance, line in enumerate(reversed(lines)):
        if distance > 0 and not line.strip():
            break
        cues = list(_CUE.finditer(line))
        if not cues:
            continue
        last = cues[-1]
        if last["plaintiff"] or last["speaker"]:
            return Role.DEMANDANTE, distance == 0
        if last["defendant"]:
            return Role.DEMANDADO, distance == 0
        if last["court"] or (last["lawyer"] and by_lawyer) or last["lawyer"] not in _THE_WRITER:
            return last.lastgroup, distance == 0
        return Role.DEMANDANTE, distance == 0
    return None, False
