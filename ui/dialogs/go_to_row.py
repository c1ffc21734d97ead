"""The dialog that asks for a row number."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from lamella.ui import theme


class GoToRow(QDialog):
    """`chosen` carries the row, counted from 0."""

    chosen = Signal(object)

    def __init__(self, num_rows: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._num_rows = num_rows
        self.setWindowTitle("Go to row")
        self.field = QLineEdit(self)
        self.field.setAccessibleName("Row number")
        self.problem = QLabel(self)
        theme.variant(self.problem, "danger")
        self.problem.hide()
        go = QPushButton("Go", self)
        theme.variant(go, "primary")
        go.setDefault(True)
        go.clicked.connect(self._go)
        row = QHBoxLayout()
        row.addWidget(self.field, 1)
        row.addWidget(go)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.L, theme.XL, theme.L)
        layout.addWidget(QLabel(f"Row number, 1 to {num_rows:,}", self))
        layout.addLayout(row)
        layout.addWidget(self.problem)
        self.setMinimumWidth(320)

    def _go(self) -> None:
        digits = self.field.text().strip().replace(",", "").replace(" ", "").replace("_", "")
        if not digits.isdecimal() or not 1 <= int(digits) <= self._num_rows:
            self.problem.setText(f"Rows are numbered from 1 to {self._num_rows:,}")
            self.problem.show()
            return
        self.chosen.emit(int(digits) - 1)
        self.accept()
