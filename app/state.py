"""What the program remembers by itself, apart from settings: the files opened last, the window's place."""

from __future__ import annotations

import base64
import binascii
import logging
from pathlib import Path
from typing import Any

from lamella.app import paths, settings_file
from lamella.core.errors import FileProblem

RECENT_KEPT = 20
log = logging.getLogger(__name__)


def state_path() -> Path:
    return paths.config_folder() / "state.json"


class State:
    """Lost without harm: a file that cannot be read is logged, and everything starts anew."""

    def __init__(self) -> None:
        self._items = _read()

    @property
    def recent(self) -> list[Path]:
        """Newest first."""
        found = self._items.get("recent", [])
        return [Path(item) for item in found if isinstance(item, str)] if isinstance(found, list) else []

    def remember(self, path: Path) -> None:
        path = path.absolute()
        files = [path, *(other for other in self.recent if other != path)][:RECENT_KEPT]
        self._write("recent", [str(file) for file in files])

    @property
    def geometry(self) -> bytes:
        """Of the window, in Qt's own form; empty at the first start."""
        found = self._items.get("geometry", "")
        try:
            return base64.b64decode(found, validate=True) if isinstance(found, str) else b""
        except binascii.Error:
            return b""

    def save_geometry(self, geometry: bytes) -> None:
        self._write("geometry", base64.b64encode(geometry).decode())

    def _write(self, name: str, value: Any) -> None:
        """Onto what the file says now: another window may have written meanwhile."""
        self._items = _read() | {name: value}
        settings_file.write_object(state_path(), self._items)


def _read() -> dict[str, Any]:
    try:
        return settings_file.read_object(state_path())
    except FileProblem as problem:
        log.warning("%s", problem)
        return {}
