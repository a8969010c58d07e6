"""HTML pages: what a browser shows, block by block, in any encoding of Spanish offices."""

from __future__ import annotations

import pytest

from sherlock_pg.ingest.model import PageMethod, Status
from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.ingest.sniff import MediaType, sniff
from sherlock_pg.ingest.webpage import html_text


def test_a_page_is_one_native_page(typed, read):
    extraction = read(typed.html(), "auto.pdf")
    assert extraction.text == "\n".join(typed.lines)
    assert extraction.media_type == "text/html"
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<div>ACCIONANTE: ANA</div><div>ACCIONADO: EPS</div>", "ACCIONANTE: ANA\nACCIONADO: EPS"),
        ("<p>ACCIONANTE: ANA<p>ACCIONADO: EPS", "ACCIONANTE: ANA\nACCIONADO: EPS"),
        ("ANA<br>EPS<hr>fin", "ANA\nEPS\nfin"),
        ("<p>Se<b>ñ</b>or  \n Juez&nbsp;1 &aacute; &#8364; &amp;</p>", "Señor Juez 1 á € &"),
        ("<script>var a='<p>x'</script><style>p{}</style><title>t</title>sí", "sí"),
        ("a<!-- comentario -->b", "ab"),
        ("<table><tr><td><p>ROL:</p></td><td>ANA</td></tr><tr><td>x<td>y</table>z",
         "ROL:\tANA\nx\ty\nz"),
        ("<table><tr><td>A<table><tr><td>1<td>2</table><td>B</table>", "A\n1\t2\tB"),
        ("<ul><li>uno<li>dos</ul>", "uno\ndos"),
        ("<pre>a\n  b</pre>c", "a\n  b\nc".replace("  b", "b")),
        ('<div style="display: none">oculto<p>x</p></div><p hidden>y</p>visto', "visto"),
        ("<p>sin <br hidden>cerrar <img hidden src=x> nada", "sin cerrar nada"),
        ("texto & más < que", "texto & más < que"),
    ],
)  # fmt: skip
def test_blocks_are_lines_and_cells_are_tabs(page, text):
    assert html_text(page) == text


HEAD = "<html><head><meta charset='{}'></head><body><p>Señor Núñez: 100 € «ya»</p></body></html>"


@pytest.mark.parametrize(
    ("data", "_case"),
    [
        (HEAD.format("utf-8").encode(), "declared utf-8"),
        (HEAD.format("windows-1252").encode("cp1252"), "declared cp1252"),
        (HEAD.format("iso-8859-1").encode("cp1252"), "latin-1 is cp1252"),
        (HEAD.format("utf-8").encode("cp1252"), "declared wrongly"),
        (HEAD.format("iso-8859-15").encode("iso-8859-15"), "latin-9"),
        (HEAD.format("inventado").encode("cp1252"), "declared nonsense"),
        (HEAD.format("iso-8859-1").encode("utf-8-sig"), "the byte order mark wins"),
        (HEAD.format("utf-8").encode("utf-16"), "utf-16 by its mark"),
        (HEAD.replace("<meta charset='{}'>", "").encode(), "undeclared utf-8"),
        (HEAD.replace("<meta charset='{}'>", "").encode("cp1252"), "undeclared cp1252"),
        (
            HEAD.replace(
                "<meta charset='{}'>",
                '<META http-equiv=Content-Type content="text/html; charset=iso-8859-1">',
            ).encode("cp1252"),
            "http-equiv",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_encodings(read, data, _case):
    extraction = read(data)
    assert (extraction.status, extraction.media_type) == (Status.OK, "text/html")
    assert extraction.text == "Señor Núñez: 100 € «ya»"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf <!-- x --> <!DOCTYPE html><p>a",
        b"<?xml version='1.0'?><html xmlns='x'><body/></html>",
        b"<HTML xmlns:v='urn:schemas-microsoft-com:vml'>",
        b"<table border=1><tr>",
        b"\n\n<p class=MsoNormal>a",
    ],
)
def test_pages_are_recognised(data):
    assert sniff(data) is MediaType.HTML


def test_a_text_that_speaks_of_tags_is_a_text():
    assert sniff("La etiqueta <p> abre un párrafo".encode()) is MediaType.TEXT
    assert sniff(b"<presente> el expediente") is MediaType.TEXT


def test_a_page_without_text_says_so(read):
    assert read(b"<html><body><script>x</script></body></html>").reason is Reason.NO_TEXT


def test_deep_and_broken_pages_are_read_to_their_end():
    for page in ("<div>" * 50_000, "<table><tr><td>" * 2_000, "<!--x-->" * 50_000, "<" * 50_000):
        assert html_text(page + "<p>fin").endswith("fin")
