"""`col("name")`: conditions written as Python expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from core.errors import BadFilter
from core.filters.expr import Filter, Predicate


class Column:
    """Comparing a column makes a condition; the column itself is no filter.

    `==` and `!=` build conditions too, so a column cannot be a key or be found in a list.
    """

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"col({self.name!r})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} alone has no truth value; write {self!r}.is_true() or compare it")

    def __eq__(self, value: Any) -> Filter:  # type: ignore[override]
        return self.is_null() if value is None else self._predicate("eq", value)

    def __ne__(self, value: Any) -> Filter:  # type: ignore[override]
        return self.not_null() if value is None else self._predicate("ne", value)

    def __gt__(self, value: Any) -> Filter:
        return self._predicate("gt", value)

    def __ge__(self, value: Any) -> Filter:
        return self._predicate("gte", value)

    def __lt__(self, value: Any) -> Filter:
        return self._predicate("lt", value)

    def __le__(self, value: Any) -> Filter:
        return self._predicate("lte", value)

    def between(self, low: Any, high: Any) -> Filter:
        """Both ends belong to it."""
        return self._predicate("between", low, high)

    def not_between(self, low: Any, high: Any) -> Filter:
        return self._predicate("not_between", low, high)

    def is_in(self, values: Iterable[Any], ignore_case: bool = False) -> Filter:
        return self._predicate("in", *self._listed(values), ignore_case=ignore_case)

    def not_in(self, values: Iterable[Any], ignore_case: bool = False) -> Filter:
        return self._predicate("nin", *self._listed(values), ignore_case=ignore_case)

    def equals(self, value: Any, ignore_case: bool = False) -> Filter:
        return self._predicate("eq", value, ignore_case=ignore_case)

    def contains(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("contains", text, ignore_case=ignore_case)

    def not_contains(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("not_contains", text, ignore_case=ignore_case)

    def starts_with(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("starts_with", text, ignore_case=ignore_case)

    def ends_with(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("ends_with", text, ignore_case=ignore_case)

    def like(self, pattern: str, ignore_case: bool = False) -> Filter:
        r"""SQL's LIKE over the whole text: `%` any text, `_` one character, `\` takes the next as it is."""
        return self._predicate("like", pattern, ignore_case=ignore_case)

    def matches(self, pattern: str, ignore_case: bool = False) -> Filter:
        """An RE2 regular expression found anywhere in the text."""
        return self._predicate("regex", pattern, ignore_case=ignore_case)

    def is_null(self) -> Filter:
        return self._predicate("is_null")

    def not_null(self) -> Filter:
        return self._predicate("not_null")

    def is_true(self) -> Filter:
        return self._predicate("is_true")

    def is_false(self) -> Filter:
        return self._predicate("is_false")

    def is_empty(self) -> Filter:
        return self._predicate("is_empty")

    def not_empty(self) -> Filter:
        """Neither null nor the empty text."""
        return self._predicate("not_empty")

    def _listed(self, values: Iterable[Any]) -> list[Any]:
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise BadFilter(f"{self!r} cannot be in {values!r}", fix=f"Give a list: [{values!r}]")
        return list(values)

    def _predicate(self, operator: str, *values: Any, ignore_case: bool = False) -> Filter:
        return Predicate(self.name, operator, values, ignore_case)


def col(name: str) -> Column:
    return Column(name)
