"""What an index is, whatever its kind: its entry, where its files are, and what can be done with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

Options = Mapping[str, Any]


DRAFT = ".part"
"""What files and folders end in that are being written."""


@dataclass(frozen=True)
class Index:
    """An index as the catalog has it: columns by their permanent ids, options as JSON has them. A table has
    one of a kind on the same columns."""

    kind: str
    keys: tuple[int, ...]
    options: Options = field(default_factory=dict, hash=False)

    @property
    def stem(self) -> str:
        """Its own beginning of file names: "sorted-3"."""
        return "-".join((self.kind, *map(str, self.keys)))

    def owns(self, name: str) -> bool:
        """Whether a file or folder is its own, <data file>.sorted-3-<made by what>, or a draft of it."""
        own = name.partition(".")[2].partition(".")[0]
        return own.rpartition("-")[0] == self.stem


@dataclass(frozen=True)
class IndexFolder:
    """Where the files of a table's indexes are: `folder` is theirs alone, and made when it is needed. Where a
    store may not be written, it is not `writable`."""

    folder: Path
    writable: bool = True


class Kind(Protocol):
    """What can be done with the indexes of a kind. All of it may be done by several processes at once."""

    def checked(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        """The options, with those that were left out; raises `BadData` for columns and options that no index
        of the kind can have."""

    def make(self, place: IndexFolder, index: Index, snapshot: Snapshot, job: Job) -> None:
        """Write what is missing to find the rows of `snapshot`; called for a new index, and whenever the
        table's files changed. Cut short, it leaves what the next call goes on with."""

    def path(self, place: IndexFolder, index: Index, segment: FileSegment, snapshot: Snapshot) -> Path | None:
        """Where the index of a data file is, there or not; None where the file lacks the column."""

    def drop(self, place: IndexFolder, index: Index) -> None:
        """Remove the files of the index, whichever snapshots they are for."""

    def problems(self, place: IndexFolder, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        """What is damaged, as sentences; `quick` looks at what files say of themselves, not at all of their
        bytes. What is missing is none: it is made when it is needed."""

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        """Whether a file or folder of this name in the place is the index's and of use, while these data
        files (their names) are known; vacuum removes what no index needs."""
