"""The names that a console can use: the tables of open stores and the open files, with their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from PySide6.QtCore import QObject, Signal

from lamella.core.arrow.types import ID, type_text
from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadData, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.source import Source, VersionedSource, VersionOrTime
from lamella.core.query.sql.completion import Names, TableColumns
from lamella.core.query.sql.information_schema import ListedTable
from lamella.core.query.sql.sources import Sources
from lamella.core.store.store import Store
from lamella.ui.tasks import Tasks
from lamella.ui.window.file_watch import Key
from lamella.ui.window.open_files import OpenFile

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
    """The open stores and files."""

    stores: tuple[OpenStore, ...] = ()
    files: tuple[OpenFile, ...] = ()

    def store(self, key: str) -> OpenStore | None:
        """The store of this key, or the first one."""
        first = self.stores[0] if self.stores else None
        return next((store for store in self.stores if store.key == key), first)

    def name_of(self, key: Key, store: str = "") -> str:
        """The short name of an open file, in a console on the store of this key."""
        current = self.store(store)
        table_names = () if current is None else current.tables
        names = zip(short_names(self.files, table_names), self.files, strict=True)
        return next(name for name, file in names if file.key == key)


def short_names(files: Sequence[OpenFile], table_names: Iterable[str]) -> list[str]:
    """A name for each file that is a SQL identifier, and that no other file and none of `table_names` has:
    `trips_2024` for `trips 2024.csv`, or `trips_2024_csv` if that is taken. A table of a file is called as it
    is in the file."""
    used, names = {name.casefold() for name in table_names}, []
    for file in files:
        name = next(name for name in _candidates(file) if name and name.casefold() not in used)
        used.add(name.casefold())
        names.append(name)
    return names


def _candidates(file: OpenFile) -> Iterator[str]:
    whole = as_word(f"{file.stem} {file.table}" if file.table else file.name)
    yield from (as_word(file.table or file.stem), whole)
    yield from (f"{whole or 'file'}_{number}" for number in count(2))


def as_word(text: str) -> str:
    """A text as a SQL identifier."""
    word = _NO_NAME.sub("_", text).strip("_")
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
        return self._find().store(self.store)

    def datasets(self) -> dict[str, Find]:
        """The datasets by every name that a statement can use."""
        data, current = self._find(), self.current
        datasets: dict[str, Find] = {}
        if current is not None:
            datasets |= {name: partial(current.store.__getitem__, name) for name in current.tables}
        for name, file in self._files(data):
            datasets[name] = partial(_read, file)
        for file in data.files:
            names = (file.table or file.stem, file.title, *([_dotted_name(file)] if file.table else []))
            for name in names:
                datasets.setdefault(name, partial(_read, file))
        for store in data.stores:
            for name in store.tables:
                datasets.setdefault(f"{store.name}.{name}", partial(store.store.__getitem__, name))
        return datasets

    def sources(self) -> Sources:
        """The sources of a statement: what is open now, and nothing else."""
        datasets = self.datasets()

        def find(name: str, when: VersionOrTime | None) -> Source:
            dataset = datasets[name]()
            if when is None:
                return dataset
            if not isinstance(dataset, VersionedSource):
                raise BadData(
                    f"'{name}' has no versions", fix="Leave AT (…) out: tables of a store have them"
                )
            return dataset.as_of(when)

        return Sources(PLACE, list(datasets), find, listing=self._listing())

    def _listing(self) -> list[ListedTable]:
        """Each open table and file once, without the name of its store where it needs none."""
        data = self._find()
        current = data.store(self.store)
        own = [] if current is None else [ListedTable(name, current.name) for name in current.tables]
        files = [ListedTable(name) for name, _file in self._files(data)]
        others = [
            ListedTable(f"{store.name}.{name}", store.name)
            for store in data.stores
            if current is not None and store.key != current.key
            for name in store.tables
        ]
        return [*own, *files, *others]

    def names(self) -> Names:
        """The names for completions, with the columns known by now. Files are proposed by their short
        names."""
        data, current = self._find(), self.current
        tables: list[str] = list(current.tables) if current is not None else []
        tables += [name for name, _file in self._files(data)]
        stores = {store.name: store.tables for store in data.stores}
        for file in data.files:
            if file.table:
                stores[file.stem] = (*stores.get(file.stem, ()), file.table)
                tables.append(_dotted_name(file))
        tables += [f"{name}.{table}" for name, inner in stores.items() for table in inner]
        return Names({name: self._columns.get(name) for name in tables}, stores)

    def at_hand(self) -> list[str]:
        """The names that need no prefix and no file to be opened."""
        data = self._find()
        pending = {name for name, file in self._files(data) if file.is_pending}
        return [name for name in self.names().alone if name not in pending]

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

    def _files(self, data: OpenData) -> list[tuple[str, OpenFile]]:
        current = self.current
        table_names = () if current is None else current.tables
        return list(zip(short_names(data.files, table_names), data.files, strict=True))

    def forget(self) -> None:
        """Forget all columns, because tables have changed; they are read again when needed."""
        self._columns.clear()


def _read(file: OpenFile) -> Dataset:
    return file.open(Job())


def _dotted_name(file: OpenFile) -> str:
    """The table of a file as those of stores are called."""
    return f"{file.stem}.{file.table}"


def _columns_of(find: Find) -> TableColumns:
    """The columns of a table, `_id` last. A table that cannot be read has none here; querying it gives the
    error."""
    try:
        columns = [(field.name, type_text(field.type)) for field in find().schema]
        return TableColumns(tuple(sorted(columns, key=lambda column: column[0] == ID)))
    except LamellaError:
        return TableColumns(())
