"""`lamella bench --table`: a benchmark on somebody's own table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_table_source import Source, user_table
from lamella.core.errors import LamellaError
from lamella.core.filters import Filter, parse
from lamella.core.jobs import Job
from lamella.core.store.paths import is_store
from lamella.core.validation import path_of


def workload_of_table(
    named: str, where: str | None = None, columns: Sequence[str] | None = None, job: Job | None = None
) -> Workload:
    """`named` is a file, a folder or a pattern of files, STORE:TABLE, or a store of one table.

    Raises what opening it raises, BadFilter for a condition that does not fit, and UnknownColumn.
    """
    source = source_of(named)
    with source.open_table() as dataset:
        return user_table(dataset, source, columns, _condition(where), job)


def source_of(named: str) -> Source:
    place = path_of(named, "the table")
    if is_store(place):
        return Source(str(place.absolute()), _only_table(place))
    folder, colon, table = named.rpartition(":")
    store = Path(folder).expanduser()
    if colon and is_store(store):
        return Source(str(store.absolute()), table)
    return Source(str(place.absolute()))


def _only_table(place: Path) -> str:
    from lamella.core.store.store import Store

    with Store.open(place, read_only=True) as store:
        names = store.tables
    if len(names) != 1:
        raise LamellaError(
            f"{place}: nothing says which table to measure",
            fix=f"Give {place}:TABLE; there are {', '.join(names)}",
        )
    return names[0]


def _condition(where: str | None) -> Filter | None:
    return None if where is None else parse(where)
