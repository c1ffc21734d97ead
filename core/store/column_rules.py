"""The rules of columns as stored in the catalog: defaults of new rows, and checks of every value.

They are metadata of columns (`core.store.columns`), so they belong to versions, as columns do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_values, take, to_numpy
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.types import exact_cast
from lamella.core.errors import BadData, DamagedStore
from lamella.core.scan.snapshot import Column
from lamella.core.scan.take import KeyCodes

DEFAULT = b"lamella.default"
CHECKS = b"lamella.checks"
ALLOWED_VALUES = b"lamella.one_of"
RULES = frozenset({DEFAULT, CHECKS, ALLOWED_VALUES})
_FLAGS = ("required", "unique")
Notes = dict[tuple[int, bytes], bytes]
"""Metadata by column id and key."""


@dataclass(frozen=True)
class Checks:
    """The checks of a column: `required` forbids null; `unique` forbids a value twice, and `one_of` all other
    values, but both allow nulls."""

    required: bool = False
    unique: bool = False
    one_of: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return self.required or self.unique or bool(self.one_of)


@dataclass(frozen=True, eq=False)
class ColumnChecks:
    """The checks of a column as stored; `allowed_values` has the values of `one_of`."""

    required: bool = False
    unique: bool = False
    allowed_values: pa.Array | None = None

    @property
    def to_checks(self) -> Checks:
        values = () if self.allowed_values is None else tuple(map(python_value, self.allowed_values))
        return Checks(self.required, self.unique, values)

    @cached_property
    def _codes(self) -> KeyCodes:
        return KeyCodes([pa.chunked_array([self.allowed_values])])

    def forbidden_indices(self, values: pa.Array) -> np.ndarray:
        """The indices of values that are not allowed."""
        if self.allowed_values is None:
            return np.empty(0, np.int64)
        present = to_numpy(values.is_valid())
        plain = decode_dictionary(values)
        fit = exact_cast(self.allowed_values, plain.type)
        if fit is None:  # the column's type has changed to another kind
            return np.flatnonzero(present)
        codes = self._codes if fit is self.allowed_values else KeyCodes([pa.chunked_array([fit])])
        present[codes.match([pa.chunked_array([plain])])[0]] = False
        return np.flatnonzero(present)


NO_CHECKS = ColumnChecks()


@dataclass(frozen=True, eq=False)
class TableRules:
    """The rules of a table's columns, by their ids. A default is an array of one value."""

    defaults: Mapping[int, pa.Array]
    checks: Mapping[int, ColumnChecks]


NO_RULES = TableRules({}, {})


def rules_in(table: str, notes: Notes) -> TableRules:
    """Parse rules from metadata; raise `DamagedStore` for invalid ones."""
    if not any(key in RULES for _, key in notes):
        return NO_RULES
    defaults: dict[int, pa.Array] = {}
    checks: dict[int, ColumnChecks] = {}
    for (column, key), value in notes.items():
        if key == DEFAULT:
            defaults[column] = _values(table, column, value, 1)
        elif key == CHECKS:
            checks[column] = replace(checks.get(column, NO_CHECKS), **_flags(table, column, value))
        elif key == ALLOWED_VALUES:
            checks[column] = replace(
                checks.get(column, NO_CHECKS), allowed_values=_values(table, column, value)
            )
    return TableRules(defaults, checks)


def with_default(notes: Notes, column: int, default: pa.Array | None) -> Notes:
    """Return `notes` with this default of the column; None removes it."""
    remaining = {about: value for about, value in notes.items() if about != (column, DEFAULT)}
    return remaining if default is None else remaining | {(column, DEFAULT): _bytes(default)}


def with_checks(notes: Notes, column: int, checks: ColumnChecks) -> Notes:
    """Return `notes` with these checks of the column."""
    remaining = {
        at: value for at, value in notes.items() if at not in ((column, CHECKS), (column, ALLOWED_VALUES))
    }
    flags = [flag for flag in _FLAGS if getattr(checks, flag)]
    if flags:
        remaining[column, CHECKS] = json.dumps(flags).encode()
    if checks.allowed_values is not None:
        remaining[column, ALLOWED_VALUES] = _bytes(checks.allowed_values)
    return remaining


def value_array(table: str, column: Column, values: Iterable[Any]) -> pa.Array:
    """Convert Python values to the type of the column; raise `BadData` if one does not fit."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    items = list(values)
    try:
        return from_values(items, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        text = repr(items[0]) if len(items) == 1 else f"one of {items!r:.200}"
        raise BadData(
            f"{table}: {text} does not fit column '{column.name}' of type {column.type}",
            str(error),
            "Give a value that fits, or change the type",
        ) from error


def decode_dictionary(values: pa.Array) -> pa.Array:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def distinct_values(values: pa.Array) -> pa.Array:
    """The distinct values, in order of first occurrence."""
    codes = KeyCodes([pa.chunked_array([values])])
    first = codes.first == np.arange(len(values))
    return values if first.all() else take(values, np.flatnonzero(first))


def _flags(table: str, column: int, value: bytes) -> dict[str, bool]:
    try:
        flags = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise _damage_error(table, column, str(error)) from error
    if not isinstance(flags, list) or not all(flag in _FLAGS for flag in flags):
        raise _damage_error(table, column, "It names no checks")
    return dict.fromkeys(flags, True)


def _bytes(values: pa.Array) -> bytes:
    schema, sink = pa.schema([pa.field("value", values.type)]), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays([values], schema=schema))
    return bytes(sink.getvalue())


def _values(table: str, column: int, value: bytes, count: int | None = None) -> pa.Array:
    try:
        rows = pa.ipc.open_stream(pa.py_buffer(value)).read_all()
        rows.validate(full=True)
        values: pa.Array = rows.column(0).combine_chunks()
    except (pa.ArrowException, OSError, EOFError, ValueError, LookupError, TypeError) as error:
        raise _damage_error(table, column, str(error)) from error
    if count is not None and len(values) != count:
        raise _damage_error(table, column, f"It holds {len(values)} values")
    return values


def _damage_error(table: str, column: int, why: str) -> DamagedStore:
    return DamagedStore(
        f"{table}: the checks of column {column} in the catalog cannot be read",
        why,
        "Verify the store to see what else is damaged, and restore a backup",
    )
