"""The plan of a statement as a tree: what each operator did, how many rows it returned, and how long it
took."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.phrases import duration_text, quantity
from lamella.core.query.sql.plan_tree import Operator, SqlPlan
from lamella.core.query.sql.rows_read import row_groups_text
from lamella.ui import theme

SHARE = Qt.ItemDataRole.UserRole
NAMES = ("Operator", "Rows", "Expected", "Rows read", "Time", "Share", "Details")
ESTIMATES = ("Operator", "Expected rows", "Details")
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_EXPECTED_COLUMN, _SHARE_COLUMN = 2, 5
_WIDTHS = (260, 96, 96, 96, 88, 120)
_OFF = 10
"""The factor from which a wrong estimate is marked."""
Index = QModelIndex | QPersistentModelIndex


class SharePainter(QStyledItemDelegate):
    """Paints a bar for the share of the time, with the figure beside it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        share = index.data(SHARE)
        if share is None:
            return
        colors, area = theme.current(), option.rect.adjusted(theme.XS, 0, -theme.XS, 0)
        text = f"{share:.0%}"
        bar = QRect(
            area.left(), area.center().y() - 4, round((area.width() - theme.current().px(40)) * share), 8
        )
        painter.save()
        painter.fillRect(bar, colors.color("card_met"))
        painter.setFont(colors.tabular_font("caption"))
        painter.setPen(colors.color("muted"))
        painter.drawText(area, RIGHT, text)
        painter.restore()


MOST_WIDTH = 480
"""The width in pixels that the names of operators take if they need it; more are cut off."""


class PlanView(QWidget):
    def __init__(self, plan: SqlPlan, statement: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plan = plan
        self._off: list[QTreeWidgetItem] = []
        """The operators whose estimates are far off."""
        self.about = QLabel(self._about(), wordWrap=True)
        self.about.setContentsMargins(theme.L, theme.S, theme.L, theme.S)
        theme.variant(self.about, "muted")
        self.tree = QTreeWidget()
        self.tree.setAccessibleName("Plan of the statement")
        self.tree.setToolTip("")
        self.tree.setAlternatingRowColors(False)
        self.tree.setUniformRowHeights(True)
        self.tree.setHeaderLabels(NAMES if self.is_measured else ESTIMATES)
        self._add(plan.root, self.tree.invisibleRootItem())
        for column in self._numbers:
            self.tree.headerItem().setTextAlignment(column, RIGHT)
        self.tree.expandAll()
        self._restyle()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.about)
        layout.addWidget(self.tree, 1)
        self.setFocusProxy(self.tree)
        theme.current().changed.connect(self._restyle)

    @property
    def is_measured(self) -> bool:
        return self.plan.seconds is not None

    @property
    def _numbers(self) -> tuple[int, ...]:
        """The columns of numbers."""
        return (1, _EXPECTED_COLUMN, 3, 4) if self.is_measured else (1,)

    @property
    def status(self) -> str:
        return quantity(sum(1 for _ in self.plan.root.walk()), "operator")

    def _about(self) -> str:
        if not self.is_measured:
            return "Not run: the engine's estimates. Explain › With times runs the statement and measures."
        seconds, rows = self.plan.seconds or 0.0, self.plan.rows_read
        return (
            f"{duration_text(seconds)} in total, {duration_text(self.plan.operator_seconds)} of work"
            f" on all threads, {rows} rows read{row_groups_text(rows)}."
            " Times are those of each operator alone."
        )

    def _add(self, operator: Operator, into: QTreeWidgetItem) -> None:
        details = visible("; ".join(operator.details))
        estimated = "" if operator.estimated_rows is None else f"{operator.estimated_rows:,}"
        if not self.is_measured:
            item = QTreeWidgetItem(into, [operator.name, estimated, details])
        else:
            rows = "" if operator.rows is None else f"{operator.rows:,}"
            seconds = operator.seconds or 0.0
            rows_text = "" if operator.read is None else str(operator.read)
            item = QTreeWidgetItem(
                into, [operator.name, rows, estimated, rows_text, duration_text(seconds), "", details]
            )
            if operator.read is not None:
                item.setToolTip(3, f"{operator.read} rows{row_groups_text(operator.read)}")
            total = self.plan.operator_seconds
            item.setData(_SHARE_COLUMN, SHARE, seconds / total if total else 0.0)
            if _is_off(operator):
                self._off.append(item)
                item.setToolTip(
                    _EXPECTED_COLUMN,
                    "The engine expected a different number of rows: it may have chosen a slower plan",
                )
        for column in self._numbers:
            item.setTextAlignment(column, RIGHT)
        last = item.columnCount() - 1
        item.setToolTip(last, "\n".join(operator.details))
        item.setToolTip(0, f"{operator.name} ({operator.engine_name} of DuckDB)")
        item.setData(0, Qt.ItemDataRole.AccessibleTextRole, self._words(operator))
        for operator_input in operator.inputs:
            self._add(operator_input, item)

    def _words(self, operator: Operator) -> str:
        rows = "" if operator.rows is None else f", {quantity(operator.rows, 'row')}"
        took = "" if operator.seconds is None else f", {duration_text(operator.seconds)}"
        rows_text = (
            "" if operator.read is None else f", {operator.read} rows read{row_groups_text(operator.read)}"
        )
        return f"{operator.name}{rows}{rows_text}{took}"

    def _restyle(self) -> None:
        for item in self._off:
            item.setForeground(_EXPECTED_COLUMN, theme.current().color("warning"))
        header, look = self.tree.header(), theme.current()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        widths = _WIDTHS if self.is_measured else (_WIDTHS[0], 120)
        for column, width in enumerate(widths):
            header.resizeSection(column, look.px(width))
        names = min(self.tree.sizeHintForColumn(0), look.px(MOST_WIDTH))
        header.resizeSection(0, max(header.sectionSize(0), names))
        header.setStretchLastSection(True)
        if self.is_measured:
            self.tree.setItemDelegateForColumn(_SHARE_COLUMN, SharePainter(self.tree))


def _is_off(operator: Operator) -> bool:
    if operator.rows is None or operator.estimated_rows is None:
        return False
    low, high = sorted((operator.rows + 1, operator.estimated_rows + 1))
    return high > _OFF * low
