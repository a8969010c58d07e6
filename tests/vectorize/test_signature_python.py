"""Signing in numpy: known answers, batches, bounds; equality with SQL is tested with the SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sherlock_pg.errors import UsageError
from sherlock_pg.vectorize import signature as signature_module
from sherlock_pg.vectorize.pghash import hash_int8_extended, hash_text_extended
from sherlock_pg.vectorize.signature import Signer

KNOWN_ANSWERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "signature_known_answers.json").read_text("utf-8")
)


@pytest.mark.parametrize("case", KNOWN_ANSWERS["signatures"], ids=lambda case: case["name"])
def test_known_answers(case: dict[str, Any]) -> None:
    signer = Signer(case["kind"], case["width"])
    signatures, counts, _ = signer.sign([case["text"]])
    shingles = signer.shingles(case["text"])
    assert counts.tolist() == [case["shingle_count"]] == [len(shingles)]
    assert shingles[:3].tolist() == case["first_shingles"]
    assert signatures.tolist() == [case["signature"]]
    assert signer.sketches(signatures)[0].hex() == case["sketch"]
    assert signer.band_keys(signatures, 3, 7, 32, 4)[0, :2].tolist() == case["first_keys"]


def test_known_hashes() -> None:
    for token, expected in KNOWN_ANSWERS["text_hashes"].items():
        assert hash_text_extended([token.encode()]).tolist() == [expected]
    for value, seed, expected in KNOWN_ANSWERS["int8_hashes"]:
        assert hash_int8_extended(np.array([value]), seed).tolist() == [expected]
        assert hash_int8_extended(np.array([value]), np.array([seed])).tolist() == [expected]


def test_results_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    texts = [
        " ".join(f"palabra{word}" for word in rng.integers(0, 500, size=size))
        for size in (0, 1, 2, 3, 4, 40, 41, 400, 0, 3000, 7)
    ]
    together, counts, _ = Signer().sign(texts)
    alone = [Signer().sign([text]) for text in texts]
    assert together.tolist() == [signed.signatures[0].tolist() for signed in alone]
    assert counts.tolist() == [int(signed.shingle_counts[0]) for signed in alone]
    monkeypatch.setattr(signature_module, "_BATCH_BYTES", 100)
    monkeypatch.setattr(signature_module, "_HASHES_AT_ONCE", 1)
    small_batches = Signer().sign(texts).signatures
    assert small_batches.tolist() == together.tolist()


def test_texts_without_shingles() -> None:
    signatures, counts, _ = Signer().sign(["", "¡...!", "a"])
    assert counts.tolist() == [0, 0, 1]
    assert (signatures[:2] == -1).all()
    assert (signatures[2] >= 0).all()
    empty = Signer().sign([])
    assert [part.shape for part in empty] == [(0, 128), (0,), (0,)]


def test_boilerplate_is_left_out() -> None:
    form = "en ejercicio del derecho de petición solicito respetuosamente"
    texts = [form, f"{form} copia", "copia de la historia", "", f"{form} copia {form}"]
    plain, signer = Signer(), Signer(stop_shingles=Signer().shingles(form))
    signatures, shingle_counts, boilerplate_counts = signer.sign(texts)
    assert shingle_counts.tolist() == plain.sign(texts).shingle_counts.tolist() == [7, 8, 3, 0, 16]
    assert boilerplate_counts.tolist() == [7, 7, 0, 0, 14]
    assert (signatures[[0, 3]] == -1).all()
    assert signatures[1].tolist() == plain.sign(["respetuosamente copia"]).signatures[0].tolist()
    assert signatures[2].tolist() == plain.sign(texts).signatures[2].tolist()
    assert signer.shingles(form).tolist() == plain.shingles(form).tolist()


def test_an_empty_list_of_boilerplate_changes_nothing() -> None:
    texts = ["acción de tutela contra el juez", ""]
    for one, other in zip(Signer().sign(texts), Signer(stop_shingles=[]).sign(texts), strict=True):
        assert one.tolist() == other.tolist()


def test_memory_of_the_token_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature_module, "_MAX_CACHED_TOKENS", 50)
    signer = Signer()
    long_word = "x" * 1000
    texts = [" ".join(f"w{number}" for number in range(start, start + 30)) for start in (0, 20, 90)]
    texts.append(f"{long_word} {long_word} w1")
    for text in texts:
        assert signer.sign([text])[0].tolist() == Signer().sign([text])[0].tolist()
        assert len(signer._token_hashes) <= 50
        assert long_word.encode() not in signer._token_hashes


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("word", 0),
        ("word", 10),
        ("skeleton", 0),
        ("skeleton", 10),
        ("char", 2),
        ("char", 17),
        ("palabra", 3),
    ],
)
def test_unknown_shingles_are_refused(kind: str, width: int) -> None:
    with pytest.raises(UsageError) as caught:
        Signer(kind, width)
    assert caught.value.sqlstate == "SH010"
    assert "1 to 9" in caught.value.hint


@pytest.mark.parametrize(("bands", "rows"), [(0, 4), (32, 0), (33, 4), (1, 129)])
def test_impossible_bands_are_refused(bands: int, rows: int) -> None:
    signer = Signer()
    signatures = signer.sign(["uno dos tres"]).signatures
    with pytest.raises(UsageError) as caught:
        signer.band_keys(signatures, 1, 1, bands, rows)
    assert caught.value.sqlstate == "SH011"


def test_rows_without_a_signature_are_refused() -> None:
    signer = Signer()
    signatures = signer.sign(["uno dos tres", ""]).signatures
    for call in (
        lambda: signer.sketches(signatures),
        lambda: signer.band_keys(signatures, 1, 1, 32, 4),
        lambda: signer.sketches(signatures[:1, :64]),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.sqlstate == "SH012"
