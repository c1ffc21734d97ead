"""How many rows: sizes to tick, and one of one's own."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.tables import ALL_SIZES
from lamella.ui import theme

LARGEST = 10**11
COLUMNS = 2


class SizeChoice(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[int, QCheckBox] = {}
        self.own = QLineEdit(placeholderText="Another number", accessibleName="Another number of rows")
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
        """Of workloads that change some rows of a larger table; None elsewhere, and while it is no number."""
        return None if self._table_line.isHidden() else number_in(self.table.text())

    @property
    def problem(self) -> str:
        """Empty when there is none."""
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
        """Begin with its own sizes."""
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
        """Tick exactly these; what is not there yet is added."""
        for rows in sizes:
            if rows not in self.boxes:
                self._add_box(rows, True)
        for rows, box in self.boxes.items():
            box.setChecked(rows in sizes)
        self._place()

    def _add_own(self) -> None:
        rows = number_in(self.own.text())
        if rows is None:
            theme.variant(self.own, "invalid")
            self.own.setToolTip("A whole number of at least 1, such as 250,000")
            return
        theme.variant(self.own, "")
        self.own.setToolTip("")
        self.own.clear()
        self.choose((*self.selection, rows))

    def _add_box(self, rows: int, ticked: bool) -> None:
        box = QCheckBox(f"{rows:,}", self, toolTip=f"{rows:,} rows")
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
        """Sizes come one after the other and before the field for another, whenever they were added."""
        boxes = self.boxes.values()
        before = self.own.previousInFocusChain()
        while before is not self.own and (before in boxes or not before.focusPolicy()):
            before = before.previousInFocusChain()
        for _, box in sorted(self.boxes.items()):
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
        own.addWidget(self.own, 1)
        own.addWidget(self.add)
        table.setContentsMargins(0, 0, 0, 0)
        table.addWidget(QLabel("In a table of"))
        table.addWidget(self.table, 1)
        table.addWidget(QLabel("rows"))
        layout.addLayout(self._grid)
        layout.addLayout(own)
        layout.addWidget(self._table_line)
        self._table_line.hide()
        self.own.returnPressed.connect(self._add_own)
        self.add.clicked.connect(self._add_own)
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
