"""HTML pages: the text that a browser shows, with its blocks on lines of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from sherlock_pg.ingest.layout import row_lines
from sherlock_pg.ingest.source import TextSource
from sherlock_pg.ingest.text import decode_declared
from sherlock_pg.ingest.xml_part import ENGINE_VERSIONS

_META_CHARSET = re.compile(rb"""<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.I)
_XML_ENCODING = re.compile(rb"""<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{2,40})""", re.I)
_DECLARED_WITHIN = 4096
_BLOCKS = frozenset(
    """address article aside blockquote body center dd details dialog dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav
    ol optgroup p pre section summary ul br caption""".split()  # noqa: SIM905 - a word list
)
_LEFT_OUT = frozenset(
    {"script", "style", "head", "template", "noframes", "iframe", "object"}
    | {"select", "datalist", "svg", "title"}
)
_HIDDEN_STYLE = re.compile(r"\bdisplay\s*:\s*none\b|\bvisibility\s*:\s*hidden\b", re.I)
_SPACES = re.compile(r"[ \t\r\n\f\xa0]+")
_FEED_CHARS = 1 << 20


def open_html(data: bytes) -> TextSource:
    """Open an HTML page.

    Raises:
        ExtractionFailure: `damaged` if it is not in the encoding its byte order mark says.
    """
    text = html_text(decode_declared(data, declared_charset(data)))
    return TextSource(text, engine_versions=dict(ENGINE_VERSIONS))


def html_text(page: str) -> str:
    """Give the text of an HTML page as a browser shows it.

    The parser hands over tags as they come and balances them; no tree is built, so neither depth
    nor size of a page matters. (The standard library's parser takes quadratic time on some input.)
    """
    collector = _Collector()
    parser = etree.HTMLParser(target=collector, huge_tree=True, encoding="utf-8")
    encoded = page.encode("utf-8", "ignore")
    for start in range(0, len(encoded), _FEED_CHARS):
        parser.feed(encoded[start : start + _FEED_CHARS])
    lines: list[str] = parser.close()
    return "\n".join(lines)


def declared_charset(data: bytes) -> str | None:
    """Give the encoding that a page names at its beginning."""
    head = data[:_DECLARED_WITHIN]
    declared = _XML_ENCODING.match(head) or _META_CHARSET.search(head)
    return declared[1].decode("ascii") if declared else None


@dataclass(slots=True)
class _Flow:
    """Text that is being gathered: of the page, or of a table cell.

    Attributes:
        lines: finished lines.
        line: pieces of the line at work.
        row: cells of the table row at work, for a cell or page that holds a table.
    """

    lines: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    row: list[list[str]] = field(default_factory=list)

    def break_line(self) -> None:
        text = "".join(self.line).strip(" ")
        if text:
            self.lines.append(text)
        self.line.clear()

    def end_row(self) -> None:
        self.break_line()
        self.lines += row_lines(self.row)
        self.row.clear()


class _Collector:
    """Turns the events of the parser into lines."""

    def __init__(self) -> None:
        self._flows = [_Flow()]
        self._hidden_depth = 0
        self._preformatted_depth = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._hidden_depth:
            self._hidden_depth += 1
            return
        if tag in _LEFT_OUT or _is_hidden(attributes):
            self._hidden_depth = 1
            return
        flow = self._flows[-1]
        if tag in ("td", "th"):
            flow.break_line()
            self._flows.append(_Flow())
        elif tag in ("tr", "table"):
            flow.end_row()
        elif tag in _BLOCKS:
            flow.break_line()
        self._preformatted_depth += tag == "pre"

    def end(self, tag: str) -> None:
        if self._hidden_depth:
            self._hidden_depth -= 1
            return
        if tag in ("td", "th"):
            if len(self._flows) > 1:
                cell = self._flows.pop()
                cell.end_row()
                self._flows[-1].row.append(cell.lines)
        elif tag in ("tr", "table"):
            self._flows[-1].end_row()
        elif tag in _BLOCKS:
            self._flows[-1].break_line()
        self._preformatted_depth -= tag == "pre"

    def data(self, text: str) -> None:
        if self._hidden_depth:
            return
        flow = self._flows[-1]
        if self._preformatted_depth:
            *finished, text = text.replace("\xa0", " ").split("\n")
            for line in finished:
                flow.line.append(line)
                flow.break_line()
            flow.line.append(text)
            return
        text = _SPACES.sub(" ", text)
        if text.startswith(" ") and (not flow.line or flow.line[-1].endswith(" ")):
            text = text[1:]
        if text:
            flow.line.append(text)

    def close(self) -> list[str]:
        while len(self._flows) > 1:
            self.end("td")
        self._flows[0].end_row()
        return self._flows[0].lines


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return "hidden" in attributes or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
