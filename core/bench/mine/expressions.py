"""Conditions for systems whose expressions Python's own operators build: PyArrow, Polars and pandas."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.bench.mine.asking import CannotAsk, Logic, Subject, SystemOperand
from lamella.core.filters.kinds import Kind
from lamella.core.filters.like import as_regex

if TYPE_CHECKING:
    import pandas as pd

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


class ExpressionOperand(SystemOperand[Any]):
    """`column` is the system's expression, its case folded where that is asked for; `raw` is without that."""

    raw: Any
    column: Any

    def test(self, how: str, value: Any) -> Any:
        return COMPARISONS[how](self.column, value)

    def test_pair(self, how: str, other: Any) -> Any:
        return COMPARISONS[how](self.column, other.column)

    def held(self, exact: Any) -> Any:
        return self.folded(exact) if self.kind is Kind.TEXT else scalar(exact, self.type).as_py()

    def folded(self, text: str) -> str:
        lower: str = pc.utf8_lower(pa.scalar(text)).as_py() if self.subject.ignore_case else text
        return lower


class ArrowExpression(ExpressionOperand):
    """For filters of `pyarrow.dataset` and of everything that hands them on."""

    logic = Logic[Any](
        operator.and_,
        operator.or_,
        lambda met: ~pc.coalesce(met, pc.scalar(False)),
        pc.scalar,
    )

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.raw = pc.field(subject.place.column, *subject.place.path)
        self.column = pc.utf8_lower(self.raw) if subject.ignore_case else self.raw

    def held(self, exact: Any) -> Any:
        return self.folded(exact) if self.kind is Kind.TEXT else scalar(exact, self.type)

    def among(self, values: Sequence[Any]) -> Any:
        plain = [value.as_py() if isinstance(value, pa.Scalar) else value for value in values]
        zeros = [-0.0, 0.0] if self.kind is Kind.FLOAT and 0.0 in plain else []
        return self.column.isin(pa.array([*plain, *zeros], self.type))

    def is_nan(self) -> Any:
        return self.column.is_nan()

    def is_null(self) -> Any:
        return self.raw.is_null()

    def contains(self, text: str) -> Any:
        return pc.match_substring(self.column, self.folded(text))

    def starts_with(self, text: str) -> Any:
        return pc.starts_with(self.column, self.folded(text))

    def ends_with(self, text: str) -> Any:
        return pc.ends_with(self.column, self.folded(text))

    def like(self, pattern: str) -> Any:
        return pc.match_substring_regex(self.column, as_regex(self.folded(pattern)))

    def regex(self, pattern: str) -> Any:
        return pc.match_substring_regex(self.raw, pattern, ignore_case=self.subject.ignore_case)

    def divided(self, divisor: int, remainder: int) -> Any:
        if self.kind is Kind.FLOAT:
            return super().divided(divisor, remainder)
        by = pa.scalar(divisor, self.type)
        return self.raw - pc.multiply(pc.divide(self.raw, by), by) == pa.scalar(remainder, self.type)


class SeriesOperand(ExpressionOperand):
    """Over a pandas frame whose columns are Arrow's."""

    def __init__(self, subject: Subject, frame: pd.DataFrame) -> None:
        super().__init__(subject)
        if subject.place.path:
            raise CannotAsk("pandas has no conditions on fields inside a column")
        self.logic = series_logic(frame)
        self.raw = frame[subject.place.column]
        self.column = self.raw.str.lower() if subject.ignore_case else self.raw

    def among(self, values: Sequence[Any]) -> Any:
        return self.column.isin(values)

    def is_nan(self) -> Any:
        return self.column != self.column

    def is_null(self) -> Any:
        return self.raw.isna()

    def contains(self, text: str) -> Any:
        return self.column.str.contains(self.folded(text), regex=False)

    def starts_with(self, text: str) -> Any:
        return self.column.str.startswith(self.folded(text))

    def ends_with(self, text: str) -> Any:
        return self.column.str.endswith(self.folded(text))

    def like(self, pattern: str) -> Any:
        return self.column.str.contains(as_regex(self.folded(pattern)), regex=True)

    def regex(self, pattern: str) -> Any:
        return self.raw.str.contains(pattern, regex=True, case=not self.subject.ignore_case)


def series_logic(frame: pd.DataFrame) -> Logic[Any]:
    def constant(answer: bool) -> Any:
        first = frame.iloc[:, 0].isna()
        return first | True if answer else first & False

    return Logic(operator.and_, operator.or_, lambda met: ~met.fillna(False), constant)


def scalar(exact: Any, type_: pa.DataType) -> pa.Scalar:
    """A value of the type, from a count where it has one."""
    if pa.types.is_decimal(type_):
        return pa.scalar(Decimal(exact).scaleb(-type_.scale), type_)
    if pa.types.is_temporal(type_):
        return pa.scalar(exact, pa.int32() if type_.bit_width == 32 else pa.int64()).cast(type_)
    return pa.scalar(exact, type_)
