"""THE table of functions: whatever knows how a value is computed asks here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from core.errors import BadQuery
from core.query import arithmetic
from core.query.operand import Value

Made = tuple[exp.Expr, pa.DataType] | None


@dataclass(frozen=True)
class Function:
    """`make` gives the SQL and the type for values, or None where they do not fit: `takes` says what does.

    It is called with at least `least` values, and at most `most`.
    """

    id: str
    takes: str
    least: int
    most: int
    make: Callable[[Sequence[Value]], Made]

    def applied(self, values: Sequence[Value], place: str) -> Value:
        """Raises `BadQuery`, which names what does not fit."""
        if not self.least <= len(values) <= self.most:
            raise BadQuery(f"{place}: '{self.id}' was given {len(values)} values", f"It takes {self.takes}")
        made = self.make(values)
        if made is None:
            given = " and ".join(f"{value.said} ({value.type})" for value in values)
            raise BadQuery(f"{place}: '{self.id}' does not fit {given}", f"It takes {self.takes}")
        sql, kind = made
        return Value(sql, kind, f"what '{self.id}' gives")


_TWO_NUMBERS = "two numbers"
_TABLE = (
    Function("add", "two numbers, two texts, or a time and a span of time", 2, 2, arithmetic.add),
    Function("subtract", "two numbers, two times, or a time and a span of time", 2, 2, arithmetic.subtract),
    Function("multiply", "two numbers, or a span of time and a number", 2, 2, arithmetic.multiply),
    Function("divide", "two numbers, or two spans of time", 2, 2, arithmetic.divide),
    Function("floor_divide", _TWO_NUMBERS, 2, 2, arithmetic.floor_divide),
    Function("modulo", _TWO_NUMBERS, 2, 2, arithmetic.modulo),
    Function("power", _TWO_NUMBERS, 2, 2, arithmetic.power),
    Function("negate", "a number or a span of time", 1, 1, arithmetic.negate),
    Function("abs", "a number or a span of time", 1, 1, arithmetic.absolute),
)

FUNCTIONS: dict[str, Function] = {function.id: function for function in _TABLE}
