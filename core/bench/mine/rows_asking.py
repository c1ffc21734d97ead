"""Conditions on rows of plain Python values, as functions that a row meets or does not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from lamella.core.bench.mine.asking import Logic, Subject, SystemOperand
from lamella.core.bench.mine.expressions import COMPARISONS, scalar
from lamella.core.filters.kinds import Kind
from lamella.core.filters.like import as_regex

Met = Callable[[Any], bool]
Cell = Callable[[Any], Any]


class RowOperand(SystemOperand[Met]):
    """`cell` takes the column's value out of a row. Every answer is True or False."""

    logic = Logic[Met](
        lambda one, other: lambda row: one(row) and other(row),
        lambda one, other: lambda row: one(row) or other(row),
        lambda met: lambda row: not met(row),
        lambda answer: lambda row: answer,
    )

    def __init__(self, subject: Subject, cell: Cell) -> None:
        super().__init__(subject)
        for name in subject.place.path:
            cell = _inside(cell, name)
        self.raw = cell
        self.cell = (lambda row: _lower(cell(row))) if subject.ignore_case else cell

    def held(self, exact: Any) -> Any:
        if self.kind is Kind.TEXT:
            return exact.lower() if self.subject.ignore_case else exact
        return scalar(exact, self.type).as_py() if self.kind is Kind.DECIMAL else exact

    def test(self, how: str, value: Any) -> Met:
        compare = COMPARISONS[how]
        return self._where(lambda cell: compare(cell, value))

    def test_pair(self, how: str, other: Any) -> Met:
        one, compare = self.cell, COMPARISONS[how]

        def met(row: Any) -> bool:
            left, right = one(row), other.cell(row)
            return left is not None and right is not None and bool(compare(left, right))

        return met

    def among(self, values: Sequence[Any]) -> Met:
        wanted = frozenset(values)
        return self._where(lambda cell: cell in wanted)

    def is_nan(self) -> Met:
        return self._where(math.isnan)

    def is_null(self) -> Met:
        raw = self.raw
        return lambda row: raw(row) is None

    def contains(self, text: str) -> Met:
        wanted = self.held(text)
        return self._where(lambda cell: wanted in cell)

    def starts_with(self, text: str) -> Met:
        wanted = self.held(text)
        return self._where(lambda cell: cell.startswith(wanted))

    def ends_with(self, text: str) -> Met:
        wanted = self.held(text)
        return self._where(lambda cell: cell.endswith(wanted))

    def like(self, pattern: str) -> Met:
        inside = as_regex(self.held(pattern)).removeprefix(r"(?s)\A").removesuffix(r"\z")
        return self._where(re.compile(inside, re.DOTALL).fullmatch)

    def regex(self, pattern: str) -> Met:
        found = re.compile(pattern, re.IGNORECASE if self.subject.ignore_case else 0).search
        raw = self.raw
        return lambda row: raw(row) is not None and found(raw(row)) is not None

    def divided(self, divisor: int, remainder: int) -> Met:
        if self.kind is Kind.FLOAT:
            return self._where(lambda cell: math.isfinite(cell) and math.fmod(cell, divisor) == remainder)
        sign = -1 if remainder < 0 else 1
        return self._where(
            lambda cell: (abs(cell) % divisor) * (-1 if cell < 0 else 1) == sign * abs(remainder)
        )

    def any_item(self, test: Callable[[Any], Met]) -> Met:
        met = test(RowOperand(self.subject.items, lambda item: item))
        return self._where(lambda cell: any(map(met, cell)))

    def has_size(self, size: int) -> Met:
        return self._where(lambda cell: len(cell) == size)

    def _where(self, test: Callable[[Any], Any]) -> Met:
        """The test on cells that are not null."""
        take = self.cell

        def met(row: Any) -> bool:
            cell = take(row)
            return cell is not None and bool(test(cell))

        return met


def _inside(cell: Cell, name: str) -> Cell:
    def field(row: Any) -> Any:
        whole = cell(row)
        return None if whole is None else whole[name]

    return field


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()
