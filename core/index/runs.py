"""What an operator asks of a sorted index: which of its values answer it, as runs of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, cast

import pyarrow as pa

from core.filters.binding import Bound
from core.filters.kinds import Kind, kind_of, value_type
from core.filters.like import ESCAPE
from core.filters.narrowing import Narrowed, float_width, narrow, narrow_float
from core.filters.operand import Operand
from core.filters.operators import OPERATORS
from core.filters.ordered_decimals import ordered_bytes
from core.filters.values import value_range
from core.index.ordering import is_long_decimal
from core.index.sorted import Sorted, Value


class NotServed(Exception):
    """Sorted values do not answer this."""


@dataclass(frozen=True)
class Runs:
    """Numbers of values, each from a first one to before a stop, ascending and apart; null has the number
    behind the last value. Where not `exact`, some of the values do not meet the condition."""

    spans: tuple[tuple[int, int], ...]
    exact: bool = True


def runs_of(index: Sorted, predicate: Bound) -> Runs:
    """The values that meet the condition; raises `NotServed`."""
    if predicate.ignore_case:
        raise NotServed("ignore_case")
    operand = RunsOperand(index, predicate.type)
    found: Runs = OPERATORS[predicate.operator].test(cast(Operand[Runs], operand), predicate.exact)
    return found


class RunsOperand:
    """A column by its index, as an operand for what sorted values can answer; `NotServed` for all else."""

    def __init__(self, index: Sorted, type_: pa.DataType) -> None:
        self._index, self._type, self._kind = index, value_type(type_), kind_of(type_)

    def __getattr__(self, name: str) -> NoReturn:
        raise NotServed(name)

    def compare(self, how: str, value: Any) -> Runs:
        if isinstance(value, str):
            return self._compared((how, value.encode()))
        if isinstance(value, bytes):
            return self._compared((how, value))
        if not isinstance(value, int | float | Fraction):
            raise NotServed("another column")
        if self._kind is Kind.BOOLEAN:
            return self._compared((how, int(value)))
        if self._kind is Kind.FLOAT:
            return self._compared(narrow_float(how, value, float_width(self._type)))
        narrowed = narrow(how, value, *value_range(self._type))
        return self._compared(self._long(narrowed) if is_long_decimal(self._type) else narrowed)

    def one_of(self, values: Sequence[Any]) -> Runs:
        return _joined(span for value in values for span in self.compare("eq", value).spans)

    def starts_with(self, text: str) -> Runs:
        start = text.encode()
        if not start:
            return self.always(True)
        behind = start[:-1] + bytes([start[-1] + 1])  # UTF-8 has no byte 255
        return _joined([(self._index.first_not_below(start), self._index.first_not_below(behind))])

    def like(self, pattern: str) -> Runs:
        """By what the pattern begins with."""
        place = next((i for i, char in enumerate(pattern) if char in ("%", "_", ESCAPE)), len(pattern))
        if place == len(pattern):
            return self.compare("eq", pattern)
        if place == 0:
            raise NotServed("like")
        return Runs(self.starts_with(pattern[:place]).spans, exact=pattern[place:] == "%")

    def always(self, answer: bool) -> Runs:
        return _joined([(0, self._index.num_values)] if answer else [])

    def is_null(self) -> Runs:
        return _joined([(self._index.num_values, self._index.num_values + 1)])

    def opposite(self, condition: Runs) -> Runs:
        if not condition.exact:
            raise NotServed("opposite")
        firsts = [0, *(stop for _, stop in condition.spans)]
        stops = [*(first for first, _ in condition.spans), self._index.num_values + 1]
        return _joined(zip(firsts, stops, strict=True))

    def both(self, one: Runs, other: Runs) -> Runs:
        common = [(max(a, c), min(b, d)) for a, b in one.spans for c, d in other.spans]
        return Runs(_joined(common).spans, one.exact and other.exact)

    def either(self, one: Runs, other: Runs) -> Runs:
        return Runs(_joined([*one.spans, *other.spans]).spans, one.exact and other.exact)

    def _compared(self, narrowed: tuple[str, Value] | bool) -> Runs:
        """By a comparison with a value of the index's own, or its answer for every value."""
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, value = narrowed
        if how == "eq":
            return _joined([(self._index.first_not_below(value), self._index.first_above(value))])
        bound = self._index.first_not_below if how in ("lt", "gte") else self._index.first_above
        place = bound(value)
        return _joined([(0, place) if how in ("lt", "lte") else (place, self._index.num_values)])

    def _long(self, narrowed: Narrowed) -> tuple[str, Value] | bool:
        return narrowed if isinstance(narrowed, bool) else (narrowed[0], ordered_bytes(narrowed[1]))


def _joined(spans: Iterable[tuple[int, int]]) -> Runs:
    """Ascending, without empty ones, those that meet made one."""
    joined: list[tuple[int, int]] = []
    for first, stop in sorted(span for span in spans if span[0] < span[1]):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((first, stop))
    return Runs(tuple(joined))
