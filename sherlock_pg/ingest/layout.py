"""How tables and repeated parts of typed documents become lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MAX_LABEL_CHARS = 80


def row_lines(cells: Sequence[Sequence[str]]) -> list[str]:
    r"""Lay out a table row: cells are joined by a tab.

    Cells with equally many short lines stand beside each other line by line, as the eye reads
    `ACCIONANTE:` and `ACCIONADO:` in one cell with the two names in the next. Other cells with
    several lines follow one another, each keeping its lines.

    Args:
        cells: the lines of each cell.
    """
    counts = {len(cell) for cell in cells if cell}
    if not counts:
        return []
    is_aligned = len(counts) == 1 and all(
        len(line) <= _MAX_LABEL_CHARS for cell in cells for line in cell
    )
    if is_aligned:
        lines = [
            "\t".join(cell[index] if cell else "" for cell in cells) for index in range(max(counts))
        ]
    else:
        lines = "\t".join("\n".join(cell) for cell in cells).split("\n")
    return [line.rstrip() for line in lines]


def join_parts(
    headers: Iterable[str], body: str, notes: Iterable[str], footers: Iterable[str]
) -> str:
    """Put a document together; what every section repeats stands there once."""
    seen: set[str] = set()
    parts: list[str] = []
    for part in (*headers, body, *notes, *footers):
        text = part.strip("\n")
        if text.strip() and text not in seen:
            seen.add(text)
            parts.append(text)
    return "\n".join(parts)
