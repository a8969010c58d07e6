"""Files that are not what they seem: types, encodings, paths that are no files."""

from __future__ import annotations

import codecs
import io
import os
import random
import socket
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sherlock_pg.ingest.extract import extract_in_process
from sherlock_pg.ingest.files import read_file
from sherlock_pg.ingest.model import ExtractOptions, Status
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.sniff import MediaType, sniff
from sherlock_pg.ingest.text import decode_text

SPANISH = "Señor Juez: la acción de tutela de Íñigo Núñez pide 100 € «ya»\n" * 3


def zip_with(name):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(name, "x" * 100)
    return buffer.getvalue()


def old_office(stream):
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + stream.encode("utf-16-le")


def image_file(kind):
    """Give a white page, 8-bit grey at 200 dpi, with a line of black at its top."""
    image = Image.new("L", (1654, 2339), 255)
    image.paste(0, (100, 200, 1500, 210))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "looks_like"),
    [
        (zip_with("xl/workbook.xml"), "XLSX"),
        (zip_with("ppt/presentation.xml"), "PPTX"),
        (old_office(""), "old Office"),
        (old_office("WordDocument"), "DOC): save it as DOCX"),
        (old_office("__substg1.0_0037001F"), "MSG): save it as EML"),
        (old_office("Workbook"), "XLS): save it as PDF"),
        (b"<?xml version='1.0'?><acta/>", "XML"),
        (image_file("GIF"), "GIF"),
        (b"\x1f\x8b\x08" + bytes(50), "gzip"),
        (image_file("BMP"), "BMP"),
        (image_file("BMP")[:100_000], "BMP"),
        (b"MZ" + bytes(200), "program"),
        (b"P5 1654 2339 255\n" + b"\xff" * 500_000, "binary"),
        (b"acta " * 50_000 + random.Random(0).randbytes(200_000) + b"acta " * 50_000, "binary"),
        (b"acta " * 50_000 + random.Random(0).randbytes(65_536), "binary"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "WebP"),
        (b"\x00\x00\x00\x18ftypheic", "HEIC"),
        (bytes(range(256)) * 20, "binary"),
        ("sin marca de orden".encode("utf-16-le"), "binary"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_types_are_refused_by_content_and_named(read, data, looks_like):
    extraction = read(data, "documento.pdf")
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.UNSUPPORTED_TYPE)
    assert looks_like in extraction.detail


def test_a_text_about_pdf_is_a_text_and_a_pdf_without_header_is_a_pdf():
    assert sniff(b"El archivo empieza con %PDF-1.7 y sigue.") is MediaType.TEXT
    assert sniff(b"1 0 obj\n<< /Type /Catalog >>\nendobj\n") is MediaType.PDF
    assert sniff(b"trailer<</Root 1 0 R>>") is MediaType.PDF


@pytest.mark.parametrize(
    "start",
    ["BM", "BMW 2015, placa ABC123: ", "GIF87a", "GIF89a; ", "MZ 12: ", "Rar! ", "los ftypes "],
)
def test_a_text_that_begins_like_another_type_is_a_text(start):
    assert sniff((start + SPANISH).encode()) is MediaType.TEXT
    assert sniff(start.encode()) is MediaType.TEXT


def test_a_text_padded_with_nul_bytes_is_a_text(read):
    assert read(SPANISH.encode() * 2000 + bytes(4096)).status is Status.OK


@pytest.mark.parametrize("name", ["nota.txt", "nota.pdf", "nota"])
def test_plain_text_is_read_whatever_its_name(read, name):
    extraction = read(SPANISH.encode(), name)
    assert (extraction.status, extraction.media_type) == (Status.OK, "text/plain")
    assert extraction.text == SPANISH.strip()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encodings_of_spanish_offices_are_recognised(read, encoding):
    assert read(SPANISH.encode(encoding)).text == SPANISH.strip()


def test_big_endian_utf16_and_stray_nuls(read):
    assert read(codecs.BOM_UTF16_BE + SPANISH.encode("utf-16-be")).text == SPANISH.strip()
    assert read(b"Se\xc3\xb1or\x00 Juez, " + SPANISH.encode()).text.startswith("Señor Juez")


def test_half_a_utf16_character_is_damage():
    with pytest.raises(ExtractionFailure) as caught:
        decode_text(codecs.BOM_UTF16_LE + b"a\x00\x00\xd8")
    assert caught.value.reason is Reason.DAMAGED


@given(st.text())
def test_any_utf8_text_decodes_to_itself(text):
    assert decode_text(codecs.BOM_UTF8 + text.encode("utf-8", "ignore")) == text.encode(
        "utf-8", "ignore"
    ).decode("utf-8")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_reason(data):
    try:
        sniff(data)
    except ExtractionFailure as error:
        assert error.reason in (Reason.EMPTY_FILE, Reason.UNSUPPORTED_TYPE)


def test_five_megabytes_of_text_are_read(read):
    data = (SPANISH * (5_000_000 // len(SPANISH))).encode()
    extraction = read(data)
    assert extraction.status is Status.OK
    assert extraction.seconds < 5


def test_an_empty_or_blank_file_says_so(read):
    assert read(b"").reason is Reason.EMPTY_FILE
    assert read(b" \n\t\n").reason is Reason.NO_TEXT


def test_a_file_above_the_limit_is_not_read(read):
    extraction = read(b"a" * 1001, max_file_bytes=1000)
    assert extraction.reason is Reason.TOO_BIG
    assert read(b"a" * 1000, max_file_bytes=1000).status is Status.OK


def test_paths_that_are_no_files(tmp_path):
    def reason(path):
        return extract_in_process(path, ExtractOptions()).reason

    fifo, bound, loop = tmp_path / "fifo", tmp_path / "socket", tmp_path / "loop"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(bound))
    with server:
        assert reason(bound) is Reason.UNREADABLE
    assert reason(fifo) is Reason.UNREADABLE
    assert reason(tmp_path) is Reason.UNREADABLE
    assert reason(loop) is Reason.UNREADABLE
    assert reason(Path("/dev/zero")) is Reason.UNREADABLE
    assert reason(tmp_path / "nada.pdf") is Reason.MISSING_FILE
    assert reason(tmp_path / "a\0b") is Reason.UNREADABLE


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "creciente.txt"
    path.write_bytes(b"x" * 20_000_000)
    stop = threading.Event()

    def grow():
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"y")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        with pytest.raises(ExtractionFailure) as caught:
            for _ in range(200):  # until the writer got its turn during one of them
                read_file(path, 1 << 30)
    finally:
        stop.set()
        writer.join()
    assert caught.value.reason is Reason.CHANGED_WHILE_READ
