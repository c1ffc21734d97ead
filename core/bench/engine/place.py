"""The folder of a benchmark's databases, and its databases on servers: they are removed when the benchmark
ends, however it ends.

A benchmark that was killed cannot remove its folder: the next one in the same parent folder does.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from lamella.core.bench.systems.base import DATABASE_NOTE, SERVER_FOLDER_NOTE
from lamella.core.errors import FileProblem

PREFIX = "lamella-bench-"
OWNER = "owner.json"


@contextmanager
def benchmark_folder(parent: Path | None) -> Iterator[Path]:
    """A new folder in `parent`, or in the system's temporary folder. Raises FileProblem."""
    where = parent or Path(tempfile.gettempdir())
    try:
        remove_abandoned_folders(where)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where))
        folder.joinpath(OWNER).write_text(json.dumps(_owner(os.getpid())), encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(
            where, "no benchmark folder can be created here", why, "Choose another folder"
        ) from error
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_abandoned_folders(where: Path) -> list[Path]:
    """Remove the folders of benchmarks on this computer whose process has ended, and return them."""
    abandoned = [folder for folder in where.glob(f"{PREFIX}*") if _is_abandoned(folder)]
    for folder in abandoned:
        remove_folder(folder, ignore_errors=True)  # two benchmarks may remove the same folder
    return abandoned


def _is_abandoned(folder: Path) -> bool:
    """Whether the owner has ended. Folders of other computers, or without a known owner, are not
    abandoned."""
    try:
        owner = json.loads(folder.joinpath(OWNER).read_text(encoding="utf-8"))
        pid, computer = int(owner["pid"]), str(owner["computer"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if computer != platform.node():
        return False
    try:
        return bool(owner != _owner(pid))
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def _owner(pid: int) -> dict[str, Any]:
    """A process, identified by number and start time, since numbers are reused."""
    return {"pid": pid, "started": psutil.Process(pid).create_time(), "computer": platform.node()}


def remove_folder(folder: Path, ignore_errors: bool = False) -> None:
    """Remove the folder, and the databases and folders on servers that are noted anywhere in it."""
    for note in folder.rglob(DATABASE_NOTE):
        from lamella.core.bench.systems import mongodb

        mongodb.drop(note.read_text(encoding="utf-8"))
    for note in folder.rglob(SERVER_FOLDER_NOTE):
        from lamella.core.bench.systems import object_stores

        object_stores.drop(note.read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=ignore_errors)
