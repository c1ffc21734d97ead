"""One cell: what fits is handed over, what does not is marked and stays."""

from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from lamella.ui.editing.cell_editor import CellArea, CellEditor

# What a tooltip asks of a screen that is not there.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|propagateSizeHints)", extend=True)


def shown(qtbot: QtBot, editor: CellEditor) -> CellEditor:
    qtbot.addWidget(editor)
    editor.show()
    qtbot.waitExposed(editor)
    editor.activateWindow()
    editor.setFocus()
    return editor


@pytest.mark.parametrize(
    ("key", "step"),
    [
        (Qt.Key.Key_Return, (1, 0)),
        (Qt.Key.Key_Tab, (0, 1)),
        (Qt.Key.Key_Backtab, (0, -1)),
        (Qt.Key.Key_Up, (-1, 0)),
    ],
)
def test_a_value_that_fits_is_handed_over_with_the_next_step(
    qtbot: QtBot, key: Qt.Key, step: tuple[int, int]
) -> None:
    editor = shown(qtbot, CellEditor(pa.int16(), "63"))
    qtbot.keyClicks(editor, "70")
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, key)
    assert caught.args == [70, step]


def test_what_was_typed_first_replaces_the_value(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.int16(), "63", begun_with="7"))
    qtbot.keyClicks(editor, "1")
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert caught.args[0] == 71


def test_what_does_not_fit_is_marked_and_stays(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.int16(), "63"))
    qtbot.keyClicks(editor, "soon")
    with qtbot.assertNotEmitted(editor.done), qtbot.assertNotEmitted(editor.left):
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.property("variant") == "cell-invalid"
    assert "not a number" in editor.toolTip()
    editor.selectAll()
    qtbot.keyClicks(editor, "5")
    assert editor.property("variant") == "cell"


def test_escape_leaves_the_value_as_it_was(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.string(), "AA"))
    qtbot.keyClicks(editor, "UA")
    with qtbot.assertNotEmitted(editor.done), qtbot.waitSignal(editor.left):
        qtbot.keyClick(editor, Qt.Key.Key_Escape)


def test_a_value_typed_back_to_the_original_is_no_change(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.string(), "AA"))
    qtbot.keyClicks(editor, "AA")
    with qtbot.assertNotEmitted(editor.done), qtbot.waitSignal(editor.left) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Tab)
    assert caught.args == [(0, 1)]


def test_control_backspace_sets_null(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.string(), "AA"))
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Backspace, Qt.KeyboardModifier.ControlModifier)
    assert caught.args[0] is None


def test_an_emptied_text_is_empty_text_and_not_null(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.string(), "AA"))
    qtbot.keyClick(editor, Qt.Key.Key_Delete)
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert caught.args[0] == ""


def test_a_click_elsewhere_keeps_what_fits(qtbot: QtBot) -> None:
    window = QWidget()
    layout, elsewhere = QVBoxLayout(window), QLineEdit()
    layout.addWidget(elsewhere)
    editor = CellEditor(pa.int16(), "63", parent=window)
    layout.addWidget(editor)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    editor.setFocus()
    qtbot.waitUntil(editor.hasFocus)
    editor.selectAll()
    qtbot.keyClicks(editor, "70")
    with qtbot.waitSignal(editor.done) as caught:
        elsewhere.setFocus()
    assert caught.args == [70, (0, 0)]


@pytest.mark.parametrize("field", [CellEditor, CellArea])
@pytest.mark.parametrize(
    "text", ["a\xa0b", "a\u2028b", "a\x00b", "\ufdd0a\ufdd1", "\ufeffq", "a\x0b\x0c", "a\tb", "😀", "e\u0301"]
)
def test_typing_changes_no_other_letter(qtbot: QtBot, field: type, text: str) -> None:
    editor = shown(qtbot, field(pa.string(), text))
    qtbot.keyClick(editor, Qt.Key.Key_End)
    qtbot.keyClicks(editor, "Z")
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert caught.args[0] == text + "Z"


@pytest.mark.parametrize(
    ("text", "typed", "after"),
    [
        ("a\r\nb\nc\rd\u2029e", "Z", "Za\r\nb\nc\rd\u2029e"),
        ("a\r\nb", "Y\nZ", "Y\r\nZa\r\nb"),
        ("a\nb", "Y\nZ", "Y\nZa\nb"),
    ],
)
def test_typing_changes_no_line_end(qtbot: QtBot, text: str, typed: str, after: str) -> None:
    editor = shown(qtbot, CellArea(pa.string(), text))
    editor.moveCursor(editor.textCursor().MoveOperation.Start)
    editor.insertPlainText(typed)
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert caught.args[0] == after


def test_a_long_text_is_pasted_whole_into_a_line(qtbot: QtBot) -> None:
    editor = shown(qtbot, CellEditor(pa.string(), None))
    QGuiApplication.clipboard().setText("x" * 40_000)
    editor.paste()
    with qtbot.waitSignal(editor.done) as caught:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert len(caught.args[0]) == 40_000
