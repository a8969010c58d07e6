"""Word documents (DOCX): what the printed document would say, in its order.

python-docx is not used: it skips what stands inside tracked insertions and content controls, and
knows neither text boxes nor footnotes.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field

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

_USUAL_MAIN_PART = "word/document.xml"
_FALSE = frozenset({"0", "false", "off", "none"})
_LEFT_OUT = frozenset(
    """del moveFrom delText delInstrText instrText rPr pPr tblPr tblGrid trPr tcPr sdtPr sdtEndPr
    sectPr Fallback footnoteRef endnoteRef annotationRef rt docPr cNvPr
    oMathParaPr ctrlPr""".split()  # noqa: SIM905 - a word list
)
_CHARACTERS = {
    "tab": "\t",
    "ptab": "\t",
    "br": "\n",
    "cr": "\n",
    "noBreakHyphen": "-",
}
_SEPARATORS = frozenset({"separator", "continuationSeparator", "continuationNotice"})
_SPACES = re.compile(r"[\r\n]+")


def open_docx(data: bytes, options: ExtractOptions) -> TextSource:
    """Open a Word document.

    Raises:
        ExtractionFailure: `damaged`, `encrypted` or `too_big`.
    """
    with open_zip(data) as archive:
        package = _Package(archive)
        main = package.main_part()
        root = package.parse(main)
        relations = package.relations(main)
        story = _Story()
        body = "\n".join(story.lines(root))
        headers, footers = (
            [
                "\n".join(_Story().lines(package.parse(relations[identifier])))
                for identifier in _shown(root, kind)
                if identifier in relations
            ]
            for kind in ("headerReference", "footerReference")
        )
        notes = [
            text
            for part in relations.values()
            if posixpath.basename(part) in ("footnotes.xml", "endnotes.xml")
            for text in _notes(package.parse(part))
        ]
        candidates = [relations[image] for image in story.images if image in relations]
        scans = pasted_scans(body, candidates, package.members, archive, options)
    return TextSource(
        join_parts(headers, body, notes, footers),
        images=scans,
        engine_versions=dict(ENGINE_VERSIONS),
    )


class _Package:
    """The parts of the file and how they refer to each other."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.members = {member.filename: member for member in archive.infolist()}

    def parse(self, part: str) -> etree._Element:
        member = self.members.get(part)
        if member is None:
            raise ExtractionFailure(Reason.DAMAGED, f"{part} is missing")
        try:
            return parse_xml(read_member(self._archive, member, MAX_XML_BYTES), part)
        except ExtractionFailure as failure:
            detail = str(failure) if part in str(failure) else f"{part}: {failure}"
            raise ExtractionFailure(failure.reason, detail) from failure

    def main_part(self) -> str:
        for kind, target in self._targets(""):
            if kind.endswith("/officeDocument"):
                return target
        return _USUAL_MAIN_PART

    def relations(self, part: str) -> dict[str, str]:
        """Give the parts that a part refers to, by identifier."""
        return {
            identifier: target
            for identifier, (_, target) in self._read_relations(part).items()
            if target in self.members
        }

    def _targets(self, part: str) -> Iterator[tuple[str, str]]:
        yield from self._read_relations(part).values()

    def _read_relations(self, part: str) -> dict[str, tuple[str, str]]:
        folder, name = posixpath.split(part)
        relations_part = posixpath.join(folder, "_rels", f"{name}.rels")
        if relations_part not in self.members:
            return {}
        found = {}
        for relation in self.parse(relations_part):
            target = relation.get("Target")
            if target and relation.get("TargetMode") != "External":
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                found[relation.get("Id", "")] = (relation.get("Type", ""), path)
        return found


@dataclass(slots=True)
class _Story:
    """One flow of text: the body, a header, a note.

    Attributes:
        images: identifiers of the pictures met, in order.
    """

    images: list[str] = field(default_factory=list)

    def lines(self, element: etree._Element) -> list[str]:
        """Give the lines of all blocks inside an element."""
        lines: list[str] = []
        for child in element:
            match local_name(child):
                case "p":
                    lines += self._paragraph(child)
                case "tbl":
                    lines += self._table(child)
                case name if name not in _LEFT_OUT:
                    lines += self.lines(child)
        return lines

    def _paragraph(self, paragraph: etree._Element) -> list[str]:
        pieces: list[str] = []
        boxes: list[str] = []
        self._collect(paragraph, pieces, boxes)
        return [*"".join(pieces).split("\n"), *boxes]

    def _collect(self, element: etree._Element, pieces: list[str], boxes: list[str]) -> None:
        """Gather the text of a paragraph, and apart from it that of text boxes anchored in it."""
        for child in element:
            name = local_name(child)
            if name in _CHARACTERS:
                pieces.append(_CHARACTERS[name])
            elif name == "t":
                pieces.append(_SPACES.sub(" ", child.text or ""))
            elif name == "txbxContent":
                boxes += self.lines(child)
            elif name in _LEFT_OUT or (name == "r" and _is_hidden(child)):
                continue
            else:
                if name in ("blip", "imagedata"):
                    image = attribute(child, "embed") or attribute(child, "id")
                    if image:
                        self.images.append(image)
                self._collect(child, pieces, boxes)

    def _table(self, table: etree._Element) -> list[str]:
        lines: list[str] = []
        for row in _inside(table, "tr"):
            if _property(row, "trPr", "del") is None:
                lines += row_lines([self._cell(cell) for cell in _inside(row, "tc")])
        return lines

    def _cell(self, cell: etree._Element) -> list[str]:
        merged = _property(cell, "tcPr", "vMerge")
        if merged is not None and attribute(merged, "val") != "restart":
            return []
        return [line for line in self.lines(cell) if line.strip()]


def _inside(element: etree._Element, wanted: str) -> Iterator[etree._Element]:
    """Find rows of a table or cells of a row, also in content controls and insertions."""
    for child in element:
        name = local_name(child)
        if name == wanted:
            yield child
        elif name not in _LEFT_OUT and name != "tbl":
            yield from _inside(child, wanted)


def _property(element: etree._Element, group: str, name: str) -> etree._Element | None:
    for child in element:
        if local_name(child) == group:
            return next((each for each in child if local_name(each) == name), None)
    return None


def _is_hidden(run: etree._Element) -> bool:
    vanish = _property(run, "rPr", "vanish")
    return vanish is not None and attribute(vanish, "val") not in _FALSE


def _shown(root: etree._Element, kind: str) -> Iterator[str]:
    """Give the identifiers of the headers or footers that the sections print."""
    for section in root.iter("{*}sectPr"):
        names = {local_name(child) for child in section}
        for child in section:
            identifier = attribute(child, "id")
            is_printed = "titlePg" in names or attribute(child, "type") != "first"
            if local_name(child) == kind and identifier and is_printed:
                yield identifier


def _notes(root: etree._Element) -> Iterator[str]:
    for note in root:
        if attribute(note, "type") not in _SEPARATORS:
            yield "\n".join(_Story().lines(note))
