"""Files dropped on each part of the window, with the data that file managers send."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QPoint
from PySide6.QtWidgets import QStatusBar, QToolBar

from lamella.ui.dialogs.file_import import FileImportDialog
from tests.ui.widgets.test_drop_overlay import Drag

PARTS = {
    "sidebar": lambda window: window.sidebar,
    "tabs": lambda window: window.tabs.tabs,
    "grid": lambda window: window.tabs.dataset_tab.grid.viewport(),
    "steps": lambda window: window.tabs.dataset_tab.steps,
    "toolbar": lambda window: window.findChild(QToolBar),
    "status": lambda window: window.findChild(QStatusBar),
    "menu": lambda window: window.menuBar(),
}


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    folder = tmp_path / "Verkäufe & mehr"
    folder.mkdir()
    path = folder / "März #1.csv"
    path.write_text("Datum;Betrag\n31.12.2025;1.234,50\n")
    return path


def of_file_manager(window, path: Path) -> Drag:
    """Addresses are escaped and end in CR LF; other data is ignored."""
    drag = Drag(window, [])
    uri = path.as_uri().encode()
    drag.data.clear()
    drag.data.setData("text/uri-list", QByteArray(uri + b"\r\n"))
    drag.data.setData("x-special/gnome-copied-files", QByteArray(b"copy\n" + uri))
    drag.data.setData("application/x-kde4-urilist", QByteArray(uri + b"\r\n"))
    drag.data.setText(str(path))
    return drag


def dropped(window, drag: Drag, part: str, half: float) -> None:
    widget = PARTS[part](window)
    place = widget.mapTo(window, widget.rect().center())
    assert drag.enter(place)
    assert window.overlay.isVisible()
    over = QPoint(round(window.width() * half), window.height() // 2)
    drag.move(over)
    drag.drop(over)
    assert not window.overlay.isVisible()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("part", PARTS)
def test_a_file_opens_wherever_it_is_dragged_in(qtbot, window, file_tab, sales: Path, part: str) -> None:
    dropped(window, of_file_manager(window, sales), part, 0.25)
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not file_tab and window.tabs.dataset_tab.content is not None
    )
    kinds = [str(kind) for kind in window.tabs.dataset_tab.view.schema.types]
    assert kinds == ["date32[day]", "double"]


def test_a_file_let_go_on_the_right_is_imported(qtbot, window, file_tab, store, sales: Path) -> None:
    dropped(window, of_file_manager(window, sales), "grid", 0.75)
    qtbot.waitUntil(lambda: window.findChild(FileImportDialog) is not None)
    dialog = window.findChild(FileImportDialog)
    qtbot.waitUntil(dialog.import_button.isEnabled)
    with qtbot.waitSignal(dialog.imported):
        dialog.import_button.click()
    assert store["März #1"].num_rows == 1
