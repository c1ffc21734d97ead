"""The rows of other tables that the current row is related to: their count, the first ones, and links to
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QTreeWidgetItemIterator, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.expressions import col
from lamella.core.relations import Link
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.grid.columns import has_sign
from lamella.ui.grid.texts import screen_texts, with_minus
from lamella.ui.widgets.items import children_of, top_items

FEW = 5
"""The number of rows listed for each relation."""
MOST_LINKS = 50
FOLLOW = Qt.ItemDataRole.UserRole
COLOR, ICON = Qt.ItemDataRole.UserRole + 1, Qt.ItemDataRole.UserRole + 2
"""The names of what an item is drawn with, in whatever theme."""
MOST_COLUMNS, COLUMNS_IN_LINE = 12, 4
"""The maximum number of a related row's columns in its tooltip and in its line."""


@dataclass(frozen=True)
class Follow:
    """A request to follow a link from a row, given by its `_id`: to the row `target` of the other table, or
    to all related rows if it is None. `start` is the row of the tab from which the path began, if it is
    another one."""

    link: Link
    row_id: int
    target: int | None = None
    start: int | None = None


@dataclass(frozen=True)
class RelatedRow:
    row_id: int
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RelatedRows:
    """`why_none` says why there are none; `is_dangling` says that the row points at a missing row."""

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
    counts = table.relations.counts([row_id], link.other, job=job, through=name, direction=direction)
    count = counts.column(1)[0].as_py()
    if not count:
        why, is_dangling = why_none(table, link, row_id, job)
        return RelatedRows(link, row_id, 0, (), why, is_dangling)
    names = _identifying_columns(table.store[link.other].schema, link)
    page = table.relations.rows(
        row_id, link.other, [ID, *names], limit=FEW, job=job, through=name, direction=direction
    )
    texts = [_texts(page.column(place + 1)) for place in range(len(names))]
    rows = tuple(
        RelatedRow(other_id, tuple(zip(names, ("NULL" if t is None else t for t in fields), strict=True)))
        for other_id, *fields in zip(page.column(0).to_pylist(), *texts, strict=True)
    )
    return RelatedRows(link, row_id, count, rows)


def _texts(values: pa.ChunkedArray) -> list[str | None]:
    """Values as the grid draws them."""
    texts = list(screen_texts(values))
    return [text and with_minus(text) for text in texts] if has_sign(values.type) else texts


def read_neighbours(table: Table, row_id: int, job: Job) -> tuple[RelatedRows, ...]:
    """What a row is related to by each link of its table, with counts. Blocks."""
    links = table.store.relations.links(table.name)[:MOST_LINKS]
    return tuple(read_related(table, link, row_id, job) for link in links)


def why_none(table: Table, link: Link, row_id: int, job: Job) -> tuple[str, bool]:
    """Why a row has no related rows, and whether that is because it points at a missing row. Blocks."""
    if link.direction == "in":
        return "No rows", False
    key = table.read(list(link.columns), col(ID) == row_id, job=job)
    if any(column.null_count for column in key.columns):
        return "NULL, points at nothing", False
    values = ", ".join(screen_texts(column)[0] or "(empty text)" for column in key.columns)
    return f"Points at nothing: no {values} there", True


def _identifying_columns(schema: pa.Schema, link: Link) -> list[str]:
    """The columns that identify a row: its key, if it is the target, and the first ones."""
    plain = [field.name for field in schema if field.name != ID and not pa.types.is_nested(field.type)]
    if link.direction == "out":
        first = [name for name in link.other_columns if name in plain]
    else:
        plain, first = [name for name in plain if name not in link.other_columns], []
    return list(dict.fromkeys([*first, *plain]))[:MOST_COLUMNS]


class RelatedTree(QTreeWidget):
    """A line for each link, below it its rows, and below each row what it is related to in turn, which is
    read when the row is expanded. A click or Enter follows: `follow_requested` has a `Follow`.
    `neighbours_requested` has the item of an expanded row; the answer goes to `show_neighbours`."""

    follow_requested = Signal(object)
    neighbours_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._links: tuple[Link, ...] = ()
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
        self.itemExpanded.connect(self._expand)
        self.itemCollapsed.connect(self._fit)
        theme.current().changed.connect(self._restyle)

    def show_links(self, links: Sequence[Link]) -> None:
        """Show the links of another row, replacing those of the previous one."""
        if tuple(links) != self._links:
            self._links = tuple(links)
            self.clear()
            for link in links:
                item = self._link_item(link, self._links, "…")
                self.addTopLevelItem(item)
                item.setExpanded(True)
            self._restyle()
        for item in top_items(self):
            self._reset_link(item)

    def show_related(self, place: int, related: RelatedRows) -> None:
        """Show the rows of the link at this position."""
        self._show_rows(top_items(self)[place], related, None)
        self._fit()

    def show_neighbours(self, item: QTreeWidgetItem, neighbours: Sequence[RelatedRows]) -> None:
        """Show what an expanded row is related to, without the link that led to it."""
        follow = item.data(0, FOLLOW)
        item.takeChildren()
        links = [related.link for related in neighbours]
        for related in neighbours:
            if _is_way_back(related, follow):
                continue
            child = self._link_item(related.link, links, "")
            item.addChild(child)
            self._show_rows(child, related, self._start_of(item))
            child.setExpanded(0 < related.count <= FEW)
        if not item.childCount():
            self._say(item, "Nothing else", "faint")
        self._fit()

    def refuse_neighbours(self, item: QTreeWidgetItem, why: str) -> None:
        item.takeChildren()
        self._say(item, why, "danger")
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self._follow(item)
        else:
            super().keyPressEvent(event)

    def _link_item(self, link: Link, links: Sequence[Link], count: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem([visible(_title(link, links)), count])
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setToolTip(0, _words(link))
        item.setData(0, ICON, "arrow-right" if _is_out(link) else "arrow-left")
        item.setData(1, COLOR, "muted")
        _draw(item)
        return item

    def _show_rows(self, item: QTreeWidgetItem, related: RelatedRows, start: int | None) -> None:
        """Show rows below the line of a link. `start` is the row of the tab where the path began, if it is
        another one."""
        is_open = item.isExpanded()
        link, row_id = related.link, related.row_id
        above = self._rows_above(item)
        item.takeChildren()
        item.setText(1, f"{related.count:,}")
        if related.count:
            item.setData(0, FOLLOW, Follow(link, row_id, _only(related), start))
        for row in related.rows:
            line = " · ".join(text for _, text in row.fields[:COLUMNS_IN_LINE]) or f"row {row.row_id:,}"
            is_above = (link.other, row.row_id) in above or (
                link.table == link.other and row.row_id == row_id
            )
            child = self._child(
                item, f"↑ {line}" if is_above else line, Follow(link, row_id, row.row_id, start)
            )
            fields = [f"{visible(name)}: {visible(text)}" for name, text in row.fields]
            child.setToolTip(0, "\n".join([*(["A row above"] if is_above else []), *fields]))
            if not is_above:
                child.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
        if related.count > len(related.rows):
            self._child(item, f"All {quantity(related.count, 'row')}", Follow(link, row_id, None, start))
        if related.why_none:
            self._say(item, related.why_none, "danger" if related.is_dangling else "faint")
        item.setExpanded(is_open)

    def _rows_above(self, item: QTreeWidgetItem | None) -> set[tuple[str, int]]:
        """The rows on the path to a line, by table and `_id`, including the row of the tab."""
        rows = set()
        while item is not None:
            follow = item.data(0, FOLLOW)
            if follow is not None and follow.target is not None and item.parent() is not None:
                rows.add((follow.link.other, follow.target))
                rows.add((follow.link.table, follow.row_id))
            item = item.parent()
        return rows

    def _start_of(self, item: QTreeWidgetItem) -> int:
        """The row of the tab, where all paths of the tree begin."""
        follow = item.data(0, FOLLOW)
        return int(follow.row_id if follow.start is None else follow.start)

    def _say(self, item: QTreeWidgetItem, text: str, color: str) -> None:
        reason = QTreeWidgetItem([visible(text)])
        reason.setToolTip(0, visible(text))
        reason.setData(0, COLOR, color)
        _draw(reason)
        item.addChild(reason)
        reason.setFirstColumnSpanned(True)

    def _child(self, item: QTreeWidgetItem, text: str, follow: Follow) -> QTreeWidgetItem:
        child = QTreeWidgetItem([visible(text)])
        child.setData(0, FOLLOW, follow)
        child.setData(0, COLOR, "accent")
        _draw(child)
        item.addChild(child)
        child.setFirstColumnSpanned(True)
        return child

    def _reset_link(self, item: QTreeWidgetItem) -> None:
        """Show a placeholder until the rows of the link are read."""
        item.setData(0, FOLLOW, None)
        item.setText(1, "…")
        for child in children_of(item):
            child.takeChildren()
            child.setData(0, FOLLOW, None)
            child.setData(0, COLOR, "faint")
            _draw(child)
            child.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.DontShowIndicator)

    def _follow(self, item: QTreeWidgetItem) -> None:
        follow = item.data(0, FOLLOW)
        if follow is not None:
            self.follow_requested.emit(follow)

    def _expand(self, item: QTreeWidgetItem) -> None:
        """Read what a row is related to when it is first expanded."""
        follow = item.data(0, FOLLOW)
        is_row = follow is not None and follow.target is not None and _is_row_item(item)
        if is_row and not item.childCount():
            self._say(item, "…", "faint")
            self.neighbours_requested.emit(item)
        self._fit()

    def _point(self, item: QTreeWidgetItem) -> None:
        leads = item.data(0, FOLLOW) is not None
        cursor = Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor
        self.viewport().setCursor(cursor)

    def _fit(self) -> None:
        """Resize to the height of the content."""
        self.setMaximumHeight(content_height(self))

    def _restyle(self) -> None:
        items = QTreeWidgetItemIterator(self)
        while (item := items.value()) is not None:
            _draw(item)
            items += 1
        self._fit()


def _draw(item: QTreeWidgetItem) -> None:
    """Give an item its icon, colours and font in the current theme."""
    look = theme.current()
    if item.data(0, ICON):
        item.setIcon(0, look.icon(item.data(0, ICON)))
        item.setFont(1, look.tabular_font())
    for column in (0, 1):
        if item.data(column, COLOR):
            item.setForeground(column, look.color(item.data(column, COLOR)))


def _is_row_item(item: QTreeWidgetItem) -> bool:
    """Whether an item is a row: rows are below lines of links, which are below rows or at the top."""
    depth, parent = 0, item.parent()
    while parent is not None:
        depth, parent = depth + 1, parent.parent()
    return depth % 2 == 1


def _is_way_back(related: RelatedRows, follow: Follow) -> bool:
    """Whether a link leads from a row back to the one that it was reached from, and to no other."""
    came = follow.link
    back = related.link.relation == came.relation and related.link.direction != came.direction
    return back and related.count == 1 and related.rows[0].row_id == follow.row_id


def content_height(tree: QTreeWidget) -> int:
    """The height of all visible items."""
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
    """The other table, with the columns if several links lead there; those of a table to itself differ in
    whose columns they are."""
    same = [
        candidate
        for candidate in links
        if (candidate.other, candidate.direction) == (link.other, link.direction)
    ]
    columns = link.columns if _is_out(link) else link.other_columns
    if link.other == link.table:
        return f"{link.other} by {'' if _is_out(link) else 'their '}{', '.join(columns)}"
    return link.other if len(same) == 1 else f"{link.other} by {', '.join(columns)}"


def _words(link: Link) -> str:
    """The columns of a link: carrier → airlines.carrier."""
    own, far = ", ".join(link.columns), ", ".join(f"{link.other}.{name}" for name in link.other_columns)
    return visible(f"{own} → {far}" if _is_out(link) else f"{far} → {own}")
