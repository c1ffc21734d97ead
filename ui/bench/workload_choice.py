"""Choosing the workloads and their sizes, and why a system takes no part in them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.choice import PUBLISHED_SCALE, SMALL_SCALE
from lamella.core.bench.engine.interpreters import Interpreter, objection
from lamella.core.bench.registry import ALL, GROUPS, WORKLOADS, Entry, family_of, workloads_named
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.tables import ALL_SIZES
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.bench.caption import Caption

SCALES = {
    SMALL_SCALE: "Small: all of them in minutes",
    PUBLISHED_SCALE: "As large as published",
}
LISTED_LINES = 7


class WorkloadChoice(QWidget):
    """One workload is chosen by name; a group, or all of them, opens a list in which some can be left out.

    `own_requested` asks for a benchmark in a file of the user's own.
    """

    changed = Signal()
    own_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = QComboBox(accessibleName="Workload")
        self.scale = QComboBox(accessibleName="Scale")
        self.list = QListWidget(accessibleName="Workloads of the benchmark")
        self.about, self.custom_button = Caption(), QPushButton("Custom workload…")
        self._build()
        self._take()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The workloads to measure, in the table's order; empty if all of several are left out."""
        workloads = workloads_named(self.box.currentData())
        if not self.several:
            return workloads
        items = (self.list.item(place) for place in range(self.list.count()))
        ticked = {item.data(Qt.ItemDataRole.UserRole) for item in items
                  if item.checkState() == Qt.CheckState.Checked}  # fmt: skip
        return tuple(workload for workload in workloads if workload.id in ticked)

    @property
    def several(self) -> bool:
        return len(workloads_named(self.box.currentData())) > 1

    def choose(self, name: str) -> None:
        """Choose a workload, a group, or "all"."""
        self.box.setCurrentIndex(self.box.findData(name))

    def _take(self) -> None:
        workloads = workloads_named(self.box.currentData())
        self.list.blockSignals(True)
        self.list.clear()
        for workload in workloads if self.several else ():
            item = QListWidgetItem(workload.title, self.list)
            item.setData(Qt.ItemDataRole.UserRole, workload.id)
            item.setToolTip(_about(workload))
            item.setCheckState(Qt.CheckState.Checked)
        self.list.blockSignals(False)
        for widget in (self.list, self.scale):
            widget.setVisible(self.several)
        lines = min(LISTED_LINES, len(workloads))
        self.list.setFixedHeight(lines * max(1, self.list.sizeHintForRow(0)) + theme.S)
        self.about.tell("One after the other, each as below." if self.several else _about(workloads[0]))
        self.changed.emit()

    def _build(self) -> None:
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.setMaxVisibleItems(30)
        self.box.addItem("All workloads", ALL)
        for name in GROUPS:
            self.box.addItem(f"All of '{name}'", name)
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
        layout.addWidget(self.custom_button, 0, Qt.AlignmentFlag.AlignLeft)
        theme.variant(self.custom_button, "link")
        self.custom_button.setToolTip("A Python file that defines data, systems and queries")
        self.custom_button.clicked.connect(self.own_requested)
        self.box.currentIndexChanged.connect(self._take)
        self.list.itemChanged.connect(lambda _: self.changed.emit())
        self.scale.currentIndexChanged.connect(lambda _: self.changed.emit())


def no_part(entry: Entry, workloads: Sequence[Workload], interpreter: Interpreter | None) -> str:
    """Why a system takes no part; empty if it takes part in at least one of the workloads, in this Python or
    the `interpreter`."""
    reasons = [reason_against(entry, workload, interpreter) for workload in workloads]
    if not reasons or "" in reasons:
        return ""
    if len(reasons) > 1:
        return f"{entry.title} takes no part in any of these workloads"
    return reasons[0]


def _about(workload: Workload) -> str:
    return f"{workload.about} {workload.check.sentence}"


def reason_against(entry: Entry, workload: Workload, interpreter: Interpreter | None) -> str:
    """Why a system takes no part in one workload; empty if it does."""
    if not entry.takes(workload.family):
        reason = family_of(workload).absent.get(entry.id, "")
        return f"{entry.title} takes no part in {workload.title}" + (f": {reason}" if reason else "")
    return objection(interpreter, entry.id, workload) if interpreter else ""


LARGEST = 10**11
COLUMNS = 2


class SizeChoice(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[int, QCheckBox] = {}
        self.custom_edit = QLineEdit(
            placeholderText="Another number", accessibleName="Another number of rows"
        )
        self.add = QPushButton("Add")
        self.table = QLineEdit(accessibleName="Rows of the table")
        self._table_line = QWidget()
        self._grid = QGridLayout()
        self._build()

    @property
    def selection(self) -> tuple[int, ...]:
        return tuple(rows for rows, box in sorted(self.boxes.items()) if box.isChecked())

    @property
    def table_rows(self) -> int | None:
        """The size of the table in workloads that change some of its rows; None for others, and if the text
        is not a number."""
        return None if self._table_line.isHidden() else number_in(self.table.text())

    @property
    def problem(self) -> str:
        """Why the sizes are not valid; empty if they are."""
        if not self.selection:
            return "Choose at least one number of rows."
        if self._table_line.isHidden():
            return ""
        if self.table_rows is None:
            return "The table needs a number of rows."
        if max(self.selection) > self.table_rows:
            return f"{max(self.selection):,} rows cannot change in a table of {self.table_rows:,}."
        return ""

    def set_workload(self, workload: Workload) -> None:
        """Start with the workload's own sizes."""
        self._clear()
        own = {*workload.default_rows, *workload.small_rows, *workload.published_rows}
        for rows in own | {rows for rows in ALL_SIZES if rows >= min(own)}:
            self._add_box(rows, rows in workload.default_rows)
        self._place()
        self._table_line.setVisible(workload.table_rows is not None)
        if workload.table_rows is not None:
            self.table.setText(f"{workload.table_rows:,}")
        self.changed.emit()

    def choose(self, sizes: tuple[int, ...]) -> None:
        """Tick exactly these sizes, adding those that are missing."""
        for rows in sizes:
            if rows not in self.boxes:
                self._add_box(rows, True)
        for rows, box in self.boxes.items():
            box.setChecked(rows in sizes)
        self._place()

    def _add_custom_size(self) -> None:
        rows = number_in(self.custom_edit.text())
        if rows is None:
            theme.variant(self.custom_edit, "invalid")
            self.custom_edit.setToolTip("A whole number of at least 1, such as 250,000")
            return
        theme.variant(self.custom_edit, "")
        self.custom_edit.setToolTip("")
        self.custom_edit.clear()
        self.choose((*self.selection, rows))

    def _add_box(self, rows: int, ticked: bool) -> None:
        box = QCheckBox(f"{rows:,}", self, toolTip=quantity(rows, "row"))
        box.setChecked(ticked)
        box.toggled.connect(self.changed)
        self.boxes[rows] = box

    def _place(self) -> None:
        half = -(-len(self.boxes) // COLUMNS)
        for place, (_, box) in enumerate(sorted(self.boxes.items())):
            self._grid.addWidget(box, place % half, place // half)
            box.show()
        self._order_by_tab()

    def _order_by_tab(self) -> None:
        """Put the sizes in tab order, before the field for another size, whenever they were added."""
        boxes = self.boxes.values()
        before = self.custom_edit.previousInFocusChain()
        while (
            before is not None
            and before is not self.custom_edit
            and (before in boxes or not before.focusPolicy())
        ):
            before = before.previousInFocusChain()
        for _, box in sorted(self.boxes.items()):
            if before is not None:
                self.setTabOrder(before, box)
            before = box

    def _clear(self) -> None:
        for box in self.boxes.values():
            self._grid.removeWidget(box)
            box.hide()
            box.deleteLater()
        self.boxes = {}

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        self._grid.setVerticalSpacing(theme.XS)
        own, table = QHBoxLayout(), QHBoxLayout(self._table_line)
        own.setSpacing(theme.S)
        own.addWidget(self.custom_edit, 1)
        own.addWidget(self.add)
        table.setContentsMargins(0, 0, 0, 0)
        table.addWidget(QLabel("In a table of"))
        table.addWidget(self.table, 1)
        table.addWidget(QLabel("rows"))
        layout.addLayout(self._grid)
        layout.addLayout(own)
        layout.addWidget(self._table_line)
        self._table_line.hide()
        self.custom_edit.returnPressed.connect(self._add_custom_size)
        self.add.clicked.connect(self._add_custom_size)
        self.table.textChanged.connect(self.changed)


def number_in(text: str) -> int | None:
    """A whole number as people type it: "250,000", "250 000", "250k", "2m"; None for anything else."""
    plain = "".join(sign for sign in text.casefold() if sign not in ", _'\u00a0\u202f")
    factor = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}.get(plain[-1:], 1)
    digits = plain[:-1] if factor > 1 else plain
    if not (digits.isascii() and digits.isdigit()):
        return None
    rows = int(digits) * factor
    return rows if 1 <= rows <= LARGEST else None
