"""The picture of an evaluation: scores of both labels with the thresholds, and recall by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from sherlock_pg.evaluation.measures import BINS, THRESHOLD_CLASSES, KindScore, Measures

_WIDTH = 900
_LEFT = 210
_RIGHT = 90
_PLOT = _WIDTH - _LEFT - _RIGHT
_PANEL = 120
_ROW = 22
_LABEL_LENGTH = 30

_INK = "#222222"
_FAINT = "#999999"
_DUPLICATE = "#0072b2"
_OTHER = "#d55e00"
_SHADES = {
    True: {"HIGH": "#0072b2", "MEDIUM": "#5aa9d6", "LOW": "#b9dcf0"},
    False: {"HIGH": "#b34700", "MEDIUM": "#e88a4d", "LOW": "#f6cdae"},
}


def draw(measures: Measures, thresholds: Mapping[str, float], title: str, note: str) -> str:
    """Draw the picture.

    Args:
        measures: what was measured.
        thresholds: score from which a pair has a class.
        title: the heading.
        note: a line below it.

    Returns:
        An SVG document.
    """
    parts = [
        _text(_LEFT, 30, title, size=18, weight="bold"),
        _text(_LEFT, 50, note, fill="#555555"),
    ]
    top = 90
    for label, name, colour in ((True, "duplicates", _DUPLICATE), (False, "others", _OTHER)):
        parts += _panel(measures.histogram[label], name, colour, top)
        top += _PANEL + 14
    parts += _axis(top - 14)
    parts += _thresholds(thresholds, 84, top - 14)
    top += 50
    for label, name in ((True, "duplicates: recall"), (False, "others: false alarms")):
        kinds = [kind for kind in measures.kinds if kind.is_duplicate is label]
        if kinds:
            parts += _kinds(kinds, name, _SHADES[label], top)
            top += 34 + len(kinds) * _ROW + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}"'
        f' viewBox="0 0 {_WIDTH} {top}" role="img"'
        ' font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12">\n'
        f"<title>{_escaped(title)}</title>\n"
        f'<rect width="{_WIDTH}" height="{top}" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _panel(bars: Sequence[int], name: str, colour: str, top: int) -> Iterator[str]:
    """Draw one histogram; its scale is its own, because there may be many more of one label."""
    most = max(1, *bars)
    bottom = top + _PANEL
    yield _text(_LEFT - 12, top + 14, name, anchor="end", weight="bold", fill=colour)
    yield _text(_LEFT - 12, top + 30, f"{sum(bars)} pairs", anchor="end", fill="#555555")
    width = _PLOT / BINS
    for position, count in enumerate(bars):
        if not count:
            continue
        height = max(1.0, (_PANEL - 16) * count / most)
        x = _LEFT + position * width
        yield (
            f'<rect x="{x + 1:.1f}" y="{bottom - height:.1f}" width="{width - 2:.1f}"'
            f' height="{height:.1f}" fill="{colour}"/>'
        )
        yield _text(x + width / 2, bottom - height - 3, str(count), anchor="middle", size=9)
    yield _line(_LEFT, bottom, _LEFT + _PLOT, bottom, _FAINT)


def _axis(top: int) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = _LEFT + _PLOT * tenth / 10
        yield _line(x, top, x, top + 4, _FAINT)
        yield _text(x, top + 17, f"{tenth / 10:.1f}", anchor="middle")
    yield _text(_LEFT + _PLOT + 12, top + 17, "score")


def _thresholds(thresholds: Mapping[str, float], top: int, bottom: int) -> Iterator[str]:
    for number, (name, value) in enumerate(thresholds.items()):
        x = _LEFT + _PLOT * value
        yield (
            f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{_INK}"'
            ' stroke-dasharray="4 3"/>'
        )
        # At two heights: thresholds may be near each other.
        above = top - 4 - number % 2 * 12
        yield _text(x, above, f"{name} {value:g}", anchor="middle", size=10)


def _kinds(
    kinds: Sequence[KindScore], name: str, shades: Mapping[str, str], top: int
) -> Iterator[str]:
    yield _text(_LEFT - 12, top + 12, name, anchor="end", weight="bold")
    x = float(_LEFT)
    for at_least in THRESHOLD_CLASSES:
        yield f'<rect x="{x:.1f}" y="{top + 2}" width="12" height="12" fill="{shades[at_least]}"/>'
        yield _text(x + 17, top + 12, at_least if at_least != "HIGH" else "HIGH and EXACT")
        x += 130 if at_least == "HIGH" else 80
    for number, kind in enumerate(kinds):
        y = top + 26 + number * _ROW
        yield _text(_LEFT - 12, y + 13, _shortened(kind.name), anchor="end")
        # The widest first: what is reported at a better class lies on top of it.
        for at_least in reversed(THRESHOLD_CLASSES):
            width = _PLOT * kind.reported[at_least]
            yield (
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_ROW - 5}"'
                f' fill="{shades[at_least]}"/>'
            )
        yield (
            f'<rect x="{_LEFT}" y="{y}" width="{_PLOT}" height="{_ROW - 5}" fill="none"'
            f' stroke="{_FAINT}" stroke-width="0.5"/>'
        )
        share = kind.reported[THRESHOLD_CLASSES[-1]]
        yield _text(_LEFT + _PLOT + 8, y + 13, f"{share:.2f} of {kind.pairs}")


def _text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "start",
    size: int = 12,
    weight: str = "normal",
    fill: str = _INK,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
        f' font-weight="{weight}" fill="{fill}">{_escaped(content)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _escaped(content: str) -> str:
    """Make a name safe for XML, which has no room for control characters at all."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in content))


def _shortened(name: str) -> str:
    return name if len(name) <= _LABEL_LENGTH else name[: _LABEL_LENGTH - 1] + "…"
