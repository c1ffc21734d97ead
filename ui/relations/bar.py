"""The bar above a diagram: actions on relations at the left, controls of the view at the right."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QToolButton, QWidget

from lamella.ui import theme
from lamella.ui.widgets.controls import IconButton, TwoPartBar
from lamella.ui.widgets.field_buttons import add_clear_button

FIELD_WIDTH, LEAST_FIELD = 200, 80
PICTURES = {"svg": "Drawing, SVG…", "png": "Picture, PNG…"}


class DiagramBar(TwoPartBar):
    """`export_requested` has "svg" or "png"."""

    export_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.new = QPushButton("New relation…")
        self.new.setToolTip("Declare which columns refer to which; or drag from one column to another")
        self.suggest, self.check = QPushButton("Suggest"), QPushButton("Check all")
        self.suggest.setToolTip("Look for columns whose values are found in other tables")
        self.check.setToolTip("Count the rows of every relation that point at nothing")
        self.field = QLineEdit(placeholderText="Find")
        self.field.setAccessibleName("Find a table or column")
        self.field.setToolTip("Find a table or column; Enter goes from match to match")
        add_clear_button(self.field)
        self.minus, self.plus = IconButton("minus", "Smaller (−)"), IconButton("plus", "Larger (+)")
        self.scale = QToolButton(text="100%", toolTip="Show at actual size")
        self.fit_all = IconButton("fit", "Fit all into the window (0)")
        self.arrange = QToolButton(text="Arrange", toolTip="Arrange the tables by their relations")
        self.export = QToolButton(text="Export ▾", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.export)
        for kind, text in PICTURES.items():
            menu.addAction(text, partial(self.export_requested.emit, kind))
        self.export.setMenu(menu)
        self.parts.setContentsMargins(theme.L, theme.S, theme.L, theme.S)
        for part in (self.first, self.second):
            part.setSpacing(theme.S)
        widget: QWidget
        for widget in (self.new, self.suggest, self.check):
            self.first.addWidget(widget)
        self.first.addStretch(1)
        self.second.addStretch(0)
        self.second.addWidget(self.field, 1)
        for widget in (self.minus, self.scale, self.plus, self.fit_all, self.arrange, self.export):
            self.second.addWidget(widget)
        self.show_scale(1.0)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def show_scale(self, scale: float) -> None:
        self.scale.setText(f"{scale:.0%}")
        self.scale.setAccessibleName(f"Zoom: {scale:.0%}")

    def _restyle(self) -> None:
        self.field.setMaximumWidth(theme.current().px(FIELD_WIDTH))
        self.field.setMinimumWidth(theme.current().px(LEAST_FIELD))
        self.scale.setFixedWidth(theme.current().px(56))
