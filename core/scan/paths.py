"""Fields inside nested columns, named by their path: `address.city`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from core.errors import BadData, UnknownColumn
from core.scan.snapshot import Column, Snapshot


def chosen(snapshot: Snapshot, names: Iterable[str] | None, flatten: bool = False) -> tuple[Column, ...]:
    """The columns, or fields inside them, of these names; all columns for None.

    A column whose own name holds dots comes before a path. `flatten` puts the fields of a struct in its place
    by their paths. Raises `UnknownColumn`, and `BadData` where two then have one name.
    """
    found = snapshot.columns if names is None else tuple(_named(snapshot, name) for name in names)
    if not flatten:
        return found
    flat = tuple(dict.fromkeys(leaf for column in found for leaf in _leaves(column)))
    _refuse_twice(snapshot, flat)
    return flat


def project(values: pa.ChunkedArray | pa.Array, path: tuple[str, ...]) -> pa.ChunkedArray | pa.Array:
    """The field at `path`: null where anything it lies in is null."""
    return pc.struct_field(values, list(path)) if path else values


def type_at(kind: pa.DataType, path: Iterable[str]) -> pa.DataType | None:
    """The type of the field at `path` inside a value of this type; None where there is none."""
    for name in path:
        place = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if place < 0:
            return None
        kind = kind.field(place).type
    return kind


def _named(snapshot: Snapshot, name: str) -> Column:
    for column in snapshot.columns:
        if column.name == name:
            return column
    for column in snapshot.columns:
        found = _inside(column, name)
        if found is not None:
            return found
    raise UnknownColumn(name, snapshot.name, [c.name for known in snapshot.columns for c in _all(known)])


def _inside(column: Column, name: str) -> Column | None:
    """The field inside `column` that has this name; names of fields may hold dots too."""
    if pa.types.is_struct(column.type) and name.startswith(f"{column.name}."):
        for field in (_field(column, f) for f in column.type):
            found = field if field.name == name else _inside(field, name)
            if found is not None:
                return found
    return None


def _field(column: Column, field: pa.Field) -> Column:
    return Column(f"{column.name}.{field.name}", field.type, column.key, (*column.path, field.name))


def _leaves(column: Column) -> Iterator[Column]:
    """A struct without fields stays as it is."""
    if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
        yield column
        return
    for field in column.type:
        yield from _leaves(_field(column, field))


def _all(column: Column) -> Iterator[Column]:
    yield column
    if pa.types.is_struct(column.type):
        for field in column.type:
            yield from _all(_field(column, field))


def _refuse_twice(snapshot: Snapshot, flat: tuple[Column, ...]) -> None:
    twice = [name for name, times in Counter(c.name for c in flat).items() if times > 1]
    if twice:
        raise BadData(
            f"{snapshot.name}: flattened, two columns would be called '{twice[0]}'",
            "A column has the name that a field inside another one gets",
            "Rename one of them, or read it without flatten",
        )
