"""What a table should say after any changes: rows as dicts, every version kept whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Content:
    """A table at a version: the names of its columns in order, and its rows by `_id`."""

    columns: tuple[str, ...]
    rows: Mapping[int, Row]

    def read(self, ids: Iterable[int] | None = None) -> list[Row]:
        """The rows as `table.read().to_pylist()` gives them, in `_id` order."""
        chosen = sorted(self.rows if ids is None else ids)
        return [{"_id": i, **{name: self.rows[i][name] for name in self.columns}} for i in chosen]

    def ids_where(self, holds: Callable[[Row], bool]) -> list[int]:
        return sorted(i for i, row in self.rows.items() if holds(row))

    def with_columns(self, names: Iterable[str]) -> Content:
        """New columns are null, others that are missing from `names` are gone."""
        columns = tuple(names)
        rows = {i: {name: row.get(name) for name in columns} for i, row in self.rows.items()}
        return Content(columns, rows)

    def grown_by(self, names: Iterable[str]) -> Content:
        more = [name for name in names if name not in self.columns]
        return self.with_columns([*self.columns, *more]) if more else self

    def with_rows(self, rows: Mapping[int, Row]) -> Content:
        """Rows are added, or replaced in the columns given."""
        empty = dict.fromkeys(self.columns)
        merged = {i: {**empty, **self.rows.get(i, {}), **row} for i, row in rows.items()}
        return Content(self.columns, {**self.rows, **merged})

    def without(self, ids: Iterable[int]) -> Content:
        gone = set(ids)
        return Content(self.columns, {i: row for i, row in self.rows.items() if i not in gone})


@dataclass
class History:
    """Every version of a table, and what undo and redo go back and forth between."""

    versions: dict[int, Content]
    now: Content
    version: int
    undone: list[Content] = field(default_factory=list)
    done: list[Content] = field(default_factory=list)

    def changed(self, content: Content) -> None:
        self.done.append(self.now)
        self.undone.clear()
        self._next(content)

    def undo(self) -> None:
        self.undone.append(self.now)
        self._next(self.done.pop())

    def redo(self) -> None:
        self.done.append(self.now)
        self._next(self.undone.pop())

    def _next(self, content: Content) -> None:
        self.now, self.version = content, self.version + 1
        self.versions[self.version] = content
