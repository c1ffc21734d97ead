"""The SQL console: typed, run, corrected, changed, stopped, and what becomes of its results."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from lamella.core.jobs import Progress
from lamella.core.query.charts import ChartSpec
from lamella.core.query.steps import Group, Where
from lamella.core.store.store import Store
from lamella.ui.dialogs.export_dialog import ExportDialog
from lamella.ui.dialogs.new_table import NewTableDialog
from lamella.ui.sql.change_panel import ChangePanel
from lamella.ui.sql.plan_view import PlanView
from lamella.ui.window.help import page_of
from tests.ui.window.console_acts import done, message, press, rows

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
ENTER, DOWN = Qt.Key.Key_Return, Qt.Key.Key_Down


def test_a_statement_runs_and_its_result_is_a_grid_with_steps(qtbot, window, run):
    console = run("select carrier, count(*) as n from flights group by 1 order by 2, 1")
    assert rows(console)[-1] == {"carrier": None, "n": 250}
    assert window.commands["sql"].isChecked() and window.commands["export"].isEnabled()
    assert "4 rows" in window.status.text.text() and "1 of 3 columns of flights" in window.status.text.text()
    assert "(1,000 of 1,000 rows" in window.status.text.text()  # what the scan read
    tab = console.front_tab
    tab.grid.go_to(0, tab.grid.place(0))
    window.commands["filter_equal"].trigger()
    qtbot.waitUntil(lambda: not tab.loader.running and tab.line.last_of(Where) is not None)
    assert tab.view.num_rows == 1
    window.commands["copy_sql"].trigger()
    clipboard = QGuiApplication.clipboard()
    qtbot.waitUntil(lambda: clipboard.text().startswith("WITH result AS"))
    assert len(console.names.current.store.sql(clipboard.text())) == 1


@pytest.mark.slow
def test_a_refusal_ends_in_one_full_stop(run):
    refusal = message(run("drop table flights; select 1", CONTROL | SHIFT))
    assert refusal.endswith(". Drop tables in the sidebar. 1 statement after it did not run.")


@pytest.mark.slow
def test_means_are_shown_with_the_digits_that_people_read(run):
    grid = run("select 2.0 / 3 as third, pi() as pi from flights limit 1").front_tab.grid
    texts = [grid.grid_model.index(0, grid.place(n)).data() for n in (0, 1)]
    assert texts == ["0.667", "≈3.141592654"]


@pytest.mark.slow
def test_from_a_tab_it_begins_with_that_tabs_rows(qtbot, window, table_tab):
    window.commands["sql"].trigger()
    console = window.consoles.current
    assert console.text[slice(*console.editor.selected_span)] == "select *\nfrom flights\nlimit 100"
    console.run()
    done(qtbot, console)
    assert len(rows(console)) == 10 and console.front_tab.view.num_rows == 100
    window.tabs.show_tab(table_tab)
    window.commands["sql"].trigger()
    assert window.consoles.current is console  # the one that there is
    window.commands["sql"].trigger()
    assert window.consoles.current is not console and len(window.consoles.consoles) == 2


def test_the_statement_at_the_cursor_what_is_selected_or_all(run, console):
    text = "select 1 as a;\nselect 2 as b;\nselect 3 as c"
    assert rows(run(text, cursor=18)) == [{"b": 2}]
    run(text, CONTROL | SHIFT)
    assert [rows(console, place) for place in range(3)] == [[{"a": 1}], [{"b": 2}], [{"c": 3}]]
    assert console.results.bar.isVisible() and console.results.bar.count() == 3
    run(text.replace("\n", " "), CONTROL | SHIFT)
    assert [console.results.bar.tabText(place) for place in range(3)] == [
        "Line 1",
        "Line 1 (2)",
        "Line 1 (3)",
    ]
    cursor = console.editor.textCursor()
    cursor.setPosition(0)
    cursor.setPosition(13, cursor.MoveMode.KeepAnchor)
    console.editor.setTextCursor(cursor)
    console.run()
    assert console.runner.running


def test_the_second_statement_fails_and_the_third_does_not_run(run):
    console = run("select 1 as a;\n\nselect dely from flights;\nselect 3", CONTROL | SHIFT)
    assert rows(console, 0) == [{"a": 1}] and console.results.bar.count() == 1
    assert message(console).startswith("Line 3: There is no column 'dely' here. Did you mean 'delay'?")
    assert "1 statement after it did not run" in message(console)
    start, stop = console.editor.problem_span
    assert console.text[start:stop] == "dely" and "delay" in console.editor.problem
    press(console, "Use delay")
    assert "select delay from flights" in console.text and console.editor.problem_span is None
    console.editor.undo()
    assert "select dely from flights" in console.text


@pytest.mark.parametrize(("before", "word"), [("-- all\nselct 1 as a", "select"), ("SELCT 1 as a", "SELECT")])
def test_a_misspelt_first_word_is_replaced_at_a_press(run, before, word):
    console = run(before)
    assert console.text[slice(*console.editor.problem_span)].casefold() == "selct"
    press(console, f"Use {word}")
    assert console.text == before.replace("selct", word).replace("SELCT", word)
    assert console.editor.textCursor().position() == console.text.index(word) + len(word)


@pytest.mark.slow
def test_parameters_are_fields_with_the_types_of_their_columns(qtbot, console, run):
    text = "select count(*) as n from flights where delay > :least and carrier = $who"
    console.editor.setPlainText(text)
    fields = console.parameters.fields
    qtbot.waitUntil(
        lambda: list(fields) == ["least", "who"] or list(console.parameters.fields) == ["least", "who"]
    )
    fields = console.parameters.fields
    qtbot.waitUntil(lambda: fields["least"].kind.currentText() == "Integer")
    assert fields["who"].kind.currentText() == "Text" and console.parameters.isVisible()
    fields["least"].edit.setText("many")
    fields["who"].edit.setText("AA")
    console.run()
    assert "Parameter $least: 'many' is not of the type 'integer'" in message(console)
    fields["least"].edit.setText("100")
    QTest.keyClick(fields["least"].edit, ENTER)
    done(qtbot, console)
    expected = console.names.current.store.sql(
        "select count(*) as n from flights where delay > 100 and carrier = 'AA'"
    )
    assert rows(console) == expected.to_pylist()


def test_a_change_is_counted_shown_made_and_undone(qtbot, window, run, table, table_tab):
    window.commands["sql"].trigger()
    console = run("update flights set note = 'late' where delay > 400; select count(*) as n from flights "
                  "where note = 'late'", CONTROL | SHIFT)  # fmt: skip
    panel = console.results.current
    assert isinstance(panel, ChangePanel) and table.version == 1
    count = table.count("delay > 400")
    assert (panel.apply.text() == f"Update {count} rows" and panel.hasFocus()) or panel.apply.hasFocus()
    QTest.keyClick(panel.apply, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: console.front_tab is not None)
    done(qtbot, console)
    assert table.version == 2 and rows(console) == [{"n": count}]
    assert message(console) == f"flights: {count} rows changed"
    qtbot.waitUntil(
        lambda: not table_tab.loader.running and table_tab.content.undo.startswith("update flights")
    )
    press(console, "Undo")
    qtbot.waitUntil(lambda: table.count("note = 'late'") == 0)


def test_a_change_that_is_given_up_changes_nothing(qtbot, run, table):
    console = run("delete from flights where delay > 0; select 1", CONTROL | SHIFT)
    panel = console.results.current
    assert panel.preview.rowCount() == 20
    assert panel.preview.columnWidth(panel.preview.columnCount() - 1) < panel.preview.width() / 2
    QTest.keyClick(panel.apply, Qt.Key.Key_Escape)
    assert message(console) == "Nothing was changed. 1 statement after it did not run."
    assert table.num_rows == 1000 and not console.results.pages


def test_a_change_of_an_unknown_table_is_underlined_at_its_name(run):
    console = run("update fligths set delay = 1")
    assert console.text[slice(*console.editor.problem_span)] == "fligths"
    press(console, "Use flights")
    assert console.text == "update flights set delay = 1"


def test_a_change_of_an_open_file_says_that_only_tables_change(window, run, settled, tmp_path):
    pq.write_table(pa.table({"n": [1]}), tmp_path / "numbers.parquet")
    window.open_paths([tmp_path / "numbers.parquet"])
    settled()
    window.consoles.open()
    console = run("update Numbers set n = 2")
    assert console.text[slice(*console.editor.problem_span)] == "Numbers"
    assert "'Numbers' is an open file, not a table" in message(console)
    assert "Import the file" in message(console)


@pytest.mark.slow
def test_a_change_takes_no_keys_from_who_types_on(qtbot, console, table):
    console.editor.setFocus()
    QTest.keyClicks(console.editor, "delete from flights")
    QTest.keyClick(console.editor, ENTER, CONTROL)
    QTest.keyClicks(console.editor, " ")
    qtbot.waitUntil(lambda: isinstance(console.results.current, ChangePanel))
    assert console.editor.hasFocus()
    QTest.keyClick(QApplication.focusWidget(), ENTER)
    assert console.text == "delete from flights \n" and table.num_rows == 1000


def test_a_change_of_rows_that_have_changed_since_is_counted_again(qtbot, run, table):
    console = run("delete from flights where delay > 440")
    before = table.count("delay > 440")
    table.delete(where="delay > 445")
    console.results.current.apply.click()
    qtbot.waitUntil(lambda: "has changed since the preview" in message(console))
    press(console, "Count again")
    qtbot.waitUntil(lambda: isinstance(console.results.current, ChangePanel))
    assert console.results.current.apply.text() == f"Delete {table.count('delay > 440')} rows"
    assert table.count("delay > 440") < before


def test_a_table_is_made_of_a_select_and_listed(qtbot, window, run, store):
    console = run("create table late as select * from flights where delay > 400")
    QTest.keyClick(console.results.current.apply, ENTER)
    qtbot.waitUntil(lambda: "late" in store and "Created late" in message(console))
    qtbot.waitUntil(lambda: "late" in [entry.text for entry in window.sidebar.entries("table")])


def test_stop_ends_what_never_would(qtbot, console):
    console.editor.setPlainText(
        "select count(*) from range(100000000) a, range(100000000) b where a.range * b.range = 3"
    )
    console.run()
    qtbot.waitUntil(console.bar.stop.isVisible)
    console.bar.stop.click()
    qtbot.waitUntil(lambda: not console.runner.running)
    assert message(console) == "Stopped." and console.bar.run.isVisible()
    assert console.editor.problem_span is None


def test_a_new_statement_shows_no_progress_of_the_one_before(qtbot, console):
    endless = "select count(*) from range(100000000) a, range(100000000) b where a.range * b.range = 3"
    console.editor.setPlainText(endless)
    console.run()
    (before,) = console.tasks.running
    console.run()
    progresses = []
    console.runner.progressed.connect(progresses.append)
    before.callbacks.on_progress(Progress(111, None, "111 rows"))
    (now,) = (handle for handle in console.tasks.running if handle is not before)
    now.callbacks.on_progress(Progress(5, None, "5 rows"))
    assert [progress.text for progress in progresses] == ["5 rows"]
    console.bar.stop.click()
    qtbot.waitUntil(lambda: not console.tasks.running)


@pytest.mark.slow
def test_a_long_answer_is_looked_at_while_it_comes_in(qtbot, console):
    console.editor.setPlainText("select range as n from range(100000000000)")
    console.run()
    qtbot.waitUntil(
        lambda: console.front_tab is not None and console.front_tab.content is not None, timeout=15_000
    )
    tab = console.front_tab
    assert console.runner.running and tab.view.page(0, 2).to_pylist() == [{"n": 0}, {"n": 1}]
    console.runner.stop()
    done(qtbot, console)
    assert tab.dataset.is_cut and tab.dataset.remarks[0].startswith("Stopped after")
    qtbot.waitUntil(lambda: tab.messages.label.text().startswith("Stopped after"))


@pytest.mark.slow
def test_two_columns_of_one_name_are_both_shown(run):
    console = run("select delay, delay from flights limit 1")
    assert list(rows(console)[0]) == ["delay", "delay_2"]
    assert "shown as 'delay_2'" in console.front_tab.messages.label.text()


def test_sql_of_another_database_is_offered_in_duckdbs(qtbot, run):
    text = "select date_format(date '2024-05-01', 'yyyy-MM') as month"
    console = run(text)
    qtbot.waitUntil(lambda: "It looks like Spark's SQL" in message(console))
    press(console, "Use DuckDB's form")
    assert "STRFTIME" in console.text
    console.run()
    done(qtbot, console)
    assert rows(console) == [{"month": "2024-05"}]
    console.editor.undo()
    assert console.text == text


MANUALS = {
    "SELECT carrier, count(*) FILTER (WHERE delay > 0) FROM flights GROUP BY 1 ORDER BY 1": 4,  # PostgreSQL
    "SELECT DISTINCT ON (carrier) carrier, note::varchar FROM flights ORDER BY carrier, delay DESC": 4,
    "SELECT ifnull(carrier, 'none') AS c FROM flights ORDER BY random() LIMIT 2 OFFSET 1": 2,  # SQLite
    "WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT x FROM n": 5,
}
FOREIGN = {
    "SELECT TOP 3 [carrier], [delay] FROM [flights] ORDER BY [delay] DESC": ("SQL Server", 3),
    "SELECT `carrier`, date_format(date '2024-05-01', '%Y-%m') AS m FROM `flights` LIMIT 2": ("MySQL", 2),
    "SELECT SAFE_CAST(note AS INT64) AS n FROM `flights` LIMIT 2": ("BigQuery", 2),
    "SELECT carrier FROM flights WHERE rownum <= 4": ("", None),  # Oracle
}


@pytest.mark.slow
def test_sql_of_the_manuals_of_other_databases_runs_or_is_offered_anew(qtbot, run):
    for text, count in MANUALS.items():
        assert run(text).front_tab.view.num_rows == count, text
    for text, (dialect, count) in FOREIGN.items():
        console = run(text)
        qtbot.waitUntil(lambda console=console: bool(message(console)))
        assert console.editor.problem_span is not None, text
        if count is None:
            continue
        qtbot.waitUntil(lambda console=console: "It looks like" in message(console))
        assert dialect in message(console), text
        press(console, "Use DuckDB's form")
        console.run()
        done(qtbot, console)
        assert console.front_tab.view.num_rows == count, console.text


@pytest.mark.slow
def test_what_is_no_statement_here_is_refused_with_what_helps(run):
    for text, says in (
        ("selct carrier from flights", "No statement begins with SELCT. Did you mean 'select'?"),
        ("show databases", "SHOW TABLES lists the tables"),
        ("install httpfs", "INSTALL is not supported in SQL here"),
        ("attach 'x.db'", "ATTACH is not supported in SQL here. Open the file instead"),
        ("begin transaction", "each change is one commit"),
        ("select * from read_csv('/etc/passwd')", "The statement may not read that file"),
        (".help", "cannot be read"),
    ):
        assert says in message(run(text)), text


@pytest.mark.slow
def test_parameters_without_values_are_said(run):
    console = run("select * from flights where carrier = $carrier and delay > :least")
    assert message(console).startswith("$carrier and $least have no values: they are NULL")
    run("select 1")
    run("select * from flights where carrier = $carrier")  # the field is there again
    assert message(console).startswith("$carrier has no value: it is NULL")
    console = run("select * from flights where carrier = $carrier and delay > :least")
    console.parameters.fields["carrier"].edit.setText("AA")
    console.parameters.fields["least"].edit.setText("100")
    assert not message(run(console.text)) and console.front_tab.view.num_rows > 0


def test_f1_in_a_result_opens_the_help_about_results(run):
    assert page_of(run("select carrier from flights").front_tab.grid) == "console.md#results"


def test_a_result_becomes_a_chart_a_file_and_a_table(qtbot, window, run, store, tmp_path, answer_dialog):
    console = run("select carrier, avg(delay) as delay from flights group by carrier")
    tab = console.front_tab
    window.commands["chart"].trigger()
    spec = ChartSpec("bar", "carrier", measure="delay", aggregate="mean")
    tab.charting.view.show_spec(spec)
    qtbot.waitUntil(lambda: tab.charting.is_drawn(spec))
    assert tab.charting.view.data.used == 3 and not tab.pane.isVisible()
    path = tmp_path / "delays.svg"
    answer_dialog(path)
    tab.charting.export("svg")
    qtbot.waitUntil(lambda: path.name in tab.messages.label.text())
    assert "Mean of delay by carrier" in path.read_text("utf-8")
    window.commands["chart"].trigger()
    window.commands["export"].trigger()
    dialog = window.findChildren(ExportDialog)[-1]
    qtbot.waitUntil(lambda: dialog.is_settled)
    dialog.path_edit.setText(str(tmp_path / "delays.csv"))
    with qtbot.waitSignal(dialog.exported):
        dialog.export_button.click()
    assert len((tmp_path / "delays.csv").read_text("utf-8").splitlines()) == 5
    dialog.close()
    tab.steps.bar.save.click()
    form = window.findChildren(NewTableDialog)[-1]
    form.name.setText("means")
    with qtbot.waitSignal(form.created):
        form.create_button.click()
    assert store["means"].num_rows == 4 and store["means"].schema.names[-2:] == ["carrier", "delay"]


def test_all_statements_are_run_from_the_menu_beside_run(qtbot, console):
    console.editor.setPlainText("select 1 as one; select 2 as two")
    (_, run_all) = console.bar.run_menu.menu().actions()
    assert run_all.text() == "Run all statements" and run_all.shortcut().toString() == "Ctrl+Shift+Enter"
    assert all("Run" not in action.text() for action in console.bar.save.menu().actions())
    run_all.trigger()
    qtbot.waitUntil(lambda: len(console.results.pages) == 2)


def test_the_keyboard_stays_in_the_text_when_run_or_run_all_is_clicked(qtbot, console):
    console.editor.setPlainText("select 1 as one; select 2 as two")
    console.editor.setFocus()
    QTest.mouseClick(console.bar.run, Qt.MouseButton.LeftButton)
    done(qtbot, console)
    assert len(console.results.pages) == 1 and QApplication.focusWidget() is console.editor
    console.front_tab.grid.setFocus()
    console.bar.run_menu.menu().actions()[1].trigger()
    done(qtbot, console)
    assert len(console.results.pages) == 2 and QApplication.focusWidget() is console.editor


def test_the_plan_is_a_tree_with_times(qtbot, console):
    console.editor.setPlainText("select carrier, count(*) from flights where delay > 100 group by 1")
    console.bar.explain.menu().actions()[1].trigger()
    qtbot.waitUntil(lambda: isinstance(console.results.current, PlanView))
    plan = console.results.current
    root = plan.tree.topLevelItem(0)
    assert plan.is_measured and root.childCount() == 1 and "ms" in root.text(4)
    scan = plan.tree.findItems("Scan of flights", Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive)
    assert len(scan) == 1 and "_SCAN" in scan[0].toolTip(0) and "_SCAN" not in scan[0].toolTip(6)
    assert plan.tree.columnWidth(0) >= plan.tree.sizeHintForColumn(0)
    assert plan.tree.headerItem().text(3) == "Rows read" and "1,000 rows read" in plan.about.text()
    plan.resize(300, 400)
    assert "of each operator alone" in plan.about.text()
    console.editor.setPlainText("explain select 1")
    console.run()
    qtbot.waitUntil(
        lambda: isinstance(console.results.current, PlanView) and not console.results.current.is_measured
    )


def test_history_is_searched_and_put_back(qtbot, console, run):
    run("select 41 + 1 as answer")
    run("select nonsense")
    qtbot.waitUntil(lambda: len(console.saved_statements.history()) == 2)
    console.editor.clear()
    console.bar.history.click()
    history = console.bar.list
    qtbot.waitUntil(lambda: history.isVisible() and len(history.texts) == 2)
    assert "failed" in history.texts[0].about and "1 row " in history.texts[1].about
    QTest.keyClicks(history.field, "answer")
    assert [entry.text for entry in history.texts] == ["select 41 + 1 as answer"]
    QTest.keyClick(history.field, ENTER)
    assert console.text == "select 41 + 1 as answer" and not history.isVisible()


def test_snippets_are_saved_by_name_and_name_the_tab(qtbot, window, console):
    console.editor.setPlainText("select 1")
    QTest.keyClick(console.editor, Qt.Key.Key_S, CONTROL)
    form = console.bar.form
    qtbot.waitUntil(form.isVisible)
    QTest.keyClicks(form.name, "One")
    QTest.keyClick(form.name, ENTER)
    qtbot.waitUntil(lambda: window.tabs.title == "One")
    console.editor.clear()
    console.bar.show_snippets()
    saved_list = console.bar.list
    qtbot.waitUntil(lambda: [entry.title for entry in saved_list.texts] == ["One"])
    QTest.keyClick(saved_list.field, Qt.Key.Key_F2)
    edit = saved_list.list.findChild(QLineEdit)
    assert edit.text() == "One"
    edit.setText("Ünö")
    QTest.keyClick(edit, ENTER)
    qtbot.waitUntil(lambda: [entry.title for entry in saved_list.texts] == ["Ünö"])
    saved_list.remove.click()
    qtbot.waitUntil(lambda: console.bar.list.texts == [])
    assert console.saved_statements.snippets() == []


def test_a_closed_console_comes_back_with_its_text(qtbot, window, console):
    console.editor.setPlainText("select :n")
    qtbot.waitUntil(lambda: "n" in console.parameters.fields)
    console.parameters.fields["n"].edit.setText("7")
    console.editor.go_to(3)
    state = json.loads(json.dumps(console.state()))
    window.commands["close_tab"].trigger()
    assert window.consoles.consoles == [] and console.saved_statements.history()[0].outcome == "draft"
    window.commands["reopen_tab"].trigger()
    (back,) = window.consoles.consoles
    qtbot.waitUntil(lambda: "n" in back.parameters.fields)
    assert back.text == "select :n" and back.parameters.fields["n"].edit.text() == "7"
    assert back.editor.textCursor().position() == 3 and back.state()["parameters"] == state["parameters"]


@pytest.mark.parametrize("is_charted", [False, True])
def test_a_statement_becomes_steps_of_its_table(qtbot, window, console, request, is_charted):
    if is_charted:
        request.getfixturevalue("chart")()
    console.editor.setPlainText(
        "select carrier, count(*) as n from flights where delay > 100 group by carrier"
    )
    console.bar.as_steps.click()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None and window.consoles.current is None)
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: len(tab.line.steps) > 0 and not tab.loader.running)
    assert [step.kind for step in tab.line.steps][:2] == [Where, Group]
    assert not tab.charting.is_shown


@pytest.mark.slow
def test_a_statement_becomes_steps_of_a_table_in_another_store(qtbot, window, console, tmp_path):
    shop = Store.open(tmp_path / "shop")
    shop.create_table("orders", {"n": [1, 2, 3]})
    window.library.add_store(shop)
    qtbot.waitUntil(lambda: "shop.orders" in console.names.datasets())
    assert console.names.current.name == "My tables"
    console.editor.setPlainText("select * from orders where n > 1")
    console.bar.as_steps.click()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: len(tab.line.steps) == 1 and not tab.loader.running)
    assert tab.key == (str(tmp_path / "shop"), "orders") and tab.view.num_rows == 2


def test_steps_open_as_a_statement(qtbot, window, table_tab, settled):
    from lamella import col

    table_tab.set_filter(col("delay") > 400)
    settled()
    window.commands["sql_steps"].trigger()
    qtbot.waitUntil(lambda: window.consoles.current is not None)
    console = window.consoles.current
    assert "delay" in console.text and window.tabs.title == "SQL flights"
    console.run()
    done(qtbot, console)
    assert console.front_tab.view.num_rows == table_tab.view.num_rows


@pytest.mark.slow
def test_megabytes_are_pasted_and_one_statement_of_them_runs(qtbot, console):
    text = "insert into t values (1, 'abc'); -- a line of a dump\n" * 40_000 + "select 7 as n"
    QGuiApplication.clipboard().setText(text)
    console.editor.paste()
    assert len(console.text) == len(text)
    console.run()
    done(qtbot, console)
    assert rows(console) == [{"n": 7}]
    console.editor.setPlainText(f"select '{'x' * 1_100_000}'")
    console.run()
    done(qtbot, console)
    assert "more than 1,000,000 characters does not run here" in message(console)
