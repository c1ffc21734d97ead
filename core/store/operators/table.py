"""THE table of update operators: whatever knows one asks here.

They mean what MongoDB's documentation says, where a null cell stands for a missing field. Adding one means
adding a line, and a function over a column that says what it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.store.operators import arithmetic, bounds, list_edits, moments
from lamella.core.store.operators.meeting import array_of, nulls, repeated

Compute = Callable[[pa.Array, Any], pa.Array]


@dataclass(frozen=True)
class Operator:
    """`read` makes an operand of what was given, `compute` new values of those held; both may refuse.

    `wants` are the types it fits, in words; a column of type null is any. `verb` begins the sentence in the
    history. `creates`: it gives values to columns that are not there yet. `moves`: the operand is a name.
    """

    name: str
    verb: str
    wants: str
    fits: Callable[[pa.DataType], bool]
    read: Callable[[Any], Any]
    compute: Compute
    creates: bool = False
    moves: bool = False
    only_inserted: bool = False


def _anything(_kind: pa.DataType) -> bool:
    return True


def _assigned(values: pa.Array, value: pa.Array) -> pa.Array:
    return repeated(value, len(values))


def _as_value(operand: Any) -> pa.Array:
    return array_of([operand])


def _emptied(values: pa.Array, _operand: object) -> pa.Array:
    return nulls(len(values))


def _name(operand: Any) -> Any:
    return operand


_NUMBER = ("numbers", arithmetic.is_number)
_INTEGER = ("whole numbers", pa.types.is_integer)
_ORDERED = ("numbers, text, dates and times", bounds.is_ordered)
_LIST = ("lists of any length", list_edits.is_editable)
_MOMENT = ("timestamps and dates", moments.is_moment)
_ANY = ("values of any type", _anything)

_TABLE = (
    Operator("$set", "set", *_ANY, _as_value, _assigned, creates=True),
    Operator("$unset", "clear", *_ANY, _name, _emptied),
    Operator("$inc", "increase", *_NUMBER, arithmetic.read_number, arithmetic.increased),
    Operator("$mul", "multiply", *_NUMBER, arithmetic.read_number, arithmetic.multiplied),
    Operator("$min", "lower", *_ORDERED, bounds.read_bound, bounds.lowered),
    Operator("$max", "raise", *_ORDERED, bounds.read_bound, bounds.raised),
    Operator("$bit", "change bits of", *_INTEGER, arithmetic.read_bits, arithmetic.bits_changed),
    Operator("$currentDate", "date", *_MOMENT, moments.read_moment, moments.now, creates=True),
    Operator("$push", "add to", *_LIST, list_edits.read_push, list_edits.pushed, creates=True),
    Operator("$addToSet", "add to", *_LIST, list_edits.read_added, list_edits.added_to_set, creates=True),
    Operator("$pull", "take out of", *_LIST, list_edits.read_condition, list_edits.pulled),
    Operator("$pullAll", "take out of", *_LIST, list_edits.read_listed, list_edits.pulled_all),
    Operator("$pop", "shorten", *_LIST, list_edits.read_end, list_edits.popped),
    Operator("$rename", "move", *_ANY, _name, _emptied, moves=True),
    Operator("$setOnInsert", "set", *_ANY, _as_value, _assigned, creates=True, only_inserted=True),
)

OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _TABLE}
