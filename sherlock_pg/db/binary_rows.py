"""Rows in PostgreSQL's binary COPY format, made of whole arrays where they have one length.

Written here, and not by the adapters of psycopg and pgvector, because these make an object of each
number, and must know in which schema the types are. Each function gives the bytes of all rows,
without the header and the trailer of a COPY; `copy_rows` sends them.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL

_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER: Final = b"\xff\xff"
_PIECE_BYTES: Final = 1 << 20

_NULL: Final = b"\xff\xff\xff\xff"
_INT4_OID: Final = 23
_TEXT_OID: Final = 25
_DATE_OID: Final = 1082
_DATE_EPOCH: Final = datetime.date(2000, 1, 1).toordinal()
_TIME_EPOCH: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)

_field: Final = struct.Struct(">i").pack
_bigint: Final = struct.Struct(">iq").pack
_integer: Final = struct.Struct(">ii").pack


def copy_rows(conn: psycopg.Connection, target: LiteralString, rows: bytes) -> None:
    """Send rows to a table; nothing is sent for none.

    Args:
        conn: the connection.
        target: table and columns, as COPY takes them.
        rows: what the other functions gave.
    """
    if not rows:
        return
    with (
        conn.cursor() as cursor,
        cursor.copy(SQL("copy ") + SQL(target) + SQL(" from stdin (format binary)")) as copy,
    ):
        copy.write(_HEADER)
        for start in range(0, len(rows), _PIECE_BYTES):
            copy.write(rows[start : start + _PIECE_BYTES])
        copy.write(_TRAILER)


def columns(count: int) -> bytes:
    """Return the beginning of a row with so many fields."""
    return struct.pack(">h", count)


def bigint(value: int) -> bytes:
    """Return a field of type bigint."""
    return _bigint(8, value)


def integer(value: int) -> bytes:
    """Return a field of type integer."""
    return _integer(4, value)


def text(value: str) -> bytes:
    """Return a field of type text."""
    encoded = value.encode()
    return _field(len(encoded)) + encoded


def bytea(value: bytes | None) -> bytes:
    """Return a field of type bytea."""
    return _NULL if value is None else _field(len(value)) + value


def timestamp(value: datetime.datetime) -> bytes:
    """Return a field of type timestamp with time zone."""
    return _bigint(8, (value - _TIME_EPOCH) // datetime.timedelta(microseconds=1))


def texts(values: Sequence[str]) -> bytes:
    """Return a field of type text[]."""
    return _array(_TEXT_OID, [text(value) for value in values])


def dates(values: Sequence[datetime.date]) -> bytes:
    """Return a field of type date[]."""
    return _array(_DATE_OID, [integer(value.toordinal() - _DATE_EPOCH) for value in values])


def integers(values: NDArray[np.int32]) -> bytes:
    """Return a field of type integer[]."""
    elements = np.empty(len(values), [("size", ">i4"), ("value", ">i4")])
    elements["size"] = 4
    elements["value"] = values
    if not len(values):
        return _array(_INT4_OID, [])
    return (
        struct.pack(">iiiiii", 20 + elements.nbytes, 1, 0, _INT4_OID, len(values), 1)
        + elements.tobytes()
    )


def signature_rows(
    document_ids: NDArray[np.int64],
    scheme_id: int,
    shingle_counts: NDArray[np.int32],
    boilerplate_counts: NDArray[np.int32],
    signatures: NDArray[np.int32],
    sketches: NDArray[np.uint8],
    samples: Sequence[NDArray[np.int32]],
) -> bytes:
    """Return rows of `sherlock.document_signatures`, of documents that have a signature."""
    slots = signatures.shape[1]
    rows = _rows(
        len(document_ids),
        document_id=">i8",
        scheme_id=">i4",
        shingle_count=">i4",
        boilerplate_count=">i4",
        signature=np.dtype(
            [("head", ">i4", 5), ("slots", np.dtype([("size", ">i4"), ("slot", ">i4")]), slots)]
        ),
        sketch=np.dtype([("bits", ">i4"), ("bytes", "u1", sketches.shape[1])]),
    )
    rows["document_id"] = document_ids
    rows["scheme_id"] = scheme_id
    rows["shingle_count"] = shingle_counts
    rows["boilerplate_count"] = boilerplate_counts
    rows["signature"]["head"] = (1, 0, _INT4_OID, slots, 1)
    rows["signature"]["slots"]["size"] = 4
    rows["signature"]["slots"]["slot"] = signatures
    rows["sketch"]["bits"] = sketches.shape[1] * 8
    rows["sketch"]["bytes"] = sketches
    rows["columns"] = len(rows.dtype.names or ()) // 2 + 1
    fixed, width = rows.tobytes(), rows.itemsize
    return b"".join(
        part
        for number, sample in enumerate(samples)
        for part in (fixed[number * width : (number + 1) * width], integers(sample))
    )


def unsigned_rows(
    document_ids: NDArray[np.int64],
    scheme_id: int,
    shingle_counts: NDArray[np.int32],
    boilerplate_counts: NDArray[np.int32],
    samples: Sequence[NDArray[np.int32]],
) -> bytes:
    """Return such rows of texts of which nothing but boilerplate is left: without a signature."""
    return b"".join(
        columns(7)
        + bigint(document_id)
        + integer(scheme_id)
        + integer(shingle_count)
        + integer(boilerplate_count)
        + _NULL
        + _NULL
        + integers(sample)
        for document_id, shingle_count, boilerplate_count, sample in zip(
            document_ids.tolist(),
            shingle_counts.tolist(),
            boilerplate_counts.tolist(),
            samples,
            strict=True,
        )
    )


def band_key_rows(document_ids: NDArray[np.int64], keys: NDArray[np.int64]) -> bytes:
    """Return rows (key, document_id) in the order of the keys, in which the index is quickest.

    Args:
        document_ids: one for each row of `keys`.
        keys: the band keys of each document.
    """
    owners = np.repeat(document_ids, keys.shape[1])
    flat = keys.reshape(-1)
    order = np.argsort(flat, kind="stable")
    rows = _rows(len(flat), key=">i8", document_id=">i8")
    rows["key"] = flat[order]
    rows["document_id"] = owners[order]
    return rows.tobytes()


def vector_rows(
    document_ids: NDArray[np.int64],
    model_id: int,
    row_ends: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    sign_bits: NDArray[np.uint8],
    dimensions: int,
) -> bytes:
    """Return rows (document_id, model_id, vector, sign_bits); the bits are null without terms.

    Args:
        document_ids: the documents.
        model_id: the model.
        row_ends: where the rows of the vectors begin and end, one more than there are documents.
        indices: features, from 0.
        values: their weights.
        sign_bits: packed, one row per document.
        dimensions: of the vectors.
    """
    ends = (row_ends * 4).tolist()
    index_bytes = indices.astype(">i4").tobytes()
    value_bytes = values.astype(">f4").tobytes()
    bit_bytes = sign_bits.tobytes()
    bit_width = sign_bits.shape[1]
    bit_head = struct.pack(">ii", 4 + bit_width, bit_width * 8)
    pack_head = struct.Struct(">hiqiiiiii").pack
    rows: list[bytes] = []
    for number, document_id in enumerate(document_ids.tolist()):
        start, end = ends[number], ends[number + 1]
        count = (end - start) // 4
        rows += (
            pack_head(4, 8, document_id, 4, model_id, 12 + 8 * count, dimensions, count, 0),
            index_bytes[start:end],
            value_bytes[start:end],
        )
        if count:
            rows += (bit_head, bit_bytes[number * bit_width : (number + 1) * bit_width])
        else:
            rows.append(_NULL)
    return b"".join(rows)


def joined(rows: Iterable[Sequence[bytes]]) -> bytes:
    """Return rows of fields that are encoded already."""
    return b"".join(part for row in rows for part in (columns(len(row)), *row))


def _array(oid: int, elements: Sequence[bytes]) -> bytes:
    if not elements:
        return struct.pack(">iiii", 12, 0, 0, oid)
    content = b"".join(elements)
    return struct.pack(">iiiiii", 20 + len(content), 1, 0, oid, len(elements), 1) + content


def _rows(count: int, **types: Any) -> NDArray[np.void]:
    """Return an array of rows whose fields have their sizes in front of them."""
    members: list[Any] = [("columns", ">i2")]
    for name, kind in types.items():
        members += [(f"{name} size", ">i4"), (name, kind)]
    rows = np.zeros(count, np.dtype(members))
    rows["columns"] = len(types)
    for name in types:
        rows[f"{name} size"] = rows.dtype[name].itemsize
    return rows
