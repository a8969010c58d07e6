"""RTF documents: code pages, fallbacks, destinations that are shown and that are not."""

from __future__ import annotations

import pytest

from sherlock_pg.ingest.model import PageMethod, Status
from sherlock_pg.ingest.reasons import Flag, Reason


def rtf(body):
    return rb"{\rtf1\ansi\ansicpg1252\deff0 " + body + b"}"


def test_a_document_as_word_writes_it_is_one_native_page(typed, read):
    extraction = read(typed.rtf(), "acta.doc")
    assert extraction.text == "\n".join(typed.lines)
    assert extraction.media_type == "application/rtf"
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE]
    assert extraction.status is Status.OK


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"Se\'f1or \{Juez\}\~uno\_dos\line tres\tab x", "Señor {Juez} uno-dos\ntres\tx"),
        (rb"\u241?and\u250? \uc2\u8364\'80\'80 \uc0\u8211 fin", "ñandú € –fin"),
        (rb"\u-10179?\u-8704? {\uc1\u241\'f1}", "\U0001f600 ñ"),
        (rb"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f0 \'e0 \f1 \'e0\plain \'e0", "à аà"),
        (rb"{\info{\title OCULTO}}{\stylesheet Normal;}{\*\generator Word;}visto", "visto"),
        (rb"{\field{\*\fldinst HYPERLINK x}{\fldrslt enlace}} aqu\'ed", "enlace aquí"),
        (rb"queda{\deleted se va}{\v oculto}{\v0 s\'ed}", "quedasí"),
        (rb"{\pict\pngblip 89504e47}{\*\shppict{\pict\bin5 }{}\\x}}b", "b"),
        (rb"\trowd ACCIONANTE:\cell ANA\cell\row\trowd ACCIONADO:\cell EPS\cell\row", None),
        (rb"{\upr{a?o}{\*\ud{a\u241?o}}}", "año"),
        (rb"{\*\desconocido OCULTO}{\desconocida vista}", "vista"),
        (rb"{\listtext 1.\tab}PRIMERO", "1.\tPRIMERO"),
    ],
)
def test_what_is_shown_and_what_is_not(read, body, text):
    expected = text or "ACCIONANTE:\tANA\nACCIONADO:\tEPS"
    assert read(rtf(body)).text == expected


def test_headers_notes_and_text_boxes_are_read_once(read):
    body = (
        rb"{\header RAMA JUDICIAL\par}{\headerf RAMA JUDICIAL\par}{\footer Calle 12\par}"
        rb"Cuerpo{\footnote Sentencia T-760}\par"
        rb"{\shp{\*\shpinst{\sp{\sn wzName}{\sv x}}{\shptxt SELLO\par}}{\shprslt{SELLO}}}fin"
    )
    lines = read(rtf(body)).text.split("\n")
    assert [line for line in lines if line] == [
        "RAMA JUDICIAL",
        "Cuerpo",
        "SELLO",
        "fin",
        "Sentencia T-760",
        "Calle 12",
    ]


def test_what_follows_the_document_is_not_part_of_it(read):
    assert read(rtf(b"visto") + b"\0\0basura").text == "visto"


def test_a_document_that_was_cut_off_is_partial(typed, read):
    extraction = read(typed.rtf()[:-40])
    assert (extraction.status, extraction.detail) == (Status.PARTIAL, "the file is cut off")
    assert Flag.REPAIRED in extraction.flags
    assert "ROSA ELVIRA" in extraction.text


def test_a_document_without_text_says_so(read):
    assert read(rb"{\rtf1{\fonttbl{\f0 Ar").reason is Reason.DAMAGED
    assert read(rtf(b"")).reason is Reason.NO_TEXT


def test_half_a_surrogate_pair_and_deep_groups_do_no_harm(read):
    assert read(rtf(rb"a\u-10179?b")).text == "a\ufffdb"
    assert read(rtf(b"{" * 200_000 + b"x" + b"}" * 200_000)).text == "x"
    assert read(rtf(rb"a\bin99999999999 b")).status in (Status.OK, Status.PARTIAL)
