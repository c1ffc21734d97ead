"""Translation of values from DuckDB to Spark: numbers, times, texts, lists and structs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.libraries import exp
from lamella.core.query.spark.types import cast_kind, spark_type
from lamella.core.query.spark.writing import (
    Context,
    NotInDialect,
    Rule,
    arguments,
    as_list,
    call,
    case,
    not_null,
    spark_cast,
    whole,
    with_type,
    without_sign_of_zero,
)

# ------------------------------------------------------------------------------------------- tables and types


def table(node: exp.Table, context: Context) -> exp.Expr:
    if isinstance(node.this, exp.Func):
        raise NotInDialect(
            f"{node.this.sql('duckdb')} returns no rows in Spark", "Name a table of the server"
        )
    sql = context.tables.get(node.name)
    if sql is not None and not node.db:
        node.set("this", exp.Var(this=sql))
    return node


def subquery(node: exp.CTE, _context: Context) -> exp.CTE:
    """Spark has no syntax for MATERIALIZED."""
    node.set("materialized", None)
    return node


def cast(node: exp.Cast, context: Context) -> exp.Expr:
    """Casts to whole numbers round in DuckDB, and truncate in Spark; floats and instants are written as text
    differently."""
    safe, value = isinstance(node, exp.TryCast), node.this
    kind, kinds = context.type_of(value), cast_kind(node)
    name = spark_type(node.to)
    if name is None:
        raise NotInDialect(f"the type {node.to.sql('duckdb')} has no equivalent in Spark")
    if kind is not None and kinds is not None and is_.is_string(kinds):
        if is_.is_floating(kind):
            raise NotInDialect(
                "numbers with a fraction are written as text differently in Spark",
                "Round them first, or keep them as numbers",
            )
        if is_.is_timestamp(kind) and kind.tz is not None:
            raise NotInDialect(
                "times with a zone are written as text differently in Spark", "Keep them as times"
            )
    if kind is not None and kinds is not None and (is_.is_integer(kinds) or name == "DECIMAL(38, 0)"):
        if is_.is_floating(kind):
            value = call("rint", value)
        elif is_.is_decimal(kind) and kind.scale > 0:
            value = call("round", value, whole(0))
    return spark_cast(value, name, safe)


# ---------------------------------------------------------------------------------------------------- numbers


def floor(name: str) -> Rule:
    """Spark returns a 64-bit integer, which cannot represent large floats."""

    def rule(node: Any, context: Context) -> exp.Expr:
        value, kind = node.this, context.type_of(node.this)
        if kind is None:
            raise NotInDialect(f"{name}() of a value whose type is unknown", "Cast it first")
        if not is_.is_floating(kind):
            return call(name, value)
        small = exp.LT(this=call("abs", value.copy()), expression=spark_cast(whole(2**52), "DOUBLE"))
        return with_type(case(small, spark_cast(call(name, value.copy()), "DOUBLE"), value), kind)

    return rule


def round_value(node: exp.Round, context: Context) -> exp.Expr:
    """Spark rounds the decimal digits of a float, DuckDB the float times a power of ten."""
    value, kind, digits = node.this, context.type_of(node.this), node.args.get("decimals")
    if digits is None:
        digits = whole(0)
    if kind is None or not is_.is_floating(kind):
        return call("round", value, digits)
    places = int(digits.sql())
    if not places:
        return call("round", value)
    power = spark_cast(exp.Literal.string(f"1e{abs(places)}"), "DOUBLE")
    scale, back = (exp.Mul, exp.Div) if places > 0 else (exp.Div, exp.Mul)
    moved = exp.Paren(this=scale(this=value, expression=power))
    rounded = exp.Paren(this=back(this=call("round", moved), expression=power.copy()))
    finite = exp.LT(
        this=call("abs", value.copy()),
        expression=spark_cast(exp.Literal.string(f"1e{300 - abs(places)}"), "DOUBLE"),
    )
    return with_type(case(finite, rounded, value.copy()), kind)


def sign(node: exp.Sign, context: Context) -> exp.Expr:
    """The sign; 0 for NaN, which has none."""
    return case(call("isnan", spark_cast(node.this.copy(), "DOUBLE")), whole(0), call("sign", node.this))


def divide_whole(node: exp.IntDiv, context: Context) -> exp.Expr:
    left, right = (part.sql("spark", normalize_functions=False) for part in (node.this, node.expression))
    return exp.Paren(this=exp.Var(this=f"{left} DIV {right}"))


def divide(node: exp.Div, context: Context) -> exp.Expr:
    """DuckDB's division of whole numbers gives a fraction, and division by zero gives null."""
    return exp.Div(
        this=as_double(node.this),
        expression=unless_zero(as_double(node.expression)),
        typed=True,
        safe=True,
    )


def modulo(node: exp.Mod, context: Context) -> exp.Expr:
    return exp.Mod(this=node.this, expression=unless_zero(node.expression))


def as_double(value: exp.Expr) -> exp.Expr:
    is_nullif = isinstance(value, exp.Anonymous) and value.this == "nullif"
    kind = cast_kind(value.expressions[0] if is_nullif else value)
    return value if kind is not None and is_.is_float64(kind) else spark_cast(value, "DOUBLE")


def unless_zero(value: exp.Expr) -> exp.Expr:
    if isinstance(value, exp.Anonymous) and value.this == "nullif":
        return value
    if isinstance(value, exp.Literal) and value.name.strip("0."):
        return value
    return call("nullif", value, whole(0))


def differ(node: exp.NullSafeNEQ, context: Context) -> exp.Expr:
    return exp.Not(this=null_safe_equal(node, context))


def null_safe_equal(node: Any, context: Context) -> exp.Expr:
    alike = compare(node, context)
    return call("equal_null", alike.this, alike.expression)


def equal(node: exp.EQ, context: Context) -> Any:
    """NaN equals NaN, even on servers where it does not; both sides can be keys of a join."""
    sides = node.this, node.expression
    kinds = [context.type_of(side) for side in sides]
    if not all(kind is not None and is_.is_floating(kind) for kind in kinds):
        return compare(node, context)
    zero = spark_cast(whole(0), "DOUBLE")
    left, right = (
        exp.Add(this=call("nanvl", spark_cast(side.copy(), "DOUBLE"), zero.copy()), expression=zero.copy())
        for side in sides
    )
    nans = [call("isnan", side.copy()) for side in sides]
    same = exp.EQ(this=left, expression=right)
    return exp.Paren(this=exp.And(this=same, expression=exp.EQ(this=nans[0], expression=nans[1])))


def distinct(node: exp.Distinct, context: Context) -> exp.Expr:
    node.set("expressions", [without_sign_of_zero(expression, context) for expression in node.expressions])
    return node


def compare(node: Any, context: Context) -> Any:
    """Compare. A number next to floats becomes a float; as a decimal it would turn them into decimals."""
    parts = [node.this, *as_list(node.args.get("expression")), *node.expressions]
    kinds = [context.type_of(part) for part in parts if part is not None]
    if any(kind is not None and is_.is_floating(kind) for kind in kinds):
        for part in parts:
            number = part.this if isinstance(part, exp.Neg) else part
            if isinstance(number, exp.Literal) and not number.is_string:
                part.replace(spark_cast(part.copy(), "DOUBLE"))
    return node


def sort_key(node: exp.Ordered, context: Context) -> exp.Expr:
    """Sort. 0 and -0 are equal, and NaN of any sign is the greatest number: Sail 0.7 sorts a negative NaN
    first."""
    kind, value = context.type_of(node.this), node.this
    if kind is not None and is_.is_floating(kind):
        value = call("nanvl", value, spark_cast(exp.Literal.string("NaN"), "DOUBLE"))
        value = exp.Add(this=value, expression=spark_cast(whole(0), "DOUBLE"))
    node.set("this", value)
    return node


def window(node: exp.Window, context: Context) -> exp.Expr:
    keys = node.args.get("partition_by") or []
    node.set("partition_by", [without_sign_of_zero(key, context) for key in keys])
    return node


def log(node: exp.Log, _context: Context) -> exp.Expr:
    if node.this.name != "10" or node.expression is None:
        raise NotInDialect("logarithms to bases other than 10 and e have no equivalent in Spark")
    return call("log10", node.expression)


def nan_or_null(node: Any, _context: Context) -> exp.Expr:
    """Whether a value is NaN; null for null."""
    (value,) = arguments(node)
    return case(not_null(value.copy()), call("isnan", value))


def is_finite(node: Any, context: Context) -> exp.Expr:
    (value,) = arguments(node)
    kind = context.type_of(value)
    if kind is not None and not is_.is_floating(kind):
        return not_null(value)
    number = spark_cast(value, "DOUBLE")
    endless = spark_cast(exp.Literal.string("inf"), "DOUBLE")
    return exp.Paren(this=exp.LT(this=call("abs", number), expression=endless))


# ------------------------------------------------------------------------------------------------------ times

_PARTS = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "weekofyear", "day": "dayofmonth",
    "doy": "dayofyear", "hour": "hour", "minute": "minute", "second": "second",
}  # fmt: skip


def date_part(node: Any, context: Context) -> exp.Expr:
    part, value = (
        (str(node.this.name), node.expression)
        if isinstance(node, exp.Extract)
        else (node.expressions[0].name, node.expressions[1])
    )
    part = part.casefold()
    if part in ("isodow", "dayofweekiso"):
        return exp.Paren(this=exp.Add(this=call("weekday", value), expression=whole(1)))
    name = _PARTS.get(part)
    if name is None:
        raise NotInDialect(f"the part '{part}' of a time has no equivalent in Spark")
    return call(name, value)


def date_trunc(node: Any, context: Context) -> exp.Expr:
    """Truncate a time. Spark returns an instant, even for local times."""
    kind = context.type_of(node.this)
    truncated = call("date_trunc", exp.Literal.string(node.args["unit"].name.casefold()), node.this)
    if kind is None or not is_.is_timestamp(kind):
        return truncated
    return with_type(truncated if kind.tz is not None else spark_cast(truncated, "TIMESTAMP_NTZ"), kind)


def timezone(node: exp.Anonymous, context: Context) -> exp.Expr:
    """Convert between instants and local times; in the session's own zone a cast does both."""
    zone, value = node.expressions
    kind = context.type_of(value)
    if zone.name.casefold() not in ("utc", "etc/utc") or kind is None or not is_.is_timestamp(kind):
        raise NotInDialect("only the time zone UTC is supported on Spark", "Compute with times in UTC")
    zoned = kind.tz is not None
    converted = spark_cast(value, "TIMESTAMP_NTZ" if zoned else "TIMESTAMP")
    return with_type(converted, pa.timestamp("us", None if zoned else "UTC"))


def epoch(node: Any, context: Context) -> exp.Expr:
    (value,) = arguments(node)
    return call("unix_micros", spark_cast(value, "TIMESTAMP"))


def from_epoch(zoned: bool) -> Rule:
    def rule(node: Any, _context: Context) -> exp.Expr:
        moment = call("timestamp_micros", spark_cast(arguments(node)[0], "BIGINT"))
        kind = pa.timestamp("us", "UTC" if zoned else None)
        return with_type(moment if zoned else spark_cast(moment, "TIMESTAMP_NTZ"), kind)

    return rule


def unix_to_time(node: Any, context: Context) -> exp.Expr:
    """The form in which sqlglot parses make_timestamp(…)."""
    scale = node.args.get("scale")
    if scale is None or scale.name != "6":
        raise NotInDialect("times on Spark must be in microseconds")
    moment = call("timestamp_micros", spark_cast(node.this, "BIGINT"))
    return with_type(spark_cast(moment, "TIMESTAMP_NTZ"), pa.timestamp("us"))


def make_date(node: Any, context: Context) -> exp.Expr:
    parts = arguments(node)
    if len(parts) == 1:
        return with_type(call("date_from_unix_date", spark_cast(parts[0], "INT")), pa.date32())
    return call("make_date", *parts)


def date_diff(node: Any, context: Context) -> exp.Expr:
    if isinstance(node, exp.Anonymous):
        unit, first, last = node.expressions[0].name, node.expressions[1], node.expressions[2]
    else:
        unit, first, last = (
            (node.args["unit"].name if node.args.get("unit") else "day"),
            node.expression,
            node.this,
        )
    if unit.casefold() != "day":
        raise NotInDialect(f"differences of times in the unit '{unit}' are computed differently in Spark")
    return call("datediff", last, first)


def add_or_subtract(node: Any, context: Context) -> Any:
    """Add days to dates, or return the number of days between two."""
    left, right = context.type_of(node.this), context.type_of(node.expression)
    if isinstance(node.expression, exp.Anonymous) and node.expression.this == "make_dt_interval":
        seconds = node.expression.expressions[-1]
        if seconds.name == "0":
            return node.this if left is None else with_type(node.this, left)
    if left is not None and is_.is_timestamp(left) and not (right is not None and is_.is_timestamp(right)):
        return with_type(node, left)
    if left is None or not is_.is_date(left):
        return node
    if right is not None and is_.is_date(right):
        return call("datediff", node.this, node.expression)
    if right is not None and is_.is_integer(right):
        name = "date_add" if isinstance(node, exp.Add) else "date_sub"
        return with_type(call(name, node.this, node.expression), pa.date32())
    return node


def to_seconds(node: exp.Anonymous, context: Context) -> exp.Expr:
    zero = whole(0)
    return call("make_dt_interval", zero, zero.copy(), zero.copy(), node.expressions[0])


def to_hours(node: exp.Anonymous, context: Context) -> exp.Expr:
    return call("make_dt_interval", whole(0), node.expressions[0])


# --------------------------------------------------------------------------------------------- lists, structs


def list_extract(node: Any, _context: Context) -> exp.Expr:
    """Extract an item; the first index is 1, and beyond the end it is null."""
    if isinstance(node, exp.Bracket):
        values, place, offset = node.this, node.expressions[0], node.args.get("offset") or 0
        if isinstance(place, exp.Slice) or len(node.expressions) != 1:
            raise NotInDialect("slices of lists have no equivalent in Spark")
        return call(
            "get",
            values,
            spark_cast(exp.Sub(this=exp.Paren(this=place), expression=whole(offset)), "INT")
            if offset
            else spark_cast(place, "INT"),
        )
    values, place = node.expressions
    if isinstance(place, exp.Literal):
        return call("get", values, whole(int(place.name) - 1))
    return call("get", values, spark_cast(exp.Sub(this=exp.Paren(this=place), expression=whole(1)), "INT"))


def list_position(node: exp.Anonymous, _context: Context) -> exp.Expr:
    """The position of an item; null if it is not in the list, where Spark returns 0."""
    return call("nullif", call("array_position", *node.expressions), whole(0))


def list_filter(node: exp.ArrayFilter, context: Context) -> exp.Expr:
    kind = context.type_of(node.this)
    filtered = call("filter", node.this, node.expression)
    return filtered if kind is None else with_type(filtered, kind)


def struct_field(node: exp.Anonymous, context: Context) -> exp.Expr:
    """Access a field, by number in DuckDB, by name in Spark."""
    value, place = node.expressions
    kind = context.type_of(value)
    if kind is None or not is_.is_struct(kind):
        raise NotInDialect(
            "a field of this value cannot be accessed by name in Spark", "Compute the field as a column first"
        )
    inner = kind.field(int(place.name) - 1)
    field = exp.Dot(this=value, expression=exp.to_identifier(inner.name, quoted=True))
    return with_type(field, inner.type)


def struct(node: exp.Struct, _context: Context) -> exp.Expr:
    parts: list[exp.Expr] = []
    for part in node.expressions:
        if not isinstance(part, exp.PropertyEQ):
            return call("struct", *node.expressions)
        parts += [exp.Literal.string(part.this.name), part.expression]
    return call("named_struct", *parts)


def map_of_entries(node: Any, _context: Context) -> exp.Expr:
    """The keys are integers here; they are cast to the width of those that are looked up."""
    for row in node.find_all(exp.Anonymous):
        if str(row.this) == "struct":
            row.set("expressions", [spark_cast(row.expressions[0], "BIGINT"), *row.expressions[1:]])
    return call("map_from_entries", *arguments(node))


def value_of_map(node: exp.Anonymous, _context: Context) -> exp.Expr:
    entries, key = node.expressions
    return call("try_element_at", entries, spark_cast(key, "BIGINT"))


def error(node: Any, _context: Context) -> exp.Expr:
    """Raise an error. Its message starts with the constant part, known before the query runs."""
    texts = [literal.name for literal in node.find_all(exp.Literal) if literal.is_string]
    return call(
        "raise_error", exp.Literal.string((texts[0] if texts else "a value cannot be computed").rstrip(": "))
    )


def concat(node: Any, _context: Context) -> exp.Expr:
    """Concatenate; nulls are skipped."""
    return call(
        "concat_ws", exp.Literal.string(""), *(spark_cast(argument, "STRING") for argument in arguments(node))
    )


def trim(node: exp.Trim, _context: Context) -> exp.Expr:
    side = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.args.get("position") or "").upper(), "btrim")
    characters = node.expression
    if characters is None:
        return call(side, node.this)
    # btrim takes the characters last; Spark's ltrim and rtrim take them first
    return call("btrim", node.this, characters) if side == "btrim" else call(side, characters, node.this)


def length_of(node: Any, context: Context) -> exp.Expr:
    kind = context.type_of(node.this)
    nested = kind is not None and (is_.is_list(kind) or is_.is_large_list(kind))
    is_list = nested or (isinstance(node.this, exp.Anonymous) and node.this.this in ("filter", "array"))
    return call("array_size" if is_list else "length", node.this)
