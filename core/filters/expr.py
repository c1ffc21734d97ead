"""The filter tree: And, Or and Not over predicates. Immutable, hashable, and JSON both ways.

A tree is only built here. What an operator means, which types it fits and how it is compiled is in
`core.filters.operators`; whether a tree fits a schema is decided by `core.filters.binding.bind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Filter:
    """A condition that a row meets or does not; `&`, `|` and `~` combine two-valued logic."""

    def __and__(self, other: Filter) -> Filter:
        return And((self, other))

    def __or__(self, other: Filter) -> Filter:
        return Or((self, other))

    def __invert__(self) -> Filter:
        return Not(self)


@dataclass(frozen=True)
class Predicate(Filter):
    """`operator` is an id of the operator table; `values` has as many items as its arity asks."""

    column: str
    operator: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class And(Filter):
    children: tuple[Filter, ...]


@dataclass(frozen=True)
class Or(Filter):
    children: tuple[Filter, ...]


@dataclass(frozen=True)
class Not(Filter):
    child: Filter
