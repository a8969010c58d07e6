"""Generate the two files that pin canonical text to Unicode 14, from Python 3.11's own tables.

    python3.11 tests/tools/generate_unicode_tables.py           write both files
    python3.11 tests/tools/generate_unicode_tables.py --check   exit 1 if one of them differs

`sherlock_pg/vectorize/_unicode_tables.py` and `sql/10_text/canonical_text.sql` must describe the
same classes of characters, and neither may follow the Unicode version of the Python or PostgreSQL
it happens to run on: canonical text is hashed and stored, so it may not change with an upgrade.
Python 3.11 is the release with Unicode 14, so the generator refuses any other.
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

UNICODE_VERSION = "14.0.0"
ROOT = Path(__file__).resolve().parents[2]
PYTHON_FILE = ROOT / "sherlock_pg" / "vectorize" / "_unicode_tables.py"
SQL_FILE = ROOT / "sql" / "10_text" / "canonical_text.sql"
SQL_TEMPLATE = Path(__file__).with_name("canonical_text.sql.in")

Ranges = tuple[tuple[int, int], ...]


def _code_points(*ranges: tuple[int, int]) -> frozenset[int]:
    return frozenset(code for first, last in ranges for code in range(first, last + 1))


_SCRIPTS_WITHOUT_SPACES = _code_points(
    (0x0E01, 0x0E3A),  # Thai
    (0x0E40, 0x0EDF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17DD),  # Khmer
    (0x3041, 0x3096),  # Hiragana
    (0x30A1, 0x30FA),  # Katakana
    (0x3105, 0x312F),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana phonetic extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0x20000, 0x3134A),
)

# The property Default_Ignorable_Code_Point, which unicodedata does not offer.
_DEFAULT_IGNORABLE = _code_points(
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x200B, 0x200F),  # zero-width space, joiners, direction marks
    (0x202A, 0x202E),  # direction embeddings
    (0x2060, 0x206F),  # word joiner, invisible operators, direction isolates
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),  # half-width Hangul filler
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE0FFF),  # tags, variation selectors supplement
)

# translate() compares each character with its whole list, so SQL folds script by script.
_FOLD_BLOCKS = (
    ("Latin", 0x0080, 0x024F),
    ("phonetic alphabet", 0x0250, 0x036F),
    ("Greek", 0x0370, 0x03FF),
    ("Cyrillic", 0x0400, 0x052F),
    ("Armenian", 0x0530, 0x058F),
    ("all other scripts", 0x0590, 0x10FFFF),
)


@dataclass(frozen=True)
class Tables:
    """The classes of characters that canonical text is made with, ASCII left out.

    Attributes:
        unassigned: code points without a character (or for private use): separators.
        ignorable: combining and enclosing marks and invisible characters, dropped after
            decomposition.
        word: letters, digits and the vowel signs that are no combining marks; all else separates.
        solitary: letters of scripts without spaces, each a token of its own.
        folds: lower-case form of each letter that decomposition leaves, where it has another.
    """

    unassigned: Ranges
    ignorable: Ranges
    word: Ranges
    solitary: Ranges
    folds: dict[str, str]


def build_tables() -> Tables:
    """Read the tables out of `unicodedata`."""
    word = tuple(_ranges(_is_word))
    solitary = tuple(_ranges(lambda code: code in _SCRIPTS_WITHOUT_SPACES and _is_word(code)))
    folds = dict(_folds())
    for letter, folded in folds.items():
        if not all(
            unicodedata.normalize("NFKD", part) == part
            and part not in folds
            and (part.isascii() or _is_word(ord(part)))
            for part in folded
        ):
            raise AssertionError(f"folding {letter!r} once does not reach a fixed point")
    return Tables(
        unassigned=tuple(_ranges(_is_unassigned)),
        ignorable=tuple(_ranges(_is_ignorable)),
        word=word,
        solitary=solitary,
        folds=folds,
    )


def render_python(tables: Tables) -> str:
    """Write the tables as a Python module."""
    single, multiple = _split_folds(tables.folds)
    parts = [
        f'"""Classes of characters of Unicode {UNICODE_VERSION}; generated, do not edit.\n\n'
        "Made by tests/tools/generate_unicode_tables.py together with canonical_text.sql, which\n"
        "documents what each table means. Ranges are inclusive and sorted; ASCII is left out.\n"
        '"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Final\n\n"
        f'UNICODE_VERSION: Final = "{UNICODE_VERSION}"\n'
    ]
    for name, ranges in (
        ("UNASSIGNED", tables.unassigned),
        ("IGNORABLE", tables.ignorable),
        ("WORD", tables.word),
        ("SOLITARY", tables.solitary),
    ):
        pairs = [f"(0x{first:04X}, 0x{last:04X})," for first, last in ranges]
        lines = "\n".join(f"    {line}" for line in _wrap(pairs, 94, " "))
        parts.append(f"\n{name}: Final[tuple[tuple[int, int], ...]] = (\n{lines}\n)\n")
    for name, letters in (("FOLD_FROM", single.keys()), ("FOLD_TO", single.values())):
        escaped = [_escape(ord(letter)) for letter in letters]
        lines = "\n".join(f'    "{line}"' for line in _wrap(escaped, 92))
        parts.append(f"\n{name}: Final = (\n{lines}\n)\n")
    entries = "\n".join(
        f'    "{_escape(ord(letter))}": "{folded}",' for letter, folded in multiple.items()
    )
    parts.append(f"\nFOLD_MULTIPLE: Final[dict[str, str]] = {{\n{entries}\n}}\n")
    return "".join(parts)


def render_sql(tables: Tables) -> str:
    """Fill the tables into the template of canonical_text.sql."""
    single, multiple = _split_folds(tables.folds)
    text = SQL_TEMPLATE.read_text(encoding="utf-8")
    replacements = {
        "UNICODE_VERSION": UNICODE_VERSION,
        "UNASSIGNED": _sql_class(tables.unassigned, "[", "]"),
        "IGNORABLE": _sql_class(tables.ignorable, "[", "]+"),
        "SEPARATORS": _sql_class(tables.word, "[^\\u0001-\\u007F", "]"),
        "SOLITARY": _sql_class(tables.solitary, "[", "]"),
        "FOLDS": _sql_folds(single, multiple),
    }
    for name, value in replacements.items():
        text = text.replace(f"@{name}@", value)
    return text


def main(arguments: list[str] | None = None) -> int:
    """Write the generated files, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on difference")
    options = parser.parse_args(arguments)
    if unicodedata.unidata_version != UNICODE_VERSION:
        parser.error(
            f"needs Unicode {UNICODE_VERSION} (Python 3.11), "
            f"this Python has {unicodedata.unidata_version}"
        )
    tables = build_tables()
    rendered = {PYTHON_FILE: render_python(tables), SQL_FILE: render_sql(tables)}
    if options.check:
        stale = [
            path
            for path, text in rendered.items()
            if not path.exists() or path.read_text(encoding="utf-8") != text
        ]
        for path in stale:
            print(f"differs from what the generator writes: {path}", file=sys.stderr)
        return 1 if stale else 0
    for path, text in rendered.items():
        path.write_text(text, encoding="utf-8")
    return 0


def _ranges(predicate: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Group the code points above ASCII that fulfil a predicate; surrogates never do."""
    start: int | None = None
    for code in range(0x80, 0x110001):
        inside = code < 0x110000 and not 0xD800 <= code <= 0xDFFF and predicate(code)
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            yield start, code - 1
            start = None


def _is_unassigned(code: int) -> bool:
    return unicodedata.category(chr(code)) in ("Cn", "Co")


def _is_ignorable(code: int) -> bool:
    letter = chr(code)
    return (
        unicodedata.combining(letter) != 0
        or unicodedata.category(letter) == "Me"
        or (code in _DEFAULT_IGNORABLE and not _is_unassigned(code))
    )


def _is_word(code: int) -> bool:
    return unicodedata.category(chr(code))[0] in "LNM" and not _is_ignorable(code)


def _folds() -> Iterator[tuple[str, str]]:
    for code in range(0x80, 0x110000):
        letter = chr(code)
        if (
            not 0xD800 <= code <= 0xDFFF
            and _is_word(code)
            and unicodedata.normalize("NFKD", letter) == letter
            and letter.casefold() != letter
        ):
            yield letter, letter.casefold()


def _split_folds(folds: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    single = {letter: folded for letter, folded in folds.items() if len(folded) == 1}
    multiple = {letter: folded for letter, folded in folds.items() if len(folded) > 1}
    return single, multiple


def _escape(code: int) -> str:
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _wrap(pieces: Iterable[str], width: int, separator: str = "") -> Iterator[str]:
    line = ""
    for piece in pieces:
        if line and len(line) + len(separator) + len(piece) > width:
            yield line
            line = piece
        else:
            line = line + separator + piece if line else piece
    if line:
        yield line


def _sql_string(pieces: Iterable[str], indent: str) -> str:
    """Write an escape string constant, continued over lines where it is long."""
    lines = [f"'{line}'" for line in _wrap(pieces, 94 - len(indent))]
    return "E" + f"\n{indent}".join(lines)


def _sql_class(ranges: Ranges, before: str, after: str) -> str:
    pieces = [
        _escape(first) if first == last else f"{_escape(first)}-{_escape(last)}"
        for first, last in ranges
    ]
    return _sql_string([before, *pieces, after], " " * 8)


def _sql_folds(single: dict[str, str], multiple: dict[str, str]) -> str:
    statements = []
    for name, first, last in _FOLD_BLOCKS:
        letters = [letter for letter in single if first <= ord(letter) <= last]
        if not letters:
            continue
        sources = [_escape(ord(letter)) for letter in letters]
        targets = [_escape(ord(single[letter])) for letter in letters]
        codes = {ord(letter) for letter in letters}
        indent = " " * 12
        statements.append(
            f"    -- {name}\n"
            f"    if v_text ~\n"
            f"        {_sql_class(tuple(_ranges(codes.__contains__)), '[', ']')}\n"
            f"    then\n"
            f"        v_text := translate(\n"
            f"            v_text,\n"
            f"            {_sql_string(sources, indent)},\n"
            f"            {_sql_string(targets, indent)}\n"
            f"        );\n"
            f"    end if;\n"
        )
    for letter, folded in multiple.items():
        statements.append(
            f"    v_text := replace(v_text, E'{_escape(ord(letter))}', '{folded}');\n"
        )
    return "".join(statements).rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
