"""What an operator can ask of a column, whatever it is compiled to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class Operand(ABC, Generic[R]):
    """One column in one compiler; `R` is the compiler's condition.

    Every condition may say "no" or "unknown" where the column is null; only `opposite` and
    `is_null` make it a yes.
    """

    @abstractmethod
    def compare(self, how: str, value: Any) -> R:
        """`how`: eq, lt, lte, gt, gte. Values are the `exact` ones of `core.filters.values`, or the operand
        of another column."""

    @abstractmethod
    def one_of(self, values: Sequence[Any]) -> R: ...

    @abstractmethod
    def contains(self, text: str) -> R: ...

    @abstractmethod
    def starts_with(self, text: str) -> R: ...

    @abstractmethod
    def ends_with(self, text: str) -> R: ...

    @abstractmethod
    def like(self, pattern: str) -> R: ...

    @abstractmethod
    def regex(self, pattern: str) -> R: ...

    @abstractmethod
    def leaves(self, divisor: int, remainder: int) -> R:
        """Divided by `divisor`, which is above 0, it leaves `remainder`, which has the sign of the number."""

    @abstractmethod
    def any_item(self, test: Callable[[Any], R]) -> R:
        """The list holds an item that meets `test`, which is given an operand for the items.
        A condition on the fields of items is such a test too."""

    @abstractmethod
    def has_size(self, size: int) -> R: ...

    @abstractmethod
    def always(self, answer: bool) -> R:
        """The answer for every row that is not null."""

    @abstractmethod
    def is_null(self) -> R: ...

    @abstractmethod
    def opposite(self, condition: R) -> R:
        """The complement: met by exactly the rows that do not meet `condition`."""

    @abstractmethod
    def both(self, one: R, other: R) -> R: ...

    @abstractmethod
    def either(self, one: R, other: R) -> R: ...


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
