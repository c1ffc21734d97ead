"""Delta Lake tables, read in place: the log lists the Parquet files of a version and their deleted rows."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.types import common_type
from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.delta_log import Log, unknown_feature
from lamella.core.datasets.locate import DELTA_LOG, Location, cannot_read, is_delta_table, table_name
from lamella.core.datasets.parquet import check_small, read_footers
from lamella.core.errors import BadData, FileProblem, short_text
from lamella.core.remote.addresses import is_address
from lamella.core.remote.files import files
from lamella.core.remote.listing import pages
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.remote.problems import MissingFile
from lamella.core.remote.requests import answers
from lamella.core.scan.parquet_file import Footer
from lamella.core.scan.partial_footer import OTHER_COLUMNS, UnreadableColumns
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

if TYPE_CHECKING:
    from deltalake import DeltaTable

PARTITION = "A partition column: the log of the table has its value for each file"
READER_FEATURES = frozenset(
    (
        "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview",
        "v2Checkpoint", "vacuumProtocolCheck",
    )
)  # fmt: skip
"""The reader features that are supported; a table with any other is refused."""
NEWEST_READER = 3
MAPPING = "delta.columnMapping."
FIELD_ID = b"PARQUET:field_id"
MOST_LOOKUPS = 64
"""Up to this many files elsewhere are looked up one by one, in parallel; for more, the folder is listed."""
_COPY = re.compile(r"/lamella-delta-[^/]*/(.*)")
MOST_BROKEN_COMMITS = 3
"""If the last commit of a log cannot be read, the history is read from one before; this many are tried."""
_ROWS = ("num_added_rows", "numOutputRows", "num_output_rows", "num_inserted_rows")
"""The names that different writers use for the number of rows added by a commit."""


@dataclass(frozen=True)
class DeltaVersion:
    """A version of a Delta table that its log can still give. `time` is in UTC. `rows` is the number of rows
    it added, if its writer recorded that; `engine` is that writer, `message` its note."""

    number: int
    time: dt.datetime | None = None
    operation: str = ""
    rows: int | None = None
    engine: str = ""
    message: str = ""


def versions_of(path: str | Path) -> list[DeltaVersion]:
    """Return the versions of a Delta table that its log can give, newest first. Blocks while their commits
    are read. Raises `FileProblem` and `MissingLibrary`."""
    root = path_or_address(path)
    if not is_delta_table(root):
        raise FileProblem(root, "is not a Delta table", f"It has no folder {DELTA_LOG}", "Check the path")
    log = Log.of(root)
    history = {commit["version"]: commit for commit in _history(log)}
    return [_version(number, history.get(number, {})) for number in reversed(log.versions)]


def _history(log: Log) -> list[dict[str, Any]]:
    """The history of the newest readable version: the last commits may be incomplete."""
    problem: FileProblem | None = None
    for number in log.versions[: -MOST_BROKEN_COMMITS - 1 : -1]:
        try:
            with log.table(log.checked_version(number), with_history=True) as table:
                return table.history()
        except FileProblem as error:
            problem = problem or error
    raise problem or log.nothing()


def _version(number: int, commit: Mapping[str, Any]) -> DeltaVersion:
    stamp, metrics = commit.get("timestamp"), commit.get("operationMetrics") or {}
    rows = next((int(metrics[name]) for name in _ROWS if str(metrics.get(name, "")).isdecimal()), None)
    time = None if stamp is None else dt.datetime.fromtimestamp(stamp / 1000, dt.UTC)
    mode = (commit.get("operationParameters") or {}).get("mode", "")
    operation = " ".join(word for word in (commit.get("operation", ""), mode) if word)
    return DeltaVersion(
        number, time, operation, rows, commit.get("engineInfo", ""), commit.get("userMetadata", "")
    )


def open_delta(location: Location, options: OpenOptions) -> DeltaDataset:
    return DeltaDataset(location.root, options.version, options.checksums == "verify")


class DeltaDataset(Dataset):
    """The live rows of one version, file by file, in the order in which the files were written."""

    format = "Delta Lake"

    def __init__(self, root: Path, version: int | None = None, is_verified: bool = True) -> None:
        """Open the newest version unless one is named. Raises `FileProblem`, also for a version that no
        longer exists and for unsupported reader features, and `MissingLibrary`."""
        self.name, self.paths = table_name(root), (root,)
        log = Log.of(root)
        self.version, self.newest = log.checked_version(version), log.newest
        self._is_verified = is_verified
        with log.table(self.version) as self.table:
            _refuse_features(root, self.table)
            self._snapshot = _snapshot(log, self.version, self.table, is_verified)
        check_small(self._snapshot, is_verified)

    @property
    def files(self) -> set[Path]:
        """The data files with rows of this version."""
        return {file.path for file in self._snapshot.files}

    @property
    def watched_paths(self) -> tuple[Path, ...]:
        """The folder that changes when the table gets another version; none for a table elsewhere."""
        return () if isinstance(self.paths[0], RemotePath) else (self.paths[0] / DELTA_LOG,)

    @property
    def remarks(self) -> tuple[str, ...]:
        if self.version == self.newest:
            return ()
        return (f"Version {self.version:,} of the Delta table; the newest is {self.newest:,}",)

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def versions(self) -> list[DeltaVersion]:
        """Return the versions that can be opened, newest first. Blocks."""
        return versions_of(self.paths[0])

    def as_of(self, when: int | str | dt.datetime) -> DeltaDataset:
        """Return the table at a version, given by its number or by a time at which it was the newest. A time
        is ISO text or a datetime; without a zone it is in UTC. Raises `FileProblem` and `BadData`."""
        if isinstance(when, int):
            return DeltaDataset(self.paths[0], when, self._is_verified)
        time = _time(when)
        before = [version for version in self.versions() if version.time and version.time <= time]
        if not before:
            raise FileProblem(
                self.paths[0],
                f"has no version of {time:%Y-%m-%d %H:%M:%S} UTC or before",
                fix="Name a later time",
            )
        return DeltaDataset(self.paths[0], before[0].number, self._is_verified)


def _time(when: str | dt.datetime) -> dt.datetime:
    try:
        time = dt.datetime.fromisoformat(when) if isinstance(when, str) else when
        return time.astimezone(dt.UTC) if time.tzinfo else time.replace(tzinfo=dt.UTC)
    except (ValueError, AttributeError, OverflowError) as error:
        fix = "Give its number, or a time such as 2026-11-28T12:00"
        raise BadData(f"a version of a Delta table cannot be {short_text(when)}", fix=fix) from error


def _refuse_features(root: Path, table: DeltaTable) -> None:
    protocol = table.protocol()
    if protocol.min_reader_version > NEWEST_READER:
        raise FileProblem(
            root,
            f"requires version {protocol.min_reader_version} of Delta Lake's reader protocol",
            f"Lamella supports versions up to {NEWEST_READER}",
            "Read it with the program that wrote it",
        )
    if unknown := sorted(set(protocol.reader_features or ()) - READER_FEATURES):
        raise unknown_feature(root, unknown)


@dataclass(frozen=True)
class _Field:
    """A column as the log describes it. `stored_name` is its name in the files; `id` is its number there, in
    tables that map columns by number."""

    name: str
    type: pa.DataType
    stored_name: str
    id: str | None = None


def _fields(root: Path, table: DeltaTable) -> list[_Field]:
    schema = pa.schema(table.schema().to_arrow())
    mode = table.metadata().configuration.get(f"{MAPPING}mode", "none")
    fields = []
    for field, described in zip(schema, json.loads(table.schema().to_json())["fields"], strict=True):
        about = described["metadata"] if mode != "none" else {}
        if mode != "none":
            _refuse_renamed_fields(root, field.name, described["type"])
        number = str(about[f"{MAPPING}id"]) if mode == "id" else None
        fields.append(_Field(field.name, field.type, about.get(f"{MAPPING}physicalName", field.name), number))
    return fields


def _refuse_renamed_fields(root: Path, column: str, kind: Any) -> None:
    """Raise `FileProblem` where a field inside a column has another name in the files."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        if field["metadata"].get(f"{MAPPING}physicalName", field["name"]) != field["name"]:
            raise FileProblem(
                root,
                f"maps the names of fields inside column '{column}'",
                "Lamella reads mapped names of columns, but not of fields inside them",
                "Read it with the program that wrote it",
            )
        _refuse_renamed_fields(root, column, field["type"])
    for part in ("elementType", "keyType", "valueType"):
        _refuse_renamed_fields(root, column, kind.get(part))


@dataclass(frozen=True)
class _LiveFile:
    """A file with rows of a version. `partition` maps each partition column to its value, an array of length
    one."""

    path: Path
    size: int
    time: int
    partition: Mapping[str, pa.Array]


def _live_files(root: Path, table: DeltaTable) -> list[_LiveFile]:
    """The files in the order in which they were written; those of one commit by name."""
    actions = pa.table(table.get_add_actions(flatten=False))
    by_column = {}
    if "partition" in actions.column_names:
        values = actions.column("partition").combine_chunks()
        by_column = {field.name: values.field(field.name) for field in values.type}
    entries = actions.select(["path", "size_bytes", "modification_time"]).to_pylist()
    files = [
        _LiveFile(
            _local(root, entry["path"]),
            entry["size_bytes"],
            entry["modification_time"],
            {name: column.slice(place, 1) for name, column in by_column.items()},
        )
        for place, entry in enumerate(entries)
    ]
    return sorted(files, key=lambda file: (file.time, file.path))


def _local(root: Path, address: str) -> Path:
    """The path of a file that the log names relative to the table, or by a whole URI, as a shallow clone
    does."""
    if isinstance(root, RemotePath):
        return _elsewhere(root, address)
    parts = urlsplit(address)
    if parts.scheme not in ("", "file"):
        raise _shallow_clone(root, parts)
    return Path(unquote(parts.path)) if parts.scheme else root / unquote(address)


def _elsewhere(root: RemotePath, address: str) -> RemotePath:
    """`_local` for a table elsewhere. Deletion vectors name files in the local copy of the log."""
    parts = urlsplit(address)
    if not parts.scheme:
        return root / unquote(address)
    text = unquote(address)
    if parts.scheme == "file" and (match := _COPY.search(text)):
        return root / match[1]
    if is_address(text):
        file_address, own = RemotePath(text).address, root.address
        is_same = (file_address.scheme, file_address.place) == (own.scheme, own.place)
        if is_same and file_address.key.startswith(f"{own.key}/"):
            return RemotePath(str(own.at(file_address.key)))
    raise _shallow_clone(root, parts)


def _shallow_clone(root: Path, parts: SplitResult) -> FileProblem:
    return FileProblem(
        root,
        f"has rows in files elsewhere: {parts.scheme}://{parts.netloc}",
        "It is a shallow clone of another table",
        "Open that table",
    )


def _note_files(root: Path, live: Sequence[_LiveFile]) -> None:
    """Fetch the sizes and times of files elsewhere: look up a few one by one, list the folder for many."""
    if not isinstance(root, RemotePath):
        return
    if len(live) > MOST_LOOKUPS:
        for page in pages(root.address, recursive=True):
            for address, status in page:
                if status is not None:
                    files.note(address, status)
        return
    with suppress(MissingFile):  # reported later, with the version
        answers(
            [
                partial(files.remote_status, file.path.address)
                for file in live
                if isinstance(file.path, RemotePath)
            ]
        )


def _refuse_other_file(log: Log, version: int, file: _LiveFile) -> None:
    """Raise `FileProblem` if a file is missing or has another size than in the log."""
    try:
        size = file.path.stat().st_size
    except (FileNotFoundError, MissingFile) as error:
        newer = (
            "Open the newest version"
            if version < log.newest
            else "Restore the file, or write the table again"
        )
        raise FileProblem(
            log.root,
            f"has lost files of version {version:,}, such as {file.path.name}",
            "A vacuum removes the files that later versions no longer need" if version < log.newest
            else "They were removed, but its log still names them",
            newer,
        ) from error  # fmt: skip
    except OSError as error:
        raise cannot_read(file.path, error) from error
    if size != file.size:
        raise FileProblem(
            file.path,
            "is not the file that the log of its table names",
            f"It has {size:,} bytes, not {file.size:,}",
            "Copy or download it again, or wait until it is written",
        )


def _snapshot(log: Log, version: int, table: DeltaTable, is_verified: bool) -> Snapshot:
    fields, files = _fields(log.root, table), _live_files(log.root, table)
    _note_files(log.root, files)
    for file in files:
        _refuse_other_file(log, version, file)
    footers = read_footers([file.path for file in files], is_verified)
    for footer in footers:
        _refuse_unreadable(footer)
    partitions = set(table.metadata().partition_columns)
    columns = tuple(
        Column(field.name, field.type, key, note=PARTITION if field.name in partitions else "")
        for key, field in enumerate(fields)
    )
    parts = [_segment(file, footer, fields, columns) for file, footer in zip(files, footers, strict=True)]
    segments = tuple(part for part in parts if part.num_rows)
    starts = dict(
        zip([s.path for s in segments], np.cumsum([0, *(s.num_rows for s in segments)]), strict=False)
    )
    stamps = ((str(footer.path), *footer.fingerprint, footer.is_verified) for footer in footers)
    token = ("delta", str(log.root), table.metadata().id, version, *stamps)
    deleted = _deleted_positions(log.root, table, starts)
    return Snapshot(table_name(log.root), columns, segments, token, deleted)


def _refuse_unreadable(footer: Footer) -> None:
    """Raise `FileProblem` if columns of a file cannot be read: the log says that the table has them."""
    for name, why in footer.unreadable_columns.items():
        raise UnreadableColumns(
            footer.path, f"has a column that cannot be read: '{name}'", why, OTHER_COLUMNS
        )


def _segment(
    file: _LiveFile, footer: Footer, fields: Sequence[_Field], columns: Sequence[Column]
) -> FileSegment:
    by_id = {(leaf.metadata or {}).get(FIELD_ID, b"").decode(): leaf.name for leaf in footer.schema}
    stored, names, constants = set(footer.schema.names), dict[int, str](), dict[int, pa.Array]()
    for field, column in zip(fields, columns, strict=True):
        if column.note == PARTITION:
            constants[column.key] = file.partition[field.name].cast(field.type)
            continue
        name = field.stored_name if field.id is None else by_id.get(field.id, "")
        if name in stored:
            _refuse_type(footer, name, field)
            names[column.key] = name
    return FileSegment(
        footer.path, footer.num_rows, names, footer.fingerprint, constants, is_verified=footer.is_verified
    )


def _refuse_type(footer: Footer, name: str, field: _Field) -> None:
    """Raise `FileProblem` if values of a file might change when read as the log's type. Times of 96 bits have
    no zone in the file: they are in UTC, as everywhere in Delta Lake."""
    stored = footer.schema.field(name).type
    if common_type(field.type, stored) == field.type or common_type(stored, field.type) == field.type:
        return
    if name in footer.int96_columns and is_.is_timestamp(stored) and is_.is_timestamp(field.type):
        return
    raise FileProblem(
        footer.path,
        f"column '{field.name}' is {stored} here but {field.type} in the log of its table",
        "Converting the values could change them",
        "Read it with the program that wrote it",
    )


def _deleted_positions(root: Path, table: DeltaTable, starts: Mapping[Path, int]) -> np.ndarray:
    """The positions of rows that deletion vectors mark as deleted; the files still hold these rows."""
    gone = [np.empty(0, np.int64)]
    for path, is_live in _deletion_vectors(root, table):
        if path in starts:
            gone.append(np.flatnonzero(~is_live) + starts[path])
    return np.sort(np.concatenate(gone)).astype(np.int64)


def _deletion_vectors(root: Path, table: DeltaTable) -> Iterator[tuple[Path, np.ndarray]]:
    """Each file with a deletion vector, and which of its rows are live; rows beyond the vector's end are."""
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return
    for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
        for place in range(batch.num_rows):
            path = _local(root, batch.column("filepath")[place].as_py())
            yield path, to_numpy(batch.column("selection_vector")[place].values)
