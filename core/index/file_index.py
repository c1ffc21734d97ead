"""The index of a data file as one query asks it."""

from __future__ import annotations

from lamella.core.index.opened import OpenIndexes
from lamella.core.index.placed import Placed, Placing
from lamella.core.index.runs import NotServed
from lamella.core.index.sorted import Sorted
from lamella.core.scan.snapshot import Column, Snapshot


class FileIndex:
    """Of the data file whose rows begin at position `start`: looked for on disk once, and only when it is
    asked."""

    def __init__(self, indexes: OpenIndexes, placing: Placing, column: Column) -> None:
        self.start = placing.start
        self._indexes, self._placing, self._column = indexes, placing, column
        self._found: Sorted | None = None

    def opened(self) -> Sorted:
        """Raises `NotServed` where it cannot be had."""
        if self._found is None:
            self._found = self._indexes.sorted_file(self._placing, self._column)
            if self._found is None:
                raise NotServed("no index file")
        return self._found


def placed(snapshot: Snapshot) -> Placed:
    """Of a snapshot that has indexes."""
    assert snapshot.indexes is not None
    return snapshot.indexes.placed(snapshot)


def indexed_column(snapshot: Snapshot, name: str) -> Column | None:
    """The column of this name, if there is a sorted index of it."""
    if snapshot.indexes is None:
        return None
    found = placed(snapshot).column(name)
    return found if found is not None and snapshot.indexes.is_sorted(found) else None


def file_indexes(snapshot: Snapshot, column: Column) -> list[FileIndex]:
    """The index of each data file by a column that is indexed."""
    assert snapshot.indexes is not None
    return [FileIndex(snapshot.indexes, placing, column) for placing in placed(snapshot).files(column)]
