"""Filings as files, scans among them, and an OCR that hangs."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import img2pdf
import psycopg
import pytest
from PIL import Image, ImageDraw, ImageFont

from sherlock_pg.db import calls
from sherlock_pg.ingest import model
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.load.fingerprint import Fingerprint
from sherlock_pg.load.reading import DocumentReader
from sherlock_pg.ner.pipeline import PartyExtractor

TUTELA = """Señor Juez de Tutela (reparto)
E. S. D.

REFERENCIA: ACCIÓN DE TUTELA
ACCIONANTE: {name}
ACCIONADO: {defendant}

{name}, mayor de edad, identificada con cédula de ciudadanía No. {cedula}, instauro acción de
tutela contra {defendant} por la vulneración de mis derechos a la salud y a la vida digna.

HECHOS
1. Estoy afiliada desde hace doce años y padezco insuficiencia renal crónica en estadio cuatro.
2. El médico tratante ordenó tres sesiones semanales de hemodiálisis con transporte, que la
entidad no ha autorizado desde el {date}.
3. Presenté derecho de petición y la respuesta fue que no había agenda disponible en Armenia.
4. La demora agrava mi estado: he sido hospitalizada dos veces por edema pulmonar.

PRETENSIONES
Que se ordene a la entidad autorizar las sesiones dentro de las cuarenta y ocho horas siguientes.
"""
CASE = {
    "name": "CARMEN ROSA QUINTERO ARIAS",
    "defendant": "NUEVA EPS",
    "cedula": "41.555.777",
    "date": "4 de febrero de 2025",
}


@pytest.fixture
def tutela() -> Callable[..., str]:
    """Give a function that writes a short tutela; changes replace details of the case."""
    return lambda **changes: TUTELA.format(**{**CASE, **changes})


@pytest.fixture
def write(tmp_path: Path, tutela: Callable[..., str]) -> Callable[..., Path]:
    """Give a function that writes a tutela, or some bytes, into a folder of the test's own."""

    def write_file(file: str, /, data: bytes | None = None, **changes: str) -> Path:
        path = tmp_path / "in" / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(tutela(**changes).encode() if data is None else data)
        return path

    return write_file


@pytest.fixture
def scan() -> Callable[..., bytes]:
    """Give a function that makes a PDF of page images, as a scanner would at 150 dpi."""

    def make(*pages: Sequence[str]) -> bytes:
        images = []
        for lines in pages:
            image = Image.new("L", (1275, 1650), 255)
            draw = ImageDraw.Draw(image)
            font = ImageFont.load_default(size=30)
            for number, line in enumerate(lines):
                draw.text((90, 120 + 48 * number), line, fill=20, font=font)
            buffer = io.BytesIO()
            image.save(buffer, "PNG")
            images.append(buffer.getvalue())
        return bytes(
            img2pdf.convert(images, layout_fun=img2pdf.get_fixed_dpi_layout_fun((150, 150)))
        )

    return make


@pytest.fixture
def hung_tesseract(tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Put a tesseract on PATH that hangs; undoing what is given takes it away again."""
    real = shutil.which("tesseract")
    fake = tmp_path / "bin" / "tesseract"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*|*--list-langs*) exec {real} "$@";; esac\nsleep 600\n'
    )
    fake.chmod(0o755)
    options = model.ExtractOptions
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(
            model, "ExtractOptions", lambda **values: options(**values, tesseract_timeout=2)
        )
        changed.setenv("PATH", str(fake.parent), prepend=os.pathsep)
        yield changed


@pytest.fixture
def rows(database_url: str) -> Callable[..., list[tuple[Any, ...]]]:
    """Give a function that runs a statement and returns its rows."""

    def query(statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(database_url, autocommit=True) as conn:
            cursor = conn.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    return query


@pytest.fixture
def reprocess(sherlock: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Give a function that runs `reprocess` and returns its result."""

    def run(*args: object, code: int = 0) -> dict[str, Any]:
        ran = sherlock("reprocess", "--ner-model", "none", "--format", "json", *args)
        assert ran.code == code, ran.err
        result: dict[str, Any] = json.loads(ran.out)
        return result

    return run


@pytest.fixture
def read_queued(database_url: str) -> Callable[[], list[int]]:
    """Give a function that reads what is queued, as a worker does; it returns the documents."""

    def work() -> list[int]:
        done = []
        with (
            Extractor(model.ExtractOptions(), workers=1) as extractor,
            psycopg.connect(database_url, autocommit=True) as conn,
        ):
            reader = DocumentReader(extractor, PartyExtractor("none"))
            for document_id, path, sha256, size_bytes in conn.execute(
                "select document_id, path, sha256, file_size_bytes"
                " from sherlock.lease_items('worker', 100) order by document_id"
            ).fetchall():
                read = reader.read(Path(path), Fingerprint(sha256, size_bytes))
                calls.finish_document(
                    conn,
                    calls.FinishedDocument(
                        document_id=document_id,
                        worker="worker",
                        doc_type="auto",
                        status=read.status,
                        content=read.content,
                        entities=read.entities,
                        media_type=read.media_type,
                        reason=read.reason,
                        reason_detail=read.reason_detail,
                        flags=read.flags,
                        pages=read.pages,
                        processing=read.processing,
                    ),
                )
                if read.status != "failed":
                    calls.record_detection(conn, document_id)
                done.append(document_id)
        return done

    return work
