"""Rows of JSON lines, CSV and Parquet, as they are and as they should not be."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from sherlock_pg.bulk import lines
from sherlock_pg.bulk.formats import find_files
from sherlock_pg.bulk.rows import BadRow, DamagedFile, FieldMap, Position, RawRow, Row
from sherlock_pg.errors import UsageError

BEGINNING = Position()
FIELDS = FieldMap(("content",), "id")
Read = list[tuple[int, str]]


def read(
    path: Path, start: Position = BEGINNING, encoding: str = "utf-8", fields: FieldMap = FIELDS
) -> tuple[Read, list[RawRow]]:
    """Return line and text, or line and reason, of each row; and the rows as they stand."""
    (file,) = find_files([path], encoding)
    found: Read = []
    raws: list[RawRow] = []
    with file.open(fields.needed) as reader:
        for raw in reader.rows(start):
            raws.append(raw)
            try:
                row: Row = fields.row(raw.line_number, reader.values(raw.content))
                found.append((raw.line_number, row.text))
            except BadRow as bad:
                found.append((raw.line_number, f"! {bad.reason}"))
    return found, raws


CSVS = {
    "plain": ("id,content\n1,uno\n2,dos\n", [(2, "uno"), (3, "dos")]),
    "no newline at the end": ("id,content\n1,uno", [(2, "uno")]),
    "bom, crlf, semicolons": ("\ufeffid;content\r\n1;uno\r\n", [(2, "uno")]),
    "tabs": ("content\tid\nuno\t1\n", [(2, "uno")]),
    "bars": ("content|id\nuno, y|1\n", [(2, "uno, y")]),
    "quotes": ('"id","content"\n1,"uno ""dos"", tres"\n', [(2, 'uno "dos", tres')]),
    "lines in a field": ('id,content\n1,"a\nb"\n2,c\n', [(2, "a\nb"), (4, "c")]),
    "too few, too many": (
        "id,content\n1\n2,b,c\n3,d\n",
        [(2, "! broken_row"), (3, "! broken_row"), (4, "d")],
    ),
    "blank lines": ("id,content\n\n1,uno\n\n", [(3, "uno")]),
    "a quote inside": ('id,content\n1,"a"b\n2,c\n', [(2, "! broken_row"), (3, "c")]),
    "a quote never closed": (
        'id,content\n1,"a\n2,b\n3,c\n',
        [(2, "! broken_row"), (3, "b"), (4, "c")],
    ),
    "a quote closed by a later one": (
        'id,content\n1,"a\n2,b\n3,"c"\n',
        [(2, "! broken_row"), (3, "b"), (4, "c")],
    ),
    "empty text": ("id,content\n1,\n", [(2, "! no_text")]),
}


@pytest.mark.parametrize("name", CSVS)
def test_csv(tmp_path: Path, name: str) -> None:
    content, expected = CSVS[name]
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    assert read(path)[0] == expected


@given(
    rows=st.lists(
        st.tuples(
            st.integers(),
            st.text(
                st.one_of(st.sampled_from('",;\n\t|ñ a'), st.characters(codec="utf-8")), min_size=1
            ).filter(lambda text: text.strip() and "\r" not in text and "\0" not in text),
        ),
        max_size=12,
    ),
    kind=st.sampled_from(["jsonl", "csv", "csv.gz", "parquet"]),
)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rows_come_back_from_any_place(
    tmp_path: Path, rows: list[tuple[int, str]], kind: str
) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"id": i, "content": t}) + "\n" for i, t in rows))
    elif kind == "parquet":
        write_parquet(path, [i % 2**62 for i, _ in rows], [t for _, t in rows], group_size=4)
    else:
        text = "id,content\n" + "".join(
            f'{i},"{t.replace(chr(34), chr(34) * 2)}"\n' for i, t in rows
        )
        path.write_bytes(gzip.compress(text.encode()) if "gz" in kind else text.encode())
    found, raws = read(path)
    assert [text for _, text in found] == [text for _, text in rows]
    for number, raw in enumerate(raws, 1):
        assert read(path, raw.end)[0] == found[number:]


def write_parquet(path: Path, ids: Sequence[Any], texts: Sequence[Any], group_size: int) -> None:
    table = pyarrow.table({"id": ids, "other": [None] * len(ids), "content": texts})
    parquet.write_table(table, path, row_group_size=group_size)


def test_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("id,content\n1,año\n2,uno\n".encode("latin-1"))
    assert read(path)[0] == [(2, "! encoding"), (3, "uno")]
    assert read(path, encoding="latin-1")[0] == [(2, "año"), (3, "uno")]


def test_lines_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(lines, "_PIECE_BYTES", 7)
    good = json.dumps({"id": 1, "content": "uno"}) + "\n"
    long = json.dumps({"id": 2, "content": "u" * 200}) + "\n"
    path = tmp_path / "a.jsonl"
    path.write_text(good + long + good)
    assert read(path)[0] == [(1, "uno"), (2, "! too_long"), (3, "uno")]
    path = tmp_path / "a.csv"
    path.write_text(f"id,content\n1,uno\n2,{'u' * 200}\n3,tres\n")
    assert read(path)[0] == [(2, "uno"), (3, "! broken_row"), (4, "tres")]


def test_a_text_that_is_too_long_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sherlock_pg.bulk.rows.MAX_TEXT_CHARS", 5)
    row = FIELDS.row(1, {"id": "a", "content": "123456"})
    assert (row.text, row.flags) == ("12345", ("truncated",))


def test_name_and_several_texts() -> None:
    fields = FieldMap(("title", "content"), "id", "file")
    values = {"id": 7, "title": None, "content": "c", "file": "f"}
    assert fields.row(1, values) == Row(1, "7", "f", "c")
    assert fields.row(1, {**values, "title": "", "file": None}) == Row(1, "7", "7", "\n\nc")
    with pytest.raises(BadRow, match="not a string"):
        fields.row(1, {**values, "file": ["f"]})


@pytest.mark.parametrize("kind", ["cut off", "changed"])
def test_packed_file_that_is_damaged(tmp_path: Path, kind: str) -> None:
    text = "".join(
        json.dumps({"id": n, "content": f"texto {n * 7919}"}) + "\n" for n in range(9000)
    )
    packed = bytearray(gzip.compress(text.encode()))
    if kind == "cut off":
        del packed[-len(packed) // 3 :]
    else:
        packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed)
    found: list[int] = []
    (file,) = find_files([path], "utf-8")
    with file.open(FIELDS.needed) as reader, pytest.raises(DamagedFile):
        found.extend(raw.line_number for raw in reader.rows(Position()))
    assert found == list(range(1, len(found) + 1))
    if kind == "cut off":
        assert found


def test_damage_is_reported_and_what_was_before_is_there(
    sherlock: Callable[..., Any], tmp_path: Path, make_text: Callable[..., str]
) -> None:
    text = "".join(json.dumps({"id": n, "content": make_text(n)}) + "\n" for n in range(300))
    packed = gzip.compress(text.encode())
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed[: len(packed) * 4 // 5])
    ran = sherlock(
        "load", path, "--text", "content", "--key", "id", "--collection", "c", "--format", "json"
    )
    assert ran.code == 1
    (said,) = json.loads(ran.out)["files"]
    assert said["new"] == said["rows"] > 50
    assert said["damage"]
    path.write_bytes(packed)
    ran = sherlock("load", path, "--text", "content", "--key", "id", "--collection", "c")
    assert ran.code == 0
    assert f"{300 - said['new']} new, {said['new']} known" in ran.out


def test_parquet_columns_and_types(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path, ["a", "b", None], ["uno", None, "tres"], group_size=2)
    assert read(path)[0] == [(1, "uno"), (2, "! no_text"), (3, "! bad_key")]
    write_parquet(path, [1, 2], [1.5, 2.5], group_size=2)
    assert read(path)[0] == [(1, "! not_a_string"), (2, "! not_a_string")]
    with pytest.raises(UsageError, match="no column 'texto'"):
        read(path, fields=FieldMap(("texto",), "id"))
    words = pyarrow.array(["uno", "dos", "uno"]).dictionary_encode()
    parquet.write_table(pyarrow.table({"id": [1, 2, 3], "content": words}), path)
    assert [text for _, text in read(path)[0]] == ["uno", "dos", "uno"]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match="can't be read as Parquet"):
        read(path)


def test_parquet_with_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    bad = pyarrow.array([b"uno", b"\xff\xfe", b"tres"]).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"id": [1, 2, 3], "content": bad}), path)
    assert read(path)[0] == [(1, "uno"), (2, "! encoding"), (3, "tres")]
