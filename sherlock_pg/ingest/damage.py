"""How much of a PDF is missing: whether its end was cut off, and how many pages it had."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sherlock_pg.ingest.source import PageInspection, Verdict

_OBJECT = re.compile(rb"\d\s{1,9}\d{1,9}\s{1,9}obj\b")
_LINEARIZED = re.compile(rb"/Linearized\b[^>]{0,500}?/N\s{1,9}(\d{1,7})\b")
_PAGE_TREE_NODE = re.compile(rb"/Type\s{0,9}/Pages\b")
_PARENT = re.compile(rb"/Parent\b")
_COUNT = re.compile(rb"/Count\s{1,9}(\d{1,7})\b")
_HEAD_BYTES = 1024
_NODE_BYTES = 1 << 16


def is_cut_off(data: bytes) -> bool:
    """Say whether the end of a PDF is missing.

    The last thing in a PDF is a `startxref`. Junk after it does no harm, but objects do: they
    belong to a later revision, or to the main part of a linearized file, whose end is lost.
    """
    end = data.rfind(b"startxref")
    return end < 0 or _OBJECT.search(data, end) is not None


def declared_pages(data: bytes) -> int | None:
    """Give the number of pages that a damaged PDF says it has, or None if that part is lost.

    It is read from the bytes, since no parser gives the page tree of a file without its end.
    """
    declared = None
    position = 0
    while (node := _PAGE_TREE_NODE.search(data, position)) is not None:
        earliest = max(position, node.start() - _NODE_BYTES)
        start = max(data.rfind(b"obj", earliest, node.start()), earliest)
        end = data.find(b"endobj", node.end(), node.end() + _NODE_BYTES)
        position = end if end >= 0 else min(node.end() + _NODE_BYTES, len(data))
        content = data[start:position]
        count = _COUNT.search(content)
        if count is not None and _PARENT.search(content) is None:
            declared = int(count[1])  # the root of the tree; the last revision is the one in force
    if declared is None:
        linearized = _LINEARIZED.search(data, 0, _HEAD_BYTES)
        declared = int(linearized[1]) if linearized is not None else None
    return declared


def describe_loss(data: bytes, pages: Sequence[PageInspection]) -> str:
    """Say what is missing of a damaged PDF; empty if nothing is known to be.

    Args:
        data: the file as it came.
        pages: what could be recovered of it.
    """
    parts = []
    declared = declared_pages(data)
    if declared is not None and declared > len(pages):
        parts.append(f"{declared - len(pages)} of {declared} pages are lost")
    if is_cut_off(data):
        parts.insert(0, "the end of the file is missing")
        empty = sum(page.verdict is Verdict.BLANK for page in pages)
        if empty:
            parts.append(f"{empty} of the recovered pages are empty, perhaps lost as well")
    return ", ".join(parts)
