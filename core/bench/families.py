"""What the workloads of one family share: how they run, their right answers, and which systems take part.

All of it is named by place and imported when it is asked for: a race of two systems loads two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamella.core.bench.workloads.model import Operation, Workload

if TYPE_CHECKING:
    from lamella.core.bench.cycle import Cycle
    from lamella.core.jobs import Job

Expected = Callable[[Workload, Operation, int], str]


@dataclass(frozen=True)
class Family:
    """Places are `module:name`; `systems` is a module whose SYSTEMS maps backends to their classes' places,
    and ABSENT, where there is one, others to why they take no part.

    `prepares` makes ready what all systems of a race are given. Without `answers` nobody knows the right
    answer beforehand, and the systems have to agree.
    """

    runs: str
    systems: str
    answers: str | None = None
    prepares: str | None = None

    def prepared(self, workload: Workload, rows: Iterable[int], folder: Path, job: Job) -> Workload:
        """With what has to be made ready in the race's folder before any system is timed."""
        made: Workload = loaded(self.prepares)(workload, rows, folder, job) if self.prepares else workload
        return made

    @property
    def cycle(self) -> type[Cycle[Any]]:
        found: type[Cycle[Any]] = loaded(self.runs)
        return found

    @property
    def expected(self) -> Expected | None:
        return loaded(self.answers) if self.answers else None

    @property
    def places(self) -> Mapping[str, str]:
        """The classes' places by backend."""
        found: Mapping[str, str] = import_module(self.systems).SYSTEMS
        return found

    @property
    def absent(self) -> Mapping[str, str]:
        """Why a system that might be looked for here takes no part, by backend."""
        found: Mapping[str, str] = getattr(import_module(self.systems), "ABSENT", {})
        return found


_QUESTIONS = "lamella.core.bench.questions.cycle:QuestionCycle"

FAMILIES = {
    "table": Family(
        "lamella.core.bench.table_cycle:TableCycle",
        "lamella.core.bench.backends.tables",
        "lamella.core.bench.answers:expected",
    ),
    "entity": Family(
        "lamella.core.bench.entities.cycle:EntityCycle",
        "lamella.core.bench.entities",
        "lamella.core.bench.entities.answers:expected",
    ),
    "entity-queries": Family(
        _QUESTIONS, "lamella.core.bench.entity_queries", "lamella.core.bench.entity_queries.answers:expected"
    ),
    "entity-memory": Family(
        "lamella.core.bench.entity_memory.cycle:MemoryCycle",
        "lamella.core.bench.entity_memory",
        "lamella.core.bench.entity_memory.answers:expected",
    ),
    "entity-storage": Family(
        "lamella.core.bench.entity_storage.cycle:StorageCycle",
        "lamella.core.bench.entity_storage",
        "lamella.core.bench.entity_storage.answers:expected",
    ),
    "entity-indexes": Family(_QUESTIONS, "lamella.core.bench.entity_indexes"),
    "entity-text": Family(_QUESTIONS, "lamella.core.bench.entity_text"),
    "entity-relations": Family(_QUESTIONS, "lamella.core.bench.entity_relations"),
    "bridge": Family(_QUESTIONS, "lamella.core.bench.bridge_queries"),
    "catalog": Family(
        "lamella.core.bench.catalog.cycle:CatalogCycle",
        "lamella.core.bench.catalog",
        "lamella.core.bench.catalog.answers:expected",
    ),
    "mine": Family(
        "lamella.core.bench.mine.cycle:MineCycle",
        "lamella.core.bench.mine",
        "lamella.core.bench.mine.answers:expected",
        "lamella.core.bench.mine.copying:prepare",
    ),
    "own": Family("lamella.core.bench.own.cycle:OwnCycle", "lamella.core.bench.own"),
    "taxi": Family(
        "lamella.core.bench.taxi.cycle:TaxiCycle",
        "lamella.core.bench.taxi",
        "lamella.core.bench.taxi.answers:expected",
    ),
}


def family_of(workload: Workload) -> Family:
    return FAMILIES[workload.family]


def loaded(place: str) -> Any:
    """What stands at `module:name`, or a system of somebody's own file at `race.py:name`.

    Raises ImportError or AttributeError where nothing does, and OwnCodeFailed where the file does not run.
    """
    module, _, name = place.rpartition(":")
    if module.endswith(".py"):
        from lamella.core.bench.own.backend import system_class

        return system_class(module, name)
    return getattr(import_module(module), name)
