"""Staged edits: their combined effect, and conflicts with other commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_numpy, put, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.arrow.sorted_ids import among, distinct
from lamella.core.arrow.types import ID
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.expressions import col
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.commit import Commit
from lamella.core.store.edits import cells_by_row
from lamella.core.store.rows import OldVersion
from lamella.core.store.table import Table
from lamella.ui.editing.edit_target import EditTarget

NO_IDS = np.empty(0, np.int64)
DELETED_TEXT = "(deleted)"


@dataclass(frozen=True)
class EditSize:
    """How much an edit changes, known before it is combined with others."""

    cells: int = 0
    deleted: int = 0
    new: int = 0

    def __add__(self, other: EditSize) -> EditSize:
        return EditSize(self.cells + other.cells, self.deleted + other.deleted, self.new + other.new)

    @property
    def text(self) -> str:
        """Such as `9,000 cells being changed`; empty if nothing is."""
        parts = [
            f"{quantity(self.cells, 'cell')} being changed" if self.cells else "",
            f"{quantity(self.deleted, 'row')} being deleted" if self.deleted else "",
            f"{quantity(self.new, 'new row')} being added" if self.new else "",
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, eq=False)
class StagedEdit:
    """One edit: the new cells, as `Table.edit` takes them, and their old values; deleted rows; and new rows.
    It was made on rows of `version`."""

    cells: Sequence[pa.Table] = ()
    before: Sequence[pa.Table] = ()
    deleted_ids: np.ndarray = field(default_factory=lambda: NO_IDS)
    rows: pa.Table | None = None
    version: int = 0

    @property
    def num_cells(self) -> int:
        return num_cells(self.cells)

    @property
    def size(self) -> EditSize:
        return EditSize(self.num_cells, len(self.deleted_ids), 0 if self.rows is None else self.rows.num_rows)


def num_cells(tables: Sequence[pa.Table]) -> int:
    """How many cells there are in tables as `Table.edit` takes them."""
    return sum(table.num_rows * (table.num_columns - 1) for table in tables)


def stage_edit(target: EditTarget, snapshot: Snapshot, version: int, cells: Sequence[pa.Table],
           deleted: np.ndarray | None, rows: pa.Table | None) -> StagedEdit:  # fmt: skip
    """Make an edit with the old values from the snapshot that was shown; for a table, from the version.
    Blocks."""
    before = []
    for part in cells:
        names = [name for name in part.column_names if name != ID]
        before.append(target.values(snapshot, version, names, to_numpy(part.column(ID))))
    return StagedEdit(cells, before, NO_IDS if deleted is None else deleted, rows, version)


@dataclass(frozen=True)
class ChangedColumn:
    """Ascending ids, with the old and new values of their cells."""

    ids: np.ndarray
    before: pa.Array
    after: pa.Array

    def at(self, places: np.ndarray) -> ChangedColumn:
        return ChangedColumn(self.ids[places], take(self.before, places), take(self.after, places))


@dataclass(frozen=True)
class Difference:
    """The combined effect of edits made one after the other, without cells that have their old value
    again."""

    columns: Mapping[str, ChangedColumn]
    deleted_ids: np.ndarray
    deletion_versions: np.ndarray
    """For each deleted row, the version of the table in which it was seen."""
    rows: Sequence[pa.Table]

    @property
    def num_cells(self) -> int:
        return sum(len(column.ids) for column in self.columns.values())

    @property
    def num_new(self) -> int:
        return sum(rows.num_rows for rows in self.rows)

    @property
    def count(self) -> int:
        return self.num_cells + len(self.deleted_ids) + self.num_new

    @property
    def cells(self) -> list[pa.Table]:
        """The cells as `Table.edit` takes them."""
        return [
            pa.Table.from_arrays([from_numpy(column.ids), column.after], names=[ID, name])
            for name, column in self.columns.items()
        ]

    @property
    def new_rows(self) -> pa.Table | None:
        return pa.concat_tables(self.rows, promote_options="default") if self.rows else None

    def commit(self, table: Table, version: int, job: Job) -> Commit:
        """Commit the difference. Blocks. Raises `VersionConflict` if there was a commit after `version`."""
        message = f"edit {', '.join(list(self.columns)[:3])}" if self.columns else "edit"
        return table.edit(self.cells, self.new_rows, self.deleted_ids, message, job, version)

    def apply_to(self, ids: np.ndarray, rows: pa.Table) -> pa.Table:
        """Rows with these ids as they are shown: with their edited values."""
        columns = []
        for name in rows.column_names:
            columns.append(rows.column(name))
            changed = self.columns.get(name)
            if changed is None:
                continue
            places = np.flatnonzero(among(ids, changed.ids))
            if len(places):
                new = take(changed.after, np.searchsorted(changed.ids, ids[places]))
                columns[-1] = put(columns[-1], places, new)
        return pa.Table.from_arrays(columns, schema=rows.schema)


def difference(name: str, edits: Sequence[StagedEdit]) -> Difference:
    """Combine edits. Blocks."""
    after_tables = [part for edit in edits for part in edit.cells]
    before_tables = [part for edit in edits for part in edit.before]
    all_deleted = np.concatenate([NO_IDS, *(e.deleted_ids for e in edits)])
    deleted_ids, first = np.unique(all_deleted, return_index=True)
    versions = np.concatenate([NO_IDS, *(np.full(len(e.deleted_ids), e.version) for e in edits)])[first]
    ids, after = cells_by_row(name, after_tables)
    _, before = cells_by_row(name, before_tables[::-1])
    columns = {}
    for place, column in enumerate(after.table.column_names):
        new, old = combine_chunks(after.table.column(place)), combine_chunks(before.table.column(column))
        lacks = after.omissions.get(column, np.zeros(len(ids), bool))
        changed = differs(old, new) & ~lacks & ~among(ids, deleted_ids)
        if changed.any():
            columns[column] = ChangedColumn(ids, old, new).at(np.flatnonzero(changed))
    return Difference(columns, deleted_ids, versions, [edit.rows for edit in edits if edit.rows is not None])


@dataclass(frozen=True)
class CellTexts:
    """A cell that differs, or that someone else changed into `theirs`; None for null. For a row deleted here
    but changed by someone else, the first cell that they changed."""

    row_id: int
    name: str
    before: str | None
    after: str | None
    theirs: str | None = None


def cell_texts(changes: Difference, most: int) -> list[CellTexts]:
    """The first changed cells, by row."""
    cells: list[CellTexts] = []
    for name, column in changes.columns.items():
        some = column.at(np.arange(min(most, len(column.ids))))
        texts = zip(some.ids.tolist(), whole_texts(some.before), whole_texts(some.after), strict=True)
        cells += [CellTexts(row_id, name, before, after) for row_id, before, after in texts]
    return sorted(cells, key=lambda cell: cell.row_id)[:most]


@dataclass(frozen=True)
class Check:
    """A version of the table, and the cells of a difference that have changed there."""

    version: int
    conflicts: Sequence[CellTexts]
    missing_ids: np.ndarray
    """Rows of the difference that someone deleted."""


def check(table: Table, changes: Difference, job: Job) -> Check:
    """Compare a difference with the newest version of the table. Blocks."""
    job.check()
    now = table.as_of(table.version)
    ids = distinct(np.concatenate([NO_IDS, changes.deleted_ids, *(c.ids for c in changes.columns.values())]))
    ids_now = to_numpy(now.read([ID], where=col(ID).is_in(ids.tolist())).column(0)) if len(ids) else NO_IDS
    missing_ids = ids[~among(ids, distinct(ids_now))]
    conflicts: list[CellTexts] = []
    for name, column in changes.columns.items():
        lost = column.at(np.flatnonzero(among(column.ids, missing_ids)))
        mine = zip(lost.ids.tolist(), whole_texts(lost.before), whole_texts(lost.after), strict=True)
        conflicts += [CellTexts(row_id, name, before, after, DELETED_TEXT) for row_id, before, after in mine]
        existing_cells = column.at(np.flatnonzero(~among(column.ids, missing_ids)))
        if not len(existing_cells.ids):
            continue
        theirs = combine_chunks(now.read([name], ids=existing_cells.ids.tolist()).column(0))
        met = np.flatnonzero(differs(existing_cells.before, theirs) & differs(theirs, existing_cells.after))
        some, texts_now = existing_cells.at(met), whole_texts(take(theirs, met))
        texts = zip(
            some.ids.tolist(), whole_texts(some.before), whole_texts(some.after), texts_now, strict=True
        )
        conflicts += [CellTexts(*each) for each in ((i, name, b, a, t) for i, b, a, t in texts)]
    for version in distinct(changes.deletion_versions).tolist():
        job.check()
        is_live = ~among(changes.deleted_ids, missing_ids)
        ids = changes.deleted_ids[(changes.deletion_versions == version) & is_live]
        if version != now.version and len(ids):
            conflicts += _changed_rows(table.as_of(version), now, ids.tolist())
    return Check(now.version, sorted(conflicts, key=lambda cell: cell.row_id), missing_ids)


def _changed_rows(base: OldVersion, now: OldVersion, ids: list[int]) -> list[CellTexts]:
    """The rows among these whose content has changed."""
    cells_by_row: dict[int, CellTexts] = {}
    for name in now.schema.names:
        if name not in base.schema.names or base.schema.field(name).type != now.schema.field(name).type:
            continue
        before, theirs = (combine_chunks(each.read([name], ids=ids).column(0)) for each in (base, now))
        met = np.flatnonzero(differs(before, theirs))
        texts = zip(met.tolist(), whole_texts(take(before, met)), whole_texts(take(theirs, met)), strict=True)
        for place, old, new in texts:
            cells_by_row.setdefault(ids[place], CellTexts(ids[place], name, old, DELETED_TEXT, new))
    return list(cells_by_row.values())


def without(changes: Difference, cells: Sequence[tuple[int, str]], missing_ids: np.ndarray) -> Difference:
    """The difference without these cells, without deletions of their rows, and without rows in
    `missing_ids`."""
    dropped: dict[str, list[int]] = {}
    for row_id, name in cells:
        dropped.setdefault(name, []).append(row_id)
    columns = {}
    for name, column in changes.columns.items():
        mask = ~np.isin(column.ids, [*dropped.get(name, []), *missing_ids.tolist()])
        if mask.any():
            columns[name] = column.at(np.flatnonzero(mask))
    mask = ~np.isin(changes.deleted_ids, [*missing_ids.tolist(), *(row_id for row_id, _ in cells)])
    return Difference(columns, changes.deleted_ids[mask], changes.deletion_versions[mask], changes.rows)
