"""sherlock-pg in the same comparison: texts in a file to clusters that are stored.

Runs on a server of its own with the settings that users get. Processor seconds are those of this
process and of all of the server's. The last line is one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from measuring import Pair, Stages, peak_mb, read_texts, write_pairs
from psycopg.conninfo import make_conninfo

from sherlock_pg.bulk.formats import find_files
from sherlock_pg.bulk.loader import BulkLoader, BulkOptions
from sherlock_pg.bulk.rows import FieldMap
from sherlock_pg.vectorize.features import FeatureMaker

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import scratch_database

_COLLECTION = "texts"
_QUERIES = 2_000
_SAMPLE_EVERY_SECONDS = 0.5


class Server:
    """What the processes of a server use, all of them together.

    Args:
        postmaster: process id of the first one.

    Attributes:
        peak_mb: the most memory that they had at once while watched; what they share counts once.
        watching_seconds: processor seconds that the watching itself took of this process.
    """

    def __init__(self, postmaster: int) -> None:
        self._postmaster = postmaster
        self._cpu: dict[int, float] = {}
        self._stopped = threading.Event()
        self.peak_mb = 0.0
        self.watching_seconds = 0.0

    def cpu_seconds(self) -> float:
        """Return the processor seconds of all processes so far, ended ones as they were seen."""
        for pid in self._processes():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                run_nanoseconds = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
                self._cpu[pid] = int(run_nanoseconds) / 1e9
        return sum(self._cpu.values())

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Look at memory and processor time all the while."""
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(_SAMPLE_EVERY_SECONDS):
            self.cpu_seconds()
            self.peak_mb = max(self.peak_mb, sum(map(_memory_mb, self._processes())))
            self.watching_seconds = time.thread_time()

    def _processes(self) -> list[int]:
        children = Path(f"/proc/{self._postmaster}/task/{self._postmaster}/children").read_text()
        return [self._postmaster, *map(int, children.split())]


def _memory_mb(pid: int) -> float:
    try:
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return int(found.group(1)) / 1024 if found else 0.0


class Measured(Stages):
    """Stages whose processor seconds are those of the client and of the server."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done in the context."""
        server, watching = self._server.cpu_seconds(), self._server.watching_seconds
        with super().stage(name):
            yield
        self.cpu[name] += self._server.cpu_seconds() - server
        self.cpu[name] -= self._server.watching_seconds - watching


def sign(conn: psycopg.Connection, corpus: Path) -> dict[str, Any]:
    """Sign texts in this process, by one thread: signatures, sketches and band keys."""
    texts = read_texts(corpus)
    stages = Stages()
    create_collection(conn)
    maker = FeatureMaker.of_collection(conn, _COLLECTION, bulk=True)
    maker.make(texts[:10])
    with stages.stage("sign"):
        maker.make(texts)
    return {"wall": stages.wall, "cpu": stages.cpu}


def create_collection(conn: psycopg.Connection) -> None:
    """Make a collection that is compared by level 1 alone, as the others compare."""
    conn.execute("select sherlock.create_collection(%s, 'text')", [_COLLECTION])
    conn.execute(
        "update sherlock.detection_configs set minhash_weight = 1, tfidf_weight = 0"
        " where collection_id = sherlock.collection_id(%s)",
        [_COLLECTION],
    )


def dedupe(conn: psycopg.Connection, corpus: Path, pairs_path: Path) -> dict[str, Any]:
    """Load, pair and cluster texts, then search for some of them one at a time."""
    server = Server(_postmaster(conn))
    stages = Measured(server)
    create_collection(conn)
    with server.watched():
        with stages.stage("load"):
            load(conn, corpus)
        with stages.stage("pairs"):
            conn.execute(
                "call sherlock.store_duplicate_pairs(%s, p_levels => '{minhash}')", [_COLLECTION]
            )
        with stages.stage("clusters"):
            clusters = _value(
                conn, "select sherlock.rebuild_clusters(%s, 'connected', 'LOW')", [_COLLECTION]
            )
    client_mb = peak_mb()
    conn.execute("vacuum analyze")
    queries = search(conn, stages)
    pairs = _pairs(conn)
    write_pairs(pairs_path, pairs)
    parts = ("load", "pairs", "clusters")
    for seconds in (stages.wall, stages.cpu):
        seconds["dedupe"] = sum(seconds[part] for part in parts)
        seconds["index"] = seconds["load"]
    return {
        "wall": stages.wall,
        "cpu": stages.cpu,
        "queries": queries,
        "pairs": len(pairs),
        "clusters": clusters,
        "client_mb": client_mb,
        "server_mb": server.peak_mb,
        "peak_mb": client_mb + server.peak_mb,
    }


def load(conn: psycopg.Connection, corpus: Path) -> None:
    """Load texts as `sherlock-pg load --text text --key key` does."""
    info = conn.info
    url = make_conninfo(**info.get_parameters(), password=info.password)
    options = BulkOptions(FieldMap(("text",), "key", None), _COLLECTION, None, "default")
    loader = BulkLoader(url, options, _Silent())
    for file in find_files([corpus], "utf-8"):
        outcome = loader.load(file)
        assert outcome.failed == 0 and not outcome.damage
    loader.finish()


class _Silent:
    """Shows nothing of how far a load is."""

    def stage(self, name: str, total: int) -> None:
        pass

    def step(self, count: int = 1) -> None:
        pass

    def rows(self, count: int) -> None:
        pass

    def say(self, message: str) -> None:
        pass


def search(conn: psycopg.Connection, stages: Stages) -> int:
    """Ask for the matches of texts spread over the collection, one at a time."""
    ids = conn.execute(
        "select document_id from sherlock.documents order by hashint8extended(document_id, 3)"
        " limit %s",
        [_QUERIES],
    ).fetchall()
    with stages.stage("query"):
        for (document_id,) in ids:
            conn.execute(
                "select * from sherlock.find_duplicates(%s, 100, 'all')", [document_id]
            ).fetchall()
    return len(ids)


def _pairs(conn: psycopg.Connection) -> list[Pair]:
    rows = conn.execute(
        "select d.name::integer, o.name::integer from sherlock.matches as m"
        " join sherlock.documents as d using (document_id)"
        " join sherlock.documents as o on o.document_id = m.matched_document_id"
    ).fetchall()
    return [(min(pair), max(pair)) for pair in rows]


def _postmaster(conn: psycopg.Connection) -> int:
    backend = conn.info.backend_pid
    stat = Path(f"/proc/{backend}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def _value(conn: psycopg.Connection, query: str, parameters: list[Any]) -> Any:
    row = conn.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


def main() -> None:
    """Run one phase: sign or dedupe."""
    phase, corpus, pairs_path = sys.argv[1:]
    with scratch_database() as conn:
        if phase == "sign":
            figures = sign(conn, Path(corpus))
        else:
            figures = dedupe(conn, Path(corpus), Path(pairs_path))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
