"""The words of a part, by what they mean to a search."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from core.arrays import from_values
from core.index.fulltext.analysis import folded, meanings

SCHEMA = pa.schema([("meaning", pa.string()), ("word", pa.string())])


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
        first = stop = bisect_left(range(len(self._words)), meaning, key=self._meaning)
        while stop < len(self._words) and self._meaning(stop) == meaning:
            stop += 1
        return list(self._words.slice(first, stop - first).to_pylist())

    def beginnings(self, beginning: str) -> list[str]:
        """With what the words begin that begin so, accents put aside."""
        plain, (without, accented) = folded([beginning])[0], self._accented
        found = {beginning, plain}
        for place in range(bisect_left(without, plain), len(without)):
            if not without[place].startswith(plain):
                break
            found.add(_cut(accented[place], plain))
        return sorted(found)

    def _meaning(self, place: int) -> str:
        return str(self._meanings[place].as_py())

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
