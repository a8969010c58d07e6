"""Bombs and broken bytes of every kind end with a reason, and the next document goes on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.ingest.extract import extract_in_process
from sherlock_pg.ingest.model import ExtractOptions, Status
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.ingest.reasons import Reason

KINDS = ("docx", "odt", "rtf", "html", "mail", "archive")


@pytest.fixture(scope="module")
def samples(typed):
    """Give a document of each kind."""
    return typed.each()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder for the mutated documents."""
    return tmp_path_factory.mktemp("mutados")


def mutate(data, seed):
    """Change, drop or repeat some bytes."""
    dice = random.Random(seed)
    changed = bytearray(data)
    for _ in range(dice.choice((1, 3, 30))):
        at = dice.randrange(max(1, len(changed)))
        match dice.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del changed[at : at + dice.randrange(1, 50)]
            case 2:
                changed[at:at] = changed[at : at + dice.randrange(1, 200)]
            case 3:
                changed[at:at] = dice.randbytes(dice.randrange(1, 8))
    return bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_mutated_documents_never_raise_nor_crash(samples, folder, kind, seed):
    path = folder / kind
    path.write_bytes(mutate(samples[kind], seed))
    extraction = extract_in_process(path, ExtractOptions(ocr="never"), attachments_into=folder)
    assert extraction.reason is not Reason.CRASHED, extraction.detail
    assert (extraction.reason is None) == (extraction.status is not Status.FAILED)


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_documents_in_the_child(samples, extractor, folder, kind):
    path = folder / kind
    for seed in range(3):
        path.write_bytes(mutate(samples[kind], seed))
        assert extractor.extract(path, folder).reason is not Reason.CRASHED
    path.write_bytes(samples[kind])
    assert extractor.extract(path, folder).status is Status.OK


@pytest.mark.parametrize("kind", KINDS)
def test_every_beginning_of_a_document_ends_with_a_reason_or_is_partial(samples, read, kind):
    data = samples[kind]
    for share in (0.1, 0.5, 0.9, 0.99):
        extraction = read(data[: int(len(data) * share)])
        assert extraction.reason is not Reason.CRASHED, extraction.detail
        if kind in ("docx", "odt", "archive"):
            assert extraction.reason is Reason.DAMAGED


def test_memory_and_time_of_one_document_do_not_hurt_the_next(typed, tmp_path):
    elements = b"".join(b"<w:p/><w:r%d/>" % number for number in range(1_500_000))
    many_elements = typed.rewritten(
        typed.docx(),
        {
            "word/document.xml": lambda old: old.replace(
                b"<w:sectPr",
                elements + b"<w:sectPr",
            )
        },
    )
    path, good = tmp_path / "bomba.docx", tmp_path / "bueno.docx"
    path.write_bytes(many_elements)
    good.write_bytes(typed.docx())
    options = ExtractOptions(memory_bytes=450 << 20, wall_seconds=60)
    with Extractor(options, workers=1) as extractor:
        assert extractor.extract(path).reason in (Reason.MEMORY, Reason.TOO_BIG)
        assert extractor.extract(good).status is Status.OK
    with Extractor(ExtractOptions(wall_seconds=0.5), workers=1) as extractor:
        assert extractor.extract(path).reason in (Reason.TIMEOUT, Reason.TOO_BIG)
