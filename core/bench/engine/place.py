"""The folder that a benchmark makes its databases in, and the databases that a server keeps for it: they go
with the benchmark, however that ends.

A benchmark that was killed cannot remove its folder: the next one in the same place does.
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
    """A new folder in `parent`, or else in the system's temporary one. Raises FileProblem."""
    where = parent or Path(tempfile.gettempdir())
    try:
        remove_abandoned(where)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where))
        folder.joinpath(OWNER).write_text(json.dumps(_owner(os.getpid())), encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(
            where, "no benchmark folder can be made here", why, "Choose another folder"
        ) from error
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_abandoned(where: Path) -> list[Path]:
    """Remove what benchmarks left here whose process is gone from this computer; what was removed."""
    abandoned = [folder for folder in where.glob(f"{PREFIX}*") if _is_abandoned(folder)]
    for folder in abandoned:
        remove_folder(folder, ignore_errors=True)  # two benchmarks may remove the same
    return abandoned


def _is_abandoned(folder: Path) -> bool:
    """Only where the owner is known: a folder of another computer, or one without a name in it, stays."""
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
    """A process by its number and start: numbers are given again."""
    return {"pid": pid, "started": psutil.Process(pid).create_time(), "computer": platform.node()}


def remove_folder(folder: Path, ignore_errors: bool = False) -> None:
    """The folder, and the databases and the folders of servers that are noted anywhere in it."""
    for note in folder.rglob(DATABASE_NOTE):
        from lamella.core.bench.systems import mongodb

        mongodb.drop(note.read_text(encoding="utf-8"))
    for note in folder.rglob(SERVER_FOLDER_NOTE):
        from lamella.core.bench.systems import object_stores

        object_stores.drop(note.read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=ignore_errors)
