"""The expected state of a table after any changes: rows as dicts, and a full copy of every version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Content:
    """A table at a version: its columns in order, each with the kind of its values, its rows by `_id`, and
    the defaults of new rows that leave a column out."""

    kinds: Mapping[str, str]
    rows: Mapping[int, Row]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def read(self, ids: Iterable[int] | None = None) -> list[Row]:
        """The rows as `table.read().to_pylist()` gives them, in `_id` order."""
        chosen = sorted(self.rows if ids is None else ids)
        return [{"_id": i, **{name: self.rows[i][name] for name in self.kinds}} for i in chosen]

    def ids_where(self, holds: Callable[[Row], bool]) -> list[int]:
        return sorted(i for i, row in self.rows.items() if holds(row))

    def named(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def with_column(self, name: str, kind: str, value: object = None) -> Content:
        rows = {i: {**row, name: value} for i, row in self.rows.items()}
        return Content({**self.kinds, name: kind}, rows, {**self.defaults, name: value})

    def with_order(self, names: Sequence[str]) -> Content:
        """The table with only these columns, in this order."""
        rows = {i: {name: row[name] for name in names} for i, row in self.rows.items()}
        defaults = {name: value for name, value in self.defaults.items() if name in names}
        return Content({name: self.kinds[name] for name in names}, rows, defaults)

    def renamed(self, names: Mapping[str, str]) -> Content:
        rows = {i: {names.get(k, k): v for k, v in row.items()} for i, row in self.rows.items()}
        defaults = {names.get(name, name): value for name, value in self.defaults.items()}
        return Content({names.get(k, k): v for k, v in self.kinds.items()}, rows, defaults)

    def cast(self, name: str, kind: str, convert: Callable[[Any], Any]) -> Content:
        cells = {i: None if row[name] is None else convert(row[name]) for i, row in self.rows.items()}
        changed = {i: {name: cell} for i, cell in cells.items()}
        default = self.defaults.get(name)
        defaults = {**self.defaults, name: None if default is None else convert(default)}
        return Content({**self.kinds, name: kind}, self.rows, defaults).with_rows(changed)

    def with_rows(self, rows: Mapping[int, Row]) -> Content:
        """Rows are added, or replaced in the columns given."""
        new = {**dict.fromkeys(self.kinds), **self.defaults}
        merged = {i: {**new, **self.rows.get(i, {}), **row} for i, row in rows.items()}
        return Content(self.kinds, {**self.rows, **merged}, self.defaults)

    def without(self, ids: Iterable[int]) -> Content:
        gone = set(ids)
        return Content(self.kinds, {i: row for i, row in self.rows.items() if i not in gone}, self.defaults)

    def duplicates(self, names: Sequence[str], keep: str) -> list[int]:
        """Ids of the duplicates in these columns: all equal rows but the first or last."""
        first_ids: dict[tuple[object, ...], int] = {}
        for i in sorted(self.rows, reverse=keep == "last"):
            first_ids.setdefault(tuple(self.rows[i][name] for name in names), i)
        return sorted(self.rows.keys() - first_ids.values())


@dataclass(frozen=True)
class Past:
    """The state that an undo or redo returns to, and the number of the transaction over several tables that
    is undone or redone, 0 for none."""

    content: Content
    together: int = 0


@dataclass
class History:
    """Every version of a table that is kept, and what undo and redo go back and forth between. `given_ids` is
    the last `_id` that a row got; `expired` whether there were versions once that are gone."""

    versions: dict[int, Content]
    now: Content
    version: int
    given_ids: int
    undone: list[Past] = field(default_factory=list)
    done: list[Past] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    expired: bool = False

    def changed(self, *contents: Content, together: int = 0) -> None:
        """Commits in order that are undone together."""
        self.done.append(Past(self.now, together))
        self.undone.clear()
        for content in contents:
            self._next(content)

    def way(self, kind: str) -> list[Past]:
        """The versions that an undo or redo returns to, the next one last."""
        return self.done if kind == "undo" else self.undone

    def step(self, kind: str) -> None:
        past = self.way(kind).pop()
        self.way("redo" if kind == "undo" else "undo").append(Past(self.now, past.together))
        self._next(past.content)

    def expire(self, keep: int) -> list[int]:
        """The versions that expire if this many, and named ones, are kept."""
        gone = [version for version in sorted(self.versions)[:-keep] if version not in self.names.values()]
        for version in gone:
            del self.versions[version]
        self.expired = self.expired or bool(gone)
        return gone

    def of_copy(self) -> History:
        """A table with the same rows, whose history begins at this version."""
        return History({self.version: self.now}, self.now, self.version, self.given_ids)

    def _next(self, content: Content) -> None:
        self.now, self.version = content, self.version + 1
        self.versions[self.version] = content
