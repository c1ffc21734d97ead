"""Retention: which versions expire, and how the files that no version names any more are removed, of indexes
too, once nobody reads a version that did."""

from __future__ import annotations

import bisect
import datetime as dt
import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lamella.core.errors import BadData, StoreBusy, StoreProblem, shown
from lamella.core.index.definition import DRAFT
from lamella.core.index.open_indexes import indexes_of
from lamella.core.index.registry import index_of, kind_of
from lamella.core.index.usage import USAGE_FILE
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import RemovedFile, Transaction
from lamella.core.store.folder import Layout, Readers, Reading, remove_empty
from lamella.core.store.history import seconds_of
from lamella.core.store.paths import StorePaths, entries, is_index_entry, is_link
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import count_of

LONGEST_MAKING = 3600.0
"""Seconds without a byte written, after which nobody goes on with a draft."""

log = logging.getLogger(__name__)


def sweep(catalog: Catalog) -> list[int]:
    """Remove what belongs to no table, no index, or no data file that is known; answers the sizes. What is
    not called like an index stays, and so do links.

    A draft may be another process's that writes it at this moment: it stays until nothing was written to it
    for long.
    """
    catalog.refuse_replaced()
    there = {
        folder: [entry for entry in entries(folder) if is_index_entry(entry.name) and not is_link(entry)]
        for folder in StorePaths(catalog.path.parent).index_folders()
    }
    if not there:
        return []
    tables = {row.folder: row.table_id for row in catalog.tables()}
    if "" in tables:  # whose folder cannot be told from those of no table
        return []
    known = {PurePosixPath(path) for path in catalog.known_paths()}
    sizes: list[int] = []
    for folder, files in there.items():
        usage = folder / USAGE_FILE
        unused = [usage] if usage.is_file() and not is_link(usage) else []
        if folder.name not in tables:
            for entry in [*files, *unused]:
                sizes += _removed(entry)
            remove_empty(folder)
            continue
        indexes = [index_of(catalog.path, *entry_row) for entry_row in catalog.indexes(tables[folder.name])]
        if not indexes:
            sizes += [size for entry in unused for size in _removed(entry)]
        names = {path.name for path in known if path.parent.name == folder.name}
        for entry in files:
            needed = any(kind_of(index.kind).needs(index, entry.name, names) for index in indexes)
            if not needed and not (entry.suffix == DRAFT and _is_new(entry)):
                sizes += _removed(entry)
    return sizes


def problems(state: TableVersion, quick: bool) -> Iterator[str]:
    """What of the indexes is damaged, as sentences."""
    if state.snapshot.indexes is not None:
        indexes = indexes_of(state.snapshot)
        for index in indexes.listed:
            yield from kind_of(index.kind).problems(indexes.place, index, state.snapshot, quick)


def _is_new(entry: Path) -> bool:
    """Also of what is gone by now."""
    try:
        newest = max(path.lstat().st_mtime for path in (entry, *entry.rglob("*")))
    except OSError:
        return True
    return time.time() - newest < LONGEST_MAKING


def _removed(entry: Path) -> list[int]:
    """The sizes of the files that are gone. Neither look follows links."""
    try:
        files = [path for path in entry.rglob("*") if path.is_file()] if entry.is_dir() else [entry]
        sizes = [path.lstat().st_size for path in files]
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    except OSError as error:
        log.info("%s: no index needs it, but it could not be removed: %s", entry, error)
        return []
    return sizes


READ = "a version that has it is being read"
NAMED = "a version names it"


@dataclass(frozen=True)
class WaitingFile:
    """A file that nobody names and that could not be removed yet. `path` is below the store's `data/`."""

    path: str
    bytes: int
    why: str


@dataclass(frozen=True)
class VacuumReport:
    """What was removed, and what has to wait; `catalog_bytes` is what the catalog's file shrank by."""

    files: int = 0
    bytes: int = 0
    catalog_bytes: int = 0
    waiting: tuple[WaitingFile, ...] = field(default=())

    @property
    def problems(self) -> list[str]:
        return [f"{file.path} ({file.bytes:,} bytes) stays for now: {file.why}" for file in self.waiting]


@dataclass(frozen=True)
class VacuumPlan:
    """What a vacuum would remove now: files of no version, and files that no table names; and about what the
    catalog's file would shrink by. `waiting` are bytes of files that are being read."""

    files: int = 0
    bytes: int = 0
    catalog_bytes: int = 0
    waiting: int = 0


class Vacuum:
    """The vacuum of one store. Any thread of any process may run one; a file that is gone was removed by
    another."""

    def __init__(self, catalog: Catalog, layout: Layout, readers: Readers) -> None:
        self._catalog, self._layout, self._readers = catalog, layout, readers

    def run(self) -> VacuumReport:
        """Take out of the catalog what no version has, and off the disk what nobody names or reads."""
        self._catalog.give_back(self._forget)
        report = self.remove()
        strays = self._layout.sweep(self._catalog.known_paths) + sweep(self._catalog)
        freed = self._catalog.shrink()
        self._catalog.keep_reserve()
        return VacuumReport(
            report.files + len(strays), report.bytes + sum(strays), freed, report.waiting
        )  # fmt: skip

    def plan(self) -> VacuumPlan:
        """What `run` would do; nothing is changed, so it may be another thing in a moment."""
        removed = self._catalog.removed_files()
        in_use = {file.number for file in _still_read(removed, self._readers.readings(sweeps=False))}
        sizes = {file.path: file.bytes for file in removed if file.number not in in_use}
        for table in self._catalog.tables():
            spans = [FileSpan(*row) for row in self._catalog.file_spans(table.table_id)]
            named = {span.path for span in spans if span.first < span.stop}
            sizes |= {span.path: span.bytes for span in spans if span.path not in named}
        for path in self._layout.strays(self._catalog.paths_on_disk) or ():
            if self._layout.paths.may_sweep(path) and path.is_file():
                sizes[path.relative_to(self._layout.root).as_posix()] = path.stat().st_size
        waiting = sum(file.bytes for file in removed if file.number in in_use)
        return VacuumPlan(len(sizes), sum(sizes.values()), self._catalog.free_bytes(), waiting)

    def _forget(self, transaction: Transaction) -> None:
        for table in self._catalog.tables():
            transaction.removal.forget(table.table_id, oldest=0)

    def remove(self, wait: bool = True) -> VacuumReport:
        """Remove the files that were taken out of the catalog, as far as nobody needs them."""
        removed = self._catalog.removed_files()
        if not removed:
            return VacuumReport()
        self._layout.refuse_replaced()
        in_use = {file.number for file in _still_read(removed, self._readers.readings())}
        named = self._catalog.paths()  # what a damaged catalog queues, and still needs, stays
        waiting: list[WaitingFile] = []
        gone: list[int] = []
        freed: list[int] = []
        for file in removed:
            reason = READ if file.number in in_use else NAMED if file.path in named else ""
            why = reason or self._unlink(file, freed)
            if why:
                waiting.append(WaitingFile(file.path, file.bytes, why))
            else:
                gone.append(file.number)
        self._cross_off(gone, wait)
        return VacuumReport(len(freed), sum(freed), 0, tuple(waiting))

    def _unlink(self, file: RemovedFile, freed: list[int]) -> str:
        """Why the file is still there, or nothing."""
        try:
            self._layout.paths.file(file.path).unlink()
        except FileNotFoundError:
            return ""
        except StoreProblem as problem:
            return str(problem)
        except OSError as error:
            return error.strerror or str(error)
        freed.append(file.bytes)
        return ""

    def _cross_off(self, numbers: Iterable[int], wait: bool) -> None:
        """What is not crossed off is found gone the next time."""
        try:
            with self._catalog.transaction(wait) as transaction:
                transaction.removal.cross_off(numbers)
        except StoreBusy as busy:
            log.info("files that are gone stay on the list: %s", busy)


def _still_read(removed: Iterable[RemovedFile], readings: Iterable[Reading]) -> list[RemovedFile]:
    by_table: dict[int, list[Reading]] = {}
    for reading in readings:
        by_table.setdefault(reading.table_id, []).append(reading)
    return [file for file in removed if any(_needs(r, file) for r in by_table.get(file.table_id, ()))]


def _needs(reading: Reading, file: RemovedFile) -> bool:
    """A file ends at the version that is the first without it, or, rewritten in place, the last with it."""
    return reading.removals < file.number and file.first_version <= reading.version <= file.last_version


Stamp = tuple[int, float]
"""A version and when it was made, in seconds since 1970."""


@dataclass(frozen=True)
class FileSpan:
    """The versions [first, stop) that a file is part of, once for each time it was entered."""

    path: str
    bytes: int
    first: int
    stop: int


@dataclass(frozen=True)
class ExpireReport:
    """`expired` versions are gone, `named` ones older than the `oldest` kept stay; so many `files` of so many
    `bytes` are of no version any more, and vacuum frees them."""

    expired: tuple[int, ...]
    oldest: int
    named: tuple[int, ...]
    files: int
    bytes: int


@dataclass(frozen=True)
class Policy:
    """What is to be kept. `max_bytes` bounds the files of all versions together; the newest version always
    stays, and so do `keep_versions` whatever else is said."""

    older_than: dt.timedelta | dt.datetime | None = None
    keep_versions: int | None = None
    max_bytes: int | None = None

    def checked(self, table: str) -> Policy:
        if self == Policy():
            raise BadData(
                f"{table}: nothing says which versions are to expire",
                fix="Give older_than=, keep_versions= or max_bytes=",
            )
        if self.older_than is not None and not isinstance(self.older_than, (dt.timedelta, dt.datetime)):
            raise BadData(
                f"{table}: older_than {shown(self.older_than)} is not a time",
                fix="Give a datetime, or how long ago: datetime.timedelta(days=1)",
            )
        if isinstance(self.older_than, dt.timedelta) and self.older_than < dt.timedelta(0):
            raise BadData(
                f"{table}: older_than {self.older_than} is a time to come, and would let every version go",
                fix="Give how long ago it was: datetime.timedelta(days=1)",
            )
        if self.keep_versions is not None:
            count_of(self.keep_versions, f"{table}: keep_versions", least=1)
        if self.max_bytes is not None:
            count_of(self.max_bytes, f"{table}: max_bytes")
        return self

    def oldest_kept(self, stamps: Sequence[Stamp], named: Sequence[int], files: Sequence[FileSpan]) -> int:
        """The version that is the oldest from now on, named ones aside. `stamps` are of all, ascending."""
        versions = [version for version, _ in stamps]
        oldest = [versions[0]]
        if self.older_than is not None:
            oldest.append(_newest_at(stamps, _seconds(self.older_than)))
        if self.max_bytes is not None:
            oldest.append(_fitting(versions, named, files, self.max_bytes))
        if self.keep_versions is None:
            return max(oldest)
        kept_anyhow = versions[-min(self.keep_versions, len(versions))]
        return kept_anyhow if len(oldest) == 1 else min(max(oldest), kept_anyhow)


def report(
    stamps: Sequence[Stamp], named: Sequence[int], files: Sequence[FileSpan], oldest: int
) -> ExpireReport:
    gone = tuple(version for version, _ in stamps if version < oldest and version not in named)
    paths = _paths(files, named, oldest)
    removed = {f.path: f.bytes for f in files if f.path not in paths}
    versions = tuple(version for version in named if version < oldest)
    return ExpireReport(gone, oldest, versions, len(removed), sum(removed.values()))


def _seconds(limit: dt.timedelta | dt.datetime) -> float:
    """A limit is a moment, or a time before now, which may be longer than there are years."""
    if isinstance(limit, dt.timedelta):
        return dt.datetime.now(dt.UTC).timestamp() - limit.total_seconds()
    return seconds_of(limit)


def _newest_at(stamps: Sequence[Stamp], seconds: float) -> int:
    """The version that was the newest then: it is no older than that, it only began before."""
    versions_then = [version for version, at in stamps if at <= seconds]
    return versions_then[-1] if versions_then else stamps[0][0]


def _fitting(versions: Sequence[int], named: Sequence[int], files: Sequence[FileSpan], most: int) -> int:
    """The oldest version from which on all files fit; the fewer versions, the fewer files."""

    def fits(oldest: int) -> bool:
        return sum(_paths(files, named, oldest).values()) <= most

    at = bisect.bisect_left(versions, True, key=fits)
    return versions[min(at, len(versions) - 1)]


def _paths(files: Sequence[FileSpan], named: Sequence[int], oldest: int) -> dict[str, int]:
    """Files, with their sizes, that a version from `oldest` on or a named one has."""
    return {
        f.path: f.bytes
        for f in files
        if f.first < f.stop and (f.stop > oldest or any(f.first <= n < f.stop for n in named))
    }


def expire(catalog: Catalog, table_id: int, policy: Policy, dry_run: bool) -> ExpireReport:
    """Let go of the versions of a table that the policy does not keep; say only which where `dry_run`."""
    if dry_run:
        with catalog.unchanging():
            return _plan(catalog, table_id, policy)

    def let_go(transaction: Transaction) -> ExpireReport:
        plan = _plan(catalog, table_id, policy)
        transaction.removal.forget(table_id, plan.oldest)
        return plan

    return catalog.give_back(let_go)


def _plan(catalog: Catalog, table_id: int, policy: Policy) -> ExpireReport:
    versions = catalog.versions(table_id)
    stamps, named = versions.stamps(), versions.named_ones()
    files = [FileSpan(*row) for row in catalog.file_spans(table_id)]
    return report(stamps, named, files, policy.oldest_kept(stamps, named, files))
