"""Labelled files: what is read of them, and what is refused, with the line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sherlock_pg.errors import ExitCode, UsageError
from sherlock_pg.evaluation.corpus import LabelledPair, read_corpus

DOCS = '{"id": "a", "text": "uno"}\n{"id": "b", "text": "dos"}\n'
PAIRS = '{"a": "a", "b": "b", "label": 1, "kind": "rescan"}\n'


def _files(folder: Path, docs: str | bytes = DOCS, pairs: str | bytes = PAIRS) -> tuple[Path, Path]:
    paths = folder / "docs.jsonl", folder / "pairs.jsonl"
    for path, content in zip(paths, (docs, pairs), strict=True):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return paths


def test_the_later_document_of_a_pair_asks(tmp_path: Path) -> None:
    pairs = (
        '{"a": "a", "b": "b", "label": 1, "kind": "rescan"}\n\n'
        '{"b": "a", "a": "b", "label": 1, "kind": "again"}\n'
    )
    corpus = read_corpus(*_files(tmp_path, pairs=pairs))
    assert corpus.pairs == (
        LabelledPair("b", "a", True, "rescan"),
        LabelledPair("b", "a", True, "again"),
    )


def test_compressed_files_are_known_by_their_content(tmp_path: Path) -> None:
    plain = read_corpus(*_files(tmp_path))
    packed = read_corpus(
        *_files(tmp_path, gzip.compress(DOCS.encode()), gzip.compress(PAIRS.encode()))
    )
    assert packed == plain


def test_line_separators_within_texts_end_no_line(tmp_path: Path) -> None:
    text = "uno\u2028dos\x85tres"
    docs = json.dumps({"id": "a", "text": text}, ensure_ascii=False) + "\n" + DOCS.split("\n")[1]
    corpus = read_corpus(*_files(tmp_path, docs))
    assert corpus.documents[0].text == text


@pytest.mark.parametrize(
    ("fields", "doc_type"),
    [("", "auto"), (', "type": "tutela"', "tutela"), (', "doc_type": "acta"', "acta")],
)
def test_the_type_has_two_names(tmp_path: Path, fields: str, doc_type: str) -> None:
    docs = DOCS.replace('"uno"', f'"uno"{fields}')
    assert read_corpus(*_files(tmp_path, docs)).documents[0].doc_type == doc_type


@pytest.mark.parametrize(
    "entities",
    [
        '{"demandante": "Ana Gil", "cedula": ["123456", "654321"], "correo": null}',
        '[{"role": "demandante", "value": "Ana Gil"}, {"role": "cedula", "value": "123456"},'
        ' {"role": "cedula", "value": "654321"}]',
    ],
)
def test_entities_have_two_shapes(tmp_path: Path, entities: str) -> None:
    docs = DOCS.replace('"uno"', f'"uno", "entities": {entities}')
    supplied, absent = read_corpus(*_files(tmp_path, docs)).documents
    assert supplied.entities == (
        {"role": "demandante", "value": "Ana Gil"},
        {"role": "cedula", "value": "123456"},
        {"role": "cedula", "value": "654321"},
    )
    assert absent.entities is None


def test_labels_that_are_no_entities_are_named(tmp_path: Path) -> None:
    docs = DOCS.replace('"uno"', '"uno", "entities": {"ciudad": "Cali"}')
    corpus = read_corpus(*_files(tmp_path, docs))
    assert corpus.ignored_roles == {"ciudad"}
    assert corpus.documents[0].entities == ()


def _second(line: str | bytes) -> bytes:
    """Return documents whose second line is this one."""
    return DOCS.split("\n")[0].encode() + b"\n" + (line.encode() if isinstance(line, str) else line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ('{"id": "a\0"}', "Invalid control character at column 10"),
        ("[]", "not a JSON object"),
        ('{"text": "dos"}', "'id' is missing"),
        ('{"id": "", "text": "dos"}', "'id' is missing"),
        ('{"id": true, "text": "dos"}', "'id' is missing"),
        ('{"id": "b"}', "'text' is missing"),
        ('{"id": "b", "text": 2}', "'text' is missing"),
        ('{"id": "a", "text": "dos"}', "the id 'a' occurs a second time; first in line 1"),
        ('{"id": "b", "text": "d\\u0000s"}', "NUL"),
        ('{"id": "b", "text": "\\ud800"}', "surrogate"),
        ('{"id": "b", "text": "dos", "type": 3}', "the type is not a string"),
        ('{"id": "b", "text": "dos", "entities": "Ana"}', "neither an object nor a list"),
        ('{"id": "b", "text": "dos", "entities": [{"role": "juez", "value": "x"}]}', "known role"),
        ('{"id": "b", "text": "dos", "entities": {"cedula": 5}}', "not a string"),
        (b'{"id": "b", "text": "\xff"}', "not UTF-8"),
    ],
)
def test_a_bad_document_names_its_line(tmp_path: Path, line: str | bytes, message: str) -> None:
    docs, pairs = _files(tmp_path, _second(line))
    with pytest.raises(UsageError) as caught:
        read_corpus(docs, pairs)
    assert f"{docs}, line 2: " in str(caught.value)
    assert message in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": "a"', "not JSON"),
        ('{"a": "a", "label": 1, "kind": "x"}', "'b' is missing"),
        ('{"a": "a", "b": "c", "label": 1, "kind": "x"}', "there is no document 'c'"),
        ('{"a": "a", "b": "a", "label": 1, "kind": "x"}', "paired with itself"),
        ('{"a": "a", "b": "b", "kind": "x"}', "'label' is missing"),
        ('{"a": "a", "b": "b", "label": "1", "kind": "x"}', "'label' is missing or not 0 or 1"),
        ('{"a": "a", "b": "b", "label": 1}', "'kind' is missing"),
        ('{"a": "a", "b": "b", "label": 1, "kind": ""}', "'kind' is empty"),
        ('{"a": "b", "b": "a", "label": 0, "kind": "x"}', "contradicts line 1"),
    ],
)
def test_a_bad_pair_names_its_line(tmp_path: Path, line: str, message: str) -> None:
    docs, pairs = _files(tmp_path, pairs=PAIRS + line)
    with pytest.raises(UsageError) as caught:
        read_corpus(docs, pairs)
    assert f"{pairs}, line 2: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n \n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(tmp_path: Path, content: str | bytes) -> None:
    with pytest.raises(UsageError, match=r"docs\.jsonl is empty"):
        read_corpus(*_files(tmp_path, docs=content))
    with pytest.raises(UsageError, match=r"pairs\.jsonl is empty"):
        read_corpus(*_files(tmp_path, pairs=content))


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="damaged"):
        read_corpus(*_files(tmp_path, docs=gzip.compress(DOCS.encode())[:-12]))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    docs, pairs = _files(tmp_path)
    with pytest.raises(UsageError, match="cannot read"):
        read_corpus(docs, pairs.with_name("other.jsonl"))
