"""A memory of the window that lasts as long as a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamella.core.settings import Settings, Value


class FakeEntry:
    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.state = dict(state or {})
        self.is_released = self.is_forgotten = False
        self._newest = 0

    def save(self, state: Mapping[str, Any], number: int) -> None:
        if number > self._newest:
            self.state, self._newest = json.loads(json.dumps(state)), number

    def release(self) -> None:
        self.is_released = True

    def forget(self) -> None:
        self.is_forgotten = True


class FakeMemory:
    def __init__(self, saved_runs: Path) -> None:
        self.theme, self.text_scale = "light", 1.0
        self.saved_runs, self.mongodb_uri = saved_runs, "mongodb://localhost:27017"
        self.default_store = ""
        self.saved_views = saved_runs.with_name("views.json")
        self.recent: list[Path] = []
        self.geometry = b""
        self.settings = Settings()
        self.entries: list[FakeEntry] = []
        self.histories: dict[tuple[str, ...], Any] = {}
        self.layouts: dict[tuple[str, ...], dict[str, Any]] = {}

    def remember(self, path: Path) -> None:
        self.recent = [path, *(recent_path for recent_path in self.recent if recent_path != path)]

    def forget(self, path: Path) -> None:
        self.recent = [recent_path for recent_path in self.recent if recent_path != path]

    def change(self, name: str, value: Value) -> None:
        self.settings[name] = value

    def add_window(self) -> FakeEntry:
        self.entries.append(FakeEntry())
        return self.entries[-1]

    def layout(self, key: tuple[str, ...]) -> dict[str, Any]:
        return self.layouts.get(key, {})

    def save_layout(self, key: tuple[str, ...], layout: dict[str, Any]) -> None:
        self.layouts[key] = layout

    def save_geometry(self, geometry: bytes) -> None:
        self.geometry = geometry
