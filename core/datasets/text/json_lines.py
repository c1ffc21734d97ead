"""JSON lines: one object per line, read by pyarrow with a schema inferred from the first ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pjson

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.text.blocks import RowEnds, TextBlock
from lamella.core.datasets.text.exact_numbers import loses_json_digits, survives_double
from lamella.core.datasets.text.types import (
    Inexact,
    WrittenFloat,
    column_type,
    fit,
    is_read_from_text,
    join_column_types,
    needs_fitting,
    read_as,
    solid,
    widen_text,
)
from lamella.core.errors import FileProblem

MOST_LEVELS = 50
"""The maximum depth of nested lists and objects in a column: what a table of a store can hold."""
_LAST_EXACT_INTEGER = float(1 << 53)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKET_OR_STRING = re.compile(rb'[\[\]{}]|"(?:[^"\\]|\\.)*"')

Row = dict[str, Any]


class JsonLines:
    label = "JSON lines"
    unit = "line"
    skip_lines = 0
    ends = RowEnds()

    def __init__(self, path: Path) -> None:
        self.path = path

    def find_schema(self, block: TextBlock) -> pa.Schema:
        return _schema_of(self._rows(block), pa.schema([]))

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        try:
            return _convert(self._parse(block.data, schema), schema)
        except pa.ArrowInvalid:
            return self._read_slowly(block, schema)

    def _parse(self, data: bytes, schema: pa.Schema) -> pa.Table:
        """Parse strictly: raise `pa.ArrowInvalid` for a value of another kind or size than the schema's."""
        if any(needs_fitting(kind) for kind in schema.types):
            raise pa.ArrowInvalid("objects without members are fitted by hand")
        raw = pa.schema(
            [pa.field(f.name, pa.string() if is_read_from_text(f.type) else f.type) for f in schema]
        )
        rows = pjson.read_json(
            pa.BufferReader(data),
            pjson.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pjson.ParseOptions(explicit_schema=raw, unexpected_field_behavior="error"),
        )
        if any(_may_be_rounded(column) for column in rows.columns):
            raise pa.ArrowInvalid("a whole number may have been rounded")
        if any(map(_has_doubles, schema.types)) and loses_json_digits(data):
            raise pa.ArrowInvalid("a decimal was rounded")
        return rows

    def _read_slowly(self, block: TextBlock, schema: pa.Schema) -> Reading:
        """Read line by line what pyarrow refuses, to find a schema that fits, or the bad line."""
        rows = self._rows(block)
        wide = _schema_of(rows, schema)
        if not wide.equals(schema):
            return Reading(wide, None)
        columns, kinds = [], list(schema.types)
        for place, field in enumerate(schema):
            values = [row.get(field.name) for row in rows]
            try:
                columns.append(_fit_values(values, field.type))
            except Inexact:
                kinds[place] = pa.string()
        wide = pa.schema([pa.field(n, k) for n, k in zip(schema.names, kinds, strict=True)])
        return Reading(wide, pa.table(columns, names=schema.names) if wide.equals(schema) else None)

    def _rows(self, block: TextBlock) -> list[Row]:
        rows = []
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                rows.append(self._row(line, number))
        return rows

    def _row(self, line: bytes, number: int) -> Row:
        if line.count(b"[") + line.count(b"{") > MOST_LEVELS + 1 and depth_of(line) > MOST_LEVELS + 1:
            raise self._bad_line(
                number,
                f"A value in it nests lists and objects more than {MOST_LEVELS} deep",
                f"Write everything deeper than {MOST_LEVELS} levels as a string",
            )
        try:
            row = json.loads(line, parse_float=_float, object_pairs_hook=_object)
            if _SURROGATE.search(line):
                json.dumps(row, ensure_ascii=False).encode()
        except (json.JSONDecodeError, _TwiceError) as error:
            raise self._bad_line(number, str(error)) from error
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise self._bad_line(
                number, f"It holds {half} alone, which is half of a character", "Fix or remove it"
            ) from error
        if not isinstance(row, dict):
            raise self._bad_line(number, f"It holds {type(row).__name__} instead of an object")
        return row

    def _bad_line(self, number: int, why: str, fix: str = "Fix or remove it") -> FileProblem:
        return FileProblem(
            self.path, f"{self.unit} {number:,} is not a JSON object", why, f"{fix}, then open the file again"
        )


class _TwiceError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) != len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(f"It has '{next(n for n in names if names.count(n) > 1)}' twice")
    return row


def depth_of(line: bytes) -> int:
    """Return the depth of nested lists and objects in a line of JSON."""
    depth = most = 0
    for sign in _BRACKET_OR_STRING.findall(line):
        depth += (sign in b"[{") - (sign in b"]}")
        most = max(most, depth)
    return most


def _float(text: str) -> float | str:
    """Parse a number; one whose digits a double does not keep stays text."""
    number = float(text)
    if repr(number) == text:
        return number
    return WrittenFloat(text) if survives_double(text) else text


def _has_doubles(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_doubles(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_doubles(field.type) for field in kind)
    return bool(pa.types.is_floating(kind))


def _schema_of(rows: list[Row], schema: pa.Schema) -> pa.Schema:
    """`schema` widened to fit the rows; new members come last."""
    kinds = {field.name: field.type for field in schema}
    for name in dict.fromkeys(name for row in rows for name in row):
        newer = column_type([row.get(name) for row in rows])
        kinds[name] = join_column_types(kinds.get(name, pa.null()), newer)
    return pa.schema([pa.field(name, kind) for name, kind in kinds.items()])


def _convert(rows: pa.Table, schema: pa.Schema) -> Reading:
    columns, kinds = [], []
    for field in schema:
        column = rows.column(field.name).combine_chunks()
        strings = is_read_from_text(field.type)
        values = read_as(column, field.type) if strings else column.cast(solid(field.type))
        columns.append(values)
        kinds.append(field.type if values is not None else widen_text(field.type, column))
    wide = pa.schema([pa.field(n, k) for n, k in zip(schema.names, kinds, strict=True)])
    return Reading(wide, pa.table(columns, names=schema.names) if wide.equals(schema) else None)


def _may_be_rounded(values: pa.ChunkedArray | pa.Array) -> bool:
    """Whether a double, at any depth, is so large that a whole number may have lost digits."""
    if pa.types.is_list(values.type):
        return _may_be_rounded(pc.list_flatten(values))
    if pa.types.is_struct(values.type):
        return any(
            _may_be_rounded(pc.struct_field(values, [place])) for place in range(values.type.num_fields)
        )
    if not pa.types.is_floating(values.type):
        return False
    most = pc.min_max(values).as_py()
    return any(value is not None and abs(value) >= _LAST_EXACT_INTEGER for value in most.values())


def _fit_values(values: list[Any], kind: pa.DataType) -> pa.Array:
    if is_read_from_text(kind):
        column = read_as(from_values(values, pa.string()), kind)
        if column is None:
            raise Inexact
        return column
    stored = solid(kind)
    return from_values([fit(value, stored) for value in values], stored)
