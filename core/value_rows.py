"""Python values of a column to Arrow, each as it was.

A bool among numbers is kept as 0 or 1, as SQLite does, and a date among datetimes as its midnight; integers
too large for 64 bits are decimals. Nothing is converted unchecked: what does not fit is refused by row and
column.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrays import checked, complete, from_numpy, nulls_among, plain
from lamella.core.documents import ReservedKey, as_documents
from lamella.core.errors import BadData

_PLAIN = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
}
_COLLECTIONS = {dict, list, tuple}
_NUMPY = (np.int64, np.float64, np.int32, np.bool_)
_REFUSALS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError, TypeError)  # fmt: skip # noqa: E501
_ANY_REFUSAL = (*_REFUSALS, ReservedKey)
MOST_DIGITS = 76
_NUMPY_TIMES = {np.datetime64, np.timedelta64}
_PYTHON_TIMES = {dt.date, dt.datetime, dt.timedelta}
_ARROW_UNITS = {"s", "ms", "us", "ns"}
_FINE = dict.fromkeys(("ps", "fs", "as"), "ns")
_MOMENT_UNITS = {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s"} | _FINE
_SPAN_UNITS = {"W": "s", "D": "s", "h": "s", "m": "s"} | _FINE
"""What NumPy's units become, those of years and months without a length."""
_PANDAS_NULLS = {"NaTType", "NAType"}


def array_of(name: str, values: Sequence[Any], first: int) -> pa.Array:
    """The values of the column, which begin with row `first`. Raises `BadData`."""
    if isinstance(values, np.ndarray) and values.dtype in _NUMPY:
        return _from_numpy(values)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    try:
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            return _from_numpy_times(np.ma.filled(values, np.array("NaT", values.dtype)))
        if isinstance(values, np.ndarray) and values.dtype != object:
            return pa.array(values)
        return _converted(list(values))
    except RecursionError as error:
        raise BadData(
            f"column '{name}' holds values nested too deep", fix="Keep them as JSON text"
        ) from error
    except _ANY_REFUSAL as error:
        raise _refusal(name, list(values), first, error) from error


def _from_numpy(values: np.ndarray) -> pa.Array:
    """A copy, with what is masked as null."""
    masked = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else np.zeros(0, bool)
    return from_numpy(np.array(np.ma.getdata(values)), valid=~masked if masked.any() else None)


def _converted(values: list[Any]) -> pa.Array:
    """Values of one plain type the short way; `pa.array` looks at what is neither plain nor a collection."""
    types = set(map(type, values))
    whole = complete(values, *types) if len(types) == 1 else None
    if whole is not None:
        return whole
    kinds = types - {type(None)}
    if not kinds <= _COLLECTIONS and (len(kinds) != 1 or not kinds <= _PLAIN.keys()):
        values = _without_pandas_nulls(values, kinds)
        kinds = _kinds(values)
        if len(kinds) == 1 and kinds <= _NUMPY_TIMES:
            return _from_numpy_times(_numpy_times(values, *kinds))
        values = _even(values)
        kinds = _kinds(values)
    if kinds == {dict}:
        return as_documents(values, _converted, _REFUSALS)
    if kinds and kinds <= {list, tuple}:
        return _lists(values, type(None) in types)
    kind = _PLAIN.get(next(iter(kinds))) if len(kinds) == 1 else None
    short = None if kind is None else plain(values, kind)
    if short is None and kinds == {int}:
        values = [None if v is None else _decimal(v) for v in values]
    return checked(values) if short is None else short


def _lists(values: list[Any], nulls: bool) -> pa.Array:
    """Lists as lists of their own lengths, whatever these add up to; None among them only with `nulls`."""
    there: list[Any] = [() if value is None else value for value in values] if nulls else values
    ends = np.zeros(len(there) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, there), np.int64, len(there)), out=ends[1:])
    if ends[-1] >= 2**31:
        raise OverflowError("too many values in lists")
    inside, mask = _converted(list(chain.from_iterable(there))), nulls_among(values) if nulls else None
    return pa.ListArray.from_arrays(from_numpy(ends.astype(np.int32)), inside, mask=mask)


def _numpy_times(values: list[Any], kind: type) -> np.ndarray:
    """In the finest of their units, where each stays what it is there."""
    found = np.array([kind("NaT") if value is None else value for value in values])
    units = {value.dtype for value in values if value is not None}
    same = len(units) == 1 or all(
        value is None or np.isnat(value) or (one.astype(value.dtype) == value and one == value)
        for one, value in zip(found, values, strict=True)
    )
    if not same:
        raise OverflowError("the times are too far away for the finest unit among them")
    return found


def _from_numpy_times(values: np.ndarray) -> pa.Array:
    """Days, and what is counted in whole ones, are dates; hours and minutes are counted in seconds."""
    unit, span = np.datetime_data(values.dtype)[0], values.dtype.kind == "m"
    if unit == "generic" and np.isnat(values).all():
        return pa.nulls(len(values))
    wanted = (_SPAN_UNITS if span else _MOMENT_UNITS).get(unit, unit if unit in _ARROW_UNITS else "")
    if not wanted:
        raise TypeError(f"a span of NumPy's unit '{unit}' has no length of its own" if span else "no unit")
    made = values.astype(f"{'timedelta64' if span else 'datetime64'}[{wanted}]")
    there = ~np.isnat(values)
    if not (np.isnat(made) == ~there).all() or (made[there] != values[there]).any():
        raise OverflowError(f"a time in NumPy's unit '{unit}' does not fit Arrow's units")
    if wanted == "D" and there.any() and abs(made[there].astype(np.int64)).max() >= 2**31:
        raise OverflowError("a date is too far away")
    return pa.array(made, mask=~there)


def _kinds(values: list[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _even(values: list[Any]) -> list[Any]:
    """Values of kinds that belong together as values of one kind, where each stays what it is."""
    kinds = _kinds(values)
    if kinds == {bool, int}:
        values, kinds = [None if v is None else int(v) for v in values], {int}
    if len(kinds) == 1 and kinds <= {int, float, str}:
        return values
    if float in kinds and kinds <= {bool, int, float} and all(map(_is_double, values)):
        return [None if v is None else float(v) for v in values]
    if kinds == {dt.date, dt.datetime}:
        return [dt.datetime(v.year, v.month, v.day) if type(v) is dt.date else v for v in values]
    if kinds & _NUMPY_TIMES and kinds <= _NUMPY_TIMES | _PYTHON_TIMES:
        return _even([_python_time(v) if type(v) in _NUMPY_TIMES else v for v in values])
    if np.ndarray in kinds:
        return [v.tolist() if isinstance(v, np.ndarray) and v.ndim > 1 else v for v in values]
    return values


def _python_time(value: np.datetime64 | np.timedelta64) -> Any:
    """What stands beside Python's own times is as coarse as these."""
    unit, count = np.datetime_data(value.dtype)
    if unit in ("ns", *_FINE):
        made = value.astype(value.dtype.str.replace(f"[{'' if count == 1 else count}{unit}]", "[us]"))
        if made != value:
            raise OverflowError(f"{value} is finer than the times of Python beside it")
        value = made
    found = value.item()
    if isinstance(found, int):
        raise OverflowError(f"{value!r} is no time that Python's own can stand beside")
    return found


def _without_pandas_nulls(values: list[Any], kinds: set[type]) -> list[Any]:
    """NaT and NA are nulls; they are known by name, as pandas is not imported for this. NumPy's NaT is one
    beside values of other kinds."""
    if len(kinds) > 1 and kinds & _NUMPY_TIMES:
        values = [None if type(v) in _NUMPY_TIMES and np.isnat(v) else v for v in values]
    if not {kind.__name__ for kind in kinds} & _PANDAS_NULLS:
        return values
    return [None if type(v).__name__ in _PANDAS_NULLS else v for v in values]


def _is_double(value: Any) -> bool:
    return bool(value is None or value != value or float(value) == value)


def _decimal(value: int) -> Decimal:
    if abs(value) >= 10**MOST_DIGITS:
        raise OverflowError(f"a number of more than {MOST_DIGITS} digits")
    return Decimal(value)


def _refusal(name: str, values: list[Any], first: int, error: Exception) -> BadData:
    """Names the first row without which the rows before it would have done."""
    good, bad = 0, len(values)
    while good + 1 < bad:
        middle = (good + bad) // 2
        try:
            _converted(values[:middle])
            good = middle
        except _ANY_REFUSAL:
            bad = middle
    value = repr(values[bad - 1])
    shown = value if len(value) <= 60 else value[:60] + "…"
    return BadData(
        f"column '{name}' cannot take the value {shown} of row {first + bad - 1}",
        *_why(values[bad - 1], error),
    )


def _why(value: Any, error: Exception) -> tuple[str, str]:
    """The reason, and what to do: some values fit nowhere, others only do not fit those before them."""
    if isinstance(error, ReservedKey):
        return str(error), "Rename that key"
    if isinstance(value, Decimal) and not value.is_finite():
        return "Decimals are finite numbers", "Give None, or floats: they have NaN and infinity"
    if isinstance(error, UnicodeEncodeError):
        return str(error), "Leave that half of a character out, or decode the bytes it came from rightly"
    try:
        _converted([value])
    except _ANY_REFUSAL:
        return str(error), "Give a number, a text, a time, bytes, a list or a dict that says the same"
    return str(error), "Give values of one type: decimals hold every digit, text holds anything"
