"""What things cost on this machine: a table, and as the last line one JSON object.

Runs in a database of its own on an embedded server of its own, with the settings that users get.
`--documents N` sets the size of the corpus that detection is measured on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from common import BATCH, milliseconds, quantiles, rounded, say, scratch_database
from psycopg.types.json import Jsonb

from sherlock_pg.cli.output import write_table
from sherlock_pg.db import calls
from sherlock_pg.ingest.extract import extract_in_process
from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.load.reading import entity_row
from sherlock_pg.ner import rules
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.pdf import draw_pdf
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.samples.variants import Kind
from sherlock_pg.vectorize import lifecycle

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"


def filings(count: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give filings with their entities; a few topics, so templates are shared by hundreds."""
    for number in range(count):
        case = draw_case(7, f"bench-{number}", topic_name=TOPICS[number % len(TOPICS)])
        text = compose(case).text()
        yield text, [entity_row(entity) for entity in rules.extract(text)]


def load_corpus(conn: psycopg.Connection, count: int) -> float:
    """Store and index filings set-wise; return documents per second without the generator."""
    seconds = 0.0
    batch: list[tuple[str, list[dict[str, Any]]]] = []

    def flush() -> None:
        nonlocal seconds
        started = time.perf_counter()
        with conn.transaction(), conn.cursor() as cur:
            ids: list[int] = []
            for text, _ in batch:
                digest = hashlib.sha256(text.encode()).digest()
                claim = calls.claim_file(
                    conn,
                    sha256=digest,
                    file_size_bytes=len(text),
                    collection="default",
                    name=digest.hex()[:8],
                    source_uri="bench",
                    worker="bench",
                    lease=timedelta(hours=1),
                )
                ids.append(claim.document_id)
            cur.executemany(
                "update sherlock.documents set content = %s, doc_type = 'tutela', status = 'ok'"
                " where document_id = %s",
                [(text, document_id) for document_id, (text, _) in zip(ids, batch, strict=True)],
            )
            cur.executemany(
                "select sherlock.store_entities(%s, %s)",
                [(i, Jsonb(entities)) for i, (_, entities) in zip(ids, batch, strict=True)],
            )
            cur.execute("select sherlock.index_documents(%s)", [ids])
        seconds += time.perf_counter() - started
        batch.clear()

    for number, filing in enumerate(filings(count), 1):
        batch.append(filing)
        if len(batch) == BATCH:
            flush()
            say(f"  {number} documents")
    if batch:
        flush()
    return count / seconds


def measure_features(conn: psycopg.Connection, text: str) -> dict[str, dict[str, float]]:
    """Time the features of texts of 500, 2,000 and 10,000 words, level by level."""
    words = text.split()
    model = calls.active_tfidf_model(conn, calls.collection_id(conn, "default"))
    result = {}
    for size in (500, 2_000, 10_000):
        sample = " ".join((words * (size // len(words) + 1))[:size])
        # Repeating a text would spare the sketch its work: each copy gets words of its own.
        sample = " ".join(
            word if n < len(words) else f"{word}{n % 97}" for n, word in enumerate(sample.split())
        )
        queries: dict[str, tuple[str, list[Any]]] = {
            "level_1": (
                "with s as materialized (select sherlock.signature("
                " sherlock.shingles(sherlock.canonical_text(%s), 'word', 2)) as g)"
                " select sherlock.signature_sketch(g), sherlock.band_keys(g, 1, 1, 32, 4) from s",
                [sample],
            ),
            "level_2": (
                "with v as materialized (select sherlock.tfidf_vector("
                " %s, sherlock.canonical_text(%s)) as v)"
                " select sherlock.sign_projection(v) from v",
                [model, sample],
            ),
        }
        times = {}
        for level, (query, parameters) in queries.items():
            runs = [
                milliseconds(lambda q=query, p=parameters: conn.execute(q, p).fetchall())
                for _ in range(25)
            ]
            times[level] = statistics.median(runs)
        result[str(size)] = {**times, "total": sum(times.values())}
    return result


def measure_gate(conn: psycopg.Connection) -> dict[str, float]:
    """Time the lookup of known and unknown bytes."""
    known = [
        (bytes(row[0]), row[1])
        for row in conn.execute(
            "select sha256, file_size_bytes from sherlock.file_hashes limit 500"
        )
    ]
    probes = known + [(hashlib.sha256(bytes([n % 256])).digest(), n) for n in range(500)]
    times = [
        milliseconds(lambda d=digest, s=size: calls.find_exact(conn, d, s, "default"))
        for digest, size in probes
    ]
    return quantiles(times)


def measure_detection(conn: psycopg.Connection, count: int, probes: int) -> dict[str, float]:
    """Time the verdict on stored documents spread over the corpus, against all the others."""
    ids = [
        row[0]
        for row in conn.execute(
            "select document_id from sherlock.documents where text_state = 'indexed'"
            " order by hashint8extended(document_id, 3) limit %s",
            [probes],
        )
    ]
    query = "select * from sherlock.detect(p_document_id => %s, p_scope => 'all')"
    for document_id in ids[:20]:
        conn.execute(query, [document_id])
    times = []
    checked = []
    for document_id in ids:
        started = time.perf_counter()
        row = conn.execute(query, [document_id]).fetchone()
        times.append((time.perf_counter() - started) * 1000)
        assert row is not None
        checked.append(row[3])
    return {**quantiles(times), "documents": count, "candidates_mean": statistics.mean(checked)}


def measure_native_page(folder: Path) -> dict[str, float]:
    """Time the extraction of native pages in a warm process."""
    case = draw_case(7, "native", topic_name=TOPICS[0])
    path = folder / "native.pdf"
    path.write_bytes(draw_pdf(compose(case)))
    options = ExtractOptions(ocr="never")
    pages = len(extract_in_process(path, options).pages)
    runs = [milliseconds(lambda: extract_in_process(path, options)) / pages for _ in range(50)]
    return quantiles(runs)


def measure_scanned_page() -> dict[str, float]:
    """Measure processor seconds of a scanned page, tesseract included."""
    manifest = json.loads((DOCUMENTS / "manifest.json").read_text(encoding="utf-8"))
    scans = [
        DOCUMENTS / entry["name"]
        for entry in manifest["documents"]
        if entry["kind"] in (Kind.CLEAN_SCAN.value, Kind.NOISY_SCAN.value)
    ]
    options = ExtractOptions()
    extract_in_process(scans[0], options)
    cpu, pages = 0.0, 0
    for scan in scans:
        before = _cpu_seconds()
        extraction = extract_in_process(scan, options)
        cpu += _cpu_seconds() - before
        pages += sum(page.method == "ocr" for page in extraction.pages)
    return {"cpu_seconds": cpu / pages, "pages": pages}


def _cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Measure, print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--probes", type=int, default=400)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    with scratch_database() as conn, tempfile.TemporaryDirectory() as folder:
        say(f"loading {arguments.documents} filings")
        figures["index_documents_per_second"] = load_corpus(conn, arguments.documents)
        say("fitting the vocabulary")
        started = time.perf_counter()
        lifecycle.fit_if_needed(conn, "default")
        figures["fit_and_vectorize_seconds"] = time.perf_counter() - started
        conn.execute("vacuum analyze")
        say("measuring")
        figures["gate_ms"] = measure_gate(conn)
        (sample,) = conn.execute(
            "select content from sherlock.documents order by document_id limit 1"
        ).fetchone() or ("",)
        figures["features_ms"] = measure_features(conn, sample)
        figures["detect_ms"] = measure_detection(conn, arguments.documents, arguments.probes)
        figures["native_page_ms"] = measure_native_page(Path(folder))
        figures["scanned_page"] = measure_scanned_page()
    write_table(_rows(figures), ["what", "measured", "unit", "target"])
    print(json.dumps(rounded(figures)))


def _rows(figures: dict[str, Any]) -> list[dict[str, Any]]:
    detect = figures["detect_ms"]
    rows = [
        ("gate lookup, p50", figures["gate_ms"]["p50"], "ms", ""),
        ("gate lookup, p95", figures["gate_ms"]["p95"], "ms", "< 1"),
    ]
    for size, times in figures["features_ms"].items():
        target = "<= 8" if size == "500" else ""
        rows += [
            (f"features of {size} words: level 1", times["level_1"], "ms", ""),
            (f"features of {size} words: level 2", times["level_2"], "ms", ""),
            (f"features of {size} words: both", times["total"], "ms", target),
        ]
    rows += [
        (f"detect at {detect['documents']} documents, p50", detect["p50"], "ms", ""),
        (f"detect at {detect['documents']} documents, p95", detect["p95"], "ms", "<= 10"),
        ("candidates scored per detection, mean", detect["candidates_mean"], "", ""),
        ("index without vectors", figures["index_documents_per_second"], "documents/s", ""),
        ("fit and vectorize all", figures["fit_and_vectorize_seconds"], "s", ""),
        ("native page, p50", figures["native_page_ms"]["p50"], "ms", "<= 3"),
        ("native page, p95", figures["native_page_ms"]["p95"], "ms", ""),
        ("scanned page", figures["scanned_page"]["cpu_seconds"], "CPU s", "<= 2.5"),
    ]
    return [
        {"what": what, "measured": round(value, 3), "unit": unit, "target": target}
        for what, value, unit, target in rows
    ]


if __name__ == "__main__":
    main()
