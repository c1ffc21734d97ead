"""Translation of aggregates from DuckDB to Spark. An aggregate that is composed of several others applies the
condition of its FILTER inside."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pyarrow import types as is_

from lamella.core.libraries import exp
from lamella.core.query.spark.writing import (
    Context,
    NotInDialect,
    Rule,
    call,
    case,
    spark_cast,
    whole,
    with_type,
    without_sign_of_zero,
)


def condition_inside(node: exp.Filter, _context: Context) -> exp.Expr:
    """Drop the FILTER of a composed aggregate, which already has the condition inside."""
    return node.this if node.this.meta.get("filtered") else node


def _collect_list(name: str, value: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A list of the values that meet the aggregate's FILTER, if there is one."""
    collected = call(name, value)
    if isinstance(node.parent, exp.Filter):
        condition = node.parent.expression.this.copy()
        collected = exp.Filter(this=collected, expression=exp.Where(this=condition))
    return collected


def _mark_composed(composed: exp.Expr) -> exp.Expr:
    composed.meta["filtered"] = True
    return composed


def array_agg(node: exp.ArrayAgg, _context: Context) -> exp.Expr:
    """A list of values. Spark leaves out nulls, so structs are collected, which are never null. `number_rows`
    has replaced the order by row numbers."""
    inside = node.this
    if isinstance(inside, exp.Order) and isinstance(inside.this, exp.Distinct):
        return _mark_composed(
            call("array_sort", _collect_list("collect_set", inside.this.expressions[0], node))
        )
    if isinstance(inside, exp.Order):
        pair = call("struct", inside.expressions[0].this, inside.this)
        pair = call(
            "named_struct",
            exp.Literal.string("n"),
            pair.expressions[0],
            exp.Literal.string("v"),
            pair.expressions[1],
        )
        item = exp.Lambda(this=exp.Var(this="one.v"), expressions=[exp.to_identifier("one")])
        return _mark_composed(
            call("transform", call("array_sort", _collect_list("collect_list", pair, node)), item)
        )
    if isinstance(inside, exp.Anonymous) and inside.this == "struct":
        return call("collect_list", inside)
    raise NotInDialect("a list of unsorted rows has no stable order in Spark", "Sort the rows first")


def first(name: str) -> Rule:
    def rule(node: Any, _context: Context) -> exp.Expr:
        inside = node.this
        if not isinstance(inside, exp.Order):
            raise NotInDialect(
                "the first and last of unsorted rows are not stable in Spark",
                "Sort the rows first",
            )
        return call(name, inside.this, inside.expressions[0].this)

    return rule


def quantile(node: Any, context: Context) -> exp.Expr:
    """An interpolated quantile: Spark's own function treats NaN and infinities differently."""
    return _mark_composed(_each_part(node.expression, lambda part: _between(node, part)))


def median(node: exp.Median, context: Context) -> exp.Expr:
    return _mark_composed(_between(node, exp.Literal.number("0.5")))


def approximate_quantile(node: exp.ApproxQuantile, context: Context) -> exp.Expr:
    """Approximate quantiles, one at a time: Sail 0.7 does not accept a list of them."""
    value = spark_cast(node.this, "DOUBLE")
    if isinstance(node.parent, exp.Filter):
        value = case(node.parent.expression.this.copy(), value)
    return _mark_composed(
        _each_part(
            node.args["quantile"],
            lambda part: call("percentile_approx", value.copy(), spark_cast(part.copy(), "DOUBLE")),
        )
    )


def approximate_distinct(node: exp.ApproxDistinct, context: Context) -> exp.Expr:
    """Sail 0.7 counts distinct floats only as text."""
    value, kind = node.this, context.type_of(node.this)
    if kind is not None and is_.is_floating(kind):
        value = spark_cast(without_sign_of_zero(value, context), "STRING")
    return call("approx_count_distinct", value)


def _each_part(parts: exp.Expr, make: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A quantile, or a list of them if a list is requested."""
    if isinstance(parts, exp.Anonymous) and parts.this == "array":
        return call("array", *map(make, parts.expressions))
    return make(parts)


def _between(node: exp.Expr, quantile: exp.Expr) -> exp.Expr:
    values = call("array_sort", _collect_list("collect_list", node.this.copy(), node))
    part = quantile.sql("spark")
    place = f"({part} * (array_size(a) - 1))"
    low, high = (f"get(a, CAST({name}({place}) AS INT))" for name in ("floor", "ceil"))
    between = f"{low} + ({high} - {low}) * ({place} - floor({place}))"
    body = exp.Var(this=f"CASE WHEN equal_null({low}, {high}) THEN {low} ELSE {between} END")
    once = exp.Lambda(this=body, expressions=[exp.to_identifier("a")])
    return call("get", call("transform", call("array", values), once), whole(0))


def population_stddev(node: exp.StddevPop, _context: Context) -> exp.Expr:
    """The standard deviation of a population: 0 for any single value."""
    value = node.this
    if isinstance(node.parent, exp.Filter):
        value = case(node.parent.expression.this.copy(), value)
    single = exp.EQ(this=exp.Count(this=value.copy()), expression=whole(1))
    return _mark_composed(case(single, spark_cast(whole(0), "DOUBLE"), call("stddev_pop", value)))


def quantile_of_values(node: Any, context: Context) -> exp.Expr:
    """A quantile that is one of the values, of any type: Spark's own function takes only numbers."""
    values = call("array_sort", _collect_list("collect_list", node.this, node))

    def at(part: exp.Expr) -> exp.Expr:
        place = exp.Mul(this=spark_cast(part, "DOUBLE"), expression=call("array_size", values.copy()))
        before = exp.Sub(this=call("ceil", place), expression=whole(1))
        return call("get", values.copy(), spark_cast(call("greatest", before, whole(0)), "INT"))

    return _mark_composed(_each_part(node.expression, at))


def histogram(node: exp.Anonymous, _context: Context) -> exp.Expr:
    """The counts of the bins in order; each bin includes its upper bound. There is no map, so `values_of_map`
    passes them through."""
    value, bounds = node.expressions
    met = [node.parent.expression.this] if isinstance(node.parent, exp.Filter) else []
    counts = []
    for below, upper in pairwise([None, *bounds.expressions]):
        conditions = [*met, exp.LTE(this=value, expression=upper)]
        if below is not None:
            conditions.append(exp.GT(this=value, expression=below))
        counts.append(call("count_if", exp.and_(*conditions)))
    return _mark_composed(call("array", *counts))


def values_of_map(node: exp.Anonymous, _context: Context) -> exp.Expr:
    """The values of a map, supported only for a histogram."""
    counts: exp.Expr = node.expressions[0]
    if not counts.meta.get("filtered"):
        raise NotInDialect("the values of a map have no equivalent in Spark")
    return counts


def mode(node: exp.Mode, context: Context) -> exp.Expr:
    value = node.this.this if isinstance(node.this, exp.Order) else node.this
    kind = context.type_of(value)
    if kind is None or not is_.is_boolean(kind):
        return call("mode", value, exp.true())
    if isinstance(node.parent, exp.Filter):
        value = case(node.parent.expression.this.copy(), value)
    return _mark_composed(spark_cast(call("mode", spark_cast(value, "INT"), exp.true()), "BOOLEAN"))


def extreme(node: Any, context: Context) -> exp.Expr:
    """The minimum or maximum. Sail 0.7 returns varying extremes if there are NaNs, and none if all values are
    infinite, so both are counted separately. NaN is the greatest number."""
    kind, value = context.type_of(node.this), node.this
    if kind is None or not is_.is_floating(kind):
        return node if kind is None else with_type(node, kind)
    if isinstance(node.parent, exp.Filter):
        value = case(node.parent.expression.this.copy(), value)
    least, name = isinstance(node, exp.Min), "FLOAT" if is_.is_float32(kind) else "DOUBLE"
    endless = spark_cast(exp.Literal.string("inf" if least else "-inf"), name)
    nan = spark_cast(exp.Literal.string("NaN"), name)
    nans = call("count_if", call("isnan", value.copy()))
    is_inside = (exp.LT if least else exp.GT)(this=value.copy(), expression=endless.copy())
    is_number = exp.Not(this=call("isnan", value.copy()))
    inside = type(node)(this=case(exp.And(this=is_number, expression=is_inside), value.copy()))
    count = exp.Count(this=value.copy())
    if least:
        values = exp.Case(
            ifs=[
                exp.If(this=exp.GT(this=count, expression=nans), true=endless),
                exp.If(this=exp.GT(this=nans.copy(), expression=whole(0)), true=nan),
            ]
        )
        expression: exp.Expr = exp.Coalesce(this=inside, expressions=[values])
    else:
        ends = case(exp.GT(this=count, expression=whole(0)), endless)
        expression = case(
            exp.GT(this=nans, expression=whole(0)), nan, exp.Coalesce(this=inside, expressions=[ends])
        )
    return _mark_composed(with_type(expression, kind))


def avg(node: exp.Avg, context: Context) -> exp.Expr:
    """The mean as a float: Spark rounds the mean of decimals to a decimal."""
    return exp.Avg(this=spark_cast(node.this, "DOUBLE"))
