"""What the window asks to be remembered, kept in the settings and the state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lamella.app import paths, servers, settings_file
from lamella.app.settings import Settings, Value
from lamella.app.state import State
from lamella.core.errors import FileProblem


class Memory:
    """`ui.window.memory.Memory`. `trouble` hears what could not be written; it holds all the same."""

    def __init__(self, settings: Settings, state: State, trouble: Callable[[FileProblem], None]) -> None:
        self._settings, self._state, self._trouble = settings, state, trouble

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
    def mongodb_uri(self) -> str:
        return str(self._settings["mongodb_uri"])

    @mongodb_uri.setter
    def mongodb_uri(self, uri: str) -> None:
        servers.use(uri)
        self._set("mongodb_uri", uri)

    @property
    def races(self) -> Path:
        return paths.races()

    @property
    def recent(self) -> list[Path]:
        return self._state.recent

    def remember(self, path: Path) -> None:
        self._written(lambda: self._state.remember(path))

    @property
    def geometry(self) -> bytes:
        return self._state.geometry

    def save_geometry(self, geometry: bytes) -> None:
        self._written(lambda: self._state.save_geometry(geometry))

    def _set(self, name: str, value: Value) -> None:
        if self._settings[name] != value:
            self._settings[name] = value
            self._written(lambda: settings_file.save(self._settings, settings_file.settings_path()))

    def _written(self, write: Callable[[], None]) -> None:
        try:
            write()
        except FileProblem as problem:
            self._trouble(problem)
