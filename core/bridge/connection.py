"""SQLite connections that see datasets as tables."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import apsw

from lamella.core.bridge.module import BY_NAME, BY_PATH, Module, RowGroups
from lamella.core.bridge.planning import folded, quoted
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.formats import tables_of
from lamella.core.errors import BadData
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store
from lamella.core.validation import path_of

_modules: weakref.WeakKeyDictionary[apsw.Connection, weakref.ref[Module]] = weakref.WeakKeyDictionary()
"""SQLite keeps a module until its connection is closed."""


def _do_nothing() -> None:
    return None


def connect(source: Store | str | Path | Iterable[str | Path]) -> apsw.Connection:
    """A SQLite database in memory with a virtual table for each table of a store (open or by its folder), or
    for each of some files, folders or patterns, called like it, and for each table of a file that holds
    several. They are read-only; others can be made there.

    Raises `FileProblem` and `StoreProblem`. Use a connection in one thread at a time.
    """
    connection = apsw.Connection(":memory:")
    try:
        module = add_modules(connection)
        for name, dataset in _datasets(source, module):
            free = _free(name, module.datasets)
            try:
                register(connection, free, dataset)
            except BadData as error:
                module.left_out[free] = error
    except BaseException:
        connection.close()
        raise
    return connection


def register(connection: apsw.Connection, name: str, dataset: Dataset) -> None:
    """Make the dataset a table of the connection until that is closed. Raises `BadData` for a taken name, and
    for what SQLite cannot have as a table: one called `sqlite_…`, or of no columns or more than 2,000."""
    module = add_modules(connection)
    if "\0" in name:
        raise BadData(
            f"SQLite cannot have {name!r} as a table", "It holds a null character", "Choose another name"
        )
    if folded(name) in map(folded, module.datasets) or connection.table_exists(None, name):
        raise BadData(f"SQLite has a table '{name}' already", fix="Choose another name")
    module.datasets[name] = dataset
    try:
        connection.execute(f"CREATE VIRTUAL TABLE temp.{quoted(name)} USING {BY_NAME}({quoted(name)})")
    except apsw.SQLError as error:
        del module.datasets[name]
        raise BadData(
            f"SQLite cannot have '{name}' as a table",
            str(error),
            "Register it under another name, or with fewer columns",
        ) from error


def add_modules(connection: apsw.Connection) -> Module:
    """Teach a connection CREATE VIRTUAL TABLE … USING lamella('trips/*.parquet'). Twice does no harm."""
    known = _modules.get(connection, _do_nothing)()
    if known is not None:
        return known
    module = Module()
    for name in (BY_PATH, BY_NAME):
        connection.create_module(
            name, cast("apsw.VTModule", module), use_bestindex_object=True, read_only=True
        )
    _modules[connection] = weakref.ref(module)
    return module


def left_out(connection: apsw.Connection) -> dict[str, BadData]:
    """Tables that `connect` passed over, and why."""
    return dict(add_modules(connection).left_out)


def row_groups(connection: apsw.Connection) -> RowGroups:
    """How many row groups the statements of this connection read so far, and how many they skipped."""
    counted = add_modules(connection).counted
    return RowGroups(counted.read, counted.skipped)


def _datasets(
    source: Store | str | Path | Iterable[str | Path], module: Module
) -> Iterator[tuple[str, Dataset]]:
    if isinstance(source, Store):
        yield from ((name, source[name]) for name in source.tables)
        return
    several = isinstance(source, Iterable) and not isinstance(source, str | bytes)
    paths = cast("Iterable[str | Path]", source if several else [source])
    for path in paths:
        if is_store(path_of(path, "the store or file")):
            store = Store.open(path, read_only=True)
            weakref.finalize(module, store.close)
            yield from ((name, store[name]) for name in store.tables)
        else:
            tables = [table.name for table in tables_of(path) if table.is_offered]
            for table in tables if len(tables) > 1 else [None]:
                dataset = open_dataset(path, table=table)
                yield dataset.name, dataset


def _free(name: str, names: Iterable[str]) -> str:
    """Files of different folders may be called alike."""
    known, free, number = set(map(folded, names)), name, 2
    while folded(free) in known:
        free, number = f"{name}_{number}", number + 1
    return free
