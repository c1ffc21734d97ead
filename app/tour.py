"""A tour through the real window with the sample data, which takes a picture of every screen."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from lamella import resources
from lamella.app import crash, logs
from lamella.app.bootstrap import application
from lamella.app.program import Program
from lamella.core.errors import FileProblem
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.expressions import col
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.dialogs.open_import import ImportDialog
from lamella.ui.tasks import Handle
from lamella.ui.window.dataset_tab import DatasetTab

D = TypeVar("D", bound=QDialog)
T = TypeVar("T")
LATE = (col("dep_delay") > 60) & Predicate("carrier", "in", ("AA", "UA"))
LATE_ROWS = 5_827  # counted with another program
CHANGED_COLUMN, NEW_VALUE = "arr_delay", "60"
DIALOGS = (("palette", CommandPalette, "commands"),)
BENCHMARK_ROWS = (1, 10, 100, 1_000, 10_000, 100_000)
MOST_ROWS = 1_000
"""The largest size of the benchmark, so that it takes only seconds."""


def start_empty(tour: Tour) -> None:
    tour.wait("the stores are listed", lambda: tour.window.sidebar.num_stores > 0)
    tour.camera.take(tour.window, "start")


def import_the_sample(tour: Tour) -> None:
    tour.program.open([], with_sample=True)
    tour.wait("the flights are shown", lambda: tour.window.tabs.dataset_tab is not None)
    tour.check("Rows of flights", loaded_view(tour).num_rows, 336_776)
    tour.camera.take(tour.window, "table")


def open_a_file_in_place(tour: Tour) -> None:
    before = loaded_tab(tour)
    tour.window.open_paths([resources.sample("weather")])
    tour.wait("the weather is shown", lambda: tour.window.tabs.dataset_tab is not before)
    tour.check("Rows of weather", loaded_view(tour).num_rows, 26_115)
    tour.camera.take(tour.window, "file")
    tour.window.tabs.show_tab(before)


def draw_a_chart(tour: Tour) -> None:
    from lamella.core.query.charts import ChartSpec

    tab = loaded_tab(tour)
    tour.window.commands["chart"].trigger()
    spec = ChartSpec("line", "hour", measure="arr_delay", aggregate="mean", color="origin")
    chart = existing("chart", tab.charting.view)
    chart.show_spec(spec)
    tour.wait("the chart is drawn", lambda: tab.charting.is_drawn(spec))
    tour.check("Rows of the chart", existing("figures of the chart", chart.data).used, 327_346)
    tour.camera.take(tour.window, "chart")
    tour.window.commands["chart"].trigger()


def filter_the_flights(tour: Tour) -> None:
    tab = loaded_tab(tour)
    tab.set_filter(LATE)
    tab.steps.edit_filter()
    tour.wait("the late flights are counted", lambda: tab.where == LATE and not tour.program.tasks.running)
    tour.check("Late flights", loaded_view(tour).num_rows, LATE_ROWS)
    tour.camera.take(tour.window, "filter")
    tab.steps.close_editor()


def sort_by_delay(tour: Tour) -> None:
    tab = loaded_tab(tour)
    tab.set_sort([SortKey("dep_delay", descending=True)])
    view = loaded_view(tour)
    tour.check("Late flights, sorted", view.num_rows, LATE_ROWS)
    tour.check("The longest delay", view.page(0, 1, ["dep_delay"]).column(0)[0].as_py(), 1_014)
    tour.camera.take(tour.window, "sorted")


def set_a_value_on_the_matching_rows(tour: Tour) -> None:
    from lamella.ui.editing.change_dialog import ChangeDialog

    tab = loaded_tab(tour)
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index(CHANGED_COLUMN)))
    tour.window.commands["change"].trigger()
    dialog = dialog_of(tour, ChangeDialog)
    dialog.set_value(NEW_VALUE)
    apply = dialog.apply
    tour.wait("the change is previewed", apply.isEnabled)
    tour.camera.take(dialog, "set-values")
    apply.click()
    tour.wait("the change is committed", lambda: _can_undo(tab) and not tour.program.tasks.running)
    loaded_tab(tour)
    tour.check("Rows with the new value", _with_new_value(tab), LATE_ROWS)
    tour.camera.take(tour.window, "changed")


def undo_change(tour: Tour) -> None:
    tab = loaded_tab(tour)
    tour.window.commands["undo"].trigger()
    tour.wait("the change is undone", lambda: _can_redo(tab) and not tour.program.tasks.running)
    loaded_tab(tour)
    if _with_new_value(tab) == LATE_ROWS:
        tour.check("Rows with the new value after the undo", LATE_ROWS, "fewer")
    tour.camera.take(tour.window, "undone")


def benchmark(tour: Tour) -> None:
    tour.window.commands["benchmark"].trigger()
    panel = existing("page of the benchmark", tour.window.benchmark)
    tour.camera.take(tour.window, "benchmark-before")
    panel.controls.size_choice.choose(tuple(rows for rows in BENCHMARK_ROWS if rows <= tour.most_rows))
    panel.controls.repeats.setValue(2)
    panel.bar.start.click()
    tour.wait("the benchmark is over", lambda: not panel.running)
    tour.wait("the benchmark is saved", lambda: "Saved as run" in panel.status)
    tour.check("What failed in the benchmark", panel.results.failures, [])
    tour.check("Systems in the benchmark", {r.system for r in panel.results.records}, {"lamella", "sqlite"})
    tour.camera.take(tour.window, "benchmark")


def look_at_the_dialogs(tour: Tour) -> None:
    for action, kind, name in DIALOGS:
        tour.window.commands[action].trigger()
        opened = dialog_of(tour, kind)
        tour.camera.take(opened, name)
        opened.close()
    tour.window.opening.import_paths([resources.sample("planes"), resources.sample("airports")])
    dialog = dialog_of(tour, ImportDialog)
    tour.wait("the files are recognised", dialog.import_button.isEnabled)
    tour.camera.take(dialog, "import")
    dialog.reject()


STEPS: tuple[Callable[[Tour], None], ...] = (
    start_empty,
    import_the_sample,
    open_a_file_in_place,
    draw_a_chart,
    filter_the_flights,
    sort_by_delay,
    set_a_value_on_the_matching_rows,
    undo_change,
    benchmark,
    look_at_the_dialogs,
)


def loaded_tab(tour: Tour) -> DatasetTab:
    """Wait until everything on screen is loaded, and return the current tab."""

    def is_loaded() -> bool:
        tab = tour.window.tabs.dataset_tab
        return (
            tab is not None
            and tab.view is not None
            and not tab.loader.running
            and not tour.program.tasks.running
            and tab.grid.grid_model.pages.is_settled
            and tab.grid.cards.loader.is_settled
            and tour.is_idle
        )

    tour.wait("everything is shown", is_loaded)
    tab = existing("tab with rows", tour.window.tabs.dataset_tab)
    content = existing("content of the tab", tab.content)
    tour.check(f"The steps shown ({tab.messages.label.text() or 'no message'})", content.line, tab.line)
    return tab


def loaded_view(tour: Tour) -> View | ComputedView:
    return existing("content of the tab", loaded_tab(tour).content).view


def existing(what: str, value: T | None) -> T:
    """The value of something that an earlier step of the tour has made."""
    if value is None:
        raise TourFailed(f"There is no {what}")
    return value


def dialog_of(tour: Tour, kind: type[D]) -> D:
    tour.wait(f"the {kind.__name__} opens", lambda: bool(_open(kind)))
    return _open(kind)[0]


def _open(kind: type[D]) -> list[D]:
    widgets = QApplication.topLevelWidgets()
    return [widget for widget in widgets if isinstance(widget, kind) and widget.isVisible()]


def _can_undo(tab: DatasetTab) -> bool:
    return tab.content is not None and bool(tab.content.undo)


def _can_redo(tab: DatasetTab) -> bool:
    return tab.content is not None and bool(tab.content.redo)


def _with_new_value(tab: DatasetTab) -> int:
    """How many of the late flights have the new value."""
    changed: Filter = LATE & (col(CHANGED_COLUMN) == int(NEW_VALUE))
    return existing("table to count in", tab.table).count(changed)


ELSEWHERE = "Choose another folder"
MODES = (theme.Mode.DARK, theme.Mode.LIGHT)


class Camera:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pictures: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(folder, "no pictures can be written here", why, ELSEWHERE) from error

    def take(self, widget: QWidget, name: str) -> None:
        """Write `NN-name-light.png` and `NN-name-dark.png`. Leaves the theme switched to the other mode."""
        number, look = len(self.pictures) // len(MODES) + 1, theme.current()
        for mode in sorted(MODES, key=lambda mode: mode is not look.mode):
            if mode is not look.mode:  # restyling every widget takes a third of a second
                look.set_mode(mode)
            QApplication.processEvents()
            QApplication.processEvents()
            self.paint_plots(widget)
            target = self.folder / f"{number:02}-{name}-{mode.value}.png"
            if not widget.grab().save(str(target)):
                raise FileProblem(target, "the picture cannot be written", fix=ELSEWHERE)
            self.pictures.append(target)

    def paint_plots(self, widget: QWidget) -> None:
        """Paint what a slow machine leaves for later turns of the event loop."""
        from lamella.ui.bench.multiples import Multiples

        for plots in widget.findChildren(Multiples):
            if plots.isVisible():
                plots.finish()


LOOK_EVERY_MS = 10


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether `condition` became true in time. GUI thread only; events are processed meanwhile."""
    if condition():
        return True
    loop, came_true = QEventLoop(), False

    def look() -> None:
        nonlocal came_true
        came_true = condition()
        if came_true:
            loop.quit()

    looks = QTimer(interval=LOOK_EVERY_MS)
    looks.timeout.connect(look)
    looks.start()
    QTimer.singleShot(int(seconds * 1000), loop, loop.quit)
    loop.exec()
    looks.stop()
    return came_true


PATIENCE_SECONDS = 120.0
IDLE_SECONDS = 0.2
WINDOW_SIZE = (1280, 800)


class TourFailed(Exception):
    """Something did not happen, or had a wrong result."""


class Tour:
    """What the steps of the tour work with: the program, the camera, the largest size of the benchmark, and
    waiting."""

    def __init__(self, program: Program, camera: Camera, most_rows: int = MOST_ROWS) -> None:
        self.program, self.camera, self.most_rows = program, camera, most_rows
        self.window = program.window
        self.errors: list[BaseException] = []
        self._working: set[Handle] = set()
        self._idle_since = time.monotonic()
        program.tasks.started.connect(self._note_start)
        program.tasks.finished.connect(self._note_end)

    def _note_start(self, handle: Handle) -> None:
        self._working.add(handle)

    def _note_end(self, handle: Handle) -> None:
        self._working.discard(handle)
        self._idle_since = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no background task has run for a while, such as reading cards or counting conditions."""
        return not self._working and time.monotonic() - self._idle_since > IDLE_SECONDS

    def end(self) -> None:
        """Close the window and delete it, before the exit does."""
        self.window.close()
        self.program.windows.delete()

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for `condition`. Raises TourFailed if it does not become true, or on an error meanwhile."""
        came_true = wait_until(lambda: bool(self.errors) or condition(), PATIENCE_SECONDS)
        if self.errors:
            raise TourFailed(f"While waiting until {what}: {self.errors[0]!r}") from self.errors[0]
        if not came_true:
            raise TourFailed(f"Not within {PATIENCE_SECONDS:g} seconds: {what}")

    def check(self, what: str, actual: object, expected: object) -> None:
        if actual != expected:
            raise TourFailed(f"{what}: {actual!r} instead of {expected!r}")


def run(folder: Path, most_rows: int | None = None) -> int:
    """Write the pictures into `folder` and return the exit code. `most_rows` limits the benchmark."""
    home = tempfile.mkdtemp(prefix="lamella-tour-")
    os.environ["LAMELLA_HOME"] = home
    handler = logs.start()
    logs.install(echoes=True)
    try:
        tour = begin(Camera(folder), most_rows or MOST_ROWS)
        for step in STEPS:
            step(tour)
            print(f"{step.__name__.replace('_', ' ')}: done", flush=True)
        tour.end()
        print(f"{len(tour.camera.pictures)} pictures are in {folder.absolute()}")
        return 0
    finally:
        logs.uninstall()
        logs.stop(handler)
        shutil.rmtree(home)


def begin(camera: Camera, most_rows: int = MOST_ROWS) -> Tour:
    """Start the program and show its window."""
    application()
    tour = Tour(Program(), camera, most_rows)
    crash.install(tour.errors.append)
    tour.program.tasks.failed.connect(tour.errors.append)
    tour.window.resize(*WINDOW_SIZE)
    QCursor.setPos(tour.window.geometry().bottomRight())  # before the window is entered: no button is hovered
    tour.window.show()
    return tour
