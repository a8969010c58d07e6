"""`sherlock-pg tune`, from labels to a configuration in force."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sherlock_pg.errors import ExitCode

Sherlock = Callable[..., Any]

SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "pos", "tur", "van", "que")
WORDS = [first + second for first in SYLLABLES for second in SYLLABLES if first != second]
WORD_COUNT = 90


def words(rng: random.Random, count: int) -> list[str]:
    return [rng.choice(WORDS) for _ in range(count)]


def with_block(rng: random.Random, text: list[str], count: int) -> list[str]:
    """Replace so many words in a row."""
    start = rng.randrange(len(text) - count)
    return [*text[:start], *words(rng, count), *text[start + count :]]


@pytest.fixture
def labelled(tmp_path: Path) -> list[Path]:
    """Write 40 documents, of each a copy with a few new words and one with many."""
    rng = random.Random(11)
    docs: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for number in range(40):
        base = words(rng, WORD_COUNT)
        for suffix, text in (
            ("", base),
            ("-copy", with_block(rng, base, rng.randint(12, 16))),
            ("-other", with_block(rng, base, rng.randint(36, 44))),
        ):
            docs.append({"id": f"d{number}{suffix}", "text": " ".join(text), "type": "carta"})
        pairs.append({"a": f"d{number}", "b": f"d{number}-copy", "label": 1, "kind": "edited"})
        pairs.append({"a": f"d{number}", "b": f"d{number}-other", "label": 0, "kind": "rewritten"})
    files = [tmp_path / "docs.jsonl", tmp_path / "pairs.jsonl"]
    for file, rows in zip(files, (docs, pairs), strict=True):
        file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return files


@pytest.fixture
def decided(database_url: str) -> str:
    """Decide on 60 pairs of a watched table; return its collection."""
    rng = random.Random(7)
    with psycopg.connect(database_url) as conn:
        conn.execute("create table public.notas (id integer primary key, body text)")
        conn.execute(
            "select sherlock.watch('public.notas', 'id', array['body'], 'queue',"
            " p_min_class => 'LOW')"
        )
        rows, labels = [], {}
        for number in range(60):
            base = words(rng, WORD_COUNT)
            is_duplicate = number % 2 == 0
            changed = with_block(rng, base, rng.randint(1, 6) if is_duplicate else 12)
            rows += [(2 * number, " ".join(base)), (2 * number + 1, " ".join(changed))]
            labels[str(2 * number + 1)] = "duplicate" if is_duplicate else "distinct"
        with conn.cursor() as cur:
            cur.executemany("insert into public.notas values (%s, %s)", rows)
        for review_id, key in conn.execute(
            "select review_id, key from sherlock.open_reviews"
        ).fetchall():
            conn.execute("select sherlock.decide(%s, %s)", [review_id, labels[key]])
    return "public.notas"


def last_line(ran: Any) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(ran.out.splitlines()[-1])
    return result


def active_rows(database_url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url) as conn:
        return conn.execute(
            "select config_id, high_threshold, medium_threshold from sherlock.detection_configs"
            " where is_active order by 1"
        ).fetchall()


def test_labelled_files_to_a_configuration_in_force(
    sherlock: Sherlock, labelled: list[Path], database_url: str, tmp_path: Path
) -> None:
    before = active_rows(database_url)
    options = ["--docs", labelled[0], "--pairs", labelled[1], "--ner-model", "none"]
    shown = sherlock("tune", *options)
    assert shown.code == ExitCode.OK, shown.err
    assert active_rows(database_url) == before
    result = last_line(shown)
    assert (result["source"], result["labelled_pairs"]) == ("labelled files", 80)
    assert not result["is_applied"] and result["output"] is None
    (of_type,) = result["doc_types"]
    assert (of_type["doc_type"], of_type["outcome"]) == ("default", "proposed")
    assert of_type["sample"]["duplicates"] == of_type["sample"]["distinct"] == 40
    assert of_type["sample"]["family_count"] == 40
    # What is computed here is what the search reported.
    assert of_type["sample"]["disagreeing"] == 0
    held_out, today = of_type["figures"]["held_out"], of_type["figures"]["today"]
    assert held_out["HIGH"]["recall"] > today["HIGH"]["recall"]
    assert of_type["changed_pairs"] == sum(
        row["duplicates"] + row["distinct"] for row in of_type["changes"]
    )
    assert "5 folds by document family" in shown.out

    file = tmp_path / "proposed.json"
    ran = sherlock("tune", *options, "--output", file, "--apply")
    assert ran.code == ExitCode.OK, ran.err
    # The same labels and seed, the same proposal; the search behind it is deterministic too.
    assert last_line(ran)["doc_types"] == result["doc_types"]
    assert last_line(ran)["is_applied"] and last_line(ran)["output"] == str(file)
    after = active_rows(database_url)
    assert after[: len(before)] == before
    proposed = of_type["proposed"]
    assert [row[1:] for row in after[len(before) :]] == [
        (proposed["high_threshold"], proposed["medium_threshold"])
    ]
    assert sherlock("config", "export", "-").out == file.read_text(encoding="utf-8")
    assert "nothing to change" in sherlock("config", "import", file).err


def test_review_decisions_to_a_configuration_in_force(
    sherlock: Sherlock, decided: str, database_url: str
) -> None:
    ran = sherlock("tune", "--collection", decided, "--apply")
    assert ran.code == ExitCode.OK, ran.err
    result = last_line(ran)
    assert result["source"] == "reviews"
    assert any("biased sample" in note for note in result["notes"])
    assert "biased sample" in ran.out
    (of_type,) = result["doc_types"]
    assert of_type["outcome"] == "proposed", of_type
    assert of_type["figures"]["held_out"]["HIGH"]["precision"] == 1
    with psycopg.connect(database_url) as conn:
        in_force = conn.execute(
            "select c.high_threshold, c.medium_threshold"
            " from sherlock.detection_config(sherlock.collection_id(%s), 'default') as c",
            [decided],
        ).fetchone()
    proposed = of_type["proposed"]
    assert in_force == (proposed["high_threshold"], proposed["medium_threshold"])


def test_an_aim_out_of_reach_is_said(sherlock: Sherlock, decided: str, database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        # Labels that the scores contradict.
        conn.execute(
            "update sherlock.review_queue set decision = case when review_id % 2 = 0"
            " then 'duplicate' else 'distinct' end"
        )
    before = active_rows(database_url)
    ran = sherlock("tune", "--collection", decided, "--apply")
    assert ran.code == ExitCode.OK, ran.err
    (of_type,) = last_line(ran)["doc_types"]
    aims = {aim["aim"]: aim for aim in of_type["aims"]}
    assert not aims["precision_at_high"]["is_reached"]
    assert "NOT REACHED" in ran.out
    assert aims["precision_at_high"]["best_possible"] < 0.99
    assert of_type["outcome"] == "unchanged" and "out of reach" in of_type["reason"]
    assert of_type["proposed"] == of_type["today"]
    assert "nothing is proposed" in ran.err
    assert active_rows(database_url) == before


def test_too_few_labels_are_an_error(
    sherlock: Sherlock, decided: str, database_url: str, tmp_path: Path
) -> None:
    with psycopg.connect(database_url) as conn:
        conn.execute("delete from sherlock.review_queue where review_id % 4 = 0")
    before = active_rows(database_url)
    file = tmp_path / "none.json"
    ran = sherlock("tune", "--collection", decided, "--apply", "--output", file)
    assert ran.code == ExitCode.USAGE
    assert "no calibration of any document type" in ran.err
    assert "label at least 20 duplicates and 20 distinct pairs" in ran.err
    assert active_rows(database_url) == before and not file.exists()


def test_families_that_pairs_tie_together_are_an_error_with_its_own_hint(
    sherlock: Sherlock, labelled: list[Path]
) -> None:
    docs, pairs = labelled
    rows = [json.loads(line) for line in pairs.read_text(encoding="utf-8").splitlines()]
    rows += [{"a": f"d{n}-other", "b": f"d{n + 1}", "label": 0, "kind": "tie"} for n in range(39)]
    pairs.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    ran = sherlock("tune", "--docs", docs, "--pairs", pairs)
    assert ran.code == ExitCode.USAGE
    assert "come from 1 unconnected family" in ran.err
    assert "tie them together: leave some of those out" in ran.err
    assert "label at least" not in ran.err


def test_no_labels_are_an_error(sherlock: Sherlock) -> None:
    ran = sherlock("tune")
    assert ran.code == ExitCode.USAGE
    assert "nobody has decided" in ran.err and "--docs" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--docs", __file__], "go together"),
        (["--ner-model", "none"], "--ner-model is for --docs"),
        (["--precision-at-high", "1.2"], "1.2"),
        (["--recall-at-medium", "0"], "0"),
        (["--folds", "1"], "1"),
        (["--collection", "absent"], "absent"),
    ],
)
def test_wrong_options_are_refused(sherlock: Sherlock, options: list[str], message: str) -> None:
    ran = sherlock("tune", *options)
    assert ran.code == ExitCode.USAGE
    assert message in ran.err


def test_a_configuration_changed_meanwhile_is_not_overwritten(
    sherlock: Sherlock, decided: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sherlock_pg.cli import tune

    def propose_slowly(*args: Any) -> Any:
        with psycopg.connect(database_url) as conn:
            conn.execute("update sherlock.detection_configs set fuzzy_threshold = 0.9")
        return propose(*args)

    propose = tune.propose
    monkeypatch.setattr(tune, "propose", propose_slowly)
    before = active_rows(database_url)
    ran = sherlock("tune", "--collection", decided, "--apply")
    assert ran.code == ExitCode.USAGE
    assert "changed while this ran" in ran.err
    assert active_rows(database_url) == before
