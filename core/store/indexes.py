"""The indexes of a table: they belong to the table, not to a version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from lamella.core.errors import BadData, ReadOnlyStore
from lamella.core.index.definition import Index, Options
from lamella.core.index.registry import entry_of, index_of, kind_of
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, FileSegment, project
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.folder import disk_problems
from lamella.core.store.table_version import Reader, TableVersion
from lamella.core.validation import names_of, text_of


@dataclass(frozen=True)
class TableIndex:
    """An index, with the current names of its columns."""

    columns: tuple[str, ...]
    kind: str
    options: Options = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        options = [f"{name}={value!r}" for name, value in self.options.items() if value is not None]
        return ", ".join([f"{self.kind} index on {', '.join(self.columns)}", *options])


@dataclass(frozen=True)
class IndexStatus:
    """The state of an index: `built` of `data_files` are indexed, with `rows` live rows; bytes on disk;
    live `pending_rows` that are searched in memory; and when it was last used, in UTC, if known."""

    index: TableIndex
    num_bytes: int
    rows: int
    pending_rows: int
    built: int
    data_files: int
    last_used: dt.datetime | None

    @property
    def is_complete(self) -> bool:
        return self.built == self.data_files


def catalog_indexes(catalog: Catalog, table_id: int) -> list[Index]:
    """All indexes of a table, in the order of their creation."""
    return [index_of(catalog.path, *row) for row in catalog.indexes(table_id)]


def indexes_of_table(catalog: Catalog, state: TableVersion) -> list[Index]:
    """The indexes whose columns the table has at a version."""
    present = state.column_entries.keys()
    return [index for index in catalog_indexes(catalog, state.row.table_id) if present >= set(index.keys)]


def describe(index: Index, state: TableVersion) -> TableIndex:
    names = {column.key: column.name for column in state.columns}
    return TableIndex(tuple(names.get(key, f"column {key}") for key in index.keys), index.kind, index.options)


def follow(catalog: Catalog, before: TableVersion, after: TableVersion) -> bool:
    """Enter the indexes of replaced columns for the new columns of the same name too, where these can have
    such an index; return whether there were any."""
    keys = {column.name: column.key for column in after.columns}
    moved = {column.key: keys.get(column.name, column.key) for column in before.columns}
    indexes = [_following(index, moved, after) for index in indexes_of_table(catalog, before)]
    following = [index for index in indexes if index is not None]
    if following:
        with catalog.transaction() as transaction:
            for index in following:
                transaction.add_index(after.row.table_id, entry_of(index))
            transaction.next_generation(after.row.table_id)
    return bool(following)


def _following(index: Index, moved: Mapping[int, int], after: TableVersion) -> Index | None:
    keys = tuple(moved[key] for key in index.keys)
    if keys == index.keys:
        return None
    columns = [next(column for column in after.columns if column.key == key) for key in keys]
    try:
        kind_of(index.kind).check_options(after.row.name, columns, index.options)
    except BadData:
        return None
    return replace(index, keys=keys)


class Indexes(Sequence[TableIndex]):
    """The indexes of a table whose columns it has now, in the order of their creation:
    `table.indexes.create("carrier")`.

    Every commit keeps them current. Missing or damaged parts are rebuilt when they are needed.
    """

    __slots__ = ("_catalog", "_index_new_files", "_reader")

    def __init__(self, catalog: Catalog, reader: Reader, index_new_files: Callable[[Job], None]) -> None:
        self._catalog, self._reader, self._index_new_files = catalog, reader, index_new_files

    def __repr__(self) -> str:
        return f"<Indexes of '{self._reader.last_name}'>"

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __iter__(self) -> Iterator[TableIndex]:
        state = self._reader.current()
        return iter([describe(index, state) for index in indexes_of_table(self._catalog, state)])

    @overload
    def __getitem__(self, place: int) -> TableIndex: ...

    @overload
    def __getitem__(self, place: slice) -> list[TableIndex]: ...

    def __getitem__(self, place: int | slice) -> TableIndex | list[TableIndex]:
        return list(iter(self))[place]

    def create(
        self, columns: str | Sequence[str], kind: str = "sorted", job: Job | None = None, **options: Any
    ) -> TableIndex:
        """Create an index for existing and future rows; it makes no version.

        `sorted` is for one column and serves equality, ranges, lists, prefixes of text, null, and sorting
        with a limit. `fulltext` is for columns of text, for `table.search`, with `language=` (English, or
        None for words as they are) and `weights=` by column. If cancelled or failed, it leaves nothing
        behind.

        The table may change meanwhile: if a column is cast, it starts over. Raises `UnknownColumn`, also for
        a column that is dropped meanwhile, `UnknownName` for an unknown kind, and `BadData` for columns that
        the kind cannot index and for an index that already exists.
        """
        if self._catalog.read_only:
            raise ReadOnlyStore(
                f"{self._catalog.path.parent}: the store is open read-only", fix="Open it for writing"
            )
        names, work = names_of(columns, f"{self._name}: indexes.create"), job or Job()
        index = self._create(names, kind, options, work)
        while index is None:
            index = self._create(names, kind, options, work)
        now = self._reader.current()
        self._index_new_files(Job())
        return describe(index, now)

    def _create(self, names: Sequence[str], kind: str, options: Mapping[str, Any], job: Job) -> Index | None:
        """Create an index; return None, leaving nothing behind, if the columns were replaced meanwhile."""
        made_by, state, place = kind_of(kind), self._reader.current(), self._reader.indexes.place
        indexed = [_own_column(state, name) for name in names]
        keys = tuple(column.key for column in indexed)
        index = Index(kind, keys, made_by.check_options(state.row.name, indexed, options))
        self._refuse_twice(state, index)
        try:
            with disk_problems(place.folder):
                made_by.make(place, index, state.snapshot, job)
            job.check()
            if is_there := self._reader.current().column_entries.keys() >= set(keys):
                self._enter(index)
        except BaseException:
            if index not in catalog_indexes(self._catalog, self._reader.table_id):
                made_by.drop(place, index)
            raise
        if not is_there:
            made_by.drop(place, index)
        return index if is_there else None

    def status(self) -> list[IndexStatus]:
        """The state of each index, in the order of their creation. Looks at the files, but does not read
        them."""
        state = self._reader.current()
        return [self._status(index, state) for index in indexes_of_table(self._catalog, state)]

    def _status(self, index: Index, state: TableVersion) -> IndexStatus:
        indexes, snapshot = self._reader.indexes, state.snapshot
        kind, place = kind_of(index.kind), indexes.place
        rows = pending = num_bytes = built = data_files = end = 0
        for segment in snapshot.segments:
            start, end = end, end + segment.num_rows
            first, last = np.searchsorted(snapshot.deleted_positions, (start, end)).tolist()
            live = segment.num_rows - (last - first)
            if not isinstance(segment, FileSegment):
                pending += live
                continue
            path = kind.path(place, index, segment, snapshot)
            data_files += path is not None
            if path is None or path.exists():
                built += path is not None
                rows += live
            num_bytes += 0 if path is None else _size_of(path)
        last_used = indexes.usage.last_use(index.stem)
        return IndexStatus(describe(index, state), num_bytes, rows, pending, built, data_files, last_used)

    def drop(self, columns: str | Sequence[str], kind: str = "sorted") -> None:
        """Remove the index of this kind on these columns; raises `BadData` where there is none."""
        names, state = names_of(columns, f"{self._name}: indexes.drop"), self._reader.current()
        for index in indexes_of_table(self._catalog, state):
            if index.kind == kind and list(describe(index, state).columns) == names:
                break
        else:
            raise self._no_index(names, kind)
        with self._catalog.transaction() as transaction:
            transaction.drop_index(self._reader.table_id, *entry_of(index)[:2])
            transaction.next_generation(self._reader.table_id)
        self._reader.current()
        self._reader.indexes.forget(index)
        kind_of(kind).drop(self._reader.indexes.place, index)

    @property
    def _name(self) -> str:
        return self._reader.current().row.name

    def _enter(self, index: Index) -> None:
        with self._catalog.transaction() as transaction:
            if not transaction.add_index(self._reader.table_id, entry_of(index)):
                raise self._twice(describe(index, self._reader.current()))
            transaction.next_generation(self._reader.table_id)

    def _refuse_twice(self, state: TableVersion, index: Index) -> None:
        for definition in indexes_of_table(self._catalog, state):
            if (definition.kind, definition.keys) == (index.kind, index.keys):
                raise self._twice(describe(definition, state))

    def _twice(self, index: TableIndex) -> BadData:
        return BadData(f"{self._name} already has a {index}", fix="Drop it first to create it differently")

    def _no_index(self, names: Sequence[str], kind: str) -> BadData:
        listing = "; ".join(map(str, self))
        text_of(kind, f"{self._name}: the kind of index")
        return BadData(
            f"{self._name} has no {kind} index on {', '.join(names)}",
            fix=f"There is: {listing}" if listing else "It has no indexes",
        )


def _size_of(path: Path) -> int:
    """The size of a file, or of all files in a folder; files removed meanwhile count as 0."""
    try:
        files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files)
    except OSError:
        return 0


def _own_column(state: TableVersion, name: str) -> Column:
    """Return the column to index. Raises `UnknownColumn`, and `BadData` for a field inside a column, and for
    `_id`, which needs no index."""
    (column,) = project(state.snapshot, [name])
    if column.path:
        raise BadData(
            f"{state.row.name}: '{name}' cannot have an index",
            "it is a field inside a column, and indexes are for whole columns",
            "Add a column that holds its values",
        )
    if column.key not in state.column_entries:
        raise BadData(f"{state.row.name}: '{name}' needs no index", "rows are found by it without one")
    return column
