"""From a pipeline to the rows it asks for: what each step means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import singledispatchmethod
from itertools import count

import pyarrow as pa
from sqlglot import exp

from core.errors import BadQuery
from core.query.aggregated import aggregated
from core.query.expressions import Named
from core.query.fields import Field, Fields
from core.query.nodes import Chosen, Computed, Cut, Filtered, Grouped, Needed, Node, Rank, Scan, sampled
from core.query.pipeline import Pipeline
from core.query.steps import Compute, Group, Limit, Sample, Select, Sort, Step, Where
from core.query.typed import condition, typed
from core.scan.snapshot import Snapshot

Find = Callable[[str], Snapshot]


def compiled(pipeline: Pipeline, find: Find) -> Node:
    """`find` gives the snapshot of a source. Raises `BadQuery`, `BadFilter` or `UnknownColumn` for the
    first step that does not fit the columns before it."""
    return Compiler(find).rows(pipeline)


class Compiler:
    """One query: its datasets and its columns are numbered through."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._datasets, self._columns = count(), count()

    def rows(self, pipeline: Pipeline) -> Node:
        rows: Node = Scan(self._find(pipeline.source), next(self._datasets))
        for step in pipeline.steps:
            rows = self.after(step, rows)
        return rows

    @singledispatchmethod
    def after(self, step: Step, rows: Node) -> Node:
        """What the step makes of the rows."""
        raise BadQuery(f"{rows.fields.place}: {step!r} is no step of a query")

    @after.register
    def _where(self, step: Where, rows: Node) -> Node:
        if isinstance(rows, Scan):
            return rows.narrowed(step.condition)
        return Filtered(rows, *condition(step.condition, rows.fields))

    @after.register
    def _compute(self, step: Compute, rows: Node) -> Node:
        for name, value in step.values:
            found = typed(value, rows.fields)
            if pa.types.is_null(found.value.type):
                raise BadQuery(
                    f"{rows.fields.place}: '{name}' would be null in every row", fix="Cast it to a type"
                )
            field = Field(name, found.value.type, self._new())
            made = {field.identifier: (found.value.sql, found.used)}
            rows = Computed(rows, _with(rows.fields, field), made)
        return rows

    @after.register
    def _select(self, step: Select, rows: Node) -> Node:
        _refuse_twice(step.columns, rows.fields.place)
        inside = {name: self._reached(name, rows) for name in step.columns if name not in rows.fields}
        made = {field.identifier: value for field, value in inside.values()}
        fields = tuple(inside[n][0] if n in inside else rows.fields[n] for n in step.columns)
        below = Computed(rows, rows.fields, made) if made else rows
        return Chosen(below, Fields(rows.fields.place, fields))

    @after.register
    def _sort(self, step: Sort, rows: Node) -> Node:
        rows, keys = self._reachable([key.column for key in step.keys], rows)
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
        place = rows.fields.place
        _refuse_twice([*step.keys, *(name for name, _ in step.aggregates)], place)
        below, keys = self._reachable(step.keys, rows)
        made: dict[str, tuple[exp.Expr, Needed]] = {}
        fields = list(keys)
        for name, aggregate in step.aggregates:
            kind, sql, used = aggregated(aggregate, below)
            fields.append(Field(name, kind, self._new()))
            made[fields[-1].identifier] = (sql, used)
        named = Fields(f"{place}, grouped", tuple(fields))
        grouped = Grouped(below, named, [key.identifier for key in keys], made)
        return grouped if step.having is None else Filtered(grouped, *condition(step.having, named))

    def _reachable(self, names: Iterable[str], rows: Node) -> tuple[Node, list[Field]]:
        """The columns of these names; fields inside structs are computed as columns of their own first."""
        found = []
        for name in names:
            if name in rows.fields:
                found.append(rows.fields[name])
                continue
            field, value = self._reached(name, rows)
            rows = Computed(rows, rows.fields, {field.identifier: value})
            found.append(field)
        return rows, found

    def _reached(self, path: str, rows: Node) -> tuple[Field, tuple[exp.Expr, Needed]]:
        value = typed(Named(path), rows.fields)
        return Field(path, value.value.type, self._new()), (value.value.sql, value.used)

    def _new(self) -> str:
        return f"x{next(self._columns)}"


def _with(fields: Fields, field: Field) -> Fields:
    """The column in place of the one that is called so, or behind all."""
    if field.name not in fields:
        return Fields(fields.place, (*fields.all, field))
    return Fields(fields.place, tuple(field if old.name == field.name else old for old in fields.all))


def _refuse_twice(names: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadQuery(f"{place}: two columns would be called '{name}'", fix="Name each once")
        seen.add(name)
