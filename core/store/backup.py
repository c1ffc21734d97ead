"""A copy of a store as it is at one moment, made while others write: a store itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import FileProblem, StoreProblem
from core.jobs import Job
from core.store.catalog import Catalog
from core.store.checksums import checksum_of
from core.store.layout import CATALOG, Layout, sync

MARK = "backup.json"
"""In a backup's folder: of which store it is, and its catalog's checksum."""
PART = ".part"
ATTEMPTS = 5


@dataclass(frozen=True)
class Backup:
    """What was copied, and how many files an earlier backup in the same place had already."""

    path: Path
    copied: int
    kept: int
    bytes: int

    def __str__(self) -> str:
        files = "1 file" if self.copied == 1 else f"{self.copied:,} files"
        return f"{files} ({self.bytes:,} bytes) copied to {self.path}, {self.kept:,} there already"


def back_up(catalog: Catalog, target: Path, link: bool, job: Job) -> Backup:
    """Copy a store to `target`, a new folder or an earlier backup of the same store."""
    source, target = catalog.path.parent, target.expanduser().absolute()
    _refuse_target(source, target)
    with _removed_if_new(target):
        done = _copied(catalog, target, link, job)
        mark = {"of": str(source), "catalog": checksum_of(target / CATALOG)}
        (target / MARK).write_text(json.dumps(mark), "utf-8")
    return done


def restore(backup: Path, target: Path, link: bool, job: Job) -> Backup:
    """Copy a backup, or any store nobody writes to, to a new folder."""
    target = target.expanduser().absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StoreProblem(f"{target}: there is something here already", fix="Choose a new folder")
    if not (backup / CATALOG).exists():
        raise StoreProblem(f"{backup}: there is no store here", fix="Check the path")
    catalog = Catalog(backup, read_only=True)
    try:
        with _removed_if_new(target):
            return _copied(catalog, target, link, job)
    finally:
        catalog.close()


def _copied(catalog: Catalog, target: Path, link: bool, job: Job) -> Backup:
    """A file may be let go of between the catalog's copy and its own: then both are copied again."""
    part = target / (CATALOG + PART)
    for _ in range(ATTEMPTS):
        part.unlink(missing_ok=True)
        try:
            named = catalog.copy_to(part)
            copied, size = _files_copied(Layout(catalog.path.parent).data, named, target, link, job)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise FileProblem(
                target, "the backup could not be written", error.strerror or str(error), _way_out(link)
            ) from error
        _take_over(part, target, named)
        return Backup(target, copied, len(named) - copied, size)
    raise StoreProblem(
        f"{catalog.path.parent}: its files keep changing", fix="Try again when it is less busy, or verify it"
    )


def _files_copied(data: Path, named: set[str], target: Path, link: bool, job: Job) -> tuple[int, int]:
    """Files are never changed, so one of the same name and size is the same."""
    copied = total = 0
    for done, path in enumerate(sorted(named)):
        job.report(done, len(named), f"{done:,} of {len(named):,} files")
        source, made = data / path, target / "data" / path
        size = source.stat().st_size
        if made.exists() and made.stat().st_size == size:
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, made, link)
        copied, total = copied + 1, total + size
    return copied, total


def _copy(source: Path, made: Path, link: bool) -> None:
    part = made.with_name(made.name + PART)
    part.unlink(missing_ok=True)
    if link:
        part.hardlink_to(source)
    else:
        shutil.copyfile(source, part)
        sync(part)
    part.replace(made)


def _take_over(part: Path, target: Path, named: set[str]) -> None:
    """From here on the backup is the new one; what only the last one named is removed."""
    for folder in (target / "data", *(target / "data").iterdir()) if (target / "data").is_dir() else ():
        sync(folder)
    sync(part)
    for left in (f"{CATALOG}-wal", f"{CATALOG}-shm"):
        (target / left).unlink(missing_ok=True)
    part.replace(target / CATALOG)
    sync(target)
    Layout(target).sweep(lambda: named)


def _refuse_target(source: Path, target: Path) -> None:
    if target == source or source in target.parents:
        raise StoreProblem(
            f"{target}: a backup inside the store itself helps nobody", fix="Choose another folder"
        )
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    mark = _mark(target)
    if mark.get("of") != str(source):
        raise StoreProblem(
            f"{target}: holds something other than a backup of {source}", fix="Choose a new folder"
        )
    wal = target / f"{CATALOG}-wal"
    if mark.get("catalog") != checksum_of(target / CATALOG) or (wal.exists() and wal.stat().st_size):
        raise StoreProblem(
            f"{target}: the backup was changed since it was made",
            "Making it anew would lose those changes",
            "Choose a new folder",
        )


def _mark(target: Path) -> dict[str, str]:
    try:
        found = json.loads((target / MARK).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def _removed_if_new(target: Path) -> Iterator[None]:
    """A folder that was made for a copy which then fails is taken away again."""
    new = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        if new:
            shutil.rmtree(target, ignore_errors=True)
        raise


def _way_out(link: bool) -> str:
    return "Hard links need the same disk: leave link=True out" if link else "Check the disk and its space"
