"""All plots at once, the verdict, and the matrix under them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QPainter
from pytestqt.qtbot import QtBot

from lamella.app.tour import Camera
from lamella.core.bench.engine.protocol import WRONG, Failure, StepStart
from lamella.core.bench.registry import WORKLOADS
from lamella.ui import theme
from lamella.ui.bench.benchmark_panel import BenchmarkPanel
from lamella.ui.bench.multiples import FIRST_SECONDS, Multiples, PlotArea, _crosses
from lamella.ui.bench.quantities import BYTES, DISK, value_ticks
from lamella.ui.bench.series import PUBLISHED_LABEL, Frames, Panel, Series, hover_text

Make = Callable[..., object]
SIZES = ((1000, 700), (1280, 800), (1920, 1080))
AROUND = {1.0: (217, 141), 1.5: (69, 168)}
"""What the window takes beside and above the tab, in pixels, by the text's scale: the side bar gives way."""


def small_run(measured: Make) -> list[object]:
    return [
        measured(system, rows, seconds * rows, repeat, operation)
        for system, seconds in (("lamella", 1e-4), ("sqlite", 1e-3))
        for operation in ("create", "read", "query")
        for rows in (1, 10, 100)
        for repeat in range(3)
    ]


@pytest.fixture
def multiples(panel: BenchmarkPanel, tell: Make, measured: Make) -> Multiples:
    tell(*small_run(measured))
    return panel.view.overview.multiples


def spot(multiples: Multiples, operation: str, system: str, rows: int) -> QPointF:
    area = next(area for area in multiples.areas if area.panel.id == operation)
    frame = multiples.frames.frame(area.panel)
    series = next(line for line in area.panel.series if line.system == system and not line.is_published)
    point = next(point for point in series.points if point.rows == rows)
    return frame.at(point.rows, point.value, area.box)


@pytest.fixture
def text_scale() -> Iterator[Callable[[float], None]]:
    yield theme.current().set_text_scale
    theme.current().set_text_scale(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("size", SIZES)
def test_the_plots_take_most_of_the_tab_at_every_size(
    panel: BenchmarkPanel,
    multiples: Multiples,
    qtbot: QtBot,
    text_scale: Callable[[float], None],
    size: tuple[int, int],
    scale: float,
) -> None:
    text_scale(scale)
    width, height = (whole - around for whole, around in zip(size, AROUND[scale], strict=True))
    panel.resize(width, height)
    qtbot.waitUntil(lambda: panel.width() == width)
    qtbot.waitUntil(panel.view.overview.matrix.isVisible)
    share = multiples.width() * multiples.height() / (panel.width() * panel.height())
    assert share >= 0.6


@pytest.mark.slow
def test_plots_that_take_long_are_painted_one_after_the_other(
    multiples: Multiples, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted = []

    def paint(self: Multiples, painter: QPainter, area: PlotArea, *arguments: object) -> None:
        painted.append(area.panel.id)
        clock.now += FIRST_SECONDS * 2

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("lamella.ui.bench.multiples.perf_counter", lambda: clock.now)
    monkeypatch.setattr(Multiples, "_paint_plot", paint)
    ids = [area.panel.id for area in multiples.areas]
    multiples._restyle()
    multiples.repaint()
    assert painted == ids[:1]
    qtbot.waitUntil(lambda: painted == ids)
    multiples._restyle()
    multiples.repaint()
    multiples.finish()
    assert painted == ids * 2, "for an export all of them at once"


@pytest.mark.slow
def test_a_picture_of_the_window_has_plots_that_take_long(
    panel: BenchmarkPanel, multiples: Multiples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted = []

    def paint(self: Multiples, painter: QPainter, area: PlotArea, *arguments: object) -> None:
        painted.append(area.panel.id)
        clock.now += FIRST_SECONDS * 2

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("lamella.ui.bench.multiples.perf_counter", lambda: clock.now)
    monkeypatch.setattr(Multiples, "_paint_plot", paint)
    look = theme.current()
    mode = look.mode
    try:
        multiples._restyle()
        Camera(tmp_path).take(panel, "benchmark")
    finally:
        look.set_mode(mode)
    assert all(painted.count(area.panel.id) >= 2 for area in multiples.areas), "in light and in dark"


@pytest.mark.slow
def test_every_operation_has_a_plot_and_times_share_their_axes(multiples: Multiples) -> None:
    operations = [operation.id for operation in WORKLOADS["small"].operations]
    assert [area.panel.id for area in multiples.areas] == [*operations, "disk_bytes"]
    frames = [multiples.frames.frame(area.panel) for area in multiples.areas[:-1]]
    assert len(set(frames)) == 1
    boxes = [area.box for area in multiples.areas]
    assert all(not box.intersects(neighbour) for box in boxes for neighbour in boxes if box is not neighbour)


def test_sizes_that_are_not_measured_yet_have_an_axis_of_whole_bytes() -> None:
    panel = Panel("disk_bytes", "Size on disk", "", DISK, ())
    frames = Frames()
    frames.fit([panel], log=True)
    labels = [text for _, text in value_ticks(frames.frame(panel), BYTES, 400, 12)]
    assert labels == ["1 KB", "10 KB", "100 KB", "1 MB"]


@pytest.mark.slow
def test_hovering_over_a_point_says_what_it_is(multiples: Multiples) -> None:
    place = spot(multiples, "read", "sqlite", 10)
    nearest = multiples.nearest(place)
    assert nearest is not None
    panel, series, point = nearest
    text = hover_text(series, point, panel.quantity, panel.title)
    assert "SQLite (synchronous off), 10 rows" in text and "Read: 10.0 ms (3 samples" in text
    assert "Source: measured here" in text


@pytest.mark.slow
def test_nothing_that_was_drawn_moves_while_samples_come(
    panel: BenchmarkPanel, multiples: Multiples, tell: Make, measured: Make
) -> None:
    """Neither by samples of what was measured before, nor by those of an operation that was not."""
    before = spot(multiples, "read", "lamella", 10), [area.box for area in multiples.areas]
    tell(
        measured("lamella", 100, 0.011, 3, "read"),
        measured("sqlite", 100, 0.08, 3, "read"),
        measured("sqlite", 100, 0.08, 0, "update"),
    )
    assert (spot(multiples, "read", "lamella", 10), [area.box for area in multiples.areas]) == before


@pytest.mark.slow
def test_a_click_enlarges_a_plot_and_all_come_back(
    panel: BenchmarkPanel, multiples: Multiples, qtbot: QtBot
) -> None:
    area = next(area for area in multiples.areas if area.panel.id == "query")
    qtbot.mouseClick(multiples, Qt.MouseButton.LeftButton, pos=area.box.center().toPoint())
    display = panel.view.display
    assert display.view.id == "time" and display.operation.currentData() == "query"
    assert panel.view.plot.isVisible() and not multiples.isVisible()
    display.back.click()
    assert multiples.isVisible()


@pytest.mark.slow
def test_plots_are_reached_by_the_keyboard(panel: BenchmarkPanel, multiples: Multiples, qtbot: QtBot) -> None:
    multiples.setFocus()
    qtbot.keyClick(multiples, Qt.Key.Key_Right)
    qtbot.keyClick(multiples, Qt.Key.Key_Return)
    assert panel.view.display.operation.currentData() == WORKLOADS["small"].operations[1].id


@pytest.mark.slow
def test_what_the_legend_has_off_leaves_every_plot(
    panel: BenchmarkPanel, multiples: Multiples, tell: Make, measured: Make
) -> None:
    legend = panel.view.legend
    assert "ParquetDB, published" in legend.entries, "it was not measured, so no other line has its colour"
    legend.entries[PUBLISHED_LABEL].click()
    assert all(not series.is_published for plotted in multiples.panels for series in plotted.series)
    legend.show_alone("Lamella")
    assert {series.system for plotted in multiples.panels for series in plotted.series} == {"lamella"}
    tell(measured("sqlite", 10, 0.1, 4, "read"))
    assert {series.system for plotted in multiples.panels for series in plotted.series} == {"lamella"}


def test_the_matrix_follows_the_largest_size_until_another_is_chosen(
    panel: BenchmarkPanel, multiples: Multiples, tell: Make, measured: Make
) -> None:
    overview = panel.view.overview
    assert overview.sizes_slider.rows == 100 and overview.matrix.cell_texts()[0][0].startswith("▲ 10 ×")
    overview.sizes_slider.slider.setValue(0)
    assert "at 1 row" in overview.verdict.full_text and multiples.rows == 1
    tell(measured("lamella", 1000, 0.1), measured("sqlite", 1000, 0.2))
    assert overview.sizes_slider.rows == 1, "somebody chose it"


@pytest.mark.slow
def test_a_failure_is_red_in_the_matrix(panel: BenchmarkPanel, tell: Make, measured: Make) -> None:
    tell(*small_run(measured), Failure("small", "parquetdb", "read", 100, 0, "1 instead of 2", kind=WRONG))
    table = panel.view.overview.matrix.model()
    places = (table.index(row, at) for row in range(table.rowCount()) for at in range(table.columnCount()))
    (wrong,) = [place for place in places if "wrong" in place.data(Qt.ItemDataRole.ToolTipRole)]
    assert wrong.data(Qt.ItemDataRole.ForegroundRole) == theme.current().color("danger")


@pytest.mark.slow
def test_the_size_under_way_is_shaded(panel: BenchmarkPanel, multiples: Multiples, tell: Make) -> None:
    tell(StepStart("sqlite", 10, 0, "read"))
    panel.benchmarks.set_under_way(10)
    panel.view.draw()
    assert multiples.rows_under_way == 10


def test_wrong_answers_are_red_crosses_on_the_plots_and_never_points(
    panel: BenchmarkPanel, tell: Make, measured: Make, multiples: Multiples
) -> None:
    """One system is right at other sizes and was right before; the other never is."""
    lies = [
        Failure("small", system, "read", rows, 2, "9 instead of 10", kind=WRONG)
        for system, rows in (("sqlite", 100), ("sqlite", 100), ("parquetdb", 100), ("parquetdb", 1))
    ]
    tell(*small_run(measured), *lies)
    area = next(area for area in multiples.areas if area.panel.id == "read")
    own = {line.system: line for line in area.panel.series if not line.is_published}
    assert [point.rows for point in own["sqlite"].points] == [1, 10], "what came before was luck"
    assert [point.rows for point in own["sqlite"].failures] == [100]
    assert own["parquetdb"].points == () and [point.rows for point in own["parquetdb"].failures] == [100, 1]
    assert "ParquetDB" in panel.view.legend.entries
    multiples.finish()  # a slow machine paints some plots at the next turn
    image = multiples.grab().toImage()
    crosses = _crosses(area, multiples.frames.frame(area.panel))
    assert len({(place.x(), place.y()) for _, _, place in crosses}) == 3
    for series, point, place in crosses:
        assert image.pixelColor(place.toPoint()) == theme.current().color("danger")
        assert multiples.nearest(place) == (area.panel, series, point)
        assert "✕ wrong answer: 9 instead of 10" in hover_text(series, point, area.panel.quantity)
    matrix = panel.view.overview.matrix.cells.matrix
    assert {matrix.cells["sqlite", column].text for column in matrix.columns if column.title == "Read"} == {
        "✕ wrong answer"
    }
    saved = panel.benchmarks.last.run().records
    assert ("read", "sqlite", 10) in {(record.operation, record.system, record.rows) for record in saved}
    assert ("read", "sqlite", 100) not in {(record.operation, record.system, record.rows) for record in saved}
    panel.view.legend.show_alone("Lamella")
    area = next(area for area in multiples.areas if area.panel.id == "read")
    assert not [line for line in area.panel.series if line.failures]


def test_plots_that_do_not_fit_are_on_further_pages(panel: BenchmarkPanel, qtbot: QtBot) -> None:
    panel.controls.workload_choice.choose("entity-relations")
    multiples, pager = panel.view.overview.multiples, panel.view.overview.pager
    panel.resize(700, 500)
    qtbot.waitUntil(lambda: multiples.num_pages > 1)
    first = [area.panel.id for area in multiples.areas]
    assert pager.isVisible() and not pager.back.isEnabled()
    pager.on.click()
    assert first and not {area.panel.id for area in multiples.areas} & set(first)


@pytest.mark.slow
def test_every_workload_is_drawn_on_log_and_on_even_axes(panel: BenchmarkPanel) -> None:
    scale, multiples = panel.view.display.scale, panel.view.overview.multiples
    for workload in WORKLOADS.values():
        panel.controls.workload_choice.choose(workload.id)
        for place in range(scale.count()):
            scale.setCurrentIndex(place)
            multiples.grab()
            assert multiples.areas
            for area in multiples.areas:
                frame = multiples.frames.frame(area.panel)
                spots = [
                    frame.at(p.rows, p.value, area.box) for line in area.panel.series for p in line.points
                ]
                assert all(area.box.adjusted(-1, -1, 1, 1).contains(spot) for spot in spots)


def test_even_axes_grow_in_steps(
    panel: BenchmarkPanel, multiples: Multiples, tell: Make, measured: Make
) -> None:
    panel.view.display.scale.setCurrentIndex(1)
    before = spot(multiples, "read", "lamella", 10)
    tell(measured("sqlite", 100, 0.101, 3, "read"))
    assert spot(multiples, "read", "lamella", 10) == before
    tell(*(measured("sqlite", 100, 9.0, repeat, "read") for repeat in range(4, 30)))
    assert spot(multiples, "read", "lamella", 10).y() > before.y()


@pytest.mark.slow
def test_a_line_is_made_anew_only_after_samples_of_its_own(
    multiples: Multiples, tell: Make, measured: Make
) -> None:
    def lines() -> dict[tuple[str, str], Series]:
        return {
            (p.id, line.system): line for p in multiples.panels for line in p.series if not line.is_published
        }

    before = lines()
    tell(measured("sqlite", 100, 0.3, 3, "read"))
    after = lines()
    assert {key for key in after if after[key] is not before[key]} == {("read", "sqlite")}


@pytest.mark.slow
def test_the_line_at_the_chosen_size_is_as_thin_at_every_width(
    panel: BenchmarkPanel, multiples: Multiples
) -> None:
    accent, thickness = theme.current().color("accent"), set()
    for width in range(900, 912):
        panel.resize(width, 600)
        box = multiples.areas[0].box
        across = round(multiples.frames.frame(multiples.areas[0].panel).x_of(multiples.rows, box))
        multiples.finish()
        image = multiples.grab().toImage()
        columns = range(across - 3, across + 4)
        rows = [round(box.top()) + row for row in range(12)]
        thickness.add(max(sum(image.pixelColor(x, y) == accent for x in columns) for y in rows))
    assert thickness == {1}


@pytest.mark.slow
def test_the_view_is_drawn_in_the_colours_of_the_theme(panel: BenchmarkPanel, multiples: Multiples) -> None:
    look = theme.current()
    before, color_names = look.mode, set()
    for mode in (theme.Mode.LIGHT, theme.Mode.DARK):
        look.set_mode(mode)
        box = multiples.areas[0].box
        color = multiples.grab().toImage().pixelColor(QPoint(round(box.left()) + 3, round(box.top()) + 3))
        assert color == look.color("surface")
        color_names.add(color.name())
    look.set_mode(before)
    assert len(color_names) == 2


@pytest.mark.slow
def test_before_a_benchmark_each_published_line_is_in_the_legend(
    panel: BenchmarkPanel, choose: Make, qtbot: QtBot
) -> None:
    """Nothing else says whose it is; beside live lines of the same colours they are one entry."""
    choose((1, 10), ("lamella", "sqlite"))
    legend, shown = panel.view.legend, panel.view.overview.multiples
    qtbot.waitUntil(lambda: "ParquetDB, published" in legend.entries)
    assert PUBLISHED_LABEL not in legend.entries
    legend.entries["ParquetDB, published"].click()
    systems = {series.system for plotted in shown.panels for series in plotted.series}
    assert "parquetdb" not in systems and "sqlite" in systems
