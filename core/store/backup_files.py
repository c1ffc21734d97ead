"""Copying a store's files into a backup, so that what is there afterwards is what was once written."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lamella.core.checksums import checksum_of
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.store.layout import sync
from lamella.core.store.paths import StorePaths

PART = ".part"


@dataclass(frozen=True)
class Copies:
    """`damaged` are the store's own files that hold other bytes than were written."""

    copied: int
    bytes: int
    damaged: tuple[Path, ...]


def copy_files(
    source_paths: StorePaths, named: Mapping[str, str], target_paths: StorePaths, link: bool, job: Job
) -> Copies:
    """Copy files that are not in the target yet, or damaged there; `named` gives each one's checksum, which
    is empty where an earlier format had none.

    Raises `FileProblem` where a copy does not read back as it was written, and `StoreProblem` for what is
    none of the store's files.
    """
    copied = total = 0
    damaged = []
    for done, (path, known) in enumerate(sorted(named.items())):
        job.report(done, len(named), f"{done:,} of {len(named):,} files")
        source, made = source_paths.file(path), target_paths.file(path)
        wanted = known or checksum_of(source)
        if made.exists() and checksum_of(made) == wanted:
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        if not _copy(source, made, link, wanted):
            damaged.append(source)
        copied, total = copied + 1, total + made.stat().st_size
    return Copies(copied, total, tuple(damaged))


def _copy(source: Path, made: Path, link: bool, wanted: str) -> bool:
    """Whether the copy has the checksum: one of a damaged file has not."""
    part = made.with_name(made.name + PART)
    part.unlink(missing_ok=True)
    if link:
        part.hardlink_to(source)
    else:
        shutil.copyfile(source, part)
        sync(part)
    whole = checksum_of(part) == wanted
    if not whole and checksum_of(source) == wanted:
        raise FileProblem(made, "does not read back as it was written", fix="Check the disk")
    part.replace(made)
    return whole
