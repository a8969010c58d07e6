"""Plain text files: which encoding, and is it text at all."""

from __future__ import annotations

import codecs

from sherlock_pg.ingest.reasons import ExtractionFailure, Reason

_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
