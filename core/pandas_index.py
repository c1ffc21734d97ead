"""The index that pandas hands over as a column: it is data only where it has a name."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa

from lamella.core.block import Block

_UNNAMED = re.compile(r"__index_level_\d+__")


def without_unnamed_index(block: Block) -> Block:
    """The rows of what pandas made, without the numbers that filtered or sorted rows had before."""
    if b"pandas" not in (block.schema.metadata or {}):
        return block
    names = [name for name in block.schema.names if not _UNNAMED.fullmatch(name)]
    if len(names) == len(block.schema):
        return block
    fields = [block.schema.field(name) for name in names]
    schema = pa.schema(fields, block.schema.metadata)
    return replace(block, schema=schema, table=lambda: block.table().select(names))
