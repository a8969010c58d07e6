"""The files of the samples: native PDF, scans, the manifest, the command."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import click.testing
import numpy as np
import pypdfium2
import pytest
from PIL import Image

from sherlock_pg.cli.samples import samples
from sherlock_pg.errors import EnvironmentFault, ExitCode, UsageError
from sherlock_pg.samples import generate, pdf, scan
from sherlock_pg.samples.cases import draw_case
from sherlock_pg.samples.draw import Draw
from sherlock_pg.samples.filing import Filing, compose
from sherlock_pg.samples.render import Format, render_file
from sherlock_pg.samples.styles import STYLES, Style
from sherlock_pg.samples.texts import TOPICS
from sherlock_pg.samples.variants import Kind


@pytest.fixture(scope="module")
def filing() -> Filing:
    style = STYLES[3]
    return compose(draw_case(3, "archivo", topic_name="tutela_peticion", style=style))


def words_of(pdf_bytes: bytes) -> list[str]:
    document = pypdfium2.PdfDocument(pdf_bytes)
    try:
        return " ".join(page.get_textpage().get_text_range() for page in document).split()
    finally:
        document.close()


def page_count(pdf_bytes: bytes) -> int:
    document = pypdfium2.PdfDocument(pdf_bytes)
    try:
        return len(document)
    finally:
        document.close()


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_the_pdf_says_what_the_text_says_on_one_to_three_pages(style: Style) -> None:
    for topic in TOPICS[::5]:
        written = compose(draw_case(3, "palabras", topic_name=topic, style=style))
        drawn = pdf.draw_pdf(written)
        assert 1 <= page_count(drawn) <= 3
        footer = ["Página", "1", "de", "2", "3"]
        said, expected = words_of(drawn), written.text().split()
        assert [word for word in said if word not in footer] == [
            word for word in expected if word not in footer
        ]


def test_the_same_filing_is_the_same_bytes(filing: Filing) -> None:
    assert pdf.draw_pdf(filing) == pdf.draw_pdf(filing)


def test_a_scan_has_no_text_and_differs_from_another_scan_of_the_paper(filing: Filing) -> None:
    paper = pdf.draw_pdf(filing)
    first, second = (
        scan.scan_pages(paper, scan.CLEAN, Draw("escáner", number)) for number in (1, 2)
    )
    assert words_of(scan.as_pdf(first, scan.CLEAN)) == []
    assert first[0].size == second[0].size
    difference = np.abs(np.asarray(first[0], dtype=int) - np.asarray(second[0], dtype=int))
    assert difference.mean() > 1


def test_the_noisy_scan_is_repeatable_darker_and_stamped(filing: Filing) -> None:
    paper, stamp = pdf.draw_pdf(filing), pdf.draw_stamp(["RECIBIDO", "OFICINA", "1.2.2024"])
    clean = scan.scan_pages(paper, scan.CLEAN, Draw("nivel"), stamp=stamp)[0]
    noisy, again = (scan.scan_pages(paper, scan.NOISY, Draw("nivel"))[0] for _ in range(2))
    assert np.array_equal(np.asarray(noisy), np.asarray(again))
    stamped = scan.scan_pages(paper, scan.NOISY, Draw("nivel"), stamp=stamp)[0]
    assert np.asarray(noisy).mean() < np.asarray(clean).mean() - 5
    corner = (slice(0, 300), slice(-700, None))
    ink = [(np.asarray(page)[corner] < 150).mean() for page in (noisy, stamped)]
    assert ink[1] > ink[0] + 0.01


def test_image_formats_are_what_they_say(filing: Filing) -> None:
    pages = scan.scan_pages(pdf.draw_pdf(filing), scan.CLEAN, Draw("formatos"))
    png = Image.open(io.BytesIO(scan.as_png(pages[0], scan.CLEAN)))
    assert (png.format, png.size) == ("PNG", pages[0].size)
    assert png.info["dpi"] == pytest.approx((200, 200), abs=0.1)
    tiff = Image.open(io.BytesIO(scan.as_tiff([pages[0], pages[0]], scan.CLEAN)))
    assert (tiff.format, tiff.mode) == ("TIFF", "1")
    assert getattr(tiff, "n_frames", 1) == 2
    ink = 1 - np.asarray(tiff, dtype=bool).mean()
    assert 0.01 < ink < 0.2


@pytest.mark.parametrize(
    ("kind", "file_format"), [(Kind.ORIGINAL, Format.PNG), (Kind.NOISY_SCAN, Format.TXT)]
)
def test_a_format_that_a_kind_cannot_have_is_refused(
    filing: Filing, kind: Kind, file_format: Format
) -> None:
    case = draw_case(3, "archivo", topic_name="tutela_peticion", style=STYLES[3])
    with pytest.raises(ValueError, match="can't be written"):
        render_file(3, case, filing, kind, file_format)


def test_the_command_writes_what_the_manifest_lists(tmp_path: Path) -> None:
    options = ["--seed", "9", "--cases", "2", "--kinds", "exact_copy", "--kinds", "unrelated"]
    result = click.testing.CliRunner().invoke(samples, [str(tmp_path / "nuevo"), *options])
    assert result.exit_code == 0, result.output
    manifest = json.loads((tmp_path / "nuevo" / "manifest.json").read_text(encoding="utf-8"))
    listed = {entry["name"] for entry in manifest["documents"]}
    listed |= {entry["text_file"] for entry in manifest["documents"]}
    files = [path for path in (tmp_path / "nuevo").rglob("*") if path.is_file()]
    written = {path.relative_to(tmp_path / "nuevo").as_posix() for path in files}
    assert written == listed | {"manifest.json"}
    kinds = [entry["kind"] for entry in manifest["documents"]]
    assert sorted(kinds) == ["exact_copy"] * 2 + ["original"] * 2 + ["unrelated"] * 2
    for entry in manifest["documents"]:
        if entry["kind"] == "exact_copy":
            copy, original = (
                (tmp_path / "nuevo" / name).read_bytes()
                for name in (entry["name"], entry["duplicate_of"])
            )
            assert copy == original
        else:
            assert entry["duplicate_of"] is None


def test_names_are_unique_in_a_larger_collection() -> None:
    documents = generate.plan_collection(1, 20, list(Kind))
    for names in ([each.name for each in documents], [each.text_name for each in documents]):
        assert len(set(names)) == len(names) == 20 * len(Kind)


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mío.txt").write_text("no tocar")
    with pytest.raises(UsageError) as refused:
        generate.write_collection(tmp_path, 1, generate.plan_collection(1, 1, []))
    assert "--overwrite" in refused.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["mío.txt"]
    generate.write_collection(tmp_path, 1, generate.plan_collection(1, 1, []), overwrite=True)
    assert (tmp_path / "mío.txt").read_text() == "no tocar"
    assert (tmp_path / "manifest.json").exists()


def test_the_fixed_collection_takes_no_seed(tmp_path: Path) -> None:
    arguments = [str(tmp_path), "--demo", "--seed", "3"]
    result = click.testing.CliRunner().invoke(samples, arguments)
    assert result.exit_code == ExitCode.USAGE
    assert "--seed" in result.output


def test_without_fpdf2_the_fault_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "fpdf"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "fpdf", None)
    for name in ("render", "pdf"):
        monkeypatch.delitem(sys.modules, f"sherlock_pg.samples.{name}")
        monkeypatch.delattr(f"sherlock_pg.samples.{name}")
    with pytest.raises(EnvironmentFault) as fault:
        generate.write_collection(tmp_path, 1, generate.plan_collection(1, 1, []))
    assert "sherlock-pg[dev]" in fault.value.hint
    assert list(tmp_path.iterdir()) == []
