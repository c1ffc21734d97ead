"""Compiles a pipeline into the nodes that compute its rows: the meaning of each step."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadQuery, short_text
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.filters.kinds import COMPARABLE, Kind, kind_of, value_type
from lamella.core.filters.values import convert, float_width, natural, nearest_float
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query import execute as answers
from lamella.core.query.buckets import bucket_node
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.engine import not_too_deep
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.fields import (
    Field,
    Fields,
    Value,
    case,
    cast,
    cast_to,
    column,
    func,
    number,
    paren,
    refuse_twice,
    text,
    try_cast,
)
from lamella.core.query.functions.aggregates import AGGREGATES, aggregate_sql
from lamella.core.query.functions.table import condition, type_expression
from lamella.core.query.functions.types import (
    cast_exactly,
    common_type,
    in_common,
    is_changed_by_cast,
    may_round,
)
from lamella.core.query.plan import (
    ComputeNode,
    FacetNode,
    FilterNode,
    GroupNode,
    Identifiers,
    JoinNode,
    LimitNode,
    Node,
    ProjectNode,
    Rank,
    ScanNode,
    SharedNode,
    UnnestNode,
    Values,
    sample_node,
)
from lamella.core.query.steps import (
    Aggregate,
    Aggregates,
    Buckets,
    Compute,
    Facets,
    Group,
    Join,
    Limit,
    Pipeline,
    Pivot,
    Sample,
    Select,
    Sort,
    Sql,
    Step,
    Unpivot,
    Unwind,
    Where,
)
from lamella.core.scan.snapshot import Snapshot

if TYPE_CHECKING:
    from lamella.core.query.plan import Compiling


HOWS = ("inner", "left", "right", "full", "semi", "anti")


def join_node(compiler: Compiling, step: Join, left: Node, right: Node) -> Node:
    if step.how not in HOWS:
        raise BadQuery(
            f"{left.fields.place}: there is no join '{step.how}'", fix=f"There are: {', '.join(HOWS)}"
        )
    if not step.left_on or len(step.left_on) != len(step.right_on):
        raise BadQuery(
            f"{left.fields.place}: a join by {len(step.left_on)} and {len(step.right_on)} keys",
            fix="Name the same number of keys on both sides",
        )
    left, left_keys = compiler.reachable(step.left_on, left)
    right, right_keys = compiler.reachable(step.right_on, right)
    pairs = list(zip(left_keys, right_keys, strict=True))
    equal = [_key_pair(field, partner, left, right) for field, partner in pairs]
    if step.how in ("semi", "anti"):
        return JoinNode(left, right, left.fields, equal, step.how)
    both = {field.name: (field, partner) for field, partner in pairs if field.name == partner.name}
    right_fields = [field for field in right.fields.columns if field.name not in both]
    renamed = [_with_suffix(field, left.fields, step.suffix) for field in right_fields]
    refuse_twice([*left.fields.names, *(field.name for field in renamed)], left.fields.place)
    fields = Fields(f"{left.fields.place} with {right.fields.place}", (*left.fields.columns, *renamed))
    if step.how in ("right", "full"):
        left = _with_mark(compiler, left)
    rows: Node = JoinNode(left, right, fields, equal, step.how)
    return _with_keys(compiler, rows, list(both.values())) if step.how in ("right", "full") else rows


def _with_mark(compiler: Compiling, left: Node) -> Node:
    """Add a never-null column to the sort order, so that rows without a left side come last."""
    mark = compiler.new()
    marked = ComputeNode(left, left.fields, {mark: (number(1), Identifiers())})
    return ProjectNode(marked, left.fields, (Rank(mark), *left.order))


def _with_keys(compiler: Compiling, rows: Node, keys: list[tuple[Field, Field]]) -> Node:
    """Merge each key that has the same name on both sides into one column, from the side that has a value."""
    for own, partner in keys:
        if own.name not in rows.fields:
            continue
        sides = [_side(own), _side(partner)]
        kind = common_type([side.type for side in sides])
        assert kind is not None
        field = Field(own.name, own.type if kind.equals(sides[0].type) else kind, compiler.new(), own.note)
        value = func("coalesce", *(cast_exactly(side, kind) for side in sides))
        values = {field.identifier: (value, Identifiers([own.identifier, partner.identifier]))}
        rows = ComputeNode(rows, rows.fields.with_field(field), values)
    return rows


def _key_pair(field: Field, partner: Field, left: Node, right: Node) -> tuple[exp.Expr, exp.Expr]:
    sides = [_side(field), _side(partner)]
    kind = common_type([side.type for side in sides])
    if kind is None or is_.is_null(kind):
        raise BadQuery(
            f"'{field.name}' of {left.fields.place} ({field.type}) cannot be joined with '{partner.name}' of "
            f"{right.fields.place} ({partner.type})",
            fix="Cast one of them to the other's type first with compute()",
        )
    return _comparable(sides[0], sides[1], kind), _comparable(sides[1], sides[0], kind)


def _side(field: Field) -> Value:
    return Value(column(field.identifier), value_type(field.type), field.name)


def _comparable(side: Value, partner: Value, kind: pa.DataType) -> exp.Expr:
    """Convert a key to the type in which both sides are compared. Values that the other side cannot have
    become null, which equals nothing."""
    if is_.is_floating(kind) and (is_.is_integer(side.type) or is_.is_integer(partner.type)):
        return _null_if_changed(side, "HUGEINT")
    if may_round(side.type, kind):
        return _null_if_changed(side, "DOUBLE")
    if is_.is_timestamp(kind) and kind.unit == "ns" and side.type.unit != "ns":
        return try_cast(side.sql, sql_type(kind) or "")
    return cast_exactly(side, kind)


def _null_if_changed(side: Value, name: str) -> exp.Expr:
    value = try_cast(side.sql, name)
    return case(exp.Not(this=paren(is_changed_by_cast(side, value))), value)


def _with_suffix(field: Field, fields: Fields, suffix: str) -> Field:
    return replace(field, name=f"{field.name}{suffix}") if field.name in fields else field


def unpivot_node(compiler: Compiling, step: Unpivot, rows: Node) -> Node:
    place = rows.fields.place
    rows, columns = compiler.reachable(step.columns, rows)
    values = [Value(column(field.identifier), field.type, field.name) for field in columns]
    common = in_common(values)
    if not columns or common is None:
        listing = ", ".join(f"{field.name} ({field.type})" for field in columns)
        raise BadQuery(
            f"{place}: the columns to unpivot have no type in common"
            if columns
            else f"{place}: no columns to unpivot",
            listing,
            "Cast them to one type first with compute()" if columns else "Name some",
        )
    fields = [field for field in rows.fields.columns if field.name not in step.columns]
    refuse_twice([*(field.name for field in fields), step.name, step.value], place)
    name = Field(step.name, pa.string(), compiler.new())
    value = Field(step.value, common[1], compiler.new())
    inputs = Identifiers(field.identifier for field in columns)
    rank = compiler.new()
    items = {
        name.identifier: (_array([text(field.name) for field in columns]), Identifiers()),
        value.identifier: (_array(common[0]), inputs),
        rank: (_array([number(place) for place in range(len(columns))]), Identifiers()),
    }
    return UnnestNode(rows, Fields(place, (*fields, name, value)), items, rank)


def unwind_node(compiler: Compiling, step: Unwind, rows: Node) -> Node:
    rows, (field,) = compiler.reachable([step.column], rows)
    if not (is_.is_list(field.type) or is_.is_large_list(field.type) or is_.is_fixed_size_list(field.type)):
        raise BadQuery(
            f"{rows.fields.place}: '{step.column}' cannot be unwound", f"It is {field.type}", "Name a list"
        )
    items = cast_to(column(field.identifier), pa.list_(field.type.value_type))
    if step.keep_empty:
        filled = exp.GT(this=func("len", items), expression=number(0))
        items = case(filled, items, _array([exp.Null()]))
    item = Field(field.name, field.type.value_type, compiler.new())
    rank, inputs = compiler.new(), Identifiers([field.identifier])
    values = {
        item.identifier: (items, inputs),
        rank: (func("range", func("coalesce", func("len", items), number(0))), inputs),
    }
    fields = rows.fields.with_field(item)
    return UnnestNode(rows, fields, values, rank)


def _array(items: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Array(expressions=list(items))


MOST_COLUMNS = 1000
ROW_COUNT = (("n", Aggregate("count")),)
NULL, NULL_BESIDE_TEXT = "null", "(null)"

SqlValue = tuple[exp.Expr, Identifiers]


def pivot_node(compiler: Compiling, step: Pivot, rows: Node) -> Node:
    rows, (*keys, across) = compiler.reachable((*step.keys, step.column), rows)
    aggregates = step.aggregates or ROW_COUNT
    by = [Field(f"key {place}", key.type, key.identifier) for place, key in enumerate([*keys, across])]
    cells_by_name = [(f"cell {place}", aggregate) for place, (_name, aggregate) in enumerate(aggregates)]
    groups: Node = compiler.group_node(rows, by, tuple(cells_by_name))
    cells = groups.fields.columns[len(by) :]
    if step.values is None:
        values = column_values(compiler, rows, across)
        names, places, place = value_names(values), list(range(1, len(values) + 1)), _rank(across)
    else:
        names = given_names(step.values)
        places, place = _places(across, step.values, rows.fields.place)
    if len(names) * len(aggregates) > MOST_COLUMNS:
        raise BadQuery(
            f"{rows.fields.place}: a pivot on '{step.column}' would have more than {MOST_COLUMNS:,} columns",
            fix="Filter the rows first, or list the values that you need with values=[…]",
        )
    position, maps = compiler.new(), [compiler.new() for _ in cells]
    numbered = ComputeNode(groups, groups.fields, {position: (place, Identifiers([across.identifier]))})
    by_place = {at_map: _by_place(cell, position) for at_map, cell in zip(maps, cells, strict=True)}
    turned = GroupNode(
        numbered, Fields(rows.fields.place, tuple(keys)), [key.identifier for key in keys], by_place
    )
    fields, cell_values = list(keys), dict[str, SqlValue]()
    for value, at in zip(names, places, strict=True):
        for (name, aggregate), cell, at_map in zip(aggregates, cells, maps, strict=True):
            name_of_column = value if len(aggregates) == 1 else f"{value}_{name}"
            fields.append(Field(name_of_column, cell.type, compiler.new()))
            cell_values[fields[-1].identifier] = (_cell(at_map, at, aggregate), Identifiers([at_map]))
    refuse_twice([field.name for field in fields], rows.fields.place)
    return ComputeNode(turned, Fields(f"{rows.fields.place}, grouped", tuple(fields)), cell_values)


def column_values(compiler: Compiling, rows: Node, field: Field) -> list[pa.Scalar]:
    """The values of a column, in order, null last."""
    groups = GroupNode(rows, Fields(rows.fields.place, (field,)), [field.identifier], {})
    return list(compiler.read(groups, MOST_COLUMNS + 1).column(0))


def _rank(across: Field) -> exp.Expr:
    """The rank of a group's value among all values."""
    order = exp.Order(expressions=[exp.Ordered(this=column(across.identifier), nulls_first=False)])
    return exp.Window(this=func("dense_rank"), order=order)


def _places(across: Field, values: Sequence[Any], of: str) -> tuple[list[int], exp.Expr]:
    """Return the positions of the requested values, and SQL for the position of a group's value among them. A
    value may be requested twice."""
    first: dict[Any, int] = {}
    for value in values:
        if not isinstance(value, Hashable):
            raise BadQuery(
                f"{of}: {short_text(value)} is not a value of '{across.name}'", fix="Give single values"
            )
    places = [first.setdefault(_exact(value, across.type), n) for n, value in enumerate(values)]
    ifs = [exp.If(this=_is(across, values[n], of), true=number(n)) for n in first.values()]
    branches = exp.Case(ifs=ifs, default=exp.Null()) if ifs else exp.Null()
    return places, cast(branches, "BIGINT")


def _exact(value: Any, kind: pa.DataType) -> Any:
    """A key that is equal for values that a filter treats as equal."""
    if value is None or kind_of(kind) not in COMPARABLE:
        return value
    try:
        exact = convert(value, kind).exact
    except (ValueError, OverflowError):
        return value
    exact = nearest_float(exact, float_width(value_type(kind))) if kind_of(kind) is Kind.FLOAT else exact
    return exact if exact == exact else "NaN"


def _is(across: Field, value: Any, place: str) -> exp.Expr:
    predicate = Predicate(across.name, "is_null") if value is None else Predicate(across.name, "eq", (value,))
    return condition(predicate, Fields(place, (across,)))[0]


def _by_place(cell: Field, position: str) -> SqlValue:
    """SQL for a map of a row's groups, by the position of their value."""
    entries = func("list", func("row", column(position), column(cell.identifier)))
    is_known = exp.Not(this=exp.Is(this=column(position), expression=exp.Null()))
    known_entries = exp.Filter(this=entries, expression=exp.Where(this=is_known))
    return func("map_from_entries", known_entries), Identifiers([position, cell.identifier])


def _cell(by_place: str, place: int, aggregate: Aggregate) -> exp.Expr:
    """The aggregate of the group at this position; if there is no such group, the aggregate of no rows."""
    cell = func("map_extract_value", column(by_place), number(place))
    empty = AGGREGATES[aggregate.function].empty
    return cell if empty is None else exp.Coalesce(this=cell, expressions=[empty()])


def given_names(values: Sequence[Any]) -> list[str]:
    """The column names of requested values."""
    return [_column_name(natural(v) if isinstance(v, pa.Scalar) else v) for v in values]


def value_names(values: Sequence[pa.Scalar]) -> list[str]:
    """The column names of values; null is named so that it differs from a text "null"."""
    titles = [_column_name(_fine(value) if value.is_valid else None) for value in values]
    if titles.count(NULL) > 1:
        titles = [
            name if value.is_valid else NULL_BESIDE_TEXT for name, value in zip(titles, values, strict=True)
        ]
    return titles


def _fine(value: pa.Scalar) -> Any:
    """The Python value, or a text if the value is finer than Python can represent."""
    kind = value.type
    if not (is_.is_timestamp(kind) or is_.is_time(kind)) or kind.unit != "ns":
        return value.as_py()
    count, nanoseconds = divmod(value.value, 1000)
    coarse = pa.time64("us") if is_.is_time(kind) else pa.timestamp("us", kind.tz)
    moment = pa.scalar(count, coarse).as_py()
    if not nanoseconds:
        return moment
    whole = str(moment.replace(microsecond=0))
    clock, zone = (whole[:19], whole[19:]) if is_.is_timestamp(kind) else (whole, "")
    return f"{clock}.{moment.microsecond:06d}{nanoseconds:03d}{zone}"


def _column_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: NULL, True: "true", False: "false"}[value]
    return str(value)


Find = Callable[[str], Snapshot]
DEEPEST = 200
"""The maximum depth of nested relations. Each step nests once, except that consecutive filters share one
relation, as do computed columns that do not use each other."""


def compile_pipeline(pipeline: Pipeline, find: Find, job: Job | None = None, by_id: bool = False) -> Node:
    """Compile a pipeline. `find` returns the snapshot of a source. The columns of a pivot and the bounds of
    buckets are read from the data unless the step gives them.

    Raises `BadQuery`, `BadFilter` or `UnknownColumn` for the first step that does not fit those before it.
    """
    with not_too_deep(pipeline.source):
        return Compiler(find, job or Job(), by_id).rows(pipeline)


class Compiler:
    """Compiles one query, and numbers its datasets and columns."""

    def __init__(self, find: Find, job: Job, by_id: bool) -> None:
        self._find, self.job, self._by_id = find, job, by_id
        self._datasets, self._columns = count(), count()

    def rows(self, pipeline: Pipeline) -> Node:
        return self._following(pipeline.steps, self.scan(pipeline.source))

    def scan(self, name: str) -> Node:
        """The rows of a dataset."""
        return ScanNode(self._find(name), next(self._datasets), by_id=self._by_id)

    def read(self, node: Node, most: int | None = None) -> pa.Table:
        """Read at most `most` rows of a part of the query, in order to know its columns."""
        return answers.read(node, self.job, most)

    def _following(self, steps: Iterable[Step], rows: Node) -> Node:
        for step in steps:
            rows = self.after(step, rows)
            if rows.depth > DEEPEST:
                raise BadQuery(
                    f"{rows.fields.place}: more than {DEEPEST} steps build on each other",
                    fix="Split it into two queries, with a table in between",
                )
        return rows

    def after(self, step: Step, rows: Node) -> Node:
        """The rows after the step."""
        meaning = _MEANINGS.get(type(step))
        if meaning is None:
            raise BadQuery(f"{rows.fields.place}: {step!r} is not a step of a query")
        return meaning(self, step, rows)

    def _where(self, step: Where, rows: Node) -> Node:
        if isinstance(rows, ScanNode):
            return rows.with_filter(step.condition)
        return self._filter(rows, step.condition)

    def _filter(self, rows: Node, where: Filter) -> Node:
        predicate, inputs = condition(where, rows.fields)
        if isinstance(rows, FilterNode):
            return rows.with_filter(predicate, inputs)
        return FilterNode(rows, [predicate], inputs)

    def _compute(self, step: Compute, rows: Node) -> Node:
        """Compute columns; those that do not use each other are computed together."""
        fields, values = rows.fields, dict[str, SqlValue]()
        for name, value in step.values:
            expression = type_expression(value, fields)
            if pa.types.is_null(expression.value.type):
                raise BadQuery(
                    f"{fields.place}: '{name}' would be null in every row", fix="Cast it to a type"
                )
            if not expression.used_names.isdisjoint(values):
                rows, values = ComputeNode(rows, fields, values), {}
            field = Field(name, expression.value.type, self.new())
            values[field.identifier] = (expression.value.sql, expression.used_names)
            fields = fields.with_field(field)
        return ComputeNode(rows, fields, values)

    def _select(self, step: Select, rows: Node) -> Node:
        refuse_twice(step.columns, rows.fields.place)
        inside = {name: self._field_at(name, rows) for name in step.columns if name not in rows.fields}
        values = {field.identifier: value for field, value in inside.values()}
        fields = tuple(inside[n][0] if n in inside else rows.fields[n] for n in step.columns)
        below = ComputeNode(rows, rows.fields, values) if values else rows
        return ProjectNode(below, Fields(rows.fields.place, fields))

    def _sort(self, step: Sort, rows: Node) -> Node:
        rows, keys = self.reachable([key.column for key in step.keys], rows)
        ranks = tuple(Rank(f.identifier, k.descending) for f, k in zip(keys, step.keys, strict=True))
        identifiers = {rank.identifier for rank in ranks}
        return ProjectNode(
            rows, rows.fields, (*ranks, *(rank for rank in rows.order if rank.identifier not in identifiers))
        )

    def _limit(self, step: Limit, rows: Node) -> Node:
        return LimitNode(rows, step.count, step.offset)

    def _sample(self, step: Sample, rows: Node) -> Node:
        return sample_node(rows, step.count, step.seed)

    def _group(self, step: Group, rows: Node) -> Node:
        rows, keys = self.reachable(step.keys, rows)
        groups = self.group_node(rows, keys, step.aggregates)
        return groups if step.having is None else self._filter(groups, step.having)

    def _pivot(self, step: Pivot, rows: Node) -> Node:
        return pivot_node(self, step, rows)

    def _unpivot(self, step: Unpivot, rows: Node) -> Node:
        return unpivot_node(self, step, rows)

    def _unwind(self, step: Unwind, rows: Node) -> Node:
        return unwind_node(self, step, rows)

    def _buckets(self, step: Buckets, rows: Node) -> Node:
        return bucket_node(self, step, rows)

    def _facets(self, step: Facets, rows: Node) -> Node:
        shared = SharedNode(rows, f"shared{next(self._columns)}")
        parts = [self._following(steps, shared) for _name, steps in step.queries]
        fields = tuple(
            Field(name, pa.list_(pa.struct(list(part.fields.schema))), self.new())
            for (name, _steps), part in zip(step.queries, parts, strict=True)
        )
        refuse_twice([field.name for field in fields], rows.fields.place)
        return FacetNode(shared, Fields(f"{rows.fields.place}, facets", fields), parts)

    def _join(self, step: Join, rows: Node) -> Node:
        return join_node(self, step, rows, self.rows(step.other))

    def _sql(self, step: Sql, rows: Node) -> Node:
        from lamella.core.query.sql.step import sql_node

        tables = {name: self._find(source) for name, source in step.tables}
        return sql_node(step, rows, tables, next(self._datasets), self.job)

    def group_node(self, rows: Node, keys: Sequence[Field], aggregates: Aggregates) -> GroupNode:
        place = rows.fields.place
        refuse_twice([*(key.name for key in keys), *(name for name, _ in aggregates)], place)
        values: Values = {}
        fields = list(keys)
        for name, aggregate in aggregates:
            kind, sql, inputs = aggregate_sql(aggregate, rows)
            fields.append(Field(name, kind, self.new()))
            values[fields[-1].identifier] = (sql, inputs)
        group_fields = Fields(f"{place}, grouped", tuple(fields))
        return GroupNode(rows, group_fields, [key.identifier for key in keys], values)

    def reachable(self, names: Iterable[str], rows: Node) -> tuple[Node, list[Field]]:
        """The columns with these names; fields inside structs are first computed as columns."""
        reached, inner_values = [], {}
        for name in names:
            if name in rows.fields:
                reached.append(rows.fields[name])
                continue
            field, value = self._field_at(name, rows)
            inner_values[field.identifier] = value
            reached.append(field)
        return ComputeNode(rows, rows.fields, inner_values) if inner_values else rows, reached

    def _field_at(self, path: str, rows: Node) -> tuple[Field, tuple[exp.Expr, Identifiers]]:
        value = type_expression(ColumnReference(path), rows.fields)
        note = rows.fields.at_path(path)[0].note
        return Field(path, value.value.type, self.new(), note), (value.value.sql, value.used_names)

    def new(self) -> str:
        """A unique identifier."""
        return f"x{next(self._columns)}"


# not singledispatchmethod: on Python 3.13.0 it keeps the instances it is called on, and so their snapshots
_MEANINGS: dict[type[Step], Callable[[Compiler, Any, Node], Node]] = {
    Where: Compiler._where,
    Compute: Compiler._compute,
    Select: Compiler._select,
    Sort: Compiler._sort,
    Limit: Compiler._limit,
    Sample: Compiler._sample,
    Group: Compiler._group,
    Pivot: Compiler._pivot,
    Unpivot: Compiler._unpivot,
    Unwind: Compiler._unwind,
    Buckets: Compiler._buckets,
    Facets: Compiler._facets,
    Join: Compiler._join,
    Sql: Compiler._sql,
}
