"""A combo box that finds a column by any part of its name."""

from __future__ import annotations

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtWidgets import QComboBox, QCompleter, QSizePolicy, QWidget

MOST_SHOWN = 15


class ColumnBox(QComboBox):
    """`chosen` comes when a column is picked, or what was typed is left; it may be no column at all.

    The model is shared by all boxes of a builder: a table may have ten thousand columns.
    """

    chosen = Signal(str)

    def __init__(self, names: QStringListModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setModel(names)
        self.setMaxVisibleItems(MOST_SHOWN)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Column")
        self._complete_anywhere(names)
        self._last = name
        self.setCurrentIndex(self.findText(name, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive))
        self.setEditText(name)
        edit = self.lineEdit()
        edit.setPlaceholderText("Choose a column")
        edit.setAccessibleName("Column")
        edit.editingFinished.connect(self._tell)
        self.activated.connect(self._tell)

    def _complete_anywhere(self, names: QStringListModel) -> None:
        completer = QCompleter(names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setMaxVisibleItems(MOST_SHOWN)
        self.setCompleter(completer)

    def _tell(self) -> None:
        name = self.currentText()
        if name != self._last:
            self._last = name
            self.chosen.emit(name)
