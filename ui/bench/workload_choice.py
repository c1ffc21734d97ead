"""Which workloads are measured, and why a system takes no part in them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QListWidget, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from lamella.core.bench.engine.choice import PUBLISHED_SCALE, SMALL_SCALE
from lamella.core.bench.engine.interpreters import Interpreter, objection
from lamella.core.bench.registry import ALL, GROUPS, WORKLOADS, Entry, family_of, workloads_named
from lamella.core.bench.workloads.model import Workload
from lamella.ui import theme
from lamella.ui.bench.caption import Caption

SCALES = {
    SMALL_SCALE: "Small: all of them in minutes",
    PUBLISHED_SCALE: "As large as was published",
}
LISTED_LINES = 7


class WorkloadChoice(QWidget):
    """One is chosen by name; a group, or all of them, opens a list in which some can be left out.

    `own_requested` wants a benchmark in a file of the user's own.
    """

    changed = Signal()
    own_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = QComboBox(accessibleName="Workload")
        self.scale = QComboBox(accessibleName="Scale")
        self.list = QListWidget(accessibleName="Workloads of the benchmark")
        self.about, self.own = Caption(), QPushButton("A file of your own …")
        self._build()
        self._take()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Those to be measured, in the table's order; none where every one of several is left out."""
        named = workloads_named(self.box.currentData())
        if not self.several:
            return named
        items = (self.list.item(place) for place in range(self.list.count()))
        ticked = {item.data(Qt.ItemDataRole.UserRole) for item in items
                  if item.checkState() == Qt.CheckState.Checked}  # fmt: skip
        return tuple(workload for workload in named if workload.id in ticked)

    @property
    def several(self) -> bool:
        return len(workloads_named(self.box.currentData())) > 1

    def choose(self, name: str) -> None:
        """A workload, a group, or "all"."""
        self.box.setCurrentIndex(self.box.findData(name))

    def _take(self) -> None:
        named = workloads_named(self.box.currentData())
        self.list.blockSignals(True)
        self.list.clear()
        for workload in named if self.several else ():
            item = QListWidgetItem(workload.title, self.list)
            item.setData(Qt.ItemDataRole.UserRole, workload.id)
            item.setToolTip(_about(workload))
            item.setCheckState(Qt.CheckState.Checked)
        self.list.blockSignals(False)
        for widget in (self.list, self.scale):
            widget.setVisible(self.several)
        lines = min(LISTED_LINES, len(named))
        self.list.setFixedHeight(lines * max(1, self.list.sizeHintForRow(0)) + theme.S)
        self.about.tell("One after the other, each as below." if self.several else _about(named[0]))
        self.changed.emit()

    def _build(self) -> None:
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.setMaxVisibleItems(30)
        self.box.addItem("All workloads", ALL)
        for name in GROUPS:
            self.box.addItem(f"All of “{name}”", name)
        self.box.insertSeparator(self.box.count())
        for workload in WORKLOADS.values():
            self.box.addItem(workload.title, workload.id)
            self.box.setItemData(self.box.count() - 1, _about(workload), Qt.ItemDataRole.ToolTipRole)
        for scale, title in SCALES.items():
            self.scale.addItem(title, scale)
        self.box.setCurrentIndex(self.box.findData(next(iter(WORKLOADS))))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        for widget in (self.box, self.about, self.list, self.scale):
            layout.addWidget(widget)
        layout.addWidget(self.own, 0, Qt.AlignmentFlag.AlignLeft)
        theme.variant(self.own, "link")
        self.own.setToolTip("A Python file with its data, its systems and what they are asked")
        self.own.clicked.connect(self.own_requested)
        self.box.currentIndexChanged.connect(self._take)
        self.list.itemChanged.connect(lambda _: self.changed.emit())
        self.scale.currentIndexChanged.connect(lambda _: self.changed.emit())


def no_part(entry: Entry, workloads: Sequence[Workload], other: Interpreter | None) -> str:
    """Empty when it takes part in one of the workloads at least, in this Python or in the `other`."""
    reasons = [reason_against(entry, workload, other) for workload in workloads]
    if not reasons or "" in reasons:
        return ""
    if len(reasons) > 1:
        return f"{entry.title} takes no part in any of these workloads"
    return reasons[0]


def _about(workload: Workload) -> str:
    return f"{workload.about} {workload.check.sentence}"


def reason_against(entry: Entry, workload: Workload, other: Interpreter | None) -> str:
    """Of one workload; empty when the system takes part."""
    if not entry.takes(workload.family):
        reason = family_of(workload).absent.get(entry.id, "")
        return f"{entry.title} takes no part in {workload.title}" + (f": {reason}" if reason else "")
    return objection(other, entry.id, workload) if other else ""
