"""Several queries as parts of one, though two datasets may have one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lamella.core.query.pipeline import Pipeline
from lamella.core.query.steps import Facets, Join, Step

if TYPE_CHECKING:
    from lamella.core.dataset import Dataset

Sources = Mapping[str, "Dataset"]


def together(ours: Sources, theirs: Sources) -> tuple[dict[str, Dataset], dict[str, str]]:
    """The datasets of both, and what each of `theirs` is called among them."""
    sources, names = dict(ours), {}
    for name, dataset in theirs.items():
        called, number = name, 2
        while called in sources and sources[called] is not dataset:
            called, number = f"{name}#{number}", number + 1
        sources[called] = dataset
        names[name] = called
    return sources, names


def renamed(pipeline: Pipeline, names: Mapping[str, str]) -> Pipeline:
    """The same query of datasets that are called otherwise."""
    return Pipeline(names[pipeline.source], steps_renamed(pipeline.steps, names))


def steps_renamed(steps: tuple[Step, ...], names: Mapping[str, str]) -> tuple[Step, ...]:
    return tuple(_renamed(step, names) for step in steps)


def _renamed(step: Step, names: Mapping[str, str]) -> Step:
    if isinstance(step, Join):
        return replace(step, other=renamed(step.other, names))
    if isinstance(step, Facets):
        return Facets(tuple((name, steps_renamed(inside, names)) for name, inside in step.queries))
    return step
