"""`make crash-test`: kill things ROUNDS times and check that nothing is lost.

Prints a table and, as its last line, one JSON object; ends with 1 if something was lost.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import CrashRun, Report, as_dict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    root = Path(tempfile.mkdtemp(prefix="sherlock-crash-"))
    root.chmod(0o711)
    run = CrashRun(root, options.seed, lambda line: print(line, file=sys.stderr, flush=True))
    report = run.run(options.rounds)
    show(report)
    if report.problems:
        print(f"kept for a look: {root}", file=sys.stderr)
    else:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps({"seed": options.seed, **as_dict(report)}))
    return 1 if report.problems else 0


def show(report: Report) -> None:
    rows = [
        ("rounds", report.rounds),
        *((f"  killed: {victim}", count) for victim, count in sorted(report.kills.items())),
        ("files sent and loaded", report.files),
        ("acknowledged by the queue", report.acknowledged),
        *((f"  given up at first: {why}", n) for why, n in sorted(report.interrupted.items())),
        ("problems", len(report.problems)),
        ("seconds", report.seconds),
    ]
    for name, value in rows:
        print(f"{name:<40} {value:>10}")
    for problem in report.problems:
        print(f"  {problem}")


if __name__ == "__main__":
    sys.exit(main())
