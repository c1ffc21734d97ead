"""Objects as files: a folder for each prefix, every file durable once it is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lamella.core.store.layout import sync


class Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, body: bytes) -> None:
        """Written and synced under another name, renamed, and the folder synced."""
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
