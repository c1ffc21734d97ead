"""One frozen version of a dataset: Parquet segments, deletions and pending changes, in row order.

Everything Lamella shows is a snapshot: a table of a store at a version, Parquet files opened in place (no
deletions, nothing pending), or the columnar cache of another file.

A row has a *position*: its index in the concatenated segments, including deleted rows. Positions are int64,
ascending in the dataset's own order, and stable within a snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.nested_values import names_within, place_of, refuse_twins
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.scan.overlay import Overlay

NOTE = b"note"
"""The key in a field's metadata for a note: a sentence for users about its values, such as that they were
rounded."""


class Indexes(Protocol):
    """The indexes of a table, which find rows faster than a full scan: `core.index`."""

    @property
    def has_sorted_index(self) -> bool: ...

    def is_sorted(self, column: Column) -> bool: ...


def noted_field(name: str, kind: pa.DataType, note: str) -> pa.Field:
    return pa.field(name, kind, metadata={NOTE: note} if note else None)


@dataclass(frozen=True)
class Column:
    """A column as users see it. `key` is how segments identify it: the permanent id in a store, elsewhere the
    index in the first file's schema. `path` leads to a field inside a nested column. `note` is what users
    should know about the values, such as that they were rounded."""

    name: str
    type: pa.DataType
    key: int
    path: tuple[str, ...] = ()
    note: str = field(default="", hash=False, compare=False)

    @property
    def field(self) -> pa.Field:
        return noted_field(self.name, self.type, self.note)


@dataclass(frozen=True)
class FileSegment:
    """A Parquet file as part of a snapshot. `names` maps column keys to names in this file; a missing key has
    the value in `constants` in all rows, or null. `fingerprint` (size, mtime in ns), if given, must still
    hold when the file is read.

    `checksum`, if known, is that of all its bytes when it was written; `remedy` says what to do if it
    differs. Page checksums are verified when a page is first decoded, if `is_verified`.
    """

    path: Path
    num_rows: int
    names: dict[int, str] = field(hash=False, compare=False)
    fingerprint: tuple[int, int] | None = None
    constants: Mapping[int, pa.Array] = field(default_factory=dict, hash=False, compare=False)
    checksum: str = ""
    remedy: str = ""
    is_verified: bool = True


@dataclass(frozen=True, eq=False)
class MemorySegment:
    """Rows that are not in a file yet; `decode` makes their table on first access. Its columns are named
    `str(key)`."""

    num_rows: int
    decode: Callable[[], pa.Table]

    @classmethod
    def of(cls, rows: pa.Table) -> MemorySegment:
        return cls(rows.num_rows, lambda: rows)

    @cached_property
    def rows(self) -> pa.Table:
        return self.decode()


Segment = FileSegment | MemorySegment


def stored_keys(segment: Segment) -> set[int]:
    """The keys of the columns that a segment has."""
    keys = segment.names if isinstance(segment, FileSegment) else map(int, segment.rows.column_names)
    return set(keys)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The immutable content of a dataset. Two snapshots have the same `token` only if their content is the
    same, so caches use it as a key. The same content may get another token, such as after flushing or merging
    pending changes.

    `deleted_positions` has ascending positions. `complete` is False while a file's cache is still being
    filled. `keeps` lives as long as the snapshot, and protects its files from removal. If the rows are a
    table's, `ids` is the column that identifies them while positions change, and `indexes` find some of them
    faster.
    """

    name: str
    columns: tuple[Column, ...]
    segments: tuple[Segment, ...]
    token: tuple[object, ...]
    deleted_positions: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    overlay: Overlay | None = None
    complete: bool = True
    keeps: object = None
    indexes: Indexes | None = None
    ids: Column | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    @cached_property
    def types(self) -> Mapping[str, pa.DataType]:
        return {c.name: c.type for c in self.columns}

    @cached_property
    def segment_starts(self) -> np.ndarray:
        """The position at which each segment starts, and the number of positions at the end."""
        sizes = [s.num_rows for s in self.segments]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def files(self) -> tuple[FileSegment, ...]:
        """The segments that are files; the others are rows in memory."""
        return tuple(segment for segment in self.segments if isinstance(segment, FileSegment))

    @property
    def num_positions(self) -> int:
        return int(self.segment_starts[-1])

    @property
    def num_rows(self) -> int:
        return self.num_positions - len(self.deleted_positions)

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by name; of several with the same name, the first."""
        return {column.name: column for column in reversed(self.columns)}

    def column(self, name: str) -> Column:
        column = self.by_name.get(name)
        if column is None:
            raise UnknownColumn(name, self.name, [c.name for c in self.columns])
        return column

    def whole(self, field: Column) -> Column:
        """The column that contains a field."""
        return next(column for column in self.columns if column.key == field.key)

    def select(self, names: Iterable[str] | None) -> tuple[Column, ...]:
        """The columns with these names, in that order; all of them for None."""
        return self.columns if names is None else tuple(self.column(n) for n in names)


_numbers = count()


def snapshot_of_rows(rows: pa.Table, name: str) -> Snapshot:
    """A snapshot of rows in memory."""
    columns = tuple(Column(leaf.name, leaf.type, key) for key, leaf in enumerate(rows.schema))
    segment = MemorySegment.of(rows.rename_columns([str(column.key) for column in columns]))
    return Snapshot(name, columns, (segment,), ("rows", next(_numbers)))


def joined_snapshot(left: Snapshot, right: Snapshot) -> Snapshot:
    """A snapshot of the rows of both, which have the same columns."""
    segments = (*left.segments, *right.segments)
    return Snapshot(
        left.name,
        left.columns,
        segments,
        ("joined", left.token, right.token),
        keeps=(left.keeps, right.keeps),
    )


def project(snapshot: Snapshot, names: Iterable[str] | None, flatten: bool = False) -> tuple[Column, ...]:
    """The columns, or fields inside them, with these names; all columns for None.

    A column whose own name contains dots takes precedence over a path. `flatten` replaces structs by their
    fields, named by their paths. Raises `UnknownColumn`, and `BadData` if two columns would have the same
    name.
    """
    columns = snapshot.columns if names is None else tuple(column_named(snapshot, name) for name in names)
    if not flatten:
        return columns
    flat = tuple(dict.fromkeys(leaf for column in columns for leaf in _leaves(column)))
    _refuse_twice(snapshot, flat)
    return flat


def column_named(snapshot: Snapshot, name: str) -> Column:
    """The column, or the field inside one, with this name; raises `UnknownColumn`."""
    column = snapshot.by_name.get(name)
    if column is not None:
        return column
    place = place_of(name, snapshot.types)
    if place is None:
        raise UnknownColumn(name, snapshot.name, names_within(snapshot.types))
    whole = snapshot.column(place.column)
    return Column(name, place.type, whole.key, place.path, note=whole.note)


def _field(column: Column, field: pa.Field) -> Column:
    name, path = f"{column.name}.{field.name}", (*column.path, field.name)
    return Column(name, field.type, column.key, path, note=column.note)


def _leaves(column: Column) -> Iterator[Column]:
    """Yield the fields of a struct, recursively; a struct without fields stays as it is."""
    if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
        yield column
        return
    for inner in column.type:
        refuse_twins(column.name, column.type, inner.name)
        yield from _leaves(_field(column, inner))


def _refuse_twice(snapshot: Snapshot, flat: tuple[Column, ...]) -> None:
    twice = [name for name, times in Counter(c.name for c in flat).items() if times > 1]
    if twice:
        raise BadData(
            f"{snapshot.name}: flattened, two columns would have the name '{twice[0]}'",
            "A column has the same name as the path of a field inside another one",
            "Rename one of them, or read it without flatten",
        )


@dataclass(frozen=True)
class SortKey:
    """A column to sort by. Nulls come last in both directions; NaN counts as greater than every number."""

    column: str
    descending: bool = False
