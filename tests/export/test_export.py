"""Exports: what is in them, in which form, and that a file is whole or not there."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sherlock_pg.errors import ExitCode
from sherlock_pg.export import reading
from sherlock_pg.export.columns import Column, Kind
from sherlock_pg.export.writers import Format, open_writer

Sherlock = Callable[..., Any]

ODD = 'Señor "juez",\r\ncon; coma,\ttabulador \\. \\N y \u2028 línea 北京 \U0001f600\n\n'
LONG = " ".join(f"palabra{n} hecho{n % 17} derecho{n % 29}" for n in range(60))


@pytest.fixture
def db(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def stored(db: psycopg.Connection) -> dict[str, int]:
    """Give a pair of near-duplicates, one document alone, one without a name, one not read."""
    rows = db.execute(
        "insert into sherlock.documents (name, content, doc_type) values"
        " ('uno', %s, 'default'), ('dos', %s, 'default'), (null, %s, 'default'),"
        " ('corto', '', 'default') returning coalesce(name, 'nadie'), document_id",
        [f"El primero. {LONG}", f"El segundo. {LONG}", ODD + LONG[::-1]],
    ).fetchall()
    db.execute(
        "insert into sherlock.documents (name, status, reason) values ('roto', 'failed', 'damaged')"
    )
    return dict(rows)


def rebuild(db: psycopg.Connection, arguments: str = "") -> None:
    db.execute(f"select sherlock.rebuild_clusters({arguments})")


def as_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def as_parquet(path: Path) -> list[dict[str, Any]]:
    return list(pyarrow.parquet.read_table(path).to_pylist())


def test_survivors_and_their_clusters(
    sherlock: Sherlock, db: psycopg.Connection, stored: dict[str, int], tmp_path: Path
) -> None:
    rebuild(db)
    ran = sherlock("export", tmp_path / "a.jsonl")
    assert ran.code == ExitCode.OK, ran.err
    assert ran.out == ""
    assert "3 documents written, 1 left out for which another one survives, 1 not read" in ran.err
    rows = as_jsonl(tmp_path / "a.jsonl")
    assert [row["document_id"] for row in rows] == [stored["uno"], stored["nadie"], stored["corto"]]
    assert [row["name"] for row in rows] == ["uno", None, "corto"]
    assert [row["content"] for row in rows] == [f"El primero. {LONG}", ODD + LONG[::-1], ""]
    assert "cluster_id" not in rows[0]

    ran = sherlock("export", "-", "--keep", "all", "--with-clusters")
    uno, dos, nadie, _ = [json.loads(line) for line in ran.out.split("\n") if line]
    assert (uno["cluster_id"], uno["is_survivor"], uno["cluster_size"]) == (stored["uno"], True, 2)
    assert (uno["similarity"], uno["confidence"], uno["survivor_name"]) == (None, None, "uno")
    assert (dos["cluster_id"], dos["is_survivor"], dos["cluster_size"]) == (
        stored["uno"],
        False,
        None,
    )
    assert (dos["confidence"], dos["survivor_name"]) == ("HIGH", "uno")
    found = db.execute("select final_score from sherlock.matches").fetchone()
    assert found == (dos["similarity"],)
    assert (nadie["cluster_id"], nadie["is_survivor"], nadie["cluster_size"]) == (
        stored["nadie"],
        True,
        1,
    )


def test_the_same_in_all_formats(
    sherlock: Sherlock, db: psycopg.Connection, stored: dict[str, int], tmp_path: Path
) -> None:
    """CSV is read back by PostgreSQL itself, which tells null from the empty text."""
    rebuild(db)
    options = ("--keep", "all", "--with-clusters")
    for ending in Format:
        assert sherlock("export", tmp_path / f"a.{ending}", *options).code == ExitCode.OK
    json_rows = as_jsonl(tmp_path / "a.jsonl")
    assert len(json_rows) == 4
    parquet_rows = as_parquet(tmp_path / "a.parquet")
    assert [row["created_at"] for row in parquet_rows] == [
        datetime.fromisoformat(row["created_at"]) for row in json_rows
    ]
    assert [{**row, "created_at": None} for row in parquet_rows] == [
        {**row, "created_at": None} for row in json_rows
    ]
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        names = next(csv.reader(stream))
    assert names == list(json_rows[0])
    db.execute(
        "create temp table back as select *, ''::text as content from"
        f" (select {', '.join(names[:-1])} from sherlock.document_clusters) as c limit 0"
    )
    with db.cursor().copy("copy back from stdin csv header") as copy:
        copy.write((tmp_path / "a.csv").read_bytes())
    back = db.execute("select to_jsonb(b) from back as b order by document_id").fetchall()
    assert [{**row[0], "created_at": None} for row in back] == [
        {**row, "created_at": None} for row in json_rows
    ]


texts = st.one_of(
    st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)


@given(st.lists(st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), texts, texts), max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_text_comes_back(values: list[tuple[int | None, str | None, str | None]]) -> None:
    columns = [Column("a", Kind.INTEGER), Column("b", Kind.TEXT), Column("c", Kind.JSON)]
    rows = [{"a": a, "b": b, "c": None if c is None else [c]} for a, b, c in values]
    written = {}
    for form in Format:
        stream = io.BytesIO()
        writer = open_writer(form, stream, columns)
        writer.write(rows[:3])
        writer.write(rows[3:])
        writer.close()
        written[form] = stream.getvalue()
    lines = written[Format.JSONL].decode().split("\n")[:-1]
    assert [json.loads(line) for line in lines] == rows
    as_json_text = [
        {**row, "c": None if row["c"] is None else json.dumps(row["c"], ensure_ascii=False)}
        for row in rows
    ]
    table = pyarrow.parquet.read_table(io.BytesIO(written[Format.PARQUET]))
    assert table.to_pylist() == as_json_text
    read = list(csv.DictReader(io.StringIO(written[Format.CSV].decode(), newline="")))
    assert read == [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in as_json_text
    ]


def test_watched_rows_by_their_keys(
    sherlock: Sherlock, db: psycopg.Connection, tmp_path: Path
) -> None:
    db.execute(
        "create table notas (serie text, numero bigint, cuerpo text, primary key (serie, numero))"
    )
    db.execute(
        "select sherlock.watch('notas', p_key => array['serie', 'numero'],"
        " p_text => array['cuerpo'])"
    )
    db.execute(
        "insert into notas values ('a, b', 9007199254740993, %s), ('c', 2, %s)",
        [f"Uno. {LONG}", f"Dos. {LONG}"],
    )
    rebuild(db, "'public.notas'")
    ran = sherlock("export", "-", "--collection", "public.notas", "--with-clusters")
    (row,) = [json.loads(line) for line in ran.out.split("\n") if line]
    assert (row["table_name"], row["key"], row["row_key"], row["content"]) == (
        "notas",
        "a, b, 9007199254740993",
        ["a, b", 9007199254740993],
        f"Uno. {LONG}",
    )
    db.execute("alter table notas disable trigger user")
    db.execute("delete from notas where serie = 'a, b'")
    ran = sherlock("export", tmp_path / "a.parquet", "--collection", "public.notas")
    assert "warning: 1 document without a text" in ran.err
    assert as_parquet(tmp_path / "a.parquet")[0]["content"] is None


def test_clusters_that_nobody_made(
    sherlock: Sherlock, stored: dict[str, int], tmp_path: Path
) -> None:
    ran = sherlock("export", tmp_path / "a.csv")
    assert ran.code == ExitCode.USAGE
    assert "were never made" in ran.err
    assert "select sherlock.rebuild_clusters('default', p_keep => true)" in ran.err
    assert list(tmp_path.iterdir()) == []
    ran = sherlock("export", tmp_path / "a.csv", "--keep", "all")
    assert (ran.code, "warning" in ran.err) == (ExitCode.OK, False)
    ran = sherlock("export", "-", "--keep", "all", "--with-clusters")
    assert ran.code == ExitCode.OK
    assert "warning: clusters of the collection default were never made" in ran.err


def test_an_unknown_collection(sherlock: Sherlock, tmp_path: Path) -> None:
    for options in ((), ("--keep", "all")):
        ran = sherlock("export", tmp_path / "a.csv", "--collection", "nada", *options)
        assert ran.code == ExitCode.USAGE
        assert "nada" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_clusters_that_are_stale(
    sherlock: Sherlock, db: psycopg.Connection, stored: dict[str, int]
) -> None:
    """A survivor that went takes nobody with it, and who reads is told."""
    rebuild(db)
    assert "warning" not in sherlock("export", "-").err
    db.execute(
        "insert into sherlock.documents (name, content) values ('tres', %s)",
        [f"El tercero. {LONG}"],
    )
    ran = sherlock("export", "-")
    assert "are older than its matches" in ran.err
    assert '"tres"' in ran.out
    rebuild(db)
    db.execute("delete from sherlock.documents where document_id = %s", [stored["uno"]])
    ran = sherlock("export", "-")
    assert "2 members lost theirs" in ran.err
    assert {json.loads(line)["name"] for line in ran.out.split("\n") if line} == {
        "dos",
        "tres",
        None,
        "corto",
    }


@pytest.mark.parametrize("mode", ["principal", "connected"])
def test_state_of_clusters_that_are_kept(
    db: psycopg.Connection, stored: dict[str, int], mode: str
) -> None:
    def state() -> Any:
        row = db.execute(
            "select state, unfollowed_match_count, lost_member_count"
            " from sherlock.clustering_status where collection = 'default'"
        ).fetchone()
        return row

    assert state() == ("missing", 0, 0)
    rebuild(db, f"p_mode => '{mode}', p_keep => true")
    assert state() == ("current", 0, 0)
    db.execute(
        "insert into sherlock.documents (name, content) values ('tres', %s)",
        [f"El tercero. {LONG}"],
    )
    assert state() == ("current", 0, 0)
    rebuild(db, f"p_mode => '{mode}', p_keep => false")
    db.execute(
        "insert into sherlock.documents (name, content) values ('cuatro', %s)",
        [f"El cuarto. {LONG}"],
    )
    assert state() == ("stale", 1 if mode == "principal" else 3, 0)
    db.execute("delete from sherlock.matches")
    assert state() == ("stale", 0, 2)


def test_survivors_for_psql(
    server: Any, database_url: str, db: psycopg.Connection, stored: dict[str, int], tmp_path: Path
) -> None:
    rebuild(db)
    target = tmp_path / "s.csv"
    subprocess.run(
        [
            server.binary("psql"),
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            f"\\copy (select * from sherlock.survivors where collection = 'default') to '{target}'"
            " csv header",
            database_url,
        ],
        check=True,
    )
    with target.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["name"]: row["content"] for row in rows} == {
        "uno": f"El primero. {LONG}",
        "": ODD + LONG[::-1],
        "corto": "",
    }


def test_nothing_is_replaced_without_force(
    sherlock: Sherlock, db: psycopg.Connection, stored: dict[str, int], tmp_path: Path
) -> None:
    target = tmp_path / "a.jsonl"
    target.write_text("mine")
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    for path in (target, link):
        ran = sherlock("export", path, "--keep", "all")
        assert ran.code == ExitCode.USAGE
        assert "is there already" in ran.err
        assert "--force" in ran.err
    assert target.read_text() == "mine"
    assert sherlock("export", link, "--keep", "all", "--force").code == ExitCode.OK
    assert len(as_jsonl(target)) == 4
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "link.jsonl"]
    ran = sherlock("export", "/dev/null", "--keep", "all", "--force")
    assert ran.code == ExitCode.USAGE
    assert "is not a file" in ran.err


def test_a_file_is_whole_or_not_there(
    sherlock: Sherlock,
    stored: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server refuses the second portion: of the first nothing is left."""
    monkeypatch.setattr(reading, "BATCH_DOCUMENTS", 2)
    with_texts = reading._with_texts

    def fails_later(conn: psycopg.Connection, rows: list[dict[str, Any]]) -> Any:
        if rows[0]["document_id"] > stored["dos"]:
            conn.execute("select 1 / 0")
        return with_texts(conn, rows)

    monkeypatch.setattr(reading, "_with_texts", fails_later)
    ran = sherlock("export", tmp_path / "a.jsonl", "--keep", "all")
    assert ran.code == ExitCode.ENVIRONMENT
    assert list(tmp_path.iterdir()) == []


def test_all_of_one_moment(
    sherlock: Sherlock,
    db: psycopg.Connection,
    stored: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What others commit between two portions is not seen, neither texts nor documents."""
    monkeypatch.setattr(reading, "BATCH_DOCUMENTS", 2)
    with_texts = reading._with_texts

    def changes(conn: psycopg.Connection, rows: list[dict[str, Any]]) -> Any:
        db.execute("update sherlock.documents set content = 'otro texto' where name is null")
        db.execute("insert into sherlock.documents (name, content) values ('nuevo', 'nuevo')")
        return with_texts(conn, rows)

    monkeypatch.setattr(reading, "_with_texts", changes)
    ran = sherlock("export", "-", "--keep", "all")
    rows = {row["name"]: row for row in map(json.loads, ran.out.strip("\n").split("\n"))}
    assert set(rows) == {"uno", "dos", None, "corto"}
    assert rows[None]["content"] == ODD + LONG[::-1]


def test_portions_end_by_words(
    db: psycopg.Connection, stored: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_WORDS", 200)
    with reading.snapshot(db):
        portions = list(reading.read(db, "default", reading.Keep.ALL, (Column("name", Kind.TEXT),)))
    assert [[row["name"] for row in portion] for portion in portions] == [
        ["uno", "dos"],
        [None, "corto"],
    ]
    assert db.execute("show transaction_isolation").fetchone() == ("read committed",)


def test_an_interrupted_export_leaves_nothing(
    database_url: str, db: psycopg.Connection, stored: dict[str, int], tmp_path: Path
) -> None:
    """SIGTERM while a lock holds the export up."""
    with psycopg.connect(database_url) as holder:
        holder.execute("lock table sherlock.documents in access exclusive mode")
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "sherlock_pg",
                "--database-url",
                database_url,
                "export",
                str(tmp_path / "a.jsonl"),
                "--keep",
                "all",
            ],
            stderr=subprocess.PIPE,
        )
        watchdog = threading.Timer(60, child.kill)
        watchdog.start()
        while child.poll() is None and not list(tmp_path.iterdir()):
            holder.execute("select pg_sleep(0.05)")
        os.kill(child.pid, signal.SIGTERM)
        _, said = child.communicate()
        watchdog.cancel()
    assert child.returncode == ExitCode.INTERRUPTED, said
    assert list(tmp_path.iterdir()) == []


def test_parquet_through_a_pipe(database_url: str, stored: dict[str, int], tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sherlock_pg",
            "--database-url",
            database_url,
            "export",
            "--keep",
            "all",
            "--format",
            "parquet",
        ],
        capture_output=True,
        check=True,
    )
    assert len(pyarrow.parquet.read_table(io.BytesIO(done.stdout))) == 4


def test_parquet_without_pyarrow(
    sherlock: Sherlock, stored: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ran = sherlock("export", tmp_path / "a.parquet", "--keep", "all")
    assert ran.code == ExitCode.ENVIRONMENT
    assert "pip install 'sherlock-pg[parquet]'" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_collection(sherlock: Sherlock, tmp_path: Path) -> None:
    for ending in Format:
        target = tmp_path / f"a.{ending}"
        assert sherlock("export", target, "--keep", "all").code == ExitCode.OK
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    assert (tmp_path / "a.csv").read_bytes().startswith(b"document_id,name,")
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").column_names[0] == "document_id"
