"""What the window asks to be remembered from one start to the next. The program keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lamella.core.settings import Settings, Value


class WindowEntry(Protocol):
    """What one window had open; `state` as it was saved last, empty for a new window."""

    state: Mapping[str, Any]

    def save(self, state: Mapping[str, Any], number: int) -> None:
        """Any thread. Of two states that with the greater number stays. Raises `FileProblem`."""

    def release(self) -> None:
        """Save no more; it is restored at the next start."""

    def forget(self) -> None:
        """Save no more, nor restore it."""


class Memory(Protocol):
    theme: str  # "system", "light" or "dark"
    text_scale: float
    mongodb_uri: str
    default_store: str  # the folder of the store that imports go to; empty for the usual one

    histories: dict[tuple[str, ...], Any]
    """What can be undone in tabs that may be closed and opened again, by what they show, until the program
    ends."""

    @property
    def saved_runs(self) -> Path:
        """The file of the benchmarks that are kept."""

    @property
    def saved_views(self) -> Path:
        """The file of the views of files."""

    @property
    def recent(self) -> list[Path]:
        """The files opened last, newest first."""

    def remember(self, path: Path) -> None:
        """Put a file first among the recent ones."""

    def forget(self, path: Path) -> None:
        """Take a file off the recent ones."""

    @property
    def geometry(self) -> bytes:
        """Size and place of the window, as `save_geometry` was given them; empty at the first start."""

    def save_geometry(self, geometry: bytes) -> None: ...

    @property
    def settings(self) -> Settings:
        """The values in force, and where they come from."""

    def change(self, name: str, value: Value) -> None:
        """Save a setting, and apply it as far as the window does not. Raises `BadSetting`."""

    def add_window(self) -> WindowEntry:
        """For a window that is new."""

    def layout(self, key: tuple[str, ...]) -> dict[str, Any]:
        """How the columns of a dataset were shown last, as JSON; empty for as usual."""

    def save_layout(self, key: tuple[str, ...], layout: dict[str, Any]) -> None: ...
