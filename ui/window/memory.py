"""What the window wants remembered between starts; the program implements it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lamella.core.settings import Settings, Value


class WindowEntry(Protocol):
    """What one window had open; `state` is as last saved, empty for a new window."""

    state: Mapping[str, Any]

    def save(self, state: Mapping[str, Any], number: int) -> None:
        """Save the state; of two states, the one with the greater number wins. Any thread. Raises
        `FileProblem`."""

    def release(self) -> None:
        """Stop saving; the window is restored at the next start."""

    def forget(self) -> None:
        """Stop saving, and do not restore the window."""


class Memory(Protocol):
    theme: str  # "system", "light" or "dark"
    text_scale: float
    mongodb_uri: str
    default_store: str  # the folder of the store that imports go to; empty for the usual one

    histories: dict[tuple[str, ...], Any]
    """What can be undone in tabs that may be closed and opened again, by key, until the program ends."""

    @property
    def saved_runs(self) -> Path:
        """The file of the saved benchmark runs."""

    @property
    def saved_views(self) -> Path:
        """The file of the views of files."""

    @property
    def recent(self) -> list[Path]:
        """Recently opened files, newest first."""

    def remember(self, path: Path) -> None:
        """Put a file first among the recent ones."""

    def forget(self, path: Path) -> None:
        """Remove a file from the recent ones."""

    @property
    def geometry(self) -> bytes:
        """Size and position of the window as given to `save_geometry`; empty at the first start."""

    def save_geometry(self, geometry: bytes) -> None: ...

    @property
    def settings(self) -> Settings:
        """The current values, and where they come from."""

    def change(self, name: str, value: Value) -> None:
        """Save a setting, and apply what the window itself does not. Raises `BadSetting`."""

    def add_window(self) -> WindowEntry:
        """Add an entry for a new window."""

    def layout(self, key: tuple[str, ...]) -> dict[str, Any]:
        """The last layout of a dataset's columns, as JSON; empty for the default."""

    def save_layout(self, key: tuple[str, ...], layout: dict[str, Any]) -> None: ...
