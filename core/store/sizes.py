"""The disk space of a store: by table, column and version, and how much of it could be freed."""

from __future__ import annotations

import datetime as dt
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from lamella.core.errors import DamagedStore, LamellaError
from lamella.core.phrases import quantity, size_text
from lamella.core.store.catalog.connection import PARTS
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.commit import Commit
from lamella.core.store.maintenance import CompactionPlan
from lamella.core.store.paths import StorePaths
from lamella.core.store.retention import FileSpan, VacuumPlan
from lamella.core.store.summary import StoredSizes, stored_sizes
from lamella.core.store.table_version import TableVersion


@dataclass(frozen=True)
class ColumnSize:
    """The bytes of a column in the data files of the newest version, and its most frequent encoding."""

    name: str
    type: str
    bytes: int
    encoding: str


@dataclass(frozen=True)
class VersionSize:
    """The size of a version: `added` bytes are in files that no earlier version has; `freed` bytes would be
    freed if this version and all before it expired."""

    version: int
    time: dt.datetime | None
    message: str
    name: str
    added: int
    freed: int


@dataclass(frozen=True)
class TableSizes:
    """The sizes of a table: `bytes` and `files` of the newest version, `history_bytes` of files that only
    earlier ones have. `problem` says why the table could not be measured; the sizes are 0 then."""

    name: str
    rows: int = 0
    files: int = 0
    bytes: int = 0
    history_bytes: int = 0
    index_bytes: int = 0
    columns: tuple[ColumnSize, ...] = ()
    versions: tuple[VersionSize, ...] = ()
    compaction: CompactionPlan | None = None
    problem: str = ""

    @property
    def total(self) -> int:
        return self.bytes + self.history_bytes + self.index_bytes


@dataclass(frozen=True)
class StoreSizes:
    """The sizes of a store: `catalog_bytes` of the catalog and its log, `reserve_bytes` of the space reserved
    for a full disk."""

    path: Path
    format: int
    tables: tuple[TableSizes, ...]
    catalog_bytes: int
    reserve_bytes: int
    vacuum: VacuumPlan

    @property
    def total(self) -> int:
        """The bytes of everything, including what a vacuum would free."""
        own = sum(table.total for table in self.tables)
        return own + self.catalog_bytes + self.reserve_bytes + self.vacuum.bytes + self.vacuum.waiting

    def __str__(self) -> str:
        lines = [f"{self.path}: {size_text(self.total)}, format {self.format}", ""]
        lines += _align(
            [("table", "rows", "files", "now", "history", "indexes"), *map(_row, self.tables)]
        )  # fmt: skip
        lines += [f"  {table.name}: {table.problem}" for table in self.tables if table.problem]
        lines += ["", f"catalog {size_text(self.catalog_bytes)}"]
        plan = self.vacuum
        lines.append(
            f"vacuum frees {size_text(plan.bytes + plan.catalog_bytes)} in {quantity(plan.files, 'file')}"
        )
        for table in self.tables:
            if table.compaction is not None and table.compaction.is_needed:
                lines.append(plan_text(table.compaction))
        return "\n".join(lines)


def plan_text(plan: CompactionPlan) -> str:
    """Describe a plan: `flights: 12 files of 3.4 MB are rewritten; vacuum frees 3.1 MB of that`."""
    if not plan.is_needed:
        return f"{plan.table}: nothing to compact"
    files = f"{quantity(plan.files, 'file')} of {size_text(plan.bytes)}"
    what = f"{files} are rewritten" if plan.files != 1 else f"{files} is rewritten"
    if not plan.files:
        return f"{plan.table}: pending changes are written to a file"
    remainder = plan.bytes - plan.freed
    freed = f"vacuum frees {size_text(plan.freed)} of that" if plan.freed else ""
    stays = f"{size_text(remainder)} stay until earlier versions expire" if remainder else ""
    return f"{plan.table}: {what}; {', '.join(filter(None, (freed, stays)))}"


def table_sizes(
    catalog: Catalog, state: TableVersion, commits: Sequence[Commit], compaction: CompactionPlan
) -> TableSizes:
    """Measure a table. Reads the footers of the data files."""
    table_id = state.row.table_id
    spans = [FileSpan(*row) for row in catalog.file_spans(table_id)]
    now = {s.path: s.bytes for s in spans if s.first <= state.version < s.stop}
    ever = {s.path: s.bytes for s in spans if s.first < s.stop}
    stored = stored_sizes(state)
    columns = (_column(c.name, str(c.type), stored.get(c.key)) for c in state.snapshot.columns)
    return TableSizes(
        state.row.name,
        state.snapshot.num_rows,
        len(now),
        sum(now.values()),
        sum(ever.values()) - sum(now.values()),
        folder_bytes(StorePaths(catalog.path.parent).index_folder(state.row.folder)),
        tuple(columns),
        tuple(_versions(commits, spans)),
        compaction,
    )


def store_sizes(catalog: Catalog, tables: tuple[TableSizes, ...], vacuum: VacuumPlan) -> StoreSizes:
    root = catalog.path.parent
    in_catalog = sum(_file_bytes(f"{catalog.path}{part}") for part in PARTS)
    reserve = _file_bytes(StorePaths(root).reserve)
    return StoreSizes(root, catalog.format, tables, in_catalog, reserve, vacuum)


def unreadable_sizes(name: str, error: LamellaError) -> TableSizes:
    return TableSizes(name, problem=error.why if isinstance(error, DamagedStore) else str(error))


def _column(name: str, kind: str, stored: StoredSizes | None) -> ColumnSize:
    sizes = stored or StoredSizes()
    return ColumnSize(name, kind, sizes.bytes, sizes.encoding)


def _versions(commits: Sequence[Commit], spans: Sequence[FileSpan]) -> Iterator[VersionSize]:
    named_versions = [commit.version for commit in commits if commit.name]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    sizes: dict[str, int] = {}
    stays = {s.path for s in spans if any(s.first <= version < s.stop for version in named_versions)}
    for span in spans:
        if span.first < span.stop:
            sizes[span.path] = span.bytes
            first[span.path] = min(span.first, first.get(span.path, span.first))
            last[span.path] = max(span.stop - 1, last.get(span.path, 0))
    added: dict[int, int] = {}
    ended: dict[int, int] = {}
    for path, size in sizes.items():
        added[first[path]] = added.get(first[path], 0) + size
        if path not in stays:
            ended[last[path]] = ended.get(last[path], 0) + size
    places = [commit.version for commit in commits]
    began = _by_version(added, places)
    gone = list(accumulate(_by_version(ended, places)))
    for place, commit in enumerate(commits):
        freed = gone[place] if place < len(commits) - 1 else 0
        yield VersionSize(commit.version, commit.time, commit.message, commit.name, began[place], freed)


def _by_version(bytes_at: dict[int, int], versions: Sequence[int]) -> list[int]:
    """For each remaining version, the bytes at it and at those before it that have expired."""
    sizes = [0] * len(versions)
    for version, size in bytes_at.items():
        place = bisect_left(versions, version)
        if place < len(sizes):
            sizes[place] += size
    return sizes


def folder_bytes(folder: Path) -> int:
    """The size of all files in a folder; others may write and remove files meanwhile. A file with several
    names counts once."""
    sizes = dict[tuple[int, int], int]()
    for inside, _, names in os.walk(folder):
        for name in names:
            try:
                stat = os.lstat(Path(inside, name))
            except FileNotFoundError:
                continue
            identity = (stat.st_dev, stat.st_ino) if stat.st_ino else (-1, len(sizes))
            sizes[identity] = stat.st_size
    return sum(sizes.values())


def _file_bytes(path: Path | str) -> int:
    """The size of a file; 0 if it does not exist."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _row(table: TableSizes) -> tuple[str, ...]:
    sizes = (size_text(size) for size in (table.bytes, table.history_bytes, table.index_bytes))
    return table.name, f"{table.rows:,}", f"{table.files:,}", *sizes


def _align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *figures in rows:
        cells = (text.rjust(width) for text, width in zip(figures, widths[1:], strict=True))
        yield f"{name.ljust(widths[0])}  {'  '.join(cells)}".rstrip()
