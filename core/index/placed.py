"""What of a snapshot and its sorted indexes is the same however often they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lamella.core.index import sorted_file
from lamella.core.index.registry import Place
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Snapshot


@dataclass(frozen=True, eq=False)
class Placing:
    """A data file whose rows begin at position `start`, and where the index of it is; None where it lacks the
    column, which then is null in all of its rows."""

    start: int
    segment: FileSegment
    path: Path | None


class Placed:
    """Where the index files of a snapshot are. Any thread: what two make at once is the same.

    `loose` are rows that no index holds yet, and where they begin.
    """

    def __init__(self, place: Place, snapshot: Snapshot) -> None:
        starts = snapshot.segment_starts.tolist()
        placed = list(zip(starts, snapshot.segments, strict=False))
        self._place = place
        self._files = [(start, s) for start, s in placed if isinstance(s, FileSegment)]
        self.loose = [(start, s) for start, s in placed if isinstance(s, MemorySegment)]
        self.loose_rows = sum(segment.num_rows for _, segment in self.loose)
        self._columns = {column.name: column for column in reversed(snapshot.columns)}
        self._by_column: dict[int, list[Placing]] = {}

    def column(self, name: str) -> Column | None:
        return self._columns.get(name)

    def files(self, column: Column) -> list[Placing]:
        """The data files, in the order of their rows."""
        found = self._by_column.get(column.key)
        if found is None:
            found = self._by_column[column.key] = [self._placing(*file, column) for file in self._files]
        return found

    def _placing(self, start: int, segment: FileSegment, column: Column) -> Placing:
        there = column.key in segment.names
        return Placing(start, segment, sorted_file.path_of(self._place, segment, column) if there else None)
