"""Objects as files: a folder for each prefix, and every file durable once it is visible."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from lamella.core.bench.systems.base import Entity, ObjectSystem
from lamella.core.store.folder import sync


class Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, body: bytes) -> None:
        """Write and sync the file under another name, rename it, and sync the folder."""
        target = self._folder / key
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True)
            sync(self._folder)
        part = target.with_name(f".{target.name}.part")
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        sync(target.parent)

    def get(self, key: str) -> bytes:
        return (self._folder / key).read_bytes()

    def size(self, key: str) -> int:
        return (self._folder / key).stat().st_size

    def keys(self, prefix: str) -> Sequence[str]:
        names = (entry.name for entry in os.scandir(self._folder / prefix))
        return sorted(f"{prefix}/{name}" for name in names if not name.startswith("."))


class ObjectFiles(ObjectSystem):
    """Stores objects in `_files`, which `open` creates."""

    _files: Files

    def put_object(self, key: str, body: bytes) -> None:
        self._files.put(key, body)

    def get_object(self, key: str) -> bytes:
        return self._files.get(key)

    def head_object(self, key: str) -> int:
        return self._files.size(key)

    def list_objects(self, prefix: str) -> Sequence[str]:
        return self._files.keys(prefix)


NO_ENTITIES = "it stores objects, but no entities to find by their fields"
OF_ENTITIES = (
    *("open_cold", "warm_get", "catalog_query", "warm_create", "warm_update", "crud_cycle"),
    *("commit_then_put", "commit_and_put", "one_by_one_100", "batched_100"),
)
"""The operations of the workload on entities."""


class FolderOfFiles(ObjectFiles):
    id = "folder"
    cannot = dict.fromkeys(OF_ENTITIES, NO_ENTITIES)
    description = "durable: every file is synced, renamed into place, and its folder synced"
    columns = 2

    @classmethod
    def version(cls) -> str:
        return f"{platform.system()} {platform.release()}"

    def fill(self, entities: list[Entity]) -> None:
        self.folder.mkdir(parents=True)

    def open(self, writing: bool) -> None:
        self._files = Files(self.folder)

    def close(self) -> None:
        """Nothing is open."""
