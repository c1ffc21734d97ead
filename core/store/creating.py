"""A new table: its rows are staged first, and entered into the catalog when all of them are written."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arguments import text_of
from lamella.core.arrays import to_numpy
from lamella.core.block import Block, without_columns
from lamella.core.errors import StoreProblem
from lamella.core.jobs import Job
from lamella.core.rows import blocks
from lamella.core.schema import ID
from lamella.core.store import metadata
from lamella.core.store.catalog import Catalog
from lamella.core.store.commit import Change
from lamella.core.store.evolution import plan_columns, stored_as
from lamella.core.store.incoming import Intake, few_change, few_or_many, refuse_ids
from lamella.core.store.layout import Layout, Staging
from lamella.core.store.paths import new_folder_name
from lamella.core.store.publish import Publication, commit_row
from lamella.core.store.writer import ROWS_A_GROUP


def create(catalog: Catalog, layout: Layout, name: str, data: Any, message: str, job: Job) -> int:
    """The id of a new table of these rows, whose schema's metadata it keeps."""
    started = time.perf_counter()
    with layout.stage() as staging:
        change = _staged(name, _without_ids(blocks(data)), staging, job, message)
        return _entered(catalog, name, change, staging, started)


def refuse_name(catalog: Catalog, name: str, besides: str | None = None) -> None:
    """Raise `StoreProblem` for the name of a table that is empty, or taken by another than `besides`, and
    `BadData` for one that is not Unicode."""
    if not text_of(name, f"store {catalog.path.parent.name}: the table name").strip():
        raise StoreProblem(f"store {catalog.path.parent.name}: a table needs a name", fix="Give it one")
    for row in catalog.tables():
        if row.name != besides and row.name.casefold() == name.casefold():
            raise taken(catalog, row.name)


def taken(catalog: Catalog, name: str) -> StoreProblem:
    return StoreProblem(
        f"store {catalog.path.parent.name} already has a table '{name}'",
        fix="Choose another name, or drop that one",
    )


def _staged(name: str, data: Iterator[Block], staging: Staging, job: Job, message: str) -> Change:
    first = next(data, None)
    change = _rows_staged(
        name, data if first is None else itertools.chain([first], data), staging, job, message
    )
    if first is None:
        return change
    noted = metadata.from_schema(first.schema, change.columns)
    return metadata.with_nulls_noted(replace(change, metadata=noted), noted)


def _rows_staged(name: str, data: Iterator[Block], staging: Staging, job: Job, message: str) -> Change:
    column_ids, row_ids = itertools.count(1), itertools.count(0, ROWS_A_GROUP)
    few, rows = few_or_many(data)
    if few is None:
        intake = Intake(name, (), partial(_taken_from, column_ids), lambda _: next(row_ids))
        return intake.change(rows, staging, message, job)
    refuse_ids(name, few.schema)
    plan = plan_columns(name, (), few, partial(_taken_from, column_ids))
    return few_change(plan, plan.columns, stored_as(few, plan.columns), message)


def _without_ids(data: Iterator[Block]) -> Iterator[Block]:
    """Rows of a table, as they were read, bring the numbers that it gave them; a new table gives others. What
    else is called so stays, and is refused."""
    for block in data:
        place = block.schema.get_field_index(ID)
        if place < 0 or not _are_given(block.table().column(place)):
            yield block
            continue
        rows = block.table().drop_columns([ID])
        rows = rows if rows.num_columns else without_columns(block.num_rows)
        yield Block(rows.schema, block.num_rows, partial(_itself, rows), block.checked)


def _are_given(ids: pa.ChunkedArray) -> bool:
    """Whether these may be ids of a table: each its own number."""
    if ids.type != pa.int64() or ids.null_count:
        return False
    values = to_numpy(ids)
    return bool((values >= 0).all()) and len(np.unique(values)) == len(values)


def _itself(rows: pa.Table) -> pa.Table:
    return rows


def _taken_from(numbers: Iterator[int], count: int) -> int:
    """The first of `count` numbers in a row."""
    return next(iter(list(itertools.islice(numbers, count))))


def _entered(catalog: Catalog, name: str, change: Change, staging: Staging, started: float) -> int:
    folder = new_folder_name(name)
    try:
        paths = staging.publish([f.path for f in change.files], folder) if change.files else []
        with catalog.transaction() as transaction:
            if name in transaction.table_names():
                raise taken(catalog, name)
            table_id = transaction.add_table(name, folder)
            transaction.take_column_ids(table_id, len(change.columns))
            publication = Publication(transaction, table_id, 1)
            entries = publication.columns(None, change)
            publication.metadata(None, change)
            _enter_rows(publication, change, entries, paths)
            if change.files:
                transaction.take_ids(table_id, change.inserted)
            row = commit_row(1, "create", None, (change.inserted, 0, 0), started, change.message)
            transaction.move_on(table_id, row)
    except BaseException:
        staging.withdraw(besides=catalog.known_paths())
        raise
    return table_id


def _enter_rows(publication: Publication, change: Change, entries: dict[int, int], paths: list[str]) -> None:
    publication.files(change.files, paths)
    if change.rows is not None and change.inserted:
        publication.rows(change.rows[0], change.inserted, entries)
