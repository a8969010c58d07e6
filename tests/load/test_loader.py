"""Loading real files into a real database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.load.fingerprint import Fingerprint
from sherlock_pg.load.loader import Loader, LoadOptions, Progress
from sherlock_pg.load.outcome import Outcome
from sherlock_pg.load.reading import DocumentReader, Reading
from sherlock_pg.ner.pipeline import PartyExtractor

Write = Callable[..., Path]
RunLoad = Callable[..., list[Outcome]]


def verdicts(outcomes: list[Outcome]) -> list[tuple[str, str, str]]:
    return [(Path(o.file).name, o.confidence, o.action) for o in outcomes]


def test_first_load_of_a_folder(
    run_load: RunLoad, write: Write, database_url: str, other_case: dict[str, str]
) -> None:
    files = [
        write("1-original.txt"),
        write("2-copia.txt"),
        write("3-otra-fecha.txt", date="11 de abril de 2025"),
        write("4-otro-caso.txt", **other_case),
    ]
    outcomes = run_load(files)
    assert verdicts(outcomes) == [
        ("1-original.txt", "", "ACCEPT"),
        ("2-copia.txt", "EXACT", "REJECT"),
        ("3-otra-fecha.txt", "HIGH", "REVIEW"),
        ("4-otro-caso.txt", "", "ACCEPT"),
    ]
    assert outcomes[1].gate == "hit"
    assert outcomes[1].document_id == outcomes[0].document_id
    assert outcomes[2].best_match == "1-original.txt"
    assert {o.doc_type for o in outcomes if o.gate == "new"} == {"tutela"}
    with psycopg.connect(database_url) as conn:
        for outcome in outcomes:
            if outcome.gate == "hit":
                continue
            row = conn.execute(
                "select d.recommended_action, d.candidates -> 0 ->> 'confidence',"
                " (d.candidates -> 0 ->> 'final_score')::float8"
                " from sherlock.detect(%s) as d",
                [outcome.document_id],
            ).fetchone()
            assert row == (outcome.action, outcome.confidence or None, outcome.score)
        entities = conn.execute(
            "select role, normalised from sherlock.entities where document_id = %s"
            " and role in ('demandante', 'demandado', 'cedula', 'correo') order by 1",
            [outcomes[0].document_id],
        ).fetchall()
        assert entities == [
            ("cedula", "41555777"),
            ("correo", "carmen.quintero@ejemplo.com"),
            ("demandado", "nueva eps"),
            ("demandante", "carmen rosa quintero arias"),
        ]
        assert conn.execute("select count(*) from sherlock.tfidf_models").fetchone() == (1,)


def test_second_load_reads_nothing(
    run_load: RunLoad, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [write("a.txt"), write("b.txt", city="Pereira")]
    run_load(files)

    def refuse(*_: object, **__: object) -> Reading:
        raise AssertionError("a known file was read")

    monkeypatch.setattr(DocumentReader, "read", refuse)
    again = run_load(files)
    assert [(o.gate, o.confidence, o.action) for o in again] == [("hit", "EXACT", "REJECT")] * 2


def test_verdicts_do_not_depend_on_the_number_of_readers(
    run_load: RunLoad, write: Write, other_case: dict[str, str]
) -> None:
    other = {key: value for key, value in other_case.items() if key != "years"}
    files = [
        write(f"{number:02}.txt", years=str(number), **(other if number % 3 else {}))
        for number in range(12)
    ]
    one = run_load(files, collection="uno", workers=1)
    four = run_load(files, collection="cuatro", workers=4)
    assert verdicts(one) == verdicts(four)
    assert [o.score for o in one] == [o.score for o in four]


def test_bad_files_do_not_end_the_run(
    run_load: RunLoad, write: Write, tmp_path: Path, database_url: str
) -> None:
    empty = write("1-vacio.pdf", text="")
    damaged = write("2-roto.pdf", text="%PDF-1.7\nnada")
    good = write("3-bueno.txt")
    missing = tmp_path / "in" / "4-no-existe.pdf"
    outcomes = run_load([empty, damaged, good, missing])
    assert [(o.status, o.reason) for o in outcomes] == [
        ("failed", "empty_file"),
        ("failed", "damaged"),
        ("ok", ""),
        ("failed", "missing_file"),
    ]
    again = run_load([empty, damaged])
    assert [(o.status, o.gate, o.reason) for o in again] == [
        ("failed", "hit", "empty_file"),
        ("failed", "hit", "damaged"),
    ]
    retried = run_load([damaged], retry_failed=True)
    assert [(o.status, o.gate) for o in retried] == [("failed", "new")]
    with psycopg.connect(database_url) as conn:
        pending = conn.execute(
            "select count(*) from sherlock.documents where status = 'pending'"
        ).fetchone()
    assert pending == (0,)


def test_growth_refits_the_vocabulary_and_old_documents_stay_comparable(
    run_load: RunLoad, write: Write, database_url: str, other_case: dict[str, str]
) -> None:
    first = run_load([write("a.txt")])
    run_load([write("b.txt", **other_case), write("c.txt", city="Neiva", date="1 de mayo de 2025")])
    last = run_load([write("d.txt", date="2 de junio de 2025")])
    assert last[0].best_match_id == first[0].document_id
    assert last[0].confidence == "HIGH"
    with psycopg.connect(database_url) as conn:
        models = conn.execute(
            "select status, fitted_document_count from sherlock.tfidf_models order by model_id"
        ).fetchall()
        lacking = conn.execute(
            "select count(*) from sherlock.documents d join sherlock.tfidf_models m"
            " on m.status = 'active' where not exists (select from sherlock.document_vectors v"
            " where v.document_id = d.document_id and v.model_id = m.model_id)"
        ).fetchone()
    assert models[-1] == ("active", 3)
    assert lacking == (0,)


def test_two_loaders_of_the_same_files_read_each_once(
    database_url: str, write: Write, extractor: Extractor, progress: Progress
) -> None:
    files = [write(f"{n}.txt", years=str(n), city=f"Ciudad{n}") for n in range(20)]
    read: list[Fingerprint] = []
    lock = threading.Lock()

    class CountingReader(DocumentReader):
        def read(self, path: Path, expected: Fingerprint, **how: Any) -> Reading:
            with lock:
                read.append(expected)
            return super().read(path, expected, **how)

    def load() -> list[Outcome]:
        outcomes: list[Outcome] = []
        reader = CountingReader(extractor, PartyExtractor("none"))
        Loader(database_url, LoadOptions(), extractor, reader).run(files, outcomes.append, progress)
        return outcomes

    with ThreadPoolExecutor(2) as pool:
        both = [future.result() for future in [pool.submit(load), pool.submit(load)]]
    assert len(read) == len(set(read)) == len(files)
    for outcomes in zip(*both, strict=True):
        assert sorted(outcome.gate for outcome in outcomes) == ["hit", "new"]


def test_what_another_loader_has_just_stored_is_a_hit_and_judged_by_that_loader(
    database_url: str, write: Write, extractor: Extractor, progress: Progress
) -> None:
    file = write("a.txt")
    has_begun, is_stored, may_judge = (threading.Event() for _ in range(3))

    class LateJudge(Loader):
        def _judged(self, conn: psycopg.Connection, outcome: Outcome) -> Outcome:
            is_stored.set()
            assert may_judge.wait(30)
            return super()._judged(conn, outcome)

    class WaitingForTheOther:
        def stage(self, name: str, total: int) -> None:
            if name == "reading":
                has_begun.set()
                assert is_stored.wait(30)

        def step(self, count: int = 1) -> None:
            pass

    def load(kind: type[Loader], shown: Progress) -> Outcome:
        outcomes: list[Outcome] = []
        reader = DocumentReader(extractor, PartyExtractor("none"))
        loader = kind(database_url, LoadOptions(), extractor, reader)
        loader.run([file], outcomes.append, shown)
        return outcomes[0]

    with ThreadPoolExecutor(2) as pool:
        second = pool.submit(load, Loader, WaitingForTheOther())
        assert has_begun.wait(30)
        first = pool.submit(load, LateJudge, progress)
        assert second.result(60).gate == "hit"
        may_judge.set()
        assert first.result(60).gate == "new"


def test_missing_tesseract_leaves_out_only_the_files_that_need_it(
    database_url: str, write: Write, extractor: Extractor, progress: Progress
) -> None:
    scan, text = write("a-scan.txt"), write("b.txt", city="Tunja")

    class NoTesseract(DocumentReader):
        def read(self, path: Path, expected: Fingerprint, **how: Any) -> Reading:
            if path == scan:
                raise EnvironmentFault("tesseract is not installed", hint="apt-get install …")
            return super().read(path, expected, **how)

    outcomes: list[Outcome] = []
    reader = NoTesseract(extractor, PartyExtractor("none"))
    loader = Loader(database_url, LoadOptions(), extractor, reader)
    loader.run([scan, text], outcomes.append, progress)
    assert [(o.status, o.reason, o.action) for o in outcomes] == [
        ("failed", "environment", ""),
        ("ok", "", "ACCEPT"),
    ]
    assert loader.environment_fault is not None
    with psycopg.connect(database_url) as conn:
        names = conn.execute("select name from sherlock.documents").fetchall()
        assert names == [("b.txt",)]
        assert conn.execute("select count(*) from sherlock.file_hashes").fetchone() == (1,)


def test_what_an_interrupted_run_stored_gets_its_own_verdict(
    run_load: RunLoad, write: Write, database_url: str
) -> None:
    original, near = write("1.txt"), write("2.txt", date="3 de mayo de 2025")
    run_load([original, near])
    with psycopg.connect(database_url) as conn:
        conn.execute("delete from sherlock.matches")
        conn.execute("delete from sherlock.detections")
    copy = write("3.txt")
    again = run_load([original, near, copy])
    assert [(o.gate, o.confidence, o.action) for o in again] == [
        ("resumed", "", "ACCEPT"),
        ("resumed", "HIGH", "REVIEW"),
        ("hit", "EXACT", "REJECT"),
    ]
    last = run_load([original])
    assert last[0].detail == "loaded before from here"


def test_partly_read_document_is_read_again_on_request_and_kept_if_interrupted(
    run_load: RunLoad, write: Write, database_url: str
) -> None:
    file = write("1.txt")
    document_id = run_load([file])[0].document_id
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("update sherlock.documents set status = 'partial', content = content || ' x'")
        assert run_load([file])[0].gate == "hit"
        claim = conn.execute(
            "select outcome from sherlock.documents as d, sherlock.claim_file(d.sha256,"
            " d.file_size_bytes, 'default', 'x', 'x', 'dying', '1 minute', true)"
        ).fetchone()
        assert claim == ("claimed",)
        conn.execute("select sherlock.release_claims('dying')")
        row = conn.execute("select document_id, status from sherlock.documents").fetchone()
        assert row == (document_id, "partial")
        again = run_load([file], retry_failed=True)
        assert [(o.gate, o.status, o.document_id) for o in again] == [("new", "ok", document_id)]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupted_load_keeps_what_is_done_and_gives_the_rest_back(
    database_url: str, write: Write, name: str
) -> None:
    files = [write(f"{n:03}.txt", years=str(n), city=f"Ciudad{n}") for n in range(150)]
    folder = files[0].parent
    command = [sys.executable, "-m", "sherlock_pg", "load", "--workers", "2", str(folder)]
    env = {**os.environ, "SHERLOCK_DATABASE_URL": database_url}
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with psycopg.connect(database_url, autocommit=True) as conn:

        def count(status: str) -> int:
            row = conn.execute(
                "select count(*) from sherlock.documents where status = %s", [status]
            ).fetchone()
            assert row is not None
            return int(row[0])

        deadline = time.monotonic() + 60
        while count("ok") < 3 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        _, words = process.communicate(timeout=60)
        assert process.returncode == 130, words
        assert "Traceback" not in words
        done = count("ok")
        assert 3 <= done < len(files)
        assert count("pending") == 0
        finished = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=120
        )
        assert finished.returncode == 0, finished.stderr
        assert count("ok") == len(files)
        undetected = conn.execute(
            "select count(*) from sherlock.latest_verdicts where recommended_action is null"
        ).fetchone()
        assert undetected == (0,)


def test_files_of_a_killed_loader_are_read_at_once_by_the_next(
    run_load: RunLoad, write: Write, database_url: str
) -> None:
    files = [write(f"{n:03}.txt", years=str(n), city=f"Ciudad{n}") for n in range(100)]
    process = subprocess.Popen(
        [sys.executable, "-m", "sherlock_pg", "load", str(files[0].parent)],
        env={**os.environ, "SHERLOCK_DATABASE_URL": database_url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with psycopg.connect(database_url, autocommit=True) as conn:
        deadline = time.monotonic() + 60
        query = "select count(*) from sherlock.documents where status = 'pending'"
        while conn.execute(query).fetchone() == (0,) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.wait()
        left = conn.execute(query).fetchone()
        assert left is not None and left[0] > 0, "the loader was killed too late"
        outcomes = run_load(files)
        assert {outcome.status for outcome in outcomes} == {"ok"}
        assert conn.execute(query).fetchone() == (0,)
        counts = conn.execute(
            "select count(*), count(v.document_id) from sherlock.documents"
            " left join sherlock.detections as v using (document_id)"
        ).fetchone()
    assert counts == (len(files), len(files))
