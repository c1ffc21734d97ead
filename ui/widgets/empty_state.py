"""What the window says when nothing is open: what can be done next."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from lamella.ui import theme


class EmptyState(QWidget):
    """`choices` become buttons, the first the main one."""

    def __init__(self, choices: list[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = QLabel(self)
        title = QLabel("Drop a data file anywhere", self)
        theme.variant(title, "title")
        hint = QLabel("Parquet, CSV or JSON lines, of any size. It stays where it is.", self)
        theme.variant(hint, "muted")
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        for place, action in enumerate(choices):
            button = QPushButton(action.text(), self)
            theme.variant(button, "primary" if place == 0 else "")
            button.setToolTip(action.toolTip())
            button.clicked.connect(action.trigger)
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.M)
        layout.addStretch(2)
        for widget in (self._icon, title, hint):
            layout.addWidget(widget, alignment=Qt.AlignmentFlag.AlignCenter)
        layout.addSpacing(theme.S)
        layout.addLayout(buttons)
        layout.setAlignment(buttons, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(3)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def _restyle(self) -> None:
        self._icon.setPixmap(theme.current().icon("table", "faint").pixmap(48, 48))
