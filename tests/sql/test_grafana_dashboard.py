"""The Grafana dashboard: each query runs, in the name of a role that reads no text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ruamel.yaml import YAML

GRAFANA = Path(__file__).resolve().parents[2] / "docker" / "grafana"
DASHBOARD: dict[str, Any] = json.loads(
    (GRAFANA / "dashboards" / "queue.json").read_text(encoding="utf-8")
)
QUERIES = {
    panel["title"]: (panel["type"], target["rawSql"])
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}


@pytest.fixture
def reader(conn: psycopg.Connection) -> psycopg.Connection:
    """Give a connection that acts as the role of the dashboard, where one file was read."""
    conn.execute(
        "insert into sherlock.documents (name, content) values ('a', 'un texto que nadie ve')"
    )
    conn.execute("insert into sherlock.inbox (name, path) values ('a.pdf', '/bandeja/a.pdf')")
    conn.execute(
        "update sherlock.inbox set state = 'done', gate = 'new', started_at = now(),"
        " finished_at = now() - interval '1 minute',"
        " document_id = (select max(document_id) from sherlock.documents)"
    )
    conn.execute("create role sherlock_grafana")
    conn.execute((GRAFANA / "reader.sql").read_bytes())
    conn.execute("set role sherlock_grafana")
    return conn


def as_grafana_sends_it(query: str, interval: str) -> str:
    return (
        query.replace("$__timeFrom()", "now() - interval '6 hours'")
        .replace("$__timeTo()", "now()")
        .replace("$__interval", interval)
    )


@pytest.mark.parametrize("title", QUERIES)
def test_each_query_runs(reader: psycopg.Connection, title: str) -> None:
    kind, query = QUERIES[title]
    assert "$" not in as_grafana_sends_it(query, "1m")
    for interval in ("1m", "30m", "1h", "1d"):
        cursor = reader.execute(as_grafana_sends_it(query, interval).encode())
        assert cursor.description is not None
        columns = [column.name for column in cursor.description]
        rows = cursor.fetchall()
        if kind == "stat":
            assert len(rows) == len(columns) == 1
            assert rows[0][0] is not None
        if kind == "timeseries":
            assert columns[:2] == ["time", "metric"]
            assert len(rows) == 1


@pytest.mark.parametrize("column", ["content", "name", "supplied_entities"])
def test_the_reader_sees_no_text(reader: psycopg.Connection, column: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute(f"select {column} from sherlock.documents".encode())


def test_files_are_provisioned_where_they_are_said_to_be() -> None:
    read = YAML(typ="safe", pure=True).load
    (source,) = read((GRAFANA / "provisioning/datasources/sherlock.yaml").read_text())[
        "datasources"
    ]
    assert source["secureJsonData"]["password"] == "${SHERLOCK_GRAFANA_PASSWORD}"
    used = {json.dumps(panel["datasource"]) for panel in DASHBOARD["panels"]}
    assert used == {json.dumps({"type": source["type"], "uid": source["uid"]})}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids)) == len(QUERIES)
    (provider,) = read((GRAFANA / "provisioning/dashboards/sherlock.yaml").read_text())["providers"]
    readme = (GRAFANA.parent / "README.md").read_text(encoding="utf-8")
    assert f"/grafana/dashboards:{provider['options']['path']}:ro" in readme
