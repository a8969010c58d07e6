"""What a bulk load stores is what the triggers store of the same texts with the same vocabulary."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.bulk.formats import find_files
from sherlock_pg.bulk.loader import BulkLoader, BulkOptions
from sherlock_pg.bulk.rows import FieldMap

Text = Callable[..., str]
Stored = Callable[[str, str], dict[str, list[dict[str, Any]]]]

TUTELA = """Señor Juez (reparto)
ACCIONANTE: CARMEN ROSA QUINTERO ARIAS
ACCIONADO: NUEVA EPS
CARMEN ROSA QUINTERO ARIAS, identificada con cédula de ciudadanía No. 41.555.777, instauro acción
de tutela contra NUEVA EPS por la vulneración de mis derechos a la salud y a la vida desde el 4
de febrero de 2025. Estoy afiliada desde hace doce años y padezco insuficiencia renal.
Notificaciones: carmen.quintero@ejemplo.com"""


def silent() -> Any:
    class Silent:
        def stage(self, name: str, total: int) -> None: ...
        def step(self, count: int = 1) -> None: ...
        def rows(self, count: int) -> None: ...
        def say(self, message: str) -> None: ...

    return Silent()


def odd_texts(make_text: Text) -> list[str]:
    boilerplate = "se solicita al despacho dar trámite al presente escrito en los términos de ley"
    return [
        *(make_text(number) for number in range(60)),
        *(make_text(number, words=400) for number in range(60, 64)),
        "corto",
        "... --- ...",
        "ñ",
        "una y otra vez " * 40,
        boilerplate + " " + boilerplate,
        f"{boilerplate} {make_text(99)}",
        "Habeas corpus a favor de quien está detenido desde el 3/4/2021, T-123.456, "
        + make_text(70),
        "x" * 7000 + " acción de tutela " + make_text(71),
        "東京都は日本の首都であり人口は千四百万人で世界最大の都市圏の中心である" * 2,
        "ﬁn ﬂor ＡＢＣ１２３ ﬀ ǅ ß ŉ " + make_text(72),
        "zzzz qqqq wwww kkkk " * 8 + " ".join(f"xq{n}z" for n in range(30)),
        TUTELA,
        TUTELA.replace("CARMEN ROSA QUINTERO ARIAS", "JAIRO MOSQUERA LUNA"),
        make_text(1),
    ]


@pytest.mark.parametrize(
    ("profile", "doc_type", "scheme"),
    [("text", "auto", "word-2"), ("legal", "auto", "sin-fórmulas"), ("text", "tutela", "char-9")],
)
def test_equal_table_by_table(
    clone_database: Callable[[], AbstractContextManager[str]],
    stored: Stored,
    make_text: Text,
    tmp_path: Path,
    profile: str,
    doc_type: str,
    scheme: str,
) -> None:
    texts = odd_texts(make_text)
    path = tmp_path / "textos.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": f"n{number}", "texto": text}) + "\n"
            for number, text in enumerate(texts)
        )
    )
    with clone_database() as bulk_url, clone_database() as sql_url:
        for url in (bulk_url, sql_url):
            with psycopg.connect(url) as conn:
                make_schemes(conn)
                conn.execute("select sherlock.create_collection('c', %s, %s)", [profile, scheme])
        options = BulkOptions(FieldMap(("texto",), "id"), "c", None, doc_type)
        (file,) = find_files([path], "utf-8")
        outcome = BulkLoader(bulk_url, options, silent()).load(file)
        assert (outcome.new, outcome.failed) == (len(texts), 0)

        with psycopg.connect(bulk_url) as bulk, psycopg.connect(sql_url) as conn:
            terms, idf, fitted = bulk.execute(
                "select array_agg(f.term order by f.feature_index),"
                " array_agg(f.idf order by f.feature_index), min(m.fitted_document_count)"
                " from sherlock.tfidf_models as m"
                " join sherlock.tfidf_features as f using (model_id)"
            ).fetchall()[0]
            conn.execute(
                "select sherlock.activate_tfidf_model(sherlock.create_tfidf_model("
                "'c', %s, %s, %s, 1, 2))",
                [terms, idf, fitted],
            )
            for number, text in enumerate(texts):
                conn.execute(
                    "insert into sherlock.documents (collection_id, doc_type, name, content)"
                    " values (sherlock.collection_id('c'), %s, %s, %s)",
                    [doc_type, f"n{number}", text],
                )
        by_bulk, by_sql = stored(bulk_url, "c"), stored(sql_url, "c")
    states = {row["text_state"] for row in by_bulk["documents"]}
    assert states == {"indexed", "short", "empty"}
    for table in by_sql:
        if table != "document_vectors":
            assert by_bulk[table] == by_sql[table], table
    assert_vectors_equal(by_bulk["document_vectors"], by_sql["document_vectors"])
    if profile == "legal":
        assert by_bulk["entities"]
        assert any(row["signature"] is None for row in by_bulk["document_signatures"])
    assert by_bulk["document_references"]


def make_schemes(conn: psycopg.Connection) -> None:
    """Make a scheme with boilerplate and one of characters."""
    conn.execute("select sherlock.create_scheme('char-9', 'char', 9)")
    conn.execute(
        "with list as (insert into sherlock.stop_lists (shingle_kind, shingle_width, learnt_from,"
        " document_share, text_count, shingle_count, measured_count, mean_removed_share,"
        " too_few_count, candidates_with, candidates_without)"
        " values ('skeleton', 2, 'c', 0.5, 10, 10, 10, 0.5, 0, 1, 1) returning stop_list_id),"
        " shingles as (insert into sherlock.stop_shingles (stop_list_id, shingle, document_share)"
        " select distinct list.stop_list_id, s.shingle, 0.9 from list cross join unnest("
        " sherlock.shingles(sherlock.canonical_text('se solicita al despacho dar trámite al"
        " presente escrito en los términos de ley ' || 'se solicita'), 'skeleton', 2))"
        " as s (shingle))"
        " insert into sherlock.shingle_schemes (name, shingle_kind, shingle_width, min_shingles,"
        " stop_list_id, base_scheme_id)"
        " select 'sin-fórmulas', 'skeleton', 2, 12, list.stop_list_id, b.scheme_id"
        " from list, sherlock.shingle_schemes as b where b.name = 'skeleton-2'"
    )


def assert_vectors_equal(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> None:
    assert len(left) == len(right)
    by_key = {row["key"]: row for row in right}
    differing_bits = 0
    for row in left:
        other = by_key[row["key"]]
        ours, theirs = elements(row["vector"]), elements(other["vector"])
        assert ours.keys() == theirs.keys()
        assert all(abs(ours[index] - theirs[index]) < 1e-6 for index in ours)
        assert (row["sign_bits"] is None) == (other["sign_bits"] is None) == (not ours)
        if ours:
            differing_bits += sum(
                a != b for a, b in zip(row["sign_bits"], other["sign_bits"], strict=True)
            )
    # A projection that is zero but for rounding may fall on either side.
    assert differing_bits <= len(left) // 10


def elements(vector: str) -> dict[int, float]:
    body = vector.partition("}")[0][1:]
    pairs = (pair.split(":") for pair in body.split(",") if pair)
    return {int(index): float(value) for index, value in pairs}
