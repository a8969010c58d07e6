"""Documents made on the fly, good and nasty, and a pool of children to read them."""

from __future__ import annotations

import io
import os
import shutil
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import fpdf
import img2pdf
import odfdo
import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import Image, ImageDraw, ImageFont

from sherlock_pg.ingest.extract import extract_in_process
from sherlock_pg.ingest.model import Extraction, ExtractOptions
from sherlock_pg.ingest.pool import Extractor

TUTELA = (
    "Señor Juez Municipal de Bogotá, reparto",
    "ACCIONANTE: ROSA ELVIRA PEÑA MARTÍNEZ",
    "ACCIONADA: NUEVA ENTIDAD PROMOTORA DE SALUD",
    "Interpongo acción de tutela por la vulneración de",
    "mi derecho fundamental a la salud, porque la entidad",
    "negó la autorización del medicamento que ordenó el",
    "médico tratante el día quince de marzo, con fundamento",
    "en los hechos que expongo a continuación.",
)


class Documents:
    """Makes the documents that the tests read."""

    tutela = TUTELA

    def native(self, *pages: Sequence[str]) -> bytes:
        """Make a PDF of real text, one page per argument."""
        pdf = fpdf.FPDF(format="letter")
        pdf.set_font("helvetica", size=11)
        for lines in pages or (TUTELA,):
            pdf.add_page()
            for line in lines:
                pdf.cell(0, 6, line, new_x=fpdf.XPos.LMARGIN, new_y=fpdf.YPos.NEXT)
        return bytes(pdf.output())

    def image(self, lines: Sequence[str] = TUTELA) -> Image.Image:
        """Draw a page as a scanner would give it, at 150 dpi."""
        page = Image.new("L", (1275, 1650), 255)
        draw = ImageDraw.Draw(page)
        font = ImageFont.load_default(size=32)
        for number, line in enumerate(lines):
            draw.text((120, 150 + 55 * number), line, fill=20, font=font)
        return page

    def scan(self, *images: Image.Image) -> bytes:
        """Make a PDF of page images, without any text."""
        encoded = [self.encode(image, "PNG") for image in images or (self.image(),)]
        layout = img2pdf.get_fixed_dpi_layout_fun((150, 150))
        return bytes(img2pdf.convert(encoded, layout_fun=layout))

    def encode(self, image: Image.Image, kind: str, **options: object) -> bytes:
        """Give the bytes of an image file."""
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        return buffer.getvalue()

    def edit(
        self, data: bytes, change: Callable[[pikepdf.Pdf], object], **save_options: object
    ) -> bytes:
        """Change a PDF through pikepdf."""
        with pikepdf.open(io.BytesIO(data)) as pdf:
            change(pdf)
            buffer = io.BytesIO()
            pdf.save(buffer, **save_options)
            return buffer.getvalue()

    def join(self, *parts: bytes) -> bytes:
        """Join PDFs."""
        with pikepdf.Pdf.new() as pdf:
            for part in parts:
                with pikepdf.open(io.BytesIO(part)) as source:
                    pdf.pages.extend(source.pages)
            buffer = io.BytesIO()
            pdf.save(buffer)
            return buffer.getvalue()

    def with_text(self, data: bytes, lines: Sequence[str], render_mode: int = 0) -> bytes:
        """Write lines of Helvetica over the first page of a PDF, also invisibly (mode 3)."""

        def add(pdf: pikepdf.Pdf) -> None:
            page = pdf.pages[0]
            font = Dictionary(
                Type=Name.Font,
                Subtype=Name.Type1,
                BaseFont=Name.Helvetica,
                Encoding=Name.WinAnsiEncoding,
            )
            if "/Font" not in page.resources:
                page.resources.Font = Dictionary()
            page.resources.Font.F9 = pdf.make_indirect(font)
            shown = b"\n".join(
                b"(%s) Tj 0 -12 Td" % line.encode("cp1252").replace(b"(", b"\\(") for line in lines
            )
            page.contents_add(b"BT /F9 9 Tf %d Tr 60 140 Td %s ET" % (render_mode, shown))

        return self.edit(data, add)

    def blank(self, width: float = 612, height: float = 792) -> bytes:
        """Make a PDF with one empty page."""
        return self._page_with(b"", Dictionary(), (width, height))

    def image_bomb(self, side: int) -> bytes:
        """Make a small PDF whose only image has side x side white pixels."""
        row = b"\xff" * (side // 8)
        return self._page_with(
            b"q 612 0 0 792 0 0 cm /I Do Q",
            Dictionary(
                Type=Name.XObject,
                Subtype=Name.Image,
                Width=side,
                Height=side,
                ColorSpace=Name.DeviceGray,
                BitsPerComponent=1,
            ),
            (612, 792),
            _deflated(row, side),
        )

    def stream_bomb(self, mebibytes: int) -> bytes:
        """Make a small PDF whose page description is that many mebibytes of spaces."""
        with pikepdf.Pdf.new() as pdf:
            page = pdf.add_blank_page()
            stream = pdf.make_stream(b"")
            stream.write(_deflated(b" " * (1 << 20), mebibytes), filter=Name.FlateDecode)
            page.obj.Contents = stream
            buffer = io.BytesIO()
            pdf.save(buffer, compress_streams=False)
            return buffer.getvalue()

    def form(self, value: str, *, has_appearance: bool) -> bytes:
        """Make a form with one filled field, drawn or left to the viewer to draw."""

        def add_field(pdf: pikepdf.Pdf) -> None:
            font = pdf.make_indirect(
                Dictionary(
                    Type=Name.Font,
                    Subtype=Name.Type1,
                    BaseFont=Name.Helvetica,
                    Encoding=Name.WinAnsiEncoding,
                )
            )
            resources = Dictionary(Font=Dictionary(Helv=font))
            field = Dictionary(
                Type=Name.Annot,
                Subtype=Name.Widget,
                FT=Name.Tx,
                T="accionante",
                V=value,
                DA="/Helv 11 Tf 0 g",
                F=4,
                Rect=Array([150, 600, 450, 620]),
                P=pdf.pages[0].obj,
            )
            if has_appearance:
                drawn = pdf.make_stream(
                    b"/Tx BMC BT /Helv 11 Tf 2 5 Td (" + value.encode("cp1252") + b") Tj ET EMC",
                    Type=Name.XObject,
                    Subtype=Name.Form,
                    BBox=Array([0, 0, 300, 20]),
                    Resources=resources,
                )
                field.AP = Dictionary(N=drawn)
            widget = pdf.make_indirect(field)
            pdf.pages[0].obj.Annots = Array([widget])
            pdf.Root.AcroForm = Dictionary(
                Fields=Array([widget]),
                DR=resources,
                DA="/Helv 11 Tf 0 g",
                NeedAppearances=not has_appearance,
            )

        return self.edit(self.native(("ACCIONANTE:",)), add_field)

    def _page_with(
        self, content: bytes, image: Dictionary, size: tuple[float, float], pixels: bytes = b""
    ) -> bytes:
        with pikepdf.Pdf.new() as pdf:
            page = pdf.add_blank_page(page_size=size)
            if pixels:
                stream = pdf.make_stream(b"")
                stream.stream_dict = image
                stream.write(pixels, filter=Name.FlateDecode)
                page.obj.Resources = Dictionary(XObject=Dictionary(I=stream))
            page.obj.Contents = pdf.make_stream(content)
            buffer = io.BytesIO()
            pdf.save(buffer)
            return buffer.getvalue()


def _deflated(part: bytes, times: int) -> bytes:
    compressor = zlib.compressobj(9)
    return b"".join(compressor.compress(part) for _ in range(times)) + compressor.flush()


@pytest.fixture(scope="session")
def documents() -> Documents:
    """Give the maker of documents."""
    return Documents()


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Extraction]:
    """Give a function that extracts some bytes in this process, by default without OCR."""

    def read_bytes(data: bytes, name: str = "document.pdf", **options: object) -> Extraction:
        path = tmp_path / name
        path.write_bytes(data)
        return extract_in_process(path, ExtractOptions(**{"ocr": "never", **options}))

    return read_bytes


@pytest.fixture(scope="session")
def extractor() -> Iterator[Extractor]:
    """Give a pool with one child that all tests without special limits share."""
    with Extractor(ExtractOptions(), workers=1) as pool:
        yield pool


@pytest.fixture
def read_with_ocr(extractor: Extractor, tmp_path: Path) -> Callable[..., Extraction]:
    """Give a function that extracts some bytes in a child process, with OCR where needed."""

    def read_bytes(data: bytes, name: str = "document.pdf") -> Extraction:
        path = tmp_path / name
        path.write_bytes(data)
        return extractor.extract(path)

    return read_bytes


@pytest.fixture
def fake_tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Give a function that puts another tesseract on PATH, which does `action` for a page.

    The file whose path is returned gets the process ids of the fake and of the child above it;
    one with the suffix `.calls` gets a line for each page.
    """

    def install(action: str) -> Path:
        real = shutil.which("tesseract")
        pids = tmp_path / "tesseract.pids"
        folder = tmp_path / "bin"
        folder.mkdir()
        script = folder / "tesseract"
        script.write_text(
            "#!/bin/sh\n"
            f'case "$*" in *--version*|*--list-langs*) exec {real} "$@";; esac\n'
            f'echo "$$ $PPID" > {pids}.new; mv {pids}.new {pids}\n'
            f"echo page >> {pids.with_suffix('.calls')}\n{action}\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return pids

    return install


@pytest.fixture
def wait_until() -> Callable[[Callable[[], object]], None]:
    """Give a function that waits until a condition holds."""

    def wait(condition: Callable[[], object], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "condition did not come true in time"
            time.sleep(0.02)

    return wait


class TypedDocuments:
    """Makes the documents that are typed and not printed, one of each kind."""

    lines = TUTELA

    def docx(self, lines: Sequence[str] = TUTELA) -> bytes:
        """Make a Word document of paragraphs."""
        document = docx.Document()
        for line in lines:
            document.add_paragraph(line)
        return self.saved(document)

    def saved(self, document: Any) -> bytes:
        """Give the bytes of a python-docx or odfdo document."""
        buffer = io.BytesIO()
        document.save(buffer)
        return buffer.getvalue()

    def odt(self, lines: Sequence[str] = TUTELA) -> bytes:
        """Make an OpenDocument text of paragraphs."""
        document = odfdo.Document("text")
        document.body.clear()
        for line in lines:
            document.body.append(odfdo.Paragraph(line))
        return self.saved(document)

    def rtf(self, lines: Sequence[str] = TUTELA) -> bytes:
        r"""Make an RTF document as Word writes it: cp1252 as \'xx."""
        encoded = "\\par\n".join(lines).encode("cp1252")
        shown = b"".join(b"\\'%02x" % byte if byte > 127 else bytes([byte]) for byte in encoded)
        return (
            b"{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fcharset0 Arial;}}\n" + shown + b"}"
        )

    def html(self, lines: Sequence[str] = TUTELA) -> bytes:
        """Make an HTML page of paragraphs."""
        shown = "".join(f"<p>{line}</p>" for line in lines)
        return f"<!DOCTYPE html><html><body>{shown}</body></html>".encode()

    def mail(self, lines: Sequence[str] = TUTELA, **attached: bytes) -> bytes:
        """Make a message with attachments named by their keyword."""
        message = EmailMessage(policy=policy.SMTP)
        message["Subject"] = "Notificación de la tutela"
        message["From"] = "Juzgado Primero <juzgado1@ejemplo.gov.co>"
        message["To"] = "rosa@ejemplo.co"
        message["Date"] = "Mon, 02 Mar 2026 10:00:00 -0500"
        message["Message-ID"] = "<1@ejemplo.gov.co>"
        message.set_content("\n".join(lines))
        for name, content in attached.items():
            message.add_attachment(
                content, maintype="application", subtype="octet-stream", filename=name
            )
        return message.as_bytes()

    def archive(self, members: Mapping[str, bytes]) -> bytes:
        """Make a ZIP archive."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    def rewritten(self, data: bytes, changes: Mapping[str, Callable[[bytes], bytes]]) -> bytes:
        """Change members of a ZIP file (a DOCX, an ODT), or add them to it."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        for name, change in changes.items():
            members[name] = change(members.get(name, b""))
        return self.archive(members)

    def each(self) -> dict[str, bytes]:
        """Make one of each kind."""
        return {
            "docx": self.docx(),
            "odt": self.odt(),
            "rtf": self.rtf(),
            "html": self.html(),
            "mail": self.mail(copia=self.rtf()),
            "archive": self.archive({"a.rtf": self.rtf(), "b.html": self.html()}),
        }


@pytest.fixture(scope="session")
def typed() -> TypedDocuments:
    """Give the maker of typed documents, mails and archives."""
    return TypedDocuments()
