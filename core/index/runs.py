"""What an operator asks of a sorted index: which of its values answer it, as runs of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np
import pyarrow as pa
from pyarrow import types

from core.arrays import from_values
from core.filters.binding import Bound
from core.filters.kinds import Kind, kind_of, value_type
from core.filters.like import ESCAPE
from core.filters.narrowing import Narrowed, float_width, narrow, narrow_float
from core.filters.operand import Operand
from core.filters.operators import OPERATORS
from core.filters.ordered_decimals import ordered_bytes
from core.filters.values import value_range
from core.index.ordering import is_bytes, is_long_decimal
from core.index.sorted import Sorted, Value, Values

FEW_LISTED = 16
"""So many values of a list are looked for one by one, more of them together."""


class NotServed(Exception):
    """Sorted values do not answer this."""


@dataclass(frozen=True)
class Runs:
    """Numbers of values, each from a first one to before a stop, ascending and apart; null has the number
    behind the last value. Where not `exact`, some of the values do not meet the condition."""

    spans: tuple[tuple[int, int], ...]
    exact: bool = True


class Sought:
    """A condition as the indexes of several files are asked it."""

    def __init__(self, predicate: Bound) -> None:
        self._predicate, self._own = predicate, OwnValues(predicate.type)

    def runs(self, index: Sorted) -> Runs:
        """The values that meet the condition; raises `NotServed`."""
        if self._predicate.ignore_case:
            raise NotServed("ignore_case")
        operand = cast(Operand[Runs], RunsOperand(index, self._own))
        found: Runs = OPERATORS[self._predicate.operator].test(operand, self._predicate.exact)
        return found


class OwnValues:
    """The values of a condition as indexes of a column of this type hold values."""

    def __init__(self, type_: pa.DataType) -> None:
        self._type, self._kind = value_type(type_), kind_of(type_)
        self._lists: dict[int, tuple[Sequence[Any], Values]] = {}

    def compared(self, how: str, value: Any) -> tuple[str, Value] | bool:
        """The comparison to make, or its answer for every value."""
        if isinstance(value, str):
            return how, value.encode()
        if isinstance(value, bytes):
            return how, value
        if not isinstance(value, int | float | Fraction):
            raise NotServed("another column")
        if self._kind is Kind.BOOLEAN:
            return how, int(value)
        if self._kind is Kind.FLOAT:
            return narrow_float(how, value, float_width(self._type))
        narrowed = narrow(how, value, *self._range)
        return _long(narrowed) if is_long_decimal(self._type) else narrowed

    def listed(self, values: Sequence[Any]) -> Values:
        """Those of a list that the column can hold, made once."""
        held, made = self._lists.get(id(values), (None, None))
        if held is values and made is not None:
            return made
        narrowed = (self.compared("eq", value) for value in values)
        own = {found[1] for found in narrowed if not isinstance(found, bool)}
        made = (
            from_values(list(own), pa.large_binary())
            if is_bytes(self._type)
            else np.unique(np.array(list(own), self._widest))
        )
        self._lists[id(values)] = (values, made)
        return made

    @property
    def _widest(self) -> type[np.generic]:
        if self._kind is Kind.FLOAT:
            return np.float64
        return np.uint64 if types.is_unsigned_integer(self._type) else np.int64

    @cached_property
    def _range(self) -> tuple[int, int]:
        return value_range(self._type)


def _long(narrowed: Narrowed) -> tuple[str, Value] | bool:
    return narrowed if isinstance(narrowed, bool) else (narrowed[0], ordered_bytes(narrowed[1]))


class RunsOperand:
    """A column by its index, as an operand for what sorted values can answer; `NotServed` for all else."""

    def __init__(self, index: Sorted, own: OwnValues) -> None:
        self._index, self._own = index, own

    def __getattr__(self, name: str) -> NoReturn:
        raise NotServed(name)

    def compare(self, how: str, value: Any) -> Runs:
        narrowed = self._own.compared(how, value)
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, own = narrowed
        if how == "eq":
            return _joined([(self._index.first_not_below(own), self._index.first_above(own))])
        bound = self._index.first_not_below if how in ("lt", "gte") else self._index.first_above
        place = bound(own)
        return _joined([(0, place) if how in ("lt", "lte") else (place, self._index.num_values)])

    def one_of(self, values: Sequence[Any]) -> Runs:
        if len(values) <= FEW_LISTED:
            return _joined(span for value in values for span in self.compare("eq", value).spans)
        return _of_numbers(self._index.numbers_of(self._own.listed(values)))

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


def _of_numbers(found: np.ndarray) -> Runs:
    """From the numbers of values, ascending."""
    if not len(found):
        return Runs(())
    apart = np.flatnonzero(np.diff(found) > 1)
    firsts, lasts = found[np.append(0, apart + 1)], found[np.append(apart, len(found) - 1)]
    return Runs(tuple(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True)))


def _joined(spans: Iterable[tuple[int, int]]) -> Runs:
    """Ascending, without empty ones, those that meet made one."""
    joined: list[tuple[int, int]] = []
    for first, stop in sorted(span for span in spans if span[0] < span[1]):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((first, stop))
    return Runs(tuple(joined))
