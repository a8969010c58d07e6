"""E-mail: the body under its headers, attachments apart, and what is neither."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from sherlock_pg.ingest import mail
from sherlock_pg.ingest.model import MAX_ATTACHMENT_DEPTH, ExtractOptions, PageMethod, Status
from sherlock_pg.ingest.reasons import Flag, Reason
from sherlock_pg.ingest.sniff import MediaType, sniff

HEADERS = (
    "Subject: Notificación de la tutela\n"
    "From: Juzgado Primero <juzgado1@ejemplo.gov.co>\n"
    "To: rosa@ejemplo.co\n"
    "Date: Mon, 02 Mar 2026 10:00:00 -0500"
)
START = b"From: a@ejemplo.co\r\nSubject: Aviso\r\nMIME-Version: 1.0\r\n"


def body_of(extraction):
    assert extraction.status is Status.OK
    return extraction.text.partition("\n\n")[2]


def message(*headers, body=b"hola"):
    return START + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


def test_a_message_is_one_native_page_under_its_headers(typed, read):
    extraction = read(typed.mail(), "mail.pdf")
    assert extraction.text == HEADERS + "\n\n" + "\n".join(typed.lines)
    assert extraction.media_type == "message/rfc822"
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE]
    assert not extraction.attachments


def test_attachments_are_written_in_order_and_not_by_their_names(
    typed, documents, extractor, tmp_path
):
    pdf, rtf = documents.native(), typed.rtf()
    mail_file, folder = tmp_path / "aviso.eml", tmp_path / "adjuntos"
    folder.mkdir()
    mail_file.write_bytes(typed.mail(**{"../../tutela ñ.pdf": pdf, "/etc/acta.doc": rtf}))
    extraction = extractor.extract(mail_file, folder)
    assert [(a.name, a.media_type, a.size_bytes, a.file) for a in extraction.attachments] == [
        ("../../tutela ñ.pdf", "application/pdf", len(pdf), "0001"),
        ("/etc/acta.doc", "application/rtf", len(rtf), "0002"),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adjuntos", "aviso.eml"]
    assert (folder / "0001").read_bytes() == pdf
    assert (folder / "0002").read_bytes() == rtf
    listed = extractor.extract(mail_file)
    assert [a.file for a in listed.attachments] == [None, None]
    assert [a.name for a in listed.attachments] == [a.name for a in extraction.attachments]


def test_a_message_inside_is_an_attachment_that_can_be_read_again(typed, extractor, tmp_path):
    data = typed.mail(**{"acta.rtf": typed.rtf()})
    for _ in range(MAX_ATTACHMENT_DEPTH):
        outer = EmailMessage(policy=policy.SMTP)
        outer["Subject"], outer["From"], outer["Message-ID"] = "RV: aviso", "b@x.co", "<2@x>"
        outer.set_content("Reenvío")
        outer.add_attachment(message_from_bytes(data, policy=policy.SMTP))
        inner, data = data, outer.as_bytes()
    path = tmp_path / "0"
    path.write_bytes(data)
    for depth in range(MAX_ATTACHMENT_DEPTH):
        folder = tmp_path / f"en-{depth}"
        folder.mkdir()
        extraction = extractor.extract(path, folder)
        assert body_of(extraction) == "Reenvío"
        (attachment,) = extraction.attachments
        assert attachment.media_type == "message/rfc822"
        path = folder / attachment.file
        if depth == 0:
            assert path.read_bytes() == inner
    assert attachment.name == "Notificación de la tutela.eml"
    last = extractor.extract(path)
    assert [a.name for a in last.attachments] == ["acta.rtf"]


@pytest.mark.parametrize(
    ("plain", "html", "expected"),
    [
        ("Texto completo del auto", "<p>Texto completo del <b>auto</b></p>", "Texto completo"),
        ("Vea el HTML", "<p>" + "Contenido completo. " * 20 + "</p>", "Contenido completo"),
    ],
)
def test_the_alternative_that_says_more_is_read(read, plain, html, expected):
    mail_message = EmailMessage()
    mail_message["From"] = "a@ejemplo.co"
    mail_message["MIME-Version"] = "1.0"
    mail_message.set_content(plain)
    mail_message.add_alternative(html, subtype="html")
    mail_message.add_alternative("BEGIN:VCALENDAR", subtype="calendar")
    extraction = read(mail_message.as_bytes())
    assert body_of(extraction).startswith(expected)
    assert "<p>" not in extraction.text
    assert not extraction.attachments


def test_signature_images_are_ignored_and_photographed_pages_are_not(documents, read):
    mail_message = EmailMessage()
    mail_message["From"], mail_message["MIME-Version"] = "a@ejemplo.co", "1.0"
    mail_message.set_content("<p>Adjunto</p><img src=cid:1><img src=cid:2>", subtype="html")
    logo = documents.encode(documents.image().resize((300, 90)), "PNG")
    page = documents.encode(documents.image(), "PNG")
    for number, content in enumerate((logo, page), 1):
        mail_message.add_related(content, "image", "png", cid=f"<{number}>")
    mail_message.add_attachment(logo, "image", "png", filename="sello.png")
    mail_message.add_attachment(b"x", "application", "pkcs7-signature", filename="smime.p7s")
    extraction = read(mail_message.as_bytes())
    assert body_of(extraction) == "Adjunto"
    assert [a.size_bytes for a in extraction.attachments] == [len(page), len(logo)]
    assert [a.media_type for a in extraction.attachments] == ["image/png"] * 2
    assert [a.name for a in extraction.attachments] == ["adjunto-1", "sello.png"]


def test_text_after_an_attachment_belongs_to_the_body(read):
    data = message(
        b"Content-Type: multipart/mixed; boundary=x",
        body=b"--x\r\n\r\nuno\r\n--x\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\n%PDF-1.4"
        b"\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>dos</p>\r\n--x--\r\n",
    )
    extraction = read(data)
    assert body_of(extraction) == "uno\n\ndos"
    assert [a.name for a in extraction.attachments] == ["a.pdf"]


@pytest.mark.parametrize(
    ("charset", "encoded"),
    [
        (b"utf-8", "Señor 100 €".encode()),
        (b"iso-8859-1", "Señor 100 €".encode("cp1252")),
        (b"us-ascii", "Señor 100 €".encode("cp1252")),
        (b"utf-8", "Señor 100 €".encode("cp1252")),
        (b"x-inventado", "Señor 100 €".encode()),
    ],
)
def test_declared_undeclared_and_wrongly_declared_encodings(read, charset, encoded):
    data = message(b"Content-Type: text/plain; charset=" + charset, body=encoded)
    assert body_of(read(data)) == "Señor 100 €"


def test_encoded_headers_and_names_are_decoded(read):
    data = message(
        b"To: =?utf-8?q?Rosa_Pe=C3=B1a?= <rosa@ejemplo.co>,\r\n =?iso-8859-1?B?8Q==?= <n@x.co>",
        b"Content-Type: multipart/mixed; boundary=x",
        body=b"--x\r\nContent-Disposition: attachment; filename*=utf-8''petici%C3%B3n.txt\r\n\r\n"
        b"hola\r\n--x\r\nContent-Disposition: attachment;"
        b' filename="=?utf-8?q?a=C3=B1o.txt?="\r\n\r\nhola\r\n--x--',
    )
    extraction = read(data)
    assert "To: Rosa Peña <rosa@ejemplo.co>, ñ <n@x.co>" in extraction.text
    assert [a.name for a in extraction.attachments] == ["petición.txt", "año.txt"]


@pytest.mark.parametrize(
    "data",
    [
        message(),
        b"\xef\xbb\xbfReceived: from x\r\n by y\r\nDate: z\r\n\r\nhola",
        b"Return-Path: <a@b>\nFrom: a\n\nhola",
        b"X-Long: " + b"a" * 20_000 + b"\nMessage-ID: <1>\n\nhola",
        b"From:\r\n a@b.co\r\nMIME-Version: 1.0\r\n\r\nhola",
    ],
)
def test_messages_are_recognised(data):
    assert sniff(data) is MediaType.EML


def test_texts_that_begin_like_a_message_are_texts():
    assert sniff(b"De: Rosa\nPara: Juzgado\n\nhola") is MediaType.TEXT
    assert sniff(b"Asunto: tutela\n\nMIME-Version: 1.0") is MediaType.TEXT


def test_a_message_that_was_cut_off_is_partial(typed, read):
    data = typed.mail(**{"acta.rtf": typed.rtf()})
    extraction = read(data[:-200])
    assert (extraction.status, extraction.detail) == (Status.PARTIAL, "the message is cut off")
    assert Flag.REPAIRED in extraction.flags


def test_a_message_with_an_attachment_above_the_limit_keeps_its_text(typed, read):
    data = typed.mail(chico=b"x", grande=b"x" * 5000)
    extraction = read(data, max_file_bytes=len(data))
    assert [a.name for a in extraction.attachments] == ["chico", "grande"]
    limit = ExtractOptions().max_attachments
    assert read(data, max_attachments=1).reason is Reason.TOO_BIG
    assert read(data, max_attachment_bytes=1000).reason is Reason.TOO_BIG
    assert limit >= 100


def test_parts_nested_without_end_are_refused(read):
    for depth in (mail._MAX_DEPTH + 10, 1200):
        body = b"".join(
            b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1)
            for n in range(depth)
        )
        data = message(b"Content-Type: multipart/mixed; boundary=b0", body=body)
        extraction = read(data)
        assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.TOO_BIG)


def test_nonsense_in_headers_and_encodings_does_no_harm(read):
    for header in (
        b"Date: ayer por la tarde",
        b"To: <<<@@@>>>,,;",
        b'Content-Type: text/plain; charset="',
        b"Content-Type: ;;;",
        b"Content-Type: multipart/mixed",
        b"Content-Type: message/rfc822",
        b"Content-Transfer-Encoding: base64",
        b"Content-Transfer-Encoding: x-nada",
        b"Subject: =?utf-8?b?////?= =?x?y?z?=",
        b"Content-Disposition: attachment; filename*0*=x''%ff",
    ):
        assert read(message(header)).status in (Status.OK, Status.PARTIAL), header
