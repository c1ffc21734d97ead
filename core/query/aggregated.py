"""An aggregate made to fit the rows that it is computed of."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from lamella.core.errors import BadQuery, instead_of
from lamella.core.filters.kinds import value_type
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.aggregates import AGGREGATES, ROWS, AggregateFunction, Input
from lamella.core.query.nodes import Needed, Node
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import column
from lamella.core.query.typed import condition, typed

Made = tuple[pa.DataType, exp.Expr, Needed]


def aggregated(aggregate: Aggregate, rows: Node) -> Made:
    """Its type, its SQL, and the columns that this uses.

    Raises `BadQuery` where it does not fit.
    """
    function = _known(aggregate, rows.fields.place)
    met, filtered = None, Needed()
    if aggregate.where is not None:
        met, filtered = condition(aggregate.where, rows.fields)
    value, used = _value(aggregate, function, rows)
    if not function.fits(value.type):
        raise BadQuery(
            f"{rows.fields.place}: '{function.id}' does not fit {value.said} ({value_type(value.type)})",
            f"It takes {function.takes}",
        )
    rank = column(rows.order[0].identifier) if len(rows.order) == 1 and rows.order[0].position else None
    order = [one.sql for one in rows.order]
    given = Input(value.sql, value.type, order, rank, met, aggregate.parameter)
    ranked = rows.ranked if function.ordered else Needed()
    return function.result(value.type), function.sql(given), used | filtered | ranked


def _known(aggregate: Aggregate, place: str) -> AggregateFunction:
    function = AGGREGATES.get(aggregate.function)
    if function is None:
        raise BadQuery(
            f"{place}: there is no aggregate '{aggregate.function}'",
            fix=instead_of(aggregate.function, list(AGGREGATES)),
        )
    return function


def _value(aggregate: Aggregate, function: AggregateFunction, rows: Node) -> tuple[Value, Needed]:
    if aggregate.value is not None:
        found = typed(aggregate.value, rows.fields)
        return found.value, found.used
    if function.needs_value:
        raise BadQuery(f"{rows.fields.place}: '{function.id}' needs a column", f"It takes {function.takes}")
    return Value(ROWS, pa.int64(), "rows"), Needed()
