"""Which indexes a table has, and THE table of what kinds there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lamella.core.errors import DamagedStore, UnknownName
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.validation import text_of

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
class Place:
    """Where the files of a table's indexes are: `folder` is theirs alone, and made when it is needed. Where a
    store may not be written, it is not `writable`."""

    folder: Path
    writable: bool = True


class Kind(Protocol):
    """What can be done with the indexes of a kind. All of it may be done by several processes at once."""

    def checked(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        """The options, with those that were left out; raises `BadData` for columns and options that no index
        of the kind can have."""

    def make(self, place: Place, index: Index, snapshot: Snapshot, job: Job) -> None:
        """Write what is missing to find the rows of `snapshot`; called for a new index, and whenever the
        table's files changed. Cut short, it leaves what the next call goes on with."""

    def drop(self, place: Place, index: Index) -> None:
        """Remove the files of the index, whichever snapshots they are for."""

    def problems(self, place: Place, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        """What is damaged, as sentences; `quick` looks at what files say of themselves, not at all of their
        bytes. What is missing is none: it is made when it is needed."""

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        """Whether a file or folder of this name in the place is the index's and of use, while these data
        files (their names) are known; vacuum removes what no index needs."""


def _sorted() -> Kind:
    from lamella.core.index.sorted import SortedKind

    return SortedKind()


def _fulltext() -> Kind:
    from lamella.core.index.fulltext.open_parts import FulltextKind

    return FulltextKind()


KINDS: dict[str, Callable[[], Kind]] = {"sorted": _sorted, "fulltext": _fulltext}


def kind_of(name: str) -> Kind:
    """Raises `UnknownName`, and `BadData` for what is no text."""
    if text_of(name, "the kind of an index") not in KINDS:
        raise UnknownName(name, "kind of index", list(KINDS))
    return KINDS[name]()


def index_of(kind: str, keys: str, options: str) -> Index:
    """From a catalog entry; raises `DamagedStore` for one that nobody can have entered. The kind and the keys
    become names of files."""
    try:
        index = Index(kind, tuple(json.loads(keys)), json.loads(options))
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(kind, str(error)) from error
    if kind not in KINDS or not isinstance(index.options, dict):
        raise _damaged(kind, "there is no such kind of index")
    if not index.keys or not all(type(key) is int and key > 0 for key in index.keys):
        raise _damaged(kind, "its columns are not numbers of columns")
    return index


def _damaged(kind: str, why: str) -> DamagedStore:
    return DamagedStore(
        f"the catalog's entry of an index ({kind!r:.40}) cannot be read", why, "Restore a backup"
    )


def entry_of(index: Index) -> tuple[str, str, str]:
    return index.kind, json.dumps(index.keys), json.dumps(dict(index.options), sort_keys=True)
