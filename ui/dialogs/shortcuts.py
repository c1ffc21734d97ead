"""The keys, read off the action table."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from lamella.ui import theme
from lamella.ui.actions import ACTIONS, MENUS, Action, sequences

GRID_KEYS = (
    ("Enter, Tab", "Next cell; with Shift the one before"),
    ("Ctrl+Home, Ctrl+End", "First and last cell"),
    ("Page Up, Page Down", "A screen up or down"),
    ("Shift and arrows", "Select"),
    ("Alt+Up", "To the column's card: arrows choose, Enter filters, Alt+Down goes back"),
    ("Any character", "Type into the cell"),
    ("Ctrl+Backspace", "NULL, while a cell is edited"),
    ("Esc", "Leave the cell as it was"),
)


class ShortcutsDialog(QDialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        page = QWidget()
        self._grid = QGridLayout(page)
        self._grid.setHorizontalSpacing(theme.XL)
        self._grid.setVerticalSpacing(theme.S)
        self._grid.setColumnStretch(0, 1)
        for menu in MENUS:
            self._section(menu, [(keys_of(a), a.text) for a in ACTIONS if a.menu == menu and a.keys])
        self._section("In the grid", list(GRID_KEYS))
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        close = QPushButton("Close", self)
        theme.variant(close, "primary")
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.L, theme.L, theme.L)
        layout.addWidget(scroll)
        layout.addWidget(close, alignment=Qt.AlignmentFlag.AlignRight)
        line = theme.current().line_height()
        self.resize(40 * line, 46 * line)

    def _section(self, title: str, rows: list[tuple[str, str]]) -> None:
        if not rows:
            return
        heading = QLabel(title)
        theme.variant(heading, "heading")
        line = self._grid.rowCount()
        self._grid.addWidget(heading, line, 0, 1, 2)
        self._grid.setRowMinimumHeight(line, 32)
        for keys, text in rows:
            line += 1
            key, what = QLabel(keys), QLabel(text)
            theme.variant(key, "key")
            what.setWordWrap(True)
            self._grid.addWidget(what, line, 0)
            self._grid.addWidget(key, line, 1, Qt.AlignmentFlag.AlignRight)


def keys_of(action: Action) -> str:
    return ", ".join(s.toString(s.SequenceFormat.NativeText) for s in sequences(action))
