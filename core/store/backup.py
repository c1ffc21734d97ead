"""A copy of a store as it is at one moment, made while others write: a store itself."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamella.core.errors import FileProblem, StoreBusy, StoreProblem
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.scan.checksums import checksum_of
from lamella.core.store.catalog.connection import PARTS, is_busy
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.folder import Layout, sync
from lamella.core.store.paths import CATALOG, StorePaths, entries, refuse_store_name

PART = ".part"
BACKUP_FAILURE, RESTORE_FAILURE = "the backup could not be written", "the store could not be restored here"


@dataclass(frozen=True)
class Copies:
    """How many files and bytes were copied. `damaged` are files of the store whose checksums differ."""

    copied: int
    bytes: int
    damaged: tuple[Path, ...]


def copy_files(
    source_paths: StorePaths, checksums: Mapping[str, str], target_paths: StorePaths, link: bool, job: Job
) -> Copies:
    """Copy files that are missing or damaged in the target; `checksums` maps each file to its checksum,
    which is empty for files of an earlier format. A file that several tables share, by hard links, is copied
    once, and its copies are links too, where the disk has them.

    Raises `FileProblem` where a copy does not read back as it was written, and `StoreProblem` for a name
    that does not belong to the store.
    """
    copied = copied_bytes = done = 0
    damaged = []
    sizes, originals, seen = dict[str, int](), dict[str, str](), dict[tuple[int, int], str]()
    for path in sorted(checksums):
        stat = source_paths.file(path).stat()
        originals[path] = seen.setdefault((stat.st_dev, stat.st_ino), path) if stat.st_ino else path
        sizes[path] = stat.st_size if originals[path] == path else 0
    total_bytes = sum(sizes.values())
    if checksums:
        target_paths.data.mkdir(exist_ok=True)
    for count, (path, checksum) in enumerate(sorted(checksums.items())):
        files = f"{count:,} of {quantity(len(checksums), 'file')}"
        job.report(done, total_bytes, f"{files}, {size_text(done)} of {size_text(total_bytes)}")
        done += sizes[path]
        source, copy = source_paths.file(path), target_paths.file(path)
        expected = checksum or checksum_of(source)
        if copy.exists() and checksum_of(copy) == expected:
            continue
        copy.parent.mkdir(exist_ok=True)  # not its parents, which are gone if the disk was unmounted
        twin = target_paths.file(originals[path])
        copied += 1
        if twin != copy and not link and _share(twin, copy, expected):
            continue
        if not _copy(source, copy, link, expected):
            damaged.append(source)
        copied_bytes += copy.stat().st_size
    return Copies(copied, copied_bytes, tuple(damaged))


def _share(twin: Path, target: Path, expected: str) -> bool:
    """Make the file a hard link to another one of the backup, if that is whole and the disk has links."""
    try:
        return _copy(twin, target, True, expected)
    except OSError:
        return False


def _copy(source: Path, target: Path, link: bool, expected: str) -> bool:
    """Copy a file; return whether the copy has the expected checksum, which it does not if the source is
    damaged."""
    part = target.with_name(target.name + PART)
    part.unlink(missing_ok=True)
    if link:
        part.hardlink_to(source)
    else:
        shutil.copyfile(source, part)
        sync(part)
    is_intact = checksum_of(part) == expected
    if not is_intact and checksum_of(source) == expected:
        raise FileProblem(target, "does not read back as it was written", fix="Check the disk")
    part.replace(target)
    return is_intact


MARK = "backup.json"
DRAFT = f"{MARK}.part"


def mark(target: Path, source: Path, catalogs: Sequence[str]) -> None:
    """Record that `target` is a backup of `source`, and that its catalog, if any, has one of these checksums.

    Written before a catalog is replaced, with the checksums of the old and the new one, the record holds
    even after a crash.
    """
    part = target / DRAFT
    part.write_text(json.dumps({"of": str(source), "catalogs": catalogs}), "utf-8")
    sync(part)
    part.replace(target / MARK)
    sync(target)


def refuse_other_target(source: Path, target: Path) -> list[str]:
    """Raise `StoreProblem` unless `target` is new or an unchanged backup of `source`; return the checksum of
    its catalog, if it has one."""
    StorePaths(target).refuse_links(MARK, DRAFT)
    if target == source or source in target.parents:
        raise StoreProblem(
            f"{target}: a backup cannot be inside the store itself", fix="Choose another folder"
        )
    if not target.exists() or (target.is_dir() and {p.name for p in target.iterdir()} <= {DRAFT}):
        return []
    mark = _mark(target)
    if mark.get("of") != str(source):
        other = f"It is a backup of {mark['of']}" if mark.get("of") else ""
        raise StoreProblem(
            f"{target}: holds something other than a backup of {source}", other, "Choose a new folder"
        )
    if not (target / CATALOG).exists():
        return []
    refuse_open(target)
    checksum = checksum_of(target / CATALOG)
    if checksum not in mark.get("catalogs", ()):
        raise StoreProblem(
            f"{target}: the backup was changed since it was made",
            "Backing up again would lose those changes",
            "Choose a new folder",
        )
    return [checksum]


def refuse_open(
    target: Path,
    what: str = "the backup is open as a store",
    fix: str = "Close it, or choose a new folder",
) -> None:
    """Raise `StoreBusy` while somebody has the store there open. Its catalog must not be replaced then, nor
    may this process read the file directly, because closing it would release SQLite's locks.

    Afterwards a log that a crash left behind is merged into the catalog.
    """
    try:
        with closing(sqlite3.connect(target / CATALOG, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        if is_busy(error):
            raise StoreBusy(f"{target}: {what}", fix=fix) from error
        unread = f"{target / CATALOG}: the catalog cannot be read"
        raise StoreProblem(unread, str(error), "Choose another folder") from error


def is_backup(target: Path, source: Path) -> bool:
    """Whether the folder holds a backup of this store, into which only new files have to be copied."""
    return _mark(target).get("of") == str(source) and (target / CATALOG).exists()


def _mark(target: Path) -> dict[str, Any]:
    try:
        mark = json.loads((target / MARK).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


ATTEMPTS = 5


@dataclass(frozen=True)
class Backup:
    """What was copied; `kept` is how many files an earlier backup in the same folder already had.

    `damaged` are files of the store whose checksums differ; their copies are damaged too.
    """

    path: Path
    copied: int
    kept: int
    bytes: int
    damaged: tuple[Path, ...] = ()

    def __str__(self) -> str:
        files = quantity(self.copied, "file")
        text = f"{files} ({self.bytes:,} bytes) copied to {self.path}, {self.kept:,} there already"
        return "\n".join([text, *(f"{path} is damaged: its checksum differs" for path in self.damaged)])


def back_up(catalog: Catalog, target: Path, link: bool, job: Job) -> Backup:
    """Copy a store to `target`, a new folder or an earlier backup of the same store.

    If it is interrupted at any moment, even by a crash, an earlier backup stays intact, and the next one can
    be made.
    """
    catalog.refuse_replaced_catalog()
    source = catalog.path.parent
    with _disk_problems(target, BACKUP_FAILURE, link):
        earlier = refuse_other_target(source, target)

    def ready(part: Path) -> None:
        if earlier:
            refuse_open(target)
        mark(target, source, [*earlier, checksum_of(part)])

    with _disk_problems(target, BACKUP_FAILURE, link), _removed_if_new(target):
        mark(target, source, earlier)
        return _copy_store(catalog, target, link, job, ready)


def restore(backup: Path, target: Path, link: bool, job: Job, failed: str = RESTORE_FAILURE) -> Backup:
    """Copy a backup, or any store nobody writes to, to a new folder. `failed` says what could not be done if
    the disk refuses it.

    Raises `FileProblem` where it is damaged.
    """
    with _disk_problems(target, failed, link):
        occupied = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if occupied:
        raise StoreProblem(f"{target}: something already exists here", fix="Choose a new folder")
    if target.name != backup.name:
        refuse_store_name(target)
    StorePaths(backup).refuse_links()
    if not (backup / CATALOG).exists():
        raise StoreProblem(f"{backup}: there is no store here", fix="Check the path")
    catalog = Catalog(backup, read_only=True)
    try:
        with _disk_problems(target, failed, link), _removed_if_new(target):
            result = _copy_store(catalog, target, link, job, lambda part: None)
            if result.damaged:
                raise _damage_error(result.damaged, result.copied)
            return result
    finally:
        catalog.close()


def _copy_store(
    catalog: Catalog, target: Path, link: bool, job: Job, ready: Callable[[Path], None]
) -> Backup:  # fmt: skip
    """Copy the catalog, then its files. If a file is removed in between, both are copied again, and the new
    catalog no longer names it: a file that is missing twice is lost. `ready` is called with the new catalog
    when all files are there."""
    part = target / (CATALOG + PART)
    source_paths, missing = StorePaths(catalog.path.parent), set[Path]()
    for _ in range(ATTEMPTS):
        _remove(part, PARTS)
        try:
            checksums = catalog.copy_to(part)
            files = copy_files(source_paths, checksums, StorePaths(target), link, job)
        except FileNotFoundError as error:
            if not part.exists():
                raise FileProblem(target, "vanished while it was written", fix="Check its disk") from error
            gone = {path for path in map(source_paths.file, checksums) if not path.exists()}
            if gone & missing:
                raise _missing(sorted(gone & missing)) from None
            missing |= gone
            continue
        _sync_folders(StorePaths(target).data)
        sync(part)
        ready(part)
        _take_over(part, target, checksums)
        return Backup(target, files.copied, len(checksums) - files.copied, files.bytes, files.damaged)
    raise StoreProblem(
        f"{catalog.path.parent}: its files keep changing", fix="Try again when it is less busy, or verify it"
    )


def _take_over(part: Path, target: Path, paths: Collection[str]) -> None:
    """Replace the old catalog by the new one, and remove the files that only the old one names."""
    _remove(target / CATALOG, ("-wal", "-shm"))
    part.replace(target / CATALOG)
    sync(target)
    Layout(target).sweep(lambda: set(paths))


def _remove(catalog: Path, parts: Collection[str]) -> None:
    for part in parts:
        Path(f"{catalog}{part}").unlink(missing_ok=True)


def _sync_folders(data: Path) -> None:
    if data.is_dir():
        for folder in (data, *entries(data)):
            sync(folder)


@contextmanager
def _removed_if_new(target: Path) -> Iterator[None]:
    """Create the target folder for a copy; if the copy fails, remove a folder that was new."""
    new = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        if new:
            shutil.rmtree(target, ignore_errors=True)
        raise


@contextmanager
def _disk_problems(target: Path, failed: str, link: bool) -> Iterator[None]:
    """Raise `FileProblem` for an error of the disk in the block. It says what `failed`."""
    try:
        yield
    except OSError as error:
        plain = "Check the free space and your permission to write there"
        fix = "Hard links work only on the same disk: leave link=True out" if link else plain
        why = error.strerror or str(error)
        raise FileProblem(target, failed, why, fix) from error


def _damage_error(paths: Sequence[Path], copied: int) -> FileProblem:
    others = f"Nor do {len(paths) - 1:,} more of its {copied:,} files. " if len(paths) > 1 else ""
    return FileProblem(
        paths[0],
        "does not match what was written: its checksum differs",
        f"{others}It is in {paths[0].parent}",
        "Use another backup, or open the damaged store and read what is intact",
    )


def _missing(paths: Sequence[Path]) -> FileProblem:
    others = f"{quantity(len(paths) - 1, 'more file')} missing, too. " if len(paths) > 1 else ""
    return FileProblem(
        paths[0],
        "is missing",
        f"{others}It belongs in {paths[0].parent}",
        "Verify the store to see all that is missing; an earlier backup may have it",
    )
