"""Files made to do harm, or damaged at random: each ends with a reason, within its limits."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import img2pdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import Image, PngImagePlugin

from sherlock_pg.ingest import files
from sherlock_pg.ingest.extract import extract_in_process
from sherlock_pg.ingest.model import ExtractOptions, PageMethod, Status
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.ingest.reasons import Flag, Reason
from sherlock_pg.ingest.sniff import MediaType, sniff

FUZZER = Path(__file__).parents[1] / "tools" / "fuzz_files.py"
FUZZED_FILES = 16


def header_only(documents):
    return b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


def first_half(documents):
    data = documents.native()
    return data[: len(data) // 2]


def noise_named_pdf(documents):
    return random.Random(3).randbytes(40_000)


def deep_page_tree(documents):
    """Nest nodes of the page tree thousands deep."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    depth = 5_000
    objects += [
        b"<< /Type /Pages /Count 1 /Kids [%d 0 R] >>" % (number + 1) for number in range(2, depth)
    ]
    objects.append(b"<< /Type /Page /MediaBox [0 0 612 792] >>")
    return pdf_of(objects)


def nested_arrays(documents):
    """Nest arrays a hundred thousand deep, for parsers that recurse."""
    nested = b"[" * 100_000 + b"]" * 100_000
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R /X %s >>" % nested, b"<< /Type /Pages >>"])


def filters_upon_filters(documents):
    """Have a content stream go through a filter a thousand times."""
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
            b"<< /Length 4 /Filter [%s] >>\nstream\nabcd\nendstream" % (b"/FlateDecode " * 1_000),
        ]
    )


def form_that_draws_itself(documents):
    def change(pdf):
        form = pdf.make_stream(
            b"/F Do /F Do", Type=Name.XObject, Subtype=Name.Form, BBox=Array([0, 0, 9, 9])
        )
        form.Resources = Dictionary(XObject=Dictionary(F=form))
        pdf.pages[0].obj.Resources = Dictionary(XObject=Dictionary(F=form))
        pdf.pages[0].obj.Contents = pdf.make_stream(b"/F Do")

    return documents.edit(documents.blank(), change)


def stream_of_400_mebibytes(documents):
    return documents.stream_bomb(400)


def a_hundred_thousand_kids(documents):
    """Name the same page as often as it takes."""
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 100000 /Kids [%s] >>" % (b"3 0 R " * 100_000),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>",
        ]
    )


def pdf_of(objects):
    """Write a PDF of these objects, numbered from 1."""
    data = bytearray(b"%PDF-1.7\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(data)


@pytest.mark.parametrize(
    ("make", "reasons"),
    [
        (header_only, {Reason.DAMAGED}),
        (first_half, {Reason.DAMAGED, None}),
        (noise_named_pdf, {Reason.UNSUPPORTED_TYPE}),
        (deep_page_tree, {Reason.DAMAGED, Reason.NO_PAGES, Reason.NO_TEXT}),
        (nested_arrays, {Reason.DAMAGED, Reason.NO_PAGES}),
        (filters_upon_filters, {Reason.NO_TEXT, Reason.DAMAGED}),
        (form_that_draws_itself, {Reason.MEMORY, Reason.TIMEOUT}),
        (stream_of_400_mebibytes, {Reason.MEMORY}),
        (a_hundred_thousand_kids, {Reason.TOO_MANY_PAGES}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_hostile_pdfs_have_a_reason_and_harm_no_one(
    documents, tmp_path, monkeypatch, make, reasons
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hostile, good = tmp_path / "hostile.pdf", tmp_path / "good.pdf"
    hostile.write_bytes(make(documents))
    good.write_bytes(documents.native())
    options = ExtractOptions(ocr="never", wall_seconds=60, memory_bytes=400 << 20)
    with Extractor(options) as extractor:
        extraction = extractor.extract(hostile)
        assert extraction.reason in reasons
        assert extractor.extract(good).text.splitlines() == list(documents.tutela)
        left = [path.name for path in tmp_path.glob("sherlock-extract-*/*")]
        assert left == ["stderr.log"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.pdf", "hostile.pdf"]


@pytest.mark.ocr
def test_damaged_files_of_all_kinds_keep_the_rules(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    kept = tmp_path / "kept"
    options = ["--files", str(FUZZED_FILES), "--seed", "11", "--keep", str(kept)]
    done = subprocess.run(
        [sys.executable, str(FUZZER), *options],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["files"] == sum(row["files"] for row in figures["outcomes"]) == FUZZED_FILES
    assert figures["broken"] == {}
    assert len({row["kind"] for row in figures["outcomes"]}) > 8
    assert {row["status"] for row in figures["outcomes"]} >= {"ok", "failed"}
    assert list(folder.iterdir()) == []
    assert not kept.exists()


@pytest.mark.parametrize("change", ["grows", "shrinks", "is rewritten", "is replaced"])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, change):
    path = tmp_path / "a.txt"
    path.write_bytes(b"uno " * 100_000)
    fdopen = os.fdopen

    def change_and_open(descriptor, *args, **options):
        if change == "is replaced":
            other = tmp_path / "b.txt"
            other.write_bytes(b"dos " * 100)
            other.replace(path)
        else:
            with path.open("r+b") as file:
                if change == "shrinks":
                    file.truncate(1_000)
                else:
                    file.seek(0, os.SEEK_END if change == "grows" else os.SEEK_SET)
                    file.write(b"dos " * 1_000)
            os.utime(path)  # the clock of a file system ticks slowly
        return fdopen(descriptor, *args, **options)

    monkeypatch.setattr(files.os, "fdopen", change_and_open)
    extraction = extract_in_process(path, ExtractOptions())
    if change == "is replaced":
        # The opened file stood still: what it says is what stood there at that moment.
        assert extraction.status is Status.OK
        assert set(extraction.text.split()) == {"uno"}
    else:
        assert extraction.reason is Reason.CHANGED_WHILE_READ


@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/self/maps", "/dev/null"])
def test_files_of_the_system_are_no_documents(path):
    extraction = extract_in_process(Path(path), ExtractOptions())
    assert extraction.status is Status.FAILED
    assert extraction.reason in (Reason.CHANGED_WHILE_READ, Reason.UNREADABLE)


@pytest.mark.parametrize(
    "name", [b"a\nb.pdf", b"\xff\xfe.pdf", b"n" * 251 + b".pdf", b"'\"$(x) {}\t\\.pdf", b"-rf.pdf"]
)
def test_any_name_crosses_to_the_child(documents, extractor, tmp_path, name):
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(documents.native())
    assert extractor.extract(path).status is Status.OK
    path.unlink()
    assert extractor.extract(path).reason is Reason.MISSING_FILE


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_that_holds_a_pdf_as_it_is_is_no_pdf(documents, method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("tutela.pdf", documents.native())
    assert sniff(buffer.getvalue()) is MediaType.ZIP


def test_an_image_that_mentions_a_pdf_is_an_image(documents):
    note = PngImagePlugin.PngInfo()
    note.add_text("Source", "%PDF-1.7 1 0 obj endobj")
    assert sniff(documents.encode(documents.image(), "PNG", pnginfo=note)) is MediaType.PNG


@pytest.mark.ocr
def test_a_page_that_tesseract_calls_empty_has_no_text_and_is_no_failure(
    documents, fake_tesseract, tmp_path
):
    fake_tesseract('echo "Empty page!!" >&2; exit 1')
    path = tmp_path / "a.pdf"
    path.write_bytes(documents.join(documents.native(), documents.scan()))
    with Extractor(ExtractOptions()) as extractor:
        extraction = extractor.extract(path)
    assert (extraction.status, extraction.flags) == (Status.OK, (Flag.LOW_YIELD,))
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE, PageMethod.OCR]
    assert list(extraction.page_texts())[1] == ""


@pytest.mark.ocr
def test_a_page_that_tesseract_refuses_fails_with_its_words(documents, fake_tesseract, tmp_path):
    fake_tesseract('echo "Image too large: (40000, 30)"; echo "Error during processing."; exit 1')
    path = tmp_path / "a.pdf"
    path.write_bytes(documents.join(documents.native(), documents.scan()))
    with Extractor(ExtractOptions()) as extractor:
        extraction = extractor.extract(path)
    assert (extraction.status, extraction.flags) == (Status.PARTIAL, (Flag.FAILED_PAGES,))
    assert "page 2: SubprocessOutputError: exit code 1: Image too large" in extraction.detail


@pytest.mark.ocr
def test_a_scan_wider_than_tesseract_takes_is_read(documents, read_with_ocr):
    words = documents.image().crop((100, 130, 1200, 400))
    strip = Image.new("L", (33_000, 400), 255)
    strip.paste(words, (100, 50))
    layout = img2pdf.get_fixed_dpi_layout_fun((200, 200))
    data = img2pdf.convert(documents.encode(strip, "PNG"), layout_fun=layout)
    extraction = read_with_ocr(data)
    assert extraction.status is Status.OK
    assert "ROSA ELVIRA" in extraction.text
