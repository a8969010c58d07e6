"""One file read: its text by extraction, its entities by NER, as the database takes them."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sherlock_pg import scratch
from sherlock_pg.ingest.model import MAX_ATTACHMENT_DEPTH, Extraction, OcrMode, Status
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.load.fingerprint import Fingerprint
from sherlock_pg.logs import fields
from sherlock_pg.ner.pipeline import PartyExtractor
from sherlock_pg.ner.roles import Entity

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AttachedFile:
    """A file that was inside a document, to be a document of its own."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Reading:
    """What was read of one file; the values of `sherlock.finish_document`."""

    status: str
    content: str | None
    entities: list[dict[str, Any]]
    media_type: str | None
    reason: str | None
    reason_detail: str | None
    flags: list[str]
    pages: list[dict[str, Any]]
    processing: dict[str, Any] = field(default_factory=dict)
    attachments: tuple[AttachedFile, ...] = ()


class DocumentReader:
    """Reads files; safe to use from several threads.

    Args:
        extractor: the pool of extraction processes.
        parties: the NER pipeline.
    """

    def __init__(self, extractor: Extractor, parties: PartyExtractor) -> None:
        self._extractor = extractor
        self._parties = parties
        # Rules and model hold the interpreter anyway; loading the model twice would cost seconds.
        self._parties_lock = threading.Lock()

    def read(
        self, path: Path, expected: Fingerprint, *, ocr: OcrMode | None = None, depth: int = 0
    ) -> Reading:
        """Read a file whose bytes have been fingerprinted; never raises for a bad document.

        Args:
            path: the file.
            expected: what its bytes must be.
            ocr: another choice for OCR than the extractor's.
            depth: in how many containers it is; from a certain depth on the files inside are left.

        Raises:
            EnvironmentFault: tesseract, a language or a model is missing.
        """
        folder = scratch.new_folder("reader") if depth < MAX_ATTACHMENT_DEPTH else None
        try:
            extraction = self._extractor.extract(path, attachments_into=folder, ocr=ocr)
            attachments = tuple(
                AttachedFile(attached.name, (folder / attached.file).read_bytes())
                for attached in extraction.attachments
                if folder is not None and attached.file is not None
            )
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        return self._reading(path, expected, extraction, attachments)

    def _reading(
        self,
        path: Path,
        expected: Fingerprint,
        extraction: Extraction,
        attachments: tuple[AttachedFile, ...],
    ) -> Reading:
        if extraction.sha256 and bytes.fromhex(extraction.sha256) != expected.sha256:
            return _failed(
                extraction, Reason.CHANGED_WHILE_READ, "the file changed after it was hashed"
            )
        if extraction.status is Status.FAILED:
            return _failed(extraction, extraction.reason or Reason.CRASHED, extraction.detail)
        started = time.perf_counter()
        flags = [str(flag) for flag in extraction.flags]
        if len(attachments) < len(extraction.attachments):
            flags.append("attachments_left_out")
        entities: list[Entity] = []
        try:
            with self._parties_lock:
                entities = self._parties.extract(extraction.text)
        except (ValueError, RuntimeError, RecursionError, MemoryError) as error:
            # The text is good without its entities; the flag says that they are missing.
            log.warning(
                "party extraction failed", exc_info=error, extra=fields(path=path, stage="ner")
            )
            flags.append("ner_failed")
        return Reading(
            status=str(extraction.status),
            content=extraction.text,
            entities=[entity_row(entity) for entity in entities],
            media_type=extraction.media_type or None,
            reason=None,
            reason_detail=extraction.detail or None,
            flags=flags,
            pages=_pages(extraction),
            processing={
                **_processing(extraction),
                "ner_seconds": round(time.perf_counter() - started, 4),
                "ner_versions": self._parties.versions,
            },
            attachments=attachments,
        )


def entity_row(entity: Entity) -> dict[str, Any]:
    """Return an entity as `sherlock.store_entities` takes it."""
    return {
        "role": str(entity.role),
        "value": entity.value,
        "id_type": str(entity.id_type) if entity.id_type else None,
        "owner": str(entity.owner) if entity.owner else None,
        "source": str(entity.source),
        "score": entity.score,
        "start": entity.start,
        "end": entity.end,
        "is_comparable": not (entity.is_anonymised or entity.is_institutional),
    }


def _failed(extraction: Extraction, reason: Reason, detail: str) -> Reading:
    return Reading(
        status="failed",
        content=None,
        entities=[],
        media_type=extraction.media_type or None,
        reason=str(reason),
        reason_detail=detail or None,
        flags=[str(flag) for flag in extraction.flags],
        pages=_pages(extraction),
        processing=_processing(extraction),
    )


def _pages(extraction: Extraction) -> list[dict[str, Any]]:
    return [
        {
            "number": page.number,
            "method": str(page.method),
            "char_count": page.char_count,
            "quality": page.quality,
        }
        for page in extraction.pages
    ]


def _processing(extraction: Extraction) -> dict[str, Any]:
    return {
        "extract_seconds": round(extraction.seconds, 4),
        "extract_cpu_seconds": round(extraction.cpu_seconds, 4),
        "ocr_seconds": round(extraction.ocr_seconds, 4),
        "engine_versions": extraction.engine_versions,
    }
