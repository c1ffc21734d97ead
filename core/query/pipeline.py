"""A query as plain data: where its rows come from, and what is done to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lamella.core.query.steps import Facets, Join, Step


@dataclass(frozen=True)
class Pipeline:
    """`source` is the name of a dataset; the steps follow each other."""

    source: str
    steps: tuple[Step, ...] = ()

    def sources(self) -> tuple[str, ...]:
        """The names of all datasets, those of joins among them, each once."""
        return tuple(dict.fromkeys([self.source, *_joined(self.steps)]))


def _joined(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Join):
            yield from step.other.sources()
        if isinstance(step, Facets):
            for _name, inside in step.queries:
                yield from _joined(inside)
