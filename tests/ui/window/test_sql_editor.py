"""The editor of the SQL console: proposals, brackets, layout and colours while one types."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from lamella import Store
from lamella.ui.dialogs.new_table import NewTableDialog
from lamella.ui.sql.change_panel import ChangePanel
from lamella.ui.theme import current as look

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
ENTER = Qt.Key.Key_Return


def test_names_are_proposed_as_one_types(qtbot, console):
    editor = console.editor
    QTest.keyClicks(editor, "select * from fl")
    popup = editor.completer.popup()
    qtbot.waitUntil(popup.isVisible)
    QTest.keyClick(popup, ENTER)
    assert editor.toPlainText() == "select * from flights"
    QTest.keyClicks(editor, " f where f.")
    qtbot.waitUntil(popup.isVisible)  # once its columns are read
    names = [popup.model().index(row, 0).data() for row in range(popup.model().rowCount())]
    assert names == ["delay", "carrier", "note", "_id"]
    spoken = popup.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken.startswith("carrier, column · ")  # what is painted beside the name
    QTest.keyClicks(editor, "ca")
    QTest.keyClick(popup, Qt.Key.Key_Tab)
    assert editor.toPlainText() == "select * from flights f where f.carrier"
    QTest.keyClick(editor, Qt.Key.Key_Space)
    QTest.keyClick(editor, Qt.Key.Key_Space, CONTROL)
    assert popup.isVisible()
    QTest.keyClick(popup, Qt.Key.Key_Escape)
    assert not popup.isVisible()


def test_a_text_is_found_in_the_statements(qtbot, console):
    editor, bar = console.editor, console.find_bar
    editor.setPlainText("select Delay from flights;\n-- \U0001f600 delay\nselect 1 as delay;")
    editor.setFocus()
    editor.go_to(len("select Delay from"))
    QTest.keyClick(editor, Qt.Key.Key_F, CONTROL)
    assert bar.isVisible() and bar.field.hasFocus()
    QTest.keyClicks(bar.field, "delay")
    cursor = editor.textCursor
    assert (bar.news.text(), cursor().selectedText(), cursor().blockNumber()) == ("2 of 3", "delay", 1)
    QTest.keyClick(bar.field, ENTER)
    assert (bar.news.text(), cursor().blockNumber()) == ("3 of 3", 2)
    QTest.keyClick(bar.field, Qt.Key.Key_F3)
    assert (bar.news.text(), cursor().selectedText()) == ("1 of 3", "Delay"), "on from the beginning"
    QTest.keyClick(bar.field, Qt.Key.Key_F3, SHIFT)
    assert bar.news.text() == "3 of 3"
    bar.case.click()
    assert bar.news.text() == "2 of 2"
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_F3, SHIFT)
    assert (bar.news.text(), cursor().blockNumber()) == ("1 of 2", 1)
    editor.replace_span(0, 6, "Delay delay")
    assert bar.news.text() == "3 matches", "counted again while the text changes"
    QTest.keyClick(editor, Qt.Key.Key_F, CONTROL)
    QTest.keyClicks(bar.field, "nowhere")
    assert bar.news.text() == "No match" and not bar.next.isEnabled()
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible() and editor.hasFocus()


def test_the_match_in_front_of_the_cursor_is_counted_as_the_selected_one(console):
    editor, bar = console.editor, console.find_bar
    editor.setPlainText("select delay")
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_F, CONTROL)
    bar.field.setText("delay")
    editor.go_to(len("select delay"))
    assert bar.news.text() == "1 match"
    bar.step(1)
    assert (bar.news.text(), editor.textCursor().selectedText()) == ("1 of 1", "delay")


@pytest.mark.slow
def test_running_a_statement_closes_the_list(qtbot, console):
    popup = console.editor.completer.popup()
    QTest.keyClicks(console.editor, "select carri from flights f where f.c")
    qtbot.waitUntil(popup.isVisible)
    console.names.forget()
    QTest.keyClicks(console.editor, "a")  # the columns are being read
    QTest.keyClick(console.editor, ENTER, CONTROL)
    qtbot.waitUntil(lambda: not console.runner.running and not console.tasks.running)
    assert not popup.isVisible() and console.text.endswith("f.ca")


def test_columns_are_read_before_the_first_letter(qtbot, window, console):
    console.names.forget()
    window.setFocus()
    console.editor.setFocus()
    qtbot.waitUntil(lambda: console.names.names().tables["flights"] is not None)
    QTest.keyClicks(console.editor, "carr")
    popup = console.editor.completer.popup()
    assert popup.isVisible() and popup.model().index(0, 0).data() == "carrier"


def test_text_is_edited_as_in_an_editor_of_code(console):
    editor = console.editor
    QTest.keyClicks(editor, "select (")
    QTest.keyClick(editor, ENTER)
    QTest.keyClicks(editor, "12")
    assert editor.toPlainText() == "select (\n  12"
    QTest.keyClick(editor, Qt.Key.Key_Slash, CONTROL)
    assert editor.toPlainText() == "select (\n  -- 12"
    QTest.keyClick(editor, Qt.Key.Key_Slash, CONTROL)
    editor.selectAll()
    QTest.keyClick(editor, Qt.Key.Key_Tab)
    assert editor.toPlainText() == "  select (\n    12"
    QTest.keyClick(editor, Qt.Key.Key_Backtab, SHIFT)
    assert editor.toPlainText() == "select (\n  12"


def test_text_is_laid_out_and_that_is_undone(qtbot, console):
    console.editor.setPlainText("select a,b from t")
    QTest.keyClick(console.editor, Qt.Key.Key_F, Qt.KeyboardModifier.AltModifier | SHIFT)
    qtbot.waitUntil(lambda: console.text == "SELECT\n  a,\n  b\nFROM t")
    console.editor.undo()
    assert console.text == "select a,b from t"


def test_what_is_open_at_the_end_of_a_line_colours_the_next(console):
    console.editor.setPlainText("select 'one\ntwo' /* three\n/* four */\nfive */ from t -- six")
    lines = [console.editor.document().findBlockByNumber(n).layout().formats() for n in range(4)]
    green, faint = look().color("success"), look().color("faint")
    colors = [[(f.start, f.length, f.format.foreground().color()) for f in line] for line in lines]
    assert (7, 4, green) in colors[0] and (0, 4, green) in colors[1] and (5, 8, faint) in colors[1]
    assert colors[2] == [(0, 10, faint)] and colors[3][0] == (0, 7, faint)
    assert colors[3][-1] == (15, 6, faint)


def test_enter_in_a_parameter_runs_the_statement_that_has_it(qtbot, console):
    editor = console.editor
    text = "select 1 as a; select 2 + $more as b"
    editor.setPlainText(text)
    qtbot.waitUntil(lambda: "more" in console.parameters.fields)
    field = console.parameters.fields["more"]
    field.edit.setFocus()
    field.kind.setCurrentText("Integer")
    field.edit.setText("3")
    assert editor.textCursor().position() == 0, "at the other statement"
    for modifiers, answers in ((Qt.KeyboardModifier.NoModifier, 1), (CONTROL | SHIFT, 2)):
        QTest.keyClick(field.edit, ENTER, modifiers)
        qtbot.waitUntil(lambda: not console.runner.running and not console.tasks.running)
        assert len(console.results.pages) == answers
        assert console.results.pages[-1].result.schema.names == ["b"]


def test_the_store_of_a_statement_is_proposed_for_a_table_of_its_result(qtbot, window, console, tmp_path):
    store = Store.open(tmp_path / "second")
    window.library.add_store(store)
    console.bar.store_chosen.emit(str(store.path))
    console.editor.setPlainText("select 1 as a")
    console.run()
    qtbot.waitUntil(lambda: console.front_tab is not None and console.front_tab.content is not None)
    qtbot.waitUntil(lambda: not console.runner.running and not console.tasks.running)
    console.front_tab.steps.bar.save.click()
    dialog = window.findChildren(NewTableDialog)[-1]
    assert dialog.store.currentText() == "second"
    dialog.close()


def test_text_that_is_typed_while_a_change_is_shown_goes_into_the_statement(qtbot, console, table):
    console.editor.setPlainText("delete from flights where delay > 440")
    console.editor.go_to(len(console.text))
    QTest.keyClick(console.editor, ENTER, CONTROL)
    qtbot.waitUntil(lambda: isinstance(console.results.current, ChangePanel))
    panel = console.results.current
    assert panel.apply.hasFocus()
    for key in "a b":
        QTest.keyClicks(QApplication.focusWidget(), key)
    assert console.text == "delete from flights where delay > 440a b" and table.version == 1
    panel.apply.setFocus()
    QTest.keyClick(panel.apply, ENTER)
    assert panel.isAncestorOf(QApplication.focusWidget())
    qtbot.waitUntil(lambda: table.version == 2 and console.results.current is not panel)
    assert console.editor.hasFocus()


def test_the_editor_has_the_keyboard_after_a_result_that_had_it(qtbot, console):
    console.editor.setPlainText("select delay from flights")
    QTest.keyClick(console.editor, ENTER, CONTROL)
    qtbot.waitUntil(lambda: console.front_tab is not None and not console.runner.running)
    console.front_tab.grid.setFocus()
    console.bar.explain.menu().actions()[0].trigger()
    assert console.editor.hasFocus()
    qtbot.waitUntil(lambda: not console.runner.running)


def test_the_cursor_stays_at_its_word_when_the_text_is_formatted(qtbot, console):
    text = "select carrier from flights where delay > 5;\nselect note from flights"
    console.editor.setPlainText(text)
    console.editor.go_to(text.index("carrier") + 3)
    console.bar.format.click()
    qtbot.waitUntil(lambda: "SELECT" in console.text)
    assert console.editor.textCursor().position() == console.text.index("carrier") + 3


@pytest.mark.slow
def test_what_cannot_be_read_is_marked_while_it_is_typed(qtbot, console):
    editor = console.editor
    QTest.keyClicks(editor, "select carrier frm flights wher delay > 5;")
    qtbot.waitUntil(lambda: bool(editor.problem))
    first, last = editor.problem_span
    assert console.text[first:last] == "flights" and "cannot be read at 'flights'" in editor.problem
    assert editor.accessibleDescription() == editor.problem and console.results.messages.isHidden()
    text = "select carrier from flights where delay > 5; select"
    editor.setPlainText(text)
    editor.go_to(len(text))
    QTest.keyClicks(editor, " (")  # not finished, and no error yet
    qtbot.waitUntil(lambda: not console.tasks.running)
    assert not editor.problem
    editor.setPlainText("select (1")
    QTest.keyClicks(editor, " ")
    editor.setPlainText("select 1)")
    qtbot.waitUntil(lambda: bool(editor.problem))
    QTest.keyClick(editor, Qt.Key.Key_Home)
    QTest.keyClicks(editor, "(")
    editor.setPlainText("select (1)")
    qtbot.waitUntil(lambda: not editor.problem)


def test_a_file_of_sql_is_opened_and_saved(qtbot, window, console, tmp_path: Path, answer_dialog):
    path = tmp_path / "late.sql"
    path.write_text("select 1 -- ü", encoding="utf-8")
    answer_dialog(path)
    console.bar.save.menu().actions()[3].trigger()
    qtbot.waitUntil(lambda: console.text == "select 1 -- ü")
    assert window.tabs.title == "late"
    answer_dialog(tmp_path / "other")
    console.bar.save.menu().actions()[4].trigger()
    qtbot.waitUntil(lambda: window.tabs.title == "other")
    assert (tmp_path / "other.sql").read_text("utf-8") == "select 1 -- ü"
