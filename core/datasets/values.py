"""Blocks of rows of Python values: each column gets the narrowest type that keeps every value, else text."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_values, to_numpy
from lamella.core.arrow.types import type_named
from lamella.core.datasets.base import OpenOptions, Problem
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.locate import Stamp
from lamella.core.datasets.text.bad_lines import Problems, sentences
from lamella.core.datasets.text.conversions import spelled_type
from lamella.core.datasets.text.delimited import (
    MOST_MISFITS,
    refuse_unknown_columns,
    rename_columns,
    word_for,
)
from lamella.core.datasets.text.regional import Conventions, SpelledType
from lamella.core.datasets.text.types import convert, solid
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.snapshot import noted_field

Values: TypeAlias = Sequence[Any] | pa.Array
"""The values of a column: Python values, or an array if all non-null values have one type."""

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
MIXTURE = "Holds {}, so all are shown as text"
LONG = "Holds fractions and also whole numbers that a double would round, so all are shown as text"


def least_type(values: Values) -> pa.DataType:
    """Return the narrowest type that keeps every value: null if there is no value, text if no other fits."""
    if isinstance(values, pa.Array):
        return pa.null() if all_null(values) else values.type
    kinds = {_KINDS[kind] for kind in set(map(type, values)) if kind is not type(None)}
    kind = reduce(join_types, kinds, pa.null())
    return kind if to_array(values, kind) is not None else pa.string()


def join_types(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return a type for the values of both; only `to_array` tells whether every value fits it."""
    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    for meeting in ({pa.int64(), pa.float64()}, {pa.date32(), pa.timestamp("us")}):
        if {a, b} == meeting:
            return pa.float64() if pa.float64() in meeting else pa.timestamp("us")
    return pa.string()


def to_array(values: Values, kind: pa.DataType) -> pa.Array | None:
    """Return the values as `kind`, or None if that would lose or change one."""
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
    """Return a value as it appears in a column of text: bytes as in SQL, times in ISO form."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes):
        return f"x'{value.hex().upper()}'"
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows of a file. `first` is the number of the first row, from 1; `places` are the numbers of
    all rows as users see them, if rows between them are left out."""

    number: int
    rows: Sequence[Sequence[Any]]
    first: int
    progress: int
    places: Sequence[int] = ()

    def row_number(self, place: int) -> int:
        return self.places[place] if self.places else self.first + place

    def columns(self) -> list[Values]:
        """Return the values by column; empty if there are no rows."""
        return list(zip(*self.rows, strict=True))


class ColumnBlock(Protocol):
    """The interface of blocks: `RowBlock`, and blocks of files that give their values column by column."""

    @property
    def number(self) -> int: ...

    @property
    def first(self) -> int: ...

    @property
    def progress(self) -> int: ...

    def row_number(self, place: int) -> int: ...

    def columns(self) -> Sequence[Values]: ...


class ValuesFile(ABC):
    """A file whose rows are Python values, with one value for each of `names`. The columns in `types` have a
    type chosen by the user: their values are converted to text and read as that type."""

    about: tuple[str, ...] = ()
    """Remarks about the rows, other than those about values that became null."""

    def __init__(
        self, path: Path, label: str, stamps: Sequence[Stamp], reading: Sequence[object], options: OpenOptions
    ) -> None:
        self.path, self.label, self.stamps = path, label, tuple(stamps)
        self.paths = (path,)
        self.stored_names: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()
        self.types: dict[str, pa.DataType] = {}
        self._options = options
        self._conventions = Conventions(options.decimal, options.thousands, options.dates, options.zone)
        choice = (options.types, options.names, self._conventions)
        self.reading = (*reading, *choice) if options.types or options.names else tuple(reading)
        self._problems = Problems(path)
        self._kind_counts: list[dict[int, Counter[str]]] = []

    def name_columns(self, names: Sequence[str]) -> None:
        """Set the columns by their names in the file. Raises `UnknownColumn` if an option names a column that
        is missing, and `FileProblem` if two columns would have the same name."""
        refuse_unknown_columns(self.path, names, self._options)
        self.stored_names, self.names = tuple(names), rename_columns(self.path, names, self._options)
        called = dict(zip(self.stored_names, self.names, strict=True))
        self.types = {called[name]: type_named(kind) for name, kind in self._options.types}
        self._kind_counts = [{} for _ in names]

    @property
    def remarks(self) -> tuple[str, ...]:
        types = {name: word_for(kind) for name, kind in self.types.items()}
        return (*self.about, *sentences(self.problems, self.misfits, types, "row"))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The values that are shown as null because they do not fit the type chosen for their column."""
        return self._problems.in_order

    @property
    def misfits(self) -> dict[str, int]:
        """The number of such values by column."""
        return self._problems.misfits

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def blocks(self, job: Job) -> Generator[ColumnBlock, None, None]: ...

    def least(self, place: int, values: Values) -> pa.DataType:
        """Return the narrowest type for values of the column with this index."""
        return least_type(values)

    def join_column_types(self, place: int, a: pa.DataType, b: pa.DataType) -> pa.DataType:
        return join_types(a, b)

    def array(self, place: int, values: Values, kind: pa.DataType) -> pa.Array | None:
        """Return the values as `kind`, or None if one does not fit."""
        return to_array(values, kind)

    def note(self, place: int) -> str:
        """Return a note that says why a column is text; empty if all its values are texts."""
        met: Counter[str] = sum(
            list(self._kind_counts[place].values()), Counter()
        )  # other threads read blocks
        if len(met) > 1:
            counts = [quantity(count, word) for word, count in met.most_common()]
            return MIXTURE.format(" and ".join([", ".join(counts[:-1]), counts[-1]]))
        return LONG if met and "text" not in met else ""

    def read(self, block: ColumnBlock, schema: pa.Schema) -> Reading:
        columns = block.columns() or [() for _ in self.names]
        kinds = schema.types or [pa.null() for _ in self.names]
        arrays: list[pa.Array | None] = []
        misfits: dict[str, tuple[pa.Array, pa.Array]] = {}
        for place, (values, kind) in enumerate(zip(columns, kinds, strict=True)):
            name = self.names[place]
            if name in self.types:
                texts = self._texts(place, values)
                array, mask = self._to_type(name, texts, kind)
                if mask is not None:
                    misfits[name] = texts, mask
            else:
                array = self.array(place, values, kind)
                if pa.types.is_string(kind):
                    self._kind_counts[place][block.number] = _count_kinds(values)
            arrays.append(array)
        if len(schema) and all(array is not None for array in arrays):
            problems = self._put_problems(block, misfits)
            return Reading(schema, pa.table(arrays, names=schema.names), problems)
        wide = [
            kind if array is not None else self._wider(place, kind, values)
            for place, (kind, array, values) in enumerate(zip(kinds, arrays, columns, strict=True))
        ]
        return Reading(pa.schema(list(zip(self.names, wide, strict=True))), None)

    def _texts(self, place: int, values: Values) -> pa.Array:
        texts = self.array(place, values, pa.string())
        assert texts is not None, f"{self.path}: values of column {place} have no text"
        return texts

    def _to_type(
        self, name: str, texts: pa.Array, kind: pa.DataType
    ) -> tuple[pa.Array | None, pa.Array | None]:
        """The values, or None if `kind` is not yet determined; and a mask of those that are null because they
        do not fit it."""
        if isinstance(kind, SpelledType):
            return convert(texts, kind)
        if pa.types.is_string(kind):
            return texts, None
        chosen = spelled_type(self.types[name], texts, self._conventions)
        if not isinstance(chosen, SpelledType):
            return None, None
        values, misfits = convert(texts, chosen)
        return (values if misfits is None and values.null_count == len(values) else None), None

    def _put_problems(
        self, block: ColumnBlock, misfits: dict[str, tuple[pa.Array, pa.Array]]
    ) -> tuple[Problem, ...]:
        problems, counts = [], {}
        for name, (texts, mask) in misfits.items():
            places = np.flatnonzero(to_numpy(mask.fill_null(False)))
            counts[name] = len(places)
            why = f"It is not a {word_for(self.types[name])}"
            problems += [
                Problem(block.row_number(place), texts[place].as_py(), why, name)
                for place in places[:MOST_MISFITS].tolist()
            ]
        in_order = tuple(sorted(problems, key=lambda problem: problem.line))
        self._problems.put(block.number, in_order, counts)
        return in_order

    def _wider(self, place: int, kind: pa.DataType, values: Values) -> pa.DataType:
        name = self.names[place]
        if name in self.types:
            return spelled_type(self.types[name], self._texts(place, values), self._conventions)
        wide = self.join_column_types(place, kind, self.least(place, values))
        return pa.string() if wide.equals(kind) else wide

    def join(self, a: pa.Schema, b: pa.Schema) -> pa.Schema:
        if not len(a):
            return b
        kinds = []
        for place, (name, type_a, type_b) in enumerate(zip(self.names, a.types, b.types, strict=True)):
            if name in self.types:
                kinds.append(type_b if pa.types.is_null(type_a) else type_a)
            else:
                kinds.append(self.join_column_types(place, type_a, type_b))
        return pa.schema(list(zip(self.names, kinds, strict=True)))

    def shown_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema(
            [
                noted_field(name, self._shown_type(name, kind), self.note(place))
                for place, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True))
            ]
        )

    def _shown_type(self, name: str, kind: pa.DataType) -> pa.DataType:
        if pa.types.is_null(kind) and name in self.types:
            kind = spelled_type(self.types[name], pa.nulls(0, pa.string()), self._conventions)
        return pa.string() if pa.types.is_null(kind) else solid(kind)

    def describe_place(self, block: ColumnBlock) -> str:
        return f"row {block.first:,}"

    def release(self) -> None:  # noqa: B027 -- most have nothing to do
        """Free memory that the file uses between reads; does nothing unless a format overrides it."""


def _count_kinds(values: Values) -> Counter[str]:
    if isinstance(values, pa.Array):
        count = len(values) - values.null_count
        return Counter({_WORDS_OF_TYPES[values.type]: count} if count else {})
    types = set(map(type, values)) - {type(None)}
    if types <= {str}:
        texts = len(values) - values.count(None)
        return Counter({"text": texts} if texts else {})
    return Counter(_WORDS[type(value)] for value in values if value is not None)
