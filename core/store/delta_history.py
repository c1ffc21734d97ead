"""Publishes the history of a table as a Delta table: each commit becomes a version with its time and message.

A data file of such a table contains the rows of a range of `_id`s, which is part of its name. A version
rewrites the files whose rows differ from the previous version, so that a changed row costs one file.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.sorted_ids import distinct
from lamella.core.arrow.types import holds
from lamella.core.datasets.delta_log import Log, deltalake
from lamella.core.datasets.locate import DELTA_LOG, is_delta_table
from lamella.core.errors import BadData, FileProblem
from lamella.core.jobs import Job, SilentJob
from lamella.core.remote.paths import RemotePath
from lamella.core.scan.read import take_rows
from lamella.core.scan.row_ids import ID_COLUMN, ids_at
from lamella.core.scan.snapshot import Column
from lamella.core.store.commit import Commit
from lamella.core.store.diff import Diff
from lamella.core.store.table_version import TableVersion
from lamella.core.transfer.delta import configuration_of, delta_type, staging_folder, write_draft
from lamella.core.transfer.delta_commits import (
    DraftFile,
    log_file,
    put_checkpoint,
    put_commit,
    put_data_files,
)
from lamella.core.transfer.exporting import Destination, Export, draft_of
from lamella.core.transfer.uploads import upload_draft
from lamella.core.transfer.writer import Rows, Values, unique_names

ENGINE = "Lamella"
NOTE = "lamella"
"""The key in a commit's information that records the version of the table."""
RETENTION_PERIOD = "interval 5200 weeks"
"""The retention period, so long that a clean-up of the Delta table removes nothing of its history."""
COMMITS_A_CHECKPOINT = 100
_NAME = re.compile(r"rows-(\d+)-(\d+)-[^/]*")
_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class _Chunk:
    """The data files, by their paths in the log, with the rows of a range of `_id`s."""

    first: int
    last: int
    paths: tuple[str, ...]


@dataclass(frozen=True)
class _PublishedState:
    """The state of a published Delta table: its newest version `number`, the table's `version` that it
    corresponds to, and that version's time: `stamp` in microseconds in the table, `milliseconds` in the
    log."""

    number: int
    version: int
    stamp: int
    milliseconds: int
    has_ids: bool
    chunks: tuple[_Chunk, ...]
    partition_by: tuple[str, ...]


StateOf = Callable[[int], TableVersion]


def publish_history(
    name: str,
    commits: Sequence[Commit],
    state_of: StateOf,
    destination: Destination,
    include_ids: bool,
    job: Job,
) -> Export:
    """Write every kept commit as a version of a Delta table, or the commits that the Delta table lacks.
    `state_of` returns the table at a version. A new Delta table appears complete; added versions appear one
    by one, and after an error or a cancellation the next call continues after the last one. Raises
    `FileProblem` if the Delta table has another history, or somebody else has written to it."""
    path, values = destination.path, destination.values
    if not is_delta_table(path):
        _refuse_types(destination, commits, state_of, job)
        with upload_draft(path, job) if isinstance(path, RemotePath) else draft_of(path) as draft:
            (draft / DELTA_LOG).mkdir(parents=True)
            writer = _HistoryWriter(draft, name, values, include_ids, tuple(values["partition_by"]), job)
            writer.write_commits(commits, None, state_of)
            return writer.export(path, commits)
    publication = _read_state(path)
    behind = _commits_behind(path, publication, commits)
    if values["partition_by"] and tuple(values["partition_by"]) != publication.partition_by:
        raise BadData(
            f"{path} is not partitioned by {', '.join(values['partition_by'])}", fix="Leave partition_by out"
        )
    if include_ids != publication.has_ids:
        raise BadData(
            f"{path} has {'a' if publication.has_ids else 'no'} column _id",
            fix=f"Publish with include_ids={publication.has_ids}, as before",
        )
    _refuse_types(destination, behind, state_of, job)
    writer = _HistoryWriter(path, name, values, include_ids, publication.partition_by, job)
    writer.number, writer.chunks, writer.milliseconds = (
        publication.number + 1,
        list(publication.chunks),
        publication.milliseconds,
    )
    is_kept = any(commit.version == publication.version for commit in commits)
    writer.write_commits(behind, state_of(publication.version) if is_kept else None, state_of)
    return writer.export(path, commits)


def _refuse_types(destination: Destination, commits: Sequence[Commit], state_of: StateOf, job: Job) -> None:
    """Raise `TypeConflict` for a column of any version whose type a Delta table cannot store."""
    checked_columns: set[tuple[Column, ...]] = set()
    for commit in commits:
        job.check()
        columns = state_of(commit.version).columns
        if columns not in checked_columns:
            destination.format.refuse(pa.schema([column.field for column in columns]))
            checked_columns.add(columns)


def _read_state(root: Path) -> _PublishedState:
    """Read the state of a published Delta table; raise `FileProblem` if its newest version was not published
    by Lamella."""
    log = Log.of(root)
    number = log.checked_version(None)
    lines = log_file(root, number).read_bytes().decode().splitlines()
    actions: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
    about: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    note = about.get(NOTE)
    if not isinstance(note, dict):
        writer = about.get("engineInfo") or "another program"
        raise FileProblem(
            root,
            f"has a version that is not from the table: {number:,}, {about.get('operation', 'written')}",
            f"It was written by {writer}: later versions would no longer match the table",
            "Publish the history to another path, or revert that version with the program that wrote it",
        )
    with log.table(number) as table:
        entries = pa.table(table.get_add_actions()).column("path").to_pylist()
        partition_by = tuple(table.metadata().partition_columns)
    return _PublishedState(
        number,
        note["version"],
        note["time"],
        about["inCommitTimestamp"],
        note["ids"],
        tuple(_chunks_of(root, entries)),
        partition_by,
    )


def _chunks_of(root: Path, paths: Sequence[str]) -> Iterator[_Chunk]:
    by_range: dict[tuple[int, int], list[str]] = {}
    for path in paths:
        match = _NAME.fullmatch(path.rpartition("/")[2])
        if match is None:
            raise FileProblem(root, f"has a data file that is not part of a published history: {path}")
        by_range.setdefault((int(match[1]), int(match[2])), []).append(path)
    for (first, last), files in sorted(by_range.items()):
        yield _Chunk(first, last, tuple(files))


def _commits_behind(root: Path, publication: _PublishedState, commits: Sequence[Commit]) -> list[Commit]:
    """The commits that the Delta table lacks. Raises `FileProblem` if it has another history."""
    same = next((commit for commit in commits if commit.version == publication.version), None)
    behind = [commit for commit in commits if commit.version > publication.version]
    if same is not None and _stamp(same) == publication.stamp:
        return behind
    before = [commit for commit in commits if commit.version < publication.version]
    if same is None and behind and _is_between(publication.stamp, before, behind):
        return behind  # that version has expired
    raise FileProblem(
        root,
        "has the history of another table",
        f"Its newest version is version {publication.version:,}, of "
        f"{_time(publication.stamp):%Y-%m-%d %H:%M:%S} UTC, which this table does not have",
        "Publish the history to another path",
    )


def _is_between(stamp: int, before: Sequence[Commit], behind: Sequence[Commit]) -> bool:
    return all(_stamp(commit) < stamp for commit in before[-1:]) and stamp < _stamp(behind[0])


def _stamp(commit: Commit) -> int:
    """The time of a commit, in microseconds since 1970."""
    when = commit.time or _EPOCH
    return (when.astimezone(dt.UTC) - _EPOCH) // _MICROSECOND


def _time(stamp: int) -> dt.datetime:
    return _EPOCH + stamp * _MICROSECOND


class _HistoryWriter:
    """Writes versions of the Delta table. `number` is that of the next one; `milliseconds` is the time of the
    last one: that of its commit, but always later than the version before, as the protocol requires."""

    def __init__(
        self,
        root: Path,
        name: str,
        values: Values,
        include_ids: bool,
        partition_by: tuple[str, ...],
        job: Job,
    ) -> None:
        self.number, self.chunks, self.milliseconds = 0, list[_Chunk](), 0
        self._root, self._name, self._values, self._job = root, name, values, job
        self._include_ids, self._partition_by = include_ids, partition_by
        self._work = SilentJob(job)
        self._versions = self._files = self._bytes = self._rows = 0
        self._id = str(uuid.uuid4())
        self._features: tuple[str, ...] | None = None

    def write_commits(
        self, commits: Sequence[Commit], before: TableVersion | None, state_of: StateOf
    ) -> None:
        if self.number:
            with Log.of(self._root).table(self.number - 1) as table:
                self._id = str(table.metadata().id)
                self._features = tuple(table.protocol().reader_features or ())
        for place, commit in enumerate(commits):
            self._job.report(place, len(commits), f"Version {commit.version:,} of {self._name}")
            after = state_of(commit.version)
            self._write(commit, before, after)
            before = after
        if before is not None:
            self._rows = before.snapshot.num_rows
        self._put_checkpoint()

    def export(self, path: Path, commits: Sequence[Commit]) -> Export:
        expired = commits[-1].version - len(commits) if commits else 0
        return Export(path, self._rows, self._bytes, self._files, self._versions, expired)

    # --------------------------------------------------------------- versions

    def _write(self, commit: Commit, before: TableVersion | None, after: TableVersion) -> None:
        columns = self._columns(after)
        for name in self._partition_by:
            if name not in columns:
                raise BadData(
                    f"version {commit.version:,} of {self._name} has no column '{name}'",
                    "The table would be partitioned by it",
                    "Leave partition_by out",
                )
        is_same = before is not None and self._is_kept(self._columns(before), columns)
        with staging_folder(self._root) as draft:
            if before is None or not is_same:
                gone, chunks = list(self.chunks), list(self._whole(after, draft))
                remaining: list[_Chunk] = []
            else:
                gone, chunks = self._changed_chunks(before, after, draft)
                remaining = [chunk for chunk in self.chunks if chunk not in gone]
            drafts = [file for _, files in chunks for file in files]
            actions = [
                *self._about(commit, before, after),
                *({"remove": self._removal(path)} for chunk in gone for path in chunk.paths),
                *({"add": file.add} for file in drafts),
            ]
            content = "\n".join(json.dumps(action) for action in actions).encode()
            with put_data_files(self._root, drafts, self._job):
                put_commit(self._root, self.number, content, self._job)
        if not isinstance(self._root, RemotePath):  # for readers that use the file's modification time
            os.utime(log_file(self._root, self.number), ns=(self.milliseconds * 1_000_000,) * 2)
        added = (replace(chunk, paths=tuple(file.add["path"] for file in files)) for chunk, files in chunks)
        self.chunks = sorted([*remaining, *added], key=lambda chunk: chunk.first)
        self.number, self._versions = self.number + 1, self._versions + 1
        self._files += len(drafts)
        self._bytes += len(content) + sum(file.add["size"] for file in drafts)

    def _columns(self, state: TableVersion) -> dict[str, Column]:
        """The columns by their names in the Delta table."""
        columns = [ID_COLUMN, *state.columns] if self._include_ids else list(state.columns)
        return dict(zip(unique_names([column.name for column in columns]), columns, strict=True))

    @staticmethod
    def _is_kept(before: Mapping[str, Column], after: Mapping[str, Column]) -> bool:
        """Whether files with the columns before are still valid with the columns after, except for added
        ones, which are null in them. After a rename, cast or drop, files are rewritten, so that no file has a
        column by a name that later means another."""
        now = {name: (column.key, column.type) for name, column in after.items()}
        return all(now.get(name) == (column.key, column.type) for name, column in before.items())

    def _changed_chunks(
        self, before: TableVersion, after: TableVersion, draft: Path
    ) -> tuple[list[_Chunk], list[tuple[_Chunk, list[DraftFile]]]]:
        """The chunks with rows that differ, and the chunks that replace and follow them."""
        ids = _changed_ids(before, after, self._work)
        firsts = np.array([chunk.first for chunk in self.chunks], np.int64)
        lasts = np.array([chunk.last for chunk in self.chunks], np.int64)
        places = np.searchsorted(lasts, ids)
        inside = np.zeros(len(ids), bool)
        if len(lasts):
            inside = (places < len(lasts)) & (firsts[np.minimum(places, len(lasts) - 1)] <= ids)
        gone = [self.chunks[place] for place in distinct(places[inside]).tolist()]
        spans = [(chunk.first, chunk.last) for chunk in gone]
        for place in distinct(places[~inside]).tolist():
            loose = ids[~inside & (places == place)]
            spans.append((int(loose[0]), int(loose[-1])))
        written = list[tuple[_Chunk, list[DraftFile]]]()
        for first, last in sorted(spans):
            start, stop = (after.ranges.behind(after.snapshot, edge) for edge in (first - 1, last))
            written += self._chunks_between(after, start, stop, draft)
        return gone, written

    def _whole(self, state: TableVersion, draft: Path) -> Iterator[tuple[_Chunk, list[DraftFile]]]:
        total = int(state.snapshot.segment_starts[-1])
        yield from self._chunks_between(state, 0, total, draft)

    def _chunks_between(
        self, state: TableVersion, start: int, stop: int, draft: Path
    ) -> Iterator[tuple[_Chunk, list[DraftFile]]]:
        """Write the live rows at these positions, each file with as many rows as a row group holds."""
        step = self._values["row_group_rows"]
        for at in range(start, stop, step):
            self._job.check()
            positions = _live_between(state, at, min(at + step, stop))
            if len(positions):
                first, last = ids_at(state, positions[[0, -1]]).tolist()
                chunk = _Chunk(first, last, ())
                yield chunk, self._write_chunk(chunk, state, positions, draft)

    def _write_chunk(
        self, chunk: _Chunk, state: TableVersion, positions: np.ndarray, draft: Path
    ) -> list[DraftFile]:
        columns = self._columns(state)
        rows = take_rows(state.snapshot, positions, list(columns.values())).rename_columns(list(columns))
        folder = draft / uuid.uuid4().hex[:8]
        by = self._partition_by
        files = []
        drafts = write_draft(
            folder, Rows(rows.schema, iter([rows]), len(rows), self._name), by, self._values, self._work
        )
        for number, file in enumerate(drafts):
            path, _, _ = file.add["path"].rpartition("/")
            own = f"rows-{chunk.first}-{chunk.last}-{uuid.uuid4().hex[:12]}-{number}.parquet"
            above = file.name.rpartition("/")[0]
            add = {key: value for key, value in file.add.items() if value is not None}
            add |= {"path": f"{path}/{own}" if path else own, "dataChange": True}
            files.append(DraftFile(file.source, f"{above}/{own}" if above else own, add))
        return files

    # ------------------------------------------------------------ what the log says

    def _about(
        self, commit: Commit, before: TableVersion | None, after: TableVersion
    ) -> Iterator[dict[str, Any]]:
        """Yield the actions of a commit that do not concern files. The first has its time, as the protocol
        requires."""
        stamp = _stamp(commit)
        self.milliseconds = milliseconds = max(stamp // 1000, self.milliseconds + 1)
        counts = {
            "numOutputRows": commit.inserted,
            "numUpdatedRows": commit.updated,
            "numDeletedRows": commit.deleted,
        }
        operation, parameters = _operation(commit, before, after, is_first=not self.number)
        yield {
            "commitInfo": {
                "inCommitTimestamp": milliseconds,
                "timestamp": milliseconds,
                "operation": operation,
                "operationParameters": parameters | {"version": str(commit.version)},
                "operationMetrics": {name: str(count) for name, count in counts.items() if count},
                "engineInfo": ENGINE,
                "userMetadata": commit.message,
                NOTE: {"version": commit.version, "time": stamp, "ids": self._include_ids},
            }
        }
        fields = [
            pa.field(name, delta_type(column.type, name)) for name, column in self._columns(after).items()
        ]
        schema = pa.schema(fields)
        features = _reader_features(schema, self._features or ())
        if features != self._features:
            yield {"protocol": _protocol(features)}
            self._features = features
        if before is None or self._columns(before) != self._columns(after):
            yield {"metaData": self._metadata(schema)}
        yield {"txn": {"appId": NOTE, "version": commit.version, "lastUpdated": milliseconds}}

    def _metadata(self, schema: pa.Schema) -> dict[str, Any]:
        return {
            "id": self._id,
            "name": self._name,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": deltalake().Schema.from_arrow(schema).to_json(),
            "partitionColumns": list(self._partition_by),
            "createdTime": self.milliseconds,
            "configuration": {
                "delta.enableInCommitTimestamps": "true",
                "delta.logRetentionDuration": RETENTION_PERIOD,
                "delta.deletedFileRetentionDuration": RETENTION_PERIOD,
                **(configuration_of(schema) or {}),
            },
        }

    def _removal(self, path: str) -> dict[str, Any]:
        return {"path": path, "deletionTimestamp": int(time.time() * 1000), "dataChange": True}

    def _put_checkpoint(self) -> None:
        """Write a checkpoint after many commits, so that readers need not read each."""
        log = Log.of(self._root)
        if self.number - 1 - max(log.checkpoints, default=0) < COMMITS_A_CHECKPOINT:
            return
        with suppress(FileProblem), log.table(self.number - 1) as table:
            put_checkpoint(self._root, table, self.number - 1, self._job)


def _live_between(state: TableVersion, start: int, stop: int) -> np.ndarray:
    """The positions of live rows in a range."""
    deleted = state.snapshot.deleted_positions
    gone = deleted[np.searchsorted(deleted, start) : np.searchsorted(deleted, stop)] - start
    return np.delete(np.arange(start, stop, dtype=np.int64), gone)


def _changed_ids(before: TableVersion, after: TableVersion, job: Job) -> np.ndarray:
    """The ids of rows that only one version has, or that differ in a column, ascending."""
    diff, parts = Diff(before, after), [np.empty(0, np.int64)]
    for block in diff.row_blocks(job):
        parts += [ids_at(after, block.added_positions), ids_at(before, block.removed_positions)]
        is_changed = np.zeros(len(block.ids), bool)
        for _, differing, _, _ in diff.differing_cells(block):
            is_changed |= differing
        parts.append(block.ids[is_changed])
    return distinct(np.concatenate(parts))


def _operation(
    commit: Commit, before: TableVersion | None, after: TableVersion, is_first: bool
) -> tuple[str, dict[str, str]]:
    """Delta Lake's name and parameters for the operation of a commit."""
    if is_first:
        return "CREATE TABLE AS SELECT", {}
    if commit.kind in ("undo", "redo", "restore"):
        return "RESTORE", {} if commit.restores is None else {"restores": str(commit.restores)}
    counts = (commit.inserted > 0, commit.updated > 0, commit.deleted > 0)
    if any(counts):
        operations = {
            (True, False, False): ("WRITE", {"mode": "Append"}),
            (False, True, False): ("UPDATE", {}),
            (False, False, True): ("DELETE", {}),
        }
        return operations.get(counts, ("MERGE", {}))
    if before is None or before.columns == after.columns:
        return "SET TBLPROPERTIES", {}
    names = {column.key for column in before.columns}, {column.key for column in after.columns}
    if names[0] < names[1]:
        return "ADD COLUMNS", {}
    return ("DROP COLUMNS" if names[1] < names[0] else "CHANGE COLUMN"), {}


def _reader_features(schema: pa.Schema, before: Sequence[str]) -> tuple[str, ...]:
    """The features that readers need; earlier ones stay."""
    has_ntz = any(
        holds(field.type, lambda kind: is_.is_timestamp(kind) and kind.tz is None) for field in schema
    )
    return tuple(sorted({*before, *(["timestampNtz"] if has_ntz else [])}))


def _protocol(features: Sequence[str]) -> dict[str, Any]:
    protocol: dict[str, Any] = {
        "minReaderVersion": 3 if features else 1,
        "minWriterVersion": 7,
        "writerFeatures": ["inCommitTimestamp", *features],
    }
    return protocol | ({"readerFeatures": list(features)} if features else {})
