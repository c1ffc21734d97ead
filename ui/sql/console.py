"""The SQL console: statements over open data in an editor, and their results below it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QElapsedTimer, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QSplitter, QVBoxLayout, QWidget

from lamella.core.datasets.sql_result import SqlResult
from lamella.core.errors import LamellaError, VersionConflict, visible
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import quantity
from lamella.core.query.sql.completion import MOST_UNKNOWN, Proposals, Words, engine_words, propose
from lamella.core.query.sql.plan_tree import SqlPlan
from lamella.core.query.sql.script import (
    Part,
    Placeholder,
    names_of_parameters,
    placeholders,
    statement_at,
    statements_of,
    with_dollars,
)
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.sql.change_panel import ChangePanel
from lamella.ui.sql.console_bar import ConsoleBar
from lamella.ui.sql.console_text import ConsoleText
from lamella.ui.sql.editor import SqlEditor
from lamella.ui.sql.editor_find import EditorFindBar
from lamella.ui.sql.open_names import OpenData, OpenNames
from lamella.ui.sql.parameters import ParametersBar, type_word
from lamella.ui.sql.plan_view import PlanView
from lamella.ui.sql.problem_messages import ProblemMessages, SyntaxCheck, remainder_text
from lamella.ui.sql.result_tab import ResultTab
from lamella.ui.sql.results import ResultPages
from lamella.ui.sql.runner import PendingChange, Runner, Statement
from lamella.ui.sql.saved_statements import Entry, SavedStatements, now
from lamella.ui.tasks import Tasks
from lamella.ui.window.commits import Commits, commit_text
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.failures import sentence

log = logging.getLogger(__name__)
FOLLOW_MS = 250
SPLIT = [300, 460]
"""The initial heights of the editor and the results below it."""
TICK_MS = 100
SPLIT_AT_ONCE = 100_000
"""The maximum number of characters of a text that is split on the GUI thread, which takes some
milliseconds."""
COUNTS = ("limit", "offset")
STATEMENTS_FILE = "statements.json"


class SqlConsole(QWidget):
    """`changed` is emitted when what the window shows of it may have changed; `title_changed` has its title,
    `table_requested` a result to save as a table, `steps_requested` a statement as steps, and
    `tables_changed` a new table."""

    changed = Signal()
    title_changed = Signal(str)
    table_requested = Signal(object)
    steps_requested = Signal(str)
    state_changed = Signal()
    workspace_kind = "sql"
    tables_changed = Signal(object)

    def __init__(
        self,
        find: Callable[[], OpenData],
        tasks: Tasks,
        commits: Commits,
        saved_views: Path,
        attach: Callable[[DatasetTab], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.tasks, self.commits, self._saved_views, self._attach = tasks, commits, saved_views, attach
        self.title = "SQL"
        self.names = OpenNames(find, tasks, self)
        self.saved_statements = SavedStatements(saved_views.with_name(STATEMENTS_FILE))
        self._splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._above = QWidget(self._splitter)
        # widgets that get their parent only when they are added are styled again with all their children
        self.bar, self.editor = ConsoleBar(tasks, self.saved_statements, self), SqlEditor(self._above)
        self.find_bar = EditorFindBar(self.editor, self._above)
        self.parameters, self.results = ParametersBar(self._above), ResultPages(self._splitter)
        self.runner = Runner(tasks, self)
        self.results.setFocusProxy(self.editor)
        messages = self.results.messages
        self.problems = ProblemMessages(self.editor, messages, self.names, tasks, self)
        self.syntax = SyntaxCheck(self.editor, tasks, self)
        self.texts = ConsoleText(self.editor, messages, self.saved_statements, tasks, self)
        self._clock, self._rows = QElapsedTimer(), ""
        self._has_typed = False
        """Whether the text was changed since a statement was begun: then keys are not for its panel."""
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._show_elapsed)
        self._follow = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._follow.timeout.connect(self._follow_text)
        self._ran: set[str] = set()
        self.words: Words | None = None
        """The keywords and functions of the engine, once they are read."""
        self._lay_out()
        self._connect()
        self.show_stores()
        tasks.read(lambda job: engine_words(), self._take_words, lambda _: None, owner=self, quiet=True)

    # ------------------------------------------------------------------- state

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    @property
    def front_tab(self) -> ResultTab | None:
        """The result that the window's actions apply to."""
        return self.results.result

    @property
    def status(self) -> str:
        if self.runner.running:
            return ""
        page = self.results.current
        return "" if page is None else page.status

    @property
    def place(self) -> str:
        """The position of the cursor, for the status bar."""
        cursor = self.editor.textCursor()
        return f"Ln {cursor.blockNumber() + 1:,}, Col {cursor.positionInBlock() + 1:,}"

    def state(self) -> dict[str, Any]:
        """The state for `restore`, as JSON."""
        return {
            "title": self.title,
            "text": self.text,
            "cursor": self.editor.textCursor().position(),
            "store": self.names.store,
            "parameters": self.parameters.state(),
            "split": self._splitter.sizes(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state; unreadable parts are left out."""
        if isinstance(state.get("text"), str):
            self.editor.setPlainText(state["text"])
        if isinstance(state.get("store"), str):
            self.names.store = state["store"]
            self.show_stores()
        if isinstance(state.get("title"), str) and state["title"]:
            self._rename(state["title"])
        self.parameters.restore(state.get("parameters"))
        self._follow_text()
        if isinstance(state.get("cursor"), int):
            self.editor.go_to(state["cursor"])
        sizes = state.get("split")
        if isinstance(sizes, list) and len(sizes) == 2 and all(isinstance(size, int) for size in sizes):
            self._splitter.setSizes(sizes)

    @property
    def closed_key(self) -> tuple[str, str]:
        """The key that reopens it once it is closed."""
        return "sql", json.dumps(self.state())

    def stop(self) -> None:
        """Release everything before it is closed; a text that never ran is saved in the history."""
        self.runner.cancel()
        self._tick.stop()
        self.keep_draft()
        self.results.clear()

    def keep_draft(self) -> None:
        """Save a text that never ran in the history. Blocks for some milliseconds."""
        text = self.text.strip()
        if not text or text in self._ran:
            return
        try:
            self.saved_statements.remember([Entry(text, now(), self.names.store, outcome="draft")])
        except LamellaError as error:
            log.warning("The text of a console was not saved: %s", error)

    # ------------------------------------------------------------------- running

    def run(self, run_all: bool = False, kind: str = "run", parameter: str = "") -> None:
        """Run the selection, the statement at the cursor, or all statements with `run_all`; the first with
        the `parameter` if one is given that the statement at the cursor does not have."""
        text = self.text
        span, place = self.editor.selected_span, self.editor.textCursor().position()
        start, stop = (0, len(text)) if run_all or span is None else span
        selection = text[start:stop]

        def begin(parts: Sequence[Part]) -> None:
            if not run_all and span is None:
                part = statement_at(text, parts, place)
                users = [p for p in parts if parameter in names_of_parameters(text[p.start : p.stop])]
                parts = users[:1] if users and part not in users else [] if part is None else [part]
            self._run_parts(selection, start, text.count("\n", 0, start), parts, kind)

        if len(selection) <= SPLIT_AT_ONCE:
            begin(statements_of(selection))
        else:
            self.tasks.read(
                lambda job: statements_of(selection), begin, owner=self, text="Reading the statements"
            )

    def _run_parts(self, text: str, start: int, lines: int, parts: Sequence[Part], kind: str) -> None:
        self.editor.clear_problem()
        if not parts:
            self.results.messages.say("There is no statement here: write one, such as select * from …")
            return
        try:
            statements = [self._statement(text, start, lines, part, kind) for part in parts]
        except LamellaError as error:
            self.results.messages.say(sentence(error), kind="message-danger", stays=True)
            return
        self.results.clear()
        self._has_typed = False
        self._say_empty_parameters(statements)
        current = self.names.current
        self.runner.run(statements, self.names.sources(), None if current is None else current.store)

    def _statement(self, text: str, start: int, lines: int, part: Part, kind: str) -> Statement:
        own = text[part.start : part.stop]
        names = names_of_parameters(own)
        missing = [name for name in names if name not in self.parameters.fields]
        if missing:
            self.parameters.show_names([*self.parameters.fields, *missing])
        values = self.parameters.values(names)
        return Statement(with_dollars(own), start + part.start, lines + part.line, values, kind)

    def _say_empty_parameters(self, statements: Sequence[Statement]) -> None:
        names = {name for statement in statements for name in statement.parameters}
        fields = self.parameters.fields
        empty = [f"${name}" for name, field in fields.items() if name in names and field.is_empty]
        if empty:
            are = "has no value: it is" if len(empty) == 1 else "have no values: they are"
            self.results.messages.say(f"{' and '.join(empty)} {are} NULL")

    def _show_start(self, statement: Statement) -> None:
        self._clock.start()
        self._rows = ""
        self._tick.start()
        self._show_elapsed()
        self.changed.emit()

    def _show_elapsed(self) -> None:
        if not self.runner.running:
            self._tick.stop()
            self.bar.show_running("")
            return
        seconds = self._clock.elapsed() / 1000
        self.bar.show_running(" · ".join(part for part in (f"{seconds:,.1f} s", self._rows) if part))

    def _note_progress(self, progress: Progress) -> None:
        self._rows = progress.text

    def _show_answer(self, statement: Statement, result: SqlResult) -> None:
        tab = ResultTab(result, statement.text, self.tasks, self.commits, self._saved_views)
        tab.statement_store = None if self.names.current is None else self.names.current.store
        self._attach(tab)
        tab.table_requested.connect(partial(self.table_requested.emit, tab))
        tab.changed.connect(self.changed)
        self.results.add(tab, f"Line {statement.line}", statement.text[:400])

    def _show_end_of_rows(self, statement: Statement, result: SqlResult, seconds: float) -> None:
        for page in self.results.pages:
            if isinstance(page, ResultTab) and page.result is result:
                page.seconds = seconds
        self._remember(statement, seconds, result.num_rows, "stopped" if result.is_cut else "")
        self.changed.emit()

    def _show_plan(self, statement: Statement, plan: SqlPlan, seconds: float) -> None:
        self.results.add(
            PlanView(plan, statement.text), f"Plan of line {statement.line}", statement.text[:400]
        )
        self._remember(statement, seconds, None, "")
        self.changed.emit()

    def _show_stop(self, statement: Statement, num_waiting: int) -> None:
        self._remember(statement, None, None, "stopped")
        if self.results.current is None:
            self.results.messages.say(f"Stopped.{remainder_text(num_waiting)}")
        self.changed.emit()

    def _show_end(self) -> None:
        self._show_elapsed()
        self.changed.emit()

    # ------------------------------------------------------------------- problems

    def _show_failure(self, statement: Statement, error: Exception, num_waiting: int) -> None:
        self._remember(statement, None, None, "failed")
        self.problems.show(statement, error, num_waiting)

    # ------------------------------------------------------------------- changes

    def _show_counts(self, pending: PendingChange) -> None:
        panel = ChangePanel(pending)
        panel.accepted.connect(partial(self._change, panel))
        panel.given_up.connect(partial(self._give_up, panel))
        panel.typed.connect(self._type_on)
        self.results.add(panel, f"Change in line {pending.statement.line}", pending.statement.text[:400])
        if not self._has_typed:
            panel.setFocus()
        self._show_end()

    def _type_on(self, event: QKeyEvent) -> None:
        self.editor.setFocus()
        QApplication.sendEvent(
            self.editor, QKeyEvent(event.type(), event.key(), event.modifiers(), event.text())
        )

    def _give_up(self, panel: ChangePanel) -> None:
        num_waiting = self.runner.num_waiting
        self.results.remove(panel)
        self.runner.cancel()
        self.results.messages.say(f"Nothing was changed.{remainder_text(num_waiting)}")
        self.changed.emit()

    def _change(self, panel: ChangePanel) -> None:
        from lamella.core.store.sql_changes import change_by_sql, table_of_change

        pending = panel.pending
        panel.lock()
        message = pending.statement.text

        def make(job: Job) -> Commit:
            return change_by_sql(
                pending.store, pending.change, pending.answer(job), message, job, pending.version
            )

        show_result, on_error = partial(self._show_change, panel), partial(self._show_change_failure, panel)
        on_cancel = partial(self._give_up, panel)
        if pending.change.kind == "create":
            self.tasks.write(
                make, show_result, on_error, on_cancel=on_cancel, owner=self, text="Making the table"
            )
            return

        def change(table: Table) -> None:
            self.commits.run(
                table,
                lambda _table, job: make(job),
                f"Changing {table.name}",
                show_result,
                on_error,
                on_cancel,
                self,
            )

        self.tasks.read(
            lambda job: table_of_change(pending.store, pending.change),
            change,
            on_error,
            owner=self,
            quiet=True,
        )

    def _show_change(self, panel: ChangePanel, commit: Commit) -> None:
        pending = panel.pending
        rows = commit.inserted + commit.updated + commit.deleted
        self._remember(pending.statement, commit.seconds, rows, "")
        self.results.remove(panel)
        self.names.forget()
        if pending.change.kind == "create":
            self.tables_changed.emit((pending.store, commit.table))
            self.results.messages.say(
                f"Created {visible(commit.table)} with {quantity(rows, 'row')}", kind="message-success"
            )
        else:
            table = pending.store[commit.table]
            undo = ("Undo", partial(self.commits.undo, table, commit.table))
            counts = commit_text(commit).rpartition(": ")[2]
            self.results.messages.say(
                f"{visible(commit.table)}: {counts}", undo, kind="message-success", stays=True
            )
        self.runner.go_on()

    def _show_change_failure(self, panel: ChangePanel, error: Exception) -> None:
        statement, num_waiting = panel.pending.statement, self.runner.num_waiting
        self.results.remove(panel)
        self.runner.cancel()
        if isinstance(error, VersionConflict):
            again = ("Count again", partial(self._count_again, statement))
            self.results.messages.say(sentence(error), again, kind="message-danger", stays=True)
            return
        self._show_failure(statement, error, num_waiting)
        self._show_end()

    def _count_again(self, statement: Statement) -> None:
        current = self.names.current
        self.runner.run([statement], self.names.sources(), None if current is None else current.store)

    # ------------------------------------------------------------------- text

    def insert(self, text: str) -> None:
        """Insert a statement from the history, or a snippet."""
        self.bar.popover.close()
        self.texts.insert(text)
        self._follow_text()

    def ask_snippet(self) -> None:
        """Ask for the name of the text."""
        self.bar.ask_snippet()

    def as_steps(self) -> None:
        """Show the statement at the cursor as steps of a tab."""
        text = self.text
        part = statement_at(text, statements_of(text), self.editor.textCursor().position())
        if part is None:
            self.results.messages.say("There is no statement here")
        else:
            self.steps_requested.emit(text[part.start : part.stop])

    def _rename(self, title: str) -> None:
        self.title = title
        self.title_changed.emit(title)

    def _remember(self, statement: Statement, seconds: float | None, rows: int | None, outcome: str) -> None:
        self._ran.update((statement.text.strip(), self.text.strip()))
        entry = Entry(statement.text, now(), self.names.store, seconds, rows, outcome)
        self.tasks.read(
            lambda job: self.saved_statements.remember([entry]), None,
            lambda error: log.warning("A statement was not remembered: %s", error), owner=self, quiet=True,
        )  # fmt: skip

    # ------------------------------------------------------------------- names

    def show_stores(self) -> None:
        """Show the open stores."""
        self.names.forget()
        current = self.names.current
        self.bar.show_stores(
            [(store.key, store.name) for store in self.names.stores], current.key if current else ""
        )
        if self.editor.hasFocus():
            self._learn_columns()

    def _learn_columns(self) -> None:
        """Read the columns of tables before they are proposed: with thousands of columns the first proposals
        would come late."""
        self.names.learn(self.names.at_hand()[:MOST_UNKNOWN])

    def _choose_store(self, key: str) -> None:
        self.names.store = key
        self.show_stores()
        self.changed.emit()

    def _take_words(self, words: Words) -> None:
        self.words = words
        self.editor.highlighter.use(words.reserved_words)

    def _propose(self, text: str, place: int) -> Proposals:
        if self.words is None:
            return Proposals(place)
        proposals = propose(text, place, self.names.names(), self.words)
        self.names.learn(proposals.unknown)
        return proposals

    def _follow_typing(self) -> None:
        self._has_typed = True
        self._follow.start()

    def _follow_text(self) -> None:
        """Show the parameters of the current text."""
        text = self.text
        if len(text) > SPLIT_AT_ONCE:
            return
        placeholders_now = placeholders(text)
        self.parameters.show_names(names_of_parameters(text))
        if placeholders_now:
            self.names.learn([name for name in self.names.names().tables if name in text])
            self._propose_types(placeholders_now)

    def _propose_types(self, typed: Sequence[Placeholder]) -> None:
        """Propose the types of the columns that parameters are compared with."""
        tables = [table for table in self.names.names().tables.values() if table is not None]
        types = {name.casefold(): kind for table in reversed(tables) for name, kind in table.columns}
        for placeholder in typed:
            kind = types.get(
                placeholder.beside.casefold(), "int64" if placeholder.beside.casefold() in COUNTS else None
            )
            if kind is not None and placeholder.name in self.parameters.fields:
                self.parameters.fields[placeholder.name].propose_type(type_word(kind))

    # ------------------------------------------------------------------- set-up

    def _lay_out(self) -> None:
        column = QVBoxLayout(self._above)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.editor, 1)
        column.addWidget(self.find_bar)
        column.addWidget(self.parameters)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setStretchFactor(0, 2)
        self._splitter.setStretchFactor(1, 3)
        self._splitter.setHandleWidth(1)
        self._splitter.setSizes(SPLIT)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self._splitter, 1)
        self.setFocusProxy(self.editor)

    def _connect(self) -> None:
        editor, bar, runner = self.editor, self.bar, self.runner
        editor.completer.propose = self._propose
        texts = self.texts
        editor.run_requested.connect(self.run)
        editor.format_requested.connect(texts.lay_out)
        editor.entered.connect(self._learn_columns)
        editor.textChanged.connect(self._follow_typing)
        for signal in (editor.cursorPositionChanged, self.parameters.changed, self._splitter.splitterMoved):
            signal.connect(lambda *_: self.state_changed.emit())
        for signal in (editor.textChanged, self.title_changed):
            signal.connect(lambda *_: self.state_changed.emit())
        editor.cursorPositionChanged.connect(self.changed)
        self.parameters.run_requested.connect(lambda name: self.run(not name, parameter=name))
        self.names.learned.connect(editor.completer.refresh)
        self.names.learned.connect(self._follow_text)
        bar.run_requested.connect(self.run)
        bar.stop_requested.connect(runner.stop)
        bar.explain_requested.connect(lambda measured: self.run(kind="measure" if measured else "explain"))
        bar.format_requested.connect(texts.lay_out)
        bar.store_chosen.connect(self._choose_store)
        bar.insert_requested.connect(self.insert)
        bar.snippet_named.connect(texts.save_snippet)
        bar.open_file_requested.connect(texts.open_file)
        bar.save_file_requested.connect(lambda: texts.save_file(self.title))
        texts.named.connect(self._rename)
        texts.replacing.connect(self.keep_draft)
        bar.steps_requested.connect(self.as_steps)
        bar.failed.connect(lambda error: self.results.messages.say(sentence(error), kind="message-danger"))
        self.results.current_changed.connect(self.changed)
        runner.begun.connect(self._show_start)
        runner.answered.connect(self._show_answer)
        runner.completed.connect(self._show_end_of_rows)
        runner.planned.connect(self._show_plan)
        runner.counted.connect(self._show_counts)
        runner.failed.connect(self._show_failure)
        runner.stopped.connect(self._show_stop)
        runner.progressed.connect(self._note_progress)
        runner.ended.connect(self._show_end)
