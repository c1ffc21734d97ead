"""The filter of a builder in plain words, as text and as SQL. Text and SQL can be edited."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QStackedWidget,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import BadFilter, LamellaError
from lamella.core.filters import Filter, parse, to_text
from lamella.core.jobs import Job
from lamella.core.phrases import sentence_case
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Pipeline, Where
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui import theme
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import IconButton, breakable

READ_MS = 200
LONGEST = 100_000
"""The maximum number of characters of a filter that can be edited as text."""
LINES = 5
WORDS, TEXT, SQL = "In words", "Text", "SQL"
NOT_A_FILTER = "This SQL cannot be turned into a filter"
ROWS = "rows"


def read_text(text: str, schema: pa.Schema) -> Filter | None:
    """Read a filter from text. Raises `BadFilter` or `UnknownColumn`."""
    return parse(text, schema, "this table") if text.strip() else None


def write_sql(filter: Filter, schema: pa.Schema) -> str:
    """The condition as SQL, as it is written after WHERE. Blocks."""
    from lamella.core.query.pipeline_sql import bare_statement

    rows = SnapshotSource(snapshot_of_rows(schema.empty_table(), ROWS))
    statement = bare_statement(Pipeline(ROWS, (Where(filter),)), {ROWS: rows}, Job())
    return statement.partition("\nWHERE ")[2]


def read_sql(text: str, schema: pa.Schema) -> Filter | None:
    """Read a filter from a SQL condition; the SQL is not run. Blocks. Raises `BadFilter`."""
    from lamella.core.query.sql_clauses import steps_of

    if not text.strip():
        return None
    rows = SnapshotSource(snapshot_of_rows(schema.empty_table(), ROWS))
    condition = text.strip().removesuffix(";")
    query = steps_of(f"SELECT * FROM {ROWS} WHERE {condition}\n", lambda _name: rows)
    steps = () if query is None else query.pipeline.steps
    if len(steps) != 1 or not isinstance(steps[0], Where):
        fix = "Write comparisons of columns with values, joined by AND, OR and NOT"
        raise BadFilter(NOT_A_FILTER, fix=fix)
    return steps[0].condition


class WrittenFilter(QWidget):
    """Edits a filter as text in a language. `read` has the new filter, or None for none, once the text can be
    read; until then the error is marked, and explained below."""

    read = Signal(object)

    def __init__(
        self,
        name: str,
        writing: Callable[[Filter], str],
        reading: Callable[[str], Filter | None],
        tasks: Tasks,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._writing, self._reading, self._tasks = writing, reading, tasks
        self._filter: Filter | None = None
        self._handle: Handle | None = None
        self._showing = False
        self._wait = QTimer(self, singleShot=True, interval=READ_MS)
        self._wait.timeout.connect(self._read)
        self.edit, self.reason = QPlainTextEdit(accessibleName=f"The filter as {name}"), QLabel()
        self._build(name)

    def show_filter(self, filter: Filter | None) -> None:
        """Show a filter. The text stays unchanged if it already has this meaning."""
        if filter == self._filter and not self._wait.isActive():
            return
        self._stop()
        self._filter = filter
        if filter is None:
            self._show("")
            return
        writing = self._writing
        self._handle = self._tasks.read(
            lambda _job: writing(filter), self._show, self._leave_empty, owner=self, quiet=True
        )

    def _leave_empty(self, error: Exception) -> None:
        """Clear the text, because the filter cannot be written in this language."""
        self._show("")
        self._refuse(error)

    def _show(self, text: str) -> None:
        self._handle, self._showing = None, True
        long = len(text) > LONGEST
        self.edit.setReadOnly(long)
        self.edit.setPlainText(text[:LONGEST] + "…" if long else text)
        self._showing = False
        self._mark(None)

    def _take_text(self) -> None:
        if not self._showing:
            self._stop()
            self._wait.start()

    def _stop(self) -> None:
        self._wait.stop()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _read(self) -> None:
        text, reading = self.edit.toPlainText(), self._reading
        self._handle = self._tasks.read(
            lambda _job: reading(text), self._take, self._refuse, owner=self, quiet=True
        )

    def _take(self, filter: Filter | None) -> None:
        self._handle = None
        self._mark(None)
        if filter != self._filter:
            self._filter = filter
            self.read.emit(filter)

    def _refuse(self, error: Exception) -> None:
        self._handle = None
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
        self._mark(error)

    def _mark(self, error: Exception | None) -> None:
        """Underline an error and explain it."""
        marks = []
        span = error.span if isinstance(error, LamellaError) else None
        if span is not None:
            mark = QTextEdit.ExtraSelection()
            look = QTextCharFormat()
            look.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            look.setUnderlineColor(QColor(theme.current().color("danger")))
            look.setBackground(theme.current().color("danger_soft"))
            mark.format, mark.cursor = look, self._place(*span)
            marks.append(mark)
        self.edit.setExtraSelections(marks)
        self.reason.setText("" if error is None else breakable(_without_place(error)))
        self.reason.setVisible(error is not None)

    def _place(self, start: int, stop: int) -> QTextCursor:
        """The position in Qt's UTF-16 units. At the end of the text, it covers the last letter."""
        text = self.edit.toPlainText()
        start, stop = min(start, max(0, len(text) - 1)), max(stop, start + 1)
        cursor = self.edit.textCursor()
        cursor.setPosition(len(text[:start].encode("utf-16-le")) // 2)
        cursor.setPosition(
            min(len(text[:stop].encode("utf-16-le")) // 2, self.edit.document().characterCount() - 1),
            QTextCursor.MoveMode.KeepAnchor,
        )
        return cursor

    def _build(self, name: str) -> None:
        self.edit.setTabChangesFocus(True)
        self.edit.setFont(theme.current().mono_font())
        self.edit.setFixedHeight((LINES + 1) * theme.current().line_height())
        self.edit.textChanged.connect(self._take_text)
        self.reason.setWordWrap(True)
        self.reason.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.reason.hide()
        theme.variant(self.reason, "danger")
        copy = IconButton("copy", f"Copy the filter as {name}")
        theme.variant(copy, "tight")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.edit.toPlainText()))
        line = QHBoxLayout()
        line.setSpacing(theme.XS)
        line.addWidget(self.edit, 1)
        line.addWidget(copy, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addLayout(line)
        layout.addWidget(self.reason)
        layout.addStretch(1)


def _without_place(error: Exception) -> str:
    """The message without its position, which is marked in the text itself."""
    if not isinstance(error, LamellaError):
        return str(error)
    parts = (error.what, error.why, error.fix) if error.span is None else (error.why or error.what, error.fix)
    return " ".join(sentence_case(part) + ("" if part.endswith("?") else ".") for part in parts if part)


class FilterTexts(QWidget):
    """Tabs that show the filter, each in its own form. `read` has a new filter that was typed in one."""

    read = Signal(object)

    def __init__(
        self, words: QWidget, schema: pa.Schema, tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._filter: Filter | None = None
        self._pages, self._buttons = QStackedWidget(), dict[str, QToolButton]()
        self.text = WrittenFilter("text", to_text, lambda text: read_text(text, schema), tasks)
        self.sql = WrittenFilter(
            "SQL", lambda condition: write_sql(condition, schema), lambda text: read_sql(text, schema), tasks
        )
        group, head = QButtonGroup(self), QHBoxLayout()
        head.setSpacing(0)
        self._page_of: dict[str, QWidget] = {WORDS: words, TEXT: self.text, SQL: self.sql}
        for name, page in self._page_of.items():
            button = QToolButton(text=name, checkable=True)
            theme.variant(button, "tight")
            button.clicked.connect(lambda _=False, name=name: self.show_page(name))
            group.addButton(button)
            head.addWidget(button)
            self._buttons[name] = button
            self._pages.addWidget(page)
        head.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addLayout(head)
        layout.addWidget(self._pages, 1)
        for page in (self.text, self.sql):
            page.read.connect(self._take)
        self.show_page(WORDS)

    def show_page(self, name: str) -> None:
        self._buttons[name].setChecked(True)
        page_now = self._page_of[name]
        for page in self._page_of.values():
            policy = QSizePolicy.Policy.Preferred if page is page_now else QSizePolicy.Policy.Ignored
            page.setSizePolicy(QSizePolicy.Policy.Ignored, policy)
        self._pages.setCurrentWidget(page_now)
        self.updateGeometry()
        self._write()

    def show_filter(self, filter: Filter | None) -> None:
        self._filter = filter
        self._write()

    def _write(self) -> None:
        """Update the visible tab only."""
        page = self._pages.currentWidget()
        if isinstance(page, WrittenFilter):
            page.show_filter(self._filter)

    def _take(self, filter: Filter | None) -> None:
        self._filter = filter
        self.read.emit(filter)
