"""Going through a filter tree without recursion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lamella.core.filters.expr import Branch, Filter, Predicate, Reference

T = TypeVar("T")


def fold(root: Filter, leaf: Callable[[Predicate], T], branch: Callable[[Branch, list[T]], T]) -> T:
    """The tree's value, from the leaves up: `branch` is given its children's values, in order."""
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
    """All conditions of the tree, from left to right."""
    found: list[Predicate] = []
    fold(root, found.append, lambda _node, _values: None)
    return found


def columns_read(root: Filter) -> list[str]:
    """What the tree asks of, each once: columns, and fields inside them by their path. A bound tree that asks
    of an item of a list asks of the list."""
    found: dict[str, None] = {}
    for predicate in predicates(root):
        found[_read(predicate.column, predicate)] = None
        if any(issubclass(kind, Reference) for kind in set(map(type, predicate.values))):
            exact = getattr(predicate, "exact", predicate.values)
            pairs = zip(predicate.values, exact, strict=True)
            found.update((_read(one.name, other), None) for one, other in pairs if isinstance(one, Reference))
    return list(found)


def _read(name: str, bound: object) -> str:
    place = getattr(bound, "place", None)
    around = None if place is None else place.outer_list
    return name if around is None else str(around.name)
