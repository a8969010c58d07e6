"""Numbers and dates of a text, and what those of two texts say about each other."""

from __future__ import annotations

import datetime
import random
import time
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import namedtuple_row

FEW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MONTHS = [
    "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
    "octubre", "noviembre", "diciembre",
]  # fmt: skip
DAYS = [
    "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
    "once", "doce", "trece", "catorce", "quince", "dieciséis", "diecisiete", "dieciocho",
    "diecinueve", "veinte", "veintiuno", "veintidós", "veintitrés", "veinticuatro", "veinticinco",
    "veintiséis", "veintisiete", "veintiocho", "veintinueve", "treinta", "treinta y uno",
]  # fmt: skip
TEXTS = st.text(
    st.one_of(
        st.characters(codec="utf-8", exclude_characters="\0"),
        st.sampled_from("0123456789.,' \n-/de°º٣４"),
    ),
    max_size=300,
)
DATES = st.dates(datetime.date(1900, 1, 1), datetime.date(2029, 12, 31))


def numbers(conn: psycopg.Connection, text: str) -> list[str]:
    row = conn.execute("select sherlock._number_references(%s)", [text]).fetchone()
    assert row is not None
    found: list[str] = row[0]
    return found


def dates(conn: psycopg.Connection, text: str) -> list[datetime.date]:
    row = conn.execute(
        "select sherlock._date_references(sherlock.canonical_text(%s))", [text]
    ).fetchone()
    assert row is not None
    found: list[datetime.date] = row[0]
    return found


@pytest.mark.parametrize(
    ("misread", "number"),
    [
        ("2O25O18", "2025018"),
        ("4S2", "452"),
        ("1O8.691", "108691"),
        ("108.6g1", "108691"),
        ("B5Z19", "85219"),
        # Fewer digits than letters are no number, nor is what nobody reads for a digit.
        ("l8-b0", None),
        ("2OO", None),
        ("12abc", None),
        ("B2B", None),
        ("12X4", None),
        ("2O21", None),
    ],
)
def test_digits_that_were_read_as_letters(
    conn: psycopg.Connection, misread: str, number: str | None
) -> None:
    assert numbers(conn, f"el acta {misread} de hoy") == ([] if number is None else [number])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("sin cifras", []),
        ("Ley 100 de 1993", ["100"]),
        ("la 12 y la 7", []),
        ("acta 1234, luego 567 y otra vez 1234", ["1234", "567"]),
        ("$ 1.234.567 son $1234567", ["1234567"]),
        ("$ 1'234.567 y $ 1’234.568 y 1,234,569", ["1234567", "1234568", "1234569"]),
        ("12.345,67", ["12345"]),
        ("1.2345 y 1234.567", ["2345", "1234", "567"]),
        ("123.45", ["123"]),
        ("desde 1900 hasta 2099", []),
        ("1899 y 2100", ["1899", "2100"]),
        ("T-760 de 2008", ["760"]),
        ("T760 760T é760 760ñ", []),
        ("radicado 2021-00123-01", ["00123"]),
        ("NIT 900.123.456-7.", ["900123456"]),
        ("(123) «456» “789” N°147 Nº258 #369; 741/852",
         ["123", "456", "789", "147", "258", "369", "741", "852"]),
        ("300 555 1234", ["300", "555", "1234"]),
        ("111\n222\t333\r\n444\f555\u00a0666", ["111", "222", "333", "444", "555", "666"]),
        ("٣٤٥٦ १२३४ １２３４ ²³¹ ⅣⅤⅥ", []),
        ("1" * 40, ["1" * 40]),
        ("1" * 41, []),
        ("00123 0123", ["00123", "0123"]),
        ("123" + "." * 20 + "456", ["123", "456"]),
        ("a" * 195 + " 12345 " + "9a" * 100 + "/777", ["12345"]),
    ],
)  # fmt: skip
def test_numbers(conn: psycopg.Connection, text: str, expected: list[str]) -> None:
    assert numbers(conn, text) == expected


def test_at_most_200_numbers_the_first(conn: psycopg.Connection) -> None:
    text = " ".join(str(number) for number in range(10000, 10300))
    assert numbers(conn, text) == [str(number) for number in range(10000, 10200)]


def test_what_joins_groups_of_digits_has_a_bound(conn: psycopg.Connection) -> None:
    assert max(map(len, numbers(conn, "1" + ".234" * 40))) <= 40


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("2021", []),
        ("2021 fue un año", []),
        ("de 2021", []),
        ("mayo de 2021", []),
        ("5 de mayo de 2021", ["2021-05-05"]),
        ("2020: el 5 de mayo de 2021", ["2021-05-05"]),
        ("5 (cinco) días del mes de mayo del año 2021", ["2021-05-05"]),
        ("a los cinco (5) días del mes de mayo de dos mil veintiuno (2021)", ["2021-05-05"]),
        ("3 de abril de mil novecientos noventa y nueve (1999)", ["1999-04-03"]),
        ("Cali, mayo 5 de 2021", ["2021-05-05"]),
        ("Cali, mayo cinco (05) de 2021", ["2021-05-05"]),
        ("primero de julio de 2018", ["2018-07-01"]),
        ("1.º de julio de 2018", ["2018-07-01"]),
        ("1º de julio de 2018", ["2018-07-01"]),
        ("1o. de julio de 2018", ["2018-07-01"]),
        ("1ro de julio de 2018", ["2018-07-01"]),
        ("23/11/2001", ["2001-11-23"]),
        ("23-11-2001", ["2001-11-23"]),
        ("3.1.2001", ["2001-01-03"]),
        ("11/23/2001", []),
        ("31 de febrero de 2021", []),
        ("30/02/2021", []),
        ("31 de abril de 2021", []),
        ("29 de febrero de 2021", []),
        ("29 de febrero de 2020", ["2020-02-29"]),
        ("0 de mayo de 2021", []),
        ("32 de mayo de 2021", []),
        ("2 de setiembre de 2019", ["2019-09-02"]),
        ("5 DE MAYO DE 2021 y 5 de mayo de 2021", ["2021-05-05"]),
        ("6 de mayo de 2021 y 5 de mayo de 2021", ["2021-05-06", "2021-05-05"]),
        ("5 de mayo de 1899", []),
        ("5 de mayo de 20a1", []),
        ("٥ de mayo de 2021", []),
        ("artículo 7 de la ley 12 de 2021", []),
        ("en mayo la ley 12 de 2021", []),
        ("en mayo, ley 12 de 2021", []),
    ],
)
def test_dates(conn: psycopg.Connection, text: str, expected: list[str]) -> None:
    assert [date.isoformat() for date in dates(conn, text)] == expected


def test_at_most_100_dates_the_first(conn: psycopg.Connection) -> None:
    first = datetime.date(2020, 1, 1)
    days = [first + datetime.timedelta(days=n) for n in range(130)]
    text = " ".join(day.strftime("%d/%m/%Y") for day in days)
    assert dates(conn, text) == days[:100]


@FEW
@given(text=TEXTS)
def test_any_text_has_numbers_and_dates(conn: psycopg.Connection, text: str) -> None:
    found = numbers(conn, text)
    assert len(found) == len(set(found)) <= 200
    assert all(each.isascii() and each.isdigit() and 3 <= len(each) <= 40 for each in found)
    assert not any(len(each) == 4 and "1900" <= each <= "2099" for each in found)
    for date in dates(conn, text):
        assert 1900 <= date.year <= 2099


@FEW
@given(
    values=st.lists(st.integers(2100, 10**12), min_size=1, max_size=30, unique=True),
    mark=st.sampled_from(["", ".", ","]),
    between=st.sampled_from([" ", "; ", "\n", " - ", ") (", " de "]),
)
def test_each_number_is_found_however_it_is_marked(
    conn: psycopg.Connection, values: list[int], mark: str, between: str
) -> None:
    text = between.join(f"{value:,}".replace(",", mark) for value in values)
    assert numbers(conn, f"Son {text}.") == [str(value) for value in values]


@FEW
@given(
    date=DATES,
    form=st.sampled_from(
        [
            "{day} de {month} de {year}",
            "{day} de {month} del año {year}",
            "{day:02} DE {month} DE {year}",
            "{word} ({day}) de {month} de {year}",
            "{day} ({word}) días del mes de {month} de {year}",
            "{month} {day} de {year}",
            "{month} {word} ({day}) de {year}",
            "{day}/{number}/{year}",
            "{day:02}-{number:02}-{year}",
            "{day}.{number}.{year}",
        ]
    ),
    before=st.sampled_from(["", "2020, ", "El día ", "radicado 123 del "]),
)
def test_a_written_date_is_found(
    conn: psycopg.Connection, date: datetime.date, form: str, before: str
) -> None:
    written = form.format(
        day=date.day,
        word=DAYS[date.day],
        month=MONTHS[date.month - 1],
        number=date.month,
        year=date.year,
    )
    assert dates(conn, f"{before}{written}, en Bogotá") == [date]


@pytest.mark.parametrize(
    "unit",
    [
        "El 5 de mayo de 2021 pagó 12345. ",
        "1",
        ".234",
        "2021 ",
        "1.2",
        "{n} ",
        "{n};",
        "mayo 2021 ",
    ],
)
def test_texts_of_five_megabytes(conn: psycopg.Connection, unit: str) -> None:
    """Ten times what they take on an idle machine is still no minute."""
    count = 5_000_000 // len(unit.format(n=123456))
    text = "".join(unit.format(n=100_000 + n) for n in range(count))
    began = time.monotonic()
    found = numbers(conn, text)
    conn.execute("select sherlock._date_references(%s)", [text])
    assert time.monotonic() - began < 40
    assert len(found) <= 200
    assert all(len(each) <= 40 for each in found)


Texts = tuple[list[str], list[str]]


def agreement(
    conn: psycopg.Connection,
    left: Texts,
    right: Texts,
    model_id: int | None = None,
    ignored: list[str] | None = None,
) -> Any:
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(
            "select a.* from sherlock.compare_references("
            " row(%s::text[], %s::date[])::sherlock._references,"
            " row(%s::text[], %s::date[])::sherlock._references, %s, %s) as a",
            [*left, *right, model_id, ignored or []],
        ).fetchone()


def model_of(conn: psycopg.Connection, *texts: str) -> int:
    """Store texts and return the vocabulary that is fitted on them."""
    for text in texts:
        conn.execute("insert into sherlock.documents (content) values (%s)", [text])
    row = conn.execute("select sherlock.fit_vocabulary('default')").fetchone()
    assert row is not None
    model_id: int = row[0]
    conn.execute("select sherlock.vectorize_missing(%s, 1000)", [model_id])
    conn.execute("select sherlock.activate_tfidf_model(%s)", [model_id])
    return model_id


def sentence(seed: int, *found: str) -> str:
    rng = random.Random(seed)
    words = ["".join(rng.choices("abdegmoprstu", k=7)) for _ in range(60)]
    return " ".join([*words, *found])


def test_without_a_model_all_numbers_weigh_the_same(conn: psycopg.Connection) -> None:
    found = agreement(conn, (["100", "200", "300", "400"], []), (["300", "500"], []))
    assert found.number_overlap == 0.5
    assert found.is_other_matter is False
    assert found.shared == [{"role": "numero", "value": "300"}]
    assert found.differing == []


@pytest.mark.parametrize(
    ("left", "right", "overlap"),
    [
        (["100"], ["100"], 1),
        (["100"], ["200"], 0),
        (["100"], [], None),
        ([], ["100"], None),
        ([], [], None),
    ],
)
def test_texts_without_numbers_have_no_overlap(
    conn: psycopg.Connection, left: list[str], right: list[str], overlap: float | None
) -> None:
    assert agreement(conn, (left, []), (right, [])).number_overlap == overlap


def test_what_is_rare_weighs_most_and_what_all_cite_nothing(conn: psycopg.Connection) -> None:
    model = model_of(
        conn,
        *(sentence(n, "2591", str(3000 + n), "777" if n < 5 else "888") for n in range(10)),
    )
    weights: dict[str, float] = dict(
        conn.execute(
            "select number, weight from sherlock._weighted_numbers(%s, sherlock._rare_weight(%s),"
            " array['2591', '777', '3001', '987654'])",
            [model, model],
        ).fetchall()
    )
    assert weights["2591"] == pytest.approx(0, abs=1e-6)
    assert 0 < weights["777"] < weights["3001"]
    assert weights["987654"] >= weights["3001"]
    # All that both share is the law that everybody cites.
    apart = agreement(conn, (["2591", "3001"], []), (["2591", "3002"], []), model)
    assert apart.number_overlap == pytest.approx(0, abs=1e-6)
    together = agreement(conn, (["2591", "777", "3001"], []), (["2591", "3001"], []), model)
    assert together.number_overlap == pytest.approx(1)
    assert together.shared[0]["value"].split("; ")[0] == "3001"
    # A text of nothing but common numbers says nothing.
    assert agreement(conn, (["2591"], []), (["2591", "3001"], []), model).number_overlap is None


@pytest.mark.parametrize("count", [1, 2, 3])
def test_vocabularies_of_next_to_no_documents(conn: psycopg.Connection, count: int) -> None:
    model = model_of(conn, *(sentence(n, "2591", str(3000 + n)) for n in range(count)))
    days = ["2020-01-01", "2020-01-02"]
    pairs: list[Texts] = [(["3000"], ["3000"]), (["3000"], ["999"]), ([], ["2591"])]
    for left, right in pairs:
        found = agreement(conn, (left, days), (right, days), model)
        assert found.number_overlap is None or 0 <= found.number_overlap <= 1
        assert found.is_other_matter is False
    document = conn.execute("select min(document_id) from sherlock.documents").fetchone()
    assert document is not None
    conn.execute("select * from sherlock.find_duplicates(%s)", [document[0]])


def test_ignored_numbers_count_for_nothing(conn: psycopg.Connection) -> None:
    left: Texts = (["52345678", "100"], [])
    right: Texts = (["052345678", "52345678", "200"], [])
    assert agreement(conn, left, right).number_overlap == 0.5
    ignored = agreement(conn, left, right, ignored=["52345678"])
    assert ignored.number_overlap == 0
    assert ignored.shared == []
    assert ignored.differing == [{"role": "numero", "value": "100", "other": "200"}]


@pytest.mark.parametrize(
    ("left", "right", "is_other"),
    [
        pytest.param((["100"], ["2020-01-01", "2020-01-02"]),
                     (["200"], ["2021-01-01", "2021-01-02"]), True, id="nothing shared"),
        pytest.param(([], ["2020-01-01", "2020-01-02"]),
                     ([], ["2021-01-01", "2021-01-02"]), True, id="no numbers"),
        pytest.param((["100"], ["2020-01-01", "2020-01-02"]),
                     (["200"], ["2021-01-01", "2020-01-02"]), False, id="a date shared"),
        pytest.param((["100"], ["2020-01-01", "2020-01-02"]),
                     (["100"], ["2021-01-01", "2021-01-02"]), False, id="a number shared"),
        pytest.param((["100"], ["2020-01-01"]),
                     (["200"], ["2021-01-01", "2021-01-02"]), False, id="one date"),
        pytest.param((["100"], []), (["200"], []), False, id="no dates"),
    ],
)  # fmt: skip
def test_another_matter(
    conn: psycopg.Connection, left: Texts, right: Texts, is_other: bool
) -> None:
    assert agreement(conn, left, right).is_other_matter is is_other
    assert agreement(conn, right, left).is_other_matter is is_other


def test_a_common_number_makes_no_same_matter(conn: psycopg.Connection) -> None:
    model = model_of(conn, *(sentence(n, "2591", str(3000 + n)) for n in range(10)))
    left = (["2591", "3001"], ["2020-01-01", "2020-01-02"])
    right = (["2591", "3002"], ["2021-01-01", "2021-01-02"])
    assert agreement(conn, left, right, model).is_other_matter is True
    assert agreement(conn, left, (["3001"], right[1]), model).is_other_matter is False


REFERENCES = st.tuples(
    st.lists(st.sampled_from(["100", "200", "300", "2591", "00400", "5" * 40]), unique=True),
    st.lists(st.sampled_from([f"2020-01-0{n}" for n in range(1, 6)]), unique=True),
)


@FEW
@given(left=REFERENCES, right=REFERENCES, ignored=st.lists(st.sampled_from(["100", "400"])))
def test_the_same_from_both_sides(
    conn: psycopg.Connection, left: Texts, right: Texts, ignored: list[str]
) -> None:
    one = agreement(conn, left, right, ignored=ignored)
    other = agreement(conn, right, left, ignored=ignored)
    assert one.number_overlap == pytest.approx(other.number_overlap)
    assert one.is_other_matter is other.is_other_matter
    assert one.number_overlap is None or 0 <= one.number_overlap <= 1
    assert [each["role"] for each in one.shared] == [each["role"] for each in other.shared]
    roles = [each["role"] for each in one.shared + one.differing]
    assert len(roles) == len(set(roles))
