"""What the names in a statement lead to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamella.core.arguments import text_of
from lamella.core.dataset import Dataset
from lamella.core.errors import BadSql, UnknownTable
from lamella.core.jobs import Job
from lamella.core.query.sql.statement import TableName
from lamella.core.scan.snapshot import Snapshot

When = int | str | dt.datetime
"""A version of a table: its number, its name, or a time at which it was the newest."""


@dataclass(frozen=True)
class Sources:
    """The datasets that may be named, in `place`. `find` gives one by its name, at a version where one is
    given. `folders` are those whose files may be read."""

    place: str
    names: Sequence[str]
    find: Callable[[str, When | None], Dataset]
    folders: tuple[str, ...] = ()


def snapshots_of(
    tables: Sequence[TableName],
    sources: Sources,
    as_of: When | Mapping[str, When] | None,
    files: bool,
    job: Job,
) -> dict[str, Snapshot]:
    """By the names of the views. `files`: a name that is none of theirs may be a file's.

    Raises `UnknownTable`, `BadSql` for a file that may not be read, and what datasets raise.
    """
    known = {**{name.casefold(): name for name in sources.names}, **{name: name for name in sources.names}}
    found: dict[str, Snapshot] = {}
    if isinstance(as_of, Mapping):
        as_of = {_known(name, known, sources): when for name, when in as_of.items()}
    _refuse_lookalikes([known[t.name] for t in tables if t.name in known])
    for table in tables:
        job.check()
        name = known.get(table.name, known.get(table.name.casefold()))
        if name is None:
            dataset = _file(table, sources, files)
        else:
            dataset = sources.find(name, _version(table, name, as_of))
        if not dataset.snapshot().complete:
            dataset.fill(job)
        found[table.view] = dataset.snapshot()
    return found


def _known(name: str, known: Mapping[str, str], sources: Sources) -> str:
    text_of(name, f"{sources.place}: the table name")
    found = known.get(name, known.get(name.casefold()))
    if found is None:
        raise UnknownTable(name, sources.place, sources.names)
    return found


def _file(table: TableName, sources: Sources, allowed: bool) -> Dataset:
    from lamella.core.datasets import open_dataset

    if not _is_path(table.name):
        raise UnknownTable(table.name, sources.place, sources.names)
    if not allowed:
        raise BadSql(
            f"the file '{table.name}' may not be read by a statement",
            "Statements read what was opened, and nothing else",
            "Open it and give it a name, or allow it: files=True",
        )
    if table.view != table.name:
        raise BadSql(f"the file '{table.name}' has no versions", fix="Leave AT (…) out")
    return open_dataset(table.name)


def _is_path(name: str) -> bool:
    return bool(Path(name).suffix) or "/" in name or "\\" in name


def _version(table: TableName, name: str, as_of: When | Mapping[str, When] | None) -> When | None:
    """What stands beside the table goes before what holds for all."""
    if table.time is not None:
        try:
            return dt.datetime.fromisoformat(table.time)
        except ValueError as error:
            raise BadSql(
                f"table '{name}': '{table.time}' is no time", str(error), "Write it as 2024-05-01 12:00"
            ) from error
    if table.version is not None:
        return table.version
    return as_of.get(name) if isinstance(as_of, Mapping) else as_of


def _refuse_lookalikes(tables: Sequence[str]) -> None:
    """The engine would take one for the other."""
    first: dict[str, str] = {}
    for table in tables:
        other = first.setdefault(table.casefold(), table)
        if other != table:
            raise BadSql(
                f"tables '{other}' and '{table}' cannot be read in one statement",
                "SQL does not tell upper from lower case in names",
                "Rename one of them",
            )
