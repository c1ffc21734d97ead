"""From a pipeline to the rows it asks for: what each step means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatchmethod
from itertools import count

import pyarrow as pa
from sqlglot import exp

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.aggregated import aggregated
from lamella.core.query.buckets import bucketed
from lamella.core.query.computing import not_too_deep
from lamella.core.query.expressions import Named
from lamella.core.query.fields import Field, Fields, refuse_twice
from lamella.core.query.joining import joined
from lamella.core.query.nodes import (
    Chosen,
    Computed,
    Cut,
    Filtered,
    Grouped,
    Needed,
    Node,
    Rank,
    sampled,
)
from lamella.core.query.pipeline import Pipeline
from lamella.core.query.pivoting import pivoted
from lamella.core.query.reshaping import unpivoted, unwound
from lamella.core.query.scanned import Scan
from lamella.core.query.shared import Faceted, Shared
from lamella.core.query.steps import (
    Aggregates,
    Buckets,
    Compute,
    Facets,
    Group,
    Join,
    Limit,
    Pivot,
    Sample,
    Select,
    Sort,
    Step,
    Unpivot,
    Unwind,
    Where,
)
from lamella.core.query.typed import condition, typed
from lamella.core.scan.snapshot import Snapshot

Find = Callable[[str], Snapshot]
DEEPEST = 200
"""Relations within relations, each a step: filters behind each other are one, as are computed columns that
do not use each other."""


def compiled(pipeline: Pipeline, find: Find, job: Job | None = None, by_id: bool = False) -> Node:
    """`find` gives the snapshot of a source. What columns a pivot gives, and where buckets begin, is read
    from the data where the step does not say it.

    Raises `BadQuery`, `BadFilter` or `UnknownColumn` for the first step that does not fit those before it.
    """
    with not_too_deep(pipeline.source):
        return Compiler(find, job or Job(), by_id).rows(pipeline)


class Compiler:
    """One query: its datasets and its columns are numbered through."""

    def __init__(self, find: Find, job: Job, by_id: bool) -> None:
        self._find, self.job, self._by_id = find, job, by_id
        self._datasets, self._columns = count(), count()

    def rows(self, pipeline: Pipeline) -> Node:
        return self._following(
            pipeline.steps, Scan(self._find(pipeline.source), next(self._datasets), by_id=self._by_id)
        )

    def _following(self, steps: Iterable[Step], rows: Node) -> Node:
        for step in steps:
            rows = self.after(step, rows)
            if rows.depth > DEEPEST:
                raise BadQuery(
                    f"{rows.fields.place}: more than {DEEPEST} steps build on each other",
                    fix="Ask it in two queries, with a table between them",
                )
        return rows

    @singledispatchmethod
    def after(self, step: Step, rows: Node) -> Node:
        """What the step makes of the rows."""
        raise BadQuery(f"{rows.fields.place}: {step!r} is no step of a query")

    @after.register
    def _where(self, step: Where, rows: Node) -> Node:
        if isinstance(rows, Scan):
            return rows.narrowed(step.condition)
        return self._narrowed(rows, step.condition)

    def _narrowed(self, rows: Node, where: Filter) -> Node:
        met, used = condition(where, rows.fields)
        return rows.narrowed(met, used) if isinstance(rows, Filtered) else Filtered(rows, [met], used)

    @after.register
    def _compute(self, step: Compute, rows: Node) -> Node:
        """Values that do not use each other are computed side by side."""
        fields, made = rows.fields, dict[str, tuple[exp.Expr, Needed]]()
        for name, value in step.values:
            found = typed(value, fields)
            if pa.types.is_null(found.value.type):
                raise BadQuery(
                    f"{fields.place}: '{name}' would be null in every row", fix="Cast it to a type"
                )
            if not found.used.isdisjoint(made):
                rows, made = Computed(rows, fields, made), {}
            field = Field(name, found.value.type, self.new())
            made[field.identifier] = (found.value.sql, found.used)
            fields = fields.replaced(field)
        return Computed(rows, fields, made)

    @after.register
    def _select(self, step: Select, rows: Node) -> Node:
        refuse_twice(step.columns, rows.fields.place)
        inside = {name: self._reached(name, rows) for name in step.columns if name not in rows.fields}
        made = {field.identifier: value for field, value in inside.values()}
        fields = tuple(inside[n][0] if n in inside else rows.fields[n] for n in step.columns)
        below = Computed(rows, rows.fields, made) if made else rows
        return Chosen(below, Fields(rows.fields.place, fields))

    @after.register
    def _sort(self, step: Sort, rows: Node) -> Node:
        rows, keys = self.reachable([key.column for key in step.keys], rows)
        ranks = tuple(Rank(f.identifier, k.descending) for f, k in zip(keys, step.keys, strict=True))
        told = {rank.identifier for rank in ranks}
        return Chosen(
            rows, rows.fields, (*ranks, *(rank for rank in rows.order if rank.identifier not in told))
        )

    @after.register
    def _limit(self, step: Limit, rows: Node) -> Node:
        return Cut(rows, step.count, step.offset)

    @after.register
    def _sample(self, step: Sample, rows: Node) -> Node:
        return sampled(rows, step.count, step.seed)

    @after.register
    def _group(self, step: Group, rows: Node) -> Node:
        rows, keys = self.reachable(step.keys, rows)
        grouped = self.grouped(rows, keys, step.aggregates)
        return grouped if step.having is None else self._narrowed(grouped, step.having)

    @after.register
    def _pivot(self, step: Pivot, rows: Node) -> Node:
        return pivoted(self, step, rows)

    @after.register
    def _unpivot(self, step: Unpivot, rows: Node) -> Node:
        return unpivoted(self, step, rows)

    @after.register
    def _unwind(self, step: Unwind, rows: Node) -> Node:
        return unwound(self, step, rows)

    @after.register
    def _buckets(self, step: Buckets, rows: Node) -> Node:
        return bucketed(self, step, rows)

    @after.register
    def _facets(self, step: Facets, rows: Node) -> Node:
        shared = Shared(rows, f"shared{next(self._columns)}")
        parts = [self._following(steps, shared) for _name, steps in step.queries]
        fields = tuple(
            Field(name, pa.list_(pa.struct(list(part.fields.schema))), self.new())
            for (name, _steps), part in zip(step.queries, parts, strict=True)
        )
        refuse_twice([field.name for field in fields], rows.fields.place)
        return Faceted(shared, Fields(f"{rows.fields.place}, facets", fields), parts)

    @after.register
    def _join(self, step: Join, rows: Node) -> Node:
        return joined(self, step, rows, self.rows(step.other))

    def grouped(self, rows: Node, keys: Sequence[Field], aggregates: Aggregates) -> Grouped:
        place = rows.fields.place
        refuse_twice([*(key.name for key in keys), *(name for name, _ in aggregates)], place)
        made: dict[str, tuple[exp.Expr, Needed]] = {}
        fields = list(keys)
        for name, aggregate in aggregates:
            kind, sql, used = aggregated(aggregate, rows)
            fields.append(Field(name, kind, self.new()))
            made[fields[-1].identifier] = (sql, used)
        named = Fields(f"{place}, grouped", tuple(fields))
        return Grouped(rows, named, [key.identifier for key in keys], made)

    def reachable(self, names: Iterable[str], rows: Node) -> tuple[Node, list[Field]]:
        """The columns of these names; fields inside structs are computed as columns of their own first."""
        found, made = [], {}
        for name in names:
            if name in rows.fields:
                found.append(rows.fields[name])
                continue
            field, value = self._reached(name, rows)
            made[field.identifier] = value
            found.append(field)
        return Computed(rows, rows.fields, made) if made else rows, found

    def _reached(self, path: str, rows: Node) -> tuple[Field, tuple[exp.Expr, Needed]]:
        value = typed(Named(path), rows.fields)
        return Field(path, value.value.type, self.new()), (value.value.sql, value.used)

    def new(self) -> str:
        """An identifier that nothing else has."""
        return f"x{next(self._columns)}"
