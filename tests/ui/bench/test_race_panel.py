"""The Race as a user meets it: real windows, real child processes, few rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.bench.backends import ENTRIES, Entry
from core.bench.protocol import Failure, Measured
from core.bench.published import published_lines
from core.bench.results import Record
from core.bench.workloads import WORKLOADS
from ui import theme
from ui.bench.race_panel import RacePanel
from ui.tasks import Tasks

RACE_MILLISECONDS = 30_000


@pytest.fixture
def tasks(qapp: QApplication) -> Iterator[Tasks]:
    made = Tasks()
    yield made
    made.shutdown()


@pytest.fixture
def panel(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> Iterator[RacePanel]:
    made = RacePanel(tasks, folder=tmp_path)
    qtbot.addWidget(made)
    made.resize(1200, 800)
    made.show()
    yield made
    made.stop()


def choose(panel: RacePanel, rows: set[int], systems: set[str], repeats: int = 1) -> None:
    for size, box in panel.controls.sizes.items():
        box.setChecked(size in rows)
    for name, box in panel.controls.systems.items():
        box.setChecked(name in systems)
    panel.controls.repeats.setValue(repeats)


def show(panel: RacePanel, operation: str) -> None:
    tabs = panel.display.operations
    tabs.setCurrentIndex(next(i for i in range(tabs.count()) if tabs.tabData(i) == operation))


def labels(panel: RacePanel) -> set[str]:
    return {spot.series.label for spot in panel.plot.spots}


def measured(backend: str, rows: int, seconds: float, repeat: int = 0) -> Measured:
    warmth = "warm" if repeat else "cold"
    return Measured(
        Record("small", backend, "read", rows, 100, repeat, seconds, seconds, 9, 99, "1:0", warmth)
    )


def test_before_a_race_the_published_lines_are_there_and_what_to_do_is_said(panel: RacePanel) -> None:
    assert labels(panel) == {"ParquetDB, published", "PyArrow, published", "SQLite, published"}
    assert len(panel.plot.spots) == 3 * 7
    assert panel.empty.isVisible() and "press Start" in panel.empty.text()
    assert "mean of 5 runs" in panel.source.text()
    assert not panel.display.export.isEnabled()


def test_every_workload_can_be_chosen_and_shows_what_was_published(panel: RacePanel) -> None:
    for number, workload in enumerate(WORKLOADS.values()):
        panel.controls.workloads.setCurrentIndex(number)
        assert panel.controls.workload is workload
        for operation in workload.operations:
            show(panel, operation.id)
            right = {f"{line.title}, published" for line in published_lines(workload.id, operation.id)}
            assert labels(panel) == right


def test_a_system_that_cannot_do_a_step_does_not_end_the_race(panel: RacePanel, qtbot: QtBot) -> None:
    panel.controls.workloads.setCurrentIndex(list(WORKLOADS).index("update"))
    choose(panel, {1}, {"sqlite", "pyarrow"})
    panel.start()
    qtbot.waitUntil(lambda: not panel.running, timeout=RACE_MILLISECONDS)
    assert panel.bar.status.text().startswith("Done: 11 samples after")


def test_a_race_draws_live_points_and_ends_in_sentences(
    panel: RacePanel, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(panel, {1, 10}, {"lamella", "sqlite"}, repeats=2)
    show(panel, "read")
    panel.bar.start.click()
    assert panel.running and panel.bar.stop.isVisible() and not panel.controls.isEnabled()
    qtbot.waitUntil(
        lambda: "Lamella" in labels(panel) or "SQLite (synchronous off)" in labels(panel),
        timeout=RACE_MILLISECONDS,
    )
    assert panel.running
    qtbot.waitUntil(lambda: not panel.running, timeout=RACE_MILLISECONDS)
    assert labels(panel) >= {"Lamella", "SQLite (synchronous off)", "SQLite, published"}
    live = [spot for spot in panel.plot.spots if not spot.series.published]
    assert [spot.point.samples for spot in live] == [2] * 4
    assert [sentence[:19] for sentence in panel.table.sentences()] == [
        "Lamella reads 10 ro",
        "Lamella reads 1 row",
    ]
    assert panel.bar.status.text().startswith("Done: 48 samples after")
    assert panel.controls.isEnabled() and panel.table.isVisible() and not panel.empty.isVisible()
    assert list(tmp_path.iterdir()) == []


def test_stop_ends_the_race_and_keeps_what_was_measured(
    panel: RacePanel, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(panel, {1, 10, 100, 1000}, {"sqlite", "sqlite-wal"}, repeats=100)
    panel.bar.start.click()
    qtbot.waitUntil(lambda: len(panel.results.records) > 3, timeout=RACE_MILLISECONDS)
    panel.bar.stop.click()
    assert not panel.bar.stop.isEnabled()
    qtbot.waitUntil(lambda: not panel.running, timeout=RACE_MILLISECONDS)
    assert panel.bar.status.text().startswith("Stopped after")
    assert panel.bar.start.isVisible() and len(panel.results.records) > 3
    assert psutil.Process().children() == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_said_and_the_panel_goes_on(
    panel: RacePanel, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(panel, {1}, {"sqlite"})
    panel.controls.set_folder(tmp_path / "gone")
    panel.start()
    qtbot.waitUntil(lambda: not panel.running, timeout=RACE_MILLISECONDS)
    assert "gone" in panel.bar.status.text() and "Choose another folder" in panel.bar.status.text()
    panel.controls.set_folder(tmp_path)
    panel.start()
    qtbot.waitUntil(lambda: not panel.running, timeout=RACE_MILLISECONDS)
    assert panel.results.records


def test_a_system_that_fails_is_a_row_of_the_results(panel: RacePanel) -> None:
    panel._take(panel.results, measured("sqlite", 10, 0.5))
    panel._take(panel.results, Failure("small", "sqlite-wal", "read", 10, 0, "Wrong answer", "all of it"))
    panel._draw()
    assert panel.table.sentences() == ["SQLite (WAL, synchronous full), 10 rows, read: Wrong answer"]
    assert panel.table.item(0, 0).text() == "Failed" and panel.table.item(0, 1).toolTip() == "all of it"


def test_start_is_off_with_a_reason_while_nothing_is_chosen(panel: RacePanel) -> None:
    choose(panel, {1}, set())
    assert not panel.bar.start.isEnabled() and "system" in panel.bar.start.toolTip()
    choose(panel, set(), {"sqlite"})
    assert not panel.bar.start.isEnabled() and "rows" in panel.bar.start.toolTip()
    choose(panel, {1}, {"sqlite"})
    assert panel.bar.start.isEnabled()


def test_a_system_that_cannot_run_here_says_what_to_install(
    qtbot: QtBot, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Entry(
        "absent", "Absent", {"table": "core.bench.backends.absent:Absent"}, requires="no_such_package"
    )
    monkeypatch.setitem(ENTRIES, "absent", absent)
    panel = RacePanel(tasks)
    qtbot.addWidget(panel)
    box = panel.controls.systems["absent"]
    assert not box.isEnabled() and "pip install" in box.toolTip()


def test_more_work_is_estimated_to_take_longer(panel: RacePanel) -> None:
    choose(panel, {1, 10}, {"sqlite"})
    short = panel.controls.seconds
    choose(panel, {1, 10, 100_000}, {"sqlite", "sqlite-wal"}, repeats=5)
    assert panel.controls.seconds > 10 * short


def test_what_the_clock_could_not_tell_lies_in_a_band_below_every_value(panel: RacePanel) -> None:
    panel.controls.workloads.setCurrentIndex(panel.controls.workloads.findData("update"))
    show(panel, "read")
    below = [spot for spot in panel.plot.spots if spot.point.value is None]
    above = [spot for spot in panel.plot.spots if spot.point.value is not None]
    assert {(spot.series.system, spot.point.rows) for spot in below} == {
        ("sqlite", 1),
        ("sqlite", 10),
        ("mongodb", 10),
    }
    assert max(spot.y for spot in below) < min(spot.y for spot in above)
    (low, _), _ = panel.plot.canvas.viewRange()[1], None
    assert low <= min(spot.y for spot in below)
    assert "Below the clock's resolution" in panel.plot.describe(below[0])


def test_hovering_says_value_count_spread_and_source(panel: RacePanel) -> None:
    for repeat, seconds in enumerate((0.010, 0.020, 0.030)):
        panel._take(panel.results, measured("lamella", 100, seconds, repeat))
    show(panel, "read")
    panel._draw()
    (spot,) = [spot for spot in panel.plot.spots if not spot.series.published]
    place = panel.plot.canvas.getViewBox().mapViewToScene(QPointF(spot.x, spot.y))
    assert panel.plot.nearest(place) is spot
    text = panel.plot.describe(spot)
    assert "Lamella, 100 rows" in text and "20.0 ms (3 samples, 11.8 ms to 28.2 ms)" in text
    assert "Source: measured here" in text
    assert panel.plot.nearest(QPointF(place.x(), place.y() - 400)) is None


def test_the_point_inside_a_fuller_table_says_so(panel: RacePanel) -> None:
    panel.controls.workloads.setCurrentIndex(panel.controls.workloads.findData("update"))
    show(panel, "update")
    last = next(s for s in panel.plot.spots if s.series.system == "parquetdb" and s.point.rows == 1_000_000)
    assert "inside 1,111,111" in panel.plot.describe(last)
    assert "† ParquetDB at 1,000,000 rows: Updates 1,000,000 rows inside 1,111,111" in panel.remark.text()


def test_the_statistic_and_the_temperature_choose_what_is_drawn(panel: RacePanel) -> None:
    for repeat, seconds in enumerate((0.9, 0.1, 0.2)):
        panel._take(panel.results, measured("sqlite", 10, seconds, repeat))
    show(panel, "read")

    def value() -> float | None:
        return next(spot.point.value for spot in panel.plot.spots if not spot.series.published)

    assert value() == pytest.approx(0.4)
    panel.display.statistic.setCurrentIndex(panel.display.statistic.findData("median"))
    assert value() == 0.2
    panel.display.statistic.setCurrentIndex(panel.display.statistic.findData("lowest"))
    assert value() == 0.1
    panel.display.temperature.setCurrentIndex(panel.display.temperature.findData("cold"))
    assert value() == 0.9
    panel.display.quantity.setCurrentIndex(panel.display.quantity.findData("disk_bytes"))
    assert value() == 99 and all(not spot.series.published for spot in panel.plot.spots)


def test_no_two_lines_of_a_plot_share_colour_and_marker_but_a_system_and_its_published_self(
    panel: RacePanel,
) -> None:
    for name in ENTRIES:
        panel._take(panel.results, measured(name, 10, 0.1))
    for workload in ("small", "update"):
        panel.controls.workloads.setCurrentIndex(panel.controls.workloads.findData(workload))
        show(panel, "read")
        looks = {}
        for spot in panel.plot.spots:
            looks.setdefault((spot.series.marker, spot.series.color(theme.current().colors)), set()).add(
                spot.series.system
            )
        assert all(len(systems) == 1 for systems in looks.values())
        assert len({marker for marker, _ in looks}) == len(looks)


def test_the_plot_follows_the_theme(panel: RacePanel) -> None:
    look = theme.current()
    before = look.mode
    seen = {}
    for mode in (theme.Mode.LIGHT, theme.Mode.DARK):
        look.set_mode(mode)
        seen[mode] = panel.plot.canvas.backgroundBrush().color().name()
        assert seen[mode] == look.color("surface").name()
    look.set_mode(before)
    assert seen[theme.Mode.LIGHT] != seen[theme.Mode.DARK]


def test_results_are_exported_as_json_csv_and_picture(panel: RacePanel, tmp_path: Path) -> None:
    panel._take(panel.results, measured("sqlite", 10, 0.5))
    for suffix in (".json", ".csv", ".png"):
        panel.export(tmp_path / f"race{suffix}")
    assert json.loads((tmp_path / "race.json").read_text(encoding="utf-8"))[0]["seconds"] == 0.5
    lines = (tmp_path / "race.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("workload,backend,operation,rows,columns,repeat,seconds") and len(lines) == 2
    assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")


def test_an_export_that_cannot_be_written_is_said(panel: RacePanel, tmp_path: Path) -> None:
    panel._take(panel.results, measured("sqlite", 10, 0.5))
    panel.export(tmp_path / "absent" / "race.json")
    assert "absent" in panel.bar.status.text() and "cannot be written" in panel.bar.status.text()


def test_each_workload_keeps_its_own_results(panel: RacePanel) -> None:
    panel._take(panel.results, measured("sqlite", 10, 0.5))
    panel.controls.workloads.setCurrentIndex(panel.controls.workloads.findData("update"))
    assert panel.results.records == []
    panel.controls.workloads.setCurrentIndex(panel.controls.workloads.findData("small"))
    assert len(panel.results.records) == 1
