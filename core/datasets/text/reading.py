"""What a text format answers when it is given a block of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from lamella.core.datasets.text.blocks import Block
from lamella.core.datasets.text.in_order import in_order
from lamella.core.datasets.text.json_types import join_json, solid
from lamella.core.datasets.text.rows import RowEnds


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
        """The block's rows; raises `FileProblem` where they cannot be understood. Call `read_block`."""


class RowsMissing(AssertionError):
    """A format gave no rows for a block and no wider schema either, so the rows would be left out."""


def read_block(text: TextFormat, block: Block, schema: pa.Schema) -> Reading:
    """The block's rows, or a wider schema to read it with.

    Raises `FileProblem` where they cannot be understood, and `RowsMissing`, which is a bug of the format.
    """
    reading = text.read(block, schema)
    place = f"{text.path}: the block at line {block.first_line:,}"
    if reading.rows is None and join_schemas(schema, reading.schema).equals(schema):
        raise RowsMissing(f"{place} fits neither the schema it was read with nor anything wider: {schema}")
    if reading.rows is not None and not reading.schema.equals(schema):
        raise RowsMissing(f"{place} was read with another schema than {schema}: {reading.schema}")
    return reading


class TypesWidened(Exception):
    """Values did not fit the schema the file was read with; `schema` fits all of them so far."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__("values ask for wider types")
        self.schema = schema


def text_rows(
    text: TextFormat, blocks: Iterable[Block], schema: pa.Schema, progress: Callable[[int, int], None]
) -> Iterator[pa.RecordBatch]:
    """The rows in order, read side by side, until a value does not fit; from there on only types are
    looked at, and `TypesWidened` is raised at the end."""
    wide, count = schema, 0

    def read(block: Block) -> tuple[Reading, int]:
        return read_block(text, block, wide), block.done

    for reading, done in in_order(read, blocks):
        wide = join_schemas(wide, reading.schema)
        if reading.rows is not None and wide.equals(schema):
            yield from reading.rows.to_batches()
            count += reading.rows.num_rows
        progress(count, done)
    if not wide.equals(schema):
        raise TypesWidened(wide)


def solid_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, solid(field.type)) for field in schema])


def join_schemas(a: pa.Schema, b: pa.Schema) -> pa.Schema:
    """Wide enough for both, column by name; what only `b` has comes last."""
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return pa.schema([pa.field(name, kind) for name, kind in kinds.items()])
