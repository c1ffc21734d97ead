"""The definition of an index of any kind: its catalog entry, the location of its files, and its
operations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lamella.core.jobs import CountingJob, Job
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

Options = Mapping[str, Any]


DRAFT = ".part"
"""The suffix of files and folders that are being written."""


@dataclass(frozen=True)
class Index:
    """An index as the catalog stores it: columns by their permanent ids, options as JSON. A table has at most
    one index of a kind on the same columns."""

    kind: str
    keys: tuple[int, ...]
    options: Options = field(default_factory=dict, hash=False)

    @property
    def stem(self) -> str:
        """The common part of its file names: "sorted-3"."""
        return "-".join((self.kind, *map(str, self.keys)))

    def owns(self, name: str) -> bool:
        """Whether a file or folder belongs to it: <data file>.sorted-3-<variant>, or a draft of it."""
        own = name.partition(".")[2].partition(".")[0]
        return own.rpartition("-")[0] == self.stem


@dataclass(frozen=True)
class IndexFolder:
    """The location of a table's index files. `folder` has only these, and is created when needed. It is not
    `writable` in a read-only store."""

    folder: Path
    writable: bool = True


def counted_rows(snapshot: Snapshot, job: Job) -> CountingJob:
    """The job of indexing a snapshot's data files, which counts their rows."""
    total = sum(segment.num_rows for segment in snapshot.files)
    return CountingJob(job, total, lambda done, of: f"{snapshot.name}: {done:,} of {of:,} rows indexed")


class Kind(Protocol):
    """The operations on indexes of one kind. Several processes may run any of them at once."""

    def check_options(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        """Return the options with defaults filled in; raises `BadData` for invalid columns or options."""

    def make(self, place: IndexFolder, index: Index, snapshot: Snapshot, job: Job) -> None:
        """Write the missing index files for `snapshot`; called for a new index, and whenever the table's
        files change. If interrupted, the next call continues."""

    def path(self, place: IndexFolder, index: Index, segment: FileSegment, snapshot: Snapshot) -> Path | None:
        """The path of a data file's index, whether or not it exists; None if the file lacks the column."""

    def drop(self, place: IndexFolder, index: Index) -> None:
        """Remove all files of the index, for any snapshot."""

    def problems(self, place: IndexFolder, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        """Describe damage in sentences; `quick` checks the files' descriptions rather than all of their
        bytes. Missing files are not damage: they are built when needed."""

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        """Whether a file or folder with this name belongs to the index and is still of use, given the names
        of existing data files; vacuum removes unneeded ones."""
