"""Images of every kind become upright grey pages."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from sherlock_pg.ingest import images
from sherlock_pg.ingest.images import ImageSource, fit_for_ocr
from sherlock_pg.ingest.model import ExtractOptions, PageMethod
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.sniff import MediaType, sniff

# Left half dark, right half light.
HALVES = Image.new("L", (400, 200), 230)
HALVES.paste(10, (0, 0, 200, 200))


def reopened(documents, image, kind, **options):
    return Image.open(io.BytesIO(documents.encode(image, kind, **options)))


def dark_and_light(image):
    fitted = fit_for_ocr(image).convert("L")
    return fitted.getpixel((50, 100)), fitted.getpixel((350, 100))


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK", "YCbCr"])
def test_colours_become_grey(documents, mode):
    dark, light = dark_and_light(reopened(documents, HALVES.convert(mode), "TIFF"))
    assert dark < 40
    assert light > 200


def test_sixteen_bit_scans_keep_their_contrast(documents):
    deep = HALVES.convert("I").point(lambda value: value * 256).convert("I;16")
    dark, light = dark_and_light(reopened(documents, deep, "PNG"))
    assert dark < 40
    assert light > 200


def test_bilevel_stays_bilevel(documents):
    assert fit_for_ocr(reopened(documents, HALVES.convert("1"), "TIFF")).mode == "1"


def test_transparency_becomes_white_paper(documents):
    layer = Image.new("RGBA", (400, 200), (0, 0, 0, 0))
    layer.paste((0, 0, 0, 255), (0, 0, 200, 200))
    assert dark_and_light(reopened(documents, layer, "PNG")) == (0, 255)
    palette = layer.convert("P")
    palette.info["transparency"] = palette.getpixel((350, 100))
    dark, light = dark_and_light(reopened(documents, palette, "PNG"))
    assert (dark, light) == (0, 255)


def test_the_camera_orientation_is_applied(documents):
    exif = Image.Exif()
    exif[0x0112] = 6
    lying = HALVES.rotate(90, expand=True)
    fitted = fit_for_ocr(reopened(documents, lying, "JPEG", exif=exif))
    assert fitted.size == HALVES.size


def test_a_large_image_is_scaled_down(monkeypatch):
    monkeypatch.setattr(images, "MAX_OCR_PIXELS", 45_000)
    fitted = fit_for_ocr(HALVES)
    assert fitted.width * fitted.height <= 45_000
    assert fitted.width == 2 * fitted.height


def test_an_image_bomb_is_refused_before_it_is_decoded(documents, monkeypatch):
    monkeypatch.setattr(images, "MAX_DECODED_PIXELS", 300)
    data = documents.encode(HALVES, "PNG")
    with pytest.raises(ExtractionFailure) as caught:
        ImageSource(data, sniff(data), ExtractOptions())
    assert caught.value.reason is Reason.TOO_BIG


def test_every_frame_is_a_page_up_to_the_limit(documents):
    data = documents.encode(HALVES, "TIFF", save_all=True, append_images=[HALVES] * 3)
    assert len(ImageSource(data, MediaType.TIFF, ExtractOptions()).pages) == 4
    with pytest.raises(ExtractionFailure) as caught:
        ImageSource(data, MediaType.TIFF, ExtractOptions(max_pages=3))
    assert caught.value.reason is Reason.TOO_MANY_PAGES


@pytest.mark.filterwarnings("ignore:Corrupt EXIF:UserWarning")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
@pytest.mark.parametrize("kept", [12, 100])
def test_a_truncated_image_is_damaged(documents, tmp_path, kind, kept):
    data = documents.encode(HALVES, kind)[:kept]
    with pytest.raises(ExtractionFailure) as caught:
        ImageSource(data, sniff(data), ExtractOptions()).write_ocr_input([1], tmp_path / "p.pdf")
    assert caught.value.reason is Reason.DAMAGED


@pytest.mark.parametrize("size", [(1, 1), (1, 60_000)])
def test_a_pixel_and_a_thread_are_pages(documents, tmp_path, size):
    data = documents.encode(Image.new("L", size), "PNG")
    target = tmp_path / "pagina.pdf"
    ImageSource(data, MediaType.PNG, ExtractOptions()).write_ocr_input([1], target)
    assert target.read_bytes().startswith(b"%PDF")


def test_all_pages_of_a_tiff_are_read_in_order(documents, read_with_ocr):
    pages = [
        documents.image(("PRIMERA PÁGINA DEL ACTA", *documents.tutela)),
        documents.image(("SEGUNDA PÁGINA DEL ACTA", *documents.tutela)),
    ]
    data = documents.encode(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    extraction = read_with_ocr(data, "fax.pdf")
    assert [page.method for page in extraction.pages] == [PageMethod.OCR] * 2
    first, second = extraction.page_texts()
    assert "PRIMERA" in first
    assert "SEGUNDA" in second
