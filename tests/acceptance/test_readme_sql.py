"""Every statement of the README's section on plain SQL, in its order, by psql."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"
STATEMENTS_AT_LEAST = 30


@dataclass(frozen=True)
class Block:
    """Statements of the README, and the error they end in, if the next block shows one."""

    statements: str
    error: str | None


def blocks() -> list[Block]:
    text = README.read_text(encoding="utf-8")
    section = text.split("## From SQL", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^```(\w*)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    result = []
    for number, (language, body) in enumerate(found):
        if language != "sql":
            continue
        following = found[number + 1] if number + 1 < len(found) else ("sql", "")
        is_error = following[0] == "" and following[1].startswith("ERROR:")
        error = following[1].splitlines()[0] if is_error else None
        result.append(Block(body, error))
    return result


def test_every_statement_of_the_readme_runs(server: Any, database_url: str) -> None:
    outputs: dict[str, str] = {}
    for block in blocks():
        done = subprocess.run(
            [server.binary("psql"), "-X", "-v", "ON_ERROR_STOP=1", "-f", "-", database_url],
            input=block.statements,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if block.error is None:
            assert done.returncode == 0, f"{block.statements}\n{done.stderr}"
        else:
            assert done.returncode == 3, block.statements
            assert block.error in done.stderr
        outputs[block.statements] = done.stdout
    assert sum(b.statements.count(";\n") for b in blocks()) >= STATEMENTS_AT_LEAST

    def output(part: str) -> str:
        (found,) = [text for statements, text in outputs.items() if part in statements]
        return found

    inserted = output("add_document")
    assert re.search(r"carta-2 +\| REVIEW +\| HIGH +\| carta-1", inserted)
    watched = output("create table feed_items")
    assert re.search(r"2 \| 1 +\| HIGH", watched)
    assert re.search(r"feed_items +\| active +\| +2 \| +1 \| flag", watched)
    assert re.search(r"1 \| .* \| HIGH ", output("sherlock.decide"))
    assert "REVIEW" in output("from sherlock.duplicate_pairs")
    assert re.search(r"32 \| +4 \| .*\| t +\| f", output("sherlock.plan"))
