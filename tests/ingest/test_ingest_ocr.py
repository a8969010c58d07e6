"""Pages that need OCR, read by the real tesseract in a child process."""

from __future__ import annotations

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from sherlock_pg.ingest.model import ExtractOptions, PageMethod, Status
from sherlock_pg.ingest.ocr import check_tesseract
from sherlock_pg.ingest.pages import add_stamp
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.ingest.reasons import Flag, Reason

pytestmark = pytest.mark.ocr

STAMP = ["Radicado 11001-40-03-2023-00477-00 Folio 12"]


def methods(extraction):
    return [page.method for page in extraction.pages]


def test_only_the_scanned_pages_go_through_ocr_and_the_order_stays(documents, read_with_ocr):
    data = documents.join(
        documents.native(["Primera página, nativa"]),
        documents.scan(),
        documents.blank(),
        documents.native(["Última página, nativa"]),
    )
    extraction = read_with_ocr(data)
    first, scanned, blank, last = extraction.page_texts()
    assert extraction.status is Status.OK
    assert methods(extraction) == [
        PageMethod.NATIVE,
        PageMethod.OCR,
        PageMethod.BLANK,
        PageMethod.NATIVE,
    ]
    assert (first, blank, last) == ("Primera página, nativa", "", "Última página, nativa")
    assert 0 < extraction.ocr_seconds <= extraction.seconds
    assert "ROSA ELVIRA" in scanned
    assert extraction.pages[1].quality > 0.8
    assert {"ocrmypdf", "tesseract"} <= set(extraction.engine_versions)
    assert extraction.cpu_seconds > 0.2


def test_a_stamp_on_a_scan_does_not_hide_the_scan(documents, read_with_ocr):
    extraction = read_with_ocr(documents.with_text(documents.scan(), STAMP))
    assert methods(extraction) == [PageMethod.OCR]
    assert "ROSA ELVIRA" in extraction.text
    assert STAMP[0] in extraction.text


def test_a_scan_that_shows_an_empty_string_is_read(documents, read_with_ocr):
    # A text operator without text: OCRmyPDF takes it for an earlier OCR, pdfium for nothing.
    extraction = read_with_ocr(documents.with_text(documents.scan(), [""]))
    assert methods(extraction) == [PageMethod.OCR]
    assert "ROSA ELVIRA" in extraction.text


def test_a_garbled_invisible_layer_is_replaced(documents, read_with_ocr):
    garbled = ["".join(chr(33 + (ord(c) * 7) % 90) for c in line) for line in documents.tutela]
    extraction = read_with_ocr(documents.with_text(documents.scan(), garbled, render_mode=3))
    assert methods(extraction) == [PageMethod.OCR]
    assert Flag.TEXT_LAYER_REPLACED in extraction.flags
    assert "ROSA ELVIRA" in extraction.text
    assert garbled[1] not in extraction.text


def test_a_font_without_a_mapping_is_read_from_the_page_image(documents, read_with_ocr):
    def shift_mapping(pdf):
        pairs = "\n".join(f"<{code:02x}> <{code + 3:04x}>" for code in range(32, 127))
        cmap = (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
            "1 begincodespacerange <00> <ff> endcodespacerange\n"
            f"95 beginbfchar\n{pairs}\nendbfchar\nendcmap end end"
        )
        for item in pdf.objects:
            if isinstance(item, pikepdf.Dictionary) and item.get("/Type") == Name.Font:
                item.ToUnicode = pdf.make_stream(cmap.encode())

    extraction = read_with_ocr(documents.edit(documents.native(), shift_mapping))
    assert methods(extraction) == [PageMethod.OCR]
    assert "ROSA ELVIRA" in extraction.text


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_pages_scanned_sideways_or_upside_down_are_read(documents, read_with_ocr, turn):
    turned = documents.image(documents.tutela * 2).rotate(turn, expand=True)
    extraction = read_with_ocr(documents.scan(turned))
    assert "ROSA ELVIRA" in extraction.text
    assert extraction.pages[0].quality > 0.8


def test_the_rotate_flag_is_obeyed(documents, read_with_ocr):
    def turn_back(pdf):
        pdf.pages[0].obj.Rotate = 270

    sideways = documents.scan(documents.image().rotate(270, expand=True))
    assert "ROSA ELVIRA" in read_with_ocr(documents.edit(sideways, turn_back)).text


def test_a_signed_and_encrypted_scan_is_read(documents, read_with_ocr):
    def sign(pdf):
        pdf.Root.AcroForm = Dictionary(Fields=Array([]), SigFlags=3)

    encryption = pikepdf.Encryption(user="", owner="dueña")
    extraction = read_with_ocr(documents.edit(documents.scan(), sign, encryption=encryption))
    assert "ROSA ELVIRA" in extraction.text


def test_text_drawn_as_outlines_is_read(documents, read_with_ocr):
    def draw_as_outlines(pdf):
        glyphs = {
            "L": "0 0 m 0 70 l 12 70 l 12 12 l 45 12 l 45 0 l h f",
            "E": "0 0 m 0 70 l 45 70 l 45 58 l 12 58 l 12 41 l 40 41 l 40 29 l 12 29 l "
            "12 12 l 45 12 l 45 0 l h f",
            "T": "18 0 m 18 58 l 0 58 l 0 70 l 50 70 l 50 58 l 31 58 l 31 0 l h f",
            "I": "16 0 m 16 70 l 29 70 l 29 0 l h f",
        }
        drawn = [
            f"q .3 0 0 .3 {72 + 17 * column} {650 - 36 * row} cm {glyphs[letter]} Q"
            for row in range(3)
            for column, letter in enumerate("LEE TILTEE".replace(" ", ""))
        ]
        pdf.pages[0].obj.Contents = pdf.make_stream("\n".join(drawn).encode())

    extraction = read_with_ocr(documents.edit(documents.blank(), draw_as_outlines))
    assert methods(extraction) == [PageMethod.OCR]
    assert "TILT" in extraction.text or "LEE" in extraction.text


def test_a_multi_page_tiff_and_a_jpeg_without_resolution_are_read(documents, read_with_ocr):
    second = documents.image(["CÉDULA DE CIUDADANÍA", "Expedida en Medellín, Antioquia"] * 5)
    tiff = documents.encode(
        documents.image(), "TIFF", save_all=True, append_images=[second], compression="tiff_lzw"
    )
    extraction = read_with_ocr(tiff, "escaneo.tif")
    first_text, second_text = extraction.page_texts()
    assert "ROSA ELVIRA" in first_text
    assert "CIUDADAN" in second_text
    assert extraction.media_type == "image/tiff"
    jpeg = documents.encode(documents.image(), "JPEG", dpi=(72, 72))
    assert "ROSA ELVIRA" in read_with_ocr(jpeg, "foto.jpg").text


def test_a_white_page_and_a_huge_image_hold_no_text(documents, read_with_ocr):
    for data in (documents.scan(documents.image([])), documents.image_bomb(12_000)):
        extraction = read_with_ocr(data)
        assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.NO_TEXT)
        assert methods(extraction) == [PageMethod.OCR]


def test_a_page_of_five_metres_is_rendered_within_bounds(documents, read_with_ocr):
    data = documents.with_text(documents.blank(14400, 14400), ["\x01\x02\x03" * 20])
    extraction = read_with_ocr(data)
    assert extraction.status is Status.FAILED
    assert extraction.reason is Reason.NO_TEXT


def test_a_scan_with_almost_no_text_is_flagged(documents, read_with_ocr):
    extraction = read_with_ocr(documents.scan(documents.image(["Firma del accionante"])))
    assert extraction.status is Status.OK
    assert Flag.LOW_YIELD in extraction.flags


def test_a_scanned_card_among_pages_of_text_does_not_make_a_document_poor(documents, read_with_ocr):
    card = documents.scan(documents.image(["Cédula de ciudadanía"]))
    extraction = read_with_ocr(documents.join(documents.native(), documents.native(), card))
    assert [page.method for page in extraction.pages] == [
        PageMethod.NATIVE,
        PageMethod.NATIVE,
        PageMethod.OCR,
    ]
    assert extraction.flags == ()


def test_a_line_of_text_before_poor_scans_does_not_make_them_good(documents, read_with_ocr):
    card = documents.scan(documents.image(["Firma del accionante"]))
    extraction = read_with_ocr(documents.join(documents.native(["Anexo único"]), card))
    assert extraction.flags == (Flag.LOW_YIELD,)


def test_a_broken_image_costs_only_its_page(documents, read_with_ocr):
    whole = documents.encode(documents.image(), "JPEG")
    extraction = read_with_ocr(whole[: len(whole) // 2], "cortada.jpg")
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.DAMAGED)
    assert methods(extraction) == [PageMethod.FAILED]


def test_force_reads_native_pages_by_ocr_too(documents, tmp_path):
    path = tmp_path / "nativo.pdf"
    path.write_bytes(documents.join(documents.native(documents.tutela * 2), documents.blank()))
    with Extractor(ExtractOptions(ocr="force")) as extractor:
        extraction = extractor.extract(path)
    assert methods(extraction) == [PageMethod.OCR, PageMethod.BLANK]
    assert "ROSA ELVIRA" in extraction.text


def test_the_installed_tesseract_is_found():
    check = check_tesseract(["spa"])
    assert check.is_usable
    assert "spa" in check.languages
    assert check.version[0].isdigit()


def test_stamp_lines_are_added_only_where_ocr_missed_them():
    assert add_stamp("uno\ndos", "uno\nFolio 3") == "uno\ndos\nFolio 3"
    assert add_stamp("", "Folio 3") == "Folio 3"
