"""What is remembered between starts: recent files, layouts of columns, windows and settings."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lamella.app import paths
from lamella.app.settings import WRITABLE, apply_limits, read_object, save, settings_path, use, write_object
from lamella.app.workspace_files import WindowEntry, WorkspaceFiles
from lamella.core.errors import FileProblem
from lamella.core.remote.paths import path_or_address
from lamella.core.settings import Settings, Value

log = logging.getLogger(__name__)
MOST_RECENT = 20


def state_path() -> Path:
    return paths.config_folder() / "state.json"


class State:
    """Recent files and the window's geometry. If their file cannot be read, that is logged and they start
    empty: losing them does no harm."""

    def __init__(self) -> None:
        self._items = _read()

    @property
    def recent(self) -> list[Path]:
        """Newest first."""
        value = self._items.get("recent", [])
        items = value if isinstance(value, list) else []
        return [path_or_address(item) for item in items if isinstance(item, str)]

    def remember(self, path: Path) -> None:
        path = path.absolute()
        files = [path, *(recent_path for recent_path in self.recent if recent_path != path)][:MOST_RECENT]
        self._write("recent", [str(file) for file in files])

    def forget(self, path: Path) -> None:
        self._write("recent", [str(file) for file in self.recent if file != path])

    @property
    def geometry(self) -> bytes:
        """The window's geometry in Qt's format; empty at the first start."""
        value = self._items.get("geometry", "")
        try:
            return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
        except binascii.Error:
            return b""

    def save_geometry(self, geometry: bytes) -> None:
        self._write("geometry", base64.b64encode(geometry).decode())

    def _write(self, name: str, value: Any) -> None:
        """Update the file as it is now: another window may have written it meanwhile."""
        self._items = _read() | {name: value}
        write_object(state_path(), self._items)


def _read() -> dict[str, Any]:
    try:
        return read_object(state_path())
    except FileProblem as problem:
        log.warning("%s", problem)
        return {}


MOST_LAYOUTS, LONGEST_LAYOUT, LONGEST_LAYOUTS = 200, 100_000, 1_000_000
"""The maximum number of layouts, and of characters of one and of all. The oldest are dropped first."""


def layouts_path() -> Path:
    return paths.config_folder() / "layouts.json"


class Layouts:
    """The last layout of each dataset's columns, by the key of its tab. Losing them does no harm."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: Sequence[str]) -> dict[str, Any]:
        """The layout, empty if there is none."""
        return next((layout for layout_key, layout in self._read() if layout_key == list(key)), {})

    def save(self, key: Sequence[str], layout: dict[str, Any]) -> None:
        """Save as the newest layout. An empty layout, or one that is too long, removes the saved one."""
        layouts = [
            (layout_key, layout_kept) for layout_key, layout_kept in self._read() if layout_key != list(key)
        ]
        entries = [*layouts, (list(key), layout)] if layout else layouts
        texts = [len(json.dumps(entry)) for entry in entries]
        while entries and (len(entries) > MOST_LAYOUTS or sum(texts) > LONGEST_LAYOUTS):
            del entries[0], texts[0]
        entries_kept = [
            entry for entry, length in zip(entries, texts, strict=True) if length <= LONGEST_LAYOUT
        ]
        write_object(
            self._path,
            {
                "layouts": [
                    {"key": layout_key, "layout": entry_layout} for layout_key, entry_layout in entries_kept
                ]
            },
        )

    def _read(self) -> list[tuple[list[str], dict[str, Any]]]:
        try:
            entries = read_object(self._path).get("layouts", [])
        except FileProblem as problem:
            log.warning("%s", problem)
            return []
        layouts = []
        for entry in entries if isinstance(entries, list) else []:
            key, layout = (entry.get("key"), entry.get("layout")) if isinstance(entry, dict) else (None, None)
            if isinstance(key, list) and isinstance(layout, dict):
                layouts.append((key, layout))
        return layouts


class Memory:
    """Implements `ui.window.memory.Memory`. If something cannot be written, `trouble` is called once, and the
    values stay in memory until the program ends."""

    def __init__(self, settings: Settings, state: State, trouble: Callable[[FileProblem], None]) -> None:
        self._settings, self._state, self._trouble = settings, state, trouble
        self._layouts = Layouts(layouts_path())
        self.windows = WorkspaceFiles(paths.config_folder() / "workspace")
        self.histories: dict[tuple[str, ...], Any] = {}
        self._is_trouble_known = False

    def check_writable(self) -> None:
        """Report at the start if settings and state cannot be saved."""
        if not paths.is_remembered():
            self.report(
                FileProblem(
                    paths.config_folder(),
                    "settings, recent files and the log will not be saved",
                    f"Nothing can be written there or in {paths.log_folder()}",
                    WRITABLE,
                )
            )

    @property
    def theme(self) -> str:
        return str(self._settings["theme"])

    @theme.setter
    def theme(self, mode: str) -> None:
        self._set("theme", str(mode))

    @property
    def text_scale(self) -> float:
        return float(self._settings["text_scale"])

    @text_scale.setter
    def text_scale(self, scale: float) -> None:
        self._set("text_scale", scale)

    @property
    def restores_workspace(self) -> bool:
        return bool(self._settings["restore_workspace"])

    @property
    def mongodb_uri(self) -> str:
        return str(self._settings["mongodb_uri"])

    @mongodb_uri.setter
    def mongodb_uri(self, uri: str) -> None:
        use(uri)
        self._set("mongodb_uri", uri)

    @property
    def default_store(self) -> str:
        return str(self._settings["default_store"])

    @default_store.setter
    def default_store(self, path: str) -> None:
        self._set("default_store", path)

    @property
    def saved_runs(self) -> Path:
        return paths.saved_runs()

    @property
    def saved_views(self) -> Path:
        return paths.saved_views()

    @property
    def recent(self) -> list[Path]:
        return self._state.recent

    def remember(self, path: Path) -> None:
        self._save(lambda: self._state.remember(path))

    def forget(self, path: Path) -> None:
        self._save(lambda: self._state.forget(path))

    @property
    def geometry(self) -> bytes:
        return self._state.geometry

    def save_geometry(self, geometry: bytes) -> None:
        self._save(lambda: self._state.save_geometry(geometry))

    def layout(self, key: tuple[str, ...]) -> dict[str, Any]:
        return self._layouts.get(key)

    def save_layout(self, key: tuple[str, ...], layout: dict[str, Any]) -> None:
        self._save(lambda: self._layouts.save(key, layout))

    def add_window(self) -> WindowEntry:
        return self.windows.add()

    @property
    def settings(self) -> Settings:
        return self._settings

    def change(self, name: str, value: Value) -> None:
        """Save a setting, and apply it unless the window does. Raises BadSetting."""
        self._set(name, value)
        if name == "mongodb_uri":
            use(str(value))
        elif name.endswith("_mb"):
            apply_limits(self._settings)

    def _set(self, name: str, value: Value) -> None:
        if self._settings.values[name] != value:
            self._settings[name] = value
            self._save(lambda: save(self._settings, settings_path()))

    def _save(self, write: Callable[[], None]) -> None:
        try:
            write()
        except FileProblem as problem:
            self.report(problem)

    def report(self, problem: FileProblem) -> None:
        """Log that something cannot be written or read, and show the first such problem."""
        log.warning("%s", problem)
        if not self._is_trouble_known:
            self._is_trouble_known = True
            self._trouble(problem)
