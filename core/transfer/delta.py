"""Writes Delta Lake tables: a new one, or a new version of an existing one, as a whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.arrow.types import common_type, holds
from lamella.core.datasets.delta import DeltaDataset
from lamella.core.datasets.delta_log import deltalake
from lamella.core.datasets.locate import is_delta_table
from lamella.core.errors import BadData, Cancelled, FileProblem, LamellaError, TypeConflict, instead_of
from lamella.core.jobs import Job
from lamella.core.remote.paths import RemotePath
from lamella.core.transfer.delta_commits import (
    DraftFile,
    actions_of,
    commit_elsewhere,
    drafts_in,
    put_data_files,
)
from lamella.core.transfer.writer import MAKE_ROOM, Rows, Values, put_on_disk, unique_names

if TYPE_CHECKING:
    from deltalake import DeltaTable, WriterProperties

MODES = {"new": "error", "append": "append", "replace": "overwrite"}
"""The library's names for `mode`."""
MOST_DIGITS = 38
CODECS = ("zstd", "snappy", "gzip", "none")
WRITER_FEATURES = frozenset(
    (
        "appendOnly", "changeDataFeed", "deletionVectors", "domainMetadata", "invariants", "timestampNtz",
        "v2Checkpoint", "vacuumProtocolCheck",
    )
)  # fmt: skip
"""The features that a table may require of writers that only add rows, or replace all of them."""
NEWEST_WRITER = 7
RULES = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
"""Metadata keys of columns whose values a writer has to check or generate."""
_SIGNED_TYPES = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def adds_version(values: Values) -> bool:
    return bool(values["mode"] != "new" or values["history"])


def refuse_table(path: Path, values: Values) -> None:
    """Raise `FileProblem` if a new table would replace an existing one with its versions."""
    if is_delta_table(path) and not adds_version(values):
        raise FileProblem(
            path,
            "is already a Delta table",
            "Replacing it by a new one would lose its versions",
            "Add a version with the mode append or replace, or choose another name",
        )


def write_delta(path: Path, rows: Rows, values: Values, job: Job) -> None:
    """Write a new table, or commit a version to an existing one, whose folder stays as it was if that
    fails."""
    library = deltalake()
    names = unique_names(rows.schema.names)
    called = dict(zip(rows.schema.names, names, strict=True))
    schema = pa.schema(
        [
            pa.field(name, delta_type(field.type, field.name))
            for name, field in zip(names, rows.schema, strict=True)
        ]
    )
    partition_by = [called[name] for name in values["partition_by"]]
    if not is_delta_table(path):
        _refuse_partitions(schema, partition_by)
        _write_table(path, _RowStream(rows, names, schema), partition_by, values, job)
        return
    table = DeltaDataset(path).table
    _refuse_rules(path, table, values["mode"])
    partition_by = _partitions_of(path, table, partition_by, schema)
    if values["mode"] == "append":
        schema = _columns_of(path, pa.schema(table.schema().to_arrow()), schema)
    try:
        with staging_folder(path) as draft:
            _write_table(draft, _RowStream(rows, names, schema), partition_by, values, job)
            job.check()
            put_on_disk(draft)
            mode, written = MODES[values["mode"]], library.DeltaTable(draft).schema()
            drafts = list(drafts_in(draft))
            with _explain_errors(path, None, job):
                if isinstance(path, RemotePath):
                    commit_elsewhere(path, drafts, table, mode, written, job)
                    return
                with put_data_files(path, drafts, job):
                    partitions = table.metadata().partition_columns
                    table.create_write_transaction(actions_of(drafts), mode, written, partitions)
    except OSError as error:
        raise FileProblem(path, "could not be written", error.strerror or str(error), MAKE_ROOM) from error


# ------------------------------------------------------------------------------------ types


def delta_type(kind: pa.DataType, column: str) -> pa.DataType:
    """The type in Delta Lake for an Arrow type. Raises `TypeConflict` if there is none."""
    if isinstance(kind, pa.BaseExtensionType):
        return delta_type(kind.storage_type, column)
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return delta_type(kind.value_type, column)
    if is_.is_nested(kind):
        return _nested_type(kind, column)
    if is_.is_decimal(kind):
        if kind.precision > MOST_DIGITS:
            raise TypeConflict(
                f"column '{column}' of type {kind} cannot be exported to Delta Lake",
                f"Its decimal numbers have at most {MOST_DIGITS} digits",
                "Leave the column out, or cast it",
            )
        return pa.decimal128(kind.precision, kind.scale)
    if is_.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    return _plain_type(kind)


def _nested_type(kind: pa.DataType, column: str) -> pa.DataType:
    if is_.is_struct(kind):
        return pa.struct([pa.field(field.name, delta_type(field.type, column)) for field in kind])
    if is_.is_map(kind):
        return pa.map_(delta_type(kind.key_type, column), delta_type(kind.item_type, column))
    return pa.list_(pa.field("element", delta_type(kind.value_type, column)))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if is_.is_null(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.string()
    if is_.is_large_binary(kind) or is_.is_binary_view(kind) or is_.is_fixed_size_binary(kind):
        return pa.binary()
    if is_.is_uint64(kind):
        return pa.decimal128(20, 0)
    if is_.is_float16(kind):
        return pa.float32()
    return pa.date32() if is_.is_date64(kind) else _SIGNED_TYPES.get(kind, kind)


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        return _as(values.storage, kind)
    if is_.is_dictionary(values.type) or is_.is_run_end_encoded(values.type):
        values = values.cast(values.type.value_type)
    if values.type.equals(kind):
        return values
    return pc.cast(values, options=pc.CastOptions(kind, allow_time_truncate=True))


class _RowStream:
    """Rows in the library's form. An error in their source is kept, because the library turns it into
    text."""

    def __init__(self, rows: Rows, names: Sequence[str], schema: pa.Schema) -> None:
        self.error: BaseException | None = None
        self.schema, self.name = schema, rows.name
        self._rows, self._names = rows, list(names)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for table in self._rows.tables:
                for batch in table.rename_columns(self._names).to_batches():
                    yield self._fitting(batch)
        except BaseException as error:
            self.error = error
            raise

    def _fitting(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = []
        for field in self.schema:
            try:
                columns.append(_as(batch.column(field.name), field.type))
            except pa.ArrowInvalid as error:
                raise BadData(
                    f"a value of column '{field.name}' does not fit {field.type}, its type in Delta Lake",
                    str(error),
                    "Leave the column out, or change the value",
                ) from error
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


# ------------------------------------------------------------------------------------ writing


def write_draft(
    folder: Path, rows: Rows, partition_by: Sequence[str], values: Values, job: Job
) -> list[DraftFile]:
    """Write rows as a separate table at a new path, durably; return its data files, for a commit."""
    names = unique_names(rows.schema.names)
    schema = pa.schema(
        [
            pa.field(name, delta_type(field.type, field.name))
            for name, field in zip(names, rows.schema, strict=True)
        ]
    )
    _refuse_partitions(schema, partition_by)
    _write_table(folder, _RowStream(rows, names, schema), partition_by, values, job)
    put_on_disk(folder)
    return list(drafts_in(folder))


def _write_table(path: Path, rows: _RowStream, partition_by: Sequence[str], values: Values, job: Job) -> None:
    """Write a complete table at a new path."""
    with _explain_errors(path, rows, job):
        deltalake().write_deltalake(
            path,
            rows.reader(),
            mode="error",
            name=rows.name,
            partition_by=list(partition_by) or None,
            configuration=configuration_of(rows.schema),
            writer_properties=_properties(values),
        )


def _properties(values: Values) -> WriterProperties:
    codec = values["codec"].upper().replace("NONE", "UNCOMPRESSED")
    properties: WriterProperties = deltalake().WriterProperties(
        compression=codec,
        compression_level=3 if codec == "ZSTD" else None,
        max_row_group_size=values["row_group_rows"],
    )
    return properties


def configuration_of(schema: pa.Schema) -> dict[str, str] | None:
    """The table's configuration: which columns have statistics in the log. Delta's extremes ignore NaN, so
    readers that skip files by them would lose rows; columns that are or contain floats get none."""
    names = [field.name for field in schema if not holds(field.type, is_.is_floating)]
    if len(names) == len(schema):
        return None
    return {"delta.dataSkippingStatsColumns": ",".join(f"`{name.replace('`', '``')}`" for name in names)}


@contextmanager
def staging_folder(path: Path) -> Iterator[Path]:
    """Provide a folder for files that are not part of the table yet, whose name readers ignore. For a remote
    table it is a temporary folder."""
    name = f"_staging-{uuid.uuid4().hex[:8]}"
    draft = Path(tempfile.gettempdir(), name) if isinstance(path, RemotePath) else path / name
    try:
        yield draft
    except FileProblem as problem:
        if problem.path != draft:
            raise
        raise FileProblem(path, problem.problem, problem.why, problem.fix) from problem
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _explain_errors(path: Path, rows: _RowStream | None, job: Job) -> Iterator[None]:
    """Turn errors of the library into ones that users can act on."""
    library = deltalake()
    try:
        yield
    except (library.exceptions.DeltaError, OSError) as error:
        if rows is not None and isinstance(rows.error, LamellaError | Cancelled | OSError):
            raise rows.error from error
        if job.cancelled:
            raise Cancelled from error
        why = str(error).splitlines()[0]
        if isinstance(error, library.exceptions.CommitFailedError):
            raise FileProblem(
                path, "was changed by another program meanwhile", why, "Export again: nothing was added"
            ) from error
        full = os.strerror(errno.ENOSPC) in str(error)
        raise FileProblem(
            path, "could not be written", os.strerror(errno.ENOSPC) if full else why, MAKE_ROOM
        ) from error


# ------------------------------------------------------------------------------------ refusals


def _refuse_partitions(schema: pa.Schema, names: Sequence[str]) -> None:
    for name in names:
        if is_.is_nested(schema.field(name).type):
            raise TypeConflict(
                f"column '{name}' of type {schema.field(name).type} cannot partition a table",
                fix="Partition by text, numbers, dates or times",
            )
    if names and len(set(names)) == len(schema):
        raise BadData("no column is left for the files", fix="Partition by fewer columns")


def _refuse_rules(path: Path, table: DeltaTable, mode: str) -> None:
    """Raise `FileProblem` if a table requires something of its writers that Lamella does not support."""
    protocol, configuration = table.protocol(), table.metadata().configuration
    odd = sorted(set(protocol.writer_features or ()) - WRITER_FEATURES)
    if protocol.min_writer_version > NEWEST_WRITER:
        odd.append(f"version {protocol.min_writer_version} of the writer protocol")
    odd += [f"the constraint {key[18:]}" for key in configuration if key.startswith("delta.constraints.")]
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        odd.append("columnMapping")
    for field in json.loads(table.schema().to_json())["fields"]:
        odd += [f"{key} of column '{field['name']}'" for key in RULES if key in field["metadata"]]
        if not field["nullable"]:
            odd.append(f"column '{field['name']}' without nulls")
    if odd:
        raise FileProblem(
            path,
            f"requires what Lamella cannot write: {', '.join(dict.fromkeys(odd))}",
            fix="Export to a new table, or write with the program that made it",
        )
    if mode == "replace" and configuration.get("delta.appendOnly") == "true":
        raise FileProblem(path, "only allows rows to be added", "delta.appendOnly is set", "Append")


def _partitions_of(path: Path, table: DeltaTable, names: Sequence[str], schema: pa.Schema) -> list[str]:
    """The columns that partition a table; raises `BadData` if others are requested, or one is missing."""
    own = list(table.metadata().partition_columns)
    if names and list(names) != own:
        raise BadData(
            f"{path} is not partitioned by {', '.join(names)}",
            f"It is partitioned by {', '.join(own)}" if own else "It is not partitioned",
            "Leave partition_by out",
        )
    for name in own:
        if name not in schema.names:
            raise BadData(f"{path} is partitioned by column '{name}', which is not exported")
    return own


def _columns_of(path: Path, table: pa.Schema, rows: pa.Schema) -> pa.Schema:
    """Check that rows can be added to a table; return its columns. Raises `TypeConflict`."""
    for name in rows.names:
        if name not in table.names:
            raise TypeConflict(
                f"{path} has no column '{name}'",
                instead_of(name, table.names),
                "Leave the column out, or replace the rows, which gives the table their columns",
            )
    for field in table:
        if field.name not in rows.names:
            raise TypeConflict(f"{path} has a column '{field.name}', which is not exported")
        kind = rows.field(field.name).type
        if common_type(field.type, kind) != field.type:
            raise TypeConflict(
                f"column '{field.name}' is {field.type} in {path}, but {kind} in the export",
                fix="Cast the column first",
            )
    return table
