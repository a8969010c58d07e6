"""Does a text look like words? And the clean-up that makes it fit for storage."""

from __future__ import annotations

import re
from collections.abc import Iterator

GOOD_QUALITY = 0.6
"""Below this a text layer is junk, and OCR output is flagged."""

MIN_JUDGED_CHARS = 40
"""Visible characters below which a text is too short to be judged."""

_SAMPLE_CHARS = 20_000
_MAX_REMEMBERED_CHARS = 40
_MAX_REMEMBERED_TOKENS = 1 << 16
_WORD_SHARE_OF_PROSE = 0.62
_MAX_BROKEN_SHARE = 0.03
_MAX_BROKEN_SHARE_IF_SHORT = 0.2
_BROKEN_QUALITY = 0.1
_UNJUDGED_RANK = 0.5

# U+0002 and U+FFFE are not among them: pdfium writes them for a hyphen at the end of a line.
_UNMAPPED_CHARS = (
    "\x00\x01\x03-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ue000-\uf8ff\ufffd\uffff"
    "\U000f0000-\U0010ffff"
)
_UNMAPPED = re.compile(f"[{_UNMAPPED_CHARS}]")
_NOT_STORABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\uffff]")
_OTHER_SCRIPTS = re.compile("[\u0370-\u1dff\u2c00-\ud7ff]+")
_NUMBER_OR_LEADER = re.compile(r"[\d.,:;/$%()°ºª_\-–—·•…]+")
_VOWEL = "aeiouáéíóúüàèìòùâêîôûäöãõ"
_WORD = re.compile(
    rf"(?=.*[{_VOWEL}y])(?!.*[^{_VOWEL}y]{{4}})(?!.*[{_VOWEL}]{{4}}).{{4,}}", re.DOTALL
)
_PUNCTUATION = ".,;:()[]“”\"'¿?¡!-–—«»"
_LINE_END_HYPHEN = re.compile("[\x02\ufffe][ \t]*(?:\r\n?|\n)?[ \t]*")
_PRINTED_HYPHEN = re.compile(r"(?<=[a-záéíóúüñ])[-¬\xad][ \t]*\n[ \t]*(?=[a-záéíóúüñ])")
_TRAILING_BLANKS = re.compile(r"[ \t]+(?=\n)")
_BLANK_LINES = re.compile(r"\n{4,}")


def text_quality(text: str) -> float | None:
    """Measure which share of a text looks like words, scaled so that prose is near 1.

    Word-like is a run of at least four letters in consistent case that has a vowel and no
    sequence of four vowels or four consonants. Stop words were tried and fail both ways: garbage
    of a page scanned sideways is full of `de` and `la`, and foreign prose has none. Numbers and
    dot leaders are neutral, other scripts are taken as words. Characters without a font mapping
    inside words sink the value (as bullets before words they are common and harmless).

    Returns:
        A value between 0 and 1, or None for a text too short to be judged.
    """
    tokens = text[:_SAMPLE_CHARS].split()
    if not tokens:
        return None
    visible = sum(map(len, tokens))
    columns: Iterator[tuple[int, ...]] = zip(*map(_judgements.__getitem__, tokens), strict=True)
    judged_parts, word_parts, broken_parts = columns
    judged, word_chars, broken_chars = sum(judged_parts), sum(word_parts), 0
    if any(broken_parts):
        least = 1 if visible < MIN_JUDGED_CHARS else 2
        broken_chars = sum(part for part in broken_parts if part >= least)
    is_short = judged < MIN_JUDGED_CHARS
    if broken_chars > visible * (_MAX_BROKEN_SHARE_IF_SHORT if is_short else _MAX_BROKEN_SHARE):
        return _BROKEN_QUALITY
    if is_short:
        return None
    return round(min(1.0, word_chars / judged / _WORD_SHARE_OF_PROSE), 3)


def _judge(token: str) -> tuple[int, int, int]:
    """Count the characters of a token that are judged, that make a word, that are broken."""
    word = token.strip(_PUNCTUATION)
    if word.isalpha():
        return len(token), len(word) if _is_word(word) else 0, 0
    if _NUMBER_OR_LEADER.fullmatch(token):
        return 0, 0, 0
    return len(token), 0, len(word) if _UNMAPPED.search(word) else 0


class _Judgements(dict[str, tuple[int, int, int]]):
    """What tokens were judged to be: texts repeat their words, and so do documents."""

    def __missing__(self, token: str) -> tuple[int, int, int]:
        judgement = _judge(token)
        if len(token) <= _MAX_REMEMBERED_CHARS:
            if len(self) >= _MAX_REMEMBERED_TOKENS:
                self.clear()
            self[token] = judgement
        return judgement


_judgements = _Judgements()


def _is_word(word: str) -> bool:
    if (word.islower() or word.isupper() or word.istitle()) and _WORD.fullmatch(word.lower()):
        return True
    return _OTHER_SCRIPTS.fullmatch(word) is not None


def is_better(text: str, quality: float | None, than_text: str, than_quality: float | None) -> bool:
    """Say whether one reading of a page is to be preferred over another of it.

    The quality decides; a text too short to be judged counts as neither good nor bad, and among
    equals the longer one wins.
    """

    def rank(text: str, quality: float | None) -> tuple[float, int]:
        length = visible_length(text)
        return (_UNJUDGED_RANK if quality is None else quality) if length else 0.0, length

    return rank(text, quality) > rank(than_text, than_quality)


def visible_length(text: str) -> int:
    """Count the characters that are not white space."""
    return sum(map(len, text.split()))


def join_broken_words(text: str) -> str:
    """Join words that a hyphen at the end of a line breaks, in a text that was read from an image.

    What is written with a hyphen and broken there loses it: rarer than the other.
    """
    return _PRINTED_HYPHEN.sub("", text)


def clean_text(text: str) -> str:
    r"""Make extracted text fit for storage without changing what it says.

    Words broken by pdfium's line-end hyphens (U+0002, U+FFFE) are joined, line ends become `\n`,
    characters that PostgreSQL or UTF-8 refuse and other control characters go, blank line runs
    are limited, and white space around the whole is cut.
    """
    # A search for a plain string costs a hundredth of a pattern, and most texts have none of these.
    if "\x02" in text or "\ufffe" in text:
        text = _LINE_END_HYPHEN.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    text = _NOT_STORABLE.sub("", text)
    if " \n" in text or "\t\n" in text:
        text = _TRAILING_BLANKS.sub("", text)
    if "\n\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n\n", text)
    return text.strip()
