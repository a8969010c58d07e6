"""The level 1 tools on any text or signature, alone: what a DBA calls from psql."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import unicodedata
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

WORD_2_ANSWERS = [
    (
        "Señor juez: acción de tutela n.º 12",
        [18011942, 254769433, 81783216],
        "96ceabb9328730c4",
        [7034194082433937817, 5278187513310482069],
    ),
    (
        "北京大学出版社",
        [47398430, 152435322, 460023264],
        "36a63a251e3fd1b9",
        [6832787276917449363, 5851858936826240789],
    ),
    (
        "مرحبا بالعالم اليوم",
        [682530683, 925358565, 796595876],
        "fb3c75c8305c4315",
        [452770878368616747, 6398196064427873711],
    ),
    (
        "😀 ok 😀 👍🏽 vale",
        [120490037, 1085483475, 1096040926],
        "473ca342a1275415",
        [-1029408312387105638, 2099002737905982413],
    ),
    (
        "Ωραίος Привет straße \ufb01n",
        [134538673, 102262219, 1093424139],
        "7a036d26f17a7169",
        [2035071924663445032, -2400670895478556936],
    ),
]

shingle_sets = st.sets(st.integers(0, 200), max_size=80)
property_test = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


def assert_fails(
    conn: psycopg.Connection, sqlstate: str, query: str, *parameters: object
) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(query, parameters)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
    return caught.value.diag


def column(conn: psycopg.Connection, query: str, *parameters: object) -> np.ndarray[Any, Any]:
    return np.array(conn.execute(query.encode(), parameters).fetchall(), dtype=float)


def random_words(rng: random.Random, count: int) -> list[str]:
    return [f"palabra{rng.randrange(10_000)}" for _ in range(count)]


@pytest.mark.parametrize(("text", "first", "digest", "keys"), WORD_2_ANSWERS)
def test_known_answers_of_scheme_word_2(
    conn: psycopg.Connection, text: str, first: list[int], digest: str, keys: list[int]
) -> None:
    signature = scalar(conn, "select sherlock.signature(%s)", text)
    assert signature[:3] == first
    assert hashlib.sha256(",".join(map(str, signature)).encode()).hexdigest()[:16] == digest
    found = scalar(conn, "select sherlock.band_keys(%s::int[], 1, 1, 32, 4)", signature)
    assert found[:2] == keys


@pytest.mark.parametrize("text", [answer[0] for answer in WORD_2_ANSWERS])
def test_unicode_forms_have_one_signature(conn: psycopg.Connection, text: str) -> None:
    signatures = [
        scalar(conn, "select sherlock.signature(%s)", unicodedata.normalize(form, text))
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    ]
    assert signatures == [signatures[0]] * 4


def test_a_literal_is_a_text(conn: psycopg.Connection) -> None:
    """The overloads must leave a call with one literal unambiguous, and those with a scheme."""
    expected = scalar(conn, "select sherlock.signature('acción de tutela', 'word', 2)")
    for call in (
        "sherlock.signature('acción de tutela')",
        "sherlock.signature('acción de tutela', 'word-2')",
        "sherlock.signature(p_text => 'acción de tutela')",
        "sherlock.signature(p_text => 'acción de tutela', p_scheme => 'word-2')",
        "sherlock.signature(sherlock.shingles('accion de tutela', 'word', 2))",
    ):
        assert scalar(conn, f"select {call}") == expected


def test_signature_by_another_scheme(conn: psycopg.Connection) -> None:
    scalar(conn, "select sherlock.create_scheme('char-5', 'char', 5)")
    text = "acción de tutela"
    found = scalar(conn, "select sherlock.signature(%s, 'char-5')", text)
    assert found == scalar(conn, "select sherlock.signature(%s, 'char', 5)", text)
    assert found != scalar(conn, "select sherlock.signature(%s)", text)


@pytest.mark.parametrize("scheme", ["nada", "", None])
def test_signature_by_an_unknown_scheme_is_refused(
    conn: psycopg.Connection, scheme: str | None
) -> None:
    assert_fails(conn, "SH015", "select sherlock.signature('a', %s::text)", scheme)


def test_defaults_are_those_of_scheme_word_2(conn: psycopg.Connection) -> None:
    kind, width = conn.execute(
        "select shingle_kind, shingle_width from sherlock.shingle_schemes where name = 'word-2'"
    ).fetchone() or ("", 0)
    texts = ("uno dos tres cuatro", "uno dos tres cinco")
    for name in ("jaccard", "intersection_size"):
        assert scalar(conn, f"select sherlock.{name}(%s, %s)", *texts) == scalar(
            conn, f"select sherlock.{name}(%s, %s, %s, %s)", *texts, kind, width
        )
    assert scalar(conn, "select sherlock.jaccard(%s, %s)", *texts) == 0.5


@given(sets=st.lists(shingle_sets, max_size=6), seed=st.integers(0, 99))
@property_test
def test_aggregate_is_the_signature_of_the_union(
    conn: psycopg.Connection, sets: list[set[int]], seed: int
) -> None:
    random.Random(seed).shuffle(sets)
    merged = scalar(
        conn,
        "select sherlock.merge_signatures(sherlock.signature("
        " array(select jsonb_array_elements_text(s.value)::bigint)))"
        " from jsonb_array_elements(%s) as s (value)",
        Jsonb([list(members) for members in sets]),
    )
    union = sorted(set().union(*sets))
    assert merged == scalar(conn, "select sherlock.signature(%s::bigint[])", union)


def test_aggregate_combines_partial_results(conn: psycopg.Connection) -> None:
    """Parallel workers merge their parts; the result must not depend on who merged what."""
    conn.execute(
        "create table parts as select n, sherlock.signature(array[n, n * 7, n * 31]::bigint[]) as s"
        " from generate_series(1, 3000) as n"
    )
    query = "select sherlock.merge_signatures(p.s) from parts as p"
    alone = scalar(conn, query)
    for setting in (
        "parallel_setup_cost = 0",
        "parallel_tuple_cost = 0",
        "min_parallel_table_scan_size = 0",
        "max_parallel_workers_per_gather = 2",
    ):
        conn.execute(f"set local {setting}")
    plan = "\n".join(row[0] for row in conn.execute(f"explain {query}"))
    assert "Partial Aggregate" in plan
    assert scalar(conn, query) == alone
    shingles = sorted({n * factor for n in range(1, 3001) for factor in (1, 7, 31)})
    assert alone == scalar(conn, "select sherlock.signature(%s::bigint[])", shingles)


def test_merging_what_is_no_signature_is_refused(conn: psycopg.Connection) -> None:
    assert_fails(
        conn,
        "SH012",
        "select sherlock.merge_signatures(s.x) from (values"
        " (sherlock.signature('a')), (array[1, 2, 3])) as s (x)",
    )


@pytest.mark.parametrize(
    ("size", "sets", "error"), [(1, 300, 0.07), (12, 300, 0.07), (100, 200, 0.08), (3000, 60, 0.1)]
)
def test_distinct_count_is_unbiased(
    conn: psycopg.Connection, size: int, sets: int, error: float
) -> None:
    found = column(
        conn,
        "select sherlock.distinct_count_estimate("
        "   sherlock.signature(array_agg(hashint8extended(i, n))))"
        " from generate_series(1, %s) as n cross join generate_series(1, %s) as i group by n",
        sets,
        size,
    )
    assert abs(found.mean() / size - 1) < 3 * error / math.sqrt(sets)
    assert found.std() / size < 1.2 * error


def test_distinct_count_of_nothing(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.distinct_count_estimate(null)") is None
    assert_fails(conn, "SH012", "select sherlock.distinct_count_estimate(array[1])")


@given(left=shingle_sets, right=shingle_sets)
@property_test
def test_intersection_is_what_the_estimated_jaccard_says(
    conn: psycopg.Connection, left: set[int], right: set[int]
) -> None:
    found, jaccard = conn.execute(
        "select sherlock.intersection_size(s.l, s.r, %(l_count)s, %(r_count)s),"
        "       sherlock.jaccard_estimate(s.l, s.r)"
        " from (select sherlock.signature(%(l)s::bigint[]), sherlock.signature(%(r)s::bigint[]))"
        " as s (l, r)",
        {
            "l": sorted(left),
            "r": sorted(right),
            "l_count": max(len(left), 1),
            "r_count": max(len(right), 1),
        },
    ).fetchone() or (None, None)
    if not left or not right:
        assert found is None
        return
    assert found == pytest.approx(
        min(jaccard / (1 + jaccard) * (len(left) + len(right)), len(left), len(right))
    )
    if left == right:
        assert found == len(left)


def test_intersection_estimate_is_close(conn: psycopg.Connection) -> None:
    """100 of 300 shingles shared, J = 0.2: by the delta method sd(I) = 500 / 1.2^2 sd(J)."""
    found = column(
        conn,
        "select sherlock.intersection_size("
        "   sherlock.signature(array_agg(x) filter (where i <= 300)),"
        "   sherlock.signature(array_agg(x) filter (where i <= 100 or i > 300)), 300, 300)"
        " from generate_series(1, 200) as n cross join generate_series(1, 500) as i"
        " cross join hashint8extended(i, n) as x group by n",
    )
    deviation = 600 / 1.2**2 * math.sqrt(0.2 * 0.8 / 128)
    assert abs(found.mean() - 100) < 4 * deviation / math.sqrt(200)
    assert found.std() < 1.2 * deviation


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0), (-5, 3)])
def test_intersection_of_impossible_sets_is_refused(
    conn: psycopg.Connection, left: int, right: int
) -> None:
    assert_fails(
        conn,
        "SH012",
        "select sherlock.intersection_size("
        "   sherlock.signature('a'), sherlock.signature('a'), %s, %s)",
        left,
        right,
    )


@given(left=st.lists(st.sampled_from("abcde")), right=st.lists(st.sampled_from("abcde")))
@property_test
def test_intersection_of_texts_is_counted(
    conn: psycopg.Connection, left: list[str], right: list[str]
) -> None:
    for width in (1, 2):
        shared = set.intersection(
            *(
                # A text shorter than the width is one shingle.
                {tuple(text[i : i + width]) for i in range(max(len(text) - width + 1, 1)) if text}
                for text in (left, right)
            )
        )
        found = scalar(
            conn,
            "select sherlock.intersection_size(%s, %s, 'word', %s)",
            " ".join(left),
            " ".join(right),
            width,
        )
        assert found == len(shared)


def test_intersection_of_no_text(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.intersection_size(null, 'a')") is None
    assert scalar(conn, "select sherlock.intersection_size('', '...')") == 0
    assert_fails(conn, "SH010", "select sherlock.intersection_size('a', 'a', 'word', 30)")


def test_estimates_of_texts_stay_within_the_error_of_theory(conn: psycopg.Connection) -> None:
    """RMSE over seeded pairs of texts that share a part, of 20 to 200 words."""
    rng = random.Random(20)
    errors, variances = [], []
    for size, share in itertools.product((20, 60, 200), (0.2, 0.5, 0.8)):
        for _ in range(25):
            shared = random_words(rng, round(size * share))
            texts = [" ".join(shared + random_words(rng, size - len(shared))) for _side in range(2)]
            exact, estimate = conn.execute(
                "select sherlock.jaccard(%(l)s, %(r)s), sherlock.jaccard_estimate("
                "   sherlock.signature(%(l)s), sherlock.signature(%(r)s))",
                {"l": texts[0], "r": texts[1]},
            ).fetchone() or (0.0, 0.0)
            errors.append((estimate - exact) ** 2)
            variances.append(exact * (1 - exact) / 128)
    assert math.sqrt(float(np.mean(errors))) < 1.1 * math.sqrt(float(np.mean(variances)))


@pytest.fixture
def stored(conn: psycopg.Connection) -> dict[str, int]:
    """Documents signed with skeleton-2 and with char-5, a short one, one that is being read."""
    conn.execute("select sherlock.create_scheme('char-5', 'char', 5)")
    conn.execute("select sherlock.create_collection('chars', 'text', 'char-5')")
    common = " ".join(f"palabra{number}" for number in range(40))
    texts = {
        "left": ("default", common + " " + " ".join(f"uno{n}" for n in range(20))),
        "right": ("default", common + " " + " ".join(f"dos{n}" for n in range(20))),
        "chars": ("chars", common),
        "more chars": ("chars", common[:-20]),
        "short": ("default", "muy corto"),
    }
    ids: dict[str, int] = {}
    for name, (collection, text) in texts.items():
        # A state that the text does not come by itself: it is indexed below.
        ids[name] = scalar(
            conn,
            "insert into sherlock.documents (collection_id, doc_type, content, text_state)"
            " values (sherlock.collection_id(%s), 'default', %s, 'short') returning document_id",
            collection,
            text,
        )
    conn.execute("select sherlock.index_documents(%s)", [list(ids.values())])
    ids["pending"] = scalar(
        conn,
        "insert into sherlock.documents (collection_id, doc_type, status)"
        " values (sherlock.collection_id('default'), 'default', 'pending')"
        " returning document_id",
    )
    return ids


JACCARD = "select sherlock.jaccard_of_documents(%s, %s)"


def test_jaccard_of_documents(conn: psycopg.Connection, stored: dict[str, int]) -> None:
    expected = scalar(
        conn,
        "select sherlock.jaccard_estimate(sherlock.signature(l.content, 'skeleton-2'),"
        "   sherlock.signature(r.content, 'skeleton-2'))"
        " from sherlock.documents l, sherlock.documents r"
        " where l.document_id = %s and r.document_id = %s",
        stored["left"],
        stored["right"],
    )
    assert 0.3 < expected < 0.7
    pair = (stored["left"], stored["right"])
    assert scalar(conn, JACCARD, *pair) == expected
    assert scalar(conn, JACCARD, *reversed(pair)) == expected
    asked = "select sherlock.jaccard_of_documents(%s, %s, %s)"
    assert scalar(conn, asked, *pair, "skeleton-2") == expected
    assert_fails(conn, "SH017", asked, *pair, "word-2")
    assert scalar(conn, JACCARD, stored["left"], stored["left"]) == 1
    assert scalar(conn, asked, stored["chars"], stored["more chars"], "char-5") > 0.7


def test_documents_of_different_schemes_are_not_compared(
    conn: psycopg.Connection, stored: dict[str, int]
) -> None:
    diag = assert_fails(conn, "SH017", JACCARD, stored["left"], stored["chars"])
    assert "skeleton-2" in (diag.message_detail or "")
    assert "char-5" in (diag.message_detail or "")
    for pair in (("left", "right"), ("left", "chars"), ("chars", "left")):
        assert_fails(
            conn,
            "SH017",
            "select sherlock.jaccard_of_documents(%s, %s, 'char-5')",
            *(stored[name] for name in pair),
        )


def test_documents_of_two_collections_with_one_scheme_are_compared(
    conn: psycopg.Connection, stored: dict[str, int]
) -> None:
    conn.execute("select sherlock.create_collection('otra', 'text', 'skeleton-2')")
    copy = scalar(
        conn,
        "insert into sherlock.documents (collection_id, doc_type, content, text_state)"
        " select sherlock.collection_id('otra'), 'default', content, 'short'"
        " from sherlock.documents where document_id = %s returning document_id",
        stored["left"],
    )
    conn.execute("select sherlock.index_documents(array[%s]::bigint[])", [copy])
    assert scalar(conn, JACCARD, stored["left"], copy) == 1


def test_documents_without_a_signature(conn: psycopg.Connection, stored: dict[str, int]) -> None:
    assert scalar(conn, JACCARD, stored["left"], stored["short"]) is None
    assert scalar(conn, JACCARD, stored["short"], stored["chars"]) is None
    assert_fails(conn, "SH008", JACCARD, stored["left"], stored["pending"])
    assert_fails(conn, "SH001", JACCARD, stored["left"], -1)
    assert_fails(conn, "SH001", JACCARD, None, stored["left"])
    assert_fails(
        conn,
        "SH015",
        "select sherlock.jaccard_of_documents(%s, %s, 'nada')",
        stored["left"],
        stored["right"],
    )
