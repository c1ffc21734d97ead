"""The systems that a table can be measured in; those that cannot hold it say why."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QScrollArea, QVBoxLayout, QWidget

from lamella.core.bench.registry import ENTRIES, FAMILIES, Entry
from lamella.core.bench.workloads.user_table import cannot_hold
from lamella.ui import theme
from lamella.ui.bench.caption import Caption

FIRST_CHOICE = ("lamella", "sqlite", "duckdb", "polars", "pyarrow")


class TableSystems(QScrollArea):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, QCheckBox] = {}
        self.reasons: dict[str, Caption] = {}
        self._wanted = {name for name in FIRST_CHOICE if not ENTRIES[name].missing}
        self._build()

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(name for name, box in self.boxes.items() if box.isChecked())

    def show_schema(self, schema: pa.Schema) -> None:
        """Offer those that can hold these columns; what was ticked stays so where it can."""
        for name, box in self.boxes.items():
            unfit = cannot_hold(name, schema, ())
            reason = ENTRIES[name].missing or unfit
            self.reasons[name].tell(f"{unfit}. Leave these columns out to measure it." if unfit else reason)
            box.blockSignals(True)
            box.setEnabled(not reason)
            box.setChecked(not reason and name in self._wanted)
            box.blockSignals(False)
            box.setAccessibleDescription(reason)

    def _toggle(self, name: str, on: bool) -> None:
        self._wanted = self._wanted | {name} if on else self._wanted - {name}
        self.changed.emit()

    def _build(self) -> None:
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inner = QWidget()
        layout = QVBoxLayout(inner)
        layout.setContentsMargins(0, 0, theme.S, 0)
        layout.setSpacing(theme.XS)
        for name in FAMILIES["mine"].places:
            layout.addWidget(self._box(ENTRIES[name]))
            layout.addWidget(self.reasons[name])
        layout.addStretch(1)
        self.setWidget(inner)

    def _box(self, entry: Entry) -> QCheckBox:
        box = self.boxes[entry.id] = QCheckBox(entry.title)
        box.setChecked(entry.id in self._wanted)
        box.toggled.connect(lambda on, name=entry.id: self._toggle(name, on))
        reason = self.reasons[entry.id] = Caption()
        reason.setContentsMargins(theme.XL, 0, 0, theme.XS)
        reason.hide()
        return box
