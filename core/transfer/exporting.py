"""Rows of a table, or of anything open, as a file or a folder of files of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.arguments import Condition, condition_of, names_of, path_of
from lamella.core.dataset import Dataset
from lamella.core.datasets.hive import TYPES
from lamella.core.errors import BadData, FileProblem, UnknownName
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.positions import find
from lamella.core.scan.footers import footer
from lamella.core.scan.paths import chosen
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.core.scan.stream import tables
from lamella.core.schema import ID
from lamella.core.transfer.export_formats import FORMATS, Format, Writer
from lamella.core.transfer.import_progress import Unreported
from lamella.core.transfer.partitions import PartitionedFolder
from lamella.core.transfer.publishing import published, refuse_special

ROWS_A_STEP = 100_000
OF_OTHER_COLUMNS = (b"pandas", TYPES)


class UnknownFormat(UnknownName):
    kind = "format"


@dataclass(frozen=True)
class Export:
    path: Path
    rows: int
    bytes: int
    files: int


@dataclass(frozen=True)
class ExportOptions:
    """`format` is said where the suffix does not; `partition_by` makes a folder of Parquet files, with a
    folder for each value of these columns. All columns but `_id` where none are named."""

    format: str | None = None
    columns: Sequence[str] | None = None
    where: Condition | None = None
    partition_by: Sequence[str] = ()
    include_ids: bool = False
    overwrite: bool = False


class UnknownOption(UnknownName):
    kind = "option"


def options_of(given: Mapping[str, Any]) -> ExportOptions:
    """Raises `UnknownOption`, and `BadData` or `BadFilter` for values that do not fit theirs."""
    known = [field.name for field in fields(ExportOptions)]
    for name in given:
        if name not in known:
            raise UnknownOption(name, "Export", known)
    condition_of(given.get("where"), "export: where")
    names = {
        name: names_of(given[name], f"export: {name}")
        for name in ("columns", "partition_by")
        if given.get(name) is not None
    }
    return ExportOptions(**{**given, **names})


def export(
    dataset: Dataset, path: str | Path, options: ExportOptions | None = None, job: Job | None = None
) -> Export:
    """Write rows to a file of the format that its suffix names.

    It appears when it is whole. Raises `FileProblem` where something is there already, unless `overwrite`.
    """
    options = options or ExportOptions()
    target, work = path_of(path, "the export"), job or Job()
    kind = _format(target, options.format, options.partition_by)
    _refuse_target(target, options.overwrite)
    dataset.fill(Unreported(work))
    snapshot = dataset.snapshot()
    names = _columns(snapshot, options.columns, options.include_ids)
    schema = _schema(dataset, snapshot, names)
    where = condition_of(options.where, "export: where", snapshot)
    for name in options.partition_by:
        if name not in names:
            chosen(snapshot, [name])
            raise BadData(f"{dataset.name}: column '{name}' is not among those exported", fix="Name it, too")
    with published(target) as draft:
        with closing(_writer(kind, draft, schema, options.partition_by)) as writer:
            rows = _write_all(snapshot, names, where, writer, work)
        files = [p for p in draft.rglob("*") if p.is_file()] if draft.is_dir() else [draft]
        sizes = [file.stat().st_size for file in files]
    return Export(target, rows, sum(sizes), len(sizes))


def _format(target: Path, named: str | None, partition_by: Sequence[str]) -> Format:
    by_id = {known.id: known for known in FORMATS}
    if named is not None and named not in by_id:
        raise UnknownFormat(named, "Export", by_id)
    suffix = target.suffix.casefold()
    found = by_id[named] if named else next((f for f in FORMATS if suffix in f.suffixes), None)
    if partition_by:
        if named not in (None, "parquet"):
            raise BadData(f"{target}: only Parquet can be partitioned", fix="Leave the format out")
        return by_id["parquet"]
    if found is None:
        known = ", ".join(f.suffixes[0] for f in FORMATS)
        raise FileProblem(
            target, "names no format", fix=f"End the name with one of {known}, or give a format"
        )
    return found


def _refuse_target(target: Path, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise FileProblem(target, "cannot be written", f"There is no folder {target.parent}", "Make it first")
    refuse_special(target)
    if target.exists() and not overwrite:
        raise FileProblem(
            target,
            "is there already",
            fix="Choose another name, or replace it: overwrite=True, or --overwrite",
        )
    if target.is_dir() and not _is_export(target):
        raise FileProblem(
            target, "is a folder that holds other things than an export", fix="Choose another name"
        )


def _is_export(folder: Path) -> bool:
    """Whether every file in it says that it was written into folders here."""
    files = [p for p in folder.rglob("*") if not p.is_dir()]
    try:
        return all(p.is_file() and TYPES in (footer(p).metadata.metadata or {}) for p in files)
    except FileProblem:
        return False


def _columns(snapshot: Snapshot, columns: Sequence[str] | None, include_ids: bool) -> list[str]:
    own = include_ids or not any(c.name == ID and c.key == 0 for c in snapshot.columns[:1])
    if columns is None:
        return [c.name for c in snapshot.columns if own or c.name != ID]
    named = [c.name for c in chosen(snapshot, columns)]
    return [ID, *named] if include_ids and ID not in named else named


def _schema(dataset: Dataset, snapshot: Snapshot, names: Sequence[str]) -> pa.Schema:
    """With what is noted about the data; but not of other columns, as by pandas or an earlier export."""
    noted = {k: v for k, v in (dataset.schema.metadata or {}).items() if k not in OF_OTHER_COLUMNS}
    known = {field.name: field.metadata for field in dataset.schema}
    fields = [pa.field(c.name, c.type, metadata=known.get(c.name)) for c in chosen(snapshot, names)]
    return pa.schema(fields, noted or None)


def _writer(kind: Format, draft: Path, schema: pa.Schema, partition_by: Sequence[str]) -> Writer:
    if partition_by:
        return PartitionedFolder(draft, schema, partition_by)
    return kind.open(draft, schema)


def _write_all(snapshot: Snapshot, names: list[str], where: Filter | None, writer: Writer, job: Job) -> int:
    done = 0
    total, found = _rows(snapshot, names, where, job)
    for table in found:
        job.report(done, total, f"{done:,} of {total:,} rows")
        writer.write(table)
        done += len(table)
    writer.finish()
    return done


def _rows(
    snapshot: Snapshot, names: list[str], where: Filter | None, job: Job
) -> tuple[int, Iterator[pa.Table]]:
    """How many there are, and all of them in order."""
    columns = chosen(snapshot, names)
    if where is None:
        return snapshot.num_rows, tables(snapshot, columns, Unreported(job))
    found = find(snapshot, where, job=job).positions
    steps = range(0, len(found), ROWS_A_STEP)
    return len(found), (take_rows(snapshot, found[at : at + ROWS_A_STEP], columns) for at in steps)
