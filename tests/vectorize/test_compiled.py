"""The compiled kernel gives what the path without it gives, bit for bit; test_features asks SQL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sherlock_pg.vectorize import _kernel, compiled, signature, tfidf
from sherlock_pg.vectorize.canonical import canonical_text
from sherlock_pg.vectorize.features import FeatureMaker, Features, Scheme
from sherlock_pg.vectorize.signature import Signer

TEXT = (
    "Señor JUEZ de reparto: acción. tutela, contra; la 22 n.º 5 niña n1na perro clama"
    " ri rri rrri crn c1 rn ci clrn ñ é x a 1 l straße İIıi ﬁrma ½ x² Ⅷ ΣΊΣΥΦΟΣ 北京大学"
    " مَرْحَبًا हिन्दी ﷺ docu\u00admento e\u0301 😀 \x00 \ud800 \U0001ccd6"
)
WORDS = TEXT.split(" ") + ["a" * length for length in (11, 12, 13, 23, 24, 25, 99, 100, 101)]
WORDS += ["é" * 50, "é" * 51]
FORM = " ".join(WORDS[:12])

texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=20).map(lambda words: f"{FORM} {' '.join(words)}"),
    st.text(max_size=40),
    st.text(st.characters(max_codepoint=0x2FF), max_size=60),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(
        lambda words: " ".join(words * 400)
    ),
)
Makers = tuple[FeatureMaker, FeatureMaker]


def make_both(
    kind: str, width: int, stop_text: str = "", min_shingles: int = 3, band_count: int = 32
) -> Makers:
    """Return the maker without and the one with the kernel."""
    scheme = Scheme(7, 3, kind, width, band_count, 128 // band_count, min_shingles, None, 1)
    corpus = [canonical_text(" ".join(WORDS[start:])) for start in range(0, len(WORDS), 3)]
    models = {
        1: tfidf.fit(corpus, max_features=50),
        2: tfidf.fit(corpus, ngram_range=(2, 2)),
        3: tfidf.fit(corpus, ngram_range=(1, 1)),
        4: tfidf.fit(["北京"], ngram_range=(1, 1)),
    }
    rng = np.random.default_rng(5)
    projection = tfidf.Projection(
        rng.choice([-1, 1], (5, 1000)).astype(np.float32),
        rng.choice([-1, 1], (512, 1000)).astype(np.float32),
    )
    stop_shingles = Signer(kind, width).shingles(stop_text)
    plain, fast = (
        FeatureMaker(scheme, stop_shingles, models, projection, bulk=bulk) for bulk in (False, True)
    )
    assert (plain.is_compiled, fast.is_compiled) == (False, True)
    return plain, fast


def assert_same(left: Features, right: Features) -> None:
    for name in ("canonical", "canonical_sha256", "text_states"):
        assert getattr(left, name) == getattr(right, name), name
    for name in (
        *("word_counts", "shingle_counts", "boilerplate_counts", "has_signature"),
        *("signatures", "sketches", "band_keys"),
    ):
        assert getattr(left, name).dtype == getattr(right, name).dtype, name
        assert getattr(left, name).tolist() == getattr(right, name).tolist(), name
    assert [sample.tolist() for sample in left.containment_samples] == [
        sample.tolist() for sample in right.containment_samples
    ]
    assert left.vectors.keys() == right.vectors.keys()
    for model_id, own in left.vectors.items():
        other = right.vectors[model_id]
        assert own.row_ends.tolist() == other.row_ends.tolist()
        assert own.indices.tolist() == other.indices.tolist()
        np.testing.assert_allclose(own.values, other.values, rtol=2e-7, atol=0)
        assert own.sign_bits.tolist() == other.sign_bits.tolist()


@pytest.mark.parametrize(
    ("kind", "width"),
    [("word", 1), ("word", 2), ("word", 9), ("skeleton", 2), ("skeleton", 3), ("char", 5)],
)
def test_both_paths_make_the_same_features(kind: str, width: int) -> None:
    makers = [make_both(kind, width, stop_text, 3, 25) for stop_text in ("", FORM)]

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.tuples(texts, st.booleans()), max_size=5), st.sampled_from(makers))
    def check(sample: list[tuple[str, bool]], both: Makers) -> None:
        contents = [text for text, _ in sample]
        flags = [is_excluded for _, is_excluded in sample]
        assert_same(*(maker.make(contents, flags) for maker in both))

    check()


def test_characters_have_the_same_image() -> None:
    """Of the first scripts all, of the rest every eighth page."""
    codes = [code for code in range(0x20000) if code < 0x3000 or code & 0x700 == 0]
    codes += [*range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200), *range(0x10FF00, 0x110000)]
    sample = ["x".join(map(chr, codes[start : start + 999])) for start in range(0, len(codes), 999)]
    counts = np.zeros(len(sample), np.int32)
    read = compiled._Images().canonicalise(sample, counts)
    expected = [canonical_text(text) for text in sample]
    assert read.texts() == [text.encode() for text in expected]
    assert counts.tolist() == [len(text.split(" ")) for text in expected]


def test_results_do_not_depend_on_how_texts_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, fast = make_both("skeleton", 2)
    sample = [" ".join(WORDS[:count]) for count in range(len(WORDS))] + ["ﷺ" * 5000, "", FORM * 20]
    together = fast.make(sample)
    assert_same(plain.make(sample), together)
    monkeypatch.setattr(compiled, "_CHUNK_CHARACTERS", 30)
    assert_same(together, fast.make(sample))


@pytest.mark.parametrize("min_shingles", [1, 2, 1000])
def test_what_is_enough_counts_different_shingles(min_shingles: int) -> None:
    sample = ["", "hola", "hola " * 3000, " ".join(map(str, range(1001))), "uno dos"]
    plain, fast = make_both("word", 2, min_shingles=min_shingles)
    made = fast.make(sample)
    assert_same(plain.make(sample), made)
    assert made.text_states[0] == "empty"
    assert made.text_states[2] == ("indexed" if min_shingles == 1 else "short")
    assert made.text_states[3] == "indexed"


def test_without_numba_bulk_is_slower_but_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, fast = make_both("word", 2)
    find_spec: Callable[[str], object] = signature.importlib.util.find_spec
    monkeypatch.setattr(
        signature.importlib.util,
        "find_spec",
        lambda name: None if name == "numba" else find_spec(name),
    )
    without = FeatureMaker(fast.scheme, (), plain._models, plain._projection, bulk=True)
    assert not without.is_compiled
    assert_same(without.make([FORM]), fast.make([FORM]))


def test_a_numba_that_cannot_be_used_is_none_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(name: str) -> None:
        raise ImportError("Numba needs NumPy 2.4 or less")

    monkeypatch.setattr(signature.importlib, "import_module", refuse)
    assert not signature.has_kernel()
    assert "Numba needs NumPy 2.4 or less" in caplog.text


def test_ordinary_work_does_not_import_numba() -> None:
    program = (
        "import sys; from sherlock_pg.load import loader;"
        " from sherlock_pg.vectorize import features; features.Signer().sign(['uno dos']);"
        " sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_kernel_that_cannot_be_kept_is_compiled_all_the_same() -> None:
    namespace: dict[str, Callable[[int], int]] = {}
    exec("def next_of(number): return number + 1", namespace)
    assert _kernel._compiled(namespace["next_of"])(2) == 3


def test_places_of_pairs_are_spread() -> None:
    pairs: Sequence[int] = [left << 32 | right for left in range(60) for right in range(60)]
    places = [_kernel.slot_of_pair(pair, 8192) for pair in pairs]
    assert max(np.bincount(places)) <= 8


def test_threads_share_a_maker() -> None:
    """Each text has characters that no other has, so threads fill pages at the same time."""
    sample = ["".join(map(chr, range(start, start + 2000, 7))) for start in range(0, 0x9000, 0x300)]
    plain, fast = make_both("char", 3)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda text: fast.make([text]), sample))
    for text, own in zip(sample, made, strict=True):
        assert_same(plain.make([text]), own)


@pytest.mark.parametrize(("kind", "width"), [("word", 2), ("skeleton", 3), ("char", 9)])
def test_signers_sign_alike(kind: str, width: int) -> None:
    stop_shingles = Signer(kind, width).shingles(FORM)
    plain, fast = (Signer(kind, width, stop_shingles, bulk=bulk) for bulk in (False, True))

    @settings(max_examples=40, deadline=None)
    @given(st.lists(texts, max_size=5))
    def check(sample: list[str]) -> None:
        for left, right in zip(plain.sign(sample), fast.sign(sample), strict=True):
            assert left.dtype == right.dtype
            assert left.tolist() == right.tolist()

    check()
