"""Draws filings as PDF: same filing, same bytes, on every machine.

Only the fonts that every PDF reader has are used, and streams aren't compressed: the output of
zlib differs between its implementations.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Callable

import fpdf

from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.filing import Block, BlockKind, Filing
from sherlock_pg.samples.styles import Style

_FIXED_DATE = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
_PRODUCER = "sherlock-pg samples"


class _Page(fpdf.FPDF):
    """A document with the office's letterhead paper: page number in the footer."""

    def __init__(self, style: Style) -> None:
        super().__init__(unit="mm", format=style.page_size)
        self._style = style
        self.set_compression(False)
        self.set_creation_date(_FIXED_DATE)
        self.set_producer(_PRODUCER)
        self.set_margin(style.margin)
        self.set_auto_page_break(True, margin=style.margin)
        self.add_page()

    def footer(self) -> None:
        self.set_y(-14)
        self.set_font(self._style.font, size=8)
        self.cell(0, 5, f"Página {self.page_no()} de {{nb}}", align="C")

    def file_id(self) -> str:
        """Return an id that doesn't depend on the clock."""
        digest = hashlib.md5(self._style.name.encode(), usedforsecurity=False).hexdigest().upper()
        return f"<{digest}><{digest}>"


class _Artist:
    """Draws the blocks of one filing."""

    def __init__(self, filing: Filing) -> None:
        self._style = filing.style
        self._page = _Page(filing.style)
        self._signature_draw = Draw("signature", *filing.gold.cedula)

    def draw(self, blocks: tuple[Block, ...]) -> bytes:
        drawers: dict[BlockKind, Callable[[str], None]] = {
            BlockKind.LETTERHEAD: self._letterhead,
            BlockKind.LINES: self._lines,
            BlockKind.REFERENCE: self._reference,
            BlockKind.HEADING: self._heading,
            BlockKind.PARAGRAPH: self._paragraph,
            BlockKind.ITEM: self._paragraph,
            BlockKind.SIGNATURE: self._signature,
            BlockKind.PAGE_BREAK: self._page_break,
        }
        for block in blocks:
            drawers[block.kind](block.text)
        return bytes(self._page.output())

    def _page_break(self, _text: str) -> None:
        self._page.add_page()

    def _font(self, emphasis: str = "", *, larger: float = 0) -> None:
        self._page.set_font(self._style.font, emphasis, self._style.font_size + larger)

    def _write(self, text: str, align: str) -> None:
        height = self._style.line_height
        self._page.multi_cell(0, height, text, align=align, new_x="LMARGIN", new_y="NEXT")

    def _gap(self, lines: float) -> None:
        self._page.ln(self._style.line_height * lines)

    def _keep_together(self, lines: float) -> None:
        """Start a new page if fewer lines than these are left on this one."""
        if self._page.will_page_break(self._style.line_height * lines):
            self._page.add_page()

    def _letterhead(self, text: str) -> None:
        name, *rest = text.split("\n")
        self._font("B", larger=3)
        self._write(name, "C")
        self._font("I", larger=-2)
        self._write("\n".join(rest), "C")
        y = self._page.get_y() + 1.5
        self._page.set_line_width(0.4)
        self._page.line(self._style.margin, y, self._page.w - self._style.margin, y)
        self._gap(1.5)

    def _lines(self, text: str) -> None:
        self._font()
        self._write(text, "L")
        self._gap(0.9)

    def _reference(self, text: str) -> None:
        width = max(self._label_width(line) for line in text.split("\n"))
        for line in text.split("\n"):
            label, value = line.split(": ", 1)
            self._font("B")
            self._page.cell(width + 3, self._style.line_height, f"{label}:")
            self._font()
            self._write(value, "L")
        self._gap(0.9)

    def _label_width(self, line: str) -> float:
        self._font("B")
        return self._page.get_string_width(line.split(": ", 1)[0] + ":")

    def _heading(self, text: str) -> None:
        self._keep_together(4)
        self._gap(0.25)
        self._font("B")
        self._write(text, "C" if self._style.headings_centered else "L")
        self._gap(0.45)

    def _paragraph(self, text: str) -> None:
        self._font()
        self._write(text, "J")
        self._gap(0.5)

    def _signature(self, text: str) -> None:
        lines = text.split("\n")
        self._keep_together(len(lines) + 4)
        self._gap(3)
        self._scribble()
        y = self._page.get_y()
        self._page.set_line_width(0.2)
        self._page.line(self._style.margin, y, self._style.margin + 70, y)
        self._gap(0.2)
        self._font("B")
        self._write(lines[0], "L")
        self._font()
        self._write("\n".join(lines[1:]), "L")

    def _scribble(self) -> None:
        """Draw a signature by hand: a wave whose height and pace are the person's own."""
        draw = self._signature_draw
        height, pace, tail = draw.uniform(3, 6), draw.uniform(0.5, 1.1), draw.uniform(0.2, 0.6)
        base_x, base_y = self._style.margin + 6, self._page.get_y() - 4
        points = []
        for step in range(120):
            x = step * 0.36
            wave = math.sin(x * pace) + tail * math.sin(x * pace * 2.7)
            loop = 1.6 * math.cos(x * pace * 1.9)
            points.append(
                (
                    round(base_x + x + loop, 2),
                    round(base_y - wave * height * math.exp(-x / 28), 2),
                )
            )
        self._page.set_line_width(0.35)
        self._page.polyline(points)


def draw_pdf(filing: Filing) -> bytes:
    """Return the filing as a PDF with native text."""
    return _Artist(filing).draw(filing.blocks)


def draw_stamp(lines: list[str]) -> bytes:
    """Return a PDF of one small page: the stamp of a registry, boxed, first line in bold."""
    width, height = 68.0, 9 + 5.5 * len(lines)
    page = fpdf.FPDF(unit="mm", format=(width, height))
    page.set_margin(3)
    page.set_auto_page_break(False)
    page.add_page()
    page.set_line_width(0.8)
    page.rect(1, 1, width - 2, height - 2)
    page.set_font("Helvetica", "B", 15)
    page.cell(0, 8, lines[0], align="C", new_x="LMARGIN", new_y="NEXT")
    page.set_font("Helvetica", size=9)
    for line in lines[1:]:
        page.cell(0, 5, line, align="C", new_x="LMARGIN", new_y="NEXT")
    return bytes(page.output())
