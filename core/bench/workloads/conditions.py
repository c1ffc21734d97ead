"""Compiles a condition to a system's own form. Like Lamella's own compilers, this applies the table of
operators to an operand of each system, so that no operator is defined twice."""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.nested_values import Place
from lamella.core.bench.workloads.user_table import CannotAsk
from lamella.core.filters import OPERATORS, And, BoundPredicate, Filter, Not
from lamella.core.filters.expr import Branch, Predicate, fold
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import Operand
from lamella.core.filters.predicate_values import BoundReference, as_regex
from lamella.core.filters.values import float_width, narrow, narrow_division, narrow_float, value_range

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R")


@dataclass(frozen=True)
class Logic(Generic[R]):
    """How a system combines conditions; `complement` is true where the condition is false or null."""

    both: Callable[[R, R], R]
    either: Callable[[R, R], R]
    complement: Callable[[R], R]
    constant: Callable[[bool], R]


@dataclass(frozen=True)
class Subject:
    """The column of a condition, or a field inside one. `nan` is whether the column contains NaN."""

    place: Place
    ignore_case: bool
    nan: bool

    @property
    def type(self) -> pa.DataType:
        return self.place.type

    @property
    def items(self) -> Subject:
        """The items of a list."""
        return Subject(Place.of("", self.type.value_type), self.ignore_case, nan=True)


def compile_condition(
    bound: Filter, operand: Callable[[Subject], SystemOperand[R]], logic: Logic[R], nan: Sequence[str]
) -> R:
    """Compile a bound filter. Raises `CannotAsk` if the system does not support a part of it."""

    def leaf(predicate: Predicate) -> R:
        assert isinstance(predicate, BoundPredicate)

        def subject(place: Place) -> SystemOperand[R]:
            return operand(Subject(place, predicate.ignore_case, place.column in nan))

        def value(exact: Any) -> Any:
            if isinstance(exact, Filter):
                raise CannotAsk("Conditions on the items of lists are not measured here")
            return subject(exact.place) if isinstance(exact, BoundReference) else exact

        test = OPERATORS[predicate.operator].test
        condition: R = test(subject(predicate.place), [value(exact) for exact in predicate.exact])
        return condition

    def branch(node: Branch, parts: list[R]) -> R:
        if isinstance(node, Not):
            return logic.complement(parts[0])
        if not parts:
            return logic.constant(isinstance(node, And))
        return reduce(logic.both if isinstance(node, And) else logic.either, parts)

    return fold(bound, leaf, branch)


class SystemOperand(Operand[R]):
    """A column in a system's conditions. Subclasses compare values of the column's own type. Integers,
    decimals, dates and times are given as integers, which `operand` converts to the system's form."""

    logic: Logic[R]

    def __init__(self, subject: Subject) -> None:
        self.subject, self.type, self.kind = subject, subject.type, kind_of(subject.type)

    @abstractmethod
    def test(self, how: str, value: Any) -> R:
        """Compare with a value in the system's form; `how` is eq, lt, lte, gt or gte."""

    @abstractmethod
    def test_pair(self, how: str, pair: Any) -> R:
        """Compare with another column of the same type."""

    @abstractmethod
    def among(self, values: Sequence[Any]) -> R:
        """Compare with a non-empty list of values in the system's form."""

    @abstractmethod
    def is_nan(self) -> R: ...

    @abstractmethod
    def operand(self, exact: Any) -> Any:
        """Convert a text, bytes, bool, float or integer to the system's form."""

    def compare(self, how: str, value: Any) -> R:
        if isinstance(value, SystemOperand):
            return self._compare_pair(how, value)
        if self.kind is Kind.FLOAT:
            return self._compare_float(how, value)
        narrowed = self._narrow(how, value)
        return (
            self.always(narrowed)
            if isinstance(narrowed, bool)
            else self.test(narrowed[0], self.operand(narrowed[1]))
        )

    def one_of(self, values: Sequence[Any]) -> R:
        narrowed = [self._narrow("eq", value) for value in values]
        numbers = [item[1] for item in narrowed if not isinstance(item, bool)]
        plain = [self.operand(value) for value in numbers if value == value]
        met = self.among(plain) if plain else self.always(False)
        return self.either(met, self.is_nan()) if len(plain) < len(numbers) and self.subject.nan else met

    def leaves(self, divisor: int, remainder: int) -> R:
        floats = self.kind is Kind.FLOAT
        exactly = narrow_division(divisor, remainder, *((0, divisor) if floats else value_range(self.type)))
        return self.has_remainder(divisor, remainder) if exactly is None else self.one_of(exactly)

    def has_remainder(self, divisor: int, remainder: int) -> R:
        raise CannotAsk("It has no remainder with the sign of the number")

    def regex(self, pattern: str) -> R:
        raise CannotAsk("It has no regular expressions")

    def any_item(self, test: Callable[[Any], R]) -> R:
        raise CannotAsk("Conditions on the items of lists are not measured here")

    def has_size(self, size: int) -> R:
        raise CannotAsk("Conditions on the length of lists are not measured here")

    def opposite(self, condition: R) -> R:
        return self.logic.complement(condition)

    def both(self, left: R, right: R) -> R:
        return self.logic.both(left, right)

    def either(self, left: R, right: R) -> R:
        return self.logic.either(left, right)

    def always(self, answer: bool) -> R:
        return self.logic.complement(self.is_null()) if answer else self.logic.constant(False)

    def _narrow(self, how: str, value: Any) -> tuple[str, Any] | bool:
        if self.kind is Kind.FLOAT:
            return narrow_float(how, value, float_width(self.type))
        if self.kind in (Kind.TEXT, Kind.BINARY, Kind.BOOLEAN):
            return how, value
        return narrow(how, value, *value_range(self.type))

    def _compare_float(self, how: str, value: Any) -> R:
        """NaN equals itself and is greater than every number."""
        narrowed = self._narrow(how, value)
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, number = narrowed
        nan = self.is_nan() if self.subject.nan else self.logic.constant(False)
        if not math.isnan(number):
            met = self.test(how, self.operand(number))
            return self.either(met, nan) if self.subject.nan and how in ("gt", "gte") else met
        if how == "lt":
            return self.both(self.always(True), self.opposite(nan))
        return nan if how in ("eq", "gte") else self.always(how == "lte")

    def _compare_pair(self, how: str, pair: SystemOperand[R]) -> R:
        signed = all(pa.types.is_signed_integer(type_) for type_ in (self.type, pair.type))
        if not (signed or self.type == pair.type) or self.subject.nan or pair.subject.nan:
            raise CannotAsk("Comparisons of columns of different types, or with NaN, are not measured here")
        return self.test_pair(how, pair)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


class ExpressionOperand(SystemOperand[Any]):
    """An operand for systems with expressions in Python. `column` is the system's expression, with its case
    folded if the filter ignores case; `raw` is the one without folding."""

    raw: Any
    column: Any

    def test(self, how: str, value: Any) -> Any:
        return COMPARISONS[how](self.column, value)

    def test_pair(self, how: str, pair: Any) -> Any:
        return COMPARISONS[how](self.column, pair.column)

    def operand(self, exact: Any) -> Any:
        return self.fold(exact) if self.kind is Kind.TEXT else scalar(exact, self.type).as_py()

    def fold(self, text: str) -> str:
        lower: str = pc.utf8_lower(pa.scalar(text)).as_py() if self.subject.ignore_case else text
        return lower


class ArrowExpression(ExpressionOperand):
    """A column in filters of `pyarrow.dataset`, and of libraries that pass them on."""

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

    def operand(self, exact: Any) -> Any:
        return self.fold(exact) if self.kind is Kind.TEXT else scalar(exact, self.type)

    def among(self, values: Sequence[Any]) -> Any:
        plain = [value.as_py() if isinstance(value, pa.Scalar) else value for value in values]
        zeros = [-0.0, 0.0] if self.kind is Kind.FLOAT and 0.0 in plain else []
        return self.column.isin(pa.array([*plain, *zeros], self.type))

    def is_nan(self) -> Any:
        return self.column.is_nan()

    def is_null(self) -> Any:
        return self.raw.is_null()

    def contains(self, text: str) -> Any:
        return pc.match_substring(self.column, self.fold(text))

    def starts_with(self, text: str) -> Any:
        return pc.starts_with(self.column, self.fold(text))

    def ends_with(self, text: str) -> Any:
        return pc.ends_with(self.column, self.fold(text))

    def like(self, pattern: str) -> Any:
        return pc.match_substring_regex(self.column, as_regex(self.fold(pattern)))

    def regex(self, pattern: str) -> Any:
        return pc.match_substring_regex(self.raw, pattern, ignore_case=self.subject.ignore_case)

    def has_remainder(self, divisor: int, remainder: int) -> Any:
        if self.kind is Kind.FLOAT:
            return super().has_remainder(divisor, remainder)
        by = pa.scalar(divisor, self.type)
        return self.raw - pc.multiply(pc.divide(self.raw, by), by) == pa.scalar(remainder, self.type)


class SeriesOperand(ExpressionOperand):
    """A column of a pandas frame with Arrow types."""

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
        return self.column.str.contains(self.fold(text), regex=False)

    def starts_with(self, text: str) -> Any:
        return self.column.str.startswith(self.fold(text))

    def ends_with(self, text: str) -> Any:
        return self.column.str.endswith(self.fold(text))

    def like(self, pattern: str) -> Any:
        return self.column.str.contains(as_regex(self.fold(pattern)), regex=True)

    def regex(self, pattern: str) -> Any:
        return self.raw.str.contains(pattern, regex=True, case=not self.subject.ignore_case)


def series_logic(frame: pd.DataFrame) -> Logic[Any]:
    def constant(answer: bool) -> Any:
        first = frame.iloc[:, 0].isna()
        return first | True if answer else first & False

    return Logic(operator.and_, operator.or_, lambda met: ~met.fillna(False), constant)


def scalar(exact: Any, type_: pa.DataType) -> pa.Scalar:
    """Return a value as a scalar of the type; decimals, dates and times are given as integers."""
    if pa.types.is_decimal(type_):
        return pa.scalar(Decimal(exact).scaleb(-type_.scale), type_)
    if pa.types.is_temporal(type_):
        return pa.scalar(exact, pa.int32() if type_.bit_width == 32 else pa.int64()).cast(type_)
    return pa.scalar(exact, type_)
