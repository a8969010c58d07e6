"""XML from strangers, parsed without entities, network or unbounded size."""

from __future__ import annotations

import re

from lxml import etree

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason

MAX_XML_BYTES = 64 << 20
"""A larger part of an office document is not parsed: a thousand pages have some 20 MB."""

ENGINE_VERSIONS = {
    "lxml": etree.__version__,
    "libxml2": ".".join(map(str, etree.LIBXML_VERSION)),
}

_ENTITY = re.compile(rb"<!ENTITY", re.I)
_PROLOGUE_BYTES = 1 << 16


def parse_xml(data: bytes, name: str) -> etree._Element:
    """Parse a part of an office document.

    Args:
        data: the part.
        name: its name, for the message.

    Returns:
        The root element.

    Raises:
        ExtractionFailure: `too_big` if it declares entities (no office program writes any; a bomb
            does), otherwise `damaged`.
    """
    # Without NULs, UTF-16 and UTF-32 are seen through as well.
    if _ENTITY.search(data[:_PROLOGUE_BYTES].replace(b"\0", b"")):
        raise _declares_entities(name)
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise ExtractionFailure(Reason.DAMAGED, f"{name}: {error}") from error
    except ValueError as error:
        raise ExtractionFailure(Reason.DAMAGED, f"{name}: {error}") from error
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise _declares_entities(name)
    return root


def local_name(element: etree._Element) -> str:
    """Give the name of an element without its namespace; empty for an entity reference."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: etree._Element, name: str) -> str | None:
    """Give an attribute by its name without namespace."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None


def _declares_entities(name: str) -> ExtractionFailure:
    return ExtractionFailure(
        Reason.TOO_BIG, f"{name} declares XML entities, which can expand without bound"
    )
