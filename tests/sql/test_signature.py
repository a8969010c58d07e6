"""Signatures, sketches, band keys and Jaccard in SQL, and their equality with Python."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize.signature import Signer

KNOWN_ANSWERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "signature_known_answers.json").read_text("utf-8")
)
KINDS = [("word", 1), ("word", 2), ("word", 3), ("word", 5), ("char", 3), ("char", 5), ("char", 9)]
KINDS += [("skeleton", 1), ("skeleton", 2), ("skeleton", 5)]
NASTY = [
    "hola",
    "hola mundo",
    "hola " * 20_000,
    "a b c " * 3000,
    "北京大学出版社",
    "مرحبا بالعالم",
    "😀 ok 😀",
    " ".join(map(str, range(2000))),
]

bigints = st.integers(-(2**63), 2**63 - 1)
vocabulary = ["acción", "de", "tutela", "señor", "juez", "niña", "北京", "Ω", "x", "y", "z"]
words = st.lists(st.sampled_from(vocabulary), max_size=60)
texts = st.one_of(
    words.map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
)
property_test = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


def signature_of(conn: psycopg.Connection, shingles: list[int]) -> list[int]:
    return scalar(conn, "select sherlock.signature(%s::bigint[])", shingles)


def sketch_bytes(bits: str) -> bytes:
    return int(bits, 2).to_bytes(256, "big")


def assert_equal_to_python(
    conn: psycopg.Connection, documents: list[str], kind: tuple[str, int]
) -> None:
    signer = Signer(*kind)
    signatures, counts, _ = signer.sign(documents)
    rows = conn.execute(
        "select s.signature, coalesce(cardinality(sherlock.shingles(t.canonical, %(kind)s,"
        "           %(width)s)), 0),"
        "       sherlock.signature_sketch(s.signature)::text,"
        "       sherlock.band_keys(s.signature, 3, 7, 32, 4),"
        "       sherlock.band_keys(s.signature, -1, 2147483647, 25, 5)"
        " from (select sherlock.canonical_text(d.text) as canonical, d.text, d.n"
        "       from unnest(%(texts)s::text[]) with ordinality as d (text, n)) as t"
        " cross join lateral"
        "      (select sherlock.signature(t.text, %(kind)s, %(width)s)) as s (signature)"
        " order by t.n",
        {"texts": documents, "kind": kind[0], "width": kind[1]},
    ).fetchall()
    assert [row[1] for row in rows] == counts.tolist()
    assert [row[0] or [-1] * 128 for row in rows] == signatures.tolist()
    signed = signatures[counts > 0]
    rows = [row for row in rows if row[0] is not None]
    assert [sketch_bytes(row[2]) for row in rows] == signer.sketches(signed)
    assert [row[3] for row in rows] == signer.band_keys(signed, 3, 7, 32, 4).tolist()
    assert [row[4] for row in rows] == signer.band_keys(signed, -1, 2**31 - 1, 25, 5).tolist()


@pytest.mark.parametrize("case", KNOWN_ANSWERS["signatures"], ids=lambda case: case["name"])
def test_known_answers(conn: psycopg.Connection, case: dict[str, Any]) -> None:
    kind = (case["kind"], case["width"])
    canonical = scalar(conn, "select sherlock.canonical_text(%s)", case["text"])
    shingles = scalar(conn, "select sherlock.shingles(%s, %s, %s)", canonical, *kind)
    signature = scalar(conn, "select sherlock.signature(%s, %s, %s)", case["text"], *kind)
    assert canonical == case["canonical"]
    assert len(shingles) == case["shingle_count"]
    assert shingles[:3] == case["first_shingles"]
    assert signature == case["signature"] == signature_of(conn, shingles)
    sketch = scalar(conn, "select sherlock.signature_sketch(%s::int[])::text", signature)
    assert sketch_bytes(sketch).hex() == case["sketch"]
    keys = scalar(conn, "select sherlock.band_keys(%s::int[], 3, 7, 32, 4)", signature)
    assert keys[:2] == case["first_keys"]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nasty_texts_equal_python(conn: psycopg.Connection, kind: tuple[str, int]) -> None:
    assert_equal_to_python(conn, ["", "¡!", *NASTY], kind)


@given(documents=st.lists(texts, max_size=8), kind=st.sampled_from(KINDS))
@property_test
def test_texts_equal_python(
    conn: psycopg.Connection, documents: list[str], kind: tuple[str, int]
) -> None:
    assert_equal_to_python(conn, documents, kind)


def test_nothing_has_no_signature(conn: psycopg.Connection) -> None:
    for argument in ("'{}'::bigint[]", "null::bigint[]", "''", "'...'", "null::text"):
        assert scalar(conn, f"select sherlock.signature({argument})") is None
    for call in (
        "sherlock.signature_sketch(null)",
        "sherlock.band_keys(null, 1, 1, 32, 4)",
        "sherlock.jaccard_estimate(null::int[], sherlock.signature('a'))",
        "sherlock.jaccard_estimate(null::bit, sherlock.signature_sketch(sherlock.signature('a')))",
    ):
        assert scalar(conn, f"select {call}") is None


@pytest.mark.parametrize("text", NASTY, ids=lambda text: text[:12])
def test_no_slot_is_empty(conn: psycopg.Connection, text: str) -> None:
    for width in (1, 2, 3):
        signature = scalar(conn, "select sherlock.signature(%s, 'word', %s)", text, width)
        assert len(signature) == 128
        assert min(signature) >= 0


def test_shingles_that_all_aim_at_one_slot(conn: psycopg.Connection) -> None:
    signature = signature_of(conn, [number << 7 for number in range(50)])
    assert len(signature) == 128
    assert None not in signature
    assert max(signature[1:]) > 0


@given(shingles=st.lists(bigints, min_size=1, max_size=80), seed=st.integers(0, 1000))
@property_test
def test_signature_depends_on_the_set_only(
    conn: psycopg.Connection, shingles: list[int], seed: int
) -> None:
    repeated = shingles * 3 + shingles[:1] * 2000
    random.Random(seed).shuffle(repeated)
    assert signature_of(conn, repeated) == signature_of(conn, shingles)


@given(
    left=st.lists(bigints, max_size=60),
    right=st.lists(bigints, max_size=60),
    shared=st.lists(bigints, max_size=30),
)
@property_test
def test_merged_signature_is_that_of_the_union(
    conn: psycopg.Connection, left: list[int], right: list[int], shared: list[int]
) -> None:
    merged = scalar(
        conn,
        "select sherlock.merge_signatures(sherlock.signature(%s::bigint[]),"
        " sherlock.signature(%s::bigint[]))",
        left + shared,
        right + shared,
    )
    assert merged == signature_of(conn, left + right + shared)


def planted_estimates(
    conn: psycopg.Connection, jaccard: float, union: int, pairs: int
) -> np.ndarray[Any, Any]:
    """Estimates of both kinds for pairs of random sets of which a given share is common."""
    shared = round(jaccard * union)
    own = (union - shared) // 2
    return np.array(
        conn.execute(
            "select sherlock.jaccard_estimate(s.l, s.r), sherlock.jaccard_estimate("
            "           sherlock.signature_sketch(s.l), sherlock.signature_sketch(s.r)),"
            "       sherlock.jaccard(p.l, p.r)"
            " from (select array_agg(x) filter (where i <= %(s)s + %(o)s),"
            "              array_agg(x) filter (where i <= %(s)s or i > %(s)s + %(o)s)"
            "       from generate_series(1, %(pairs)s) as n"
            "       cross join generate_series(1, %(s)s + 2 * %(o)s) as i"
            "       cross join hashint8extended(i, n) as x"
            "       group by n) as p (l, r)"
            " cross join lateral"
            "      (select sherlock.signature(p.l), sherlock.signature(p.r)) as s (l, r)",
            {"s": shared, "o": own, "pairs": pairs},
        ).fetchall(),
        dtype=float,
    )


@pytest.mark.parametrize(
    ("jaccard", "union"), [(0.1, 60), (0.5, 40), (0.5, 200), (0.9, 40), (0.5, 2000)]
)
def test_estimates_are_unbiased(conn: psycopg.Connection, jaccard: float, union: int) -> None:
    pairs = 150
    found = planted_estimates(conn, jaccard, union, pairs)
    assert found[:, 2] == pytest.approx(jaccard)
    slots_variance = jaccard * (1 - jaccard) / 128
    bits_variance = 16 * 128 * (1 - jaccard) / 4 / 1024**2
    for estimates, variance in (
        (found[:, 0], slots_variance),
        (found[:, 1], slots_variance + bits_variance),
    ):
        assert abs(estimates.mean() - jaccard) < 3 * math.sqrt(variance / pairs)
        assert estimates.std() < 1.3 * math.sqrt(variance)


def test_sketches_of_long_unrelated_texts_do_not_agree(conn: psycopg.Connection) -> None:
    estimate = scalar(
        conn,
        "select sherlock.jaccard_estimate(l.sketch, r.sketch) from"
        " (select sherlock.signature_sketch(sherlock.signature(array_agg(hashint8extended(i, 1))))"
        "  from generate_series(1, 200000) as i) as l (sketch),"
        " (select sherlock.signature_sketch(sherlock.signature(array_agg(hashint8extended(i, 2))))"
        "  from generate_series(1, 200000) as i) as r (sketch)",
    )
    assert estimate < 0.1


def test_sketch_estimate_at_its_ends(conn: psycopg.Connection) -> None:
    estimate = "select sherlock.jaccard_estimate(repeat('0', 2048)::bit(2048), (repeat('1', %s)"
    estimate += " || repeat('0', 2048 - %s))::bit(2048))"
    found = {bits: scalar(conn, estimate, bits, bits) for bits in (0, 1, 512, 1023, 1024, 2048)}
    assert found == {0: 1.0, 1: 1 - 1 / 1024, 512: 0.5, 1023: 1 / 1024, 1024: 0.0, 2048: 0.0}


def test_sketch_estimate_is_inlined(conn: psycopg.Connection) -> None:
    plan = "\n".join(
        row[0]
        for row in conn.execute(
            "explain (verbose, costs off) select sherlock.jaccard_estimate(s.sketch, s.sketch)"
            " from (values ('0'::bit(2048)), ('1'::bit(2048))) as s (sketch)"
        )
    )
    assert "bit_count" in plan
    assert "jaccard_estimate" not in plan


@given(differing=st.dictionaries(st.integers(0, 127), st.integers(1, 2**16 - 1)))
@property_test
def test_most_jaccard_counts_the_slots_of_sketches(
    conn: psycopg.Connection, differing: dict[int, int]
) -> None:
    left = random.Random(len(differing)).getrandbits(2048)
    right = left ^ sum(bits << 16 * slot for slot, bits in differing.items())
    assert (
        scalar(
            conn,
            "select sherlock._most_jaccard(%s::bit(2048), %s::bit(2048))",
            f"{left:02048b}",
            f"{right:02048b}",
        )
        == 1 - len(differing) / 128
    )


@given(left=st.sets(bigints, min_size=1), right=st.sets(bigints, min_size=1))
@property_test
def test_most_jaccard_is_no_less_than_the_estimate(
    conn: psycopg.Connection, left: set[int], right: set[int]
) -> None:
    most, estimate = conn.execute(
        "select sherlock._most_jaccard("
        "           sherlock.signature_sketch(s.l), sherlock.signature_sketch(s.r)),"
        "       sherlock.jaccard_estimate(s.l, s.r)"
        " from (select sherlock.signature(%s::bigint[]), sherlock.signature(%s::bigint[]))"
        "      as s (l, r)",
        (list(left), list(left | right)),
    ).fetchone() or (None, None)
    assert most >= estimate


@given(changed=st.sets(st.integers(0, 127)))
@property_test
def test_estimate_is_the_share_of_equal_slots(conn: psycopg.Connection, changed: set[int]) -> None:
    left = list(range(1000, 1128))
    right = [slot + 500 if number in changed else slot for number, slot in enumerate(left)]
    assert (
        scalar(conn, "select sherlock.jaccard_estimate(%s::int[], %s::int[])", left, right)
        == 1 - len(changed) / 128
    )


@given(left=st.lists(st.integers(0, 30)), right=st.lists(st.integers(0, 30)))
@property_test
def test_exact_jaccard(conn: psycopg.Connection, left: list[int], right: list[int]) -> None:
    union = set(left) | set(right)
    expected = len(set(left) & set(right)) / len(union) if union else None
    found = scalar(conn, "select sherlock.jaccard(%s::bigint[], %s::bigint[])", left, right)
    assert found == expected


def test_exact_jaccard_of_texts(conn: psycopg.Connection) -> None:
    assert scalar(conn, "select sherlock.jaccard('A b c d', 'a B c e')") == 0.5
    assert scalar(conn, "select sherlock.jaccard('a b c d', 'd c b a', 'word', 1)") == 1
    assert scalar(conn, "select sherlock.jaccard('abcd', 'abce', 'char', 3)") == pytest.approx(
        1 / 3
    )
    assert scalar(conn, "select sherlock.jaccard('', 'a')") == 0
    assert scalar(conn, "select sherlock.jaccard('', '...')") is None
    assert scalar(conn, "select sherlock.jaccard(null, 'a')") is None


def test_keys_of_schemes_collections_and_bands_do_not_meet(conn: psycopg.Connection) -> None:
    keys = [
        key
        for scheme in (1, 2, -1)
        for collection in (1, 2, 3)
        for shape in ((32, 4), (25, 5))
        for key in scalar(
            conn,
            "select sherlock.band_keys(array_fill(7, array[128]), %s, %s, %s, %s)",
            scheme,
            collection,
            *shape,
        )
    ]
    assert len(set(keys)) == len(keys) == 9 * (32 + 25)


def test_equal_bands_have_equal_keys_and_only_they(conn: psycopg.Connection) -> None:
    left = scalar(conn, "select sherlock.signature('la accion de tutela contra el juez')")
    right = [*left[:4], left[4] + 1, *left[5:]]
    call = "select sherlock.band_keys(%s::int[], 1, 1, 32, 4)"
    left_keys, right_keys = scalar(conn, call, left), scalar(conn, call, right)
    equal = [pair[0] == pair[1] for pair in zip(left_keys, right_keys, strict=True)]
    assert equal == [True, False, *[True] * 30]


@pytest.mark.parametrize(("bands", "rows"), [(0, 4), (32, 0), (33, 4), (1, 129), (2**30, 2**30)])
def test_impossible_bands_are_refused(conn: psycopg.Connection, bands: int, rows: int) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(
            "select sherlock.band_keys(sherlock.signature('a'), 1, 1, %s, %s)", [bands, rows]
        )
    assert caught.value.sqlstate == "SH011"
    assert caught.value.diag.message_hint


@pytest.mark.parametrize("wrong", ["{}", "{1,2,3}", "{" + ",".join(["null"] * 128) + "}"])
@pytest.mark.parametrize(
    "call",
    [
        "sherlock.signature_sketch(%(wrong)s::int[])",
        "sherlock.band_keys(%(wrong)s::int[], 1, 1, 32, 4)",
        "sherlock.jaccard_estimate(%(wrong)s::int[], sherlock.signature('a'))",
        "sherlock.jaccard_estimate(sherlock.signature('a'), %(wrong)s::int[])",
        "sherlock.merge_signatures(%(wrong)s::int[], null)",
        "sherlock.merge_signatures(null, %(wrong)s::int[])",
    ],
)
def test_what_is_no_signature_is_refused(conn: psycopg.Connection, call: str, wrong: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(f"select {call}", {"wrong": wrong})
    assert caught.value.sqlstate == "SH012"
    assert caught.value.diag.message_hint
