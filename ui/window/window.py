"""The main window's interface, as its parts see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from PySide6.QtCore import QByteArray

    from lamella.core.bench.results.store import SavedRuns
    from lamella.core.datasets.base import Dataset
    from lamella.core.query.line import Line
    from lamella.ui.bench.benchmark_panel import BenchmarkPanel
    from lamella.ui.find.everywhere import SearchEverywhere
    from lamella.ui.tasks import Tasks
    from lamella.ui.widgets.sidebar import Sidebar
    from lamella.ui.window.action_state import ActionSet
    from lamella.ui.window.commits import Commits
    from lamella.ui.window.dataset_tab import DatasetTab
    from lamella.ui.window.diagrams import Diagrams
    from lamella.ui.window.help import Help
    from lamella.ui.window.library import Library
    from lamella.ui.window.memory import Memory
    from lamella.ui.window.opening import Opening
    from lamella.ui.window.servers import ServerFiles
    from lamella.ui.window.store_actions import StoreActions
    from lamella.ui.window.tab_set import TabSet
    from lamella.ui.window.trail import Trail


class Consoles(Protocol):
    """The SQL consoles, as far as actions need to know them."""

    @property
    def front_store(self) -> Path | None: ...

    def show(self) -> None: ...

    def make(self, state: Mapping[str, Any] | None = None) -> QWidget: ...

    def save(self, otherwise: Callable[[], object]) -> None: ...

    def open_for_steps(self, tab: DatasetTab) -> None: ...


class EverythingSearch(Protocol):
    """The search in everything that is open, as far as actions need to know it."""

    def show(self) -> QWidget: ...

    def make(self) -> SearchEverywhere: ...


class Appearance(Protocol):
    """Theme and text size, as far as actions need to know them."""

    def set_mode(self, mode: str) -> None: ...

    def step_text(self, step: int) -> None: ...


class Window(Protocol):
    """The window. It is also the widget that is the parent of its parts' dialogs."""

    tabs: TabSet
    tasks: Tasks
    commits: Commits
    opening: Opening
    servers: ServerFiles
    trail: Trail
    diagrams: Diagrams
    store_actions: StoreActions
    sidebar: Sidebar
    commands: ActionSet
    library: Library
    help: Help
    memory: Memory
    benchmark: BenchmarkPanel | None
    sample_requested: SignalInstance
    window_requested: SignalInstance

    @property
    def searches(self) -> EverythingSearch: ...

    @property
    def appearance(self) -> Appearance: ...

    @property
    def consoles(self) -> Consoles: ...

    @property
    def saved_runs(self) -> SavedRuns: ...

    def show_benchmark(self) -> None: ...

    def save_workspace(self, on: bool) -> None: ...

    def make_benchmark(self) -> BenchmarkPanel: ...

    def make_tab(self, dataset: Dataset, key: tuple[str, ...], line: Line | None = None) -> DatasetTab: ...

    def saveGeometry(self) -> QByteArray: ...

    def restoreGeometry(self, geometry: QByteArray) -> bool: ...

    def show_error(self, error: Exception) -> None: ...

    def show_files(self) -> None: ...

    def update_state(self) -> None: ...

    def open_paths(self, paths: Sequence[Path]) -> None: ...

    def reopen_tab(self) -> None: ...

    def change(self) -> None: ...

    def offer_import(self, column: str, then: Callable[[DatasetTab], object]) -> None: ...

    def close(self) -> bool: ...

    def move_tab(self) -> None: ...

    def quit(self) -> None: ...
