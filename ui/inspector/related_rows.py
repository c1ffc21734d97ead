"""The rows of other tables that the current row is related to: how many, the first ones, and a way there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.query.expressions import col
from lamella.core.relations import Link
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.grid.texts import screen_texts

FEW = 5
"""Rows that are listed of each relation."""
MOST_LINKS = 50
MOST_COLUMNS, COLUMNS_IN_LINE = 12, 4
"""Of a related row: those of its tooltip, and those of its line."""


@dataclass(frozen=True)
class Follow:
    """Go from a row, by its `_id`, over a link: to the row `target` of the other table, None for all that are
    related."""

    link: Link
    row_id: int
    target: int | None = None


@dataclass(frozen=True)
class RelatedRow:
    row_id: int
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RelatedRows:
    """`why_none` says why there are none; `is_dangling` that the row points at something that is missing."""

    link: Link
    row_id: int
    count: int
    rows: tuple[RelatedRow, ...]
    why_none: str = ""
    is_dangling: bool = False


def read_related(table: Table, link: Link, row_id: int, job: Job) -> RelatedRows:
    """Blocks."""
    problem = link.relation.problem
    if problem:
        return RelatedRows(link, row_id, 0, (), f"Cannot be followed: {problem}")
    name, direction = link.relation.name, link.direction
    found = table.relations.counts([row_id], link.other, job=job, through=name, direction=direction)
    count = found.column(1)[0].as_py()
    if not count:
        why, is_dangling = why_none(table, link, row_id, job)
        return RelatedRows(link, row_id, 0, (), why, is_dangling)
    names = _told_columns(table.store[link.other].schema, link)
    page = table.relations.rows(
        row_id, link.other, [ID, *names], limit=FEW, job=job, through=name, direction=direction
    )
    texts = [screen_texts(page.column(place + 1)) for place in range(len(names))]
    rows = tuple(
        RelatedRow(other_id, tuple(zip(names, ("NULL" if t is None else t for t in fields), strict=True)))
        for other_id, *fields in zip(page.column(0).to_pylist(), *texts, strict=True)
    )
    return RelatedRows(link, row_id, count, rows)


def why_none(table: Table, link: Link, row_id: int, job: Job) -> tuple[str, bool]:
    """Blocks. Why a row is related to none, and whether that is because it points at what is missing."""
    if link.direction == "in":
        return "No rows", False
    key = table.read(list(link.columns), col(ID) == row_id, job=job)
    if any(column.null_count for column in key.columns):
        return "NULL, points at nothing", False
    values = ", ".join(screen_texts(column)[0] or "(empty text)" for column in key.columns)
    return f"Points at nothing: no {values} there", True


def _told_columns(schema: pa.Schema, link: Link) -> list[str]:
    """Those that say which row it is: its key where it is pointed at, and the first ones."""
    plain = [field.name for field in schema if field.name != ID and not pa.types.is_nested(field.type)]
    if link.direction == "out":
        first = [name for name in link.other_columns if name in plain]
    else:
        plain, first = [name for name in plain if name not in link.other_columns], []
    return list(dict.fromkeys([*first, *plain]))[:MOST_COLUMNS]


class RelatedTree(QTreeWidget):
    """A line for each link, under it the rows. A click or Enter follows: `follow_requested` has a
    `Follow`."""

    follow_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._links: tuple[Link, ...] = ()
        self._related: dict[int, RelatedRows] = {}
        self.setAccessibleName("Related rows")
        theme.variant(self, "panel")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(theme.M)
        self.setExpandsOnDoubleClick(False)
        self.setMouseTracking(True)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.itemClicked.connect(self._follow)
        self.itemEntered.connect(self._point)
        self.itemExpanded.connect(self._fit)
        self.itemCollapsed.connect(self._fit)
        theme.current().changed.connect(self._restyle)

    def show_links(self, links: Sequence[Link]) -> None:
        """Of another row: what is shown of the one before cannot be followed any more."""
        self._related.clear()
        if tuple(links) != self._links:
            self._links = tuple(links)
            self.clear()
            for link in links:
                item = QTreeWidgetItem([visible(_title(link, self._links)), "…"])
                item.setToolTip(0, _words(link))
                self.addTopLevelItem(item)
                item.setExpanded(True)
            self._restyle()
        for place in range(self.topLevelItemCount()):
            self._rest(self.topLevelItem(place))

    def show_related(self, place: int, related: RelatedRows) -> None:
        """Of the link at this place."""
        self._related[place] = related
        item, look = self.topLevelItem(place), theme.current()
        is_open = item.isExpanded()
        item.takeChildren()
        item.setText(1, f"{related.count:,}")
        item.setFont(1, look.tabular_font())
        item.setForeground(1, look.color("muted"))
        if related.count:
            item.setData(0, Qt.ItemDataRole.UserRole, Follow(related.link, related.row_id, _only(related)))
        for row in related.rows:
            line = " · ".join(text for _, text in row.fields[:COLUMNS_IN_LINE]) or f"row {row.row_id:,}"
            child = self._child(item, line, Follow(related.link, related.row_id, row.row_id))
            child.setToolTip(0, "\n".join(f"{visible(name)}: {visible(text)}" for name, text in row.fields))
        if related.count > len(related.rows):
            self._child(item, f"All {related.count:,} rows", Follow(related.link, related.row_id))
        if related.why_none:
            reason = QTreeWidgetItem([visible(related.why_none)])
            reason.setToolTip(0, visible(related.why_none))
            reason.setForeground(0, look.color("danger" if related.is_dangling else "faint"))
            item.addChild(reason)
            reason.setFirstColumnSpanned(True)
        item.setExpanded(is_open)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentItem() is not None:
            self._follow(self.currentItem())
        else:
            super().keyPressEvent(event)

    def _child(self, item: QTreeWidgetItem, text: str, follow: Follow) -> QTreeWidgetItem:
        child = QTreeWidgetItem([visible(text)])
        child.setData(0, Qt.ItemDataRole.UserRole, follow)
        child.setForeground(0, theme.current().color("accent"))
        item.addChild(child)
        child.setFirstColumnSpanned(True)
        return child

    def _rest(self, item: QTreeWidgetItem) -> None:
        """Until it is known what the link leads to."""
        item.setData(0, Qt.ItemDataRole.UserRole, None)
        item.setText(1, "…")
        for place in range(item.childCount()):
            item.child(place).setData(0, Qt.ItemDataRole.UserRole, None)
            item.child(place).setForeground(0, theme.current().color("faint"))

    def _follow(self, item: QTreeWidgetItem) -> None:
        follow = item.data(0, Qt.ItemDataRole.UserRole)
        if follow is not None:
            self.follow_requested.emit(follow)

    def _point(self, item: QTreeWidgetItem) -> None:
        leads = item.data(0, Qt.ItemDataRole.UserRole) is not None
        cursor = Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor
        self.viewport().setCursor(cursor)

    def _fit(self) -> None:
        """As high as what it lists."""
        self.setMaximumHeight(content_height(self))

    def _restyle(self) -> None:
        for place, link in enumerate(self._links):
            item, icon = self.topLevelItem(place), "arrow-right" if _is_out(link) else "arrow-left"
            item.setIcon(0, theme.current().icon(icon))
        for place, related in self._related.items():
            self.show_related(place, related)
        self._fit()


def content_height(tree: QTreeWidget) -> int:
    """What all items that can be seen need."""
    item, lines = tree.topLevelItem(0), 0
    while item is not None:
        lines += not item.isHidden()
        item = tree.itemBelow(item)
    return max(1, lines) * max(1, tree.sizeHintForRow(0)) + 2 * tree.frameWidth() + theme.XS


def _is_out(link: Link) -> bool:
    return link.direction == "out"


def _only(related: RelatedRows) -> int | None:
    return related.rows[0].row_id if related.count == 1 else None


def _title(link: Link, links: Sequence[Link]) -> str:
    """The other table, and by which columns where several links lead there."""
    same = [one for one in links if (one.other, one.direction) == (link.other, link.direction)]
    columns = link.columns if _is_out(link) else link.other_columns
    return link.other if len(same) == 1 else f"{link.other} by {', '.join(columns)}"


def _words(link: Link) -> str:
    """What points at what: carrier → airlines.carrier."""
    one, other = ", ".join(link.columns), ", ".join(f"{link.other}.{name}" for name in link.other_columns)
    return visible(f"{one} → {other}" if _is_out(link) else f"{other} → {one}")
