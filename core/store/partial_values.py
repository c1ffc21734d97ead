"""Rows with partial values: cells left out, structs with only some fields, and dotted keys.

Whatever a row does not give stays as it is in the table. Lists and maps are replaced whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import combine_chunks, from_numpy, take, to_numpy
from lamella.core.arrow.documents import whole
from lamella.core.arrow.equality import is_list
from lamella.core.arrow.from_python import Row, blocks, concat_batches, is_given_by_key, repeatable
from lamella.core.arrow.ingest import RowBatch
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.types import REST, REST_FIELD, wider_type
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.store.operators.inside import change_at
from lamella.core.store.operators.table import Path, path_to
from lamella.core.store.operators.values import Refusal, array_of, choose, nulls

Types = Mapping[str, pa.DataType]
Rows = TypeVar("Rows", pa.ChunkedArray, pa.Table)


@dataclass(frozen=True, eq=False)
class PartialRows:
    """Rows as a table. `omissions` marks, by column, the rows that lack it; the table has null there.
    `documents` are the dicts from which structs of the table were made, which may lack fields."""

    table: pa.Table
    omissions: Mapping[str, np.ndarray]
    documents: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def take(self, places: np.ndarray) -> PartialRows:
        """The rows at these indices."""
        left_out = {name: lacks[places] for name, lacks in self.omissions.items()}
        place_list = places.tolist() if self.documents else []
        documents = {name: [values[i] for i in place_list] for name, values in self.documents.items()}
        return PartialRows(rows_at(self.table, places), left_out, documents)

    def without(self, names: Iterable[str]) -> PartialRows:
        """Drop these columns, some of which may not exist."""
        left_out = set(names)
        return PartialRows(
            self.table.select([name for name in self.table.column_names if name not in left_out]),
            {name: lacks for name, lacks in self.omissions.items() if name not in left_out},
            {name: values for name, values in self.documents.items() if name not in left_out},
        )


def rows_at(rows: Rows, places: np.ndarray) -> Rows:
    """Take the rows at these indices; if they are all in order, nothing is copied."""
    if len(places) == len(rows) and (len(rows) == 1 or bool((places[1:] > places[:-1]).all())):
        return rows
    return take(rows, places)


def partial_rows(data: Any) -> PartialRows:
    """Read rows from anything that `blocks` takes; only dicts can leave values out."""
    rows = repeatable(data)
    return partial_rows_of(list(blocks(rows)), rows)


def partial_rows_of(batches: Sequence[RowBatch], data: Any) -> PartialRows:
    """Read rows from `repeatable` data whose blocks have already been read."""
    table = concat_batches(batches)
    documents = _documents(table.schema, data)
    if not isinstance(data, list) or set(map(len, data)) <= {table.num_columns}:
        return PartialRows(table, {}, documents)
    holding = [i for i, column in enumerate(table.columns) if column.null_count]
    names = [table.field(i).name for i in holding]
    lacking = {name: _lacking(table.column(i), name, data) for name, i in zip(names, holding, strict=True)}
    return PartialRows(table, {name: lacks for name, lacks in lacking.items() if lacks.any()}, documents)


def _documents(schema: pa.Schema, data: Any) -> dict[str, Sequence[Any]]:
    """The struct values that were given as dicts. Structs in Arrow tables and DataFrames have all their
    fields in every row."""
    names = [field.name for field in schema if pa.types.is_struct(field.type)]
    if not names or not is_given_by_key(data):
        return {}
    if isinstance(data, list):
        return {name: [_value(row, name) for row in data] for name in names}
    columns = {str(name): values for name, values in data.items()}
    known_columns = {name: columns[name] for name in names}
    return {
        n: values
        for n, values in known_columns.items()
        if not isinstance(values, (pa.Array, pa.ChunkedArray))
    }


def _value(row: Row, name: str) -> Any:
    return row[name] if name in row else next((row[key] for key in row if str(key) == name), None)


def _lacking(column: pa.ChunkedArray, name: str, rows: Sequence[Row]) -> np.ndarray:
    lacking = np.zeros(len(rows), bool)
    for place in np.flatnonzero(to_numpy(column.is_null())).tolist():
        lacking[place] = name not in rows[place] and name not in map(str, rows[place])
    return lacking


def path_inside(name: str, types: Types) -> Path | None:
    """The path inside a column of structs or lists that a dotted key names; None if the key is the name of a
    column, existing or new."""
    if "." not in name or name in types:
        return None
    path = path_to(name, types)
    kind = types.get(path.column)
    if kind is None or not path.steps or "" in path.steps:
        return None
    return path if pa.types.is_null(kind) or pa.types.is_struct(kind) or is_list(kind) else None


def names_inside(names: Sequence[str], types: Types) -> bool:
    return any("." in name and path_inside(name, types) is not None for name in names)


def is_odd(name: str) -> bool:
    """Whether a key names a column only if a column has exactly that name."""
    return not name.strip() or "." in name


def refuse_odd_names(table: str, names: Sequence[str], types: Types) -> None:
    """Raise `BadData` for an empty key, and `UnknownColumn` for a dotted one that names no column: a misspelt
    key would otherwise become a new column."""
    for name in filter(is_odd, names):
        if name in types or path_inside(name, types) is not None:
            continue
        if not name.strip():
            raise BadData(
                f"{table}: a key of the rows is empty", fix="Use the name of the column that its value is for"
            )
        inside = [f"{column}.{field.name}" for column, kind in types.items() for field in _fields(kind)]
        raise UnknownColumn(name, table, [*types, *inside])


def _fields(kind: pa.DataType) -> Sequence[pa.Field]:
    return list(kind) if pa.types.is_struct(kind) else []


def refuse_overlaps(table: str, names: Sequence[str], more_names: Sequence[str], types: Types) -> None:
    """Raise `BadData` if a name of one list contains, or lies inside, a name of the other."""
    for left, right in product(names, more_names):
        paths = [path_inside(name, types) or Path(name, (), name) for name in (left, right)]
        if paths[0].overlaps(paths[1]):
            raise _twice_problem(table, *paths)


def merge_parts(rows: PartialRows, old: Mapping[str, pa.Array], types: Types, table: str) -> PartialRows:
    """Complete `rows`: merge partial values into the values `old`.

    `old` are the values of the columns of `parts_of`, row by row; `types` are those of the table's columns.
    Raises `BadData` naming the column for a value that is not possible there.
    """
    merging = _Merge(rows, old, types, table)
    for name in rows.table.column_names:
        merging.add(name)
    return merging.result()


def parts_of(rows: PartialRows, types: Types) -> list[str]:
    """The columns for which rows give partial values."""
    names = [name for name in rows.documents if name in types and pa.types.is_struct(types[name])]
    inside = (path_inside(name, types) for name in rows.table.column_names if "." in name)
    return list(dict.fromkeys([*names, *(path.column for path in inside if path is not None)]))


def with_paths_inside(rows: pa.Table, types: Types, table: str) -> pa.Table:
    """Move the values of dotted keys of new rows to their paths. Nulls count as not given: a new row has no
    old value."""
    if not names_inside(rows.column_names, types):
        return rows
    left_out = {name: to_numpy(rows.column(name).is_null()) for name in rows.column_names}
    partial = PartialRows(rows, left_out)
    nulls = {name: pa.nulls(rows.num_rows, types[name]) for name in parts_of(partial, types)}
    return merge_parts(partial, nulls, types, table).table


@dataclass(frozen=True)
class _Part:
    """The values for one path in a column: `gives` marks the rows that have one, `documents` are their
    dicts."""

    path: Path
    values: pa.Array
    gives: np.ndarray
    documents: Sequence[Any] | None

    def over(self, old: pa.Array) -> pa.Array:
        if not self.path.steps:
            merged = self.values
            if self.documents is not None:
                merged = merged_structs(old, self.values, self.documents)
            return choose(self.gives, merged, old)
        rows = np.flatnonzero(self.gives)

        def compute(before: pa.Array, some: np.ndarray) -> pa.Array:
            values = take(self.values, rows[some])
            if self.documents is None:
                return values
            return merged_structs(before, values, [self.documents[row] for row in rows[some].tolist()])

        changed = change_at(take(old, rows), self.path.steps, compute, np.arange(len(rows)))
        return _spread(self.gives, changed, old)


class _Merge:
    def __init__(self, rows: PartialRows, old: Mapping[str, pa.Array], types: Types, table: str) -> None:
        self._rows, self._old, self._types, self._table = rows, old, types, table
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._omissions: dict[str, np.ndarray] = {}
        self._parts: list[_Part] = []

    def add(self, name: str) -> None:
        values, path = self._rows.table.column(name), path_inside(name, self._types)
        lacks = self._rows.omissions.get(name)
        if path is None and name not in self._old:
            self._columns[name] = values
            if lacks is not None:
                self._omissions[name] = lacks
            return
        gives = np.ones(len(values), bool) if lacks is None else ~lacks
        path = path or Path(name, (), name)
        if REST in path.steps:
            raise BadData(
                f"{self._table}: '{name}' cannot be changed",
                f"'{REST}' holds the keys of documents that have no field",
                "Name the key itself, as if it were a field",
            )
        part = _Part(path, combine_chunks(values), gives, self._rows.documents.get(name))
        for earlier in self._parts:
            if earlier.path.overlaps(path) and bool((earlier.gives & gives).any()):
                raise _twice_problem(self._table, earlier.path, path)
        self._parts.append(part)

    def result(self) -> PartialRows:
        merged: dict[str, pa.Array] = {}
        for part in sorted(self._parts, key=lambda part: len(part.path.steps)):
            name = part.path.column
            try:
                merged[name] = part.over(merged.get(name, self._old[name]))
            except Refusal as refusal:
                what = f"{self._table}: column '{part.path.text}': {refusal.reason}"
                raise BadData(what, fix=refusal.fix) from refusal
        columns = self._columns | merged
        return PartialRows(pa.Table.from_arrays(list(columns.values()), names=list(columns)), self._omissions)


def merged_structs(old: pa.Array, values: pa.Array, documents: Sequence[Any]) -> pa.Array:
    """Fill fields of `values` that their `documents`, the dicts they were made from, lack with those of
    `old`.

    A null value stays null, and values that are not structs replace the old ones.
    """
    if not pa.types.is_struct(old.type) or not pa.types.is_struct(values.type):
        return values
    together = wider_type(old.type, values.type)
    if together is None or REST in together.names:
        return _merged_documents(old, values, documents)
    present = to_numpy(values.is_valid())
    fields: dict[str, pa.Array] = {}
    for name in dict.fromkeys([*old.type.names, *values.type.names]):
        before, new = _field(old, name), _field(values, name)
        gives = present & np.fromiter(
            (_gives(document, name) for document in documents), bool, len(documents)
        )
        if pa.types.is_struct(new.type):
            new = merged_structs(before, new, [_inside(document, name) for document in documents])
        fields[name] = _spread(gives, new, before, whole=True)
    return _struct(fields, present)


def _merged_documents(old: pa.StructArray, values: pa.StructArray, documents: Sequence[Any]) -> pa.Array:
    """Merge documents key by key: a key may be in the rest of some rows and a field of others."""
    if REST not in old.type.names:
        fields = {field.name: _field(old, field.name) for field in old.type}
        fields[REST] = pa.nulls(len(old), REST_FIELD.type)
        old = _struct(fields, to_numpy(old.is_valid()))
    present = to_numpy(values.is_valid())
    keys = dict.fromkeys(key for document in documents if isinstance(document, Mapping) for key in document)
    merged: pa.Array = old
    for key in keys:
        gives = np.fromiter(
            (isinstance(document, Mapping) and key in document for document in documents), bool, len(present)
        )
        merged = _with_key(merged, key, documents, np.flatnonzero(gives))
    return _struct({name: _field(merged, name) for name in merged.type.names}, present)


def _with_key(old: pa.Array, key: str, documents: Sequence[Any], rows: np.ndarray) -> pa.Array:
    """Set a key in all rows at once, or one by one if their values have no type in common."""

    def compute(before: pa.Array, some: np.ndarray) -> pa.Array:
        arriving = [documents[row][key] for row in rows[some].tolist()]
        if pa.types.is_struct(before.type):
            return merged_structs(before, array_of(arriving), arriving)
        old_values = [whole(python_value(value)) for value in before]
        return array_of([_merge_documents(*pair) for pair in zip(old_values, arriving, strict=True)])

    gives = np.zeros(len(old), bool)
    gives[rows] = True
    try:
        changed = change_at(take(old, rows), (key,), compute, np.arange(len(rows)))
    except Refusal:
        if len(rows) == 1:
            raise
        for row in rows:
            old = _with_key(old, key, documents, np.array([row]))
        return old
    return _spread(gives, changed, old)


def _merge_documents(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, Mapping):
        return new
    return old | {key: _merge_documents(old.get(key), value) for key, value in new.items()}


def _spread(gives: np.ndarray, values: pa.Array, old: pa.Array, whole: bool = False) -> pa.Array:
    """Where `gives` is true, take the next of `values`, or with `whole` the one of the same row; elsewhere
    `old`."""
    if whole or gives.all():
        return choose(gives, values, old)
    places = np.zeros(len(old), np.int64)
    places[gives] = np.arange(len(values))
    return choose(gives, take(values, places), old) if gives.any() else old


def _field(values: pa.StructArray, name: str) -> pa.Array:
    place = values.type.get_field_index(name)
    return nulls(len(values)) if place < 0 else pc.struct_field(values, [place])


def _struct(fields: Mapping[str, pa.Array], present: np.ndarray) -> pa.Array:
    mask = None if present.all() else from_numpy(~present)
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=mask)


def _gives(document: Any, name: str) -> bool:
    """Whether a document gives a field; anything but a dict gives all."""
    return not isinstance(document, Mapping) or name in document


def _inside(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, Mapping) else None


def _twice_problem(table: str, left: Path, right: Path) -> BadData:
    if left.text == right.text:
        return BadData(f"{table}: column '{left.text}' is given twice", fix="Leave it out of one")
    return BadData(
        f"{table}: '{left.text}' and '{right.text}' are given together",
        "one lies inside the other, so the result would depend on their order",
        "Give one of them",
    )
