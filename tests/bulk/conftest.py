"""Files of texts, and what the tables say of a text, whichever way it came in."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

_WORDS = [
    "juez", "acción", "amparo", "petición", "plazo", "médico", "entidad", "fallo", "radicado",
    "demanda", "salario", "contrato", "pensión", "vivienda", "derecho", "salud", "tratamiento",
    "traslado", "respuesta", "término", "audiencia", "recurso", "sentencia", "menor", "madre",
    "hermano", "hospital", "agua", "carretera", "escuela", "cosecha", "río", "puente",
    "subsidio", "crédito", "banco", "cuenta", "factura", "poste", "energía", "línea", "vereda",
    "alcaldía", "ñame", "güipil", "café", "señal", "árbol", "niñez",
]  # fmt: skip


def _text(number: int, words: int = 60) -> str:
    chance = random.Random(number)
    chosen = chance.choices(_WORDS, k=words)
    chosen[5:5] = [f"{chance.randrange(100, 9_999_999):,}".replace(",", "."), "del"]
    chosen[20:20] = [str(chance.randrange(1, 29)), "de", "mayo", "de", str(1995 + number % 30)]
    return " ".join(chosen) + "."


@pytest.fixture(scope="session")
def make_text() -> Callable[..., str]:
    """Give a function that makes a text of its own of a number."""
    return _text


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes JSON lines; strings and bytes are lines as they are."""

    def write(rows: Iterable[Mapping[str, Any] | str | bytes], name: str = "items.jsonl") -> Path:
        path = tmp_path / name
        with path.open("wb") as file:
            for row in rows:
                line = row if isinstance(row, str | bytes) else json.dumps(row)
                file.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        return path

    return write


TABLES = {
    "documents": "select k.name as key, d.doc_type, d.name, d.sha256, d.media_type, d.status,"
    " d.reason, d.flags, d.content, d.supplied_entities, d.canonical_sha256, d.text_state,"
    " d.word_count, d.page_count, d.processing, d.feature_version,"
    " d.indexed_at is null as unindexed, d.accepted_by"
    " from sherlock.documents as d join keys as k using (document_id)",
    "document_signatures": "select k.name as key, s.scheme_id, s.shingle_count, s.signature,"
    " s.sketch::text as sketch, s.boilerplate_count, s.containment_sample"
    " from sherlock.document_signatures as s join keys as k using (document_id)",
    "band_keys": "select k.name as key, array_agg(b.key order by b.key) as keys"
    " from sherlock.band_keys as b join keys as k using (document_id) group by 1",
    "document_references": "select k.name as key, r.numbers, r.dates"
    " from sherlock.document_references as r join keys as k using (document_id)",
    "document_vectors": "select k.name as key, v.model_id, v.vector::text as vector,"
    " v.sign_bits::text as sign_bits"
    " from sherlock.document_vectors as v join keys as k using (document_id)",
    "entities": "select k.name as key, e.role, e.ordinal, e.value, e.normalised, e.name_key,"
    " e.owner_role, e.id_type, e.is_comparable, e.source, e.score, e.start_offset, e.end_offset"
    " from sherlock.entities as e join keys as k using (document_id)",
    "entity_profiles": "select k.name as key, p.profile, p.name_keys"
    " from sherlock.entity_profiles as p join keys as k using (document_id)",
}


@pytest.fixture
def stored() -> Callable[[str, str], dict[str, list[dict[str, Any]]]]:
    """Give a function that reads all tables of a collection, by the names of its documents."""

    def read(url: str, collection: str) -> dict[str, list[dict[str, Any]]]:
        with psycopg.connect(url, row_factory=dict_row) as conn:
            return {
                table: sorted(
                    conn.execute(
                        "with keys as (select document_id, name from sherlock.documents"
                        f" where collection_id = sherlock.collection_id(%s)) {query}",
                        [collection],
                    ).fetchall(),
                    key=repr,
                )
                for table, query in TABLES.items()
            }

    return read
