"""What a text format answers when it is given a block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from core.datasets.text.blocks import Block
from core.datasets.text.json_types import join_json, solid
from core.datasets.text.rows import RowEnds


@dataclass(frozen=True)
class Reading:
    """`rows` are of the schema's `solid` types; None when the block did not fit the schema it was read
    with, and `schema` is then one that it fits."""

    schema: pa.Schema
    rows: pa.Table | None


class TextFormat(Protocol):
    """How rows stand in a text file. It has no state of its own, so blocks may be read side by side."""

    path: Path
    label: str
    skip_lines: int
    ends: RowEnds

    def find_schema(self, block: Block) -> pa.Schema:
        """The columns by a first block; of type null where no value tells."""

    def read(self, block: Block, schema: pa.Schema) -> Reading:
        """The block's rows; raises `FileProblem` where they cannot be understood."""


def solid_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, solid(field.type)) for field in schema])


def join_schemas(a: pa.Schema, b: pa.Schema) -> pa.Schema:
    """Wide enough for both, column by name; what only `b` has comes last."""
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return pa.schema([pa.field(name, kind) for name, kind in kinds.items()])
