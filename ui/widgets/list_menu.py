"""The context menu of lists and tables in dialogs, and the key that opens menus in every window."""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMenu, QWidget

NAME = "menu key"


class MenuKey(QObject):
    """Lets Shift+F10 open the menu of what has the keyboard, in windows and dialogs. Qt knows this key on
    Windows only."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        application.focusChanged.connect(self._follow)

    @classmethod
    def install(cls) -> None:
        """Do so in this process, if it is not done yet."""
        application = QApplication.instance()
        if sys.platform.startswith("linux") and isinstance(application, QApplication):
            application.findChild(cls) or cls(application)

    def _follow(self, _before: QWidget | None, now: QWidget | None) -> None:
        if now is not None:
            give_menu_key(now.window())


def give_menu_key(window: QWidget) -> None:
    """Let Shift+F10 open menus in this window."""
    only_own = Qt.FindChildOption.FindDirectChildrenOnly
    if window.findChild(QShortcut, NAME, only_own) is None:
        shortcut = QShortcut(QKeySequence("Shift+F10"), window)
        shortcut.setObjectName(NAME)
        shortcut.activated.connect(_open_menu)


def _open_menu() -> None:
    focus = QApplication.focusWidget()
    if focus is not None:
        point, reason = focus.rect().center(), QContextMenuEvent.Reason.Keyboard
        QCoreApplication.sendEvent(focus, QContextMenuEvent(reason, point, focus.mapToGlobal(point)))


class ListMenu(QObject):
    """The menu of a list or table: what `fill` adds for the current line, and copying."""

    def __init__(self, view: QAbstractItemView, fill: Callable[[QMenu], object] | None = None) -> None:
        super().__init__(view)
        self._view, self._fill = view, fill
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.DefaultContextMenu)
        view.installEventFilter(self)
        view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QContextMenuEvent):
            return False
        view = self._view
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        index = view.currentIndex() if by_key else view.indexAt(event.pos())
        point = view.visualRect(index).center() if index.isValid() else QPoint(0, 0)
        self._open(index, view.viewport().mapToGlobal(point if by_key else event.pos()))
        return True

    def _open(self, index: QModelIndex, place: QPoint) -> None:
        view, menu = self._view, QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if index.isValid():
            view.setCurrentIndex(index)
        if self._fill is not None:
            self._fill(menu)
            menu.addSeparator()
        rows = range(view.model().rowCount())
        row = index.row()
        copy = menu.addAction("Copy the line", lambda: self._copy([row]))
        copy.setEnabled(index.isValid())
        copy_all = menu.addAction("Copy all lines", lambda: self._copy(rows))
        copy_all.setEnabled(bool(rows))
        menu.popup(place)

    def _copy(self, rows: list[int] | range) -> None:
        """Copy the texts of lines, separated by tabs."""
        model = self._view.model()
        columns = range(model.columnCount())
        lines = ["\t".join(str(model.index(row, column).data() or "") for column in columns) for row in rows]
        QApplication.clipboard().setText("\n".join(lines))
