"""What `lamella query` asks: a store, or files in place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa

from lamella.core.arguments import path_of
from lamella.core.dataset import Dataset
from lamella.core.datasets import open_dataset
from lamella.core.datasets.options import Checksums
from lamella.core.errors import DamagedFile, LamellaError, UnknownTable
from lamella.core.jobs import Job
from lamella.core.query.sql import sql as sql_over
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store
from lamella.core.store.table import Table

Parameters = list[Any] | dict[str, Any] | None


class Source(Protocol):
    def table(self, name: str | None) -> Dataset:
        """One without a name where there is only one."""

    def sql(self, text: str, parameters: Parameters, asked: Asked, job: Job) -> pa.Table: ...


class Asked(Protocol):
    """The options of SQL among the arguments."""

    seconds: float | None
    files: bool
    write: bool
    as_of: str | None


@contextmanager
def opened(where: str, write: bool = False, checksums: Checksums = "verify") -> Iterator[Source]:
    """A folder that is a store, or else files."""
    if is_store(path_of(where, "the store or file")):
        with Store.open(where, read_only=not write) as store:
            yield StoreSource(store)
    else:
        try:
            yield FileSource(open_dataset(where, checksums=checksums))
        except DamagedFile as problem:
            raise ignoring_checksums(problem) from problem


def ignoring_checksums(problem: DamagedFile) -> LamellaError:
    """The same with the option that looks at the file all the same, where there is one."""
    if not problem.readable_anyway:
        return problem
    return LamellaError(problem.what, problem.why, f"{problem.fix}: --checksums ignore")


class StoreSource:
    def __init__(self, store: Store) -> None:
        self._store = store

    def table(self, name: str | None) -> Table:
        if name is not None:
            return self._store[name]
        if len(self._store.tables) != 1:
            raise LamellaError(
                "Nothing says which table to ask", fix=f"Give --table: {', '.join(self._store.tables)}"
            )
        return self._store[self._store.tables[0]]

    def sql(self, text: str, parameters: Parameters, asked: Asked, job: Job) -> pa.Table:
        return self._store.sql(
            text,
            parameters,
            as_of=version_of(asked.as_of),
            seconds=asked.seconds,
            files=asked.files,
            write=asked.write,
            job=job,
        )


class FileSource:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def table(self, name: str | None) -> Dataset:
        if name not in (None, self._dataset.name):
            raise UnknownTable(str(name), "the files", [self._dataset.name])
        return self._dataset

    def sql(self, text: str, parameters: Parameters, asked: Asked, job: Job) -> pa.Table:
        if asked.write or asked.as_of is not None:
            raise LamellaError(
                f"{'--write' if asked.write else '--as-of'} is of stores",
                "Files are read in place",
                "Import them into a store: lamella import",
            )
        named = {self._dataset.name: self._dataset}
        return sql_over(text, named, parameters, seconds=asked.seconds, files=asked.files, job=job)


def version_of(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text


def parameters_of(given: list[str] | None) -> Parameters:
    """Numbers, true, false, null and quoted text as JSON has them; anything else is text."""
    if not given:
        return None
    pairs = [text.partition("=") for text in given]
    named = [name.isidentifier() and bool(mark) for name, mark, _ in pairs]
    if any(named) and not all(named):
        raise LamellaError("--param is either NAME=VALUE each time or VALUE each time")
    if all(named):
        return {name: _value(value) for name, _, value in pairs}
    return [_value(text) for text in given]


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, (list, dict)) else value
