"""Rows on their way in: few go into the catalog, more are written as data files while they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy
from lamella.core.block import Block, as_block
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.rows import together, unified
from lamella.core.scan.snapshot import Column
from lamella.core.schema import ID
from lamella.core.store.commit import Change
from lamella.core.store.evolution import ColumnPlan, narrowed, plan_columns, stored_as
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.layout import Staging
from lamella.core.store.partial_values import names_inside, with_paths_inside
from lamella.core.store.stored_values import refuse_misfits
from lamella.core.store.writer import ROWS_A_GROUP, Encoder, FileSeries

FEW_ROWS = 1_000
FIRST_ROWS = 10_000
TakeIds = Callable[[int], int]
Columns = tuple[Column, ...]


def few_or_many(blocks: Iterator[Block]) -> tuple[pa.Table | None, Iterator[Block]]:
    """All the rows as one table if they are few, else None; and an iterator over all of them.

    The first thousands are looked at together, so that files are not begun with types that are too narrow.
    """
    head: list[Block] = []
    while sum(b.num_rows for b in head) <= FIRST_ROWS and (block := next(blocks, None)) is not None:
        head.append(block)
    if sum(b.num_rows for b in head) <= FEW_ROWS:
        table = together(head)
        return table, iter([as_block(table)])
    schema = unified(block.schema for block in head)
    return None, chain([as_block(pa.Table.from_batches([], schema))], head, blocks)


def few_change(plan: ColumnPlan, columns: Columns, rows: pa.Table, message: str) -> Change:
    """A change that keeps the rows, which are as the plan says, in the catalog; `columns` are the table's
    afterwards."""
    return Change(message, columns, rows=(plan.by_key(rows), rows.num_rows), inserted=rows.num_rows)


def has_many_rows(change: Change) -> bool:
    """Whether the new rows of a change are too many for the catalog."""
    return change.rows is not None and change.rows[1] > FEW_ROWS


def rows_of(change: Change) -> Block:
    """The new rows of a change, under their columns' names."""
    values, _count = change.rows or ({}, 0)
    names = {c.key: c.name for c in change.columns}
    return as_block(pa.Table.from_arrays(list(values.values()), names=[names[key] for key in values]))


class Intake:
    """Many rows become data files of a table that has the columns `have`; each block may add columns or
    widen them, and the next file is written that way."""

    def __init__(self, table: str, have: Columns, take_column_ids: TakeIds, take_ids: TakeIds) -> None:
        self._table, self._before, self.columns = table, have, have
        self._take_column_ids, self._take_ids = take_column_ids, take_ids
        self._file_columns: Columns = ()
        self._widened: dict[int, Column] = {}
        self._ids = range(0)

    def change(self, blocks: Iterable[Block], staging: Staging, message: str, job: Job) -> Change:
        """Raises `BadData` where a column widened and a value that was written before does not fit."""
        done = 0
        with Encoder(FileSeries(staging, end_at_gaps=True)) as encoder:
            for block in blocks:
                job.report(done, text=f"{done:,} rows written")
                self._add(block, encoder)
                done += block.num_rows
            files = tuple(encoder.finish())
        refuse_misfits(files, self._widened.values())
        return Change(message, self.columns, files=files, inserted=done, unused_ids=self._ids)

    def _add(self, block: Block, encoder: Encoder) -> None:
        fitting = self._met(block)
        columns, start = self._file_columns, 0
        while start < fitting.num_rows:
            ids = self._next_ids(fitting.num_rows - start)
            make = partial(_with_ids, fitting, columns, start, ids)
            encoder.add((ID_COLUMN, *columns), len(ids), make)
            start += len(ids)

    def _met(self, block: Block) -> Block:
        """The block, in the types of older columns where its values fit them; columns widen for the rest."""
        known = {c.name: c.type for c in self._file_columns}
        if all(known.get(field.name) == field.type for field in block.schema):
            return block
        refuse_ids(self._table, block.schema)
        types = {c.name: c.type for c in self._before}
        if names_inside(block.schema.names, types):
            block = as_block(with_paths_inside(block.table(), types, self._table))
        block = _narrowed(block, self._before)
        plan = plan_columns(self._table, self.columns, block, self._take_column_ids)
        self.columns = plan.applied(self.columns)
        self._widened |= {c.key: c for c in plan.widened}
        given = {c.key for c in (*self._file_columns, *plan.columns)}
        self._file_columns = tuple(c for c in self.columns if c.key in given)
        return block

    def _next_ids(self, most: int) -> range:
        """Ids are taken in lots, so that an insert of a million rows asks the catalog ten times."""
        if not self._ids:
            first = self._take_ids(ROWS_A_GROUP)
            self._ids = range(first, first + ROWS_A_GROUP)
        taken, self._ids = self._ids[:most], self._ids[most:]
        return taken


def refuse_ids(table: str, schema: pa.Schema) -> None:
    if schema.get_field_index(ID) >= 0:
        raise BadData(
            f"{table}: the rows bring their own {ID}",
            "ids are given by the table",
            "Leave that column out, or rename it to keep its values",
        )


def _narrowed(block: Block, have: Columns) -> Block:
    types = {c.name: c.type for c in have}
    if all(types.get(field.name, field.type) == field.type for field in block.schema):
        return block
    return as_block(narrowed(block.table(), have))


def _with_ids(block: Block, columns: Columns, start: int, ids: range) -> pa.Table:
    rows = stored_as(block.table().slice(start, len(ids)), columns)
    numbers = from_numpy(np.arange(ids.start, ids.stop, dtype=np.int64))
    return rows.add_column(0, pa.field(ID, pa.int64()), numbers)
