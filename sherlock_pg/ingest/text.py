"""Plain text files: which encoding, and is it text at all."""

from __future__ import annotations

import codecs

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.source import TextSource

_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


_WINDOWS_1252 = frozenset({"ascii", "iso8859-1", "cp1252"})


def open_text(data: bytes) -> TextSource:
    """Open a plain text.

    Raises:
        ExtractionFailure: as `decode_text`.
    """
    return TextSource(decode_text(data))


def decode_declared(data: bytes, charset: str | None) -> str:
    """Decode a text whose encoding is declared, unless that is wrong or unknown.

    Latin-1 is taken for Windows-1252, as browsers do: nobody writes the control characters that
    are the only difference, but many write curly quotes.

    Raises:
        ExtractionFailure: as `decode_text`.
    """
    if charset and not data.startswith((codecs.BOM_UTF8, *_UTF16_BOMS)):
        try:
            codec = codecs.lookup(charset.strip())
            if codec.name not in _WINDOWS_1252:
                return data.decode(codec.name)
        except (LookupError, ValueError):
            pass  # declared wrongly: judged by the bytes
    return decode_text(data)


def decode_text(data: bytes) -> str:
    """Decode a text file: UTF-8 or UTF-16 by byte order mark, UTF-8, or else Windows-1252.

    The order is fixed on purpose: statistical guessing took Spanish cp1252 for cp1250.

    Raises:
        ExtractionFailure: `damaged` if a UTF-16 mark is followed by something else.
    """
    if data.startswith(_UTF16_BOMS):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise ExtractionFailure(Reason.DAMAGED, f"not valid UTF-16: {error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # The five bytes that Windows-1252 leaves undefined carry no text.
        return data.decode("cp1252", errors="ignore")
