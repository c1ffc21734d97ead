"""Groups as a tree of rows in a grid: groups by the first key, which expand into groups by the next key and,
on the last level, into the rows that they were made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.nested_values import python_value, python_values
from lamella.core.arrow.types import ID
from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.group_levels import Arrangement, GroupLevels
from lamella.core.query.view import View, fetch
from lamella.core.scan.snapshot import Snapshot, project
from lamella.ui import theme

OpenGroups = tuple[np.ndarray, ...]
"""For each level, by group number, whether the group is expanded; groups of the last level expand into
rows."""
GroupView = View | ComputedView
FindRows = Callable[[Mapping[str, Any], Job], GroupView]
"""Returns the rows of a group, by the values of its keys. Blocks."""

MOST_INSIDE = 2_000_000
"""The most rows inside groups that are shown in place."""


def none_open(levels: GroupLevels) -> OpenGroups:
    return tuple(np.zeros(level.num_rows, bool) for level in levels.levels)


def all_open(levels: GroupLevels) -> OpenGroups:
    """Expand all groups that contain groups; those that contain rows are expanded one at a time."""
    return (*(np.ones(level.num_rows, bool) for level in levels.levels[:-1]), none_open(levels)[-1])


MOST_COMPARED_GROUPS = 100_000
"""On levels with more groups than this, none is expanded again."""


def open_again(before: GroupLevels, open_groups: OpenGroups, levels: GroupLevels) -> OpenGroups:
    """Expand the groups whose keys are those of groups expanded before, although their rows or figures
    differ. Blocks."""
    if before.keys != levels.keys:
        return none_open(levels)
    pairs = zip(before.levels, open_groups, levels.levels, strict=False)
    return tuple(
        _with_keys_of(old, was_open, new, levels.keys[: place + 1])
        for place, (old, was_open, new) in enumerate(pairs)
    )


def _with_keys_of(old: Snapshot, was_open: np.ndarray, new: Snapshot, keys: tuple[str, ...]) -> np.ndarray:
    if not was_open.any() or max(old.num_rows, new.num_rows) > MOST_COMPARED_GROUPS:
        return np.zeros(new.num_rows, bool)
    open_keys = set(_key_texts(old, np.flatnonzero(was_open), keys))
    return np.array([text in open_keys for text in _key_texts(new, np.arange(new.num_rows), keys)], bool)


def _key_texts(level: Snapshot, groups: np.ndarray, keys: tuple[str, ...]) -> list[str]:
    """The keys as Python writes them, which distinguishes null from NaN and makes both comparable."""
    rows = fetch(level, groups, project(level, keys))
    return [repr(values) for values in zip(*map(python_values, rows.columns), strict=True)]


ARROW = 14
"""Pixels of the arrow of a group that can be expanded."""


def arrow_room() -> int:
    """The width of an arrow, including the gap to the text after it."""
    return theme.current().px(ARROW) + theme.XS


class TreeRows:
    """The rows that are currently shown; with other groups expanded, it is another object. The row of a level
    has no value in the key columns of the levels below it. A row inside a group of the last level has values
    in the columns of the rows, which follow the others. `page` may be called from any thread."""

    def __init__(
        self,
        levels: GroupLevels,
        arrangement: Arrangement,
        schema: pa.Schema,
        open_groups: OpenGroups,
        find: FindRows | None = None,
        inside: Mapping[int, GroupView] | None = None,
        job: Job | None = None,
    ) -> None:
        """`find` returns the rows of groups on the last level; `inside` has those it returned before, by
        group number. With many groups this takes a moment: call it on a worker."""
        self.levels, self.open_groups = levels, open_groups
        self._arrangement, self._groups_schema, self._find = arrangement, schema, find
        self._level, self._group = arrangement.rows(open_groups[:-1])
        self._starts, self.inside = np.empty(0, np.int64), dict[int, GroupView]()
        self.schema = schema
        if find is not None and open_groups[-1].any():
            self._open_rows(find, inside or {}, job or Job())
        names = self.schema.names
        self.key_columns = tuple(names.index(key) for key in levels.keys)
        """The columns of the keys, in their order."""
        self.first_levels = tuple(map(self.first_level, names))
        self.last_levels = tuple(map(self.last_level_of, names))

    def _open_rows(self, find: FindRows, group_views: Mapping[int, GroupView], job: Job) -> None:
        """Add the rows of expanded groups."""
        innermost = np.flatnonzero(self._level == self.last_level)
        heads = innermost[self.open_groups[-1][self._group[innermost]]]
        for group in self._group[heads].tolist():
            job.check()
            self.inside[group] = (
                group_views[group] if group in group_views else find(self._keys_of_group(group), job)
            )
        counts = np.ones(len(self._level), np.int64)
        sizes = [self.inside[group].num_rows for group in self._group[heads].tolist()]
        if sum(sizes) > MOST_INSIDE:
            raise BadQuery(
                f"The rows of these groups cannot be shown in place: they are {sum(sizes):,}",
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

    def with_open(self, open_groups: OpenGroups, job: Job | None = None) -> TreeRows:
        """The same groups in the same order, with others of them expanded."""
        return TreeRows(
            self.levels, self._arrangement, self._groups_schema, open_groups, self._find, self.inside, job
        )

    @property
    def opens_rows(self) -> bool:
        """Whether groups of the last level can be expanded into rows."""
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
        """The number of rows with all groups of groups expanded, including the rows inside groups that are
        shown."""
        return sum(map(len, self._arrangement.groups)) + sum(part.num_rows for part in self.inside.values())

    @property
    def last_level(self) -> int:
        return len(self.levels.keys) - 1

    def level(self, row: int) -> int:
        """The level of a row; one more than the last for a row inside a group."""
        return int(self._level[row])

    def is_open(self, row: int) -> bool | None:
        """Whether the group of a row is expanded; None if it cannot be."""
        level = int(self._level[row])
        last = self.last_level if self.opens_rows else self.last_level - 1
        return bool(self.open_groups[level][self._group[row]]) if level <= last else None

    def first_level(self, name: str) -> int:
        """The first level on which a column has values: for a key its own level, for a figure the first level
        unless it is computed from keys, and for a column of rows the level inside the groups."""
        levels = self.levels.levels
        return next((n for n, level in enumerate(levels) if name in level.types), self.last_level + 1)

    def last_level_of(self, name: str) -> int:
        """The last level on which a column has values: rows inside groups have no figures."""
        is_figure = name in self._groups_schema.names and name not in self.levels.keys
        return self.last_level if is_figure else self.last_level + 1

    def shows(self, row: int, column: int) -> bool:
        """Whether a row has a value in a column."""
        return bool(self.first_levels[column] <= self._level[row] <= self.last_levels[column])

    def has_gaps(self, column: int) -> bool:
        """Whether some rows have no value in a column."""
        return bool(self.inside) or column in self.key_columns or self.first_levels[column] > 0

    def keys_of(self, row: int) -> tuple[str, ...]:
        """The keys of which a row has values."""
        return self.levels.keys[: self.level(row) + 1]

    def with_group(self, row: int, is_open: bool, open_groups: OpenGroups) -> OpenGroups:
        """`open_groups` with the group of a row expanded or collapsed."""
        level = self.level(row)
        changed = [flags.copy() if place == level else flags for place, flags in enumerate(open_groups)]
        if self.is_open(row) is not None:
            changed[level][self._group[row]] = is_open
        return tuple(changed)

    def parent(self, row: int) -> int:
        """The row of the group that contains a row; the row itself on the first level."""
        above = np.flatnonzero(self._level[:row] < self._level[row])
        return int(above[-1]) if len(above) and self._level[row] else row

    def row_of(self, tree: TreeRows, row: int) -> int:
        """The row here of a row of `tree`, the same tree with other groups expanded; if it is hidden here,
        the row of the collapsed group that contains it."""
        level, group = tree.level(row), int(tree._group[row])
        if level > self.last_level:
            if group in self.inside:
                return int(np.flatnonzero(self._inside(group))[0]) + tree._place_inside(row)
            level -= 1
        while True:
            rows = np.flatnonzero((self._level == level) & (self._group == group))
            if len(rows) or level == 0:
                return int(rows[0]) if len(rows) else min(row, max(0, self.num_rows - 1))
            level, group = level - 1, int(self.levels.parents[level - 1][group])

    def _inside(self, group: int) -> np.ndarray:
        return np.asarray((self._level > self.last_level) & (self._group == group))

    def _place_inside(self, row: int) -> int:
        """The index of a row inside its group."""
        return row - int(self._starts[np.searchsorted(self._starts, row, side="right") - 1])

    def has_value(self, offset: int, count: int, name: str) -> np.ndarray:
        """For each of the rows, whether it has a value in a column."""
        levels = self._level[offset : offset + count]
        return np.asarray((levels >= self.first_level(name)) & (levels <= self.last_level_of(name)))

    def can_be_filtered(self, offset: int, count: int, name: str) -> np.ndarray:
        """For each of the rows, whether it has a value that can be filtered: filters apply to the innermost
        groups."""
        has_value = self.has_value(offset, count, name)
        if name in self.levels.keys:
            return has_value
        return np.asarray(has_value & (self._level[offset : offset + count] == self.last_level))

    def has_subtotals(self, offset: int, count: int) -> bool:
        return bool((self._level[offset : offset + count] < self.last_level).any())

    def is_counted(self, top: int, bottom: int) -> np.ndarray:
        """For each of the rows, whether it counts in a total over them: a group whose own groups follow among
        the rows is left out, so that no row counts twice."""
        groups = np.minimum(self._level[top : bottom + 1], self.last_level)
        return np.append(groups[1:] <= groups[:-1], True)

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        """The cells of some rows; null where a row has no value."""
        names = self.schema.names if columns is None else columns
        levels, groups = self._level[offset : offset + count], self._group[offset : offset + count]
        parts: list[pa.Table] = []
        places: list[np.ndarray] = [np.empty(0, np.int64)]
        for level in range(len(self.levels.levels)):
            places_here = np.flatnonzero(levels == level)
            if len(places_here) or not parts:
                parts.append(self._rows_of(level, groups[places_here], names))
                places.append(places_here)
        inside = np.flatnonzero(levels > self.last_level)
        for group in dict.fromkeys(groups[inside].tolist()):
            places_here = inside[groups[inside] == group]
            parts.append(self._rows_inside(group, offset + int(places_here[0]), len(places_here), names))
            places.append(places_here)
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
        return pa.table([column.cast(field.type) for column, field in zip(columns, fields, strict=True)],
                        schema=pa.schema(fields))  # fmt: skip

    def _rows_of(self, level: int, groups: np.ndarray, names: Sequence[str]) -> pa.Table:
        snapshot = self.levels.levels[level]
        group_columns = project(snapshot, [name for name in dict.fromkeys(names) if name in snapshot.types])
        rows = fetch(snapshot, groups, group_columns)
        columns = [
            rows.column(name)
            if name in snapshot.types
            else pa.chunked_array([pa.nulls(len(groups), self._type(name))])
            for name in names
        ]
        return self._table(names, columns)
