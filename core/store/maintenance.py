"""Maintenance of a table's files: flush, merge, compact, expire. None of it makes a version."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arrow.arrays import combine_chunks
from lamella.core.arrow.sorted_ids import union
from lamella.core.errors import BadData, Cancelled, LamellaError
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.processes import call_after_fork
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.read import in_memory
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment
from lamella.core.store.catalog.queries import Catalog, IdsUnderWay
from lamella.core.store.catalog.transaction import Transaction
from lamella.core.store.cells import NO_IDS, CellChanges, end_to_end, latest, write_cells
from lamella.core.store.commit import CatalogEntries, Retries, Rewrite, still_at, version_holding
from lamella.core.store.data_files import ROWS_A_FILE, FileShape, rows_a_group
from lamella.core.store.folder import Layout, Staging
from lamella.core.store.retention import ExpireReport, Policy, expire
from lamella.core.store.rewrite import RewriteChanges, apart, rewrite, segments_with_pending
from lamella.core.store.summary import summary
from lamella.core.store.table_version import PendingRows, Reader, SegmentEntry, TableVersion
from lamella.core.store.verify import Report, verify
from lamella.core.validation import count_of

FLUSH_ROWS_ABOVE = 50_000
FLUSH_CELLS_ABOVE = 2_000_000
FLUSH_IDLE_FROM = 1_000
"""The number of pending rows worth flushing when idle: fewer are read from the catalog as fast as from a
file."""

ENTRIES = 64
CHANGE_FILES = 16
TIER = 4
_PENDING = "pending_cells"
T = TypeVar("T")
Tidying = Callable[[TableVersion, Job], None]


@dataclass(frozen=True, eq=False)
class MergedCells:
    """Pending cells that together replace these catalog entries."""

    entries: tuple[tuple[str, int], ...]
    cells: tuple[CellChanges, ...]


class Tidier:
    """Rearranges the files of one table's state; raises `Overtaken` if the table has changed meanwhile."""

    def __init__(self, catalog: Catalog, layout: Layout, table_id: int) -> None:
        self._catalog, self._layout, self._table_id = catalog, layout, table_id

    def due(self, state: TableVersion) -> Tidying | None:
        """The work that has to be done to keep the table fast to read, or None."""
        rows = [h.segment.num_rows for h in _loose(state)]
        changed = [(len(c.ids), len(c.values)) for (kind, _), c in state.cells.items() if kind == _PENDING]
        if len(state.cells) - len(changed) > CHANGE_FILES:
            return self.rewrite_changed_segments
        pending_rows = sum(rows) + sum(count for count, _ in changed)
        pending_cells = sum(rows) * len(state.columns) + sum(count * width for count, width in changed)
        if pending_rows > FLUSH_ROWS_ABOVE or pending_cells > FLUSH_CELLS_ABOVE:
            return self.flush
        return self.merge if max(len(rows), len(changed), len(state.deletions)) > ENTRIES else None

    def worthwhile(self, state: TableVersion) -> Tidying | None:
        """The work that is worth doing while the table is idle, or None."""
        rows = sum(h.segment.num_rows for h in _loose(state))
        changed = sum(len(cells.ids) for (kind, _), cells in state.cells.items() if kind == _PENDING)
        return self.flush if rows + changed >= FLUSH_IDLE_FROM else None

    def flush(self, state: TableVersion, job: Job) -> None:
        """Write pending rows to data files, and pending cells to change files; deletions stay in the
        catalog."""
        loose = np.array(
            [i for i, h in enumerate(state.segment_entries) if h.kind == "pending_rows"], np.int64
        )
        merged = [_merge(state, run, besides=loose) for run in _runs(state)]
        if not len(loose) and not merged:
            return
        columns = {c.key: c for c in state.columns}
        with self._layout.stage() as staging:
            rows = self._rewritten(state, loose, staging, job)
            files = [(write_cells(c, columns, staging), c.version) for m in merged for c in m.cells]
            with self._committing(state, staging) as catalog_entries:
                catalog_entries.replace_segments(
                    rows, staging.publish([f.path for f in rows.files], state.row.folder)
                )
                catalog_entries.end(
                    key for m in merged for key in m.entries if key not in rows.contained_entries
                )
                for group, version in files:
                    paths = staging.publish([f.path for f in group], state.row.folder)
                    catalog_entries.change_files(group, paths, version)

    def merge(self, state: TableVersion, job: Job) -> None:
        """Merge the catalog entries of many small commits into one."""
        tails = [_tail(run, [len(state.cells[key].ids) for key in run]) for run in _runs(state)]
        loose = [_tail(run, [h.segment.num_rows for h in run]) for run in _adjoining(_loose(state))]
        gone = _tail(list(state.deletions), [len(ids) for ids in state.deletions.values()])
        with self._committing(state) as catalog_entries:
            if len(gone) > 1:
                catalog_entries.end(("deletions", entry) for entry in gone)
                catalog_entries.deletions(union(*(state.deletions[entry] for entry in gone)))
            for merged in (_merge(state, run) for run in tails if len(run) > 1):
                catalog_entries.end(merged.entries)
                for cells in merged.cells:
                    catalog_entries.cells(cells, state.column_entries)
            for run in (run for run in loose if len(run) > 1):
                catalog_entries.end((h.kind, h.entry) for h in run)
                count, values = sum(h.segment.num_rows for h in run), _join_rows(run, state.columns)
                catalog_entries.merged_rows(run[0].first_id, values, count, state.column_entries)

    def rewrite_changed_segments(self, state: TableVersion, job: Job) -> None:
        """Rewrite every segment whose rows have pending changes."""
        self.rewrite(state, segments_with_pending(state), job)

    def rewrite(
        self, state: TableVersion, segments: np.ndarray, job: Job, shape: FileShape | None = None
    ) -> list[int]:
        """Write these segments (ascending) to new data files with their pending changes; return the files'
        entries.

        Concurrent commits stay on top of the new files, as long as they leave the rewritten segments alone.
        """
        if not len(segments):
            return []
        with self._layout.stage() as staging:
            rewritten = self._rewritten(state, segments, staging, job, shape)
            paths = staging.publish([f.path for f in rewritten.files], state.row.folder)
            still = partial(version_holding, self._catalog, state, rewritten.old_segments)
            with self._committing(state, staging, still) as catalog_entries:
                return catalog_entries.replace_segments(rewritten, paths, version=state.version)

    def under_way(self) -> IdsUnderWay:
        return self._catalog.ids_under_way(self._table_id)

    def _rewritten(
        self,
        state: TableVersion,
        segments: np.ndarray,
        staging: Staging,
        job: Job,
        shape: FileShape | None = None,
    ) -> Rewrite:
        applied = RewriteChanges(state.snapshot.columns)
        return rewrite(state, segments, applied, staging, job, shape, self.under_way())

    @contextmanager
    def _committing(
        self,
        state: TableVersion,
        staging: Staging | None = None,
        still: Callable[[Transaction], int] | None = None,
    ) -> Iterator[CatalogEntries]:
        """Run a catalog transaction that makes no version; files are withdrawn if it fails."""
        try:
            with self._catalog.transaction() as transaction:
                version = still(transaction) if still else still_at(transaction, state)
                yield CatalogEntries(transaction, self._table_id, version)
                transaction.next_generation(self._table_id)
        except BaseException:
            if staging:
                staging.withdraw(besides=self._catalog.known_paths())
            raise


def _loose(state: TableVersion) -> list[SegmentEntry]:
    return [h for h in state.segment_entries if h.kind == "pending_rows"]


def _runs(state: TableVersion) -> list[list[tuple[str, int]]]:
    """Runs of pending entries with no change file between them, in the order in which they were made."""
    by_kind = groupby(state.cells, key=lambda key: key[0])
    return [list(run) for kind, run in by_kind if kind == "pending_cells"]


def _merge(state: TableVersion, run: Sequence[tuple[str, int]], besides: np.ndarray = NO_IDS) -> MergedCells:
    """The cells of a run that still apply, except those of the segments numbered `besides`."""
    segments = [state.segment_entries[i] for i in besides]
    pieces = [_outside(cells, segments) for cells in state.live([state.cells[key] for key in run])]
    generation = max(state.cells[key].version for key in run)
    cells = latest([c for c in pieces if len(c.ids)], state.columns)
    return MergedCells(tuple(run), tuple(replace(c, version=generation) for c in cells))


def _outside(cells: CellChanges, segments: Sequence[SegmentEntry]) -> CellChanges:
    if not segments:
        return cells
    inside = np.zeros(len(cells.ids), bool)
    for segment in segments:
        inside |= (cells.ids >= segment.first_id) & (cells.ids <= segment.last_id)
    return cells.only(~inside) if inside.any() else cells


def _adjoining(loose: Sequence[SegmentEntry]) -> list[list[SegmentEntry]]:
    """Runs of pending rows with consecutive ids."""
    runs: list[list[SegmentEntry]] = []
    for entry in loose:
        if runs and runs[-1][-1].last_id + 1 == entry.first_id:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return runs


def _tail(entries: Sequence[T], sizes: Sequence[int]) -> Sequence[T]:
    """The last entries, going back until one is much larger than all after it, so that merging costs n log
    n."""
    start, after = len(entries), 0
    while start and (not after or sizes[start - 1] <= TIER * after):
        start -= 1
        after += sizes[start]
    return entries[start:]


def _join_rows(run: Sequence[SegmentEntry], columns: Sequence[Column]) -> dict[int, pa.Array]:
    pending = [h.segment for h in run if isinstance(h.segment, PendingRows)]
    assert len(pending) == len(run), "rows in the catalog are pending"
    joined = pa.concat_tables([in_memory(MemorySegment.of(rows), columns) for rows in _rows_of(pending)])
    return {c.key: combine_chunks(joined.column(i)) for i, c in enumerate(columns)}


def _rows_of(pending: Sequence[PendingRows]) -> Iterator[pa.Table]:
    """The rows in order; rows without any column are counted by their ids."""
    for bare, alike in groupby(pending, key=lambda rows: not rows.values()):
        run = list(alike)
        yield from (rows.rows for rows in run) if bare else end_to_end(rows.values() for rows in run)


log = logging.getLogger(__name__)


class Upkeep:
    def __init__(
        self, catalog: Catalog, layout: Layout, table_id: int, reader: Reader, retries: Retries
    ) -> None:
        self._catalog, self._table_id, self._reader, self._retries = catalog, table_id, reader, retries
        self._tidier = Tidier(catalog, layout, table_id)
        self._has_changed = False
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Leave the upkeep of changed tables to the parent process."""
        self._has_changed = False

    def note_change(self) -> None:
        """Note that this process changed the table, so it is flushed when idle."""
        self._has_changed = True

    def tidy(self, work: Callable[[Tidier, TableVersion], None]) -> None:
        """Do `work` on the table's files. The version stays the same."""
        self._retries.run(lambda state: work(self._tidier, state))
        self.index_new_files(Job())

    def beside(self, work: Callable[[Tidier, TableVersion], T]) -> T:
        """Do `work` on the table's files while others commit. After five overtaken attempts, the others
        wait."""
        return self._retries.beside(lambda state: work(self._tidier, state))

    def index_new_files(self, job: Job) -> None:
        """Complete the indexes for the files of the newest version. A failure does not affect the version."""
        if self._catalog.open_group is not None or not self._reader.indexes.definitions:
            return
        try:
            self._reader.indexes.keep_up(self._reader.current().snapshot, job)
        except Cancelled as cancelled:
            log.info("%s: new files will be indexed when needed: %s", self._table_id, cancelled)

    def tidy_if_needed(self, job: Job, version: int | None = None) -> None:
        """Flush or merge pending changes if they have become too many to read with every snapshot; inside a
        transaction, wait for its end. `version` is the one just made, which is usually in memory.

        The preceding commit stands whatever happens here: a failure is logged, and the work is tried again
        after the next commit.
        """
        self._tidy_by(self._tidier.due, job, version)

    def flush_idle(self, job: Job) -> None:
        """Flush pending changes if this process changed the table, now that it is idle."""
        if self._has_changed:
            self._tidy_by(self._tidier.worthwhile, job)
            self._has_changed = False

    def _tidy_by(
        self, tidying_of: Callable[[TableVersion], Tidying | None], job: Job, version: int | None = None
    ) -> None:
        if self._catalog.open_group is not None:
            return
        try:
            if tidying_of(self._reader.version_at(version) or self._reader.current()):
                self._retries.run(lambda state: (tidying_of(state) or _nothing)(state, job))
        except (LamellaError, Cancelled, OSError, pa.ArrowException) as error:
            log.warning("%s: pending changes stay pending: %s", self._reader.last_name, error)


def _nothing(state: TableVersion, job: Job) -> None:
    """Do nothing: another process was faster."""


@dataclass(frozen=True)
class Compaction:
    """The result of a compaction: the files that were replaced, and those written in their place. `untouched`
    counts the other files, `rewritten` the parts of the table that were."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    untouched: int
    rewritten: int

    def __str__(self) -> str:
        if not self.rewritten:
            return f"{self.table}: nothing to compact, {quantity(self.untouched, 'file')}"
        after = f"{quantity(self.files_after, 'file')} of {size_text(self.bytes_after)}"
        if not self.files_before:
            return f"{self.table}: pending changes became {after}"
        before = f"{quantity(self.files_before, 'file')} of {size_text(self.bytes_before)}"
        return f"{self.table}: {before} became {after}"


@dataclass(frozen=True)
class CompactionPlan:
    """What a compaction would do now: replace `files` of `bytes` in total, of data and of changes, including
    `pending` changes. A vacuum then frees `freed` of these bytes; the rest stays until earlier versions
    expire."""

    table: str
    files: int = 0
    bytes: int = 0
    freed: int = 0
    pending: bool = False

    @property
    def is_needed(self) -> bool:
        return bool(self.files or self.pending)


def shape_of(state: TableVersion, group: int | None, file: int | None) -> FileShape:
    """The requested sizes of row groups and files, or the default ones."""
    name = state.row.name
    usual = rows_a_group(len(state.columns) + 1)
    group = usual if group is None else count_of(group, f"{name}: rows_a_group", least=1)
    file = max(ROWS_A_FILE, group) if file is None else count_of(file, f"{name}: rows_a_file", least=1)
    if not 0 < group <= file:
        raise BadData(
            f"{state.row.name}: row groups of {group:,} rows cannot make files of {file:,}",
            fix="Give at least one row per group, and at least as many rows per file as per group",
        )
    return FileShape(group, file)


class Compactor:
    """Decides the next step of a compaction. Rows with ids from `before` on are newer than the compaction,
    and are left alone."""

    def __init__(self, shape: FileShape, before: int) -> None:
        self.shape, self._before = shape, before
        self._in_order: set[int] = set()

    def next_step(self, state: TableVersion, under_way: IdsUnderWay) -> np.ndarray | None:
        """The numbers of neighbouring segments to write as one file, or of one segment to rewrite; None when
        everything is in order. Segments are not joined across ids that are `under_way`."""
        pack = next(self.steps(state, under_way), None)
        return None if pack is None else np.array(pack, np.int64)

    def steps(self, state: TableVersion, under_way: IdsUnderWay) -> Iterator[list[int]]:
        """Yield, for each file to write, the numbers of its segments."""
        pending = set(segments_with_pending(state).tolist())
        for pack in _packs(state, self.shape.rows_a_file, self._before, under_way):
            if len(pack) > 1 or self._needs(state, state.segment_entries[pack[0]], pack[0] in pending):
                yield pack

    def note_files(self, entries: Sequence[int]) -> None:
        """Note that these data files have just been written, and so are in order."""
        self._in_order.update(entries)

    def _needs(self, state: TableVersion, entry: SegmentEntry, pending: bool) -> bool:
        """Whether a segment differs from what a compaction would make of it."""
        segment = entry.segment
        if not isinstance(segment, FileSegment):
            return True
        if entry.entry in self._in_order:
            return False
        if pending or not _well_cut(segment, self.shape) or not _as_the_table(state, segment):
            return True
        self._in_order.add(entry.entry)
        return False


def nullable_after(state: TableVersion, segments: np.ndarray) -> frozenset[int]:
    """The keys of columns that may hold a null in the live rows of these segments."""
    live_segments = segments[_live_rows(state)[segments] > 0]
    nullable = {c.key for c in state.columns if _may_gain_null(state, live_segments, c.key)}
    for entry in (state.segment_entries[number] for number in live_segments):
        nullable.update(_with_nulls(entry.segment, {c.key for c in state.columns} - nullable))
    return frozenset(nullable)


def _packs(state: TableVersion, most: int, before: int, under_way: IdsUnderWay) -> Iterator[list[int]]:
    """Yield groups of neighbouring segments, each as large as fits into one file."""
    live = _live_rows(state)
    pack: list[int] = []
    rows = 0
    for number, entry in enumerate(state.segment_entries):
        if entry.first_id >= before:
            break
        if pack and (rows + live[number] > most or apart(state, number, under_way)):
            yield pack
            pack, rows = [], 0
        pack.append(number)
        rows += int(live[number])
    if pack:
        yield pack


def _live_rows(state: TableVersion) -> np.ndarray:
    starts = state.snapshot.segment_starts
    live: np.ndarray = np.diff(starts) - np.diff(np.searchsorted(state.snapshot.deleted_positions, starts))
    return live


def _well_cut(segment: FileSegment, shape: FileShape) -> bool:
    rows = np.diff(unchanged_footer(segment).row_group_starts)
    fewest = -(-segment.num_rows // shape.rows_a_group)
    return bool(
        segment.num_rows <= shape.rows_a_file and len(rows) <= fewest and rows.max() <= shape.rows_a_group
    )


def _as_the_table(state: TableVersion, segment: FileSegment) -> bool:
    """Whether any Parquet reader would see the columns as the table has them, in its order."""
    schema = unchanged_footer(segment).schema
    stored = dict(zip(schema.names, schema.types, strict=True))
    columns = [(c.key, c.name, _storage_type(c.type)) for c in (ID_COLUMN, *state.columns)]
    return columns == [(key, name, stored.get(name)) for key, name in segment.names.items()]


@lru_cache(1024)
def _storage_type(kind: pa.DataType) -> pa.DataType:
    """The type that a column of this type has when it is read back from Parquet."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, pa.schema([pa.field("x", kind)])):
        pass
    return pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema_arrow.field(0).type


def _may_gain_null(state: TableVersion, segments: np.ndarray, key: int) -> bool:
    """Whether a pending cell of the column is null."""
    changed = None if state.snapshot.overlay is None else state.snapshot.overlay.changes_of(key)
    if changed is None or not changed[1].null_count:
        return False
    starts = state.snapshot.segment_starts
    spans = np.searchsorted(changed[0], [starts[segments], starts[segments + 1]]).T
    return any(changed[1].slice(low, high - low).null_count for low, high in spans.tolist())


def _with_nulls(segment: Segment, keys: Collection[int]) -> Iterator[int]:
    """Yield the columns that may hold a null in the segment as it was written."""
    if isinstance(segment, FileSegment):
        nullable = {field.name: field.nullable for field in unchanged_footer(segment).schema}
        yield from (key for key in keys if key not in segment.names or nullable[segment.names[key]])
    else:
        columns = dict(zip(segment.rows.column_names, segment.rows.columns, strict=True))
        yield from (key for key in keys if str(key) not in columns or columns[str(key)].null_count)


FILE_KINDS = ("data_files", "change_files")


class Maintenance:
    """Maintenance of a table's files that leaves its rows the same: `table.maintenance.compact()`."""

    __slots__ = ("_catalog", "_reader", "_upkeep")

    def __init__(self, catalog: Catalog, reader: Reader, upkeep: Upkeep) -> None:
        self._catalog, self._reader, self._upkeep = catalog, reader, upkeep

    def __repr__(self) -> str:
        return f"<Maintenance of '{self._reader.last_name}'>"

    def flush(self, job: Job | None = None) -> None:
        """Write pending changes into data files; makes no version."""
        self._upkeep.tidy(lambda tidier, state: tidier.flush(state, job or Job()))

    def compact(
        self, rows_a_group: int | None = None, rows_a_file: int | None = None, job: Job | None = None
    ) -> Compaction:
        """Rewrite the table as a few plain Parquet files with its current columns: small files are merged,
        row groups and files get the requested size, and pending changes and deletions are applied.

        Only files that need it are rewritten, one at a time, while others read and write. A cancelled
        compaction keeps the files that are done. Earlier versions keep their files until they expire.
        """
        work, row = job or Job(), self._catalog.table(self._reader.table_id)
        compactor = Compactor(
            shape_of(self._reader.current(), rows_a_group, rows_a_file), row.next_id if row else 0
        )
        before, rewritten = self._file_sizes(), 0

        def step(tidier: Tidier, state: TableVersion) -> int:
            segments = compactor.next_step(state, tidier.under_way())
            if segments is None:
                return 0
            shape = replace(compactor.shape, nullable=nullable_after(state, segments))
            compactor.note_files(tidier.rewrite(state, segments, work, shape))
            return len(segments)

        while count := self._upkeep.beside(step):
            rewritten += count
            self._upkeep.index_new_files(work)
        after = self._file_sizes()
        old, new = dict(before.items() - after.items()), dict(after.items() - before.items())
        sizes, name = (sum(old.values()), sum(new.values())), self._reader.current().row.name
        return Compaction(name, len(old), len(new), *sizes, len(after) - len(new), rewritten)

    def compaction_plan(
        self, rows_a_group: int | None = None, rows_a_file: int | None = None
    ) -> CompactionPlan:
        """Return what `compact` would do with these sizes. Changes nothing; reads the footers of the
        files."""
        state, row = self._reader.current(), self._catalog.table(self._reader.table_id)
        shape = shape_of(state, rows_a_group, rows_a_file)
        under_way = self._catalog.ids_under_way(self._reader.table_id)
        steps = Compactor(shape, row.next_id if row else 0).steps(state, under_way)
        entries = [state.segment_entries[number] for pack in steps for number in pack]
        sizes = {
            entry: (size, first)
            for entry, size, first in self._catalog.valid(
                "data_files", self._reader.table_id, state.version, ("entry", "bytes", "from_version")
            )
        }
        files = [sizes[each.entry] for each in entries if each.kind == "data_files" and each.entry in sizes]
        if entries and state.cells:
            files += self._catalog.valid(
                "change_files", self._reader.table_id, state.version, ("bytes", "from_version")
            )
        freed = sum(size for size, first in files if first == state.version)
        pending = any(each.kind != "data_files" for each in entries) or bool(entries and state.cells)
        return CompactionPlan(state.row.name, len(files), sum(size for size, _ in files), freed, pending)

    def expire(
        self,
        older_than: dt.timedelta | dt.datetime | None = None,
        keep_versions: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
        job: Job | None = None,
    ) -> ExpireReport:
        """Expire old versions: those that ended before a time or longer ago than a duration, and then as many
        as needed for the files of all versions to take at most `max_bytes`. The newest `keep_versions` stay,
        and so do named versions; if only `keep_versions` is given, all others expire.

        Undo cannot go beyond the oldest remaining version. `store.maintenance.vacuum()` frees the files.
        """
        policy = Policy(older_than, keep_versions, max_bytes).check(self._reader.current().row.name)
        expiry = expire(self._catalog, self._reader.table_id, policy, dry_run, job or Job())
        if not dry_run:
            self._reader.forget_old()
        return expiry

    def verify(self, quick: bool = False, job: Job | None = None) -> Report:
        """Check that every file of every version is as it was written, and that the newest version is
        consistent.

        `quick` checks the files' metadata only, not all their bytes. Changes nothing.
        """
        return verify(self._catalog, [self._reader.table_id], quick, job or Job())

    def summary(self) -> str:
        """Describe the table in one screen of text: rows, sizes of columns, files, versions and pending
        changes."""
        return summary(self._catalog, self._reader.current())

    def _file_sizes(self) -> dict[str, int]:
        """The sizes of the newest version's files, by path."""
        table_id, version = self._reader.table_id, self._reader.current().version
        sizes = [self._catalog.valid(kind, table_id, version, ("path", "bytes")) for kind in FILE_KINDS]
        return {path: size for kind in sizes for path, size in kind}
