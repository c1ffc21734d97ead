"""A column of which nothing is known but nulls: every condition has one answer for all of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamella.core.filters.operand import Operand


class NullOperand(Operand[bool]):
    """It has no type that a value could fail to fit, and null meets what it meets in every other column."""

    def compare(self, how: str, value: Any) -> bool:
        return False

    def one_of(self, values: Sequence[Any]) -> bool:
        return False

    def contains(self, text: str) -> bool:
        return False

    def starts_with(self, text: str) -> bool:
        return False

    def ends_with(self, text: str) -> bool:
        return False

    def like(self, pattern: str) -> bool:
        return False

    def regex(self, pattern: str) -> bool:
        return False

    def leaves(self, divisor: int, remainder: int) -> bool:
        return False

    def any_item(self, test: Callable[[Any], bool]) -> bool:
        return False

    def has_size(self, size: int) -> bool:
        return False

    def always(self, answer: bool) -> bool:
        return False

    def is_null(self) -> bool:
        return True

    def opposite(self, condition: bool) -> bool:
        return not condition

    def both(self, one: bool, other: bool) -> bool:
        return one and other

    def either(self, one: bool, other: bool) -> bool:
        return one or other
