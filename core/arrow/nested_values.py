"""Addresses fields inside nested columns by path, `address.city`, and converts nested values to Python and
JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.errors import BadData


@dataclass(frozen=True)
class Place:
    """The column that a name leads to, of type `whole`, and the path and type of the field inside it.

    A step of the path is the name of a field, or the number of an item of a list, from 0 on."""

    column: str
    whole: pa.DataType
    path: tuple[str, ...]
    type: pa.DataType

    @classmethod
    def of(cls, column: str, type_: pa.DataType) -> Place:
        return cls(column, type_, (), type_)

    def inside(self, field: pa.Field) -> Place:
        return Place(self.column, self.whole, (*self.path, field.name), field.type)

    def item(self, number: int | str) -> Place:
        return Place(self.column, self.whole, (*self.path, str(number)), self.type.value_type)

    @cached_property
    def outer_list(self) -> Place | None:
        """The outermost list that contains this place."""
        if not any(step.isdigit() for step in self.path):
            return None
        kind = self.whole
        for depth, step in enumerate(self.path):
            if is_list(kind):
                return Place(self.column, self.whole, self.path[:depth], kind)
            kind = kind.field(step).type
        return None

    @property
    def name(self) -> str:
        return ".".join((self.column, *self.path))


def place_of(name: str, types: Mapping[str, pa.DataType], items: bool = False) -> Place | None:
    """Resolve `name` among columns of these types; None if it leads nowhere. With `items`, also into lists.

    A column whose own name contains dots takes precedence over a path; names of fields may contain dots too.
    Raises `BadData` if it leads to two fields of one struct.
    """
    if not isinstance(name, str):
        return None
    if name in types:
        return Place.of(name, types[name])
    places = (_inside(Place.of(column, kind), name, items) for column, kind in types.items() if "." in name)
    return next((place for place in places if place is not None), None)


def names_within(types: Mapping[str, pa.DataType]) -> list[str]:
    """The names of all columns and all fields inside them."""
    return [place.name for column, kind in types.items() for place in places_within(Place.of(column, kind))]


def type_at(kind: pa.DataType, path: Iterable[str]) -> pa.DataType | None:
    """The type of the field at `path` inside a value of this type; None if there is none."""
    for name in path:
        place = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if place < 0:
            return None
        kind = kind.field(place).type
    return kind


def project(values: pa.ChunkedArray | pa.Array, path: tuple[str, ...]) -> pa.ChunkedArray | pa.Array:
    """Extract the field at `path`; null where any parent is null."""
    return pc.struct_field(values, list(path)) if path else values


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is a list of any layout, but not a map."""
    return any(test(kind) for test in _LISTS)


_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
LONGEST_NUMBER = 9
"""The most digits in the number of an item."""


def _inside(place: Place, name: str, items: bool) -> Place | None:
    if not name.startswith(f"{place.name}."):
        return None
    if pa.types.is_struct(place.type):
        for inner in map(place.inside, place.type):
            match = inner if inner.name == name else _inside(inner, name, items)
            if match is not None:
                refuse_twins(place.name, place.type, inner.path[-1])
                return match
    if items and is_list(place.type):
        number = name[len(place.name) + 1 :].partition(".")[0]
        if number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER:
            inner = place.item(number)
            return inner if inner.name == name else _inside(inner, name, items)
    return None


def refuse_twins(name: str, struct: pa.StructType, field: str) -> None:
    """Raise `BadData` if the struct `name` has two fields with the name `field`."""
    if len(struct.get_all_field_indices(field)) > 1:
        raise BadData(
            f"Column '{name}' has two fields called '{field}'",
            "A path cannot say which of them is meant",
            f"Read '{name}' as a whole, or write it with different names",
        )


def places_within(place: Place) -> Iterator[Place]:
    """Yield a column or field, and all fields inside it, parents first."""
    yield place
    if pa.types.is_struct(place.type):
        for field in place.type:
            yield from places_within(place.inside(field))


def json_text(value: Any) -> str:
    """Convert a value to JSON: bytes as hexadecimal digits, times as ISO text with a space, NaN and
    infinities as their names."""
    return json.dumps(_finite(value), default=_scalar_text, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _scalar_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return str(value.isoformat(" ") if hasattr(value, "hour") and hasattr(value, "year") else value)


_BEYOND = "<value out of range"
"""How Arrow writes times beyond the year 32767."""
_SHOWN_BYTES = 40


def python_value(scalar: pa.Scalar) -> Any:
    """Convert a scalar to Python. A time that Python cannot represent becomes ISO text,
    "12013-01-31T00:00:00"; one too far away for that, and a duration, becomes the stored number. Raises
    `BadData` for invalid text."""
    try:
        return scalar.as_py()
    except OverflowError:
        return _far(scalar)
    except UnicodeDecodeError as error:
        raise no_text("A text", error) from error


def no_text(what: str, error: UnicodeDecodeError) -> BadData:
    """The error for invalid text that Arrow has read without checking it."""
    return BadData(
        f"{what} is not UTF-8, or is damaged",
        f"It begins with {error.object[:_SHOWN_BYTES]!r}",
        "Leave it out, or write the file again with text in UTF-8, or with binary values",
    )


def python_values(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    try:
        items: list[Any] = values.to_pylist()
    except (OverflowError, UnicodeDecodeError):
        return [python_value(scalar) for scalar in values]
    return items


def python_rows(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        items: list[dict[str, Any]] = rows.to_pylist()
    except (OverflowError, UnicodeDecodeError):
        columns = [python_values(column) for column in rows.columns]
        return [dict(zip(rows.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
    return items


def _far(scalar: pa.Scalar) -> Any:
    kind = scalar.type
    if is_.is_struct(kind):
        return {field.name: python_value(scalar[place]) for place, field in enumerate(kind)}
    if is_.is_map(kind):
        return [tuple(python_value(entry[part]) for part in (0, 1)) for entry in scalar.values]
    if is_.is_nested(kind):
        return [python_value(value) for value in scalar.values]
    if is_.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return python_value(scalar.value)
    text = scalar.cast(pa.string()).as_py()
    return scalar.value if is_.is_duration(kind) or text.startswith(_BEYOND) else text.replace(" ", "T")
