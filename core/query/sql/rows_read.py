"""The number of rows that a statement read of its tables, from DuckDB's profile of the run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import duckdb

from lamella.core.phrases import quantity
from lamella.core.query.duckdb_source import POSITION
from lamella.core.scan.snapshot import Snapshot

PROFILING = "SET enable_profiling = 'no_output'"
FILE_SCANS, MEMORY_SCANS = ("READ_PARQUET", "PARQUET_SCAN"), ("PYTHON_ARROW_SCAN", "ARROW_SCAN")
_SCANS = (*FILE_SCANS, *MEMORY_SCANS)


@dataclass(frozen=True)
class RowsRead:
    """The rows in the row groups that a scan read. `row_groups` are the number read and the total; None for
    rows in memory. Files do not say which row groups were read, only how many: `is_exact` is False if the
    rows are computed from that share. `is_partial` means that not all rows of a row group were read, since
    few were enough."""

    rows: int
    is_exact: bool = True
    row_groups: tuple[int, int] | None = None
    is_partial: bool = False

    def __add__(self, other: RowsRead) -> RowsRead:
        groups = [part.row_groups for part in (self, other) if part.row_groups is not None]
        together = (sum(some for some, _ in groups), sum(total for _, total in groups)) if groups else None
        is_partial = self.is_partial or other.is_partial
        return RowsRead(self.rows + other.rows, self.is_exact and other.is_exact, together, is_partial)

    def __str__(self) -> str:
        return f"{'' if self.is_exact else '≈'}{self.rows:,}"


@dataclass(frozen=True)
class TableFiles:
    """The totals that a scan's share refers to: a table's rows and the number of its files."""

    name: str
    num_rows: int
    num_files: int

    @classmethod
    def by_name(cls, tables: Mapping[str, Snapshot]) -> dict[str, TableFiles]:
        """The totals by file name, for names that only one table has."""
        files_by_name: dict[str, TableFiles] = {}
        for name, snapshot in tables.items():
            files = snapshot.files
            whole = cls(name, sum(file.num_rows for file in files), len(files))
            files_by_name.update((file.path.name, whole) for file in files)
        return files_by_name


def rows_read_by(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Snapshot]) -> RowsRead | None:
    """The rows read by the last statement of a connection with `PROFILING`, once its rows are fetched.

    Zero rows if statistics alone gave the answer; None if there is no profile.
    """
    profile = json.loads(connection.get_profiling_information(format="json"))
    if profile.get("result") == "error":  # how DuckDB 2.0 reports a plan with nothing to run
        return RowsRead(0)
    if "operator" not in profile:
        return None
    files = TableFiles.by_name(tables)
    scans = (_scans(root, files) for root in profile["operator"])
    return sum(itertools.chain.from_iterable(scans), RowsRead(0))


def scan_of(node: Mapping[str, Any], files: Mapping[str, TableFiles], dropped: int = 0) -> RowsRead | None:
    """The rows that an operator of a profile read from a table; None if it reads none. `dropped` of the
    table's rows in files have been deleted or replaced, and do not count."""
    scan = _physical_scan_of(node, files)
    if scan is None or not dropped:
        return scan
    table = _table_of(node, files)
    num_rows = scan.rows if table is None else table.num_rows
    rows = round(scan.rows * max(0.0, 1 - dropped / num_rows)) if num_rows else 0
    return RowsRead(rows, scan.is_exact and scan.rows == num_rows, scan.row_groups, scan.is_partial)


def dropped_rows(node: Mapping[str, Any]) -> int:
    """The number of deleted and replaced rows that an operator of a profile leaves out of its other input; 0
    if that is not what it does."""
    info = node.get("extra_info") or {}
    if "ANTI" not in str(info.get("Join Type", "")):
        return 0
    return sum(
        int(inner.get("intermediate_rows", 0))
        for inner in node.get("children", ())
        if _is_of_positions(inner)
    )


def _is_of_positions(node: Mapping[str, Any]) -> bool:
    info = node.get("extra_info") or {}
    return info.get("Function") in _SCANS and info.get("Projections") == POSITION


def _table_of(node: Mapping[str, Any], files: Mapping[str, TableFiles]) -> TableFiles | None:
    info = node.get("extra_info") or {}
    return files.get(PurePath(str(info.get("Filename(s)", "")).split(",")[0].strip()).name)


def _physical_scan_of(node: Mapping[str, Any], files: Mapping[str, TableFiles]) -> RowsRead | None:
    info = node.get("extra_info") or {}
    if info.get("Function") not in _SCANS or _is_of_positions(node):
        return None
    rows_out = int(node.get("intermediate_rows", 0))
    scanned, total = int(node.get("row_groups_scanned", 0)), int(node.get("total_row_groups_to_scan", 0))
    if not total:
        return RowsRead(rows_out)
    groups = (scanned, total)
    table = _table_of(node, files)
    if table is None or not ("Filters" in info or "Dynamic Filters" in info):
        is_partial = table is not None and rows_out < table.num_rows
        return RowsRead(rows_out, True, groups, is_partial)  # a LIMIT reads a few rows of each row group
    share = int(info.get("Total Files Read", table.num_files)) / table.num_files
    rows = max(rows_out, round(table.num_rows * min(share, 1.0) * scanned / total))
    return RowsRead(rows, scanned in (0, total) and share == 1.0, groups)


def row_groups_text(rows: RowsRead) -> str:
    """The row groups as text, such as `, 1 of 10 row groups` or `, parts of 10 row groups`; empty for rows in
    memory."""
    if rows.row_groups is None:
        return ""
    scanned, total = rows.row_groups
    if rows.is_partial:
        return f", {'a part' if scanned == 1 else 'parts'} of {quantity(scanned, 'row group')}"
    return f", {scanned:,} of {quantity(total, 'row group')}"


def _scans(node: Mapping[str, Any], files: Mapping[str, TableFiles], dropped: int = 0) -> Iterator[RowsRead]:
    scan = scan_of(node, files, dropped)
    if scan is not None:
        yield scan
    dropped = dropped_rows(node) or dropped
    for inner in node.get("children", ()):
        yield from _scans(inner, files, dropped)
