"""Dragging files over a window, through the window's own drag events."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QMainWindow

from lamella import Store
from lamella.ui import theme
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.drop_overlay import DropOverlay

LEFT, RIGHT = QPoint(100, 200), QPoint(500, 200)


class Drag:
    """The events that the window system sends while files are dragged across a window."""

    def __init__(self, window: QMainWindow, urls: list[QUrl]) -> None:
        self._handle = window.windowHandle()
        self.data = QMimeData()
        self.data.setUrls(urls)

    def enter(self, place: QPoint) -> bool:
        return self._send(QDragEnterEvent, place)

    def move(self, place: QPoint) -> bool:
        return self._send(QDragMoveEvent, place)

    def leave(self) -> None:
        QApplication.sendEvent(self._handle, QDragLeaveEvent())

    def drop(self, place: QPoint) -> None:
        buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        event = QDropEvent(QPointF(place), Qt.DropAction.CopyAction, self.data, buttons, keys)
        QApplication.sendEvent(self._handle, event)

    def _send(self, kind: type[QDragMoveEvent], place: QPoint) -> bool:
        buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        with warnings.catch_warnings():  # Qt has no other way to make one
            warnings.simplefilter("ignore", DeprecationWarning)
            event = kind(place, Qt.DropAction.CopyAction, self.data, buttons, keys)
        event.ignore()
        QApplication.sendEvent(self._handle, event)
        return event.isAccepted()


@pytest.fixture
def overlay(qtbot, tasks: Tasks) -> Iterator[DropOverlay]:
    window = QMainWindow()
    qtbot.addWidget(window)
    window.resize(600, 400)
    window.show()
    yield DropOverlay(window, tasks, "My tables")


def drag(overlay: DropOverlay, *paths: Path) -> Drag:
    return Drag(overlay.window(), [QUrl.fromLocalFile(str(path)) for path in paths])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    path.write_text("a,b\n1,2\n")
    return path


def test_it_covers_the_window_only_while_files_are_dragged(overlay: DropOverlay, text: Path) -> None:
    assert not overlay.isVisible()
    dragged = drag(overlay, text)
    assert dragged.enter(LEFT)
    assert overlay.isVisible()
    assert overlay.geometry() == overlay.parentWidget().rect()
    dragged.move(LEFT)
    dragged.leave()
    assert not overlay.isVisible()


def test_a_drop_on_the_left_opens(qtbot, overlay: DropOverlay, text: Path) -> None:
    dragged = drag(overlay, text)
    dragged.enter(LEFT)
    dragged.move(LEFT)
    assert (overlay.open_zone.lit, overlay.import_zone.lit) == (True, False)
    with qtbot.assertNotEmitted(overlay.import_requested), qtbot.waitSignal(overlay.open_requested) as signal:
        dragged.drop(LEFT)
    assert signal.args == [[text]]
    assert not overlay.isVisible()


def test_a_drop_on_the_right_imports(qtbot, overlay: DropOverlay, text: Path) -> None:
    dragged = drag(overlay, text, text.parent)
    dragged.enter(RIGHT)
    dragged.move(RIGHT)
    assert (overlay.open_zone.lit, overlay.import_zone.lit) == (False, True)
    with qtbot.assertNotEmitted(overlay.open_requested), qtbot.waitSignal(overlay.import_requested) as signal:
        dragged.drop(RIGHT)
    assert signal.args == [[text, text.parent]]


def test_it_says_by_content_what_is_dragged(qtbot, overlay: DropOverlay, text: Path, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text('{"a": 1}\n')
    (tmp_path / "notes").write_bytes(b"%PDF-1.7\n\xff")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("1", "2"):
        pq.write_table(pa.table({"n": [1]}), folder / name)
    drag(overlay, text, tmp_path / "b.csv", folder, tmp_path / "notes").enter(LEFT)
    assert overlay.title.text() == "4 files"
    good = "One delimited text file, one JSON lines file, a folder of 2 Parquet files"
    qtbot.waitUntil(lambda: overlay.title.text() == f"{good}; notes cannot be opened")


def test_what_is_no_file_is_not_taken(overlay: DropOverlay) -> None:
    assert not Drag(overlay.window(), [QUrl("https://example.org/data.csv")]).enter(LEFT)
    assert not overlay.isVisible()


def test_it_names_the_store(overlay: DropOverlay) -> None:
    assert overlay.import_zone.title.text() == "Import into My tables"
    overlay.set_store_name("sales")
    assert overlay.import_zone.title.text() == "Import into sales"


def test_it_follows_the_window_when_that_is_resized(overlay: DropOverlay, text: Path) -> None:
    drag(overlay, text).enter(LEFT)
    overlay.window().resize(800, 500)
    QApplication.sendPostedEvents(None, QEvent.Type.Resize)
    assert overlay.geometry() == overlay.parentWidget().rect()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "budget.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document/>")
    return path


def test_it_leaves_the_names_of_files_as_they_are(qtbot, overlay: DropOverlay, document: Path) -> None:
    drag(overlay, document).enter(LEFT)
    qtbot.waitUntil(lambda: overlay.title.text() == "budget.docx is a Word document")
    second = document.with_name("plan.pdf")
    second.write_bytes(b"%PDF-1.7\n\xff")
    overlay.hide()
    drag(overlay, document, second).enter(LEFT)
    qtbot.waitUntil(lambda: overlay.title.text() == "budget.docx and 1 more cannot be opened")


def test_what_cannot_be_opened_has_nowhere_to_go(qtbot, overlay: DropOverlay, document: Path) -> None:
    dragged = drag(overlay, document)
    dragged.enter(LEFT)
    qtbot.waitUntil(lambda: not overlay.open_zone.isVisible())
    assert not overlay.import_zone.isVisible()
    assert "cannot be opened" in overlay.why.text() and overlay.why.isVisible()
    assert not dragged.move(LEFT)
    with qtbot.assertNotEmitted(overlay.open_requested), qtbot.assertNotEmitted(overlay.import_requested):
        dragged.drop(LEFT)
        dragged.leave()
    assert not overlay.isVisible()


def test_the_places_come_back_for_the_next_file(
    qtbot, overlay: DropOverlay, document: Path, text: Path
) -> None:
    first = drag(overlay, document)
    first.enter(LEFT)
    qtbot.waitUntil(lambda: not overlay.open_zone.isVisible())
    first.move(LEFT)
    first.leave()
    assert not overlay.isVisible()
    drag(overlay, text, document).enter(LEFT)
    said = "One delimited text file; budget.docx cannot be opened"
    qtbot.waitUntil(lambda: overlay.title.text() == said)
    assert overlay.open_zone.isVisible() and overlay.import_zone.isVisible()


def test_a_store_can_be_dropped(qtbot, overlay: DropOverlay, tmp_path: Path) -> None:
    with Store.open(tmp_path / "shop"):
        drag(overlay, tmp_path / "shop").enter(LEFT)
        qtbot.waitUntil(lambda: overlay.title.text() == "A store of tables")
        assert overlay.open_zone.isVisible()


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_titles_of_the_zones_are_level(qtbot, overlay: DropOverlay, text: Path, scale: float) -> None:
    theme.current().set_text_scale(scale)
    try:
        overlay.window().resize(round(800 * scale), 500)
        assert drag(overlay, text).enter(LEFT)
        overlay.grab()
        zones = (overlay.open_zone, overlay.import_zone)
        titles = [zone.title.mapTo(overlay, zone.title.rect().topLeft()).y() for zone in zones]
        assert titles[0] == titles[1]
        assert all(zone.about.height() >= zone.about.heightForWidth(zone.about.width()) for zone in zones)
    finally:
        theme.current().set_text_scale(1.0)
