"""What plain SQL costs at corpus size: watching a table, inserting, judging, a hot template.

A table of `--rows` rows of about 150 words, one in ten of them a near copy of an earlier one, is
watched and backfilled; a vocabulary is fitted; then verdicts and inserts are timed on that corpus.
Runs in a database of its own with the settings that users get. Prints a table, and as the last line
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import psycopg
from common import BATCH, milliseconds, quantiles, rounded, say, scratch_database

from sherlock_pg.cli.output import write_table
from sherlock_pg.vectorize import lifecycle

_VOCABULARY = 30_000
_NEAR_COPIES = 0.1
_EDITED = 0.04
_TEMPLATE_ROWS = 10_000


class Texts:
    """Texts of words that occur as often as words of a language do, and near copies of them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = [f"{n:x}".translate(_LETTERS) for n in range(_VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(_VOCABULARY)))
        self._earlier: list[list[str]] = []

    def words(self, count: int) -> list[str]:
        """Draw words."""
        return self._random.choices(self._words, cum_weights=self._weights, k=count)

    def edited(self, words: list[str]) -> list[str]:
        """Replace some words by others."""
        return [self.words(1)[0] if self._random.random() < _EDITED else word for word in words]

    def row(self) -> list[str]:
        """Draw a new text of 100 to 200 words, or a near copy of one of the first 5,000."""
        if self._earlier and self._random.random() < _NEAR_COPIES:
            return self.edited(self._random.choice(self._earlier))
        words = self.words(self._random.randint(100, 200))
        if len(self._earlier) < 5_000:
            self._earlier.append(words)
        return words

    def filled_form(self, form: list[str]) -> list[str]:
        """Fill a form: four words in five are the template's."""
        own = self.words(len(form) // 4)
        at = self._random.randint(20, len(form) - 20)
        return [*form[:at], *own, *form[at:]]


_LETTERS = str.maketrans("0123456789abcdef", "abcdefghilmnoprs")


def create_table(conn: psycopg.Connection, name: str, rows: Iterator[list[str]]) -> None:
    """Store texts in a table of the reader's shape."""
    conn.execute(
        f"create table {name} (feed_item_id bigint generated always as identity primary key,"
        " title text, summary text, content text)"
    )
    with conn.cursor().copy(f"copy {name} (title, summary, content) from stdin") as copy:
        for words in rows:
            copy.write_row((" ".join(words[:8]), " ".join(words[8:30]), " ".join(words[30:])))
    conn.execute(f"analyze {name}")


def watch(conn: psycopg.Connection, name: str) -> None:
    """Watch a table; what is there stays to be backfilled."""
    conn.execute(
        "select sherlock.watch(%s::regclass, p_key => 'feed_item_id',"
        " p_text => array['title', 'summary', 'content'])",
        [name],
    )


def backfill(conn: psycopg.Connection, name: str) -> float:
    """Backfill a watched table; return the seconds."""
    conn.add_notice_handler(lambda notice: say(f"  {notice.message_primary}"))
    started = time.perf_counter()
    conn.execute("call sherlock.backfill(%s::regclass)", [name])
    return time.perf_counter() - started


def documents(conn: psycopg.Connection, collection: str, count: int) -> list[int]:
    """Return documents spread over a collection."""
    rows = conn.execute(
        "select document_id from sherlock.documents"
        " where collection_id = sherlock.collection_id(%s)"
        " and text_state = 'indexed' order by hashint8extended(document_id, 3) limit %s",
        [collection, count],
    ).fetchall()
    return [row[0] for row in rows]


def measure_detection(conn: psycopg.Connection, ids: list[int]) -> dict[str, Any]:
    """Time verdicts against the whole collection, and count what was capped."""
    query = (
        "select total_checked, hot_band_keys > 0"
        " from sherlock.detect(p_document_id => %s, p_scope => 'all')"
    )
    for document_id in ids[:20]:
        conn.execute(query, [document_id])
    times, checked, capped = [], [], 0
    for document_id in ids:
        started = time.perf_counter()
        row = conn.execute(query, [document_id]).fetchone()
        times.append((time.perf_counter() - started) * 1000)
        assert row is not None
        checked.append(row[0])
        capped += row[1]
    return {
        **quantiles(times),
        "candidates_mean": statistics.mean(checked),
        "said_capped": capped / len(ids),
    }


def measure_inserts(
    conn: psycopg.Connection, name: str, texts: Texts, count: int
) -> dict[str, Any]:
    """Time inserts of single rows of 500 words, each in a transaction of its own."""
    times = []
    for number in range(count + 20):
        words = texts.words(500)
        values = [" ".join(words[:8]), " ".join(words[8:30]), " ".join(words[30:])]
        took = milliseconds(
            lambda v=values: conn.execute(
                f"insert into {name} (title, summary, content) values (%s, %s, %s)", v
            )
        )
        if number >= 20:
            times.append(took)
    return {**quantiles(times), "rows_per_second": 1000 / statistics.mean(times)}


def main() -> None:
    """Measure, print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--probes", type=int, default=400)
    arguments = parser.parse_args()
    texts = Texts(7)
    form = texts.words(130)
    template_rows = min(_TEMPLATE_ROWS, arguments.rows)
    figures: dict[str, Any] = {"rows": arguments.rows, "template_rows": template_rows}
    with scratch_database() as conn:
        say(f"a table of {arguments.rows} rows")
        create_table(conn, "feed_items", (texts.row() for _ in range(arguments.rows)))
        watch(conn, "feed_items")
        figures["backfill_seconds"] = backfill(conn, "feed_items")
        say("fitting the vocabulary")
        started = time.perf_counter()
        lifecycle.fit_if_needed(conn, "public.feed_items")
        figures["fit_and_vectorize_seconds"] = time.perf_counter() - started
        conn.execute("vacuum analyze")
        say("measuring")
        ids = documents(conn, "public.feed_items", arguments.probes)
        figures["detect_ms"] = measure_detection(conn, ids)
        figures["insert_500_words_ms"] = measure_inserts(conn, "feed_items", texts, BATCH)
        say(f"{template_rows} rows of one template")
        create_table(conn, "forms", (texts.filled_form(form) for _ in range(template_rows)))
        watch(conn, "forms")
        figures["template_backfill_seconds"] = backfill(conn, "forms")
        lifecycle.fit_if_needed(conn, "public.forms")
        conn.execute("vacuum analyze")
        ids = documents(conn, "public.forms", arguments.probes)
        figures["hot_detect_ms"] = measure_detection(conn, ids)
        row = conn.execute("select count(*) from sherlock.hot_band_keys").fetchone()
        figures["hot_band_keys"] = row[0] if row is not None else 0
    write_table(_rows(figures), ["what", "measured", "unit", "target"])
    print(json.dumps(rounded(figures)))


def _rows(figures: dict[str, Any]) -> list[dict[str, Any]]:
    count = figures["rows"]
    detect, hot = figures["detect_ms"], figures["hot_detect_ms"]
    insert = figures["insert_500_words_ms"]
    rows = [
        (f"backfill of {count} watched rows", figures["backfill_seconds"], "s", "<= 600"),
        ("fit and vectorize them", figures["fit_and_vectorize_seconds"], "s", ""),
        (f"detect at {count} rows, p50", detect["p50"], "ms", ""),
        (f"detect at {count} rows, p95", detect["p95"], "ms", "<= 10"),
        ("insert of 500 words, all levels, p50", insert["p50"], "ms", ""),
        ("insert of 500 words, all levels", insert["rows_per_second"], "rows/s", ">= 100"),
        (f"detect among {figures['template_rows']} of one template, p50", hot["p50"], "ms", ""),
        (
            f"detect among {figures['template_rows']} of one template, p95",
            hot["p95"],
            "ms",
            "<= 25",
        ),
        ("of these, verdicts that say what was capped", hot["said_capped"], "share", ""),
        ("hot band keys", figures["hot_band_keys"], "", ""),
    ]
    return [
        {"what": what, "measured": round(value, 3), "unit": unit, "target": target}
        for what, value, unit, target in rows
    ]


if __name__ == "__main__":
    main()
