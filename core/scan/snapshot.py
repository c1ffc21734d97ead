"""One frozen version of a dataset: Parquet segments, deletions and pending changes, in row order.

Everything Lamella shows is a snapshot: a table of a store at a version, Parquet files opened in
place (no deletions, nothing pending), or the columnar cache of another file.

A row has a *position*: the number of its place in the segments laid end to end, deleted rows
included. Positions are int64, ascending in the dataset's own order, and stable within a snapshot.
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

from lamella.core.arrow.nested import names_within, place_of, refuse_twins
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.scan.overlay import Overlay

NOTE = b"note"
"""Key in a field's metadata: what its values do not say of themselves, in a sentence for people."""


class Indexes(Protocol):
    """What finds rows of a table faster than looking at all of them: `core.index`."""

    @property
    def any_sorted(self) -> bool: ...

    def is_sorted(self, column: Column) -> bool: ...


def noted_field(name: str, kind: pa.DataType, note: str) -> pa.Field:
    return pa.field(name, kind, metadata={NOTE: note} if note else None)


@dataclass(frozen=True)
class Column:
    """A column as people see it. `key` is how segments find it: the permanent id in a store, the
    place in the first file's schema elsewhere. `path` leads to a field inside a nested column. `note` is
    what people should know of the values, such as that they were rounded."""

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
    """A Parquet file. `names` maps a column's key to its name in this file; a key that is missing
    there has the value that `constants` give it in all rows, null where they give none. `fingerprint` (size,
    mtime in ns), where given, must still hold when it is read.

    `checksum`, where known, is that of all its bytes when it was written; `remedy` what to do when they are
    others. Page checksums are verified when a page is first decoded, unless not `is_verified`."""

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
    """Rows that are not in a file yet; `decode` makes their table when it is first asked for. Its columns are
    named by `str(key)`."""

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
    """The columns that a segment holds, by key."""
    named = segment.names if isinstance(segment, FileSegment) else map(int, segment.rows.column_names)
    return set(named)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """`token` is equal for two snapshots only when their content is; caches are keyed by it. The same
    content may get another one: flushing and merging pending changes do that.

    `deleted` holds ascending positions. `complete` is False while a file's cache still fills. `keeps`
    lives as long as the snapshot: what keeps its files from being removed. Where the rows are a table's,
    `ids` is the column that tells them apart while positions change, and `indexes` find some of them faster.
    """

    name: str
    columns: tuple[Column, ...]
    segments: tuple[Segment, ...]
    token: tuple[object, ...]
    deleted: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
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
        """Position at which each segment starts, and the number of positions at the end."""
        sizes = [s.num_rows for s in self.segments]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    @property
    def num_positions(self) -> int:
        return int(self.segment_starts[-1])

    @property
    def num_rows(self) -> int:
        return self.num_positions - len(self.deleted)

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """The columns, of which there may be thousands; of those of one name the first."""
        return {column.name: column for column in reversed(self.columns)}

    def column(self, name: str) -> Column:
        column = self.by_name.get(name)
        if column is None:
            raise UnknownColumn(name, self.name, [c.name for c in self.columns])
        return column

    def whole(self, field: Column) -> Column:
        """The column that a field lies in."""
        return next(column for column in self.columns if column.key == field.key)

    def select(self, names: Iterable[str] | None) -> tuple[Column, ...]:
        """The columns of these names, in their order; all of them for None."""
        return self.columns if names is None else tuple(self.column(n) for n in names)


_numbers = count()


def snapshot_of_rows(rows: pa.Table, name: str) -> Snapshot:
    """Rows in memory, to be looked at like those of a dataset."""
    columns = tuple(Column(one.name, one.type, key) for key, one in enumerate(rows.schema))
    segment = MemorySegment.of(rows.rename_columns([str(column.key) for column in columns]))
    return Snapshot(name, columns, (segment,), ("rows", next(_numbers)))


def joined_snapshot(one: Snapshot, other: Snapshot) -> Snapshot:
    """The rows of both, of which the columns are the same."""
    segments = (*one.segments, *other.segments)
    return Snapshot(
        one.name, one.columns, segments, ("joined", one.token, other.token), keeps=(one.keeps, other.keeps)
    )


def project(snapshot: Snapshot, names: Iterable[str] | None, flatten: bool = False) -> tuple[Column, ...]:
    """The columns, or fields inside them, of these names; all columns for None.

    A column whose own name holds dots comes before a path. `flatten` puts the fields of a struct in its place
    by their paths. Raises `UnknownColumn`, and `BadData` where two then have one name.
    """
    columns = snapshot.columns if names is None else tuple(named(snapshot, name) for name in names)
    if not flatten:
        return columns
    flat = tuple(dict.fromkeys(leaf for column in columns for leaf in _leaves(column)))
    _refuse_twice(snapshot, flat)
    return flat


def named(snapshot: Snapshot, name: str) -> Column:
    """The column, or the field inside one, of this name; raises `UnknownColumn`."""
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
    """A struct without fields stays as it is."""
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
            f"{snapshot.name}: flattened, two columns would be called '{twice[0]}'",
            "A column has the name that a field inside another one gets",
            "Rename one of them, or read it without flatten",
        )


@dataclass(frozen=True)
class SortKey:
    """Nulls come last in both directions; NaN counts as greater than every number."""

    column: str
    descending: bool = False
