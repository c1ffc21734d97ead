"""What the catalog says of a table's indexes, as people see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lamella.core.errors import BadData
from lamella.core.index.registry import Index, Options, entry_of, index_of, kind_of
from lamella.core.store.catalog import Catalog
from lamella.core.store.state import State


@dataclass(frozen=True)
class TableIndex:
    """An index as it is now: its columns by their present names."""

    columns: tuple[str, ...]
    kind: str
    options: Options = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        told = [f"{name}={value!r}" for name, value in self.options.items() if value is not None]
        return ", ".join([f"{self.kind} index on {', '.join(self.columns)}", *told])


def entered(catalog: Catalog, table_id: int) -> list[Index]:
    """Every index of a table, the first made first."""
    return [index_of(*told) for told in catalog.indexes(table_id)]


def listed(catalog: Catalog, state: State) -> list[Index]:
    """Those whose columns the table has at a version."""
    present = state.column_entries.keys()
    return [index for index in entered(catalog, state.row.table_id) if present >= set(index.keys)]


def described(index: Index, state: State) -> TableIndex:
    names = {column.key: column.name for column in state.columns}
    return TableIndex(tuple(names.get(key, f"column {key}") for key in index.keys), index.kind, index.options)


def follow(catalog: Catalog, before: State, after: State) -> bool:
    """Enter the indexes of columns in whose place other ones of the same name came, for these too, where they
    can have such an index; whether there were any."""
    keys = {column.name: column.key for column in after.columns}
    moved = {column.key: keys.get(column.name, column.key) for column in before.columns}
    found = [_following(index, moved, after) for index in listed(catalog, before)]
    following = [index for index in found if index is not None]
    if following:
        with catalog.transaction() as transaction:
            for index in following:
                transaction.add_index(after.row.table_id, entry_of(index))
            transaction.next_generation(after.row.table_id)
    return bool(following)


def _following(index: Index, moved: Mapping[int, int], after: State) -> Index | None:
    keys = tuple(moved[key] for key in index.keys)
    if keys == index.keys:
        return None
    columns = [next(column for column in after.columns if column.key == key) for key in keys]
    try:
        kind_of(index.kind).checked(after.row.name, columns, index.options)
    except BadData:
        return None
    return replace(index, keys=keys)
