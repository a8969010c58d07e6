"""Word documents: everything that is printed once and in order, nothing that is not."""

from __future__ import annotations

import io
import zipfile

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from sherlock_pg.ingest.model import PageMethod, Status
from sherlock_pg.ingest.reasons import Flag, Reason

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)


def add_xml(document, xml):
    """Append hand-written blocks to the body, before its section properties."""
    wrapped = parse_xml(f"<w:body {NAMESPACES}>{xml}</w:body>")
    for block in list(wrapped):
        document.element.body.insert(-1, block)


def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def text_of(typed, read, document):
    extraction = read(typed.saved(document))
    assert (extraction.status, extraction.detail) == (Status.OK, "")
    return extraction.text


def test_paragraphs_are_one_native_page(typed, read):
    extraction = read(typed.docx())
    assert extraction.text == "\n".join(typed.lines)
    assert extraction.media_type.endswith("wordprocessingml.document")
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE]
    assert "lxml" in extraction.engine_versions
    assert not extraction.flags
    assert not extraction.attachments


def test_tables_stand_where_they_are_with_cells_joined_by_tabs(typed, read):
    document = docx.Document()
    document.add_paragraph("Antes")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "ACCIONANTE", "ANA ROJAS"
    table.cell(1, 0).text, table.cell(1, 1).text = "ACCIONADO", "EPS"
    document.add_paragraph("Después")
    assert text_of(typed, read, document) == (
        "Antes\nACCIONANTE\tANA ROJAS\nACCIONADO\tEPS\nDespués"
    )


def test_merged_cells_are_read_once(typed, read):
    document = docx.Document()
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(0, 2)).text = "ANCHA"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "ALTA"
    table.cell(1, 1).text, table.cell(2, 1).text = "uno", "dos"
    assert text_of(typed, read, document) == "ANCHA\nALTA\tuno\n\tdos"


def test_cells_with_the_same_number_of_lines_stand_side_by_side(typed, read):
    document = docx.Document()
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "DEMANDANTE:\nDEMANDADO:", "ANA\nEPS"
    table.cell(1, 0).text, table.cell(1, 1).text = "HECHOS", "Primero.\nSegundo."
    assert text_of(typed, read, document) == (
        "DEMANDANTE:\tANA\nDEMANDADO:\tEPS\nHECHOS\tPrimero.\nSegundo."
    )


def test_a_table_inside_a_cell_is_read(typed, read):
    document = docx.Document()
    inner = document.add_table(1, 1).cell(0, 0).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "NIT", "900.123.456-7"
    assert text_of(typed, read, document) == "NIT\t900.123.456-7"


def test_headers_and_footers_of_all_sections_are_read_once(typed, read):
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "RAMA JUDICIAL"
    document.sections[0].footer.paragraphs[0].text = "Calle 12 # 7-65"
    document.sections[0].first_page_header.paragraphs[0].text = "NO SE IMPRIME"
    document.sections[0].different_first_page_header_footer = False
    document.add_paragraph("Cuerpo")
    second = document.add_section()
    second.header.is_linked_to_previous = False
    second.header.paragraphs[0].text = "RAMA JUDICIAL"
    document.add_paragraph("Fin")
    lines = text_of(typed, read, document).split("\n")
    assert [line for line in lines if line] == ["RAMA JUDICIAL", "Cuerpo", "Fin", "Calle 12 # 7-65"]


def test_insertions_are_read_and_deletions_are_not(typed, read):
    document = docx.Document()
    add_xml(
        document,
        f'<w:p>{run("Ordena ")}<w:del w:id="1" w:author="x"><w:r><w:delText>negar</w:delText></w:r>'
        f'</w:del><w:ins w:id="2" w:author="x">{run("conceder")}</w:ins>{run(" el amparo")}</w:p>'
        f'<w:p><w:moveFrom w:id="3">{run("movido")}</w:moveFrom></w:p>'
        f'<w:p><w:moveTo w:id="4">{run("movido")}</w:moveTo></w:p>'
        f'<w:tbl><w:tr><w:trPr><w:del w:id="5" w:author="x"/></w:trPr>'
        f"<w:tc><w:p>{run('fila borrada')}</w:p></w:tc></w:tr>"
        f"<w:tr><w:tc><w:p>{run('fila')}</w:p></w:tc></w:tr></w:tbl>",
    )
    assert text_of(typed, read, document).split("\n") == [
        "Ordena conceder el amparo",
        "",
        "movido",
        "fila",
    ]


def test_content_controls_links_and_fields_are_read(typed, read):
    document = docx.Document()
    add_xml(
        document,
        f"<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent><w:p>"
        f"<w:sdt><w:sdtContent>{run('ROSA PEÑA')}</w:sdtContent></w:sdt>"
        "</w:p></w:sdtContent></w:sdt>"
        f"<w:p><w:hyperlink w:anchor='a'>{run('rosa@ejemplo.co')}</w:hyperlink></w:p>"
        "<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r>"
        "<w:r><w:instrText>DATE</w:instrText></w:r>"
        f"<w:r><w:fldChar w:fldCharType='separate'/></w:r>{run('2 de marzo')}</w:p>"
        "<w:p><w:r><w:t>11001</w:t><w:noBreakHyphen/><w:t>31</w:t><w:tab/><w:t>b</w:t><w:br/>"
        "<w:t>c</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>OCULTO</w:t></w:r></w:p>",
    )
    assert text_of(typed, read, document) == (
        "ROSA PEÑA\nrosa@ejemplo.co\n2 de marzo\n11001-31\tb\nc"
    )


def test_text_boxes_are_read_once_though_they_are_stored_twice(typed, read):
    box = f"<w:txbxContent><w:p>{run('SELLO RECIBIDO')}</w:p></w:txbxContent>"
    document = docx.Document()
    add_xml(
        document,
        f"<w:p>{run('Antes ')}<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>"
        f"<wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp></w:drawing></mc:Choice><mc:Fallback>"
        f"<w:pict><v:shape><v:textbox>{box}</v:textbox></v:shape></w:pict></mc:Fallback>"
        f"</mc:AlternateContent></w:r>{run('después')}</w:p>"
        f"<w:p><w:r><w:pict><v:shape><v:textbox><w:txbxContent><w:p>{run('VML')}</w:p>"
        "</w:txbxContent></v:textbox></v:shape></w:pict></w:r></w:p>",
    )
    assert [line for line in text_of(typed, read, document).split("\n") if line] == [
        "Antes después",
        "SELLO RECIBIDO",
        "VML",
    ]


def test_footnotes_follow_the_text(typed, read):
    notes = (
        f"<w:footnotes {NAMESPACES}><w:footnote w:type='separator' w:id='-1'>"
        f"<w:p>{run('---')}</w:p></w:footnote><w:footnote w:id='1'>"
        f"<w:p>{run('Sentencia T-760 de 2008')}</w:p></w:footnote>"
        "</w:footnotes>"
    )
    relation = (
        b'<Relationship Id="rIdN" Target="footnotes.xml" Type="http://schemas.openxmlformats.org/'
        b'officeDocument/2006/relationships/footnotes"/></Relationships>'
    )
    data = typed.rewritten(
        typed.docx(["Según la Corte"]),
        {
            "word/footnotes.xml": lambda _: notes.encode(),
            "word/_rels/document.xml.rels": lambda old: old.replace(b"</Relationships>", relation),
        },
    )
    assert read(data).text == "Según la Corte\nSentencia T-760 de 2008"


def test_comments_are_not_part_of_the_document(typed, read):
    document = docx.Document()
    paragraph = document.add_paragraph("Cuerpo")
    document.add_comment(paragraph.runs, text="revisar esto")
    assert text_of(typed, read, document) == "Cuerpo"


def test_a_scan_pasted_into_a_document_is_read_by_ocr(typed, documents, read_with_ocr):
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "RAMA JUDICIAL"
    scan = documents.encode(documents.image(), "PNG")
    document.add_picture(io.BytesIO(scan))
    document.add_picture(io.BytesIO(scan))
    logo = documents.encode(documents.image().resize((200, 80)), "PNG")
    document.add_picture(io.BytesIO(logo))
    extraction = read_with_ocr(typed.saved(document))
    assert extraction.status is Status.OK
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE, PageMethod.OCR]
    assert extraction.text.startswith("RAMA JUDICIAL")
    assert "ROSA ELVIRA" in extraction.text


def test_pictures_beside_text_are_no_pages(typed, documents, read):
    document = docx.Document()
    for line in typed.lines:
        document.add_paragraph(line)
    document.add_picture(io.BytesIO(documents.encode(documents.image(), "PNG")))
    assert text_of(typed, read, document).strip() == "\n".join(typed.lines)


def test_without_ocr_a_pasted_scan_is_named_as_such(typed, documents, read):
    document = docx.Document()
    document.add_picture(io.BytesIO(documents.encode(documents.image(), "PNG")))
    extraction = read(typed.saved(document))
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.OCR_DISABLED)
    assert Flag.OCR_SKIPPED in extraction.flags


@pytest.mark.parametrize("name", ["acta.pdf", "acta.txt", "acta.zip", "acta"])
def test_the_name_does_not_matter(typed, read, name):
    assert read(typed.docx(), name).text == "\n".join(typed.lines)


def test_the_main_part_may_have_another_name(typed, read):
    data = typed.docx()
    renamed = typed.rewritten(
        data, {"_rels/.rels": lambda old: old.replace(b"word/document.xml", b"word/otro.xml")}
    )
    assert read(renamed).reason is Reason.DAMAGED
    main = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml")
    assert read(typed.rewritten(renamed, {"word/otro.xml": lambda _: main})).status is Status.OK


def test_an_empty_document_has_no_text(typed, read):
    assert read(typed.docx([])).reason is Reason.NO_TEXT


def test_broken_documents_say_so(typed, read):
    data = typed.docx()
    assert read(data[: len(data) // 2]).reason is Reason.DAMAGED
    cut = typed.rewritten(data, {"word/document.xml": lambda old: old[: len(old) // 2]})
    assert read(cut).reason is Reason.DAMAGED
    assert "word/document.xml" in read(cut).detail
    assert (
        read(typed.rewritten(data, {"word/document.xml": lambda _: b""})).reason is Reason.DAMAGED
    )


def test_a_document_with_a_password_says_so(read):
    wrapper = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
    assert read(wrapper + "EncryptedPackage".encode("utf-16-le")).reason is Reason.ENCRYPTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_they_expand(typed, read, encoding):
    declared = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    bomb = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE w:document [{declared}]>'
        f"<w:document {nsdecls('w')}><w:body><w:p><w:r><w:t>&i;</w:t></w:r></w:p></w:body>"
        "</w:document>"
    )
    extraction = read(
        typed.rewritten(typed.docx(), {"word/document.xml": lambda _: bomb.encode(encoding)})
    )
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.TOO_BIG)
    assert "entities" in extraction.detail


def test_external_entities_are_not_fetched(typed, read, tmp_path):
    secret = tmp_path / "secreto"
    secret.write_text("SECRETO")
    bomb = (
        f'<!DOCTYPE d [<!ENTITY x SYSTEM "file://{secret}">]><w:document {nsdecls("w")}><w:body>'
        "<w:p><w:r><w:t>hola &x;</w:t></w:r></w:p></w:body></w:document>"
    )
    extraction = read(typed.rewritten(typed.docx(), {"word/document.xml": lambda _: bomb.encode()}))
    assert extraction.reason is Reason.TOO_BIG
    assert "SECRETO" not in extraction.text


def test_a_part_that_unpacks_enormously_is_refused(typed, read):
    padded = typed.rewritten(
        typed.docx(), {"word/document.xml": lambda old: old + b" " * (65 << 20)}
    )
    assert read(padded).reason is Reason.TOO_BIG
    ratio = typed.rewritten(
        typed.docx(), {"word/document.xml": lambda old: old + b" " * (20 << 20)}
    )
    assert read(ratio).reason is Reason.TOO_BIG
