"""The filter tree: And, Or and Not over predicates. Immutable and hashable, whatever its size."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from lamella.core.arrow.nested_values import Place
from lamella.core.errors import BadFilter, NoTruthValue, short_text
from lamella.core.filters.operators import WORDS
from lamella.core.filters.temporal import moment_text

DEEPEST = 60
"""The maximum depth of nested groups and items: far beyond what people write, and what every engine can still
process."""


class Filter:
    """A condition that a row either meets or does not meet; `&`, `|` and `~` combine filters in two-valued
    logic.

    Equality and hash traverse the tree without recursion, so its depth is not limited.
    """

    def __and__(self, other: Filter) -> Filter:
        return all_of((self, other)) if isinstance(other, Filter) else NotImplemented

    def __or__(self, other: Filter) -> Filter:
        return any_of((self, other)) if isinstance(other, Filter) else NotImplemented

    def __invert__(self) -> Filter:
        return Not(self)

    def __bool__(self) -> bool:
        raise NoTruthValue(
            "A filter has no truth value", fix="Combine conditions with &, | and ~, not and, or, not"
        )


@dataclass(frozen=True)
class Reference:
    """A predicate's operand that is another column of the same row rather than a value."""

    name: str


class Struct(tuple[tuple[str, Any], ...]):
    """A struct as a value to compare with: field names with values, which may be nested."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Struct({dict(self)!r})"


@dataclass(frozen=True, eq=False)
class Predicate(Filter):
    """A single condition. `operator` is an id in the operator table; `values` has as many items as its arity
    requires. Predicates are equal only if their values also have equal types: 0.1 and Decimal(0.1) differ.

    `column` and references name a column, or a field by its path (`address.city`). A value is a plain Python
    value, a `Reference` if the operator takes columns, or a `Filter` on the items of a list. Lists and dicts,
    which are compared with whole lists and structs, are stored as a tuple and a `Struct`.
    """

    column: str
    operator: str
    values: tuple[Any, ...] = ()
    ignore_case: bool = False

    def __post_init__(self) -> None:
        kinds = set(map(type, self.values))
        if _IMMUTABLE_TYPES.issuperset(kinds):
            return
        if any(issubclass(kind, float | bytearray | list | tuple | Mapping) for kind in kinds):
            object.__setattr__(self, "values", tuple(map(_freeze, self.values)))
        if any(issubclass(kind, Filter) for kind in kinds) and self._depth > DEEPEST:
            raise BadFilter(
                f"Conditions on items are nested more than {DEEPEST} deep", fix="Use fewer levels"
            )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _depth(self) -> int:
        """The depth of nested conditions on items."""
        inside = [node for value in self.values if isinstance(value, Filter) for node in preorder(value)]
        return 1 + max((node._depth for node in inside if isinstance(node, Predicate)), default=-1)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        values = self.values
        if not _TOLD_BY_EQUALITY.issuperset(map(type, values)):
            values = tuple(map(_comparison_key, values))
        return self.column, self.operator, values, tuple(map(type, self.values)), self.ignore_case


class Branch(Filter):
    """A filter composed of filters."""

    children: tuple[Filter, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and self._shape == other._shape

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._shape)

    @property
    def _shape(self) -> tuple[object, ...]:
        return tuple((type(f), len(f.children)) if isinstance(f, Branch) else f for f in preorder(self))


@dataclass(frozen=True, eq=False)
class And(Branch):
    """Met by rows that meet all children; without children by every row."""

    children: tuple[Filter, ...]


@dataclass(frozen=True, eq=False)
class Or(Branch):
    """Met by rows that meet any child; without children by no row."""

    children: tuple[Filter, ...]


@dataclass(frozen=True, eq=False)
class Not(Branch):
    child: Filter

    @property
    def children(self) -> tuple[Filter, ...]:  # type: ignore[override]
        return (self.child,)

    def __invert__(self) -> Filter:
        return self.child


def all_of(filters: Iterable[Filter]) -> Filter:
    """Join filters in one flat And; for thousands of terms this is faster than `&` in a loop."""
    return And(_flatten(filters, And))


def any_of(filters: Iterable[Filter]) -> Filter:
    """Join filters in one flat Or; for thousands of terms this is faster than `|` in a loop."""
    return Or(_flatten(filters, Or))


def _flatten(filters: Iterable[Filter], kind: type[And] | type[Or]) -> tuple[Filter, ...]:
    return tuple(
        chain.from_iterable(
            condition.children if isinstance(condition, kind) else (condition,) for condition in filters
        )
    )


_IMMUTABLE_TYPES = frozenset({str, bytes, bool, int})
_TOLD_BY_EQUALITY = frozenset({str, bytes, bool, int, float})


def _comparison_key(value: Any) -> object:
    """A key for comparing values. To Python, local times before and after clocks are set back are equal, and
    some values cannot be compared."""
    if isinstance(value, Filter | Reference) or type(value) in _TOLD_BY_EQUALITY:
        return value
    if isinstance(value, dt.datetime):
        return moment_text(value)
    return value.isoformat() if isinstance(value, dt.time) else repr(value)


def _freeze(value: Any, depth: int = 0) -> Any:
    """Make a value immutable. NaN equals only the same object, so all trees share one."""
    if isinstance(value, list | tuple | Mapping):
        if depth > DEEPEST:
            raise BadFilter(f"A value is nested more than {DEEPEST} deep", fix="Compare what is inside it")
        if isinstance(value, Mapping | Struct):
            return Struct((str(name), _freeze(inner, depth + 1)) for name, inner in dict(value).items())
        return tuple(_freeze(inner, depth + 1) for inner in value)
    if isinstance(value, bytearray):
        return bytes(value)
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def thaw(value: Any) -> Any:
    """Convert a frozen value back to lists and dicts."""
    if isinstance(value, Struct):
        return {name: thaw(inner) for name, inner in value}
    return [thaw(inner) for inner in value] if isinstance(value, tuple) else value


def preorder(root: Filter) -> Iterator[Filter]:
    """Yield every node, parents before their children, from left to right."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Branch):
            waiting.extend(reversed(node.children))


ITEM = "item"
"""The name of the item itself, unless it has a field of that name."""


def item_types(item: pa.DataType) -> dict[str, pa.DataType]:
    """The names in items of this type, with their types."""
    fields = {field.name: field.type for field in item} if pa.types.is_struct(item) else {}
    return {ITEM: item, **fields}


def path_in_item(place: Place, item: pa.DataType) -> tuple[str, ...]:
    """The path inside the item of a place in `item_types`; empty for the item itself."""
    itself = place.column == ITEM and not (pa.types.is_struct(item) and ITEM in item.names)
    return place.path if itself else (place.column, *place.path)


FLAGS = "ims"


def apply_flags(pattern: str, flags: str) -> tuple[str, bool]:
    """Put flags other than "i" into the pattern; return it, and whether case is ignored. Raises
    `BadFilter`."""
    if not isinstance(flags, str):
        raise BadFilter(f"Flags of a pattern are letters, not {short_text(flags)}", fix="Give text: 'im'")
    odd = [flag for flag in flags if flag not in FLAGS]
    if odd:
        raise BadFilter(
            f"There is no flag '{odd[0]}' for the pattern '{pattern}'",
            fix="There are: i (ignores case), m (^ and $ at each line), s (the dot matches line ends)",
        )
    more_flags = "".join(flag for flag in FLAGS if flag in flags and flag != "i")
    return (f"(?{more_flags}){pattern}" if more_flags else pattern), "i" in flags


T = TypeVar("T")


def fold(root: Filter, leaf: Callable[[Predicate], T], branch: Callable[[Branch, list[T]], T]) -> T:
    """Compute a value of the tree from the leaves up: `branch` receives its children's values, in order."""
    waiting: list[tuple[Filter, bool]] = [(root, False)]
    values: list[T] = []
    while waiting:
        node, children_done = waiting.pop()
        if isinstance(node, Predicate):
            values.append(leaf(node))
        elif not isinstance(node, Branch):
            raise TypeError(f"{node!r} is not a filter; build one with col()")
        elif children_done:
            start = len(values) - len(node.children)
            values[start:] = [branch(node, values[start:])]
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))
    return values[0]


def predicates(root: Filter) -> list[Predicate]:
    """All predicates of the tree, from left to right."""
    leaves: list[Predicate] = []
    fold(root, leaves.append, lambda _node, _values: None)
    return leaves


def asks_words(where: Filter | None) -> bool:
    """Whether a filter has conditions that only a full-text index can evaluate."""
    return where is not None and any(predicate.operator == WORDS for predicate in predicates(where))


def columns_read(root: Filter) -> list[str]:
    """The columns that the tree reads, each once, and fields inside them by path. For a bound condition on an
    item of a list, this is the list."""
    names: dict[str, None] = {}
    for predicate in predicates(root):
        names[_read(predicate.column, predicate)] = None
        if any(issubclass(kind, Reference) for kind in set(map(type, predicate.values))):
            exact = getattr(predicate, "exact", predicate.values)
            pairs = zip(predicate.values, exact, strict=True)
            names.update((_read(own.name, name), None) for own, name in pairs if isinstance(own, Reference))
    return list(names)


def _read(name: str, bound: object) -> str:
    place = getattr(bound, "place", None)
    around = None if place is None else place.outer_list
    return name if around is None else str(around.name)
