"""Labelled documents and pairs from two JSON Lines files, plain or compressed with gzip.

A document is `{"id": …, "text": …}` with, optionally, `doc_type` (or `type`) and `entities`: either
an object from role to value or list of values, or a list as `sherlock.store_entities` takes it. A
pair is `{"a": id, "b": id, "label": 0 or 1, "kind": …}`; label 1 is a duplicate. Other keys are not
looked at. Whatever cannot be used is an error that names the file and the line.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sherlock_pg.errors import UsageError
from sherlock_pg.ner.roles import Role

_GZIP_MAGIC = b"\x1f\x8b"
_DOCUMENT_SHAPE = 'a line is {"id": …, "text": …}; optional: doc_type, entities'
_PAIR_SHAPE = 'a line is {"a": id, "b": id, "label": 0 or 1, "kind": …}'
_ROLES = frozenset(role.value for role in Role)


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document of the labelled set.

    Attributes:
        document_id: its id in the file.
        text: its text.
        doc_type: its type; auto where the file does not say.
        entities: its entities as `sherlock.store_entities` takes them; None where the file has
            none, so that they are looked for in the text.
    """

    document_id: str
    text: str
    doc_type: str
    entities: tuple[Mapping[str, Any], ...] | None


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two documents and whether they are duplicates of each other.

    Attributes:
        left: the later of the two in the file of documents.
        right: the other.
        is_duplicate: the label.
        kind: the kind of change, as labelled.
    """

    left: str
    right: str
    is_duplicate: bool
    kind: str


@dataclass(frozen=True, slots=True)
class LabelledCorpus:
    """A labelled set, checked: ids are unique, and pairs name documents that are there.

    Attributes:
        documents: in the order of the file.
        pairs: in the order of the file.
        ignored_roles: keys of `entities` objects that are no roles of this program.
    """

    documents: tuple[LabelledDocument, ...]
    pairs: tuple[LabelledPair, ...]
    ignored_roles: frozenset[str]


class _Line:
    """One line of a file, with its fields taken out and checked."""

    def __init__(self, path: Path, number: int, raw: Any, shape: str) -> None:
        self.path = path
        self.number = number
        self._raw: dict[str, Any] = raw
        self._shape = shape

    def wrong(self, what: str, *, hint: str | None = None) -> UsageError:
        """Return the error that names the line."""
        message = f"{self.path}, line {self.number}: {what}"
        return UsageError(message, hint=self._shape if hint is None else hint)

    def optional(self, *names: str) -> Any:
        """Return the first of the fields that is there and not null."""
        return next((self._raw[name] for name in names if self._raw.get(name) is not None), None)

    def text(self, name: str) -> str:
        """Return a field that must be a string that can be stored."""
        value = self._raw.get(name)
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} is missing or not a string")
        return self.storable(name, value)

    def storable(self, name: str, value: str) -> str:
        """Refuse characters that PostgreSQL has no room for."""
        if "\0" in value:
            raise self.wrong(f"{name!r} has a NUL character", hint="remove U+0000 from the text")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self.wrong(
                f"{name!r} has half of a surrogate pair", hint="the text is not valid Unicode"
            ) from error
        return value

    def identifier(self, name: str) -> str:
        """Return a field that must be a non-empty string or a whole number."""
        value = self._raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise self.wrong(f"{name!r} is missing or not a string")
        return self.storable(name, value)


def read_corpus(docs: Path, pairs: Path) -> LabelledCorpus:
    """Read a labelled set.

    Args:
        docs: the file of documents.
        pairs: the file of labelled pairs.

    Raises:
        UsageError: a file cannot be read or is empty; a line is not JSON or lacks a field; an id
            occurs twice; a pair names an unknown id, a document and itself, or contradicts an
            earlier one.
    """
    documents: dict[str, LabelledDocument] = {}
    order: dict[str, int] = {}
    ignored: set[str] = set()
    for line in _lines(docs, _DOCUMENT_SHAPE):
        document = _document(line, ignored)
        if document.document_id in documents:
            raise line.wrong(
                f"the id {document.document_id!r} occurs a second time;"
                f" first in line {order[document.document_id]}",
                hint="ids must be unique: rename or remove one of the two",
            )
        documents[document.document_id] = document
        order[document.document_id] = line.number
    return LabelledCorpus(
        tuple(documents.values()), tuple(_pairs(pairs, docs, order)), frozenset(ignored)
    )


def _pairs(path: Path, docs: Path, order: Mapping[str, int]) -> Iterator[LabelledPair]:
    seen: dict[frozenset[str], tuple[bool, int]] = {}
    for line in _lines(path, _PAIR_SHAPE):
        first, second = line.identifier("a"), line.identifier("b")
        for given in (first, second):
            if given not in order:
                raise line.wrong(
                    f"there is no document {given!r} in {docs}",
                    hint="a and b are ids of the file of documents",
                )
        if first == second:
            raise line.wrong(f"{first!r} is paired with itself")
        label = line.optional("label")
        if isinstance(label, bool) or label not in (0, 1):
            raise line.wrong("'label' is missing or not 0 or 1")
        earlier = seen.setdefault(frozenset((first, second)), (label == 1, line.number))
        if earlier[0] != (label == 1):
            raise line.wrong(
                f"label {label} for {first!r} and {second!r} contradicts line {earlier[1]}",
                hint="a pair is a duplicate or is not: correct one of the two lines",
            )
        left, right = sorted((first, second), key=lambda name: order[name], reverse=True)
        kind = line.text("kind")
        if not kind:
            raise line.wrong("'kind' is empty")
        yield LabelledPair(left, right, label == 1, kind)


def _document(line: _Line, ignored: set[str]) -> LabelledDocument:
    doc_type = line.optional("doc_type", "type")
    if doc_type is not None and (not isinstance(doc_type, str) or not doc_type):
        raise line.wrong("the type is not a string")
    return LabelledDocument(
        document_id=line.identifier("id"),
        text=line.text("text"),
        doc_type="auto" if doc_type is None else line.storable("doc_type", doc_type),
        entities=_entities(line, ignored),
    )


def _entities(line: _Line, ignored: set[str]) -> tuple[Mapping[str, Any], ...] | None:
    given = line.optional("entities")
    if given is None:
        return None
    found: list[Mapping[str, Any]] = []
    if isinstance(given, list):
        for entity in given:
            if not isinstance(entity, dict) or entity.get("role") not in _ROLES:
                raise line.wrong(
                    "an entity is not an object with a known role",
                    hint=f'{{"role": …, "value": …}}; roles: {", ".join(sorted(_ROLES))}',
                )
            line.storable("entities", _string(line, entity.get("value")))
            found.append(entity)
    elif isinstance(given, dict):
        for role, values in given.items():
            if role not in _ROLES:
                ignored.add(role)
                continue
            found += [
                {"role": role, "value": line.storable("entities", _string(line, value))}
                for value in (values if isinstance(values, list) else [values])
                if value is not None
            ]
    else:
        raise line.wrong("'entities' is neither an object nor a list")
    return tuple(found)


def _string(line: _Line, value: Any) -> str:
    if not isinstance(value, str):
        raise line.wrong("the value of an entity is not a string")
    return value


def _lines(path: Path, shape: str) -> Iterator[_Line]:
    """Yield the lines that are not blank; a file without any is an error."""
    is_empty = True
    number = 0
    try:
        with _opened(path) as file:
            for number, content in enumerate(file, start=1):
                text = content.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if not text:
                    continue
                is_empty = False
                raw = json.loads(text)
                line = _Line(path, number, raw, shape)
                if not isinstance(raw, dict):
                    raise line.wrong("not a JSON object")
                yield line
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}, line {number}: not UTF-8 text", hint="save the file as UTF-8"
        ) from error
    except json.JSONDecodeError as error:
        # Some of the parser's messages end in "at" already.
        what = error.msg.removesuffix(" at")
        raise UsageError(
            f"{path}, line {number}: not JSON: {what} at column {error.colno}", hint=shape
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(
            f"{path}, after line {number}: the compressed file is damaged: {error}",
            hint="copy or compress it again",
        ) from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if is_empty:
        raise UsageError(f"{path} is empty", hint=shape)


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading, decompressed if its first bytes say that it is compressed."""
    file = path.open("rb")
    magic = file.read(len(_GZIP_MAGIC))
    file.seek(0)
    if magic != _GZIP_MAGIC:
        return file
    file.close()
    return gzip.open(path, "rb")
