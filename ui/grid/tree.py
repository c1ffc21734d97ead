"""Groups as a tree, as rows of a grid: those of the first key, and what is open in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.nested import python_values
from lamella.core.query.group_levels import Arrangement, GroupLevels
from lamella.core.query.view import fetch
from lamella.core.scan.snapshot import Snapshot, project
from lamella.ui import theme

OpenGroups = tuple[np.ndarray, ...]
"""Of each level but the last, by the number of a group in it, whether the group is open."""


def none_open(levels: GroupLevels) -> OpenGroups:
    return tuple(np.zeros(level.num_rows, bool) for level in levels.levels[:-1])


def all_open(levels: GroupLevels) -> OpenGroups:
    return tuple(np.ones(level.num_rows, bool) for level in levels.levels[:-1])


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
    level has no value in the key columns of the levels below it. `page` may be called from any thread."""

    def __init__(
        self, levels: GroupLevels, arrangement: Arrangement, schema: pa.Schema, opened: OpenGroups
    ) -> None:
        """Takes a moment where there are many groups: call it on a worker."""
        self.levels, self.schema, self.opened = levels, schema, opened
        self._arrangement = arrangement
        self._level, self._group = arrangement.rows(opened)
        names = schema.names
        self.key_columns = tuple(names.index(key) for key in levels.keys)
        """The columns of the keys, the first one first."""
        self.first_levels = tuple(map(self.first_level, names))

    def with_open(self, opened: OpenGroups) -> TreeRows:
        """The same groups in the same order, others of them open."""
        return TreeRows(self.levels, self._arrangement, self.schema, opened)

    @property
    def num_rows(self) -> int:
        return len(self._level)

    @cached_property
    def most_rows(self) -> int:
        """With all groups open."""
        return sum(len(groups) for groups in self._arrangement.groups)

    @property
    def last_level(self) -> int:
        return len(self.levels.keys) - 1

    def level(self, row: int) -> int:
        return int(self._level[row])

    def is_open(self, row: int) -> bool | None:
        """None for a group that has none below it."""
        level = int(self._level[row])
        return bool(self.opened[level][self._group[row]]) if level < self.last_level else None

    def first_level(self, name: str) -> int:
        """That from which on a column has values: keys have them from their own on, and figures from the
        first on unless they are computed of keys."""
        return next((n for n, one in enumerate(self.levels.levels) if name in one.types), self.last_level)

    def keys_of(self, row: int) -> tuple[str, ...]:
        """Those that a row has values of."""
        return self.levels.keys[: self.level(row) + 1]

    def with_group(self, row: int, is_open: bool, opened: OpenGroups) -> OpenGroups:
        """Those and the group of a row, or those without it."""
        level = self.level(row)
        changed = [one.copy() if place == level else one for place, one in enumerate(opened)]
        if level < self.last_level:
            changed[level][self._group[row]] = is_open
        return tuple(changed)

    def parent(self, row: int) -> int:
        """The row of the group that a row lies in; the row itself on the first level."""
        above = np.flatnonzero(self._level[:row] < self._level[row])
        return int(above[-1]) if len(above) and self._level[row] else row

    def row_of(self, other: TreeRows, row: int) -> int:
        """Where a row of the same tree with others open stands here, or the group in which it is closed."""
        level, group = other.level(row), int(other._group[row])
        while True:
            found = np.flatnonzero((self._level == level) & (self._group == group))
            if len(found) or level == 0:
                return int(found[0]) if len(found) else min(row, max(0, self.num_rows - 1))
            level, group = level - 1, int(self.levels.parents[level - 1][group])

    def has_value(self, offset: int, count: int, name: str) -> np.ndarray:
        """Which of the rows have a value in a column."""
        return np.asarray(self._level[offset : offset + count] >= self.first_level(name))

    def can_be_filtered(self, offset: int, count: int, name: str) -> np.ndarray:
        """Which of the rows have a value that a filter finds: filters are of innermost groups."""
        if name in self.levels.keys:
            return self.has_value(offset, count, name)
        return np.asarray(self._level[offset : offset + count] == self.last_level)

    def has_subtotals(self, offset: int, count: int) -> bool:
        return bool((self._level[offset : offset + count] < self.last_level).any())

    def is_counted(self, top: int, bottom: int) -> np.ndarray:
        """Which of the rows add up to what all of them hold, each of its rows counted once: a group whose own
        groups follow among them is left out."""
        below = self._level[top + 1 : bottom + 1] > self._level[top:bottom]
        return np.append(~below, True)

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
        order = np.empty(len(levels), np.int64)
        order[np.concatenate(places)] = np.arange(len(levels))
        return pa.concat_tables(parts).unify_dictionaries().take(pa.array(order))

    def _rows_of(self, level: int, groups: np.ndarray, names: Sequence[str]) -> pa.Table:
        snapshot, types = self.levels.levels[level], self.levels.levels[-1].types
        known = project(snapshot, [name for name in dict.fromkeys(names) if name in snapshot.types])
        rows = fetch(snapshot, groups, known)
        made = [
            rows.column(name).cast(types[name])
            if name in snapshot.types
            else pa.chunked_array([pa.nulls(len(groups), types[name])])
            for name in names
        ]
        return pa.table(made, schema=pa.schema([pa.field(name, types[name]) for name in names]))
