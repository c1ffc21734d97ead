"""A Delta table in the window: opened by its folder, at any version, and followed while others commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from lamella.ui.dialogs.delta_versions import OPERATION, VersionChoice
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips"
    write_deltalake(path, pa.table({"n": [1, 2, 3]}))
    write_deltalake(path, pa.table({"n": [4, 5]}), mode="append")
    DeltaTable(path).delete("n = 2")
    return path


@pytest.fixture
def tab(window: MainWindow, trips: Path, settled: Callable[[], DatasetTab]) -> DatasetTab:
    window.open_paths([trips])
    return settled()


def ask(qtbot: QtBot, window: MainWindow) -> VersionChoice:
    window.commands["delta_versions"].trigger()
    dialog = window.findChildren(VersionChoice)[-1]
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() > 0)
    return dialog


def buttons(tab: DatasetTab) -> dict[str, object]:
    return {button.text(): button for button in tab.messages.buttons}


def test_a_version_is_chosen_and_left_again(qtbot, window, tab, settled) -> None:
    assert tab.view.num_rows == 4
    dialog = ask(qtbot, window)
    assert dialog.list.topLevelItemCount() == 3
    assert [dialog.current, dialog.show_button.isEnabled()] == [2, False]
    assert dialog.list.topLevelItem(0).text(OPERATION) == "DELETE"
    qtbot.keyClick(dialog.list, Qt.Key.Key_End)
    assert dialog.show_button.text() == "Show version 0"
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: settled().view.num_rows == 3)
    qtbot.waitUntil(tab.messages.isVisible)
    assert "Version 0 of the Delta table; the newest is 2" in tab.messages.label.text()
    qtbot.mouseClick(buttons(tab)["Show the newest"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: settled().view.num_rows == 4)
    assert not tab.messages.isVisible()


@pytest.mark.slow
def test_a_tab_opened_again_shows_the_newest_version(qtbot, window, tab, trips, settled) -> None:
    tab.reopening.show_version(1)
    qtbot.waitUntil(lambda: settled().view.num_rows == 5)
    window.commands["close_tab"].trigger()
    window.open_paths([trips])
    assert settled().view.num_rows == 4


@pytest.mark.slow
def test_a_commit_is_offered_to_who_looks_at_the_newest_version(qtbot, tab, trips, settled) -> None:
    write_deltalake(trips, pa.table({"n": [6]}), mode="append")
    qtbot.waitUntil(lambda: "Reload" in buttons(tab), timeout=10_000)
    qtbot.mouseClick(buttons(tab)["Reload"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: settled().view.num_rows == 5)


@pytest.mark.slow
def test_the_command_is_of_delta_tables_alone(window, tab, file, settled) -> None:
    assert window.commands["delta_versions"].isEnabled()
    window.open_paths([file])
    settled()
    assert not window.commands["delta_versions"].isEnabled()
