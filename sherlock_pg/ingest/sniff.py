"""What a file is, judged by its content and never by its name."""

from __future__ import annotations

import enum
import re
import struct

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason

_PDF_HEADER_WITHIN = 1024
_HEAD_BYTES = 4096
_SAMPLE_BYTES = 1 << 16
_MAX_FOREIGN_SHARE = 0.05
_MAX_CONTROL_SHARE = 0.005

_PDF_HEADER = re.compile(rb"%PDF-")
_PDF_OBJECT = re.compile(rb"\b\d+\s+\d+\s+obj\b")
_PDF_TRAILER = re.compile(rb"[^\w]{0,16}(?:trailer\s*<<|startxref\s+\d|xref\s+\d+\s+\d)")
_HTML = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*|<\?xml[^>]{0,500}\?>\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.I | re.S,
)
_MAIL_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,60}: ")
_MIME_VERSION = re.compile(rb"^MIME-Version: ", re.I | re.M)
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")

_ZIP_MARK = b"PK\x03\x04"

_BMP_HEADER = struct.Struct("<2sIIII")
_BMP_FILE_HEADER_BYTES = 14
_BMP_INFO_SIZES = (12, 16, 40, 52, 56, 64, 108, 124)


class MediaType(enum.StrEnum):
    """The kinds of content that can be read."""

    PDF = "application/pdf"
    PNG = "image/png"
    JPEG = "image/jpeg"
    TIFF = "image/tiff"
    TEXT = "text/plain"


_IMAGES = {
    b"\x89PNG\r\n\x1a\n": MediaType.PNG,
    b"\xff\xd8\xff": MediaType.JPEG,
    b"II*\x00": MediaType.TIFF,
    b"MM\x00*": MediaType.TIFF,
    b"II+\x00": MediaType.TIFF,
    b"MM\x00+": MediaType.TIFF,
}
_REFUSED = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document (DOC, XLS, PPT or MSG)",
    b"{\\rtf": "an RTF document",
    b"%!PS": "a PostScript file",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"\x00\x00\x00\x0cjP  ": "a JPEG 2000 image",
    b"\x1f\x8b\x08": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}
_ZIP_CONTENTS = {
    b"word/": "a Word document (DOCX)",
    b"xl/": "an Excel workbook (XLSX)",
    b"ppt/": "a PowerPoint presentation (PPTX)",
    b"mimetypeapplication/vnd.oasis": "an OpenDocument file (ODT, ODS or ODP)",
    b"mimetypeapplication/epub": "an EPUB book",
}


def sniff(data: bytes) -> MediaType:
    """Tell what the content of a file is.

    Raises:
        ExtractionFailure: `empty_file`, or `unsupported_type` naming what it looks like.
    """
    if not data:
        raise ExtractionFailure(Reason.EMPTY_FILE)
    if _is_pdf(data):
        return MediaType.PDF
    for magic, media_type in _IMAGES.items():
        if data.startswith(magic):
            return media_type
    looks_like = _refused_type(data)
    if looks_like:
        raise ExtractionFailure(Reason.UNSUPPORTED_TYPE, f"the content looks like {looks_like}")
    return MediaType.TEXT


def _is_pdf(data: bytes) -> bool:
    header = _PDF_HEADER.search(data, 0, _PDF_HEADER_WITHIN + 5)
    if header is not None and header.start() == 0:
        return True
    if data.startswith((_ZIP_MARK, *_IMAGES)):
        return False  # it may hold a PDF as it is
    if _PDF_TRAILER.match(data):
        return True
    # A text may mention the header, and a damaged PDF may have lost it: its objects decide.
    return _PDF_OBJECT.search(data, 0, _SAMPLE_BYTES) is not None and (
        header is not None or b"endobj" in data
    )


def _refused_type(data: bytes) -> str:
    head = data[:_HEAD_BYTES]
    if head.startswith(_ZIP_MARK):
        for marker, name in _ZIP_CONTENTS.items():
            if marker in head or marker in data[-_SAMPLE_BYTES:]:
                return name
        return "a ZIP archive"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "a WebP image"
    if head.startswith(b"\x00\x00") and head[4:8] == b"ftyp":
        return "a HEIC image" if head[8:12] in (b"heic", b"heix", b"mif1") else "a video"
    if _is_bmp(head):
        return "a BMP image"
    for magic, name in _REFUSED.items():
        # A text may begin with letters that are the mark of something else.
        if head.startswith(magic) and (not magic.isalnum() or _is_binary(data)):
            return name
    text_head = head.removeprefix(b"\xef\xbb\xbf")
    if _HTML.match(text_head):
        return "an HTML page"
    if text_head.startswith(b"<?xml"):
        return "an XML file"
    if _MAIL_HEADER.match(text_head) and _MIME_VERSION.search(text_head):
        return "an e-mail message (EML)"
    return "binary data" if _is_binary(data) else ""


def _is_bmp(head: bytes) -> bool:
    """Judge the whole header: a blank page is nothing but 0xFF after it, which a text may hold."""
    if len(head) < _BMP_HEADER.size:
        return False
    magic, _, reserved, pixels_at, info_size = _BMP_HEADER.unpack_from(head)
    # The file size in it is not asked for: of a BMP that was cut off, and of many others, it is
    # wrong. No text holds the NUL bytes of the other fields.
    return (
        magic == b"BM"
        and reserved == 0
        and info_size in _BMP_INFO_SIZES
        and pixels_at >= _BMP_FILE_HEADER_BYTES + info_size
    )


def _is_binary(data: bytes) -> bool:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    sample = data
    if len(data) > 3 * _SAMPLE_BYTES:
        middle = (len(data) - _SAMPLE_BYTES) // 2
        sample = (
            data[:_SAMPLE_BYTES] + data[middle : middle + _SAMPLE_BYTES] + data[-_SAMPLE_BYTES:]
        )
    # 0xFF, white in an image, is in no UTF-8 text, and in others a letter that is hardly used.
    foreign = sample.count(0) + sample.count(0xFF)
    return foreign > _MAX_FOREIGN_SHARE * len(sample) or len(
        _CONTROL.findall(sample)
    ) > _MAX_CONTROL_SHARE * len(sample)
