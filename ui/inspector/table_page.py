"""The structure of a tab's table or file: columns, files, the row groups that a filter skips, metadata."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID, type_text
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.cached_dataset import CachedDataset
from lamella.core.errors import visible
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.query.line import LineView
from lamella.core.query.source import PinnedSource
from lamella.core.query.storage import Storage, StoredColumn, StoredFile, read_storage
from lamella.core.scan.parquet_file import BODY
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.grid.columns import icon_name
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import breakable
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.items import children_of, top_items

NAME, KIND, SIZE = range(3)
KIND_WIDTH = 52
"""The width that a column's type has even if names need the room."""
LEAST_NAMES = 120
"""The width for names even if those of columns are short: files have names, too."""
PATH = "path"
COLUMN, COPIED, DETAILS = (Qt.ItemDataRole.UserRole + number for number in range(3))
HEIGHT, LEAST_GROUP = 20, 3
MOST_COLUMNS, MOST_FILES = 10_000, 1_000
LONGEST, LONGEST_LINE, LONGEST_TIP = 60, 200, 2_000
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True)
class PageSubject:
    """What the page is about. `kind` describes it; `metadata` returns its metadata, on a worker thread, and
    `remarks` are what users should know about its rows. Tables can have indexes."""

    name: str
    kind: str
    snapshot: Snapshot
    where: Filter | None = None
    metadata: Callable[[], Mapping[str, str]] = dict
    remarks: tuple[str, ...] = ()
    is_table: bool = False


@dataclass(frozen=True)
class ReadSubject:
    storage: Storage
    metadata: Mapping[str, str]


def subject_of(name: str, dataset: Dataset, lines: LineView) -> PageSubject:
    """The subject of what a tab shows."""
    view = lines.view
    if lines.is_computed:
        steps = len(lines.runnable.steps)
        source = f"{quantity(lines.source.num_rows, 'row')} of {name} by {quantity(steps, 'step')}"
        return PageSubject(name, f"Computed from {source}", view.snapshot, view.query.where)
    if isinstance(dataset, Table):
        kind = f"Table in {dataset.store.name}, version {view.snapshot.token[1]}"
    elif isinstance(dataset, PinnedSource):
        kind = f"Version {dataset.pinned_version} of a table, read-only"
    else:
        kind = f"{getattr(dataset, 'format', 'File')}, open in place"
        kind += ": sizes are those of its cache" if isinstance(dataset, CachedDataset) else ""
    return PageSubject(
        name, kind, view.snapshot, view.query.where, lambda: metadata_of(dataset), dataset.remarks,
        isinstance(dataset, Table),
    )  # fmt: skip


def metadata_of(dataset: Dataset) -> dict[str, str]:
    """The metadata of a table or file. Blocks."""
    if isinstance(dataset, Table):
        return dict(dataset.metadata)
    noted = dataset.schema.metadata or {}
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in noted.items()
        if key != BODY
    }


class RowGroupStrip(QWidget):
    """Row groups side by side, with widths by their rows: filled if the filter reads them, empty if it skips
    them. Groups that would be thinner than a line are drawn together."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._storage: Storage | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Row groups")

    def show_storage(self, storage: Storage | None) -> None:
        self._storage = storage
        self.setVisible(storage is not None and bool(storage.groups))
        self.setAccessibleName("Row groups" if storage is None else groups_text(storage))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, theme.current().px(HEIGHT))

    def rects(self) -> list[tuple[QRectF, range]]:
        """The rectangles of neighbouring row groups, with their positions."""
        if self._storage is None:
            return []
        groups, total = self._storage.groups, max(1, sum(g.rows for g in self._storage.groups))
        rects: list[tuple[QRectF, range]] = []
        left, rows, first = 0.0, 0, 0
        for place, group in enumerate(groups):
            rows += group.rows
            right = self.width() * rows / total
            same = place + 1 < len(groups) and groups[place + 1].is_read == group.is_read
            if right - left < LEAST_GROUP and same and len(groups) > self.width() / LEAST_GROUP:
                continue
            rects.append(
                (QRectF(left, 0, max(1.0, right - left - 1), self.height()), range(first, place + 1))
            )
            left, first = right, place + 1
        return rects

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._storage is None:
            return
        look, painter = theme.current(), QPainter(self)
        for rect, places in self.rects():
            is_read = self._storage.groups[places.start].is_read
            painter.setPen(look.color("accent" if is_read else "border_strong"))
            painter.setBrush(look.color("card_met" if is_read else "surface"))
            painter.drawRect(rect.adjusted(0, 0, -1, -1))
            if not is_read:  # distinguishable without colour, too
                painter.drawLine(rect.bottomLeft(), rect.topRight())
        painter.end()

    def tip_at(self, x: float) -> str:
        """The tooltip of the row group at `x`: its position, rows and extents."""
        storage = self._storage
        for rect, places in self.rects():
            if storage is not None and rect.left() <= x <= rect.right() + 1:
                group = storage.groups[places.start]
                word = "read" if group.is_read else "skipped: none of its rows can meet the filter"
                many = f" to {places.stop:,}" if len(places) > 1 else ""
                head = f"Row group {places.start + 1:,}{many} of {len(storage.groups):,}, {word}"
                own = f"{quantity(group.rows, 'row')} · {size_text(group.bytes)} · {visible(group.file)}"
                return visible("\n".join([head, own, *group.extents]))
        return ""

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos().x()), self)
            return True
        return super().event(event)


def groups_text(storage: Storage) -> str:
    total = len(storage.groups)
    groups = quantity(total, "row group")
    return f"{groups}, {storage.num_skipped:,} skipped by the filter" if storage.num_skipped else groups


class KindPainter(QStyledItemDelegate):
    """Cuts types at their ends; their beginnings tell more than those of paths."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Any) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideRight


class StructureTree(QTreeWidget):
    """Columns, files and metadata. Ctrl+C and the menu of an item copy its name, path or value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names_width = self._kinds_width = 0
        theme.variant(self, "panel")
        self.setColumnCount(3)
        self.setHeaderHidden(True)
        self.setIndentation(theme.M)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # paths differ at their ends
        self.setAccessibleName("Columns, files and metadata")
        self.setItemDelegateForColumn(KIND, KindPainter(self))
        self.itemExpanded.connect(self._add_details)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(KIND, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(SIZE, QHeaderView.ResizeMode.ResizeToContents)

    def _add_details(self, item: QTreeWidgetItem) -> None:
        """Fill an item that is opened for the first time: of very many columns, few are."""
        for line in item.data(NAME, DETAILS) or () if not item.childCount() else ():
            detail = _text_item(line)
            item.addChild(detail)
            detail.setFirstColumnSpanned(True)

    def fit(self) -> None:
        """Give types the room that the names of columns leave."""
        items = [item for top in top_items(self) for item in children_of(top)]
        names = [item for item in items if item.data(NAME, COLUMN) is not None]
        counts = [item for item in items if item.data(NAME, COPIED)[0] == PATH]
        names_width = self._widest(names, NAME) + 2 * self.indentation()
        self._names_width = max(names_width, theme.current().px(LEAST_NAMES))
        self._kinds_width = max(self._widest(counts, KIND), theme.current().px(KIND_WIDTH))
        self._share_room()

    def _widest(self, items: Sequence[QTreeWidgetItem], column: int) -> int:
        metrics = self.fontMetrics()
        widest = max(items, key=lambda item: metrics.horizontalAdvance(item.text(column)), default=None)
        return 0 if widest is None else self.sizeHintForIndex(self.indexFromItem(widest, column)).width()

    def _share_room(self) -> None:
        room = self.viewport().width() - self.sizeHintForColumn(SIZE) - self._names_width
        self.setColumnWidth(KIND, min(self.sizeHintForColumn(KIND), max(self._kinds_width, room)))

    def copy(self, item: QTreeWidgetItem | None) -> None:
        text = None if item is None else item.data(NAME, COPIED)
        if text is not None:
            QGuiApplication.clipboard().setText(text[1])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_room()

    def event(self, event: QEvent) -> bool:
        """Take Ctrl+C from the window, which would copy cells of the grid."""
        copies = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)
        if event.type() is QEvent.Type.ShortcutOverride and copies:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy(self.currentItem())
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        keyboard = event.reason() is QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if keyboard else self.itemAt(event.pos())
        menu = None if item is None else self.menu_of(item)
        if menu is not None and item is not None:
            at = self.visualItemRect(item).bottomLeft() if keyboard else event.pos()
            menu.popup(self.viewport().mapToGlobal(at))

    def menu_of(self, item: QTreeWidgetItem) -> QMenu | None:
        copied = item.data(NAME, COPIED)
        if copied is None:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(f"Copy the {copied[0]}", lambda: self.copy(item))
        return menu


class TablePage(QWidget):
    """`column_chosen` has the name of a column to go to; `indexes_requested` is emitted to show the
    indexes."""

    column_chosen = Signal(str)
    indexes_requested = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._handle: Handle | None = None
        self._subject: PageSubject | None = None
        self.storage: Storage | None = None
        self._notes: Mapping[str, str] = {}
        self.title, self.kind, self.figures = QLabel(), QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.strip, self.groups = RowGroupStrip(), QLabel(wordWrap=True)
        self.search = QLineEdit(placeholderText="Find a column", accessibleName="Find a column")
        self.tree = StructureTree()
        self.indexes = QPushButton("Indexes…", toolTip="Build or drop indexes, which find rows faster")
        self._lay_out()

    @property
    def is_settled(self) -> bool:
        return self._handle is None

    def show_subject(self, subject: PageSubject | None) -> None:
        """Show a subject; None while there are no rows."""
        before = self._subject
        if _is_same(subject, before):
            return
        self.stop()
        self._subject = subject
        if subject is None:
            self.title.setText("Nothing is shown")
            self.storage = None
            self.tree.clear()
            return
        self.title.setText(breakable(visible(subject.name)))
        self.kind.setText(visible(subject.kind))
        self.indexes.setVisible(subject.is_table)
        self._handle = self._tasks.read(
            lambda job: read_subject(subject, job), self._show, self._fail, owner=self, quiet=True
        )

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fail(self, error: Exception) -> None:
        self._handle, self._subject = None, None
        self._tasks.failed.emit(error)

    def _show(self, content: ReadSubject) -> None:
        self._handle, storage = None, content.storage
        self.storage, self._notes = storage, content.metadata
        subject = self._subject
        if subject is None:
            return
        count = sum(column.name != ID for column in storage.columns)
        parts = [quantity(storage.rows, "row"), quantity(count, "column")]
        if storage.files:
            count = len(storage.files)
            parts += [size_text(storage.bytes), quantity(count, "file")]
        parts += (
            [f"{quantity(storage.memory_rows, 'row')} not in files yet"]
            if storage.files and storage.memory_rows
            else []
        )
        parts += [f"{storage.num_deleted:,} deleted"] if storage.num_deleted else []
        self.figures.setText(" · ".join(parts))
        self.strip.show_storage(storage)
        self.groups.setText(groups_text(storage))
        self.groups.setVisible(bool(storage.groups))
        self._fill(subject, storage)

    # ------------------------------------------------------------------- the tree

    def _fill(self, subject: PageSubject, storage: Storage) -> None:
        closed = {item.text(NAME) for item in top_items(self.tree) if not item.isExpanded()}
        self.tree.clear()
        types = {field.name: field.type for field in subject.snapshot.schema}
        by_place = sorted(storage.columns, key=lambda column: column.name == ID)
        columns = [self._column_item(column, types) for column in by_place[:MOST_COLUMNS]]
        folder = _common_folder(storage.files)
        files = [_file_item(file, folder) for file in storage.files[:MOST_FILES]]
        metadata = [_text_item(key, value) for key, value in {**storage.metadata, **self._notes}.items()]
        notes = [_text_item(text) for text in subject.remarks]
        for name, items in (("Notes", notes), ("Columns", columns), ("Files", files), ("Metadata", metadata)):
            if items:
                count = sum(item.data(NAME, COLUMN) != ID for item in items)  # as the figures above count
                top = QTreeWidgetItem([name, "rows" if items is files else "", f"{count:,}"])
                for place in (KIND, SIZE):
                    top.setForeground(place, theme.current().color("muted"))
                top.setTextAlignment(SIZE, RIGHT)
                top.addChildren(items)
                self.tree.addTopLevelItem(top)
                for item in items if items in (metadata, notes) else ():
                    item.setFirstColumnSpanned(True)
                top.setExpanded(name not in closed)
        if storage.is_partial:
            self.groups.setText(
                f"{self.groups.text()}. Column sizes only cover the first files, because there are many"
            )
        self.tree.fit()
        self._show_matches(self.search.text())

    def _column_item(self, column: StoredColumn, types: Mapping[str, object]) -> QTreeWidgetItem:
        look = theme.current()
        item = _item(column.name, type_text(column.type), size_text(column.bytes) if column.chunks else "")
        item.setData(NAME, COLUMN, column.name)
        item.setData(NAME, COPIED, ("name", column.name))
        kind = types.get(column.name)
        if kind is not None:
            item.setIcon(NAME, look.icon(icon_name(kind), "faint"))
        text = column_text(column)
        for place in (NAME, KIND, SIZE):
            item.setToolTip(place, visible(text))
        _set_details(item, text.splitlines()[1:])
        return item

    def _show_matches(self, text: str) -> None:
        words = text.strip().casefold()
        for top in top_items(self.tree):
            for item in children_of(top):
                name = item.data(NAME, COLUMN)
                item.setHidden(bool(words) and (name is None or words not in name.casefold()))

    def _choose(self, item: QTreeWidgetItem) -> None:
        name = item.data(NAME, COLUMN)
        if name is not None:
            self.column_chosen.emit(name)

    def _restyle(self) -> None:
        if self._subject is not None and self.storage is not None:
            self._fill(self._subject, self.storage)

    def _lay_out(self) -> None:
        theme.variant(self.title, "title")
        for label in (self.kind, self.figures, self.groups):
            theme.variant(label, "caption")
        self.title.setWordWrap(True)
        add_clear_button(self.search)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.S, theme.S, theme.S)
        layout.setSpacing(theme.S)
        for widget in (self.title, self.kind, self.figures, self.strip, self.groups):
            layout.addWidget(widget)
        theme.variant(self.indexes, "link")
        layout.addWidget(self.indexes, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self.search)
        layout.addWidget(self.tree, 1)
        self.strip.hide()
        self.indexes.hide()
        self.indexes.clicked.connect(self.indexes_requested)
        self.groups.hide()
        self.search.textChanged.connect(self._show_matches)
        self.tree.itemClicked.connect(self._choose)
        self.tree.itemActivated.connect(self._choose)
        theme.current().changed.connect(self._restyle)


def _is_same(left: PageSubject | None, right: PageSubject | None) -> bool:
    """Whether both are about the same rows and the same filter."""
    if left is None or right is None:
        return False
    return left.snapshot is right.snapshot and left.where == right.where


def read_subject(subject: PageSubject, job: Job) -> ReadSubject:
    """Blocks."""
    return ReadSubject(read_storage(subject.snapshot, subject.where, job), subject.metadata())


def column_text(column: StoredColumn) -> str:
    """Everything that is known about the storage of a column."""
    lines = [f"{column.name}: {type_text(column.type)}"]
    if column.chunks:
        share = 1 - column.bytes / max(1, column.raw_bytes)
        lines.append(f"{size_text(column.bytes)} in {quantity(column.chunks, 'chunk')}")
        lines.append(f"Encoding: {', '.join(column.encodings)}")
        saved = f", {share:.0%} smaller" if share >= 0.005 else ""
        lines.append(f"Codec: {', '.join(column.codecs)}{saved}")
    if column.chunks and column.nulls is not None:
        lines.append(f"Nulls, by statistics: {column.nulls:,}")
    lines += [f"{side} bound: {text}" for side, text in zip(("Lower", "Upper"), column.bounds, strict=False)]
    return "\n".join([*lines, *([column.note] if column.note else [])])


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _common_folder(files: Sequence[StoredFile]) -> Path | None:
    """The folder that has all files; None if they are on several drives."""
    try:
        return Path(os.path.commonpath([file.path.parent for file in files]))
    except ValueError:
        return None


def _file_item(file: StoredFile, folder: Path | None) -> QTreeWidgetItem:
    """An item with the path inside `folder`, which tells files of one name apart."""
    name = file.path.name if folder is None else file.path.relative_to(folder).as_posix()
    item = _item(name, f"{file.rows:,}", size_text(file.bytes))
    item.setToolTip(KIND, quantity(file.rows, "row"))
    groups = quantity(file.row_groups, "row group")
    item.setToolTip(NAME, visible(f"{file.path}\n{groups}\n{file.created_by}"))
    _set_details(item, [groups, *([file.created_by] if file.created_by else [])])
    item.setData(NAME, COPIED, (PATH, str(file.path)))
    return item


def _set_details(item: QTreeWidgetItem, lines: Sequence[str]) -> None:
    """Lines that are shown below an item when it is opened."""
    item.setData(NAME, DETAILS, list(lines))
    if lines:
        item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)


def _text_item(name: str, value: str = "") -> QTreeWidgetItem:
    """An item over the whole width: cut on screen and in the tooltip, complete when it is copied."""
    text = visible(f"{name}: {value}" if value else name)
    item = QTreeWidgetItem([text[:LONGEST_LINE]])
    item.setToolTip(NAME, text[:LONGEST_TIP])
    item.setData(NAME, COPIED, ("value", value) if value else ("text", name))
    return item


def _item(name: str, kind: str, size: str = "") -> QTreeWidgetItem:
    look = theme.current()
    item = QTreeWidgetItem([visible(name), visible(_cut(kind)), size])
    item.setToolTip(NAME, visible(name[:LONGEST_TIP]))
    item.setToolTip(KIND, visible(kind[:LONGEST_TIP]))
    for place in (KIND, SIZE):
        item.setForeground(place, look.color("muted"))
    item.setTextAlignment(SIZE, RIGHT)
    item.setFont(SIZE, look.tabular_font())
    return item
