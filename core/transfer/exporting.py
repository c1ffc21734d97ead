"""Rows of a table, or of anything open, as a file or a folder of files, whole or not at all."""

from __future__ import annotations

import shutil
import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.nested import no_text
from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.partitions import TYPES, folder_name, types_note
from lamella.core.errors import BadData, FileProblem, TypeConflict, UnknownName
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job, Unreported
from lamella.core.query.builder import Query
from lamella.core.query.find import find_rows
from lamella.core.query.source import whole_snapshot
from lamella.core.query.view import View
from lamella.core.scan.parquet_file import footer_of
from lamella.core.scan.read import tables, take_rows
from lamella.core.scan.snapshot import Snapshot, project
from lamella.core.transfer.formats import FORMATS, Format, ParquetFile, Writer
from lamella.core.validation import names_of, path_of

MOST_FOLDERS = 10_000
MOST_HELD_ROWS = 500_000
MOST_OPEN_FILES = 100


class PartitionedFolder:
    """`key=value/part-0.parquet`. A partition has more parts where too many files would be open at once."""

    def __init__(self, path: Path, schema: pa.Schema, by: Sequence[str]) -> None:
        self._path, self._by = path, list(by)
        for name in by:
            _refuse_type(schema.field(name))
        others = [field for field in schema if field.name not in by]
        if not others:
            raise BadData("no column is left for the files", fix="Partition by fewer columns")
        note = types_note([schema.field(name) for name in by])
        self._schema = pa.schema(others, (schema.metadata or {}) | note)
        self._buffers: dict[str, list[pa.Table]] = {}
        self._rows: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()
        self._open: OrderedDict[str, ParquetFile] = OrderedDict()
        path.mkdir()

    def write(self, rows: pa.Table) -> None:
        values = rows.select(self._schema.names)
        for folder, places in self._folders(rows):
            self._buffers.setdefault(folder, []).append(take(values, places))
            self._rows[folder] += len(places)
        if len(self._buffers.keys() | self._parts.keys()) > MOST_FOLDERS:
            raise self._too_many()
        while self._rows.total() > MOST_HELD_ROWS:
            self._flush(self._rows.most_common(1)[0][0])

    def finish(self) -> None:
        for folder in sorted(self._buffers):
            self._flush(folder)
        if not self._parts:
            self._file("")

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _folders(self, rows: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
        """Each folder that some of the rows belong in, and their places."""
        codes, names = np.zeros(len(rows), np.int64), [""]
        for column in self._by:
            encoded = rows.column(column).combine_chunks().dictionary_encode()
            own = [folder_name(column, value) for value in [*_values(column, encoded.dictionary), None]]
            valid = to_numpy(encoded.indices.is_valid())
            index = np.where(valid, to_numpy(encoded.indices), len(own) - 1)
            folders, codes = np.unique(codes * len(own) + index, return_inverse=True)
            names = [str(Path(names[code // len(own)], own[code % len(own)])) for code in folders.tolist()]
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        yield from zip(names, np.split(order, ends[:-1]), strict=True)

    def _flush(self, folder: str) -> None:
        rows = pa.concat_tables(self._buffers.pop(folder))
        del self._rows[folder]
        file = self._file(folder)
        file.write(rows)
        file.finish()

    def _file(self, folder: str) -> ParquetFile:
        if folder not in self._open:
            if len(self._open) >= MOST_OPEN_FILES:
                self._open.popitem(last=False)[1].close()
            (self._path / folder).mkdir(parents=True, exist_ok=True)
            path = self._path / folder / f"part-{self._parts[folder]}.parquet"
            self._parts[folder] += 1
            self._open[folder] = ParquetFile(path, self._schema)
        self._open.move_to_end(folder)
        return self._open[folder]

    def _too_many(self) -> BadData:
        return BadData(
            f"partitioning by {', '.join(self._by)} would make more than {MOST_FOLDERS:,} folders",
            fix="Partition by columns of fewer values",
        )


def _values(column: str, values: pa.Array) -> list[Any]:
    """For the names of folders."""
    try:
        items: list[Any] = values.to_pylist()
    except UnicodeDecodeError as error:
        raise no_text(f"Text of column '{column}'", error) from error
    except OverflowError as error:
        raise BadData(
            f"column '{column}' holds times that cannot name folders",
            f"They are not between the years 1 and 9999: {error}",
            "Leave these rows out, or partition by another column",
        ) from error
    return items


def _refuse_type(field: pa.Field) -> None:
    plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    texts = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_decimal(plain)
    if not (texts or pa.types.is_primitive(plain)) or pa.types.is_duration(plain):
        raise TypeConflict(
            f"column '{field.name}' of type {field.type} cannot name folders",
            fix="Partition by text, numbers, dates or times",
        )


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """A path beside `target` to write a file or a folder at; it takes the target's place at the block's end.

    An error leaves the target as it was. Raises `FileProblem` where it cannot be written.
    """
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        try:
            yield draft
            _replace(draft, target)
        finally:
            _remove(draft)  # a read-only disk refuses even to remove what is not there
    except OSError as error:
        raise FileProblem(
            target, "could not be written", error.strerror or str(error), "Choose another folder or make room"
        ) from error


def refuse_special(target: Path) -> None:
    """Raise `FileProblem` for what is neither a file nor a folder: it would be a file afterwards."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise FileProblem(
            target, "is not a file", "It is a device, a pipe or a socket", "Choose another name"
        )


def _replace(draft: Path, target: Path) -> None:
    if not target.is_dir():
        draft.replace(target)
        return
    old = target.with_name(f"{draft.name}.old")
    target.replace(old)
    try:
        draft.replace(target)
    except OSError:
        old.replace(target)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


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


def options_of(options: Mapping[str, Any]) -> ExportOptions:
    """Raises `UnknownOption`, and `BadData` or `BadFilter` for values that do not fit theirs."""
    known = [field.name for field in fields(ExportOptions)]
    for name in options:
        if name not in known:
            raise UnknownOption(name, "Export", known)
    condition_of(options.get("where"), "export: where")
    names = {
        name: names_of(options[name], f"export: {name}")
        for name in ("columns", "partition_by")
        if options.get(name) is not None
    }
    return ExportOptions(**{**options, **names})


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
    snapshot = whole_snapshot(dataset, Unreported(work))
    names = _columns(snapshot, options.columns, options.include_ids)
    schema = _schema(dataset, snapshot, names)
    where = condition_of(options.where, "export: where", snapshot)
    for name in options.partition_by:
        if name not in names:
            project(snapshot, [name])
            raise BadData(f"{dataset.name}: column '{name}' is not among those exported", fix="Name it, too")
    with published(target) as draft:
        with closing(_writer(kind, draft, schema, options.partition_by)) as writer:
            rows = _write_all(snapshot, names, where, writer, work)
        files = [p for p in draft.rglob("*") if p.is_file()] if draft.is_dir() else [draft]
        sizes = [file.stat().st_size for file in files]
    return Export(target, rows, sum(sizes), len(sizes))


def export_query(
    query: Query,
    path: str | Path,
    format: str | None = None,
    job: Job | None = None,
    *,
    overwrite: bool = False,
) -> Export:
    """Write the answer of a query as `export` does a dataset: streamed, all of its columns, in its order."""
    target, work = path_of(path, "the export"), job or Job()
    kind = _format(target, format, ())
    _refuse_target(target, overwrite)
    with closing(query.batches(work)) as reader:
        steps = (pa.Table.from_batches([batch]) for batch in reader)
        return _export_rows(kind, target, reader.schema, steps, None, work)


def export_view(
    view: View,
    path: str | Path,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    job: Job | None = None,
    *,
    overwrite: bool = False,
) -> Export:
    """Write the rows of a view, in its order, with these columns or else its own: what a grid shows."""
    target, work = path_of(path, "the export"), job or Job()
    kind = _format(target, format, ())
    _refuse_target(target, overwrite)
    shown = project(view.snapshot, view.query.columns if columns is None else columns)
    schema = pa.schema([column.field for column in shown])
    names = [column.name for column in shown]
    pages = (view.page(at, ROWS_A_STEP, names) for at in range(0, view.num_rows, ROWS_A_STEP))
    return _export_rows(kind, target, schema, pages, view.num_rows, work)


def _export_rows(
    kind: Format, target: Path, schema: pa.Schema, steps: Iterable[pa.Table], total: int | None, job: Job
) -> Export:
    done = 0
    with published(target) as draft:
        with closing(kind.open(draft, schema)) as writer:
            for rows in steps:
                of = "" if total is None else f" of {total:,}"
                job.report(done, total, f"{done:,}{of} rows")
                writer.write(rows)
                done += len(rows)
            job.check()
            writer.finish()
        size = draft.stat().st_size
    return Export(target, done, size, 1)


def _format(target: Path, named: str | None, partition_by: Sequence[str]) -> Format:
    by_id = {known.id: known for known in FORMATS}
    if named is not None and named not in by_id:
        raise UnknownFormat(named, "Export", by_id)
    suffix = target.suffix.casefold()
    export_format = by_id[named] if named else next((f for f in FORMATS if suffix in f.suffixes), None)
    if partition_by:
        if named not in (None, "parquet"):
            raise BadData(f"{target}: only Parquet can be partitioned", fix="Leave the format out")
        return by_id["parquet"]
    if export_format is None:
        known = ", ".join(f.suffixes[0] for f in FORMATS)
        raise FileProblem(
            target, "names no format", fix=f"End the name with one of {known}, or give a format"
        )
    return export_format


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
        return all(p.is_file() and TYPES in (footer_of(p).metadata.metadata or {}) for p in files)
    except FileProblem:
        return False


def _columns(snapshot: Snapshot, columns: Sequence[str] | None, include_ids: bool) -> list[str]:
    own = include_ids or not any(c.name == ID and c.key == 0 for c in snapshot.columns[:1])
    if columns is None:
        return [c.name for c in snapshot.columns if own or c.name != ID]
    named = [c.name for c in project(snapshot, columns)]
    return [ID, *named] if include_ids and ID not in named else named


def _schema(dataset: Dataset, snapshot: Snapshot, names: Sequence[str]) -> pa.Schema:
    """With what is noted about the data; but not of other columns, as by pandas or an earlier export."""
    noted = {k: v for k, v in (dataset.schema.metadata or {}).items() if k not in OF_OTHER_COLUMNS}
    known = {field.name: field.metadata for field in dataset.schema}
    fields = [pa.field(c.name, c.type, metadata=known.get(c.name)) for c in project(snapshot, names)]
    return pa.schema(fields, noted or None)


def _writer(kind: Format, draft: Path, schema: pa.Schema, partition_by: Sequence[str]) -> Writer:
    if partition_by:
        return PartitionedFolder(draft, schema, partition_by)
    return kind.open(draft, schema)


def _write_all(snapshot: Snapshot, names: list[str], where: Filter | None, writer: Writer, job: Job) -> int:
    done = 0
    total, tables = _rows(snapshot, names, where, job)
    for table in tables:
        job.report(done, total, f"{done:,} of {total:,} rows")
        writer.write(table)
        done += len(table)
    writer.finish()
    return done


def _rows(
    snapshot: Snapshot, names: list[str], where: Filter | None, job: Job
) -> tuple[int, Iterator[pa.Table]]:
    """How many there are, and all of them in order."""
    columns = project(snapshot, names)
    if where is None:
        return snapshot.num_rows, tables(snapshot, columns, Unreported(job))
    positions = find_rows(snapshot, where, job=job)
    steps = range(0, len(positions), ROWS_A_STEP)
    return len(positions), (take_rows(snapshot, positions[at : at + ROWS_A_STEP], columns) for at in steps)
