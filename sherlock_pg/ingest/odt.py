"""OpenDocument texts (ODT): what the printed document would say, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from zipfile import ZipFile

from lxml import etree

from sherlock_pg.ingest.layout import join_parts, row_lines
from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.pasted import pasted_scans
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.source import TextSource
from sherlock_pg.ingest.xml_part import (
    ENGINE_VERSIONS,
    MAX_XML_BYTES,
    attribute,
    local_name,
    parse_xml,
)
from sherlock_pg.ingest.zipped import open_zip, read_member

_MANIFEST = "META-INF/manifest.xml"
_MAX_SPACES = 1000
_LEFT_OUT = frozenset(
    """tracked-changes annotation annotation-end forms scripts font-face-decls automatic-styles
    hidden-text hidden-paragraph note-citation ruby-text desc title object-ole plugin applet
    sequence-decls variable-decls user-field-decls dde-connection-decls
    table-of-content-source table-columns table-column""".split()  # noqa: SIM905 - a word list
)
_SPACES = re.compile(r"[ \t\r\n]+")


def open_odt(data: bytes, options: ExtractOptions) -> TextSource:
    """Open an OpenDocument text.

    Raises:
        ExtractionFailure: `damaged`, `encrypted` or `too_big`.
    """
    with open_zip(data) as archive:
        manifest = _parse(archive, _MANIFEST)
        if manifest is not None and manifest.find(".//{*}encryption-data") is not None:
            raise ExtractionFailure(Reason.ENCRYPTED, "protected by a password")
        content = _parse(archive, "content.xml")
        if content is None:
            raise ExtractionFailure(Reason.DAMAGED, "content.xml is missing")
        styles = _parse(archive, "styles.xml")
        members = {member.filename: member for member in archive.infolist()}
        story = _Story()
        body = "\n".join(
            line for part in content.iterfind("{*}body/{*}text") for line in story.lines(part)
        )
        candidates = [image for image in story.images if image in members]
        scans = pasted_scans(body, candidates, members, archive, options)
    return TextSource(
        join_parts(_printed(styles, "header"), body, story.notes, _printed(styles, "footer")),
        images=scans,
        engine_versions=dict(ENGINE_VERSIONS),
    )


def _parse(archive: ZipFile, part: str) -> etree._Element | None:
    try:
        member = archive.getinfo(part)
    except KeyError:
        return None
    try:
        data = read_member(archive, member, MAX_XML_BYTES)
    except ExtractionFailure as failure:
        raise ExtractionFailure(failure.reason, f"{part}: {failure}") from failure
    return parse_xml(data, part)


@dataclass(slots=True)
class _Story:
    """One flow of text.

    Attributes:
        images: names of the pictures met, in order.
        notes: the texts of footnotes and endnotes met.
    """

    images: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self, element: etree._Element) -> list[str]:
        """Give the lines of all blocks inside an element."""
        lines: list[str] = []
        for child in element:
            match local_name(child):
                case "p" | "h":
                    lines += self._paragraph(child)
                case "table":
                    lines += self._table(child)
                case "image":
                    self._keep_image(child)
                case name if name not in _LEFT_OUT:
                    lines += self.lines(child)
        return lines

    def _paragraph(self, paragraph: etree._Element) -> list[str]:
        pieces: list[str] = []
        boxes: list[str] = []
        self._collect(paragraph, pieces, boxes)
        return [*(line.strip(" ") for line in "".join(pieces).split("\n")), *boxes]

    def _collect(self, element: etree._Element, pieces: list[str], boxes: list[str]) -> None:
        pieces.append(_SPACES.sub(" ", element.text or ""))
        for child in element:
            match local_name(child):
                case "s":
                    count = attribute(child, "c") or "1"
                    pieces.append(" " * min(int(count) if count.isdecimal() else 1, _MAX_SPACES))
                case "tab":
                    pieces.append("\t")
                case "line-break":
                    pieces.append("\n")
                case "note":
                    self.notes.append("\n".join(self.lines(child)))
                case "text-box":
                    boxes += self.lines(child)
                case "image":
                    self._keep_image(child)
                case "frame" | "g":
                    self._collect_frame(child, boxes)
                case name if name not in _LEFT_OUT:
                    self._collect(child, pieces, boxes)
            pieces.append(_SPACES.sub(" ", child.tail or ""))

    def _collect_frame(self, frame: etree._Element, boxes: list[str]) -> None:
        boxes += [line for line in self.lines(frame) if line.strip()]

    def _keep_image(self, image: etree._Element) -> None:
        name = attribute(image, "href")
        if name:
            self.images.append(name.removeprefix("./"))

    def _table(self, table: etree._Element) -> list[str]:
        lines: list[str] = []
        for row in _inside(table, "table-row"):
            lines += row_lines(
                [
                    [line for line in self.lines(cell) if line.strip()]
                    for cell in _inside(row, "table-cell")
                ]
            )
        return lines


def _inside(element: etree._Element, wanted: str) -> Iterator[etree._Element]:
    """Find rows of a table or cells of a row, also in groups of them.

    A cell that a merged one covers has another name (covered-table-cell).
    """
    for child in element:
        name = local_name(child)
        if name == wanted:
            yield child
        elif name in ("table-header-rows", "table-rows", "table-row-group", "table-header-columns"):
            yield from _inside(child, wanted)


def _printed(styles: etree._Element | None, kind: str) -> Iterator[str]:
    """Give the headers or footers of all page styles."""
    if styles is None:
        return
    for page_style in styles.iter("{*}master-page"):
        for child in page_style:
            if local_name(child).startswith(kind) and attribute(child, "display") != "false":
                yield "\n".join(_Story().lines(child))
