"""What a file is, judged by its content and never by its name."""

from __future__ import annotations

import codecs
import enum
import re
import struct
import zipfile

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.zipped import open_zip, read_member

_PDF_HEADER_WITHIN = 1024
_HEAD_BYTES = 4096
_SAMPLE_BYTES = 1 << 16
_MAX_FOREIGN_SHARE = 0.05
_MAX_CONTROL_SHARE = 0.005

_PDF_HEADER = re.compile(rb"%PDF-")
_PDF_OBJECT = re.compile(rb"\b\d+\s+\d+\s+obj\b")
_PDF_TRAILER = re.compile(rb"[^\w]{0,16}(?:trailer\s*<<|startxref\s+\d|xref\s+\d+\s+\d)")
_MARKUP_BEFORE = rb"\s*(?:<!--.{0,2000}?-->\s*|<\?xml[^>]{0,500}\?>\s*)*"
_HTML = re.compile(
    _MARKUP_BEFORE + rb"<(?:!doctype\s+html|html|head|body|meta|title|table|div|p)\b[^<]{0,4000}?>",
    re.I | re.S,
)
_MAIL_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,60}:[ \t\r\n]")
_MAIL_MARK = re.compile(
    rb"^(?:MIME-Version|Message-ID|Received|Return-Path|Delivered-To):[ \t]", re.I | re.M
)
_MAIL_HEADERS_END = re.compile(rb"\r?\n\r?\n")
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")

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
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    ODT = "application/vnd.oasis.opendocument.text"
    RTF = "application/rtf"
    HTML = "text/html"
    EML = "message/rfc822"
    ZIP = "application/zip"


_IMAGES = {
    b"\x89PNG\r\n\x1a\n": MediaType.PNG,
    b"\xff\xd8\xff": MediaType.JPEG,
    b"II*\x00": MediaType.TIFF,
    b"MM\x00*": MediaType.TIFF,
    b"II+\x00": MediaType.TIFF,
    b"MM\x00+": MediaType.TIFF,
}
_REFUSED = {
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
_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
_OFFICE_FOLDERS = {
    "word/": MediaType.DOCX,
    "xl/": "an Excel workbook (XLSX): save it as PDF",
    "ppt/": "a PowerPoint presentation (PPTX): save it as PDF",
}
_OTHER_OPEN_DOCUMENTS = {
    "application/vnd.oasis.opendocument.spreadsheet": "a spreadsheet (ODS): save it as PDF",
    "application/vnd.oasis.opendocument.presentation": "a presentation (ODP): save it as PDF",
    "application/epub+zip": "an EPUB book: save it as PDF",
}
_MAX_MIMETYPE_BYTES = 200
_OPEN_DOCUMENT_PARTS = ("content.xml", "META-INF/manifest.xml")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = {
    "WordDocument": "an old Word document (DOC): save it as DOCX or PDF",
    "__substg1.0_": "an Outlook message (MSG): save it as EML",
    "PowerPoint Document": "an old PowerPoint presentation (PPT): save it as PDF",
    "Workbook": "an old Excel workbook (XLS): save it as PDF",
}
_ENCRYPTED_PACKAGE = "EncryptedPackage"


def sniff(data: bytes) -> MediaType:
    """Tell what the content of a file is.

    Raises:
        ExtractionFailure: `empty_file`; `encrypted` for an office document with a password; or
            `unsupported_type` naming what it looks like.
    """
    if not data:
        raise ExtractionFailure(Reason.EMPTY_FILE)
    if _is_pdf(data):
        return MediaType.PDF
    for magic, media_type in _IMAGES.items():
        if data.startswith(magic):
            return media_type
    if data.startswith(_ZIP_MARKS):
        kind = _zip_kind(data)
        if isinstance(kind, MediaType):
            return kind
        looks_like = kind
    else:
        marked_up = _marked_up(data)
        if marked_up is not None:
            return marked_up
        looks_like = _refused_type(data)
    if looks_like:
        raise ExtractionFailure(Reason.UNSUPPORTED_TYPE, f"the content looks like {looks_like}")
    return MediaType.TEXT


def _is_pdf(data: bytes) -> bool:
    header = _PDF_HEADER.search(data, 0, _PDF_HEADER_WITHIN + 5)
    if header is not None and header.start() == 0:
        return True
    if data.startswith((*_ZIP_MARKS, _OLE, *_IMAGES)):
        return False  # it may hold a PDF as it is
    if _PDF_TRAILER.match(data):
        return True
    # A text may mention the header, and a damaged PDF may have lost it: its objects decide.
    return _PDF_OBJECT.search(data, 0, _SAMPLE_BYTES) is not None and (
        header is not None or b"endobj" in data
    )


def _zip_kind(data: bytes) -> MediaType | str:
    """Tell what a ZIP file is, or why it is refused."""
    try:
        archive = open_zip(data)
    except ExtractionFailure:
        return _kind_of_zip_remains(data)
    with archive:
        names = set(archive.namelist())
        if "[Content_Types].xml" in names:
            for folder, kind in _OFFICE_FOLDERS.items():
                if any(name.startswith(folder) for name in names):
                    return kind
        stated = _stated_type(archive) if "mimetype" in names else ""
    if not stated and names.issuperset(_OPEN_DOCUMENT_PARTS):
        return MediaType.ODT  # its mark is lost or damaged
    if stated.startswith(MediaType.ODT):
        return MediaType.ODT  # or a template or master document, which are built alike
    return _OTHER_OPEN_DOCUMENTS.get(stated, MediaType.ZIP)


def _stated_type(archive: zipfile.ZipFile) -> str:
    try:
        stated = read_member(archive, archive.getinfo("mimetype"), _MAX_MIMETYPE_BYTES)
    except ExtractionFailure:
        return ""
    return stated.decode("ascii", "ignore").strip()


def _kind_of_zip_remains(data: bytes) -> MediaType | str:
    """Tell what a ZIP file was whose list of members is lost."""
    head = data[:_HEAD_BYTES]
    if b"mimetype" + MediaType.ODT.encode() in head:
        return MediaType.ODT
    if b"[Content_Types].xml" in head:
        for folder, kind in _OFFICE_FOLDERS.items():
            if folder.encode() in data:
                return kind
    return MediaType.ZIP


def _old_office(data: bytes) -> str:
    """Name what an OLE compound file holds, by the names in its directory.

    Raises:
        ExtractionFailure: `encrypted` if it is the wrapper of a document with a password.
    """
    if _ENCRYPTED_PACKAGE.encode("utf-16-le") in data:
        raise ExtractionFailure(Reason.ENCRYPTED, "an office document with a password")
    for stream, name in _OLE_STREAMS.items():
        if stream.encode("utf-16-le") in data:
            return name
    return "an old Office document: save it as PDF"


def _marked_up(data: bytes) -> MediaType | None:
    """Recognise kinds that are text with markup."""
    head = data[:_HEAD_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.replace(b"\0", b"")[len(codecs.BOM_UTF16_LE) :]
    head = head.removeprefix(codecs.BOM_UTF8)
    if head.startswith(b"{\\rtf"):
        return MediaType.RTF
    if _HTML.match(head):
        return MediaType.HTML
    if _MAIL_HEADER.match(head):
        sample = data[:_SAMPLE_BYTES].removeprefix(codecs.BOM_UTF8)
        headers = _MAIL_HEADERS_END.split(sample, 1)[0]
        if _MAIL_MARK.search(headers):
            return MediaType.EML
    return None


def _refused_type(data: bytes) -> str:
    head = data[:_HEAD_BYTES]
    if head.startswith(_OLE):
        return _old_office(data)
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
    if head.removeprefix(codecs.BOM_UTF8).startswith(b"<?xml"):
        return "an XML file"
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
