"""The pool of child processes: limits, kills, faults of the environment, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sherlock_pg.errors import EnvironmentFault
from sherlock_pg.ingest import pool
from sherlock_pg.ingest.model import ExtractOptions, PageMethod, Status
from sherlock_pg.ingest.ocr import BATCH_PAGES, check_tesseract
from sherlock_pg.ingest.pool import Extractor, ExtractorClosed
from sherlock_pg.ingest.reasons import Flag, Reason


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def leftovers(folder):
    return list(Path(folder).glob("sherlock-extract-*"))


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    """Give the folder where pools made by the test put their temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def mixed(documents, tmp_path):
    """Give the path of a document with a native page and a scanned one."""
    path = tmp_path / "mixto.pdf"
    path.write_bytes(documents.join(documents.native(), documents.scan()))
    return path


@pytest.fixture
def native(documents, tmp_path):
    """Give the path of a document of native text."""
    path = tmp_path / "nativo.pdf"
    path.write_bytes(documents.native())
    return path


def test_threads_share_the_children_and_each_gets_its_own_text(documents, tmp_path):
    paths = []
    for number in range(24):
        path = tmp_path / f"{number}.pdf"
        path.write_bytes(documents.native([f"Radicado número {number}"]))
        paths.append(path)
    with Extractor(ExtractOptions(), workers=2) as extractor, ThreadPoolExecutor(6) as threads:
        extractions = list(threads.map(extractor.extract, paths))
    assert [extraction.text for extraction in extractions] == [
        f"Radicado número {number}" for number in range(24)
    ]


def test_children_are_replaced_after_their_share_and_leave_nothing(
    native, temporary_folder, monkeypatch
):
    monkeypatch.setattr(pool, "DOCUMENTS_PER_CHILD", 2)
    started = []
    popen = subprocess.Popen

    def counted(*args, **kwargs):
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", counted)
    with Extractor(ExtractOptions()) as extractor:
        for _ in range(5):
            assert extractor.extract(native).status is Status.OK
    assert len(started) == 3
    assert all(child.returncode is not None for child in started)
    assert leftovers(temporary_folder) == []


def test_a_native_document_needs_no_tesseract_and_a_scan_names_the_package(
    native, mixed, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with Extractor(ExtractOptions(languages=("spa", "chi_sim"))) as extractor:
        assert extractor.extract(native).status is Status.OK
        with pytest.raises(EnvironmentFault, match="not installed") as caught:
            extractor.extract(mixed)
        assert extractor.extract(native).status is Status.OK
    assert caught.value.hint == (
        "apt-get install -y tesseract-ocr tesseract-ocr-spa tesseract-ocr-chi-sim"
    )


def test_a_missing_language_is_a_fault_of_the_environment(mixed):
    with (
        Extractor(ExtractOptions(languages=("spa", "xyz"))) as extractor,
        pytest.raises(EnvironmentFault, match="xyz") as caught,
    ):
        extractor.extract(mixed)
    assert "tesseract-ocr-xyz" in caught.value.hint
    assert check_tesseract(["spa", "xyz"]).missing_languages == ("xyz",)


def test_a_tesseract_that_does_not_run_is_reported(tmp_path, monkeypatch):
    broken = tmp_path / "tesseract"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    check = check_tesseract(["spa"])
    assert not check.is_usable
    assert "does not run" in check.problem


@pytest.mark.ocr
def test_a_hung_tesseract_costs_its_pages_and_is_killed(
    mixed, fake_tesseract, temporary_folder, wait_until
):
    pids = fake_tesseract("sleep 600")
    with Extractor(ExtractOptions(tesseract_timeout=1)) as extractor:
        extraction = extractor.extract(mixed)
        assert (extraction.status, extraction.flags) == (
            Status.PARTIAL,
            (Flag.OCR_TIMEOUT_PAGES,),
        )
        assert [page.method for page in extraction.pages] == [
            PageMethod.NATIVE,
            PageMethod.SKIPPED,
        ]
        assert "skipped page" not in extraction.text
        assert "ROSA ELVIRA" in extraction.text
        wait_until(lambda: not any(is_running(pid) for pid in pids.read_text().split()))
    assert leftovers(temporary_folder) == []


@pytest.mark.ocr
def test_a_hung_tesseract_is_given_up_after_a_few_pages(documents, fake_tesseract, tmp_path):
    pids = fake_tesseract("sleep 600")
    path = tmp_path / "largo.pdf"
    path.write_bytes(documents.join(*[documents.scan()] * 12))
    with Extractor(ExtractOptions(tesseract_timeout=1)) as extractor:
        extraction = extractor.extract(path)
    assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.TIMEOUT)
    assert pids.with_suffix(".calls").read_text().count("page") == BATCH_PAGES


@pytest.mark.ocr
def test_a_crashing_tesseract_costs_its_pages(mixed, fake_tesseract):
    fake_tesseract("kill -SEGV $$")
    with Extractor(ExtractOptions()) as extractor:
        extraction = extractor.extract(mixed)
    assert (extraction.status, extraction.flags) == (Status.PARTIAL, (Flag.FAILED_PAGES,))
    assert "page 2" in extraction.detail


@pytest.mark.ocr
def test_a_child_killed_from_outside_during_ocr_costs_its_pages(mixed, fake_tesseract, wait_until):
    pids = fake_tesseract("sleep 600")
    with Extractor(ExtractOptions()) as extractor, ThreadPoolExecutor(1) as thread:
        future = thread.submit(extractor.extract, mixed)
        wait_until(pids.exists)
        fake, child = map(int, pids.read_text().split())
        os.kill(child, signal.SIGKILL)
        extraction = future.result(60)
        wait_until(lambda: not is_running(fake))
    assert extraction.status is Status.PARTIAL
    assert [page.method for page in extraction.pages] == [PageMethod.NATIVE, PageMethod.FAILED]


def test_a_child_that_stands_still_is_killed_at_the_time_limit(native):
    options = ExtractOptions(wall_seconds=5, seconds_per_page=0)
    with Extractor(options) as extractor:
        assert extractor.extract(native).status is Status.OK
        (child,) = extractor._idle
        os.kill(child._process.pid, signal.SIGSTOP)
        extraction = extractor.extract(native)
        assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.TIMEOUT)
        assert 5 <= extraction.seconds < 10
        assert not child.is_alive()
        assert extractor.extract(native).status is Status.OK


@pytest.mark.ocr
def test_closing_stops_work_and_says_nothing_about_the_document(mixed, fake_tesseract, wait_until):
    pids = fake_tesseract("sleep 600")
    extractor = Extractor(ExtractOptions(), workers=2)
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(extractor.extract, mixed)
        wait_until(pids.exists)
        extractor.close()
        with pytest.raises(ExtractorClosed):
            future.result(60)
    wait_until(lambda: not any(is_running(pid) for pid in pids.read_text().split()))
    with pytest.raises(ExtractorClosed):
        extractor.extract(mixed)


@pytest.mark.ocr
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_survives_the_parent(mixed, fake_tesseract, tmp_path, wait_until, how):
    pids = fake_tesseract("sleep 600")
    program = (
        "import sys; from pathlib import Path\n"
        "from sherlock_pg.ingest.pool import Extractor\n"
        "from sherlock_pg.ingest.model import ExtractOptions\n"
        "with Extractor(ExtractOptions()) as extractor:\n"
        "    extractor.extract(Path(sys.argv[1]))\n"
    )
    folder = tmp_path / "temporary"
    folder.mkdir()
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(mixed)],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(pids.exists)
        parent.send_signal(how)
        assert parent.wait(20) == -how
        wait_until(lambda: not any(is_running(pid) for pid in pids.read_text().split()))
        wait_until(lambda: not leftovers(folder))
    finally:
        parent.kill()
        parent.wait()


def test_a_bomb_runs_into_the_memory_limit_and_the_next_document_does_not(
    documents, native, tmp_path
):
    path = tmp_path / "bomba.pdf"
    path.write_bytes(documents.stream_bomb(200))
    with Extractor(ExtractOptions(memory_bytes=350 << 20)) as extractor:
        extraction = extractor.extract(path)
        assert (extraction.status, extraction.reason) == (Status.FAILED, Reason.MEMORY)
        assert extractor.extract(native).status is Status.OK


def test_a_refused_file_does_not_cost_the_child(native, tmp_path, monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **kwargs: started.append(0) or popen(*args, **kwargs)
    )
    with Extractor(ExtractOptions()) as extractor:
        assert extractor.extract(tmp_path / "nada.pdf").reason is Reason.MISSING_FILE
        assert extractor.extract(tmp_path).reason is Reason.UNREADABLE
        assert extractor.extract(native).status is Status.OK
    assert len(started) == 1


def test_relative_paths_are_those_of_the_caller(native, monkeypatch):
    with Extractor(ExtractOptions()) as extractor:
        assert extractor.extract(native).status is Status.OK
        monkeypatch.chdir(native.parent)
        assert extractor.extract(Path(native.name)).status is Status.OK


def test_an_idle_child_that_died_is_replaced(native, temporary_folder, wait_until):
    with Extractor(ExtractOptions()) as extractor:
        assert extractor.extract(native).status is Status.OK
        (child,) = extractor._idle
        os.kill(child._process.pid, signal.SIGKILL)
        wait_until(lambda: not child.is_alive())
        assert extractor.extract(native).status is Status.OK
    assert leftovers(temporary_folder) == []


def test_no_more_children_than_workers_run_at_once(documents, tmp_path, monkeypatch):
    most, running, lock = 0, 0, threading.Lock()
    real = pool._Child.extract

    def counted(self, *args):
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
        try:
            return real(self, *args)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(pool._Child, "extract", counted)
    path = tmp_path / "nativo.pdf"
    path.write_bytes(documents.native())
    with Extractor(ExtractOptions(), workers=2) as extractor, ThreadPoolExecutor(6) as threads:
        list(threads.map(extractor.extract, [path] * 12))
    assert most == 2


def test_a_pool_needs_a_worker():
    with pytest.raises(ValueError, match="workers"):
        Extractor(ExtractOptions(), workers=0)


def test_the_choice_of_ocr_can_be_another_for_one_document(mixed):
    with Extractor(ExtractOptions()) as extractor:
        skipped = extractor.extract(mixed, ocr="never")
        assert [page.method for page in skipped.pages] == [PageMethod.NATIVE, PageMethod.SKIPPED]
        assert extractor.extract(mixed).pages[1].method is PageMethod.OCR
