"""What commands read from: a store, a file, a server's table or standard input, behind one interface."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pyarrow as pa

from lamella.app import paths
from lamella.app.commands.table_reference import refuse_misspelt
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, problems_of, unreadable_columns
from lamella.core.datasets.delta import DeltaDataset
from lamella.core.datasets.formats import tables_of
from lamella.core.datasets.sql import sql as sql_over
from lamella.core.datasets.tables import SeveralTables, TableEntry
from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import DamagedFile, LamellaError, UnknownTable
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.source import VersionOrTime
from lamella.core.query.sql.sources import Sources
from lamella.core.query.sql.step import sql_step
from lamella.core.remote.addresses import is_file_address
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.spark_connect import is_server_address
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.store.views import FileViews
from lamella.core.validation import path_of

Parameters = list[Any] | dict[str, Any] | None


class Source(Protocol):
    def table(self, name: str | None) -> Dataset:
        """The table of this name; without a name, the only one."""

    def view(self, name: str) -> Query: ...

    def sql(self, text: str, parameters: Parameters, options: SQLOptions, job: Job) -> pa.Table: ...

    def names(self) -> Sources | None:
        """What a statement may name; None if it runs elsewhere."""


class SQLOptions(Protocol):
    """The arguments that concern SQL."""

    seconds: float | None
    files: bool
    write: bool
    as_of: str | None


@contextmanager
def open_source(
    where: str,
    write: bool = False,
    checksums: Checksums = "verify",
    job: Job | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Iterator[Source]:
    """Open a store's folder, or files, or standard input if `where` is `-`. `reading` has the options of how
    a file is read."""
    options = {"checksums": checksums, "job": job, **(reading or {})}
    if where == STANDARD_INPUT:
        with TemporaryDirectory(prefix="lamella-") as folder:
            path = Path(folder) / "stdin"
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            with offering_options(reading is not None):
                yield from _files(str(path), {**options, "cache_dir": Path(folder) / "cache"})
    elif is_server_address(where):
        yield ServerSource(where, _server_table(where, reading or {}, job))
    elif not is_file_address(where) and is_store(path_of(where, "the store or file")):
        if reading:
            option = next(iter(reading)).replace("_", "-")
            raise LamellaError(
                f"--{option} is for files only", fix="Leave it out: a store's values have types"
            )
        with Store.open(where, read_only=not write) as store:
            yield StoreSource(store)
    else:
        refuse_misspelt(where)
        with offering_options(reading is not None):
            yield from _files(where, options)


def _server_table(where: str, reading: Mapping[str, Any], job: Job | None) -> Dataset:
    names = [name for name in reading if name != "row_key"]
    if names:
        option = names[0].replace("_", "-")
        raise LamellaError(f"--{option} is for files only", fix="Leave it out: a server's values have types")
    return open_dataset(where, row_key=reading.get("row_key", ()), job=job)


def _files(where: str, options: Mapping[str, Any]) -> Iterator[Source]:
    """Open files, and print at the end what could not be read."""
    tables = tables_of(where)
    if len(tables) > 1:
        yield TablesSource(where, tables, options)
        return
    dataset = open_dataset(where, **options)
    yield FileSource(where, dataset)
    for remark in dataset.remarks if problems_of(dataset) or unreadable_columns(dataset) else ():
        print(f"{remark}.", file=sys.stderr)


@contextmanager
def offering_options(ragged: bool = True) -> Iterator[None]:
    """Name the option that reads a file anyway in the error that refuses it, if there is such an option.
    `ragged`: whether the command has --ragged."""
    try:
        yield
    except RaggedRow as problem:
        if not (ragged and problem.paddable):
            raise
        raise LamellaError(problem.what, problem.why, f"{problem.fix}: --ragged pad") from problem
    except DamagedFile as problem:
        if not problem.readable_anyway:
            raise
        raise LamellaError(problem.what, problem.why, f"{problem.fix}: --checksums ignore") from problem


STANDARD_INPUT = "-"


class StoreSource:
    def __init__(self, store: Store) -> None:
        self._store = store

    def table(self, name: str | None) -> Table:
        if name is not None:
            return self._store[name]
        if len(self._store.tables) != 1:
            raise LamellaError(
                "The table is not given", fix=f"Name one of them: {', '.join(self._store.tables)}"
            )
        return self._store[self._store.tables[0]]

    def view(self, name: str) -> Query:
        return self._store.views[name]

    def sql(self, text: str, parameters: Parameters, options: SQLOptions, job: Job) -> pa.Table:
        return self._store.sql(
            text,
            parameters,
            as_of=None if options.as_of is None else version_of(options.as_of),
            seconds=options.seconds,
            files=options.files,
            write=options.write,
            job=job,
        )

    def names(self) -> Sources:
        store = self._store

        def find(name: str, version: VersionOrTime | None) -> Dataset:
            return store[name] if version is None else store[name].as_of(version)

        return Sources(f"store {store.name}", store.tables, find)


class FileSource:
    def __init__(self, where: str, dataset: Dataset) -> None:
        self._where, self._dataset = where, dataset

    def table(self, name: str | None) -> Dataset:
        if name not in (None, self._dataset.name):
            raise UnknownTable(str(name), "the files", [self._dataset.name])
        return self._dataset

    def view(self, name: str) -> Query:
        return FileViews(paths.saved_views()).query(name, [path_or_address(self._where)], self.table)

    def sql(self, text: str, parameters: Parameters, options: SQLOptions, job: Job) -> pa.Table:
        refuse_of_stores(options)
        datasets = {self._dataset.name: self._dataset}
        return sql_over(text, datasets, parameters, seconds=options.seconds, files=options.files, job=job)

    def names(self) -> Sources | None:
        return Sources("the statement", [self._dataset.name], lambda name, version: self._dataset)


class ServerSource(FileSource):
    """A table of a Spark server: statements run there."""

    def sql(self, text: str, parameters: Parameters, options: SQLOptions, job: Job) -> pa.Table:
        refuse_of_stores(options)
        if parameters:
            raise LamellaError(
                "--param does not work on a server's table", fix="Write the values into the statement"
            )
        name = self._dataset.name
        step, _ = sql_step(text, name, lambda _name: None)
        return self._dataset.query().then(step).read(job)

    def names(self) -> None:
        return None


class TablesSource(Mapping[str, Dataset]):
    """A file with several tables or sheets. SQL statements open those that they name."""

    def __init__(self, path: str, tables: Sequence[TableEntry], options: Mapping[str, Any]) -> None:
        self._path, self._options = path, options
        self._names = [table.name for table in tables if table.is_offered]

    def __getitem__(self, name: str) -> Dataset:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def table(self, name: str | None) -> Dataset:
        try:
            return open_dataset(self._path, table=name, **self._options)
        except SeveralTables as problem:
            names = ", ".join(table.name for table in problem.tables if table.is_offered)
            raise LamellaError(problem.what, problem.why, f"Give --table: {names}") from problem

    def view(self, name: str) -> Query:
        return FileViews(paths.saved_views()).query(name, [path_or_address(self._path)], self.table)

    def sql(self, text: str, parameters: Parameters, options: SQLOptions, job: Job) -> pa.Table:
        refuse_of_stores(options)
        return sql_over(text, self, parameters, seconds=options.seconds, files=options.files, job=job)

    def names(self) -> Sources:
        return Sources("the statement", self._names, lambda name, version: self.table(name))


def refuse_of_stores(options: SQLOptions) -> None:
    if options.write or options.as_of is not None:
        raise LamellaError(
            f"{'--write' if options.write else '--as-of'} is for stores only",
            "Files are read in place",
            "Import them into a store: lamella import",
        )


def table_of(source: Source, name: str | None, as_of: str | None) -> Dataset:
    """A table of the source, at the version `as_of` if one is given."""
    rows = source.table(name)
    if as_of is None:
        return rows
    if not isinstance(rows, Table | DeltaDataset):
        fix = "Other files in place have no earlier versions"
        raise LamellaError("--as-of is for stores and Delta tables only", fix=fix)
    return rows.as_of(version_of(as_of))


def version_of(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
