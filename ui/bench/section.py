"""A titled part of the controls; it can be folded where it is seldom wanted."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from lamella.ui import theme


class Section(QWidget):
    """`open_first` is None for a part that cannot be folded."""

    def __init__(self, title: str, *widgets: QWidget, open_first: bool | None = None) -> None:
        super().__init__()
        self.body = QWidget()
        inner = QVBoxLayout(self.body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(theme.S)
        for widget in widgets:
            inner.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        self.toggle = QToolButton(self, text=title, checkable=True)
        self.heading = QLabel(title, self)
        self.toggle.setHidden(open_first is None)
        self.heading.setHidden(open_first is not None)
        theme.variant(self.heading, "heading")
        if open_first is None:
            layout.addWidget(self.heading)
        else:
            self._foldable(layout, open_first)
        layout.addWidget(self.body)

    def _foldable(self, layout: QVBoxLayout, open_first: bool) -> None:
        theme.variant(self.toggle, "fold")
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.toggled.connect(self.unfold)
        theme.current().changed.connect(self._restyle)
        line = QHBoxLayout()
        line.addWidget(self.toggle)
        line.addStretch(1)
        layout.addLayout(line)
        self.toggle.setChecked(open_first)
        self.unfold(open_first)

    def _restyle(self) -> None:
        self.unfold(self.toggle.isChecked())

    def unfold(self, opened: bool) -> None:
        self.body.setVisible(opened)
        self.toggle.setIcon(theme.current().icon("chevron-down" if opened else "chevron-right"))
