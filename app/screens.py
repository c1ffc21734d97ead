"""Pictures of the main screens in the sizes that people use, of the real window on the sample data.

The tour beside it does one job from beginning to end; here each screen is brought up for its own sake.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QWidget

from lamella import resources
from lamella.app import logs, tour
from lamella.app.tour import MODES, Camera, Tour, dialog_of, settled
from lamella.core.errors import FileProblem
from lamella.core.filters.expr import Predicate
from lamella.core.query import agg
from lamella.core.query.expressions import col
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group, Sort, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.comparison.dialog import CompareDialog
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.dialogs.open_import import ImportDialog
from lamella.ui.editing.change_dialog import ChangeDialog
from lamella.ui.editing.change_forms import UpdateForm
from lamella.ui.filters.value_picker import ValuePicker
from lamella.ui.indexes.manager import IndexesDialog
from lamella.ui.steps.where_editor import WhereEditor
from lamella.ui.window.dataset_tab import DatasetTab

SIZES = {"": QSize(1280, 800), "1000": QSize(1000, 700)}
LARGE_TEXT = 1.5
SCREEN = {"name": "wide", "x": 0, "y": 0, "width": 1920, "height": 1200}
"""A pop-up stays on its screen, and without this one is 800 pixels wide."""

SHARP = 2
"""Pixels a point from which on only the table is taken: the sharpness of everything else is the same."""

PAUSE_SECONDS = 0.3
HELP_OFFSET = 60
FRAMELESS = Qt.WindowType.FramelessWindowHint

LATE = (col("dep_delay") > 60) & Predicate("carrier", "in", ("AA", "UA"))
FAR = (col("origin") == "JFK") & Predicate("dest", "in", ("LAX", "SFO", "SEA")) & (col("arr_delay") >= 120)
BENCHMARK_ROWS = (1, 10, 100, 1000)


def start(tour: Tour) -> None:
    tour.wait("the stores are listed", lambda: tour.window.sidebar.num_stores > 0)


def table(tour: Tour) -> None:
    """With a filter, a computed column and an order; the profile of the column beside it."""
    if tour.window.tabs.dataset_tab is None:
        tour.program.open([], with_sample=True)
        tour.wait("the flights are shown", lambda: tour.window.tabs.dataset_tab is not None)
    tab = settled(tour)
    speed = Compute((("speed", col("distance") / col("air_time")),))
    tab.apply(Line.of([Where(LATE), speed, Sort((SortKey("dep_delay", True),))]))
    settled(tour)
    place = tab.grid.place(tab.grid.grid_model.names.index("dep_delay"))
    tab.grid.go_to(3, place)
    tab.grid.go_to(7, place, extend=True)
    tab.inspector.show_page("column")
    settled_after_pause(tour)


def row(tour: Tour) -> None:
    tab = plain(tour)
    tab.grid.go_to(4, 0)
    tab.inspector.show_page("row")
    settled_after_pause(tour)


def filter_form(tour: Tour) -> None:
    tab = plain(tour)
    tab.set_filter(LATE | FAR)
    settled(tour)
    tab.steps.edit_filter()
    settled(tour)


def value_picker(tour: Tour) -> None:
    filter_form(tour)
    editor = settled(tour).steps.editor
    assert isinstance(editor, WhereEditor)
    condition = next(
        row.condition
        for row in editor.builder.findChildren(QWidget)
        if column_and_operator(row) == ("dest", "in")
    )
    editor.builder.choose_values(condition)
    tour.wait("the values are counted", lambda: bool(shown_pickers()) and not tour.program.tasks.running)
    settled(tour)


def column_and_operator(row: QWidget) -> tuple[str, str]:
    condition = getattr(row, "condition", None)
    return (condition.column, condition.operator) if condition is not None else ("", "")


def shown_pickers() -> list[QWidget]:
    return [one for one in QApplication.allWidgets() if isinstance(one, ValuePicker) and one.isVisible()]


def filter_row(tour: Tour) -> None:
    tab = plain(tour)
    tour.window.commands["filter_row"].trigger()
    tab.grid.filter_row.focus_column(tab.grid.place(tab.grid.grid_model.names.index("dep_delay")))
    field = tab.grid.filter_row.field_of("dep_delay")
    assert field is not None
    for letter in ">60":
        event = QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, letter)
        QApplication.sendEvent(field, event)
    tour.wait("the condition is taken", lambda: tab.where is not None)
    settled(tour)


def hide_filter_row(tour: Tour) -> None:
    tour.window.commands["filter_row"].trigger()


def group(tour: Tour) -> None:
    """With the form of its step."""
    tab = plain(tour)
    hours = Compute((("hours", col("dep_delay") / 60),))
    figures = (
        ("n", agg.count()),
        ("mean_delay", agg.mean(col("dep_delay"))),
        ("worst", agg.max(col("hours"))),
    )
    by_carrier = [Where(Predicate("dep_delay", "not_null")), hours, Group(("carrier",), figures)]
    tab.apply(Line.of(by_carrier).with_sort([SortKey("n", True)]))
    settled(tour)
    tab.steps.edit(2)
    settled(tour)


def chart(tour: Tour) -> None:
    from lamella.core.query.charts import ChartSpec

    tab = plain(tour)
    spec = ChartSpec("line", "hour", measure="arr_delay", aggregate="mean", color="carrier")
    tab.charting.show()
    tab.charting.view.show_spec(spec)
    tour.wait("the chart is drawn", lambda: tab.charting.is_drawn(spec))


def hide_chart(tour: Tour) -> None:
    plain(tour).charting.hide()


DELAYS = """with delays as (
  select f.carrier, a.name, f.origin, f.dep_delay, f.dep_delay > 60 as late
  from flights f join airlines a using (carrier)
  where f.dep_delay is not null
)
select name, origin, count(*) as n, avg(dep_delay) as mean_delay,
       avg(late::int) as late_share,
       rank() over (partition by origin order by avg(dep_delay)) as place
from delays
group by name, origin having count(*) > 1000
order by origin, place"""


def console(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["sql"].trigger()
    shown = tour.window.consoles.current
    assert shown is not None
    shown.restore({"text": DELAYS, "cursor": DELAYS.index("from delays")})
    shown.run()
    tour.wait("the statement has run", lambda: shown.front_tab is not None and not shown.runner.running)
    settled_after_pause(tour)


def find(tour: Tour) -> None:
    """In all rows, at the first hit."""
    tab = plain(tour)
    tour.window.commands["find"].trigger()
    tab.finding.bar.field.clear()
    tab.finding.bar.field.setText("N1424")
    tour.wait("all rows are searched", lambda: " of " in tab.finding.bar.news.text())
    settled(tour)


def close_find(tour: Tour) -> None:
    plain(tour).finding.close()


def find_everywhere(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["find_everywhere"].trigger()
    panel = tour.window.searches.current
    assert panel is not None
    panel.field.setText("JFK")
    tour.wait("every table is searched", lambda: "found in" in panel.status and tour.is_idle)


def indexes(tour: Tour) -> None:
    """With the form of a new one."""
    tab = plain(tour)
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("tailnum")))
    tour.window.commands["indexes"].trigger()
    dialog = dialog_of(tour, IndexesDialog)
    tour.wait("the indexes are listed", lambda: tour.is_idle)
    dialog.begin_new()


def add_step(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["add_step"].trigger()


def join(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["join"].trigger()
    settled(tour)


def change(tour: Tour) -> None:
    tab = plain(tour)
    tab.set_filter(LATE)
    settled(tour)
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("arr_delay")))
    tour.window.commands["change"].trigger()
    dialog = dialog_of(tour, ChangeDialog)
    assert isinstance(dialog.form, UpdateForm)
    dialog.form.lines[0].choose("compute")
    dialog.set_value("greatest(arr_delay - 15, 0)")
    tour.wait("the change is previewed", dialog.apply.isEnabled)


def importing(tour: Tour) -> None:
    tour.window.opening.import_paths([resources.sample("planes"), resources.sample("airports")])
    tour.wait("the files are recognised", dialog_of(tour, ImportDialog).import_button.isEnabled)


def commands(tour: Tour) -> None:
    tour.window.commands["palette"].trigger()
    dialog_of(tour, CommandPalette).findChildren(QLineEdit)[0].setText("de")


def relations(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["relations"].trigger()
    tour.wait("the diagram is there", lambda: tour.window.diagrams.current is not None)
    diagram = tour.window.diagrams.current
    assert diagram is not None
    tour.wait("the relations are checked", lambda: len(diagram.checks.results) == 6 and not diagram.is_busy)
    diagram.panel.chosen.emit("plane")


def store(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["store_page"].trigger()
    tour.wait("the page is there", lambda: tour.window.store_actions.current_page is not None)
    page = tour.window.store_actions.current_page
    assert page is not None
    tour.wait("the store is measured", lambda: page.sizes is not None and not page.is_busy)
    page.tree.topLevelItem(0).setExpanded(True)


def details(tour: Tour) -> None:
    """The page of the inspector about the table, with row groups that the filter skips."""
    tab = plain(tour)
    tab.set_filter(col("month") >= 10)
    settled(tour)
    tab.inspector.show_page("table")
    tour.wait("the table is described", lambda: tab.inspector.table_page.is_settled)
    settled_after_pause(tour)


def history(tour: Tour) -> None:
    """What has changed since the first version, beside the commits."""
    if not tour.window.library.stores[-1]["planes"].history.undoable():
        change_planes(tour)
    tour.window.opening.open_key((str(tour.window.library.stores[-1].path), "planes"))
    tour.wait("the planes are shown", lambda: tour.window.tabs.title == "planes")
    tab = settled(tour)
    tour.window.commands["history"].trigger()
    page = tab.inspector.history_page
    tour.wait("the commits are listed", lambda: page.is_settled and page.model.total > 2)
    page.select(1)
    page.against_now.click()
    view = tab.comparing.view
    tour.wait("the versions are compared", lambda: view is not None and view.is_settled)
    settled_after_pause(tour)


def change_planes(tour: Tour) -> None:
    planes = tour.window.library.stores[-1]["planes"]
    planes.update_where(col("manufacturer") == "AIRBUS INDUSTRIE", {"$set": {"manufacturer": "AIRBUS"}})
    planes.delete(ids=[17, 18])
    planes.history.name_version("before the merger", 1)


def close_tab(tour: Tour) -> None:
    tour.window.commands["close_tab"].trigger()


def compare(tour: Tour) -> None:
    """The dialog, with a table of other rows."""
    tab = plain(tour)
    tour.window.commands["compare"].trigger()
    dialog = dialog_of(tour, CompareDialog)
    dialog.add_file(resources.sample("weather"))
    tour.wait("keys are looked for", lambda: dialog.is_settled and dialog.key.count() > 0)
    settled(tour)
    assert tab.view is not None


def all_columns(tour: Tour) -> None:
    tab = plain(tour)
    tab.profiling.show()
    loader = tab.profiling.view.loader if tab.profiling.view is not None else None
    tour.wait("figures are there", lambda: loader is not None and loader.num_known > 15 and not loader.busy)


def hide_columns(tour: Tour) -> None:
    plain(tour).profiling.hide()


def settings(tour: Tour) -> None:
    tour.window.commands["settings"].trigger()


def help_pages(tour: Tour) -> None:
    tour.window.help.show("shortcuts.md")
    tour.wait("the help is there", lambda: tour.window.help.viewer is not None)
    viewer = tour.window.help.viewer
    assert viewer is not None
    viewer.move(tour.window.mapToGlobal(QPoint(HELP_OFFSET, HELP_OFFSET)))
    viewer.resize(tour.window.size() - QSize(2 * HELP_OFFSET, 2 * HELP_OFFSET))


def benchmark(tour: Tour) -> None:
    if tour.window.benchmark is not None:
        tour.window.show_benchmark()
        return
    tour.window.commands["benchmark"].trigger()
    panel = tour.window.benchmark
    assert panel is not None
    panel.controls.size_choice.choose(BENCHMARK_ROWS)
    panel.controls.repeats.setValue(2)
    panel.bar.start.click()
    tour.wait("the benchmark is saved", lambda: not panel.running and "Saved as run" in panel.status)


def saved_runs(tour: Tour) -> None:
    tour.window.commands["saved_runs"].trigger()
    tour.wait("nothing is read", lambda: not tour.program.tasks.running and tour.is_idle)


def settled_after_pause(tour: Tour) -> DatasetTab:
    """The current tab once what waits for a pause has been read as well."""
    began = time.monotonic()
    tour.wait("a pause is over", lambda: time.monotonic() - began > PAUSE_SECONDS)
    return settled(tour)


def plain(tour: Tour) -> DatasetTab:
    """The flights, with no step and no panel."""
    tab = next(one for one in tour.window.tabs.dataset_tabs if one.name == "flights")
    tour.window.tabs.show_tab(tab)
    tab.inspector.hide()
    tab.steps.close_editor()
    tab.apply(Line())
    tab.grid.go_to(0, 0)
    return settled(tour)


SCREENS: dict[str, Callable[[Tour], None]] = {
    "start": start,
    "table": table,
    "row": row,
    "filter": filter_form,
    "values": value_picker,
    "filter-row": filter_row,
    "group": group,
    "chart": chart,
    "sql": console,
    "find": find,
    "find-everywhere": find_everywhere,
    "indexes": indexes,
    "add-step": add_step,
    "join": join,
    "change": change,
    "import": importing,
    "commands": commands,
    "relations": relations,
    "store": store,
    "details": details,
    "history": history,
    "compare": compare,
    "all-columns": all_columns,
    "settings": settings,
    "help": help_pages,
    "benchmark": benchmark,
    "saved-runs": saved_runs,
}
AFTER: dict[str, Callable[[Tour], None]] = {
    "filter-row": hide_filter_row, "chart": hide_chart, "sql": close_tab, "find": close_find,
    "find-everywhere": close_tab, "history": close_tab, "all-columns": hide_columns, "settings": close_tab,
}  # fmt: skip


class ScreenCamera(Camera):
    """Takes the whole window with what is open over it."""

    def take_screen(self, window: QWidget, name: str) -> None:
        look = theme.current()
        for mode in MODES:
            look.set_mode(mode)
            for _ in range(3):
                QApplication.processEvents()
            target = self.folder / f"{name}-{mode.value}.png"
            if not _with_popups(window).save(str(target)):
                raise FileProblem(target, "the picture cannot be written", fix=tour.ELSEWHERE)
            self.pictures.append(target)


def _with_popups(window: QWidget) -> QPixmap:
    picture = window.grab()
    painter = QPainter(picture)
    for popup in _popups(window):
        place = window.mapFromGlobal(popup.mapToGlobal(QPoint()))
        painter.drawPixmap(place, popup.grab())
        if isinstance(popup, QDialog) and not popup.windowFlags() & FRAMELESS:  # a desktop would draw one
            painter.setPen(theme.current().color("border_strong"))
            painter.drawRect(QRect(place, popup.size()).adjusted(-1, -1, 0, 0))
    painter.end()
    return picture


def _popups(window: QWidget) -> Iterator[QWidget]:
    for widget in QApplication.topLevelWidgets():
        if widget is not window and widget.isVisible() and widget.windowType() != Qt.WindowType.ToolTip:
            yield widget


def _close_popups(tour: Tour) -> None:
    for popup in list(_popups(tour.window)):
        popup.reject() if isinstance(popup, QDialog) else popup.close()
    QApplication.processEvents()


def run(folder: Path) -> int:
    """Take the pictures into `folder`: `01-start-light.png`, `01-start-1000-dark.png`. The exit code."""
    with tempfile.TemporaryDirectory(prefix="lamella-screens-") as home:
        os.environ["LAMELLA_HOME"] = home
        config = Path(home) / "screens.json"
        config.write_text(json.dumps({"screens": [SCREEN]}), encoding="utf-8")
        if os.environ.get("QT_QPA_PLATFORM", "offscreen") == "offscreen":
            os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={config}"
        camera = ScreenCamera(folder)
        logs.install(echoes=True)
        frames = tour.begin(camera)
        sharp = frames.window.devicePixelRatio() >= SHARP
        names = ["table"] if sharp else list(SCREENS)
        for number, name in enumerate(names, 1):
            _take_in_every_size(frames, camera, f"{number:02}-{name}", name, sharp)
            print(f"{name}: done", flush=True)
        frames.window.close()
        logs.uninstall()
    print(f"{len(camera.pictures)} pictures are in {folder.absolute()}")
    return 0


def _take_in_every_size(tour: Tour, camera: ScreenCamera, stem: str, name: str, sharp: bool) -> None:
    look = theme.current()
    for suffix, size in list(SIZES.items())[: 1 if sharp else None]:
        tour.window.resize(size)
        SCREENS[name](tour)
        parts = [stem, *(["200%"] if sharp else []), *([suffix] if suffix else [])]
        camera.take_screen(tour.window, "-".join(parts))
        if name == "table" and not sharp:
            look.set_text_scale(LARGE_TEXT)
            settled_after_pause(tour)
            camera.take_screen(tour.window, "-".join([stem, "large-text", *([suffix] if suffix else [])]))
            look.set_text_scale(1.0)
        AFTER.get(name, lambda tour: None)(tour)
        _close_popups(tour)
