"""What the workloads of one family share: how they run, their right answers, and which systems take part.

All of it is named by place and imported when it is asked for: a race of two systems loads two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.bench.workloads.model import Operation, Workload

if TYPE_CHECKING:
    from core.bench.cycle import Cycle

Expected = Callable[[Workload, Operation, int], str]


@dataclass(frozen=True)
class Family:
    """Places are `module:name`; `systems` is a module whose SYSTEMS maps backends to their classes' places.

    Without `answers` nobody knows the right answer beforehand, and the systems have to agree.
    """

    runs: str
    systems: str
    answers: str | None = None

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


_QUESTIONS = "core.bench.questions.cycle:QuestionCycle"

FAMILIES = {
    "table": Family(
        "core.bench.table_cycle:TableCycle", "core.bench.backends.tables", "core.bench.answers:expected"
    ),
    "entity": Family(
        "core.bench.entities.cycle:EntityCycle", "core.bench.entities", "core.bench.entities.answers:expected"
    ),
}


def family_of(workload: Workload) -> Family:
    return FAMILIES[workload.family]


def loaded(place: str) -> Any:
    """What stands at `module:name`. Raises ImportError or AttributeError where nothing does."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
