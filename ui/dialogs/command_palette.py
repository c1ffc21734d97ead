"""Everything that can be done, found by typing a part of its name."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QKeyEvent, QPixmap
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.ui import theme

WIDTH, HEIGHT = 520, 380
ICON = 16
ONE_PIECE = "QTreeView::item { border-radius: 0; }"


class CommandPalette(QDialog):
    """Offers the actions that are possible now; Enter does the chosen one."""

    def __init__(self, actions: list[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Commands")
        self._actions = [action for action in actions if action.isEnabled()]
        self.field = QLineEdit(self)
        self.field.setPlaceholderText("What do you want to do?")
        self.field.setAccessibleName("Find a command")
        self.field.installEventFilter(self)
        self.list = QTreeWidget(self)
        self.list.setAccessibleName("Commands")
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setStyleSheet(ONE_PIECE)
        self.list.setIconSize(QSize(ICON, ICON))
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self._blank = QIcon(_blank())
        self.list.itemActivated.connect(self._do)
        self.list.itemClicked.connect(self._do)
        self.field.textChanged.connect(self._filter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.M, theme.M, theme.M)
        layout.setSpacing(theme.S)
        layout.addWidget(self.field)
        layout.addWidget(self.list)
        self.resize(WIDTH, HEIGHT)
        theme.current().changed.connect(self._restyle)
        self._filter("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                self._step(1 if event.key() == Qt.Key.Key_Down else -1)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                if self.list.currentItem() is not None:
                    self._do(self.list.currentItem())
                return True
        return False

    def _step(self, step: int) -> None:
        count = self.list.topLevelItemCount()
        if count:
            now = self.list.indexOfTopLevelItem(self.list.currentItem())
            self.list.setCurrentItem(self.list.topLevelItem((now + step) % count))

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        self.list.clear()
        for action in self._actions:
            name = action.text().rstrip("…")
            if all(word in name.casefold() for word in words):
                self._offer(action, name)
        self.list.setCurrentItem(self.list.topLevelItem(0))

        if not self.list.topLevelItemCount():
            self._say_none(text)

    def _restyle(self) -> None:
        """Colours are written into the rows, so they are made anew."""
        self._filter(self.field.text())

    def _say_none(self, text: str) -> None:
        item = QTreeWidgetItem(self.list, [f"Nothing is called “{text.strip()}”"])
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        item.setFirstColumnSpanned(True)
        item.setForeground(0, theme.current().color("muted"))

    def _offer(self, action: QAction, name: str) -> None:
        keys = action.shortcut()
        item = QTreeWidgetItem(self.list, [name, keys.toString(keys.SequenceFormat.NativeText)])
        item.setIcon(0, action.icon() if not action.icon().isNull() else self._blank)
        item.setForeground(1, theme.current().color("muted"))
        item.setData(0, Qt.ItemDataRole.UserRole, action)

    def _do(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        action = item.data(0, Qt.ItemDataRole.UserRole)
        if action is None:
            return
        self.accept()
        action.trigger()


def _blank() -> QPixmap:
    """Keeps the names of actions without an icon in line."""
    pixmap = QPixmap(ICON, ICON)
    pixmap.fill(Qt.GlobalColor.transparent)
    return pixmap
