"""Objects as files in a folder, and nothing else."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from lamella.core.bench.catalog.backend import ObjectBackend
from lamella.core.bench.catalog.files import Files
from lamella.core.bench.entities.data import Entity

_NO_ENTITIES = "a folder of files keeps objects, and no entities to be found by their fields"


class FolderOfFiles(ObjectBackend):
    id = "folder"
    cannot = dict.fromkeys(
        (
            *("open_cold", "warm_get", "catalog_query", "warm_create", "warm_update", "crud_cycle"),
            *("commit_then_put", "commit_and_put", "one_by_one_100", "batched_100"),
        ),
        _NO_ENTITIES,
    )

    @classmethod
    def version(cls) -> str:
        return f"{platform.system()} {platform.release()}"

    @classmethod
    def describe(cls) -> str:
        return "durable: every file is synced, renamed into place, and its folder synced"

    @property
    def columns(self) -> int:
        return 2

    def fill(self, made: list[Entity]) -> None:
        self.folder.mkdir(parents=True)

    def open(self, writing: bool) -> None:
        self._files = Files(self.folder)

    def close(self) -> None:
        """It holds nothing open."""

    def put_object(self, key: str, body: bytes) -> None:
        self._files.put(key, body)

    def get_object(self, key: str) -> bytes:
        return self._files.get(key)

    def head_object(self, key: str) -> int:
        return self._files.size(key)

    def list_objects(self, prefix: str) -> Sequence[str]:
        return self._files.keys(prefix)
