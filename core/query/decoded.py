"""Columns of files that queries ask for again and again: decoded once, and handed to the engine from memory,
which costs it a fraction of decoding them again."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy
from lamella.core.jobs import Job
from lamella.core.query.duckdb_types import same_in_memory
from lamella.core.scan import whole
from lamella.core.scan.caches import row_numbers
from lamella.core.scan.footers import Footer, unchanged
from lamella.core.scan.snapshot import Column, FileSegment

MOST_REMEMBERED = 1 << 14

_asked: set[tuple[Footer, str]] = set()
_lock = threading.Lock()


class Registry(Protocol):
    """A cursor, or what stands for one: its SQL knows rows by the names that they are registered by."""

    def register(self, name: str, rows: pa.Table, /) -> object: ...


@dataclass(frozen=True, eq=False)
class DecodedRows:
    """Columns of files that follow each other, under a `name` that SQL knows them by, as they are `called`
    there; and, where it has a name, the rows' `position`, which begins at `first`."""

    name: str
    files: tuple[FileSegment, ...]
    columns: tuple[Column, ...]
    called: tuple[str, ...]
    position: str | None = None
    first: int = 0

    def hand_to(self, cursor: Registry) -> bool:
        """Whether all of it is in memory. Raises `FileProblem` for a file that changed."""
        parts = []
        for file in self.files:
            held = whole.held(unchanged(file), self._names(file))
            if held is None:
                return False
            parts.append(held)
        cursor.register(self.name, self._table(parts))
        return True

    @cached_property
    def is_plain(self) -> bool:
        """Whether there are columns, and the engine takes them from memory as it reads them from files."""
        if not self.columns or any(c.path or c.key not in f.names for f in self.files for c in self.columns):
            return False
        forms = set()
        for file in self.files:
            told, names = unchanged(file), self._names(file)
            if not all(_is_plain(told, name, c.type) for name, c in zip(names, self.columns, strict=True)):
                return False
            forms.add(tuple(whole.is_coded(told, name) for name in names))
        return len(forms) == 1

    @cached_property
    def fits(self) -> bool:
        return whole.fit((unchanged(file), self._names(file)) for file in self.files)

    def decode(self, job: Job) -> bool:
        """Decode what is not in memory; False, and nothing done, where it is asked for the first time.

        `Cancelled` is raised between row groups.
        """
        footers = [(unchanged(file), self._names(file)) for file in self.files]
        missing = [(told, [n for n in names if whole.held(told, [n]) is None]) for told, names in footers]
        if not _asked_before({(told, name) for told, names in missing for name in names}):
            return False
        for told, names in missing:
            whole.decode_and_keep(told, names, job)
        return True

    def _names(self, file: FileSegment) -> list[str]:
        return [file.names[column.key] for column in self.columns]

    def _table(self, parts: Sequence[Sequence[pa.ChunkedArray]]) -> pa.Table:
        columns = [
            pa.chunked_array([array for column in columns for array in column.chunks], columns[0].type)
            for columns in zip(*parts, strict=True)
        ]
        if self.position is None:
            return pa.Table.from_arrays(columns, list(self.called))
        numbers = _row_numbers(self.first, len(columns[0]))
        return pa.Table.from_arrays([numbers, *columns], [self.position, *self.called])


@dataclass
class Decodings:
    """What a statement reads from memory, and whether it would read more so, were it asked again."""

    used: list[DecodedRows] = field(default_factory=list)
    growing: bool = False

    def hand(self, rows: DecodedRows, cursor: Registry, job: Job) -> bool:
        """Whether SQL on this cursor can read the rows by their name, from memory.

        What is not there is decoded when it is asked for the second time.
        """
        if not rows.is_plain:
            return False
        handed = rows.hand_to(cursor)
        if not handed and rows.fits:
            handed = rows.decode(job) and rows.hand_to(cursor)
            self.growing |= not handed
        if handed:
            self.used.append(rows)
        return handed

    def hand_again(self, cursor: Registry) -> bool:
        """Whether all that the statement read is in memory still, for another cursor."""
        return all(rows.hand_to(cursor) for rows in self.used)


@lru_cache(4096)
def _is_plain(told: Footer, name: str, kind: pa.DataType) -> bool:
    """In a file without row groups nothing can be kept."""
    return bool(
        told.num_rows
        and whole.is_flat(told, name)
        and told.schema.field(name).type.equals(kind)
        and same_in_memory(kind)
    )


def _asked_before(columns: set[tuple[Footer, str]]) -> bool:
    """They count as not asked for from then on: what is let go of soon is not decoded each time."""
    with _lock:
        if _asked >= columns:
            _asked.difference_update(columns)
            return True
        if len(_asked) >= MOST_REMEMBERED:
            _asked.clear()
        _asked.update(columns)
        return False


def _row_numbers(first: int, count: int) -> pa.Array:
    """They are kept too: to make them takes longer than to hand them over."""
    held = row_numbers.get([(first, count)])[0]
    if held is None:
        held = from_numpy(np.arange(first, first + count))
        row_numbers.put([((first, count), held)])
    return held
