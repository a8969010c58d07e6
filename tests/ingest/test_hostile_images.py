"""Image files whose headers lie: no field of a TIFF, PNG or JPEG brings the reader down."""

from __future__ import annotations

import io
import random
import struct

import pytest
from PIL import Image

from sherlock_pg.ingest.images import ImageSource
from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.sniff import sniff

REFUSALS = (Reason.DAMAGED, Reason.TOO_BIG, Reason.TOO_MANY_PAGES, Reason.UNSUPPORTED_TYPE)


def page(kind, **options):
    image = Image.new("L", (64, 48), 255)
    image.paste(0, (8, 8, 40, 12))
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def decode(data, target):
    """Read all pages; give None, or the reason that stands against it."""
    try:
        source = ImageSource(data, sniff(data), ExtractOptions(max_pages=20))
        try:
            source.write_ocr_input([inspected.number for inspected in source.pages], target)
        finally:
            source.close()
    except (ExtractionFailure, Image.DecompressionBombError) as error:
        return getattr(error, "reason", Reason.TOO_BIG)
    return None


def directory_fields(data):
    """Give the places of all fields of the first directory of a little-endian TIFF."""
    (start,) = struct.unpack_from("<I", data, 4)
    (entries,) = struct.unpack_from("<H", data, start)
    for entry in range(entries):
        place = start + 2 + 12 * entry
        yield from ((place, "<H"), (place + 2, "<H"), (place + 4, "<I"), (place + 8, "<I"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "group4"])
def test_no_field_of_a_tiff_directory_brings_the_reader_down(tmp_path, compression):
    if compression == "group4":
        image = Image.new("1", (64, 48), 1)
        buffer = io.BytesIO()
        image.save(buffer, "TIFF", compression=compression)
        good = buffer.getvalue()
    else:
        good = page("TIFF", compression=compression)
    target = tmp_path / "pages.pdf"
    assert decode(good, target) is None
    outcomes = set()
    for place, form in directory_fields(good):
        for value in (0, 1, 2, 5, 7, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF):
            changed = bytearray(good)
            struct.pack_into(form, changed, place, value & (0xFFFF if form == "<H" else 0xFFFFFFFF))
            outcomes.add(decode(bytes(changed), target))
    assert outcomes <= {None, *REFUSALS}
    assert Reason.DAMAGED in outcomes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
def test_no_byte_of_a_small_image_brings_the_reader_down(tmp_path, kind):
    good = page(kind)[:1500]
    rng = random.Random(kind)
    outcomes = set()
    for _ in range(300):
        changed = bytearray(good)
        for _ in range(rng.choice((1, 1, 4))):
            changed[rng.randrange(12, len(changed))] = rng.choice((0, 1, 0x7F, 0xFF))
        outcomes.add(decode(bytes(changed), tmp_path / "pages.pdf"))
    assert outcomes <= {None, *REFUSALS}
    assert Reason.DAMAGED in outcomes
