"""Level 2 in Python: fitting a TF-IDF vocabulary, and the same vectors in bulk as SQL computes.

All texts here are *canonical* (`sherlock_pg.vectorize.canonical.canonical_text`): tokens separated
by single spaces. Terms are the tokens of their skeleton, of 2 to 100 bytes (UTF-8), and, where the
n-gram range asks for it, pairs of such tokens that are adjacent once the others are left out: a
longer one is no word, and an index row could not hold it. `sherlock.tfidf_vector` is the reference;
`Vocabulary.transform` gives the same vectors without a round trip per document.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, LiteralString, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.rows import scalar_row

from sherlock_pg.db import binary_rows
from sherlock_pg.db.tables import MAX_FEATURES, PROJECTION_BITS
from sherlock_pg.errors import SherlockError
from sherlock_pg.vectorize.canonical import skeleton
from sherlock_pg.vectorize.term_counts import TermCounts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_MIN_BYTES = 2
_MAX_BYTES = 100
_ROUNDING = np.float32(1536)
"""Added and taken off again, it leaves multiples of 2^-13 (see `sherlock.sign_projection`)."""
_PROJECTED_AT_ONCE = 500
"""Vectors that are dense in memory at the same time: 10 MB."""

_FEW = 8
"""Vectors up to which each is projected by itself."""

_SENT_HEADER_BYTES = 20
_SENT_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f4")])
"""What `array_send` gives of an array of real: a header, then length and value of each element."""


class EmptyVocabulary(SherlockError):
    """No text has a term, so there is nothing to fit; level 2 stays absent."""

    def __init__(self, document_count: int) -> None:
        super().__init__(
            f"no TF-IDF vocabulary: none of the {document_count} texts has a word of two "
            "letters or more",
            hint="add documents with text, then fit again; detection works without this level",
        )
        self.document_count = document_count


class Rows(NamedTuple):
    """Vectors in compressed rows: that of text i is from `row_ends[i]` to `row_ends[i + 1]`.

    Attributes:
        row_ends: where rows begin and end, one more than there are texts.
        columns: features, from 0, ascending in each row.
        weights: their weights.
    """

    row_ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The terms of a fitted model and their weights; a term's position is its feature.

    Attributes:
        terms: the terms in code point order; the term at position i is feature i + 1 in SQL.
        idf: inverse document frequency of each term, smoothed as scikit-learn does by default.
        ngram_range: shortest and longest n-gram, in tokens.
        document_count: texts that the vocabulary was fitted on.
    """

    terms: tuple[str, ...]
    idf: NDArray[np.float64]
    ngram_range: tuple[int, int]
    document_count: int

    def transform(self, texts: Iterable[str]) -> csr_matrix:
        """Return the TF-IDF vectors of canonical texts, one row of length 1 per text.

        A text without a known term gives an empty row. The matrix is float32 with as many columns
        as the vocabulary has terms, equal to `sherlock.tfidf_vector` within 1e-6.
        """
        from scipy.sparse import csr_matrix

        rows = self.rows(texts)
        return csr_matrix(
            (rows.weights, rows.columns, rows.row_ends),
            shape=(len(rows.row_ends) - 1, len(self.terms)),
        )

    def rows(self, texts: Iterable[str]) -> Rows:
        """Return what `transform` does without scipy, which takes half a second to load."""
        numbers = array("i")
        ends = array("q", [0])
        number_of = self._numbers.get
        analyse = _analyser(self.ngram_range)
        for text in texts:
            numbers.extend(filter(None, map(number_of, analyse(text))))
            ends.append(len(numbers))
        text_count = len(ends) - 1
        cells = np.repeat(np.arange(text_count) * len(self.terms) - 1, np.diff(ends))
        cells += np.array(numbers, np.int64)
        cells.sort()
        firsts = np.flatnonzero(np.diff(cells, prepend=-1))
        counts = np.diff(firsts, append=len(cells))
        row_of, columns = np.divmod(cells[firsts], len(self.terms))
        weights = ((1.0 + np.log(counts)) * self.idf[columns]).astype(np.float32)
        squares = np.bincount(row_of, weights=weights.astype(np.float64) ** 2, minlength=text_count)
        row_ends = np.zeros(text_count + 1, np.int64)
        np.cumsum(np.bincount(row_of, minlength=text_count), out=row_ends[1:])
        return Rows(
            row_ends,
            columns.astype(np.int32),
            (weights / np.sqrt(squares)[row_of]).astype(np.float32),
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.terms, 1)}


def fit(
    texts: Iterable[str], *, max_features: int = MAX_FEATURES, ngram_range: tuple[int, int] = (1, 2)
) -> Vocabulary:
    """Fit a vocabulary on canonical texts; the weights are scikit-learn's.

    The result depends on the texts only, never on their order or on the machine: where several
    terms are equally frequent at the edge of `max_features`, shorter n-grams are kept before
    longer ones and then the smaller in code point order (scikit-learn leaves that to an unstable
    sort). So every token of a kept n-gram is in the vocabulary too when n-grams start at 1.

    Args:
        texts: canonical texts; the caller limits the sample.
        max_features: terms kept, the most frequent in the whole sample.
        ngram_range: shortest and longest n-gram, in tokens; the longest is 2.

    Raises:
        EmptyVocabulary: no text has a term.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    if not 1 <= max_features <= MAX_FEATURES:
        raise ValueError(f"max_features must be from 1 to {MAX_FEATURES}, not {max_features}")
    _check_ngram_range(ngram_range)
    counted = TermCounts(map(_tokens, texts), ngram_range)
    if not len(counted):
        raise EmptyVocabulary(counted.document_count)
    terms, counts = counted.most_frequent(max_features)
    transformer = TfidfTransformer(sublinear_tf=True).fit(counts)
    return Vocabulary(
        terms=tuple(terms),
        idf=np.asarray(transformer.idf_, dtype=np.float64),
        ngram_range=ngram_range,
        document_count=counted.document_count,
    )


def store(
    conn: psycopg.Connection,
    collection: str,
    vocabulary: Vocabulary,
    *,
    sample_limit: int | None = None,
) -> int:
    """Store a vocabulary as a new model of a collection (status building); return its id.

    Args:
        conn: a connection.
        collection: name of the collection.
        vocabulary: what was fitted.
        sample_limit: texts that the fit was limited to, so that it can be continued; None if that
            is not known.
    """
    ngram_min, ngram_max = vocabulary.ngram_range
    row = conn.execute(
        "select sherlock.create_tfidf_model("
        " p_collection => %(collection)s, p_terms => %(terms)s, p_idf => %(idf)s,"
        " p_fitted_document_count => %(document_count)s,"
        " p_ngram_min => %(ngram_min)s, p_ngram_max => %(ngram_max)s,"
        " p_sample_limit => %(sample_limit)s)",
        {
            "collection": collection,
            "terms": list(vocabulary.terms),
            "idf": vocabulary.idf.tolist(),
            "document_count": vocabulary.document_count,
            "ngram_min": ngram_min,
            "ngram_max": ngram_max,
            "sample_limit": sample_limit,
        },
    ).fetchone()
    assert row is not None
    return int(row[0])


def load(conn: psycopg.Connection, model_id: int) -> Vocabulary:
    """Return the vocabulary of a stored model.

    Raises:
        SherlockError: no such model.
    """
    model = conn.execute(
        "select m.ngram_min, m.ngram_max, m.fitted_document_count"
        " from sherlock.tfidf_models as m where m.model_id = %s",
        [model_id],
    ).fetchone()
    if model is None:
        raise SherlockError(
            f"there is no TF-IDF model {model_id}",
            hint="see: select model_id, status from sherlock.tfidf_models",
            sqlstate="SH030",
        )
    features = conn.execute(
        "select f.term, f.idf from sherlock.tfidf_features as f"
        " where f.model_id = %s order by f.feature_index",
        [model_id],
    ).fetchall()
    return Vocabulary(
        terms=tuple(term for term, _ in features),
        idf=np.array([idf for _, idf in features], dtype=np.float64),
        ngram_range=(model[0], model[1]),
        document_count=model[2],
    )


@dataclass(frozen=True, eq=False)
class Projection:
    """The fixed random projection of level 2, the same for every model.

    Attributes:
        folding: signs of the blocks that are summed, `(blocks, FOLDED_FEATURES)`, +1 and -1.
        directions: one row per bit, `(PROJECTION_BITS, FOLDED_FEATURES)`, +1 and -1.
    """

    folding: NDArray[np.float32]
    directions: NDArray[np.float32]

    def project_one(self, folded: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the products of one folded vector, most of which is zeros, and the directions.

        The library of linear algebra would wake a thread for each processor for that.
        """
        present = np.flatnonzero(folded)
        products = self._by_feature[present]
        products *= folded[present, None]
        summed: NDArray[np.float32] = products.sum(axis=0)
        return summed

    @cached_property
    def _by_feature(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.directions.T)


def load_projection(conn: psycopg.Connection) -> Projection:
    """Read the projection."""

    def rows(query: LiteralString) -> NDArray[np.float32]:
        with conn.cursor(binary=True, row_factory=scalar_row) as cursor:
            arrays: list[bytes] = cursor.execute(query).fetchall()
        return np.stack(
            [np.frombuffer(sent, _SENT_ELEMENT, offset=_SENT_HEADER_BYTES) for sent in arrays]
        )["value"].astype(np.float32)

    return Projection(
        folding=rows(
            "select array_send(f.signs::real[]) from sherlock.tfidf_folding as f order by f.block"
        ),
        directions=rows(
            "select array_send(p.directions::real[]) from sherlock.tfidf_projection as p"
            " order by p.dimension"
        ),
    )


def sign_projection(vectors: csr_matrix, projection: Projection) -> NDArray[np.bool_]:
    """Return the sign bits of vectors, one row of `PROJECTION_BITS` per vector.

    The same steps in the same precision as `sherlock.sign_projection`, so that equal vectors have
    equal bits. The row of an empty vector is all false; SQL stores null for it.
    """
    return signs_of_rows(Rows(vectors.indptr, vectors.indices, vectors.data), projection)


def signs_of_rows(rows: Rows, projection: Projection) -> NDArray[np.bool_]:
    """Return what `sign_projection` does."""
    count = len(rows.row_ends) - 1
    owners = np.repeat(np.arange(count), np.diff(rows.row_ends))
    squares = np.bincount(owners, weights=rows.weights.astype(np.float64) ** 2, minlength=count)
    weights = (rows.weights / np.sqrt(squares)[owners]).astype(np.float32)
    bits = np.empty((count, PROJECTION_BITS), dtype=np.bool_)
    is_few = count <= _FEW
    for start in range(0, count, _PROJECTED_AT_ONCE):
        ends = rows.row_ends[start : start + _PROJECTED_AT_ONCE + 1]
        dense = np.zeros((len(ends) - 1, MAX_FEATURES), np.float32)
        present = slice(ends[0], ends[-1])
        dense[owners[present] - start, rows.columns[present]] = weights[present]
        blocks = dense.reshape(len(dense), *projection.folding.shape)
        folded = blocks[:, 0] * projection.folding[0]
        for number in range(1, len(projection.folding)):
            folded += blocks[:, number] * projection.folding[number]
        folded = folded + _ROUNDING - _ROUNDING
        if is_few:
            bits[:] = [projection.project_one(vector) > 0 for vector in folded]
        else:
            bits[start : start + len(dense)] = folded @ projection.directions.T > 0
    return bits


def copy_vectors(
    conn: psycopg.Connection,
    model_id: int,
    document_ids: Sequence[int],
    vectors: csr_matrix,
    projection: Projection,
) -> None:
    """Store vectors and their sign bits by COPY.

    Raises:
        psycopg.errors.UniqueViolation: one of the documents has a vector of this model already.
    """
    if len(document_ids) != vectors.shape[0]:
        raise ValueError(f"{len(document_ids)} document ids for {vectors.shape[0]} vectors")
    rows = binary_rows.vector_rows(
        np.asarray(document_ids, np.int64),
        model_id,
        vectors.indptr,
        vectors.indices,
        vectors.data,
        np.packbits(sign_projection(vectors, projection), axis=1),
        MAX_FEATURES,
    )
    binary_rows.copy_rows(
        conn, "sherlock.document_vectors (document_id, model_id, vector, sign_bits)", rows
    )


def _analyser(ngram_range: tuple[int, int]) -> Callable[[str], Iterator[str]]:
    """Return the function that gives the terms of a canonical text, repeats included."""
    _check_ngram_range(ngram_range)
    ngram_min, ngram_max = ngram_range

    def analyse(text: str) -> Iterator[str]:
        tokens = _tokens(text)
        pairs = map(" ".join, zip(tokens, tokens[1:], strict=False)) if ngram_max == 2 else ()
        return chain(tokens if ngram_min == 1 else (), pairs)

    return analyse


def _check_ngram_range(ngram_range: tuple[int, int]) -> None:
    ngram_min, ngram_max = ngram_range
    if not 1 <= ngram_min <= ngram_max <= 2:
        raise ValueError(f"ngram_range must lie within (1, 2), not {ngram_range}")


def _tokens(text: str) -> list[str]:
    """Return the tokens of a canonical text's skeleton that can be terms."""
    tokens = skeleton(text).split(" ")
    if text.isascii():
        return [token for token in tokens if _MIN_BYTES <= len(token) <= _MAX_BYTES]
    return [token for token in tokens if _MIN_BYTES <= len(token.encode()) <= _MAX_BYTES]
