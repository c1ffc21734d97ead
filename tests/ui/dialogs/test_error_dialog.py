from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit

from lamella.core.errors import BadData, FileProblem
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import ErrorDialog, message

DEEP = "/a/" + "very_long_folder_name/" * 20 + "Budget.xlsx"


@pytest.fixture
def dialog(qtbot):
    problem = FileProblem(DEEP, "is an Excel workbook", "It cannot be opened yet", "Choose another")
    error_dialog = ErrorDialog(problem)
    qtbot.addWidget(error_dialog)
    error_dialog.show()
    return error_dialog


def test_the_headline_is_about_the_file_not_about_its_folders(dialog) -> None:
    title = next(label for label in dialog.findChildren(QLabel) if label.property("variant") == "title")
    assert title.text() == "Budget.xlsx is an Excel workbook"
    assert dialog.findChild(QLineEdit).text() == DEEP
    assert DEEP in dialog.details
    assert dialog.width() <= 640


def test_enter_closes_it(qtbot) -> None:
    dialog = ErrorDialog(BadData("flights: no such row"))
    qtbot.addWidget(dialog)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    dialog.show()
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    assert not dialog.isVisible()


@pytest.mark.parametrize(
    ("problem", "headline"),
    [
        ("is empty", "trips.csv is empty"),
        ("holds no columns", "trips.csv holds no columns"),
        ("line 7 is not a JSON object", "trips.csv: line 7 is not a JSON object"),
        ("the picture cannot be written", "trips.csv: the picture cannot be written"),
    ],
)
def test_a_headline_reads_as_a_sentence(problem, headline) -> None:
    error = FileProblem("/data/trips.csv", problem, "it is so", "Do something")
    assert error.headline == headline
    assert message(error) == f"{headline}. It is so. Do something."
    assert str(error).startswith("/data/trips.csv: ")


def test_the_headline_of_another_error_is_what_happened() -> None:
    assert BadData("flights: no such row", "it was deleted").headline == "flights: no such row"


@pytest.mark.slow
def test_it_follows_the_theme(dialog) -> None:
    look = theme.current()
    dark = look.icon("warning", "danger").pixmap(look.icon_size(32)).toImage()
    look.set_mode("light" if look.dark else "dark")
    now = look.icon("warning", "danger").pixmap(look.icon_size(32)).toImage()
    icon = next(label for label in dialog.findChildren(QLabel) if not label.pixmap().isNull())
    look.set_text_scale(1.5)
    width = dialog.minimumWidth()
    look.set_text_scale(1.0)
    assert icon.pixmap().toImage() == now != dark
    look.set_mode("system")
    assert width == 720


def test_its_texts_have_no_room_to_spare(dialog) -> None:
    for label in dialog.findChildren(QLabel):
        if label.wordWrap():
            assert label.height() == label.heightForWidth(label.width())
