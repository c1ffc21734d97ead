"""The words of a part, by what they mean to a search."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_values, take
from lamella.core.index.fulltext.analysis import folded, meanings

SCHEMA = pa.schema([("meaning", pa.string()), ("word", pa.string())])
BLOCK = 64
"""Words that are looked at together: one of so many is held to find the others by."""


class Vocabulary:
    """Words in the order of their meanings."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._meanings, self._words = batch.columns

    @classmethod
    def of(cls, words: Sequence[str], language: str | None) -> Vocabulary:
        columns = [from_values(texts, pa.string()) for texts in (meanings(words, language), words)]
        batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
        return cls(batch.sort_by([("meaning", "ascending"), ("word", "ascending")]))

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            return cls(reader.get_batch(0))

    def write(self, path: Path) -> None:
        batch = pa.RecordBatch.from_arrays([self._meanings, self._words], schema=SCHEMA)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
            writer.write_batch(batch)

    def of_meaning(self, meaning: str) -> list[str]:
        """The words that mean the same."""
        found: list[str] = []
        for start in range(BLOCK * max(0, bisect_left(self._firsts, meaning) - 1), len(self._words), BLOCK):
            block = self._meanings.slice(start, BLOCK).to_pylist()
            first, stop = bisect_left(block, meaning), bisect_right(block, meaning)
            found += self._words.slice(start + first, stop - first).to_pylist()
            if stop < len(block):
                break
        return found

    def beginnings(self, beginning: str) -> list[str]:
        """With what the words begin that begin so, accents put aside."""
        plain, (without, accented) = folded([beginning])[0], self._accented
        found = {beginning, plain}
        for place in range(bisect_left(without, plain), len(without)):
            if not without[place].startswith(plain):
                break
            found.add(_cut(accented[place], plain))
        return sorted(found)

    @cached_property
    def _firsts(self) -> list[str]:
        """The first meaning of each block."""
        return list(take(self._meanings, np.arange(0, len(self._meanings), BLOCK)).to_pylist())

    @cached_property
    def _accented(self) -> tuple[list[str], list[str]]:
        """Words with accents, in the order they have without them: first without."""
        words = self._words.filter(pc.invert(pc.string_is_ascii(self._words))).to_pylist()
        pairs = sorted(pair for pair in zip(folded(words), words, strict=True) if pair[0] != pair[1])
        return [without for without, _ in pairs], [word for _, word in pairs]


def _cut(word: str, plain: str) -> str:
    """The shortest beginning of a word that is `plain`, or longer, without its accents."""
    return next(part for end in range(len(word) + 1) if _starts(part := word[:end], plain))


def _starts(part: str, plain: str) -> bool:
    return folded([part])[0].startswith(plain) if part else not plain
