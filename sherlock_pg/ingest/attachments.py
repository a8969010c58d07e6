"""The documents inside a document: named, counted, and written where the caller wants them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sherlock_pg.ingest.model import Attachment, ExtractOptions
from sherlock_pg.ingest.reasons import ExtractionFailure, Reason
from sherlock_pg.ingest.sniff import sniff
from sherlock_pg.ingest.source import AttachedFile

_MAX_NAME_CHARS = 255
_MAX_SHOWN_PROBLEMS = 10
_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]+")


def unpack(
    attached: Sequence[AttachedFile], options: ExtractOptions, folder: Path | None
) -> tuple[tuple[Attachment, ...], list[ExtractionFailure]]:
    """Read the documents inside a document, one after another.

    Args:
        attached: what was found.
        options: the limits.
        folder: gets the bytes as files 0001, 0002 and so on; None to have them counted only.

    Returns:
        Those that could be read, in order, and why others could not.

    Raises:
        ExtractionFailure: `too_big` beyond a limit on all of them.
    """
    if len(attached) > options.max_attachments:
        raise ExtractionFailure(
            Reason.TOO_BIG,
            f"{len(attached)} files inside, the limit is {options.max_attachments}",
        )
    unpacked: list[Attachment] = []
    failures: list[ExtractionFailure] = []
    remaining = options.max_attachment_bytes
    for file in attached:
        name = storable_name(file.name) or f"adjunto-{len(unpacked) + 1}"
        try:
            content = file.read(options.max_file_bytes)
        except ExtractionFailure as failure:
            failures.append(ExtractionFailure(failure.reason, f"{name}: {failure}"))
            continue
        remaining -= len(content)
        if remaining < 0:
            raise ExtractionFailure(
                Reason.TOO_BIG,
                f"the files inside have more than {options.max_attachment_bytes} bytes",
            )
        stored = None
        if folder is not None:
            stored = f"{len(unpacked) + 1:04d}"
            (folder / stored).write_bytes(content)
        unpacked.append(Attachment(name, _media_type(content), len(content), stored))
    return tuple(unpacked), failures


def describe_failures(failures: Sequence[ExtractionFailure]) -> str:
    """Say in one line which files could not be taken out of a document."""
    shown = [f"{failure.detail} ({failure.reason})" for failure in failures[:_MAX_SHOWN_PROBLEMS]]
    if len(failures) > _MAX_SHOWN_PROBLEMS:
        shown.append(f"and {len(failures) - _MAX_SHOWN_PROBLEMS} more files")
    return "; ".join(shown)


def storable_name(name: str) -> str:
    """Make the name of a file fit for storage; it is shown to people and never opened."""
    return _NOT_IN_NAMES.sub("", name).strip()[-_MAX_NAME_CHARS:]


def _media_type(content: bytes) -> str:
    try:
        return str(sniff(content))
    except ExtractionFailure:
        return ""
