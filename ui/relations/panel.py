"""The panel beside a diagram: declared and suggested relations, and the selected one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.relations.lines import check_text
from lamella.ui.relations.schema import Connection
from lamella.ui.widgets.controls import FlowLayout

NAME = Qt.ItemDataRole.UserRole
LEAST_WIDTH = 180


class ConnectionTree(QTreeWidget):
    """Delete, F2 and Enter act on the current line: `key_pressed` has "remove", "rename" or "open"."""

    key_pressed = Signal(str, str)
    menu_requested = Signal(str, QPoint)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        name = item.data(0, NAME) if item is not None else None
        acts = {
            Qt.Key.Key_Delete: "remove", Qt.Key.Key_F2: "rename",
            Qt.Key.Key_Return: "open", Qt.Key.Key_Enter: "open",
        }  # fmt: skip
        act = acts.get(Qt.Key(event.key()))
        if name and act is not None and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.key_pressed.emit(act, name)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if by_key else self.itemAt(event.pos())
        if item is not None and item.data(0, NAME):
            point = self.visualItemRect(item).center() if by_key else event.pos()
            self.menu_requested.emit(item.data(0, NAME), self.viewport().mapToGlobal(point))


class ConnectionPanel(QFrame):
    """`chosen` has the name of the selected connection. `act_requested` has an action on one: "check",
    "dangling", "joined", "rename", "remove", "accept" or "dismiss"."""

    chosen = Signal(str)
    act_requested = Signal(str, str)
    menu_requested = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "panel")
        self._connections: dict[str, Connection] = {}
        self._items: dict[str, QTreeWidgetItem] = {}
        self._shown_name = ""
        self.list = ConnectionTree(self)
        self.list.setAccessibleName("Relations of the store")
        theme.variant(self.list, "panel")
        self.list.setHeaderHidden(True)
        self.list.setColumnCount(2)
        self.list.setIndentation(theme.M)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
        self.list.currentItemChanged.connect(self._choose)
        self.list.key_pressed.connect(self._act_by_key)
        self.list.menu_requested.connect(self.menu_requested)
        self.title, self.columns, self.about = QLabel(), QLabel(), QLabel()
        theme.variant(self.title, "title")
        theme.variant(self.about, "muted")
        for label in (self.title, self.columns, self.about):
            label.setWordWrap(True)
            label.setMinimumWidth(1)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.buttons: dict[str, QPushButton] = {}
        self._detail = QWidget()
        self._lay_out()
        self.show_connection("")
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def _lay_out(self) -> None:
        acts = QWidget()
        flow = FlowLayout(theme.S, acts)
        for act, text in ACTS.items():
            button = self.buttons[act] = QPushButton(text)
            if act == "accept":
                theme.variant(button, "primary")
            elif act == "remove":
                theme.variant(button, "danger")
            button.clicked.connect(lambda _=False, act=act: self.act_requested.emit(act, self._shown_name))
            flow.addWidget(button)
        column = QVBoxLayout(self._detail)
        column.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        column.setSpacing(theme.S)
        for widget in (self.title, self.columns, self.about, acts):
            column.addWidget(widget)
        line = QFrame()
        theme.variant(line, "line")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.list, 1)
        layout.addWidget(line)
        layout.addWidget(self._detail)

    # ------------------------------------------------------------------- content

    def show_connections(self, connections: Sequence[Connection]) -> None:
        """List connections; the selected one stays selected while it is among them. A suggestion that was
        accepted or dismissed is followed by the next one."""
        before, self._connections = self._connections, {line.name: line for line in connections}
        if [(c.name, c.is_suggested) for c in before.values()] == [
            (c.name, c.is_suggested) for c in connections
        ]:
            for name, connection in self._connections.items():
                if connection != before[name]:
                    self._write(self._items[name], connection)
        else:
            self._fill(connections)
        self.list.resizeColumnToContents(1)  # once: the header's own mode would do it for every changed line
        if self._shown_name in self._connections:
            self.show_connection(self._shown_name)
            return
        following = _following(self._shown_name, before, self._connections)
        self.show_connection(following)
        if following:
            self.chosen.emit(following)

    def _fill(self, connections: Sequence[Connection]) -> None:
        declared = [connection for connection in connections if not connection.is_suggested]
        offered = [connection for connection in connections if connection.is_suggested]
        self.list.blockSignals(True)
        self.list.clear()
        self._items = {}
        look = theme.current()
        for title, listed in (("Relations", declared), ("Suggested", offered)):
            if not listed and title == "Suggested":
                continue
            head = QTreeWidgetItem(self.list, [f"{title} · {len(listed):,}"])
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setFont(0, look.font("caption", bold=True))
            head.setForeground(0, look.color("muted"))
            figures = look.tabular_font("caption")
            pairs = Counter(map(_tables, listed))
            for connection in listed:
                text = connection.text if connection.is_suggested else connection.name
                if pairs[_tables(connection)] > 1 and not connection.is_suggested:
                    text = f"{connection.name}: {connection.text}"
                item = self._items[connection.name] = QTreeWidgetItem(head, [visible(text)])
                item.setData(0, NAME, connection.name)
                item.setFont(1, figures)
                self._write(item, connection)
            head.setExpanded(True)
        self.list.blockSignals(False)

    def _write(self, item: QTreeWidgetItem, connection: Connection) -> None:
        """Write what is known about a connection."""
        look = theme.current()
        item.setText(1, _state(connection))
        item.setToolTip(0, visible(f"{connection.text}\n{connection.sentence}"))
        item.setData(
            0, Qt.ItemDataRole.AccessibleDescriptionRole, visible(f"{connection.text}, {_state(connection)}")
        )
        broken, warns = bool(connection.problem), bool(connection.dangling)
        icon, color = ("warning", "danger") if broken else ("relation", "muted")
        item.setIcon(0, look.icon(icon, color))
        item.setForeground(1, look.color("danger" if broken else "warning" if warns else "muted"))

    def show_connection(self, name: str) -> None:
        """Show what is known about a connection and the actions on it; without one, show how to begin."""
        self._shown_name = name
        connection = self._connections.get(name)
        self._select(name)
        can: set[str] = set()
        if connection is None:
            empty = not any(not each.is_suggested for each in self._connections.values())
            self.title.setText("No relations yet" if empty else "Nothing selected")
            self.columns.setText("")
            self.about.setText(
                "Drag from a column to a column of another table, press New relation, or let Suggest look for"
                " columns whose values match."
                if empty
                else "Select a line or a relation to see its details."
            )
        elif connection.suggestion is not None:
            self.title.setText("Suggested relation")
            self.columns.setText(visible(connection.text))
            self.about.setText(visible("\n".join(f"• {reason}" for reason in connection.suggestion.reasons)))
            can = {"accept", "dismiss"}
        else:
            self.title.setText(visible(connection.name))
            self.columns.setText(visible(connection.text))
            facts = (
                f"Cannot be followed: {connection.problem}"
                if connection.problem
                else f"{connection.sentence}. {check_text(connection)}."
            )
            self.about.setText(visible(facts))
            can = {"rename", "remove"} if connection.problem else {"check", "joined", "rename", "remove"}
            if connection.dangling:
                can.add("dangling")
                self.buttons["dangling"].setText(f"Show the {connection.dangling:,} rows")
        self.columns.setVisible(bool(self.columns.text()))
        for act, button in self.buttons.items():
            button.setVisible(act in can)

    @property
    def connection_name(self) -> str:
        return self._shown_name

    def _select(self, name: str) -> None:
        self.list.blockSignals(True)
        item = self._items.get(name)
        if item is None:
            self.list.setCurrentIndex(QModelIndex())
        else:
            self.list.setCurrentItem(item)
            self.list.scrollToItem(item)
        self.list.blockSignals(False)

    def _choose(self, item: QTreeWidgetItem | None) -> None:
        name = item.data(0, NAME) if item is not None else None
        if name:
            self.chosen.emit(name)

    def _act_by_key(self, act: str, name: str) -> None:
        is_offer = self._connections[name].is_suggested
        if act == "open":
            self.act_requested.emit("accept" if is_offer else "joined", name)
        elif act == "remove":
            self.act_requested.emit("dismiss" if is_offer else "remove", name)
        elif not is_offer:
            self.act_requested.emit(act, name)

    def _restyle(self) -> None:
        self.setMinimumWidth(theme.current().px(LEAST_WIDTH))
        self._fill(list(self._connections.values()))
        self.list.resizeColumnToContents(1)
        self.show_connection(self._shown_name)


ACTS = {
    "accept": "Accept",
    "dismiss": "Dismiss",
    "dangling": "Show the rows",
    "joined": "Open joined",
    "check": "Check",
    "rename": "Rename…",
    "remove": "Remove",
}


def _tables(connection: Connection) -> frozenset[str]:
    return frozenset((connection.from_table, connection.to_table))


def _state(connection: Connection) -> str:
    """The state of a connection in short, for the right column of the list."""
    if connection.problem:
        return "broken"
    if connection.suggestion is not None:
        return f"{connection.suggestion.score:.0%}"
    if connection.dangling:
        return f"{connection.dangling:,} missing"
    many = " : ".join(part or "?" for part in connection.cardinality)
    return many if connection.check is not None else "not checked"


def _following(name: str, before: Mapping[str, Connection], now: Mapping[str, Connection]) -> str:
    """The suggestion after one that is gone, otherwise the first one; empty if there is none, and after
    anything else."""
    if name not in before or not before[name].is_suggested:
        return ""
    names = list(before)
    later_names = [*names[names.index(name) :], *names]
    return next((later for later in later_names if later in now and now[later].is_suggested), "")
