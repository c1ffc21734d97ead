"""Text from Arrow, which takes any bytes for it: what is no UTF-8 would be found by whoever reads it."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from lamella.core.block import Block
from lamella.core.errors import BadData


def of_valid_text(block: Block) -> Block:
    """The block; raises `BadData` for a column with text that is no UTF-8, or damaged otherwise."""
    for field, values in zip(block.schema, block.table().columns, strict=True):
        if _holds_text(field.type):
            try:
                values.validate(full=True)
            except pa.ArrowInvalid as error:
                raise BadData(
                    f"column '{field.name}' holds text that is not UTF-8, or is damaged",
                    str(error),
                    "Give it as binary, or decode it with the encoding it is in",
                ) from error
    return block


@lru_cache(4096)
def _holds_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _holds_text(kind.value_type)
    inside = (kind.field(place).type for place in range(kind.num_fields))
    return _is_text(kind) or any(map(_holds_text, inside))


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())
