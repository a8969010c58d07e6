"""Messages and archives: the files inside are documents of their own, by worker and by loader."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import psycopg

from sherlock_pg.queue.worker import Summary

Work = Callable[..., Summary]
TextOf = Callable[[int], str]


def message(body: str, *attached: tuple[str, bytes]) -> bytes:
    mail = EmailMessage()
    mail["Subject"] = "Radicación de memorial"
    mail["From"], mail["To"] = "ana@ejemplo.com", "juzgado@ejemplo.org"
    mail.set_content(body)
    for name, content in attached:
        mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in members.items():
            packed.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def enqueue(db: psycopg.Connection, content: bytes, name: str) -> None:
    db.execute("insert into sherlock.inbox (content, name) values (%s, %s)", [content, name])


LINKS = (
    "select p.name, a.ordinal, a.name, d.status from sherlock.document_attachments as a"
    " join sherlock.documents as p on p.document_id = a.document_id"
    " join sherlock.documents as d on d.document_id = a.attached_document_id"
    " order by p.name, a.ordinal"
)


def test_attachments_are_queued_read_linked_and_judged(
    db: psycopg.Connection, work: Work, text_of: TextOf
) -> None:
    enqueue(db, text_of(1).encode(), "carpeta.txt")
    packed = archive(uno__txt=text_of(1).encode(), dos__txt=text_of(2).encode())
    mail = message(text_of(3), ("anexos.zip", packed), ("tres.txt", text_of(4).encode()))
    enqueue(db, mail, "correo.eml")
    work(concurrency=1)
    assert db.execute(LINKS).fetchall() == [
        ("anexos.zip", 1, "uno.txt", "ok"),
        ("anexos.zip", 2, "dos.txt", "ok"),
        ("correo.eml", 1, "anexos.zip", "ok"),
        ("correo.eml", 2, "tres.txt", "ok"),
    ]
    items = db.execute(
        "select name, state, gate, depth from sherlock.inbox order by depth, name"
    ).fetchall()
    assert items == [
        ("carpeta.txt", "done", "new", 0),
        ("correo.eml", "done", "new", 0),
        ("anexos.zip", "done", "new", 1),
        ("tres.txt", "done", "new", 1),
        ("dos.txt", "done", "new", 2),
        ("uno.txt", "done", "hit", 2),
    ]
    judged = db.execute("select count(*) from sherlock.detections").fetchone()
    assert judged == (5,)
    container = db.execute(
        "select text_state, flags from sherlock.documents where name = 'anexos.zip'"
    ).fetchone()
    assert container == ("empty", ["container"])


def test_load_reports_what_is_inside_after_what_holds_it(
    sherlock: Callable[..., Any], database_url: str, tmp_path: Path, text_of: TextOf
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    near = text_of(4).replace("general", "urgente")
    (folder / "1.txt").write_text(text_of(4))
    (folder / "2.eml").write_bytes(
        message(text_of(3), ("otra.txt", near.encode()), ("copia.txt", text_of(4).encode()))
    )
    (folder / "3.txt").write_text(text_of(5))
    ran = sherlock("load", folder, "--format", "json", "--ner-model", "none")
    assert ran.code == 0, ran.err
    documents = json.loads(ran.out)["documents"]
    assert [
        (d["file"].removeprefix(f"{folder}/"), d["gate"], d["confidence"]) for d in documents
    ] == [
        ("1.txt", "new", ""),
        ("2.eml", "new", ""),
        ("2.eml > otra.txt", "new", "HIGH"),
        ("2.eml > copia.txt", "hit", "EXACT"),
        ("3.txt", "new", ""),
    ]
    again = sherlock("load", folder, "--format", "json", "--ner-model", "none")
    assert [d["gate"] for d in json.loads(again.out)["documents"]] == ["hit"] * 3


def test_too_deep_is_said_and_not_read(db: psycopg.Connection, work: Work, text_of: TextOf) -> None:
    content = archive(fondo__txt=text_of(1).encode())
    for level in range(6):
        content = archive(**{f"nivel{level}__zip": content})
    enqueue(db, content, "muñeca.zip")
    work(concurrency=1)
    depths = db.execute("select max(depth) from sherlock.inbox").fetchone()
    assert depths == (4,)
    flagged = db.execute(
        "select flags from sherlock.documents where 'attachments_left_out' = any(flags)"
    ).fetchall()
    assert flagged == [(["container", "attachments_left_out"],)]


def test_an_archive_read_again_keeps_its_links(
    db: psycopg.Connection, work: Work, text_of: TextOf
) -> None:
    enqueue(db, archive(a__txt=text_of(1).encode(), b__txt=text_of(2).encode()), "a.zip")
    work(concurrency=1)
    before = db.execute(LINKS).fetchall()
    db.execute("select sherlock.reread(document_id) from sherlock.documents where name = 'a.zip'")
    work(concurrency=1)
    assert db.execute(LINKS).fetchall() == before
    assert db.execute("select count(*) from sherlock.documents").fetchone() == (3,)


def test_copies_of_what_cannot_be_read_fail_with_it(
    sherlock: Callable[..., Any], tmp_path: Path
) -> None:
    word = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(900)
    file = tmp_path / "viejos.zip"
    file.write_bytes(archive(uno__doc=word, dos__doc=word, tres__doc=word))
    ran = sherlock("load", file, "--format", "json", "--ner-model", "none")
    assert ran.code == 1
    inside = json.loads(ran.out)["documents"][1:]
    assert [(d["status"], d["gate"], d["action"], d["reason"]) for d in inside] == [
        ("failed", "new", "", "unsupported_type"),
        ("failed", "hit", "", "unsupported_type"),
        ("failed", "hit", "", "unsupported_type"),
    ]


def test_bytes_that_vanish_fail_their_file_alone(
    sherlock: Callable[..., Any], db: psycopg.Connection, tmp_path: Path, text_of: TextOf
) -> None:
    db.execute(
        "create function lose() returns trigger language plpgsql as"
        " $$begin delete from sherlock.file_contents; return null; end$$"
    )
    db.execute("create trigger lose after insert on sherlock.file_contents execute function lose()")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.zip").write_bytes(archive(a__txt=text_of(1).encode()))
    (folder / "2.txt").write_text(text_of(2))
    ran = sherlock("load", folder, "--format", "json", "--ner-model", "none")
    assert ran.code == 1, ran.err
    documents = json.loads(ran.out)["documents"]
    assert [(d["status"], d["reason"]) for d in documents] == [
        ("ok", ""),
        ("failed", "missing_file"),
        ("ok", ""),
    ]
    items = db.execute("select name, state from sherlock.inbox where state <> 'done'").fetchall()
    assert items == [("a.txt", "queued")]


def test_a_preview_says_that_it_did_not_look_inside(
    sherlock: Callable[..., Any], tmp_path: Path, text_of: TextOf
) -> None:
    file = tmp_path / "correo.eml"
    file.write_bytes(message(text_of(3), ("a.txt", text_of(4).encode())))
    sherlock("load", file, "--collection", "otra", "--ner-model", "none")
    for command in (("match",), ("load", "--dry-run")):
        ran = sherlock(*command, file, "--ner-model", "none", "--format", "json")
        assert "attachments_left_out" in ran.out, ran.err


def test_a_preview_says_what_load_would_say_of_a_short_text(
    sherlock: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "corto.txt"
    file.write_text("Recibido hoy")
    other = tmp_path / "largo.txt"
    other.write_text("Oficio " + " ".join(f"palabra{n}" for n in range(40)))
    sherlock("load", other, "--ner-model", "none")
    assert "[short]" in sherlock("load", "--dry-run", file, "--ner-model", "none").out
    assert "[short]" in sherlock("load", file, "--ner-model", "none").out
