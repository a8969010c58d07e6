"""The planner: S-curves by the formula, estimates that agree with what the bands really find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import class_row

SLOTS = 128
shapes = st.integers(1, SLOTS).flatmap(
    lambda rows: st.tuples(st.integers(1, SLOTS // rows), st.just(rows))
)
shares = st.floats(0.001, 1)
property_test = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@dataclass(frozen=True)
class Shape:
    """A row of sherlock.plan()."""

    band_count: int
    rows_per_band: int
    probabilities: list[float]
    recall: float
    reaches_recall: bool
    candidates_per_query: float | None
    keys_per_document: int
    is_current: bool
    is_recommended: bool

    def __post_init__(self) -> None:
        assert self.keys_per_document == self.band_count
        assert self.band_count * self.rows_per_band <= SLOTS


def plan(conn: psycopg.Connection, **arguments: object) -> list[Shape]:
    named = ", ".join(f"p_{name} => %({name})s" for name in arguments)
    with conn.cursor(row_factory=class_row(Shape)) as cursor:
        query = f"select * from sherlock.plan({named})".encode()
        return cursor.execute(query, arguments).fetchall()


def recommended(rows: list[Shape]) -> Shape:
    (row,) = (row for row in rows if row.is_recommended)
    return row


def shape(rows: list[Shape], bands: int, per_band: int) -> Shape:
    (row,) = (r for r in rows if (r.band_count, r.rows_per_band) == (bands, per_band))
    return row


def probability(jaccard: float, bands: int, rows: int) -> float:
    return 1.0 - (1.0 - jaccard**rows) ** bands


def scalar(conn: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


def store_groups(
    conn: psycopg.Connection,
    *,
    groups: int,
    size: int,
    shared: int,
    own: int,
    collection: str = "default",
) -> None:
    """Store signed documents: those of a group have `shared` shingles in common."""
    conn.execute(
        "with stored as ("
        # The sample is chosen by the ids: these are always the same.
        "  insert into sherlock.documents"
        "      (document_id, collection_id, doc_type, text_state, name)"
        "  overriding system value"
        "  select coalesce((select max(o.document_id) from sherlock.documents o"
        "                   where o.document_id > 1000000), 1000000) + row_number() over (),"
        "         sherlock.collection_id(%(collection)s),"
        "         'default', 'indexed', g || ' ' || m"
        "  from generate_series(1, %(groups)s) g, generate_series(1, %(size)s) m"
        "  returning document_id, collection_id, name"
        "), signed as ("
        "  select s.document_id, s.collection_id, sherlock.signature(array("
        "      select hashtextextended(case"
        "          when i <= %(shared)s then split_part(s.name, ' ', 1) else s.name"
        "      end, s.collection_id * 100000 + i)"
        "      from generate_series(1, %(shared)s + %(own)s) i)) as signature"
        "  from stored s"
        ")"
        " insert into sherlock.document_signatures"
        "     (document_id, scheme_id, shingle_count, signature, sketch)"
        " select s.document_id, c.scheme_id, %(shared)s + %(own)s, s.signature,"
        "        sherlock.signature_sketch(s.signature)"
        " from signed s join sherlock.collections c using (collection_id)",
        {
            "collection": collection,
            "groups": groups,
            "size": size,
            "shared": shared,
            "own": own,
        },
    )


def candidates_found(conn: psycopg.Connection, bands: int, rows: int, limit: int) -> float:
    """Candidates per document, on average, that these bands really give."""
    conn.execute("delete from sherlock.band_keys")
    conn.execute(
        "insert into sherlock.band_keys (key, document_id)"
        " select k.key, s.document_id from sherlock.document_signatures s"
        " cross join unnest(sherlock.band_keys(s.signature, 1, 1, %s, %s)) as k (key)",
        [bands, rows],
    )
    return float(
        scalar(
            conn,
            "select count(*)::float / (select count(*) from sherlock.document_signatures)"
            " from sherlock.document_signatures s"
            " cross join sherlock.band_candidates("
            "     sherlock.band_keys(s.signature, 1, 1, %s, %s), %s) as c"
            " where c.document_id <> s.document_id",
            bands,
            rows,
            limit,
        )
    )


@given(bands_and_rows=shapes)
@property_test
def test_s_curve(conn: psycopg.Connection, bands_and_rows: tuple[int, int]) -> None:
    curve = conn.execute("select * from sherlock.s_curve(%s, %s)", bands_and_rows).fetchall()
    assert [jaccard for jaccard, _ in curve] == pytest.approx([step / 20 for step in range(21)])
    assert [found for _, found in curve] == pytest.approx(
        [probability(jaccard, *bands_and_rows) for jaccard, _ in curve], abs=1e-12
    )
    assert [found for _, found in curve] == sorted(found for _, found in curve)
    assert curve[0] == (0, 0)
    assert curve[-1] == (1, 1)


def test_s_curve_of_the_default_scheme(conn: psycopg.Connection) -> None:
    """The figures of the literature's formula, as the documentation has them."""
    curve: dict[float, float] = dict(
        conn.execute("select * from sherlock.s_curve(32, 4)").fetchall()
    )
    found = {jaccard: round(curve[jaccard], 3) for jaccard in (0.3, 0.4, 0.5, 0.6)}
    assert found == {0.3: 0.229, 0.4: 0.564, 0.5: 0.873, 0.6: 0.988}


@pytest.mark.parametrize(
    ("bands", "rows"), [(0, 4), (32, 0), (33, 4), (None, 4), (4, None), (2**30, 2**30)]
)
def test_s_curve_of_impossible_bands_is_refused(
    conn: psycopg.Connection, bands: int | None, rows: int | None
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select * from sherlock.s_curve(%s::int, %s::int)", [bands, rows])
    assert caught.value.sqlstate == "SH011"
    assert caught.value.diag.message_hint


@given(threshold=shares, recall=shares)
@property_test
def test_plan_without_documents_goes_by_the_curve(
    conn: psycopg.Connection, threshold: float, recall: float
) -> None:
    rows = plan(conn, threshold=threshold, recall=recall)
    assert {row.rows_per_band for row in rows} == set(range(1, 17))
    for per_band in range(1, 17):
        assert shape(rows, SLOTS // per_band, per_band)
    for row in rows:
        exact = probability(threshold, row.band_count, row.rows_per_band)
        assert row.recall == pytest.approx(exact, abs=1e-4)
        if abs(exact - recall) > 1e-9:
            assert row.reaches_recall == (exact >= recall)
        assert row.probabilities == pytest.approx(
            [probability(n / 10, row.band_count, row.rows_per_band) for n in range(1, 10)],
            abs=1e-4,
        )
        assert row.candidates_per_query is None
        if row.band_count < SLOTS // row.rows_per_band and not row.is_current:
            fewer = probability(threshold, row.band_count - 1, row.rows_per_band)
            assert row.reaches_recall
            assert fewer < recall + 1e-9, "fewer bands would do"
    chosen = recommended(rows)
    if any(row.reaches_recall for row in rows):
        assert chosen.reaches_recall
        # The curve is lower the more rows a band has: fewer candidates below the threshold.
        lowest = min(area_below(row, threshold) for row in rows if row.reaches_recall)
        assert area_below(chosen, threshold) == pytest.approx(lowest, abs=1e-9)
    else:
        assert chosen.recall == max(row.recall for row in rows)


def area_below(row: Shape, threshold: float) -> float:
    return sum(
        probability(threshold * step / 100, row.band_count, row.rows_per_band)
        for step in range(1, 100)
    )


@pytest.mark.parametrize(
    ("threshold", "recall", "expected"),
    [
        # 23 bands of 3: .9536 at J = .5; 32 of 4 would give .873, 25 of 5 only .548.
        (0.5, 0.95, (23, 3)),
        (0.8, 0.99, (16, 6)),
        # Nothing reaches it: as many keys as there are slots.
        (0.01, 0.95, (128, 1)),
        (1e-9, 1, (128, 1)),
        (1, 1, (1, 16)),
    ],
)
def test_known_recommendations(
    conn: psycopg.Connection, threshold: float, recall: float, expected: tuple[int, int]
) -> None:
    chosen = recommended(plan(conn, threshold=threshold, recall=recall))
    assert (chosen.band_count, chosen.rows_per_band) == expected


@pytest.mark.parametrize("threshold", [1e-300, 1 - 1e-15])
def test_powers_too_small_for_their_type(conn: psycopg.Connection, threshold: float) -> None:
    for row in plan(conn, threshold=threshold):
        assert row.recall == pytest.approx(round(threshold), abs=1e-4)


def test_plan_shows_the_current_bands_even_odd_ones(conn: psycopg.Connection) -> None:
    (current,) = (row for row in plan(conn) if row.is_current)
    assert (current.band_count, current.rows_per_band) == (32, 4)
    conn.execute("select sherlock.create_scheme('odd', p_band_count => 3, p_rows_per_band => 37)")
    conn.execute("select sherlock.create_collection('otra', 'text', 'odd')")
    (current,) = (row for row in plan(conn, collection="otra", threshold=1e-6) if row.is_current)
    assert (current.band_count, current.rows_per_band) == (3, 37)
    assert current.recall == 0


# 9 others of J = .25, .5 or .8 in the group, 790 unrelated ones.
@pytest.mark.parametrize(("shared", "own"), [(40, 60), (60, 30), (80, 10)])
def test_estimate_agrees_with_theory_and_with_the_bands(
    conn: psycopg.Connection, shared: int, own: int
) -> None:
    store_groups(conn, groups=80, size=10, shared=shared, own=own)
    jaccard = shared / (shared + 2 * own)
    rows = plan(conn, sample=800)
    for row in rows:
        expected = 9 * probability(jaccard, row.band_count, row.rows_per_band)
        assert row.candidates_per_query is not None
        if expected > 1:
            assert row.candidates_per_query == pytest.approx(expected, rel=0.25)
        else:
            assert row.candidates_per_query < 1.5
    for bands, per_band in ((32, 4), (23, 3)):
        found = candidates_found(conn, bands, per_band, 200)
        estimate = shape(rows, bands, per_band).candidates_per_query
        # The 45 pairs of a group tend to agree in the same bands: 80 groups still scatter.
        assert estimate == pytest.approx(found, rel=0.4, abs=0.3)
    costs = [row.candidates_per_query or 0 for row in rows if row.reaches_recall]
    assert recommended(rows).candidates_per_query == min(costs)


def test_unrelated_texts_cost_nothing(conn: psycopg.Connection) -> None:
    """Slots that agree by chance must not count as similarity, whatever the bands."""
    store_groups(conn, groups=300, size=1, shared=0, own=100)
    for row in plan(conn):
        assert row.candidates_per_query is not None
        assert row.candidates_per_query < 0.5


def test_estimate_is_bounded_by_the_key_limit(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_scheme('narrow', p_band_key_limit => 3)")
    conn.execute("select sherlock.create_collection('otra', 'text', 'narrow')")
    store_groups(conn, groups=1, size=150, shared=50, own=0, collection="otra")
    for row in plan(conn, collection="otra"):
        assert row.candidates_per_query == min(149, 3 * row.band_count)


def test_sample_is_deterministic_and_scales_to_the_collection(conn: psycopg.Connection) -> None:
    store_groups(conn, groups=30, size=20, shared=60, own=10)
    whole = plan(conn)
    assert whole == plan(conn)
    part = plan(conn, sample=300)
    assert part == plan(conn, sample=300)
    assert part != whole
    for small, full in zip(part, whole, strict=True):
        assert small.candidates_per_query == pytest.approx(
            full.candidates_per_query, rel=0.35, abs=0.5
        )


def test_the_default_sample_agrees_with_a_larger_one(conn: psycopg.Connection) -> None:
    store_groups(conn, groups=250, size=10, shared=60, own=30)
    for small, large in zip(plan(conn), plan(conn, sample=2500), strict=True):
        assert small.candidates_per_query == pytest.approx(
            large.candidates_per_query, rel=0.5, abs=0.5
        )


def test_other_collections_and_schemes_do_not_count(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('otra', 'text')")
    store_groups(conn, groups=1, size=50, shared=50, own=0, collection="otra")
    assert all(row.candidates_per_query is None for row in plan(conn))
    assert all(row.candidates_per_query == 49 for row in plan(conn, collection="otra"))
    scheme_id = scalar(conn, "select sherlock.create_scheme('char-9', 'char', 9)")
    conn.execute("update sherlock.collections set scheme_id = %s where name = 'otra'", [scheme_id])
    assert all(row.candidates_per_query is None for row in plan(conn, collection="otra"))


def test_one_document_has_no_others(conn: psycopg.Connection) -> None:
    store_groups(conn, groups=1, size=1, shared=50, own=0)
    assert all(row.candidates_per_query is None for row in plan(conn))
    store_groups(conn, groups=1, size=1, shared=50, own=0)
    assert all(row.candidates_per_query == 1 for row in plan(conn))


def test_plan_writes_nothing(conn: psycopg.Connection) -> None:
    store_groups(conn, groups=5, size=2, shared=50, own=10)
    conn.execute("set transaction read only")
    assert plan(conn)


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ({"threshold": 0.0}, "SH018"),
        ({"threshold": 1.01}, "SH018"),
        ({"threshold": float("nan")}, "SH018"),
        ({"recall": 0.0}, "SH018"),
        ({"recall": 1.01}, "SH018"),
        ({"sample": 1}, "SH018"),
        ({"sample": 10_001}, "SH018"),
        ({"threshold": None}, "SH018"),
        ({"recall": None}, "SH018"),
        ({"sample": None}, "SH018"),
        ({"collection": "nada"}, "SH002"),
        ({"collection": None}, "SH002"),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_refused(
    conn: psycopg.Connection, arguments: dict[str, object], sqlstate: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        plan(conn, **arguments)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
