"""The chart of a tab: drawn from its steps by mouse and keys, used to filter, saved with a view, exported."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QToolButton, QWidget

from lamella import col, resources
from lamella.core.filters.expr import Predicate
from lamella.core.query import agg
from lamella.core.query.charts import ChartSpec
from lamella.core.query.charts.spec import TITLES
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Where
from lamella.ui import theme
from lamella.ui.charts.legend import SizeScale
from lamella.ui.charts.marks import Display, looks_of
from lamella.ui.charts.words import hover_text
from lamella.ui.dialogs.export_dialog import ExportDialog
from tests.ui.window.chart_mouse import point_of

BY_CARRIER = ChartSpec("bar", "carrier", measure="delay", aggregate="mean")
BY_DELAY = ChartSpec("histogram", "delay")


def test_the_action_draws_the_current_column_and_shows_the_table_again(qtbot, window, table_tab, settled):
    tab = settled()
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("delay")))
    window.commands["chart"].trigger()
    view = tab.charting.view
    qtbot.waitUntil(lambda: view.data is not None)
    assert view.spec == ChartSpec("histogram", "delay")
    assert window.commands["chart"].isChecked() and not tab.pane.isVisible() and view.isVisible()
    assert tab.steps.bar.chart.isVisible() and tab.steps.bar.chart.text().strip() == "Histogram"
    assert "figures of 1,000 rows" in window.status.text.text()
    assert not window.commands["copy"].isEnabled()
    window.commands["chart"].trigger()
    assert tab.pane.isVisible() and not view.isVisible() and not tab.steps.bar.chart.isVisible()
    assert not window.commands["chart"].isChecked()


@pytest.mark.slow
def test_the_types_of_the_selected_columns_choose_the_chart(qtbot, table_tab, settled):
    tab = settled()
    first, last = (tab.grid.place(tab.grid.grid_model.names.index(name)) for name in ("delay", "carrier"))
    tab.grid.go_to(0, first)
    tab.grid.go_to(5, last, extend=True)
    tab.charting.show()
    assert tab.charting.view.spec == BY_CARRIER


def test_a_column_is_charted_in_place_of_an_earlier_chart(qtbot, window, chart, settled):
    view, tab = chart(BY_CARRIER), settled()
    place = tab.grid.place(tab.grid.grid_model.names.index("delay"))
    window.commands["chart"].trigger()
    tab.grid.go_to(0, place)
    window.commands["chart"].trigger()
    assert view.spec == BY_CARRIER
    window.commands["chart"].trigger()
    window.commands["chart_column"].trigger()
    assert view.isVisible() and view.spec == BY_DELAY
    chart(BY_CARRIER)
    window.commands["chart"].trigger()
    tab.grid.select_column(place)
    window.commands["chart"].trigger()
    assert view.spec == BY_DELAY
    chart(BY_CARRIER)
    window.commands["chart"].trigger()
    window.commands["chart"].trigger()
    assert view.spec == BY_CARRIER


@pytest.mark.slow
def test_groups_and_their_figures_are_drawn_together(qtbot, table_tab, settled):
    tab = settled()
    tab.apply(Line.of([Group(("carrier",), (("n", agg.count()),))]))
    settled()
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("carrier")))
    tab.charting.show()
    assert tab.charting.view.spec == ChartSpec("bar", "carrier", measure="n", aggregate="mean")


def test_the_chart_follows_the_steps(qtbot, chart, settled):
    view = chart(BY_CARRIER)
    tab = settled()
    tab.set_filter(col("delay") > 400)
    qtbot.waitUntil(lambda: not tab.loader.running and not view.running)
    assert view.data.rows == tab.view.num_rows < 1000
    assert ("Filtered out", f"{1000 - view.data.rows:,}") in shown_counts(view)
    tab.apply(Line.of([Group(("carrier",), (("n", agg.count()),))]))
    qtbot.waitUntil(lambda: not tab.loader.running and not view.running)
    assert "The column 'delay' no longer exists" in view.message.text() and view.message.isVisible()
    view.show_spec(ChartSpec("bar", "carrier", measure="n", aggregate="sum"))
    qtbot.waitUntil(lambda: view.data is not None and not view.running)
    assert sum(view.data.table["value"].to_pylist()) == 750


def shown_counts(view) -> list[tuple[str, str]]:
    grid = view.form.counts
    cells = [grid.itemAt(n).widget().text() for n in range(grid.count())]
    return list(zip(cells[::2], cells[1::2], strict=True))


SPECS = {
    "histogram": ChartSpec("histogram", "delay", color="carrier"),
    "scatter": ChartSpec("scatter", "delay", "delay", color="carrier"),
    "box": ChartSpec("box", "carrier", "delay"),
    "heat_map": ChartSpec("heat_map", "carrier", "carrier", measure="delay", aggregate="mean"),
    "bar": ChartSpec("bar", "carrier", measure="delay", aggregate="mean", panels="carrier"),
}


@pytest.mark.slow
def test_every_type_is_drawn_light_and_dark(qtbot, chart):
    for kind in TITLES:
        usual = ChartSpec(kind, "delay", measure="delay", aggregate="sum", color="carrier")
        view = chart(SPECS.get(kind, usual))
        figures = view.data.table.num_rows
        assert figures and view.canvas.isVisible()
        assert sum(len(panel.drawing.marks) for panel in view.canvas.panels) == figures, kind
        assert f"{figures:,} figures" in view.canvas.accessibleName()
    for mode in ("light", "dark"):
        theme.current().set_mode(mode)
        for kind in TITLES:
            chart(
                SPECS.get(kind, ChartSpec(kind, "delay", measure="delay", aggregate="sum", color="carrier"))
            )
            assert len(colors_of(view.canvas.grab().toImage())) > 5, (kind, mode)


def colors_of(picture: QImage) -> set[int]:
    return {picture.pixel(x, y) for x in range(0, picture.width(), 3) for y in range(0, picture.height(), 7)}


@pytest.mark.slow
def test_colours_differ_in_more_than_colour(chart):
    view = chart(ChartSpec("line", "delay", color="carrier"))
    looks = looks_of(view.data.color)
    for attribute in ("marker", "dash", "hatch"):
        assert len({getattr(look, attribute) for look in looks}) == len(looks) == 4
    assert {look.name for look in looks} == {"AA", "UA", "empty", "NULL"}


def test_the_legend_is_there_when_the_chart_is_first_painted(qtbot, chart):
    view = chart(ChartSpec("histogram", "delay", color="carrier"))

    def places() -> list[QRect]:
        inside = [child for child in view.legend.children() if isinstance(child, QWidget)]
        return [view.canvas.geometry(), view.legend.geometry()] + [
            child.geometry() for child in inside if child.isVisible()
        ]

    at_first: list[list[QRect]] = []

    def note() -> None:
        if view.data is not None and view.data.panels is not None:
            at_first.append(places())

    view.changed.connect(note)
    view.form.boxes["panels"].chosen.emit("carrier")
    qtbot.waitUntil(lambda: view.data.panels is not None and not view.running)
    QApplication.processEvents()
    assert at_first[0] == places() and len(at_first[0]) == 2 + len(view.canvas.looks)


def test_the_mouse_over_a_figure_says_its_values(qtbot, chart, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr("lamella.ui.charts.canvas.QToolTip.showText", lambda _at, text, *_: said.append(text))
    view = chart(BY_CARRIER)
    mark = view.canvas.panels[0].drawing.marks[0]
    QTest.mouseMove(view.canvas.viewport(), point_of(view, mark))
    assert said and "carrier: " in said[-1] and "Mean of delay: " in said[-1] and "rows" in said[-1]


def test_the_values_of_a_figure_stay_while_the_mouse_rests_on_it(chart):
    view = chart(BY_CARRIER)
    viewport, point = view.canvas.viewport(), point_of(view, view.canvas.panels[0].drawing.marks[0])
    scene_events: list[QEvent.Type] = []
    record = QObject()
    record.eventFilter = lambda _, event: bool(scene_events.append(event.type()))
    view.canvas.scene().installEventFilter(record)
    QApplication.sendEvent(viewport, QHelpEvent(QEvent.Type.ToolTip, point, viewport.mapToGlobal(point)))
    assert QEvent.Type.GraphicsSceneHelp not in scene_events, "the scene hides the text then"
    view.canvas.scene().removeEventFilter(record)


def test_a_click_on_a_bar_filters_by_it(qtbot, chart, settled):
    view = chart(BY_CARRIER)
    mark = next(m for m in view.canvas.panels[0].drawing.marks if view.data.x.place(m.row["x"]).low == "UA")
    QTest.mouseClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=point_of(view, mark))
    tab = settled()
    assert tab.line.active == (Where(Predicate("carrier", "eq", ("UA",))),)
    assert tab.view.num_rows == mark.row["rows"] == 250


def test_how_a_chart_is_drawn_is_part_of_the_state_of_its_tab(qtbot, chart, settled):
    view, tab = chart(ChartSpec("line", "carrier")), settled()
    assert view.form.checks["markers"].isChecked()
    with qtbot.waitSignal(tab.changed):
        view.form.checks["markers"].click()
    assert tab.charting.layout["chart"]["display"]["markers"] is False


@pytest.mark.slow
def test_the_keys_go_along_figures_brush_and_filter(qtbot, chart, settled, monkeypatch):
    monkeypatch.setattr("lamella.ui.charts.canvas.QToolTip.showText", lambda *_: None)
    view = chart(BY_CARRIER)
    canvas = view.canvas
    for _ in range(2):
        QTest.keyClick(canvas, Qt.Key.Key_Right)
    second = view.data.x.places[1].low
    assert f"carrier: {second or 'empty'}" in canvas.accessibleDescription()
    QTest.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert view.brush_bar.isVisible()
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    tab = settled()
    assert tab.view.num_rows == 500 and len(tab.line.active) == 1
    tab.apply(Line())
    settled()
    qtbot.waitUntil(lambda: not view.running)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert settled().view.num_rows == 250
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert not view.isVisible()


def test_another_series_is_reached_by_the_keys_up_and_down(qtbot, chart, monkeypatch):
    monkeypatch.setattr("lamella.ui.charts.canvas.QToolTip.showText", lambda *_: None)
    view = chart(ChartSpec("line", "delay", color="carrier"))
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    before = view.canvas.accessibleDescription()
    QTest.keyClick(view.canvas, Qt.Key.Key_Down)
    after = view.canvas.accessibleDescription()
    assert before != after and "delay: " in before


@pytest.mark.slow
def test_the_panel_changes_type_columns_and_aggregate(qtbot, chart):
    view = chart(BY_CARRIER)
    form = view.form
    form.buttons["box"].click()
    qtbot.waitUntil(lambda: view.data is not None and view.data.spec.kind == "box" and not view.running)
    assert view.spec == ChartSpec("box", "carrier", "delay", measure="delay", aggregate="mean")
    form.buttons["bar"].click()
    form.aggregate.setCurrentIndex(form.aggregate.findData("max"))
    form.aggregate.activated.emit(form.aggregate.currentIndex())
    qtbot.waitUntil(lambda: not view.running and view.data.spec.aggregate == "max")
    choose(form.boxes["color"], "carrier")
    qtbot.waitUntil(lambda: not view.running and view.data.color is not None)
    choose(form.boxes["x"], "nonsense")
    assert form.boxes["x"].text() == "carrier" == view.spec.x
    choose(form.boxes["measure"], "")
    qtbot.waitUntil(lambda: not view.running and view.data.spec.figure == "rows")


def choose(box, name: str) -> None:
    box.setText(name)
    box.editingFinished.emit()


@pytest.mark.parametrize(
    ("spec", "title"),
    [
        (ChartSpec("line"), "Line chart"),
        (ChartSpec("scatter", y="delay"), "Scatter plot"),
        (ChartSpec("heat_map", "carrier"), "Heat map"),
        (ChartSpec("bar", "carrier", aggregate="mean"), "Bar chart"),
    ],
)
def test_a_chart_without_all_its_columns_is_named_by_its_type(chart, spec, title):
    view = chart(BY_CARRIER)
    view.show_spec(spec)
    assert "Choose a column" in view.message.text() and view.title.text() == title


def test_the_confidence_of_means_is_named_as_it_is_drawn(qtbot, chart):
    view = chart(ChartSpec("line", "delay", measure="delay", aggregate="mean"))
    assert view.form.checks["band"].text() == "Band: 95% confidence"
    view = chart(ChartSpec("bar", "carrier", measure="delay", aggregate="mean"))
    assert view.form.checks["band"].text() == "Error bars: 95% confidence"


@pytest.mark.slow
def test_what_is_drawn_beside_the_figures_can_be_switched(qtbot, chart):
    view = chart(ChartSpec("line", "delay", measure="delay", aggregate="mean", color="carrier"))
    before = len(view.canvas.panels[0].drawing.items)
    view.form.checks["band"].setChecked(False)
    assert len(view.canvas.panels[0].drawing.items) < before
    view.form.checks["labels"].setChecked(False)
    assert view.legend.isVisible() and not view.canvas.names_lines
    view.form.checks["zero"].setChecked(True)
    assert view.canvas.panels[0].drawing.low <= 0
    view.form.log_y.setChecked(True)
    qtbot.waitUntil(lambda: not view.running and view.data.spec.log_y)
    assert view.canvas.panels[0].drawing.high < 4


@pytest.mark.slow
def test_a_flat_line_stands_above_zero(chart):
    view = chart(ChartSpec("line", "carrier", measure="carrier", aggregate="distinct"))
    assert {value for value in view.data.table["value"].to_pylist() if value} == {1.0}
    _, (low, high) = view.canvas.panels[0].plot.vb.viewRange()
    assert low == 0 < 1 < high


def test_figures_that_a_log_axis_lacks_are_said(qtbot, chart):
    view = chart(ChartSpec("bar", "delay", measure="delay", aggregate="mean", log_y=True))
    lost = sum(value <= 0 for value in view.data.table["value"].to_pylist())
    assert lost and f"{lost} figures are 0 or less" in view.form.remarks.text()
    assert len(view.canvas.panels[0].drawing.marks) == view.data.table.num_rows - lost


@pytest.mark.slow
def test_the_mouse_finds_a_point_among_many(qtbot, chart, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr("lamella.ui.charts.canvas.QToolTip.showText", lambda _at, text, *_: said.append(text))
    view = chart(ChartSpec("scatter", "delay", "delay"))
    mark = view.canvas.panels[0].drawing.marks[500]

    def is_found() -> bool:
        """Points are less than a pixel apart."""
        QTest.mouseMove(view.canvas.viewport(), QPoint(1, 1))
        QTest.mouseMove(view.canvas.viewport(), point_of(view, mark))
        value = said[-1].partition("\n")[0].removeprefix("delay: ").replace("−", "-") if said else "nan"
        return abs(float(value) - mark.row["at_x"]) <= 3

    qtbot.waitUntil(is_found)


@pytest.mark.slow
def test_a_chart_without_figures_says_why(qtbot, chart, settled):
    view = chart(BY_DELAY)
    settled().set_filter(col("delay") > 10_000)
    qtbot.waitUntil(view.message.isVisible)
    assert "nothing to draw" in view.message.text() and not view.copy.isEnabled()
    assert view.figures.accessibleName() == "Show the figures"


@pytest.mark.slow
def test_every_bar_and_both_ends_of_an_axis_are_named(qtbot, window, settled, tmp_path):
    names = [f"the name of place {n}" for n in range(20)]
    pq.write_table(pa.table({"place": names, "n": range(20, 0, -1)}), tmp_path / "places.parquet")
    window.open_paths([tmp_path / "places.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("bar", "place", measure="n", aggregate="sum"))
    qtbot.waitUntil(lambda: view.data is not None and not view.running)
    assert {*names, "0"} <= drawn_texts(view)
    plot = view.canvas.panels[0].plot
    bottom = plot.getAxis("bottom")
    first = bottom.mapToScene(QPointF(plot.vb.width() / len(names) / 2, 0)).x()
    assert first >= bottom.overhang - 2, "the first name is inside of the chart"
    theme.current().set_text_scale(1.5)
    assert {names[0], "0"} <= drawn_texts(view)


def drawn_texts(view) -> set[str]:
    return texts_of(view.svg())


def texts_of(svg: str) -> set[str]:
    return {text.strip() for text in re.findall(r">([^<>]+)</text>", svg)}


def test_the_figures_are_shown_as_a_table(qtbot, chart):
    view = chart(BY_CARRIER)
    assert view.figures.accessibleName() == "Show the 3 figures"
    view.figures.click()
    model = view.table.model()
    assert view.table.isVisible() and model.rowCount() == 3
    assert [model.headerData(n, Qt.Orientation.Horizontal) for n in range(3)] == [
        "carrier",
        "mean(delay)",
        "rows",
    ]
    view.table.selectRow(0)
    QTest.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\t")[0] in ("AA", "UA", "")
    view.figures.click()
    assert view.canvas.isVisible()


def test_a_chart_is_exported_as_picture_drawing_and_figures(qtbot, chart, settled, tmp_path, answer_dialog):
    view, tab = chart(ChartSpec("bar", "carrier", color="carrier")), settled()
    for suffix in (".png", ".svg"):
        path = tmp_path / f"chart{suffix}"
        answer_dialog(path)
        view.export_requested.emit(suffix[1:])
        qtbot.waitUntil(lambda path=path: path.exists() and "Written" in tab.messages.label.text())
        tab.messages.clear()
    assert QImage(str(tmp_path / "chart.png")).width() == 2 * view.picture_size.width()
    drawing = (tmp_path / "chart.svg").read_text("utf-8")
    assert drawing.count("<text") > 5 and ">Rows by carrier and carrier<" in drawing
    assert "vector-effect" not in drawing
    assert re.findall('font-family="([^"]*)"', drawing)[0].endswith(",sans-serif"), "of other machines"
    assert ">AA<" in drawing.replace("\n", "")
    view.export_requested.emit("figures")
    dialog = tab.window().findChild(ExportDialog)
    assert dialog is not None and " rows × " in dialog.rows_box.currentText()
    dialog.close()


@pytest.mark.slow
def test_how_delays_depend_on_the_hour_and_the_carrier_in_a_report(
    qtbot, window, settled, tmp_path, answer_dialog
):
    """From a file to a picture and a drawing, by clicks and keys alone."""
    window.open_paths([resources.sample("flights")])
    tab = settled()
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_V, control | shift)
    view = tab.charting.view
    QTest.mouseClick(view.form.buttons["line"], Qt.MouseButton.LeftButton)
    for role, name in (("x", "hour"), ("measure", "dep_delay"), ("color", "carrier")):
        field = view.form.boxes[role]
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, name)
        QTest.keyClick(field, Qt.Key.Key_Return)
    spec = ChartSpec("line", "hour", measure="dep_delay", aggregate="mean", color="carrier")
    qtbot.waitUntil(lambda: tab.charting.is_drawn(spec), timeout=10_000)
    assert ("Used", "328,521") in shown_counts(view)
    for kind in ("png", "svg"):
        path = tmp_path / f"delays.{kind}"
        answer_dialog(path)
        act = next(a for a in view.export.menu().actions() if kind.upper() in a.text())
        act.trigger()
        qtbot.waitUntil(lambda path=path: path.name in tab.messages.label.text())
    assert QImage(str(tmp_path / "delays.png")).width() >= view.picture_size.width()
    texts = texts_of((tmp_path / "delays.svg").read_text("utf-8"))
    assert {"Mean of dep_delay by hour and carrier", "hour", "Mean of dep_delay", "UA", "others"} <= texts


@pytest.mark.slow
def test_a_picture_that_cannot_be_written_says_so(qtbot, chart, settled, tmp_path):
    chart(BY_CARRIER)
    tab = settled()
    for name in ("chart.svg", "chart.png"):
        tab.charting.write_picture(tmp_path / "missing" / name)
        qtbot.waitUntil(lambda: "cannot be written" in tab.messages.label.text())
        tab.messages.clear()


def test_a_saved_view_has_its_chart(qtbot, chart, settled, monkeypatch):
    spec = ChartSpec("line", "delay", measure="delay", aggregate="median", color="carrier")
    view = chart(spec, Display(markers=False))
    tab = settled()
    tab.line_actions.save("by delay")
    qtbot.waitUntil(lambda: "Saved as" in tab.messages.label.text())
    view.show_spec(BY_CARRIER, Display())
    tab.charting.hide()
    tab.line_actions.show_view("by delay")
    qtbot.waitUntil(lambda: tab.charting.is_shown and not view.running)
    assert view.spec == spec and not view.form.display.markers
    tab.charting.show_layout({})
    assert not tab.charting.is_shown
    tab.charting.show_layout({"chart": {"spec": {"kind": "pie"}}})
    assert "cannot be drawn" in tab.messages.label.text()


@pytest.mark.slow
@pytest.mark.slow
def test_all_that_can_be_used_has_a_name_and_is_reached_by_tab(chart):
    view = chart(BY_CARRIER)
    for kind in (QToolButton, QComboBox, QLineEdit, QCheckBox):
        for widget in view.findChildren(kind):
            if widget.isVisible() and not isinstance(widget.parent(), QLineEdit):
                assert widget.accessibleName() or widget.text(), widget
                assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.accessibleName()


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_everything_fits_a_small_window_with_large_text(qtbot, window, chart, scale):
    theme.current().set_text_scale(scale)
    view = chart(ChartSpec("line", "delay", measure="delay", aggregate="mean", color="carrier"))
    assert window.size().width() <= 1000 and window.size().height() <= 700
    assert view.canvas.width() >= 300 and view.canvas.height() >= 250
    form = view.form
    for widget in (form.title, *form.boxes.values(), form.aggregate, *form.buttons.values()):
        if widget.isVisible():
            right = widget.mapTo(form, widget.rect().topRight()).x()
            assert right <= form.width(), widget.accessibleName()


@pytest.mark.slow
def test_many_panels_are_scrolled_to(qtbot, chart):
    view = chart(ChartSpec("histogram", "delay", panels="delay"))
    assert len(view.canvas.panels) > 6
    heights = [panel.plot.sceneBoundingRect().height() for panel in view.canvas.panels]
    assert min(heights) > 80


@pytest.mark.slow
def test_charts_are_made_of_files_too(qtbot, window, settled, file: Path):
    window.open_paths([file])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    qtbot.waitUntil(lambda: view.data is not None)
    assert view.data.used == 1000


@pytest.mark.slow
def test_points_at_the_ends_are_drawn_whole_and_their_ticks_named(qtbot, window, settled, tmp_path):
    path = tmp_path / "engines.parquet"
    pq.write_table(pa.table({"engines": [1, 2, 4], "seats": [2, 100, 400]}), path)
    window.open_paths([path])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("scatter", "engines", "seats", size="engines"))
    qtbot.waitUntil(lambda: not view.running and tab.charting.is_drawn(view.spec))
    (panel,) = view.canvas.panels
    (left, right), (low, high) = panel.plot.vb.viewRange()
    assert left < 1 < 4 < right and low < 2 < 400 < high
    qtbot.waitUntil(lambda: any(scale.isVisible() for scale in view.legend.findChildren(SizeScale)))
    assert view.legend.findChildren(SizeScale)[-1].values == [1, 2]  # a number of engines is a whole number
    axis = panel.plot.getAxis("bottom")
    assert axis.boundingRect().left() < panel.plot.vb.boundingRect().left()


def test_points_have_sizes_and_a_map_its_proportions(qtbot, window, settled, tmp_path):
    path = tmp_path / "airports.parquet"
    pq.write_table(
        pa.table({"lon": [-74.0, -73.0, -72.0], "lat": [40.0, 41.0, 42.0], "n": [1, 100, None]}), path
    )
    window.open_paths([path])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("scatter", "lon", "lat", size="n"))
    qtbot.waitUntil(lambda: not view.running and view.data is not None)
    (panel,) = view.canvas.panels
    assert view.form.boxes["size"].isVisible() and len(panel.drawing.marks) == 3
    assert "n: 100" in hover_text(view.data, panel.drawing.marks[1].row)
    qtbot.waitUntil(lambda: any(scale.isVisible() for scale in view.legend.findChildren(SizeScale)))
    assert view.legend.findChildren(SizeScale)[-1].accessibleName() == "Sizes by n: 5, 20, 100"
    check = view.form.checks["map"]
    assert check.isVisible() and check.isChecked()
    wide, high = panel.plot.vb.viewPixelSize()
    assert math.isclose(wide / high, 1 / math.cos(math.radians(41)), rel_tol=0.02)
    check.click()
    qtbot.waitUntil(lambda: not view.canvas.panels[0].plot.vb.state["aspectLocked"])
    assert view.spec.to_json()["size"] == "n"


@pytest.mark.usefixtures("column_cards")
def test_columns_that_name_rows_or_have_one_value_are_not_charted_first(qtbot, window, tmp_path, settled):
    """The first chart of a table that begins with a year and a title shows the column after them."""
    path = tmp_path / "films.csv"
    lines = [f"2013,film {number},{'ABC'[number % 3]}" for number in range(60)]
    path.write_text("\n".join(["year,title,rating", *lines]))
    window.open_paths([path])
    tab = settled()
    qtbot.waitUntil(lambda: all(tab.grid.cards.card_of(place) is not None for place in range(2)))
    window.commands["chart"].trigger()
    qtbot.waitUntil(lambda: tab.charting.view.data is not None)
    assert tab.charting.view.spec == ChartSpec("bar", "rating")
