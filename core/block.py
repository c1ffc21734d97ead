"""Rows on their way in, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from lamella.core.integer_rows import IntegerRow

ROWS_A_BLOCK = 100_000


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows whose columns and types are known. `table` does what is left of converting them, in the
    thread that asks for it. `checked`: its names are distinct, and its layouts can be kept. `integers`: the
    row, where it is a single one of nothing else."""

    schema: pa.Schema
    num_rows: int
    table: Callable[[], pa.Table]
    checked: bool = False
    integers: IntegerRow | None = None


class KeptBlocks(Iterator[Block]):
    """Blocks as they come, and all of them again."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._coming = blocks
        self._kept: list[Block] = []

    def __next__(self) -> Block:
        self._kept.append(next(self._coming))
        return self._kept[-1]

    def again(self) -> Iterator[Block]:
        """From the first one on."""
        yield from tuple(self._kept)
        yield from self

    def all(self) -> list[Block]:
        self._kept.extend(self._coming)
        return self._kept


def as_block(table: pa.Table) -> Block:
    return Block(table.schema, table.num_rows, lambda: table)


def without_columns(rows: int) -> pa.Table:
    """So many rows of nothing: Arrow counts them, but most of what it makes tables from does not."""
    return pa.Table.from_arrays([pa.nulls(rows)], names=[""]).select([])


def in_blocks(table: pa.Table) -> Iterator[Block]:
    """A table in parts that are no larger than a row group; an empty one is one part. Arrow gives as many
    rows of nothing as it is asked for."""
    for start in range(0, max(1, table.num_rows), ROWS_A_BLOCK):
        yield as_block(table.slice(start, min(ROWS_A_BLOCK, table.num_rows - start)))
