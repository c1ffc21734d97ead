"""What the workloads of one family share: how they run and what their right answers are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.bench import answers
from core.bench.cycle import Cycle
from core.bench.entities import answers as entity_answers
from core.bench.entities.cycle import EntityCycle
from core.bench.table_cycle import TableCycle
from core.bench.workloads import Operation, Workload


@dataclass(frozen=True)
class Family:
    cycle: type[Cycle[Any]]
    expected: Callable[[Workload, Operation, int], str]


FAMILIES = {
    "table": Family(TableCycle, answers.expected),
    "entity": Family(EntityCycle, entity_answers.expected),
}


def family_of(workload: Workload) -> Family:
    return FAMILIES[workload.family]
