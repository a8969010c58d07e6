"""Which reader opens which kind of content; each is imported when its kind is met."""

from __future__ import annotations

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.sniff import MediaType
from sherlock_pg.ingest.source import PageSource


def open_source(data: bytes, media_type: MediaType, options: ExtractOptions) -> PageSource:
    """Open a document of a known kind.

    Raises:
        ExtractionFailure: it cannot be read.
    """
    match media_type:
        case MediaType.PDF:
            from sherlock_pg.ingest.pdf import PdfSource

            return PdfSource(data, options)
        case MediaType.PNG | MediaType.JPEG | MediaType.TIFF:
            from sherlock_pg.ingest.images import ImageSource

            return ImageSource(data, media_type, options)
        case MediaType.TEXT:
            from sherlock_pg.ingest.text import open_text

            return open_text(data)
        case MediaType.DOCX:
            from sherlock_pg.ingest.docx import open_docx

            return open_docx(data, options)
        case MediaType.ODT:
            from sherlock_pg.ingest.odt import open_odt

            return open_odt(data, options)
        case MediaType.RTF:
            from sherlock_pg.ingest.rtf import open_rtf

            return open_rtf(data)
        case MediaType.HTML:
            from sherlock_pg.ingest.webpage import open_html

            return open_html(data)
        case MediaType.EML:
            from sherlock_pg.ingest.mail import open_mail

            return open_mail(data)
        case MediaType.ZIP:
            from sherlock_pg.ingest.archive import open_archive

            return open_archive(data, options)
