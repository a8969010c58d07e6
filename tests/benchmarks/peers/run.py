"""Compares sherlock-pg with datasketch, rensa and gaoya: same texts, same machine, one run.

`--rows` short texts with families of near copies are signed, indexed, searched and made into
clusters by each program, in processes of their own; what pairs they find is compared with exact
Jaccard. Prints a table, writes it with a picture into `--output`, and prints one JSON object as the
last line.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import rounded, say
from corpus import write_corpus
from measuring import BANDS, ROWS_PER_BAND, SLOTS, THRESHOLD, read_pairs, read_texts
from report import COLUMNS, Contestant, markdown, picture, rows
from truth import Agreement, agreement, true_pairs

from sherlock_pg.cli.output import write_table

_HERE = Path(__file__).parent
_PEERS = {
    "datasketch": "datasketch",
    "rensa": "rensa",
    "gaoya": "gaoya",
    "gaoya-shingles": "gaoya, shingles given",
}
_SEED = 1
_SAMPLE = 3_000


def run(python: str, script: str, *arguments: str, one_thread: bool = False) -> dict[str, Any]:
    """Run a phase in a process of its own and return what it measured."""
    environment = dict(os.environ)
    if one_thread:
        environment["RAYON_NUM_THREADS"] = environment["NUMBA_NUM_THREADS"] = "1"
    done = subprocess.run(
        [python, str(_HERE / script), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure_peer(python: str, name: str, corpus: Path, pairs: Path, count: int) -> dict[str, Any]:
    """Measure a peer in three processes."""
    signed = run(python, "peer.py", name, "sign", str(corpus), str(pairs), one_thread=True)
    searched = run(python, "peer.py", name, "search", str(corpus), str(pairs), one_thread=True)
    deduped = run(python, "peer.py", name, "dedupe", str(corpus), str(pairs))
    seconds = {**signed["cpu"], **searched["cpu"], **deduped["cpu"]}
    return {**deduped, "cpu": seconds, "queries": count}


def measure_ours(corpus: Path, pairs: Path) -> dict[str, Any]:
    """Measure sherlock-pg in two processes."""
    signed = run(sys.executable, "ours.py", "sign", str(corpus), str(pairs), one_thread=True)
    deduped = run(sys.executable, "ours.py", "dedupe", str(corpus), str(pairs))
    return {**deduped, "cpu": {**deduped["cpu"], **signed["cpu"]}}


def contestant(
    name: str, figures: dict[str, Any], agreed: Agreement, count: int, *, is_ours: bool = False
) -> Contestant:
    """Make rates of what was measured."""
    cpu = figures["cpu"]
    return Contestant(
        name=name,
        is_ours=is_ours,
        sign=count / cpu["sign"] if "sign" in cpu else None,
        index=count / cpu["index"],
        query=figures["queries"] / cpu["query"],
        dedupe_cpu=cpu["dedupe"],
        dedupe_wall=figures["wall"]["dedupe"],
        peak_mb=figures["peak_mb"],
        precision=agreed.precision,
        recall=agreed.recall,
        pairs=figures["pairs"],
        clusters=figures["clusters"],
    )


def main() -> None:
    """Measure, print and write the tables, the picture and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peers-python", required=True, help="Python that has the peers")
    parser.add_argument("--output", type=Path, required=True, help="folder for table and picture")
    arguments = parser.parse_args()
    count: int = arguments.rows
    all_figures: dict[str, dict[str, Any]] = {}
    contestants: list[Contestant] = []
    with tempfile.TemporaryDirectory(prefix="sherlock-peers-") as folder:
        corpus = Path(folder) / "texts.jsonl"
        say(f"writing {count} texts")
        write_corpus(corpus, count, _SEED)
        say(f"comparing {min(_SAMPLE, count)} of them with all, exactly")
        sample, truth = true_pairs(read_texts(corpus), min(_SAMPLE, count), THRESHOLD, _SEED)
        for name in ("sherlock-pg", *_PEERS):
            say(f"measuring {name}")
            pairs = Path(folder) / f"{name}.pairs"
            is_ours = name == "sherlock-pg"
            figures = (
                measure_ours(corpus, pairs)
                if is_ours
                else measure_peer(arguments.peers_python, name, corpus, pairs, count)
            )
            agreed = agreement(read_pairs(pairs), sample, truth)
            all_figures[name] = figures
            contestants.append(
                contestant(_PEERS.get(name, name), figures, agreed, count, is_ours=is_ours)
            )
    write_table(rows(contestants), list(COLUMNS))
    note = (
        f"{count:,} texts of about 50 words (seed {_SEED}), shingles of two words, {SLOTS} slots in"
        f" {BANDS} bands of {ROWS_PER_BAND}, Jaccard {THRESHOLD} or more; {len(truth):,} true pairs"
        f" of {len(sample):,} sampled texts; {os.cpu_count()} processors ({platform.machine()})."
        " Rates are per processor second, signing by one thread. Ours is durable in PostgreSQL, its"
        " searches verify and go through SQL; the others hold all in memory."
    )
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "peers.md").write_text(markdown(contestants, note), encoding="utf-8")
    (arguments.output / "peers.svg").write_text(
        picture(contestants, "From a file of texts to clusters", note.partition(";")[0]),
        encoding="utf-8",
    )
    say(f"written: {arguments.output / 'peers.md'}, {arguments.output / 'peers.svg'}")
    print(
        json.dumps(
            rounded(
                {
                    "rows": count,
                    "programs": {c.name: dataclasses.asdict(c) for c in contestants},
                    "stages": {
                        name: {"wall": figures["wall"], "cpu": figures["cpu"]}
                        for name, figures in all_figures.items()
                    },
                    "true_pairs": len(truth),
                }
            )
        )
    )


if __name__ == "__main__":
    main()
