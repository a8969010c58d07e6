"""ZIP archives: containers, bombs, passwords, and names that come from anywhere."""

from __future__ import annotations

import io
import stat
import struct
import zipfile

import pytest

from sherlock_pg.ingest.model import Status
from sherlock_pg.ingest.reasons import Flag, Reason


def names(extraction):
    return [attachment.name for attachment in extraction.attachments]


def encrypted(data):
    """Set the mark of a password on all members."""
    patched = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = patched.find(signature)
        while at >= 0:
            patched[at + offset] |= 1
            at = patched.find(signature, at + 4)
    return bytes(patched)


def test_an_archive_is_a_container_without_text(typed, documents, extractor, tmp_path):
    members = {"a/tutela.docx": typed.docx(), "b.pdf": documents.native(), "c.zip": b"PK\x05\x06"}
    path, folder = tmp_path / "expediente.pdf", tmp_path / "dentro"
    folder.mkdir()
    path.write_bytes(typed.archive(members))
    extraction = extractor.extract(path, folder)
    assert (extraction.status, extraction.text, extraction.pages) == (Status.OK, "", ())
    assert extraction.flags == (Flag.CONTAINER,)
    assert extraction.media_type == "application/zip"
    assert names(extraction) == list(members)
    assert [a.size_bytes for a in extraction.attachments] == list(map(len, members.values()))
    assert [(folder / a.file).read_bytes() for a in extraction.attachments] == list(
        members.values()
    )
    inner = extractor.extract(folder / extraction.attachments[0].file)
    assert inner.text == "\n".join(typed.lines)


def test_folders_links_and_what_systems_leave_are_no_members(typed, read):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.mkdir("carpeta")
        archive.writestr("carpeta/acta.txt", "acta")
        for litter in ("__MACOSX/._acta.txt", "carpeta/.DS_Store", "Thumbs.db"):
            archive.writestr(litter, "x")
        link = zipfile.ZipInfo("enlace")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert names(read(buffer.getvalue())) == ["carpeta/acta.txt"]


def test_hostile_names_are_shown_and_never_used(typed, extractor, tmp_path):
    path, folder = tmp_path / "x.zip", tmp_path / "dentro"
    folder.mkdir()
    hostile = ["../../fuera.txt", "/etc/cron.d/x", "C:\\x.txt", "a\nb\x1b[31m.txt", "ñ" * 400]
    path.write_bytes(typed.archive(dict.fromkeys(hostile, b"hola")))
    extraction = extractor.extract(path, folder)
    assert names(extraction)[:3] == hostile[:3]
    assert names(extraction)[3] == "ab[31m.txt"
    assert len(names(extraction)[4]) == 255
    assert sorted(p.name for p in folder.iterdir()) == ["0001", "0002", "0003", "0004", "0005"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dentro", "x.zip"]


@pytest.mark.parametrize("encoding", ["utf-8", "cp850"])
def test_names_of_other_systems_are_decoded(typed, read, encoding):
    placeholder = "_" * len("PETICIÓN año.txt".encode(encoding))
    data = typed.archive({placeholder: b"hola"})
    data = data.replace(placeholder.encode(), "PETICIÓN año.txt".encode(encoding))
    assert names(read(data)) == ["PETICIÓN año.txt"]


def test_two_members_may_have_one_name(read):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("acta.txt", "uno")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("acta.txt", "número dos")
    assert [a.size_bytes for a in read(buffer.getvalue()).attachments] == [3, 11]


def test_an_archive_without_files_has_no_text(typed, read):
    assert read(typed.archive({})).reason is Reason.NO_TEXT
    assert read(typed.archive({"__MACOSX/x": b""})).reason is Reason.NO_TEXT


def test_an_archive_with_a_password_says_so(typed, read):
    extraction = read(encrypted(typed.archive({"acta.txt": b"hola" * 100})))
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.ENCRYPTED)
    assert "acta.txt" in extraction.detail


def test_members_that_cannot_be_read_make_it_partial(typed, read):
    data = bytearray(typed.archive({"bueno.txt": b"hola " * 50, "malo.txt": b"chao " * 50}))
    at = data.rfind(b"PK\x03\x04") + 30 + len("malo.txt") + 3
    data[at] ^= 0xFF
    extraction = read(bytes(data))
    assert (extraction.status, names(extraction)) == (Status.PARTIAL, ["bueno.txt"])
    assert "malo.txt" in extraction.detail
    assert "(damaged)" in extraction.detail
    assert Flag.CONTAINER in extraction.flags


def test_limits_of_count_and_size(typed, read):
    data = typed.archive({f"{number}.txt": b"x" * 100 for number in range(20)})
    assert len(read(data, max_attachments=20).attachments) == 20
    assert read(data, max_attachments=19).reason is Reason.TOO_BIG
    assert len(read(data, max_attachment_bytes=2000).attachments) == 20
    assert read(data, max_attachment_bytes=1999).reason is Reason.TOO_BIG
    one_big = typed.archive({"grande.bin": b"x" * 5000, "chico.txt": b"x"})
    extraction = read(one_big, max_file_bytes=len(one_big))
    assert (extraction.status, names(extraction)) == (Status.PARTIAL, ["chico.txt"])


def test_bombs_are_refused_without_unpacking_them(typed, read):
    bomb = typed.archive({"ceros": bytes(64 << 20)})
    extraction = read(bomb)
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.TOO_BIG)
    assert "as a bomb does" in extraction.detail
    lying = bytearray(bomb)
    central = lying.find(b"PK\x01\x02")
    struct.pack_into("<I", lying, central + 24, 1000)
    assert read(bytes(lying)).reason is Reason.DAMAGED


def test_broken_archives_say_so(typed, read):
    data = typed.archive({"a.txt": b"hola"})
    assert read(data[:40]).reason is Reason.DAMAGED
    assert read(data[:-5]).reason is Reason.DAMAGED
    assert read(b"PK\x03\x04").reason is Reason.DAMAGED


def test_office_files_inside_are_not_taken_for_the_archive(typed, read):
    data = typed.archive({"word/apuntes.txt": b"hola", "acta.docx": typed.docx()})
    assert names(read(data)) == ["word/apuntes.txt", "acta.docx"]
