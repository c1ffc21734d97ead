"""The steps of a race on somebody's own table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from lamella.core.bench.cycle import Cycle, Sample
from lamella.core.bench.measure import measured
from lamella.core.bench.mine.answers import digest
from lamella.core.bench.mine.backend import MineBackend


class MineCycle(Cycle[MineBackend]):
    steps: ClassVar[tuple[str, ...]] = ("load", "read", "filter", "update")

    def load(self) -> Iterator[Sample]:
        cost = self._changing(lambda: self.backend.load(self.rows))
        self._owe(("load", cost))
        yield from ()

    def read(self) -> Iterator[Sample]:
        yield from self._twice("read", self.backend.read)

    def filter(self) -> Iterator[Sample]:
        yield from self.settle()
        yield from self._twice("filter", self.backend.filter)

    def update(self) -> Iterator[Sample]:
        yield from self.settle()
        cost = self._changing(self.backend.update)
        self._owe(("update", cost))

    def _twice(self, name: str, ask: Callable[[], Any]) -> Iterator[Sample]:
        """On a database just opened, and once more."""
        answer, cost = self._opened(ask, writing=False)
        told = self._digest(answer)
        del answer
        answer, cost_again = measured(ask)
        told_again = self._digest(answer)
        self.backend.close()
        size = self.backend.disk_bytes()
        yield Sample(name, cost, size, told)
        yield Sample(f"{name}_again", cost_again, size, told_again, again=True)
        if name == "read":
            yield from self._checked(told)

    def _digest(self, answer: Any) -> str:
        return digest(self.backend.as_table(answer), self.backend.copied.schema)

    def _digest_of_all(self) -> str:
        return self._digest(self.backend.read())
