"""Names that resemble each other are found by keys: what the keys promise, and that they follow."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.db import schema

# No letter of these is folded, and no two neighbours become one.
_WORD = st.text("cdgmnprst", min_size=3, max_size=8).filter(
    lambda word: not any(pair in word for pair in ("rn", "ss", "nn", "rr", "tt"))
)
_FEW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def keys(conn: psycopg.Connection, name: str, collection: int = 1) -> list[int]:
    row = conn.execute("select sherlock.name_keys(%s, %s)", [collection, name]).fetchone()
    assert row is not None
    found: list[int] = row[0]
    return found


def distinct_words(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(_WORD, min_size=count, max_size=count, unique=True)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("", 0),
        ("de la", 0),
        ("ana", 3),
        ("ana ruiz", 6),
        ("ana ruiz gomez de castro", 18),
        ("maria del pilar y de la ruiz de los las", 10),
        ("uno dos tres cuatro cinco seis siete ocho", 31),
        ("x " * 90, 31),
    ],
)
def test_number_of_keys(conn: psycopg.Connection, name: str, count: int) -> None:
    assert len(keys(conn, name)) == count


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("maria perez de gomez", "maria perez gomez"),
        ("gonzalez vivas", "gonsales bibas"),
        ("lleras", "yeras"),
        ("rodriguez bernal", "r0drlgucz bemal"),
        ("marroquin osorio", "maroquin ossorio"),
    ],
)
def test_spellings_and_misreadings_of_one_name_have_the_same_keys(
    conn: psycopg.Connection, left: str, right: str
) -> None:
    assert keys(conn, left) == keys(conn, right)


@_FEW
@given(words=distinct_words(4), data=st.data())
def test_the_order_of_words_leaves_all_but_the_ends(
    conn: psycopg.Connection, words: list[str], data: st.DataObject
) -> None:
    other = data.draw(st.permutations(words))
    left, right = set(keys(conn, " ".join(words))), set(keys(conn, " ".join(other)))
    assert len(left - right) <= 3


@_FEW
@given(words=distinct_words(4), gone=st.integers(0, 3), instead=st.text("abemo ", max_size=7))
def test_three_words_of_four_are_enough(
    conn: psycopg.Connection, words: list[str], gone: int, instead: str
) -> None:
    """Whatever stands in the place of the fourth: another word, several, nothing."""
    other = [*words[:gone], *instead.split()[:2], *words[gone + 1 :]]
    shared = set(keys(conn, " ".join(words))) & set(keys(conn, " ".join(other)))
    assert len(shared) >= 3


@_FEW
@given(words=distinct_words(4), kept=st.integers(0, 3), endings=distinct_words(4))
def test_one_word_and_the_initials_are_enough(
    conn: psycopg.Connection, words: list[str], kept: int, endings: list[str]
) -> None:
    other = [
        word if n == kept else f"{word[0]}a{ending}"
        for n, (word, ending) in enumerate(zip(words, endings, strict=True))
    ]
    assert set(keys(conn, " ".join(words))) & set(keys(conn, " ".join(other)))


@_FEW
@given(words=distinct_words(3), spaces=st.lists(st.integers(0, 24), max_size=3))
def test_lost_and_added_spaces_leave_a_key(
    conn: psycopg.Connection, words: list[str], spaces: list[int]
) -> None:
    letters = "".join(words)
    other = "".join(
        f" {letter}" if n in spaces else letter for n, letter in enumerate(letters)
    ).split()
    assert set(keys(conn, " ".join(words))) & set(keys(conn, " ".join(other)))


@_FEW
@given(words=distinct_words(3), at=st.integers(0, 30), letter=st.sampled_from("abemo"))
def test_a_letter_too_many_behind_a_lost_space_leaves_an_end(
    conn: psycopg.Connection, words: list[str], at: int, letter: str
) -> None:
    letters = "".join(words)
    at = min(at, len(letters))
    if len(letters) >= 18:
        spoilt = letters[:at] + letter + letters[at:]
        assert set(keys(conn, " ".join(words))) & set(keys(conn, spoilt))


@_FEW
@given(words=distinct_words(4))
def test_collections_share_no_key(conn: psycopg.Connection, words: list[str]) -> None:
    name = " ".join(words)
    assert not set(keys(conn, name, 1)) & set(keys(conn, name, 2))


def wrong_keys(conn: psycopg.Connection) -> list[tuple[Any, ...]]:
    """Keys that are there and should not be, or the other way round."""
    return conn.execute(
        "with expected as ("
        " select distinct k.key, n.name_id from sherlock.party_names as n"
        " cross join lateral unnest(sherlock.name_keys(n.collection_id, n.normalised)) as k (key)"
        " where n.role = 'demandante')"
        " (table sherlock.name_keys except table expected)"
        " union all (table expected except table sherlock.name_keys)"
    ).fetchall()


def key_count(conn: psycopg.Connection) -> int:
    row = conn.execute("select count(*) from sherlock.name_keys").fetchone()
    assert row is not None
    count: int = row[0]
    return count


def test_keys_follow_the_names(conn: psycopg.Connection) -> None:
    collection = conn.execute("select sherlock.collection_id('default')").fetchone()
    assert collection is not None
    conn.execute(
        "insert into sherlock.party_names (collection_id, role, normalised)"
        " select %s, r.role, n.name"
        " from unnest(array['demandante', 'demandado']) as r (role),"
        " unnest(array['perez perez perez', 'ana ruiz gomez', 'nn']) as n (name)"
        " union all values (%s, 'demandado', 'dian')",
        collection * 2,
    )
    assert wrong_keys(conn) == []
    assert key_count(conn) > 0
    conn.execute(
        "update sherlock.party_names set normalised = 'ana ruis gomes'"
        " where normalised = 'ana ruiz gomez'"
    )
    conn.execute("update sherlock.party_names set role = 'demandante' where normalised = 'dian'")
    assert wrong_keys(conn) == []
    conn.execute("delete from sherlock.party_names where normalised <> 'nn'")
    assert wrong_keys(conn) == []
    conn.execute("delete from sherlock.party_names")
    assert key_count(conn) == 0


def add(conn: psycopg.Connection, *names: str, collection: str = "default") -> int:
    row = conn.execute(
        "insert into sherlock.documents (collection_id, name)"
        " values (sherlock.collection_id(%s), 'prueba') returning document_id",
        [collection],
    ).fetchone()
    assert row is not None
    store(conn, row[0], *names)
    document_id: int = row[0]
    return document_id


def store(conn: psycopg.Connection, document_id: int, *names: str) -> None:
    conn.execute(
        "select sherlock.store_entities(%s, %s)",
        [document_id, json.dumps([{"role": "demandante", "value": name} for name in names])],
    )


def candidates(
    conn: psycopg.Connection, name: str, limit: int = 50, before: int | None = None
) -> list[int]:
    rows = conn.execute(
        "select c.document_id from sherlock.entity_candidates("
        " sherlock.collection_id('default'),"
        " sherlock._entity_profile(jsonb_build_array("
        "     jsonb_build_object('role', 'demandante', 'value', %s::text))), %s, %s) as c"
        " order by 1",
        [name, limit, before],
    )
    return [row[0] for row in rows]


NAME = "María Fernanda Rodríguez Gómez"


@pytest.mark.parametrize(
    "written",
    [
        NAME.upper(),
        "Rodríguez Gómez María Fernanda",
        "Maria Femanda Rodrlguez Gomez",
        "María Fernanda Rodrígez Gómes",
        "Mraia Fernanda Rodríguez Gómez",
        "Mariana Fernandez Rodrigez Gómez",
        "MaríaFernanda Rodríguez Gómez",
        "María Fernanda Rodrí guez Gómez",
        "MaríaFernanda Rodrígvez Gómez",
        "María F. Rodríguez Gómez",
        "María Rodríguez Gómez",
        "María Fernanda Rodríguez Gómez Ruiz",
        "Dra. María Fernanda Rodríguez de Gómez",
    ],
)
def test_names_that_resemble_each_other_are_found(conn: psycopg.Connection, written: str) -> None:
    document_id = add(conn, NAME)
    add(conn, "Luis Carlos Torres Vega")
    assert candidates(conn, written) == [document_id]


def test_other_names_are_not(conn: psycopg.Connection) -> None:
    add(conn, NAME)
    assert candidates(conn, "Luis Carlos Torres Vega") == []
    assert candidates(conn, "N.N.") == []


def test_similar_names_are_found_beside_equal_ones(conn: psycopg.Connection) -> None:
    """A document finds itself by its own name: that must not hide the misread one."""
    found = [add(conn, NAME), add(conn, "Maria Fernanda Rodriguez Gornez")]
    assert candidates(conn, NAME) == found


def test_only_documents_before_and_of_the_collection(conn: psycopg.Connection) -> None:
    conn.execute("select sherlock.create_collection('otra')")
    first, second = add(conn, NAME), add(conn, "Maria Femanda Rodriguez Gomez")
    add(conn, NAME, collection="otra")
    assert candidates(conn, NAME) == [first, second]
    assert candidates(conn, NAME, before=second) == [first]
    assert candidates(conn, NAME, before=first) == []
    add(conn, NAME)
    assert candidates(conn, "Maria Fernanda Rodriguez Gomes", limit=1) == [first, second]


def test_a_document_that_changed_is_found_as_it_is_now(conn: psycopg.Connection) -> None:
    document_id = add(conn, NAME)
    store(conn, document_id, "Luis Carlos Torres Vega")
    assert candidates(conn, "Maria Fernanda Rodriguez Gomes") == []
    assert candidates(conn, "Luis Carlos Tores Vega") == [document_id]
    assert wrong_keys(conn) == []
    conn.execute("delete from sherlock.documents where document_id = %s", [document_id])
    assert candidates(conn, "Luis Carlos Tores Vega") == []


def test_an_upgrade_makes_the_keys_of_names_that_were_there(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        add(conn, NAME, "Ana Ruiz")
        expected = key_count(conn)
        conn.execute("truncate sherlock.name_keys")
    schema.upgrade(database_url)
    with psycopg.connect(database_url, autocommit=True) as conn:
        assert expected > 0
        assert key_count(conn) == expected
        assert wrong_keys(conn) == []


def test_hot_keys_are_reported_and_rare_ones_still_find(conn: psycopg.Connection) -> None:
    """201 people share first name and surname; what else a name has leads to it."""
    others = [
        f"maria {a}{b}a rodriguez {b}{a}o" for a in "bcdfghjklmnpqrs" for b in "bdfghklmnprstw"
    ]
    others = [f"{name} {n}" for n, name in enumerate(others)][:201]
    conn.execute(
        "insert into sherlock.party_names (collection_id, role, normalised)"
        " select sherlock.collection_id('default'), 'demandante', n"
        " from unnest(%s::text[]) with ordinality as u (n, i) order by u.i",
        [others],
    )
    document_id = add(conn, "María Rodríguez Quiñones Wiesner")
    hot = conn.execute(
        "select key, name_count, unread_count, collection, last_name from sherlock.hot_name_keys"
    ).fetchall()
    pair = set(keys(conn, "maria rodriguez", _collection(conn))) & {row[0] for row in hot}
    assert len(pair) == 1
    assert [row[1:] for row in hot if row[0] in pair] == [
        (202, 2, "default", "maria rodriguez quinones wiesner")
    ]
    assert all(row[1] == row[2] + 200 for row in hot)
    assert candidates(conn, "Maria Rodrigues Quinnones Wiesner") == [document_id]


def _collection(conn: psycopg.Connection) -> int:
    row = conn.execute("select sherlock.collection_id('default')").fetchone()
    assert row is not None
    collection: int = row[0]
    return collection
