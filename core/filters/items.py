"""How a condition on the items of a list names what it asks of."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.nested import Place

ITEM = "item"
"""The item itself, where it has no field of that name."""


def item_types(item: pa.DataType) -> dict[str, pa.DataType]:
    """What can be named in items of this type, with its type."""
    fields = {field.name: field.type for field in item} if pa.types.is_struct(item) else {}
    return {ITEM: item, **fields}


def path_in_item(place: Place, item: pa.DataType) -> tuple[str, ...]:
    """Where a place among `item_types` lies inside the item; empty for the item itself."""
    itself = place.column == ITEM and not (pa.types.is_struct(item) and ITEM in item.names)
    return place.path if itself else (place.column, *place.path)
