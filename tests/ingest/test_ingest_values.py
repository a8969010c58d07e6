"""Values that are stored or cross processes: codes, options, extractions."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sherlock_pg.cli.load import load
from sherlock_pg.ingest.model import (
    ExtractedPage,
    Extraction,
    ExtractOptions,
    PageMethod,
    Status,
)
from sherlock_pg.ingest.reasons import Flag, Reason, explain

pages = st.builds(
    ExtractedPage,
    number=st.integers(1, 5000),
    method=st.sampled_from(PageMethod),
    char_count=st.integers(0, 10**6),
    quality=st.none() | st.floats(0, 1),
    problem=st.text(max_size=20),
)
extractions = st.builds(
    Extraction,
    status=st.sampled_from(Status),
    reason=st.none() | st.sampled_from(Reason),
    detail=st.text(max_size=50),
    text=st.text(max_size=200),
    pages=st.lists(pages, max_size=3).map(tuple),
    flags=st.lists(st.sampled_from(Flag), unique=True).map(tuple),
    media_type=st.just("application/pdf"),
    sha256=st.just("ab" * 32),
    seconds=st.floats(0, 1000),
    cpu_seconds=st.floats(0, 1000),
    engine_versions=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)


@given(extractions)
def test_an_extraction_survives_json_as_one_line(extraction):
    line = extraction.to_json()
    assert "\n" not in line
    assert line.isascii()
    assert Extraction.from_json(line) == extraction


def test_options_survive_json():
    options = ExtractOptions(ocr="force", languages=("spa", "eng"), memory_bytes=1 << 30)
    assert ExtractOptions.from_values(json.loads(json.dumps(options.to_values()))) == options


def test_the_time_limit_grows_with_the_pages():
    options = ExtractOptions(wall_seconds=100, seconds_per_page=1, seconds_per_ocr_page=10)
    assert options.wall_budget(7, 2) == 127


@pytest.mark.parametrize("code", [*Reason, *Flag])
def test_every_code_is_explained(code):
    explanation = explain(code)
    assert explanation.meaning
    assert explanation.advice or isinstance(code, Flag)
    assert "\n" not in explanation.meaning + explanation.advice


@pytest.mark.parametrize("code", [*Reason, *Flag])
def test_advice_names_only_options_that_loading_has(code):
    options = {name for parameter in load.params for name in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", explain(code).advice)) <= options
