"""The comparison as a table for the terminal, a Markdown table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH = 900
_LEFT = 210
_BAR = 500
_ROW = 24
_OURS = "#0072b2"
_OTHER = "#999999"
_INK = "#222222"


@dataclass(frozen=True)
class Contestant:
    """What was measured of one program.

    Attributes:
        name: the program, as people know it.
        is_ours: it is what the others are compared with.
        sign: texts signed per processor second; None if it doesn't sign apart from indexing.
        index: texts made searchable per processor second, from the raw text.
        query: searches per processor second, one at a time or all at once as it offers.
        dedupe_cpu: processor seconds from the file to clusters.
        dedupe_wall: the same by the clock.
        peak_mb: most memory during that; ours with the server's.
        precision: of the pairs, against exact Jaccard.
        recall: the same.
        pairs: how many pairs were found.
        clusters: in how many clusters.
    """

    name: str
    is_ours: bool
    sign: float | None
    index: float
    query: float
    dedupe_cpu: float
    dedupe_wall: float
    peak_mb: float
    precision: float
    recall: float
    pairs: int
    clusters: int


COLUMNS = (
    "program",
    "sign, texts/s",
    "index, texts/s",
    "query, texts/s",
    "file to clusters, CPU s",
    "by the clock, s",
    "time ÷ sherlock-pg's",
    "peak MB",
    "precision",
    "recall",
    "pairs",
    "clusters",
)


def rows(contestants: Sequence[Contestant]) -> list[dict[str, str]]:
    """Return the table's rows; how much faster ours is goes by the clock of the whole way."""
    (ours,) = (contestant for contestant in contestants if contestant.is_ours)
    return [
        dict(
            zip(
                COLUMNS,
                (
                    contestant.name,
                    "–" if contestant.sign is None else f"{contestant.sign:,.0f}",
                    f"{contestant.index:,.0f}",
                    f"{contestant.query:,.0f}",
                    f"{contestant.dedupe_cpu:.1f}",
                    f"{contestant.dedupe_wall:.1f}",
                    f"{contestant.dedupe_wall / ours.dedupe_wall:.2f}",
                    f"{contestant.peak_mb:,.0f}",
                    f"{contestant.precision:.3f}",
                    f"{contestant.recall:.3f}",
                    f"{contestant.pairs:,}",
                    f"{contestant.clusters:,}",
                ),
                strict=True,
            )
        )
        for contestant in contestants
    ]


def markdown(contestants: Sequence[Contestant], note: str) -> str:
    """Return the table with its note as Markdown."""
    lines = [
        "| " + " | ".join(COLUMNS) + " |",
        "|---" + "|--:" * (len(COLUMNS) - 1) + "|",
        *("| " + " | ".join(row.values()) + " |" for row in rows(contestants)),
    ]
    return "\n".join([*lines, "", note, ""])


def picture(contestants: Sequence[Contestant], title: str, note: str) -> str:
    """Draw bars: texts per second from the file to clusters, signing, memory.

    Returns:
        An SVG document.
    """
    panels: list[tuple[str, list[tuple[Contestant, float]]]] = [
        ("file to clusters, seconds by the clock", [(c, c.dedupe_wall) for c in contestants]),
        ("file to clusters, processor seconds", [(c, c.dedupe_cpu) for c in contestants]),
        (
            "signing, thousands of texts a second",
            [(c, c.sign / 1000) for c in contestants if c.sign is not None],
        ),
        ("peak memory, MB", [(c, c.peak_mb) for c in contestants]),
    ]
    parts = [_text(24, 32, title, size=18, bold=True), _text(24, 52, note, fill="#555555")]
    top = 84
    for heading, bars in panels:
        parts.append(_text(24, top, heading, bold=True))
        most = max(value for _, value in bars)
        for contestant, value in bars:
            top += _ROW
            colour = _OURS if contestant.is_ours else _OTHER
            width = max(1.0, _BAR * value / most)
            parts += [
                _text(_LEFT - 10, top, contestant.name, anchor="end"),
                f'<rect x="{_LEFT}" y="{top - 13}" width="{width:.1f}" height="{_ROW - 7}"'
                f' fill="{colour}"/>',
                _text(_LEFT + width + 8, top, f"{value:,.{0 if value >= 100 else 1}f}"),
            ]
        top += 44
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}"'
        f' viewBox="0 0 {_WIDTH} {top}" role="img"'
        ' font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{_WIDTH}" height="{top}" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "start",
    size: int = 12,
    bold: bool = False,
    fill: str = _INK,
) -> str:
    weight = "bold" if bold else "normal"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
        f' font-weight="{weight}" fill="{fill}">{escape(content)}</text>'
    )
