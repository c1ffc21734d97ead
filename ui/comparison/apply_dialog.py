"""The dialog that chooses which differences to apply to the table, with their counts."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.core.query.comparison import Comparison
from lamella.core.store.applying import Kinds
from lamella.ui import theme


class ApplyDialog(QDialog):
    """`apply_requested` carries the `Kinds` of differences. Deletions are not checked initially."""

    apply_requested = Signal(object)

    def __init__(self, comparison: Comparison, table: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._comparison = comparison
        self.setWindowTitle("Apply the differences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        source_title = visible(comparison.titles[1])
        self.title = QLabel(f"Make the rows of {visible(table)} equal to those of {source_title}")
        self.title.setWordWrap(True)
        theme.variant(self.title, "title")
        added, changed, removed = Kinds(removed=True).counts(comparison)
        self.changed_box = self._box(
            f"Change {quantity(changed, 'row')}: the cells that differ", changed, True
        )
        self.added_box = self._box(f"Add {quantity(added, 'row')} that only {source_title} has", added, True)
        self.removed_box = self._box(
            f"Delete {quantity(removed, 'row')} that {source_title} lacks", removed, False
        )
        self.note = QLabel("One commit, which can be undone.")
        left_out = comparison.schema.added
        if left_out:
            names = ", ".join(map(visible, left_out[:6]))
            self.note.setText(
                f"{self.note.text()} Columns that {visible(table)} lacks are left out: {names}."
            )
        self.note.setWordWrap(True)
        theme.variant(self.note, "caption")
        self.cancel_button, self.apply_button = QPushButton("Cancel"), QPushButton()
        theme.variant(self.apply_button, "primary")
        self.apply_button.setDefault(True)
        self.cancel_button.clicked.connect(self.reject)
        self.apply_button.clicked.connect(self._apply)
        self._lay_out()
        self._follow()

    @property
    def kinds(self) -> Kinds:
        return Kinds(self.added_box.isChecked(), self.changed_box.isChecked(), self.removed_box.isChecked())

    def _box(self, text: str, count: int, checked: bool) -> QCheckBox:
        box = QCheckBox(text, checked=checked and count > 0, enabled=count > 0)
        box.toggled.connect(self._follow)
        return box

    def _follow(self) -> None:
        count = sum(self.kinds.counts(self._comparison))
        self.apply_button.setText(f"Apply to {quantity(count, 'row')}" if count else "Apply")
        self.apply_button.setEnabled(count > 0)

    def _apply(self) -> None:
        self.apply_requested.emit(self.kinds)
        self.accept()

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.apply_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.S)
        for widget in (self.title, self.changed_box, self.added_box, self.removed_box, self.note):
            layout.addWidget(widget)
        layout.addSpacing(theme.S)
        layout.addLayout(buttons)
        self.setMinimumWidth(theme.current().px(420))
