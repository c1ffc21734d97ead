"""The plots and texts of a benchmark's results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from lamella.core.bench.engine.protocol import LIMIT, WRONG, Failure, UnsupportedStep
from lamella.core.bench.registry import ENTRIES, WORKLOADS
from lamella.core.bench.results.figures import unbroken
from lamella.core.bench.results.published_results import published_lines
from lamella.ui import theme
from lamella.ui.bench.benchmark_panel import BenchmarkPanel
from lamella.ui.bench.benchmark_plot import LineCanvas

Make = Callable[..., object]


@pytest.fixture
def pick(panel: BenchmarkPanel) -> Callable[..., None]:
    """Chooses in the boxes of the display, by name."""

    def pick(**chosen: object) -> None:
        for name, value in chosen.items():
            box = getattr(panel.view.display, name)
            box.setCurrentIndex(box.findData(value))

    return pick


@pytest.fixture(autouse=True)
def one_plot(panel: BenchmarkPanel) -> None:
    """These look at one operation alone, as after a click on its plot."""
    panel.view.display.show_view("time")


def live(panel: BenchmarkPanel) -> list[object]:
    return [spot for spot in panel.view.plot.spots if not spot.series.is_published]


def words(panel: BenchmarkPanel) -> dict[tuple[str, str], str]:
    """The texts beside the bars, by group and system."""
    return {
        (place.group.title, place.bar.series.label): place.bar.words for place in panel.view.plot.bars.places
    }


@pytest.mark.slow
def test_every_workload_shows_what_was_published_of_each_operation(panel: BenchmarkPanel) -> None:
    for workload in WORKLOADS.values():
        panel.controls.workload_choice.choose(workload.id)
        shape = panel.view.display.shape
        shape.setCurrentIndex(shape.findData("lines"))
        operations = panel.view.display.operation
        for place in range(operations.count()):
            operations.setCurrentIndex(place)
            lines = [line for line in published_lines(workload.id, operations.itemData(place)) if line.points]
            drawn = {spot.series.label for spot in panel.view.plot.spots}
            assert len(drawn) == len(lines)


@pytest.mark.slow
def test_the_statistic_the_samples_and_the_view_choose_what_is_drawn(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(*(measured("sqlite", seconds=s, repeat=n) for n, s in enumerate((0.9, 0.1, 0.2))))
    pick(operation="read")
    values = []
    for statistic, samples in (("mean", None), ("median", None), ("lowest", None), ("lowest", "cold")):
        pick(statistic=statistic, samples=samples)
        values.append(live(panel)[0].point.value)
    assert values == [pytest.approx(0.4), 0.2, 0.1, 0.9]
    panel.view.display.show_view("memory")
    assert live(panel)[0].point.value == 9_000_000
    assert all(not spot.series.is_published for spot in panel.view.plot.spots)


def test_hovering_says_value_count_spread_and_source(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(*(measured("lamella", 100, s, n) for n, s in enumerate((0.010, 0.020, 0.030))))
    pick(operation="read")
    (spot,) = live(panel)
    canvas = panel.view.plot.canvas
    place = canvas.getViewBox().mapViewToScene(QPointF(spot.x, spot.y))
    assert canvas.nearest(place) is spot
    text = canvas.describe(spot)
    assert "Lamella, 100 rows" in text and "20.0 ms (3 samples, 11.8 ms to 28.2 ms)" in text
    assert "Source: measured here" in text
    assert canvas.nearest(QPointF(place.x(), place.y() - 400)) is None


@pytest.mark.slow
def test_what_the_clock_could_not_tell_lies_in_a_band_below_every_value(
    panel: BenchmarkPanel, pick: Make
) -> None:
    panel.controls.workload_choice.choose("update")
    pick(operation="read")
    spots = panel.view.plot.spots
    below = [spot for spot in spots if spot.point.value is None]
    assert {(spot.series.system, spot.point.rows) for spot in below} == {
        ("sqlite", 1),
        ("sqlite", 10),
        ("mongodb", 10),
    }
    assert max(spot.y for spot in below) < min(spot.y for spot in spots if spot.point.value is not None)
    assert "Below the clock's resolution" in panel.view.plot.canvas.describe(below[0])


def test_the_point_inside_a_fuller_table_says_so(panel: BenchmarkPanel, pick: Make) -> None:
    panel.controls.workload_choice.choose("update")
    pick(operation="update")
    assert (
        "† ParquetDB at 1,000,000 rows: Updates 1,000,000 rows inside 1,111,111"
        in panel.view.remark.full_text
    )


def test_lines_can_be_drawn_evenly_with_the_same_ones_by_powers_of_ten_inset(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(*(measured("sqlite", rows, rows / 1000) for rows in (1, 10, 100)))
    pick(operation="read", scale="inset")
    plot = panel.view.plot
    (line,) = {spot.series.label for spot in live(panel)}
    assert [(spot.x, spot.y) for spot in live(panel)] == [(1, 0.001), (10, 0.01), (100, 0.1)]
    assert max(spot.point.rows for spot in plot.spots) == 100, (
        "published points beyond ours would flatten them"
    )
    assert plot.even.inset.isVisible()
    inset = [spot for spot in plot.even.inset.spots if spot.series.label == line]
    assert [(spot.x, spot.y) for spot in inset] == [(0, -3), (1, -2), (2, pytest.approx(-1))]
    pick(scale="even")
    assert not plot.even.inset.isVisible()


@pytest.mark.slow
def test_a_click_in_the_legend_hides_a_line_and_two_leave_it_alone(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(measured("lamella"), measured("sqlite"))
    pick(operation="read")
    legend = panel.view.plot.legend
    legend.entries["Lamella"].click()
    assert "Lamella" not in {spot.series.label for spot in panel.view.plot.spots}
    tell(measured("lamella", repeat=1))
    assert "Lamella" not in {spot.series.label for spot in panel.view.plot.spots}, "hidden while it goes on"
    legend.show_alone("Lamella")
    assert {spot.series.label for spot in panel.view.plot.spots} == {"Lamella"}
    legend.show_alone("Lamella")
    assert len({spot.series.label for spot in panel.view.plot.spots}) == 5


def test_bars_rank_the_systems_of_each_operation_and_tell_who_is_missing(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(
        measured("sqlite", 10, 0.2),
        measured("lamella", 10, 0.1),
        measured("lamella", 10, 0.1, operation="query"),
        Failure("small", "sqlite", "query", 10, 0, "Wrong answer: 1 instead of 2", kind=WRONG),
        UnsupportedStep("small", "csv", "query", "it has no queries"),
    )
    pick(shape="bars")
    texts = words(panel)
    own = [place.bar.series.system for place in panel.view.plot.bars.places
           if place.group.title == "Read, 10 rows" and not place.bar.series.is_published]  # fmt: skip
    assert own == ["lamella", "sqlite"]
    assert texts["Read, 10 rows", "Lamella"] == "100 ms"
    assert texts["Read, 10 rows", "SQLite (synchronous off)"] == "200 ms  2.0 ×"
    assert texts["Query, 10 rows", "SQLite (synchronous off)"] == "wrong answer: Wrong answer: 1 instead of 2"
    assert texts["Query, 10 rows", "CSV"] == "not supported: it has no queries"
    panel.view.display.show_view("sentences")
    assert panel.view.table.rowCount() == 3


@pytest.mark.slow
def test_what_was_published_of_another_size_is_told_beside_the_bars_in_words(
    panel: BenchmarkPanel, tell: Make, measured: Make
) -> None:
    tell(measured("sqlite", 20_000, 0.02, operation="Q1", workload="taxi"), workload="taxi")
    assert panel.view.plot.shows_bars, "few sizes, many questions"
    published = {label: text for (_, label), text in words(panel).items() if "published" in label}
    assert published and all("at 1.1 billion rows" in text for text in published.values())


@pytest.mark.slow
def test_multiples_of_sqlite_are_averaged_over_sizes(
    panel: BenchmarkPanel, tell: Make, measured: Make
) -> None:
    tell(
        *(measured("sqlite", rows, 0.1) for rows in (1, 10)),
        measured("lamella", 1, 0.1),
        measured("lamella", 10, 0.3),
        measured("csv", 100, 5.0),
    )
    panel.view.display.show_view("normalised")
    texts = words(panel)
    assert texts["Read", "Lamella"] == "2.0 ×" and texts["Read", "SQLite (synchronous off)"] == "1.0 ×"
    assert ("Read", "CSV") not in texts, "it shares no size with SQLite"
    assert "SQLite (synchronous off)" in panel.view.source.full_text


@pytest.mark.slow
def test_statistics_have_percentiles_and_operations_per_second_and_can_be_sorted(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    latencies = tuple(n / 1000 for n in range(1, 102))
    tell(measured("lamella", 10, 0.051, latencies=latencies), measured("sqlite", 10, 0.010))
    panel.view.display.show_view("statistics")
    pick(operation="read", samples=None)
    model = panel.view.statistics.model()
    assert model.rowCount() == 2
    first = [model.index(0, column).data() for column in range(model.columnCount())]
    assert first[:4] == ["Lamella", "10", "51.0 ms", "51.0 ms"]
    assert first[4:8] == ["96.0 ms", "100 ms", "1.00 ms", "19.6"] and first[9] == "101"
    panel.view.statistics.sortByColumn(2, panel.view.statistics.horizontalHeader().sortIndicatorOrder())
    assert model.index(0, 0).data() == "SQLite (synchronous off)"
    assert model.index(0, 7).data() == "100"


def test_the_first_call_of_a_question_is_never_mixed_with_the_later_ones(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(
        measured("lamella", 20_000, 0.5, operation="Q1", workload="taxi"),
        measured("lamella", 20_000, 0.2, operation="Q1", workload="taxi", latencies=(0.1, 0.3)),
        measured("lamella", 20_000, 7.0, operation="import", workload="taxi"),
        workload="taxi",
    )
    assert words(panel)["Q1: count by cab, 20,000 rows", "Lamella"] == "200 ms"
    assert words(panel)["Import, 20,000 rows", "Lamella"] == "7.00 s"
    pick(samples="first")
    assert words(panel)["Q1: count by cab, 20,000 rows", "Lamella"] == "500 ms"


def test_failures_limits_and_what_cannot_be_asked_stand_among_the_sentences(
    panel: BenchmarkPanel, tell: Make
) -> None:
    tell(
        Failure("small", "sqlite-wal", "read", 10, 0, "It broke", "all of it"),
        Failure("small", "csv", "read", 10, 0, "Ended: the limit of 5 s passed", kind=LIMIT),
        UnsupportedStep("small", "jsonl", "query", "no means"),
        UnsupportedStep("small", "jsonl", "read", "no means"),
    )
    panel.view.display.show_view("sentences")
    table = panel.view.table
    assert table.sentences() == [
        "SQLite (WAL, synchronous full), 10 rows, read: It broke",
        "CSV, 10 rows, read: Ended: the limit of 5 s passed",
        "JSON lines, query, read: no means",
    ]
    assert [table.item(row, 0).text() for row in range(3)] == ["✕ Failed", "■ Limit", "– Cannot"]
    assert table.item(0, 1).toolTip() == "all of it"


@pytest.mark.slow
def test_no_two_systems_share_colour_and_marker(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(*(measured(name) for name in ENTRIES))
    pick(operation="read")
    looks: dict[tuple[str, str], set[str]] = {}
    for spot in panel.view.plot.spots:
        look = (spot.series.marker, spot.series.color(theme.current().colors))
        looks.setdefault(look, set()).add(spot.series.system)
    assert all(len(systems) == 1 for systems in looks.values())


@pytest.mark.slow
def test_the_plot_follows_the_theme(panel: BenchmarkPanel) -> None:
    look = theme.current()
    before, colors = look.mode, {}
    for mode in (theme.Mode.LIGHT, theme.Mode.DARK):
        look.set_mode(mode)
        colors[mode] = panel.view.plot.canvas.backgroundBrush().color().name()
        assert colors[mode] == look.color("surface").name()
    look.set_mode(before)
    assert colors[theme.Mode.LIGHT] != colors[theme.Mode.DARK]


@pytest.mark.slow
def test_new_samples_move_points_and_make_no_new_lines(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    tell(measured("lamella"))
    pick(operation="read")
    canvas = panel.view.plot.canvas
    assert isinstance(canvas, LineCanvas)
    before = canvas._lines["Lamella"]
    tell(measured("lamella", repeat=1), measured("sqlite"))
    assert canvas._lines["Lamella"] is before and "SQLite (synchronous off)" in canvas._lines


def test_results_are_exported_as_report_samples_and_pictures(
    panel: BenchmarkPanel, tell: Make, measured: Make, tmp_path: Path, pick: Make, qtbot: QtBot
) -> None:
    tell(measured("sqlite", 10, 0.5), measured("lamella", 10, 0.25, latencies=(0.2, 0.3)))
    for suffix in (".md", ".json", ".csv", ".png", ".svg"):
        path = tmp_path / f"benchmark{suffix}"
        panel.export(path)
        qtbot.waitUntil(lambda path=path: panel.news.label.text() == f"Written: {path}")
    report = (tmp_path / "benchmark.md").read_text(encoding="utf-8")
    assert unbroken("500 ms") in report and "lamella bench --workload small" in report
    assert json.loads((tmp_path / "benchmark.json").read_text(encoding="utf-8"))[0]["seconds"] == 0.5
    lines = (tmp_path / "benchmark.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("workload,backend,operation,rows,columns,repeat,seconds") and len(lines) == 3
    assert lines[2].endswith(",0.2 0.3")
    assert (tmp_path / "benchmark.png").read_bytes().startswith(b"\x89PNG")
    drawn = ElementTree.fromstring((tmp_path / "benchmark.svg").read_text(encoding="utf-8"))
    assert drawn.tag.endswith("svg") and "Lamella" in "".join(drawn.itertext())


@pytest.mark.slow
def test_an_export_that_cannot_be_written_is_said(
    panel: BenchmarkPanel, tell: Make, measured: Make, tmp_path: Path, qtbot: QtBot
) -> None:
    tell(measured("sqlite", 10, 0.5))
    for suffix in (".json", ".png", ".svg"):
        panel.news.clear()
        panel.export(tmp_path / "absent" / f"benchmark{suffix}")
        qtbot.waitUntil(lambda: "cannot be written" in panel.news.label.text())
        assert "absent" in panel.news.label.text()


@pytest.mark.slow
def test_a_benchmark_that_is_not_looked_at_is_drawn_when_it_is(
    panel: BenchmarkPanel, tell: Make, measured: Make, qtbot: QtBot, pick: Make
) -> None:
    tell(measured("lamella"))
    pick(operation="read")
    qtbot.waitUntil(lambda: not panel.view._redraw.isActive())
    panel.hide()
    panel._take([measured("lamella", 100)])
    assert len(live(panel)) == 1 and not panel.view._redraw.isActive()
    panel.show()
    assert len(live(panel)) == 2


@pytest.mark.slow
def test_a_low_view_keeps_its_captions_to_a_line_and_its_choices_readable(
    panel: BenchmarkPanel, qtbot: QtBot
) -> None:
    source, display = panel.view.source, panel.view.display
    panel.resize(1200, 800)
    qtbot.waitUntil(lambda: source.text() == source.full_text)
    panel.resize(600, 480)
    qtbot.waitUntil(lambda: source.text() != source.full_text)
    assert source.toolTip() == source.full_text and source.text().endswith("…")
    boxes = [
        display.operation,
        display.shape,
        display.scale,
        display.statistic,
        display.samples,
        display.views,
    ]
    assert all(box.width() >= box.sizeHint().width() for box in boxes)
    assert len({box.y() for box in boxes}) > 1, "they go on in a second line"
    lowest = max(box.geometry().bottom() for box in boxes)
    qtbot.waitUntil(lambda: display.about.y() > lowest)  # nothing lies over them


@pytest.mark.slow
def test_a_wrong_answer_has_a_time_on_no_view_and_is_red_where_words_stand_for_it(
    panel: BenchmarkPanel, tell: Make, measured: Make, pick: Make
) -> None:
    wrong = Failure("small", "sqlite", "read", 10, 0, "Wrong answer: 9 rows instead of 10", kind=WRONG)
    tell(measured("lamella", 10, 0.1), measured("sqlite", 10, 0.2, operation="create"), wrong)
    display, view = panel.view.display, panel.view
    danger = theme.current().color("danger")
    for name in ("time", "size", "memory", "processor"):
        display.show_view(name)
        pick(operation="read", shape="lines")
        own = [spot for spot in view.plot.spots if not spot.series.is_published]
        assert {spot.series.system for spot in own if spot.point.value} == {"lamella"}
        crosses = [spot for spot in own if spot.point.failure]
        assert [(mark.series.system, mark.point.rows) for mark in crosses] == [("sqlite", 10)] * (
            name != "size"
        )
        for cross in crosses:
            assert "✕ wrong answer: Wrong answer: 9 rows instead of 10" in view.plot.canvas.describe(cross)
            canvas = view.plot.canvas
            place = canvas.getViewBox().mapViewToScene(QPointF(cross.x, cross.y))
            assert canvas.nearest(place) == cross
            image = canvas.grab().toImage()
            at = canvas.mapFromScene(place)
            assert image.pixelColor(at) == danger
        pick(shape="bars")
        bars = [place.bar for place in view.plot.bars.places if place.group.title == "Read, 10 rows"]
        lost = [bar for bar in bars if bar.series.system == "sqlite" and not bar.series.is_published]
        assert len(lost) == (name != "size"), "reading changes no size"
        assert all(bar.point is None and bar.is_failure and bar.words.startswith("wrong") for bar in lost)
    display.show_view("normalised")
    pick(operation="read")
    assert words(panel)["Read", "SQLite (synchronous off)"].startswith("wrong answer")
    display.show_view("statistics")
    pick(operation="read")
    assert {row.system for row in view.statistics.figures.rows if row.summary} == {"lamella"}
    index = view.statistics.figures.index(1, 2)
    assert (
        index.data() == "✕ wrong answer"
        and index.data(Qt.ItemDataRole.ForegroundRole).name() == danger.name()
    )
    display.show_view("sentences")
    (place,) = (
        n for n, sentence in enumerate(view.table.sentences()) if "Its time does not count" in sentence
    )
    danger = theme.current().color("danger")
    assert danger.name() == danger.name()
    assert [view.table.item(place, column).foreground().color() for column in (0, 1)] == [danger, danger]


@pytest.mark.slow
def test_how_answers_were_checked_stands_with_the_workload(
    panel: BenchmarkPanel, tell: Make, measured: Make
) -> None:
    choice = panel.controls.workload_choice
    assert "The right answers are computed from the data." in choice.about.full_text
    panel.view.display.show_view("overview")
    tell(*(measured(name, 10, operation="point_keys", workload="entity-indexes") for name in ENTRIES
           if name in ("lamella", "sqlite")), workload="entity-indexes")  # fmt: skip
    assert "they are agreed by 2 systems." in panel.view.overview.source.full_text
    choice.choose("entity-indexes")
    assert "the systems have to agree" in choice.about.full_text
