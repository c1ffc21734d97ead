"""THE table of aggregates, which compute one value from many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadQuery, instead_of
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.libraries import exp
from lamella.core.query.fields import Value, cast, cast_to, column, func, number
from lamella.core.query.functions.table import condition, type_expression
from lamella.core.query.plan import Identifiers, Node
from lamella.core.query.steps import Aggregate


@dataclass(frozen=True)
class Input:
    """The input of an aggregate. `rank` is a column that ascends in the order of the rows, if there is one;
    `order` is that order in any case."""

    value: exp.Expr
    kind: pa.DataType
    order: Sequence[exp.Expr] = ()
    rank: exp.Expr | None = None
    condition: exp.Expr | None = None
    parameter: float | None = None

    def call(self, name: str, *arguments: exp.Expr, order: Sequence[exp.Expr] = ()) -> exp.Expr:
        parts = list(arguments)
        if order:
            parts[-1] = exp.Order(this=parts[-1], expressions=list(order))
        expression = func(name, *parts)
        if self.condition is None:
            return expression
        return exp.Filter(this=expression, expression=exp.Where(this=self.condition))

    @property
    def by_value(self) -> list[exp.Expr]:
        return [exp.Ordered(this=self.value, nulls_first=False)]

    @property
    def distinct(self) -> exp.Expr:
        return exp.Distinct(expressions=[self.value])


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate. `fits` and `result` take the value's type; `is_ordered` means that the order of rows
    matters, and `empty` gives the aggregate of no rows if that is not null."""

    id: str
    label: str
    fits: Callable[[pa.DataType], bool]
    result: Callable[[pa.DataType], pa.DataType]
    sql: Callable[[Input], exp.Expr]
    takes: str = "values that can be ordered"
    needs_value: bool = True
    is_ordered: bool = False
    empty: Callable[[], exp.Expr] | None = None


def _numeric(kind: pa.DataType) -> bool:
    """Whether values can be added up; decimals of more than 38 digits cannot."""
    plain = value_type(kind)
    return (
        kind_of(plain) in (Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN)
        or is_.is_decimal128(plain)
        or _short(plain)
    )


def _short(kind: pa.DataType) -> bool:
    return bool(is_.is_decimal(kind)) and kind.bit_width < 128


def _addable(kind: pa.DataType) -> bool:
    return _numeric(kind) or bool(is_.is_duration(kind))


def _scalar(kind: pa.DataType) -> bool:
    plain = value_type(kind)
    return not is_.is_nested(plain) or is_.is_null(plain)


def _takes_any(_kind: pa.DataType) -> bool:
    return True


def _count(_kind: pa.DataType) -> pa.DataType:
    return pa.int64()


def _float(_kind: pa.DataType) -> pa.DataType:
    return pa.float64()


def _own_type(kind: pa.DataType) -> pa.DataType:
    return value_type(kind)


def _total(kind: pa.DataType) -> pa.DataType:
    plain = value_type(kind)
    if is_.is_uint64(plain) or is_.is_duration(plain):
        return plain
    if is_.is_decimal(plain):
        return pa.decimal128(38, plain.scale)
    return pa.float64() if is_.is_floating(plain) else pa.int64()


def _mean(kind: pa.DataType) -> pa.DataType:
    return kind if is_.is_duration(kind) else pa.float64()


def _middle(kind: pa.DataType) -> pa.DataType:
    """Numbers are interpolated; for other types, one of the values is chosen."""
    return pa.float64() if _numeric(kind) else value_type(kind)


def _list_type(kind: pa.DataType) -> pa.DataType:
    return pa.list_(value_type(kind))


def _as_number(operand: Input) -> exp.Expr:
    return cast(operand.value, "BIGINT") if is_.is_boolean(value_type(operand.kind)) else operand.value


def _sum(operand: Input) -> exp.Expr:
    return cast_to(operand.call("sum", _as_number(operand)), _total(operand.kind))


def _average(operand: Input) -> exp.Expr:
    return cast_to(operand.call("avg", _as_number(operand)), _mean(operand.kind))


def _end(last: bool) -> Callable[[Input], exp.Expr]:
    def sql(operand: Input) -> exp.Expr:
        if operand.rank is not None:
            return operand.call("arg_max_null" if last else "arg_min_null", operand.value, operand.rank)
        return operand.call("last" if last else "first", operand.value, order=operand.order)

    return sql


def _count_values(operand: Input) -> exp.Expr:
    return operand.call("count", operand.value)


def _distinct(operand: Input) -> exp.Expr:
    return operand.call("count", operand.distinct)


def _quantile(operand: Input) -> exp.Expr:
    part = exp.Literal.number(0.5 if operand.parameter is None else float(operand.parameter))
    if _numeric(operand.kind):
        return operand.call("quantile_cont", cast(_as_number(operand), "DOUBLE"), part)
    return operand.call("quantile_disc", operand.value, part)


def _spread(name: str) -> Callable[[Input], exp.Expr]:
    return lambda operand: operand.call(name, cast(_as_number(operand), "DOUBLE"))


def _mode(operand: Input) -> exp.Expr:
    """The least of the most frequent values, so that the answer does not depend on threads."""
    return operand.call("mode", operand.value, order=operand.by_value)


def _list_of(operand: Input) -> exp.Expr:
    return _never_null(operand.call("list", operand.value, order=operand.order))


def _distinct_list_of(operand: Input) -> exp.Expr:
    once = operand.call("list", operand.distinct, order=operand.by_value)
    is_valid = exp.Lambda(
        this=exp.Not(this=exp.Is(this=exp.column("v"), expression=exp.Null())),
        expressions=[exp.to_identifier("v")],
    )
    return _never_null(func("list_filter", once, is_valid))


def _never_null(values: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=values, expressions=[_no_items()])


def _zero() -> exp.Expr:
    return number(0)


def _no_items() -> exp.Expr:
    return exp.Array(expressions=[])


_NUMBERS = "numbers, or true and false"
_TABLE = (
    AggregateFunction(
        "count", "count", _takes_any, _count, _count_values, "anything", needs_value=False, empty=_zero
    ),
    AggregateFunction(
        "count_distinct", "distinct values", _takes_any, _count, _distinct, "anything", empty=_zero
    ),
    AggregateFunction("sum", "sum", _addable, _total, _sum, _NUMBERS),
    AggregateFunction("avg", "average", _addable, _mean, _average, _NUMBERS),
    AggregateFunction(
        "min", "minimum", _scalar, _own_type, lambda operand: operand.call("min", operand.value)
    ),
    AggregateFunction(
        "max", "maximum", _scalar, _own_type, lambda operand: operand.call("max", operand.value)
    ),
    AggregateFunction("first", "first", _takes_any, _own_type, _end(last=False), "anything", is_ordered=True),
    AggregateFunction("last", "last", _takes_any, _own_type, _end(last=True), "anything", is_ordered=True),
    AggregateFunction("median", "median", _scalar, _middle, _quantile),
    AggregateFunction("quantile", "quantile", _scalar, _middle, _quantile),
    AggregateFunction("stddev", "standard deviation", _numeric, _float, _spread("stddev_samp"), _NUMBERS),
    AggregateFunction(
        "stddev_pop", "standard deviation of all", _numeric, _float, _spread("stddev_pop"), _NUMBERS
    ),
    AggregateFunction("variance", "variance", _numeric, _float, _spread("var_samp"), _NUMBERS),
    AggregateFunction("mode", "most frequent", _scalar, _own_type, _mode),
    AggregateFunction(
        "list", "all values", _takes_any, _list_type, _list_of, "anything", is_ordered=True, empty=_no_items
    ),
    AggregateFunction(
        "distinct_list", "all distinct values", _scalar, _list_type, _distinct_list_of, empty=_no_items
    ),
)

AGGREGATES: dict[str, AggregateFunction] = {function.id: function for function in _TABLE}
ROWS = number(1)
"""The value that is counted when counting rows."""


AggregateSql = tuple[pa.DataType, exp.Expr, Identifiers]


def aggregate_sql(aggregate: Aggregate, rows: Node) -> AggregateSql:
    """The aggregate's type, its SQL, and the columns that the SQL reads.

    Raises `BadQuery` if it does not fit.
    """
    function = _function_named(aggregate, rows.fields.place)
    predicate, filter_inputs = None, Identifiers()
    if aggregate.where is not None:
        predicate, filter_inputs = condition(aggregate.where, rows.fields)
    value, value_inputs = _value(aggregate, function, rows)
    if not function.fits(value.type):
        raise BadQuery(
            f"{rows.fields.place}: '{function.id}' does not fit {value.phrase} ({value_type(value.type)})",
            f"It takes {function.takes}",
        )
    rank = column(rows.order[0].identifier) if len(rows.order) == 1 and rows.order[0].position else None
    order = [key.sql for key in rows.order]
    operand = Input(value.sql, value.type, order, rank, predicate, aggregate.parameter)
    order_inputs = rows.order_columns if function.is_ordered else Identifiers()
    return function.result(value.type), function.sql(operand), value_inputs | filter_inputs | order_inputs


def _function_named(aggregate: Aggregate, place: str) -> AggregateFunction:
    function = AGGREGATES.get(aggregate.function)
    if function is None:
        raise BadQuery(
            f"{place}: there is no aggregate '{aggregate.function}'",
            fix=instead_of(aggregate.function, list(AGGREGATES)),
        )
    return function


def _value(aggregate: Aggregate, function: AggregateFunction, rows: Node) -> tuple[Value, Identifiers]:
    if aggregate.value is not None:
        value = type_expression(aggregate.value, rows.fields)
        return value.value, value.used_names
    if function.needs_value:
        raise BadQuery(f"{rows.fields.place}: '{function.id}' needs a column", f"It takes {function.takes}")
    return Value(ROWS, pa.int64(), "rows"), Identifiers()
