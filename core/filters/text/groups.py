"""A parenthesis of a filter's text, or the whole of it, while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lamella.core.filters.expr import And, Filter, Not, Or
from lamella.core.filters.text.lexer import Token


@dataclass
class Group:
    """`opener` is None for the whole text. `make` makes a filter of what stands between the commas, of which
    there is one where `commas` are not allowed; a plain parenthesis is what stands in it. `start` is the
    token that a condition on the items of a list begins with, where the group belongs to one."""

    opener: Token | None = None
    make: Callable[[tuple[Filter, ...]], Filter] | None = None
    commas: bool = False
    start: int | None = None
    nots: int = 0
    done: list[Filter] = field(default_factory=list)
    alternatives: list[list[Filter]] = field(default_factory=lambda: [[]])

    def add(self, condition: Filter) -> None:
        """One more operand, negated as often as `not` stands before it."""
        for _ in range(self.nots):
            condition = Not(condition)
        self.nots = 0
        self.alternatives[-1].append(condition)

    def either(self) -> None:
        self.alternatives.append([])

    def comma(self) -> None:
        self.done.append(self._current())
        self.alternatives = [[]]

    def value(self) -> Filter:
        if self.make is None:
            return self._current()
        last = [self._current()] if self.alternatives[0] else []
        return self.make((*self.done, *last))

    def _current(self) -> Filter:
        joined = [one[0] if len(one) == 1 else And(tuple(one)) for one in self.alternatives]
        return joined[0] if len(joined) == 1 else Or(tuple(joined))
