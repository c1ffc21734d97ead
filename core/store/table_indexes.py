"""The indexes of a table. They belong to the table, not to a version: undo leaves them, and earlier versions
are found by them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.arguments import names_of
from core.errors import BadData, ReadOnlyStore
from core.index.registry import Index, Options, entry_of, index_of, kind_of
from core.jobs import Job
from core.scan.snapshot import Column
from core.store.handle import TableHandle
from core.store.state import State


@dataclass(frozen=True)
class TableIndex:
    """An index as it is now: its columns by their present names."""

    columns: tuple[str, ...]
    kind: str
    options: Options = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        told = [f"{name}={value!r}" for name, value in self.options.items() if value is not None]
        return ", ".join([f"{self.kind} index on {', '.join(self.columns)}", *told])


class TableIndexes(TableHandle):
    """Every commit keeps indexes true. What of them is missing or damaged is made anew when it is needed."""

    @property
    def indexes(self) -> list[TableIndex]:
        """Those whose columns the table has now, the first made first."""
        state = self._reader.current()
        return [_described(index, state) for index in self._listed(state)]

    def create_index(
        self, columns: str | Sequence[str], kind: str = "sorted", job: Job | None = None, **options: Any
    ) -> TableIndex:
        """Make an index for the rows that are there, and for all that come; it makes no version.

        `sorted` is of one column and serves equality, ranges, lists, beginnings of text, null, and sorts with
        a limit. Cancelled, or failed, it leaves nothing.

        Raises `UnknownColumn`, `UnknownName` for a kind, and `BadData` for columns that the kind cannot
        index and for an index that is there.
        """
        if self.store.read_only:
            raise ReadOnlyStore(f"{self.store.path}: the store is open read-only", fix="Open it for writing")
        made_by, work, state = kind_of(kind), job or Job(), self._reader.current()
        chosen = [_own(state, name) for name in names_of(columns, f"{self.name}: create_index")]
        index = Index(
            kind, tuple(c.key for c in chosen), made_by.checked(state.row.name, chosen, options)
        )  # fmt: skip
        self._refuse_twice(state, index)
        place = self._reader.indexes.place
        try:
            made_by.make(place, index, state.snapshot, work)
            work.check()
        except BaseException:
            if index not in self._entered():
                made_by.drop(place, index)
            raise
        self._enter(index)
        self._writer.index_new_files(Job())
        return _described(index, self._reader.current())

    def drop_index(self, columns: str | Sequence[str], kind: str = "sorted") -> None:
        """Remove the index of this kind on these columns; raises `BadData` where there is none."""
        names, state = names_of(columns, f"{self.name}: drop_index"), self._reader.current()
        for index in self._listed(state):
            if index.kind == kind and list(_described(index, state).columns) == names:
                break
        else:
            raise self._no_index(names, kind)
        with self.store.catalog.transaction() as transaction:
            transaction.drop_index(self.table_id, *entry_of(index)[:2])
            transaction.next_generation(self.table_id)
        self._reader.current()
        self._reader.indexes.forget(index)
        kind_of(kind).drop(self._reader.indexes.place, index)

    def _listed(self, state: State) -> list[Index]:
        present = state.column_entries.keys()
        return [index for index in self._entered() if present >= set(index.keys)]

    def _entered(self) -> list[Index]:
        return [index_of(*told) for told in self.store.catalog.indexes(self.table_id)]

    def _enter(self, index: Index) -> None:
        with self.store.catalog.transaction() as transaction:
            if not transaction.add_index(self.table_id, entry_of(index)):
                raise self._twice(_described(index, self._reader.current()))
            transaction.next_generation(self.table_id)

    def _refuse_twice(self, state: State, index: Index) -> None:
        for known in self._listed(state):
            if (known.kind, known.keys) == (index.kind, index.keys):
                raise self._twice(_described(known, state))

    def _twice(self, index: TableIndex) -> BadData:
        return BadData(f"{self.name} has a {index} already", fix="Drop it first to make it another way")

    def _no_index(self, names: Sequence[str], kind: str) -> BadData:
        there = "; ".join(map(str, self.indexes))
        return BadData(
            f"{self.name} has no {kind} index on {', '.join(names)}",
            fix=f"There is: {there}" if there else "It has no indexes",
        )


def _own(state: State, name: str) -> Column:
    """Raises `UnknownColumn`, and `BadData` for `_id`, by which rows are found anyway."""
    column = state.snapshot.column(name)
    if column.key not in state.column_entries:
        raise BadData(f"{state.row.name}: '{name}' needs no index", "rows are found by it anyway")
    return column


def _described(index: Index, state: State) -> TableIndex:
    names = {column.key: column.name for column in state.columns}
    return TableIndex(tuple(names.get(key, f"column {key}") for key in index.keys), index.kind, index.options)
