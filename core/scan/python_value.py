"""Values of Arrow as Python's, also those that Python has none for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types as is_

_BEYOND = "<value out of range"
"""How Arrow writes times beyond the year 32767."""


def python_value(scalar: pa.Scalar) -> Any:
    """A time that Python cannot hold is text in ISO form, "12013-01-31T00:00:00"; one too far away for that,
    and a duration, is the number that is stored."""
    try:
        return scalar.as_py()
    except OverflowError:
        return _far(scalar)


def python_values(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    try:
        found: list[Any] = values.to_pylist()
    except OverflowError:
        return [python_value(scalar) for scalar in values]
    return found


def python_rows(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = rows.to_pylist()
    except OverflowError:
        columns = [python_values(column) for column in rows.columns]
        return [dict(zip(rows.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
    return found


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
