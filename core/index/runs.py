"""Evaluates operators on a sorted index: the matching values, as runs of value numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NoReturn, cast

import numpy as np
import pyarrow as pa
from pyarrow import types

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.sorted_ids import distinct
from lamella.core.filters.binding import BoundPredicate
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.operators import OPERATORS, Operand
from lamella.core.filters.predicate_values import ESCAPE
from lamella.core.filters.to_arrow import ordered_bytes
from lamella.core.filters.values import (
    NarrowedTest,
    float_width,
    narrow,
    narrow_float,
    narrow_values,
    value_range,
)
from lamella.core.index.sorted_index import SortedIndex, Span, Value, Values, is_bytes, is_long_decimal

FEW_VALUES = 16
"""Up to this many values of a list are looked up one by one, more of them together."""


OpenIndex = Callable[[], SortedIndex]
"""Opens an index, which is put off until it is known to be of use."""


class NoIndexAnswer(Exception):
    """Raised if sorted values cannot answer a condition, or are not available."""


@dataclass(frozen=True)
class Runs:
    """Runs of value numbers, each from a first number up to, but not including, a stop; ascending and
    disjoint. Null has the number after the last value. Unless `exact`, some of the values may not meet the
    condition."""

    spans: tuple[Span, ...]
    exact: bool = True


class IndexCondition:
    """A condition to evaluate on the indexes of several files."""

    def __init__(self, predicate: BoundPredicate) -> None:
        self._predicate, self._own_values = predicate, OwnValues(predicate.type)

    def runs(self, opened: OpenIndex) -> Runs:
        """The runs of values that meet the condition; raises `NoIndexAnswer`."""
        if self._predicate.ignore_case:
            raise NoIndexAnswer("ignore_case")
        operand = cast(Operand[Runs], RunsOperand(opened, self._own_values))
        runs: Runs = OPERATORS[self._predicate.operator].test(operand, self._predicate.exact)
        return runs


@dataclass(frozen=True)
class OwnType:
    """A column's type, and how its indexes store values."""

    plain: pa.DataType
    kind: Kind
    in_bytes: bool
    long_decimal: bool

    @cached_property
    def counts(self) -> tuple[int, int]:
        """The least and the greatest count."""
        return value_range(self.plain)

    @property
    def widest(self) -> type[np.generic]:
        if self.kind is Kind.FLOAT:
            return np.float64
        return np.uint64 if types.is_unsigned_integer(self.plain) else np.int64


@lru_cache(1024)
def own_type(type_: pa.DataType) -> OwnType:
    plain = value_type(type_)
    return OwnType(plain, kind_of(plain), is_bytes(plain), is_long_decimal(plain))


class OwnValues:
    """Converts the values of a condition to the form in which a column's indexes store values."""

    def __init__(self, type_: pa.DataType) -> None:
        self._type = own_type(type_)
        self._lists: dict[int, tuple[Sequence[Any], Values]] = {}

    def comparison(self, how: str, value: Any) -> tuple[str, Value] | bool:
        """The comparison to make, or its answer for every value."""
        if isinstance(value, str):
            return how, value.encode()
        if isinstance(value, bytes):
            return how, value
        if not isinstance(value, int | float | Fraction):
            raise NoIndexAnswer("another column")
        if self._type.kind is Kind.BOOLEAN:
            return how, int(value)
        if self._type.kind is Kind.FLOAT:
            return narrow_float(how, value, float_width(self._type.plain))
        narrowed = narrow(how, value, *self._type.counts)
        return _long(narrowed) if self._type.long_decimal else narrowed

    def list_values(self, values: Sequence[Any]) -> Values:
        """The values of a list that the column can represent, converted once."""
        source, cached = self._lists.get(id(values), (None, None))
        if source is values and cached is not None:
            return cached
        own = self._representable(values)
        cached = (
            from_values(list(set(own)), pa.large_binary())
            if self._type.in_bytes
            else distinct(np.array(own, self._type.widest))
        )
        self._lists[id(values)] = (values, cached)
        return cached

    def _representable(self, values: Sequence[Any]) -> Sequence[Value]:
        if not (self._type.kind in (Kind.FLOAT, Kind.BOOLEAN) or self._type.in_bytes):
            return narrow_values(values, *self._type.counts)
        narrowed = (self.comparison("eq", value) for value in values)
        return [pair[1] for pair in narrowed if not isinstance(pair, bool)]


def _long(narrowed: NarrowedTest) -> tuple[str, Value] | bool:
    return narrowed if isinstance(narrowed, bool) else (narrowed[0], ordered_bytes(narrowed[1]))


class RunsOperand:
    """A column by its index, as an operand for what sorted values can answer; raises `NoIndexAnswer` for
    anything else."""

    def __init__(self, opened: OpenIndex, own: OwnValues) -> None:
        self._opened_index, self._own_values = opened, own

    def __getattr__(self, name: str) -> NoReturn:
        raise NoIndexAnswer(name)

    def compare(self, how: str, value: Any) -> Runs:
        narrowed = self._own_values.comparison(how, value)
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        (how, own), index = narrowed, self._opened_index()
        if how == "eq":
            place = index.first_not_below(own)
            return _run(place, place + index.is_at(place, own))
        place = index.first_not_below(own) if how in ("lt", "gte") else index.first_above(own)
        return _run(0, place) if how in ("lt", "lte") else _run(place, index.num_values)

    def one_of(self, values: Sequence[Any]) -> Runs:
        if len(values) <= FEW_VALUES:
            return Runs(_merge([span for value in values for span in self.compare("eq", value).spans]))
        listed = self._own_values.list_values(values)
        return _of_numbers(self._opened_index().numbers_of(listed))

    def starts_with(self, text: str) -> Runs:
        start = text.encode()
        if not start:
            return self.always(True)
        behind = start[:-1] + bytes([start[-1] + 1])  # UTF-8 has no byte 255
        index = self._opened_index()
        return _run(index.first_not_below(start), index.first_not_below(behind))

    def like(self, pattern: str) -> Runs:
        """Use the fixed text at the start of the pattern."""
        place = next((i for i, char in enumerate(pattern) if char in ("%", "_", ESCAPE)), len(pattern))
        if place == len(pattern):
            return self.compare("eq", pattern)
        if place == 0:
            raise NoIndexAnswer("like")
        return Runs(self.starts_with(pattern[:place]).spans, exact=pattern[place:] == "%")

    def always(self, answer: bool) -> Runs:
        return _run(0, self._opened_index().num_values) if answer else Runs(())

    def is_null(self) -> Runs:
        null = self._opened_index().num_values
        return _run(null, null + 1)

    def opposite(self, condition: Runs) -> Runs:
        if not condition.exact:
            raise NoIndexAnswer("opposite")
        firsts = [0, *(stop for _, stop in condition.spans)]
        stops = [*(first for first, _ in condition.spans), self._opened_index().num_values + 1]
        return Runs(_merge(list(zip(firsts, stops, strict=True))))

    def both(self, left: Runs, right: Runs) -> Runs:
        common = [(max(a, c), min(b, d)) for a, b in left.spans for c, d in right.spans]
        return Runs(_merge(common), left.exact and right.exact)

    def either(self, left: Runs, right: Runs) -> Runs:
        return Runs(_merge([*left.spans, *right.spans]), left.exact and right.exact)


def _of_numbers(numbers: np.ndarray) -> Runs:
    """The runs of ascending value numbers."""
    if not len(numbers):
        return Runs(())
    apart = np.flatnonzero(np.diff(numbers) > 1)
    firsts, lasts = numbers[np.append(0, apart + 1)], numbers[np.append(apart, len(numbers) - 1)]
    return Runs(tuple(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True)))


def _run(first: int, stop: int) -> Runs:
    return Runs(((first, stop),) if first < stop else ())


def _merge(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Sort spans, drop empty ones and merge adjacent ones."""
    if len(spans) == 1 and spans[0][0] < spans[0][1]:
        return tuple(spans)
    merged_spans: list[Span] = []
    for first, stop in sorted(span for span in spans if span[0] < span[1]):
        if merged_spans and first <= merged_spans[-1][1]:
            merged_spans[-1] = (merged_spans[-1][0], max(stop, merged_spans[-1][1]))
        else:
            merged_spans.append((first, stop))
    return tuple(merged_spans)
