"""A query on its way: `table.where(...).group_by("carrier").agg(n=count()).sort("-n").limit(10).read()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lamella.core.arguments import Condition, condition_of, count_of
from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.query.fluent import Fluent
from lamella.core.query.pipeline import Pipeline
from lamella.core.query.plain import plain
from lamella.core.query.steps import Facets, Group, Step

if TYPE_CHECKING:
    from lamella.core.dataset import Dataset
    from lamella.core.query.explain import Explain
    from lamella.core.query.nodes import Node
    from lamella.core.query.pages import Page
    from lamella.core.scan.snapshot import Snapshot


class Asking(Fluent):
    """A query of one or more datasets: plain data until it is read, and never changed; each step makes
    another one. What is read are the datasets as they are then.
    """

    def __init__(self, sources: Mapping[str, Dataset], pipeline: Pipeline) -> None:
        """`sources` are the datasets that the pipeline names."""
        self.sources, self.pipeline = sources, pipeline

    @staticmethod
    def of(saved: Any, find: Callable[[str], Dataset]) -> Asking:
        """The query that `to_json` gave; `find` gives the dataset of a name.

        Raises `BadQuery` for what is none, `StoreProblem` for a version that has expired.
        """
        from lamella.core.query.saved import opened

        return opened(saved, find)

    def page(self, size: int, after: str | None = None, job: Job | None = None) -> Page:
        """`size` rows, and as `next` the cursor that gives the page behind them as `after`.

        A page begins behind the last row of the one before, by its place in the order: what changes meanwhile
        makes no row come twice. Raises `BadData` for what is no cursor of this query.
        """
        from lamella.core.query.answer_pages import page

        rows, job = count_of(size, f"{self.name}: a page of", least=1), job or Job()
        return page(self._node(job, by_id=True), self.to_json(), rows, after, job)

    def explain(self, job: Job | None = None) -> Explain:
        """Find the answer, and say what of the files was read for it and what was left alone."""
        from lamella.core.query import answers, explain

        query, job = plain(self.pipeline.steps), job or Job()
        if query is not None:
            return explain.explain(self._snapshot(self.pipeline.source, job), query, job)
        return answers.explain(self._node(job), job)

    def to_json(self) -> dict[str, Any]:
        """The query as dicts, lists, texts, numbers, true, false and null, for `Asking.of`.

        Datasets are in it by their names, and old versions by their numbers.
        """
        from lamella.core.query.saved import saved

        return saved(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asking) and (self.pipeline, self.sources) == (other.pipeline, other.sources)

    def __hash__(self) -> int:
        return hash(self.pipeline)

    def __repr__(self) -> str:
        steps = "".join(f".{type(step).__name__.lower()}" for step in self.pipeline.steps)
        return f"<Asking {self.pipeline.source}{steps}>"

    @property
    def name(self) -> str:
        """What it is asked of: the first of its datasets."""
        return self.pipeline.source

    def asking(self) -> Asking:
        return self

    def then(self, step: Step) -> Asking:
        return self._with((*self.pipeline.steps, step))

    def having(self, condition: Condition) -> Asking:
        """Groups that meet a condition on keys and aggregates."""
        asked = condition_of(condition, f"{self.name}: having", self)
        last = self.pipeline.steps[-1] if self.pipeline.steps else None
        if not isinstance(last, Group):
            raise BadQuery(f"{self.name}: having follows agg", fix="Use where for rows that are not grouped")
        if asked is None:
            return self
        both = asked if last.having is None else last.having & asked
        return self._with((*self.pipeline.steps[:-1], Group(last.keys, last.aggregates, both)))

    @property
    def schema(self) -> pa.Schema:
        """Of the answer. Raises like `read` for steps that do not fit."""
        return self._node(Job()).fields.schema

    def read(self, job: Job | None = None) -> pa.Table:
        """The answer. Its columns have the types that the datasets' have.

        Raises `UnknownColumn`, `BadFilter` or `BadQuery` for a step that does not fit the rows before it, and
        `NoRoom` where neither memory nor disk suffice.
        """
        from lamella.core.query import answers, local, statements

        query, job = plain(self.pipeline.steps), job or Job()
        if query is not None:
            return local.answer(self._snapshot(self.pipeline.source, job), query, job)
        if statements.is_kept(self.pipeline):
            return statements.read(self.pipeline, self._snapshot(self.pipeline.source, job), job)
        return answers.read(self._node(job), job)

    def tables(self, job: Job | None = None) -> dict[str, pa.Table]:
        """The answers of facets, by their names. Raises `BadQuery` where the last step is something else."""
        if not self.pipeline.steps or not isinstance(self.pipeline.steps[-1], Facets):
            raise BadQuery(
                f"{self.name}: only facets have several answers", fix="Ask facets(…) last, or read()"
            )
        answer = self.read(job)
        return {name: _rows_in(answer.column(name)) for name in answer.column_names}

    def batches(self, job: Job | None = None) -> pa.RecordBatchReader:
        """The same rows streamed."""
        from lamella.core.query import answers

        job = job or Job()
        return answers.batches(self._node(job), job)

    def count(self, job: Job | None = None) -> int:
        """How many rows the answer has."""
        from lamella.core.query import answers, local

        query, job = plain(self.pipeline.steps), job or Job()
        if query is None or query.sort or query.columns is not None:
            return answers.count(self._node(job), job)
        rows = local.count(self._snapshot(self.pipeline.source, job), query.where, job) - query.offset
        return max(0, rows if query.limit is None else min(rows, query.limit))

    def _with(self, steps: tuple[Step, ...]) -> Asking:
        return Asking(self.sources, Pipeline(self.pipeline.source, steps))

    def _node(self, job: Job, by_id: bool = False) -> Node:
        from lamella.core.query.compile import compiled

        return compiled(self.pipeline, lambda name: self._snapshot(name, job), job, by_id)

    def _snapshot(self, name: str, job: Job) -> Snapshot:
        """All rows of a dataset, an unfinished cache filled first."""
        dataset = self.sources[name]
        if not dataset.snapshot().complete:
            dataset.fill(job)
        return dataset.snapshot()


def _rows_in(facet: pa.ChunkedArray) -> pa.Table:
    """The rows of a single list of them."""
    rows = facet.chunk(0).flatten()
    return pa.Table.from_arrays(
        [rows.field(place) for place in range(rows.type.num_fields)], schema=pa.schema(list(rows.type))
    )
