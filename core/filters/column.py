"""`col("name")`: conditions written as Python expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lamella.core.errors import BadFilter
from lamella.core.filters.expr import Filter, Predicate, Reference
from lamella.core.filters.flags import flagged
from lamella.core.query.expressions import Computable


class Column(Computable):
    """Comparing a column with a value, or with another column, makes a condition; the column itself is no
    filter. A field inside a column is named by its path: `col("address.city")`.

    `==` and `!=` build conditions too, so a column cannot be a key or be found in a list.
    """

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise BadFilter(f"{name!r} is no name of a column", fix='Give it as text: col("name")')
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

    def matches(self, pattern: str, ignore_case: bool = False, flags: str = "") -> Filter:
        """An RE2 regular expression found anywhere in the text.

        `flags`: "i" ignores case, "s" lets the dot match line ends, "m" lets ^ and $ match at each line.
        """
        pattern, folds = flagged(pattern, flags)
        return self._predicate("regex", pattern, ignore_case=ignore_case or folds)

    def mod(self, divisor: int, remainder: int) -> Filter:
        """The remainder has the sign of the number divided, as in SQL: -7 leaves -1 when divided by 2."""
        return self._predicate("mod", divisor, remainder)

    def has(self, item: Any, ignore_case: bool = False) -> Filter:
        """The list holds this item."""
        return self._predicate("has", item, ignore_case=ignore_case)

    def has_any(self, items: Iterable[Any], ignore_case: bool = False) -> Filter:
        """The list holds at least one of these items."""
        return self._predicate("has_any", *self._listed(items), ignore_case=ignore_case)

    def has_all(self, items: Iterable[Any], ignore_case: bool = False) -> Filter:
        """The list holds each of these items; every list holds all of none."""
        return self._predicate("has_all", *self._listed(items), ignore_case=ignore_case)

    def has_size(self, size: int) -> Filter:
        """The list holds so many items, nulls among them."""
        return self._predicate("size", size)

    def elem_match(self, where: Filter) -> Filter:
        """One item of the list meets all of `where`, which names the fields of the items, or the item itself
        where it has none: `col("item") > 5`."""
        return self._predicate("elem_match", where)

    def has_type(self, *types: str) -> Filter:
        """The cell holds a value of one of these types, such as "number" or "text"; "null" for nothing."""
        return self._predicate("type", *types)

    def exists(self) -> Filter:
        """The row has a value there: it is not null, which stands for a missing value, at the top and inside
        structs."""
        return self._predicate("exists")

    def missing(self) -> Filter:
        return self._predicate("missing")

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
        if isinstance(values, Computable):
            raise BadFilter(
                f"{self!r} cannot be in {values!r}",
                "A list of values is asked for, and that is a column",
                f"Compare the columns: {self!r} == {values!r}",
            )
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise BadFilter(f"{self!r} cannot be in {values!r}", fix=f"Give a list: [{values!r}]")
        return list(values)

    def _predicate(self, operator: str, *values: Any, ignore_case: bool = False) -> Filter:
        if any(issubclass(kind, Column) for kind in set(map(type, values))):
            values = tuple(Reference(value.name) if isinstance(value, Column) else value for value in values)
        return Predicate(self.name, operator, values, ignore_case)


def col(name: str) -> Column:
    return Column(name)
