"""Texts to load, and runs of the loader with real extraction and NER."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.load.loader import Loader, LoadOptions
from sherlock_pg.load.outcome import Outcome
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
1. Estoy afiliada desde hace {years} años y padezco {illness}, diagnosticada en {city}.
2. El médico tratante ordenó {order}, que la entidad no ha autorizado desde el {date}.
3. Presenté derecho de petición y la respuesta fue que no había agenda disponible en {city}.
4. La demora agrava mi estado: {harm}.

PRETENSIONES
Que se ordene a la entidad autorizar {order} dentro de las cuarenta y ocho horas siguientes.

Notificaciones: {mail}
"""

CASE = {
    "name": "CARMEN ROSA QUINTERO ARIAS",
    "defendant": "NUEVA EPS",
    "cedula": "41.555.777",
    "years": "doce",
    "illness": "insuficiencia renal crónica en estadio cuatro",
    "city": "Armenia",
    "order": "tres sesiones semanales de hemodiálisis con transporte",
    "date": "4 de febrero de 2025",
    "harm": "he sido hospitalizada dos veces por edema pulmonar",
    "mail": "carmen.quintero@ejemplo.com",
}

OTHER = {
    "name": "JAIRO ENRIQUE MOSQUERA LUNA",
    "defendant": "COLPENSIONES",
    "cedula": "16.222.333",
    "years": "treinta",
    "illness": "una pérdida de capacidad laboral del sesenta por ciento",
    "city": "Quibdó",
    "order": "el pago de la pensión de invalidez reconocida por resolución",
    "date": "19 de agosto de 2024",
    "harm": "no tengo con qué sostener a mis tres hijos menores",
    "mail": "jmosquera@ejemplo.org",
}


def tutela(**changes: str) -> str:
    """Return a short tutela; changes replace details of the case."""
    return TUTELA.format(**{**CASE, **changes})


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes a tutela into a folder of the test's own."""

    def write_file(file: str, /, text: str | None = None, **changes: str) -> Path:
        path = tmp_path / "in" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tutela(**changes) if text is None else text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture(scope="session")
def other_case() -> dict[str, str]:
    """Give the details of a case of other people."""
    return dict(OTHER)


class SilentProgress:
    """Says nothing."""

    def stage(self, name: str, total: int) -> None: ...

    def step(self, count: int = 1) -> None: ...


@pytest.fixture
def progress() -> SilentProgress:
    """Give a progress that says nothing."""
    return SilentProgress()


@pytest.fixture(scope="session")
def extractor() -> Iterator[Extractor]:
    """Give extraction processes that live for the session."""
    with Extractor(ExtractOptions(), workers=2) as pool:
        yield pool


@pytest.fixture
def run_load(database_url: str, extractor: Extractor) -> Callable[..., list[Outcome]]:
    """Give a function that loads files and returns the outcomes in order."""

    def run(files: Sequence[Path], **options: Any) -> list[Outcome]:
        outcomes: list[Outcome] = []
        reader = DocumentReader(extractor, PartyExtractor("none"))
        Loader(database_url, LoadOptions(**options), extractor, reader).run(
            files, outcomes.append, SilentProgress()
        )
        return outcomes

    return run


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def as_nobody() -> Callable[[], AbstractContextManager[None]]:
    """Give a context in which the process has no rights over the files of root."""

    @contextlib.contextmanager
    def without_rights() -> Iterator[None]:
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(user)

    return without_rights
