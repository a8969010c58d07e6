"""The small collection that the demo loads and the tests read: `tests/data/documents`.

Run as a program with a folder, it writes exactly that collection.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sherlock_pg.samples.cases import Case, draw_case
from sherlock_pg.samples.generate import Document, plan_document, write_collection
from sherlock_pg.samples.styles import style_by_name
from sherlock_pg.samples.variants import Kind

SEED = 20240917

_ARCHIVE = (
    ("salud", "tutela_salud", "ciudadano", Kind.ORIGINAL),
    ("pension", "tutela_pension", "consultorio_juridico", Kind.ORIGINAL),
    ("fotomulta", "tutela_fotomulta", "personeria", Kind.CLEAN_SCAN),
    ("educacion", "tutela_educacion", "rueda_asociados", Kind.ORIGINAL),
    ("peticion", "tutela_peticion", "compacto", Kind.ORIGINAL),
    ("minimo_vital", "tutela_minimo_vital", "litigio", Kind.ORIGINAL),
    ("captura", "habeas_corpus_captura", "personeria", Kind.ORIGINAL),
    ("terminos", "habeas_corpus_terminos", "rueda_asociados", Kind.ORIGINAL),
)

_INCOMING = (
    ("pension", Kind.EXACT_COPY, "pdf"),
    ("fotomulta", Kind.NOISY_SCAN, "pdf"),
    ("peticion", Kind.CLEAN_SCAN, "png"),
    ("salud", Kind.REDATED, "pdf"),
    ("educacion", Kind.PARAPHRASE, "pdf"),
    ("captura", Kind.REORDERED, "txt"),
    ("terminos", Kind.ANNEXED, "pdf"),
    ("minimo_vital", Kind.NEW_VERSION, "pdf"),
    ("salud", Kind.SAME_TEMPLATE_OTHER_PEOPLE, "pdf"),
    ("minimo_vital", Kind.SAME_PARTIES_OTHER_CASE, "pdf"),
)


def plan() -> list[Document]:
    """Plan the collection; always the same."""
    archive: dict[str, Document] = {}
    cases: dict[str, Case] = {}
    for case_id, topic_name, style_name, kind in _ARCHIVE:
        style = style_by_name(style_name)
        cases[case_id] = draw_case(SEED, case_id, topic_name=topic_name, style=style)
        archive[case_id] = plan_document(SEED, cases[case_id], kind, folder="archive")
    incoming = [
        plan_document(
            SEED,
            cases[case_id],
            kind,
            folder="incoming",
            extension=extension,
            of=archive[case_id].name,
        )
        for case_id, kind, extension in _INCOMING
    ]
    new_case = draw_case(
        SEED,
        "prolongacion",
        topic_name="habeas_corpus_prolongacion",
        style=style_by_name("consultorio_juridico"),
    )
    incoming.append(plan_document(SEED, new_case, Kind.ORIGINAL, folder="incoming"))
    return [*archive.values(), *incoming]


def write(folder: Path, *, overwrite: bool = False) -> None:
    """Write the collection into a folder; see `generate.write_collection`."""
    write_collection(folder, SEED, plan(), overwrite=overwrite)


if __name__ == "__main__":
    write(Path(sys.argv[1]), overwrite=True)
