"""A field that finds a column by any part of its name."""

from __future__ import annotations

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

from lamella.ui import theme

MOST_SHOWN = 15


class ColumnBox(QLineEdit):
    """`chosen` comes when a column is picked, or what was typed is left; it may be no column at all.

    No combo box: those measure every item, 0.2 s each for ten thousand columns. The model is shared by
    all boxes of a builder.
    """

    chosen = Signal(str)

    def __init__(self, names: QStringListModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._names, self._last = names, name
        self.setAccessibleName("Column")
        self.setPlaceholderText("Choose a column")
        self._open = self.addAction(
            theme.current().icon("chevron-down"), self.ActionPosition.TrailingPosition
        )
        self._open.setToolTip("All columns (Down)")
        self._open.triggered.connect(self.show_all)
        self.setCompleter(self._complete_anywhere(names))
        self.editingFinished.connect(self._tell)
        theme.current().changed.connect(self._draw)

    def show_all(self) -> None:
        """The list of every column, at the one there is."""
        self.setFocus()
        completer = self.completer()
        completer.setCompletionPrefix("")
        completer.complete()
        here = self._names.match(self._names.index(0), Qt.ItemDataRole.DisplayRole, self.text(), 1)
        if here:
            completer.popup().setCurrentIndex(completer.completionModel().index(here[0].row(), 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and not self.completer().popup().isVisible():
            self.show_all()
        else:
            super().keyPressEvent(event)

    def _complete_anywhere(self, names: QStringListModel) -> QCompleter:
        completer = QCompleter(names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setMaxVisibleItems(MOST_SHOWN)
        completer.activated.connect(self._take, Qt.ConnectionType.QueuedConnection)
        return completer

    def _take(self, name: str) -> None:
        self.setText(name)
        self._tell()

    def _tell(self) -> None:
        if self.text() != self._last:
            self._last = self.text()
            self.chosen.emit(self._last)

    def _draw(self) -> None:
        self._open.setIcon(theme.current().icon("chevron-down"))
