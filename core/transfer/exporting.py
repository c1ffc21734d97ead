"""Exports rows of a table, a query or a view to a file or a folder of files, as a whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.locate import is_delta_table
from lamella.core.datasets.partitions import TYPES
from lamella.core.errors import BadData, FileProblem, short_text
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job, SilentJob
from lamella.core.query.builder import Query
from lamella.core.query.find import find_rows
from lamella.core.query.scan_query import scan_query_of
from lamella.core.query.source import Remote, whole_snapshot
from lamella.core.query.view import View
from lamella.core.remote.addresses import is_file_address
from lamella.core.remote.listing import pages
from lamella.core.remote.paths import RemotePath
from lamella.core.scan.parquet_file import footer_of
from lamella.core.scan.read import tables, take_rows
from lamella.core.scan.snapshot import Snapshot, project
from lamella.core.transfer.formats import (
    FORMATS,
    Format,
    UnknownFormat,
    all_options,
    format_named,
    format_of_suffix,
)
from lamella.core.transfer.uploads import OR_REPLACE, refuse_target, upload_draft
from lamella.core.transfer.writer import MAKE_ROOM, Rows, UnknownOption, Values, put_on_disk, sync_folder
from lamella.core.validation import names_of, path_of

__all__ = [
    "Destination",
    "Export",
    "ExportOptions",
    "Preview",
    "UnknownFormat",
    "UnknownOption",
    "draft_of",
    "export",
    "export_query",
    "export_view",
    "format_for",
    "options_of",
    "preview",
    "refuse_special",
]  # fmt: skip

ROWS_A_STEP = 100_000
PREVIEW_CHARACTERS = 4_000
OF_OTHER_COLUMNS = (b"pandas", TYPES)


@dataclass(frozen=True)
class Export:
    """What was written. For a history, `rows` are those of its newest version, `versions` is how many were
    written, and `expired` is how many the table no longer has."""

    path: Path
    rows: int
    bytes: int
    files: int
    versions: int | None = None
    expired: int = 0


@dataclass(frozen=True)
class ExportOptions:
    """The options of an export. `format` is needed if the suffix does not tell; `values` are options of the
    format by name. Without `columns`, all but `_id` are written. `sort` as in `Dataset.read`: "-name"
    descends."""

    format: str | None = None
    columns: Sequence[str] | None = None
    where: Condition | None = None
    sort: Sequence[str] | None = None
    partition_by: Sequence[str] = ()
    include_ids: bool = False
    overwrite: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    def destination(self, path: str | Path) -> Destination:
        by = {"partition_by": self.partition_by} if self.partition_by else {}
        return Destination.of(path, self.format, {**self.values, **by}, self.overwrite)


def options_of(options: Mapping[str, Any]) -> ExportOptions:
    """Make `ExportOptions` from named options, including those of formats."""
    option_names = [field.name for field in fields(ExportOptions) if field.name != "values"]
    of_formats = all_options()
    for name in options:
        if name not in option_names and name not in of_formats:
            raise UnknownOption(name, "Export", [*option_names, *of_formats])
    condition_of(options.get("where"), "export: where")
    names = {
        name: names_of(options[name], f"export: {name}")
        for name in ("columns", "partition_by", "sort")
        if options.get(name) is not None
    }
    values = {name: value for name, value in options.items() if name not in option_names}
    own = {name: value for name, value in options.items() if name in option_names}
    return ExportOptions(**{**own, **names, "values": values})


@dataclass(frozen=True)
class Destination:
    """Where rows are written, and how. `values` has all options of the format."""

    path: Path
    format: Format
    values: Values

    @classmethod
    def of(
        cls,
        path: str | Path,
        format: str | None = None,
        values: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> Destination:
        """Check and make a destination. Raises `FileProblem` if the target exists, unless `overwrite`, or
        cannot be written; `UnknownFormat`, `UnknownOption` and `BadData` for anything else that does not
        fit."""
        elsewhere = RemotePath(path) if isinstance(path, RemotePath) or is_file_address(path) else None
        target = elsewhere or path_of(path, "the export")
        option_values = dict(values or {})
        kind = format_for(target, format, bool(option_values.get("partition_by")))
        options = kind.values(option_values)
        if elsewhere is None:
            kind.refuse_target(target, options)
            _refuse_target(target, overwrite, kind.adds(options))
        else:
            _refuse_elsewhere(elsewhere, kind, options, overwrite)
        return cls(target, kind, options)

    def write(self, rows: Rows, job: Job) -> Export:
        """Write rows. The target appears when it is complete; an existing one stays if that fails or is
        cancelled."""
        if self.values.get("history"):
            raise BadData(f"{rows.name}: rows of a query have no history", fix="Export the table itself")
        self.format.refuse(rows.schema)
        for name in self.values.get("partition_by", ()):
            if name not in rows.schema.names:
                raise BadData(f"{rows.name}: column '{name}' is not exported", fix="Add it to the columns")
        counter = _RowCounter(rows, job)
        if self.format.adds(self.values) and self.path.exists():  # in a transaction of its own
            before = _sizes(self.path).keys() - {self.path}
            self.format.write(self.path, counter.rows, self.values, job)
            sizes = [size for file, size in _sizes(self.path).items() if file not in before]
            return Export(self.path, counter.count, sum(sizes), len(sizes))
        path = self.path
        with upload_draft(path, job) if isinstance(path, RemotePath) else draft_of(path) as draft:
            self.format.write(draft, counter.rows, self.values, job)
            job.check()
            sizes = [*_sizes(draft).values()]
        return Export(self.path, counter.count, sum(sizes), len(sizes))


def _sizes(path: Path) -> dict[Path, int]:
    """The sizes in bytes of all files in a folder, or of the file itself."""
    if isinstance(path, RemotePath):
        entries = (entry for page in pages(path.address, recursive=True) for entry in page)
        return {RemotePath(str(address)): status.size for address, status in entries if status is not None}
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return {file: file.stat().st_size for file in files}


def _refuse_elsewhere(target: RemotePath, kind: Format, values: Values, overwrite: bool) -> None:
    if kind.id == "delta":
        kind.refuse_target(target, values)
    if kind.adds(values):
        if kind.id == "delta" and is_delta_table(target):
            return
        if kind.id != "delta":
            raise FileProblem(
                target,
                "cannot be added to",
                "Remote files can only be written as a whole",
                "Leave add out, or export to this machine",
            )
    refuse_target(target, overwrite, kind.id == "delta" or bool(values.get("partition_by")))


class History(Protocol):
    """The versions of a dataset, which are written as versions of a file."""

    def publish(self, destination: Destination, include_ids: bool, job: Job) -> Export: ...


@runtime_checkable
class WithHistory(Protocol):
    """A dataset with a history."""

    @property
    def history(self) -> History: ...


class _RowCounter:
    """Counts rows as they pass, and reports progress."""

    def __init__(self, rows: Rows, job: Job) -> None:
        self.count = 0
        self.rows = Rows(rows.schema, self._counted_tables(rows, job), rows.total, rows.name)

    def _counted_tables(self, rows: Rows, job: Job) -> Iterator[pa.Table]:
        of = "" if rows.total is None else f" of {rows.total:,}"
        for table in rows.tables:
            job.report(self.count, rows.total, f"{self.count:,}{of} rows")
            yield table
            self.count += len(table)


def export(
    rows: Dataset | Query,
    path: str | Path,
    options: ExportOptions | None = None,
    job: Job | None = None,
    **named: Any,
) -> Export:
    """Write rows of a table, of files in place or of a query to a file, in the format that its suffix names.

    Options, including those of the format, are given as one object or by name: `export(orders, "orders.csv",
    where="n > 1", delimiter=";")`. The file appears when it is complete. Raises `FileProblem` if something
    exists there, unless `overwrite`.
    """
    options, work = options_of(named) if named else options or ExportOptions(), job or Job()
    if isinstance(rows, Dataset) and isinstance(rows, Remote):
        rows = rows.query()  # its rows are not here
    if isinstance(rows, Query):
        return _export_query(_narrow_query(rows, options), path, options, work)
    if not isinstance(rows, Dataset):
        raise BadData(f"export was given {short_text(rows)}", fix="Give a table, an opened file or a query")
    destination = options.destination(path)
    if destination.values.get("history"):
        if options.columns is not None or options.where is not None or options.sort:
            raise BadData(
                "export: a history needs whole tables",
                "A selection of rows or columns, or an order, may not fit every version",
                "Leave columns, where and sort out",
            )
        if not isinstance(rows, WithHistory):
            raise BadData(
                f"{rows.name} keeps no history", fix="Export a table of a store, or leave history out"
            )
        return rows.history.publish(destination, options.include_ids, work)
    snapshot = whole_snapshot(rows, SilentJob(work))
    names = _columns(snapshot, options.columns, options.include_ids)
    for name in destination.values.get("partition_by", ()):
        project(snapshot, [name])
    where = condition_of(options.where, "export: where", snapshot)
    schema = _schema(rows, snapshot, names)
    if options.sort:
        view = View(snapshot, scan_query_of(snapshot, None, where, list(options.sort)), work)
        with closing(view):
            return destination.write(Rows(schema, _pages(view, names), view.num_rows, rows.name), work)
    total, source_rows = _rows(snapshot, names, where, work)
    return destination.write(Rows(schema, source_rows, total, rows.name), work)


def _narrow_query(query: Query, options: ExportOptions) -> Query:
    if options.include_ids:
        raise BadData(f"{query.name}: rows of a query have no _id", fix="Leave include_ids out")
    if options.where is not None:
        query = query.where(options.where)
    if options.sort:
        query = query.sort(list(options.sort))
    return query if options.columns is None else query.select(list(options.columns))


def _export_query(
    query: Query, path: str | Path, options: ExportOptions, job: Job, total: int | None = None
) -> Export:
    destination = options.destination(path)
    if total is None and destination.format.needs_total(destination.values):
        total = query.count(SilentJob(job))
    with closing(query.batches(job)) as reader:
        tables = (pa.Table.from_batches([batch]) for batch in reader)
        return destination.write(Rows(reader.schema, tables, total, query.name), job)


def export_query(
    query: Query,
    path: str | Path,
    format: str | None = None,
    job: Job | None = None,
    *,
    overwrite: bool = False,
    total: int | None = None,
    **values: Any,
) -> Export:
    """Write the answer of a query as `export` does a dataset: streamed, with all of its columns, in its
    order. `values` are options of the format; `total` is the number of rows, if known."""
    options = ExportOptions(format, overwrite=overwrite, values=values)
    return _export_query(query, path, options, job or Job(), total)


def export_view(
    view: View,
    path: str | Path,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    job: Job | None = None,
    *,
    overwrite: bool = False,
    **values: Any,
) -> Export:
    """Write the rows of a view, such as a grid shows, in its order, with these columns or else its own."""
    destination = Destination.of(path, format, values, overwrite)
    visible = project(view.snapshot, view.query.columns if columns is None else columns)
    schema = pa.schema([column.field for column in visible])
    pages = _pages(view, schema.names)
    return destination.write(Rows(schema, pages, view.num_rows, view.snapshot.name), job or Job())


@dataclass(frozen=True)
class Preview:
    """The beginning of a file, if it is text, and about how large it will be; None if unknown."""

    text: str | None
    bytes: int | None


def preview(
    format: Format, values: Mapping[str, Any], sample: pa.Table, total: int | None, name: str = "rows"
) -> Preview:
    """Make a preview from the first rows, by writing them to a temporary file. Raises as an export does."""
    options = format.values(values)
    format.refuse(sample.schema)
    with tempfile.TemporaryDirectory(prefix="lamella-preview-") as folder:
        sizes: list[int] = []
        for rows in (sample.slice(0, 0), sample):
            path = Path(folder, f"{len(sizes)}{format.suffixes[0]}")
            format.write(
                path, Rows(sample.schema, iter([rows] if len(rows) else []), len(rows), name), options, Job()
            )
            sizes.append(sum(_sizes(path).values()))
        text = _first_lines(path, options) if format.is_text else None
    per_row = (sizes[1] - sizes[0]) / max(1, len(sample))
    return Preview(text, None if total is None else round(sizes[0] + per_row * total))


def _first_lines(path: Path, values: Values) -> str:
    encoding = (
        values.get("encoding", "utf-8").replace("utf-8-bom", "utf-8-sig").replace("windows-1252", "cp1252")
    )
    with path.open(encoding=encoding, newline="") as file:
        return file.read(PREVIEW_CHARACTERS)


def _pages(view: View, names: list[str]) -> Iterator[pa.Table]:
    return (view.page(at, ROWS_A_STEP, names) for at in range(0, view.num_rows, ROWS_A_STEP))


def format_for(target: Path, name: str | None = None, partitioned: bool = False) -> Format:
    """Choose the format; raise `UnknownFormat`, or `FileProblem` if neither a name nor the suffix gives
    one."""
    form = format_named(name) if name else format_of_suffix(target.suffix)
    if partitioned:
        if name and form is not None and not form.is_partitioned:
            raise BadData(
                f"{target}: only Parquet and Delta Lake can be partitioned", fix="Leave the format out"
            )
        return form if form is not None and form.is_partitioned else format_named("parquet")
    if form is None:
        suffixes = ", ".join(f.suffixes[0] for f in FORMATS)
        raise FileProblem(
            target, "names no format", fix=f"End the name with one of {suffixes}, or give a format"
        )
    return form


def _refuse_target(target: Path, overwrite: bool, add: bool) -> None:
    if not target.parent.is_dir():
        raise FileProblem(
            target, "cannot be written", f"There is no folder {target.parent}", "Create it first"
        )
    refuse_special(target)
    if add and (target.is_file() or is_delta_table(target)):
        return
    if target.exists() and not overwrite:
        raise FileProblem(
            target,
            "is there already",
            fix=OR_REPLACE,
        )
    if target.is_dir() and not _is_export(target):
        raise FileProblem(
            target, "is a folder that holds other files than an export", fix="Choose another name"
        )


def _is_export(folder: Path) -> bool:
    """Whether every file in the folder is marked as written by a partitioned export."""
    files = [p for p in folder.rglob("*") if not p.is_dir()]
    try:
        return all(p.is_file() and TYPES in (footer_of(p).metadata.metadata or {}) for p in files)
    except FileProblem:
        return False


def _columns(snapshot: Snapshot, columns: Sequence[str] | None, include_ids: bool) -> list[str]:
    own = include_ids or not any(c.name == ID and c.key == 0 for c in snapshot.columns[:1])
    if columns is None:
        return [c.name for c in snapshot.columns if own or c.name != ID]
    names = [c.name for c in project(snapshot, columns)]
    return [ID, *names] if include_ids and ID not in names else names


def _schema(dataset: Dataset, snapshot: Snapshot, names: Sequence[str]) -> pa.Schema:
    """The schema with the metadata of the data, except metadata about other columns, such as by pandas or an
    earlier export."""
    noted = {k: v for k, v in (dataset.schema.metadata or {}).items() if k not in OF_OTHER_COLUMNS}
    metadata = {field.name: field.metadata for field in dataset.schema}
    fields = [pa.field(c.name, c.type, metadata=metadata.get(c.name)) for c in project(snapshot, names)]
    return pa.schema(fields, noted or None)


def _rows(
    snapshot: Snapshot, names: list[str], where: Filter | None, job: Job
) -> tuple[int, Iterator[pa.Table]]:
    """The number of rows, and all rows in order."""
    columns = project(snapshot, names)
    if where is None:
        return snapshot.num_rows, tables(snapshot, columns, SilentJob(job))
    positions = find_rows(snapshot, where, job=job)
    steps = range(0, len(positions), ROWS_A_STEP)
    return len(positions), (take_rows(snapshot, positions[at : at + ROWS_A_STEP], columns) for at in steps)


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Provide a path beside `target` for a file or folder, which replaces the target at the block's end.

    An error leaves the target as it was. Raises `FileProblem` if it cannot be written.
    """
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        try:
            yield draft
            put_on_disk(draft)
            _replace(draft, target)
            sync_folder(target.parent)
        finally:
            _remove(draft)  # on a read-only disk, even removing a missing file fails
    except FileProblem as problem:
        if problem.path != draft:
            raise
        raise FileProblem(target, problem.problem, problem.why, problem.fix) from problem
    except OSError as error:
        raise FileProblem(target, "could not be written", error.strerror or str(error), MAKE_ROOM) from error


def refuse_special(target: Path) -> None:
    """Raise `FileProblem` for a target that is neither a file nor a folder, because the export would replace
    it by a file."""
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
