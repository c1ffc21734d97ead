"""The names that a console can use: the tables of open stores and the open files, with their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadData, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.source import Source, Versioned, When
from lamella.core.query.sql.completion import Names, TableColumns
from lamella.core.query.sql.sources import Sources
from lamella.core.store.store import Store
from lamella.ui.tasks import Tasks

PLACE = "what is open"
_NO_NAME = re.compile(r"\W+")


@dataclass(frozen=True)
class OpenStore:
    store: Store
    name: str
    tables: tuple[str, ...]

    @property
    def key(self) -> str:
        return str(self.store.path)


@dataclass(frozen=True)
class OpenData:
    """The open stores and files. `files` maps the titles of tabs to what they show."""

    stores: tuple[OpenStore, ...] = ()
    files: tuple[tuple[str, Dataset], ...] = ()


def short_name(title: str) -> str:
    """A file's name as a SQL identifier: `trips 2024.csv` becomes `trips_2024`."""
    word = _NO_NAME.sub("_", Path(title).stem).strip("_")
    return f"_{word}" if word[:1].isdigit() else word


Find = Callable[[], Dataset]


class OpenNames(QObject):
    """The names of one console. The tables of its `store` need no prefix: `store` is its key, or empty for
    the first one. `learned` is emitted when more columns are known."""

    learned = Signal()

    def __init__(self, find: Callable[[], OpenData], tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self.store = ""
        self._find, self._tasks = find, tasks
        self._columns: dict[str, TableColumns | None] = {}

    @property
    def stores(self) -> tuple[OpenStore, ...]:
        return self._find().stores

    @property
    def current(self) -> OpenStore | None:
        stores = self.stores
        return next((store for store in stores if store.key == self.store), stores[0] if stores else None)

    def datasets(self) -> dict[str, Find]:
        """The datasets by every name that a statement can use."""
        data, current = self._find(), self.current
        datasets: dict[str, Find] = {}
        if current is not None:
            datasets |= {name: partial(current.store.__getitem__, name) for name in current.tables}
        for title, dataset in data.files:
            for name in (short_name(title), title):
                if name:
                    datasets.setdefault(name, partial(_same, dataset))
        for store in data.stores:
            for name in store.tables:
                datasets.setdefault(f"{store.name}.{name}", partial(store.store.__getitem__, name))
        return datasets

    def sources(self) -> Sources:
        """The sources of a statement: what is open now, and nothing else."""
        datasets = self.datasets()

        def find(name: str, when: When | None) -> Source:
            dataset = datasets[name]()
            if when is None:
                return dataset
            if not isinstance(dataset, Versioned):
                raise BadData(
                    f"'{name}' has no versions", fix="Leave AT (…) out: tables of a store have them"
                )
            return dataset.as_of(when)

        return Sources(PLACE, list(datasets), find)

    def names(self) -> Names:
        """The names for completions, with the columns known by now. Files are proposed by their short
        names."""
        data, current = self._find(), self.current
        tables: list[str] = list(current.tables) if current is not None else []
        tables += [short_name(title) or title for title, _dataset in data.files]
        stores = {store.name: store.tables for store in data.stores}
        tables += [f"{name}.{table}" for name, inner in stores.items() for table in inner]
        return Names({name: self._columns.get(name) for name in tables}, stores)

    def learn(self, names: Sequence[str]) -> None:
        """Read the columns of tables, except those that could not be read before."""
        unknown = [name for name in names if name not in self._columns]
        if not unknown:
            return
        datasets = self.datasets()
        self._columns |= dict.fromkeys(unknown)

        def read(job: Job) -> Mapping[str, TableColumns]:
            return {name: _columns_of(datasets[name]) for name in unknown if name in datasets}

        def show(columns: Mapping[str, TableColumns]) -> None:
            self._columns |= columns
            self.learned.emit()

        self._tasks.read(read, show, lambda _error: None, owner=self, quiet=True)

    def forget(self) -> None:
        """Forget all columns, because tables have changed; they are read again when needed."""
        self._columns.clear()


def _same(dataset: Dataset) -> Dataset:
    return dataset


def _columns_of(find: Find) -> TableColumns:
    """The columns of a table, `_id` last. A table that cannot be read has none here; querying it gives the
    error."""
    try:
        columns = [(field.name, str(field.type)) for field in find().schema]
        return TableColumns(tuple(sorted(columns, key=lambda column: column[0] == ID)))
    except LamellaError:
        return TableColumns(())
