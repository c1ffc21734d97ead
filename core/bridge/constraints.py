"""What a constraint of SQLite lets through, by SQLite's own rules for values of different classes.

SQLite tells a virtual table the value of the other side, but not its affinity, and that decides how a column
of texts is compared with it: `code = 5` compares texts, `code = CAST(5 AS INTEGER)` numbers. Where both
readings are possible the answer covers both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from itertools import product
from typing import Any

from lamella.core.bridge.column_types import ColumnType, Storage
from lamella.core.bridge.orders import Bytes, as_bytes
from lamella.core.bridge.wanted import EVERYTHING, NOTHING, NULLS, VALUES, Range, Wanted, any_of

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
LETTERS_IN_BOTH_CASES = 3
_WHITE = " \t\n\v\f\r"
_NUMBER = re.compile(rf"[{_WHITE}]*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[{_WHITE}]*", re.ASCII)
_NUMBER_SIGNS = frozenset(f"{_WHITE}+-.0123456789eE")
_BEHIND_NUMBERS = ":"
"""No text that SQLite takes for a number begins with this sign or a later one."""
_ANY_NUMBER = (-math.inf, math.inf)


def wanted(column: ColumnType, op: str, value: Any, literal: bool = False) -> Wanted:
    """What of a column may meet `column op value`. `op` is a comparison, in (with a collection), is, is not,
    is null, is not null, like or glob. `literal`: the value stands in the statement itself."""
    if op in ("is null", "is not null"):
        return NULLS if op == "is null" else VALUES
    if op == "in":
        return _in(column, value, literal)
    if value is None:
        return {"is": NULLS, "is not": VALUES}.get(op, NOTHING)
    if op in ("like", "glob"):
        return _beginning(column, op, value)
    if op == "is not":
        return EVERYTHING
    return _compared(column, "=" if op == "is" else op, value, literal)


def _in(column: ColumnType, values: Collection[Any], literal: bool) -> Wanted:
    return any_of(wanted(column, "=", value, literal) for value in values)


def _compared(column: ColumnType, op: str, value: Any, literal: bool) -> Wanted:
    low, high = value, value
    if column.storage is Storage.NUMBER and isinstance(value, str):
        low, high = _as_number(value)
    storage = storage_of(low)
    if column.storage is Storage.TEXT and storage is Storage.NUMBER:
        return VALUES
    if storage is not column.storage:
        meets = ("<", "<=", "<>") if column.storage < storage else (">", ">=", "<>")
        return VALUES if op in meets else NOTHING
    if column.order is None or _read_as_number(column, op, value, literal):
        return VALUES
    return column.order.compared(op, low, high)


def storage_of(value: Any) -> Storage:
    """The class of a value that is not null."""
    if isinstance(value, str):
        return Storage.TEXT
    return Storage.BLOB if isinstance(value, bytes) else Storage.NUMBER


def _as_number(text: str) -> tuple[Any, Any]:
    """What numeric affinity makes of a text: itself, or the number it stands for, between two bounds. SQLite
    does not always round a decimal fraction to the nearest double."""
    if not text or set(text) - _NUMBER_SIGNS:
        return text, text
    found = _NUMBER.fullmatch(text)
    if found is None:
        return _ANY_NUMBER
    written = found[1]
    if written.lstrip("+-").isdigit() and -(1 << 63) <= int(written) < 1 << 63:
        return int(written), int(written)
    near = float(written)
    return _steps(near, -math.inf), _steps(near, math.inf)


def _steps(number: float, towards: float) -> float:
    return math.nextafter(math.nextafter(number, towards), towards)


def _read_as_number(column: ColumnType, op: str, value: Any, literal: bool) -> bool:
    """Whether the other side may be a column of numbers that holds a text: texts that stand for numbers are
    less than it then, wherever they stand among texts."""
    texts = column.storage is Storage.TEXT and isinstance(column.order, Bytes)
    return texts and not literal and op in ("<", "<=") and value < _BEHIND_NUMBERS


def _beginning(column: ColumnType, op: str, pattern: Any) -> Wanted:
    """The texts that begin like the pattern. LIKE ignores the case of ASCII letters; a beginning ends before
    any other letter, whatever SQLite makes of it."""
    if column.storage is not Storage.TEXT or not isinstance(column.order, Bytes):
        return VALUES
    if not isinstance(pattern, str):
        return VALUES
    signs = re.compile(r"[^%_\x00\x80-\U0010ffff]*" if op == "like" else r"[^*?\[\x00]*")
    beginning = signs.match(pattern)
    text = beginning[0] if beginning else ""
    if not text:
        return VALUES
    if op == "glob":
        return Wanted((_from_to(text, text),))
    return Wanted(
        tuple(_from_to(head + rest.upper(), head + rest.lower()) for head, rest in _in_any_case(text))
    )


def _in_any_case(text: str) -> Iterator[tuple[str, str]]:
    """The first letters in either case, which is where most ranges part, and the rest."""
    first, rest = text[:LETTERS_IN_BOTH_CASES], text[LETTERS_IN_BOTH_CASES:]
    heads = product(*(dict.fromkeys((letter.upper(), letter.lower())) for letter in first))
    return (("".join(head), rest) for head in heads)


def _from_to(low: str, high: str) -> Range:
    """Nothing in a text is encoded as the byte 255."""
    return as_bytes(low), as_bytes(high) + b"\xff"
