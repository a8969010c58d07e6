"""Files read by the real pipeline too badly to be compared, and what a person does about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fpdf
import pytest

Sherlock = Callable[..., Any]
Rows = Callable[..., list[tuple[Any, ...]]]
Write = Callable[..., Path]
Scan = Callable[..., bytes]

STATE = (
    "select d.text_state, d.flags, v.confidence from sherlock.documents as d"
    " join sherlock.detections as v using (document_id) where d.name = %s"
)


def listed(sherlock: Sherlock) -> list[dict[str, Any]]:
    ran = sherlock("reprocess", "--list", "--format", "json")
    assert ran.code == 0
    rows: list[dict[str, Any]] = json.loads(ran.out)
    return rows


def load(sherlock: Sherlock, *paths: Path) -> None:
    ran = sherlock("load", "--ner-model", "none", "--workers", 1, *paths)
    assert ran.code == 0, ran.err


def native(*pages: str) -> bytes:
    pdf = fpdf.FPDF(format="letter")
    pdf.set_font("helvetica", size=10)
    for page in pages:
        pdf.add_page()
        pdf.multi_cell(0, 5, page)
    return bytes(pdf.output())


@pytest.mark.ocr
def test_a_scan_with_almost_no_text(
    sherlock: Sherlock, write: Write, scan: Scan, rows: Rows
) -> None:
    """Two covers that say nearly the same tell nothing of what follows them."""
    first = write("1.pdf", scan(["ACCIONANTE: CARMEN ROSA QUINTERO ARIAS", "Cuaderno uno"]))
    near = write("2.pdf", scan(["ACCIONANTE: CARMEN ROSA QUINTERO ARIAS", "Cuaderno dos"]))
    load(sherlock, first, near)
    assert rows(STATE, "2.pdf") == [("excluded", ["low_yield"], None)]
    # The same bytes are known at the gate; the same words in another file are an exact copy.
    copy = write("3.pdf", scan(["ACCIONANTE: CARMEN ROSA QUINTERO ARIAS", "", "Cuaderno uno"]))
    load(sherlock, copy)
    assert rows(STATE, "3.pdf") == [("excluded", ["low_yield"], "EXACT")]
    found = {row["name"]: row for row in listed(sherlock)}
    assert set(found) == {"1.pdf", "2.pdf", "3.pdf"}
    assert found["1.pdf"]["pages"] == [1]
    assert found["1.pdf"]["source_uri"] == str(first)
    assert "is it upright" in found["1.pdf"]["advice"]


def test_text_that_does_not_look_like_words(
    sherlock: Sherlock, write: Write, rows: Rows, tutela: Callable[..., str]
) -> None:
    garbage = "\n".join(
        f"xq{n}zt wq# k{n}vv }}pq~ rt{n}x zzk trw{n % 7}q =/%q mnb{n}v lkjh{n}g" for n in range(80)
    )
    write("1.txt")
    folder = write("2.pdf", native(tutela(date="9 de abril de 2025"))).parent
    write("3.pdf", native(garbage))
    write("4.pdf", native(garbage + "\nxq zt"))
    ran = sherlock("load", "--ner-model", "none", "--ocr", "never", folder)
    assert ran.code == 0, ran.out
    flags = rows("select name, flags, text_state from sherlock.documents order by name")
    assert [row[2] for row in flags] == ["indexed", "indexed", "excluded", "excluded"], flags
    assert "low_quality" in flags[2][1]
    assert rows(STATE, "4.pdf")[0][2] is None
    assert rows(STATE, "2.pdf")[0][2] == "HIGH"


@pytest.mark.ocr
def test_pages_that_ran_out_of_time(
    sherlock: Sherlock,
    write: Write,
    scan: Scan,
    rows: Rows,
    tutela: Callable[..., str],
    hung_tesseract: pytest.MonkeyPatch,
    read_queued: Callable[[], list[int]],
) -> None:
    """The native part is a near copy of another filing; what the scan says nobody knows."""
    import pikepdf

    whole = write("1.txt")
    joined = pikepdf.Pdf.new()
    for name, data in (
        ("a.pdf", native(tutela(date="9 de abril de 2025"))),
        ("b.pdf", scan(["ANEXO UNO", "Historia clínica de la accionante"] * 8)),
    ):
        with pikepdf.open(write(name, data)) as part:
            joined.pages.extend(part.pages)
    timed_out = whole.parent / "2.pdf"
    joined.save(timed_out)
    load(sherlock, whole, timed_out)
    assert rows(STATE, "2.pdf") == [("excluded", ["ocr_timeout_pages"], None)]
    (row,) = listed(sherlock)
    assert (row["name"], row["status"], row["pages"]) == ("2.pdf", "partial", [2])
    assert "raise --timeout" in row["advice"]
    accepted = rows("select sherlock.accept_reading(%s, 'la secretaria')", row["document_id"])
    assert accepted == [("indexed",)]
    assert rows(STATE, "2.pdf")[0][2] == "HIGH"
    assert listed(sherlock) == []
    rows("select sherlock.accept_reading(%s, p_withdraw => true)", row["document_id"])

    hung_tesseract.undo()
    ran = sherlock("reprocess", "--ocr")
    assert (ran.code, ran.out) == (
        0,
        "1 document queued to be read again, 0 without a file (neither their bytes nor a path"
        " with them)\n",
    )
    assert rows(STATE, "2.pdf")[0][0] == "excluded"
    assert read_queued() == [row["document_id"]]
    assert rows(STATE, "2.pdf") == [("indexed", [], "HIGH")]
    assert listed(sherlock) == []
    history = rows(
        "select kind, status, text_state, flags, strpos(content, 'ANEXO') > 0, accepted_by,"
        " pages -> 1 ->> 'method' from sherlock.document_readings order by reading_number"
    )
    flags = ["ocr_timeout_pages"]
    assert history == [
        ("features", "partial", "excluded", flags, None, None, None),
        ("features", "partial", "indexed", flags, None, "la secretaria", None),
        ("ocr", "partial", "excluded", flags, False, None, "skipped"),
    ]


def test_files_that_could_not_be_read_are_listed_too(
    sherlock: Sherlock, write: Write, rows: Rows
) -> None:
    broken = write("1.pdf", b"%PDF-1.7\nnada")
    assert sherlock("load", "--ner-model", "none", broken).code == 1
    (row,) = listed(sherlock)
    assert (row["status"], row["reason"], row["text_state"]) == ("failed", "damaged", None)
    ran = sherlock("reprocess", "--list", "--reason", "encrypted", "--format", "json")
    assert json.loads(ran.out) == []
