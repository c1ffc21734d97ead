"""A benchmark's controls offer what can run, give reasons for the rest, and estimate the time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QStyle, QStyleOptionComboBox
from pytestqt.qtbot import QtBot

from lamella.core.bench.registry import ENTRIES, WORKLOADS
from lamella.ui import theme
from lamella.ui.bench.benchmark_controls import (
    INSTALLED,
    MINUTE,
    MINUTE_ROWS,
    PUBLISHED,
    TABLE,
    BenchmarkControls,
)
from lamella.ui.bench.benchmark_panel import BenchmarkPanel
from lamella.ui.bench.workload_choice import number_in
from lamella.ui.tasks import Tasks

Choose = Callable[..., None]


def estimated(panel: BenchmarkPanel, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: panel.controls.note.estimate is not None)


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_no_text_of_its_forms_is_cut_off_at_any_text_size(
    qtbot: QtBot, panel: BenchmarkPanel, request: pytest.FixtureRequest, scale: float
) -> None:
    request.addfinalizer(lambda: theme.current().set_text_scale(1.0))
    theme.current().set_text_scale(scale)
    panel.show()
    cut = []
    for button in panel.controls.buttons:
        button.click()
        qtbot.waitUntil(button.popover.isVisible)
        for box in button.popover.findChildren(QComboBox):
            option = QStyleOptionComboBox()
            box.initStyleOption(option)
            field = QStyle.SubControl.SC_ComboBoxEditField
            room = box.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, box).width()
            texts = [box.itemText(place) for place in range(box.count())]
            cut += [text for text in texts if box.fontMetrics().horizontalAdvance(text) > room]
        for edit in button.popover.findChildren(QLineEdit):
            text = edit.placeholderText()
            if edit.isVisible() and edit.fontMetrics().horizontalAdvance(text) + 2 * theme.S > edit.width():
                cut.append(text)
        button.popover.close()
    tree = panel.controls.systems.tree
    assert cut == [] and tree.minimumWidth() >= tree.sizeHint().width()
    conditions = panel.controls.conditions
    conditions.set_folder(Path("/mnt/data/of/mine"))
    assert conditions.choose.text() == "/mnt/data/of/mine …"


@pytest.mark.slow
def test_every_workload_can_be_chosen_and_begins_with_its_own_sizes_and_systems(
    panel: BenchmarkPanel,
) -> None:
    controls = panel.controls
    for workload in WORKLOADS.values():
        controls.workload_choice.choose(workload.id)
        assert controls.size_choice.selection == workload.default_rows
        assert controls.repeats.value() == workload.default_repeats
        for name, row in controls.systems.rows.items():
            assert row.takes_part == ENTRIES[name].takes(workload.family)
            assert row.takes_part or workload.title in row.toolTip(0)
        (part,) = controls.choice.parts
        assert part.workload == workload and part.systems


def test_start_is_off_with_a_reason_while_nothing_is_chosen(panel: BenchmarkPanel, choose: Choose) -> None:
    choose({1}, set())
    assert not panel.bar.start.isEnabled() and "system" in panel.bar.start.toolTip()
    choose(set(), {"sqlite"})
    assert not panel.bar.start.isEnabled() and "rows" in panel.bar.start.toolTip()
    choose({1}, {"sqlite"})
    assert panel.bar.start.isEnabled()
    assert "Choose" not in panel.controls.note.words.text()


def test_a_benchmark_that_does_not_fit_is_refused_with_its_estimate_and_a_way_out(
    panel: BenchmarkPanel, choose: Choose, qtbot: QtBot
) -> None:
    choose({10, 10_000_000_000}, {"sqlite"})
    estimated(panel, qtbot)
    note = panel.controls.note
    assert not panel.bar.start.isEnabled() and "Not enough" in panel.bar.start.toolTip()
    assert "10,000,000,000 rows" in note.problem.text() and "memory" in note.words.full_text
    panel.start()
    assert not panel.running
    note.fit.click()
    assert panel.controls.size_choice.selection == (10,)
    estimated(panel, qtbot)
    assert panel.bar.start.isEnabled() and note.problem.isHidden()


def test_a_size_of_ones_own_is_typed_as_people_type_numbers(panel: BenchmarkPanel, qtbot: QtBot) -> None:
    sizes = panel.controls.size_choice
    qtbot.keyClicks(sizes.custom_edit, "2,500")
    qtbot.keyClick(sizes.custom_edit, Qt.Key.Key_Return)
    assert 2_500 in sizes.selection and not sizes.boxes[2_500].isHidden() and sizes.custom_edit.text() == ""
    qtbot.keyClicks(sizes.custom_edit, "many")
    sizes.add.click()
    assert "whole number" in sizes.custom_edit.toolTip()


@pytest.mark.parametrize(
    ("typed", "rows"),
    [("7", 7), ("250 000", 250_000), ("1'000", 1_000), ("25k", 25_000), ("2M", 2_000_000),
     ("0", None), ("-3", None), ("1.5", None), ("", None), ("k", None), ("٣", None)],
)  # fmt: skip
def test_numbers_are_read_as_people_type_them(typed: str, rows: int | None) -> None:
    assert number_in(typed) == rows


def test_rows_that_change_cannot_be_more_than_the_table_has(panel: BenchmarkPanel) -> None:
    panel.controls.workload_choice.choose("partial")
    panel.controls.size_choice.table.setText("1,000")
    panel.controls.size_choice.choose((10_000,))
    assert "10,000 rows cannot change in a table of 1,000" in panel.controls.problem
    panel.controls.size_choice.choose((100,))
    assert panel.controls.problem == "" and panel.controls.choice.parts[0].workload.table_rows == 1_000


def test_a_system_that_is_not_installed_has_its_command_ready_to_copy(
    qtbot: QtBot, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = replace(ENTRIES["polars"], requires=(("no_such_module", "no-such-package"),))
    monkeypatch.setitem(ENTRIES, "polars", missing)
    from lamella.core.bench.engine.costs import shipped_costs

    controls = BenchmarkControls(tasks, shipped_costs)
    qtbot.addWidget(controls)
    controls.show()
    row = controls.systems.rows["polars"]
    assert not row.ready and "no-such-package must be installed" in row.toolTip(0)
    tree = controls.systems.tree
    controls.systems_button.click()
    tree.scrollToItem(row)
    place = QPoint(tree.viewport().width() - 8, tree.visualItemRect(row).center().y())
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    controls.systems_button.popover.close()
    assert row.text(1) == "Copied"
    command = QGuiApplication.clipboard().text()
    assert command.startswith(sys.executable) and command.endswith("pip install no-such-package")
    controls.systems.all_button.click()
    assert "polars" not in controls.systems.selection and "sqlite" in controls.systems.selection
    controls.systems.none_button.click()
    assert controls.systems.selection == ()


def test_systems_are_found_by_a_part_of_their_name(panel: BenchmarkPanel) -> None:
    systems = panel.controls.systems
    systems.search.setText("sqlalch")
    visible = {name for name, row in systems.rows.items() if not row.isHidden()}
    assert visible == {"sqlalchemy-core", "sqlalchemy-orm"}
    systems.search.setText("no such")
    assert systems._nothing.isVisibleTo(systems)


@pytest.fixture
def loaded_before() -> set[str]:
    """Other tests of this process may have asked systems themselves."""
    return set(sys.modules)


@pytest.mark.slow
def test_versions_are_shown_without_importing_a_system_here(
    loaded_before: set[str], panel: BenchmarkPanel, qtbot: QtBot
) -> None:
    rows = panel.controls.systems.rows
    qtbot.waitUntil(lambda: rows["polars"].version != "")
    import pyarrow

    assert rows["pyarrow"].version == pyarrow.__version__
    loaded = set(sys.modules) - loaded_before
    assert not loaded & {"sqlalchemy", "ZODB", "tables", "h5py", "deltalake", "parquetdb"}


@pytest.mark.slow
def test_systems_tell_how_they_are_configured_when_the_pointer_comes(
    panel: BenchmarkPanel, qtbot: QtBot
) -> None:
    systems = panel.controls.systems
    assert "reading its configuration" in systems.rows["sqlite-wal"].toolTip(0)
    QApplication.sendEvent(systems.tree, QEvent(QEvent.Type.Enter))
    assert systems.asking.running
    qtbot.waitUntil(lambda: "synchronous=FULL" in systems.rows["sqlite-wal"].toolTip(0), timeout=60_000)
    systems.asking.stop()


def test_a_file_that_is_no_python_is_refused_as_interpreter(
    panel: BenchmarkPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    python = panel.controls.conditions.python
    broken_python = tmp_path / "no-python"
    broken_python.write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    broken_python.chmod(0o755)
    python.choose(str(broken_python))
    assert panel.controls.problem
    qtbot.waitUntil(lambda: "Choose another interpreter" in python.about.text(), timeout=40_000)
    assert not panel.bar.start.isEnabled()
    python.box.setCurrentIndex(0)
    assert panel.controls.problem == "" and panel.controls.choice.interpreter is None


def test_another_address_of_mongodb_is_kept_and_requested(panel: BenchmarkPanel, qtbot: QtBot) -> None:
    addresses: list[str] = []
    panel.use_server("mongodb://localhost:27017", addresses.append)
    field = panel.controls.systems.server
    field.uri.setText("mongodb://elsewhere:1")
    field.uri.editingFinished.emit()
    field.uri.editingFinished.emit()
    assert addresses == ["mongodb://elsewhere:1"] and panel.controls.systems.asking.running
    panel.controls.systems.asking.stop()


@pytest.mark.slow
def test_tab_goes_through_the_sizes_in_their_order_also_those_that_were_added(
    panel: BenchmarkPanel, qtbot: QtBot
) -> None:
    choice, popover = panel.controls.size_choice, panel.controls.sizes_button.popover
    panel.controls.sizes_button.click()
    choice.custom_edit.setText("250k")
    choice.add.click()
    at = choice.boxes[1]
    at.setFocus()
    walked = [at.text()]
    while popover.focusWidget() is not choice.custom_edit and len(walked) <= len(choice.boxes):
        qtbot.keyClick(popover.focusWidget(), Qt.Key.Key_Tab)
        walked.append(getattr(popover.focusWidget(), "text", str)())
    popover.close()
    assert walked[:-1] == [f"{rows:,}" for rows in sorted(choice.boxes)]


@pytest.mark.slow
def test_the_line_says_what_is_chosen(panel: BenchmarkPanel, choose: Choose) -> None:
    controls = panel.controls
    choose({1, 10, 1000}, {"lamella", "sqlite"}, repeats=3)
    said = [button.accessibleName() for button in controls.buttons[:4]]
    assert said == [
        "Workload: Small benchmark",
        "Rows: 1 – 1,000 rows",
        "Systems: Lamella and SQLite",
        "Repeats: 3 repeats",
    ]
    choose({10}, {"lamella", "sqlite", "duckdb"}, repeats=1)
    said = [button.accessibleName() for button in controls.buttons[1:4]]
    assert said == ["Rows: 10 rows", "Systems: 3 systems", "Repeats: 1 repeat"]


def test_presets_choose_workload_sizes_and_systems(panel: BenchmarkPanel, qtbot: QtBot) -> None:
    controls = panel.controls
    controls.workload_choice.choose("taxi")
    controls.presets[MINUTE].click()
    assert [workload.id for workload in controls.workloads] == ["small"]
    assert controls.size_choice.selection == MINUTE_ROWS and controls.systems.selection == (
        "lamella",
        "sqlite",
    )
    controls.presets[INSTALLED].click()
    ready = {name for name, row in controls.systems.rows.items() if row.ready}
    assert set(controls.systems.selection) == ready > {"lamella", "sqlite"}
    controls.presets[PUBLISHED].click()
    assert controls.size_choice.selection == WORKLOADS["small"].published_rows
    assert set(controls.systems.selection) == {"lamella", "parquetdb", "pyarrow", "sqlite"} & ready
    with qtbot.waitSignal(panel.table_requested):
        controls.presets[TABLE].click()


@pytest.mark.slow
def test_the_command_of_what_is_chosen_is_copied(panel: BenchmarkPanel, choose: Choose) -> None:
    choose({1, 10}, {"lamella", "sqlite"}, repeats=2)
    panel.controls.copy.click()
    command = QGuiApplication.clipboard().text()
    assert command.startswith("lamella bench --workload small") and "--repeats 2" in command
