"""Scans that were pasted into an office document: their pages, if there is little else."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.quality import visible_length
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.zipped import read_member

LITTLE_TEXT_CHARS = 180
"""A document with fewer characters of its own is what its images show."""

_MAX_IMAGE_BYTES = 64 << 20
_MAX_IMAGES_BYTES = 256 << 20


def pasted_scans(
    body: str,
    names: Sequence[str],
    members: Mapping[str, zipfile.ZipInfo],
    archive: zipfile.ZipFile,
    options: ExtractOptions,
) -> list[bytes]:
    """Give the images of an office document that are pages to be read by OCR.

    Args:
        body: the text without headers and footers; if it is more than a few words, there are none.
        names: members that are shown as images, in order.
        members: all members by name.
        archive: the file.
        options: how many pages it may have.

    Raises:
        ExtractionFailure: `too_many_pages`, or `too_big`, `damaged` for an image.
    """
    if visible_length(body) >= LITTLE_TEXT_CHARS:
        return []
    from sherlock_pg.ingest.images import looks_like_page

    scans: list[bytes] = []
    remaining = _MAX_IMAGES_BYTES
    for name in dict.fromkeys(names):
        image = read_member(archive, members[name], min(_MAX_IMAGE_BYTES, remaining))
        if looks_like_page(image):
            scans.append(image)
            remaining -= len(image)
    if len(scans) >= options.max_pages:
        raise ExtractionFailure(
            Reason.TOO_MANY_PAGES, f"{len(scans)} images, the limit is {options.max_pages} pages"
        )
    return scans
