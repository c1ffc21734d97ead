"""Retention: decides which versions expire, and removes data and index files that no version names any more,
once nobody reads a version that did."""

from __future__ import annotations

import bisect
import datetime as dt
import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lamella.core.errors import BadData, StoreBusy, StoreProblem, short_text
from lamella.core.index.definition import DRAFT
from lamella.core.index.open_indexes import indexes_of
from lamella.core.index.registry import index_of, kind_of
from lamella.core.index.usage import USAGE_FILE
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import RemovedFile, Transaction
from lamella.core.store.folder import Layout, Readers, Reading, remove_empty
from lamella.core.store.history import seconds_of
from lamella.core.store.paths import StorePaths, entries, is_index_entry, is_link
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import count_of

LONGEST_MAKING = 3600.0
"""Seconds without a write, after which a draft counts as abandoned."""

log = logging.getLogger(__name__)


def sweep(catalog: Catalog) -> list[int]:
    """Remove index files that belong to no table, no index or no known data file; return their sizes. Files
    whose names are not those of indexes stay, and so do links.

    Another process may be writing a draft at this moment, so drafts stay until nothing has been written to
    them for a long time.
    """
    catalog.refuse_replaced_catalog()
    on_disk = {
        folder: [entry for entry in entries(folder) if is_index_entry(entry.name) and not is_link(entry)]
        for folder in StorePaths(catalog.path.parent).index_folders()
    }
    if not on_disk:
        return []
    tables = {row.folder: row.table_id for row in catalog.tables()}
    if "" in tables:  # a damaged table, whose folder is unknown
        return []
    paths = {PurePosixPath(path) for path in catalog.known_paths()}
    sizes: list[int] = []
    for folder, files in on_disk.items():
        usage = folder / USAGE_FILE
        unused = [usage] if usage.is_file() and not is_link(usage) else []
        if folder.name not in tables:
            for entry in [*files, *unused]:
                sizes += _remove_entry(entry)
            remove_empty(folder)
            continue
        indexes = [index_of(catalog.path, *entry_row) for entry_row in catalog.indexes(tables[folder.name])]
        if not indexes:
            sizes += [size for entry in unused for size in _remove_entry(entry)]
        names = {path.name for path in paths if path.parent.name == folder.name}
        for entry in files:
            needed = any(kind_of(index.kind).needs(index, entry.name, names) for index in indexes)
            if not needed and not (entry.suffix == DRAFT and _is_new(entry)):
                sizes += _remove_entry(entry)
    return sizes


def problems(state: TableVersion, quick: bool) -> Iterator[str]:
    """Yield sentences about damage in the indexes."""
    if state.snapshot.indexes is not None:
        indexes = indexes_of(state.snapshot)
        for index in indexes.definitions:
            yield from kind_of(index.kind).problems(indexes.place, index, state.snapshot, quick)


def _is_new(entry: Path) -> bool:
    """Whether the entry was written recently; also True if it is gone by now."""
    try:
        newest = max(path.lstat().st_mtime for path in (entry, *entry.rglob("*")))
    except OSError:
        return True
    return time.time() - newest < LONGEST_MAKING


def _remove_entry(entry: Path) -> list[int]:
    """Remove an entry; return the sizes of its files. Links are not followed."""
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


IN_READING = "a version that uses it is being read"
NAMED_VERSION = "a version still uses it"


@dataclass(frozen=True)
class WaitingFile:
    """An unused file that could not be removed yet. `path` is below the store's `data/`."""

    path: str
    bytes: int
    why: str


@dataclass(frozen=True)
class VacuumReport:
    """What was removed, and what could not be removed yet; `catalog_bytes` is how much the catalog's file
    shrank."""

    files: int = 0
    bytes: int = 0
    catalog_bytes: int = 0
    waiting: tuple[WaitingFile, ...] = field(default=())

    @property
    def problems(self) -> list[str]:
        return [f"{file.path} ({file.bytes:,} bytes) stays for now: {file.why}" for file in self.waiting]


@dataclass(frozen=True)
class VacuumPlan:
    """What a vacuum would remove now: files of no version, and files that no table names; and about how much
    the catalog's file would shrink. `waiting` is the number of bytes in files that are being read."""

    files: int = 0
    bytes: int = 0
    catalog_bytes: int = 0
    waiting: int = 0


class Vacuum:
    """The vacuum of one store. Any thread of any process may run one, even at the same time as others."""

    def __init__(self, catalog: Catalog, layout: Layout, readers: Readers) -> None:
        self._catalog, self._layout, self._readers = catalog, layout, readers

    def run(self, job: Job) -> VacuumReport:
        """Remove from the catalog what no version has, and from the disk what nobody names or reads. What a
        cancelled run leaves, the next one removes."""
        job.check()
        self._catalog.give_back(self._forget)
        report = self.remove(job=job)
        job.check()
        strays = self._layout.sweep(self._catalog.known_paths) + sweep(self._catalog)
        job.check()
        with job.notice("Shrinking the catalog"):
            freed = self._catalog.shrink()
        self._catalog.keep_reserve()
        return VacuumReport(
            report.files + len(strays), report.bytes + sum(strays), freed, report.waiting
        )  # fmt: skip

    def plan(self) -> VacuumPlan:
        """Return what `run` would do now. Changes nothing."""
        removed = self._catalog.removed_files()
        in_use = {file.number for file in _files_in_use(removed, self._readers.readings(sweeps=False))}
        sizes = {file.path: file.bytes for file in removed if file.number not in in_use}
        for table in self._catalog.tables():
            spans = [FileSpan(*row) for row in self._catalog.file_spans(table.table_id)]
            paths = {span.path for span in spans if span.first < span.stop}
            sizes |= {span.path: span.bytes for span in spans if span.path not in paths}
        for path in self._layout.strays(self._catalog.paths_on_disk) or ():
            if self._layout.paths.may_sweep(path) and path.is_file():
                sizes[path.relative_to(self._layout.root).as_posix()] = path.stat().st_size
        waiting = sum(file.bytes for file in removed if file.number in in_use)
        return VacuumPlan(len(sizes), sum(sizes.values()), self._catalog.free_bytes(), waiting)

    def _forget(self, transaction: Transaction) -> None:
        for table in self._catalog.tables():
            transaction.removal.forget(table.table_id, oldest=0)

    def remove(self, wait: bool = True, job: Job | None = None) -> VacuumReport:
        """Remove the files that were removed from the catalog, unless somebody needs them."""
        work = job or Job()
        removed = self._catalog.removed_files()
        if not removed:
            return VacuumReport()
        self._layout.refuse_replaced_catalog()
        in_use = {file.number for file in _files_in_use(removed, self._readers.readings())}
        paths = self._catalog.paths()  # a damaged catalog may queue files that it still needs; they stay
        waiting: list[WaitingFile] = []
        gone: list[int] = []
        freed: list[int] = []
        try:
            for count, file in enumerate(removed):
                work.report(count, len(removed), f"{count:,} of {quantity(len(removed), 'file')}")
                reason = IN_READING if file.number in in_use else NAMED_VERSION if file.path in paths else ""
                why = reason or self._unlink(file, freed)
                if why:
                    waiting.append(WaitingFile(file.path, file.bytes, why))
                else:
                    gone.append(file.number)
        finally:
            self._cross_off(gone, wait)
        return VacuumReport(len(freed), sum(freed), 0, tuple(waiting))

    def _unlink(self, file: RemovedFile, freed: list[int]) -> str:
        """Remove a file; return why it still exists, or an empty text."""
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
        """Remove entries of removed files from the queue; on failure, the next vacuum finds the files
        gone."""
        try:
            with self._catalog.transaction(wait) as transaction:
                transaction.removal.cross_off(numbers)
        except StoreBusy as busy:
            log.info("removed files stay in the queue: %s", busy)


def _files_in_use(removed: Iterable[RemovedFile], readings: Iterable[Reading]) -> list[RemovedFile]:
    by_table: dict[int, list[Reading]] = {}
    for reading in readings:
        by_table.setdefault(reading.table_id, []).append(reading)
    return [file for file in removed if any(_needs(r, file) for r in by_table.get(file.table_id, ()))]


def _needs(reading: Reading, file: RemovedFile) -> bool:
    """Whether a reading needs a file. A file ends at the first version without it, or, if it was rewritten in
    place, at the last version with it."""
    return reading.removals < file.number and file.first_version <= reading.version <= file.last_version


Stamp = tuple[int, float]
"""A version and when it was made, in seconds since 1970."""


@dataclass(frozen=True)
class FileSpan:
    """The versions [first, stop) that a file is part of; one span for each time that it was entered."""

    path: str
    bytes: int
    first: int
    stop: int


@dataclass(frozen=True)
class ExpireReport:
    """The result of expiring versions: `expired` ones are gone, `named` ones older than the `oldest` kept
    stay. A vacuum frees `files` of `bytes` in total, which no version uses any more."""

    expired: tuple[int, ...]
    oldest: int
    named: tuple[int, ...]
    files: int
    bytes: int


@dataclass(frozen=True)
class Policy:
    """What to keep. `max_bytes` limits the files of all versions together; the newest version always stays,
    and so do the newest `keep_versions`, whatever the other limits are."""

    older_than: dt.timedelta | dt.datetime | None = None
    keep_versions: int | None = None
    max_bytes: int | None = None

    def check(self, table: str) -> Policy:
        if self == Policy():
            raise BadData(
                f"{table}: no limit says which versions expire",
                fix="Give older_than=, keep_versions= or max_bytes=",
            )
        if self.older_than is not None and not isinstance(self.older_than, (dt.timedelta, dt.datetime)):
            raise BadData(
                f"{table}: older_than {short_text(self.older_than)} is not a time",
                fix="Give a datetime, or how long ago: datetime.timedelta(days=1)",
            )
        if isinstance(self.older_than, dt.timedelta) and self.older_than < dt.timedelta(0):
            raise BadData(
                f"{table}: older_than {self.older_than} is in the future, and would expire every version",
                fix="Give how long ago: datetime.timedelta(days=1)",
            )
        if self.keep_versions is not None:
            count_of(self.keep_versions, f"{table}: keep_versions", least=1)
        if self.max_bytes is not None:
            count_of(self.max_bytes, f"{table}: max_bytes")
        return self

    def oldest_version(
        self, stamps: Sequence[Stamp], named_versions: Sequence[int], files: Sequence[FileSpan]
    ) -> int:
        """The oldest version to keep, apart from named ones. `stamps` are of all versions, ascending."""
        versions = [version for version, _ in stamps]
        oldest = [versions[0]]
        if self.older_than is not None:
            oldest.append(_newest_at(stamps, _seconds(self.older_than)))
        if self.max_bytes is not None:
            oldest.append(_fitting(versions, named_versions, files, self.max_bytes))
        if self.keep_versions is None:
            return max(oldest)
        kept_anyhow = versions[-min(self.keep_versions, len(versions))]
        return kept_anyhow if len(oldest) == 1 else min(max(oldest), kept_anyhow)


def report(
    stamps: Sequence[Stamp], named_versions: Sequence[int], files: Sequence[FileSpan], oldest: int
) -> ExpireReport:
    gone = tuple(version for version, _ in stamps if version < oldest and version not in named_versions)
    paths = _paths(files, named_versions, oldest)
    removed = {f.path: f.bytes for f in files if f.path not in paths}
    versions = tuple(version for version in named_versions if version < oldest)
    return ExpireReport(gone, oldest, versions, len(removed), sum(removed.values()))


def _seconds(limit: dt.timedelta | dt.datetime) -> float:
    """The limit in seconds since 1970: a moment, or a duration before now, which may be longer than
    history."""
    if isinstance(limit, dt.timedelta):
        return dt.datetime.now(dt.UTC).timestamp() - limit.total_seconds()
    return seconds_of(limit)


def _newest_at(stamps: Sequence[Stamp], seconds: float) -> int:
    """The version that was the newest at that moment; it began earlier, but was still current then."""
    versions_then = [version for version, at in stamps if at <= seconds]
    return versions_then[-1] if versions_then else stamps[0][0]


def _fitting(
    versions: Sequence[int], named_versions: Sequence[int], files: Sequence[FileSpan], most: int
) -> int:
    """The oldest version from which on all files fit into `most` bytes; fewer versions have fewer files."""

    def fits(oldest: int) -> bool:
        return sum(_paths(files, named_versions, oldest).values()) <= most

    at = bisect.bisect_left(versions, True, key=fits)
    return versions[min(at, len(versions) - 1)]


def _paths(files: Sequence[FileSpan], named_versions: Sequence[int], oldest: int) -> dict[str, int]:
    """The files, with their sizes, of versions from `oldest` on and of named ones."""
    return {
        f.path: f.bytes
        for f in files
        if f.first < f.stop and (f.stop > oldest or any(f.first <= n < f.stop for n in named_versions))
    }


def expire(catalog: Catalog, table_id: int, policy: Policy, dry_run: bool, job: Job) -> ExpireReport:
    """Expire the versions of a table that the policy does not keep; with `dry_run`, only report them. All of
    them expire, or none if the job is cancelled."""
    if dry_run:
        with catalog.unchanging():
            return _plan(catalog, table_id, policy)

    def let_go(transaction: Transaction) -> ExpireReport:
        plan = _plan(catalog, table_id, policy)
        with job.notice(f"Removing {quantity(len(plan.expired), 'version')} from the catalog"):
            transaction.removal.forget(table_id, plan.oldest)
        job.check()
        return plan

    return catalog.give_back(let_go)


def _plan(catalog: Catalog, table_id: int, policy: Policy) -> ExpireReport:
    versions = catalog.versions(table_id)
    stamps, named_versions = versions.stamps(), versions.named_ones()
    files = [FileSpan(*row) for row in catalog.file_spans(table_id)]
    return report(stamps, named_versions, files, policy.oldest_version(stamps, named_versions, files))
