"""Saves edits back into a file that was opened in place, as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.datasets.base import Dataset, paths_of
from lamella.core.datasets.cached_dataset import CachedDataset
from lamella.core.datasets.edit_problem import COPY, edit_problem
from lamella.core.datasets.locate import refuse_changed_files
from lamella.core.datasets.text.dataset import TextFile
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.query.source import whole_snapshot
from lamella.core.scan.read import tables
from lamella.core.transfer.exporting import Destination, Export, draft_of
from lamella.core.transfer.file_edits import FileEdits, differing, file_edits, fill_columns
from lamella.core.transfer.parquet_edits import rewrite_parquet
from lamella.core.transfer.text_edits import rewrite_text
from lamella.core.transfer.writer import Rows
from lamella.core.validation import path_of


@dataclass(frozen=True)
class SavedEdits:
    """What was written. `remarks` are sentences that users should read."""

    path: Path
    cells: int
    inserted: int
    deleted: int
    remarks: tuple[str, ...] = ()


def _path_of(dataset: Dataset) -> Path:
    return Path(paths_of(dataset)[0])


def save_edits(
    dataset: Dataset,
    cells: Mapping[int, Mapping[str, Any]] | Sequence[pa.Table] = (),
    rows: pa.Table | Sequence[Mapping[str, Any]] | None = None,
    delete: Sequence[int] | np.ndarray | None = None,
    job: Job | None = None,
) -> SavedEdits:
    """Change cells of a file that was opened in place, delete rows and append others.

    Rows are numbered from 0 in the order of the file. `cells` are given by row and column, or as Arrow
    tables as in `Table.edit`, with row numbers in `_id`. The new file is written beside the old one and
    replaces it when it is complete; rows that are not edited stay as they were. `dataset` shows the file as
    it was; open it again to see the changes.

    trips = open_dataset("trips.csv") save_edits(trips, {3: {"fare": 12.5, "note": None}}, delete=[7])

    Raises `FileProblem` if the file cannot be written, cannot hold a change, or has changed since it was
    opened; `UnknownColumn`, `UnknownRow`, `TypeConflict` and `BadData`. The file stays as it was then.
    """
    own = job or Job()
    _refuse_read_only(dataset)
    snapshot = whole_snapshot(dataset, own)
    _refuse_read_only(dataset)
    edits = differing(snapshot, file_edits(snapshot, cells, rows, delete))
    path = _path_of(dataset)
    if not (edits.num_cells or edits.num_new or len(edits.deleted_rows)):
        return SavedEdits(path, 0, 0, 0)
    links = _other_links(path)
    with _replacement(path) as draft:
        if isinstance(dataset, CachedDataset):
            assert isinstance(dataset.file, TextFile)
            refuse_changed_files(dataset.file.stamps)
            remarks = rewrite_text(dataset.file, snapshot, edits, draft, own)
            refuse_changed_files(dataset.file.stamps)
        else:
            remarks = rewrite_parquet(path, snapshot, edits, draft, own)
        own.check()
    return SavedEdits(path, edits.num_cells, edits.num_new, len(edits.deleted_rows), (*remarks, *links))


def _refuse_read_only(dataset: Dataset) -> None:
    problem = edit_problem(dataset)
    if problem is not None:
        raise problem


def _other_links(path: Path) -> list[str]:
    count = path.stat().st_nlink - 1
    if count < 1:
        return []
    names = "Another hard link of the file leads" if count == 1 else f"{count} other hard links lead"
    return [f"{names} to its old content"]


@contextmanager
def _replacement(path: Path) -> Iterator[Path]:
    """Provide a path for the new file. It replaces the old one, or the target of a symbolic link, and keeps
    its owner, permissions and extended attributes."""
    real = Path(os.path.realpath(path))
    with draft_of(real) as draft:
        yield draft
        _keep_rights(real, draft)


def _keep_rights(real: Path, draft: Path) -> None:
    before, after = real.stat(), draft.stat()
    if os.name == "posix" and (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid):
        try:
            os.chown(draft, before.st_uid, before.st_gid)
        except PermissionError as error:
            raise FileProblem(
                real,
                "belongs to another user, and its owner cannot be kept",
                "The new file would belong to you",
                COPY,
            ) from error
    shutil.copystat(real, draft)
    os.utime(draft)


def export_edited(
    dataset: Dataset, edits: FileEdits, path: str | Path, job: Job | None = None, **options: Any
) -> Export:
    """Write the rows with edits applied to another file, as `export` does."""
    own = job or Job()
    overwrite, kind = bool(options.pop("overwrite", False)), options.pop("format", None)
    destination = Destination.of(path_of(path, "the copy"), kind, options, overwrite)
    snapshot = whole_snapshot(dataset, own)

    def edited_tables() -> Iterator[pa.Table]:
        first = 0
        for table in tables(snapshot, snapshot.columns, own):
            yield edits.apply(table, first)
            first += table.num_rows
        if edits.rows is not None:
            yield fill_columns(edits.rows, snapshot)

    total = snapshot.num_rows - len(edits.deleted_rows) + edits.num_new
    return destination.write(Rows(snapshot.schema, edited_tables(), total, dataset.name), own)
