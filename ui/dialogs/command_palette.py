"""Everything that can be done, found by typing a part of its name."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from ui import theme

WIDTH, HEIGHT = 520, 380


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
        self.list = QListWidget(self)
        self.list.setAccessibleName("Commands")
        self.list.itemActivated.connect(self._do)
        self.list.itemClicked.connect(self._do)
        self.field.textChanged.connect(self._filter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.M, theme.M, theme.M)
        layout.setSpacing(theme.S)
        layout.addWidget(self.field)
        layout.addWidget(self.list)
        self.resize(WIDTH, HEIGHT)
        self._filter("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                step = 1 if event.key() == Qt.Key.Key_Down else -1
                self.list.setCurrentRow((self.list.currentRow() + step) % max(1, self.list.count()))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                if self.list.currentItem() is not None:
                    self._do(self.list.currentItem())
                return True
        return False

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        self.list.clear()
        for action in self._actions:
            name = action.text().rstrip("…")
            if all(word in name.casefold() for word in words):
                keys = action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)
                item = QListWidgetItem(action.icon(), f"{name}    {keys}" if keys else name, self.list)
                item.setData(Qt.ItemDataRole.UserRole, action)
        self.list.setCurrentRow(0)

    def _do(self, item: QListWidgetItem) -> None:
        action = item.data(Qt.ItemDataRole.UserRole)
        self.accept()
        action.trigger()
