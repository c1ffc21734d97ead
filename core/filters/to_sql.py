"""Compiles a bound filter to a sqlglot expression in DuckDB's dialect."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyarrow import types

from lamella.core.arrow.nested_values import Place, is_list
from lamella.core.filters.binding import BoundPredicate
from lamella.core.filters.expr import ITEM, And, Branch, Filter, Not, Predicate, fold, path_in_item
from lamella.core.filters.kinds import (
    AS_THEY_ARE,
    COUNTED_KINDS,
    NUMBERS,
    Kind,
    common_decimal,
    kind_of,
    value_type,
)
from lamella.core.filters.operators import OPERATORS, Operand
from lamella.core.filters.predicate_values import ESCAPE, BoundReference
from lamella.core.filters.temporal import DAY_NS, unit_ns
from lamella.core.filters.to_arrow import ordered_bytes
from lamella.core.filters.values import Exact, float_width, narrow, narrow_division, narrow_float, value_range
from lamella.core.libraries import exp

_MICROSECONDS = (-9_223_372_022_400_000_000, 9_223_372_036_854_775_806)
_DAYS = (-(2**31) + 2, 2**31 - 2)
_EPOCH = dt.datetime(1970, 1, 1)
_YEARS_WRITTEN_OUT = (-719_162 * 86_400, 2_932_897 * 86_400)
"""The seconds from the epoch to the year 1, and to the year 10000."""


def sql_unit_ns(type_: pa.DataType) -> int:
    """The number of nanoseconds in one unit of DuckDB, which has days, microseconds and nanoseconds.

    A duration is an integer there, in the column's own unit.
    """
    if types.is_date(type_):
        return DAY_NS
    if types.is_duration(type_):
        return unit_ns(type_)
    return 1 if type_.unit == "ns" else 1000


def sql_range(type_: pa.DataType) -> tuple[int, int]:
    """The range of counts in DuckDB's type for a column of this type."""
    if types.is_date(type_):
        return _DAYS
    if types.is_timestamp(type_) and type_.unit != "ns":
        return _MICROSECONDS
    if types.is_time(type_):
        return 0, DAY_NS // sql_unit_ns(type_) - 1
    return value_range(type_)


def in_sql_units(value: Exact, type_: pa.DataType) -> Exact:
    if isinstance(value, float) or not types.is_temporal(type_):
        return value
    return Fraction(value) * unit_ns(type_) / sql_unit_ns(type_)


def literal(value: Any, type_: pa.DataType) -> exp.Expr:
    """A literal of `value`, as converted by `core.filters.values`, in DuckDB's unit."""
    plain = value_type(type_)
    return _WRITERS[kind_of(plain)](value, plain)


def _integer(value: int, _type: pa.DataType) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def _decimal(value: int, type_: pa.DataType) -> exp.Expr:
    if types.is_decimal256(type_):
        return _binary(ordered_bytes(value), type_)
    digits = Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -type_.scale))
    return _cast(f"{digits:f}", f"DECIMAL({type_.precision}, {type_.scale})")


def _float(value: float, type_: pa.DataType) -> exp.Expr:
    if types.is_float64(type_):
        text = repr(value)
        if text.replace(".", "").lstrip("-").isdigit() and len(text) <= 15:
            number = exp.Literal.number(text.lstrip("-").removesuffix(".0"))
            return exp.Neg(this=number) if value < 0 else number
        return _cast(text, "DOUBLE")
    return _cast(repr(value), "FLOAT")


def _text(value: str, _type: pa.DataType) -> exp.Expr:
    return exp.Literal.string(value)


def _binary(value: bytes, _type: pa.DataType) -> exp.Expr:
    return exp.Unhex(this=exp.Literal.string(value.hex()))


def _uuid(value: bytes, _type: pa.DataType) -> exp.Expr:
    return _cast(str(UUID(bytes=value)), "UUID")


def _boolean(value: bool, _type: pa.DataType) -> exp.Expr:
    return exp.true() if value else exp.false()


def _date(days: int, _type: pa.DataType) -> exp.Expr:
    if _has_plain_year(days * 86_400):
        return _cast((_EPOCH + dt.timedelta(days=days)).date().isoformat(), "DATE")
    return exp.func("make_date", _integer(days, _type))


def _timestamp(count: int, type_: pa.DataType) -> exp.Expr:
    fine, zoned = type_.unit == "ns", type_.tz is not None
    seconds, ns = divmod(count * sql_unit_ns(type_), 10**9)
    if not _has_plain_year(seconds):
        return exp.func("make_timestamptz" if zoned else "make_timestamp", _integer(count, type_))
    name = (
        ("TIMESTAMPTZ_NS" if zoned else "TIMESTAMP_NS") if fine else ("TIMESTAMPTZ" if zoned else "TIMESTAMP")
    )
    text = (
        (_EPOCH + dt.timedelta(seconds=seconds)).isoformat(sep=" ") + _fraction(ns) + ("+00" if zoned else "")
    )
    return _cast(text, name)


def _time(count: int, type_: pa.DataType) -> exp.Expr:
    seconds, ns = divmod(count * sql_unit_ns(type_), 10**9)
    text = (_EPOCH + dt.timedelta(seconds=seconds)).time().isoformat() + _fraction(ns)
    return _cast(text, "TIME_NS" if type_.unit == "ns" else "TIME")


def _fraction(ns: int) -> str:
    return f".{ns:09d}".rstrip("0").rstrip(".") if ns else ""


def _has_plain_year(seconds: int) -> bool:
    return _YEARS_WRITTEN_OUT[0] <= seconds < _YEARS_WRITTEN_OUT[1]


def _cast(text: str, name: str) -> exp.Expr:
    only_in_duckdb = name in ("TIMESTAMPTZ_NS", "TIME_NS")
    return exp.cast(exp.Literal.string(text), exp.DataType.build(name, dialect="duckdb", udt=only_in_duckdb))


_WRITERS: dict[Kind, Callable[[Any, pa.DataType], exp.Expr]] = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIME: _time,
    Kind.DURATION: _integer,
    Kind.UUID: _uuid,
}


ComparisonType = type["exp.Binary"]


@cache
def _mirrored_comparisons() -> dict[ComparisonType, ComparisonType]:
    return {
        exp.EQ: exp.EQ,
        exp.LT: exp.GT,
        exp.LTE: exp.GTE,
        exp.GT: exp.LT,
        exp.GTE: exp.LTE,
    }


_BEYOND = 2**70
"""Greater than every 64-bit integer."""


@dataclass(frozen=True)
class Side:
    """The SQL of a column, and its type, which is not a dictionary."""

    value: exp.Expr
    type: pa.DataType


def compare_columns(how: ComparisonType, left: Side, right: Side) -> exp.Expr:
    """Compare columns; null if either value is. The types must be comparable, or the other side all null."""
    return exp.Paren(this=_compare(how, left, right))


def _compare(how: ComparisonType, left: Side, right: Side) -> exp.Expr:
    if types.is_null(right.type):
        return exp.false()
    kind = kind_of(left.type)
    if kind in NUMBERS:
        return _numbers(how, left, right)
    if kind in COUNTED_KINDS and not _alike(left.type, right.type):
        return how(this=_nanoseconds(left), expression=_nanoseconds(right))
    return how(this=left.value, expression=right.value)


def _numbers(how: ComparisonType, left: Side, right: Side) -> exp.Expr:
    if types.is_floating(left.type) and not types.is_floating(right.type):
        return _numbers(_mirrored_comparisons()[how], right, left)
    if not types.is_floating(right.type):
        return _exact_numbers(how, left, right)
    if types.is_integer(left.type) and left.type.bit_width == 64:
        return _integer_and_float(how, left, right)
    number = exp.cast(left.value, "text") if types.is_decimal(left.type) else left.value
    return how(this=exp.cast(number, "double"), expression=exp.cast(right.value, "double"))


def _exact_numbers(how: ComparisonType, left: Side, right: Side) -> exp.Expr:
    if not (types.is_decimal(left.type) or types.is_decimal(right.type)) or types.is_decimal256(left.type):
        return how(this=left.value, expression=right.value)
    kind = "DECIMAL({}, {})".format(*common_decimal(left.type, right.type))
    return how(this=_cast_side(left.value, kind), expression=_cast_side(right.value, kind))


def _integer_and_float(how: ComparisonType, left: Side, right: Side) -> exp.Expr:
    """Compare after rounding the float to a whole number in the direction that does not change the result."""
    number = _cast_side(left.value, "HUGEINT")
    below, above = (_whole(right, function) for function in ("floor", "ceil"))
    if how is exp.EQ:
        same = exp.EQ(this=number, expression=below)
        return exp.And(this=same, expression=exp.EQ(this=below.copy(), expression=above))
    return how(this=number, expression=above if how in (exp.LT, exp.GTE) else below)


def _whole(side: Side, function: str) -> exp.Expr:
    """A float rounded to a whole number; NaN is greater than every number."""
    beyond = exp.Literal.number(_BEYOND)
    endless = exp.Or(
        this=exp.IsNan(this=side.value.copy()),
        expression=exp.GTE(this=side.value.copy(), expression=exp.Literal.number("1e20")),
    )
    least = exp.LTE(this=side.value.copy(), expression=exp.Neg(this=exp.Literal.number("1e20")))
    return exp.Case(
        ifs=[exp.If(this=endless, true=beyond), exp.If(this=least, true=exp.Neg(this=beyond.copy()))],
        default=_cast_side(exp.func(function, side.value.copy()), "HUGEINT"),
    )


def _alike(left: pa.DataType, right: pa.DataType) -> bool:
    return types.is_date(left) == types.is_date(right) and sql_unit_ns(left) == sql_unit_ns(right)


def _nanoseconds(side: Side) -> exp.Expr:
    """Nanoseconds since 1970-01-01, or since midnight; a duration is a count already."""
    if types.is_duration(side.type):
        count = side.value
    elif types.is_date(side.type):
        day = exp.Literal.string("day")
        count = exp.Anonymous(this="date_diff", expressions=[day, _epoch(), side.value])
    else:
        fine = sql_unit_ns(side.type) == 1
        count = exp.Anonymous(this="epoch_ns" if fine else "epoch_us", expressions=[side.value])
    return exp.Mul(this=_cast_side(count, "HUGEINT"), expression=exp.Literal.number(sql_unit_ns(side.type)))


def _epoch() -> exp.Expr:
    return exp.cast(exp.Literal.string("1970-01-01"), "date")


def _cast_side(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(kind, dialect="duckdb"))


@cache
def _comparisons() -> dict[str, type[exp.Binary]]:
    return {
        "eq": exp.EQ,
        "lt": exp.LT,
        "lte": exp.LTE,
        "gt": exp.GT,
        "gte": exp.GTE,
    }


class SqlOperand(Operand["exp.Expr"]):
    """A column in SQL. `trusted` means that the statistics of float columns never hide NaN.

    Where they may, DuckDB skips row groups and folds comparisons to constants as if there were no NaN, even
    `isnan(x)`. Every comparison of floats therefore also tests for NaN in a form through which statistics are
    not propagated, `isnan(nullif(x, inf))`; `<` and `=` can still skip row groups.
    """

    def __init__(
        self, column: exp.Expr, type_: pa.DataType, ignore_case: bool, trusted: bool, depth: int = 0
    ) -> None:
        """`depth` is the number of lists around the column."""
        self._expression, self._type = column, value_type(type_)
        self._kind = kind_of(type_)
        self._ignore_case, self._is_trusted, self.depth = ignore_case, trusted, depth

    def compare(self, how: str, value: Any) -> exp.Expr:
        if isinstance(value, SqlOperand):
            return compare_columns(_comparisons()[how], self._side, value._side)
        if self._kind in AS_THEY_ARE:
            return _comparisons()[how](this=self._subject, expression=self._literal(value))
        if self._kind is Kind.FLOAT:
            return self._compare_float(how, value)
        narrowed = self._narrow(how, value)
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, count = narrowed
        return _comparisons()[how](this=self._column, expression=self._literal(count))

    def one_of(self, values: Sequence[Any]) -> exp.Expr:
        if self._kind is Kind.FLOAT:
            return self._one_of_floats(values)
        if self._kind not in AS_THEY_ARE:
            narrowed = (self._narrow("eq", value) for value in values)
            values = [pair[1] for pair in narrowed if not isinstance(pair, bool)]
        return self._in(values)

    def contains(self, text: str) -> exp.Expr:
        return exp.Contains(this=self._subject, expression=self._literal(text))

    def starts_with(self, text: str) -> exp.Expr:
        return exp.StartsWith(this=self._subject, expression=self._literal(text))

    def ends_with(self, text: str) -> exp.Expr:
        return exp.EndsWith(this=self._subject, expression=self._literal(text))

    def like(self, pattern: str) -> exp.Expr:
        like = exp.Like(this=self._subject, expression=self._literal(pattern))
        return exp.Escape(this=like, expression=exp.Literal.string(ESCAPE))

    def regex(self, pattern: str) -> exp.Expr:
        flag = "(?i)" if self._ignore_case else ""
        return exp.RegexpLike(this=self._column, expression=exp.Literal.string(flag + pattern))

    def leaves(self, divisor: int, remainder: int) -> exp.Expr:
        floats = self._kind is Kind.FLOAT
        exactly = narrow_division(divisor, remainder, *((0, divisor) if floats else value_range(self._type)))
        if exactly is not None:
            return self.one_of(exactly)
        number = exp.cast(self._column, "double") if floats else self._column
        actual = exp.Paren(this=exp.Mod(this=number, expression=exp.Literal.number(divisor)))
        return exp.EQ(this=actual, expression=exp.convert(remainder))

    def any_item(self, test: Callable[[SqlOperand], exp.Expr]) -> exp.Expr:
        name = exp.to_identifier(f"{ITEM}{self.depth}", quoted=True)
        item = SqlOperand(
            exp.column(name), self._type.value_type, self._ignore_case, self._is_trusted, self.depth + 1
        )
        met = exp.Lambda(this=test(item), expressions=[name.copy()])
        return exp.GT(
            this=self._length(exp.func("list_filter", self._column, met)), expression=exp.Literal.number(0)
        )

    def has_size(self, size: int) -> exp.Expr:
        return exp.EQ(this=self._length(self._column), expression=exp.Literal.number(size))

    def always(self, answer: bool) -> exp.Expr:
        return exp.Not(this=self.is_null()) if answer else exp.false()

    def is_null(self) -> exp.Expr:
        """DuckDB 2.0 treats every row of a Parquet row group as null if its texts are nulls and a single
        value, so text is tested in a form that statistics cannot answer."""
        test = exp.Is(this=self._column, expression=exp.Null())
        fixed = pa.types.is_primitive(self._type) or pa.types.is_nested(self._type)
        return test if fixed else exp.Coalesce(this=test, expressions=[exp.false()])

    def opposite(self, condition: exp.Expr) -> exp.Expr:
        if isinstance(condition, exp.Is):
            return exp.Not(this=condition)
        if isinstance(condition, exp.EQ):
            return exp.NullSafeNEQ(this=condition.this, expression=condition.expression)
        return complement(condition)

    def both(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.And(this=left, expression=right)

    def either(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Or(this=left, expression=right))

    @property
    def _column(self) -> exp.Expr:
        return self._expression.copy()

    @property
    def column(self) -> exp.Expr:
        return self._column

    @property
    def type(self) -> pa.DataType:
        return self._type

    @property
    def _side(self) -> Side:
        """The column for a comparison with another one: floats in a form that hides their statistics."""
        if self._kind is not Kind.FLOAT or self._is_trusted:
            return Side(self._subject, self._type)
        nan = exp.If(this=self._is_nan, true=literal(math.nan, self._type))
        return Side(exp.Case(ifs=[nan], default=self._column), self._type)

    def _length(self, items: exp.Expr) -> exp.Expr:
        return exp.func("len", items)

    @property
    def _subject(self) -> exp.Expr:
        return exp.Lower(this=self._column) if self._ignore_case else self._column

    def _literal(self, value: Any) -> exp.Expr:
        expression = literal(value, self._type)
        return exp.Lower(this=expression) if self._ignore_case else expression

    def _narrow(self, how: str, value: Any) -> tuple[str, int] | bool:
        return narrow(how, in_sql_units(value, self._type), *sql_range(self._type))

    def _in(self, values: Sequence[Any]) -> exp.Expr:
        if not values:
            return exp.false()
        return exp.In(this=self._subject, expressions=[self._literal(value) for value in values])

    def _compare_float(self, how: str, value: Any) -> exp.Expr:
        narrowed = narrow_float(how, value, float_width(self._type))
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, number = narrowed
        if math.isnan(number):
            return self._compare_nan(how)
        test = _comparisons()[how](this=self._column, expression=self._literal(number))
        if self._is_trusted:
            return test
        if how in ("gt", "gte"):
            return exp.Case(ifs=[exp.If(this=self._is_nan, true=exp.true())], default=test)
        return self.both(test, exp.Not(this=self._is_nan))

    def _compare_nan(self, how: str) -> exp.Expr:
        """Compare with NaN, which equals itself and is greater than every number."""
        if how in ("eq", "gte"):
            return self._is_nan
        if how == "lt":
            return self.both(self.always(True), exp.Not(this=self._is_nan))
        return self.always(how == "lte")

    def _one_of_floats(self, values: Sequence[Any]) -> exp.Expr:
        narrowed = [narrow_float("eq", value, float_width(self._type)) for value in values]
        numbers = [pair[1] for pair in narrowed if not isinstance(pair, bool)]
        plain = [number for number in numbers if not math.isnan(number)]
        pair = self._in(plain)
        if len(plain) < len(numbers):
            return exp.Paren(this=exp.Or(this=self._is_nan, expression=pair))
        return pair if self._is_trusted else self.both(pair, exp.Not(this=self._is_nan))

    @property
    def _is_nan(self) -> exp.Expr:
        if self._is_trusted:
            return exp.IsNan(this=self._column)
        unseen = exp.Nullif(this=self._column, expression=literal(math.inf, self._type))
        return exp.Is(this=exp.IsNan(this=unseen), expression=exp.true())


def complement(condition: exp.Expr) -> exp.Expr:
    """The condition for exactly those rows where `condition` is false or null."""
    return exp.Not(this=exp.Coalesce(this=condition, expressions=[exp.false()]))


MOST_OPERANDS = 64
Find = Callable[[Place], "exp.Expr"]
"""Returns the SQL of a column, or of a field inside one."""


def to_sql(bound: Filter, names: Mapping[str, str], trusted_statistics: bool = False) -> exp.Expr:
    """The condition of a WHERE clause: true for exactly the rows that meet the filter; otherwise false or
    null.

    `names` maps columns, and fields by their path, to unquoted identifiers. Use `trusted_statistics` only for
    Parquet files without statistics for float columns that contain NaN, such as this program's own files.
    """

    def find(place: Place) -> exp.Expr:
        around = place.outer_list
        if around is not None:  # a column may have the same name as one of the items
            return field_in(find(around), around.type, place.path[len(around.path) :])
        if place.name in names:
            return _column(names[place.name])
        return field_in(_column(names[place.column]), place.whole, place.path)

    return _compile(bound, find, trusted_statistics)


def field_in(value: exp.Expr, type_: pa.DataType, path: Iterable[str]) -> exp.Expr:
    """The field at `path` inside a struct of this type, by index: SQL ignores case in names, and cannot
    express some. An index beyond the end of a list gives null."""
    for name in path:
        if is_list(type_):
            value = exp.func("list_extract", value, exp.Literal.number(int(name) + 1))
            type_ = type_.value_type
            continue
        place = type_.get_field_index(name)
        value = exp.Anonymous(this="struct_extract_at", expressions=[value, exp.Literal.number(place + 1)])
        type_ = type_.field(place).type
    return value


def _compile(bound: Filter, find: Find, trusted: bool, depth: int = 0) -> exp.Expr:
    def leaf(predicate: Predicate) -> exp.Expr:
        if not isinstance(predicate, BoundPredicate):
            raise TypeError(f"bind() the filter first: {predicate!r}")

        def operand(place: Place) -> SqlOperand:
            return SqlOperand(find(place), place.type, predicate.ignore_case, trusted, depth)

        def value(exact: Any) -> Any:
            if isinstance(exact, BoundReference):
                return operand(exact.place)
            return _of_items(exact, trusted) if isinstance(exact, Filter) else exact

        column = operand(predicate.place)
        condition: exp.Expr = OPERATORS[predicate.operator].test(column, list(map(value, predicate.exact)))
        return condition

    return fold(bound, leaf, _branch)


def _column(identifier: str) -> exp.Expr:
    return exp.Column(this=exp.Identifier(this=identifier, quoted=True))  # the builder would copy it


def _of_items(bound: Filter, trusted: bool) -> Callable[[SqlOperand], exp.Expr]:
    def test_item(item: SqlOperand) -> exp.Expr:
        def find(place: Place) -> exp.Expr:
            return field_in(item.column, item.type, path_in_item(place, item.type))

        return _compile(bound, find, trusted, item.depth)

    return test_item


def _branch(node: Branch, conditions: list[exp.Expr]) -> exp.Expr:
    if isinstance(node, Not):
        return complement(conditions[0])
    if not conditions:
        return exp.true() if isinstance(node, And) else exp.false()
    return _balance(conditions, exp.And) if isinstance(node, And) else _disjunction(conditions)


def _disjunction(conditions: list[exp.Expr]) -> exp.Expr:
    """Join conditions with OR. DuckDB 2.0's rewriter takes quadratic time in the conditions under one OR,
    however nested, so many conditions are put into branches of a CASE, which it does not look across."""
    parts = [
        _balance(conditions[at : at + MOST_OPERANDS], exp.Or)
        for at in range(0, len(conditions), MOST_OPERANDS)
    ]
    if len(parts) == 1:
        return parts[0]
    return exp.Case(ifs=[exp.If(this=part, true=exp.true()) for part in parts], default=exp.false())


def _balance(conditions: list[exp.Expr], join: type[exp.Connector]) -> exp.Expr:
    """Join conditions in a balanced tree; in SQL it reads as a flat chain."""
    level = [_in_parentheses(condition, join) for condition in conditions]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[-1:] if len(level) % 2 else []
        level = [join(this=left, expression=right) for left, right in pairs] + odd
    return level[0]


def _in_parentheses(condition: exp.Expr, join: type[exp.Connector]) -> exp.Expr:
    mixed = isinstance(condition, exp.Connector) and not isinstance(condition, join)
    return exp.Paren(this=condition) if mixed else condition
