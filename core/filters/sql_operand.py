"""A column in DuckDB's SQL. Conditions may be null where the column is; WHERE takes that as no."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lamella.core.filters.items import ITEM
from lamella.core.filters.kinds import AS_THEY_ARE, Kind, kind_of, value_type
from lamella.core.filters.like import ESCAPE
from lamella.core.filters.narrowing import float_width, narrow, narrow_division, narrow_float
from lamella.core.filters.operand import Operand
from lamella.core.filters.sql_literals import in_sql_units, literal, sql_range
from lamella.core.filters.sql_pairs import Side, compare_columns
from lamella.core.filters.values import value_range

_COMPARISONS: dict[str, type[exp.Binary]] = {
    "eq": exp.EQ,
    "lt": exp.LT,
    "lte": exp.LTE,
    "gt": exp.GT,
    "gte": exp.GTE,
}


class SqlOperand(Operand[exp.Expr]):
    """`trusted` says that no float column's statistics hide NaN.

    Where they may, DuckDB skips row groups and folds comparisons to a constant as if NaN were not
    there; it folds `isnan(x)` too. So every comparison of floats also asks for NaN in a form that
    statistics are not carried through, `isnan(nullif(x, inf))`; `<` and `=` can still skip.
    """

    def __init__(
        self, column: exp.Expr, type_: pa.DataType, ignore_case: bool, trusted: bool, depth: int = 0
    ) -> None:
        """`depth`: within so many lists."""
        self._given, self._type = column, value_type(type_)
        self._kind = kind_of(type_)
        self._ignore_case, self._trusted, self.depth = ignore_case, trusted, depth

    def compare(self, how: str, value: Any) -> exp.Expr:
        if isinstance(value, SqlOperand):
            return compare_columns(_COMPARISONS[how], self._side, value._side)
        if self._kind in AS_THEY_ARE:
            return _COMPARISONS[how](this=self._subject, expression=self._literal(value))
        if self._kind is Kind.FLOAT:
            return self._compare_float(how, value)
        narrowed = self._narrow(how, value)
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, count = narrowed
        return _COMPARISONS[how](this=self._column, expression=self._literal(count))

    def one_of(self, values: Sequence[Any]) -> exp.Expr:
        if self._kind is Kind.FLOAT:
            return self._one_of_floats(values)
        if self._kind not in AS_THEY_ARE:
            narrowed = (self._narrow("eq", value) for value in values)
            values = [found[1] for found in narrowed if not isinstance(found, bool)]
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
        left = exp.Paren(this=exp.Mod(this=number, expression=exp.Literal.number(divisor)))
        return exp.EQ(this=left, expression=exp.convert(remainder))

    def any_item(self, test: Callable[[SqlOperand], exp.Expr]) -> exp.Expr:
        name = exp.to_identifier(f"{ITEM}{self.depth}", quoted=True)
        item = SqlOperand(
            exp.column(name), self._type.value_type, self._ignore_case, self._trusted, self.depth + 1
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
        """DuckDB 2.0 takes every row of a Parquet row group for null whose texts are nulls and one value, so
        texts are asked in a form that it cannot answer from statistics."""
        asked = exp.Is(this=self._column, expression=exp.Null())
        fixed = pa.types.is_primitive(self._type) or pa.types.is_nested(self._type)
        return asked if fixed else exp.Coalesce(this=asked, expressions=[exp.false()])

    def opposite(self, condition: exp.Expr) -> exp.Expr:
        if isinstance(condition, exp.Is):
            return exp.Not(this=condition)
        if isinstance(condition, exp.EQ):
            return exp.NullSafeNEQ(this=condition.this, expression=condition.expression)
        return complement(condition)

    def both(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        return exp.And(this=one, expression=other)

    def either(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Or(this=one, expression=other))

    @property
    def _column(self) -> exp.Expr:
        return self._given.copy()

    @property
    def column(self) -> exp.Expr:
        return self._column

    @property
    def type(self) -> pa.DataType:
        return self._type

    @property
    def _side(self) -> Side:
        """As one of two columns that are compared: floats in a form that shows no statistics."""
        if self._kind is not Kind.FLOAT or self._trusted:
            return Side(self._subject, self._type)
        nan = exp.If(this=self._is_nan, true=literal(math.nan, self._type))
        return Side(exp.Case(ifs=[nan], default=self._column), self._type)

    def _length(self, items: exp.Expr) -> exp.Expr:
        return exp.func("len", items)

    @property
    def _subject(self) -> exp.Expr:
        return exp.Lower(this=self._column) if self._ignore_case else self._column

    def _literal(self, value: Any) -> exp.Expr:
        written = literal(value, self._type)
        return exp.Lower(this=written) if self._ignore_case else written

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
        test = _COMPARISONS[how](this=self._column, expression=self._literal(number))
        if self._trusted:
            return test
        if how in ("gt", "gte"):
            return exp.Case(ifs=[exp.If(this=self._is_nan, true=exp.true())], default=test)
        return self.both(test, exp.Not(this=self._is_nan))

    def _compare_nan(self, how: str) -> exp.Expr:
        """NaN equals itself and is greater than every number."""
        if how in ("eq", "gte"):
            return self._is_nan
        if how == "lt":
            return self.both(self.always(True), exp.Not(this=self._is_nan))
        return self.always(how == "lte")

    def _one_of_floats(self, values: Sequence[Any]) -> exp.Expr:
        narrowed = [narrow_float("eq", value, float_width(self._type)) for value in values]
        numbers = [found[1] for found in narrowed if not isinstance(found, bool)]
        plain = [number for number in numbers if not math.isnan(number)]
        found = self._in(plain)
        if len(plain) < len(numbers):
            return exp.Paren(this=exp.Or(this=self._is_nan, expression=found))
        return found if self._trusted else self.both(found, exp.Not(this=self._is_nan))

    @property
    def _is_nan(self) -> exp.Expr:
        if self._trusted:
            return exp.IsNan(this=self._column)
        unseen = exp.Nullif(this=self._column, expression=literal(math.inf, self._type))
        return exp.Is(this=exp.IsNan(this=unseen), expression=exp.true())


def complement(condition: exp.Expr) -> exp.Expr:
    """Met by exactly the rows where `condition` is false or null."""
    return exp.Not(this=exp.Coalesce(this=condition, expressions=[exp.false()]))
