"""Which of the samples are shown, and how: the operation, the quantity, the statistic."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QMenu,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.bench.results import COLD, STATISTICS, WARM
from core.bench.workloads import Operation
from ui import theme
from ui.bench.caption import Caption
from ui.bench.export import FORMATS
from ui.bench.race_results import QUANTITIES, Display

STATISTIC_TITLES = {"mean": "Mean ± deviation", "median": "Median, middle half", "lowest": "Lowest"}
TEMPERATURES = {None: "All samples", COLD: "First in its process", WARM: "Later ones"}


class DisplayBar(QWidget):
    changed = Signal()
    export_asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.operations = QTabBar(
            drawBase=False, expanding=False, usesScrollButtons=False, elideMode=Qt.TextElideMode.ElideRight
        )
        self.about = Caption()
        self.quantity = _choice("Quantity", {name: item.title for name, item in QUANTITIES.items()})
        self.statistic = _choice("Statistic", {name: STATISTIC_TITLES[name] for name in _mean_first()})
        self.temperature = _choice("Samples", TEMPERATURES)
        self.export = QToolButton(text="Export", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self._build()

    @property
    def display(self) -> Display:
        return Display(
            operation=self.operations.tabData(self.operations.currentIndex()),
            quantity=QUANTITIES[self.quantity.currentData()],
            statistic=self.statistic.currentData(),
            temperature=self.temperature.currentData(),
        )

    def set_operations(self, operations: Sequence[Operation]) -> None:
        self.operations.blockSignals(True)
        while self.operations.count():
            self.operations.removeTab(0)
        for operation in operations:
            place = self.operations.addTab(operation.title)
            self.operations.setTabData(place, operation.id)
            self.operations.setTabToolTip(place, operation.about)
        self.operations.blockSignals(False)

    def set_exportable(self, exportable: bool) -> None:
        self.export.setEnabled(exportable)
        self.export.setToolTip("Samples or picture as a file" if exportable else "Nothing is measured yet")

    def _build(self) -> None:
        menu = QMenu(self.export)
        for suffix, title in FORMATS.items():
            menu.addAction(title.partition(" (")[0] + " …", lambda s=suffix: self.export_asked.emit(s))
        self.export.setMenu(menu)
        choices = QHBoxLayout()
        choices.setSpacing(theme.S)
        for widget in (self.quantity, self.statistic, self.temperature):
            choices.addWidget(widget)
        choices.addStretch(1)
        choices.addWidget(self.export)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.operations)
        layout.addWidget(self.about)
        layout.addLayout(choices)
        self.operations.currentChanged.connect(self.changed)
        for box in (self.quantity, self.statistic, self.temperature):
            box.currentIndexChanged.connect(self.changed)


def _mean_first() -> list[str]:
    """As published; the others are a choice away."""
    return sorted(STATISTICS, key=lambda name: name != "mean")


def _choice(name: str, titles: dict[str | None, str] | dict[str, str]) -> QComboBox:
    box = QComboBox(accessibleName=name, toolTip=name)
    for value, title in titles.items():
        box.addItem(title, value)
    return box
