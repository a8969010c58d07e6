"""Reads damaged files and looks whether every one ends as it should.

Good documents of every kind are damaged at random, from a seed, and given to an extractor. Each
must end `ok`, `partial` or `failed` with a reason other than `crashed`, within its limits of time,
with text that can be stored, without temporary files left behind, and a good document must be
readable afterwards. A file that breaks one of these rules is kept. Prints a table of outcomes, and
as the last line one JSON object; the exit code is 1 if a rule was broken.

`--seconds N` or `--files N` says when to stop; the same `--seed` damages the same way.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import io
import json
import random
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from sherlock_pg.cli.output import write_table
from sherlock_pg.ingest.model import Extraction, ExtractOptions, Status
from sherlock_pg.ingest.pool import Extractor
from sherlock_pg.ingest.reasons import Reason
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.filing import compose
from sherlock_pg.samples.pdf import draw_pdf
from sherlock_pg.samples.texts import TOPICS

LINES = ("ACCIONANTE: ROSA ELVIRA PEÑA", "ACCIONADA: ENTIDAD DE SALUD", "Acción de tutela")
GRACE_SECONDS = 10.0
"""Beyond the limit of a document: what it takes to kill a child on a busy machine."""

Damage = Callable[[random.Random, bytes], bytes]


@dataclasses.dataclass(frozen=True)
class Seed:
    """A good document of one kind; `needs_ocr` if its text is in an image."""

    kind: str
    data: bytes
    needs_ocr: bool = False


def page_image() -> Image.Image:
    """Draw a small page image: OCR takes half a second for it."""
    page = Image.new("L", (620, 260), 255)
    font = ImageFont.load_default(size=28)
    for number, line in enumerate(LINES):
        ImageDraw.Draw(page).text((20, 20 + 70 * number), line, fill=20, font=font)
    return page


def encoded(kind: str, **options: Any) -> bytes:
    """Give the page image as a file."""
    buffer = io.BytesIO()
    page_image().save(buffer, kind, **options)
    return buffer.getvalue()


def zipped(members: dict[str, str | bytes]) -> bytes:
    """Give a ZIP archive with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def docx() -> bytes:
    """Make the smallest Word document."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    body = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in LINES)
    cell = f"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>{LINES[0]}</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            'relationships+xml"/><Override PartName="/word/document.xml" '
            f'ContentType="{main}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}{cell}</w:body>'
            "</w:document>",
        }
    )


def odt() -> bytes:
    """Make the smallest OpenDocument text."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    body = "".join(f"<text:p>{line}</text:p>" for line in LINES)
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<office:document-content xmlns:office="{office}:office:1.0" '
            f'xmlns:text="{office}:text:1.0"><office:body><office:text>{body}</office:text>'
            "</office:body></office:document-content>",
        }
    )


def seeds() -> list[Seed]:
    """Make one good document of each kind."""
    native = draw_pdf(compose(draw_case(7, "fuzz", topic_name=TOPICS[0])))
    text = "\n".join(LINES)
    html = f"<!doctype html><html><body><p>{text}</p><table><tr><td>1</td></tr></table></body>"
    mail = (
        "From: a@example.org\r\nTo: b@example.org\r\nSubject: =?utf-8?q?Tutela_n=C2=BA?=\r\n"
        "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=xx\r\n\r\n--xx\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        f"{text}\r\n--xx\r\nContent-Type: text/html\r\n\r\n{html}\r\n--xx--\r\n"
    )
    tiff = encoded("TIFF", save_all=True, append_images=[page_image()], compression="tiff_lzw")
    return [
        Seed("pdf", native),
        Seed("pdf", native),
        Seed("scan", encoded("PDF", resolution=150), needs_ocr=True),
        Seed("png", encoded("PNG"), needs_ocr=True),
        Seed("jpeg", encoded("JPEG", quality=60), needs_ocr=True),
        Seed("tiff", tiff, needs_ocr=True),
        Seed("txt", text.encode("utf-8")),
        Seed("docx", docx()),
        Seed("odt", odt()),
        Seed("html", html.encode()),
        Seed("eml", mail.encode()),
        Seed("zip", zipped({"tutela.txt": text, "tutela.pdf": native})),
    ]


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    """Flip some bits."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 3, 10, 60))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut_end(rng: random.Random, data: bytes) -> bytes:
    """Lose the end, as an upload that broke off."""
    return data[: rng.randrange(len(data))]


def cut_out(rng: random.Random, data: bytes) -> bytes:
    """Lose a part in the middle."""
    start, end = _part(rng, data)
    return data[:start] + data[end:]


def repeat_part(rng: random.Random, data: bytes) -> bytes:
    """Have a part several times over."""
    start, end = _part(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def insert_noise(rng: random.Random, data: bytes) -> bytes:
    """Have foreign bytes in the middle."""
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.randbytes(rng.choice((1, 16, 1000))) + data[start:]


def zero_part(rng: random.Random, data: bytes) -> bytes:
    """Lose a sector of a disk."""
    start, end = _part(rng, data)
    return data[:start] + bytes(end - start) + data[end:]


def change_numbers(rng: random.Random, data: bytes) -> bytes:
    """Make written numbers extreme: lengths, counts, sizes, references."""
    extremes = (b"0", b"-1", b"1", b"65536", b"2147483648", b"4294967295", b"1e308", b"9" * 30)
    numbers = list(re.finditer(rb"\d+", data))
    for number in sorted(
        rng.sample(numbers, min(len(numbers), rng.choice((1, 2, 8)))),
        key=re.Match.start,
        reverse=True,
    ):
        data = data[: number.start()] + rng.choice(extremes) + data[number.end() :]
    return data


def change_fields(rng: random.Random, data: bytes) -> bytes:
    """Make binary fields of four bytes extreme, mostly in the header."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 5))):
        last = len(data) if rng.random() < 0.4 else min(len(data), 200)
        start = rng.randrange(max(1, last - 4))
        changed[start : start + 4] = rng.choice(
            (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\xff\xff", b"\0\1\0\0")
        )
    return bytes(changed)


def change_member(rng: random.Random, data: bytes) -> bytes:
    """Damage what is inside an archive, and leave the archive whole."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile:
        return change_numbers(rng, data)
    name = rng.choice(sorted(members))
    members[name] = rng.choice(_ANYWHERE)(rng, members[name])
    return zipped(dict(members))


_ANYWHERE: tuple[Damage, ...] = (
    flip_bits,
    cut_end,
    cut_out,
    repeat_part,
    insert_noise,
    zero_part,
    change_numbers,
    change_fields,
)
DAMAGES = (*_ANYWHERE, change_member)


def _part(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.choice((1, 8, 100, 2000)))


def damaged_files(seed: int) -> Iterator[tuple[str, Seed, bytes]]:
    """Give damaged documents without end: a name that tells how to get it again, and the bytes."""
    kinds = seeds()
    for number in range(sys.maxsize):
        rng = random.Random(f"{seed}-{number}")
        good = kinds[number % len(kinds)]
        data = good.data
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            data = rng.choice(DAMAGES)(rng, data or b"\0")
        yield f"{good.kind}-{seed}-{number}", good, data


class Judge:
    """Reads files and says which rules an outcome breaks."""

    def __init__(self, folder: Path, options: ExtractOptions) -> None:
        """Start extractors with and without OCR whose temporary files go into a folder."""
        self._options = options
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        tempfile.tempdir = str(self._temporary)
        self._good = folder / "good"
        self._good.write_bytes(seeds()[0].data)
        self._path = folder / "file"
        self._extractors = {
            needs_ocr: Extractor(dataclasses.replace(options, ocr="auto" if needs_ocr else "never"))
            for needs_ocr in (False, True)
        }
        self._good_text = self._extractors[False].extract(self._good).text

    def read(self, good: Seed, data: bytes) -> tuple[Extraction, list[str]]:
        """Read a file; give the outcome and the rules that it breaks."""
        self._path.write_bytes(data)
        extractor = self._extractors[good.needs_ocr]
        started = time.monotonic()
        extraction = extractor.extract(self._path)
        seconds = time.monotonic() - started
        broken = list(self._broken(extraction, seconds))
        if extraction.status is not Status.OK and extractor.extract(self._good).text != (
            self._good_text
        ):
            broken.append("the next document is not read")
        broken += [f"left behind: {name}" for name in self._leftovers()]
        return extraction, broken

    def close(self) -> list[str]:
        """End the extractors; give the rules that the end breaks."""
        for extractor in self._extractors.values():
            extractor.close()
        return [f"left behind: {path.name}" for path in self._temporary.iterdir()]

    def _broken(self, extraction: Extraction, seconds: float) -> Iterator[str]:
        if (extraction.status is Status.FAILED) != (extraction.reason is not None):
            yield "status and reason do not fit"
        if extraction.reason is Reason.CRASHED:
            yield "crashed"
        has_content = bool(extraction.text.strip() or extraction.attachments)
        if has_content == (extraction.status is Status.FAILED):
            yield "status and text do not fit"
        if re.search("[\0\ud800-\udfff]", extraction.text):
            yield "text that cannot be stored"
        if extraction.text and "\n\n".join(extraction.page_texts()) != extraction.text:
            yield "pages and text do not fit"
        ocr_pages = sum(page.method == "ocr" for page in extraction.pages)
        limit = self._options.wall_budget(len(extraction.pages), ocr_pages)
        if max(seconds, extraction.cpu_seconds) > limit + GRACE_SECONDS:
            yield "over the time limit"

    def _leftovers(self) -> list[str]:
        return [path.name for path in self._temporary.glob("*/*") if path.name != "stderr.log"]


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Read damaged files until it is time to stop; give the figures."""
    outcomes: collections.Counter[tuple[str, str, str]] = collections.Counter()
    broken: dict[str, list[str]] = {}
    started = time.monotonic()
    judge = Judge(folder, ExtractOptions(wall_seconds=30.0))
    files = slowest = 0.0
    try:
        for name, good, data in damaged_files(arguments.seed):
            if files >= arguments.files or time.monotonic() - started > arguments.seconds:
                break
            files += 1
            extraction, rules = judge.read(good, data)
            slowest = max(slowest, extraction.seconds)
            outcomes[good.kind, str(extraction.status), str(extraction.reason or "")] += 1
            if rules:
                broken[name] = [*rules, extraction.detail]
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / name).write_bytes(data)
    finally:
        at_end = judge.close()
    if at_end:
        broken["at the end"] = at_end
    rows = [
        {"kind": kind, "status": status, "reason": reason, "files": count}
        for (kind, status, reason), count in sorted(outcomes.items())
    ]
    return {
        "seed": arguments.seed,
        "files": int(files),
        "slowest_seconds": slowest,
        "outcomes": rows,
        "broken": broken,
    }


def main() -> int:
    """Run, print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--files", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-broken"), help="folder for files that break a rule"
    )
    arguments = parser.parse_args()
    if arguments.seconds == arguments.files == float("inf"):
        parser.error("say --seconds or --files")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        figures = run(arguments, Path(folder))
    write_table(figures["outcomes"], ["kind", "status", "reason", "files"])
    for name, rules in figures["broken"].items():
        print(f"{arguments.keep / name}: {'; '.join(rules)}", file=sys.stderr)
    print(json.dumps(figures))
    return 1 if figures["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
