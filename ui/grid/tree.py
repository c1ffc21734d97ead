"""Groups as a tree, as rows of a grid: those of the first key, and what is open in them: groups by the next
key, and in those of the last level the rows that they were made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.nested import python_value, python_values
from lamella.core.arrow.types import ID
from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.group_levels import Arrangement, GroupLevels
from lamella.core.query.view import View, fetch
from lamella.core.scan.snapshot import Snapshot, project
from lamella.ui import theme

OpenGroups = tuple[np.ndarray, ...]
"""Of each level, by the number of a group in it, whether the group is open: those of the last level open into
rows."""
GroupView = View | ComputedView
FindRows = Callable[[Mapping[str, Any], Job], GroupView]
"""The rows of a group, by the values of its keys. Blocks."""

MOST_INSIDE = 2_000_000
"""Rows of a group that are shown in place."""


def none_open(levels: GroupLevels) -> OpenGroups:
    return tuple(np.zeros(level.num_rows, bool) for level in levels.levels)


def all_open(levels: GroupLevels) -> OpenGroups:
    """Of groups that have others below them; rows are opened one group at a time."""
    return (*(np.ones(level.num_rows, bool) for level in levels.levels[:-1]), none_open(levels)[-1])


MOST_COMPARED = 100_000
"""Of levels with more groups none is opened again."""


def open_again(before: GroupLevels, opened: OpenGroups, levels: GroupLevels) -> OpenGroups:
    """The groups, of other rows or with other figures, whose keys are those of groups that were open before.
    Blocks."""
    if before.keys != levels.keys:
        return none_open(levels)
    pairs = zip(before.levels, opened, levels.levels, strict=False)
    return tuple(
        _with_keys_of(old, was_open, new, levels.keys[: place + 1])
        for place, (old, was_open, new) in enumerate(pairs)
    )


def _with_keys_of(old: Snapshot, was_open: np.ndarray, new: Snapshot, keys: tuple[str, ...]) -> np.ndarray:
    if not was_open.any() or max(old.num_rows, new.num_rows) > MOST_COMPARED:
        return np.zeros(new.num_rows, bool)
    known = set(_key_texts(old, np.flatnonzero(was_open), keys))
    return np.array([text in known for text in _key_texts(new, np.arange(new.num_rows), keys)], bool)


def _key_texts(level: Snapshot, groups: np.ndarray, keys: tuple[str, ...]) -> list[str]:
    """As Python writes them, so that null and NaN are told apart and found again."""
    rows = fetch(level, groups, project(level, keys))
    return [repr(values) for values in zip(*map(python_values, rows.columns), strict=True)]


ARROW = 14
"""Of a group that can be opened."""


def arrow_room() -> int:
    """The width of an arrow, with the gap to the text behind it."""
    return theme.current().px(ARROW) + theme.XS


class TreeRows:
    """Rows are numbers of those that are shown now; with other groups open it is another object. A row of a
    level has no value in the key columns of the levels below it; a row inside a group of the last level has
    those of its own columns, which stand behind the others. `page` may be called from any thread."""

    def __init__(
        self,
        levels: GroupLevels,
        arrangement: Arrangement,
        schema: pa.Schema,
        opened: OpenGroups,
        find: FindRows | None = None,
        inside: Mapping[int, GroupView] | None = None,
        job: Job | None = None,
    ) -> None:
        """`find` opens groups of the last level; `inside` has what it found before, by the numbers of the
        groups. Takes a moment where there are many groups: call it on a worker."""
        self.levels, self.opened = levels, opened
        self._arrangement, self._groups_schema, self._find = arrangement, schema, find
        self._level, self._group = arrangement.rows(opened[:-1])
        self._starts, self.inside = np.empty(0, np.int64), dict[int, GroupView]()
        self.schema = schema
        if find is not None and opened[-1].any():
            self._open_rows(find, inside or {}, job or Job())
        names = self.schema.names
        self.key_columns = tuple(names.index(key) for key in levels.keys)
        """The columns of the keys, the first one first."""
        self.first_levels = tuple(map(self.first_level, names))
        self.last_levels = tuple(map(self.last_level_of, names))

    def _open_rows(self, find: FindRows, known: Mapping[int, GroupView], job: Job) -> None:
        """Put the rows of open groups behind these."""
        innermost = np.flatnonzero(self._level == self.last_level)
        heads = innermost[self.opened[-1][self._group[innermost]]]
        for group in self._group[heads].tolist():
            job.check()
            self.inside[group] = known[group] if group in known else find(self._keys_of_group(group), job)
        counts = np.ones(len(self._level), np.int64)
        sizes = [self.inside[group].num_rows for group in self._group[heads].tolist()]
        if sum(sizes) > MOST_INSIDE:
            raise BadQuery(
                f"The rows of these groups are not shown in place: they are {sum(sizes):,}",
                f"At most {MOST_INSIDE:,} are",
                "Press Enter on the group to see its rows alone",
            )
        counts[heads] += sizes
        firsts = np.cumsum(counts) - counts
        self._level, self._group = np.repeat(self._level, counts), np.repeat(self._group, counts)
        is_inside = np.ones(len(self._level), bool)
        is_inside[firsts] = False
        self._level[is_inside] = self.last_level + 1
        self._starts = firsts[heads] + 1
        fields = [field for view in self.inside.values() for field in view.schema]
        for field in fields:
            if field.name != ID and field.name not in self.schema.names:
                self.schema = self.schema.append(field)

    def _keys_of_group(self, group: int) -> dict[str, Any]:
        keys = list(self.levels.keys)
        rows = fetch(self.levels.levels[-1], np.array([group]), project(self.levels.levels[-1], keys))
        return {key: python_value(rows.column(key)[0]) for key in keys}

    def with_open(self, opened: OpenGroups, job: Job | None = None) -> TreeRows:
        """The same groups in the same order, others of them open."""
        return TreeRows(
            self.levels, self._arrangement, self._groups_schema, opened, self._find, self.inside, job
        )

    @property
    def opens_rows(self) -> bool:
        """Whether groups of the last level can be opened."""
        return self._find is not None

    @property
    def opening_columns(self) -> tuple[int, ...]:
        """The columns with arrows."""
        return self.key_columns if self.opens_rows else self.key_columns[:-1]

    @property
    def num_rows(self) -> int:
        return len(self._level)

    @cached_property
    def most_rows(self) -> int:
        """With all groups open that hold others, and those rows that are shown."""
        return sum(map(len, self._arrangement.groups)) + sum(one.num_rows for one in self.inside.values())

    @property
    def last_level(self) -> int:
        return len(self.levels.keys) - 1

    def level(self, row: int) -> int:
        """One more than the last for a row inside a group."""
        return int(self._level[row])

    def is_open(self, row: int) -> bool | None:
        """None for what has nothing below it."""
        level = int(self._level[row])
        last = self.last_level if self.opens_rows else self.last_level - 1
        return bool(self.opened[level][self._group[row]]) if level <= last else None

    def first_level(self, name: str) -> int:
        """That from which on a column has values: keys have them from their own on, figures from the first
        on unless they are computed of keys, and columns of rows inside a group there."""
        levels = self.levels.levels
        return next((n for n, one in enumerate(levels) if name in one.types), self.last_level + 1)

    def last_level_of(self, name: str) -> int:
        """That up to which a column has values: figures are of groups alone."""
        is_figure = name in self._groups_schema.names and name not in self.levels.keys
        return self.last_level if is_figure else self.last_level + 1

    def shows(self, row: int, column: int) -> bool:
        """Whether a row has a value in a column."""
        return self.first_levels[column] <= self._level[row] <= self.last_levels[column]

    def has_gaps(self, column: int) -> bool:
        """Whether some rows have no value in a column."""
        return bool(self.inside) or column in self.key_columns or self.first_levels[column] > 0

    def keys_of(self, row: int) -> tuple[str, ...]:
        """Those that a row has values of."""
        return self.levels.keys[: self.level(row) + 1]

    def with_group(self, row: int, is_open: bool, opened: OpenGroups) -> OpenGroups:
        """Those and the group of a row, or those without it."""
        level = self.level(row)
        changed = [one.copy() if place == level else one for place, one in enumerate(opened)]
        if self.is_open(row) is not None:
            changed[level][self._group[row]] = is_open
        return tuple(changed)

    def parent(self, row: int) -> int:
        """The row of the group that a row lies in; the row itself on the first level."""
        above = np.flatnonzero(self._level[:row] < self._level[row])
        return int(above[-1]) if len(above) and self._level[row] else row

    def row_of(self, other: TreeRows, row: int) -> int:
        """Where a row of the same tree with others open stands here, or the group in which it is closed."""
        level, group = other.level(row), int(other._group[row])
        if level > self.last_level:
            if group in self.inside:
                return int(np.flatnonzero(self._inside(group))[0]) + other._place_inside(row)
            level -= 1
        while True:
            rows = np.flatnonzero((self._level == level) & (self._group == group))
            if len(rows) or level == 0:
                return int(rows[0]) if len(rows) else min(row, max(0, self.num_rows - 1))
            level, group = level - 1, int(self.levels.parents[level - 1][group])

    def _inside(self, group: int) -> np.ndarray:
        return np.asarray((self._level > self.last_level) & (self._group == group))

    def _place_inside(self, row: int) -> int:
        """Of a row inside a group, among those of the group."""
        return row - int(self._starts[np.searchsorted(self._starts, row, side="right") - 1])

    def has_value(self, offset: int, count: int, name: str) -> np.ndarray:
        """Which of the rows have a value in a column."""
        levels = self._level[offset : offset + count]
        return np.asarray((levels >= self.first_level(name)) & (levels <= self.last_level_of(name)))

    def can_be_filtered(self, offset: int, count: int, name: str) -> np.ndarray:
        """Which of the rows have a value that a filter finds: filters are of innermost groups."""
        has_value = self.has_value(offset, count, name)
        if name in self.levels.keys:
            return has_value
        return np.asarray(has_value & (self._level[offset : offset + count] == self.last_level))

    def has_subtotals(self, offset: int, count: int) -> bool:
        return bool((self._level[offset : offset + count] < self.last_level).any())

    def is_counted(self, top: int, bottom: int) -> np.ndarray:
        """Which of the rows add up to what all of them hold, each of its rows counted once: a group whose own
        groups follow among them is left out."""
        groups = np.minimum(self._level[top : bottom + 1], self.last_level)
        return np.append(groups[1:] <= groups[:-1], True)

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        """Null stands where a row has no value."""
        names = self.schema.names if columns is None else columns
        levels, groups = self._level[offset : offset + count], self._group[offset : offset + count]
        parts: list[pa.Table] = []
        places: list[np.ndarray] = [np.empty(0, np.int64)]
        for level in range(len(self.levels.levels)):
            here = np.flatnonzero(levels == level)
            if len(here) or not parts:
                parts.append(self._rows_of(level, groups[here], names))
                places.append(here)
        inside = np.flatnonzero(levels > self.last_level)
        for group in dict.fromkeys(groups[inside].tolist()):
            here = inside[groups[inside] == group]
            parts.append(self._rows_inside(group, offset + int(here[0]), len(here), names))
            places.append(here)
        order = np.empty(len(levels), np.int64)
        order[np.concatenate(places)] = np.arange(len(levels))
        return pa.concat_tables(parts).unify_dictionaries().take(pa.array(order))

    def _rows_inside(self, group: int, first: int, count: int, names: Sequence[str]) -> pa.Table:
        view = self.inside[group]
        own = [name for name in dict.fromkeys(names) if self._is_of_rows(name) and name in view.schema.names]
        rows = view.page(self._place_inside(first), count, own) if own else None
        keys = [name for name in names if name in self.levels.keys]
        key_rows = self._rows_of(self.last_level, np.repeat(group, count), keys)
        columns = [
            rows.column(name)
            if rows is not None and name in own
            else key_rows.column(name)
            if name in keys
            else pa.chunked_array([pa.nulls(count, self._type(name))])
            for name in names
        ]
        return self._table(names, columns)

    def _is_of_rows(self, name: str) -> bool:
        return name not in self._groups_schema.names

    def _type(self, name: str) -> pa.DataType:
        types = self.levels.levels[-1].types
        return types[name] if name in types else self.schema.field(name).type

    def _table(self, names: Sequence[str], columns: Sequence[pa.ChunkedArray]) -> pa.Table:
        fields = [pa.field(name, self._type(name)) for name in names]
        return pa.table([one.cast(field.type) for one, field in zip(columns, fields, strict=True)],
                        schema=pa.schema(fields))  # fmt: skip

    def _rows_of(self, level: int, groups: np.ndarray, names: Sequence[str]) -> pa.Table:
        snapshot = self.levels.levels[level]
        known = project(snapshot, [name for name in dict.fromkeys(names) if name in snapshot.types])
        rows = fetch(snapshot, groups, known)
        columns = [
            rows.column(name)
            if name in snapshot.types
            else pa.chunked_array([pa.nulls(len(groups), self._type(name))])
            for name in names
        ]
        return self._table(names, columns)
