"""The gate before OCR: one reader per file, whatever happens at the same time."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

DIGEST = hashlib.sha256(b"tutela").digest()


def claim(conn: psycopg.Connection, worker: str = "w1", **changes: Any) -> tuple[int, str]:
    arguments = {
        "sha256": DIGEST,
        "size": 6,
        "name": "tutela.pdf",
        "uri": "/in/tutela.pdf",
        "lease": "10 minutes",
        "retry": False,
        **changes,
    }
    row = conn.execute(
        "select document_id, outcome from sherlock.claim_file(p_sha256 => %(sha256)s,"
        " p_file_size_bytes => %(size)s, p_collection => 'default', p_name => %(name)s,"
        " p_source_uri => %(uri)s, p_worker => %(worker)s, p_lease => %(lease)s::interval,"
        " p_retry_failed => %(retry)s)",
        {**arguments, "worker": worker},
    ).fetchone()
    assert row is not None
    return row


def finish(conn: psycopg.Connection, document_id: int, worker: str, status: str = "ok") -> None:
    conn.execute(
        "select sherlock.finish_document(%s, %s, %s, p_content => %s, p_reason => %s)",
        [
            document_id,
            worker,
            status,
            None if status == "failed" else "Acción de tutela de Ana contra NUEVA EPS",
            "damaged" if status == "failed" else None,
        ],
    )


def test_new_file_is_claimed_and_then_known(conn: psycopg.Connection) -> None:
    document_id, outcome = claim(conn)
    assert outcome == "claimed"
    assert claim(conn, "w2") == (document_id, "busy")
    finish(conn, document_id, "w1")
    assert claim(conn, "w2", uri="/copy/otra.pdf") == (document_id, "exists")
    sources = conn.execute(
        "select source_uri from sherlock.document_sources where document_id = %s order by 1",
        [document_id],
    ).fetchall()
    assert sources == [("/copy/otra.pdf",), ("/in/tutela.pdf",)]


def test_same_digest_of_another_size_is_another_file(conn: psycopg.Connection) -> None:
    first, _ = claim(conn)
    second, outcome = claim(conn, size=7)
    assert outcome == "claimed"
    assert second != first


def test_find_exact_needs_digest_size_and_collection(conn: psycopg.Connection) -> None:
    document_id, _ = claim(conn)
    conn.execute("select sherlock.create_collection('otra')")

    def found(size: int, collection: str) -> list[Any]:
        return conn.execute(
            "select document_id from sherlock.find_exact(%s, %s, %s)", [DIGEST, size, collection]
        ).fetchall()

    assert found(6, "default") == [(document_id,)]
    assert found(7, "default") == []
    assert found(6, "otra") == []


def test_lapsed_claim_is_taken_over_and_the_late_reader_is_refused(
    conn: psycopg.Connection,
) -> None:
    document_id, _ = claim(conn, "dead", lease="-1 second")
    assert claim(conn, "alive") == (document_id, "claimed")
    with pytest.raises(psycopg.DatabaseError) as refused, conn.transaction():
        finish(conn, document_id, "dead")
    assert refused.value.sqlstate == "SH003"
    finish(conn, document_id, "alive")


def test_failed_file_is_read_again_only_on_request(conn: psycopg.Connection) -> None:
    document_id, _ = claim(conn)
    finish(conn, document_id, "w1", status="failed")
    assert claim(conn, "w2") == (document_id, "exists")
    assert claim(conn, "w2", retry=True) == (document_id, "claimed")
    finish(conn, document_id, "w2")
    row = conn.execute(
        "select status, reason from sherlock.documents where document_id = %s", [document_id]
    ).fetchone()
    assert row == ("ok", None)


def test_released_claims_leave_nothing(conn: psycopg.Connection) -> None:
    done, _ = claim(conn, "w1")
    finish(conn, done, "w1")
    claim(conn, "w1", size=7)
    claim(conn, "w2", size=8)
    assert conn.execute("select sherlock.release_claims('w1')").fetchone() == (1,)
    sizes = conn.execute(
        "select h.file_size_bytes from sherlock.file_hashes h join sherlock.documents d"
        " using (document_id) order by 1"
    ).fetchall()
    assert sizes == [(6,), (8,)]
    assert conn.execute("select count(*) from sherlock.file_hashes").fetchone() == (2,)


def test_renewed_claims_last_longer(conn: psycopg.Connection) -> None:
    claim(conn, "w1", lease="1 second")
    assert conn.execute("select sherlock.renew_claims('w1', '1 hour')").fetchone() == (1,)
    row = conn.execute(
        "select bool_and(leased_until > clock_timestamp() + interval '50 minutes')"
        " from sherlock.inbox where leased_by = 'w1'"
    ).fetchone()
    assert row == (True,)


def test_unknown_collection_says_how_to_make_it(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.DatabaseError) as failure:
        conn.execute("select * from sherlock.find_exact(%s, 6, 'nada')", [DIGEST])
    assert failure.value.sqlstate == "SH002"
    assert "create_collection" in (failure.value.diag.message_hint or "")


@pytest.mark.parametrize("sessions", [2, 8])
def test_racing_sessions_get_one_claim(database_url: str, sessions: int) -> None:
    rounds = 25
    barrier = threading.Barrier(sessions)

    def race(worker: int) -> list[str]:
        outcomes = []
        with psycopg.connect(database_url, autocommit=True) as conn:
            for number in range(rounds):
                barrier.wait()
                outcomes.append(claim(conn, f"w{worker}", size=number)[1])
        return outcomes

    with ThreadPoolExecutor(sessions) as pool:
        per_session = list(pool.map(race, range(sessions)))
    for outcomes in zip(*per_session, strict=True):
        assert sorted(outcomes) == ["busy"] * (sessions - 1) + ["claimed"]
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from sherlock.documents").fetchone() == (rounds,)


def test_second_session_waits_for_the_first_to_decide(database_url: str) -> None:
    """An uncommitted claim is neither granted twice nor believed before it is committed."""
    with (
        psycopg.connect(database_url) as first,
        psycopg.connect(database_url, autocommit=True) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        claim(first, "w1")
        waiting = pool.submit(claim, second, "w2")
        assert not waiting.done()
        first.rollback()
        assert waiting.result(timeout=10)[1] == "claimed"


def test_path_longer_than_an_index_row_is_cut_at_its_beginning(conn: psycopg.Connection) -> None:
    path = "/" + "".join(chr(0x10000 + (n * 7919) % 50000) for n in range(4000)) + "/a.pdf"
    document_id, outcome = claim(conn, uri=path)
    assert outcome == "claimed"
    stored = conn.execute(
        "select source_uri from sherlock.document_sources where document_id = %s", [document_id]
    ).fetchone()
    assert stored is not None
    assert path.endswith(stored[0])
    assert stored[0].endswith("/a.pdf")
