"""Files that were inside others."""

from __future__ import annotations

from typing import Any


def test_attachments_are_documents_of_their_own(queue: Any) -> None:
    queue.conn.execute("select sherlock.create_collection('otra')")
    mail = queue.row(
        "insert into sherlock.inbox (content, collection_id, priority, ocr)"
        " values ('mail', sherlock.collection_id('otra'), 6, 'never') returning *"
    )
    queue.lease()
    queued = queue.attach(mail.document_id, 1, b"one")
    leased = queue.attach(mail.document_id, 2, b"two", worker="w", depth=2)
    copy = queue.attach(mail.document_id, 3, b"one", worker="w")
    assert (queued.state, leased.state, copy.state) == ("queued", "leased", "queued")
    assert (leased.leased_by, leased.attempts, leased.depth) == ("w", 1, 2)
    assert (copy.gate, copy.document_id) == ("hit", queued.document_id)
    for item in (queued, leased, copy):
        assert (item.priority, item.ocr, item.collection_id) == (6, "never", mail.collection_id)
        assert item.parent_document_id == mail.document_id
    assert queue.links() == [
        (mail.document_id, 1, queued.document_id, "1.pdf"),
        (mail.document_id, 2, leased.document_id, "2.pdf"),
        (mail.document_id, 3, queued.document_id, "3.pdf"),
    ]
    queue.read(mail.document_id)
    queue.read(leased.document_id, queue.OTHER_TEXT)
    assert queue.attach(mail.document_id, 2, b"two").state == "done"
    assert len(queue.links()) == 3
    queue.conn.execute(
        "delete from sherlock.documents where document_id = %s", [leased.document_id]
    )
    assert [link.ordinal for link in queue.links()] == [1, 3]
    queue.conn.execute("delete from sherlock.documents where document_id = %s", [mail.document_id])
    assert queue.links() == []
    assert queue.document(queued.document_id).status == "pending"


def test_container_that_contains_itself_ends_with_itself(queue: Any) -> None:
    quine = queue.send(b"quine.zip")
    queue.lease()
    inner = queue.attach(quine.document_id, 1, b"quine.zip", worker="w")
    assert (inner.gate, inner.state) == ("hit", "queued")
    assert inner.document_id == quine.document_id
    queue.read(quine.document_id)
    assert queue.states(quine, inner) == ["done", "done"]
    queue.conn.execute("delete from sherlock.documents")
    assert queue.links() == []


def test_attachment_of_nothing_is_refused(queue: Any) -> None:
    with queue.is_refused("SH001"):
        queue.attach(1_000_000, 1, b"x")


def test_attachments_of_what_is_read_survive_an_interrupted_loader(queue: Any) -> None:
    read, unread = queue.claim(b"read", "loader"), queue.claim(b"unread", "loader")
    kept = queue.attach(read.document_id, 1, b"a", worker="loader")
    queue.attach(unread.document_id, 1, b"b", worker="loader")
    queue.store(read.document_id, worker="loader")
    queue.conn.execute("select sherlock.release_claims('loader')")
    rows = queue.rows("select document_id, state from sherlock.inbox order by item_id")
    assert rows == [(read.document_id, "stored"), (kept.document_id, "queued")]
