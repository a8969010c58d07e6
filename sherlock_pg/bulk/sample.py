"""A sample of a file's texts, to fit a vocabulary on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

from sherlock_pg.bulk.rows import BadRow, DamagedFile, FieldMap, Position, RowReader
from sherlock_pg.vectorize.canonical import canonical_text

_MOST_CHARACTERS: Final = 50_000_000
"""What a fit holds in memory: with its counts about a gigabyte."""


class Sample:
    """A uniform sample of rows, and how many there are; texts are made when they are asked for.

    Args:
        reader: reads the file.
        fields: which fields are the text.
        start: where the sample begins.
        limit: texts at most; fewer if they are long.
        seed: the same for the same file gives the same sample.
        on_position: called with the place after each thousand rows.
    """

    def __init__(
        self,
        reader: RowReader,
        fields: FieldMap,
        start: Position,
        limit: int,
        seed: bytes,
        on_position: Callable[[Position], None],
    ) -> None:
        self._texts: list[str] = []
        self.row_count = 0
        characters = 0
        chance = random.Random(seed)
        try:
            for raw in reader.rows(start):
                self.row_count += 1
                if self.row_count % 1000 == 0:
                    on_position(raw.end)
                place = len(self._texts) if self.row_count <= limit else None
                if place is None:
                    place = chance.randrange(self.row_count)
                    if place >= len(self._texts):
                        continue
                try:
                    text = fields.row(raw.line_number, reader.values(raw.content)).text
                except BadRow:
                    continue
                if place == len(self._texts):
                    self._texts.append(text)
                else:
                    characters -= len(self._texts[place])
                    self._texts[place] = text
                characters += len(text)
                while characters > _MOST_CHARACTERS:
                    gone = self._texts.pop(chance.randrange(len(self._texts)))
                    characters -= len(gone)
        except DamagedFile:
            pass  # whoever loads the rows reports it

    def canonical_texts(self) -> Iterator[str]:
        """Yield the canonical texts of the sample."""
        return map(canonical_text, self._texts)
