"""A table once more under another name, without its rows being written again."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamella.core.errors import FileProblem, UnknownTable
from lamella.core.store.catalog import Catalog, TableRow
from lamella.core.store.catalog_schema import VERSIONED, whole_numbers
from lamella.core.store.catalog_transaction import Transaction
from lamella.core.store.creating import taken
from lamella.core.store.layout import Layout, Staging
from lamella.core.store.paths import new_folder_name
from lamella.core.store.publish import commit_row

FILES = ("data_files", "change_files")
PENDING = ("pending_rows", "pending_cells")
Entry = dict[str, Any]


@dataclass(frozen=True)
class Original:
    """A table at its newest version, as the catalog has it. `columns` are those of all versions, by entry:
    what is pending may be written in the types of earlier ones."""

    row: TableRow
    rows: int
    entries: dict[str, list[Entry]]
    columns: dict[int, Entry]
    valid_columns: frozenset[int]
    indexes: tuple[tuple[str, str, str], ...]


def copy_table(catalog: Catalog, layout: Layout, table_id: int, rows: int, name: str) -> int:
    """The id of the copy, which begins at the version that the original has, with a history of its own.

    Files are linked, so that it takes neither time nor room; where links cannot be made they are copied.
    """
    started = time.perf_counter()
    original = _read(catalog, table_id, rows)
    with layout.stage() as staging:
        try:
            paths = _copied_files(original, layout, staging, folder := new_folder_name(name))
            with catalog.transaction() as transaction:
                if name in transaction.table_names():
                    raise taken(catalog, name)
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
                dict(zip(columns, found, strict=True))
                for found in catalog.valid(kind, table_id, row.version, columns)
            ]
            for kind, columns in VERSIONED.items()
        }
        wanted = ("entry", *VERSIONED["columns"])
        columns = {
            found[0]: dict(zip(wanted[1:], found[1:], strict=True))
            for found in catalog.every("columns", table_id, wanted)
        }
        valid = catalog.valid("columns", table_id, row.version, ("entry",))
        indexes = tuple(catalog.indexes(table_id))
        return Original(row, rows, entries, columns, frozenset(entry for (entry,) in valid), indexes)


def _copied_files(original: Original, layout: Layout, staging: Staging, folder: str) -> dict[str, str]:
    """The copy's paths by the original's."""
    olds = list(dict.fromkeys(entry["path"] for kind in FILES for entry in original.entries[kind]))
    if not olds:
        return {}
    staged = []
    for source in map(layout.paths.file, olds):
        staged.append(staging.new_file(source.suffix))
        _link(source, staged[-1])
    return dict(zip(olds, staging.publish(staged, folder), strict=True))


def _link(source: Path, made: Path) -> None:
    try:
        made.hardlink_to(source)
    except FileNotFoundError as error:
        raise FileProblem(source, "is missing", fix="Verify the store") from error
    except OSError:
        shutil.copyfile(source, made)  # not every file system has links


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
    transaction.close("columns", [columns[e] for e in columns if e not in original.valid_columns], version)
    for kind in VERSIONED.keys() - {"columns"}:
        for values in _of_copy(kind, original, columns, paths):
            transaction.add(kind, table_id, version, values)
    for index in original.indexes:
        transaction.add_index(table_id, index)
    counts = (original.rows, 0, 0)
    said = f"copy of {original.row.name}"
    transaction.move_on(table_id, commit_row(version, "create", None, counts, started, said))
    return table_id


def _of_copy(
    kind: str, original: Original, columns: dict[int, int], paths: dict[str, str]
) -> Iterator[tuple[Any, ...]]:
    for entry in original.entries[kind]:
        changed = {}
        if kind in FILES:
            changed = {"path": paths[entry["path"]]}
        if kind in PENDING:
            entries = whole_numbers(kind, "columns", entry["columns"])
            changed = {"columns": json.dumps([columns[e] for e in entries])}
        yield tuple((entry | changed).values())
