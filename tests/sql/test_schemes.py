"""Schemes side by side, and moving a collection from one to another, also if it is interrupted."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

BATCH = 500


def letter(seed: int, words: int = 40) -> str:
    """Return a text that shares next to nothing with the same letter of another seed."""
    return " ".join(
        hashlib.sha256(f"{seed} {position}".encode()).hexdigest()[:8] for position in range(words)
    )


def edited(text: str, *positions: int) -> str:
    words = text.split()
    for position in positions:
        words[position] = f"cambiado{position}"
    return " ".join(words)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def store(conn: psycopg.Connection, texts: list[str], collection: str = "default") -> list[int]:
    """Store and index texts at once, without a verdict on each."""
    ids = [
        row[0]
        for row in conn.execute(
            # With a state, so that they are not judged one by one.
            "insert into sherlock.documents (collection_id, doc_type, content, text_state)"
            " select sherlock.collection_id(%s), 'default', t.value #>> '{}', 'short'"
            " from jsonb_array_elements(%s) with ordinality as t (value, n) order by t.n"
            " returning document_id",
            [collection, Jsonb(texts)],
        ).fetchall()
    ]
    assert scalar(conn, "select sherlock.index_documents(%s)", ids) == len(texts)
    return ids


def matches(conn: psycopg.Connection, document_id: int) -> dict[int, tuple[str, float | None]]:
    rows = conn.execute(
        "select document_id, confidence, minhash_score from sherlock.find_duplicates(%s)",
        [document_id],
    ).fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def assert_signed_with(conn: psycopg.Connection, collection: str, scheme: str) -> None:
    """The whole of what is stored at level 1 is what the scheme says, and nothing else."""
    wrong = scalar(
        conn,
        "with expected as ("
        "  select d.document_id, d.collection_id, s.*,"
        "         sherlock.signature(sherlock.document_text(d.document_id), s.name) as signature"
        "  from sherlock.documents d"
        "  join sherlock.collections c using (collection_id)"
        "  join sherlock.shingle_schemes s using (scheme_id)"
        "  where c.name = %s and s.name = %s and d.text_state = 'indexed'"
        ")"
        " select count(*) filter (where e.signature is distinct from f.signature)"
        " from (select document_id, scheme_id, signature from expected) e"
        " full join (select s.* from sherlock.document_signatures s"
        "            join sherlock.documents d using (document_id)"
        "            where d.collection_id = sherlock.collection_id(%s)) f"
        "   using (document_id, scheme_id)",
        collection,
        scheme,
        collection,
    )
    assert wrong == 0


def assert_no_key_is_left_behind(conn: psycopg.Connection) -> None:
    """Every band key is one of a stored signature, and every signature has all of its keys."""
    stray, missing = conn.execute(
        "with expected as ("
        "  select k.key, s.document_id"
        "  from sherlock.document_signatures s"
        "  join sherlock.documents d using (document_id)"
        "  join sherlock.shingle_schemes c using (scheme_id)"
        "  cross join unnest(sherlock.band_keys("
        "      s.signature, s.scheme_id, d.collection_id, c.band_count, c.rows_per_band)) k (key)"
        ")"
        " select count(*) filter (where e is null), count(*) filter (where b is null)"
        " from sherlock.band_keys b full join expected e using (key, document_id)"
    ).fetchone() or (None, None)
    assert (stray, missing) == (0, 0)


@contextmanager
def connected(url: str) -> Iterator[tuple[psycopg.Connection, list[str]]]:
    """Connect as psql does, each statement a transaction; with what the server says."""
    with psycopg.connect(url, autocommit=True) as conn:
        said: list[str] = []
        conn.add_notice_handler(
            lambda diag: said.append(f"{diag.severity}: {diag.message_primary}")
        )
        conn.execute("set plpgsql.extra_errors = 'all'")
        yield conn, said


def test_a_scheme_has_the_defaults_of_the_first(conn: psycopg.Connection) -> None:
    scheme_id = scalar(conn, "select sherlock.create_scheme('otra')")
    columns = (
        "normaliser_version, shingle_kind, shingle_width, slot_count, band_count, rows_per_band,"
        " min_shingles, band_key_limit"
    )
    rows = conn.execute(
        f"select {columns} from sherlock.shingle_schemes".encode()
        + b" where scheme_id = %s or name = 'word-2'",
        [scheme_id],
    ).fetchall()
    assert len(rows) == 2
    assert rows[0] == rows[1]


def test_a_scheme_is_what_was_asked_for(conn: psycopg.Connection) -> None:
    scheme_id = scalar(conn, "select sherlock.create_scheme('char-9', 'char', 9, 23, 3, 50, 70)")
    row = conn.execute(
        "select name, shingle_kind, shingle_width, band_count, rows_per_band, min_shingles,"
        " band_key_limit from sherlock.shingle_schemes where scheme_id = %s",
        [scheme_id],
    ).fetchone()
    assert row == ("char-9", "char", 9, 23, 3, 50, 70)


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("create_scheme('word-2')", "SH014"),
        ("create_scheme('  ')", "SH014"),
        ("create_scheme(null)", "SH014"),
        ("create_scheme('x', 'sentence')", "SH010"),
        ("create_scheme('x', null)", "SH010"),
        ("create_scheme('x', 'word', 0)", "SH010"),
        ("create_scheme('x', 'word', 10)", "SH010"),
        ("create_scheme('x', 'skeleton', 0)", "SH010"),
        ("create_scheme('x', 'skeleton', 10)", "SH010"),
        ("create_scheme('x', 'char', 2)", "SH010"),
        ("create_scheme('x', 'char', 17)", "SH010"),
        ("create_scheme('x', 'word', null)", "SH010"),
        ("create_scheme('x', p_band_count => 0)", "SH011"),
        ("create_scheme('x', p_band_count => 33)", "SH011"),
        ("create_scheme('x', p_rows_per_band => 0)", "SH011"),
        ("create_scheme('x', p_rows_per_band => null)", "SH011"),
        ("create_scheme('x', p_band_count => 2000000000)", "SH011"),
        ("create_scheme('x', p_min_shingles => 0)", "SH016"),
        ("create_scheme('x', p_band_key_limit => 0)", "SH016"),
        ("create_scheme('x', p_min_shingles => null)", "SH016"),
    ],
)
def test_impossible_schemes_are_refused(conn: psycopg.Connection, call: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(f"select sherlock.{call}".encode())
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint


def test_schemes_side_by_side(conn: psycopg.Connection) -> None:
    """The same texts in two collections, each found within its own by its own shingles."""
    scalar(conn, "select sherlock.create_scheme('char-9', 'char', 9)")
    conn.execute("select sherlock.create_collection('chars', 'text', 'char-9')")
    original = letter(1, 100)
    texts = [original, edited(original, 10, 50), letter(2, 100)]
    words, chars = store(conn, texts), store(conn, texts, "chars")
    assert_no_key_is_left_behind(conn)
    for ids, collection, scheme in ((words, "default", "skeleton-2"), (chars, "chars", "char-9")):
        assert_signed_with(conn, collection, scheme)
        assert set(matches(conn, ids[0])) == {ids[1]}
    keys = "select array_agg(key) from sherlock.band_keys where document_id = any(%s)"
    assert not set(scalar(conn, keys, words)) & set(scalar(conn, keys, chars))


def test_moving_a_collection(database_url: str) -> None:
    with connected(database_url) as (conn, said):
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9, 23, 3)")
        conn.execute("select sherlock.create_collection('otra', 'text')")
        original = letter(1, 100)
        texts = [original, edited(original, 10, 50), original.upper(), letter(2, 100)]
        ids = store(conn, texts)
        store(conn, texts, "otra")
        before = scalar(conn, "select count(*) from sherlock.band_keys")
        assert before == 8 * 32

        conn.execute("call sherlock.use_scheme('default', 'char-9')")
        assert said == ["NOTICE: 4 documents signed with scheme char-9"]
        assert_signed_with(conn, "default", "char-9")
        assert_signed_with(conn, "otra", "word-2")
        assert_no_key_is_left_behind(conn)
        assert scalar(conn, "select count(*) from sherlock.band_keys") == 4 * 23 + 4 * 32
        found = matches(conn, ids[1])
        assert set(found) == {ids[0], ids[2]}
        assert all(jaccard == found[ids[0]][1] for _, jaccard in found.values())

        conn.execute("call sherlock.use_scheme('default', 'char-9')")
        assert said[1:] == ["NOTICE: 0 documents signed with scheme char-9"]
        conn.execute("call sherlock.use_scheme('default', 'word-2')")
        assert_signed_with(conn, "default", "word-2")
        assert_no_key_is_left_behind(conn)
        conn.execute("delete from sherlock.documents")
        assert scalar(conn, "select count(*) from sherlock.band_keys") == 0


def test_a_move_changes_who_is_too_short(database_url: str) -> None:
    with connected(database_url) as (conn, said):
        conn.execute("select sherlock.create_scheme('long', p_min_shingles => 60)")
        conn.execute("select sherlock.create_scheme('brief', p_min_shingles => 5)")
        ids = store(conn, [letter(1, 10), letter(2, 40), letter(3, 80), "", "dos palabras"])

        def states() -> list[str]:
            rows = conn.execute(
                "select text_state from sherlock.documents where document_id = any(%s)"
                " order by document_id",
                [ids],
            ).fetchall()
            return [row[0] for row in rows]

        assert states() == ["short", "indexed", "indexed", "empty", "short"]
        for scheme, expected in (
            ("long", ["short", "short", "indexed", "empty", "short"]),
            ("brief", ["indexed", "indexed", "indexed", "empty", "short"]),
        ):
            conn.execute("call sherlock.use_scheme('default', %s)", [scheme])
            assert states() == expected
            assert_signed_with(conn, "default", scheme)
            assert_no_key_is_left_behind(conn)
        assert said == [
            "NOTICE: 2 documents signed with scheme long",
            "NOTICE: 3 documents signed with scheme brief",
        ]


def test_an_interrupted_move_is_resumed(database_url: str) -> None:
    """The second batch fails: the first stays, searches stay right, another call ends the work."""
    original = letter(1)
    copies = 2
    with connected(database_url) as (conn, said):
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        signed = store(conn, [original, *(letter(seed) for seed in range(100, 99 + BATCH))])
        late = store(conn, [original] * copies + [edited(original, 5), letter(9)])
        conn.execute(
            "create function fail() returns trigger language plpgsql as"
            " $$ begin raise 'the disk is full'; end $$"
        )
        conn.execute(
            f"create trigger fail before insert on sherlock.document_signatures for each row"
            f" when (new.document_id = {late[-1]}) execute function fail()".encode()
        )
        with pytest.raises(psycopg.errors.RaiseException):
            conn.execute("call sherlock.use_scheme('default', 'char-9')")

        by_scheme = dict(
            conn.execute(
                "select c.name, count(*) from sherlock.document_signatures"
                " join sherlock.shingle_schemes c using (scheme_id) group by c.name"
            ).fetchall()
        )
        assert by_scheme == {"char-9": BATCH, "skeleton-2": len(late)}
        assert_no_key_is_left_behind(conn)
        # Exact copies are found whoever is signed; what is not signed yet is not compared.
        assert {
            found for found, (how, _) in matches(conn, signed[0]).items() if how == "EXACT"
        } == {*late[:copies]}
        assert matches(conn, late[2]) == {}
        with pytest.raises(psycopg.Error) as caught:
            conn.execute("select sherlock.jaccard_of_documents(%s, %s)", [signed[0], late[2]])
        assert caught.value.sqlstate == "SH017"

        conn.execute("drop trigger fail on sherlock.document_signatures")
        conn.execute("call sherlock.use_scheme('default', 'char-9')")
        assert said == [f"NOTICE: {len(late)} documents signed with scheme char-9"]
        assert_signed_with(conn, "default", "char-9")
        assert_no_key_is_left_behind(conn)
        assert set(matches(conn, late[2])) == {signed[0], *late[:copies]}


def test_rows_of_watched_tables_move_too(database_url: str) -> None:
    """Their text is in the user's table only."""
    with connected(database_url) as (conn, said):
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        conn.execute("create table public.cartas (id bigint primary key, cuerpo text)")
        conn.execute("select sherlock.watch('public.cartas', 'id', array['cuerpo'])")
        conn.execute(
            "insert into public.cartas values (1, %s), (2, %s), (3, 'muy corta')",
            [letter(1), letter(2)],
        )
        stored = "select count(content) from sherlock.documents"
        assert scalar(conn, stored) == 0
        said.clear()
        conn.execute("call sherlock.use_scheme('public.cartas', 'char-9')")
        assert said == ["NOTICE: 2 documents signed with scheme char-9"]
        assert_signed_with(conn, "public.cartas", "char-9")
        assert_no_key_is_left_behind(conn)


def test_documents_whose_text_is_gone_are_reported(database_url: str) -> None:
    with connected(database_url) as (conn, said):
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        _, gone = store(conn, [letter(1), letter(2)])
        conn.execute("alter table sherlock.documents disable trigger user")
        conn.execute("update sherlock.documents set content = null where document_id = %s", [gone])
        conn.execute("call sherlock.use_scheme('default', 'char-9')")
        assert said[0] == "NOTICE: 1 documents signed with scheme char-9"
        assert said[1].startswith("WARNING: 1 documents have no signature of scheme char-9")
        assert_no_key_is_left_behind(conn)


def test_a_move_inside_a_transaction_is_refused(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
    with pytest.raises(psycopg.errors.InvalidTransactionTermination) as caught, conn.transaction():
        conn.execute("call sherlock.use_scheme('default', 'char-9')")
    assert "sherlock.use_scheme() commits as it goes" in str(caught.value)
    assert "without begin" in (caught.value.diag.message_hint or "")
    scheme = (
        "select s.name from sherlock.collections c join sherlock.shingle_schemes s"
        " using (scheme_id) where c.name = 'default'"
    )
    assert scalar(conn, scheme) == "skeleton-2"


@pytest.mark.parametrize("call", ["use_scheme('default', 'char-9')", "refresh_vocabulary()"])
def test_transaction_blocks_are_told_however_they_come(database_url: str, call: str) -> None:
    """All in one simple query, or from a block of code."""
    with connected(database_url) as (conn, _):
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        store(conn, [letter(1)])
        quoted = call.replace("'", "''")
        for query in (
            f"begin; call sherlock.{call}; commit",
            f"begin; do 'begin call sherlock.{quoted}; end'",
        ):
            with pytest.raises(psycopg.errors.InvalidTransactionTermination) as caught:
                conn.execute(query.encode())
            assert caught.value.diag.message_hint
            conn.execute("rollback")
        conn.execute(f"do 'begin call sherlock.{quoted}; end'".encode())
        conn.execute(f"call sherlock.{call}".encode())


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [(("nada", "word-2"), "SH002"), (("default", "nada"), "SH015"), (("default", None), "SH015")],
)
def test_a_move_to_nowhere_is_refused(
    conn: psycopg.Connection, arguments: tuple[str, str | None], sqlstate: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("call sherlock.use_scheme(%s, %s)", arguments)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint


def wait_for_lock(conn: psycopg.Connection, thread: threading.Thread) -> None:
    """Wait until some session waits for a lock: the thread's, for nobody else is there."""
    for _ in range(200):
        if scalar(conn, "select count(*) from pg_locks where not granted"):
            return
        assert thread.is_alive()
        time.sleep(0.02)
    raise AssertionError("nobody waits")


def test_a_move_waits_for_writers_that_saw_the_old_scheme(database_url: str) -> None:
    with connected(database_url) as (conn, _), psycopg.connect(database_url) as writer:
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        store(writer, [letter(1)])
        said: list[str] = []

        def move() -> None:
            with connected(database_url) as (mover, heard):
                mover.execute("call sherlock.use_scheme('default', 'char-9')")
                said.extend(heard)

        thread = threading.Thread(target=move)
        thread.start()
        wait_for_lock(conn, thread)
        writer.commit()
        thread.join(timeout=30)
        assert said == ["NOTICE: 1 documents signed with scheme char-9"]
        assert_signed_with(conn, "default", "char-9")
        assert_no_key_is_left_behind(conn)


def test_two_moves_at_once_share_the_work(database_url: str) -> None:
    failures: list[BaseException] = []
    signed: list[str] = []
    with connected(database_url) as (conn, _):
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        texts = [letter(seed, 30) for seed in range(BATCH + 100)]
        store(conn, texts)

        def move() -> None:
            try:
                with connected(database_url) as (mover, heard):
                    mover.execute("call sherlock.use_scheme('default', 'char-9')")
                    signed.extend(heard)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=move) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert failures == []
        assert sum(int(text.split()[1]) for text in signed) == len(texts)
        assert_signed_with(conn, "default", "char-9")
        assert_no_key_is_left_behind(conn)


def test_a_move_that_somebody_else_overrode_ends(conn: psycopg.Connection) -> None:
    scheme_id = scalar(conn, "select sherlock.create_scheme('char-9', 'char', 9)")
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(
            "select sherlock._sign_again(sherlock.collection_id('default'), %s, 0, 10)",
            [scheme_id],
        )
    assert caught.value.sqlstate == "SH019"
    assert caught.value.diag.message_hint


def move_status(conn: psycopg.Connection, collection: str) -> tuple[Any, ...]:
    row = conn.execute(
        "select scheme, is_moving, moving_since is not null, signed_count, unsigned_count"
        " from sherlock.schemes where collection = %s",
        [collection],
    ).fetchone()
    assert row is not None
    return row


def stored_pairs(conn: psycopg.Connection) -> set[tuple[str, str]]:
    """Return the names of the documents of each stored match."""
    return set(conn.execute("select name, matched_name from sherlock.duplicate_pairs").fetchall())


def test_what_arrives_during_an_interrupted_move_is_judged_again(database_url: str) -> None:
    """A table that rejects: the near-duplicate passes meanwhile, and is flagged at the end."""
    with connected(database_url) as (conn, said):
        conn.execute(
            "select sherlock.create_scheme('y1', p_band_count => 42, p_rows_per_band => 3)"
        )
        conn.execute("create table public.nx (id bigint primary key, cuerpo text)")
        conn.execute("select sherlock.watch('public.nx', 'id', array['cuerpo'], 'reject')")
        conn.execute(
            "insert into public.nx"
            " select * from jsonb_to_recordset(%s) as r (id bigint, cuerpo text)",
            [Jsonb([{"id": n, "cuerpo": letter(n, 30)} for n in range(BATCH + 20)])],
        )
        last = BATCH + 19
        near = edited(letter(last, 30), 3)
        with pytest.raises(psycopg.Error):
            conn.execute("insert into public.nx values (9001, %s)", [near])
        conn.execute(
            "create function fail() returns trigger language plpgsql as"
            " $$ begin raise 'the disk is full'; end $$"
        )
        newest = scalar(conn, "select max(document_id) from sherlock.documents")
        conn.execute(
            f"create trigger fail before insert on sherlock.document_signatures for each row"
            f" when (new.document_id = {newest}) execute function fail()".encode()
        )
        assert move_status(conn, "public.nx") == ("word-2", False, False, BATCH + 20, 0)
        with pytest.raises(psycopg.errors.RaiseException):
            conn.execute("call sherlock.use_scheme('public.nx', 'y1')")
        assert move_status(conn, "public.nx") == ("y1", True, True, BATCH, 20)
        conn.execute("drop trigger fail on sherlock.document_signatures")

        conn.execute("insert into public.nx values (9001, %s)", [near])
        assert stored_pairs(conn) == set()
        said.clear()
        conn.execute("call sherlock.use_scheme('public.nx', 'y1')")
        assert stored_pairs(conn) == {("9001", str(last))}
        assert said == [
            "NOTICE: 20 documents signed with scheme y1",
            "NOTICE: 1 documents that were judged during the move are judged again",
        ]
        assert move_status(conn, "public.nx") == ("y1", False, False, BATCH + 21, 0)
        said.clear()
        conn.execute("call sherlock.use_scheme('public.nx', 'y1')")
        assert said == ["NOTICE: 0 documents signed with scheme y1"]


def test_an_unfinished_move_goes_on_in_the_next(database_url: str) -> None:
    """Moved on, or back: what was judged since the first move began is judged again."""
    with connected(database_url) as (conn, said):
        for scheme in ("a", "b"):
            conn.execute("select sherlock.create_scheme(%s)", [scheme])
        store(conn, [letter(1)])
        conn.execute("select sherlock._set_scheme(1, (sherlock._scheme('a')).scheme_id)")
        since = scalar(conn, "select moving_since from sherlock.schemes where scheme = 'a'")
        late = scalar(
            conn,
            "select document_id from sherlock.add_document(%s, p_doc_type => 'default')",
            edited(letter(1), 5),
        )
        assert scalar(conn, "select count(*) from sherlock.matches") == 0
        conn.execute("select sherlock._set_scheme(1, (sherlock._scheme('b')).scheme_id)")
        assert since == scalar(conn, "select moving_since from sherlock.schemes where scheme = 'b'")
        conn.execute("call sherlock.use_scheme('default', 'word-2')")
        assert said[-1] == "NOTICE: 1 documents that were judged during the move are judged again"
        assert scalar(conn, "select array_agg(document_id) from sherlock.matches") == [late]


def test_the_end_of_a_move_waits_for_those_who_judge(database_url: str) -> None:
    """A verdict that was made before all were signed, and is committed after."""
    with connected(database_url) as (conn, _), psycopg.connect(database_url) as judge:
        conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
        first, second = store(conn, [letter(1), edited(letter(1), 5)])
        conn.execute("select sherlock._set_scheme(1, (sherlock._scheme('char-9')).scheme_id)")
        judge.execute("select sherlock.record_detection(%s)", [second])
        thread_said: list[str] = []

        def move() -> None:
            with connected(database_url) as (mover, heard):
                mover.execute("call sherlock.use_scheme('default', 'char-9')")
                thread_said.extend(heard)

        thread = threading.Thread(target=move)
        thread.start()
        wait_for_lock(conn, thread)
        judge.commit()
        thread.join(timeout=30)
        assert (
            "NOTICE: 1 documents that were judged during the move are judged again" in thread_said
        )
        assert conn.execute(
            "select document_id, matched_document_id from sherlock.matches"
        ).fetchall() == [(second, first)]


def test_no_pair_is_lost_between_a_move_and_writers(database_url: str) -> None:
    """Writers bring near-duplicates of documents that are being signed again: all are stored."""
    size = 2 * BATCH
    with connected(database_url) as (conn, _):
        conn.execute(
            "select sherlock.create_scheme('y1', p_band_count => 42, p_rows_per_band => 3)"
        )
        conn.execute("select sherlock.create_collection('otra', 'text')")
        ids = store(conn, [letter(seed, 30) for seed in range(size)], "otra")
        conn.execute(
            "update sherlock.documents set name = document_id - %s where document_id = any(%s)",
            [ids[0], ids],
        )
        planted: set[tuple[str, str]] = set()
        is_over = threading.Event()
        failures: list[BaseException] = []

        def write(offset: int) -> None:
            try:
                with connected(database_url) as (writer, _):
                    for number in range(offset, size, 2):
                        if is_over.is_set():
                            return
                        seed = size - 1 - number
                        writer.execute(
                            "select sherlock.add_document(%s, %s, 'otra', 'default')",
                            [edited(letter(seed, 30), 3), f"copia {seed}"],
                        )
                        planted.add((f"copia {seed}", str(seed)))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=[offset]) for offset in range(2)]
        for thread in threads:
            thread.start()
        conn.execute("call sherlock.use_scheme('otra', 'y1')")
        is_over.set()
        for thread in threads:
            thread.join(timeout=60)
        assert failures == []
        assert len(planted) > 10
        assert planted - stored_pairs(conn) == set()
        assert_signed_with(conn, "otra", "y1")


def test_roles_without_rights_are_told_who_may(conn: psycopg.Connection) -> None:
    conn.execute("create role sherlock_test_reader")
    conn.execute("grant usage on schema sherlock to sherlock_test_reader")
    conn.execute("grant select on all tables in schema sherlock to sherlock_test_reader")
    scheme_id = scalar(conn, "select sherlock.create_scheme('char-9', 'char', 9)")
    conn.execute("set local role sherlock_test_reader")
    for call in ("create_scheme('otra')", f"_set_scheme(1, {scheme_id})"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught, conn.transaction():
            conn.execute(f"select sherlock.{call}".encode())
        assert str(caught.value).startswith("you may not")
        assert "the owner of the schema may, " in (caught.value.diag.message_hint or "")
