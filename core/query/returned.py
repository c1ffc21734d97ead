"""Values as DuckDB gives them back, in the types they are of: the way back from `core.query.duckdb_types`."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.filters.ordered_decimals import decimals


def returned(found: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns in their order, with the names and types of `schema`; rows alone where it has none."""
    if not schema.names:
        return found.select([])
    columns = [
        pa.chunked_array([_returned(chunk, kind) for chunk in column.chunks], kind)
        for column, kind in zip(found.columns, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _returned(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type.equals(kind):
        return values
    if is_.is_dictionary(kind):
        return _returned(values, kind.value_type).dictionary_encode().cast(kind)
    if is_.is_decimal256(kind):
        return decimals(values.cast(pa.binary()), kind)
    if isinstance(kind, pa.UuidType):
        return kind.wrap_array(_uuids(values))
    if kind == pa.binary(16) and is_.is_string(values.type):
        return _uuids(values)
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(_returned(values, kind.storage_type))
    if is_.is_nested(kind):
        return _nested(values, kind)
    return values.cast(kind)


def _nested(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_.is_struct(kind):
        parts = [_returned(values.field(i), part.type) for i, part in enumerate(kind)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if is_.is_map(kind):
        keys, items = _returned(values.keys, kind.key_type), _returned(values.items, kind.item_type)
        entry = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
        return _around(values, kind, entry)
    if is_.is_fixed_size_list(kind):
        return _around(values, pa.list_(kind.value_field), _returned(values.values, kind.value_type)).cast(
            kind
        )
    inner = _returned(values.values, kind.value_type)
    if is_.is_list(kind):
        return _around(values, kind, inner)
    return _around(values, pa.list_(kind.value_field), inner).cast(kind)


def _around(values: pa.Array, kind: pa.DataType, held: pa.Array) -> pa.Array:
    buffers = values.buffers()[:2]
    return pa.Array.from_buffers(kind, len(values), buffers, offset=values.offset, children=[held])


def _uuids(values: pa.Array) -> pa.Array:
    """From their text, which is how they come: also those of files that call the bytes in them UUIDs."""
    import numpy as np

    texts = ["0" * 32 if text is None else text.replace("-", "") for text in values.to_pylist()]
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        pa.binary(16), len(values), [bits, pa.py_buffer(bytes.fromhex("".join(texts)))]
    )
