"""ZIP archives: containers whose files are the documents."""

from __future__ import annotations

import functools
import re
import stat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sherlock_pg.ingest.model import ExtractOptions
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.source import AttachedFile, PageInspection
from sherlock_pg.ingest.zipped import member_name, open_zip, read_member

_LITTER = re.compile(r"(?:^|/)(?:__MACOSX/.*|\.DS_Store|Thumbs\.db|desktop\.ini)$", re.I)
"""What systems put into archives by themselves."""


@dataclass(slots=True)
class ArchiveSource:
    """An opened archive: no page, no text, only files inside."""

    archive: zipfile.ZipFile
    attached: Sequence[AttachedFile]
    pages: Sequence[PageInspection] = ()
    flags: Sequence[Flag] = (Flag.CONTAINER,)
    loss: str = ""

    @property
    def engine_versions(self) -> dict[str, str]:
        """None beside Python itself."""
        return {}

    def write_ocr_input(self, numbers: Sequence[int], target: Path) -> None:
        """Refuse: there are no pages.

        Raises:
            LookupError: always.
        """
        raise LookupError("an archive has no pages")

    def close(self) -> None:
        """Free the archive."""
        self.archive.close()


def open_archive(data: bytes, options: ExtractOptions) -> ArchiveSource:
    """Open a ZIP archive and list the files in it.

    Raises:
        ExtractionFailure: `damaged`, `no_text` if no file is in it, or `too_big` if the files are
            too many or too big together, by what the archive says.
    """
    archive = open_zip(data)
    members = [member for member in archive.infolist() if _is_document(member)]
    if not members:
        raise ExtractionFailure(Reason.NO_TEXT, "no file is in the archive")
    unpacked = sum(member.file_size for member in members)
    if unpacked > options.max_attachment_bytes:
        raise ExtractionFailure(
            Reason.TOO_BIG,
            f"unpacks to {unpacked} bytes, the limit is {options.max_attachment_bytes}",
        )
    return ArchiveSource(
        archive,
        [
            AttachedFile(member_name(member), functools.partial(read_member, archive, member))
            for member in members
        ],
    )


def _is_document(member: zipfile.ZipInfo) -> bool:
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    return not (member.is_dir() or is_link or _LITTER.search(member_name(member)))
