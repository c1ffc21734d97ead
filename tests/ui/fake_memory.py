"""What a window remembers, for as long as a test runs."""

from __future__ import annotations

from pathlib import Path


class FakeMemory:
    def __init__(self, saved_runs: Path) -> None:
        self.theme, self.text_scale = "light", 1.0
        self.saved_runs, self.mongodb_uri = saved_runs, "mongodb://localhost:27017"
        self.saved_views = saved_runs.with_name("views.json")
        self.recent: list[Path] = []
        self.geometry = b""

    def remember(self, path: Path) -> None:
        self.recent = [path, *(other for other in self.recent if other != path)]

    def forget(self, path: Path) -> None:
        self.recent = [other for other in self.recent if other != path]

    def save_geometry(self, geometry: bytes) -> None:
        self.geometry = geometry
