"""What finding names costs at `--names` distinct ones, and which changed names are found.

Each name is the plaintiff of one document. Asked for: names that are there, names that nobody has,
and what clerks and readers make of names. Recall counts those that `sherlock.names_agree` accepts
at 0.85. Runs in a database of its own. Prints tables, and as the last line one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from common import quantiles, rounded, say, scratch_database
from invented_names import CHANGES, Names, changed_names
from psycopg.types.json import Jsonb

from sherlock_pg.cli.output import write_table

_LIMIT = 50
_TRIGRAM_QUESTIONS = 40
_INSERTS = 500


class Clock:
    """Wall time of calls, and the processor time that the server's process took for them."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self._statistics = Path(f"/proc/{conn.info.backend_pid}/schedstat")
        self._wall: list[float] = []
        self._cpu: list[float] = []

    def _processor(self) -> float:
        return int(self._statistics.read_text().split()[0]) / 1e6

    def __enter__(self) -> None:
        self._wall.append(-time.perf_counter() * 1000)
        self._cpu.append(-self._processor())

    def __exit__(self, *_: object) -> None:
        self._cpu[-1] += self._processor()
        self._wall[-1] += time.perf_counter() * 1000

    def milliseconds(self) -> dict[str, dict[str, float]]:
        """Return quantiles of both."""
        return {"cpu": quantiles(self._cpu), "wall": quantiles(self._wall)}


def load(conn: psycopg.Connection, names: Sequence[str]) -> dict[str, float]:
    """Store each name as the plaintiff of a document, set-wise; return seconds and bytes a name."""
    conn.execute("create table public.raw (document_id bigint primary key, name text)")
    with conn.cursor().copy("copy public.raw from stdin") as copy:
        for number, name in enumerate(names, 1):
            copy.write_row((number, name))
    with conn.transaction():
        # Documents without texts: nothing of theirs is to be judged or gathered.
        conn.execute("set local session_replication_role = replica")
        conn.execute(
            "insert into sherlock.documents (document_id, collection_id, name)"
            " overriding system value"
            " select r.document_id, sherlock.collection_id('default'), 'x' from public.raw as r"
        )
        conn.execute(
            "insert into sherlock.entities (document_id, role, ordinal, collection_id, value,"
            " normalised, name_key)"
            " select r.document_id, 'demandante', 1, sherlock.collection_id('default'), r.name,"
            " r.name, sherlock.name_key(r.name) from public.raw as r"
        )
    say("  documents")
    started = time.perf_counter()
    conn.execute(
        "insert into sherlock.party_names (collection_id, role, normalised)"
        " select sherlock.collection_id('default'), 'demandante', r.name from public.raw as r"
    )
    seconds = time.perf_counter() - started
    for table in ("documents", "entities", "party_names", "name_keys"):
        conn.execute(f"vacuum analyze sherlock.{table}")
    sizes = {
        key: size / len(names)
        for key, size in conn.execute(
            "select s.key, s.size from (values"
            " ('keys', pg_total_relation_size('sherlock.name_keys')),"
            " ('trigram_index', pg_relation_size('sherlock.party_names_normalised_trgm_idx')),"
            " ('names', pg_total_relation_size('sherlock.party_names')"
            "      - pg_relation_size('sherlock.party_names_normalised_trgm_idx'))"
            ") as s (key, size)"
        )
    }
    return {"seconds": seconds, **sizes}


def ask(conn: psycopg.Connection, clock: Clock, name: str) -> set[int]:
    """Return the documents that the entity retrieval gives for a plaintiff's name."""
    row = conn.execute("select sherlock.name_key(%s)", [name]).fetchone()
    assert row is not None
    with clock:
        rows = conn.execute(
            "select document_id from sherlock.entity_candidates("
            " sherlock.collection_id('default'), %s, %s)",
            [Jsonb({"demandante": [[name, row[0]]]}), _LIMIT],
        ).fetchall()
    return {row[0] for row in rows}


def measure_questions(
    conn: psycopg.Connection, questions: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Time the retrieval for some names, and count what it gives."""
    clock = Clock(conn)
    counts = [float(len(ask(conn, clock, name))) for name in questions]
    return {**clock.milliseconds(), "candidates": quantiles(counts)}


def measure_trigrams(conn: psycopg.Connection, questions: Iterable[str]) -> dict[str, Any]:
    """Time what the trigram index would take for the same: similarity of 0.45 or more."""
    clock = Clock(conn)
    conn.execute("set pg_trgm.similarity_threshold = 0.45")
    for name in questions:
        with clock:
            conn.execute(
                "select p.normalised from sherlock.party_names as p"
                " where p.role = 'demandante' and p.normalised %% %s::text"
                " order by similarity(p.normalised, %s) desc limit %s",
                [name, name, _LIMIT],
            ).fetchall()
    conn.execute("reset pg_trgm.similarity_threshold")
    return clock.milliseconds()


def measure_recall(
    conn: psycopg.Connection, names: list[str], ids: dict[str, int]
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Ask for what became of names; return recall by kind of change, and what that cost."""
    found: dict[str, dict[str, float]] = {}
    clock = Clock(conn)
    counts = []
    for kind in CHANGES:
        pairs = list(changed_names(names, kind, 1))
        accepted = conn.execute(
            "select p.name, p.changed from unnest(%s::text[], %s::text[]) as p (name, changed)"
            " where sherlock.names_agree(p.name, sherlock.name_key(p.name), p.changed,"
            " sherlock.name_key(p.changed), 0.85)",
            [[name for name, _ in pairs], [changed for _, changed in pairs]],
        ).fetchall()
        retrieved = 0
        for name, changed in accepted:
            documents = ask(conn, clock, changed)
            counts.append(float(len(documents)))
            retrieved += ids[name] in documents
        found[kind] = {
            "changed": len(pairs),
            "accepted": len(accepted) / len(pairs),
            "recall": retrieved / len(accepted),
        }
        say(f"  {kind}: {found[kind]['recall']:.3f} of {len(accepted)}")
    return found, {**clock.milliseconds(), "candidates": quantiles(counts)}


def measure_inserts(conn: psycopg.Connection, names: Iterable[str]) -> dict[str, Any]:
    """Time a new name's row with its keys, each in a statement of its own; and without keys."""
    measured = {}
    new = list(names)
    for what in ("with_keys", "without_keys"):
        clock = Clock(conn)
        with conn.transaction(force_rollback=True):
            if what == "without_keys":
                conn.execute("set local session_replication_role = replica")
            for name in new:
                with clock:
                    conn.execute(
                        "insert into sherlock.party_names (collection_id, role, normalised)"
                        " values (1, 'demandante', %s) on conflict do nothing",
                        [name],
                    )
        measured[what] = clock.milliseconds()
    return measured


def run(name_count: int, sample_count: int) -> dict[str, Any]:
    """Measure everything."""
    source = Names(1)
    say("names ...")
    names = source.distinct(name_count)
    ids = {name: number for number, name in enumerate(names, 1)}
    sample = random.Random(9).sample(names, min(sample_count, name_count))
    others = [name for name in (source.draw() for _ in range(4 * sample_count)) if name not in ids]
    with scratch_database() as conn:
        say("loading ...")
        report: dict[str, Any] = {"names": name_count, "stored": load(conn, names)}
        say("asking ...")
        measure_questions(conn, sample[:50])
        report["recall"], misspelt = measure_recall(conn, sample, ids)
        report["questions"] = {
            "known": measure_questions(conn, sample),
            "unknown": measure_questions(conn, others[:sample_count]),
            "misspelt": misspelt,
        }
        report["trigrams"] = measure_trigrams(conn, others[:_TRIGRAM_QUESTIONS])
        report["inserts"] = measure_inserts(conn, others[-_INSERTS:])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=100_000, help="distinct names")
    parser.add_argument("--sample", type=int, default=500, help="names asked for, of each kind")
    arguments = parser.parse_args()
    report = rounded(run(arguments.names, arguments.sample))

    def times(what: str, row: dict[str, Any]) -> dict[str, Any]:
        quantile = {f"{k}_{q}": row[k][q] for k in ("cpu", "wall") for q in ("p50", "p95")}
        return {"milliseconds": what, **quantile}

    write_table(
        [{"change": kind, **row} for kind, row in report["recall"].items()],
        ["change", "changed", "accepted", "recall"],
    )
    timed = [
        *(times(f"retrieval, {kind}", row) for kind, row in report["questions"].items()),
        times("trigrams, unknown", report["trigrams"]),
        *(times(f"insert, {kind}", row) for kind, row in report["inserts"].items()),
    ]
    write_table(timed, list(timed[0]))
    write_table(
        [{"stored": what, "value": value} for what, value in report["stored"].items()],
        ["stored", "value"],
    )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
