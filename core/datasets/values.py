"""Rows of Python values as blocks: each column gets the least type that keeps every value, or is text."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.locate import Stamp
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import noted_field

Values: TypeAlias = Sequence[Any] | pa.Array
"""Of one column: Python values, or an array where all that are not null have its type."""

_LAST_EXACT_INTEGER = 1 << 53
_KINDS: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
    dt.time: pa.time64("us"),
    dt.timedelta: pa.duration("us"),
}
_WORDS = {
    bool: "boolean", int: "number", float: "number", str: "text", bytes: "binary value",
    dt.date: "date", dt.datetime: "date", dt.time: "time", dt.timedelta: "duration",
}  # fmt: skip
_WORDS_OF_TYPES = {kind: _WORDS[python] for python, kind in _KINDS.items()}
MIXED = "Holds {}, so all are shown as text"
LONG = "Holds whole numbers that a double would round beside others, so all are shown as text"


def least_type(values: Values) -> pa.DataType:
    """The narrowest type that keeps each value; null where there is none, text where only that does."""
    if isinstance(values, pa.Array):
        return pa.null() if all_null(values) else values.type
    kinds = {_KINDS[kind] for kind in set(map(type, values)) if kind is not type(None)}
    kind = reduce(join_types, kinds, pa.null())
    return kind if to_array(values, kind) is not None else pa.string()


def join_types(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A type for the values of both. Whether each fits it is for `to_array` to say."""
    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    for meeting in ({pa.int64(), pa.float64()}, {pa.date32(), pa.timestamp("us")}):
        if {a, b} == meeting:
            return pa.float64() if pa.float64() in meeting else pa.timestamp("us")
    return pa.string()


def to_array(values: Values, kind: pa.DataType) -> pa.Array | None:
    """The values as `kind`, or None where one would be lost or changed by that."""
    if all_null(values):
        return pa.nulls(len(values), pa.string() if pa.types.is_null(kind) else kind)
    if isinstance(values, pa.Array):
        return _array_as(values, kind)
    types = set(map(type, values)) - {type(None)}
    if pa.types.is_string(kind):
        plain = values if types == {str} else [None if v is None else as_text(v) for v in values]
        return from_values(plain, pa.string())
    if not types <= _PYTHON.get(kind, frozenset()):
        return None
    if int in types and pa.types.is_floating(kind) and not all(map(_fits_double, values)):
        return None
    if pa.types.is_timestamp(kind) and dt.date in types:
        values = [dt.datetime(v.year, v.month, v.day) if type(v) is dt.date else v for v in values]
    if pa.types.is_floating(kind) and int in types:
        values = [None if v is None else float(v) for v in values]
    try:
        return from_values(values, kind)
    except pa.ArrowInvalid:  # a whole number of more than 64 bits
        return None


def all_null(values: Values) -> bool:
    if isinstance(values, pa.Array):
        return bool(values.null_count == len(values))
    return all(value is None for value in values)


def _array_as(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    if values.type.equals(kind):
        return values
    if pa.types.is_integer(values.type) and pa.types.is_floating(kind):
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:  # some numbers beyond 2**53 are doubles all the same
            pass
    return to_array(values.to_pylist(), kind)


_PYTHON: dict[pa.DataType, frozenset[type]] = {
    **{kind: frozenset({python}) for python, kind in _KINDS.items()},
    pa.float64(): frozenset({int, float}),
    pa.timestamp("us"): frozenset({dt.date, dt.datetime}),
}


def _fits_double(value: Any) -> bool:
    return type(value) is not int or abs(value) <= _LAST_EXACT_INTEGER or int(float(value)) == value


def as_text(value: Any) -> str:
    """A value in a column of text: bytes as SQL writes them, times as ISO does."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes):
        return f"x'{value.hex().upper()}'"
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


@dataclass(frozen=True)
class RowBlock:
    """`first` is the number of its first row, from 1."""

    number: int
    rows: Sequence[Sequence[Any]]
    first: int
    done: int

    def columns(self) -> list[Values]:
        """None where there is no row."""
        return list(zip(*self.rows, strict=True))


class ColumnBlock(Protocol):
    """The same of a file that gives its values column by column."""

    @property
    def number(self) -> int: ...

    @property
    def first(self) -> int: ...

    @property
    def done(self) -> int: ...

    def columns(self) -> Sequence[Values]: ...


class ValuesFile(ABC):
    """A file whose rows come as Python values, all with as many values as there are `names`."""

    remarks: tuple[str, ...] = ()

    def __init__(
        self, path: Path, label: str, stamps: Sequence[Stamp], reading: Sequence[object], names: Sequence[str]
    ) -> None:
        self.path, self.label, self.stamps = path, label, tuple(stamps)
        self.paths = (path,)
        self.reading, self.names = tuple(reading), tuple(names)
        self._met: list[dict[int, Counter[str]]] = [{} for _ in names]

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def blocks(self, job: Job) -> Generator[ColumnBlock, None, None]: ...

    def least(self, place: int, values: Values) -> pa.DataType:
        """The type for values of the column in this place."""
        return least_type(values)

    def joined(self, place: int, a: pa.DataType, b: pa.DataType) -> pa.DataType:
        return join_types(a, b)

    def array(self, place: int, values: Values, kind: pa.DataType) -> pa.Array | None:
        """The values as `kind`, or None where one does not fit."""
        return to_array(values, kind)

    def note(self, place: int) -> str:
        """What the values of a column of text do not say of themselves."""
        met: Counter[str] = sum(self._met[place].values(), Counter())
        if len(met) > 1:
            counts = [f"{count:,} {word}{'' if count == 1 else 's'}" for word, count in met.most_common()]
            return MIXED.format(" and ".join([", ".join(counts[:-1]), counts[-1]]))
        return LONG if met and "text" not in met else ""

    def read(self, block: ColumnBlock, schema: pa.Schema) -> Reading:
        columns = block.columns() or [() for _ in self.names]
        kinds = schema.types or [pa.null() for _ in self.names]
        arrays = []
        for place, (values, kind) in enumerate(zip(columns, kinds, strict=True)):
            arrays.append(self.array(place, values, kind))
            if pa.types.is_string(kind):
                self._met[place][block.number] = _kinds_met(values)
        if len(schema) and all(array is not None for array in arrays):
            return Reading(schema, pa.table(arrays, names=schema.names))
        wide = [
            kind if array is not None else self._wider(place, kind, values)
            for place, (kind, array, values) in enumerate(zip(kinds, arrays, columns, strict=True))
        ]
        return Reading(pa.schema(list(zip(self.names, wide, strict=True))), None)

    def _wider(self, place: int, kind: pa.DataType, values: Values) -> pa.DataType:
        wide = self.joined(place, kind, self.least(place, values))
        return pa.string() if wide.equals(kind) else wide

    def join(self, a: pa.Schema, b: pa.Schema) -> pa.Schema:
        if not len(a):
            return b
        kinds = [self.joined(place, *pair) for place, pair in enumerate(zip(a.types, b.types, strict=True))]
        return pa.schema(list(zip(self.names, kinds, strict=True)))

    def shown(self, schema: pa.Schema) -> pa.Schema:
        kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in schema.types]
        return pa.schema(
            [
                noted_field(name, kind, self.note(place))
                for place, (name, kind) in enumerate(zip(schema.names, kinds, strict=True))
            ]
        )

    def where(self, block: ColumnBlock) -> str:
        return f"row {block.first:,}"

    def release(self) -> None:  # noqa: B027 -- most have nothing to do
        """Nothing is kept, unless a format says otherwise."""


def _kinds_met(values: Values) -> Counter[str]:
    if isinstance(values, pa.Array):
        count = len(values) - values.null_count
        return Counter({_WORDS_OF_TYPES[values.type]: count} if count else {})
    types = set(map(type, values)) - {type(None)}
    if types <= {str}:
        texts = len(values) - values.count(None)
        return Counter({"text": texts} if texts else {})
    return Counter(_WORDS[type(value)] for value in values if value is not None)
