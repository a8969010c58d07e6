"""How the server runs the searches: by which indexes, and that every way gives the same rows.

Plans are those of the functions' own statements, told by auto_explain, on some thousands of
documents with statistics: a search that reads a whole table passes every other test.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import sql

from sherlock_pg.vectorize.canonical import skeleton

DOCUMENTS = 2600
"""Of fewer vectors it would be right to read all."""
GROUP = 30
"""Every so many documents share one text, but for some words: groups of four."""
SEEDS = range(DOCUMENTS)
FIRST_NAMES = [
    f"{a}{b}" for a in ("mar", "lu", "ro", "bea", "te") for b in ("ta", "sa", "nia", "la")
]
SURNAMES = [f"{a}{b}" for a in "bcdfglmprstv" for b in ("arrero", "ontoya", "uintero", "ernal")]
VOCABULARY = [f"{a}{b}{c}" for a in "bcdfglmprstv" for b in "aeiou" for c in ("rno", "ldo", "mpra")]
BIG_TABLES = {
    "band_keys",
    "documents",
    "document_signatures",
    "entities",
    "entity_profiles",
    "file_hashes",
    "party_names",
}


def text(number: int) -> str:
    """Give 36 words; the four documents of a group differ in one or two of them."""
    group, copy = (number // GROUP, number % GROUP) if number % GROUP < 4 else (number, 0)
    rng = random.Random(f"{group}-{number % GROUP < 4}")
    words = [f"{rng.choice(VOCABULARY)}{rng.randrange(9)}" for _ in range(36)]
    words[9 * copy : 9 * copy + 1] = [f"propia{number}"]
    return " ".join(words)


def people(number: int) -> list[tuple[str, str]]:
    """Give the role and the normalised value of each entity."""
    rng = random.Random(number)
    name = f"{rng.choice(FIRST_NAMES)} {rng.choice(SURNAMES)} {rng.choice(SURNAMES)} x{number}z"
    return [
        ("demandante", name),
        ("demandado", "nueva eps"),
        ("cedula", str(10_000_000 + number // 2)),
    ]


@dataclass
class Plans:
    """The plans that the server told of, and what they do with its tables."""

    texts: list[str] = field(default_factory=list)

    def nodes(self) -> Iterator[dict[str, Any]]:
        waiting = [json.loads(text[text.index("{") :])["Plan"] for text in self.texts]
        while waiting:
            node = waiting.pop()
            waiting += node.get("Plans", [])
            yield node

    def indexes(self) -> dict[str, set[str]]:
        """Names of the indexes, with the kinds of scan that used them."""
        used: dict[str, set[str]] = {}
        for node in self.nodes():
            if "Index Name" in node:
                used.setdefault(node["Index Name"], set()).add(node["Node Type"])
        return used

    def read_whole(self) -> set[str]:
        return {n["Relation Name"] for n in self.nodes() if n["Node Type"].endswith("Seq Scan")}

    def has(self, node_type: str) -> bool:
        return any(node["Node Type"] == node_type for node in self.nodes())


@contextmanager
def plans_of(conn: psycopg.Connection) -> Iterator[Plans]:
    """Collect the plans of all statements in the block, those inside of functions too."""
    told = Plans()

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        message = diagnostic.message_primary or ""
        if "plan:" in message:
            told.texts.append(message)

    conn.execute("load 'auto_explain'")
    settings = {
        "auto_explain.log_min_duration": "0",
        "auto_explain.log_nested_statements": "on",
        "auto_explain.log_format": "json",
        "auto_explain.log_level": "notice",
    }
    for name, value in settings.items():
        conn.execute("select set_config(%s, %s, false)", [name, value])
    conn.add_notice_handler(note)
    try:
        yield told
    finally:
        conn.remove_notice_handler(note)
        conn.execute("set auto_explain.log_min_duration = -1")
    assert told.texts, "auto_explain told nothing"


@dataclass(frozen=True)
class Corpus:
    url: str
    model_id: int
    ids: list[int]

    @property
    def queries(self) -> list[int]:
        """Documents of the groups, and some that resemble nothing."""
        return [i for n, i in enumerate(self.ids) if n % GROUP in (0, 3, 9)][:60]


@pytest.fixture(scope="module")
def corpus(clone_database: Callable[[], AbstractContextManager[str]]) -> Iterator[Corpus]:
    with clone_database() as url, psycopg.connect(url, autocommit=True) as conn:
        # Features are computed set-wise below, not by the triggers for single documents.
        conn.execute("set session_replication_role = replica")
        rows = conn.execute(
            "insert into sherlock.documents (collection_id, doc_type, name, content, sha256,"
            " file_size_bytes)"
            " select c.collection_id, 'default', 'escrito ' || t.n, t.content,"
            "        sha256(t.n::text::bytea), 1"
            " from sherlock.collections c, unnest(%s::text[]) with ordinality as t (content, n)"
            " where c.name = 'default' order by t.n returning document_id",
            [[text(number) for number in SEEDS]],
        ).fetchall()
        ids = [row[0] for row in rows]
        conn.execute(
            "insert into sherlock.file_hashes (sha256, file_size_bytes, collection_id, document_id)"
            " select sha256, file_size_bytes, collection_id, document_id from sherlock.documents"
        )
        conn.execute("reset session_replication_role")
        # As sherlock.store_entities leaves them, in one statement: one call each would take most of
        # the time of these tests.
        entities = [(i, *entity) for n, i in enumerate(ids) for entity in people(n)]
        conn.execute(
            "insert into sherlock.entities (document_id, role, ordinal, collection_id, value,"
            " normalised, name_key)"
            " select e.id, e.role, 1, d.collection_id, e.value, e.value,"
            "        case when e.role in ('demandante', 'demandado')"
            "             then sherlock.name_key(e.value) end"
            " from unnest(%s::bigint[], %s::text[], %s::text[]) as e (id, role, value)"
            " join sherlock.documents d on d.document_id = e.id",
            [list(column) for column in zip(*entities, strict=True)],
        )
        conn.execute(
            "insert into sherlock.party_names (collection_id, role, normalised)"
            " select distinct collection_id, role, normalised from sherlock.entities"
            " where name_key is not null"
        )
        conn.execute("select sherlock.index_documents(%s)", [ids])
        terms = sorted(
            {word for number in range(0, DOCUMENTS, 5) for word in skeleton(text(number)).split()}
        )
        model = conn.execute(
            "select sherlock.create_tfidf_model('default', %s, %s, 600, 1, 1)",
            [terms[:5000], [1.0] * len(terms[:5000])],
        ).fetchone()
        assert model is not None
        conn.execute("select sherlock.vectorize_missing(%s, %s)", [model[0], DOCUMENTS])
        conn.execute("select sherlock.build_tfidf_index(%s)", [model[0]])
        conn.execute("select sherlock.activate_tfidf_model(%s)", [model[0]])
        conn.execute("vacuum analyze")
        yield Corpus(url, model[0], ids)


@pytest.fixture
def reader(corpus: Corpus) -> Iterator[psycopg.Connection]:
    with psycopg.connect(corpus.url, autocommit=True) as conn:
        yield conn


def everything_found(conn: psycopg.Connection, queries: list[int]) -> dict[int, list[Any]]:
    return {
        query: conn.execute(
            "select (m).* from sherlock.find_duplicates(%s) as m", [query]
        ).fetchall()
        for query in queries
    }


def test_search_uses_the_indexes_it_is_made_for(reader: psycopg.Connection, corpus: Corpus) -> None:
    """Each time: PL/pgSQL may change to a generic plan from the sixth call on."""
    with plans_of(reader) as plans:
        for query in corpus.queries[:10]:
            reader.execute("select count(*) from sherlock.find_duplicates(%s)", [query])
    used = plans.indexes()
    partition = f"document_vectors_model_{corpus.model_id}"
    assert used["band_keys_pkey"] == {"Index Only Scan"}
    assert used[f"{partition}_sign_bits_idx"] == {"Index Scan"}
    assert {
        "document_signatures_pkey",
        f"{partition}_pkey",
        "documents_canonical_sha256_idx",
        "documents_pkey",
        "entities_normalised_idx",
        "entity_profiles_pkey",
    } <= set(used)
    assert plans.read_whole() & (BIG_TABLES | {partition}) == set()


def test_gate_is_one_lookup(reader: psycopg.Connection) -> None:
    digest = hashlib.sha256(b"7").digest()
    with plans_of(reader) as plans:
        for _ in range(8):
            row = reader.execute("select name from sherlock.find_exact(%s, 1)", [digest]).fetchone()
            assert row == ("escrito 7",)
    assert {"file_hashes_pkey", "documents_pkey"} <= set(plans.indexes())
    assert plans.read_whole() & BIG_TABLES == set()


@pytest.mark.parametrize(
    ("entities", "index"),
    [
        ({"cedula": ["10000007"]}, "entities_normalised_idx"),
        ({"demandante": [["{name} de", "nadie asi"]]}, "name_keys_pkey"),
        ({"demandante": [["{name} de", "nadie asi"]]}, "party_names_name_id_key"),
    ],
)
def test_entities_are_found_by_their_own_index(
    reader: psycopg.Connection, corpus: Corpus, entities: dict[str, Any], index: str
) -> None:
    """Ids, names in another order, similar names."""
    row = reader.execute(
        "select normalised, collection_id from sherlock.entities"
        " where document_id = %s and role = 'demandante'",
        [corpus.ids[14]],
    ).fetchone()
    assert row is not None
    name, collection = row
    profile = json.dumps(entities).replace("{name}", name)
    with plans_of(reader) as plans:
        for _ in range(8):
            found = reader.execute(
                "select document_id from sherlock.entity_candidates(%s, %s, 50)",
                [collection, profile],
            ).fetchall()
    assert (corpus.ids[14],) in found
    assert index in plans.indexes()
    assert plans.read_whole() & BIG_TABLES == set()


@pytest.mark.parametrize("way", ["sequential", "parallel"])
def test_every_way_of_reading_gives_the_same_rows(
    reader: psycopg.Connection, corpus: Corpus, way: str
) -> None:
    """On a connection of its own: plans that a session has made outlive its settings."""
    by_index = everything_found(reader, corpus.queries)
    assert sum(len(rows) for rows in by_index.values()) > len(by_index)
    forced = (
        "debug_parallel_query" if reader.info.server_version >= 160000 else "force_parallel_mode"
    )
    parallel = {
        forced: "on",
        "parallel_setup_cost": "0",
        "parallel_tuple_cost": "0",
        "min_parallel_table_scan_size": "0",
        "min_parallel_index_scan_size": "0",
        "max_parallel_workers_per_gather": "2",
    }
    sequential = {f"enable_{kind}": "off" for kind in ("indexscan", "indexonlyscan", "bitmapscan")}
    with psycopg.connect(corpus.url, autocommit=True) as other:
        for name, value in (parallel if way == "parallel" else sequential).items():
            other.execute("select set_config(%s, %s, false)", [name, value])
        with plans_of(other) as plans:
            everything_found(other, corpus.queries[:1])
        if way == "parallel":
            assert plans.has("Gather")
        else:
            vectors = f"document_vectors_model_{corpus.model_id}"
            assert {"band_keys", "document_signatures", "entities", vectors} <= plans.read_whole()
        some = corpus.queries[:24]
        assert everything_found(other, some) == {query: by_index[query] for query in some}


def test_search_without_vector_index_gives_the_same_rows(
    reader: psycopg.Connection, corpus: Corpus
) -> None:
    with_index = everything_found(reader, corpus.queries)
    with reader.transaction(force_rollback=True):
        reader.execute(
            sql.SQL("drop index sherlock.{}").format(
                sql.Identifier(f"document_vectors_model_{corpus.model_id}_sign_bits_idx")
            )
        )
        assert everything_found(reader, corpus.queries) == with_index


def test_vectors_equally_far_are_cut_by_document(
    reader: psycopg.Connection, corpus: Corpus
) -> None:
    """Of 512 bits: some of these thousands are as far as others."""
    bits = "(select sign_bits from sherlock.document_vectors where document_id = %s)"
    nearest = f"select * from sherlock.vector_candidates(%s, {bits}, %s)"
    with reader.transaction(force_rollback=True):
        reader.execute(
            sql.SQL("drop index sherlock.{}").format(
                sql.Identifier(f"document_vectors_model_{corpus.model_id}_sign_bits_idx")
            )
        )
        rows = reader.execute(nearest, [corpus.model_id, corpus.ids[0], DOCUMENTS]).fetchall()
        assert rows == sorted(rows, key=lambda row: (row[1], row[0]))
        distances = [row[1] for row in rows]
        limits = [n for n in range(1, len(rows)) if distances[n - 1] == distances[n]][:20]
        assert limits
        for limit in limits:
            few = reader.execute(nearest, [corpus.model_id, corpus.ids[0], limit]).fetchall()
            assert few == rows[:limit]
