"""From rows to what COPY sends: features, references and types, all made in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sherlock_pg.bulk.rows import Row
from sherlock_pg.db import binary_rows
from sherlock_pg.db.tables import MAX_FEATURES
from sherlock_pg.vectorize.canonical import canonical_text
from sherlock_pg.vectorize.features import FeatureMaker, Features
from sherlock_pg.vectorize.references import references

_TYPE_IS_IN: Final = 6000
"""Characters of a text that announce its type: see `sherlock.guess_doc_type`."""


@dataclass(frozen=True)
class Prepared:
    """Rows of the tables for a batch of texts, ready for COPY in this order.

    Attributes:
        document_ids: the documents, in the order of their rows in the file.
        maker: what made the features: if it is not current any more, neither are they.
        documents: rows of `sherlock.documents`.
        keys: of `sherlock.document_keys`.
        signatures: of `sherlock.document_signatures`.
        band_keys: of `sherlock.band_keys`.
        references: of `sherlock.document_references`.
        vectors: of `sherlock.document_vectors`.
    """

    document_ids: Sequence[int]
    maker: FeatureMaker
    documents: bytes
    keys: bytes
    signatures: bytes
    band_keys: bytes
    references: bytes
    vectors: bytes


def prepare(
    rows: Sequence[Row],
    document_ids: Sequence[int],
    maker: FeatureMaker,
    *,
    doc_type: str,
    bulk_file_id: int,
    indexed_at: datetime,
) -> Prepared:
    """Make all that is stored of texts.

    Args:
        rows: the texts.
        document_ids: ids that they get.
        maker: makes the features of the collection's documents.
        doc_type: their type; auto to guess it from each text.
        bulk_file_id: the file that they are from.
        indexed_at: when.
    """
    features = maker.make([row.text for row in rows])
    ids = np.asarray(document_ids, np.int64)
    return Prepared(
        document_ids=document_ids,
        maker=maker,
        documents=_documents(rows, document_ids, maker, features, doc_type, indexed_at),
        keys=_keys(rows, document_ids, maker, bulk_file_id),
        signatures=_signatures(ids, maker, features),
        band_keys=binary_rows.band_key_rows(
            ids[features.has_signature], features.band_keys[features.has_signature]
        ),
        references=_references(rows, document_ids, features),
        vectors=b"".join(_vectors(ids, features, model_id) for model_id in features.vectors),
    )


def guess_doc_type(text: str, canonical: str) -> str:
    """Return the type that a text announces, as `sherlock.guess_doc_type` does.

    Args:
        text: the text.
        canonical: its canonical text.
    """
    announced = _announced_doc_type(canonical)
    if len(text) <= _TYPE_IS_IN or announced == "default":
        return announced
    return _announced_doc_type(canonical_text(text[:_TYPE_IS_IN]))


def _announced_doc_type(canonical: str) -> str:
    habeas = canonical.find("habeas corpus")
    tutela = canonical.find("accion de tutela")
    if habeas >= 0 and (tutela < 0 or habeas < tutela):
        return "habeas_corpus"
    return "tutela" if tutela >= 0 else "default"


def _documents(
    rows: Sequence[Row],
    document_ids: Sequence[int],
    maker: FeatureMaker,
    features: Features,
    doc_type: str,
    indexed_at: datetime,
) -> bytes:
    collection_id = binary_rows.integer(maker.scheme.collection_id)
    feature_version = binary_rows.integer(maker.scheme.feature_version)
    made_at = binary_rows.timestamp(indexed_at)
    is_guessed = doc_type == "auto"
    return binary_rows.joined(
        (
            binary_rows.bigint(document_id),
            collection_id,
            binary_rows.text(
                guess_doc_type(row.text, canonical.decode()) if is_guessed else doc_type
            ),
            binary_rows.text(row.name),
            binary_rows.texts(row.flags),
            binary_rows.text(row.text),
            binary_rows.bytea(canonical_sha256),
            binary_rows.text(text_state),
            binary_rows.integer(word_count),
            made_at,
            feature_version,
        )
        for row, document_id, canonical, canonical_sha256, text_state, word_count in zip(
            rows,
            document_ids,
            features.canonical,
            features.canonical_sha256,
            features.text_states,
            features.word_counts.tolist(),
            strict=True,
        )
    )


def _keys(
    rows: Sequence[Row], document_ids: Sequence[int], maker: FeatureMaker, bulk_file_id: int
) -> bytes:
    collection_id = binary_rows.integer(maker.scheme.collection_id)
    file_id = binary_rows.integer(bulk_file_id)
    return binary_rows.joined(
        (
            binary_rows.bigint(document_id),
            collection_id,
            binary_rows.text(row.key),
            file_id,
            binary_rows.bigint(row.line_number),
        )
        for row, document_id in zip(rows, document_ids, strict=True)
    )


def _signatures(ids: NDArray[np.int64], maker: FeatureMaker, features: Features) -> bytes:
    signed = features.has_signature
    unsigned = features.is_indexed & ~signed
    scheme_id = maker.scheme.scheme_id

    def samples(chosen: NDArray[np.bool_]) -> list[NDArray[np.int32]]:
        return [features.containment_samples[number] for number in np.flatnonzero(chosen).tolist()]

    return binary_rows.signature_rows(
        ids[signed],
        scheme_id,
        features.shingle_counts[signed],
        features.boilerplate_counts[signed],
        features.signatures[signed],
        features.sketches[signed],
        samples(signed),
    ) + binary_rows.unsigned_rows(
        ids[unsigned],
        scheme_id,
        features.shingle_counts[unsigned],
        features.boilerplate_counts[unsigned],
        samples(unsigned),
    )


def _references(rows: Sequence[Row], document_ids: Sequence[int], features: Features) -> bytes:
    found = (
        (document_id, references(row.text, canonical))
        for row, document_id, canonical, text_state in zip(
            rows, document_ids, features.canonical, features.text_states, strict=True
        )
        if text_state == "indexed"
    )
    return binary_rows.joined(
        (binary_rows.bigint(document_id), binary_rows.texts(numbers), binary_rows.dates(dates))
        for document_id, (numbers, dates) in found
        if numbers or dates
    )


def _vectors(ids: NDArray[np.int64], features: Features, model_id: int) -> bytes:
    vectors = features.vectors[model_id]
    indexed = features.is_indexed
    lengths = np.diff(vectors.row_ends)
    # What is not indexed has an empty row, which takes no place among the indices and values.
    row_ends = np.concatenate([[0], np.cumsum(lengths[indexed])])
    return binary_rows.vector_rows(
        ids[indexed],
        model_id,
        row_ends,
        vectors.indices,
        vectors.values,
        vectors.sign_bits[indexed],
        MAX_FEATURES,
    )
