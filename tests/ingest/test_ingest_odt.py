"""OpenDocument texts: everything that is printed once and in order, nothing that is not."""

from __future__ import annotations

import io
import zipfile

import pytest

from sherlock_pg.ingest.model import PageMethod, Status
from sherlock_pg.ingest.reasons import Reason

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "style": "style",
        "manifest": "manifest",
    }.items()
)


@pytest.fixture
def odt(typed):
    """Give a function that puts hand-written blocks into the body of a document."""

    def make(blocks, **parts):
        content = (
            f"<office:document-content {NAMESPACES} xmlns:xlink='http://www.w3.org/1999/xlink'>"
            f"<office:body><office:text>{blocks}</office:text></office:body>"
            "</office:document-content>"
        )
        changes = {"content.xml": lambda _: content.encode()}
        for name, text in parts.items():
            changes[f"{name}.xml"] = lambda _, text=text: text.encode()
        return typed.rewritten(typed.odt(), changes)

    return make


def test_a_real_document_is_one_native_page(typed, read):
    extraction = read(typed.odt(), "acta.docx")
    assert extraction.text == "\n".join(typed.lines)
    assert extraction.media_type == "application/vnd.oasis.opendocument.text"
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE]


def test_spaces_tabs_and_line_breaks_are_those_of_the_page(odt, read):
    blocks = (
        "<text:h>HECHOS</text:h><text:p>uno\n   <text:span>dos</text:span><text:s text:c='2'/>tres"
        "<text:tab/>x<text:line-break/>y</text:p>"
        "<text:list><text:list-item><text:p>punto</text:p></text:list-item></text:list>"
    )
    assert read(odt(blocks)).text == "HECHOS\nuno dos  tres\tx\ny\npunto"


def test_tables_notes_boxes_and_changes(odt, read):
    blocks = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>BORRADO</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
        "<text:p>Antes<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>Sentencia T-760</text:p></text:note-body></text:note> y"
        "<office:annotation><text:p>comentario</text:p></office:annotation> más</text:p>"
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>ROL"
        "</text:p></table:table-cell><table:table-cell><text:p>NOMBRE</text:p></table:table-cell>"
        "</table:table-row></table:table-header-rows><table:table-row><table:table-cell "
        "table:number-columns-spanned='2'><text:p>ANCHA</text:p></table:table-cell>"
        "<table:covered-table-cell/></table:table-row></table:table>"
        "<text:p>fin<draw:frame><draw:text-box><text:p>SELLO</text:p></draw:text-box></draw:frame>"
        "</text:p>"
    )
    assert read(odt(blocks)).text.split("\n") == [
        "Antes y más",
        "ROL\tNOMBRE",
        "ANCHA",
        "fin",
        "SELLO",
        "Sentencia T-760",
    ]


def test_headers_and_footers_of_all_page_styles_are_read_once(odt, read):
    pages = "".join(
        f"<style:master-page><style:header><text:p>RAMA JUDICIAL</text:p></style:header>"
        f"<style:footer><text:p>Calle {number}</text:p></style:footer>"
        "<style:header-left style:display='false'><text:p>NO</text:p></style:header-left>"
        "</style:master-page>"
        for number in (1, 2)
    )
    styles = (
        f"<office:document-styles {NAMESPACES}><office:master-styles>{pages}"
        "</office:master-styles></office:document-styles>"
    )
    extraction = read(odt("<text:p>Cuerpo</text:p>", styles=styles))
    assert extraction.text == "RAMA JUDICIAL\nCuerpo\nCalle 1\nCalle 2"


def test_a_pasted_scan_is_read_by_ocr(typed, odt, documents, read_with_ocr):
    data = typed.rewritten(
        odt("<text:p><draw:frame><draw:image xlink:href='Pictures/1.png'/></draw:frame></text:p>"),
        {"Pictures/1.png": lambda _: documents.encode(documents.image(), "PNG")},
    )
    extraction = read_with_ocr(data)
    assert extraction.status is Status.OK
    assert extraction.pages[-1].method is PageMethod.OCR
    assert "ROSA ELVIRA" in extraction.text


def test_a_document_with_a_password_says_so(typed, read):
    manifest = (
        f"<manifest:manifest {NAMESPACES}><manifest:file-entry manifest:full-path='content.xml'>"
        "<manifest:encryption-data/></manifest:file-entry></manifest:manifest>"
    )
    data = typed.rewritten(typed.odt(), {"META-INF/manifest.xml": lambda _: manifest.encode()})
    assert read(data).reason is Reason.ENCRYPTED


def test_broken_documents_and_bombs_say_so(typed, odt, read):
    data = typed.odt()
    assert read(data[: len(data) // 2]).reason is Reason.DAMAGED
    cut = typed.rewritten(data, {"content.xml": lambda old: old[: len(old) // 2]})
    assert read(cut).reason is Reason.DAMAGED
    bomb = '<!DOCTYPE x [<!ENTITY a "a"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    assert (
        read(typed.rewritten(data, {"content.xml": lambda _: bomb.encode()})).reason
        is Reason.TOO_BIG
    )
    assert read(odt("<text:p>" + "<text:s text:c='9999999'/>" * 10 + "a</text:p>")).text == "a"


def test_a_document_whose_mark_is_lost_is_read(typed, read):
    with zipfile.ZipFile(io.BytesIO(typed.odt())) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != "mimetype"}
    assert read(typed.archive(members)).text == "\n".join(typed.lines)


def test_other_open_documents_are_refused_by_name(typed, read):
    sheet = typed.archive(
        {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<x/>"}
    )
    extraction = read(sheet, "hoja.odt")
    assert extraction.reason is Reason.UNSUPPORTED_TYPE
    assert "ODS" in extraction.detail
