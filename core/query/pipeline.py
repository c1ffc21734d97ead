"""A query as plain data: where its rows come from, and what is done to them."""

from __future__ import annotations

from dataclasses import dataclass

from core.query.steps import Step


@dataclass(frozen=True)
class Pipeline:
    """`source` is the name of a dataset; the steps follow each other."""

    source: str
    steps: tuple[Step, ...] = ()

    def then(self, step: Step) -> Pipeline:
        return Pipeline(self.source, (*self.steps, step))
