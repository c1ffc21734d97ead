"""What is asked of every system, as data: the steps of a workload and the operations they time."""

from __future__ import annotations

from core.bench.workloads.entities import ENTITY
from core.bench.workloads.few import NEEDLE, PARTIAL, SCATTERED, SINGLE
from core.bench.workloads.model import Answer, Changed, Columns, Operation, Pick, Workload
from core.bench.workloads.wide import SMALL, UPDATE_ALL
from core.errors import UnknownName

ALL_SIZES = tuple(10**power for power in range(7))

WORKLOADS = {
    workload.id: workload for workload in (SMALL, UPDATE_ALL, SINGLE, PARTIAL, NEEDLE, SCATTERED, ENTITY)
}


class UnknownWorkload(UnknownName):
    kind = "workload"


def workload_named(name: str) -> Workload:
    """Raises UnknownWorkload, with the nearest name, for one that does not exist."""
    if name not in WORKLOADS:
        raise UnknownWorkload(name, "The benchmark", WORKLOADS)
    return WORKLOADS[name]


__all__ = [
    "ALL_SIZES",
    "ENTITY",
    "NEEDLE",
    "PARTIAL",
    "SCATTERED",
    "SINGLE",
    "SMALL",
    "UPDATE_ALL",
    "WORKLOADS",
    "Answer",
    "Changed",
    "Columns",
    "Operation",
    "Pick",
    "UnknownWorkload",
    "Workload",
    "workload_named",
]
