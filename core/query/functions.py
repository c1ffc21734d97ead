"""THE table of functions: whatever knows how a value is computed asks here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from lamella.core.errors import BadQuery
from lamella.core.query import arithmetic, choosing
from lamella.core.query import number_functions as numbers
from lamella.core.query import text_functions as texts
from lamella.core.query import time_functions as times
from lamella.core.query.once import once
from lamella.core.query.operand import Value

Made = tuple[exp.Expr, pa.DataType] | None


@dataclass(frozen=True)
class Function:
    """`make` gives the SQL and the type for values, or None where they do not fit: `takes` says what does.

    It is called with at least `least` values, and at most `most`. One that chooses leaves values that it does
    not take uncomputed.
    """

    id: str
    takes: str
    least: int
    most: int
    make: Callable[[Sequence[Value]], Made]
    chooses: bool = False

    def applied(self, values: Sequence[Value], place: str) -> Value:
        """Raises `BadQuery`, which names what does not fit."""
        if not self.least <= len(values) <= self.most:
            raise BadQuery(f"{place}: '{self.id}' was given {len(values)} values", f"It takes {self.takes}")
        made = self.make(values) if self.chooses else once(values, self.make)
        if made is None:
            given = " and ".join(f"{value.said} ({value.type})" for value in values)
            raise BadQuery(f"{place}: '{self.id}' does not fit {given}", f"It takes {self.takes}")
        sql, kind = made
        return Value(sql, kind, f"what '{self.id}' gives")


_TWO_NUMBERS = "two numbers"
_NUMBER = "a number"
_NUMBER_OR_SPAN = "a number or a span of time"
_TEXT = "text"
_DAY = "a date or a timestamp"
_CLOCK = "a timestamp or a time of day"
_ALIKE = "values of one type"
_UNIT = f"a date or a timestamp, and one of {', '.join(times.UNITS)}; days have no hours"
_MANY = 1000

_TABLE = (
    Function("add", "two numbers, two texts, or a time and a span of time", 2, 2, arithmetic.add),
    Function("subtract", "two numbers, two times, or a time and a span of time", 2, 2, arithmetic.subtract),
    Function("multiply", "two numbers, or a span of time and a whole number", 2, 2, arithmetic.multiply),
    Function("divide", "two numbers, or two spans of time", 2, 2, arithmetic.divide),
    Function("floor_divide", _TWO_NUMBERS, 2, 2, arithmetic.floor_divide),
    Function("modulo", _TWO_NUMBERS, 2, 2, arithmetic.modulo),
    Function("power", _TWO_NUMBERS, 2, 2, arithmetic.power),
    Function("negate", _NUMBER_OR_SPAN, 1, 1, arithmetic.negate),
    Function("abs", _NUMBER_OR_SPAN, 1, 1, arithmetic.absolute),
    Function("round", "a number, and to how many digits", 2, 2, numbers.rounded),
    Function("floor", _NUMBER, 1, 1, numbers.floor),
    Function("ceil", _NUMBER, 1, 1, numbers.ceil),
    Function("sign", _NUMBER, 1, 1, numbers.sign),
    Function("sqrt", _NUMBER, 1, 1, numbers.sqrt),
    Function("ln", _NUMBER, 1, 1, numbers.ln),
    Function("log10", _NUMBER, 1, 1, numbers.log10),
    Function("exp", _NUMBER, 1, 1, numbers.power_of_e),
    Function("upper", _TEXT, 1, 1, texts.simple("upper")),
    Function("lower", _TEXT, 1, 1, texts.simple("lower")),
    Function("trim", _TEXT, 1, 1, texts.trim),
    Function("length", "text, binary data or a list", 1, 1, texts.length),
    Function("substring", "text, and where to begin and how many characters", 3, 3, texts.substring),
    Function("replace", "three texts", 3, 3, texts.replace),
    Function("year", _DAY, 1, 1, times.part("year")),
    Function("quarter", _DAY, 1, 1, times.part("quarter")),
    Function("month", _DAY, 1, 1, times.part("month")),
    Function("week", _DAY, 1, 1, times.part("week")),
    Function("day", _DAY, 1, 1, times.part("day")),
    Function("day_of_year", _DAY, 1, 1, times.part("doy")),
    Function("weekday", _DAY, 1, 1, times.part("isodow")),
    Function("hour", _CLOCK, 1, 1, times.part("hour")),
    Function("minute", _CLOCK, 1, 1, times.part("minute")),
    Function("second", _CLOCK, 1, 1, times.part("second")),
    Function("date", _DAY, 1, 1, times.day),
    Function("truncate", _UNIT, 2, 2, times.truncated),
    Function("coalesce", _ALIKE, 1, _MANY, choosing.coalesce, chooses=True),
    Function("least", _ALIKE, 1, _MANY, choosing.extreme("least")),
    Function("greatest", _ALIKE, 1, _MANY, choosing.extreme("greatest")),
    Function("when", "a condition and two values of one type", 3, 3, choosing.when, chooses=True),
    Function("cast", "a value and a type that it can be read as", 2, 2, choosing.as_type),
)

FUNCTIONS: dict[str, Function] = {function.id: function for function in _TABLE}
