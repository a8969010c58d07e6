"""PDFs that are read without OCR: verdicts, repair, forms, refusals."""

from __future__ import annotations

import io
import re

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Encryption, Name

from sherlock_pg.ingest.damage import declared_pages
from sherlock_pg.ingest.model import PAGE_SEPARATOR, PageMethod, Status
from sherlock_pg.ingest.reasons import Flag, Reason


def methods(extraction):
    return [page.method for page in extraction.pages]


def test_native_text_comes_out_line_by_line_without_control_characters(documents, read):
    extraction = read(documents.native())
    assert extraction.status is Status.OK
    assert extraction.text.splitlines() == list(documents.tutela)
    assert methods(extraction) == [PageMethod.NATIVE]
    assert extraction.pages[0].quality > 0.9
    assert extraction.media_type == "application/pdf"
    assert set(extraction.engine_versions) == {"pypdfium2", "pdfium"}


def test_page_texts_are_cut_back_out_of_the_whole(documents, read):
    extraction = read(documents.native(["uno"], [], ["tres", "cuatro"]))
    assert extraction.text == PAGE_SEPARATOR.join(["uno", "", "tres\ncuatro"])
    assert list(extraction.page_texts()) == ["uno", "", "tres\ncuatro"]
    assert methods(extraction) == [PageMethod.NATIVE, PageMethod.BLANK, PageMethod.NATIVE]


def test_a_name_that_is_not_utf8_and_a_wrong_extension_do_not_matter(
    documents, extractor, tmp_path
):
    path = tmp_path / "acci\udcf3n.txt"
    path.write_bytes(documents.native())
    extraction = extractor.extract(path)
    assert (extraction.status, extraction.media_type) == (Status.OK, "application/pdf")


@pytest.mark.parametrize("revision", [3, 4, 6])
def test_a_user_password_is_refused_and_an_owner_password_is_not(documents, read, revision):
    def protected(user):
        encryption = Encryption(
            user=user,
            owner="dueña",
            R=revision,
            aes=revision > 3,
            metadata=revision > 3,
            allow=pikepdf.Permissions(extract=False),
        )
        return documents.edit(documents.native(), bool, encryption=encryption)

    refused = read(protected("secreta"))
    assert (refused.status, refused.reason) == (Status.FAILED, Reason.ENCRYPTED)
    assert "PEÑA" in read(protected("")).text


def test_signed_and_tagged_pdfs_are_read(documents, read):
    def sign_and_tag(pdf):
        signature = Dictionary(FT=Name.Sig, T="s", V=Dictionary(Type=Name.Sig))
        pdf.Root.AcroForm = Dictionary(Fields=Array([pdf.make_indirect(signature)]), SigFlags=3)
        pdf.Root.MarkInfo = Dictionary(Marked=True)
        pdf.Root.StructTreeRoot = pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))

    extraction = read(documents.edit(documents.native(), sign_and_tag))
    assert extraction.status is Status.OK
    assert extraction.text.splitlines() == list(documents.tutela)


@pytest.mark.parametrize("has_appearance", [True, False])
def test_values_of_form_fields_are_part_of_the_text(documents, read, has_appearance):
    extraction = read(documents.form("ROSA ELVIRA PEÑA", has_appearance=has_appearance))
    assert "ROSA ELVIRA PEÑA" in extraction.text
    assert Flag.FORM_FLATTENED in extraction.flags


def test_a_dynamic_xfa_form_is_refused_and_a_static_one_is_read(documents, read):
    def make_xfa(is_dynamic):
        def change(pdf):
            pdf.Root.AcroForm = Dictionary(Fields=Array([]), XFA=pdf.make_stream(b"<xdp/>"))
            if is_dynamic:
                pdf.Root.NeedsRendering = True

        lines = ["Please wait... If this message is not eventually replaced"]
        return documents.edit(documents.native(lines), change)

    assert read(make_xfa(True)).reason is Reason.XFA_FORM
    assert read(make_xfa(False)).status is Status.OK


def test_a_pdf_without_pages_has_a_reason_of_its_own(documents, read):
    encryption = Encryption(user="secreta", owner="dueña")
    assert read(documents.edit(documents.native(), bool, encryption=encryption)).reason is (
        Reason.ENCRYPTED
    )  # pdfium would report that again for the next one
    buffer = io.BytesIO()
    pikepdf.Pdf.new().save(buffer)
    assert read(buffer.getvalue()).reason is Reason.NO_PAGES


def test_a_lost_tail_is_repaired_but_never_called_whole(documents, read):
    extraction = read(documents.native()[:-300])
    assert extraction.status is Status.PARTIAL
    assert extraction.flags == (Flag.REPAIRED,)
    assert extraction.detail == "the end of the file is missing"
    assert extraction.text.splitlines() == list(documents.tutela)


def test_pages_behind_the_cut_are_counted(documents, read):
    data = documents.native(*[documents.tutela] * 10)
    page = [found.start() for found in re.finditer(rb"/Type /Page\b", data)][4]
    extraction = read(data[:page])
    assert extraction.status is Status.PARTIAL
    assert extraction.flags == (Flag.REPAIRED,)
    assert methods(extraction) == [PageMethod.NATIVE] * 4
    assert "6 of 10 pages are lost" in extraction.detail


def test_recovered_pages_without_content_are_mentioned(documents, read):
    data = documents.edit(documents.native(*[documents.tutela] * 10), bool)
    extraction = read(data[: len(data) * 6 // 10])
    empty = methods(extraction).count(PageMethod.BLANK)
    assert extraction.status is Status.PARTIAL
    assert empty > 0
    assert f"{empty} of the recovered pages are empty" in extraction.detail


def test_a_lost_later_part_is_noticed_behind_an_earlier_end(documents, read):
    whole = documents.edit(documents.native(documents.tutela), bool, linearize=True)
    assert read(whole).status is Status.OK
    cut = read(whole[: whole.rindex(b"startxref")])
    assert whole.count(b"startxref") == 2
    assert (cut.status, cut.flags) == (Status.PARTIAL, (Flag.REPAIRED,))


def test_junk_behind_the_end_is_no_damage(documents, read):
    extraction = read(documents.native() + b"<html>Fin de la descarga</html>\n" * 300)
    assert (extraction.status, extraction.flags) == (Status.OK, ())
    assert extraction.text.splitlines() == list(documents.tutela)


def test_the_last_revision_of_the_page_tree_says_how_many_pages_there_were():
    root = b"2 0 obj\n<< /Count %d /Kids [3 0 R] /Type /Pages >>\nendobj\n"
    branch = b"3 0 obj\n<< /Type /Pages /Count 70 /Parent 2 0 R >>\nendobj\n"
    linearized = b"%PDF-1.5\n1 0 obj\n<< /Linearized 1 /L 9999 /N 12 /O 5 >>\nendobj\n"
    assert declared_pages(root % 40 + branch + root % 38 + branch) == 38
    assert declared_pages(linearized + root % 40) == 40
    assert declared_pages(linearized) == 12
    assert declared_pages(branch) is None


def test_a_pdf_that_lost_its_header_is_rewritten_by_pikepdf(documents, read):
    extraction = read(documents.native().replace(b"%PDF-", b"%XYZ-"))
    assert extraction.status is Status.OK
    assert extraction.text.splitlines() == list(documents.tutela)
    assert extraction.flags == (Flag.REPAIRED,)
    assert "pikepdf" in extraction.engine_versions


@pytest.mark.parametrize("make", [lambda data: b"%PDF-1.7\n", lambda data: data[: len(data) // 3]])
def test_what_cannot_be_repaired_is_damaged(documents, read, make):
    extraction = read(make(documents.native()))
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.DAMAGED)
    assert extraction.detail


def test_junk_before_the_header_does_not_matter(documents, read):
    extraction = read(b"\r\nHTTP/1.1 200 OK\r\n\r\n" + documents.native())
    assert extraction.status is Status.OK


def test_a_page_tree_that_holds_itself_ends(documents, read):
    def tie(pdf):
        pdf.Root.Pages.Kids.append(pdf.Root.Pages)

    extraction = read(documents.edit(documents.native(), tie))
    assert extraction.text.splitlines()[: len(documents.tutela)] == list(documents.tutela)


def test_pages_that_cannot_be_loaded_make_it_partial(documents, read):
    def break_second(pdf):
        pdf.Root.Pages.Kids[1] = pdf.make_indirect(Dictionary(Type=Name.Font))

    extraction = read(
        documents.edit(documents.native(documents.tutela, documents.tutela), break_second)
    )
    assert extraction.status is Status.PARTIAL
    assert extraction.flags == (Flag.FAILED_PAGES,)
    assert methods(extraction) == [PageMethod.NATIVE, PageMethod.FAILED]
    assert "page 2" in extraction.detail


def test_more_pages_than_the_limit_are_refused_not_cut(documents, read):
    data = documents.join(*[documents.native()] * 3)
    extraction = read(data, max_pages=2)
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.TOO_MANY_PAGES)
    assert read(data, max_pages=3).status is Status.OK


def test_three_hundred_pages_are_read_in_order(documents, read):
    lines = [[f"Folio número {number} del expediente"] for number in range(1, 301)]
    extraction = read(documents.native(*lines))
    assert list(extraction.page_texts()) == [line[0] for line in lines]


def test_an_empty_page_is_blank_however_large(documents, read):
    extraction = read(documents.blank(14400, 14400), ocr="auto")
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.NO_TEXT)
    assert methods(extraction) == [PageMethod.BLANK]
    assert extraction.seconds < 5


def test_nul_and_hyphens_of_the_text_layer_are_cleaned(documents, read):
    extraction = read(documents.with_text(documents.native(), ["radi\x00cado 2023"]))
    assert "\x00" not in extraction.text
    assert "cado 2023" in extraction.text


def test_a_long_text_is_cut_and_flagged(documents, read):
    extraction = read(documents.native(["a" * 50], ["b" * 50]), max_text_chars=60)
    assert len(extraction.text) == 60
    assert Flag.TRUNCATED in extraction.flags
    assert list(extraction.page_texts()) == ["a" * 50, "b" * 8]


def test_scans_without_ocr_are_skipped_and_say_so(documents, read):
    only_scan = read(documents.scan())
    assert (only_scan.status, only_scan.reason) == (Status.FAILED, Reason.OCR_DISABLED)
    mixed = read(documents.join(documents.native(), documents.scan()))
    assert mixed.status is Status.PARTIAL
    assert mixed.flags == (Flag.OCR_SKIPPED,)
    assert methods(mixed) == [PageMethod.NATIVE, PageMethod.SKIPPED]


def test_a_good_invisible_layer_over_a_scan_is_kept(documents, read):
    data = documents.with_text(documents.scan(), documents.tutela, render_mode=3)
    extraction = read(data, ocr="auto")
    assert methods(extraction) == [PageMethod.NATIVE_OCR]
    assert "ROSA ELVIRA PEÑA" in extraction.text
