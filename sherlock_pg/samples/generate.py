"""Writes collections of sample documents with a manifest that says what they are.

A collection has three folders: `archive`, to be loaded first; `incoming`, whose files are then
compared with it; and `text`, the exact words of each document, to measure OCR and for fast tests.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sherlock_pg.errors import UsageError
from sherlock_pg.samples.cases import Case, draw_case
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.filing import Filing
from sherlock_pg.samples.spanish import plain_letters
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.samples.variants import (
    NEGATIVE_KINDS,
    Expectation,
    Kind,
    expectation,
    make_variant,
)

if TYPE_CHECKING:
    from sherlock_pg.samples.render import Format

MANIFEST = "manifest.json"

_NAME_SUFFIX = {
    Kind.ORIGINAL: "",
    Kind.EXACT_COPY: "_copia",
    Kind.CLEAN_SCAN: "_escaneo",
    Kind.NOISY_SCAN: "_fotocopia_sellada",
    Kind.REDATED: "_nueva_fecha",
    Kind.REORDERED: "_hechos_reordenados",
    Kind.PARAPHRASE: "_otra_redaccion",
    Kind.ANNEXED: "_con_anexos",
    Kind.NEW_VERSION: "_version_ampliada",
    Kind.SAME_TEMPLATE_OTHER_PEOPLE: "_misma_plantilla",
    Kind.SAME_PARTIES_OTHER_CASE: "_otro_caso",
    Kind.UNRELATED: "",
}


@dataclasses.dataclass(frozen=True)
class Document:
    """One file of a collection, before it is drawn.

    Attributes:
        name: path in the collection, with `/`.
        derived_from: the name of the document it was made from, or of the one it resembles.
    """

    name: str
    case: Case
    filing: Filing
    kind: Kind
    derived_from: str | None

    @property
    def file_format(self) -> Format:
        """The format, by the extension of the name."""
        from sherlock_pg.samples.render import Format

        return Format(self.name.rpartition(".")[2])

    @property
    def text_name(self) -> str:
        """The path of the file with the document's exact words."""
        stem = self.name.rpartition("/")[2].rpartition(".")[0]
        return f"text/{stem}.txt"

    def expectation(self) -> Expectation:
        """Return what should be found when the archive is loaded first."""
        kind = Kind.ORIGINAL if self.derived_from is None else self.kind
        return expectation(kind, self.case.doc_type)

    def manifest_entry(self) -> dict[str, Any]:
        """Return the document's entry in the manifest."""
        expected = self.expectation()
        return {
            "name": self.name,
            "text_file": self.text_name,
            "case_id": self.case.case_id,
            "kind": self.kind.value,
            "doc_type": self.case.doc_type,
            "entities": dataclasses.asdict(self.filing.gold),
            "duplicate_of": None if self.kind in NEGATIVE_KINDS else self.derived_from,
            "derived_from": self.derived_from,
            "expected_class": expected.expected,
            "acceptable_classes": list(expected.acceptable),
        }


def _stem(case: Case) -> str:
    return f"{case.topic.name}_{plain_letters(case.claimant.name).split()[-1]}"


def plan_document(
    seed: int,
    case: Case,
    kind: Kind,
    *,
    folder: str,
    extension: str = "pdf",
    of: str | None = None,
    prefix: str = "",
) -> Document:
    """Plan one document: its words, and a Spanish name that says what it is.

    Args:
        seed: the seed of the collection.
        case: the case it is derived from.
        kind: what it is to the original of the case.
        folder: archive or incoming.
        extension: the file format.
        of: the name of the document it is derived from, if that is in the collection.
        prefix: begins the file's name.
    """
    about, filing = make_variant(seed, case, kind)
    name = f"{folder}/{prefix}{_stem(about)}{_NAME_SUFFIX[kind]}.{extension}"
    return Document(name=name, case=about, filing=filing, kind=kind, derived_from=of)


def plan_collection(seed: int, cases: int, kinds: Sequence[Kind]) -> list[Document]:
    """Plan a collection: each case's original in the archive, all other kinds incoming.

    Topics take turns in an order drawn from the seed; every third clean scan is a TIFF.
    """
    topics = Draw(seed, "topics").shuffled(TOPICS)
    documents = []
    for number in range(cases):
        case_id = f"caso-{number + 1:04d}"
        case = draw_case(seed, case_id, topic_name=topics[number % len(topics)])
        prefix = f"{case_id}_"
        original = plan_document(seed, case, Kind.ORIGINAL, folder="archive", prefix=prefix)
        documents.append(original)
        for kind in kinds:
            if kind is Kind.ORIGINAL:
                continue
            is_tiff = kind is Kind.CLEAN_SCAN and number % 3 == 0
            documents.append(
                plan_document(
                    seed,
                    case,
                    kind,
                    folder="incoming",
                    extension="tiff" if is_tiff else "pdf",
                    of=original.name,
                    prefix=prefix,
                )
            )
    return documents


def render_documents(seed: int, documents: Sequence[Document]) -> Iterator[tuple[str, bytes]]:
    """Draw the files of a collection, one after the other, and the manifest last.

    Raises:
        EnvironmentFault: fpdf2 is not installed.
    """
    from sherlock_pg.samples.render import render_file

    for document in documents:
        case, filing, kind = document.case, document.filing, document.kind
        yield document.name, render_file(seed, case, filing, kind, document.file_format)
        yield document.text_name, filing.text().encode()
    manifest = {
        "seed": seed,
        "drawn_with": {"fpdf2": importlib.metadata.version("fpdf2")},
        "documents": [document.manifest_entry() for document in documents],
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    yield MANIFEST, text.encode()


def write_collection(
    folder: Path, seed: int, documents: Sequence[Document], *, overwrite: bool = False
) -> None:
    """Write a planned collection into a folder.

    Args:
        folder: made if missing.
        seed: the seed the documents were planned with.
        documents: what `plan_collection` or `committed.plan` returned.
        overwrite: write into a folder that has files; files of other names stay.

    Raises:
        UsageError: the folder has files and `overwrite` is not set.
        EnvironmentFault: fpdf2 is not installed.
    """
    if not overwrite and folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty", hint="choose another folder, or give --overwrite"
        )
    for name, content in render_documents(seed, documents):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
