"""Clusters: whatever order matches come and go in, they are what making them anew would give."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import networkx as nx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import IsolationLevel

CLASSES = ("EXACT", "HIGH", "MEDIUM", "LOW")
DOCUMENTS = 9
RETRYABLE = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
Clusters = dict[int, int]


def add_documents(conn: psycopg.Connection, count: int) -> list[int]:
    """Add documents without a text: what matches them is told."""
    conn.execute("set session_replication_role = replica")
    rows = conn.execute(
        "insert into sherlock.documents (doc_type, name, word_count)"
        " select 'default', 'doc ' || n, 10 + n * 7 %% 5 from generate_series(1, %s) as n"
        " returning document_id",
        [count],
    ).fetchall()
    conn.execute("reset session_replication_role")
    return [row[0] for row in rows]


def match(conn: psycopg.Connection, one: int, other: int, confidence: str | None = "HIGH") -> None:
    """Store a match of the two, change its class, or take it away."""
    pair = [max(one, other), min(one, other)]
    if confidence is None:
        conn.execute(
            "delete from sherlock.matches where document_id = %s and matched_document_id = %s", pair
        )
        return
    conn.execute(
        "insert into sherlock.matches (document_id, matched_document_id, confidence, action,"
        " final_score, has_conflict, evidence) values (%s, %s, %s, 'REVIEW', 0.9, false, '{}')"
        " on conflict (document_id, matched_document_id) do update"
        " set confidence = excluded.confidence",
        [*pair, confidence],
    )


def rebuild(conn: psycopg.Connection, arguments: str = "", *parameters: object) -> int:
    row = conn.execute(f"select sherlock.rebuild_clusters({arguments})", parameters).fetchone()
    assert row is not None
    return int(row[0])


def members(conn: psycopg.Connection) -> Clusters:
    """Return the cluster of each document that is in one, as if the transaction had committed."""
    conn.execute("set constraints all immediate")
    conn.execute("set constraints all deferred")
    return dict(
        conn.execute("select document_id, cluster_id from sherlock.cluster_members").fetchall()
    )


def graph(conn: psycopg.Connection, min_class: str = "HIGH") -> nx.Graph[int]:
    edges = conn.execute(
        "select document_id, matched_document_id from sherlock.matches where confidence = any(%s)",
        [list(CLASSES[: CLASSES.index(min_class) + 1])],
    ).fetchall()
    return nx.Graph(edges)


def expected(edges: nx.Graph[int], ranking: list[int], mode: str) -> Clusters:
    """Return the clusters by another way: greedily, or by networkx's components."""
    place = {document: n for n, document in enumerate(ranking)}
    clusters: Clusters = {}
    if mode == "connected":
        for component in nx.connected_components(edges):
            survivor = min(component, key=place.__getitem__)
            clusters |= dict.fromkeys(component, survivor)
        return clusters
    taken: set[int] = set()
    for document in ranking:
        if document in taken or document not in edges:
            continue
        followers = set(edges[document]) - taken
        taken |= {document, *followers}
        if followers:
            clusters |= dict.fromkeys({document, *followers}, document)
    return clusters


def ranking(conn: psycopg.Connection, order: str) -> list[int]:
    return [
        row[0]
        for row in conn.execute(
            f"select document_id from sherlock.documents order by {order}, document_id"
        ).fetchall()
    ]


@dataclass(frozen=True)
class Stored:
    url: str
    ids: list[int]


@pytest.fixture(scope="module")
def stored(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[Stored]:
    with clone_database() as url:
        with psycopg.connect(url) as conn:
            ids = add_documents(conn, DOCUMENTS)
        yield Stored(url, ids)


@pytest.fixture
def session(stored: Stored) -> Iterator[psycopg.Connection]:
    with psycopg.connect(stored.url) as conn:
        yield conn
        conn.rollback()


numbers = st.integers(0, DOCUMENTS - 1)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("match"), numbers, numbers, st.sampled_from(["EXACT", "HIGH", "HIGH"])),
        st.tuples(st.just("match"), numbers, numbers, st.sampled_from([*CLASSES, None])),
        st.tuples(st.just("words"), numbers, st.integers(1, 20)),
        st.tuples(st.just("delete"), numbers),
        st.tuples(st.just("commit")),
    ),
    min_size=5,
    max_size=40,
)


def take(conn: psycopg.Connection, ids: list[int], step: tuple[Any, ...]) -> None:
    if step[0] == "match" and step[1] != step[2]:
        there = conn.execute(
            "select count(*) from sherlock.documents where document_id = any(%s)",
            [[ids[step[1]], ids[step[2]]]],
        ).fetchone()
        if there == (2,):
            match(conn, ids[step[1]], ids[step[2]], step[3])
    elif step[0] == "words":
        conn.execute(
            "update sherlock.documents set word_count = %s where document_id = %s",
            [step[2], ids[step[1]]],
        )
    elif step[0] == "delete":
        conn.execute("delete from sherlock.documents where document_id = %s", [ids[step[1]]])


@given(steps, st.sampled_from(["principal", "connected"]), st.sampled_from(["oldest", "longest"]))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_followed_is_made_anew(
    stored: Stored, session: psycopg.Connection, sequence: Any, mode: str, survivor: str
) -> None:
    order = {"oldest": "document_id", "longest": "word_count desc"}[survivor]
    arguments = "p_mode => %s, p_survivor => %s, p_keep => true"
    with session.transaction(force_rollback=True):
        rebuild(session, arguments, mode, survivor)
        for step in [*sequence, ("commit",)]:
            take(session, stored.ids, step)
            if step[0] == "commit":
                wanted = expected(graph(session), ranking(session, order), mode)
                assert members(session) == wanted
        assert rebuild(session, arguments, mode, survivor) == len(set(wanted.values()))
        assert members(session) == wanted
        assert session.execute("select count(*) from sherlock.cluster_changes").fetchone() == (0,)


def chain(conn: psycopg.Connection, count: int) -> list[int]:
    ids = add_documents(conn, count)
    for one, other in zip(ids, ids[1:], strict=False):
        match(conn, one, other)
    return ids


def test_principals_have_only_what_matches_them(conn: psycopg.Connection) -> None:
    a, b, c, d = chain(conn, 4)
    assert rebuild(conn) == 2
    assert members(conn) == {a: a, b: a, c: c, d: c}
    assert rebuild(conn, "p_mode => 'connected'") == 1
    assert members(conn) == {a: a, b: a, c: a, d: a}


def test_classes_that_count(conn: psycopg.Connection) -> None:
    a, b, c = add_documents(conn, 3)
    match(conn, a, b, "MEDIUM")
    match(conn, b, c, "EXACT")
    assert rebuild(conn) == 1
    assert members(conn) == {b: b, c: b}
    rebuild(conn, "p_min_class => 'MEDIUM'")
    assert members(conn) == {a: a, b: a}


@pytest.mark.parametrize(
    ("survivor", "place"),
    [
        ("oldest", 0),
        ("newest", 3),
        ("longest", 1),
        ("best_read", 2),
        ("word_count", 0),
        ("Page_Count  DESC", 3),
        ("created_at", 2),
    ],
)
def test_survivors_by_policy(conn: psycopg.Connection, survivor: str, place: int) -> None:
    ids = chain(conn, 4)
    for one in ids:
        for other in ids[: ids.index(one)]:
            match(conn, one, other)
    conn.execute(
        "update sherlock.documents as d set word_count = v.words, page_count = v.pages,"
        " created_at = now() - v.age * interval '1 day', flags = v.flags::text[]"
        " from (values (0, 5, 1, 0, '{repaired}'), (1, 90, 2, 1, '{repaired}'),"
        "              (2, 50, 3, 9, '{}'), (3, 60, 4, 2, '{low_yield}')) as v (n, words, pages,"
        " age, flags) where d.document_id = (%s::bigint[])[v.n + 1]",
        [ids],
    )
    assert rebuild(conn, "p_survivor => %s", survivor) == 1
    assert set(members(conn).values()) == {ids[place]}


def test_pages_decide_between_readings_with_the_same_flags(conn: psycopg.Connection) -> None:
    first, second = chain(conn, 2)
    conn.execute(
        "insert into sherlock.document_pages (document_id, page_number, method, char_count,"
        " quality) values (%s, 1, 'ocr', 10, 0.7), (%s, 1, 'ocr', 10, 0.9)",
        [first, second],
    )
    rebuild(conn, "p_survivor => 'best_read'")
    assert set(members(conn).values()) == {second}


def test_documents_by_hand_survive_before_all_others(conn: psycopg.Connection) -> None:
    a, b, c = chain(conn, 3)
    match(conn, a, c)
    rebuild(conn, "p_preferred => %s", [c, b])
    assert set(members(conn).values()) == {c}


def test_every_cluster_has_its_survivor_whoever_writes(stored: Stored) -> None:
    """Enforced by constraints when the transaction commits, not by the functions alone."""
    a, b, c = stored.ids[:3]
    for statement in (
        f"delete from sherlock.cluster_members where document_id = {a}",
        f"update sherlock.cluster_members set cluster_id = {c} where document_id = {a}",
        f"insert into sherlock.cluster_members values ({c}, 1, {b})",
    ):
        with (
            psycopg.connect(stored.url) as conn,
            conn.transaction(force_rollback=True),
        ):
            match(conn, a, b)
            rebuild(conn)
            assert members(conn) == {a: a, b: a}
            conn.execute(statement)
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                conn.execute("set constraints all immediate")


def test_clusters_that_are_not_kept_stay_as_they_were(conn: psycopg.Connection) -> None:
    a, b, c = chain(conn, 3)
    rebuild(conn)
    before = members(conn)
    match(conn, a, c)
    assert members(conn) == before == {a: a, b: a}
    rebuild(conn, "p_keep => true")
    match(conn, a, c, None)
    assert members(conn) == {a: a, b: a}
    rebuild(conn)
    match(conn, a, c)
    assert members(conn) == {a: a, b: a, c: a}, "kept as before"
    rebuild(conn, "p_keep => false")
    match(conn, a, b, None)
    assert members(conn) == {a: a, b: a, c: a}


TEXT = " ".join(f"palabra{n} de la carta{n % 7}" for n in range(40))


def test_documents_that_come_change_and_go(conn: psycopg.Connection) -> None:
    rebuild(conn, "p_keep => true")

    def insert(content: str) -> int:
        row = conn.execute(
            "insert into sherlock.documents (content) values (%s) returning document_id", [content]
        ).fetchone()
        assert row is not None
        return int(row[0])

    first, second, other = insert(TEXT), insert(TEXT + " nueva"), insert("Otra cosa " * 9)
    assert members(conn) == {first: first, second: first}
    third = insert(TEXT + " tercera")
    assert members(conn) == {first: first, second: first, third: first}
    conn.execute("update sherlock.documents set content = 'Nada' where document_id = %s", [second])
    assert members(conn) == {first: first, third: first}
    conn.execute("delete from sherlock.documents where document_id = %s", [first])
    assert members(conn) == {}
    assert other not in members(conn)


def test_rows_of_watched_tables_are_clustered_too(conn: psycopg.Connection) -> None:
    conn.execute("create table public.cartas (id bigint primary key, cuerpo text)")
    conn.execute("select sherlock.watch('public.cartas', p_key => 'id', p_text => array['cuerpo'])")
    collection = conn.execute("select collection from sherlock.watched").fetchone()
    assert collection is not None
    rebuild(conn, "%s, p_keep => true", collection[0])
    conn.execute("insert into public.cartas values (1, %s), (2, %s)", [TEXT, TEXT + " bis"])
    assert sorted(members(conn).values()) == [min(members(conn))] * 2
    conn.execute("delete from public.cartas where id = 1")
    assert members(conn) == {}


def test_view_says_how_tightly_clusters_hang_together(session: psycopg.Connection) -> None:
    ids = [row[0] for row in session.execute("select document_id from sherlock.documents")]
    rng = random.Random(5)
    shapes = []
    for edge_count in (8, 9, 11, 14, 20, 36):
        with session.transaction(force_rollback=True):
            for one, other in nx.gnm_random_graph(DOCUMENTS, edge_count, seed=rng).edges:
                match(session, ids[one], ids[other])
            rebuild(session, "p_mode => 'connected'")
            edges = graph(session)
            rows = session.execute(
                "select cluster_id, member_ids, member_count, edge_count, density, bridge_count,"
                " diameter from sherlock.duplicate_clusters"
            ).fetchall()
            assert len(rows) == nx.number_connected_components(edges)
            for cluster_id, member_ids, member_count, edge_number, density, bridges, far in rows:
                part = edges.subgraph(member_ids)
                assert cluster_id in member_ids
                assert (member_count, edge_number) == (len(part), part.number_of_edges())
                assert density == pytest.approx(nx.density(part))
                assert bridges == len(list(nx.bridges(part)))
                assert far == nx.diameter(part)
                shapes.append((bridges, far))
    assert len({bridges for bridges, _ in shapes}) > 2
    assert len({far for _, far in shapes}) > 2


def test_who_writes_to_a_watched_table_needs_no_rights(database_url: str) -> None:
    """When his transaction commits, the clusters follow with the rights of their owner."""
    with psycopg.connect(database_url) as conn:
        role = f"{conn.info.dbname}_writer"
        conn.execute("create table public.cartas (id bigint primary key, cuerpo text)")
        conn.execute(
            "select sherlock.watch('public.cartas', p_key => 'id', p_text => array['cuerpo'])"
        )
        collection = conn.execute("select collection from sherlock.watched").fetchone()
        assert collection is not None
        rebuild(conn, "%s, p_keep => true", collection[0])
        conn.execute(f"create role {role}; grant insert on public.cartas to {role}")
    try:
        with psycopg.connect(database_url, options=f"-c role={role}") as writer:
            writer.execute(
                "insert into public.cartas values (1, %s), (2, %s)", [TEXT, TEXT + " bis"]
            )
        with psycopg.connect(database_url) as conn:
            assert len(members(conn)) == 2
    finally:
        with psycopg.connect(database_url) as conn:
            conn.execute(f"drop owned by {role}; drop role {role}")


def test_documents_inserted_at_the_same_moment_share_a_cluster(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        rebuild(conn, "p_keep => true")
    start = threading.Barrier(3)

    def insert(number: int) -> None:
        with psycopg.connect(database_url, autocommit=True) as conn:
            start.wait()
            for n in range(4):
                conn.execute(
                    "insert into sherlock.documents (content) values (%s)",
                    [f"{TEXT} sesión{number} carta{n}"],
                )

    with ThreadPoolExecutor(3) as sessions:
        for future in [sessions.submit(insert, number) for number in range(3)]:
            future.result(timeout=60)
    with psycopg.connect(database_url) as conn:
        kept = members(conn)
        assert len(kept) == 12
        assert kept == expected(graph(conn), sorted(kept), "principal")
        rebuild(conn)
        assert members(conn) == kept


@pytest.mark.parametrize("level", [IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ])
@pytest.mark.parametrize("mode", ["principal", "connected"])
def test_sessions_at_the_same_moment(database_url: str, level: IsolationLevel, mode: str) -> None:
    with psycopg.connect(database_url) as conn:
        ids = add_documents(conn, 30)
        rebuild(conn, "p_mode => %s, p_keep => true", mode)
    start = threading.Barrier(4)

    def change(number: int) -> None:
        rng = random.Random(number)
        with psycopg.connect(database_url) as conn:
            conn.isolation_level = level
            start.wait()
            done = 0
            while done < 12:
                # Matches of its own documents, or of those that others match at the same time.
                mine = [n for n in range(30) if n % 4 == number]
                pairs = [(rng.choice(mine), rng.randrange(30)) for _ in range(3)]
                try:
                    with conn.transaction():
                        for one, other in pairs:
                            if one != other and one % 4 == number:
                                wanted = rng.choice(["HIGH", "EXACT", None])
                                match(conn, ids[one], ids[other], wanted)
                    done += 1
                except RETRYABLE:
                    pass

    with ThreadPoolExecutor(4) as sessions:
        for future in [sessions.submit(change, number) for number in range(4)]:
            future.result(timeout=60)
    with psycopg.connect(database_url) as conn:
        edges = graph(conn)
        assert edges.number_of_edges() > 10
        assert members(conn) == expected(edges, sorted(ids), mode)


def test_matches_that_are_not_committed_when_clusters_begin_to_be_kept(database_url: str) -> None:
    with (
        psycopg.connect(database_url) as writer,
        psycopg.connect(database_url, autocommit=True) as keeper,
    ):
        a, b = add_documents(writer, 2)
        writer.commit()
        match(writer, a, b)
        with ThreadPoolExecutor(1) as background:
            kept = background.submit(rebuild, keeper, "p_keep => true")
            while not writer.execute(
                "select from pg_locks where not granted and pid = %s", [keeper.info.backend_pid]
            ).fetchall():
                assert not kept.done()
            writer.commit()
            assert kept.result(timeout=30) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("'nowhere'", "SH002"),
        ("p_mode => 'transitive'", "SH061"),
        ("p_mode => null", "SH061"),
        ("p_survivor => 'word_count; drop table x'", "SH062"),
        ("p_survivor => 'content'", "SH062"),
        ("p_survivor => 'word_count desc nulls first'", "SH062"),
        ("p_survivor => null", "SH062"),
        ("p_min_class => 'HIGHEST'", "SH063"),
        ("p_min_class => null", "SH063"),
    ],
)
def test_errors(conn: psycopg.Connection, arguments: str, code: str) -> None:
    with pytest.raises(psycopg.DatabaseError) as failure:
        rebuild(conn, arguments)
    assert failure.value.sqlstate == code
    assert failure.value.diag.message_hint


def test_rebuild_must_see_what_others_commit(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        conn.isolation_level = IsolationLevel.REPEATABLE_READ
        with pytest.raises(psycopg.DatabaseError) as failure:
            rebuild(conn)
    assert failure.value.sqlstate == "SH057"
