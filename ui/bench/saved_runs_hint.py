"""What stands where no run is shown: what to do, or why the saved runs cannot be read and the way out."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from lamella.core.errors import LamellaError
from lamella.ui import theme


class SavedRunsHint(QWidget):
    move_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.words = QLabel(), QLabel()
        self.move, self.folder = QPushButton("Move the file aside"), QPushButton("Open its folder")
        self._path = Path()
        self._build()

    def show_hint(self, title: str, words: str) -> None:
        self._show(title, words, problem=False)

    def show_problem(self, error: LamellaError, path: Path) -> None:
        self._path = path
        self._show("The saved runs cannot be shown", str(error), problem=True)

    def _show(self, title: str, words: str, problem: bool) -> None:
        self.title.setText(title)
        self.words.setText(words)
        theme.variant(self.words, "danger" if problem else "muted")
        for button in (self.move, self.folder):
            button.setVisible(problem)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))

    def _build(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.move, "primary")
        self.move.setToolTip(
            "It gets another name, and the next benchmark begins a new one: nothing is deleted"
        )
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (self.title, self.words):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addStretch(1)
        for button in (self.move, self.folder):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, 0, theme.XL, 0)
        layout.setSpacing(theme.M)
        layout.addStretch(2)
        layout.addWidget(self.title)
        layout.addWidget(self.words)
        layout.addLayout(buttons)
        layout.addStretch(3)
        self.show_hint("", "")
        self.move.clicked.connect(self.move_requested)
        self.folder.clicked.connect(self._open_folder)
