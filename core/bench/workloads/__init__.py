"""What is asked of every system, as data: the steps of a workload and the operations they time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lamella.core.bench.workloads.bridge import BRIDGE
from lamella.core.bench.workloads.catalog import CATALOG
from lamella.core.bench.workloads.entities import ENTITY_CHANGES
from lamella.core.bench.workloads.entity_indexes import ENTITY_INDEXES
from lamella.core.bench.workloads.entity_memory import ENTITY_MEMORY
from lamella.core.bench.workloads.entity_queries import ENTITY_QUERIES
from lamella.core.bench.workloads.entity_relations import ENTITY_RELATIONS
from lamella.core.bench.workloads.entity_storage import ENTITY_STORAGE
from lamella.core.bench.workloads.entity_text import ENTITY_TEXT
from lamella.core.bench.workloads.few import NEEDLE, PARTIAL, SCATTERED, SINGLE
from lamella.core.bench.workloads.floats import FLOATS
from lamella.core.bench.workloads.mine import as_asked, mine_named
from lamella.core.bench.workloads.model import Answer, Changed, Columns, Operation, Pick, Values, Workload
from lamella.core.bench.workloads.taxi import TAXI
from lamella.core.bench.workloads.wide import ALL_SIZES, SMALL, UPDATE_ALL
from lamella.core.errors import UnknownName

WORKLOADS = {
    workload.id: workload
    for workload in (
        *(SMALL, UPDATE_ALL, SINGLE, PARTIAL, NEEDLE, SCATTERED, FLOATS),
        *(ENTITY_CHANGES, ENTITY_QUERIES, ENTITY_STORAGE, ENTITY_MEMORY),
        *(ENTITY_INDEXES, ENTITY_TEXT, ENTITY_RELATIONS, BRIDGE),
        *(TAXI, CATALOG),
    )
}


GROUPS: dict[str, tuple[str, ...]] = {
    "entity": (
        *("entity-changes", "entity-queries", "entity-storage", "entity-memory"),
        *("entity-indexes", "entity-text", "entity-relations"),
    )
}
"""Workloads that stand on one published page, by the name that means them all."""

ALL = "all"


class UnknownWorkload(UnknownName):
    kind = "workload"


def workload_named(name: str) -> Workload:
    """One of the table, a race on somebody's own table ("mine:…"), or the one in a Python file.

    Raises UnknownWorkload, with the nearest name, for one that does not exist, and FileProblem for a file
    that holds no race.
    """
    own = _own(name)
    if own is not None:
        return own
    if name not in WORKLOADS:
        raise UnknownWorkload(name, "The benchmark", WORKLOADS)
    return WORKLOADS[name]


def _own(name: str) -> Workload | None:
    from lamella.core.bench.own.file import is_own, load_file

    return load_file(name) if is_own(name) else mine_named(name)


def workload_given(name: str, table_rows: int | None, options: Mapping[str, Any]) -> Workload:
    """One by its name with what was asked of it instead of its own. Raises UnknownWorkload."""
    given = replace(workload_named(name), table_rows=table_rows, options=options)
    return as_asked(given) if given.family == "mine" and options else given


def workloads_named(name: str) -> tuple[Workload, ...]:
    """One workload by its id, those of a group, or all. Raises UnknownWorkload."""
    if name == ALL:
        return tuple(WORKLOADS.values())
    if name in GROUPS:
        return tuple(map(workload_named, GROUPS[name]))
    own = _own(name)
    if own is not None:
        return (own,)
    if name not in WORKLOADS:
        raise UnknownWorkload(name, "The benchmark", [*WORKLOADS, *GROUPS, ALL])
    return (WORKLOADS[name],)


__all__ = [
    "ALL",
    "ALL_SIZES",
    "BRIDGE",
    "CATALOG",
    "ENTITY_CHANGES",
    "ENTITY_INDEXES",
    "ENTITY_MEMORY",
    "ENTITY_QUERIES",
    "ENTITY_RELATIONS",
    "ENTITY_STORAGE",
    "ENTITY_TEXT",
    "FLOATS",
    "GROUPS",
    "NEEDLE",
    "PARTIAL",
    "SCATTERED",
    "SINGLE",
    "SMALL",
    "TAXI",
    "UPDATE_ALL",
    "WORKLOADS",
    "Answer",
    "Changed",
    "Columns",
    "Operation",
    "Pick",
    "UnknownWorkload",
    "Values",
    "Workload",
    "workload_given",
    "workload_named",
    "workloads_named",
]
