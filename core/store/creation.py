"""Creates tables: from rows, or as a copy of another table that shares its files."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.from_python import blocks
from lamella.core.arrow.ingest import RowBatch, without_columns
from lamella.core.arrow.sorted_ids import distinct
from lamella.core.arrow.types import ID
from lamella.core.errors import FileProblem, StoreProblem, UnknownTable
from lamella.core.jobs import Job
from lamella.core.store import columns as metadata
from lamella.core.store.catalog.queries import Catalog, TableRow
from lamella.core.store.catalog.schema import LARGEST_NUMBER, VERSIONED_TABLES, whole_numbers
from lamella.core.store.catalog.transaction import Transaction
from lamella.core.store.commit import CatalogEntries, Change, commit_row
from lamella.core.store.data_files import ROWS_A_GROUP
from lamella.core.store.evolution import plan_columns, to_columns
from lamella.core.store.folder import Layout, Staging
from lamella.core.store.paths import new_folder_name
from lamella.core.store.writer import Intake, catalog_change, collect_if_few, refuse_ids
from lamella.core.validation import single_line_of


def create(catalog: Catalog, layout: Layout, name: str, data: Any, message: str, job: Job) -> int:
    """Create a table of these rows, with the metadata of their schema; return its id."""
    started = time.perf_counter()
    with layout.stage() as staging:
        change = _stage_table(name, _without_ids(blocks(data)), staging, job, message)
        return _enter_table(catalog, name, change, staging, started)


def refuse_name(catalog: Catalog, name: str, besides: str | None = None) -> None:
    """Raise `StoreProblem` for a table name that is empty, or taken by a table other than `besides`, and
    `BadData` for one that is not Unicode or holds a control character."""
    if not single_line_of(name, f"store {catalog.path.parent.name}: the table name").strip():
        raise StoreProblem(f"store {catalog.path.parent.name}: a table needs a name", fix="Give it one")
    for row in catalog.tables():
        if row.name != besides and row.name.casefold() == name.casefold():
            raise name_problem(catalog, row.name)


def name_problem(catalog: Catalog, name: str) -> StoreProblem:
    return StoreProblem(
        f"store {catalog.path.parent.name} already has a table '{name}'",
        fix="Choose another name, or drop that one",
    )


def _stage_table(name: str, data: Iterator[RowBatch], staging: Staging, job: Job, message: str) -> Change:
    first = next(data, None)
    change = _stage_rows(
        name, data if first is None else itertools.chain([first], data), staging, job, message
    )
    if first is None:
        return change
    noted = metadata.from_schema(first.schema, change.columns)
    return metadata.with_nulls_noted(replace(change, metadata=noted), noted)


def _stage_rows(name: str, data: Iterator[RowBatch], staging: Staging, job: Job, message: str) -> Change:
    column_ids, row_ids = itertools.count(1), itertools.count(0, ROWS_A_GROUP)
    few, rows = collect_if_few(data)
    if few is None:
        intake = Intake(name, (), partial(_take_from, column_ids), lambda _: next(row_ids))
        return intake.change(rows, staging, message, job)
    refuse_ids(name, few.schema)
    plan = plan_columns(name, (), few, partial(_take_from, column_ids))
    return catalog_change(plan, plan.columns, to_columns(few, plan.columns), message)


def _without_ids(data: Iterator[RowBatch]) -> Iterator[RowBatch]:
    """Drop a column `_id` that holds ids of another table, because the new table assigns its own. Any other
    column of that name stays, and is refused later."""
    for block in data:
        place = block.schema.get_field_index(ID)
        if place < 0 or not _are_table_ids(block.table().column(place)):
            yield block
            continue
        rows = block.table().drop_columns([ID])
        rows = rows if rows.num_columns else without_columns(block.num_rows)
        yield RowBatch(rows.schema, block.num_rows, partial(_itself, rows), block.checked)


def _are_table_ids(ids: pa.ChunkedArray) -> bool:
    """Whether these may be ids of a table: distinct, and within the range that a table assigns."""
    if ids.type != pa.int64() or ids.null_count:
        return False
    values = to_numpy(ids)
    possible = (values >= 0) & (values < LARGEST_NUMBER)
    return bool(possible.all()) and len(distinct(values)) == len(values)


def _itself(rows: pa.Table) -> pa.Table:
    return rows


def _take_from(numbers: Iterator[int], count: int) -> int:
    """Take `count` consecutive numbers; return the first."""
    return next(iter(list(itertools.islice(numbers, count))))


def _enter_table(catalog: Catalog, name: str, change: Change, staging: Staging, started: float) -> int:
    folder = new_folder_name(name)
    try:
        paths = staging.publish([f.path for f in change.files], folder) if change.files else []
        with catalog.transaction() as transaction:
            if name in transaction.table_names():
                raise name_problem(catalog, name)
            table_id = transaction.add_table(name, folder)
            transaction.take_column_ids(table_id, len(change.columns))
            catalog_entries = CatalogEntries(transaction, table_id, 1)
            entries = catalog_entries.columns(None, change)
            catalog_entries.metadata(None, change)
            _enter_rows(catalog_entries, change, entries, paths)
            if change.files:
                transaction.take_ids(table_id, change.inserted)
            row = commit_row(1, "create", None, (change.inserted, 0, 0), started, change.message)
            transaction.move_on(table_id, row)
    except BaseException:
        staging.withdraw(besides=catalog.known_paths())
        raise
    return table_id


def _enter_rows(
    catalog_entries: CatalogEntries, change: Change, entries: dict[int, int], paths: list[str]
) -> None:
    catalog_entries.files(change.files, paths)
    if change.rows is not None and change.inserted:
        catalog_entries.rows(change.rows[0], change.inserted, entries)


FILES = ("data_files", "change_files")
PENDING = ("pending_rows", "pending_cells")
Entry = dict[str, Any]


@dataclass(frozen=True)
class Original:
    """A table at its newest version, as the catalog has it. `columns` are those of all versions, by entry,
    because pending entries may use the types of earlier ones."""

    catalog: Path
    row: TableRow
    rows: int
    entries: dict[str, list[Entry]]
    columns: dict[int, Entry]
    valid_columns: frozenset[int]
    indexes: tuple[tuple[str, str, str], ...]


def copy_table(catalog: Catalog, layout: Layout, table_id: int, rows: int, name: str) -> int:
    """Copy a table; return the copy's id. It begins at the original's version, with its own history.

    Files are linked, which takes almost no time or space; where links are not possible they are copied.
    """
    started = time.perf_counter()
    original = _read(catalog, table_id, rows)
    with layout.stage() as staging:
        try:
            paths = _copied_files(original, layout, staging, folder := new_folder_name(name))
            with catalog.transaction() as transaction:
                if name in transaction.table_names():
                    raise name_problem(catalog, name)
                return _enter(transaction, original, name, folder, paths, started)
        except BaseException:
            staging.withdraw(besides=catalog.known_paths())
            raise


def _read(catalog: Catalog, table_id: int, rows: int) -> Original:
    with catalog.unchanging():
        row = catalog.table(table_id)
        if row is None:
            raise UnknownTable(str(table_id), f"store {catalog.path.parent.name}", [])
        entries = {
            kind: [
                dict(zip(columns, fields, strict=True))
                for fields in catalog.valid(kind, table_id, row.version, columns)
            ]
            for kind, columns in VERSIONED_TABLES.items()
        }
        catalog_columns = ("entry", *VERSIONED_TABLES["columns"])
        columns = {
            fields[0]: dict(zip(catalog_columns[1:], fields[1:], strict=True))
            for fields in catalog.all_entries("columns", table_id, catalog_columns)
        }
        valid = catalog.valid("columns", table_id, row.version, ("entry",))
        indexes = tuple(catalog.indexes(table_id))
        named_entries = frozenset(entry for (entry,) in valid)
        return Original(catalog.path, row, rows, entries, columns, named_entries, indexes)


def _copied_files(original: Original, layout: Layout, staging: Staging, folder: str) -> dict[str, str]:
    """Link or copy the files; return the copy's paths by the original's."""
    olds = list(dict.fromkeys(entry["path"] for kind in FILES for entry in original.entries[kind]))
    if not olds:
        return {}
    staged = []
    for source in map(layout.paths.file, olds):
        staged.append(staging.new_file(source.suffix))
        _link(source, staged[-1])
    return dict(zip(olds, staging.publish(staged, folder), strict=True))


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileNotFoundError as error:
        raise FileProblem(source, "is missing", fix="Verify the store") from error
    except OSError:
        shutil.copyfile(source, target)  # not every file system supports links


def _enter(
    transaction: Transaction,
    original: Original,
    name: str,
    folder: str,
    paths: dict[str, str],
    started: float,
) -> int:
    version = original.row.version
    table_id = transaction.add_table(name, folder)
    transaction.take_ids(table_id, original.row.next_id)
    keys = [column["column_id"] for column in original.columns.values()]
    transaction.take_column_ids(table_id, max(keys, default=0))
    columns = {
        entry: transaction.add("columns", table_id, version, tuple(column.values()))
        for entry, column in original.columns.items()
    }
    ended = [columns[e] for e in columns if e not in original.valid_columns]
    transaction.end_entries("columns", ended, version)
    for kind in VERSIONED_TABLES.keys() - {"columns"}:
        for values in _of_copy(kind, original, columns, paths):
            transaction.add(kind, table_id, version, values)
    for index in original.indexes:
        transaction.add_index(table_id, index)
    counts = (original.rows, 0, 0)
    message = f"copy of {original.row.name}"
    transaction.move_on(table_id, commit_row(version, "create", None, counts, started, message))
    return table_id


def _of_copy(
    kind: str, original: Original, columns: dict[int, int], paths: dict[str, str]
) -> Iterator[tuple[Any, ...]]:
    for entry in original.entries[kind]:
        changed = {}
        if kind in FILES:
            changed = {"path": paths[entry["path"]]}
        if kind in PENDING:
            entries = whole_numbers(original.catalog, kind, "columns", entry["columns"])
            changed = {"columns": json.dumps([columns[e] for e in entries])}
        yield tuple((entry | changed).values())
