"""Writes the commits of a table: a few rows go into the catalog, many become data files as they arrive."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy
from lamella.core.arrow.from_python import common_schema, concat_batches
from lamella.core.arrow.ingest import RepeatableBlocks, RowBatch, as_block
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, LamellaError
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.schema import VERSIONED_TABLES
from lamella.core.store.cells import CellChanges
from lamella.core.store.changes import fit_to_columns
from lamella.core.store.checks import (
    block_with_defaults,
    defaults_by_name,
    fill_omissions,
    refuse_violations,
    with_defaults,
)
from lamella.core.store.columns import refuse_misfits, refuse_stored_misfits, with_nulls_noted
from lamella.core.store.commit import (
    CatalogEntries,
    Change,
    Commit,
    Overtaken,
    Retries,
    StagedFiles,
    check_version,
    commit_from_row,
    commit_row,
    still_at,
)
from lamella.core.store.data_files import ROWS_A_GROUP, Encoder, FileSeries
from lamella.core.store.evolution import ColumnPlan, narrow_rows, plan_columns, to_columns, wider_columns
from lamella.core.store.folder import Layout, Staging
from lamella.core.store.indexes import follow
from lamella.core.store.maintenance import Upkeep
from lamella.core.store.partial_values import names_inside, with_paths_inside
from lamella.core.store.rewrite import (
    Storage,
    fits_in_catalog,
    stage,
    stage_replacement,
    storage_of,
)
from lamella.core.store.table_version import Reader, TableVersion
from lamella.core.store.undo import Restoration

log = logging.getLogger(__name__)

FEW_ROWS = 1_000
FIRST_ROWS = 10_000
TakeIds = Callable[[int], int]
Columns = tuple[Column, ...]


def collect_if_few(blocks: Iterator[RowBatch]) -> tuple[pa.Table | None, Iterator[RowBatch]]:
    """Return all rows as one table if they are few, else None; and an iterator over all of them.

    The first thousands are examined together, so that files do not start with types that are too narrow.
    """
    head: list[RowBatch] = []
    while sum(b.num_rows for b in head) <= FIRST_ROWS and (block := next(blocks, None)) is not None:
        head.append(block)
    if sum(b.num_rows for b in head) <= FEW_ROWS:
        table = concat_batches(head)
        block, left_out = as_block(table), _omissions(head, table.schema.names)
        return table, iter([replace(block, missing_marks=left_out) if left_out else block])
    schema = common_schema(block.schema for block in head)
    return None, chain([as_block(pa.Table.from_batches([], schema))], head, blocks)


def _omissions(head: Sequence[RowBatch], names: Sequence[str]) -> Mapping[str, np.ndarray] | None:
    """For each column, which of the rows leave it out; a block that lacks a column leaves it out in every
    row."""
    if len(head) == 1:
        return head[0].missing_marks
    noted = dict.fromkeys(name for block in head for name in block.missing_marks or ())
    noted |= dict.fromkeys(name for block in head for name in names if name not in block.schema.names)
    return {
        name: np.concatenate(
            [
                (block.missing_marks or {}).get(name, np.full(block.num_rows, name not in block.schema.names))
                for block in head
            ]
        )
        for name in noted
    }


def catalog_change(plan: ColumnPlan, columns: Columns, rows: pa.Table, message: str) -> Change:
    """Build a change that stores `rows`, which match `plan`, in the catalog; `columns` are the table's
    columns afterwards."""
    return Change(message, columns, rows=(plan.by_key(rows), rows.num_rows), inserted=rows.num_rows)


def has_many_rows(change: Change) -> bool:
    """Whether the new rows of a change are too many for the catalog."""
    return change.rows is not None and change.rows[1] > FEW_ROWS


def rows_of(change: Change) -> RowBatch:
    """The new rows of a change, under their columns' names."""
    values, _count = change.rows or ({}, 0)
    names = {c.key: c.name for c in change.columns}
    return as_block(pa.Table.from_arrays(list(values.values()), names=[names[key] for key in values]))


class TableWriter:
    """Writes the commits of one table. A commit that another one overtook is staged again, so none is
    lost."""

    def __init__(self, catalog: Catalog, layout: Layout, table_id: int, reader: Reader) -> None:
        self._catalog, self._layout, self._reader = catalog, layout, reader
        self._table_id = table_id
        self._retries = Retries(catalog, reader)
        self.upkeep = Upkeep(catalog, layout, table_id, reader, self._retries)

    def refuse_inside_change(self) -> None:
        """Raise `StoreProblem` if called from a function that computes the values of a change of this
        table."""
        self._retries.refuse_inside()

    def follow_casts(self, before: TableVersion, job: Job) -> None:
        """Move the indexes of columns that were cast since `before` to the new columns."""
        if follow(self._catalog, before, self._reader.current()):
            self.upkeep.index_new_files(job)

    def take_column_ids(self, count: int) -> int:
        with self._catalog.transaction() as transaction:
            return transaction.take_column_ids(self._table_id, count)

    def insert(
        self, blocks: Iterator[RowBatch], message: str, job: Job, expected_version: int | None = None
    ) -> Commit:
        """Insert rows: a few go into the catalog, more are written to files as they arrive."""
        started = time.perf_counter()
        few, rows = collect_if_few(blocks)
        if few is not None:
            refuse_ids(self._reader.last_name, few.schema)
            left_out = next(rows).missing_marks
            return self.commit(
                lambda state: self._catalog_change(state, few, left_out, message),
                job,
                started,
                expected_version,
            )
        state = self._reader.current()
        with self._staging() as staging:
            intake = self._intake(state.snapshot.name, state.columns, staging, defaults_by_name(state))
            change = intake.change(rows, staging, message, job)

            def attempt(now: TableVersion) -> Commit:
                refuse_stored_misfits(now, wider_columns(now.columns, change.columns))
                return self._stage_and_commit(
                    _refuse_changed_columns(now, state), change, staging, job, started
                )

            commit = self._retries.run(attempt, expected_version)
        self.upkeep.index_new_files(job)
        return commit

    def _catalog_change(
        self, state: TableVersion, rows: pa.Table, left_out: Mapping[str, np.ndarray] | None, message: str
    ) -> Change:
        if left_out:
            rows = fill_omissions(rows, left_out, defaults_by_name(state))
        rows = with_paths_inside(rows, {c.name: c.type for c in state.columns}, state.snapshot.name)
        plan, rows = fit_to_columns(state, rows, self.take_column_ids)
        return catalog_change(plan, plan.apply_to(state.columns), rows, message)

    def commit(
        self,
        build: Callable[[TableVersion], Change],
        job: Job,
        started: float | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Stage the change that `build` makes of the table's state, and make it the next version.

        An empty change makes no version. If it fails or is cancelled, nothing is left on disk. Raises
        `VersionConflict` when the table is not, or no longer, at `expected_version`.
        """
        begun = time.perf_counter() if started is None else started

        def attempt(state: TableVersion) -> Commit:
            with self._retries.building():
                change = build(state)
            if change.is_empty(state.columns, state.metadata):
                return Commit(state.row.name, state.version, message=change.message)
            return self._stage_and_commit(state, change, None, job, begun)

        with self._retries.in_turn():
            commit = self._retries.run(attempt, expected_version)
            self.upkeep.tidy_if_needed(job, commit.version)
        self.upkeep.index_new_files(job)
        return commit

    def replace_rows(
        self,
        blocks: RepeatableBlocks,
        on: str,
        by_key: bool,
        message: str,
        job: Job,
        expected_version: int | None = None,
    ) -> Commit | None:
        """Replace many complete rows, found by one column: they are written to files as they arrive.

        `by_key`: structs were given as dicts, which may lack fields. Returns None, and changes nothing,
        where a row or cell is left out, or another commit came first.
        """
        started = time.perf_counter()
        if fits_in_catalog(blocks):
            return None
        state = check_version(self._reader.current(), expected_version)
        if state.rules.checks:
            return None
        with self._staging() as staging:
            replacement = stage_replacement(state, blocks.again(), on, by_key, staging, job)
            if replacement is None:
                return None
            change = Change(message, state.columns, cells=CellChanges(replacement.ids, {}))
            try:
                with self._retries.in_turn(), self._withdrawn_on_failure(staging):
                    commit = self._commit(
                        state, change, StagedFiles(rewritten=replacement.rewrite), staging, started
                    )
            except Overtaken:
                return None
        self.upkeep.tidy_if_needed(job)
        self.upkeep.index_new_files(job)
        return commit

    def restore(self, kind: str, target: Callable[[TableVersion], Restoration], message: str = "") -> Commit:
        """Commit the content of an earlier version again; `target` is called for each attempt."""
        started = time.perf_counter()

        def attempt(state: TableVersion) -> Commit:
            restored = target(state)
            text = message or f"{kind} {restored.about}".strip()
            row = commit_row(state.version + 1, kind, restored.version, restored.counts, started, text)
            self._refuse_missing_files(state)
            with self._catalog.transaction() as transaction:
                still_at(transaction, state)
                for versioned in VERSIONED_TABLES:
                    transaction.restore(versioned, self._table_id, restored.version, state.version)
                row = transaction.move_on(self._table_id, row)
            return _as_commit(state, row)

        return self._retries.run(attempt)

    def _stage_and_commit(
        self, state: TableVersion, change: Change, staging: Staging | None, job: Job, started: float
    ) -> Commit:
        change = with_nulls_noted(with_defaults(state, change), state.metadata)
        refuse_violations(state, change)
        where = storage_of(state, change)
        if staging is not None:
            return self._commit_files(state, change, where, staging, job, started)
        if where is Storage.CATALOG and not has_many_rows(change):
            return self._commit(state, change, StagedFiles(), None, started)
        with self._staging() as own:
            return self._commit_files(state, change, where, own, job, started)

    def _commit_files(
        self, state: TableVersion, change: Change, where: Storage, staging: Staging, job: Job, started: float
    ) -> Commit:
        with self._withdrawn_on_failure(staging):
            change = self._with_rows_in_files(state, change, staging, job)
            under_way = self._catalog.ids_under_way(self._table_id)
            staged = stage(state, change, where, staging, job, under_way)
            return self._commit(state, change, staged, staging, started)

    @contextmanager
    def _withdrawn_on_failure(self, staging: Staging) -> Iterator[None]:
        try:
            yield
        except BaseException:
            staging.withdraw(besides=self._catalog.known_paths())
            raise

    def _with_rows_in_files(self, state: TableVersion, change: Change, staging: Staging, job: Job) -> Change:
        if change.rows is None:
            return change
        intake = self._intake(state.row.name, change.columns, staging)
        staged = intake.change([rows_of(change)], staging, change.message, job)
        return replace(change, files=(*change.files, *staged.files), rows=None, unused_ids=staged.unused_ids)

    def _commit(
        self,
        state: TableVersion,
        change: Change,
        staged: StagedFiles,
        staging: Staging | None,
        started: float,
    ) -> Commit:
        """Commit a staged change. Files are made durable before the catalog's lock is taken."""
        self._refuse_missing_files(state)
        version = state.version + 1
        counts = (change.inserted, change.num_updated, len(change.deleted_ids))
        paths = staging.publish([f.path for f in staged.all_files], state.row.folder) if staging else []
        following: TableVersion | None = None
        with self._catalog.transaction() as transaction:
            still_at(transaction, state)
            if staging is not None:
                transaction.release_ids(self._table_id, staging.name, change.unused_ids)
            catalog_entries = CatalogEntries(transaction, self._table_id, version)
            entries = catalog_entries.columns(state, change)
            catalog_entries.metadata(state, change)
            if staging is not None:
                catalog_entries.enter_files(staged, paths)
            if not staged.change_files and not staged.rewritten:
                following = _enter_small(catalog_entries, state, change, entries)
            elif staged.change_files and len(change.deleted_ids):
                catalog_entries.deletions(change.deleted_ids)
            row = commit_row(version, "change", None, counts, started, change.message)
            row = transaction.move_on(self._table_id, row)
        self.upkeep.note_change()
        if following is not None:
            self._reader.advance(state, following)
        return _as_commit(state, row, catalog_entries.given_ids)

    def _refuse_missing_files(self, state: TableVersion) -> None:
        if state.has_files:
            self._layout.refuse_missing_folder(state.row.folder)

    def _intake(
        self,
        name: str,
        columns: tuple[Column, ...],
        staging: Staging,
        defaults: Mapping[str, pa.Array] | None = None,
    ) -> Intake:
        def take_ids(count: int) -> int:
            with self._catalog.transaction() as transaction:
                return transaction.take_ids_for_later(self._table_id, count, staging.name)

        return Intake(name, columns, self.take_column_ids, take_ids, defaults)

    @contextmanager
    def _staging(self) -> Iterator[Staging]:
        """Provide a staging folder; if the block fails, ids taken for its rows are released."""
        with self._layout.stage() as staging:
            try:
                yield staging
            except BaseException:
                self._give_up_ids(staging)
                raise

    def _give_up_ids(self, staging: Staging) -> None:
        """Release ids that were taken for staged rows. Where that fails, such as on a full disk, they are
        released when the store is next opened."""
        try:
            if self._catalog.ids_under_way(self._table_id):
                with self._catalog.transaction() as transaction:
                    transaction.release_ids(self._table_id, staging.name, range(0))
        except LamellaError as error:
            log.warning("%s: ids taken for rows that were not written stay reserved: %s", staging.name, error)


def _enter_small(
    catalog_entries: CatalogEntries, state: TableVersion, change: Change, entries: dict[int, int]
) -> TableVersion | None:
    """Enter what stays in the catalog. Returns the next state where it can be derived without reading the
    catalog."""
    version = state.version + 1
    following: TableVersion | None = state
    if change.rows is not None:
        added = catalog_entries.rows(*change.rows, entries)
        following = following.with_rows(version, added) if following else None
    if change.cells is not None and change.num_updated:
        cells = replace(change.cells, version=version)
        entry = catalog_entries.cells(cells, entries)
        following = following.with_cells(version, entry, cells) if following else None
    if len(change.deleted_ids):
        entry = catalog_entries.deletions(change.deleted_ids)
        following = following.with_deletion(version, entry, change.deleted_ids) if following else None
    simple = change.columns == state.columns and not change.files and change.metadata is None
    return following if simple else None


def _refuse_changed_columns(state: TableVersion, before: TableVersion) -> TableVersion:
    if state.column_entries != before.column_entries:
        raise BadData(f"{state.row.name}: its columns changed during the insert", fix="Insert the rows again")
    return state


def _as_commit(state: TableVersion, row: tuple[object, ...], given_ids: tuple[range, ...] = ()) -> Commit:
    return commit_from_row(state.row.name, row, given_ids)


class Intake:
    """Turns many rows into data files of a table that has the columns `have`. A block may add columns or
    widen them; the next file is written accordingly."""

    def __init__(
        self,
        table: str,
        have: Columns,
        take_column_ids: TakeIds,
        take_ids: TakeIds,
        defaults: Mapping[str, pa.Array] | None = None,
    ) -> None:
        self._table, self._before, self.columns = table, have, have
        self._defaults = defaults or {}
        self._take_column_ids, self._take_ids = take_column_ids, take_ids
        self._file_columns: Columns = ()
        self._widened_columns: dict[int, Column] = {}
        self._ids = range(0)

    def change(self, blocks: Iterable[RowBatch], staging: Staging, message: str, job: Job) -> Change:
        """Write the rows of all blocks; return the change. Raises `BadData` where a column widened and a
        value that was written before does not fit."""
        inserted = 0
        with Encoder(FileSeries(staging, end_at_gaps=True)) as encoder:
            for block in blocks:
                job.report(inserted, text=f"{quantity(inserted, 'row')} written")
                self._add(block, encoder)
                inserted += block.num_rows
            files = tuple(encoder.finish())
        refuse_misfits(files, self._widened_columns.values())
        return Change(message, self.columns, files=files, inserted=inserted, unused_ids=self._ids)

    def _add(self, block: RowBatch, encoder: Encoder) -> None:
        fitting = self._convert_block(block_with_defaults(block, self._defaults) if self._defaults else block)
        columns, start = self._file_columns, 0
        while start < fitting.num_rows:
            ids = self._next_ids(fitting.num_rows - start)
            make = partial(_with_ids, fitting, columns, start, ids)
            encoder.add((ID_COLUMN, *columns), len(ids), make)
            start += len(ids)

    def _convert_block(self, block: RowBatch) -> RowBatch:
        """Return the block in the types of existing columns where its values fit; columns widen for the
        rest."""
        file_types = {c.name: c.type for c in self._file_columns}
        if all(file_types.get(field.name) == field.type for field in block.schema):
            return block
        refuse_ids(self._table, block.schema)
        types = {c.name: c.type for c in self._before}
        if names_inside(block.schema.names, types):
            block = as_block(with_paths_inside(block.table(), types, self._table))
        block = _narrow_block(block, self._before)
        plan = plan_columns(self._table, self.columns, block, self._take_column_ids)
        self.columns = plan.apply_to(self.columns)
        self._widened_columns |= {c.key: c for c in plan.widened_columns}
        keys = {c.key for c in (*self._file_columns, *plan.columns)}
        self._file_columns = tuple(c for c in self.columns if c.key in keys)
        return block

    def _next_ids(self, most: int) -> range:
        """Return the next ids, `most` at most. They are taken in batches, so that an insert of a million rows
        asks the catalog only about ten times."""
        if not self._ids:
            first = self._take_ids(ROWS_A_GROUP)
            self._ids = range(first, first + ROWS_A_GROUP)
        ids, self._ids = self._ids[:most], self._ids[most:]
        return ids


def refuse_ids(table: str, schema: pa.Schema) -> None:
    if schema.get_field_index(ID) >= 0:
        raise BadData(
            f"{table}: the rows bring their own {ID}",
            "the table assigns ids",
            "Leave that column out, or rename it to keep its values",
        )


def _narrow_block(block: RowBatch, have: Columns) -> RowBatch:
    types = {c.name: c.type for c in have}
    if all(types.get(field.name, field.type) == field.type for field in block.schema):
        return block
    return as_block(narrow_rows(block.table(), have))


def _with_ids(block: RowBatch, columns: Columns, start: int, ids: range) -> pa.Table:
    rows = to_columns(block.table().slice(start, len(ids)), columns)
    numbers = from_numpy(np.arange(ids.start, ids.stop, dtype=np.int64))
    return rows.add_column(0, pa.field(ID, pa.int64()), numbers)
