"""The dialog of connections: the saved ones, the form of one, and a test of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.remote.connections import BadConnection, Connection, Connections
from lamella.core.remote.kinds import KINDS, Kind
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.work_dialog import WorkDialog, fit_into_window
from lamella.ui.remote.connection_form import ConnectionForm
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import EmptyNote
from lamella.ui.widgets.message_bar import DANGER, MessageBar

SIZE = QSize(760, 560)
LIST_WIDTH = 200
ROLE = Qt.ItemDataRole.UserRole
Probe = Callable[[Connection, Job], str]
"""Contacts the server, and returns a sentence about what responded. Blocks. Raises `LamellaError` on
failure."""


class ConnectionsDialog(WorkDialog):
    """The dialog, which is not modal. `saved` is emitted after each change of the saved connections."""

    saved = Signal()

    def __init__(
        self, connections: Connections, probe: Probe, tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(tasks, parent)
        self._connections, self._probe = connections, probe
        self._connections_by_name: dict[str, Connection] = {}
        self._shown_connection: Connection | None = None
        self._is_new = self._is_edited = False
        self.setWindowTitle("Connections")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make()
        self._lay_out()
        fit_into_window(self, SIZE * theme.current().text_scale)
        self._read("")

    def _make(self) -> None:
        self.list = QListWidget(accessibleName="Connections")
        self.list.currentItemChanged.connect(self._show_current)
        EmptyNote(self.list, "No connections yet")
        self.add_button = QPushButton("Add ▾", accessibleName="Add")
        menu = QMenu(self.add_button)
        for kind in KINDS:
            menu.addAction(kind.label, partial(self._begin, kind))
        self.add_button.setMenu(menu)
        self.kind_label = QLabel()
        theme.variant(self.kind_label, "heading")
        self.form = ConnectionForm()
        self.form.changed.connect(self._follow_edit)
        self.messages = MessageBar()
        self.remove_button, self.test_button = QPushButton("Remove"), QPushButton("Test")
        self.save_button = QPushButton("Save")
        theme.variant(self.remove_button, "danger")
        theme.variant(self.save_button, "primary")
        self.save_button.setDefault(True)
        self.remove_button.clicked.connect(self._remove)
        self.test_button.clicked.connect(self._test)
        self.save_button.clicked.connect(self._save)
        theme.current().changed.connect(self._draw_icons)

    def _lay_out(self) -> None:
        title = QLabel("Connections")
        theme.variant(title, "title")
        left = QVBoxLayout()
        left.setSpacing(theme.S)
        left.addWidget(self.list, 1)
        left.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.list.setFixedWidth(theme.current().px(LIST_WIDTH))
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty_page())
        self._pages.addWidget(self._form_page())
        middle = QHBoxLayout()
        middle.setSpacing(theme.L)
        middle.addLayout(left)
        middle.addWidget(self._pages, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.remove_button)
        buttons.addWidget(self.status, 1)
        self.cancel_button.setText("Close")  # there is nothing to cancel: changes are saved at once
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.test_button)
        buttons.addWidget(self.save_button)
        layout = QVBoxLayout(self)
        margin = theme.L + theme.XS
        layout.setContentsMargins(margin, margin, margin, margin)
        layout.setSpacing(theme.M)
        layout.addWidget(title)
        layout.addLayout(middle, 1)
        layout.addWidget(self.messages)
        layout.addWidget(self.progress)
        layout.addLayout(buttons)

    def _empty_page(self) -> QWidget:
        page = QWidget()
        text = QLabel(
            "Files on object storage, HDFS and the web open like those on this machine.\n\n"
            "Public files, and servers that your environment or profile files describe, need no connection. "
            "Add one for a server of your own, or for other credentials.",
            wordWrap=True,
        )
        theme.variant(text, "muted")
        layout = QVBoxLayout(page)
        layout.addWidget(text)
        layout.addStretch(1)
        return page

    def _form_page(self) -> QWidget:
        page = QWidget()
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.M)
        column.addWidget(self.kind_label)
        column.addWidget(self.form)
        column.addStretch(1)
        area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        area.setWidget(inside)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        return page

    # ------------------------------------------------------------ the list

    def _read(self, current: str) -> None:
        """List the saved connections, and show the one of this name, or the first."""

        def work(job: Job) -> tuple[list[Connection], list[LamellaError]]:
            return list(self._connections.values()), self._connections.problems()

        def show(answer: tuple[list[Connection], list[LamellaError]]) -> None:
            connections, problems = answer
            self._list(connections, current)
            if problems:
                self.messages.say(message(problems[0]), kind=DANGER)

        self._tasks.read(work, show, self._fail, owner=self, quiet=True)

    def _list(self, connections: Sequence[Connection], current: str) -> None:
        self._connections_by_name = {connection.name: connection for connection in connections}
        self.list.blockSignals(True)
        self.list.clear()
        for connection in connections:
            item = QListWidgetItem(connection.name)
            item.setData(ROLE, connection.name)
            item.setToolTip(f"{connection.of_kind.label} · {connection.endpoint or 'usual endpoint'}")
            self.list.addItem(item)
        names = list(self._connections_by_name)
        if names:
            self.list.setCurrentRow(names.index(current) if current in names else 0)
        self.list.blockSignals(False)
        self._draw_icons()
        self._show_current()

    def _draw_icons(self) -> None:
        for row in range(self.list.count()):
            self.list.item(row).setIcon(theme.current().icon("database"))

    def _show_current(self, *_: object) -> None:
        item = self.list.currentItem()
        connection = self._connections_by_name.get(item.data(ROLE)) if item is not None else None
        if connection is not None:
            self._show(connection.of_kind, connection)
        else:
            self._shown_connection = None
            self._pages.setCurrentIndex(0)
            self._follow()

    def _begin(self, kind: Kind) -> None:
        self.messages.clear()
        self.list.blockSignals(True)
        self.list.setCurrentRow(-1)
        self.list.blockSignals(False)
        self._show(kind, None)

    def _show(self, kind: Kind, connection: Connection | None) -> None:
        self._shown_connection, self._is_new = connection, connection is None
        self.kind_label.setText(kind.label)
        self.form.show_connection(kind, connection)
        self._pages.setCurrentIndex(1)
        self._is_edited = False
        self._follow()

    # ---------------------------------------------------------- one of them

    def _follow_edit(self) -> None:
        self._is_edited = True
        self._follow()

    def _follow(self) -> None:
        shows = self._pages.currentIndex() == 1
        self.remove_button.setVisible(shows and not self._is_new)
        self.test_button.setVisible(shows)
        self.save_button.setVisible(shows)
        self.save_button.setEnabled(not self.is_working and (self._is_edited or self._is_new))

    def _connection(self) -> Connection | None:
        """The connection in the form; None if it is invalid, which the form shows."""
        try:
            return self.form.connection()
        except BadConnection:
            return None

    def _test(self) -> None:
        connection = self._connection()
        if connection is not None:
            self.messages.hide()
            self._run(
                self._tasks.read,
                lambda job: self._probe(connection, job),
                lambda answer: self.messages.say(answer, kind="message-success"),
                f"Contacting {connection.endpoint or connection.of_kind.label}",
            )

    def _save(self) -> None:
        connection, before = self._connection(), self._shown_connection
        if connection is None:
            return

        def work(job: Job) -> str:
            if before is not None and before.name != connection.name:
                self._connections.rename(before.name, connection.name)
            self._connections.save(connection, replace=before is not None)
            return connection.name

        self._run(self._tasks.write, work, self._finish, f"Saving {connection.name}")

    def _remove(self) -> None:
        assert self._shown_connection is not None
        removed = self._shown_connection

        def finish(_: object) -> None:
            self._finish("")
            self.messages.say(
                f"{removed.name} was removed.", ("Undo", lambda: self._restore_connection(removed))
            )

        self._run(
            self._tasks.write,
            lambda job: self._connections.delete(removed.name),
            finish,
            f"Removing {removed.name}",
        )

    def _restore_connection(self, removed: Connection) -> None:
        self._run(
            self._tasks.write,
            lambda job: self._connections.save(removed),
            lambda _: self._finish(removed.name),
            f"Saving {removed.name}",
        )

    def _finish(self, name: str) -> None:
        self.saved.emit()
        self._read(name)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, BadConnection):
            self.form.refuse(error)
        else:
            self.messages.say(message(error), kind=DANGER)

    def _handle_stop(self) -> None:
        self.messages.say("Stopped.")

    def _show_working(self, working: bool) -> None:
        super()._show_working(working)
        self.cancel_button.setText("Stop" if working else "Close")

    def _lock(self, locked: bool) -> None:
        for widget in (self.list, self.add_button, self.form, self.remove_button, self.test_button):
            widget.setEnabled(not locked)
        self._follow()
